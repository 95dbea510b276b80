//! What a run has done so far, for a line of progress; and what of its time went into reading, for the report.

use crew::tally::Tally;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What a run has done so far.
#[derive(Debug, Default)]
pub struct DigestTally {
    /// What goes through the pipeline: large files and streams.
    pub(crate) streams: Tally,
    /// Bytes of files that one worker read as a whole.
    whole_bytes: AtomicU64,
    files: AtomicU64,
    /// Nanoseconds that workers spent on reading and on hashing where both are one task.
    reading_ns: AtomicU64,
    hashing_ns: AtomicU64,
}

impl DigestTally {
    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        self.streams.bytes_in() + self.whole_bytes.load(Ordering::Relaxed)
    }

    /// Files that are done, or have failed.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Hands at work on large files and streams.
    pub fn hands(&self) -> usize {
        self.streams.hands()
    }

    pub(crate) fn file_is_done(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn took_whole(&self, bytes: u64) {
        self.whole_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts the time between three moments.
    pub(crate) fn spent(&self, begin: Instant, read: Instant, hashed: Instant) {
        let nanoseconds = |from: Instant, to: Instant| u64::try_from((to - from).as_nanos()).unwrap_or(u64::MAX);
        self.reading_ns.fetch_add(nanoseconds(begin, read), Ordering::Relaxed);
        self.hashing_ns.fetch_add(nanoseconds(read, hashed), Ordering::Relaxed);
    }

    /// The share of reading in that time since it was last asked for.
    pub(crate) fn take_reading_share(&self) -> f64 {
        let (read, hashed) = (self.reading_ns.swap(0, Ordering::Relaxed), self.hashing_ns.swap(0, Ordering::Relaxed));
        read as f64 / (read + hashed).max(1) as f64
    }
}
