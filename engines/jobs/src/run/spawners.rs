//! Threads that start programs and wait for their ends. One thread alone would wait for the beginning of each program
//! (`clone(2)`, CLONE_VFORK) while others end; a spawner wakes where its job ran and starts the next one there.
//! Decides nothing: it takes turns with the loop under one lock. Theory: this crate's `README.md`, "Spawners".

use super::streams::Stream;
use super::{RunOptions, Runner};
use crate::staff::Waker;
use crate::start::{self, StartFault};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::fs::{Access, Mode, OFlags};
use rustix::process::Pid;
use std::collections::VecDeque;
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{Builder, Scope};
use std::time::Instant;
use sys::reap::{Changed, wait_for_change};
use sys::spawn::{Launch, Spawner, Words};

/// LIMIT: what a spawner's turn may take; a turn reads the list, writes books and outputs. Memory is had when it is touched.
const STACK_BYTES: usize = 512 << 10;

/// Looks at the lock before its owner is waited for asleep, about 20 us: a turn takes 5 to 20, and being woken on another core 30 to 50.
const SPINS: u32 = 2000;

/// A job that only has to be started: all that its program gets.
pub(super) struct Prepared {
    pub slot: usize,
    pub program: CString,
    pub words: Arc<Words>,
    pub environment: Option<Words>,
    pub besides: Option<Words>,
    pub directory: Option<CString>,
    pub streams: [Stream; 3],
}

impl Prepared {
    /// Starts it. Returns when it has begun its program.
    pub fn start(&self, spawner: &mut Spawner) -> Result<Pid, StartFault> {
        let launch = Launch {
            program: &self.program,
            arguments: &self.words,
            environment: self.environment.as_ref(),
            besides: self.besides.as_ref(),
            directory: self.directory.as_deref(),
            streams: self.streams.each_ref().map(|stream| stream.as_fd()),
        };
        spawner.spawn(&launch).map_err(|cause| self.fault(cause))
    }

    fn fault(&self, cause: io::Error) -> StartFault {
        let program = self.program.to_string_lossy();
        let Some(directory) = &self.directory else {
            return StartFault::Run { program: format!("'{program}'"), cause };
        };
        let named = start::text(directory.to_bytes());
        let is_there =
            rustix::fs::open(directory.as_c_str(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        match is_there.and_then(|_| rustix::fs::access(directory.as_c_str(), Access::EXEC_OK)) {
            Err(error) => StartFault::Directory { directory: named, cause: error.into() },
            Ok(()) => StartFault::Run { program: format!("'{program}' in '{named}'"), cause },
        }
    }
}

/// Who moves the run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mover {
    Loop,
    Spawner(usize),
}

/// The spawners as the run sees them.
pub(super) struct Spawners {
    /// More would wait for cores, not for programs.
    most: usize,
    each: Vec<SpawnerThread>,
    /// Jobs that the loop is to start, one after the other.
    of_loop: VecDeque<Prepared>,
    /// So many at the end of the list have no thread yet.
    unborn: usize,
    calls: Arc<[Condvar]>,
    are_retired: bool,
    are_dismissed: bool,
}

#[derive(Default)]
struct SpawnerThread {
    prepared: Option<Prepared>,
    /// It waits to be called.
    is_idle: bool,
}

impl Spawners {
    /// One a core; none where the load is bounded, which is about others' threads: ours would be among those that can run.
    pub fn new(options: &RunOptions) -> Self {
        let most = if options.load_max.is_some() { 0 } else { options.hands };
        let calls = (0..most).map(|_| Condvar::new()).collect();
        Self {
            most,
            each: Vec::new(),
            of_loop: VecDeque::new(),
            unborn: 0,
            calls,
            are_retired: false,
            are_dismissed: false,
        }
    }

    /// Who starts the next job of a run that moves by `mover`; none where the loop has to do it, and it is not its turn.
    pub fn for_next(&self, mover: Mover, width: usize) -> Option<Mover> {
        if self.are_dismissed {
            return None;
        }
        if self.are_retired {
            return Some(Mover::Loop).filter(|_| mover == Mover::Loop && self.of_loop.is_empty());
        }
        let is_free = |index: &usize| self.each[*index].prepared.is_none();
        let own = match mover {
            Mover::Spawner(index) => Some(index).filter(is_free),
            Mover::Loop => None,
        };
        let idle = || (0..self.each.len()).find(|index| self.each[*index].is_idle && is_free(index));
        if let Some(index) = own.or_else(idle) {
            return Some(Mover::Spawner(index));
        }
        match mover {
            Mover::Spawner(_) => None,
            // With a width of 1 there is nothing to be waited for besides.
            Mover::Loop if width > 1 && self.each.len() < self.most => Some(Mover::Spawner(self.each.len())),
            // One at a time: if it cannot be started, those behind it cannot be either, and keep their order.
            Mover::Loop => Some(Mover::Loop).filter(|_| self.of_loop.is_empty()),
        }
    }

    /// Hands a job to a spawner; one that is not there yet gets its thread before the loop sleeps.
    pub fn give(&mut self, index: usize, prepared: Prepared) {
        if index == self.each.len() {
            self.each.push(SpawnerThread::default());
            self.unborn += 1;
        }
        self.each[index].prepared = Some(prepared);
        if self.each[index].is_idle {
            self.calls[index].notify_one();
        }
    }

    /// Has the loop start a job, which then hears of its end by SIGCHLD.
    pub fn give_to_loop(&mut self, prepared: Prepared) {
        self.of_loop.push_back(prepared);
    }

    /// What the loop is to start next.
    pub fn next_of_loop(&mut self) -> Option<Prepared> {
        self.of_loop.pop_front()
    }

    /// Spawners without a thread: the caller sees to it.
    pub fn take_unborn(&mut self) -> std::ops::Range<usize> {
        self.each.len() - std::mem::take(&mut self.unborn)..self.each.len()
    }

    /// There is no thread for this one, the last, and there will be no more of them. What it was to start.
    fn give_up(&mut self, index: usize) -> Option<Prepared> {
        let last = self.each.pop()?;
        self.most = index;
        last.prepared
    }

    /// What it is to start; it is at work then.
    fn take(&mut self, index: usize) -> Option<Prepared> {
        let spawner = &mut self.each[index];
        let prepared = spawner.prepared.take();
        spawner.is_idle &= prepared.is_none();
        prepared
    }

    /// It has taken its turn: without a job it waits to be called.
    fn rest(&mut self, index: usize) {
        self.each[index].is_idle = self.each[index].prepared.is_none();
    }

    /// Their threads make room for processes of jobs, which the loop starts from now on.
    pub fn retire(&mut self) {
        self.are_retired = true;
        self.wake_all();
    }

    fn wake_all(&self) {
        self.calls.iter().for_each(|call| _ = call.notify_all());
    }

    /// Sends them home: no job starts any more.
    pub fn dismiss(&mut self) {
        self.are_dismissed = true;
        self.wake_all();
    }
}

/// A run that several threads move on, one at a time.
pub(super) struct SharedRun<'a> {
    /// Handed over to who waits longest every millisecond at the latest: the loop comes back at once as long as jobs print, and the
    /// standard library's would let it in first, always.
    runner: Mutex<Runner<'a>>,
    calls: Arc<[Condvar]>,
    waker: Waker,
}

impl<'a> SharedRun<'a> {
    pub fn new(runner: Runner<'a>) -> Self {
        let (calls, waker) = (Arc::clone(&runner.starts.spawners.calls), runner.starts.places.staff.waker());
        Self { runner: Mutex::new(runner), calls, waker }
    }

    /// The run, when nobody else moves it.
    pub fn lock(&self) -> MutexGuard<'_, Runner<'a>> {
        for _ in 0..SPINS {
            match self.runner.try_lock() {
                Some(runner) => return runner,
                None => std::hint::spin_loop(),
            }
        }
        self.runner.lock()
    }

    /// The run, when all other threads have ended.
    pub fn into_runner(self) -> Runner<'a> {
        self.runner.into_inner()
    }

    /// Gives spawners their threads. Where there is none to be had the loop starts their jobs itself.
    pub fn bear<'scope>(&'scope self, spawners: std::ops::Range<usize>, scope: &'scope Scope<'scope, '_>) {
        for index in spawners.clone() {
            let thread = Builder::new().name("starter".to_owned()).stack_size(STACK_BYTES);
            if thread.spawn_scoped(scope, move || self.serve(index)).is_ok() {
                continue;
            }
            let mut runner = self.lock();
            for index in (index..spawners.end).rev() {
                if let Some(prepared) = runner.starts.spawners.give_up(index) {
                    if let Some(running) = runner.jobs.at(prepared.slot) {
                        running.spawner = Mover::Loop;
                    }
                    runner.starts.spawners.give_to_loop(prepared);
                }
            }
            // What that has changed comes before its sleep.
            return self.waker.wake();
        }
    }

    /// Starts a job of the loop's own. Spawners take their turns meanwhile.
    pub fn start_by_loop(&self, prepared: &Prepared, spawner: &mut Spawner) {
        let started = prepared.start(spawner);
        self.lock().begin(prepared.slot, started);
    }

    /// A spawner for another thread.
    pub fn spawner(&self) -> Spawner {
        self.lock().starts.spawner.another()
    }

    /// A spawner's life.
    fn serve(&self, index: usize) {
        let _a_panic_ends_the_run = AbortsWhenPanicking;
        let mut spawner = self.spawner();
        while let Some(prepared) = self.next_for(index) {
            let slot = prepared.slot;
            let started = prepared.start(&mut spawner);
            drop(prepared);
            let mut runner = self.lock();
            if let Some(pid) = runner.begin(slot, started) {
                runner.pass_messages_on();
                runner.call_loop_if_needed();
                drop(runner);
                runner = self.wait_for_end(pid);
            } else {
                runner.clock.waiting.account(Instant::now());
            }
            runner.move_on(Mover::Spawner(index));
            runner.starts.spawners.rest(index);
            runner.call_loop_if_needed();
        }
    }

    fn next_for(&self, index: usize) -> Option<Prepared> {
        let mut runner = self.lock();
        loop {
            if let Some(prepared) = runner.starts.spawners.take(index) {
                return Some(prepared);
            }
            if runner.starts.spawners.are_dismissed || runner.starts.spawners.are_retired {
                return None;
            }
            runner.starts.spawners.rest(index);
            self.calls[index].wait(&mut runner);
        }
    }

    /// Until the job has ended and that has been noted.
    fn wait_for_end(&self, pid: Pid) -> MutexGuard<'_, Runner<'a>> {
        loop {
            let change = wait_for_change(pid);
            let mut runner = self.lock();
            match change {
                Ok(Changed::Stopped(stopped)) => {
                    runner.note_stop(stopped);
                    runner.pass_messages_on();
                    runner.call_loop_if_needed();
                }
                Ok(Changed::Ended(_)) | Err(_) => {
                    runner.clock.waiting.account(Instant::now());
                    runner.reap_started(pid);
                    return runner;
                }
            }
        }
    }
}

/// A thread that panics in its turn leaves the run's books half written, and the others waiting for it. The supervisor ends the jobs.
pub(super) struct AbortsWhenPanicking;

impl Drop for AbortsWhenPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::OwnedFd;

    fn prepared() -> Prepared {
        let nothing: Stream = Arc::new(OwnedFd::from(File::open("/dev/null").expect("there is one")));
        Prepared {
            slot: 0,
            program: c"/bin/true".to_owned(),
            words: Arc::default(),
            environment: None,
            besides: None,
            directory: None,
            streams: [Arc::clone(&nothing), Arc::clone(&nothing), nothing],
        }
    }

    fn of_two() -> Spawners {
        Spawners {
            most: 2,
            each: (0..2).map(|_| SpawnerThread::default()).collect(),
            of_loop: VecDeque::new(),
            unborn: 0,
            calls: (0..2).map(|_| Condvar::new()).collect(),
            are_retired: false,
            are_dismissed: false,
        }
    }

    #[test]
    fn whoever_took_a_job_between_its_turn_and_its_sleep_is_not_idle() {
        let mut spawners = of_two();
        (0..2).for_each(|index| spawners.rest(index));
        // The loop is faster than its next look at the lock.
        spawners.give(0, prepared());
        assert!(spawners.take(0).is_some());
        assert_eq!(spawners.for_next(Mover::Loop, 2), Some(Mover::Spawner(1)));
        spawners.give(1, prepared());
        assert!(spawners.take(1).is_some());
        assert_eq!(spawners.for_next(Mover::Loop, 2), Some(Mover::Loop), "both are at work");
        assert!(spawners.take(0).is_none());
        spawners.rest(0);
        assert_eq!(spawners.for_next(Mover::Loop, 2), Some(Mover::Spawner(0)));
    }
}
