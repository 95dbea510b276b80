//! What threads of a load share: the wish to end, its reason, what is committed, and counters that a progress line may read.

use super::LoadOutcome;
use super::ending::CommitMeeting;
use super::ledger::{LoadedRange, merged};
use super::queue::ChunkQueue;
use crate::error::LoadFailure;
use crate::inputs::ReadTally;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use wire::Canceller;

/// Shared by a load and by whoever shows it or ends it.
#[derive(Debug)]
pub struct LoadControl {
    pub(super) queue: ChunkQueue,
    pub(super) ending: CommitMeeting,
    is_stopped: AtomicBool,
    error: Mutex<Option<LoadFailure>>,
    /// What ends the statements under way, by the server's number of the connection.
    cancellers: Mutex<BTreeMap<u32, Canceller>>,
    committed: Mutex<Vec<LoadedRange>>,
    unknown: Mutex<Vec<LoadedRange>>,
    read: ReadTally,
    rows: AtomicU64,
    bytes: AtomicU64,
    rejected: AtomicU64,
    retries: AtomicU64,
    at_work: AtomicUsize,
    watch_ended: Mutex<bool>,
    watch_ends: Condvar,
}

/// Where the time of a load went.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadClocks {
    /// From beginning to end.
    pub wall: Duration,
    /// The reader waited for the storage, a pipe or the decoder.
    pub reading: Duration,
    /// The reader waited for connections to take chunks.
    pub waiting_for_room: Duration,
    /// The reader computed.
    pub cutting: Duration,
    /// Connections waited for chunks.
    pub waiting_for_chunks: Duration,
    /// Connections waited for a hand.
    pub waiting_for_hands: Duration,
    /// Connections sent rows and waited for the server.
    pub loading: Duration,
    /// CPU time of the threads of connections.
    pub client_cpu: Duration,
}

impl LoadClocks {
    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        self.reading += other.reading;
        self.waiting_for_room += other.waiting_for_room;
        self.cutting += other.cutting;
        self.waiting_for_chunks += other.waiting_for_chunks;
        self.waiting_for_hands += other.waiting_for_hands;
        self.loading += other.loading;
        self.client_cpu += other.client_cpu;
    }
}

/// Ends the load if its thread panics: others would wait for it for ever.
pub(super) struct PanicEnds<'a>(pub &'a LoadControl);

impl Drop for PanicEnds<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.interrupt();
        }
    }
}

/// LIMIT: for a server to take the wish to end a statement.
const CANCEL_WITHIN: Duration = Duration::from_secs(5);

impl LoadControl {
    /// Of a load over so many connections.
    pub fn new(connections: usize) -> Self {
        Self {
            queue: ChunkQueue::new(),
            ending: CommitMeeting::new(connections),
            is_stopped: AtomicBool::new(false),
            error: Mutex::default(),
            cancellers: Mutex::default(),
            committed: Mutex::default(),
            unknown: Mutex::default(),
            read: ReadTally::default(),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            at_work: AtomicUsize::new(0),
            watch_ended: Mutex::default(),
            watch_ends: Condvar::new(),
        }
    }

    /// Ends the load: what is not committed is rolled back. Returns when the server was asked to end what it does.
    pub fn interrupt(&self) {
        self.fail(LoadFailure::Interrupted, None);
    }

    /// Bytes of the inputs that were read.
    pub fn bytes_read(&self) -> u64 {
        self.read.bytes()
    }

    /// Uncompressed bytes that the database has taken.
    pub fn bytes_loaded(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Rows that the database has taken.
    pub fn rows_loaded(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Rows that were refused and written away.
    pub fn rows_rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Connections for which the server works now.
    pub fn at_work(&self) -> usize {
        self.at_work.load(Ordering::Relaxed)
    }

    pub(super) fn read_tally(&self) -> &ReadTally {
        &self.read
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// The first reason is the one that is reported. `own` is the number of the connection that failed, which has nothing under way.
    pub(super) fn fail(&self, error: LoadFailure, own: Option<u32>) {
        self.error.lock().get_or_insert(error);
        if self.is_stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        self.queue.stop();
        self.ending.stop();
        let others: Vec<Canceller> = {
            let cancellers = self.cancellers.lock();
            cancellers.iter().filter(|(number, _)| Some(**number) != own).map(|(_, other)| other.clone()).collect()
        };
        for canceller in others {
            // A connection that is gone has nothing to be ended.
            let _nothing_to_end = canceller.cancel(CANCEL_WITHIN);
        }
    }

    pub(super) fn opened(&self, number: u32, canceller: Canceller) {
        self.cancellers.lock().insert(number, canceller);
    }

    pub(super) fn closed(&self, number: u32) {
        self.cancellers.lock().remove(&number);
    }

    /// The numbers of our connections.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.cancellers.lock().keys().copied().collect()
    }

    pub(super) fn begins_work(&self) {
        self.at_work.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ends_work(&self) {
        self.at_work.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn loaded(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn rejected(&self) -> u64 {
        self.rejected.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn committed(&self, ranges: impl IntoIterator<Item = LoadedRange>) {
        self.committed.lock().extend(ranges);
    }

    pub(super) fn is_unknown(&self, ranges: impl IntoIterator<Item = LoadedRange>) {
        self.unknown.lock().extend(ranges);
    }

    pub(super) fn end_watch(&self) {
        *self.watch_ended.lock() = true;
        self.watch_ends.notify_all();
    }

    /// Waits so long; true if the load is over.
    pub(super) fn watch_waits(&self, time: Duration) -> bool {
        let mut ended = self.watch_ended.lock();
        if !*ended {
            self.watch_ends.wait_for(&mut ended, time);
        }
        *ended
    }

    pub(super) fn fill(&self, outcome: &mut LoadOutcome) {
        outcome.error = self.error.lock().take();
        outcome.committed = merged(std::mem::take(&mut *self.committed.lock()));
        outcome.unknown = merged(std::mem::take(&mut *self.unknown.lock()));
        outcome.rows = outcome.committed.iter().map(|range| range.rows).sum();
        outcome.rejected = self.rows_rejected();
        outcome.retries = self.retries.load(Ordering::Relaxed);
    }
}
