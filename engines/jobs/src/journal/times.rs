//! Times of jobs that have ended, as a journal has them: estimates of later runs are made from them. Reads one line at a time, so a
//! journal of any length needs the memory of one line.

use super::JobOutcome;
use crate::key::JobKey;
use serde::Deserialize;
use std::io::{self, BufRead, Read};

/// LIMIT: longer lines are passed over. All words of a job are 2 MiB at most for the kernel, and a byte takes up to six in JSON.
const LINE_BYTES_MAX: usize = 16 << 20;

/// A job that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedJob {
    /// What it is.
    pub key: JobKey,
    /// What jobs of its kind have in common.
    pub class: String,
    /// How it came out.
    pub outcome: JobOutcome,
    /// When it began, in seconds since 1970 by the clock of its machine.
    pub began_s: f64,
    /// How long it took.
    pub seconds: f64,
}

/// The fields of a line that ends a job; lines of other kinds lack some.
#[derive(Deserialize)]
struct EndFields {
    key: Option<String>,
    class: Option<String>,
    outcome: Option<JobOutcome>,
    began: Option<f64>,
    seconds: Option<f64>,
}

impl EndFields {
    fn ended(self) -> Option<EndedJob> {
        let key = self.key.as_deref().and_then(JobKey::parse)?;
        let (class, outcome) = self.class.zip(self.outcome)?;
        let (began_s, seconds) = self.began.zip(self.seconds.filter(|seconds| *seconds >= 0.0))?;
        Some(EndedJob { key, class, outcome, began_s, seconds })
    }
}

/// Passes every end of a job to `each`, in the journal's order. Returns how many lines could not be read: a crash cut them off, or
/// they are too long to be ours.
pub fn each_end(mut lines: impl BufRead, mut each: impl FnMut(EndedJob)) -> io::Result<u64> {
    let (mut line, mut unread) = (Vec::new(), 0);
    loop {
        line.clear();
        if lines.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(unread);
        }
        if line.len() == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            lines.skip_until(b'\n')?;
            unread += 1;
            continue;
        }
        if line == b"\n" {
            continue;
        }
        match serde_json::from_slice::<EndFields>(&line) {
            Ok(fields) => fields.ended().into_iter().for_each(&mut each),
            Err(_cut_off) => unread += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JobRecord, Journal};
    use super::*;
    use crate::spec::Spec;
    use std::io::BufReader;

    fn all(lines: &[u8]) -> (Vec<EndedJob>, u64) {
        let mut ends = Vec::new();
        let unread = each_end(BufReader::with_capacity(64, lines), |end| ends.push(end)).expect("memory can be read");
        (ends, unread)
    }

    #[test]
    fn ends_come_back_as_they_were_written_and_other_lines_are_passed_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        let spec = Spec { number: 1, ..Spec::default() };
        let key = JobKey::of_command([b"a".as_slice()].into_iter());
        let mut journal = Journal::open(&path).expect("it can be made");
        journal.begin(key, 1, std::iter::empty()).expect("written");
        let record = JobRecord { began_s: 1.5, wall_s: 0.25, class: "a", ..JobRecord::of(&spec, key, &spec.words) };
        journal.end(&JobRecord { outcome: JobOutcome::TimedOut, ..record.clone() }).expect("written");
        journal.end(&JobRecord { outcome: JobOutcome::Ok, ..record }).expect("written");
        let (ends, unread) = all(&std::fs::read(&path).expect("there"));
        let end = |outcome| EndedJob { key, class: "a".to_owned(), outcome, began_s: 1.5, seconds: 0.25 };
        assert_eq!(ends, [end(JobOutcome::TimedOut), end(JobOutcome::Ok)]);
        assert_eq!(unread, 0);
    }

    #[test]
    fn damaged_lines_are_counted_and_those_behind_them_read() {
        let key = "0".repeat(32);
        let end = |seconds: &str| {
            format!(r#"{{"job":1,"key":"{key}","class":"a","outcome":"ok","began":1,"seconds":{seconds}}}"#)
        };
        let text = [end("1"), "{\"job\":1,\"ke".to_owned(), String::new(), end("-1"), end("2")].join("\n");
        let (ends, unread) = all(text.as_bytes());
        assert_eq!(ends.iter().map(|end| end.seconds).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(unread, 1);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_whole() {
        let key = "0".repeat(32);
        let end = format!(r#"{{"job":1,"key":"{key}","class":"a","outcome":"ok","began":1,"seconds":1}}"#);
        let text = [vec![b'x'; 2 * LINE_BYTES_MAX + 7], end.into_bytes()].join(&b'\n');
        let (ends, unread) = all(&text);
        assert_eq!((ends.len(), unread), (1, 1));
    }
}
