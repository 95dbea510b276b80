//! What was measured, a line of JSON for each start in a file, so that an interrupted comparison goes on and nothing that was measured is lost. The first line says what
//! is compared: measurements of something else are not mixed in.

use super::{environment, usage};
use mh_kit::failure::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::error_text::message;

/// One start of one arm, and what was measured there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartRecord {
    /// Which arm, from 0.
    pub arm: usize,
    /// How long it took with all that belongs to it.
    pub took_s: f64,
    /// Of each load.
    pub loads: Vec<LoadRecord>,
}

/// What a load measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// By the keys of [`super::findings::Measure`].
    pub values: BTreeMap<String, f64>,
    /// Why some are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The server's memory over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryPoint>,
}

/// The memory of a server at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// Since the load began; negative in its warm-up.
    pub at_s: f64,
    /// Resident, with pages that processes share counted once.
    pub resident_bytes: Option<u64>,
    /// Address space.
    pub virtual_bytes: Option<u64>,
}

/// The records of a comparison, in memory and in their file.
pub struct ResultJournal {
    /// What was measured so far.
    pub records: Vec<StartRecord>,
    file: Option<(File, PathBuf)>,
}

impl ResultJournal {
    /// Kept nowhere.
    pub fn in_memory() -> Self {
        Self { records: Vec::new(), file: None }
    }

    /// Begins a new file, whose first line is `subject`.
    pub fn begin<Subject: Serialize>(path: &Path, subject: &Subject) -> Result<Self, Failure> {
        let opened = OpenOptions::new().write(true).create_new(true).open(path);
        let file = opened.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => usage(format!(
                "{} is there already: --resume measures on, --results FILE begins another one",
                terminal::quote(path)
            )),
            _ => failed("make", path, &error),
        })?;
        let mut journal = Self { records: Vec::new(), file: Some((file, path.to_owned())) };
        journal.write(subject)?;
        Ok(journal)
    }

    /// Goes on with a file if `is_same` recognizes its first line; begins it if it is not there.
    pub fn resume<Subject: Serialize + DeserializeOwned>(
        path: &Path,
        subject: &Subject,
        is_same: impl Fn(&Subject) -> bool,
    ) -> Result<Self, Failure> {
        if !path.exists() {
            return Self::begin(path, subject);
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed("read", path, &error))?;
        let mut lines = text.lines();
        let begun: Option<Subject> = lines.next().and_then(|line| serde_json::from_str(line).ok());
        let name = terminal::quote(path);
        match begun {
            None => return Err(usage(format!("{name} holds no results of a comparison"))),
            Some(begun) if !is_same(&begun) => {
                return Err(usage(format!(
                    "{name} holds results of another comparison; --results FILE begins another file"
                )));
            }
            Some(_) => {}
        }
        let (records, whole) = read_records(&text, lines.count())?;
        let file = OpenOptions::new().write(true).open(path).map_err(|error| failed("open", path, &error))?;
        // What an interrupted run left of a line is not kept.
        file.set_len(whole).map_err(|error| failed("write", path, &error))?;
        let mut journal = Self { records, file: Some((file, path.to_owned())) };
        journal.seek_end()?;
        Ok(journal)
    }

    /// Keeps a start.
    pub fn add(&mut self, record: StartRecord) -> Result<(), Failure> {
        self.write(&record)?;
        self.records.push(record);
        Ok(())
    }

    fn seek_end(&mut self) -> Result<(), Failure> {
        use std::io::Seek;
        let Some((file, path)) = &mut self.file else { return Ok(()) };
        file.seek(std::io::SeekFrom::End(0)).map(drop).map_err(|error| failed("write", path, &error))
    }

    fn write<Line: Serialize>(&mut self, line: &Line) -> Result<(), Failure> {
        let Some((file, path)) = &mut self.file else { return Ok(()) };
        let mut text = serde_json::to_string(line).map_err(|error| environment(format!("write a result: {error}")))?;
        text.push('\n');
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| failed("write", path, &error))
    }
}

/// The records behind the first line, and how many bytes are whole lines.
fn read_records(text: &str, lines: usize) -> Result<(Vec<StartRecord>, u64), Failure> {
    let mut records = Vec::new();
    let mut whole = text.find('\n').map_or(0, |at| at + 1);
    for (index, line) in text.lines().skip(1).enumerate() {
        let is_last = index + 1 == lines;
        match serde_json::from_str(line) {
            Ok(record) if text.as_bytes().get(whole + line.len()) == Some(&b'\n') => {
                records.push(record);
                whole += line.len() + 1;
            }
            // A line without its end.
            Ok(_) => break,
            Err(_) if is_last => break,
            Err(error) => return Err(usage(format!("line {} of the results is no result: {error}", index + 2))),
        }
    }
    Ok((records, whole as u64))
}

fn failed(operation: &str, path: &Path, error: &std::io::Error) -> Failure {
    environment(format!("{operation} {}: {}", terminal::quote(path), message(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(arm: usize) -> StartRecord {
        let values = BTreeMap::from([("wall_s".to_owned(), 1.5 + arm as f64)]);
        StartRecord { arm, took_s: 2.0, loads: vec![LoadRecord { values, ..LoadRecord::default() }] }
    }

    fn resumed(path: &Path) -> ResultJournal {
        let subject = "what".to_owned();
        ResultJournal::resume(path, &subject, |begun: &String| *begun == subject)
            .unwrap_or_else(|_| panic!("it goes on"))
    }

    #[test]
    fn what_was_kept_is_there_when_it_goes_on() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("results");
        let mut journal = resumed(&path);
        assert!(journal.add(record(0)).is_ok());
        assert!(journal.add(record(1)).is_ok());
        drop(journal);
        // Half a line, as a full disk or a kill leaves it.
        let mut text = std::fs::read_to_string(&path).expect("text");
        text.push_str("{\"arm\":0,\"to");
        std::fs::write(&path, &text).expect("written");
        let mut journal = resumed(&path);
        assert_eq!(journal.records, [record(0), record(1)]);
        assert!(journal.add(record(0)).is_ok());
        assert_eq!(resumed(&path).records, [record(0), record(1), record(0)]);
    }

    #[test]
    fn results_of_something_else_and_damaged_ones_are_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("results");
        assert!(ResultJournal::begin(&path, &"one").is_ok());
        assert!(ResultJournal::begin(&path, &"one").is_err(), "nothing is written over");
        assert!(ResultJournal::resume(&path, &"two".to_owned(), |begun: &String| begun == "two").is_err());
        std::fs::write(&path, "\"one\"\nrubbish\n{\"arm\":0,\"took_s\":1,\"loads\":[]}\n").expect("written");
        assert!(ResultJournal::resume(&path, &"one".to_owned(), |_: &String| true).is_err());
        std::fs::write(&path, "").expect("written");
        assert!(ResultJournal::resume(&path, &"one".to_owned(), |_: &String| true).is_err());
    }
}
