//! A clock that stands still until a test moves it. Clones show the same time, in any thread.
//! Wakes nobody: code that sleeps on real time is not steered by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds since an arbitrary start, moved by hand.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now_ns: Arc<AtomicU64>,
}

impl FakeClock {
    /// A clock at `now_ns`.
    pub fn at(now_ns: u64) -> Self {
        Self { now_ns: Arc::new(AtomicU64::new(now_ns)) }
    }

    /// The time it shows.
    pub fn now_ns(&self) -> u64 {
        // ORDER: acquire, with the release in `advance`: who sees the new time sees what was done before it.
        self.now_ns.load(Ordering::Acquire)
    }

    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        let by_ns = u64::try_from(by.as_nanos()).expect("a test takes less than 584 years");
        self.now_ns.fetch_add(by_ns, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_only_by_hand_and_for_all_clones() {
        let clock = FakeClock::at(5);
        let clone = clock.clone();
        assert_eq!(clone.now_ns(), 5);
        clock.advance(Duration::from_micros(2));
        assert_eq!(clone.now_ns(), 2005);
    }
}
