//! Who loads which file and makes which keys: a table's keys come as soon as its last file is in, before other files.

use super::RestoreTableJob;
use crate::restore::{RestoreClocks, RestoreError, RestoreFault, RestorePhase, RestoreProgress};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;
use wire::{Canceller, Connection};

/// How long a server may take to hear of a cancel request.
const CANCEL: Duration = Duration::from_secs(5);

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MySqlRestoreJob {
    /// Loads a file of a table.
    Rows { table: usize, part: usize },
    /// Makes a table's keys.
    Keys { table: usize },
}

/// What all threads of a restore share.
#[derive(Default)]
pub struct MySqlRestoreBoard {
    state: Mutex<State>,
    changed: Condvar,
    cancellers: Mutex<Vec<Canceller>>,
}

#[derive(Default)]
struct State {
    is_over: bool,
    stop: Option<RestoreError>,
    faults: Vec<RestoreFault>,
    warnings: Vec<String>,
    parts: VecDeque<(usize, usize)>,
    keys: VecDeque<usize>,
    /// Of each table: files that are not in, whether it has keys to make, their number.
    left: Vec<(usize, bool, u64)>,
    progress: RestoreProgress,
}

impl MySqlRestoreBoard {
    /// The statements of this connection end with the restore.
    pub fn may_be_cancelled(&self, connection: &Connection) {
        self.cancellers.lock().push(connection.canceller());
    }

    /// Whether there is nothing left to do, by success or not.
    pub fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Ends it; the first reason stands.
    pub fn stop(&self, error: RestoreError) {
        let mut state = self.state.lock();
        state.stop.get_or_insert(error);
        state.is_over = true;
        drop(state);
        self.changed.notify_all();
        let cancellers = std::mem::take(&mut *self.cancellers.lock());
        for canceller in cancellers {
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

    /// Something that the user should know.
    pub fn warn(&self, warning: String) {
        self.state.lock().warnings.push(warning);
    }

    /// Warnings.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().warnings)
    }

    /// A statement that was refused, and the restore goes on.
    pub fn fault(&self, fault: RestoreFault) {
        self.state.lock().faults.push(fault);
    }

    /// Statements that were refused.
    pub fn take_faults(&self) -> Vec<RestoreFault> {
        std::mem::take(&mut self.state.lock().faults)
    }

    /// What it is at.
    pub fn enter(&self, phase: RestorePhase) {
        self.state.lock().progress.phase = phase;
    }

    /// How far it is.
    pub fn progress(&self) -> RestoreProgress {
        self.state.lock().progress.clone()
    }

    /// All tables, with the files of each that are to be loaded.
    pub fn set_tables(&self, tables: &[RestoreTableJob<'_>]) {
        let mut state = self.state.lock();
        let mut order: Vec<usize> = (0..tables.len()).collect();
        order.sort_by_key(|&table| std::cmp::Reverse(tables[table].entry.stored));
        state.left = tables.iter().map(|table| (table.parts.len(), table.has_keys(), table.keys())).collect();
        state.progress.tables = tables.len() as u64;
        state.progress.stored = tables.iter().map(|table| table.stored()).sum();
        state.progress.indexes = tables.iter().map(RestoreTableJob::keys).sum();
        for table in order {
            state.parts.extend((0..tables[table].parts.len()).map(|part| (table, part)));
            if tables[table].parts.is_empty() {
                state.rows_are_in(table);
            }
        }
    }

    /// The next thing to do; none when all is done, or over.
    pub fn next(&self) -> Option<MySqlRestoreJob> {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return None;
            }
            let keys = state.keys.pop_front().map(|table| MySqlRestoreJob::Keys { table });
            let job = keys.or_else(|| {
                let (table, part) = state.parts.pop_front()?;
                Some(MySqlRestoreJob::Rows { table, part })
            });
            if let Some(job) = job {
                state.progress.at_work += 1;
                return Some(job);
            }
            if state.progress.tables_done == state.progress.tables {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// A job has ended, well or not.
    pub fn job_ends(&self, clocks: &RestoreClocks) {
        let mut state = self.state.lock();
        state.progress.at_work -= 1;
        state.progress.clocks.add(clocks);
    }

    /// A file is loaded.
    pub fn part_is_in(&self, table: usize, rows: u64, bytes: u64, stored: u64) {
        let mut state = self.state.lock();
        state.progress.rows += rows;
        state.progress.bytes += bytes;
        state.progress.stored_done += stored;
        state.left[table].0 -= 1;
        if state.left[table].0 == 0 {
            state.rows_are_in(table);
        }
        self.changed.notify_all();
    }

    /// A table's keys are made.
    pub fn keys_are_made(&self, table: usize) {
        let mut state = self.state.lock();
        state.progress.indexes_done += state.left[table].2;
        state.progress.tables_done += 1;
        self.changed.notify_all();
    }
}

impl State {
    fn rows_are_in(&mut self, table: usize) {
        match self.left[table].1 {
            true => self.keys.push_back(table),
            false => self.progress.tables_done += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump_mysql::{MySqlArchivePart, MySqlArchiveTable};

    #[test]
    fn a_stop_ends_those_that_wait_for_the_last_file_of_another() {
        let (entry, part) = (MySqlArchiveTable::default(), MySqlArchivePart::default());
        let board = MySqlRestoreBoard::default();
        board.set_tables(&[RestoreTableJob { entry: &entry, parts: vec![&part], statement: None }]);
        board.next().expect("a file");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| board.next());
            board.stop(RestoreError::Interrupted);
            assert_eq!(waiting.join().expect("it does not panic"), None);
        });
        assert!(board.is_over() && board.end().is_err());
    }
}
