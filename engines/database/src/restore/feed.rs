//! Feeds tables: frames of our archives as they are listed, files of pg_dump as rows that are cut here. What an interrupted restore had done is left out.

use super::board::{HeldRows, RestoreBoard};
use super::ledger::RestoreLedger;
use super::making::IndexMaking;
use super::tables::{RestoreTable, RowSource, pieces};
use super::{RestoreError, RestoreRequest};
use crate::chunks::{ChunkCutter, ChunkRules, CutFailure, RowChunk};
use crate::inputs::{InputReading, LoadInput, ReadTally};
use crate::rows::{RowFormat, TextFormat};
use crew::budget::Lease;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::Connection;

/// LIMIT: the server's own for a row of COPY.
const ROW_BYTES_MAX: usize = 1 << 30;

/// Where a table ends that is one piece, whatever its size.
pub const WHOLE_END: u64 = i64::MAX as u64;

/// Hands for decoding one file.
const DECODERS: usize = 2;

/// What feeders share.
pub struct Feeding<'a> {
    pub request: &'a RestoreRequest,
    pub tables: &'a [RestoreTable],
    /// In which order.
    pub order: &'a [usize],
    /// The place of the next one in that order.
    pub next: &'a AtomicUsize,
    pub ledger: &'a RestoreLedger,
    pub board: &'a RestoreBoard,
    pub lease: &'a dyn Lease,
    /// Where a table goes when its rows are in.
    pub indexes: &'a IndexMaking<'a>,
    /// A connection for questions.
    pub leader: &'a Mutex<Connection>,
    /// Whether a table waits until the one before it is loaded.
    pub in_order: bool,
    /// Tables with a foreign key to themselves, which are there with it.
    pub referring: &'a HashSet<usize>,
}

impl Feeding<'_> {
    /// Feeds tables until there are none left.
    pub fn run(&self) {
        while let Some(&table) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let fed = self.board.ends_with(self.feed(table));
            if fed.is_none() || self.board.is_over() {
                break;
            }
            if self.board.fed(table) {
                let begun = self.indexes.begin(&mut self.leader.lock(), table);
                if self.board.ends_with(begun).is_none() {
                    break;
                }
            }
            if self.in_order && !self.board.wait_until_loaded(table) {
                break;
            }
        }
        self.board.feeder_ends();
    }

    fn feed(&self, table: usize) -> Result<(), RestoreError> {
        let entry = &self.tables[table];
        if self.referring.contains(&table) {
            match self.ledger.has_piece(entry.entry, 0, WHOLE_END) {
                true => self.board.was_in(entry.stored),
                false => self.board.add_whole(table),
            }
            return Ok(());
        }
        match &entry.source {
            RowSource::Frames(frames) => {
                let (done, left): (Vec<_>, Vec<_>) = pieces(frames)
                    .into_iter()
                    .partition(|piece| self.ledger.has_piece(entry.entry, piece.begin, piece.end));
                self.board.was_in(done.iter().map(|piece| piece.end - piece.begin).sum());
                self.board.add_frames(table, left);
                Ok(())
            }
            RowSource::Stream => self.cut(table, entry),
        }
    }

    fn cut(&self, table: usize, entry: &RestoreTable) -> Result<(), RestoreError> {
        let done = self.ledger.pieces_of(entry.entry);
        let held_bytes = self.request.chunk_bytes as u64 * (self.request.connections as u64 + 1);
        let mut stored_before = 0;
        let file = RowFile { entry, chunk_bytes: self.request.chunk_bytes, lease: self.lease };
        file.cut(&done, &mut |chunk, stored_now| {
            let stored = stored_now - stored_before;
            stored_before = stored_now;
            Ok(self.board.add_rows(table, HeldRows { chunk, stored }, held_bytes))
        })
    }
}

/// A table's file that is one stream.
pub struct RowFile<'a> {
    pub entry: &'a RestoreTable,
    pub chunk_bytes: usize,
    pub lease: &'a dyn Lease,
}

/// Takes rows, and how many bytes of the file they and those before come from, about; false ends the cutting.
type TakeRows<'a> = &'a mut dyn FnMut(RowChunk, u64) -> Result<bool, RestoreError>;

impl RowFile<'_> {
    /// Cuts it into whole rows, but for pieces that are done.
    pub fn cut(&self, done: &[(u64, u64)], take: TakeRows<'_>) -> Result<(), RestoreError> {
        let entry = self.entry;
        let is_compressed = entry.file.extension().is_some_and(|suffix| suffix != "dat");
        let failed = |cause| RestoreError::file("read", &entry.file)(cause);
        let tally = ReadTally::default();
        if is_compressed {
            let how = InputReading { lease: self.lease, decoders: DECODERS, tally: &tally };
            let input = LoadInput::Path(entry.file.clone());
            return input.with_bytes(&how, |reader| self.cut_rows(done, reader, Some(&tally), take)).map_err(failed)?;
        }
        // Whatever its first bytes are: they are rows.
        let mut file = File::open(&entry.file).map_err(failed)?;
        self.cut_rows(done, &mut file, None, take)
    }

    fn failure(&self, failure: CutFailure) -> RestoreError {
        match failure {
            CutFailure::Read(cause) => RestoreError::file("read", &self.entry.file)(cause),
            CutFailure::Defect(place, defect) => RestoreError::Damaged {
                file: self.entry.file.display().to_string(),
                offset: place.offset,
                what: format!("line {}: {defect}", place.line),
            },
        }
    }

    /// `tally` counts bytes of a compressed file.
    fn cut_rows(
        &self,
        done: &[(u64, u64)],
        reader: &mut dyn Read,
        tally: Option<&ReadTally>,
        take: TakeRows<'_>,
    ) -> Result<(), RestoreError> {
        let rules = ChunkRules {
            format: RowFormat::Text(TextFormat::default()),
            chunk_bytes: self.chunk_bytes,
            row_bytes_max: ROW_BYTES_MAX,
            has_header: false,
            is_of_database: true,
            refuses_end_marker: false,
        };
        let mut done = done.iter().peekable();
        let mut cutter = ChunkCutter::new(&rules, 0, reader);
        loop {
            while let Some((_, end)) = done.next_if(|(begin, _)| *begin <= cutter.offset()) {
                // LIMIT: lines are counted from where a restore has gone on.
                cutter.skip_to(*end, 1).map_err(|failure| self.failure(failure))?;
            }
            let until = done.peek().map(|(begin, _)| *begin);
            let next = cutter.next(until, Vec::new()).map_err(|failure| self.failure(failure))?;
            let Some(chunk) = next else { break };
            if !take(chunk, tally.map_or(cutter.offset(), ReadTally::bytes))? {
                return Ok(());
            }
        }
        if cutter.ended_at_marker() {
            return Ok(());
        }
        let what = "the file ends before the line '\\.' that ends its rows";
        Err(self.failure(CutFailure::Read(io::Error::new(io::ErrorKind::UnexpectedEof, what))))
    }
}
