//! Running totals that a progress line may read at any time while the run goes on.
//! Relaxed counters: each is true by itself, two of them need not be of the same moment.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a run has done so far.
#[derive(Debug, Default)]
pub struct Tally {
    bytes_in: AtomicU64,
    bytes_done: AtomicU64,
    bytes_out: AtomicU64,
    chunks: AtomicU64,
    hands: AtomicUsize,
}

impl Tally {
    /// Bytes taken from all sources.
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in.load(Ordering::Relaxed)
    }

    /// Bytes of sources that the work has gone through, also in the middle of chunks whose work says how far it is.
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Bytes handed to all sinks.
    pub fn bytes_out(&self) -> u64 {
        self.bytes_out.load(Ordering::Relaxed)
    }

    /// Chunks cut from all sources.
    pub fn chunks(&self) -> u64 {
        self.chunks.load(Ordering::Relaxed)
    }

    /// Hands held now.
    pub fn hands(&self) -> usize {
        self.hands.load(Ordering::Relaxed)
    }

    /// Counts one chunk of `bytes` taken from a source.
    pub(crate) fn took(&self, bytes: u64) {
        self.chunks.fetch_add(1, Ordering::Relaxed);
        self.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `bytes` of a source that the work has gone through.
    pub(crate) fn did(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `bytes` handed to a sink.
    pub(crate) fn gave(&self, bytes: u64) {
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn hand_taken(&self) {
        self.hands.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn hand_given_back(&self) {
        self.hands.fetch_sub(1, Ordering::Relaxed);
    }
}
