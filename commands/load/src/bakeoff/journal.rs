//! What was measured, a line of JSON for each start in a file, so that an interrupted comparison goes on and nothing that was measured is lost. The first line says what
//! is compared: measurements of something else are not mixed in.

use super::{environment, usage};
use mh_kit::failure::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
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
    file: ResultFile,
}

enum ResultFile {
    Nowhere,
    /// Made with the first record, which this line is before.
    ToBeMade {
        path: PathBuf,
        first_line: String,
    },
    Open {
        path: PathBuf,
        file: File,
    },
}

impl ResultJournal {
    /// Kept nowhere.
    pub fn in_memory() -> Self {
        Self { records: Vec::new(), file: ResultFile::Nowhere }
    }

    /// For a new file, whose first line is `subject`. It is made with the first record.
    pub fn begin<Subject: Serialize>(path: &Path, subject: &Subject) -> Result<Self, Failure> {
        if path.exists() {
            return Err(is_there_already(path));
        }
        let file = ResultFile::ToBeMade { path: path.to_owned(), first_line: line(subject)? };
        Ok(Self { records: Vec::new(), file })
    }

    /// Goes on with a file if `is_same` recognizes its first line; begins it if it is not there.
    pub fn resume<Subject: Serialize + DeserializeOwned>(
        path: &Path,
        subject: &Subject,
        is_same: impl Fn(&Subject) -> bool,
        is_possible: impl Fn(&StartRecord) -> bool,
    ) -> Result<Self, Failure> {
        if !path.exists() {
            return Self::begin(path, subject);
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed("read", path, &error))?;
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        let begun: Option<Subject> = serde_json::from_str(first).ok().filter(|_| first.ends_with('\n'));
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
        let mut whole = first.len();
        let mut records: Vec<StartRecord> = Vec::new();
        for (index, line) in lines.enumerate() {
            // What an interrupted run left of a line is not kept.
            if !line.ends_with('\n') {
                break;
            }
            let record = serde_json::from_str(line).ok().filter(&is_possible);
            records.push(
                record.ok_or_else(|| usage(format!("{name}: line {} is no result of this comparison", index + 2)))?,
            );
            whole += line.len();
        }
        let mut file = OpenOptions::new().write(true).open(path).map_err(|error| failed("open", path, &error))?;
        file.set_len(whole as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(|error| failed("write", path, &error))?;
        Ok(Self { records, file: ResultFile::Open { path: path.to_owned(), file } })
    }

    /// Keeps a start.
    pub fn add(&mut self, record: StartRecord) -> Result<(), Failure> {
        if let ResultFile::ToBeMade { path, first_line } = &self.file {
            let opened = OpenOptions::new().write(true).create_new(true).open(path);
            let mut file = opened.map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => is_there_already(path),
                _ => failed("make", path, &error),
            })?;
            file.write_all(first_line.as_bytes()).map_err(|error| failed("write", path, &error))?;
            self.file = ResultFile::Open { path: path.clone(), file };
        }
        if let ResultFile::Open { path, file } = &mut self.file {
            let line = line(&record)?;
            file.write_all(line.as_bytes())
                .and_then(|()| file.sync_data())
                .map_err(|error| failed("write", path, &error))?;
        }
        self.records.push(record);
        Ok(())
    }
}

fn line<Content: Serialize>(content: &Content) -> Result<String, Failure> {
    let text = serde_json::to_string(content).map_err(|error| environment(format!("write a result: {error}")))?;
    Ok(text + "\n")
}

fn is_there_already(path: &Path) -> Failure {
    let name = terminal::quote(path);
    usage(format!("{name} is there already: --resume measures on, --results FILE begins another one"))
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

    fn resume(path: &Path, subject: &str) -> Result<ResultJournal, Failure> {
        let subject = subject.to_owned();
        ResultJournal::resume(path, &subject, |begun: &String| *begun == subject, |record| record.arm < 2)
    }

    fn resumed(path: &Path) -> ResultJournal {
        resume(path, "what").unwrap_or_else(|_| panic!("it goes on"))
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
    fn results_of_something_else_and_damaged_ones_are_refused_and_stay() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("results");
        let Ok(mut journal) = ResultJournal::begin(&path, &"one") else { panic!("it begins") };
        assert!(!path.exists(), "nothing was measured");
        assert!(journal.add(record(0)).is_ok());
        assert!(ResultJournal::begin(&path, &"one").is_err(), "nothing is written over");
        assert!(resume(&path, "two").is_err());
        let good = "{\"arm\":0,\"took_s\":1,\"loads\":[]}\n";
        for damaged in [
            format!("\"one\"\nrubbish\n{good}"),
            "\"one\"\nrubbish\n".to_owned(),
            format!("\"one\"\n{}", good.replace("0,", "2,")),
            String::new(),
        ] {
            std::fs::write(&path, &damaged).expect("written");
            assert!(resume(&path, "one").is_err(), "{damaged}");
            assert_eq!(std::fs::read_to_string(&path).expect("there"), damaged);
        }
        let of_windows = format!("\"one\"\n{good}{good}").replace('\n', "\r\n");
        std::fs::write(&path, &of_windows).expect("written");
        assert_eq!(resume(&path, "one").map(|journal| journal.records.len()).ok(), Some(2));
        assert_eq!(std::fs::read_to_string(&path).expect("there"), of_windows);
    }
}
