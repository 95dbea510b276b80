//! A job as a JSON object on one line: words without quoting, and fields that the plain syntax does not have.
//! Unknown fields are refused: a misspelt `retries` would be a promise not kept.

use crate::spec::{ExistingOutput, More, OutputTarget, Spec};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use sys::spawn::Words;

/// The object's fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(default)]
    argv: Vec<String>,
    shell: Option<String>,
    id: Option<Name>,
    #[serde(default)]
    after: Vec<Name>,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    stdin: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    cores: Option<i64>,
    memory: Option<Amount>,
    timeout: Option<Amount>,
    retries: Option<u32>,
    #[serde(default)]
    inputs: Vec<String>,
}

/// `"a"` or `7`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Number(u64),
}

/// `"2G"`, `"10m"` or a plain number of bytes or seconds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Text(String),
    Number(f64),
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordFault {
    /// It is no JSON object of the right shape: why, and in which column.
    #[error("this is no job record: {0}")]
    Shape(String),
    /// Neither or both of the two ways to say what to run.
    #[error("a job has either argv or shell")]
    NothingToRun,
    /// A word with a NUL byte.
    #[error("a NUL byte cannot be passed on")]
    Nul(#[source] sys::spawn::HoldsNul),
    /// A variable's name that the environment cannot hold as such.
    #[error("'{0}' is no name of a variable")]
    Variable(String),
    /// A size or a time that is none.
    #[error("{0} is not {1}")]
    Amount(String, &'static str),
}

/// Reads a record; the number is the list's to give. The utility may bring the words, so none are needed where `has_utility`.
pub fn parse(line: &[u8], utility: Utility) -> Result<Spec, RecordFault> {
    let record: Record = serde_json::from_slice(line).map_err(|error| RecordFault::Shape(told(&error)))?;
    let is_for_shell = record.shell.is_some();
    let says_nothing = record.argv.is_empty() && !is_for_shell && utility == Utility::InTheList;
    if says_nothing || (is_for_shell && !record.argv.is_empty()) {
        return Err(RecordFault::NothingToRun);
    }
    if let Some(name) = record.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(RecordFault::Variable(name.clone()));
    }
    let mut words = Words::default();
    for word in record.argv.iter().chain(record.shell.as_ref()) {
        words.push(word.as_bytes()).map_err(RecordFault::Nul)?;
    }
    words.shrink();
    let replace = |path: String| OutputTarget { path: path.into_bytes(), opening: ExistingOutput::Replace };
    let more = More {
        directory: record.cwd.map(String::into_bytes),
        stdin: record.stdin.map(String::into_bytes),
        block: None,
        stdout: record.stdout.map(replace),
        stderr: record.stderr.map(replace),
        variables: record.env.into_iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect(),
        id: record.id.map(name),
        after: record.after.into_iter().map(name).collect(),
        cores: record.cores.map_or(Ok(1), cores)?,
        memory_bytes: record.memory.map(memory_bytes).transpose()?,
        timeout: record.timeout.map(time).transpose()?,
        retries: record.retries,
        inputs: record.inputs.into_iter().map(String::into_bytes).collect(),
        is_for_shell,
    };
    Ok(Spec { number: 0, words, more: Some(Box::new(more)) })
}

/// A record is a single line, so its columns alone are of use: the list's own line is told beside.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    format!("{} in column {}", &text[..end], error.column())
}

/// Whether the command line names what to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utility {
    /// It does: the list gives arguments.
    Given,
    /// Each job names its own.
    InTheList,
}

fn name(name: Name) -> String {
    match name {
        Name::Text(text) => text,
        Name::Number(number) => number.to_string(),
    }
}

fn cores(number: i64) -> Result<usize, RecordFault> {
    let several = usize::try_from(number).ok().filter(|several| *several > 0);
    several.ok_or_else(|| RecordFault::Amount(number.to_string(), "a number of cores"))
}

fn memory_bytes(amount: Amount) -> Result<u64, RecordFault> {
    let (number, unit, text) = split(amount);
    let scale = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => Some(1.0),
        "k" | "K" => Some(1024.0),
        "M" => Some(1024.0 * 1024.0),
        "G" => Some(1024.0 * 1024.0 * 1024.0),
        "T" => Some(1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    match number.zip(scale) {
        Some((number, scale)) if number >= 0.0 => Ok((number * scale) as u64),
        _ => Err(RecordFault::Amount(text, "a size")),
    }
}

fn time(amount: Amount) -> Result<Duration, RecordFault> {
    let text = match amount {
        Amount::Number(number) => number.to_string(),
        Amount::Text(text) => text,
    };
    parse_time(&text).ok_or(RecordFault::Amount(text, "a time"))
}

/// `90`, `1.5s`, `10m`, `2h`, `1d`: a time as sleep(1) takes it.
pub fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit, _) = split(Amount::Text(text.to_owned()));
    let scale = match unit.as_str() {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number? * scale).ok()
}

fn split(amount: Amount) -> (Option<f64>, String, String) {
    let text = match amount {
        Amount::Number(number) => return (Some(number), String::new(), number.to_string()),
        Amount::Text(text) => text,
    };
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    (text[..end].parse().ok(), text[end..].trim().to_owned(), text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Result<Spec, RecordFault> {
        parse(text.as_bytes(), Utility::InTheList)
    }

    #[test]
    fn every_field_arrives() {
        let text = r#"{"argv":["a b","c\nd"],"cwd":"/x","env":{"A":"1"},"stdin":"i","stdout":"o","after":["p",7],
            "cores":2,"memory":"2G","timeout":"10m","retries":2,"id":"z","inputs":["f"]}"#;
        let spec = record(text).expect("a good record");
        assert_eq!(spec.words.iter().collect::<Vec<_>>(), [&b"a b"[..], b"c\nd"]);
        let more = spec.more.expect("it has more");
        assert_eq!((more.directory.as_deref(), more.stdin.as_deref()), (Some(&b"/x"[..]), Some(&b"i"[..])));
        assert_eq!((more.variables.clone(), more.after.clone()), (vec![b"A=1".to_vec()], vec!["p".into(), "7".into()]));
        assert_eq!((more.cores, more.memory_bytes, more.retries), (2, Some(2 << 30), Some(2)));
        assert_eq!((more.timeout, more.id.as_deref()), (Some(Duration::from_secs(600)), Some("z")));
    }

    #[test]
    fn what_is_no_job_is_refused() {
        let bad = [
            "{}",
            r#"{"argv":[]}"#,
            r#"{"argv":["a"],"retrys":2}"#,
            r#"{"argv":["a"],"shell":"b"}"#,
            r#"{"argv":["a"],"timeout":"soon"}"#,
            r#"{"argv":["a"],"memory":"2X"}"#,
            r#"{"argv":["a"],"cores":0}"#,
            r#"{"argv":["a"],"cores":-1}"#,
            r#"{"argv":["a\u0000"]}"#,
            r#"{"argv":["a"],"env":{"":"b"}}"#,
            r#"{"argv":["a"],"env":{"A=B":"c"}}"#,
            r#"{"argv":["a"]"#,
        ];
        for text in bad {
            assert!(record(text).is_err(), "{text}");
        }
        assert!(parse(br#"{"cores":2}"#, Utility::Given).is_ok());
    }

    #[test]
    fn faults_name_the_column_once() {
        let Err(fault) = record(r#"{"argv":["a"],"retries":-2}"#) else { panic!("retries are no negative number") };
        let text = fault.to_string();
        assert!(text.ends_with(" in column 26") && !text.contains("line"), "{text}");
    }

    #[test]
    fn times_are_as_sleep_takes_them() {
        assert_eq!(parse_time("1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(
            (parse_time("2h"), parse_time("250ms")),
            (Some(Duration::from_secs(7200)), Some(Duration::from_millis(250)))
        );
        assert_eq!((parse_time(""), parse_time("-1"), parse_time("1w")), (None, None, None));
    }
}
