//! Who reads which part of which table: a queue of parts, each of which becomes a file of its own.

use super::catalogue::{MySqlColumn, MySqlColumnForm, MySqlTable, text};
use super::fault::MySqlDumpFault;
use super::index::{MySqlArchivePart, MySqlArchiveTable, file_name};
use crate::dump::course::{DumpCourse, DumpStop};
use crate::dump::frames::RowFrameWriter;
use crate::dump::{DumpCodec, DumpError, DumpProgress};
use crate::rows::escape;
use crate::target::quoted;
use crew::budget::Lease;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wire::{Connection, RowPart};

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
struct MySqlPart {
    table: Arc<MySqlTableWork>,
    number: u64,
    /// What stands behind the table's name.
    clause: String,
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

    /// What the index says of all tables.
    pub fn take_tables(&self) -> Vec<MySqlArchiveTable> {
        let tables = std::mem::take(&mut self.state.lock().tables);
        tables.iter().map(|table| table.entry()).collect()
    }
}

impl MySqlTableWork {
    fn entry(&self) -> MySqlArchiveTable {
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

/// Reads parts until there are no more.
pub fn read_parts(
    board: &MySqlBoard,
    files: &PartFiles<'_>,
    connection: &mut Connection,
    lease: &dyn Lease,
) -> Result<(), DumpError> {
    loop {
        let before = Instant::now();
        let Some(part) = board.next() else { return Ok(()) };
        board.course.waited_for_work(before);
        // While the server is locked, nobody waits for a core.
        let lease = Some(lease).filter(|_| !part.is_locked);
        let Some(written) = board.course.with_hand(lease, || read_part(board, files, connection, &part))? else {
            return Ok(());
        };
        board.is_read(&part, written);
    }
}

/// Reads a part; none if the dump is over.
fn read_part(
    board: &MySqlBoard,
    files: &PartFiles<'_>,
    connection: &mut Connection,
    part: &MySqlPart,
) -> Result<Option<MySqlArchivePart>, DumpError> {
    let table = &part.table.table;
    let name = file_name(files.database, &table.name, part.number) + files.codec.suffix();
    let mut file = PartFile::create(files.directory.join(&name), files.codec, table)?;
    let sql = format!("select {} from {}{}", table.select_list(), quoted(&table.name, '`'), part.clause);
    let mut column = 0;
    let outcome = connection.rows_out(&sql, |value| match value {
        RowPart::Value(value) => {
            put_value(file.writer.row(), column, table.columns.get(column), value);
            column += 1;
            Ok(())
        }
        RowPart::End => {
            column = 0;
            file.writer.row().push(b'\n');
            if !file.end_row()? {
                return Ok(());
            }
            board.course.came(file.taken());
            if board.course.is_over() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        }
    });
    if board.course.is_over() {
        return Ok(None);
    }
    if let Some(error) = file.failed.take() {
        return Err(error);
    }
    let rows = outcome.map_err(DumpError::server(format!("read rows of '{}'", table.name)))?.rows;
    if table.has_conversions() {
        check_conversions(connection, table)?;
    }
    let counted = file.counted;
    let written = file.finish(name)?;
    board.course.came(written.bytes.saturating_sub(counted));
    if written.rows != rows {
        let message = format!("has sent {rows} rows of '{}', and {} are written", table.name, written.rows);
        return Err(DumpError::Program { program: "the server", message });
    }
    Ok(Some(written))
}

/// A conversion whose value is longer than max_allowed_packet gives NULL and a warning.
fn check_conversions(connection: &mut Connection, table: &MySqlTable) -> Result<(), DumpError> {
    let warnings = connection.query("show warnings").map_err(DumpError::server("read warnings"))?;
    match warnings.first() {
        None => Ok(()),
        Some(row) => Err(MySqlDumpFault::CutOff { table: table.name.clone(), warning: text(row, 2) }.into()),
    }
}

fn put_value(row: &mut Vec<u8>, number: usize, column: Option<&MySqlColumn>, value: Option<&[u8]>) {
    if number > 0 {
        row.push(b'\t');
    }
    match (value, column.map(|column| column.form)) {
        (None, _) => row.extend_from_slice(b"\\N"),
        (Some(value), Some(MySqlColumnForm::Hex)) => put_hex(value, row),
        (Some(value), _) => escape(value, row),
    }
}

fn put_hex(value: &[u8], row: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    row.reserve(2 * value.len());
    for byte in value {
        row.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// A file of rows that is being written.
struct PartFile<'a> {
    path: PathBuf,
    file: File,
    writer: RowFrameWriter,
    table: &'a MySqlTable,
    /// Uncompressed bytes of units so far, and of those that were taken account of.
    bytes: u64,
    counted: u64,
    failed: Option<DumpError>,
}

impl<'a> PartFile<'a> {
    fn create(path: PathBuf, codec: &DumpCodec, table: &'a MySqlTable) -> Result<Self, DumpError> {
        let file = File::create_new(&path).map_err(DumpError::file("create", &path))?;
        let writer = RowFrameWriter::new(codec, &table.name)?;
        Ok(Self { path, file, writer, table, bytes: 0, counted: 0, failed: None })
    }

    /// A row is complete; true if a unit was written. What failed is in `failed`.
    fn end_row(&mut self) -> io::Result<bool> {
        let pending = self.writer.row().len() as u64;
        let outcome = self.writer.end_row().map_err(|cause| self.compress_failed(cause));
        let is_full = self.keep(outcome)?;
        if is_full {
            self.bytes += pending;
            let outcome = self.write_units();
            self.keep(outcome)?;
        }
        Ok(is_full)
    }

    fn keep<T>(&mut self, outcome: Result<T, DumpError>) -> io::Result<T> {
        outcome.map_err(|error| {
            self.failed = Some(error);
            io::ErrorKind::Interrupted.into()
        })
    }

    fn compress_failed(&self, cause: codec::error::CodecError) -> DumpError {
        DumpError::Compress { table: self.table.name.clone(), cause }
    }

    fn write_units(&mut self) -> Result<(), DumpError> {
        let units = self.writer.units();
        self.file.write_all(units).map_err(DumpError::file("write", &self.path))?;
        units.clear();
        Ok(())
    }

    /// Uncompressed bytes since the last call.
    fn taken(&mut self) -> u64 {
        let new = self.bytes - self.counted;
        self.counted = self.bytes;
        new
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_load_data_reads() {
        let column = |form| MySqlColumn { form, ..MySqlColumn::default() };
        let (plain, binary) = (column(MySqlColumnForm::Text), column(MySqlColumnForm::Hex));
        let mut row = Vec::new();
        let values: [(_, Option<&[u8]>); 5] = [
            (&plain, Some(b"a\tb\nc\\")),
            (&plain, None),
            (&binary, Some(b"\0\xff\n")),
            (&binary, None),
            (&plain, Some(b"")),
        ];
        for (number, (column, value)) in values.into_iter().enumerate() {
            put_value(&mut row, number, Some(column), value);
        }
        assert_eq!(row, b"a\\tb\\nc\\\\\t\\N\t00FF0A\t\\N\t");
    }
}
