//! Where workers are hired, rest, wake and steal. Nothing here is locked while there is work for everybody: a deque a worker, and a lock
//! that only those touch who have no task, or see that somebody has none.

use super::Tree;
use super::worker::{Branch, DequeTask};
use crate::budget::Lease;
use crate::clocks::{OffCpu, RunDelay, StageClock, nanoseconds, timed};
use crate::sync::{Condvar, Mutex, MutexGuard, Scope, lock, panicking, scope, spawn, wait};
use crate::verdict::SHORTEST_JUDGED;
use crossbeam_deque::{Steal, Stealer, Worker as Deque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::time::Instant;

/// What all workers of a run share.
pub(super) struct Floor<'a, T: Tree + ?Sized> {
    pub tree: &'a T,
    pub lease: &'a dyn Lease,
    width: usize,
    stealers: Vec<Stealer<DequeTask<T>>>,
    /// Deques of workers that are not hired yet.
    unused: Mutex<Vec<(usize, Deque<DequeTask<T>>)>>,
    /// Tasks of the run itself that are not done.
    tops: AtomicUsize,
    is_finished: AtomicBool,
    /// Whether a call would bring another worker: read without the lock by whoever spawns.
    takers: AtomicUsize,
    staff: Mutex<Staff>,
    work_waits: Condvar,
}

/// Under the lock.
#[derive(Default)]
struct Staff {
    workers: usize,
    resting: usize,
    /// Of those who rest: called, and not awake so far. Waking takes long enough for many others to spawn something.
    called: usize,
    /// Hired or woken, and without a hand so far: while there is one no other is called.
    seeking: usize,
    at_work_most: usize,
    clock: StageClock,
    tasks: u64,
    stolen: u64,
}

/// What is known at the end.
pub(super) struct ScatterEnd {
    pub workers: usize,
    pub tasks: u64,
    pub stolen: u64,
    pub clock: StageClock,
}

/// Runs all tasks to their end.
pub(super) fn run<T: Tree>(tree: &T, tasks: Vec<T::Task>, width: usize, lease: &dyn Lease) -> ScatterEnd {
    let deques: Vec<Deque<DequeTask<T>>> = (0..width).map(|_| Deque::new_lifo()).collect();
    let stealers = deques.iter().map(Deque::stealer).collect();
    let tops = tasks.len();
    // The last one is taken first, so it goes in first.
    tasks.into_iter().rev().for_each(|task| deques[0].push(DequeTask::Begin { task, above: None }));
    let floor = Floor {
        tree,
        lease,
        width,
        stealers,
        unused: Mutex::new(deques.into_iter().enumerate().rev().collect()),
        tops: AtomicUsize::new(tops),
        is_finished: AtomicBool::new(tops == 0),
        takers: AtomicUsize::new(0),
        staff: Mutex::new(Staff { workers: 1, seeking: 1, ..Staff::default() }),
        work_waits: Condvar::new(),
    };
    let reports = Mutex::new(Vec::new());
    scope(|scope| floor.work(scope, &reports));
    let mut reports = std::mem::take(&mut *lock(&reports));
    reports.sort();
    if !reports.is_empty() {
        tree.tell(reports);
    }
    let staff = lock(&floor.staff);
    ScatterEnd { workers: staff.at_work_most.max(1), tasks: staff.tasks, stolen: staff.stolen, clock: staff.clock }
}

/// Sends everybody home when its thread panics, so that nobody waits for what will never come.
struct Alarm<'a, 'b, T: Tree>(&'a Floor<'b, T>);

impl<T: Tree> Drop for Alarm<'_, '_, T> {
    fn drop(&mut self) {
        if panicking() {
            self.0.finish();
        }
    }
}

impl<T: Tree> Floor<'_, T> {
    /// A worker's life: a hand, a task, the next one; rest without a hand when there is none to be found.
    fn work<'scope, 'env>(&'env self, scope: &'scope Scope<'scope, 'env>, reports: &'env Mutex<Vec<T::Report>>)
    where
        'env: 'scope,
    {
        let (_alarm, begin) = (Alarm(self), Instant::now());
        let (number, deque) = lock(&self.unused).pop().expect("no more workers are hired than there are deques");
        let mut branch = Branch::new(self, number, deque, Box::new(move || self.hire(scope, reports)));
        lock(&self.staff).seeking -= 1;
        while !self.is_finished() {
            if branch.hand.held.is_none() {
                if !self.has_task(&branch) {
                    self.rest(&mut branch);
                    continue;
                }
                self.seek_a_hand(&mut branch);
            }
            let mut clock = StageClock::default();
            timed(&mut clock, OffCpu::Blocked, || self.spell(&mut branch));
            // Waiting for a hand inside a task was counted in its own column.
            clock.blocked_ns = clock.blocked_ns.saturating_sub(std::mem::take(&mut branch.away_ns));
            branch.clock.add(&clock);
            if branch.hand.held.is_some() && !self.is_finished() {
                self.rest(&mut branch);
            }
        }
        branch.hand.give_back();
        // LIMIT: small work is over sooner than the file could be read, and gets no verdict; half, since a run is longer than its
        // workers. The first worker's has what its thread waited before this run too: the start of a program.
        let is_judged = begin.elapsed() * 2 >= SHORTEST_JUDGED;
        branch.clock.tell_cpu_waits(if is_judged { RunDelay::since_its_begin().so_far_ns() } else { None });
        lock(reports).append(&mut branch.reports);
        let mut staff = lock(&self.staff);
        staff.workers -= 1;
        staff.clock.add(&branch.clock);
        staff.tasks += branch.tasks;
        staff.stolen += branch.stolen;
    }

    /// Task after task, until there is none to be found or the hand goes back. Clocks are read at both ends only: a reading of the
    /// thread's CPU time is a system call, and most directories are a dozen of them.
    fn spell(&self, branch: &mut Branch<'_, T>) {
        while !self.is_finished() {
            let Some(task) = self.find(branch) else { return };
            (branch.hire)();
            branch.carry_out(task);
            if branch.hand.must_return() {
                branch.hand.give_back();
                return;
            }
        }
    }

    /// The newest of one's own, else the oldest of somebody else's: near the top, so that it is a large part of the tree.
    fn find(&self, branch: &mut Branch<'_, T>) -> Option<DequeTask<T>> {
        if let Some(task) = branch.deque.pop() {
            return Some(task);
        }
        let width = self.stealers.len();
        for step in 1..width {
            let victim = &self.stealers[(branch.number + step) % width];
            loop {
                match victim.steal() {
                    Steal::Success(task) => {
                        branch.stolen += 1;
                        self.call();
                        return Some(task);
                    }
                    Steal::Empty => break,
                    Steal::Retry => {}
                }
            }
        }
        None
    }

    fn has_task(&self, branch: &Branch<'_, T>) -> bool {
        !branch.deque.is_empty() || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    /// Waits for a hand inside a task. Nanoseconds.
    pub(super) fn wait_for_a_hand(&self, branch: &mut Branch<'_, T>) -> u64 {
        let since = Instant::now();
        branch.hand.held = Some(self.lease.take());
        let waited_ns = nanoseconds(since.elapsed());
        branch.clock.unstaffed_ns += waited_ns;
        waited_ns
    }

    /// Waits for a hand with no task begun: for itself, and for those who are not called meanwhile because it waits.
    fn seek_a_hand(&self, branch: &mut Branch<'_, T>) {
        {
            let mut staff = lock(&self.staff);
            staff.seeking += 1;
            self.note_takers(&staff);
        }
        self.wait_for_a_hand(branch);
        let mut staff = lock(&self.staff);
        staff.seeking -= 1;
        let at_work = staff.workers - staff.resting - staff.seeking;
        staff.at_work_most = staff.at_work_most.max(at_work);
        self.note_takers(&staff);
        drop(staff);
        // Nobody was called while this one waited, whatever was spawned.
        self.call();
    }

    /// Sleeps without a hand until somebody calls.
    fn rest(&self, branch: &mut Branch<'_, T>) {
        branch.hand.give_back();
        let mut staff = lock(&self.staff);
        staff.resting += 1;
        self.note_takers(&staff);
        // ORDER: who spawns first pushes, then reads `takers`; who rests first writes `takers`, then looks at the deques. With a full
        // fence between in both, one of the two sees the other: no task is left while somebody sleeps.
        fence(Ordering::SeqCst);
        if !self.has_task(branch) && !self.is_finished() {
            let since = Instant::now();
            while staff.called == 0 && !self.is_finished() {
                staff = wait(&self.work_waits, staff);
            }
            staff.called = staff.called.saturating_sub(1);
            branch.clock.starved_ns += nanoseconds(since.elapsed());
        }
        staff.resting -= 1;
        self.note_takers(&staff);
    }

    fn note_takers(&self, staff: &MutexGuard<'_, Staff>) {
        let takers = if staff.seeking > 0 { 0 } else { staff.resting - staff.called + self.width - staff.workers };
        // ORDER: read without the lock; see `rest`.
        self.takers.store(takers, Ordering::SeqCst);
    }

    /// The most workers.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether a call would bring somebody.
    pub(super) fn has_takers(&self) -> bool {
        // ORDER: a hint; what must not be missed goes through `call`.
        self.takers.load(Ordering::Relaxed) > 0
    }

    /// After something was put into a deque: wakes one who rests. Who is not hired yet is hired by the next worker between two tasks.
    pub(super) fn call(&self) {
        fence(Ordering::SeqCst);
        if self.takers.load(Ordering::SeqCst) > 0 {
            let mut staff = lock(&self.staff);
            if staff.resting > staff.called {
                staff.called += 1;
                self.note_takers(&staff);
                // Not under the lock, which the one who wakes needs first.
                drop(staff);
                self.work_waits.notify_one();
            }
        }
    }

    /// Hires one more, where somebody would have a task for it and no one rests or waits for a hand.
    fn hire<'scope, 'env>(&'env self, scope: &'scope Scope<'scope, 'env>, reports: &'env Mutex<Vec<T::Report>>)
    where
        'env: 'scope,
    {
        let is_wanted = |staff: &Staff| staff.seeking == 0 && staff.resting == 0 && staff.workers < self.width;
        if !self.has_takers() || self.stealers.iter().all(Stealer::is_empty) || !is_wanted(&lock(&self.staff)) {
            return;
        }
        // Not under the lock: it looks at what other runs do.
        if !self.lease.may_grow() {
            return;
        }
        let mut staff = lock(&self.staff);
        if !is_wanted(&staff) {
            return;
        }
        staff.workers += 1;
        staff.seeking += 1;
        self.note_takers(&staff);
        drop(staff);
        let hired = spawn(scope, move || self.work(scope, reports));
        if hired.is_err() {
            // Where the system gives no more threads, those there are do the work.
            let mut staff = lock(&self.staff);
            staff.workers -= 1;
            staff.seeking -= 1;
            // Who went to rest meanwhile was not called. If nobody did nothing is noted, so that not every task tries to hire again.
            if staff.resting > 0 {
                self.note_takers(&staff);
                drop(staff);
                self.call();
            }
        }
    }

    /// One of this turn's own tasks is done, with all that grew from it. Whether it was the last one.
    pub(super) fn is_done_with_one_top(&self) -> bool {
        // ORDER: the last one must see what all others did.
        self.tops.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Counts the tasks of the next turn, before anybody can see them.
    pub(super) fn expect_tops(&self, tasks: usize) {
        // ORDER: nobody has a task; whoever takes one of these takes it out of a deque that synchronises.
        self.tops.store(tasks, Ordering::Release);
    }

    fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    pub(super) fn finish(&self) {
        self.is_finished.store(true, Ordering::Release);
        // Under the lock: nobody is between its last look and its sleep.
        let _staff = lock(&self.staff);
        self.work_waits.notify_all();
    }
}
