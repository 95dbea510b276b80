//! A part of a run with books of its own, for a run that works in several places at once.

use super::{Hand, HandBooks, Lease};
use std::sync::atomic::{AtomicU64, Ordering};

/// A part of a run with books of its own: two pipelines work with the hands of one lease.
pub struct LeaseShare<'a> {
    lease: &'a dyn Lease,
    taken: AtomicU64,
    returned: AtomicU64,
}

impl<'a> LeaseShare<'a> {
    /// Of a lease.
    pub fn of(lease: &'a dyn Lease) -> Self {
        Self { lease, taken: AtomicU64::new(0), returned: AtomicU64::new(0) }
    }
}

impl Lease for LeaseShare<'_> {
    fn take(&self) -> Hand {
        let hand = self.lease.take();
        // ORDER: counts alone; they are compared when all threads are home.
        self.taken.fetch_add(1, Ordering::Relaxed);
        hand
    }

    fn try_take(&self) -> Option<Hand> {
        let hand = self.lease.try_take()?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(hand)
    }

    fn give_back(&self, hand: Hand) {
        self.returned.fetch_add(1, Ordering::Relaxed);
        self.lease.give_back(hand);
    }

    fn must_return(&self, hand: &Hand) -> bool {
        self.lease.must_return(hand)
    }

    fn books(&self) -> HandBooks {
        let (taken, returned) = (self.taken.load(Ordering::Relaxed), self.returned.load(Ordering::Relaxed));
        HandBooks { taken, returned, lost: 0 }
    }

    fn inherited(&self) -> usize {
        self.lease.inherited()
    }
}
