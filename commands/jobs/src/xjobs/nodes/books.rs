//! The journal of a run on many machines: the lines of all workers about results that count, added to the user's own, so that `--resume`
//! works here and there. Which chunks have been printed and which are in the journal is noted in the spool, for a run that goes on.

use super::super::NAME;
use cluster::part::ChunkPart;
use cluster::spool::Spool;
use jobs::journal::Journal;
use mh_kit::failure::{Failure, with_causes};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use terminal::quote;

/// Chunks of which something has been done, a number a line.
pub struct PrintedChunks {
    file: File,
    noted: HashSet<u32>,
}

impl PrintedChunks {
    /// Reads them, and goes on.
    pub fn open(spool: &Spool, name: &str) -> Result<Self, Failure> {
        let path = spool.root().join(name);
        let failure = |error: io::Error| Failure::Environment {
            command: NAME,
            message: format!("note in {} what was done: {}", quote(&path), with_causes(&error)),
        };
        let file = File::options().create(true).append(true).read(true).open(&path).map_err(failure)?;
        let mut noted = HashSet::new();
        for line in BufReader::new(&file).lines() {
            noted.extend(line.map_err(failure)?.parse::<u32>().ok());
        }
        Ok(Self { file, noted })
    }

    pub fn has(&self, chunk: u32) -> bool {
        self.noted.contains(&chunk)
    }

    pub fn note(&mut self, chunk: u32) -> io::Result<()> {
        self.noted.insert(chunk);
        self.file.write_all(format!("{chunk}\n").as_bytes())
    }
}

/// The lines of a worker's journal, as far as they tell whose they are.
#[derive(Deserialize)]
struct AnyLine {
    job: Option<u64>,
}

/// Whose lines about which jobs are to be added to the user's journal.
pub struct JournalCredits {
    jobs_of: HashMap<String, HashSet<u64>>,
    chunks: Vec<u32>,
    merged: PrintedChunks,
}

impl JournalCredits {
    /// Nothing is to be added yet.
    pub fn open(spool: &Spool) -> Result<Self, Failure> {
        Ok(Self { jobs_of: HashMap::new(), chunks: Vec::new(), merged: PrintedChunks::open(spool, "merged")? })
    }

    /// Each job's lines by the worker whose result counts, unless they have been added before.
    pub fn take(&mut self, part: &ChunkPart) {
        if self.merged.has(part.chunk) {
            return;
        }
        self.chunks.push(part.chunk);
        for result in part.results.iter().filter(|result| !result.worker.is_empty()) {
            // Most jobs have the worker of the one before.
            match self.jobs_of.get_mut(&result.worker) {
                Some(jobs) => _ = jobs.insert(result.job),
                None => _ = self.jobs_of.insert(result.worker.clone(), HashSet::from([result.job])),
            }
        }
    }

    /// Adds all.
    pub fn merge(mut self, spool: &Spool, journal: &mut Journal) -> io::Result<()> {
        let mut workers: Vec<(String, HashSet<u64>)> = self.jobs_of.into_iter().collect();
        workers.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        // Noted before: lines that are missing after a crash cost a job a second run, lines that come twice could cost one its only run.
        self.chunks.into_iter().try_for_each(|chunk| self.merged.note(chunk))?;
        for (worker, jobs) in workers {
            merge_one(&spool.path("journal", &format!("{worker}.jsonl")), &jobs, journal)?;
        }
        journal.finish()
    }
}

fn merge_one(path: &Path, jobs: &HashSet<u64>, journal: &mut Journal) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Ok(());
        }
        let is_wanted = |line: AnyLine| line.job.is_some_and(|job| jobs.contains(&job));
        if serde_json::from_slice(&line).is_ok_and(is_wanted) {
            journal.add(&line)?;
        }
    }
}
