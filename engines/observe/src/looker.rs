//! Looks at the state of every thread between two samples: which of them wait for a disk, and which want a CPU and get none, no
//! counter tells without rights. Statistics, with a budget: looks are left out where they would cost more than they may.
//!
//! Who sleeps and whose clock stands still is as it was, and that is nearly everybody. So most looks are at those alone who moved
//! lately or did not sleep; who else has moved since is found by the samples, and by rarer looks at all clocks.

use crate::files::{Files, Numbered};
use crate::sample::{CpuBasis, HostSample, ProcessSample, StatesSeen, ThreadSample};
use crate::source::process_stat::{ThreadState, parse};
use crate::source::words::text_of;
use machine::{Host, HostError};
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;
use sys::cpu_clock::{Counted, monotonic_ns, other_process_ns, thread_cpu_ns};

/// Counts states.
pub struct Looker {
    proc: Files,
    has_clocks: bool,
    found: Vec<Numbered>,
    tasks: Vec<Numbered>,
    path: String,
    /// The files that were read last, by path.
    held: HashMap<String, Held>,
    held_most: usize,
    /// By number.
    known: Vec<Known>,
    before: Vec<Known>,
    /// Where those are in `known` that are awake.
    awake: Vec<usize>,
    /// By process and thread.
    seen: BTreeMap<(u32, u32), StatesSeen>,
    looks: u32,
    at_awake: Budget,
    at_clocks: Budget,
    at_sleepers: Budget,
    /// The process whose state is read next though its clock stands still.
    next_sleeper: u32,
    /// Whether samples say who waits for a CPU.
    samples_tell: bool,
}

/// A process at the last look at it.
#[derive(Default)]
struct Known {
    pid: u32,
    /// See [`ProcessSample::folder`].
    folder: u64,
    clock_ns: Option<u64>,
    threads: Vec<(u32, ThreadState)>,
    /// Whether it moved lately, or one of its threads did not sleep.
    is_awake: bool,
}

impl Known {
    fn has(&self, state: ThreadState) -> bool {
        self.threads.iter().any(|(_, known)| *known == state)
    }

    fn sleeps(&self) -> bool {
        !self.has(ThreadState::Runnable) && !self.has(ThreadState::Uninterruptible)
    }
}

/// A file that looks read again and again.
struct Held {
    file: OwnedFd,
    /// Since the last sample.
    is_used: bool,
}

/// LIMIT: more files are opened for each look at them. Where this program may not have many descriptors it is a quarter of those.
const HELD_MAX: u64 = 256;

/// What looks of one kind may cost.
struct Budget {
    /// The share of one core, as what it is divided by.
    divisor: u64,
    not_before_ns: u64,
    /// What the last one cost.
    cost_ns: u64,
}

impl Budget {
    fn new(divisor: u64) -> Self {
        Self { divisor, not_before_ns: 0, cost_ns: 0 }
    }

    fn allows(&self, now_ns: u64) -> bool {
        now_ns >= self.not_before_ns
    }

    /// Notes that a look has cost so much, and when the next one may be.
    fn note(&mut self, now_ns: u64, cost_ns: u64) {
        self.cost_ns = cost_ns;
        self.wait(now_ns);
    }

    fn wait(&mut self, now_ns: u64) {
        self.not_before_ns = now_ns.saturating_add(self.cost_ns.saturating_mul(self.divisor));
    }
}

/// LIMIT: looks at those who are awake cost at most 0.1 % of a core, at all clocks 0.1 %, at sleepers' states 0.025 %: together with a
/// sample a second of 2,000 processes less than the 0.5 % that watching may cost.
const AWAKE_DIVISOR: u64 = 1000;
/// Samples that are taken in one pass inside the kernel leave more of that.
const AWAKE_DIVISOR_BESIDE_PASS: u64 = 600;
const CLOCKS_DIVISOR: u64 = 1000;
const SLEEPERS_DIVISOR: u64 = 4000;
/// So many states are read at a time of those whose clocks stand still: some 0.2 ms.
const SLEEPERS_AT_ONCE: usize = 20;

impl Looker {
    /// Looks at the threads of `host`.
    pub fn open(host: &Host) -> Result<Self, HostError> {
        Ok(Self {
            proc: Files::open(host, Path::new("/proc"))?,
            has_clocks: host.is_real(),
            found: Vec::new(),
            tasks: Vec::new(),
            path: String::new(),
            held: HashMap::new(),
            held_most: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).div_euclid(4).min(HELD_MAX) as usize,
            known: Vec::new(),
            before: Vec::new(),
            awake: Vec::new(),
            seen: BTreeMap::new(),
            looks: 0,
            at_awake: Budget::new(AWAKE_DIVISOR),
            at_clocks: Budget::new(CLOCKS_DIVISOR),
            at_sleepers: Budget::new(SLEEPERS_DIVISOR),
            next_sleeper: 0,
            samples_tell: false,
        })
    }

    /// For how long the budget allows no look.
    pub fn rests_for(&self) -> Duration {
        let due_ns = self.at_clocks.not_before_ns.min(self.at_awake.not_before_ns);
        Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()))
    }

    /// One look, unless the last ones have used up the budget.
    pub fn look(&mut self) {
        let now_ns = monotonic_ns();
        if self.at_clocks.allows(now_ns) {
            let cost_ns = cost_ns(|| self.look_at_all());
            self.at_clocks.note(now_ns, cost_ns);
        } else if self.at_awake.allows(now_ns) {
            let cost_ns = cost_ns(|| self.look_at_awake());
            self.at_awake.note(now_ns, cost_ns);
        } else {
            return;
        }
        if !self.samples_tell && self.at_sleepers.allows(now_ns) {
            let cost_ns = cost_ns(|| self.look_at_sleepers());
            self.at_sleepers.note(now_ns, cost_ns);
        }
    }

    /// Looks at the clocks of all processes, and at the states of those that have moved.
    fn look_at_all(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        // Processes that vanish meanwhile are left out; so are all, where none can be listed.
        let _vanished = self.proc.numbers(&mut found);
        self.keep(found.iter().map(|process| process.number));
        self.found = found;
        self.awake.clear();
        for (at, known) in self.known.iter_mut().enumerate() {
            // Unless it is seen to be.
            known.is_awake = false;
            self.awake.push(at);
        }
        self.look_at_awake();
        self.awake.retain(|&at| self.known[at].is_awake);
    }

    /// Looks at the clocks of those that are awake, and at the states of those of them that have moved.
    fn look_at_awake(&mut self) {
        let mut all = std::mem::take(&mut self.known);
        let awake = std::mem::take(&mut self.awake);
        for &at in &awake {
            let known = &mut all[at];
            let clock_ns = self.clock_of(known.pid);
            // A thread sleeps, or goes on sleeping for a disk, without its process's clock: what has not moved is as it was.
            if clock_ns.is_none() || clock_ns != known.clock_ns {
                known.clock_ns = clock_ns;
                known.is_awake = true;
                self.look_at(known.pid, &mut known.threads);
            }
            known.is_awake |= !known.sleeps();
            for (tid, state) in &known.threads {
                count(&mut self.seen, (known.pid, *tid), *state);
            }
        }
        (self.known, self.awake) = (all, awake);
        self.looks += 1;
    }

    /// A thread that was woken and did not run yet has another state and the same clock: so states are read of all, in turn.
    fn look_at_sleepers(&mut self) {
        let mut all = std::mem::take(&mut self.known);
        let next = all.partition_point(|known| known.pid < self.next_sleeper);
        for (at, known) in all.iter_mut().enumerate().skip(next).take(SLEEPERS_AT_ONCE) {
            if !known.sleeps() {
                continue;
            }
            self.look_at(known.pid, &mut known.threads);
            if !known.sleeps() && !known.is_awake {
                known.is_awake = true;
                self.awake.push(at);
            }
        }
        self.next_sleeper = all.get(next + SLEEPERS_AT_ONCE).map_or(0, |known| known.pid);
        self.known = all;
    }

    /// Forgets all but these processes, and knows nothing yet of those that are new.
    fn keep(&mut self, pids: impl Iterator<Item = u32>) {
        std::mem::swap(&mut self.known, &mut self.before);
        self.known.clear();
        let mut before = self.before.drain(..).peekable();
        self.known.extend(pids.map(|pid| {
            while before.next_if(|known| known.pid < pid).is_some() {}
            before.next_if(|known| known.pid == pid).unwrap_or(Known { pid, ..Known::default() })
        }));
    }

    fn clock_of(&self, pid: u32) -> Option<u64> {
        if self.has_clocks { other_process_ns(pid, Counted::Scheduled).ok() } else { None }
    }

    /// Reads the states of a process's threads: of those known, if they are still as many.
    fn look_at(&mut self, pid: u32, threads: &mut Vec<(u32, ThreadState)>) {
        self.path.clear();
        write!(self.path, "{pid}/stat").expect("a string takes every write");
        let Some((state, count)) = self.state() else { return threads.clear() };
        if count <= 1 {
            threads.clear();
            threads.push((pid, state));
            return;
        }
        if threads.len() != count as usize {
            self.path.clear();
            write!(self.path, "{pid}/task").expect("a string takes every write");
            let _vanished = self.proc.numbers_below(&self.path, &mut self.tasks);
            threads.clear();
            threads.extend(self.tasks.iter().map(|task| (task.number, ThreadState::Sleeping)));
        }
        threads.retain_mut(|(tid, known)| {
            self.path.clear();
            write!(self.path, "{pid}/task/{tid}/stat").expect("a string takes every write");
            let state = self.state().map(|(state, _)| state);
            *known = state.unwrap_or(ThreadState::Ended);
            state.is_some()
        });
    }

    /// What the file at `path` says now: the state, and how many threads there are.
    fn state(&mut self) -> Option<(ThreadState, u32)> {
        if self.held.len() < self.held_most && !self.held.contains_key(&self.path) {
            let file = self.proc.hold(&self.path).ok()?;
            self.held.insert(self.path.clone(), Held { file, is_used: true });
        }
        let text = match self.held.get_mut(&self.path) {
            Some(held) => {
                held.is_used = true;
                self.proc.read_held(&held.file)
            }
            None => self.proc.read(&self.path),
        };
        let said = text.ok().and_then(parse).map(|(_, line)| (line.state, line.threads));
        if said.is_none() {
            self.held.remove(&self.path);
        }
        said
    }

    /// Puts what was seen since the last time into `sample`, which says nothing of it yet, forgets it, and learns from the sample who is awake.
    pub fn tell(&mut self, sample: &mut HostSample) {
        sample.machine.looks = self.looks;
        while let Some(((pid, tid), seen)) = self.seen.pop_first() {
            let threads = sample.process(pid).map_or(0..0, |process| process.threads.range());
            let threads = sample.threads.get_mut(threads).unwrap_or_default();
            if let Ok(at) = threads.binary_search_by_key(&tid, |thread| thread.tid) {
                threads[at].seen = seen;
            }
        }
        self.looks = 0;
        self.held.retain(|_, held| std::mem::take(&mut held.is_used));
        self.learn(sample);
    }

    fn learn(&mut self, sample: &HostSample) {
        let is_first = self.known.is_empty();
        self.keep(sample.processes.iter().map(|process| process.pid));
        for (known, process) in self.known.iter_mut().zip(&sample.processes) {
            if is_first || known.clock_ns != process.cpu.total_ns || process.at_ns != sample.at_ns {
                learn_of(known, process, sample.threads_of(process), is_first);
            } else {
                // What did not move is as it was: its threads are copies.
                known.is_awake = known.is_awake && !known.sleeps();
            }
        }
        self.awake.clear();
        self.awake.extend(self.known.iter().enumerate().filter(|(_, known)| known.is_awake).map(|(at, _)| at));
        self.samples_tell = sample.processes.iter().any(|process| process.cpu.basis == CpuBasis::Scheduler);
        self.at_awake.divisor = if self.samples_tell { AWAKE_DIVISOR_BESIDE_PASS } else { AWAKE_DIVISOR };
        if !is_first {
            // The sample was a look at all clocks.
            self.at_clocks.wait(monotonic_ns());
        }
    }

    /// In which function of the kernel a thread waits. Needs the rights of a debugger over it.
    pub fn wait_channel(&mut self, pid: u32, tid: u32) -> Option<String> {
        self.path.clear();
        write!(self.path, "{pid}/task/{tid}/wchan").expect("a string takes every write");
        let name = self.proc.read(&self.path).ok()?;
        // LIE: `0` is said of a thread that does not wait, and of one whose owner may not be told.
        (!name.is_empty() && name != b"0").then(|| text_of(name))
    }
}

fn learn_of(known: &mut Known, process: &ProcessSample, threads: &[ThreadSample], is_first: bool) {
    let states = threads.iter().filter_map(|thread| Some((thread.tid, thread.line?.state)));
    if known.folder != process.folder {
        // Another one has its number now.
        (known.folder, known.clock_ns) = (process.folder, None);
    }
    // A sample that takes it to sleep has an older time than the last look.
    let has_moved = known.clock_ns < process.cpu.total_ns;
    // Besides, a thread may have been woken; whichever of both saw it was the later one.
    if has_moved || states.clone().any(|(_, state)| state == ThreadState::Runnable) {
        known.threads.clear();
        known.threads.extend(states);
    }
    known.clock_ns = known.clock_ns.max(process.cpu.total_ns);
    // Of the first sample it is not known who moved.
    known.is_awake = (has_moved && !is_first) || !known.sleeps();
}

/// CPU time of this thread.
fn cost_ns(work: impl FnOnce()) -> u64 {
    let before_ns = thread_cpu_ns();
    work();
    thread_cpu_ns().saturating_sub(before_ns)
}

fn count(seen: &mut BTreeMap<(u32, u32), StatesSeen>, thread: (u32, u32), state: ThreadState) {
    match state {
        ThreadState::Runnable => seen.entry(thread).or_default().runnable += 1,
        ThreadState::Uninterruptible => seen.entry(thread).or_default().uninterruptible += 1,
        ThreadState::Sleeping | ThreadState::Stopped | ThreadState::Ended | ThreadState::Idle => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{FakeProcHost, FakeThread};
    use crate::sample::{Span, ThreadSample};

    #[test]
    fn this_process_runs_in_every_look_at_it() {
        let mut looker = Looker::open(&Host::real()).expect("Linux has /proc");
        (0..3).for_each(|_| looker.look_at_all());
        // Its main thread may sleep, waiting for the tests; the one that looks does not.
        let known = looker.known.iter().find(|known| known.pid == std::process::id()).expect("it lives");
        let seen = known.threads.iter().filter_map(|(tid, _)| looker.seen.get(&(known.pid, *tid)));
        assert!(seen.map(|seen| seen.runnable).max() >= Some(3));
    }

    #[test]
    fn states_are_counted_by_thread() {
        let fake = FakeProcHost::new();
        fake.process(3, FakeThread { state: 'D', ..FakeThread::default() });
        fake.process(5, FakeThread { state: 'S', threads: 2, ..FakeThread::default() });
        fake.thread(5, 6, FakeThread { state: 'R', threads: 2, ..FakeThread::default() });
        fake.file("/proc/5/task/6/wchan", "io_schedule");
        fake.file("/proc/3/task/3/wchan", "0");
        let mut looker = Looker::open(&fake.host()).expect("a proc folder");
        looker.look_at_all();
        looker.look_at_all();
        let thread = |tid| ThreadSample { tid, ..ThreadSample::default() };
        let process = |pid, start, end| ProcessSample { pid, threads: Span { start, end }, ..ProcessSample::default() };
        let mut sample = HostSample {
            processes: vec![process(3, 0, 1), process(5, 1, 3)],
            threads: vec![thread(3), thread(5), thread(6)],
            ..HostSample::default()
        };
        looker.tell(&mut sample);
        assert_eq!(sample.machine.looks, 2);
        let seen: Vec<_> = sample.threads.iter().map(|thread| thread.seen).collect();
        assert_eq!(
            seen.iter().map(|seen| (seen.runnable, seen.uninterruptible)).collect::<Vec<_>>(),
            [(0, 2), (0, 0), (2, 0)]
        );
        sample.threads = vec![thread(3), thread(5), thread(6)];
        looker.tell(&mut sample);
        assert_eq!(sample.threads[2].seen, StatesSeen::default(), "told once");
        assert_eq!(looker.wait_channel(5, 6).as_deref(), Some("io_schedule"));
        assert_eq!((looker.wait_channel(3, 3), looker.wait_channel(9, 9)), (None, None));
    }

    #[test]
    fn more_processes_than_files_may_be_held_are_looked_at_all_the_same() {
        let fake = FakeProcHost::new();
        (1..=9).for_each(|pid| fake.process(pid, FakeThread { state: 'D', ..FakeThread::default() }));
        let mut looker = Looker::open(&fake.host()).expect("a proc folder");
        looker.held_most = 4;
        looker.look_at_all();
        looker.look_at_awake();
        assert_eq!(looker.held.len(), 4);
        let seen: Vec<_> = looker.seen.iter().map(|(key, seen)| (key.0, seen.uninterruptible)).collect();
        assert_eq!(seen, (1..=9).map(|pid| (pid, 2)).collect::<Vec<_>>());
        looker.tell(&mut HostSample::default());
        looker.tell(&mut HostSample::default());
        assert!(looker.held.is_empty(), "what nobody reads any more is closed");
    }
}
