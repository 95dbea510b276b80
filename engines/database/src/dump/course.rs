//! What all threads of a dump share, whatever is dumped: how far it is, and what ends it.

use super::{DumpClocks, DumpError, DumpProgress};
use crew::budget::Lease;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;
use wire::{Canceller, Connection};

/// How long a server may take to hear of a cancel request.
const CANCEL: Duration = Duration::from_secs(5);

/// Why a dump ends before its time.
pub enum DumpStop {
    /// From outside.
    Interrupted,
    /// Something failed.
    Failed(DumpError),
}

/// What is counted.
#[derive(Default)]
pub struct DumpCourse {
    is_over: AtomicBool,
    stop: Mutex<Option<DumpStop>>,
    cancellers: Mutex<Vec<Canceller>>,
    tables_done: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    stored_done: AtomicU64,
    written: AtomicU64,
    at_work: AtomicU64,
    clocks: Mutex<DumpClocks>,
}

impl DumpCourse {
    /// The statements of this connection end with the dump.
    pub fn may_be_cancelled(&self, connection: &Connection) {
        self.cancellers.lock().push(connection.canceller());
    }

    /// Whether there is nothing left to do, by success or not.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends it; the first reason stands. Whoever waits is to be woken by `wake`; statements are cancelled after that.
    pub fn stop(&self, stop: DumpStop, wake: impl FnOnce()) {
        self.stop.lock().get_or_insert(stop);
        self.is_over.store(true, Ordering::Release);
        wake();
        let cancellers = std::mem::take(&mut *self.cancellers.lock());
        for canceller in cancellers {
            let _ends_by_itself_then = canceller.cancel(CANCEL);
        }
    }

    /// Why it ended early.
    pub fn fault(&self) -> Result<(), DumpError> {
        match self.stop.lock().take() {
            None => Ok(()),
            Some(DumpStop::Interrupted) => Err(DumpError::Interrupted),
            Some(DumpStop::Failed(error)) => Err(error),
        }
    }

    /// How far it is, of so many tables and bytes.
    pub fn progress(&self, tables: u64, stored: u64) -> DumpProgress {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DumpProgress {
            tables,
            tables_done: count(&self.tables_done),
            rows: count(&self.rows),
            bytes: count(&self.bytes),
            stored_done: count(&self.stored_done),
            stored,
            written: count(&self.written),
            at_work: count(&self.at_work),
            clocks: *self.clocks.lock(),
        }
    }

    /// Bytes of rows have come.
    pub fn came(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A part is written: its rows, its bytes in the archive, those of the server's storage.
    pub fn wrote(&self, rows: u64, written: u64, stored: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.written.fetch_add(written, Ordering::Relaxed);
        self.stored_done.fetch_add(stored, Ordering::Relaxed);
    }

    /// All parts of a table are written.
    pub fn table_is_done(&self) {
        self.tables_done.fetch_add(1, Ordering::Relaxed);
    }

    /// A reader has waited for others.
    pub fn waited_for_work(&self, since: Instant) {
        self.clocks.lock().waiting_for_work += since.elapsed();
    }

    /// Holds a core while rows come: the server computes, and then we do.
    pub fn with_hand<T>(&self, lease: Option<&dyn Lease>, work: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let hand = lease.map(Lease::take);
        let (begin, cpu_before) = (Instant::now(), thread_cpu_ns());
        self.at_work.fetch_add(1, Ordering::Relaxed);
        let done = work();
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        if let Some((lease, hand)) = lease.zip(hand) {
            lease.give_back(hand);
        }
        let mut clocks = self.clocks.lock();
        clocks.waiting_for_hands += begin - before;
        clocks.reading += begin.elapsed();
        clocks.computing += Duration::from_nanos(thread_cpu_ns().saturating_sub(cpu_before));
        done
    }
}
