//! Who loads what: tables are fed as pieces of rows, connections take pieces, and whoever brings a table's last piece in has its indexes made.

use super::tables::{FramePiece, RestoreTable};
use super::{RestoreClocks, RestoreError, RestoreFault, RestorePhase, RestoreProgress};
use crate::chunks::RowChunk;
use crate::indexes::{IndexLanes, LaneStop};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wire::{Canceller, Connection};

/// How long a server may take to hear of a cancel request.
const CANCEL: Duration = Duration::from_secs(5);

/// LIMIT: refused statements that are kept of one run of pg_restore.
const REFUSED_MAX: usize = 1000;

/// Something for a connection to do.
#[derive(Debug)]
pub enum RowsJob {
    /// Rows that are read by who loads them.
    Frames {
        /// Of which table.
        table: usize,
        /// Which.
        piece: FramePiece,
    },
    /// All rows of a table in one statement: it refers to itself, and the server looks at the end of each statement.
    Whole {
        /// Which table.
        table: usize,
    },
    /// Rows that were read before.
    Rows {
        /// Of which table.
        table: usize,
        /// Which.
        rows: HeldRows,
    },
}

/// Rows in memory.
#[derive(Debug, Default)]
pub struct HeldRows {
    /// They.
    pub chunk: RowChunk,
    /// Bytes of the archive that they come from, about.
    pub stored: u64,
}

/// What all threads of a restore share.
#[derive(Default)]
pub struct RestoreBoard {
    state: Mutex<State>,
    changed: Condvar,
    is_over: AtomicBool,
    lanes: OnceLock<Arc<IndexLanes>>,
    counts: Counts,
}

#[derive(Default)]
struct State {
    tables: Vec<TableState>,
    frames: VecDeque<RowsJob>,
    rows: VecDeque<RowsJob>,
    /// Bytes of rows that wait or are being loaded.
    held_bytes: u64,
    feeders: usize,
    at_work: usize,
    stop: Option<RestoreError>,
    cancellers: Vec<(u32, Canceller)>,
    /// What the server has refused to pg_restore, with SQLSTATE.
    refused: Vec<(String, RestoreFault)>,
    phase: RestorePhase,
    clocks: RestoreClocks,
}

#[derive(Default)]
struct TableState {
    is_fed: bool,
    pieces_left: u64,
}

#[derive(Default)]
struct Counts {
    tables_done: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    stored_done: AtomicU64,
    stored: AtomicU64,
    indexes_done: AtomicU64,
}

impl RestoreBoard {
    /// What is to be done. `lanes` end with the restore.
    pub fn begin(&self, tables: &[RestoreTable], lanes: &Arc<IndexLanes>, feeders: usize) {
        let _once = self.lanes.set(Arc::clone(lanes));
        let mut state = self.state.lock();
        state.tables.extend(tables.iter().map(|_| TableState::default()));
        state.feeders = feeders;
        self.counts.stored.fetch_add(tables.iter().map(|table| table.stored).sum(), Ordering::Relaxed);
        drop(state);
        if self.is_over() {
            lanes.stop(LaneStop::Interrupted);
        }
    }

    /// The statements of this connection end with the restore.
    pub fn may_be_cancelled(&self, connection: &Connection) {
        self.state.lock().cancellers.push((connection.server_pid(), connection.canceller()));
    }

    /// The processes of the server that work for rows.
    pub fn processes(&self) -> Vec<u32> {
        self.state.lock().cancellers.iter().map(|(pid, _)| *pid).collect()
    }

    /// What it is at.
    pub fn enter(&self, phase: RestorePhase) {
        self.state.lock().phase = phase;
    }

    /// How far it is.
    pub fn progress(&self) -> RestoreProgress {
        let state = self.state.lock();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let indexes = self.lanes.get().map(|lanes| lanes.progress()).unwrap_or_default();
        RestoreProgress {
            phase: state.phase,
            tables: state.tables.len() as u64,
            tables_done: count(&self.counts.tables_done),
            rows: count(&self.counts.rows),
            bytes: count(&self.counts.bytes),
            stored_done: count(&self.counts.stored_done),
            stored: count(&self.counts.stored),
            indexes: indexes.jobs,
            indexes_done: indexes.ended.max(count(&self.counts.indexes_done)),
            at_work: (state.at_work + indexes.running.len()) as u64,
            clocks: state.clocks,
        }
    }

    /// Whether there is nothing left to do, by success or not.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends it; the first reason stands.
    pub fn stop(&self, reason: RestoreError) {
        self.state.lock().stop.get_or_insert(reason);
        self.halt();
    }

    /// Ends it, for a reason that is known elsewhere.
    pub fn halt(&self) {
        let mut state = self.state.lock();
        self.is_over.store(true, Ordering::Release);
        let cancellers = std::mem::take(&mut state.cancellers);
        drop(state);
        self.changed.notify_all();
        if let Some(lanes) = self.lanes.get() {
            lanes.stop(LaneStop::Interrupted);
        }
        for (_, canceller) in cancellers {
            let _ends_by_itself_then = canceller.cancel(CANCEL);
        }
    }

    /// The value, or the end of the restore.
    pub fn ends_with<T>(&self, outcome: Result<T, RestoreError>) -> Option<T> {
        outcome.map_err(|error| self.stop(error)).ok()
    }

    /// Why it ended early.
    pub fn end(&self) -> Result<(), RestoreError> {
        self.state.lock().stop.take().map_or(Ok(()), Err)
    }

    /// So many indexes have ended, and took so long.
    pub fn was_indexing(&self, ended: u64, time: Duration) {
        self.counts.indexes_done.store(ended, Ordering::Relaxed);
        self.state.lock().clocks.indexing += time;
    }

    /// The server has refused a statement of pg_restore.
    pub fn refused(&self, sqlstate: &str, fault: RestoreFault) {
        let mut state = self.state.lock();
        if state.refused.len() < REFUSED_MAX {
            state.refused.push((sqlstate.to_owned(), fault));
        }
    }

    /// What it has refused since this was asked last.
    pub fn take_refused(&self) -> Vec<(String, RestoreFault)> {
        std::mem::take(&mut self.state.lock().refused)
    }

    /// Rows were in before.
    pub fn was_in(&self, stored: u64) {
        self.counts.stored_done.fetch_add(stored, Ordering::Relaxed);
    }

    /// Adds pieces that are read by who loads them.
    pub fn add_frames(&self, table: usize, pieces: Vec<FramePiece>) {
        let mut state = self.state.lock();
        state.tables[table].pieces_left += pieces.len() as u64;
        state.frames.extend(pieces.into_iter().map(|piece| RowsJob::Frames { table, piece }));
        self.changed.notify_all();
    }

    /// Adds a table that is loaded in one statement.
    pub fn add_whole(&self, table: usize) {
        let mut state = self.state.lock();
        state.tables[table].pieces_left += 1;
        state.frames.push_back(RowsJob::Whole { table });
        self.changed.notify_all();
    }

    /// Adds rows when there is room for them; false if nobody wants them any more.
    pub fn add_rows(&self, table: usize, rows: HeldRows, held_bytes_max: u64) -> bool {
        let bytes = rows.chunk.bytes.len() as u64;
        let mut state = self.state.lock();
        while !self.is_over() && state.held_bytes > 0 && state.held_bytes + bytes > held_bytes_max {
            self.changed.wait(&mut state);
        }
        if self.is_over() {
            return false;
        }
        state.held_bytes += bytes;
        state.tables[table].pieces_left += 1;
        state.rows.push_back(RowsJob::Rows { table, rows });
        self.changed.notify_all();
        true
    }

    /// All pieces of a table were added. True if its rows are in.
    pub fn fed(&self, table: usize) -> bool {
        let mut state = self.state.lock();
        state.tables[table].is_fed = true;
        self.changed.notify_all();
        self.is_loaded_now(&state, table)
    }

    /// Whether that was the last that a table needed.
    fn is_loaded_now(&self, state: &State, table: usize) -> bool {
        let is_loaded = state.tables[table].is_loaded();
        self.counts.tables_done.fetch_add(u64::from(is_loaded), Ordering::Relaxed);
        is_loaded
    }

    /// Waits until a table's rows are in; false if the restore ends before.
    pub fn wait_until_loaded(&self, table: usize) -> bool {
        let mut state = self.state.lock();
        while !self.is_over() && !state.tables[table].is_loaded() {
            self.changed.wait(&mut state);
        }
        !self.is_over()
    }

    /// A feeder has no more tables.
    pub fn feeder_ends(&self) {
        self.state.lock().feeders -= 1;
        self.changed.notify_all();
    }

    /// The next job; none when there will be no more.
    pub fn next(&self) -> Option<RowsJob> {
        let mut state = self.state.lock();
        loop {
            if self.is_over() {
                return None;
            }
            // Rows that are held go before those that lie in the archive.
            let job = state.rows.pop_front().or_else(|| state.frames.pop_front());
            if let Some(job) = job {
                state.at_work += 1;
                return Some(job);
            }
            if state.feeders == 0 && state.at_work == 0 {
                self.changed.notify_all();
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// A piece is in. True if it was the table's last.
    pub fn piece_is_in(&self, table: usize, piece: &LoadedPiece) -> bool {
        self.counts.rows.fetch_add(piece.rows, Ordering::Relaxed);
        self.counts.bytes.fetch_add(piece.bytes, Ordering::Relaxed);
        self.counts.stored_done.fetch_add(piece.stored, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.tables[table].pieces_left -= 1;
        state.held_bytes -= piece.held;
        self.changed.notify_all();
        self.is_loaded_now(&state, table)
    }

    /// A connection's job is over.
    pub fn job_ends(&self, clocks: &RestoreClocks) {
        let mut state = self.state.lock();
        state.at_work -= 1;
        state.clocks.add(clocks);
        self.changed.notify_all();
    }
}

/// A piece that was committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadedPiece {
    /// Its rows.
    pub rows: u64,
    /// Uncompressed bytes.
    pub bytes: u64,
    /// Bytes of the archive.
    pub stored: u64,
    /// Bytes that were held for it.
    pub held: u64,
}

impl TableState {
    fn is_loaded(&self) -> bool {
        self.is_fed && self.pieces_left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexes::{AfterFailure, LaneLimits, LaneRule};
    use crate::restore::tables::RowSource;

    fn table(stored: u64) -> RestoreTable {
        RestoreTable {
            entry: stored,
            name: "t".to_owned(),
            copy: "COPY t FROM stdin".to_owned(),
            file: "/nothing".into(),
            stored,
            source: RowSource::Stream,
            indexes: Vec::new(),
        }
    }

    #[test]
    fn a_table_is_in_with_its_last_piece_whichever_that_is() {
        let board = RestoreBoard::default();
        let rule = LaneRule::choose(LaneLimits { hands: 2, server_workers: 8, memory_bytes: None }, 1);
        board.begin(&[table(10), table(1000)], &Arc::new(IndexLanes::new(rule, AfterFailure::GoOn)), 1);
        assert!(board.add_rows(0, HeldRows::default(), 100));
        assert!(board.add_rows(1, HeldRows::default(), 100));
        assert!(!board.fed(0));
        let _one = board.next().expect("rows");
        let _other = board.next().expect("rows");
        let piece = LoadedPiece { rows: 3, ..LoadedPiece::default() };
        assert!(board.piece_is_in(0, &piece), "it was fed before");
        assert!(!board.piece_is_in(1, &piece), "more may come");
        assert!(board.fed(1));
        board.feeder_ends();
        for _ in 0..2 {
            board.job_ends(&RestoreClocks::default());
        }
        assert!(board.next().is_none());
        let progress = board.progress();
        assert_eq!((progress.tables_done, progress.rows, progress.stored), (2, 6, 1010));
    }

    #[test]
    fn a_stop_ends_lanes_that_begin_later() {
        let board = RestoreBoard::default();
        board.stop(RestoreError::Interrupted);
        let rule = LaneRule::choose(LaneLimits { hands: 2, server_workers: 8, memory_bytes: None }, 1);
        let lanes = Arc::new(IndexLanes::new(rule, AfterFailure::GoOn));
        board.begin(&[], &lanes, 0);
        assert_eq!(lanes.stopped(), Some(LaneStop::Interrupted));
        assert!(board.next().is_none() && board.end().is_err());
    }
}
