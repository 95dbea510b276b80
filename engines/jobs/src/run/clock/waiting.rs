//! What a run waits for while it sleeps, added up for the verdict. Reads no clock.

use crate::measures::WaitClocks;
use std::time::Instant;

/// What kept the run from starting jobs, when it went to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Cause {
    Hands,
    /// Others have the hands.
    Unstaffed,
    List,
    Order,
    Held,
    /// Processes or open files are.
    Short,
    Memory,
    Output,
    Tail,
}

/// What a run has waited for.
#[derive(Debug)]
pub(in crate::run) struct RunWaits {
    pub cause: Cause,
    pub clocks: WaitClocks,
    /// When the run was looked at last.
    pub since: Instant,
    /// When all jobs that waited were last kept back by something else than hands.
    pub held_until: Instant,
}

impl RunWaits {
    pub fn new(now: Instant) -> Self {
        Self { cause: Cause::List, clocks: WaitClocks::default(), since: now, held_until: now }
    }

    /// The run has waited until now.
    pub fn account(&mut self, now: Instant) {
        let clocks = &mut self.clocks;
        let clock = match self.cause {
            Cause::Hands => &mut clocks.hands_ns,
            Cause::Unstaffed => &mut clocks.unstaffed_ns,
            Cause::List => &mut clocks.list_ns,
            Cause::Order => &mut clocks.order_ns,
            Cause::Held | Cause::Short => &mut clocks.held_ns,
            Cause::Memory => &mut clocks.memory_ns,
            Cause::Output => &mut clocks.output_ns,
            Cause::Tail => &mut clocks.tail_ns,
        };
        *clock += now.duration_since(self.since).as_nanos() as u64;
        if !matches!(self.cause, Cause::Hands | Cause::Unstaffed | Cause::List | Cause::Tail) {
            self.held_until = now;
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_goes_to_what_was_waited_for_and_only_some_of_it_holds_jobs_back() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let mut waiting = RunWaits::new(begun);
        waiting.account(begun + second);
        waiting.cause = Cause::Memory;
        waiting.account(begun + second * 3);
        waiting.cause = Cause::Hands;
        waiting.account(begun + second * 6);
        let WaitClocks { list_ns, memory_ns, hands_ns, .. } = waiting.clocks;
        assert_eq!([list_ns, memory_ns, hands_ns], [1_000_000_000, 2_000_000_000, 3_000_000_000]);
        assert_eq!((waiting.held_until, waiting.since), (begun + second * 3, begun + second * 6));
    }
}
