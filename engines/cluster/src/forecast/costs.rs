//! A run on many workers that is over, as its spool and journals have it, and what such runs cost besides their jobs.

use jobs::journal::times::each_end;
use serde::Serialize;
use std::io::{self, BufRead};

/// A run that is over. Times are seconds since it was submitted, all by one clock (the shared file system has one): the clocks of nodes
/// may differ by more than a run takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterRun {
    /// When the last job had ended.
    pub ended_s: f64,
    /// How long the longest job took.
    pub longest_job_s: f64,
    /// Its workers, by their numbers.
    pub workers: Vec<WorkerRun>,
}

/// A worker's part in it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRun {
    /// When it began; none of one that never did.
    pub started_s: Option<f64>,
    /// When its first job began and its last one ended; none if it had no job.
    pub worked_s: Option<(f64, f64)>,
    /// How long its jobs took, all added up.
    pub busy_s: f64,
    /// Jobs that it ran at once.
    pub width: usize,
    /// How long each of its chunks took.
    pub chunk_s: Vec<f64>,
    /// When it was last alive, if it died.
    pub died_s: Option<f64>,
}

/// All jobs of a worker's own journal. Times are those of the worker's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkSpan {
    /// How many ended, each attempt counted.
    pub jobs: u64,
    /// When the first began and the last ended, in seconds since 1970; none without any.
    pub worked_s: Option<(f64, f64)>,
    /// How long they took, all added up.
    pub busy_s: f64,
    /// How long the longest took.
    pub longest_s: f64,
}

impl WorkSpan {
    /// Reads a worker's journal.
    pub fn read(lines: impl BufRead) -> io::Result<Self> {
        let mut span = Self::default();
        each_end(lines, |end| {
            let ended_s = end.began_s + end.seconds;
            let (first_s, last_s) = span.worked_s.unwrap_or((end.began_s, ended_s));
            span.worked_s = Some((first_s.min(end.began_s), last_s.max(ended_s)));
            span.jobs += 1;
            span.busy_s += end.seconds;
            span.longest_s = span.longest_s.max(end.seconds);
        })?;
        Ok(span)
    }
}

impl WorkerRun {
    /// A worker that began at `started_s` of the run, when its own clock said `by_its_clock_s`.
    pub fn new(span: &WorkSpan, started_s: f64, by_its_clock_s: f64, width: usize) -> Self {
        let in_run_s = |own_s: f64| own_s - by_its_clock_s + started_s;
        Self {
            started_s: Some(started_s),
            worked_s: span.worked_s.map(|(first_s, last_s)| (in_run_s(first_s), in_run_s(last_s))),
            busy_s: span.busy_s,
            width,
            chunk_s: Vec::new(),
            died_s: None,
        }
    }

    /// Seconds between its first job and its last in which a place had none.
    pub(super) fn gaps_s(&self) -> f64 {
        let (first_s, last_s) = self.worked_s.unwrap_or_default();
        (last_s - first_s - self.busy_s / self.width.max(1) as f64).max(0.0)
    }

    /// From its begin to its first job.
    pub(super) fn start_s(&self) -> Option<f64> {
        let (started_s, (first_s, _)) = self.started_s.zip(self.worked_s)?;
        Some((first_s - started_s).max(0.0))
    }
}

/// What a run costs besides its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunCosts {
    /// How long the workers wait for nodes; none if nobody knows.
    pub queue_s: Option<f64>,
    /// How long a worker takes from its node to its first claim.
    pub start_s: f64,
    /// How long a place waits at the begin of a chunk.
    pub chunk_s: f64,
}

impl Default for RunCosts {
    /// As measured on virtual nodes that shared two busy cores: starts took 0.62 to 0.85 s, a chunk 20 ms.
    fn default() -> Self {
        Self { queue_s: None, start_s: 0.65, chunk_s: 0.02 }
    }
}

impl RunCosts {
    /// As a run had them. Of each cost that it does not show the default is taken.
    pub fn fitted(run: &ClusterRun) -> Self {
        let usual = Self::default();
        // A worker's first claim is part of its start.
        let between = |worker: &WorkerRun| {
            let claims = worker.chunk_s.len().checked_sub(1).filter(|claims| *claims > 0)?;
            Some(worker.gaps_s() / claims as f64)
        };
        let chunk_s = median(run.workers.iter().filter_map(between)).unwrap_or(usual.chunk_s);
        let start_s = median(run.workers.iter().filter_map(WorkerRun::start_s));
        Self {
            queue_s: run.workers.iter().filter_map(|worker| worker.started_s).min_by(f64::total_cmp),
            start_s: start_s.map_or(usual.start_s, |start_s| (start_s - chunk_s).max(0.0)),
            chunk_s,
        }
    }
}

/// The middle one, the lower one of two.
pub(super) fn median(of: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = of.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that began at 30 s, had its first job after `start_s`, and `gap_s` before each of four more chunks of 2 s.
    fn worker(start_s: f64, gap_s: f64) -> WorkerRun {
        let first_s = 30.0 + start_s;
        WorkerRun {
            started_s: Some(30.0),
            worked_s: Some((first_s, first_s + 5.0 * 2.0 + 4.0 * gap_s)),
            busy_s: 20.0,
            width: 2,
            chunk_s: vec![2.0; 5],
            died_s: None,
        }
    }

    #[test]
    fn costs_are_those_of_the_middle_worker() {
        let run = ClusterRun { ended_s: 60.0, longest_job_s: 1.0, workers: vec![worker(1.1, 0.1), worker(9.0, 5.0)] };
        let costs = RunCosts::fitted(&run);
        assert_eq!(costs.queue_s, Some(30.0));
        assert!((costs.chunk_s - 0.1).abs() < 1e-9 && (costs.start_s - 1.0).abs() < 1e-9, "{costs:?}");
    }

    #[test]
    fn a_workers_journal_is_moved_to_the_clock_of_the_run() {
        let key = "0".repeat(32);
        let line = |began: f64, seconds: f64| {
            format!(r#"{{"job":1,"key":"{key}","class":"a","outcome":"ok","began":{began},"seconds":{seconds}}}"#)
        };
        let journal = [line(7201.0, 2.0), "{\"job".to_owned(), line(7200.5, 5.0)].join("\n");
        let span = WorkSpan::read(journal.as_bytes()).expect("memory can be read");
        let expected = WorkSpan { jobs: 2, worked_s: Some((7200.5, 7205.5)), busy_s: 7.0, longest_s: 5.0 };
        assert_eq!(span, expected);
        let worker = WorkerRun::new(&span, 10.0, 7200.0, 2);
        assert_eq!((worker.started_s, worker.worked_s, worker.start_s()), (Some(10.0), Some((10.5, 15.5)), Some(0.5)));
        let idle = WorkerRun::new(&WorkSpan::read(&b""[..]).expect("nothing"), 10.0, 7200.0, 2);
        assert_eq!((idle.worked_s, idle.busy_s), (None, 0.0));
    }

    #[test]
    fn a_run_that_shows_nothing_has_the_usual_costs() {
        assert_eq!(RunCosts::fitted(&ClusterRun::default()), RunCosts::default());
        let idle = WorkerRun { worked_s: None, busy_s: 0.0, chunk_s: Vec::new(), ..worker(0.0, 0.0) };
        let costs = RunCosts::fitted(&ClusterRun { workers: vec![idle], ..ClusterRun::default() });
        assert_eq!(costs, RunCosts { queue_s: Some(30.0), ..RunCosts::default() });
        let one_chunk = WorkerRun { chunk_s: vec![10.0], ..worker(0.01, 0.0) };
        let costs = RunCosts::fitted(&ClusterRun { workers: vec![one_chunk], ..ClusterRun::default() });
        assert_eq!((costs.start_s, costs.chunk_s), (0.0, 0.02), "the claim is part of the start");
    }
}
