//! Turns: the loop's, which sleeps until something happens or a time has come, and what each turn does, whoever takes it.
//! What the events mean is in the files beside this one.

use super::starters::{AbortsWhenPanicking, Mover, Prepared, Shared};
use super::starts::LOOK_AGAIN_AFTER;
use super::{Cause, Runner, Running, SetupFault};
use rustix::event::epoll;
use rustix::time::Timespec;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Whether the loop moves the run on, or sleeps until something happens or a time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopState {
    Awake,
    Asleep(Option<Instant>),
}

/// The loop. Starters take their turns while it sleeps, or starts a program itself.
pub(super) fn turn_until_done(shared: &Shared<'_>) -> Result<(), SetupFault> {
    let poll = shared.lock().poll.clone();
    let mut spawner = shared.spawner();
    let mut events = Vec::with_capacity(64);
    std::thread::scope(|scope| {
        let _a_panic_ends_the_run = AbortsWhenPanicking;
        loop {
            let mut runner = shared.lock();
            let next = runner.move_on_by_loop();
            if !matches!(next, Ok(Step::Start(_) | Step::Sleep(_))) {
                runner.starters.dismiss();
            }
            let unborn = runner.starters.take_unborn();
            drop(runner);
            shared.bear(unborn, scope);
            match next? {
                Step::End => return Ok(()),
                Step::Start(prepared) => shared.start_by_loop(&prepared, &mut spawner),
                Step::Sleep(limit) => {
                    let slept = poll.wait(&mut events, limit.as_ref());
                    shared.lock().wake(slept, &events)?;
                }
            }
        }
    })
}

/// What the loop does after its turn.
enum Step {
    Start(Prepared),
    /// At most so long, if there is a bound.
    Sleep(Option<Timespec>),
    End,
}

impl Runner<'_> {
    /// The loop's turn.
    fn move_on_by_loop(&mut self) -> Result<Step, SetupFault> {
        self.is_left_to_loop = false;
        if self.clock.rest_is_due && !self.is_starting() {
            // It may have been taken back meanwhile; a stop would throw away the signal that says so.
            self.take_signals();
        }
        if self.clock.rest_is_due && !self.is_starting() {
            self.rest();
        }
        self.move_on(Mover::Loop);
        if let Some(prepared) = self.starters.next_of_loop() {
            return Ok(Step::Start(prepared));
        }
        if self.is_done() { Ok(Step::End) } else { Ok(Step::Sleep(self.begin_sleep()?)) }
    }

    /// The loop is awake again.
    fn wake(&mut self, slept: rustix::io::Result<usize>, events: &[epoll::Event]) -> Result<(), SetupFault> {
        self.loop_is = LoopState::Awake;
        if let Err(error) = slept
            && error != rustix::io::Errno::INTR
        {
            self.starters.dismiss();
            return Err(error.into());
        }
        let now = Instant::now();
        self.clock.waiting.account(now);
        for event in events {
            self.take_event(event.data.u64());
        }
        self.act_on_deadlines(Instant::now());
        Ok(())
    }

    /// Reads, starts and passes on what can be.
    pub(super) fn move_on(&mut self, mover: Mover) {
        self.read_list();
        if !self.clock.starts_jobs() && self.jobs.count() == 0 {
            // A job that came back into the queue meanwhile would hold up those behind it for ever.
            self.outputs.deliver_as_ended();
        }
        loop {
            self.start_jobs(mover);
            let was_backed_up = self.outputs.are_backed_up(self.jobs.count() > 0);
            self.pass_outputs_on();
            // What was held back by a backlog that has gone goes on now: nothing else need happen that would move the run.
            if !was_backed_up || self.outputs.are_backed_up(self.jobs.count() > 0) {
                break;
            }
        }
        let cause = self.why_no_job_starts();
        self.clock.waiting.cause = cause;
        self.tally.waits_for_memory.store(cause == Cause::Memory, Ordering::Relaxed);
    }

    /// When something is to be done even if nothing happens.
    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        // One that is being started is ended by whoever starts it, if it is late already.
        let can_be_ended = |running: &&Running| running.pid.is_some() || !running.due.is_over(now);
        let due = self.jobs.iter().filter(can_be_ended).filter_map(|running| running.due.when());
        let waits_to_start = self.intake.queue.jobs() > 0 && self.clock.starts_jobs();
        // Those that have passed were seen in the turn before: what holds jobs back now is something else, which will be heard of.
        let is_to_come = |time: &Instant| waits_to_start && *time > self.clock.waiting.since;
        let held = [self.next_start, self.look_again, self.patience].into_iter().flatten().filter(is_to_come);
        let terminal = self.clock.must_look().then(|| now + LOOK_AGAIN_AFTER);
        let goes_on = self.outputs.go_on().then_some(now);
        due.chain(held).chain(terminal).chain(goes_on).min()
    }

    /// Before the loop sleeps: for how long it may.
    fn begin_sleep(&mut self) -> rustix::io::Result<Option<Timespec>> {
        let now = Instant::now();
        let until = self.clock.listen(now)?.into_iter().chain(self.next_deadline(now)).min();
        self.loop_is = LoopState::Asleep(until);
        // Not a microsecond too early; but what is due already needs no sleep.
        let time = until.map(|until| match until.saturating_duration_since(now) {
            Duration::ZERO => Duration::ZERO,
            time => time + Duration::from_micros(1),
        });
        Ok(time.map(timespec))
    }

    /// Wakes the loop where it alone can go on, or would sleep too long.
    pub(super) fn call_loop_if_needed(&mut self) {
        let LoopState::Asleep(until) = self.loop_is else { return };
        let is_earlier = |deadline: Instant| until.is_none_or(|until| deadline < until);
        if self.is_done()
            || self.is_left_to_loop
            || self.clock.rest_is_due && !self.is_starting()
            || self.next_deadline(Instant::now()).is_some_and(is_earlier)
        {
            self.loop_is = LoopState::Awake;
            self.staff.ringer().ring();
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(time.subsec_nanos()) }
}
