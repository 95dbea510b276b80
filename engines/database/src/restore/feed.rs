//! Feeds tables: frames of our archives as they are listed, files of pg_dump as rows that are cut here. What an interrupted restore had done is left out.

use super::board::{HeldRows, RestoreBoard};
use super::ledger::RestoreLedger;
use super::making::IndexMaking;
use super::tables::{RestoreTable, RowSource, pieces};
use super::{RestoreError, RestoreRequest};
use crate::chunks::{ChunkCutter, ChunkRules, CutFailure};
use crate::inputs::{InputReading, LoadInput, ReadTally};
use crate::rows::{RowFormat, TextFormat};
use crew::budget::Lease;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::Connection;

/// LIMIT: the server's own for a row of COPY.
const ROW_BYTES_MAX: usize = 1 << 30;

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
        let is_compressed = entry.file.extension().is_some_and(|suffix| suffix != "dat");
        let failed = |cause| RestoreError::file("read", &entry.file)(cause);
        let tally = ReadTally::default();
        let cut = if is_compressed {
            let how = InputReading { lease: self.lease, decoders: DECODERS, tally: &tally };
            let input = LoadInput::Path(entry.file.clone());
            input.with_bytes(&how, |reader| self.cut_rows(table, entry, reader, Some(&tally))).map_err(failed)?
        } else {
            // Whatever its first bytes are: they are rows.
            let mut file = File::open(&entry.file).map_err(failed)?;
            self.cut_rows(table, entry, &mut file, None)
        };
        cut.map_err(|failure| match failure {
            CutFailure::Read(cause) => failed(cause),
            CutFailure::Defect(place, defect) => RestoreError::Damaged {
                file: entry.file.display().to_string(),
                offset: place.offset,
                what: format!("line {}: {defect}", place.line),
            },
        })
    }

    /// `tally` counts bytes of a compressed file.
    fn cut_rows(
        &self,
        table: usize,
        entry: &RestoreTable,
        reader: &mut dyn Read,
        tally: Option<&ReadTally>,
    ) -> Result<(), CutFailure> {
        let rules = ChunkRules {
            format: RowFormat::Text(TextFormat::default()),
            chunk_bytes: self.request.chunk_bytes,
            row_bytes_max: ROW_BYTES_MAX,
            has_header: false,
            is_of_database: true,
            refuses_end_marker: false,
        };
        let done = self.ledger.pieces_of(entry.entry);
        let mut done = done.iter().peekable();
        let mut cutter = ChunkCutter::new(&rules, table, reader);
        let mut stored_before = 0;
        let held_bytes = self.request.chunk_bytes as u64 * (self.request.connections as u64 + 1);
        loop {
            while let Some((_, end)) = done.next_if(|(begin, _)| *begin <= cutter.offset()) {
                // LIMIT: lines are counted from where a restore has gone on.
                cutter.skip_to(*end, 1)?;
            }
            let until = done.peek().map(|(begin, _)| *begin);
            let Some(chunk) = cutter.next(until, Vec::new())? else { break };
            let stored_now = tally.map_or(cutter.offset(), ReadTally::bytes);
            let stored = stored_now - stored_before;
            stored_before = stored_now;
            if !self.board.add_rows(table, HeldRows { chunk, stored }, held_bytes) {
                return Ok(());
            }
        }
        if cutter.ended_at_marker() {
            return Ok(());
        }
        let cause =
            io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before the line '\\.' that ends its rows");
        Err(CutFailure::Read(cause))
    }
}
