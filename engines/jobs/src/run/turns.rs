//! Turns: the loop's, which sleeps until something happens or a time has come, and what each turn does, whoever takes it. What the clock
//! and the outputs return is done here: signals, times, questions, outputs that come and go.

use super::clock::{Cause, ForegroundWish, SignalRequest};
use super::outputs::{Fate, Owed, Trouble};
use super::spawners::{AbortsWhenPanicking, Mover, Prepared, SharedRun};
use super::starts::LOOK_AGAIN_AFTER;
use super::trees::OrphanSurvey;
use super::{EventMoment, JobView, RunEvent, Runner, Running, SetupFault, Stop};
use rustix::event::epoll;
use rustix::time::Timespec;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use sys::reap::{Ended, How, Stopped, signal_group};
use sys::signals::{number, stop_here};

/// Whether the loop moves the run on, or sleeps until something happens or a time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopState {
    Awake,
    Asleep(Option<Instant>),
}

/// The loop. Spawners take their turns while it sleeps, or starts a program itself.
pub(super) fn turn_until_done(shared: &SharedRun<'_>) -> Result<(), SetupFault> {
    let poll = shared.lock().poll.clone();
    let mut spawner = shared.spawner();
    let mut events = Vec::with_capacity(64);
    std::thread::scope(|scope| {
        let _a_panic_ends_the_run = AbortsWhenPanicking;
        loop {
            let mut runner = shared.lock();
            let next = runner.move_on_by_loop();
            if !matches!(next, Ok(Step::Start(_) | Step::Sleep(_))) {
                runner.starts.spawners.dismiss();
            }
            let unborn = runner.starts.spawners.take_unborn();
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

/// LIMIT: the widest that a signal can make a run.
const WIDTH_MAX: usize = 4096;

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
        if let Some(prepared) = self.starts.spawners.next_of_loop() {
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
            self.starts.spawners.dismiss();
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
            let was_backed_up = self.outputs.are_backed_up(self.any_runs());
            self.pass_outputs_on();
            // What was held back by a backlog that has gone goes on now: nothing else need happen that would move the run.
            if !was_backed_up || self.outputs.are_backed_up(self.any_runs()) {
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
        let held = self.starts.times().into_iter().flatten().filter(is_to_come);
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
            self.starts.places.staff.waker().wake();
        }
    }

    pub(super) fn take_signals(&mut self) {
        let waits_itself = self.jobs.iter().any(|running| running.spawner == Mover::Loop);
        for signal in self.clock.arrived(Instant::now(), waits_itself) {
            let asked = self.clock.understand(signal, self.jobs.count() > 0);
            asked.into_iter().for_each(|asked| self.act(asked));
        }
    }

    fn act(&mut self, asked: SignalRequest) {
        match asked {
            SignalRequest::Reap => self.reap(),
            SignalRequest::Stop(stop) => self.stop_jobs(stop),
            SignalRequest::Kill => {
                self.signal_jobs(number::SIGKILL);
                self.outputs.gives_up = true;
            }
            SignalRequest::GiveOutputsUp => self.outputs.gives_up = true,
            SignalRequest::GoOn => self.signal_jobs(number::SIGCONT),
            SignalRequest::Wider => self.change_width(self.starts.options.width + 1),
            SignalRequest::Narrower => self.change_width(self.starts.options.width.saturating_sub(1)),
        }
    }

    /// Stops with all jobs, as one would expect from a single program; deadlines do not count the time.
    pub(super) fn rest(&mut self) {
        self.clock.rest_is_due = false;
        self.signal_jobs(number::SIGTSTP);
        let rested = Instant::now();
        self.clock.questions.lay_aside();
        stop_here();
        let time = rested.elapsed();
        self.jobs.iter_mut().for_each(|running| running.due.put_off(time));
        self.signal_jobs(number::SIGCONT);
    }

    fn change_width(&mut self, width: usize) {
        let width = width.clamp(1, WIDTH_MAX);
        self.starts.set_width(width);
        self.watched.iter().for_each(|watched| watched.widened(width));
        self.observer.tell(&RunEvent::Width(width));
    }

    fn signal_jobs(&self, signal: i32) {
        for running in self.jobs.iter() {
            // A job that has given up its rights cannot be signalled by us; it ends by itself.
            let _not_ours_any_more = running.pid.map(|pid| signal_group(pid, signal));
        }
    }

    /// Starts no more jobs; ends those that run, if that is what `stop` says.
    pub(super) fn stop_jobs(&mut self, stop: Stop) {
        if !self.clock.stop_at(stop) {
            return;
        }
        let (numbers, now) = (self.intake.stop(), Instant::now());
        let dropped = numbers.len();
        self.ran.dropped += dropped as u64;
        if stop == Stop::Now {
            self.jobs.iter_mut().for_each(|running| running.due.stop(now));
            // Those that are ended have no order.
            self.outputs.deliver_as_ended();
        } else {
            numbers.into_iter().for_each(|number| self.deliver(number, None));
        }
        if !self.ran.reader_gone {
            let (running, rule) = (self.jobs.count(), self.ran.halted);
            self.observer.tell(&RunEvent::Stopping { running, dropped, now: stop == Stop::Now, rule });
        }
        self.act_on_deadlines(Instant::now());
    }

    pub(super) fn act_on_deadlines(&mut self, now: Instant) {
        self.clock.pass_terminal_on();
        self.put_question();
        let is_due = |running: &Running| running.pid.is_some() && running.due.is_over(now);
        if !self.jobs.iter().any(is_due) {
            return;
        }
        let looked = OrphanSurvey::look(&self.jobs, self.host);
        for running in self.jobs.iter_mut().filter(|running| is_due(running)) {
            if let Some(step) = running.due.take_step(now, &self.clock.ending) {
                looked.end(running, &step, self.host);
            }
        }
    }

    /// A child was stopped.
    pub(super) fn note_stop(&mut self, stopped: Stopped) {
        let Some(running) = self.jobs.of(stopped.pid) else { return };
        let ForegroundWish::Terminal(turn) = self.clock.terminal.note_stop(stopped) else { return };
        if let Some(turn) = turn {
            self.observer.tell(&RunEvent::WantsTerminal(running.view(), turn));
            self.pass_messages_on();
        }
        self.clock.pass_terminal_on();
    }

    /// A job has ended; whoever waits for the terminal after it gets it. An interrupt that it heard alone was meant for all.
    pub(super) fn take_terminal_back(&mut self, ended: &Ended) {
        if !self.clock.terminal.take_back(ended.pid) {
            return;
        }
        if ended.how == How::Signal(number::SIGINT) {
            let asked = self.clock.interrupt();
            self.act(asked);
        }
        self.clock.pass_terminal_on();
        self.put_question();
    }

    /// Whether the job may start; none until there is an answer.
    pub(super) fn permission(&mut self, job: JobView<'_>) -> Option<bool> {
        if let Some(answer) = self.clock.questions.answer(job.number) {
            return Some(answer);
        }
        let Some(question) = self.observer.ask(job) else { return Some(false) };
        self.clock.questions.open(job.number, question);
        self.intake.pause();
        self.put_question();
        // It may have been closed at once.
        self.clock.questions.answer(job.number)
    }

    fn put_question(&mut self) {
        if self.clock.may_put_question() {
            self.pass_messages_on();
            self.clock.questions.put();
        }
    }

    /// Takes in what a job has printed.
    pub(super) fn take_output(&mut self, token: u64) {
        if let Some((running, stream)) = self.jobs.of_token(token) {
            self.outputs.take_in(running.pending.spec.number, stream, &mut running.printing);
        }
    }

    /// Passes a job's output on, if it has any: now, or when those that stand before it have ended.
    pub(super) fn deliver(&mut self, number: u64, owed: Option<Box<Owed>>) {
        self.outputs.deliver(number, owed);
        let Some(next) = self.outputs.next_with_lines() else { return };
        if let Some(running) = self.jobs.iter_mut().find(|running| running.number() == next) {
            self.outputs.begin_passing_on(&mut running.printing);
        }
    }

    /// Passes on what can be. What cannot be now is watched afterwards: also what was let go by a failure on the way.
    pub(super) fn pass_outputs_on(&mut self) {
        self.queue_messages();
        loop {
            self.pass_once();
            self.queue_messages();
            if !self.outputs.has_forgotten() {
                return;
            }
        }
    }

    fn pass_once(&mut self) {
        let waiting = self.outputs.waiting();
        if waiting.contains(&true) {
            self.observer.passes_output(EventMoment::Before, waiting);
            let troubles = self.outputs.pass_on();
            troubles.into_iter().for_each(|trouble| self.note_trouble(trouble));
            if let Some(has_room) = self.outputs.room_for_lines() {
                for (slot, running) in self.jobs.slots_mut() {
                    self.outputs.let_lines_come(slot, &mut running.printing, has_room);
                }
            }
            let moment = if self.outputs.are_empty() { EventMoment::After } else { EventMoment::Within };
            self.observer.passes_output(moment, waiting);
        } else {
            // Nothing to pass on, and nothing that is still watched.
            self.outputs.pass_on();
        }
        self.close_books();
    }

    fn note_trouble(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::ReaderGone => {
                self.ran.reader_gone = true;
                self.stop_jobs(Stop::Now);
            }
            Trouble::Failed(outlet) => {
                if let Some(error) = self.outputs.fault(outlet).filter(|_| !self.ran.is_incomplete) {
                    self.observer.tell(&RunEvent::BadOutput(error));
                }
                self.ran.is_incomplete = true;
                self.stop_jobs(Stop::Soon);
            }
        }
    }

    /// Writes down the ends of jobs whose outputs have been delivered, or never will be.
    fn close_books(&mut self) {
        while let Some((owed, fate)) = self.outputs.take_over() {
            let mut end = owed.end;
            if let Fate::Lost(outlet) = fate {
                if let Some(error) = self.outputs.fault(outlet).filter(|_| !self.ran.reader_gone) {
                    self.observer.tell(&RunEvent::NotDelivered(owed.running.view(), error));
                }
                end.outcome = self.ends.count_lost(end.outcome);
            }
            self.write_end(&owed.running, &end);
            self.tell_concluded(&owed.running, &end, owed.bytes);
        }
    }

    /// Has what the observer has to say stand behind what was there before it. Returns whether there was anything.
    pub(super) fn queue_messages(&mut self) -> bool {
        if !self.outputs.takes_messages() {
            return false;
        }
        let text = self.observer.take_messages();
        let is_anything = !text.is_empty();
        self.outputs.push_message(text);
        is_anything
    }

    /// Messages go now: a thread is about to wait, a question to be put, or a job to have the terminal.
    pub(super) fn pass_messages_on(&mut self) {
        if self.queue_messages() {
            self.pass_outputs_on();
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(time.subsec_nanos()) }
}
