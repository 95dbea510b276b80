//! Who reads which part of which table: a queue of parts, each of which becomes a file of its own.

use super::catalogue::{MySqlColumn, MySqlTable};
use super::index::{MySqlArchivePart, MySqlArchiveTable, file_name};
use super::lines::{LineSink, send_rows};
use crate::dump::course::{DumpCourse, DumpStop};
use crate::dump::frames::RowFrameWriter;
use crate::dump::{DumpCodec, DumpError, DumpProgress};
use crew::budget::Lease;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wire::Connection;

/// A table that is being read.
pub struct MySqlTableWork {
    pub table: MySqlTable,
    state: Mutex<TableState>,
}

#[derive(Default)]
struct TableState {
    /// So many parts are still to come.
    left: u64,
    of: u64,
    parts: Vec<(u64, MySqlArchivePart)>,
}

/// A part to be read.
pub struct MySqlPart {
    pub table: Arc<MySqlTableWork>,
    number: u64,
    /// What stands behind the table's name.
    pub clause: String,
    /// It is read while the server is locked.
    is_locked: bool,
}

/// What all threads of a dump share.
#[derive(Default)]
pub struct MySqlBoard {
    pub course: DumpCourse,
    state: Mutex<BoardState>,
    changed: Condvar,
}

#[derive(Default)]
struct BoardState {
    parts: VecDeque<MySqlPart>,
    tables: Vec<Arc<MySqlTableWork>>,
    /// Parts that are read under the lock.
    locked_left: u64,
    is_complete: bool,
}

/// Where parts become files.
pub struct PartFiles<'a> {
    pub directory: &'a Path,
    pub database: &'a str,
    pub codec: &'a DumpCodec,
}

impl MySqlBoard {
    /// How far it is.
    pub fn progress(&self) -> DumpProgress {
        let state = self.state.lock();
        self.course.progress(state.tables.len() as u64, state.tables.iter().map(|table| table.table.bytes).sum())
    }

    /// Ends it; the first reason stands.
    pub fn stop(&self, stop: DumpStop) {
        self.course.stop(stop, || {
            // Who waits has the lock until it waits.
            drop(self.state.lock());
            self.changed.notify_all();
        });
    }

    /// The value, or the end of the dump.
    pub fn ends_with<T>(&self, outcome: Result<T, DumpError>) -> Option<T> {
        outcome.map_err(|error| self.stop(DumpStop::Failed(error))).ok()
    }

    /// These tables will come.
    pub fn expect(&self, tables: impl Iterator<Item = MySqlTable>) -> Vec<Arc<MySqlTableWork>> {
        let mut state = self.state.lock();
        state.tables = tables.map(|table| Arc::new(MySqlTableWork { table, state: Mutex::default() })).collect();
        state.tables.clone()
    }

    /// A table's parts, by what stands behind its name in each.
    pub fn add(&self, table: &Arc<MySqlTableWork>, clauses: Vec<String>, is_locked: bool) {
        let count = clauses.len() as u64;
        *table.state.lock() = TableState { left: count, of: count, parts: Vec::new() };
        if count == 0 {
            self.course.table_is_done();
        }
        let parts = clauses.into_iter().zip(0..).map(|(clause, number)| MySqlPart {
            table: Arc::clone(table),
            number,
            clause,
            is_locked,
        });
        let mut state = self.state.lock();
        state.parts.extend(parts);
        state.locked_left += if is_locked { count } else { 0 };
        self.changed.notify_all();
    }

    /// All parts are known.
    pub fn no_more_parts(&self) {
        self.state.lock().is_complete = true;
        self.changed.notify_all();
    }

    /// More parts come after all: the lock is released.
    pub fn more_parts_come(&self) {
        self.state.lock().is_complete = false;
    }

    /// Waits until what must be read under the lock is read, or all is over.
    pub fn wait_for_locked(&self) {
        let mut state = self.state.lock();
        while state.locked_left > 0 && !self.course.is_over() {
            self.changed.wait(&mut state);
        }
    }

    fn next(&self) -> Option<MySqlPart> {
        let mut state = self.state.lock();
        loop {
            if self.course.is_over() {
                return None;
            }
            if let Some(part) = state.parts.pop_front() {
                return Some(part);
            }
            if state.is_complete {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    fn is_read(&self, part: &MySqlPart, written: MySqlArchivePart) {
        let mut table = part.table.state.lock();
        let stored = part.table.table.bytes / table.of.max(1);
        self.course.wrote(written.rows, written.stored, stored);
        if written.rows > 0 {
            table.parts.push((part.number, written));
        }
        table.left -= 1;
        if table.left == 0 {
            self.course.table_is_done();
        }
        if part.is_locked {
            self.state.lock().locked_left -= 1;
            self.changed.notify_all();
        }
    }

    /// What the index says of all tables; their parts are taken out.
    pub fn take_entries(&self) -> Vec<MySqlArchiveTable> {
        let tables = self.state.lock().tables.clone();
        tables.iter().map(|table| table.take_entry()).collect()
    }
}

impl MySqlTableWork {
    fn take_entry(&self) -> MySqlArchiveTable {
        let mut parts = std::mem::take(&mut self.state.lock().parts);
        parts.sort_by_key(|(number, _)| *number);
        let parts: Vec<MySqlArchivePart> = parts.into_iter().map(|(_, part)| part).collect();
        let frames = parts.iter().flat_map(|part| &part.frames);
        let digests = frames.map(|frame| u128::from_str_radix(&frame.digest, 16).unwrap_or(0));
        let digest = digests.fold(0_u128, u128::wrapping_add);
        let sum = |of: fn(&MySqlArchivePart) -> u64| parts.iter().map(of).sum();
        MySqlArchiveTable {
            table: self.table.name.clone(),
            is_transactional: self.table.is_transactional,
            columns: self.table.columns.iter().map(MySqlColumn::as_loaded).collect(),
            rows: sum(|part| part.rows),
            bytes: sum(|part| part.bytes),
            stored: sum(|part| part.stored),
            digest: format!("{digest:032x}"),
            parts,
        }
    }
}

/// Reads parts by `read` until there are no more; what it returns is none if all is over.
pub fn read_parts(
    board: &MySqlBoard,
    connection: &mut Connection,
    lease: &dyn Lease,
    read: impl Fn(&mut Connection, &MySqlPart) -> Result<Option<MySqlArchivePart>, DumpError>,
) -> Result<(), DumpError> {
    loop {
        let before = Instant::now();
        let Some(part) = board.next() else { return Ok(()) };
        board.course.waited_for_work(before);
        // While the server is locked, nobody waits for a core.
        let lease = Some(lease).filter(|_| !part.is_locked);
        let Some(read) = board.course.with_hand(lease, || read(connection, &part))? else { return Ok(()) };
        board.is_read(&part, read);
    }
}

impl PartFiles<'_> {
    /// Makes a file of a part; none if the dump is over.
    pub fn write(
        &self,
        board: &MySqlBoard,
        connection: &mut Connection,
        part: &MySqlPart,
    ) -> Result<Option<MySqlArchivePart>, DumpError> {
        let table = &part.table.table;
        let name = file_name(self.database, &table.name, part.number) + self.codec.suffix();
        let mut file = PartFile::create(self.directory.join(&name), self.codec, table, &board.course)?;
        let Some(rows) = send_rows(board, connection, part, &mut file)? else { return Ok(None) };
        let counted = file.bytes;
        let written = file.finish(name)?;
        board.course.came(written.bytes.saturating_sub(counted));
        check_count(table, rows, written.rows)?;
        Ok(Some(written))
    }
}

/// The server's count of rows is that of the lines that came.
pub fn check_count(table: &MySqlTable, sent: u64, came: u64) -> Result<(), DumpError> {
    if sent == came {
        return Ok(());
    }
    let message = format!("has sent {sent} rows of '{}', and {came} have come", table.name);
    Err(DumpError::Program { program: "the server", message })
}

/// A file of rows that is being written.
struct PartFile<'a> {
    path: PathBuf,
    file: File,
    writer: RowFrameWriter,
    table: &'a MySqlTable,
    course: &'a DumpCourse,
    /// Uncompressed bytes of units so far.
    bytes: u64,
}

impl LineSink for PartFile<'_> {
    fn line(&mut self) -> &mut Vec<u8> {
        self.writer.row()
    }

    fn end_line(&mut self) -> Result<(), DumpError> {
        let pending = self.writer.row().len() as u64;
        let failed = |cause| DumpError::Compress { table: self.table.name.clone(), cause };
        if self.writer.end_row().map_err(failed)? {
            self.bytes += pending;
            self.course.came(pending);
            self.write_units()?;
        }
        Ok(())
    }
}

impl<'a> PartFile<'a> {
    fn create(
        path: PathBuf,
        codec: &DumpCodec,
        table: &'a MySqlTable,
        course: &'a DumpCourse,
    ) -> Result<Self, DumpError> {
        let file = File::create_new(&path).map_err(DumpError::file("create", &path))?;
        let writer = RowFrameWriter::new(codec, &table.name)?;
        Ok(Self { path, file, writer, table, course, bytes: 0 })
    }

    fn write_units(&mut self) -> Result<(), DumpError> {
        let units = self.writer.units();
        self.file.write_all(units).map_err(DumpError::file("write", &self.path))?;
        units.clear();
        Ok(())
    }

    /// Writes the rest. A file without a row is removed: not every decompressor takes an empty one.
    fn finish(mut self, name: String) -> Result<MySqlArchivePart, DumpError> {
        let (table, path) = (self.table.name.clone(), self.path);
        let rest = self.writer.finish(b"").map_err(|cause| DumpError::Compress { table, cause })?;
        if rest.frames.is_empty() {
            std::fs::remove_file(&path).map_err(DumpError::file("remove", &path))?;
            return Ok(MySqlArchivePart::default());
        }
        self.file.write_all(&rest.bytes).map_err(DumpError::file("write", &path))?;
        self.file.sync_all().map_err(DumpError::file("write out", &path))?;
        let sum = |of: fn(&crate::dump::ArchiveFrame) -> u64| rest.frames.iter().map(of).sum();
        Ok(MySqlArchivePart {
            file: name,
            rows: sum(|frame| frame.rows),
            bytes: sum(|frame| frame.bytes),
            stored: sum(|frame| frame.stored),
            frames: rest.frames,
        })
    }
}
