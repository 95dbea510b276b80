//! The file of a comparison: arms, the server that each of them starts, loads, how often. In TOML; what is not known there is an error with its line.

use super::usage;
use ::load::bakeoff::arm_server::StopSignal;
use mh_kit::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use terminal::parse_duration;

/// A whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BakeoffFile {
    /// What is compared, for the head of the report.
    pub title: String,
    /// The arm that the others are compared with; the first one unless given.
    pub baseline: Option<String>,
    /// The server that is started for each measurement; without it each arm has a `target`.
    pub server: Option<ServerSection>,
    /// What is measured at each start, in turn.
    #[serde(rename = "load")]
    pub loads: Vec<LoadSection>,
    /// What is compared.
    #[serde(rename = "arm")]
    pub arms: Vec<ArmSection>,
    /// How often.
    #[serde(default)]
    pub repeat: RepeatSection,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSection {
    /// Its address, as `mh load` takes it.
    pub target: String,
    /// Commands that make `{data}`, once.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// The command that starts it and stays.
    pub start: String,
    /// Whose process it is, where root compares.
    pub user: Option<String>,
    /// The signal that ends it.
    #[serde(default)]
    pub stop: StopSignal,
    /// How long it may take until it answers.
    #[serde(default = "a_minute")]
    pub ready_within: FileTime,
    /// How long it may take to end.
    #[serde(default = "a_minute")]
    pub stop_within: FileTime,
    /// Written into the file `{configuration}`, with the arm's behind it.
    #[serde(default)]
    pub configuration: String,
}

/// A load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSection {
    /// How the report calls it.
    pub name: String,
    /// Workload and options, as `mh load` takes them behind its target.
    pub arguments: String,
}

/// An arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmSection {
    /// How the report calls it.
    pub name: String,
    /// Variables of the server.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Behind the words of `start`.
    #[serde(default)]
    pub options: String,
    /// Behind the server's configuration.
    #[serde(default)]
    pub configuration: String,
    /// Another address, or one that runs already.
    pub target: Option<String>,
    /// Behind the arguments of each load.
    #[serde(default)]
    pub load: String,
}

/// How often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RepeatSection {
    /// Starts of each arm before it may end.
    pub at_least: usize,
    /// Starts of each arm after which it ends.
    pub at_most: usize,
    /// It ends once each multiple is known within so many per cent.
    pub width_percent: f64,
    /// No round begins that would not end within it.
    pub budget: Option<FileTime>,
    /// Which figure's interval decides that.
    pub decide_by: DecideBy,
}

impl Default for RepeatSection {
    fn default() -> Self {
        Self { at_least: 6, at_most: 20, width_percent: 2.0, budget: None, decide_by: DecideBy::default() }
    }
}

/// The figure that decides when there is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecideBy {
    /// Transactions a second.
    #[default]
    Throughput,
    /// The server's CPU time for a transaction: for loads at a rate.
    Cpu,
    /// The 99th percentile of response times.
    ResponseP99,
}

impl DecideBy {
    /// The key of its values.
    pub fn key(self) -> &'static str {
        match self {
            Self::Throughput => "transactions_per_s",
            Self::Cpu => "cpu_s",
            Self::ResponseP99 => "response_p99_s",
        }
    }
}

/// A time as text: `30s`, `5m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileTime(pub Duration);

impl TryFrom<String> for FileTime {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        parse_duration(&text).map(Self).map_err(|error| format!("'{text}' is no time: {error}"))
    }
}

impl From<FileTime> for String {
    fn from(time: FileTime) -> Self {
        format!("{}ms", time.0.as_millis())
    }
}

fn a_minute() -> FileTime {
    FileTime(Duration::from_secs(60))
}

/// What is filled in; [`super::work_place`] knows by what.
const PLACEHOLDERS: [&str; 5] = ["directory", "data", "socket", "port", "configuration"];

/// LIMIT: starts of an arm.
const STARTS_MAX: usize = 1000;

impl BakeoffFile {
    /// Reads a file's text; `path` is for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let name = terminal::quote(path);
        let wrong = |error: toml::de::Error| {
            let place = error.span().map(|span| line_and_column(text, span.start));
            let place = place.map_or_else(String::new, |(line, column)| format!("line {line}, column {column}: "));
            usage(format!("{name}: {place}{}", error.message()))
        };
        let parsed: Self = toml::from_str(text).map_err(wrong)?;
        parsed.check().map_err(|error| usage(format!("{name}: {error}")))?;
        Ok(parsed)
    }

    /// The place of the arm that the others are compared with.
    pub fn baseline_index(&self) -> usize {
        let wanted = self.baseline.as_deref();
        self.arms.iter().position(|arm| Some(arm.name.as_str()) == wanted).unwrap_or(0)
    }

    /// Whether measurements of both may stand beside each other: all but how often is the same.
    pub fn measures_as(&self, other: &Self) -> bool {
        Self { repeat: other.repeat.clone(), title: other.title.clone(), ..self.clone() } == *other
    }

    fn check(&self) -> Result<(), String> {
        let names: BTreeSet<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        let loads: BTreeSet<&str> = self.loads.iter().map(|load| load.name.as_str()).collect();
        let repeat = &self.repeat;
        let complaints = [
            (self.arms.len() < 2, "a comparison has two [[arm]] or more".to_owned()),
            (self.loads.is_empty(), "there is no [[load]]".to_owned()),
            (names.len() < self.arms.len(), "two arms have the same name".to_owned()),
            (loads.len() < self.loads.len(), "two loads have the same name".to_owned()),
            (
                repeat.at_least == 0 || repeat.at_most < repeat.at_least || repeat.at_most > STARTS_MAX,
                format!("[repeat]: at_least is 1 or more, and at_most not below it and not above {STARTS_MAX}"),
            ),
            (
                repeat.width_percent <= 0.0 || repeat.width_percent.is_nan(),
                "[repeat]: width_percent is above 0".to_owned(),
            ),
        ];
        if let Some((_, complaint)) = complaints.into_iter().find(|(is_so, _)| *is_so) {
            return Err(complaint);
        }
        if let Some(wanted) = self.baseline.as_deref().filter(|name| !names.contains(name)) {
            return Err(format!("baseline: no arm is called '{wanted}'"));
        }
        self.check_placeholders()?;
        self.arms.iter().try_for_each(|arm| self.check_arm(arm))
    }

    /// A name in braces that is none of ours is a misspelt one; text with other signs in braces is the server's.
    fn check_placeholders(&self) -> Result<(), String> {
        let Some(server) = &self.server else { return Ok(()) };
        let of_arms = self.arms.iter().flat_map(|arm| {
            let texts = [&arm.options, &arm.configuration, &arm.load];
            texts.into_iter().chain(arm.target.as_ref()).chain(arm.environment.values())
        });
        let of_loads = self.loads.iter().map(|load| &load.arguments);
        let of_server = [&server.target, &server.start, &server.configuration].into_iter().chain(&server.prepare);
        for text in of_server.chain(of_loads).chain(of_arms) {
            for part in text.split('{').skip(1) {
                let Some((name, _)) = part.split_once('}') else { continue };
                let is_name =
                    !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_');
                if is_name && !PLACEHOLDERS.contains(&name) {
                    return Err(format!("'{{{name}}}' is not known; there are {{{}}}", PLACEHOLDERS.join("}, {")));
                }
            }
        }
        Ok(())
    }

    fn check_arm(&self, arm: &ArmSection) -> Result<(), String> {
        if self.server.is_some() {
            return Ok(());
        }
        let is_of_server = !arm.environment.is_empty() || !arm.options.is_empty() || !arm.configuration.is_empty();
        match (arm.target.is_some(), is_of_server) {
            (_, true) => Err(format!(
                "arm '{}': environment, options and configuration are a [server]'s, and there is none",
                arm.name
            )),
            (false, _) => Err(format!("arm '{}' has no target, and there is no [server] to start", arm.name)),
            (true, false) => Ok(()),
        }
    }
}

/// Both from 1; columns in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The words of a command line, as a shell divides them; nothing is expanded.
pub fn words(line: &str) -> Result<Vec<String>, Failure> {
    shlex::split(line).ok_or_else(|| usage(format!("a quote is not closed in: {line}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "title = 'two'\n[[load]]\nname = 'a'\narguments = 'yesmark'\n[[arm]]\nname = 'x'\ntarget = 'echo'\n[[arm]]\nname = 'y'\ntarget = 'echo'\n";

    fn parse(text: &str) -> Result<BakeoffFile, String> {
        BakeoffFile::parse(Path::new("f.toml"), text).map_err(|failure| match failure {
            Failure::Usage { message, .. } => message,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn a_small_file_has_the_usual_repeats_and_its_first_arm_as_baseline() {
        let file = parse(SMALL).expect("it is one");
        assert_eq!((file.repeat.at_least, file.baseline_index()), (6, 0));
        let other = parse(&format!("baseline = 'y'\n{SMALL}")).expect("it is one");
        assert_eq!(other.baseline_index(), 1);
        assert!(!file.measures_as(&other));
        let longer = parse(&format!("{SMALL}[repeat]\nat_most = 30\nbudget = '10m'\n")).expect("it is one");
        assert!(longer.measures_as(&file));
        assert_eq!(longer.repeat.budget, Some(FileTime(Duration::from_secs(600))));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, part) in [
            ("title = 'x'\nloads = 3\n", "line 2, column 1"),
            ("title = 'x'\n", "missing field `load`"),
            (&SMALL.replace("'y'", "'x'"), "two arms have the same name"),
            (&SMALL.replace("target = 'echo'\n[[arm]]", "[[arm]]"), "arm 'x' has no target"),
            (&format!("baseline = 'z'\n{SMALL}"), "no arm is called 'z'"),
            (&format!("{SMALL}[repeat]\nat_least = 9\nat_most = 2\n"), "[repeat]: at_least"),
            (&format!("{SMALL}[repeat]\nbudget = 'soon'\n"), "'soon' is no time"),
            (&format!("{SMALL}options = '-x'\n"), "there is none"),
            (
                &format!("{SMALL}[server]\ntarget = 'x'\nstart = 'x {{sokcet}}'\n"),
                "'{sokcet}' is not known; there are {directory}, {data}",
            ),
        ] {
            let message = parse(text).expect_err("it is wrong");
            assert!(message.starts_with("'f.toml': ") && message.contains(part), "{message}");
        }
    }
}
