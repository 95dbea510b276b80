//! A connection of a restore: takes pieces of rows. A piece and its line in the ledger are one transaction.

use super::board::{HeldRows, LoadedPiece, RestoreBoard, RowsJob};
use super::feed::{RowFile, WHOLE_END};
use super::ledger::RestoreLedger;
use super::making::IndexMaking;
use super::tables::{CHECKS_CONNECTION, FramePiece, RestoreTable, RowSource};
use super::{RestoreClocks, RestoreError, RestoreRequest, connect};
use crate::dump::ArchiveFrame;
use crate::dump::frames::digest;
use crate::dump::work::END_OF_ROWS;
use crate::rows::{RowFormat, TextFormat};
use codec::byte_buffer::ByteBuffer;
use codec::format::{DecodeLimits, Decoder};
use codec::registry;
use crew::budget::Lease;
use crew::pipeline::Pause;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;
use wire::{Connection, CopyIn, ErrorKind, WireError};

/// What connections share.
pub struct Working<'a> {
    pub request: &'a RestoreRequest,
    pub tables: &'a [RestoreTable],
    /// Settings from the archive.
    pub settings: &'a [String],
    pub ledger: &'a RestoreLedger,
    pub board: &'a RestoreBoard,
    pub lease: &'a dyn Lease,
    /// Where a table goes when its rows are in.
    pub indexes: &'a IndexMaking<'a>,
}

impl Working<'_> {
    /// Works until there is nothing left to do.
    pub fn run(&self) -> Result<(), RestoreError> {
        let mut connection = None;
        loop {
            let before = Instant::now();
            let Some(job) = self.board.next() else { return Ok(()) };
            let mut clocks = RestoreClocks { waiting_for_work: before.elapsed(), ..RestoreClocks::default() };
            let outcome = self.carry_out(&mut connection, job, &mut clocks);
            self.board.job_ends(&clocks);
            outcome?;
        }
    }

    fn carry_out(
        &self,
        connection: &mut Option<Connection>,
        job: RowsJob,
        clocks: &mut RestoreClocks,
    ) -> Result<(), RestoreError> {
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(self.open()?),
        };
        let before = Instant::now();
        // A decoder takes hands itself, and may have to wait for the only one.
        let hand = (!matches!(job, RowsJob::Whole { .. })).then(|| self.lease.take());
        let (begin, cpu_before) = (Instant::now(), thread_cpu_ns());
        let outcome = match job {
            RowsJob::Frames { table, piece } => self.frames(connection, table, &piece),
            RowsJob::Rows { table, rows } => self.rows(connection, table, &rows),
            RowsJob::Whole { table } => self.whole(connection, table),
        };
        hand.into_iter().for_each(|hand| self.lease.give_back(hand));
        clocks.waiting_for_hands = begin - before;
        clocks.loading = begin.elapsed();
        clocks.computing = Duration::from_nanos(thread_cpu_ns().saturating_sub(cpu_before));
        outcome
    }

    /// A session with the archive's settings.
    fn open(&self) -> Result<Connection, RestoreError> {
        let mut connection = connect(&self.request.address)?;
        self.board.may_be_cancelled(&connection);
        set_up(&mut connection, self.settings)?;
        Ok(connection)
    }

    fn rows(&self, connection: &mut Connection, table: usize, rows: &HeldRows) -> Result<(), RestoreError> {
        let entry = &self.tables[table];
        let expected = row_count(&rows.chunk.bytes);
        let held = rows.chunk.bytes.len() as u64;
        let piece = LoadedPiece { rows: expected, bytes: held, stored: rows.stored, held };
        let place = PiecePlace { table, begin: rows.chunk.offset, end: rows.chunk.end() };
        self.transaction(connection, &place, &piece, |copy| {
            copy.write(&rows.chunk.bytes).map_err(|cause| self.refused(entry, cause))?;
            Ok(expected)
        })
    }

    fn frames(&self, connection: &mut Connection, table: usize, piece: &FramePiece) -> Result<(), RestoreError> {
        let entry = &self.tables[table];
        let bytes = piece.frames.iter().map(|frame| frame.bytes).sum();
        let loaded = LoadedPiece { rows: piece.rows, bytes, stored: piece.end - piece.begin, held: 0 };
        let place = PiecePlace { table, begin: piece.begin, end: piece.end };
        self.transaction(connection, &place, &loaded, |copy| self.write_frames(entry, &piece.frames, copy))
    }

    fn write_frames(
        &self,
        entry: &RestoreTable,
        frames: &[ArchiveFrame],
        copy: &mut CopyIn<'_>,
    ) -> Result<u64, RestoreError> {
        let mut reader = RowFrameReader::open(&entry.file)?;
        for frame in frames {
            copy.write(reader.read(frame)?).map_err(|cause| self.refused(entry, cause))?;
        }
        // The end of the file has no row, and is verified with the rows before it: pg_restore reads it, too.
        if let RowSource::Frames(table) = &entry.source
            && let Some(end) = table.frames.last().filter(|end| end.rows == 0)
            && frames.last().is_some_and(|last| last.offset + last.stored == end.offset)
        {
            reader.check_end(end)?;
        }
        Ok(frames.iter().map(|frame| frame.rows).sum())
    }

    /// All rows of a table in one COPY.
    fn whole(&self, connection: &mut Connection, table: usize) -> Result<(), RestoreError> {
        let entry = &self.tables[table];
        let loaded = LoadedPiece { stored: entry.stored, ..LoadedPiece::default() };
        let place = PiecePlace { table, begin: 0, end: WHOLE_END };
        self.transaction(connection, &place, &loaded, |copy| match &entry.source {
            RowSource::Frames(frames) => {
                let with_rows: Vec<ArchiveFrame> =
                    frames.frames.iter().filter(|frame| frame.rows > 0).cloned().collect();
                self.write_frames(entry, &with_rows, copy)
            }
            RowSource::Stream => {
                let mut rows = 0;
                let file = RowFile { entry, chunk_bytes: self.request.chunk_bytes, lease: self.lease };
                file.cut(&[], &mut |chunk, _| {
                    copy.write(&chunk.bytes).map_err(|cause| self.refused(entry, cause))?;
                    rows += row_count(&chunk.bytes);
                    Ok(!self.board.is_over())
                })?;
                Ok(rows)
            }
        })
    }

    /// One COPY with its line in the ledger; again, after a conflict with another transaction. `write` returns how many rows it has written.
    fn transaction(
        &self,
        connection: &mut Connection,
        place: &PiecePlace,
        piece: &LoadedPiece,
        write: impl Fn(&mut CopyIn<'_>) -> Result<u64, RestoreError>,
    ) -> Result<(), RestoreError> {
        let mut attempt = 0;
        let rows = loop {
            let outcome = self.attempt(connection, place, &write);
            let is_conflict = matches!(&outcome, Err(RestoreError::Server { cause, .. })
                if matches!(cause.kind(), ErrorKind::Deadlock | ErrorKind::Serialization));
            attempt += 1;
            if !is_conflict || attempt > CONFLICTS_MAX || self.board.is_over() {
                break outcome?;
            }
            let entry = &self.tables[place.table];
            connection.execute("rollback").map_err(|cause| self.refused(entry, cause))?;
            std::thread::sleep(AFTER_CONFLICT * attempt);
        };
        match self.board.piece_is_in(place.table, &LoadedPiece { rows, ..*piece }) {
            true => self.indexes.begin(connection, place.table),
            false => Ok(()),
        }
    }

    fn attempt(
        &self,
        connection: &mut Connection,
        place: &PiecePlace,
        write: &impl Fn(&mut CopyIn<'_>) -> Result<u64, RestoreError>,
    ) -> Result<u64, RestoreError> {
        let entry = &self.tables[place.table];
        let refused = |cause| self.refused(entry, cause);
        connection.execute("begin").map_err(refused)?;
        let mut copy = connection.copy_in(&entry.copy).map_err(refused)?;
        let expected = match write(&mut copy) {
            Ok(rows) => rows,
            Err(error) => {
                // The server drops what it has got.
                let _may_be_gone = copy.abort("the archive cannot be read on");
                return Err(error);
            }
        };
        let taken = copy.finish().map_err(refused)?.affected;
        if taken != expected {
            return Err(RestoreError::Rows { table: entry.name.clone(), expected, taken });
        }
        let note = self.ledger.note_piece(entry.entry, place.begin, place.end, expected);
        connection.execute(&format!("{note}; commit")).map_err(refused)?;
        Ok(expected)
    }

    fn refused(&self, entry: &RestoreTable, cause: WireError) -> RestoreError {
        RestoreError::Server { what: format!("restore rows of {}", entry.name), cause }
    }
}

/// Which rows of which table, as the ledger has it.
struct PiecePlace {
    table: usize,
    begin: u64,
    end: u64,
}

/// LIMIT: how often a piece is sent again: triggers may have connections wait for each other.
const CONFLICTS_MAX: u32 = 10;
/// The first wait before that; each one is longer.
const AFTER_CONFLICT: Duration = Duration::from_millis(20);

fn row_count(bytes: &[u8]) -> u64 {
    RowFormat::Text(TextFormat::default()).rows(bytes).count() as u64
}

/// Makes a session's settings. One that this server does not know has no meaning for it.
pub fn set_up(connection: &mut Connection, settings: &[String]) -> Result<(), RestoreError> {
    let failed = |cause| RestoreError::Server { what: "set up a session".to_owned(), cause };
    connection.execute("set application_name = 'mh db restore'").map_err(failed)?;
    for setting in settings.iter().map(String::as_str).chain([CHECKS_CONNECTION, "set idle_session_timeout = 0"]) {
        match connection.execute(setting) {
            Err(WireError::Server(error)) if matches!(error.sqlstate(), "42704" | "22023") => {}
            outcome => {
                outcome.map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// LIMIT: of one frame, which is about 4 MB or one row.
const FRAME_BYTES_MAX: u64 = 1 << 30;

/// Reads frames of a file with rows, and verifies them by `mh.index`.
pub struct RowFrameReader {
    path: PathBuf,
    file: File,
    decoder: Option<Box<dyn Decoder>>,
    stored: Vec<u8>,
    rows: ByteBuffer,
}

impl RowFrameReader {
    /// Of a file whose suffix names its compression.
    pub fn open(path: &Path) -> Result<Self, RestoreError> {
        let file = File::open(path).map_err(RestoreError::file("open", path))?;
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let format = match suffix {
            Some("dat" | "tsv") | None => None,
            Some(suffix) => Some(registry::by_name(suffix).ok_or_else(|| RestoreError::Damaged {
                file: path.display().to_string(),
                offset: 0,
                what: "an unknown compression".to_owned(),
            })?),
        };
        let limits = DecodeLimits {
            unit_uncompressed_bytes: FRAME_BYTES_MAX,
            unit_held_bytes: 2 * FRAME_BYTES_MAX,
            window_bytes: 128 << 20,
            dictionary: None,
            prefix: None,
            stream_bytes: 144 << 20,
            ahead_bytes: 0,
            streams_lone_unit: false,
        };
        let decoder = format.map(|format| format.decoder(&limits));
        Ok(Self { path: path.to_owned(), file, decoder, stored: Vec::new(), rows: ByteBuffer::default() })
    }

    /// The rows of a frame.
    pub fn read(&mut self, frame: &ArchiveFrame) -> Result<&[u8], RestoreError> {
        self.uncompress(frame)?;
        let rows = self.uncompressed();
        let (count, sum) = digest(rows);
        if rows.len() as u64 != frame.bytes || count != frame.rows || format!("{sum:032x}") != frame.digest {
            let what = "the rows are not those that were dumped, as mh.index has them";
            return Err(self.damaged(frame, what.to_owned()));
        }
        Ok(self.uncompressed())
    }

    /// Verifies what stands behind the last row.
    pub fn check_end(&mut self, frame: &ArchiveFrame) -> Result<(), RestoreError> {
        self.uncompress(frame)?;
        match self.uncompressed() == END_OF_ROWS {
            true => Ok(()),
            false => Err(self.damaged(frame, "what stands behind the last row is not its end".to_owned())),
        }
    }

    fn damaged(&self, frame: &ArchiveFrame, what: String) -> RestoreError {
        RestoreError::Damaged { file: self.path.display().to_string(), offset: frame.offset, what }
    }

    fn uncompressed(&self) -> &[u8] {
        if self.decoder.is_some() { self.rows.content() } else { &self.stored }
    }

    fn uncompress(&mut self, frame: &ArchiveFrame) -> Result<(), RestoreError> {
        let damaged =
            |what: String| RestoreError::Damaged { file: self.path.display().to_string(), offset: frame.offset, what };
        let status = self.file.metadata().map_err(RestoreError::file("read", &self.path))?;
        // An index says what it likes: no memory is taken for bytes that are not there.
        if frame.offset.checked_add(frame.stored).is_none_or(|end| end > status.len()) {
            return Err(damaged(format!("mh.index has {} bytes of rows behind the end of the file", frame.stored)));
        }
        let bytes = usize::try_from(frame.stored).map_err(|error| damaged(error.to_string()))?;
        self.stored.resize(bytes, 0);
        self.file.read_exact_at(&mut self.stored, frame.offset).map_err(RestoreError::file("read", &self.path))?;
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        self.rows.clear();
        let whole = [frame.stored];
        let units = if frame.units.is_empty() { &whole[..] } else { &frame.units };
        let mut rest = self.stored.as_slice();
        for unit in units {
            let unit = usize::try_from(*unit).ok().and_then(|bytes| rest.split_off(..bytes));
            let unit = unit.ok_or_else(|| damaged("mh.index has units beyond their frame".to_owned()))?;
            let left = frame.bytes.saturating_sub(self.rows.content().len() as u64);
            decoder
                .decode(unit, 0, left.min(FRAME_BYTES_MAX), &mut self.rows, &mut Pause::never())
                .map_err(|defect| damaged(defect.to_string()))?;
        }
        Ok(())
    }
}
