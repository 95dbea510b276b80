//! Ends: what a process's end means for its job, and what is counted, measured and written down of it (`ends/books.rs`). Reaping is in
//! `ends/reaping.rs`. Needs no list, no spawner and no terminal, so whatever starts processes can use it. Times are passed in.

mod books;
mod reaping;
mod recollection;

pub(crate) use books::RunBooks;
pub(crate) use reaping::{Death, KnownEnd, Reaped};
pub(crate) use recollection::Chain;
pub use recollection::{RunSnapshot, SeenJob, Watched};

use crate::halt::{EndCounts, Halt};
use crate::journal::{EarlierEnd, JobOutcome};
use crate::measures::JobMeasures;
use crate::spec::{More, Spec};
use crate::tree::{Leftovers, Spent};
use machine::Host;
use reaping::OwnPeak;
use recollection::{Chains, Recollection};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use sys::reap::{Ended, How};

/// How far a run is: read by other threads.
#[derive(Debug, Default)]
pub struct JobTally {
    /// Jobs that have ended.
    pub ended: AtomicU64,
    /// Those of them that failed.
    pub failed: AtomicU64,
    /// Jobs that run.
    pub running: AtomicU64,
    /// Jobs that have been read.
    pub read: AtomicU64,
    /// Whether the next one waits for memory.
    pub waits_for_memory: AtomicBool,
}

/// How a job ended.
#[derive(Clone, Copy, Debug)]
pub struct JobEnd {
    /// Its process.
    pub ended: Ended,
    /// What it and the orphans of its group used.
    pub spent: Spent,
    /// Whether processes of its group go on.
    pub leaves_processes: bool,
    /// What that means.
    pub outcome: JobOutcome,
    /// How long it took.
    pub wall: Duration,
    /// Whether it is run again.
    pub is_tried_again: bool,
    /// Bytes it printed through us: to standard output, to standard error.
    pub printed_bytes: [u64; 2],
}

/// What follows from ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndRules {
    /// How often a failed job is run again.
    pub retries: u32,
    /// When to stop early.
    pub halt: Option<Halt>,
    /// Jobs in the list, if that is known.
    pub total: Option<u64>,
}

/// One attempt at a job, as it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobAttempt {
    pub number: u64,
    pub hands: usize,
    /// What [`JobEnds::begin`] returned.
    pub started_as: usize,
    /// The chain of jobs that had to end before it.
    pub chain: Chain,
}

impl JobAttempt {
    /// The chain up to this job, with it.
    pub fn chain_with_it(&self, end: &JobEnd) -> Chain {
        Chain { ns: self.chain.ns + end.wall.as_nanos() as u64, jobs: self.chain.jobs + 1, end: self.number }
    }
}

/// The ends of a run's jobs.
pub(crate) struct JobEnds<'a> {
    pub books: RunBooks,
    pub counts: EndCounts,
    /// Jobs that ran when the run was stopped, and were ended.
    pub stopped: u64,
    /// Jobs that an earlier run had done.
    pub left_out: u64,
    /// Those of them that had failed.
    pub left_out_failed: u64,
    rules: EndRules,
    host: &'a Host,
    leftovers: Leftovers,
    own_peak: OwnPeak,
    recollection: Recollection,
    chains: Chains,
    measures: JobMeasures,
    tally: Arc<JobTally>,
    watched: Option<Arc<Watched>>,
}

impl<'a> JobEnds<'a> {
    pub fn new(
        books: RunBooks,
        rules: EndRules,
        host: &'a Host,
        tally: Arc<JobTally>,
        watched: Option<Arc<Watched>>,
    ) -> Self {
        Self {
            books,
            counts: EndCounts::default(),
            stopped: 0,
            left_out: 0,
            left_out_failed: 0,
            rules,
            host,
            leftovers: Leftovers::default(),
            own_peak: OwnPeak::default(),
            recollection: Recollection::new(host),
            chains: Chains::default(),
            measures: JobMeasures::default(),
            tally,
            watched,
        }
    }

    /// The chain of jobs that one waits for that asks for this.
    pub fn chain_before(&mut self, more: Option<&More>, barriers_passed: u64) -> Chain {
        self.chains.before(more, barriers_passed)
    }

    /// Notes that a job has started. Returns what its end is noted with.
    pub fn begin(&mut self, places: usize, waits_for_others: bool) -> usize {
        self.measures.starts += 1;
        self.recollection.begin(places, waits_for_others)
    }

    /// For a screen, if there is one.
    pub fn show_start(&self, job: impl FnOnce() -> SeenJob) {
        if let Some(watched) = &self.watched {
            watched.started(job());
        }
    }

    /// Whether a job that came out so is run again.
    pub fn is_tried_again(&self, outcome: JobOutcome, more: Option<&More>, failures: u32) -> bool {
        let is_failure = matches!(outcome, JobOutcome::Failed | JobOutcome::TimedOut | JobOutcome::OutputLost);
        is_failure && failures < self.retries_of(more)
    }

    /// How often a job is run again that asks for this.
    pub fn retries_of(&self, more: Option<&More>) -> u32 {
        more.and_then(|more| more.retries).unwrap_or(self.rules.retries)
    }

    /// Measures an attempt that has ended.
    pub fn measure(&mut self, attempt: &JobAttempt, end: &JobEnd) {
        let wall_ns = end.wall.as_nanos() as u64;
        self.recollection.end(attempt.started_as, wall_ns);
        if let Some(watched) = &self.watched {
            watched.ended(attempt.number, end.wall.as_secs_f64());
        }
        let (measures, usage) = (&mut self.measures, &end.spent.usage);
        measures.work_ns += wall_ns * attempt.hands as u64;
        if wall_ns > measures.longest_ns {
            (measures.longest_ns, measures.longest_job) = (wall_ns, attempt.number);
        }
        measures.jobs_cpu_ns += usage.cpu_ns();
        measures.jobs_blocks += usage.blocks();
        measures.output_bytes += end.printed_bytes.iter().sum::<u64>();
        measures.rss_peak_bytes = measures.rss_peak_bytes.max(usage.rss_peak_bytes);
        self.chains.note(attempt.chain_with_it(end));
    }

    /// Counts a job that has come to its end, started or not, and is not run again.
    pub fn count(&mut self, outcome: JobOutcome) {
        match outcome {
            JobOutcome::Ok => self.counts.succeeded += 1,
            // It may have been about to succeed.
            JobOutcome::Stopped => self.stopped += 1,
            _ => self.count_failure(),
        }
        self.tally.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a job that is not run, as an earlier run did it.
    pub fn count_left_out(&mut self, earlier: EarlierEnd) {
        self.left_out += 1;
        self.left_out_failed += u64::from(earlier == EarlierEnd::Failed);
        self.tally.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// A job whose output did not reach anybody has failed, however it ended. Returns what it comes to.
    pub fn count_lost(&mut self, outcome: JobOutcome) -> JobOutcome {
        if outcome == JobOutcome::Ok {
            self.counts.succeeded -= 1;
            self.count_failure();
        }
        if outcome == JobOutcome::Stopped { outcome } else { JobOutcome::OutputLost }
    }

    fn count_failure(&mut self) {
        self.counts.failed += 1;
        self.tally.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// The rule for stopping early, once it is met.
    pub fn rule_met(&self) -> Option<Halt> {
        self.rules.halt.filter(|halt| halt.is_met(self.counts, self.rules.total))
    }

    /// A job has come to its end, started or not, behind this chain.
    pub fn settle(&mut self, spec: &Spec, chain: Chain) {
        self.books.forget_made(spec.number);
        if let Some(id) = spec.more.as_ref().and_then(|more| more.id.clone()) {
            self.chains.name(id, chain);
        }
    }

    /// What was measured, at the end of a run as wide as this.
    pub fn measures(&self, width: usize) -> JobMeasures {
        let Chain { ns, jobs, end } = self.chains.longest();
        let [disk_waits_ns, cpu_waits_ns] = self.recollection.waits_ns(self.host);
        JobMeasures {
            width,
            critical_path_ns: ns,
            critical_path_jobs: jobs,
            critical_path_end: end,
            disk_waits_ns,
            cpu_waits_ns,
            scheduled_ns: self.recollection.scheduled_ns(width),
            ..self.measures
        }
    }
}

/// What the end of a process means for its job.
pub(crate) fn outcome(how: How, is_timed_out: bool, is_stopped: bool) -> JobOutcome {
    match how {
        _ if is_timed_out => JobOutcome::TimedOut,
        _ if is_stopped => JobOutcome::Stopped,
        How::Exit(0) => JobOutcome::Ok,
        _ => JobOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;
    use rustix::process::Pid;
    use std::path::Path;

    fn ends<'a>(host: &'a Host, halt: &str) -> JobEnds<'a> {
        let rules = EndRules { retries: 1, halt: Some(halt.parse().expect("a rule")), total: None };
        let books = RunBooks::new(None, None, None, Keys::new(Path::new("/"), &More::default()));
        JobEnds::new(books, rules, host, Arc::default(), None)
    }

    fn end(outcome: JobOutcome, seconds: u64) -> JobEnd {
        let ended = Ended { pid: Pid::INIT, how: How::Exit(0), usage: sys::reap::Usage::default() };
        JobEnd {
            ended,
            spent: Spent::of(ended.usage, None),
            leaves_processes: false,
            outcome,
            wall: Duration::from_secs(seconds),
            is_tried_again: false,
            printed_bytes: [3, 4],
        }
    }

    #[test]
    fn an_end_means_what_it_was_brought_about_by() {
        assert_eq!(outcome(How::Exit(0), false, false), JobOutcome::Ok);
        assert_eq!(outcome(How::Exit(1), false, false), JobOutcome::Failed);
        assert_eq!(outcome(How::Signal(9), false, true), JobOutcome::Stopped);
        assert_eq!(outcome(How::Exit(0), true, true), JobOutcome::TimedOut, "it was too late before");
    }

    #[test]
    fn failures_are_tried_again_as_often_as_the_job_or_the_run_says() {
        let host = Host::real();
        let ends = ends(&host, "never");
        assert!(
            ends.is_tried_again(JobOutcome::TimedOut, None, 0) && !ends.is_tried_again(JobOutcome::Failed, None, 1)
        );
        let twice = More { retries: Some(2), ..More::default() };
        assert!(ends.is_tried_again(JobOutcome::OutputLost, Some(&twice), 1));
        assert!(!ends.is_tried_again(JobOutcome::Stopped, None, 0) && !ends.is_tried_again(JobOutcome::Ok, None, 0));
    }

    #[test]
    fn counts_meet_the_rule_and_an_output_that_is_lost_turns_a_success_over() {
        let host = Host::real();
        let mut ends = ends(&host, "soon,fail=2");
        [JobOutcome::Ok, JobOutcome::NotStarted, JobOutcome::Stopped]
            .into_iter()
            .for_each(|outcome| ends.count(outcome));
        assert_eq!((ends.counts, ends.stopped, ends.rule_met()), (EndCounts { succeeded: 1, failed: 1 }, 1, None));
        assert_eq!(ends.count_lost(JobOutcome::Ok), JobOutcome::OutputLost);
        assert_eq!(ends.counts, EndCounts { succeeded: 0, failed: 2 });
        assert!(ends.rule_met().is_some());
        assert_eq!(ends.count_lost(JobOutcome::Stopped), JobOutcome::Stopped);
        assert_eq!((ends.tally.ended.load(Ordering::Relaxed), ends.tally.failed.load(Ordering::Relaxed)), (3, 2));
    }

    #[test]
    fn times_that_are_passed_in_add_up_and_follow_chains() {
        let host = Host::real();
        let mut ends = ends(&host, "never");
        let mut named = Spec { number: 1, ..Spec::default() };
        named.more_mut().id = Some("a".to_owned());
        let started_as = ends.begin(1, false);
        let first = JobAttempt { number: 1, hands: 1, started_as, chain: ends.chain_before(None, 0) };
        let end_of_first = end(JobOutcome::Ok, 5);
        ends.measure(&first, &end_of_first);
        ends.settle(&named, first.chain_with_it(&end_of_first));
        let behind = More { after: vec!["a".to_owned()], ..More::default() };
        let (started_as, chain) = (ends.begin(2, true), ends.chain_before(Some(&behind), 0));
        ends.measure(&JobAttempt { number: 2, hands: 2, started_as, chain }, &end(JobOutcome::Ok, 3));
        let measures = ends.measures(2);
        assert_eq!((measures.starts, measures.work_ns, measures.output_bytes), (2, 11_000_000_000, 14));
        assert_eq!((measures.longest_ns, measures.longest_job), (5_000_000_000, 1));
        assert_eq!((measures.critical_path_ns, measures.critical_path_jobs), (8_000_000_000, 2));
        assert_eq!((measures.critical_path_end, measures.scheduled_ns), (2, None));
        assert_eq!(ends.chain_before(None, 1).jobs, 2, "behind a barrier all that went before counts");
    }
}
