//! What a run remembers of its jobs for the verdict and for the time left: their times in the order of their starts, the longest chains
//! of those that waited for each other, and the last times for observers. Bounded whatever the list's length.

use crate::schedule;
use crate::spec::More;
use machine::Resource;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::time::Instant;

/// LIMIT: jobs whose times are kept, 32 KiB. Of longer lists the sum says as much: no single job matters.
const KEPT_MAX: usize = 4096;

/// LIMIT: times that an estimate is made from: the last ones, as lists change.
const RECENT_MAX: usize = 128;

/// Times of jobs in the order of their starts.
#[derive(Debug, Default)]
pub(super) struct Recollection {
    times_ns: Vec<u64>,
    starts: usize,
    /// Jobs waited for each other, so a schedule by times alone would be wrong.
    is_tangled: bool,
    disk_waits_us: Option<u64>,
    cpu_waits_us: Option<u64>,
}

impl Recollection {
    pub fn new(host: &machine::Host) -> Self {
        let waits_us = |resource| waits_us(host, resource);
        Self { disk_waits_us: waits_us(Resource::Io), cpu_waits_us: waits_us(Resource::Cpu), ..Self::default() }
    }

    /// A job starts; what it gets is what its end is noted with.
    pub fn begin(&mut self, hands: usize, waits_for_others: bool) -> usize {
        self.is_tangled |= waits_for_others || hands > 1;
        self.starts += 1;
        self.starts - 1
    }

    pub fn end(&mut self, started_as: usize, wall_ns: u64) {
        if started_as < KEPT_MAX {
            self.times_ns.resize(self.times_ns.len().max(started_as + 1), 0);
            self.times_ns[started_as] = wall_ns;
        }
    }

    /// When the last job would have ended at each of [`schedule::widths`], if that can be said.
    pub fn scheduled_ns(&self, width: usize) -> Option<[u64; 5]> {
        let is_whole = self.starts <= KEPT_MAX && !self.is_tangled;
        let at = |width| schedule::makespan(self.times_ns.iter().map(|time| *time as f64), width) as u64;
        is_whole.then(|| schedule::widths(width).map(at))
    }

    /// For how long some task of the machine waited for a disk and for a CPU since the run began.
    pub fn waits_ns(&self, host: &machine::Host) -> [Option<u64>; 2] {
        [(Resource::Io, self.disk_waits_us), (Resource::Cpu, self.cpu_waits_us)].map(|(resource, before_us)| {
            let both_us = waits_us(host, resource).zip(before_us);
            both_us.map(|(now_us, before_us)| now_us.saturating_sub(before_us) * 1000)
        })
    }
}

fn waits_us(host: &machine::Host, resource: Resource) -> Option<u64> {
    machine::pressure(host, resource).ok().flatten().map(|pressure| pressure.total_us)
}

/// Jobs each of which had to wait for the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chain {
    pub ns: u64,
    pub jobs: u64,
    /// The number of the last of them.
    pub end: u64,
}

impl Chain {
    fn longer(self, other: Self) -> Self {
        if other.ns > self.ns { other } else { self }
    }
}

/// The longest chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    named: HashMap<String, Chain>,
    longest: Chain,
    /// What all jobs behind the last barrier waited for.
    barrier: Chain,
    barriers: u64,
}

impl Chains {
    pub fn before(&mut self, more: Option<&More>, barriers_passed: u64) -> Chain {
        if self.barriers != barriers_passed {
            (self.barriers, self.barrier) = (barriers_passed, self.longest);
        }
        let named = more.into_iter().flat_map(|more| &more.after).filter_map(|name| self.named.get(name));
        named.copied().fold(self.barrier, Chain::longer)
    }

    pub fn note(&mut self, chain: Chain) {
        self.longest = self.longest.longer(chain);
    }

    pub fn name(&mut self, id: String, chain: Chain) {
        self.named.insert(id, chain);
    }

    pub fn longest(&self) -> Chain {
        self.longest
    }
}

/// The run as somebody who watches sees it: jobs that run, times of those that have ended. Shared with another thread.
#[derive(Debug, Default)]
pub struct Watched {
    inner: Mutex<RunSnapshot>,
}

/// What is seen of a run.
#[derive(Clone, Debug, Default)]
pub struct RunSnapshot {
    /// Jobs at once.
    pub width: usize,
    /// Jobs that run.
    pub running: Vec<SeenJob>,
    /// Seconds of the last jobs that ended.
    pub times: std::collections::VecDeque<f64>,
}

/// A job that runs.
#[derive(Clone, Debug)]
pub struct SeenJob {
    /// Its number in the list.
    pub number: u64,
    /// Its process, the leader of its group.
    pub pid: i32,
    /// What runs, cut.
    pub words: String,
    /// Since when.
    pub started: Instant,
}

impl Watched {
    /// All of it, copied: the run does not wait for who looks.
    pub fn look(&self) -> RunSnapshot {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, RunSnapshot> {
        self.inner.lock()
    }

    /// What is known before the run: times of its kind from a journal.
    pub fn begin(&self, width: usize, times: impl IntoIterator<Item = f64>) {
        let mut seen = self.lock();
        seen.width = width;
        times.into_iter().for_each(|seconds| note(&mut seen.times, seconds));
    }

    pub(super) fn started(&self, job: SeenJob) {
        self.lock().running.push(job);
    }

    pub(super) fn ended(&self, number: u64, seconds: f64) {
        let mut seen = self.lock();
        seen.running.retain(|job| job.number != number);
        note(&mut seen.times, seconds);
    }

    pub(crate) fn widened(&self, width: usize) {
        self.lock().width = width;
    }
}

fn note(times: &mut std::collections::VecDeque<f64>, seconds: f64) {
    if times.len() >= RECENT_MAX {
        times.pop_front();
    }
    times.push_back(seconds);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_by_starts_and_scheduled_at_every_width() {
        let mut kept = Recollection::default();
        let starts: Vec<usize> = (0..4).map(|_| kept.begin(1, false)).collect();
        // The long one started third and ended last.
        [(0, 1), (1, 1), (3, 1), (2, 4)].into_iter().for_each(|(at, time)| kept.end(starts[at], time));
        assert_eq!(kept.scheduled_ns(2), Some([7, 5, 4, 4, 4]));
        kept.begin(2, false);
        assert_eq!(kept.scheduled_ns(2), None, "a job with two hands is not scheduled by one");
    }

    #[test]
    fn a_long_list_is_not_kept() {
        let mut kept = Recollection::default();
        for _ in 0..=KEPT_MAX {
            let start = kept.begin(1, false);
            kept.end(start, 1);
        }
        assert_eq!((kept.times_ns.len(), kept.scheduled_ns(1)), (KEPT_MAX, None));
    }

    #[test]
    fn who_watches_sees_what_runs_and_the_last_times() {
        let watched = Watched::default();
        watched.begin(2, [1.0]);
        let job = SeenJob { number: 7, pid: 1, words: "a".to_owned(), started: Instant::now() };
        watched.started(job);
        assert_eq!(watched.look().running.len(), 1);
        (0..200).for_each(|_| watched.ended(7, 2.0));
        let seen = watched.look();
        assert_eq!((seen.running.len(), seen.times.len(), seen.times.front().copied()), (0, RECENT_MAX, Some(2.0)));
    }
}
