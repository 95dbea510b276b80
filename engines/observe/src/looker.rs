//! Looks at the state of every thread between two samples: which of them wait for a disk, and which want a CPU and get none, no
//! counter tells without rights. Statistics, with a budget: looks are left out where they would cost more than they may.

use crate::files::{Files, Numbered};
use crate::sample::{Sample, Seen};
use crate::source::process_stat::{State, parse};
use crate::source::words::text_of;
use machine::{Host, HostError};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use sys::cpu_clock::{Counted, monotonic_ns, other_process_ns, thread_cpu_ns};

/// Counts states.
pub struct Looker {
    proc: Files,
    has_clocks: bool,
    found: Vec<Numbered>,
    tasks: Vec<Numbered>,
    path: String,
    known: HashMap<u32, Known>,
    seen: HashMap<u32, Seen>,
    looks: u32,
    since_full: u32,
    not_before_ns: u64,
}

/// A process at the last look at it.
#[derive(Default)]
struct Known {
    folder: u64,
    clock_ns: Option<u64>,
    threads: Vec<(u32, State)>,
}

/// What looks may cost: one percent of one core.
const COST_DIVISOR: u64 = 100;
/// A thread that was woken and did not run yet has another state and the same clock: now and then all are read again.
const LOOKS_A_FULL_ONE: u32 = 10;

impl Looker {
    /// Looks at the threads of `host`.
    pub fn open(host: &Host) -> Result<Self, HostError> {
        Ok(Self {
            proc: Files::open(host, Path::new("/proc"))?,
            has_clocks: host.is_real(),
            found: Vec::new(),
            tasks: Vec::new(),
            path: String::new(),
            known: HashMap::new(),
            seen: HashMap::new(),
            looks: 0,
            since_full: 0,
            not_before_ns: 0,
        })
    }

    /// One look, unless the last ones have used up the budget.
    pub fn look(&mut self) {
        let now_ns = monotonic_ns();
        if now_ns < self.not_before_ns {
            return;
        }
        let before_ns = thread_cpu_ns();
        self.look_at_all();
        let cost_ns = thread_cpu_ns().saturating_sub(before_ns);
        self.not_before_ns = now_ns.saturating_add(cost_ns.saturating_mul(COST_DIVISOR));
    }

    fn look_at_all(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        // Processes that vanish meanwhile are left out; so are all, where none can be listed.
        let _vanished = self.proc.numbers(&mut found);
        let is_full = self.since_full.is_multiple_of(LOOKS_A_FULL_ONE);
        self.since_full += 1;
        if is_full {
            self.known.retain(|pid, _| found.binary_search_by_key(pid, |entry| entry.number).is_ok());
        }
        for process in &found {
            let clock_ns = self.clock_of(process.number);
            let mut known = self.known.remove(&process.number).unwrap_or_default();
            // A thread sleeps, or goes on sleeping for a disk, without its process's clock: what has not moved is as it was.
            let is_as_before = clock_ns.is_some() && clock_ns == known.clock_ns && known.folder == process.inode;
            if is_full || !is_as_before {
                known.folder = process.inode;
                known.clock_ns = clock_ns;
                self.look_at(process.number, &mut known.threads);
            }
            known.threads.iter().for_each(|(tid, state)| count(&mut self.seen, *tid, *state));
            self.known.insert(process.number, known);
        }
        self.looks += 1;
        self.found = found;
    }

    fn clock_of(&self, pid: u32) -> Option<u64> {
        if self.has_clocks { other_process_ns(pid, Counted::Scheduled).ok() } else { None }
    }

    /// Reads the states of a process's threads.
    fn look_at(&mut self, pid: u32, threads: &mut Vec<(u32, State)>) {
        threads.clear();
        self.path.clear();
        write!(self.path, "{pid}/stat").expect("a string takes every write");
        let Some((state, count)) = self.state() else { return };
        if count <= 1 {
            threads.push((pid, state));
            return;
        }
        let mut tasks = std::mem::take(&mut self.tasks);
        self.path.clear();
        write!(self.path, "{pid}/task").expect("a string takes every write");
        let _vanished = self.proc.numbers_below(&self.path, &mut tasks);
        for task in &tasks {
            self.path.clear();
            write!(self.path, "{pid}/task/{}/stat", task.number).expect("a string takes every write");
            threads.extend(self.state().map(|(state, _)| (task.number, state)));
        }
        self.tasks = tasks;
    }

    fn state(&mut self) -> Option<(State, u32)> {
        let (_, line) = parse(self.proc.read(&self.path).ok()?)?;
        Some((line.state, line.threads))
    }

    /// Puts what was seen since the last time into `sample`, and forgets it.
    pub fn tell(&mut self, sample: &mut Sample) {
        sample.machine.looks = self.looks;
        for thread in &mut sample.threads {
            thread.seen = self.seen.get(&thread.tid).copied().unwrap_or_default();
        }
        self.seen.clear();
        self.looks = 0;
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

fn count(seen: &mut HashMap<u32, Seen>, tid: u32, state: State) {
    match state {
        State::Runnable => seen.entry(tid).or_default().runnable += 1,
        State::Uninterruptible => seen.entry(tid).or_default().uninterruptible += 1,
        State::Sleeping | State::Stopped | State::Ended | State::Idle => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{FakeHost, FakeThread};
    use crate::sample::ThreadSample;

    #[test]
    fn this_process_runs_in_every_look_at_it() {
        let mut looker = Looker::open(&Host::real()).expect("Linux has /proc");
        (0..3).for_each(|_| looker.look_at_all());
        // Its main thread may sleep, waiting for the tests; the one that looks does not.
        let known = &looker.known[&std::process::id()];
        let seen = known.threads.iter().filter_map(|(tid, _)| looker.seen.get(tid));
        assert!(seen.map(|seen| seen.runnable).max() >= Some(3));
    }

    #[test]
    fn states_are_counted_by_thread() {
        let fake = FakeHost::new();
        fake.process(3, FakeThread { state: 'D', ..FakeThread::default() });
        fake.process(5, FakeThread { state: 'S', threads: 2, ..FakeThread::default() });
        fake.thread(5, 6, FakeThread { state: 'R', threads: 2, ..FakeThread::default() });
        fake.file("/proc/5/task/6/wchan", "io_schedule");
        fake.file("/proc/3/task/3/wchan", "0");
        let mut looker = Looker::open(&fake.host()).expect("a proc folder");
        looker.look_at_all();
        looker.look_at_all();
        let thread = |tid| ThreadSample { tid, ..ThreadSample::default() };
        let mut sample = Sample { threads: vec![thread(3), thread(5), thread(6)], ..Sample::default() };
        looker.tell(&mut sample);
        assert_eq!(sample.machine.looks, 2);
        let seen: Vec<_> = sample.threads.iter().map(|thread| thread.seen).collect();
        assert_eq!(
            seen.iter().map(|seen| (seen.runnable, seen.uninterruptible)).collect::<Vec<_>>(),
            [(0, 2), (0, 0), (2, 0)]
        );
        looker.tell(&mut sample);
        assert_eq!(sample.threads[2].seen, Seen::default(), "told once");
        assert_eq!(looker.wait_channel(5, 6).as_deref(), Some("io_schedule"));
        assert_eq!((looker.wait_channel(3, 3), looker.wait_channel(9, 9)), (None, None));
    }
}
