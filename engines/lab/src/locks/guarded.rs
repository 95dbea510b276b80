//! What a lock under test protects: two counts that only a writer moves, one when it comes and one when it leaves. Whoever finds them
//! different, or moved meanwhile, was let in beside a writer.

use super::atomics::{AtomicU64, Ordering};
use super::lock::LockAccess;

/// The protected data. No operation on it is atomic as a whole: only the lock makes it right.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Guarded {
    came: AtomicU64,
    left: AtomicU64,
}

impl Guarded {
    /// What a thread finds that comes in.
    #[inline]
    pub(super) fn enter(&self, access: LockAccess) -> Visit {
        let (came, left) = (self.came.load(Ordering::Relaxed), self.left.load(Ordering::Relaxed));
        if access == LockAccess::Write {
            self.came.store(came + 1, Ordering::Relaxed);
        }
        Visit { access, came, was_wrong: came != left }
    }

    /// False if somebody was in it who must not be there.
    #[inline]
    pub(super) fn leave(&self, visit: Visit) -> bool {
        let expected = visit.came + u64::from(visit.access == LockAccess::Write);
        let was_moved = self.came.load(Ordering::Relaxed) != expected;
        if visit.access == LockAccess::Write {
            self.left.store(expected, Ordering::Relaxed);
        }
        !visit.was_wrong && !was_moved
    }

    /// Writers that have come and left.
    pub(super) fn writes(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }
}

/// One stay.
pub(super) struct Visit {
    access: LockAccess,
    came: u64,
    was_wrong: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_writers_at_once_are_found_and_lose_a_count() {
        let data = Guarded::default();
        let (first, second) = (data.enter(LockAccess::Write), data.enter(LockAccess::Write));
        assert!(!data.leave(first) && !data.leave(second));
        let (first, second) = (data.enter(LockAccess::Write), data.enter(LockAccess::Write));
        assert!(!data.leave(second) && !data.leave(first));
        assert_ne!(data.writes(), 4);
    }

    #[test]
    fn a_reader_beside_a_writer_is_found_and_readers_together_are_not() {
        let data = Guarded::default();
        let (reader, other) = (data.enter(LockAccess::Read), data.enter(LockAccess::Read));
        assert!(data.leave(reader) && data.leave(other));
        let (writer, reader) = (data.enter(LockAccess::Write), data.enter(LockAccess::Read));
        assert!(!data.leave(reader) && data.leave(writer));
        let (reader, writer) = (data.enter(LockAccess::Read), data.enter(LockAccess::Write));
        assert!(!data.leave(reader) && data.leave(writer));
        assert_eq!(data.writes(), 2);
    }
}
