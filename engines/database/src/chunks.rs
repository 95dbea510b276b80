//! Cuts the bytes of inputs into chunks of whole rows. A chunk knows its place in its input, so that every message has file, line and offset.
//! Does not open inputs (`inputs.rs`) and does not look into rows.

use crate::error::InputDefect;
use crate::rows::{RowFormat, RowScan, without_line_end};
use memchr::{memchr, memchr_iter, memmem};
use std::io::{self, Read};

/// Whole rows of one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChunk {
    /// Which input.
    pub input: usize,
    /// Where it begins there, in uncompressed bytes.
    pub offset: u64,
    /// The line that it begins with, from 1.
    pub first_line: u64,
    /// How many line ends it has.
    pub lines: u64,
    /// The rows.
    pub bytes: Vec<u8>,
}

impl RowChunk {
    /// Where it ends in its input.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// The place of the byte at `at`, for a message.
    pub fn place(&self, at: usize) -> RowPlace {
        let lines = memchr_iter(b'\n', &self.bytes[..at.min(self.bytes.len())]).count() as u64;
        RowPlace { input: self.input, line: self.first_line + lines, offset: self.offset + at as u64 }
    }
}

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPlace {
    /// Which input.
    pub input: usize,
    /// The line, from 1.
    pub line: u64,
    /// The byte, from 0, of the uncompressed bytes.
    pub offset: u64,
}

/// How inputs are cut.
#[derive(Clone, Debug)]
pub struct ChunkRules {
    /// How rows are written.
    pub format: RowFormat,
    /// How many bytes a chunk has, unless a row is longer.
    pub chunk_bytes: usize,
    /// LIMIT: the longest row.
    pub row_bytes_max: usize,
    /// Whether the first row of each input is no data.
    pub has_header: bool,
    /// Whether the first byte may be anything: a database has written them, no editor.
    pub is_of_database: bool,
    /// Whether a line of a backslash and a point is refused in CSV, where the server would take it for the end of the data.
    pub refuses_end_marker: bool,
}

/// Cuts one input.
pub struct ChunkCutter<'a> {
    rules: &'a ChunkRules,
    input: usize,
    reader: &'a mut dyn Read,
    /// What was read and not handed over; it begins with a row.
    block: Vec<u8>,
    scan: RowScan,
    offset: u64,
    line: u64,
    state: CutterState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutterState {
    /// Nothing was read.
    Begins,
    /// Rows follow.
    Within,
    /// The input has no more bytes.
    Ended,
    /// A text's end marker was found: blank lines may follow.
    BehindEndMarker,
}

/// Why an input gives no more chunks.
#[derive(Debug)]
pub enum CutFailure {
    /// It cannot be read on.
    Read(io::Error),
    /// It is not what it should be, at a place.
    Defect(RowPlace, InputDefect),
}

impl From<io::Error> for CutFailure {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl<'a> ChunkCutter<'a> {
    /// Cuts what `reader` gives, as input number `input`.
    pub fn new(rules: &'a ChunkRules, input: usize, reader: &'a mut dyn Read) -> Self {
        let (block, scan) = (Vec::new(), RowScan::default());
        Self { rules, input, reader, block, scan, offset: 0, line: 1, state: CutterState::Begins }
    }

    /// Where the next chunk begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the line that ends data of COPY was met.
    pub fn ended_at_marker(&self) -> bool {
        self.state == CutterState::BehindEndMarker
    }

    /// The first row of an input with a header; none if it is empty. To be called before chunks are asked for.
    pub fn header(&mut self) -> Result<Option<Vec<u8>>, CutFailure> {
        self.begin()?;
        if !self.rules.has_header {
            return Ok(None);
        }
        self.read_a_row()?;
        let Some(row) = self.rules.format.rows(&self.block).next() else { return Ok(None) };
        let header = self.block[row.clone()].to_vec();
        self.drop_front(row.end);
        Ok(Some(header))
    }

    /// Passes over what lies before `offset`, which a row begins at, on `line`.
    pub fn skip_to(&mut self, offset: u64, line: u64) -> Result<(), CutFailure> {
        while self.offset < offset {
            if self.block.is_empty() && self.read_more(READ_BYTES)? == 0 {
                break;
            }
            let count = usize::try_from(offset - self.offset).unwrap_or(usize::MAX).min(self.block.len());
            self.block.drain(..count);
            self.offset += count as u64;
            self.scan = RowScan::default();
        }
        self.scan = RowScan::default();
        self.scan.advance(&self.rules.format, &self.block);
        self.line = line;
        Ok(())
    }

    /// The next chunk, which ends at `until` at the latest, if that is given: a row begins there. `emptied` is memory to use again.
    pub fn next(&mut self, until: Option<u64>, emptied: Vec<u8>) -> Result<Option<RowChunk>, CutFailure> {
        self.begin()?;
        let room = until.map_or(u64::MAX, |until| until - self.offset);
        let wanted = usize::try_from(room).unwrap_or(usize::MAX).min(self.rules.chunk_bytes);
        while self.scan.end() == 0 || self.block.len() < wanted {
            if self.block.len() > self.rules.row_bytes_max {
                return Err(self.too_long());
            }
            let missing = wanted.saturating_sub(self.block.len());
            if self.read_more(missing.clamp(LOOKED_AT_BYTES.min(self.rules.chunk_bytes), READ_BYTES))? == 0 {
                break;
            }
        }
        if self.block.is_empty() {
            return Ok(None);
        }
        let end = match self.scan.end() {
            0 => self.open_end()?,
            // What lies behind the limit was read before the limit was known.
            end => usize::try_from(room).unwrap_or(usize::MAX).min(end),
        };
        let chunk = self.take(end, emptied);
        self.look_into(chunk)
    }

    /// The last row has no line end.
    fn open_end(&self) -> Result<usize, CutFailure> {
        match self.scan.ends_in_quotes() {
            true => Err(self.defect(self.open_quote(), InputDefect::OpenQuote)),
            false => Ok(self.block.len()),
        }
    }

    /// Where the quote stands that nothing closes: the last that opens one.
    fn open_quote(&self) -> usize {
        let RowFormat::Csv(csv) = &self.rules.format else { return 0 };
        let (mut at, mut is_quoted, mut opened) = (0, false, 0);
        while let Some(distance) = memchr::memchr2(csv.quote, csv.escape, self.block.get(at..).unwrap_or_default()) {
            at += distance;
            if self.block[at] == csv.quote {
                is_quoted = !is_quoted;
                opened = if is_quoted { at } else { opened };
                at += 1;
            } else {
                at += if is_quoted { 2 } else { 1 };
            }
        }
        opened
    }

    fn too_long(&self) -> CutFailure {
        let at = if self.scan.ends_in_quotes() { self.open_quote() } else { 0 };
        let is_quoted = self.scan.ends_in_quotes();
        self.defect(at, InputDefect::LongRow { limit: self.rules.row_bytes_max, is_quoted })
    }

    fn defect(&self, at: usize, defect: InputDefect) -> CutFailure {
        let lines = memchr_iter(b'\n', &self.block[..at]).count() as u64;
        let place = RowPlace { input: self.input, line: self.line + lines, offset: self.offset + at as u64 };
        CutFailure::Defect(place, defect)
    }

    /// Looks at how the input begins.
    fn begin(&mut self) -> Result<(), CutFailure> {
        if self.state != CutterState::Begins {
            return Ok(());
        }
        self.state = CutterState::Within;
        if self.rules.is_of_database {
            return Ok(());
        }
        let looked_at = LOOKED_AT_BYTES.min(self.rules.chunk_bytes.max(BYTE_ORDER_MARK.len()));
        while self.block.len() < looked_at && self.read_more(looked_at)? > 0 {}
        if self.block.starts_with(&[0xff, 0xfe]) || self.block.starts_with(&[0xfe, 0xff]) {
            return Err(self.defect(0, InputDefect::Utf16));
        }
        if self.block.starts_with(BYTE_ORDER_MARK) {
            self.block.drain(..BYTE_ORDER_MARK.len());
            self.offset += BYTE_ORDER_MARK.len() as u64;
            self.scan = RowScan::default();
            self.scan.advance(&self.rules.format, &self.block);
        }
        let has_old_line_ends = memchr(b'\n', &self.block).is_none() && memchr_iter(b'\r', &self.block).count() > 1;
        if has_old_line_ends {
            return Err(self.defect(0, InputDefect::ReturnsAlone));
        }
        Ok(())
    }

    fn read_a_row(&mut self) -> Result<(), CutFailure> {
        while self.rules.format.rows(&self.block).next().is_none_or(|row| row.end == self.block.len()) {
            if self.block.len() > self.rules.row_bytes_max {
                return Err(self.too_long());
            }
            if self.read_more(LOOKED_AT_BYTES)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Reads so many bytes more, or fewer; none at the end.
    fn read_more(&mut self, bytes: usize) -> io::Result<usize> {
        if self.state == CutterState::Ended || self.state == CutterState::BehindEndMarker {
            return Ok(0);
        }
        let from = self.block.len();
        self.block.resize(from + bytes, 0);
        let read = loop {
            match self.reader.read(&mut self.block[from..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        let count = *read.as_ref().unwrap_or(&0);
        self.block.truncate(from + count);
        self.scan.advance(&self.rules.format, &self.block);
        if count == 0 {
            self.state = CutterState::Ended;
        }
        read
    }

    fn drop_front(&mut self, count: usize) {
        self.line += memchr_iter(b'\n', &self.block[..count]).count() as u64;
        self.offset += count as u64;
        self.block.drain(..count);
        self.scan = RowScan::default();
        self.scan.advance(&self.rules.format, &self.block);
    }

    /// Hands over what lies before `end`, and keeps what follows.
    fn take(&mut self, end: usize, mut emptied: Vec<u8>) -> RowChunk {
        emptied.clear();
        emptied.extend_from_slice(&self.block[end..]);
        self.block.truncate(end);
        let is_last_end = end == self.scan.end();
        self.scan = if is_last_end { self.scan.behind_the_end() } else { RowScan::default() };
        let bytes = std::mem::replace(&mut self.block, emptied);
        self.scan.advance(&self.rules.format, &self.block);
        let lines = memchr_iter(b'\n', &bytes).count() as u64;
        let chunk = RowChunk { input: self.input, offset: self.offset, first_line: self.line, lines, bytes };
        self.offset += chunk.bytes.len() as u64;
        self.line += lines;
        chunk
    }

    /// Looks for the line that ends data of COPY: `\.`.
    fn look_into(&mut self, mut chunk: RowChunk) -> Result<Option<RowChunk>, CutFailure> {
        let is_text = matches!(self.rules.format, RowFormat::Text(_));
        if !is_text && !self.rules.refuses_end_marker {
            return Ok(Some(chunk));
        }
        let Some(at) = end_marker(&self.rules.format, &chunk.bytes) else { return Ok(Some(chunk)) };
        let is_the_end = is_text && self.is_blank_behind(&chunk.bytes[at..])?;
        if !is_the_end {
            return Err(CutFailure::Defect(chunk.place(at), InputDefect::EndMarker));
        }
        chunk.bytes.truncate(at);
        Ok(if chunk.bytes.is_empty() { None } else { Some(chunk) })
    }

    /// COMPAT: pg_dump ends a table's file with the marker and two empty lines.
    fn is_blank_behind(&mut self, rest: &[u8]) -> Result<bool, CutFailure> {
        let is_blank = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
        let behind = &rest[without_line_end(&rest[..memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)]).len()..];
        if !is_blank(behind) || !is_blank(&self.block) {
            return Ok(false);
        }
        let mut more = [0; 64];
        if self.state != CutterState::Ended && (self.reader.read(&mut more)? > 0) && !is_blank(&more[..1]) {
            return Ok(false);
        }
        self.block.clear();
        self.scan = RowScan::default();
        self.state = CutterState::BehindEndMarker;
        Ok(true)
    }
}

/// LIMIT: how much is looked at to see line ends and a header.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// What a read asks for at once: memory for more would be cleared again and again while a pipe brings little.
const READ_BYTES: usize = 1 << 20;

/// UTF-8's, which some programs write before the first field.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where a line begins that is the end marker and a row of its own.
fn end_marker(format: &RowFormat, bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, b"\\.")?;
    let is_marker = |row: &std::ops::Range<usize>| without_line_end(&bytes[row.clone()]) == b"\\.";
    format.rows(bytes).find(is_marker).map(|row| row.start)
}

#[cfg(test)]
mod tests;
