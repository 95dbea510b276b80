//! Lanes: connections that take jobs from one queue, the most expensive first. Jobs may come while lanes are at work, as tables get their rows.
//!
//! A job of phase 0 begins at once; one of a later phase when all jobs are there and those of smaller phases have ended. One that shares its
//! tables with nobody waits until no build of them is left, so that it never stands in the server's queue before builds.

use super::jobs::{IndexJob, TableSharing};
use super::rule::LaneRule;
use parking_lot::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};
use wire::{Canceller, Connection, WireError};

/// How long a server may take to hear of a cancel request.
const CANCEL: Duration = Duration::from_secs(5);

/// What came of a job.
#[derive(Debug)]
pub struct BuildOutcome {
    /// The line of its statement.
    pub line: u64,
    /// For people.
    pub name: String,
    /// How it ended.
    pub end: BuildEnd,
}

/// How a job ended.
#[derive(Debug)]
pub enum BuildEnd {
    /// What it makes is there.
    Made {
        /// From its beginning, without waiting for cores.
        took: Duration,
        /// Workers that it asked for.
        workers: usize,
    },
    /// The server says that it is there already, and that is well.
    Present,
    /// An index is there, which did not become the key that it was made for.
    OnlyIndex(WireError),
    /// It was refused, or ended.
    Failed(WireError),
    /// The run ended before it, or in the midst of it.
    NotMade {
        /// The index of a key is there, which did not become the key.
        has_index: bool,
    },
}

/// Why a run ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneStop {
    /// From outside.
    Interrupted,
    /// After a failure that ends all.
    Failed,
}

/// How a run goes on after a job that the server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The others go on.
    GoOn,
    /// The others are ended.
    Stop,
}

/// The queue that lanes share.
#[derive(Debug)]
pub struct IndexLanes {
    rule: LaneRule,
    after_failure: AfterFailure,
    state: Mutex<LaneState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LaneState {
    /// By phase, cost and arrival.
    waiting: BTreeMap<(u32, Reverse<u64>, u64), WaitingJob>,
    arrivals: u64,
    tables: HashMap<String, TableUse>,
    running: BTreeMap<u32, RunningJob>,
    /// Of jobs that were taken and have not ended.
    phase: Option<u32>,
    at_work: usize,
    hands_used: usize,
    is_complete: bool,
    stop: Option<LaneStop>,
    cancellers: BTreeMap<u32, Canceller>,
    outcomes: Vec<BuildOutcome>,
    costs: Costs,
}

#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    jobs: u64,
    bytes: u64,
    bytes_done: u64,
}

/// A job that waits for a lane.
#[derive(Debug)]
struct WaitingJob {
    job: IndexJob,
    built: Option<BuiltIndex>,
}

/// The index of a key, which is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuiltIndex {
    took: Duration,
    workers: usize,
}

/// Jobs of one table.
#[derive(Debug, Default)]
struct TableUse {
    builds_waiting: usize,
    builds_running: usize,
    is_alone: bool,
}

/// A job that a lane carries out.
#[derive(Clone, Debug)]
pub struct RunningJob {
    /// For people.
    pub name: String,
    /// What it costs.
    pub bytes: u64,
    /// When it began.
    pub since: Instant,
    /// What the server says of it.
    pub stage: BuildStage,
}

/// How far a build is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildStage {
    /// The server's name of what it does now.
    pub name: String,
    /// From 0 to 1.
    pub share: f64,
}

/// How far all jobs are.
#[derive(Clone, Debug, Default)]
pub struct IndexProgress {
    /// All.
    pub jobs: u64,
    /// Those that have ended.
    pub ended: u64,
    /// What all cost.
    pub bytes: u64,
    /// Of that, done.
    pub bytes_done: u64,
    /// Those that run.
    pub running: Vec<RunningJob>,
    /// Cores in use, those of the server's workers included.
    pub hands: usize,
}

/// A job that a lane has taken.
pub(super) struct TakenJob {
    pub job: IndexJob,
    /// Workers that there are cores for.
    pub workers: usize,
    built: Option<BuiltIndex>,
}

impl TakenJob {
    /// Whether all that is left is to make an index a key.
    pub fn has_index(&self) -> bool {
        self.job.sql.is_none()
    }
}

impl IndexLanes {
    /// Without jobs.
    pub fn new(rule: LaneRule, after_failure: AfterFailure) -> Self {
        Self { rule, after_failure, state: Mutex::default(), changed: Condvar::new() }
    }

    /// How lanes are run.
    pub fn rule(&self) -> LaneRule {
        self.rule
    }

    /// More jobs. Those of one table come together.
    pub fn add(&self, jobs: impl IntoIterator<Item = IndexJob>) {
        let mut state = self.state.lock();
        for job in jobs {
            state.costs.jobs += 1;
            state.costs.bytes += job.bytes;
            state.put(WaitingJob { job, built: None });
        }
        self.changed.notify_all();
    }

    /// There are no more to come: lanes end when all are done.
    pub fn no_more(&self) {
        self.state.lock().is_complete = true;
        self.changed.notify_all();
    }

    /// Ends the run: statements on the server are cancelled. The first reason stands.
    pub fn stop(&self, stop: LaneStop) {
        let mut state = self.state.lock();
        state.stop.get_or_insert(stop);
        let cancellers = std::mem::take(&mut state.cancellers);
        drop(state);
        self.changed.notify_all();
        for canceller in cancellers.into_values() {
            let _ends_by_itself_then = canceller.cancel(CANCEL);
        }
    }

    /// Why the run has ended early.
    pub fn stopped(&self) -> Option<LaneStop> {
        self.state.lock().stop
    }

    /// How far it is.
    pub fn progress(&self) -> IndexProgress {
        let state = self.state.lock();
        let running: Vec<RunningJob> = state.running.values().cloned().collect();
        let of_running: f64 = running.iter().map(|job| job.bytes as f64 * job.stage.share).sum();
        IndexProgress {
            jobs: state.costs.jobs,
            ended: state.outcomes.len() as u64,
            bytes: state.costs.bytes,
            bytes_done: state.costs.bytes_done + of_running as u64,
            running,
            hands: state.hands_used,
        }
    }

    /// What came of all jobs, those that were not begun included.
    pub fn take_outcomes(&self) -> Vec<BuildOutcome> {
        let mut state = self.state.lock();
        let left = std::mem::take(&mut state.waiting).into_values();
        let not_made = left.map(|WaitingJob { job, .. }| {
            let has_index = job.sql.is_none();
            BuildOutcome { line: job.line, name: job.name, end: BuildEnd::NotMade { has_index } }
        });
        let not_made: Vec<BuildOutcome> = not_made.collect();
        let mut outcomes = std::mem::take(&mut state.outcomes);
        outcomes.extend(not_made);
        outcomes.sort_by_key(|outcome| outcome.line);
        outcomes
    }

    /// A lane's connection, which may be cancelled from now on. False: the run is over.
    pub(super) fn opened(&self, connection: &Connection) -> bool {
        let mut state = self.state.lock();
        state.cancellers.insert(connection.server_pid(), connection.canceller());
        state.stop.is_none()
    }

    /// A lane's connection that ends before the lane.
    pub(super) fn closed(&self, connection: &Connection) {
        self.state.lock().cancellers.remove(&connection.server_pid());
    }

    pub(super) fn next(&self) -> Option<TakenJob> {
        let mut state = self.state.lock();
        loop {
            if state.stop.is_some() {
                return None;
            }
            if let Some(WaitingJob { job, built }) = state.take() {
                // Lanes that have not begun yet are idle, too.
                let idle = self.rule.lanes.saturating_sub(state.at_work + 1);
                let workers = match job.is_parallel && job.sql.is_some() {
                    true => self.rule.workers_now(state.hands_used, idle, state.waiting.len()),
                    false => 0,
                };
                state.at_work += 1;
                state.hands_used += 1 + workers;
                return Some(TakenJob { job, workers, built });
            }
            if state.is_complete && state.waiting.is_empty() && state.at_work == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Not all of the cores that a job was given could be had.
    pub(super) fn has_fewer_hands(&self, fewer: usize) {
        self.state.lock().hands_used -= fewer;
    }

    pub(super) fn begins(&self, pid: u32, job: &IndexJob) {
        let running = RunningJob {
            name: job.name.clone(),
            bytes: job.bytes,
            since: Instant::now(),
            stage: BuildStage::default(),
        };
        self.state.lock().running.insert(pid, running);
    }

    /// PIDs of connections that carry out jobs.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.state.lock().running.keys().copied().collect()
    }

    pub(super) fn stage(&self, pid: u32, stage: BuildStage) {
        if let Some(job) = self.state.lock().running.get_mut(&pid) {
            job.stage = stage;
        }
    }

    /// A job has ended; if an index was built for a key, what makes it one becomes a job.
    pub(super) fn ends(&self, pid: Option<u32>, taken: TakenJob, hands: usize, end: BuildEnd) {
        let is_refused = matches!(&end, BuildEnd::Failed(error) if !ends_connection(error));
        let is_divided = is_refused && !taken.job.apart.is_empty();
        let is_failure = !is_divided && matches!(end, BuildEnd::Failed(_) | BuildEnd::OnlyIndex(_));
        let is_lost = matches!(&end, BuildEnd::Failed(error) | BuildEnd::OnlyIndex(error) if ends_connection(error));
        let mut state = self.state.lock();
        pid.and_then(|pid| state.running.remove(&pid));
        state.give_back(&taken.job);
        state.at_work -= 1;
        state.hands_used -= hands;
        let TakenJob { job, built, .. } = taken;
        state.costs.bytes_done += job.bytes;
        match (end, job.attach.is_some() && job.sql.is_some(), built) {
            (BuildEnd::Failed(_), ..) if is_divided => state.divide(job),
            (BuildEnd::Made { took, workers }, true, _) => {
                let built = Some(BuiltIndex { took, workers });
                state.put(WaitingJob { job: IndexJob { sql: None, bytes: 0, ..job }, built });
            }
            (BuildEnd::Made { took, .. }, _, Some(built)) => {
                let end = BuildEnd::Made { took: built.took + took, workers: built.workers };
                state.outcomes.push(BuildOutcome { line: job.line, name: job.name, end });
            }
            (end, ..) => state.outcomes.push(BuildOutcome { line: job.line, name: job.name, end }),
        }
        if state.at_work == 0 {
            state.phase = None;
        }
        drop(state);
        self.changed.notify_all();
        if is_failure && (is_lost || self.after_failure == AfterFailure::Stop) {
            self.stop(LaneStop::Failed);
        }
    }
}

/// Whether nothing more can be asked over a connection after an error: the server has gone, or has ended it.
fn ends_connection(error: &WireError) -> bool {
    !matches!(error, WireError::Server(error) if !error.is_fatal)
}

impl LaneState {
    fn put(&mut self, mut waiting: WaitingJob) {
        let job = &mut waiting.job;
        if job.sql.is_none() {
            // There is nothing to build: the table is wanted alone.
            job.sharing = TableSharing::Alone;
        }
        if job.sharing == TableSharing::Builds {
            for table in &job.tables {
                self.tables.entry(table.clone()).or_default().builds_waiting += 1;
            }
        }
        self.arrivals += 1;
        self.waiting.insert((job.phase, Reverse(job.bytes), self.arrivals), waiting);
    }

    /// The statements of a job that was refused wait, each for itself.
    fn divide(&mut self, job: IndexJob) {
        self.costs.jobs -= 1;
        for job in job.apart {
            self.costs.jobs += 1;
            self.costs.bytes += job.bytes;
            self.put(WaitingJob { job, built: None });
        }
    }

    fn may_begin(&self, job: &IndexJob) -> bool {
        let is_turn = match self.phase {
            Some(phase) => job.phase == phase,
            None => job.phase == 0 || self.is_complete,
        };
        is_turn
            && job.tables.iter().filter_map(|table| self.tables.get(table)).all(|table| match job.sharing {
                TableSharing::Builds => !table.is_alone,
                TableSharing::Alone => !table.is_alone && table.builds_running == 0 && table.builds_waiting == 0,
            })
    }

    fn take(&mut self) -> Option<WaitingJob> {
        let first = self.waiting.keys().next()?.0;
        let of_phase = self.waiting.range((first, Reverse(u64::MAX), 0)..=(first, Reverse(0), u64::MAX));
        // Tables of constraints that wait: a later one may need an earlier one.
        let mut wanted = HashSet::new();
        let mut may_begin = |job: &'_ IndexJob| {
            let is_next = job.phase == 0 || job.tables.iter().all(|table| !wanted.contains(table));
            let may_begin = is_next && self.may_begin(job);
            wanted.extend(job.tables.iter().filter(|_| job.phase > 0 && !may_begin).cloned());
            may_begin
        };
        let key = of_phase.into_iter().find(|(_, waiting)| may_begin(&waiting.job)).map(|(key, _)| *key)?;
        let waiting = self.waiting.remove(&key)?;
        let job = &waiting.job;
        self.phase = Some(job.phase);
        for table in &job.tables {
            let table = self.tables.entry(table.clone()).or_default();
            match job.sharing {
                TableSharing::Builds => {
                    table.builds_waiting -= 1;
                    table.builds_running += 1;
                }
                TableSharing::Alone => table.is_alone = true,
            }
        }
        Some(waiting)
    }

    fn give_back(&mut self, job: &IndexJob) {
        for table in &job.tables {
            if let Some(table) = self.tables.get_mut(table) {
                match job.sharing {
                    TableSharing::Builds => table.builds_running -= 1,
                    TableSharing::Alone => table.is_alone = false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs::Present;
    use super::super::rule::LaneLimits;
    use super::*;
    use std::sync::Arc;

    fn job(name: &str, tables: &[&str], sharing: TableSharing, phase: u32, bytes: u64) -> IndexJob {
        IndexJob {
            line: 1,
            name: name.to_owned(),
            tables: tables.iter().map(|table| (*table).to_owned()).collect(),
            sharing,
            phase,
            settings: Arc::new([]),
            sql: Some(String::new()),
            attach: None,
            bytes,
            is_parallel: false,
            present: Present::Refused,
            apart: Vec::new(),
        }
    }

    fn lanes() -> IndexLanes {
        let limits = LaneLimits { hands: 4, server_workers: 8, memory_bytes: None };
        IndexLanes::new(LaneRule::choose(limits, 4), AfterFailure::GoOn)
    }

    fn taken(lanes: &IndexLanes) -> Option<TakenJob> {
        let mut state = lanes.state.lock();
        let WaitingJob { job, built } = state.take()?;
        state.at_work += 1;
        state.hands_used += 1;
        Some(TakenJob { job, workers: 0, built })
    }

    fn made() -> BuildEnd {
        BuildEnd::Made { took: Duration::ZERO, workers: 0 }
    }

    #[test]
    fn the_longest_comes_first_and_a_key_when_its_table_is_free() {
        let lanes = lanes();
        let key = IndexJob { attach: Some(String::new()), ..job("key", &["t"], TableSharing::Builds, 0, 10) };
        lanes.add([
            job("short", &["t"], TableSharing::Builds, 0, 5),
            key,
            job("other", &["u"], TableSharing::Builds, 0, 1),
        ]);
        lanes.add([job("alone", &["t", "u"], TableSharing::Alone, 1, 9)]);
        lanes.no_more();
        let first = taken(&lanes).expect("a job");
        assert_eq!(first.job.name, "key");
        lanes.ends(None, first, 1, made());
        let second = taken(&lanes).expect("a job");
        assert_eq!(second.job.name, "short", "the constraint waits for it");
        let third = taken(&lanes).expect("a job");
        assert_eq!(third.job.name, "other");
        assert!(taken(&lanes).is_none());
        lanes.ends(None, second, 1, made());
        let attach = taken(&lanes).expect("no build of the table is left");
        assert_eq!((attach.job.name.as_str(), attach.job.sql.is_none()), ("key", true));
        lanes.ends(None, third, 1, made());
        assert!(taken(&lanes).is_none(), "a later phase waits");
        lanes.ends(None, attach, 1, made());
        let last = taken(&lanes).expect("the later phase");
        assert_eq!(last.job.name, "alone");
        lanes.ends(None, last, 1, made());
        let names: Vec<_> = lanes.take_outcomes().into_iter().map(|outcome| outcome.name).collect();
        assert_eq!(names, ["short", "other", "key", "alone"]);
    }

    #[test]
    fn two_that_want_a_table_alone_never_have_it_at_once() {
        let lanes = lanes();
        lanes.add([
            job("a", &["t", "u"], TableSharing::Alone, 1, 0),
            job("b", &["u", "v"], TableSharing::Alone, 1, 0),
            job("behind", &["v"], TableSharing::Alone, 1, 0),
            job("c", &["w"], TableSharing::Alone, 1, 0),
        ]);
        assert!(taken(&lanes).is_none(), "more may come");
        lanes.no_more();
        let (a, c) = (taken(&lanes).expect("a job"), taken(&lanes).expect("a job"));
        assert_eq!((a.job.name.as_str(), c.job.name.as_str()), ("a", "c"));
        assert!(taken(&lanes).is_none());
        lanes.ends(None, a, 1, made());
        assert_eq!(taken(&lanes).map(|taken| taken.job.name).as_deref(), Some("b"));
    }

    #[test]
    fn a_lost_connection_ends_the_run_and_what_is_left_is_named() {
        let lanes = lanes();
        lanes.add([job("a", &["t"], TableSharing::Builds, 0, 2), job("b", &["t"], TableSharing::Builds, 0, 1)]);
        lanes.no_more();
        let a = taken(&lanes).expect("a job");
        lanes.ends(None, a, 1, BuildEnd::Failed(WireError::Closed));
        assert_eq!(lanes.stopped(), Some(LaneStop::Failed));
        assert!(lanes.next().is_none());
        let outcomes = lanes.take_outcomes();
        assert!(
            matches!(outcomes[0].end, BuildEnd::Failed(_))
                && matches!(outcomes[1].end, BuildEnd::NotMade { has_index: false })
        );
    }
}
