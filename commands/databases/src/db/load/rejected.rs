//! Refused rows: as they are in one file, which can be loaded when it is mended, and where they stood and why in another. Rows come from several threads.

use database::load::RejectedRow;
use mh_kit::failure::with_causes;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Both files.
pub struct RejectFile {
    path: PathBuf,
    log_path: PathBuf,
    /// Whether they were there before: then they stay.
    were_there: bool,
    files: Mutex<Writers>,
}

struct Writers {
    rows: BufWriter<File>,
    log: BufWriter<File>,
    first: Option<String>,
    count: u64,
}

/// What is in the files.
#[derive(Debug)]
pub struct KeptRejects {
    /// The rows.
    pub path: PathBuf,
    /// Their places and causes.
    pub log_path: PathBuf,
    /// How many this run has written.
    pub count: u64,
    /// The line about the first that was refused.
    pub first: Option<String>,
}

impl RejectFile {
    /// Why they cannot be written, if so. Nothing that is there is lost: they may be the input, or what an earlier load has put aside. A load that goes on
    /// (`resumes`) adds to those of the one before.
    pub fn refuse(path: &Path, inputs: &[&Path], resumes: bool) -> Result<(), String> {
        let identity = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        for path in [path.to_owned(), log_path(path)] {
            let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
            let shown = terminal::quote(&path);
            let its = identity(&path);
            if inputs.iter().any(|input| its.is_some() && identity(input) == its) {
                return Err(format!("{shown} is an input: refused rows need a file of their own"));
            }
            if !resumes || !found.is_file() {
                return Err(format!("{shown} exists already: it may hold rows that another load has put aside"));
            }
        }
        Ok(())
    }

    /// Makes them, empty, or goes on behind what they hold. The error reads after "could not".
    pub fn create(path: &Path, resumes: bool) -> Result<Self, String> {
        let log_path = log_path(path);
        let were_there = resumes && (path.exists() || log_path.exists());
        let make = |path: &Path| {
            let mut options = OpenOptions::new();
            let options =
                if resumes { options.append(true).create(true) } else { options.write(true).create_new(true) };
            let made = options.open(path).map(BufWriter::new);
            made.map_err(|error| format!("create {}: {}", terminal::quote(path), with_causes(&error)))
        };
        let files = Writers { rows: make(path)?, log: make(&log_path)?, first: None, count: 0 };
        Ok(Self { path: path.to_owned(), log_path, were_there, files: Mutex::new(files) })
    }

    /// Writes a row and a line about it. `names` are those of the inputs.
    pub fn put(&self, row: &RejectedRow<'_>, names: &[String]) -> io::Result<()> {
        let name = names.get(row.place.input).map_or("-", String::as_str);
        let line = log_line(name, row);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.rows.write_all(row.row)?;
        if !row.row.ends_with(b"\n") {
            files.rows.write_all(b"\n")?;
        }
        writeln!(files.log, "{line}")?;
        files.count += 1;
        files.first.get_or_insert(line);
        Ok(())
    }

    /// Writes what is left. Files that this run made and that have no row go.
    pub fn finish(self) -> Result<KeptRejects, String> {
        let Self { path, log_path, were_there, files } = self;
        let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let written = files.rows.flush().and_then(|()| files.log.flush());
        written.map_err(|error| format!("write {}: {}", terminal::quote(&path), with_causes(&error)))?;
        if files.count == 0 && !were_there {
            for path in [&path, &log_path] {
                let _stays_empty = std::fs::remove_file(path);
            }
        }
        Ok(KeptRejects { path, log_path, count: files.count, first: files.first })
    }
}

fn log_path(path: &Path) -> PathBuf {
    let mut log_path = path.as_os_str().to_owned();
    log_path.push(".log");
    PathBuf::from(log_path)
}

/// `orders.csv:17: byte 1234: 22P02 invalid input`.
fn log_line(name: &str, row: &RejectedRow<'_>) -> String {
    let message: String = row.message.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    format!("{name}:{}: byte {}: {message}", row.place.line, row.place.offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::chunks::RowPlace;

    #[test]
    fn rows_can_be_loaded_again_and_the_log_has_their_places() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("bad.csv");
        let file = RejectFile::create(&path, false).expect("it is made");
        let names = ["a.csv".to_owned()];
        let row_place = RowPlace { input: 0, line: 17, offset: 1234 };
        for row in [&b"1,x\n"[..], b"2,\"y\nz\""] {
            file.put(&RejectedRow { place: row_place, row, message: "no\nnumber" }, &names).expect("written");
        }
        let kept = file.finish().expect("written");
        assert_eq!(std::fs::read(&kept.path).expect("there"), b"1,x\n2,\"y\nz\"\n");
        let log = std::fs::read_to_string(&kept.log_path).expect("there");
        assert_eq!(log.lines().next(), Some("a.csv:17: byte 1234: no number"));
        assert!(RejectFile::create(&path, false).is_err(), "rows of an earlier load");
        RejectFile::create(&path, true).expect("it goes on").finish().expect("nothing to write");
        assert_eq!(std::fs::read(&kept.path).expect("it stays").len(), 12);
        let other = place.path().join("none.csv");
        RejectFile::create(&other, false).expect("it is made").finish().expect("nothing to write");
        assert!(!other.exists() && !log_path(&other).exists());
    }

    #[test]
    fn nothing_that_is_there_is_written_over() {
        let place = tempfile::tempdir().expect("a directory");
        let [input, link, other] = ["x.csv.log", "link", "other"].map(|name| place.path().join(name));
        std::fs::write(&input, b"1\n").expect("written");
        std::fs::hard_link(&input, &link).expect("linked");
        let inputs = [input.as_path()];
        for resumes in [false, true] {
            let refuse = |path: &Path| RejectFile::refuse(path, &inputs, resumes);
            for path in [&input, &link, &place.path().join("x.csv")] {
                assert!(refuse(path).is_err_and(|why| why.contains("is an input")), "{path:?}");
            }
            assert_eq!(refuse(&other), Ok(()));
            assert!(refuse(Path::new("/dev/null")).is_err(), "it would be removed");
        }
        std::fs::write(&other, b"old").expect("written");
        assert!(RejectFile::refuse(&other, &inputs, false).is_err_and(|why| why.contains("exists already")));
        assert_eq!(RejectFile::refuse(&other, &inputs, true), Ok(()));
    }
}
