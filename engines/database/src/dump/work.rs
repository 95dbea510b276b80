//! Who reads which part of which table: a queue that pg_dump's requests fill and connections empty, and files in which parts come in order.
//! A part waits in memory for its turn, so that no more parts are held than there are connections.

use super::archive::{ArchiveFrame, ArchiveTable};
use super::course::{DumpCourse, DumpStop};
use super::frames::{PartBytes, RowFrameWriter, append};
use super::proxy::send_rows;
use super::statement::CopyOut;
use super::table::{CatalogueTable, TableDivision};
use super::{DumpError, DumpProgress, DumpRequest, connect};
use crew::budget::Lease;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use wire::Connection;

/// What pg_dump writes behind the rows of a table.
pub const END_OF_ROWS: &[u8] = b"\\.\n\n\n";

/// All connections count in one place: not with every row, which each has a slice of its own.
const COUNTED_BYTES: u64 = 64 << 10;

/// A table that is being read.
pub struct TableWork {
    /// Its quoted name.
    pub name: String,
    /// Its list of columns, with parentheses.
    pub columns: String,
    /// Its number.
    pub oid: u32,
    /// Its parts.
    pub division: TableDivision,
    /// Bytes of its storage.
    pub stored: u64,
    /// Where its rows go, for messages.
    pub path: PathBuf,
    file: Mutex<TableFile>,
    turn: Condvar,
    /// What stands behind its last row.
    tail: &'static [u8],
}

/// Where the rows of a table go.
pub enum RowSink {
    /// To a new file of the archive.
    File(File),
    /// To pg_dump, which has asked for them and writes them into its script.
    Program(UnixStream),
}

/// A file in which parts come in order.
struct TableFile {
    sink: RowSink,
    next: u64,
    entry: ArchiveTable,
    digest: u128,
}

/// A part to be read.
struct Part {
    table: Arc<TableWork>,
    number: u64,
}

/// What all threads of a dump share.
#[derive(Default)]
pub struct Board {
    state: Mutex<State>,
    changed: Condvar,
    course: DumpCourse,
}

#[derive(Default)]
struct State {
    parts: VecDeque<Part>,
    tables: Vec<Arc<TableWork>>,
    is_complete: bool,
}

impl TableWork {
    /// A table whose rows go to a sink, which is at `path`.
    pub fn new(
        copy: &CopyOut<'_>,
        table: &CatalogueTable,
        division: TableDivision,
        path: PathBuf,
        sink: RowSink,
    ) -> Self {
        let entry = ArchiveTable {
            table: copy.table.to_owned(),
            oid: table.oid,
            columns: copy.columns.to_owned(),
            ..ArchiveTable::default()
        };
        Self {
            name: copy.table.to_owned(),
            columns: copy.columns.to_owned(),
            oid: table.oid,
            division,
            stored: table.bytes,
            path,
            // In a script pg_dump writes it.
            tail: if matches!(sink, RowSink::File(_)) { END_OF_ROWS } else { b"" },
            file: Mutex::new(TableFile { sink, next: 0, entry, digest: 0 }),
            turn: Condvar::new(),
        }
    }

    /// What the index says of it, once all parts are there.
    pub fn entry(&self) -> io::Result<ArchiveTable> {
        let file = self.file.lock();
        if let RowSink::File(file) = &file.sink {
            file.sync_all()?;
        }
        Ok(ArchiveTable { digest: format!("{:032x}", file.digest), ..file.entry.clone() })
    }
}

impl TableFile {
    fn append(&mut self, part: &PartBytes) -> io::Result<()> {
        let before = self.entry.stored;
        match &mut self.sink {
            RowSink::File(file) => append(file, part)?,
            RowSink::Program(client) => send_rows(client, &part.bytes)?,
        }
        for frame in &part.frames {
            self.entry.rows += frame.rows;
            self.entry.bytes += frame.bytes;
            let digest = u128::from_str_radix(&frame.digest, 16).unwrap_or(0);
            self.digest = self.digest.wrapping_add(digest);
            if let RowSink::File(_) = self.sink {
                self.entry.frames.push(ArchiveFrame { offset: before + frame.offset, ..frame.clone() });
            }
        }
        self.entry.stored += part.bytes.len() as u64;
        self.next += 1;
        Ok(())
    }
}

impl Board {
    /// The statements of this connection end with the dump.
    pub fn may_be_cancelled(&self, connection: &Connection) {
        self.course.may_be_cancelled(connection);
    }

    /// How far it is.
    pub fn progress(&self) -> DumpProgress {
        let state = self.state.lock();
        self.course.progress(state.tables.len() as u64, state.tables.iter().map(|table| table.stored).sum())
    }

    /// Whether there is nothing left to do, by success or not.
    pub fn is_over(&self) -> bool {
        self.course.is_over()
    }

    /// Ends it; the first reason stands.
    pub fn stop(&self, stop: DumpStop) {
        self.course.stop(stop, || {
            let tables = self.state.lock().tables.clone();
            self.changed.notify_all();
            for table in tables {
                // Who looks whether it is its turn holds the lock: it has looked before, or will see that all is over.
                drop(table.file.lock());
                table.turn.notify_all();
            }
        });
    }

    /// The value, or the end of the dump.
    pub fn ends_with<T>(&self, outcome: Result<T, DumpError>) -> Option<T> {
        outcome.map_err(|error| self.stop(DumpStop::Failed(error))).ok()
    }

    /// Why it ended early.
    pub fn fault(&self) -> Result<(), DumpError> {
        self.course.fault()
    }

    /// pg_dump has asked for a table.
    pub fn add(&self, table: TableWork) -> Arc<TableWork> {
        let table = Arc::new(table);
        let mut state = self.state.lock();
        let parts = table.division.parts();
        state.parts.extend((0..parts).map(|number| Part { table: Arc::clone(&table), number }));
        state.tables.push(Arc::clone(&table));
        self.changed.notify_all();
        table
    }

    /// Waits until all parts of a table are written. Its rows; none if the dump is over before.
    pub fn rows_written(&self, table: &TableWork) -> Option<u64> {
        let mut file = table.file.lock();
        while file.next < table.division.parts() {
            if self.is_over() {
                return None;
            }
            table.turn.wait(&mut file);
        }
        Some(file.entry.rows)
    }

    /// pg_dump has ended.
    pub fn no_more_tables(&self) {
        self.state.lock().is_complete = true;
        self.changed.notify_all();
    }

    /// All tables, which are done.
    pub fn take_tables(&self) -> Vec<Arc<TableWork>> {
        self.state.lock().tables.clone()
    }

    fn next(&self) -> Option<Part> {
        let mut state = self.state.lock();
        loop {
            if self.is_over() {
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

    /// Puts a part in its place. Waits for those before it.
    fn write(&self, part: &Part, bytes: &PartBytes) -> Result<(), DumpError> {
        let mut file = part.table.file.lock();
        while file.next != part.number {
            if self.is_over() {
                return Ok(());
            }
            part.table.turn.wait(&mut file);
        }
        file.append(bytes).map_err(DumpError::file("write", &part.table.path))?;
        let is_last = file.next == part.table.division.parts();
        drop(file);
        part.table.turn.notify_all();
        let rows = bytes.frames.iter().map(|frame| frame.rows).sum();
        self.course.wrote(rows, bytes.bytes.len() as u64, part.table.stored / part.table.division.parts());
        if is_last {
            self.course.table_is_done();
        }
        Ok(())
    }
}

/// A connection that reads parts until there are no more.
pub fn read_parts(board: &Board, request: &DumpRequest, snapshot: &str, lease: &dyn Lease) -> Result<(), DumpError> {
    let mut reader = None;
    loop {
        let before = Instant::now();
        let Some(part) = board.next() else { return Ok(()) };
        board.course.waited_for_work(before);
        let reader = match &mut reader {
            Some(reader) => reader,
            None => {
                let mut connection = connect(&request.address)?;
                board.may_be_cancelled(&connection);
                request.session.join(&mut connection, snapshot)?;
                reader.insert(PartReader { connection, frames: RowFrameWriter::new(&request.codec, &part.table.name)? })
            }
        };
        let Some(bytes) = board.course.with_hand(Some(lease), || reader.read(board, &part))? else {
            return Ok(());
        };
        let before = Instant::now();
        board.write(&part, &bytes)?;
        board.course.waited_for_work(before);
    }
}

/// A connection, and what is kept between parts: memory that was never touched is slow.
struct PartReader {
    connection: Connection,
    frames: RowFrameWriter,
}

impl PartReader {
    /// Reads a part; none if the dump is over.
    fn read(&mut self, board: &Board, part: &Part) -> Result<Option<PartBytes>, DumpError> {
        let (table, frames) = (&part.table, &mut self.frames);
        let copy = CopyOut { table: &table.name, columns: &table.columns };
        let statement = table.division.statement(&copy, part.number);
        let mut uncounted = 0;
        let outcome = self.connection.copy_out(&statement, |bytes| {
            uncounted += bytes.len() as u64;
            if uncounted >= COUNTED_BYTES {
                if board.is_over() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                board.course.came(std::mem::take(&mut uncounted));
            }
            frames.take(bytes).map_err(io::Error::other)
        });
        board.course.came(uncounted);
        if board.is_over() {
            return Ok(None);
        }
        let place = table.division.place(part.number);
        let executed = outcome.map_err(DumpError::server(format!("read rows of {}{place}", table.name)))?;
        let tail = if part.number + 1 == table.division.parts() { table.tail } else { b"" };
        let failed = |cause| DumpError::Compress { table: table.name.clone(), cause };
        let bytes = frames.finish(tail).map_err(failed)?;
        let rows: u64 = bytes.frames.iter().map(|frame| frame.rows).sum();
        if rows != executed.affected {
            return Err(DumpError::Program {
                program: "the server",
                message: format!("has sent {rows} rows of {} and counted {}", table.name, executed.affected),
            });
        }
        Ok(Some(bytes))
    }
}
