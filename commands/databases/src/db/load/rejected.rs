//! Refused rows: as they are in one file, which can be loaded when it is mended, and where they stood and why in another. Rows come from several threads.

use database::load::RejectedRow;
use mh_kit::failure::with_causes;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Both files.
pub struct RejectFile {
    path: PathBuf,
    log_path: PathBuf,
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
    /// The line about the first that was refused.
    pub first: Option<String>,
}

impl RejectFile {
    /// Makes them, empty. The error reads after "could not".
    pub fn create(path: &Path) -> Result<Self, String> {
        let mut log_path = path.as_os_str().to_owned();
        log_path.push(".log");
        let log_path = PathBuf::from(log_path);
        let make = |path: &Path| {
            let made = File::create(path).map(BufWriter::new);
            made.map_err(|error| format!("create {}: {}", terminal::quote(path), with_causes(&error)))
        };
        let files = Writers { rows: make(path)?, log: make(&log_path)?, first: None, count: 0 };
        Ok(Self { path: path.to_owned(), log_path, files: Mutex::new(files) })
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

    /// Writes what is left. Files without a row go.
    pub fn finish(self) -> Result<KeptRejects, String> {
        let Self { path, log_path, files } = self;
        let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let written = files.rows.flush().and_then(|()| files.log.flush());
        written.map_err(|error| format!("write {}: {}", terminal::quote(&path), with_causes(&error)))?;
        if files.count == 0 {
            for path in [&path, &log_path] {
                let _stays_empty = std::fs::remove_file(path);
            }
        }
        Ok(KeptRejects { path, log_path, first: files.first })
    }
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
        let file = RejectFile::create(&path).expect("it is made");
        let names = ["a.csv".to_owned()];
        let row_place = RowPlace { input: 0, line: 17, offset: 1234 };
        for row in [&b"1,x\n"[..], b"2,\"y\nz\""] {
            file.put(&RejectedRow { place: row_place, row, message: "no\nnumber" }, &names).expect("written");
        }
        let kept = file.finish().expect("written");
        assert_eq!(std::fs::read(&kept.path).expect("there"), b"1,x\n2,\"y\nz\"\n");
        let log = std::fs::read_to_string(&kept.log_path).expect("there");
        assert_eq!(log.lines().next(), Some("a.csv:17: byte 1234: no number"));
        RejectFile::create(&path).expect("it is made").finish().expect("nothing to write");
        assert!(!path.exists() && !kept.log_path.exists());
    }
}
