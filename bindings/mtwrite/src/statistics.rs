//! Counts of what was done, for whoever asks at the end.

use std::fmt::Arguments;
use std::io::{Cursor, Write};
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

/// LIMIT: all counts have room, however large.
const LINE_BYTES: usize = 256;

/// A short text that takes no memory from the allocator: a signal may have come in the middle of that. What does not go into it is left out.
pub struct Line(Cursor<[u8; LINE_BYTES]>);

impl Line {
    /// An empty one.
    pub fn new() -> Self {
        Self(Cursor::new([0; LINE_BYTES]))
    }

    /// Goes on with `text`.
    pub fn add(&mut self, text: Arguments<'_>) {
        let _cut_off = self.0.write_fmt(text);
    }

    /// What it says.
    pub fn as_str(&self) -> &str {
        let bytes = self.0.get_ref().get(..self.0.position() as usize);
        bytes.and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// All counts as one line: `done files=3 bytes=4096 ...`; they begin again, as a process that becomes another program and fails tells twice.
pub fn take() -> Line {
    let mut line = Line::new();
    line.add(format_args!("done"));
    for (name, count) in ALL {
        line.add(format_args!(" {name}={}", count.0.swap(0, Ordering::Relaxed)));
    }
    line.add(format_args!("\n"));
    line
}

/// A process that was forked counts for itself.
pub fn begin_again() {
    for (_, count) in ALL {
        count.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_counts_have_room_in_a_line() {
        let mut line = Line::new();
        line.add(format_args!("done"));
        ALL.iter().for_each(|(name, _)| line.add(format_args!(" {name}={}", u64::MAX)));
        line.add(format_args!("\n"));
        assert!(line.as_str().ends_with(&format!("untold={}\n", u64::MAX)), "{}", line.as_str());
        line.add(format_args!("{:300}", "more than there is room for"));
        assert!(line.as_str().starts_with("done files="));
    }
}
