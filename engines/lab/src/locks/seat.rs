//! What a thread brings to a lock: its number, its counts, and the pause between two looks, which ends a round that no waiter can leave.

use super::atomics::{Ordering, pause};
use super::sleep::{EVERYBODY, FutexWord};

/// How far a round is. Threads look at it before each acquisition, and waiting ones now and then.
#[derive(Default)]
pub(super) struct Phase(FutexWord);

impl Phase {
    pub(super) const GATE: u32 = 0;
    pub(super) const WARM_UP: u32 = 1;
    pub(super) const MEASURED: u32 = 2;
    pub(super) const OVER: u32 = 3;

    #[inline]
    pub(super) fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn become_now(&self, phase: u32) {
        self.0.store(phase, Ordering::SeqCst);
        self.0.wake(EVERYBODY);
    }

    pub(super) fn wait_at_gate(&self) {
        while self.now() == Self::GATE {
            let _woken = self.0.sleep_while(Self::GATE);
        }
    }
}

/// What the locks under test count themselves. Borrowed locks (the C library's, Rust's) count nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WakeCounts {
    /// Sleeps that a wake-up ended.
    pub wakes: u64,
    /// Those after which the lock was not to be had.
    pub wasted: u64,
}

/// A thread's place at a lock.
pub(super) struct LockSeat<'a> {
    /// From 0 on; each thread of a round has another one.
    pub number: usize,
    /// What it has counted.
    pub counts: WakeCounts,
    /// The node of a CLH queue that is its own at present.
    pub node: usize,
    phase: &'a Phase,
    looks: u32,
    random: u32,
}

impl<'a> LockSeat<'a> {
    pub(super) fn new(number: usize, phase: &'a Phase) -> Self {
        // Any numbers do that are neither 0 nor alike.
        let random = (number as u32).wrapping_mul(0x9e37_79b9) | 1;
        Self { number, counts: WakeCounts::default(), node: number, phase, looks: 0, random }
    }

    /// Between two looks at a lock, with PAUSE (`isb` on ARM).
    #[inline]
    pub(super) fn pause(&mut self) {
        #[cfg(not(feature = "model"))]
        pause();
        self.look_up();
    }

    /// Between two looks at a lock, without it.
    ///
    /// A queue of spinning threads that are more than there are CPUs takes a scheduler's turn for each of them. When the round is over, and
    /// nothing is measured any more, they give their CPUs to one another.
    #[inline]
    pub(super) fn look_up(&mut self) {
        // A waiter that never lets another run is no schedule of a machine.
        #[cfg(feature = "model")]
        pause();
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(64) && self.phase.now() == Phase::OVER {
            std::thread::yield_now();
        }
    }

    /// A number from 0 to `most` (xorshift; the locks of databases use no better one).
    #[inline]
    pub(super) fn random_up_to(&mut self, most: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random % (most + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_reach_both_ends_and_differ_between_seats() {
        let phase = Phase::default();
        let [mut first, mut second] = [0, 1].map(|number| LockSeat::new(number, &phase));
        let (one, other): (Vec<_>, Vec<_>) = (0..200).map(|_| (first.random_up_to(6), second.random_up_to(6))).unzip();
        assert!((0..=6).all(|number| one.contains(&number)) && one.iter().all(|&number| number <= 6));
        assert_ne!(one, other);
        assert!((0..9).all(|_| first.random_up_to(0) == 0));
    }
}
