//! How many hands a run has a use for, learnt while it goes: a run whose source has become slow needs fewer than it was given,
//! and reports it, so that other runs get them; when work waits again it wants more. Pure: time comes in as a value.

use std::time::{Duration, Instant};

/// How long fewer workers must have been enough before the run says so. Shorter follows every pause of a producer; longer
/// promises hands to nobody for longer.
const WINDOW: Duration = Duration::from_secs(1);

/// A reading thread computes with a hand now and then (`Turn::with_hand`).
const FOR_THE_READER: usize = 1;

/// What a run was found to need.
#[derive(Debug)]
pub(super) struct Demand {
    /// The most it may want.
    width: usize,
    /// What it has told last.
    told: usize,
    /// Most workers that had or sought a task since `since`.
    peak: usize,
    since: Instant,
}

impl Demand {
    /// Of a run that has asked for `width` hands.
    pub fn new(width: usize, now: Instant) -> Self {
        Self { width, told: width, peak: 0, since: now }
    }

    /// Notes how many workers have or seek a task, and whether there is one for another. The useful width to be told, if it is
    /// another one now.
    pub fn note(&mut self, busy: usize, is_work_waiting: bool, now: Instant) -> Option<usize> {
        self.peak = self.peak.max(busy + usize::from(is_work_waiting));
        let needed = (self.peak + FOR_THE_READER).min(self.width);
        let is_window_over = now.saturating_duration_since(self.since) >= WINDOW;
        if is_window_over {
            (self.peak, self.since) = (busy, now);
        }
        // Up at once and by leaps: work waits. Down when a whole window has shown that fewer do.
        let next = if needed > self.told {
            needed.max(self.told * 2).min(self.width)
        } else if is_window_over {
            needed
        } else {
            self.told
        };
        let is_new = next != self.told;
        self.told = next;
        is_new.then_some(next)
    }

    /// Whether less than all was told last.
    pub fn is_reduced(&self) -> bool {
        self.told < self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starved_run_gives_its_width_away_and_takes_it_back_when_work_waits() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut demand = Demand::new(64, begin);
        assert_eq!(demand.note(64, true, at(1)), None, "all at work");
        assert_eq!(demand.note(2, false, at(1100)), None, "the window had a peak");
        assert_eq!(demand.note(2, false, at(1500)), None);
        assert_eq!(demand.note(1, false, at(2200)), Some(3), "two were enough for a second, and one for the reader");
        assert!(demand.is_reduced());
        assert_eq!(demand.note(2, true, at(2300)), Some(6), "three and the reader's, and a leap");
        assert_eq!(demand.note(20, true, at(2301)), Some(22));
        assert_eq!(demand.note(64, false, at(2302)), Some(64));
        assert!(!demand.is_reduced());
    }

    #[test]
    fn it_never_wants_more_than_it_may_nor_nothing() {
        let begin = Instant::now();
        let mut demand = Demand::new(2, begin);
        assert_eq!(demand.note(0, false, begin + WINDOW), Some(1));
        assert_eq!(demand.note(9, true, begin + WINDOW), Some(2));
    }
}
