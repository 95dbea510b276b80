//! What a worker knows of chunks that it has claimed: which jobs of them have ended, and where their output is.

use super::lock;
use crate::part::{ChunkPart, JobResult};
use crate::spool::SpoolFault;
use jobs::journal::JobOutcome;
use jobs::run::ConcludedJob;
use jobs::spec::Spec;
use std::collections::HashMap;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use sys::reap::How;

/// For the committer.
#[derive(Debug)]
pub(super) enum Committed {
    /// All its jobs have ended.
    Whole(ChunkPart),
    /// The rest is for others.
    Freed(ChunkPart),
}

/// A chunk that is under way.
#[derive(Debug)]
struct Open {
    part: ChunkPart,
    left: usize,
}

/// The end of a job that may be the first that is seen of the worker's own.
#[derive(Debug)]
struct DoubtfulEnd {
    chunk: u32,
    result: JobResult,
    then: Instant,
}

/// Chunks under way.
#[derive(Debug)]
pub(super) struct ChunkBooks {
    worker: String,
    open: HashMap<u32, Open>,
    chunk_of: HashMap<u64, u32>,
    said: HashMap<u64, Vec<String>>,
    doubtful: Vec<DoubtfulEnd>,
    /// The jobs are being ended with the worker.
    is_stopping: bool,
    /// Bytes of both outputs up to here.
    written: [u64; 2],
    /// The usual time of a job, in seconds, recent ones counting most.
    usual_s: Option<f64>,
    /// None once the worker has ended.
    commits: Option<SyncSender<Committed>>,
    fault: Option<SpoolFault>,
}

/// The weight of the last time in the usual one.
const RECENT: f64 = 0.1;

/// An engine that ends a worker signals its jobs as well, and the runner may hear of theirs first: a job that a signal has ended counts
/// when its worker has outlived it by so much. LIMIT: a machine that takes longer than this to pass signals on counts it as failed.
const DOUBT: Duration = Duration::from_secs(1);

impl ChunkBooks {
    pub fn new(worker: &str, commits: SyncSender<Committed>) -> Self {
        Self {
            worker: worker.to_owned(),
            open: HashMap::new(),
            chunk_of: HashMap::new(),
            said: HashMap::new(),
            doubtful: Vec::new(),
            is_stopping: false,
            written: [0; 2],
            usual_s: None,
            commits: Some(commits),
            fault: None,
        }
    }

    /// Opens an attempt at a chunk: what an earlier one had come to, and the jobs that are left.
    pub fn open(&mut self, chunk: u32, attempt: u32, earlier: Vec<JobResult>, left: &[Spec]) {
        let part = ChunkPart { chunk, attempt, worker: self.worker.clone(), results: earlier };
        self.chunk_of.extend(left.iter().map(|spec| (spec.number, chunk)));
        self.open.insert(chunk, Open { part, left: left.len() });
        if left.is_empty() {
            self.close_if_whole(chunk);
        }
    }

    /// A chunk that has cost too many workers.
    pub fn give_up(&mut self, chunk: u32, attempt: u32, earlier: Vec<JobResult>, left: &[Spec]) {
        let mut results = earlier;
        results.extend(left.iter().map(|spec| JobResult::lost(spec.number, attempt - 1)));
        results.sort_by_key(|result| result.job);
        self.send(Committed::Whole(ChunkPart { chunk, attempt, worker: self.worker.clone(), results }));
    }

    /// How long jobs take that ended lately.
    pub fn usual(&self) -> Option<Duration> {
        self.usual_s.map(Duration::from_secs_f64)
    }

    /// Notes why the worker cannot go on.
    pub fn fail(&mut self, fault: SpoolFault) {
        self.fault.get_or_insert(fault);
    }

    fn concluded(&mut self, job: &ConcludedJob) {
        let printed = [0, 1].map(|stream| (self.written[stream], job.passed_on_bytes[stream]));
        [0, 1].into_iter().for_each(|stream| self.written[stream] += job.passed_on_bytes[stream]);
        let said = self.said.remove(&job.number).unwrap_or_default();
        let seconds = job.wall.as_secs_f64();
        self.usual_s = Some(self.usual_s.map_or(seconds, |usual| usual * (1.0 - RECENT) + seconds * RECENT));
        // It was ended with the run, or nobody has what it printed: another attempt follows.
        let is_to_be_done_again =
            job.has_tries_left || matches!(job.outcome, JobOutcome::Stopped | JobOutcome::OutputLost);
        let Some(chunk) = self.chunk_of.get(&job.number).copied().filter(|_| !is_to_be_done_again) else { return };
        self.chunk_of.remove(&job.number);
        let worker = self.worker.clone();
        let result = JobResult { job: job.number, outcome: job.outcome, seconds, worker, printed, said };
        match is_by_a_signal(job) {
            false => self.count(chunk, result),
            // Another attempt follows.
            true if self.is_stopping => {}
            true => self.doubtful.push(DoubtfulEnd { chunk, result, then: Instant::now() }),
        }
    }

    fn count(&mut self, chunk: u32, result: JobResult) {
        if let Some(open) = self.open.get_mut(&chunk) {
            open.part.results.push(result);
            open.left -= 1;
            self.close_if_whole(chunk);
        }
    }

    /// Counts the ends of jobs that the worker has outlived for long enough at this moment.
    pub fn outlive(&mut self, now: Instant) {
        let is_certain = |end: &mut DoubtfulEnd| now.saturating_duration_since(end.then) >= DOUBT;
        let certain: Vec<DoubtfulEnd> = self.doubtful.extract_if(.., is_certain).collect();
        certain.into_iter().for_each(|end| self.count(end.chunk, end.result));
    }

    fn close_if_whole(&mut self, chunk: u32) {
        if self.open.get(&chunk).is_some_and(|open| open.left == 0)
            && let Some(mut open) = self.open.remove(&chunk)
        {
            open.part.results.sort_by_key(|result| result.job);
            self.send(Committed::Whole(open.part));
        }
    }

    fn send(&self, committed: Committed) {
        // The committer ends when its channel does, not before.
        let _it_is_there = self.commits.as_ref().map(|commits| commits.send(committed));
    }

    /// Gives up what is open; why the worker could not go on.
    pub fn close(&mut self) -> Option<SpoolFault> {
        let doubtful = std::mem::take(&mut self.doubtful);
        doubtful.into_iter().for_each(|end| self.count(end.chunk, end.result));
        let mut open: Vec<Open> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|open| open.part.chunk);
        open.into_iter().for_each(|open| self.send(Committed::Freed(open.part)));
        self.commits = None;
        self.fault.take()
    }
}

/// Shells say 128 and the signal.
fn is_by_a_signal(job: &ConcludedJob) -> bool {
    let by_a_signal = matches!(job.how, Some(How::Signal(_) | How::Exit(129..=192)));
    by_a_signal && job.outcome == JobOutcome::Failed
}

/// For the observer of the worker's run.
#[derive(Debug)]
pub struct WorkerBooks {
    books: Arc<Mutex<ChunkBooks>>,
}

impl WorkerBooks {
    pub(super) fn new(books: Arc<Mutex<ChunkBooks>>) -> Self {
        Self { books }
    }

    /// A message about a job: whoever submitted the run passes it on.
    pub fn say(&self, job: u64, text: String) {
        lock(&self.books).said.entry(job).or_default().push(text);
    }

    /// Jobs are being ended with the worker: those that a signal has just ended belong to them.
    pub fn stopping(&self) {
        let mut books = lock(&self.books);
        books.is_stopping = true;
        books.doubtful.clear();
    }

    /// A job has come to its end for good. To be called in the order of the events.
    pub fn concluded(&self, job: &ConcludedJob) {
        lock(&self.books).concluded(job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::tests::spec;
    use std::sync::mpsc::sync_channel;

    fn job(number: u64, outcome: JobOutcome, bytes: [u64; 2]) -> ConcludedJob {
        let wall = Duration::from_secs(1);
        ConcludedJob { number, outcome, how: None, wall, has_tries_left: false, passed_on_bytes: bytes }
    }

    #[test]
    fn outputs_follow_each_other_and_a_chunk_is_whole_with_its_last_job() {
        let (sender, committed) = sync_channel(9);
        let mut books = ChunkBooks::new("w", sender);
        books.open(4, 1, Vec::new(), &[spec(1), spec(2)]);
        books.said.insert(2, vec!["job 2 failed".to_owned()]);
        books.concluded(&job(2, JobOutcome::Failed, [5, 7]));
        assert!(committed.try_recv().is_err());
        books.concluded(&job(1, JobOutcome::Ok, [3, 0]));
        let Ok(Committed::Whole(part)) = committed.try_recv() else { panic!("it is whole") };
        assert_eq!(part.results.iter().map(|result| result.job).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((part.results[0].printed, part.results[1].printed), ([(5, 3), (7, 0)], [(0, 5), (0, 7)]));
        assert_eq!(part.results[1].said, ["job 2 failed"]);
        assert_eq!(books.usual(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn what_was_stopped_or_lost_is_given_up_with_its_chunk() {
        let (sender, committed) = sync_channel(9);
        let mut books = ChunkBooks::new("w", sender);
        books.open(0, 1, Vec::new(), &[spec(1), spec(2), spec(3)]);
        books.concluded(&job(1, JobOutcome::Ok, [1, 1]));
        books.concluded(&job(2, JobOutcome::Stopped, [2, 2]));
        books.concluded(&job(3, JobOutcome::OutputLost, [0, 0]));
        assert!(books.close().is_none());
        let Ok(Committed::Freed(part)) = committed.try_recv() else { panic!("it is given up") };
        assert_eq!(part.results.iter().map(|result| result.job).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_job_that_a_signal_ended_counts_once_its_worker_has_outlived_it() {
        let killed = |number| ConcludedJob { how: Some(How::Signal(15)), ..job(number, JobOutcome::Failed, [0, 0]) };
        let (sender, committed) = sync_channel(9);
        let books = WorkerBooks::new(Arc::new(Mutex::new(ChunkBooks::new("w", sender))));
        lock(&books.books).open(0, 1, Vec::new(), &[spec(1)]);
        books.concluded(&killed(1));
        lock(&books.books).outlive(Instant::now());
        assert!(committed.try_recv().is_err(), "it may be the worker's own end");
        lock(&books.books).outlive(Instant::now() + DOUBT);
        let Ok(Committed::Whole(part)) = committed.try_recv() else { panic!("it has failed") };
        assert_eq!(part.results[0].outcome, JobOutcome::Failed);
        lock(&books.books).open(1, 1, Vec::new(), &[spec(2), spec(3), spec(4)]);
        books.concluded(&killed(2));
        books.stopping();
        books.concluded(&ConcludedJob { how: Some(How::Exit(143)), ..killed(3) });
        books.concluded(&ConcludedJob { how: Some(How::Exit(1)), ..killed(4) });
        lock(&books.books).close();
        let Ok(Committed::Freed(part)) = committed.try_recv() else { panic!("it is given up") };
        assert_eq!(part.results.iter().map(|result| result.job).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_chunk_goes_on_behind_what_was_freed() {
        let (sender, committed) = sync_channel(9);
        let mut books = ChunkBooks::new("w", sender);
        let earlier = JobResult { worker: "v".to_owned(), ..JobResult::lost(1, 0) };
        books.open(0, 2, vec![earlier.clone()], &[]);
        let Ok(Committed::Whole(part)) = committed.try_recv() else { panic!("nothing was left to do") };
        assert_eq!((part.attempt, part.results), (2, vec![earlier]));
        books.give_up(1, 6, Vec::new(), &[spec(8)]);
        let Ok(Committed::Whole(part)) = committed.try_recv() else { panic!("it is reported") };
        assert!(part.results[0].said[0].contains("5 workers that ran it have died"));
    }
}
