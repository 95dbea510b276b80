//! Counts of what was done, for whoever asks at the end.

use std::sync::atomic::{AtomicU64, Ordering};

/// One count.
pub struct Count(AtomicU64);

impl Count {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds to it.
    pub fn add(&self, more: u64) {
        // ORDER: relaxed; read when everything has come to rest.
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Whether it is more than none.
    pub fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Files that were queued.
pub static FILES: Count = Count::new();
/// Bytes that went through the queues.
pub static BYTES: Count = Count::new();
/// Calls of the program that were queued: writes, owners, modes, times, attributes.
pub static CALLS: Count = Count::new();
/// Times that a call had to see a file finished first.
pub static DRAINED: Count = Count::new();
/// Times that the budget of memory was used up.
pub static FULL: Count = Count::new();
/// Threads that were started.
pub static WORKERS: Count = Count::new();
/// Failures that the program could not be told.
pub static UNTOLD: Count = Count::new();

const ALL: [(&str, &Count); 7] = [
    ("files", &FILES),
    ("bytes", &BYTES),
    ("calls", &CALLS),
    ("drained", &DRAINED),
    ("full", &FULL),
    ("workers", &WORKERS),
    ("untold", &UNTOLD),
];

/// All counts as one line: `files=3 bytes=4096 ...`; they begin again, as a process that becomes another program and fails tells twice.
pub fn take() -> String {
    let words: Vec<String> =
        ALL.iter().map(|(name, count)| format!("{name}={}", count.0.swap(0, Ordering::Relaxed))).collect();
    words.join(" ")
}

/// A process that was forked counts for itself.
pub fn begin_again() {
    for (_, count) in ALL {
        count.0.store(0, Ordering::Relaxed);
    }
}
