//! What an attempt at a chunk has come to: a line for each job that has ended, and an end. A part is complete, and then counts once it is
//! linked to the chunk's name in `done`; or the attempt was given up in good order, and whoever takes the chunk next goes on behind it.

use crate::link::link_or_create;
use crate::spool::{Spool, SpoolFault, failed};
use jobs::journal::JobOutcome;
use jobs::start::StartFault;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How a job has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Its number in the list.
    pub job: u64,
    /// How it came out.
    pub outcome: JobOutcome,
    /// Seconds that the last attempt took.
    pub seconds: f64,
    /// The worker in whose files its output is.
    pub worker: String,
    /// Where its output begins there, and how long it is: standard output, standard error.
    pub printed: [(u64, u64); 2],
    /// Messages about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

impl JobResult {
    /// Of a job that was not even tried.
    pub fn not_started(job: u64, why: &StartFault) -> Self {
        Self { said: vec![format!("could not start job {job}: {why}")], ..Self::lost(job, 0) }
    }

    /// Of a job whose workers died each time it was tried.
    pub fn lost(job: u64, attempts: u32) -> Self {
        Self {
            job,
            outcome: JobOutcome::NotStarted,
            seconds: 0.0,
            worker: String::new(),
            printed: [(0, 0); 2],
            said: vec![format!("job {job} was given up: {attempts} workers that ran it have died")],
        }
    }
}

/// An attempt that has ended in good order.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkPart {
    /// The chunk.
    pub chunk: u32,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// Whose.
    pub worker: String,
    /// Jobs that have ended, those of attempts before it included.
    pub results: Vec<JobResult>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    end: u32,
    attempt: u32,
    by: String,
    results: usize,
}

/// The name of a chunk's file.
pub(crate) fn chunk_name(chunk: u32) -> String {
    format!("{chunk:08}")
}

/// The name of an attempt's claim, and of what was freed of it.
pub(crate) fn attempt_name(chunk: u32, attempt: u32) -> String {
    format!("{chunk:08}.{attempt}")
}

/// The name by which an attempt is given up.
pub(crate) fn freed_name(chunk: u32, attempt: u32) -> String {
    format!("{chunk:08}.{attempt}.free")
}

impl ChunkPart {
    /// Publishes a whole part. Returns whether it counts: another attempt may have been faster.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&self, spool: &Spool) -> Result<bool, SpoolFault> {
        self.publish(spool, &spool.path("done", &chunk_name(self.chunk)))
    }

    /// Gives the chunk up: another worker may take it at once, and does what is left of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn free(&self, spool: &Spool) -> Result<bool, SpoolFault> {
        self.publish(spool, &spool.path("claim", &freed_name(self.chunk, self.attempt)))
    }

    fn publish(&self, spool: &Spool, name: &Path) -> Result<bool, SpoolFault> {
        let path = spool.path("part", &format!("{}.{}", attempt_name(self.chunk, self.attempt), self.worker));
        self.write(&path).map_err(failed("write", &path))?;
        let is_first = link_or_create(&path, name).map_err(failed("make", name))?;
        let _a_copy = std::fs::remove_file(&path);
        Ok(is_first)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for result in &self.results {
            serde_json::to_writer(&mut bytes, result).map_err(io::Error::from)?;
            bytes.push(b'\n');
        }
        let end =
            EndLine { end: self.chunk, attempt: self.attempt, by: self.worker.clone(), results: self.results.len() };
        serde_json::to_writer(&mut bytes, &end).map_err(io::Error::from)?;
        bytes.push(b'\n');
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    }

    /// The part that counts for a chunk; none while there is none.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn done(spool: &Spool, chunk: u32) -> Result<Option<Self>, SpoolFault> {
        let path = spool.path("done", &chunk_name(chunk));
        let Some(part) = read(&path, chunk)? else { return Ok(None) };
        let (results, jobs) = (part.results.len() as u64, spool.jobs_in(chunk));
        if results != jobs || !part.results.is_sorted_by(|one, other| one.job < other.job) {
            return Err(SpoolFault::Damaged { path, why: format!("it has {results} results of {jobs} jobs") });
        }
        Ok(Some(part))
    }

    /// What an attempt that was given up had come to.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn freed(spool: &Spool, chunk: u32, attempt: u32) -> Result<Option<Self>, SpoolFault> {
        read(&spool.path("claim", &freed_name(chunk, attempt)), chunk)
    }
}

fn read(path: &Path, chunk: u32) -> Result<Option<ChunkPart>, SpoolFault> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    parse(&bytes, chunk).map_err(|why| SpoolFault::Damaged { path: path.to_owned(), why })
}

/// None where the file has no end yet: it is being copied, on a file system without links.
fn parse(bytes: &[u8], chunk: u32) -> Result<Option<ChunkPart>, String> {
    let Some(lines) = bytes.strip_suffix(b"\n") else { return Ok(None) };
    let mut lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
    let Some(Ok(end)) = lines.pop().map(serde_json::from_slice::<EndLine>) else { return Ok(None) };
    let results = lines
        .into_iter()
        .enumerate()
        .map(|(line, bytes)| serde_json::from_slice(bytes).map_err(|error| format!("line {}: {error}", line + 1)));
    let results: Vec<JobResult> = results.collect::<Result<_, String>>()?;
    if end.end != chunk || end.results != results.len() {
        return Err(format!("it ends as chunk {} with {} results", end.end, end.results));
    }
    Ok(Some(ChunkPart { chunk, attempt: end.attempt, worker: end.by, results }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::tests::spool;
    use proptest::prelude::*;

    fn result(job: u64) -> JobResult {
        JobResult {
            job,
            outcome: JobOutcome::Failed,
            seconds: 0.5,
            worker: "w0".to_owned(),
            printed: [(1, 2), (3, 4)],
            said: vec!["job 1 failed: a\nb".to_owned()],
        }
    }

    fn part(attempt: u32, worker: &str, jobs: &[u64]) -> ChunkPart {
        ChunkPart {
            chunk: 1,
            attempt,
            worker: worker.to_owned(),
            results: jobs.iter().map(|job| result(*job)).collect(),
        }
    }

    #[test]
    fn the_first_part_of_a_chunk_counts() {
        let place = tempfile::tempdir().expect("a directory");
        let spool = spool(place.path(), 2, &[2], 1);
        assert_eq!(ChunkPart::done(&spool, 1).expect("readable"), None);
        let (first, second) = (part(1, "w0", &[2]), part(2, "w1", &[2]));
        assert!(first.finish(&spool).expect("written"));
        assert!(!second.finish(&spool).expect("written"));
        assert_eq!(ChunkPart::done(&spool, 1).expect("readable"), Some(first));
        std::fs::remove_file(spool.path("done", &chunk_name(1))).expect("there");
        part(3, "w2", &[2, 3]).finish(&spool).expect("written");
        let damaged = ChunkPart::done(&spool, 1).expect_err("the chunk has one job");
        assert!(damaged.to_string().contains("it has 2 results of 1 jobs"), "{damaged}");
        let left = std::fs::read_dir(place.path().join("part")).expect("readable").count();
        assert_eq!(left, 0, "a part has no second name");
    }

    #[test]
    fn a_part_that_was_given_up_keeps_what_has_ended() {
        let place = tempfile::tempdir().expect("a directory");
        let spool = spool(place.path(), 2, &[2], 1);
        let given_up = part(3, "w0", &[2]);
        given_up.free(&spool).expect("written");
        assert_eq!(ChunkPart::freed(&spool, 1, 3).expect("readable"), Some(given_up));
        assert_eq!(
            (ChunkPart::freed(&spool, 1, 2).expect("none"), ChunkPart::done(&spool, 1).expect("none")),
            (None, None)
        );
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let good = b"{\"job\":1,\"outcome\":\"ok\",\"seconds\":0,\"worker\":\"w\",\"printed\":[[0,0],[0,0]]}\n";
        let end = b"{\"end\":1,\"attempt\":1,\"by\":\"w\",\"results\":1}\n";
        assert_eq!(parse(&[&good[..], end].concat(), 1).expect("whole").expect("there").results.len(), 1);
        assert_eq!(parse(good, 1).expect("it has no end yet"), None);
        assert!(parse(&[b"{}\n", &end[..]].concat(), 1).expect_err("damage").starts_with("line 1: missing field"));
        assert!(parse(end, 1).expect_err("a line is missing").contains("with 1 results"));
        assert!(parse(&[&good[..], end].concat(), 2).is_err());
    }

    proptest! {
        #[test]
        fn noise_is_no_panic(noise in proptest::collection::vec(0_u8.., 0..200)) {
            let _either = parse(&noise, 1);
        }
    }
}
