//! What a run has done so far: counters that a progress line may read at any time, and the report at the end.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts. Each is true by itself, two of them need not be of the same moment.
#[derive(Debug, Default)]
pub struct Tally {
    entries: AtomicU64,
    directories: AtomicU64,
    left: AtomicU64,
    bytes: AtomicU64,
    failed: AtomicU64,
    bytes_under_way: AtomicU64,
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Entries that are done, directories included.
    pub entries: u64,
    /// Directories among them, without those that were left.
    pub directories: u64,
    /// Entries among them that were left as they were: the target was not to be replaced, or was the same already.
    pub left: u64,
    /// Bytes of files among them.
    pub bytes: u64,
    /// What was found wrong.
    pub failed: u64,
}

impl Tally {
    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        // ORDER: counters of their own; nothing else is read by them.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            entries: read(&self.entries),
            directories: read(&self.directories),
            left: read(&self.left),
            bytes: read(&self.bytes),
            failed: read(&self.failed),
        }
    }

    /// Bytes that are copied, those included that a step has copied and not counted yet: for a progress line.
    pub fn bytes_so_far(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed) + self.bytes_under_way.load(Ordering::Relaxed)
    }

    /// Adds bytes that were copied in the middle of a step.
    pub(crate) fn pass(&self, bytes: u64) {
        self.bytes_under_way.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The step that has passed `bytes` is over, and counts what it did.
    pub(crate) fn end_step(&self, bytes: u64) {
        if bytes > 0 {
            self.bytes_under_way.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Adds what a worker did in one step.
    pub fn add(&self, counts: Counts) {
        let add = |counter: &AtomicU64, value: u64| {
            if value > 0 {
                counter.fetch_add(value, Ordering::Relaxed);
            }
        };
        add(&self.entries, counts.entries);
        add(&self.directories, counts.directories);
        add(&self.left, counts.left);
        add(&self.bytes, counts.bytes);
        add(&self.failed, counts.failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_the_middle_of_a_step_are_shown_at_once_and_counted_once() {
        let tally = Tally::default();
        tally.pass(700);
        assert_eq!((tally.bytes_so_far(), tally.counts().bytes), (700, 0));
        tally.end_step(700);
        tally.add(Counts { bytes: 1000, ..Counts::default() });
        assert_eq!((tally.bytes_so_far(), tally.counts().bytes), (1000, 1000));
    }
}
