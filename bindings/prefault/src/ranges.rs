//! What is known of large mappings: which addresses were set aside without access, so that mprotect(2) on a part of them commits memory, and
//! which are memory and no file, so that writing to their pages dirties nothing. A table without locks: a thread that finds a place
//! half-written takes it for empty, and the mapping is then merely not populated.

use core::sync::atomic::{AtomicUsize, Ordering};

/// LIMIT: mappings that are remembered at once.
const PLACES: usize = 64;

/// One of them; `end` is 0 while the place is free.
struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// All that are known.
pub struct Ranges {
    /// How many places are taken, so that most calls need not look at them.
    count: AtomicUsize,
    places: [Place; PLACES],
}

impl Ranges {
    /// None known.
    pub const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            places: [const { Place { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; PLACES],
        }
    }

    /// Remembers one. Where there is no place, it is not remembered.
    pub fn add(&self, start: usize, bytes: usize) {
        for place in &self.places {
            if place.end.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                place.start.store(start, Ordering::Release);
                place.end.store(start.saturating_add(bytes), Ordering::Release);
                self.count.fetch_add(1, Ordering::AcqRel);
                return;
            }
        }
    }

    /// Whether all of a range lies in one of them.
    pub fn covers(&self, start: usize, bytes: usize) -> bool {
        self.places.iter().any(|place| {
            let end = place.end.load(Ordering::Acquire);
            end > 1 && place.start.load(Ordering::Acquire) <= start && start.saturating_add(bytes) <= end
        })
    }

    /// Whether a part of a range is in one of them.
    pub fn overlaps(&self, start: usize, bytes: usize) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.places.iter().any(|place| {
                let (first, end) = (place.start.load(Ordering::Acquire), place.end.load(Ordering::Acquire));
                end > 1 && start < end && first < start.saturating_add(bytes)
            })
    }

    /// Forgets those that have a part in a range that is unmapped or replaced.
    pub fn forget(&self, start: usize, bytes: usize) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        for place in &self.places {
            let (end, first) = (place.end.load(Ordering::Acquire), place.start.load(Ordering::Acquire));
            let is_hit = end > 1 && start < end && first < start.saturating_add(bytes);
            if is_hit && place.end.compare_exchange(end, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.count.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reserved_is_covered_until_it_is_unmapped() {
        let known = Ranges::new();
        known.add(0x1000, 0x1000);
        known.add(0x8000, 0x4000);
        assert!(known.covers(0x9000, 0x1000) && known.covers(0x1000, 0x1000));
        assert!(!known.covers(0xb000, 0x2000) && !known.covers(0x800, 0x1000));
        known.forget(0xc000, 0x1000);
        assert!(known.overlaps(0x1800, 0x10000) && !known.overlaps(0x2000, 0x1000));
        assert!(known.covers(0x9000, 0x1000), "what is behind it is another's");
        known.forget(0x9000, 0x1000);
        assert!(!known.covers(0x9000, 0x1000) && known.covers(0x1000, 0x1000));
    }

    #[test]
    fn a_full_table_remembers_no_more_and_takes_again_what_was_freed() {
        let known = Ranges::new();
        for number in 1..=PLACES + 1 {
            known.add(number << 12, 0x1000);
        }
        assert!(!known.covers((PLACES + 1) << 12, 0x1000));
        known.forget(1 << 12, 0x1000);
        known.add((PLACES + 1) << 12, 0x1000);
        assert!(known.covers((PLACES + 1) << 12, 0x1000));
    }
}
