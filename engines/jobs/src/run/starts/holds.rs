//! What holds starts back for a time: a delay, and what is short. Reads no clock.

use super::super::clock::Cause;
use std::time::{Duration, Instant};

/// Between two looks at what is short: memory, load, processes. Nothing reports when these change.
pub(in crate::run) const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// LIMIT: looks at a shortage that no job of ours can end, before the job counts as failed.
const SHORTAGES_MAX: u32 = 20;

/// LIMIT: jobs in a row that fail so, before the run gives up: none of the others could start either.
const SHORT_FAILURES_MAX: u32 = 3;

/// What holds all starts back until a time.
#[derive(Debug)]
pub(in crate::run) struct Holds {
    delay: Duration,
    next_start: Option<Instant>,
    /// When what was short (processes, files, memory, load) is looked at again.
    look_again: Option<Instant>,
    /// What holds starts back until then: memory, or all else.
    by: Cause,
}

impl Holds {
    pub fn new(delay: Duration) -> Self {
        Self { delay, next_start: None, look_again: None, by: Cause::Held }
    }

    /// Time has passed. Returns whether it is time to look at what was short.
    pub fn pass(&mut self, now: Instant) -> bool {
        let is_time_to_look = self.look_again.is_some_and(|time| time <= now);
        self.next_start = self.next_start.filter(|time| now < *time);
        self.look_again = self.look_again.filter(|time| now < *time);
        is_time_to_look
    }

    /// Holds all starts back until it is time to look again.
    pub fn hold(&mut self, cause: Cause, now: Instant) {
        (self.by, self.look_again) = (cause, Some(now + LOOK_AGAIN_AFTER));
    }

    /// What holds starts back now.
    pub fn cause(&self) -> Option<Cause> {
        self.look_again.map(|_| self.by).or(self.next_start.map(|_| Cause::Held))
    }

    /// When that is over.
    pub fn times(&self) -> [Option<Instant>; 2] {
        [self.next_start, self.look_again]
    }

    /// A job has started: the next one follows after the delay.
    pub fn started(&mut self, at: Instant) {
        if self.has_delay() {
            self.next_start = Some(at + self.delay);
        }
    }

    pub fn has_delay(&self) -> bool {
        !self.delay.is_zero()
    }

    /// A job has ended: processes or files that were short may be there now.
    pub fn ended(&mut self) {
        self.look_again = self.look_again.filter(|_| self.by != Cause::Short);
    }
}

/// What becomes of a job that could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum UnstartedFate {
    /// It waits for what is short.
    Wait,
    /// It has failed.
    Fail,
    /// It has failed, and none of the others could start either.
    GiveUp,
}

/// Shortages in a row.
#[derive(Debug, Default)]
pub(super) struct Shortages {
    while_alone: u32,
    /// Jobs that could not start for want of what the machine or its user has no more of.
    failures: u32,
}

impl Shortages {
    pub fn judge(&mut self, is_shortage: bool, any_runs: bool) -> UnstartedFate {
        if is_shortage && (any_runs || self.while_alone < SHORTAGES_MAX) {
            self.while_alone += u32::from(!any_runs);
            return UnstartedFate::Wait;
        }
        self.while_alone = 0;
        self.failures += u32::from(is_shortage);
        if self.failures >= SHORT_FAILURES_MAX { UnstartedFate::GiveUp } else { UnstartedFate::Fail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_delay_and_a_shortage_hold_starts_back_until_their_times() {
        let (begun, mut holds) = (Instant::now(), Holds::new(SECOND));
        holds.started(begun);
        assert!(holds.cause() == Some(Cause::Held) && !holds.pass(begun + SECOND / 2));
        assert!(!holds.pass(begun + SECOND) && holds.cause().is_none(), "a delay is nothing to look at");
        holds.hold(Cause::Memory, begun);
        holds.ended();
        assert_eq!((holds.cause(), holds.times()), (Some(Cause::Memory), [None, Some(begun + LOOK_AGAIN_AFTER)]));
        assert!(holds.pass(begun + LOOK_AGAIN_AFTER) && holds.cause().is_none());
        holds.hold(Cause::Short, begun);
        holds.ended();
        assert_eq!(holds.cause(), None, "whoever has ended may have left what was short");
    }

    #[test]
    fn a_shortage_is_waited_out_and_the_third_job_that_fails_by_it_ends_the_run() {
        let mut shortages = Shortages::default();
        assert_eq!([true; 50].map(|any_runs| shortages.judge(true, any_runs)), [UnstartedFate::Wait; 50]);
        let mut alone = || (0..=SHORTAGES_MAX).map(|_| shortages.judge(true, false)).last();
        assert_eq!(
            [alone(), alone(), alone()],
            [UnstartedFate::Fail, UnstartedFate::Fail, UnstartedFate::GiveUp].map(Some)
        );
        assert_eq!(Shortages::default().judge(false, false), UnstartedFate::Fail);
    }
}
