//! Clock and signals: how far the run is being stopped, when which job is ended, and what arrives from the terminal and from other
//! processes. Ends nothing itself: what a signal or a time asks for is returned, and the loop does it. Times are passed in.
//! Once interrupted no job starts, twice those that run are ended, three times at once.

mod foreground;
mod questions;
mod typical;
mod waiting;

pub use foreground::ForegroundTurn;
pub(super) use foreground::ForegroundWish;
pub use questions::JobQuestion;
pub use typical::TimeLimit;
pub(super) use waiting::{Cause, RunWaits};

use super::EndStep;
use crate::poll::{Poll, token};
use foreground::Foreground;
use questions::Questions;
use rustix::event::epoll::EventFlags;
use std::time::{Duration, Instant};
use sys::signals::{SignalQueue, number};
use typical::Typical;

/// Signals are reported once, and again when the loop asks for them again.
const SIGNAL_FLAGS: EventFlags = EventFlags::IN.union(EventFlags::ONESHOT);

/// LIMIT: how late a signal may be heard while spawners' jobs end. Shorter: the loop wakes more often for ends that are not its own.
const SIGNALS_REST: Duration = Duration::from_millis(20);

/// Whether more jobs start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    No,
    /// None starts; those that run end by themselves.
    Soon,
    /// Those that run are ended.
    Now,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// Children have changed.
    Reap,
    Stop(Stop),
    /// Those that run end at once, and nothing waits for a slow reader.
    Kill,
    /// Nothing waits for a slow reader.
    GiveOutputsUp,
    /// Jobs go on.
    GoOn,
    Wider,
    Narrower,
}

/// When a job is ended before its time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Due {
    /// When which step of ending it is due.
    at: Option<(Instant, usize)>,
    pub is_timed_out: bool,
    pub is_stopped: bool,
}

impl Due {
    /// Sets the time from which on it is too late.
    pub fn set(&mut self, at: Instant) {
        self.at = Some((at, 0));
    }

    /// It is ended now, as the run is.
    pub fn stop(&mut self, now: Instant) {
        (self.at, self.is_stopped) = (Some((now, 0)), true);
    }

    /// Time that does not count has passed.
    pub fn put_off(&mut self, time: Duration) {
        self.at = self.at.map(|(when, step)| (when + time, step));
    }

    pub fn when(&self) -> Option<Instant> {
        self.at.map(|(when, _)| when)
    }

    pub fn is_over(&self, now: Instant) -> bool {
        self.when().is_some_and(|when| when <= now)
    }

    /// Takes the step that is due; then comes the next one, after this one's wait.
    pub fn take_step(&mut self, now: Instant, ending: &[EndStep]) -> Option<EndStep> {
        let (when, number) = self.at.filter(|(when, _)| *when <= now)?;
        self.is_timed_out |= !self.is_stopped;
        let step = ending.get(number).copied();
        self.at = step.map(|step| (when.max(now) + step.wait, number + 1));
        step
    }
}

/// Signals, times and the terminal.
pub(super) struct RunClock<'a> {
    pub begun: Instant,
    pub waiting: RunWaits,
    pub terminal: Foreground,
    pub questions: Questions,
    pub stopped_by: Option<i32>,
    /// A stop of the whole run was asked for; it waits for programs that are being started.
    pub rest_is_due: bool,
    pub ending: Vec<EndStep>,
    stop: Stop,
    interrupts: u32,
    limit: Option<TimeLimit>,
    typical: Typical,
    signals: &'a SignalQueue,
    /// Signals are not listened to until then.
    signals_rest_until: Option<Instant>,
    poll: Poll,
}

impl<'a> RunClock<'a> {
    pub fn new(
        signals: &'a SignalQueue,
        poll: Poll,
        limit: Option<TimeLimit>,
        ending: Vec<EndStep>,
        now: Instant,
    ) -> rustix::io::Result<Self> {
        poll.watch(signals, token::SIGNALS, SIGNAL_FLAGS)?;
        Ok(Self {
            begun: now,
            waiting: RunWaits::new(now),
            terminal: Foreground::default(),
            questions: Questions::new(poll.clone()),
            stopped_by: None,
            rest_is_due: false,
            ending,
            stop: Stop::No,
            interrupts: 0,
            limit,
            typical: Typical::default(),
            signals,
            signals_rest_until: None,
            poll,
        })
    }

    /// Nanoseconds since the run began.
    pub fn ns(&self, now: Instant) -> u64 {
        now.duration_since(self.begun).as_nanos() as u64
    }

    /// How far the run is being stopped.
    pub fn stop(&self) -> Stop {
        self.stop
    }

    pub fn starts_jobs(&self) -> bool {
        self.stop == Stop::No
    }

    /// Stops the run so far. Returns whether that is new.
    pub fn stop_at(&mut self, stop: Stop) -> bool {
        let is_new = stop > self.stop;
        self.stop = self.stop.max(stop);
        is_new
    }

    /// Signals that have arrived; what is left over wakes the loop again. Ends of what spawners wait for are announced to the loop as well:
    /// it listens again when most of them have passed. A job of its own (`waits_itself`) is heard at once.
    pub fn arrived(&mut self, now: Instant, waits_itself: bool) -> Vec<i32> {
        self.signals_rest_until = Some(now + if waits_itself { Duration::ZERO } else { SIGNALS_REST });
        self.signals.take().unwrap_or_default().into_iter().map(|arrived| arrived.signal).collect()
    }

    /// Listens to signals again when it is time. Returns until when it is not.
    pub fn listen(&mut self, now: Instant) -> rustix::io::Result<Option<Instant>> {
        if self.signals_rest_until.is_some_and(|until| until <= now) {
            self.signals_rest_until = None;
            self.poll.rearm(self.signals, token::SIGNALS, SIGNAL_FLAGS)?;
        }
        Ok(self.signals_rest_until)
    }

    /// What a signal asks for, while jobs run or not.
    pub fn understand(&mut self, signal: i32, any_runs: bool) -> Option<SignalRequest> {
        Some(match signal {
            number::SIGCHLD => SignalRequest::Reap,
            number::SIGINT => self.interrupt(),
            number::SIGTERM | number::SIGHUP | number::SIGQUIT => {
                self.stopped_by.get_or_insert(signal);
                if self.stop == Stop::Now && !any_runs {
                    SignalRequest::GiveOutputsUp
                } else {
                    SignalRequest::Stop(Stop::Now)
                }
            }
            number::SIGTSTP | number::SIGCONT => {
                // A job that is being started could not be stopped with the others; a stop that is still to come is taken back by SIGCONT.
                self.rest_is_due = signal == number::SIGTSTP;
                return (signal == number::SIGCONT).then_some(SignalRequest::GoOn);
            }
            number::SIGUSR1 => SignalRequest::Wider,
            number::SIGUSR2 => SignalRequest::Narrower,
            _ => return None,
        })
    }

    /// An interrupt is for the whole run.
    pub fn interrupt(&mut self) -> SignalRequest {
        self.interrupts += 1;
        self.stopped_by.get_or_insert(number::SIGINT);
        match self.interrupts {
            1 => SignalRequest::Stop(Stop::Soon),
            2 => SignalRequest::Stop(Stop::Now),
            _ => SignalRequest::Kill,
        }
    }

    /// The time that a job without a limit of its own has now.
    pub fn time_limit(&self) -> Option<Duration> {
        match self.limit? {
            TimeLimit::Fixed(time) => Some(time),
            TimeLimit::OfMedian(factor) => {
                Duration::try_from_secs_f64(self.typical.median()?.as_secs_f64() * factor).ok()
            }
        }
    }

    /// Notes how long a success took. Returns the time that those that run have now, if it has changed.
    pub fn note_success(&mut self, wall: Duration) -> Option<Duration> {
        let Some(TimeLimit::OfMedian(_)) = self.limit else { return None };
        self.typical.note(wall);
        self.time_limit()
    }

    /// Gives the terminal to the next job that waits for it, if it is this run's to give.
    pub fn pass_terminal_on(&mut self) {
        if let Some(next) = self.terminal.pass_on() {
            self.questions.lay_aside();
            let _not_ours_any_more = sys::reap::signal_group(next, number::SIGCONT);
        }
    }

    /// Whether the open question is to be put, or put again: if the terminal is this run's. Messages are passed on before it.
    pub fn may_put_question(&mut self) -> bool {
        self.questions.must_look() && self.terminal.may_be_read()
    }

    /// Takes the answer to the open question, if what was typed is meant for this run.
    pub fn take_answer(&mut self) {
        match self.terminal.may_be_read() {
            true => self.questions.take_answer(),
            false => self.questions.lay_aside(),
        }
    }

    /// Whether the terminal is to be looked at now and then: nothing reports that a run has come into the foreground.
    pub fn must_look(&self) -> bool {
        self.terminal.must_look() || self.terminal.is_free() && self.questions.must_look()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::signals::JOB_CONTROL;

    const SECOND: Duration = Duration::from_secs(1);

    fn with_clock(limit: Option<TimeLimit>, test: impl FnOnce(&mut RunClock<'_>, Instant)) {
        let (signals, now) = (SignalQueue::open(JOB_CONTROL).expect("a signalfd"), Instant::now());
        let poll = Poll::new().expect("an epoll");
        test(&mut RunClock::new(&signals, poll, limit, Vec::new(), now).expect("it is watched"), now);
        signals.close();
    }

    #[test]
    fn interrupts_ask_for_more_each_time_and_the_first_signal_is_named() {
        with_clock(None, |clock, _| {
            let asked = [0; 4].map(|_| clock.understand(number::SIGINT, true));
            let expected = [
                SignalRequest::Stop(Stop::Soon),
                SignalRequest::Stop(Stop::Now),
                SignalRequest::Kill,
                SignalRequest::Kill,
            ];
            assert_eq!(asked, expected.map(Some));
            assert_eq!(clock.understand(number::SIGTERM, true), Some(SignalRequest::Stop(Stop::Now)));
            assert!(clock.stop_at(Stop::Now) && !clock.stop_at(Stop::Soon) && clock.stop() == Stop::Now);
            assert_eq!(clock.understand(number::SIGTERM, false), Some(SignalRequest::GiveOutputsUp));
            assert_eq!(clock.stopped_by, Some(number::SIGINT));
        });
    }

    #[test]
    fn a_stop_of_the_run_can_be_taken_back() {
        with_clock(None, |clock, _| {
            assert_eq!((clock.understand(number::SIGTSTP, true), clock.rest_is_due), (None, true));
            assert_eq!(
                (clock.understand(number::SIGCONT, true), clock.rest_is_due),
                (Some(SignalRequest::GoOn), false)
            );
        });
    }

    #[test]
    fn signals_rest_while_spawners_wait_and_are_heard_at_once_otherwise() {
        with_clock(None, |clock, now| {
            clock.arrived(now, false);
            assert_eq!(clock.listen(now).expect("an epoll"), Some(now + SIGNALS_REST));
            assert_eq!(clock.listen(now + SIGNALS_REST).expect("an epoll"), None);
            clock.arrived(now, true);
            assert_eq!(clock.listen(now).expect("an epoll"), None);
        });
    }

    #[test]
    fn a_job_that_is_late_is_ended_step_by_step() {
        let (now, ending) =
            (Instant::now(), [(15, SECOND), (9, SECOND)].map(|(signal, wait)| EndStep { signal, wait }));
        let mut due = Due::default();
        assert!(due.take_step(now, &ending).is_none());
        due.set(now + SECOND);
        due.put_off(SECOND);
        assert!(!due.is_over(now + SECOND) && due.take_step(now + SECOND, &ending).is_none());
        assert_eq!(due.take_step(now + SECOND * 5, &ending), Some(ending[0]));
        assert!(due.is_timed_out && due.when() == Some(now + SECOND * 6), "it has its wait however late that was");
        assert_eq!(due.take_step(now + SECOND * 6, &ending), Some(ending[1]));
        assert_eq!((due.take_step(now + SECOND * 9, &ending), due.when()), (None, None));
        let mut stopped = Due::default();
        stopped.stop(now);
        assert_eq!(stopped.take_step(now, &ending), Some(ending[0]));
        assert!(stopped.is_stopped && !stopped.is_timed_out);
    }

    #[test]
    fn a_limit_by_the_median_follows_what_jobs_took() {
        with_clock(Some(TimeLimit::OfMedian(2.0)), |clock, _| {
            assert_eq!([1, 9, 2].map(|time| clock.note_success(SECOND * time)), [None, None, Some(SECOND * 4)]);
        });
        with_clock(Some(TimeLimit::Fixed(SECOND)), |clock, _| {
            assert_eq!((clock.note_success(SECOND), clock.time_limit()), (None, Some(SECOND)));
        });
    }
}
