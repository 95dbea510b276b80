//! Carries out the scheduler's tasks with threads: workers hired while work waits, and threads of their own for pipes.
//! Decides nothing about order or bounds; `scheduler` does, under the one lock that is held only between stages.

use super::demand::Demand;
use super::scheduler::{Idle, OutboxAnswer, Scheduler, Segment, SlotAnswer, Task, Ticket};
use super::{AccessCounts, By, Cut, CutTurn, Fill, Held, Pause, Ran, SharedSink, Staffing, Stages, cut};
use crate::budget::Lease;
use crate::clocks::{Clocks, OffCpu, RunDelay, StageClock, nanoseconds, timed};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, Scope, lock, panicking, scope, spawn, wait};
use crate::tally::Tally;
use std::time::Instant;

/// Runs all lanes to their end.
pub(super) fn run<S: Stages>(stages: &S, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Ran {
    let floor = Floor {
        scheduler: Scheduler::new(stages, staffing),
        workers: 1,
        at_work_most: 0,
        workers_resting: 0,
        workers_seeking: 1,
        readers_waiting: 0,
        writers_waiting: 0,
        clocks: Clocks::default(),
        access: AccessCounts::default(),
        demand: Demand::new(staffing.width, Instant::now()),
    };
    let crew = Crew {
        stages,
        lease,
        tally,
        width: staffing.width,
        floor: Mutex::new(floor),
        work_waits: Condvar::new(),
        hand_waits: Condvar::new(),
        slot_waits: Condvar::new(),
        outbox_waits: Condvar::new(),
    };
    scope(|scope| crew.work(scope));
    let floor = lock(&crew.floor);
    floor.scheduler.assert_balanced();
    if floor.demand.is_reduced() {
        // The lease may serve another run.
        lease.set_useful_width(staffing.width);
    }
    Ran { clocks: floor.clocks, workers: floor.at_work_most.max(1), access: floor.access }
}

/// What all threads of a run share.
struct Crew<'a, S: Stages> {
    stages: &'a S,
    lease: &'a dyn Lease,
    tally: &'a Tally,
    width: usize,
    floor: Mutex<Floor<S>>,
    /// Workers without a task.
    work_waits: Condvar,
    /// Workers with a paused chunk, but the one that waits at the lease.
    hand_waits: Condvar,
    /// Reading threads without a slot.
    slot_waits: Condvar,
    /// Writing threads without a chunk.
    outbox_waits: Condvar,
}

/// Everything under the lock.
struct Floor<S: Stages> {
    scheduler: Scheduler<S>,
    workers: usize,
    /// The most workers that had a hand at once.
    at_work_most: usize,
    workers_resting: usize,
    /// Hired, or at work again, and without a hand so far.
    workers_seeking: usize,
    readers_waiting: usize,
    writers_waiting: usize,
    clocks: Clocks,
    access: AccessCounts,
    demand: Demand,
}

/// What a worker carries from task to task.
struct Worker<'a, S: Stages> {
    scratch: S::Scratch,
    clocks: Clocks,
    hand: Option<Held<'a>>,
    /// The lane whose computing source this worker has just used.
    cutting: Option<usize>,
}

/// Wakes everybody when its thread panics, so that nobody waits for what will never come.
struct Alarm<'a, 'b, S: Stages>(&'a Crew<'b, S>);

impl<S: Stages> Drop for Alarm<'_, '_, S> {
    fn drop(&mut self) {
        if panicking() {
            let mut floor = lock(&self.0.floor);
            floor.scheduler.raise_alarm(self.0.stages);
            self.0.wake_everybody();
        }
    }
}

impl<S: Stages> Crew<'_, S> {
    /// A worker's life: take a hand, take a task, carry it out; rest without a hand when there is none.
    fn work<'scope, 'env>(&'env self, scope: &'scope Scope<'scope, 'env>)
    where
        'env: 'scope,
    {
        let _alarm = Alarm(self);
        let delay = RunDelay::since_now();
        let scratch = self.stages.new_scratch();
        let mut worker = Worker { scratch, clocks: Clocks::default(), hand: None, cutting: None };
        let mut floor = lock(&self.floor);
        floor.workers_seeking -= 1;
        while !floor.scheduler.is_finished() {
            if !floor.scheduler.has_task(self.stages) {
                floor = self.rest(floor, &mut worker);
            } else if worker.hand.is_none() {
                floor = self.seek_a_hand(floor, &mut worker);
            } else {
                // What there was to prepare may be prepared by now.
                let Some(task) = floor.scheduler.take_task(self.stages, worker.cutting.take()) else { continue };
                let fill = floor.scheduler.fill();
                self.call_for(&mut floor, scope);
                drop(floor);
                self.carry_out(task, &fill, &mut worker, scope);
                self.yield_point(&mut worker);
                floor = lock(&self.floor);
            }
        }
        drop(floor);
        worker.clocks.tell_cpu_waits(delay.so_far_ns());
        floor = lock(&self.floor);
        floor.clocks.add(&worker.clocks);
        floor.workers -= 1;
        self.wake_everybody();
        drop(floor);
    }

    /// Waits for a hand: for itself, and for those who are not hired meanwhile because it waits. Their time is lost as well.
    fn seek_a_hand<'a>(
        &'a self,
        mut floor: MutexGuard<'a, Floor<S>>,
        worker: &mut Worker<'a, S>,
    ) -> MutexGuard<'a, Floor<S>> {
        let not_hired = (self.width - floor.workers) as u64;
        floor.workers_seeking += 1;
        drop(floor);
        let mut waited = StageClock::default();
        worker.hand = Some(timed(&mut waited, OffCpu::NoHand, || Held::take(self.lease, Some(self.tally))));
        waited.unstaffed_ns *= 1 + not_hired;
        worker.clocks.work.add(&waited);
        floor = lock(&self.floor);
        floor.workers_seeking -= 1;
        let at_work = floor.workers - floor.workers_resting - floor.workers_seeking - floor.scheduler.paused();
        floor.at_work_most = floor.at_work_most.max(at_work);
        floor
    }

    /// Sleeps without a hand until somebody calls.
    fn rest<'a>(&'a self, mut floor: MutexGuard<'a, Floor<S>>, worker: &mut Worker<'_, S>) -> MutexGuard<'a, Floor<S>> {
        worker.hand = None;
        let (since, reason) = (Instant::now(), floor.scheduler.why_idle());
        floor.workers_resting += 1;
        floor = wait(&self.work_waits, floor);
        floor.workers_resting -= 1;
        let rested_ns = nanoseconds(since.elapsed());
        match reason {
            Idle::Starved => worker.clocks.work.starved_ns += rested_ns,
            Idle::Blocked => worker.clocks.work.blocked_ns += rested_ns,
            Idle::Paused => worker.clocks.work.unstaffed_ns += rested_ns,
        }
        floor
    }

    fn yield_point(&self, worker: &mut Worker<'_, S>) {
        if worker.hand.as_ref().is_some_and(Held::must_return) {
            worker.hand = None;
        }
    }

    /// A yield point in the middle of a chunk's work. The chunk keeps its slot and its buffers, the thread gives its hand back, waits for one and
    /// goes on; meanwhile the run begins nothing new. Whether that was so.
    fn pause<'scope, 'env>(
        &'env self,
        (lane, ticket): (usize, Ticket),
        hand: &mut Option<Held<'env>>,
        away: &mut StageClock,
        scope: &'scope Scope<'scope, 'env>,
    ) -> bool
    where
        'env: 'scope,
    {
        if !hand.as_ref().is_some_and(Held::must_return) || !lock(&self.floor).scheduler.pause(lane, ticket) {
            return false;
        }
        *hand = None;
        timed(away, OffCpu::NoHand, || {
            let mut floor = lock(&self.floor);
            while !floor.scheduler.may_seek(lane, ticket) {
                floor = wait(&self.hand_waits, floor);
            }
            drop(floor);
            *hand = Some(Held::take(self.lease, Some(self.tally)));
        });
        let mut floor = lock(&self.floor);
        floor.scheduler.resume(lane, ticket);
        self.hand_waits.notify_all();
        self.call_for(&mut floor, scope);
        true
    }

    /// After any change at the scheduler: wakes, or hires, whoever can use it. One worker at a time; each that finds a task
    /// calls again while more remain, so a burst staffs itself in a chain. Where hands are short the chain ends with the one
    /// worker who waits for a hand: a run has no more threads than it can use.
    fn call_for<'scope, 'env>(&'env self, floor: &mut Floor<S>, scope: &'scope Scope<'scope, 'env>)
    where
        'env: 'scope,
    {
        if floor.scheduler.is_finished() {
            self.wake_everybody();
            return;
        }
        let (has_task, busy) = (floor.scheduler.has_task(self.stages), floor.workers - floor.workers_resting);
        if let Some(width) = floor.demand.note(busy, has_task, Instant::now()) {
            self.lease.set_useful_width(width);
        }
        let nobody_seeks = floor.workers_seeking == 0 && floor.scheduler.paused() == 0;
        if has_task && nobody_seeks {
            if floor.workers_resting > 0 {
                self.work_waits.notify_one();
            } else if floor.workers < self.width && (!self.stages.tasks_are_brief() || self.lease.may_grow()) {
                // Where the system gives no more threads, those there are do the work.
                if spawn(scope, move || self.work(scope)).is_ok() {
                    floor.workers += 1;
                    floor.workers_seeking += 1;
                }
            }
        }
        if floor.readers_waiting > 0 && floor.scheduler.has_answer_for_readers() {
            self.slot_waits.notify_all();
        }
        if floor.writers_waiting > 0 && floor.scheduler.has_answer_for_writers() {
            self.outbox_waits.notify_all();
        }
    }

    fn wake_everybody(&self) {
        self.work_waits.notify_all();
        self.hand_waits.notify_all();
        self.slot_waits.notify_all();
        self.outbox_waits.notify_all();
    }

    fn carry_out<'scope, 'env>(
        &'env self,
        task: Task<S>,
        fill: &Fill,
        worker: &mut Worker<'env, S>,
        scope: &'scope Scope<'scope, 'env>,
    ) where
        'env: 'scope,
    {
        match task {
            Task::Open { lane } => self.open(lane, &mut worker.clocks, scope),
            Task::Cut { source, segment } => self.cut(source, segment, worker, scope),
            Task::Work(segment) => self.work_on(segment, fill, worker, scope),
            Task::Write(mut segment) => {
                let outcome = self.write(&mut segment, &mut worker.clocks);
                let mut floor = lock(&self.floor);
                floor.scheduler.written_by_worker(self.stages, segment, outcome);
                self.call_for(&mut floor, scope);
            }
            Task::LookAhead => {
                timed(&mut worker.clocks.read, OffCpu::Starved, || self.stages.look_ahead());
                self.call_for(&mut lock(&self.floor), scope);
            }
            Task::Close { lane, source, sink, outcome } => {
                let sink = Arc::into_inner(sink).expect("no piece of a lane is left when it is closed");
                timed(&mut worker.clocks.lanes, OffCpu::Blocked, || {
                    self.stages.close(lane, Some((source, sink)), outcome);
                });
                let mut floor = lock(&self.floor);
                floor.scheduler.closed(self.stages);
                self.call_for(&mut floor, scope);
            }
        }
    }

    fn open<'scope, 'env>(&'env self, lane: usize, clocks: &mut Clocks, scope: &'scope Scope<'scope, 'env>)
    where
        'env: 'scope,
    {
        match timed(&mut clocks.lanes, OffCpu::Blocked, || self.stages.open(lane)) {
            Ok(open) => {
                let (reading, writing) = (open.reading, open.writing);
                let mut floor = lock(&self.floor);
                floor.access.lane(reading, writing);
                floor.scheduler.opened(lane, open);
                // Where the system gives no more threads, the workers read and write the pipe in their turns.
                if writing == By::OwnThread && spawn(scope, move || self.write_lane(lane, scope)).is_err() {
                    floor.scheduler.workers_write(lane);
                }
                if reading == By::OwnThread && spawn(scope, move || self.read_lane(lane, scope)).is_err() {
                    floor.scheduler.workers_read(lane);
                }
                self.call_for(&mut floor, scope);
            }
            Err(error) => {
                self.stages.close(lane, None, Err(error));
                let mut floor = lock(&self.floor);
                floor.scheduler.open_failed();
                self.call_for(&mut floor, scope);
            }
        }
    }

    /// A cut in a worker's turn. Where the source only notes offsets the worker goes on with the chunk itself, warm in its
    /// cache; where the source computes, the worker stays with the source and leaves the chunk to others.
    fn cut<'scope, 'env>(
        &'env self,
        mut source: S::Source,
        mut segment: Segment<S>,
        worker: &mut Worker<'env, S>,
        scope: &'scope Scope<'scope, 'env>,
    ) where
        'env: 'scope,
    {
        let outcome = cut(self.stages, &mut source, &mut segment.chunk, &mut worker.clocks);
        let lane = segment.lane;
        let computes = matches!(outcome, Ok(Cut::Taken(_)));
        let mut floor = lock(&self.floor);
        self.count(&outcome, &mut segment, &mut floor.access);
        floor.scheduler.source_is_home(lane, source);
        let kept = match floor.scheduler.after_cut(self.stages, segment, outcome) {
            Some(segment) if computes && self.width > 1 => {
                floor.scheduler.queue(segment);
                worker.cutting = Some(lane);
                None
            }
            other => other,
        };
        let fill = floor.scheduler.fill();
        self.call_for(&mut floor, scope);
        drop(floor);
        if let Some(segment) = kept {
            self.work_on(segment, &fill, worker, scope);
        }
    }

    fn count(&self, outcome: &Result<Cut, S::Error>, segment: &mut Segment<S>, access: &mut AccessCounts) {
        if let Ok(cut) = outcome {
            access.cut(*cut);
            segment.bytes = cut.bytes().inspect(|&bytes| self.tally.took(bytes)).unwrap_or(0);
        }
    }

    fn work_on<'scope, 'env>(
        &'env self,
        mut segment: Segment<S>,
        fill: &Fill,
        worker: &mut Worker<'env, S>,
        scope: &'scope Scope<'scope, 'env>,
    ) where
        'env: 'scope,
    {
        let fetched = timed(&mut worker.clocks.read, OffCpu::Starved, || self.stages.fetch(&mut segment.chunk));
        let (mut away, mut done_within) = (StageClock::default(), 0);
        let outcome = fetched.and_then(|()| {
            self.stages.about_to_work(&mut segment.chunk, fill);
            let Worker { scratch, clocks, hand, .. } = &mut *worker;
            let number = (segment.lane, segment.ticket);
            let mut look = || self.pause(number, hand, &mut away, scope);
            let mut pause = Pause::now_and_then(&mut look).counting(self.tally, segment.bytes);
            let worked =
                timed(&mut clocks.work, OffCpu::NoCpu, || self.stages.work(scratch, &mut segment.chunk, &mut pause));
            done_within = pause.counted();
            worked
        });
        self.tally.did(segment.bytes - done_within);
        worker.clocks.work.had_no_hand(&away);
        let mut floor = lock(&self.floor);
        floor.scheduler.worked(self.stages, segment, outcome);
        self.call_for(&mut floor, scope);
    }

    fn write(&self, segment: &mut Segment<S>, clocks: &mut Clocks) -> Result<u64, S::Error> {
        let sink: &SharedSink<S> = &segment.sink;
        let outcome = timed(&mut clocks.write, OffCpu::Blocked, || self.stages.write(sink, &mut segment.chunk));
        if let Ok(bytes) = outcome {
            self.tally.gave(bytes);
        }
        outcome
    }

    /// The life of a thread that reads a pipe: a slot, a chunk, a slot, a chunk. It mostly waits, so it holds no hand.
    fn read_lane<'scope, 'env>(&'env self, lane: usize, scope: &'scope Scope<'scope, 'env>)
    where
        'env: 'scope,
    {
        let _alarm = Alarm(self);
        let (mut clocks, delay) = (Clocks::default(), RunDelay::since_now());
        let mut floor = lock(&self.floor);
        let Some(mut source) = floor.scheduler.take_source(lane) else { return };
        loop {
            let mut segment = match floor.scheduler.take_slot(lane) {
                SlotAnswer::Slot(segment) => segment,
                SlotAnswer::Stop => break,
                SlotAnswer::Wait => {
                    let since = Instant::now();
                    floor.readers_waiting += 1;
                    floor = wait(&self.slot_waits, floor);
                    floor.readers_waiting -= 1;
                    clocks.read.blocked_ns += nanoseconds(since.elapsed());
                    continue;
                }
            };
            drop(floor);
            let outcome = self.read_chunk(&mut source, &mut segment, &mut clocks.read);
            floor = lock(&self.floor);
            self.count(&outcome, &mut segment, &mut floor.access);
            if let Some(segment) = floor.scheduler.after_cut(self.stages, segment, outcome) {
                floor.scheduler.queue(segment);
            }
            self.call_for(&mut floor, scope);
        }
        drop(floor);
        clocks.tell_cpu_waits(delay.so_far_ns());
        floor = lock(&self.floor);
        floor.scheduler.return_source(lane, source);
        floor.clocks.add(&clocks);
        self.call_for(&mut floor, scope);
    }

    fn read_chunk(
        &self,
        source: &mut S::Source,
        segment: &mut Segment<S>,
        clock: &mut StageClock,
    ) -> Result<Cut, S::Error> {
        let mut turn = CutTurn::without_a_hand(self.lease);
        let outcome = timed(clock, OffCpu::Starved, || self.stages.cut(source, &mut segment.chunk, &mut turn));
        // Time without a hand was inside the cut, off the CPU: it belongs to its own column.
        let unstaffed_ns = turn.waited.unstaffed_ns.min(clock.starved_ns);
        clock.starved_ns -= unstaffed_ns;
        clock.unstaffed_ns += unstaffed_ns;
        outcome
    }

    /// The life of a thread that writes a pipe, in order. It mostly waits, so it holds no hand.
    fn write_lane<'scope, 'env>(&'env self, lane: usize, scope: &'scope Scope<'scope, 'env>)
    where
        'env: 'scope,
    {
        let _alarm = Alarm(self);
        let (mut clocks, delay) = (Clocks::default(), RunDelay::since_now());
        let mut floor = lock(&self.floor);
        loop {
            match floor.scheduler.take_outbox(lane) {
                OutboxAnswer::Stop => break,
                OutboxAnswer::Wait => {
                    let since = Instant::now();
                    floor.writers_waiting += 1;
                    floor = wait(&self.outbox_waits, floor);
                    floor.writers_waiting -= 1;
                    clocks.write.starved_ns += nanoseconds(since.elapsed());
                }
                OutboxAnswer::Segment(mut segment) => {
                    drop(floor);
                    let outcome = self.write(&mut segment, &mut clocks);
                    floor = lock(&self.floor);
                    floor.scheduler.written(self.stages, segment, outcome);
                    self.call_for(&mut floor, scope);
                }
            }
        }
        drop(floor);
        clocks.tell_cpu_waits(delay.so_far_ns());
        floor = lock(&self.floor);
        floor.clocks.add(&clocks);
        self.call_for(&mut floor, scope);
    }
}
