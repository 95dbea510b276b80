//! Runs of many workers played through in virtual time, by the rules of the spool: chunks are claimed in order, generation by generation;
//! chunks of a worker that is dead or stopped are claimed again when its lease is over, and the first result counts; one that runs out of
//! time claims only chunks that still fit, and has a successor. Deterministic: no clock, no thread, nothing random.

use super::chunks::JobRange;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::ops::Range;

/// A run that is to be played through.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedCluster<'a> {
    /// How long each job of the list takes.
    pub seconds: &'a [f64],
    /// How many places each takes; empty if each takes one.
    pub cores: &'a [usize],
    /// Its chunks in the order of claims, generation by generation.
    pub chunks: &'a [JobRange],
    /// The workers.
    pub workers: &'a [SimulatedWorker],
    /// Jobs that each of them runs at once.
    pub width: usize,
    /// From a claim to its first job.
    pub claim_s: f64,
    /// From a worker's death to the moment at which others may claim its chunks.
    pub lease_s: f64,
    /// From the moment at which a worker's time is up until its successor runs.
    pub successor_s: f64,
}

/// A worker of such a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedWorker {
    /// When it makes its first claim.
    pub starts_s: f64,
    /// When it dies, and the jobs that it runs with it.
    pub dies_s: Option<f64>,
    /// When it is stopped, not before its start, and for how long. Its jobs go on; it notices their ends afterwards.
    pub stops_s: Option<(f64, f64)>,
    /// How long it may run.
    pub time_s: Option<f64>,
}

impl SimulatedWorker {
    /// One that starts then, and has all the time there is.
    pub fn starting(starts_s: f64) -> Self {
        Self { starts_s, dies_s: None, stops_s: None, time_s: None }
    }
}

/// A job that has ended on a worker. If the worker dies before its chunk is complete, the job runs again elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedJob {
    /// Its position in the list.
    pub job: usize,
    /// Which claim it was part of, from 0.
    pub claim: usize,
    /// Whose claim that was; successors are numbered on behind the workers.
    pub worker: usize,
    /// When it began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
}

/// How a run comes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulatedEnd {
    /// When the last chunk was complete.
    pub ended_ns: u64,
    /// Chunks that nobody did: all workers died, or no worker has so much time.
    pub chunks_left: usize,
    /// Claims, those of dead workers' chunks included.
    pub claims: usize,
    /// Results that did not count, as another worker had been first.
    pub discarded: usize,
    /// Workers that were started after those given.
    pub successors: usize,
}

/// Plays a run through. `watch` sees every job that ends on a living worker, in the order of their ends.
pub fn simulate(cluster: &SimulatedCluster<'_>, watch: impl FnMut(&SimulatedJob)) -> SimulatedEnd {
    Simulation::new(cluster, watch).play()
}

/// Nanoseconds: whole ones add up alike in any order. Less than none and what is no number are none.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// `Read`: the jobs of a claim can be started. `LeaseOver`: others may claim what a worker has claimed that nobody has seen alive since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Starts { worker: usize },
    Read { claim: usize },
    Ends { claim: usize, job: usize, began_ns: u64 },
    Dies { worker: usize },
    Stops { worker: usize, until_ns: u64 },
    GoesOn { worker: usize },
    LeaseOver { claim: usize },
}

/// A chunk in the hands of a worker.
struct Claim {
    chunk: usize,
    worker: usize,
    /// Jobs that have not ended.
    left: usize,
    is_lost: bool,
}

struct WorkerState {
    course: SimulatedWorker,
    /// When its time is up.
    until_ns: u64,
    /// Jobs that it has read and not started.
    ready: VecDeque<(usize, Range<usize>)>,
    places_free: usize,
    claims: Vec<usize>,
    /// When the last of its jobs ends.
    busy_until_ns: u64,
    reads: bool,
    /// While it is stopped, when it goes on.
    stopped_until_ns: u64,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Works,
    /// It claims no more: its time is nearly up.
    Drains,
    Gone,
}

/// How an attempt to claim ends.
enum Claimable {
    Chunk(usize),
    Nothing,
    /// There are chunks, and none ends before the worker's time is up.
    NoneFits,
}

struct Simulation<'a, Watch> {
    cluster: &'a SimulatedCluster<'a>,
    watch: Watch,
    now_ns: u64,
    /// By time, then in the order in which they were foreseen.
    ahead: BinaryHeap<Reverse<(u64, usize, Happening)>>,
    foreseen: usize,
    workers: Vec<WorkerState>,
    claims: Vec<Claim>,
    /// Chunks of the open generation that nobody has claimed, and those whose leases are over.
    unclaimed: VecDeque<usize>,
    orphaned: VecDeque<usize>,
    /// Chunks of the open generation that are not complete; the first chunk behind it.
    incomplete: usize,
    next_generation: usize,
    /// Workers that wait for something to claim.
    idle: BTreeSet<usize>,
    is_complete: Vec<bool>,
    completed: usize,
    end: SimulatedEnd,
}

impl<'a, Watch: FnMut(&SimulatedJob)> Simulation<'a, Watch> {
    fn new(cluster: &'a SimulatedCluster<'a>, watch: Watch) -> Self {
        Self {
            cluster,
            watch,
            now_ns: 0,
            ahead: BinaryHeap::new(),
            foreseen: 0,
            workers: Vec::new(),
            claims: Vec::new(),
            unclaimed: VecDeque::new(),
            orphaned: VecDeque::new(),
            incomplete: 0,
            next_generation: 0,
            idle: BTreeSet::new(),
            is_complete: vec![false; cluster.chunks.len()],
            completed: 0,
            end: SimulatedEnd::default(),
        }
    }

    fn play(mut self) -> SimulatedEnd {
        self.open_generation();
        self.cluster.workers.iter().for_each(|course| self.hire(*course));
        while let Some(Reverse((at_ns, _, happening))) = self.ahead.pop() {
            self.now_ns = at_ns;
            match happening {
                Happening::Starts { worker } | Happening::GoesOn { worker } => self.work(worker),
                Happening::Read { claim } => self.read(claim),
                Happening::Ends { claim, job, began_ns } => self.job_ends(claim, job, began_ns),
                Happening::Dies { worker } => self.die(worker),
                Happening::Stops { worker, until_ns } => self.stop(worker, until_ns),
                Happening::LeaseOver { claim } => self.lose(claim),
            }
            if self.completed == self.cluster.chunks.len() {
                break;
            }
        }
        self.end.claims = self.claims.len();
        self.end.successors = self.workers.len() - self.cluster.workers.len();
        self.end.chunks_left = self.cluster.chunks.len() - self.completed;
        self.end
    }

    fn foresee(&mut self, at_ns: u64, happening: Happening) {
        self.ahead.push(Reverse((at_ns, self.foreseen, happening)));
        self.foreseen += 1;
    }

    fn hire(&mut self, course: SimulatedWorker) {
        let worker = self.workers.len();
        let starts_ns = nanoseconds(course.starts_s);
        // Who dies before it starts never starts.
        if let Some(dies_s) = course.dies_s {
            self.foresee(nanoseconds(dies_s), Happening::Dies { worker });
        }
        if let Some((at_s, for_s)) = course.stops_s {
            let at_ns = nanoseconds(at_s).max(starts_ns);
            self.foresee(at_ns, Happening::Stops { worker, until_ns: at_ns.saturating_add(nanoseconds(for_s)) });
        }
        self.foresee(starts_ns, Happening::Starts { worker });
        self.workers.push(WorkerState {
            course,
            until_ns: course.time_s.map_or(u64::MAX, |time_s| starts_ns.saturating_add(nanoseconds(time_s))),
            ready: VecDeque::new(),
            places_free: self.cluster.width.max(1),
            claims: Vec::new(),
            busy_until_ns: 0,
            reads: false,
            stopped_until_ns: 0,
            standing: Standing::Works,
        });
    }

    /// Makes the chunks of the next generation claimable.
    fn open_generation(&mut self) {
        let chunks = &self.cluster.chunks[self.next_generation..];
        let Some(first) = chunks.first() else { return };
        self.incomplete = chunks.iter().take_while(|chunk| chunk.generation == first.generation).count();
        self.unclaimed = (self.next_generation..self.next_generation + self.incomplete).collect();
        self.next_generation += self.incomplete;
    }

    fn wake_all(&mut self) {
        std::mem::take(&mut self.idle).into_iter().for_each(|worker| self.work(worker));
    }

    /// Starts jobs while places are free, and claims a chunk when there are none to start.
    fn work(&mut self, worker: usize) {
        if self.workers[worker].standing == Standing::Gone || self.is_stopped(worker) {
            return;
        }
        while let Some((claim, job)) = self.next_job(worker) {
            let ends_ns = self.now_ns.saturating_add(nanoseconds(self.cluster.seconds[job]));
            self.workers[worker].busy_until_ns = self.workers[worker].busy_until_ns.max(ends_ns);
            self.foresee(ends_ns, Happening::Ends { claim, job, began_ns: self.now_ns });
        }
        let state = &self.workers[worker];
        let has_nothing_to_start = state.places_free > 0 && state.ready.is_empty() && !state.reads;
        if has_nothing_to_start && state.standing == Standing::Works {
            match self.claimable(worker) {
                Claimable::Chunk(chunk) => self.claim(worker, chunk),
                Claimable::Nothing => {
                    self.idle.insert(worker);
                }
                Claimable::NoneFits => self.workers[worker].standing = Standing::Drains,
            }
        }
        self.leave_if_drained(worker);
    }

    /// Gives free places to the next job that has been read. One that takes several waits for them, and those behind it with it.
    fn next_job(&mut self, worker: usize) -> Option<(usize, usize)> {
        let (_, range) = self.workers[worker].ready.front()?;
        let places = self.places(range.start);
        let state = &mut self.workers[worker];
        let (claim, range) = state.ready.front_mut().filter(|_| places <= state.places_free)?;
        let (claim, job) = (*claim, range.start);
        range.start += 1;
        if range.start == range.end {
            state.ready.pop_front();
        }
        state.places_free -= places;
        Some((claim, job))
    }

    /// A job that asks for more cores than a worker has gets all of them.
    fn places(&self, job: usize) -> usize {
        self.cluster.cores.get(job).map_or(1, |cores| (*cores).clamp(1, self.cluster.width.max(1)))
    }

    fn claim(&mut self, worker: usize, chunk: usize) {
        let claim = self.claims.len();
        self.claims.push(Claim { chunk, worker, left: self.cluster.chunks[chunk].jobs, is_lost: false });
        self.workers[worker].claims.push(claim);
        self.workers[worker].reads = true;
        self.foresee(self.now_ns.saturating_add(nanoseconds(self.cluster.claim_s)), Happening::Read { claim });
    }

    fn read(&mut self, claim: usize) {
        let Claim { chunk, worker, .. } = self.claims[claim];
        if self.is_stopped(worker) {
            return self.foresee(self.workers[worker].stopped_until_ns, Happening::Read { claim });
        }
        let state = &mut self.workers[worker];
        state.reads = false;
        state.ready.push_back((claim, self.cluster.chunks[chunk].positions()));
        self.work(worker);
    }

    /// What a worker may claim: first what nobody has claimed, then what dead workers had.
    fn claimable(&mut self, worker: usize) -> Claimable {
        let from = if self.unclaimed.is_empty() { &self.orphaned } else { &self.unclaimed };
        let state = &self.workers[worker];
        let begins_ns = state.busy_until_ns.max(self.now_ns);
        let place = match state.until_ns {
            u64::MAX => 0,
            until_ns => match from.iter().position(|chunk| begins_ns.saturating_add(self.chunk_ns(*chunk)) <= until_ns)
            {
                None if !from.is_empty() => return Claimable::NoneFits,
                place => place.unwrap_or(0),
            },
        };
        let from = if self.unclaimed.is_empty() { &mut self.orphaned } else { &mut self.unclaimed };
        from.remove(place).map_or(Claimable::Nothing, Claimable::Chunk)
    }

    /// A chunk with its claim takes no longer than this on a worker without other jobs, in whatever order it runs them (Graham 1966); where a
    /// job takes several places, no longer than its jobs one after another.
    fn chunk_ns(&self, chunk: usize) -> u64 {
        let jobs =
            self.cluster.seconds[self.cluster.chunks[chunk].positions()].iter().map(|seconds| nanoseconds(*seconds));
        let (longest_ns, work_ns) = (jobs.clone().max().unwrap_or(0), jobs.fold(0, u64::saturating_add));
        let is_wide = self.cluster.chunks[chunk].positions().any(|job| self.places(job) > 1);
        let places = if is_wide { 1 } else { self.cluster.width.max(1) as u64 };
        let others_ns = (work_ns - longest_ns).div_ceil(places);
        longest_ns.saturating_add(others_ns).saturating_add(nanoseconds(self.cluster.claim_s))
    }

    fn job_ends(&mut self, claim: usize, job: usize, began_ns: u64) {
        let Claim { chunk, worker, .. } = self.claims[claim];
        if self.workers[worker].standing == Standing::Gone {
            return;
        }
        if self.is_stopped(worker) {
            return self.foresee(self.workers[worker].stopped_until_ns, Happening::Ends { claim, job, began_ns });
        }
        (self.watch)(&SimulatedJob { job, claim, worker, began_ns, ended_ns: self.now_ns });
        self.workers[worker].places_free += self.places(job);
        self.claims[claim].left -= 1;
        if self.claims[claim].left == 0 {
            self.workers[worker].claims.retain(|of_worker| *of_worker != claim);
            self.complete(chunk);
        }
        self.work(worker);
    }

    fn complete(&mut self, chunk: usize) {
        if std::mem::replace(&mut self.is_complete[chunk], true) {
            self.end.discarded += 1;
            return;
        }
        // Whoever was stopped may be back before anybody has claimed it again.
        self.orphaned.retain(|orphan| *orphan != chunk);
        self.completed += 1;
        self.incomplete -= 1;
        self.end.ended_ns = self.now_ns;
        if self.incomplete == 0 {
            self.open_generation();
            self.wake_all();
        }
    }

    fn die(&mut self, worker: usize) {
        self.idle.remove(&worker);
        self.workers[worker].standing = Standing::Gone;
        self.end_leases(worker);
    }

    fn stop(&mut self, worker: usize, until_ns: u64) {
        self.workers[worker].stopped_until_ns = until_ns;
        self.foresee(until_ns, Happening::GoesOn { worker });
        if until_ns - self.now_ns > nanoseconds(self.cluster.lease_s) {
            self.end_leases(worker);
        }
    }

    fn is_stopped(&self, worker: usize) -> bool {
        self.now_ns < self.workers[worker].stopped_until_ns
    }

    fn end_leases(&mut self, worker: usize) {
        let over_ns = self.now_ns.saturating_add(nanoseconds(self.cluster.lease_s));
        for claim in self.workers[worker].claims.clone() {
            self.foresee(over_ns, Happening::LeaseOver { claim });
        }
    }

    fn lose(&mut self, claim: usize) {
        let Claim { chunk, is_lost, .. } = &mut self.claims[claim];
        if !std::mem::replace(is_lost, true) && !self.is_complete[*chunk] {
            self.orphaned.push_back(*chunk);
            self.wake_all();
        }
    }

    /// A worker that has drained ends, and starts a successor if that one could do some of what is left.
    fn leave_if_drained(&mut self, worker: usize) {
        let state = &self.workers[worker];
        if state.standing != Standing::Drains || !state.claims.is_empty() {
            return;
        }
        let course = state.course;
        self.workers[worker].standing = Standing::Gone;
        let time_ns = course.time_s.map_or(u64::MAX, nanoseconds);
        let would_fit = |chunk: &usize| self.chunk_ns(*chunk) <= time_ns;
        if self.unclaimed.iter().chain(&self.orphaned).any(would_fit) {
            let starts_s = self.now_ns as f64 / 1e9 + self.cluster.successor_s;
            self.hire(SimulatedWorker { starts_s, dies_s: None, ..course });
        }
    }
}

#[cfg(test)]
mod tests;
