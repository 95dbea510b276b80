//! Decodes bzip2 blocks with mibz2: single ones for a worker, and whole inputs in series where they cannot be divided.
//! Every block's checksum is compared before a byte of it is handed on; the streams' checksums are `cut`'s business, or
//! the series' own. No more than a limit comes out of a block at once, however long its runs are.

use super::container::{BlockPlace, HEADER_BYTES, defect, folded, uncompressed_bound};
use super::cut::{BLOCK_BYTES_MAX, Between, between_streams, check_stream};
use super::runs::UndoneRuns;
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Decoder, SegmentFill, StreamDecoder};
use crew::pipeline::{CutTurn, Pause};
use mibz2::Kernels;
use mibz2::bits::Bits;
use mibz2::block::{Item, MAX_SYMS, Symbols, read_item};
use mibz2::bwt::{InverseBwt, Segmented};
use mibz2::crc::{crc32, update};
use mibz2::mtf::mtf;
use mibz2::rle::unrle;

/// Buffers for one block after another. About 8 MB at the largest level.
struct BlockBuffers {
    kernels: Kernels,
    symbols: Vec<u16>,
    column: Vec<u8>,
    counts: [u32; 256],
    inverse: Segmented,
    /// The block's bytes, its runs still shortened.
    shortened: Vec<u8>,
    /// Of them without shortened runs.
    crc: u32,
    /// What comes out of it, as a whole or in pieces.
    uncompressed: Vec<u8>,
}

/// LIMIT: what a buffer keeps from one block to the next; a block of long runs comes to 46 MB, and hardly ever comes.
const KEPT_BYTES: usize = 4 << 20;

/// A segment of a block.
const SEGMENT_BYTES: usize = 64 << 10;

/// What stands at a bit: a block's symbols or the end of the stream, and the bit behind it.
enum Read {
    Block {
        symbols: Box<Symbols>,
        end: u64,
    },
    End,
    /// The bytes end before.
    Cut,
}

impl BlockBuffers {
    fn new() -> Self {
        Self {
            kernels: Kernels::detect(),
            symbols: Vec::with_capacity(MAX_SYMS),
            column: Vec::new(),
            counts: [0; 256],
            inverse: Segmented::default(),
            shortened: Vec::new(),
            crc: 0,
            uncompressed: Vec::new(),
        }
    }

    /// Reads the Huffman codes of the block at a bit.
    fn read(&mut self, compressed: &[u8], bit: u64, level: u32) -> Result<Read, UnitDefect> {
        let mut bits = Bits::at(compressed, bit);
        let item = read_item(&mut bits, level, std::mem::take(&mut self.symbols));
        let (overran, end) = (bits.overran(), bits.bit_pos());
        match item {
            Ok(Item::Block(symbols)) if !overran => Ok(Read::Block { symbols: Box::new(symbols), end }),
            Ok(Item::Block(symbols)) => {
                self.symbols = symbols.syms;
                Ok(Read::Cut)
            }
            Ok(Item::End(_)) => Ok(Read::End),
            Err((kind, symbols)) => {
                self.symbols = symbols;
                if overran { Ok(Read::Cut) } else { Err(defect(&kind)) }
            }
        }
    }

    /// Turns symbols into the block's bytes, with runs still shortened.
    fn decode(&mut self, symbols: Box<Symbols>) -> Result<(), UnitDefect> {
        self.shortened.clear();
        self.crc = symbols.crc;
        let rows = mtf(&symbols, &mut self.column, &mut self.counts, self.kernels);
        let origin = symbols.orig_ptr;
        self.symbols = symbols.syms;
        if origin as usize >= rows.map_err(|kind| defect(&kind))? {
            return Err(defect(&mibz2::ErrorKind::BadOrigPtr));
        }
        self.inverse.invert(&self.column, &self.counts, origin, &mut self.shortened);
        Ok(())
    }

    /// The whole block behind `uncompressed`, its checksum compared.
    fn append_whole(&mut self, uncompressed: &mut ByteBuffer) -> Result<(), UnitDefect> {
        self.uncompressed.clear();
        self.uncompressed.shrink_to(KEPT_BYTES);
        unrle(&self.shortened, &mut self.uncompressed, self.kernels).map_err(|kind| defect(&kind))?;
        self.check(crc32(&self.uncompressed, self.kernels))?;
        uncompressed.append(&self.uncompressed);
        Ok(())
    }

    /// The same for a block that comes to no more than `limit`, without holding more. Of any other nothing is left behind.
    fn append_within(&mut self, limit: u64, uncompressed: &mut ByteBuffer) -> Result<(), UnitDefect> {
        let begins = uncompressed.len();
        let appended = self.append_segments(limit, uncompressed);
        if appended.is_err() {
            uncompressed.truncate(begins);
        }
        appended
    }

    fn append_segments(&mut self, limit: u64, uncompressed: &mut ByteBuffer) -> Result<(), UnitDefect> {
        let (mut runs, mut register) = (UndoneRuns::default(), !0);
        let begins = uncompressed.len();
        while !runs.are_all(&self.shortened) {
            self.uncompressed.clear();
            runs.go_on(&self.shortened, SEGMENT_BYTES, &mut self.uncompressed)?;
            register = update(register, &self.uncompressed);
            let bytes = (uncompressed.len() - begins + self.uncompressed.len()) as u64;
            if bytes > limit {
                return Err(UnitDefect::Length { stored: bytes, actual: limit });
            }
            uncompressed.append(&self.uncompressed);
        }
        self.check(!register)
    }

    /// Compares the checksum without keeping what comes out.
    fn check_in_segments(&mut self) -> Result<(), UnitDefect> {
        let (mut runs, mut register) = (UndoneRuns::default(), !0);
        while !runs.are_all(&self.shortened) {
            self.uncompressed.clear();
            runs.go_on(&self.shortened, SEGMENT_BYTES, &mut self.uncompressed)?;
            register = update(register, &self.uncompressed);
        }
        self.check(!register)
    }

    fn check(&self, computed: u32) -> Result<(), UnitDefect> {
        let stored = self.crc;
        if stored == computed { Ok(()) } else { Err(defect(&mibz2::ErrorKind::BlockCrc { stored, computed })) }
    }
}

/// Decodes blocks whose place is known.
pub(super) struct Bzip2BlockDecoder {
    buffers: BlockBuffers,
}

impl Bzip2BlockDecoder {
    pub fn new() -> Self {
        Self { buffers: BlockBuffers::new() }
    }
}

impl Decoder for Bzip2BlockDecoder {
    /// A block that is sound but does not end where it should is added all the same, and its end is the defect.
    fn decode(
        &mut self,
        compressed: &[u8],
        parameters: u64,
        uncompressed_limit: u64,
        uncompressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect> {
        let place = BlockPlace::uncompressed(parameters);
        let misplaced = UnitDefect::Bzip2("neither a block nor the end of the stream begins where it ends");
        let (symbols, end) = match self.buffers.read(compressed, u64::from(place.start_bit), place.level)? {
            Read::Block { symbols, end } => (symbols, end),
            Read::End => return Err(UnitDefect::Bzip2("the stream ends where it should begin")),
            Read::Cut if place.end_bit.is_none() && compressed.len() < BLOCK_BYTES_MAX => {
                return Err(UnitDefect::Truncated);
            }
            Read::Cut => return Err(UnitDefect::Bzip2("it goes on where another block should begin")),
        };
        self.buffers.decode(symbols)?;
        if place.is_only_reading || uncompressed_limit >= uncompressed_bound(place.level) {
            self.buffers.append_whole(uncompressed)?;
        } else {
            self.buffers.append_within(uncompressed_limit, uncompressed)?;
        }
        let expected_end = place.end_bit.map(|bit| {
            let whole_bytes = compressed.len() as u64 - u64::from(bit > 0);
            whole_bytes * 8 + u64::from(bit)
        });
        match expected_end {
            Some(expected) if expected == end => Ok(()),
            None if end + 80 > compressed.len() as u64 * 8 => Err(UnitDefect::Truncated),
            _ => Err(misplaced),
        }
    }
}

/// Decodes one block after another to the end of the input: where a block's end cannot be foreseen.
pub(super) struct SeriesDecoder {
    buffers: BlockBuffers,
    streams: u64,
    blocks: u64,
    at: At,
    /// How much of the last block has been handed on.
    handed_on: UndoneRuns,
}

/// What stands at the reader's position.
enum At {
    BetweenStreams,
    /// A mark at a bit of the first byte.
    Mark {
        bit: u32,
        level: u32,
        crc: u32,
    },
    /// The same, with a block whose bytes have been handed on already.
    KnownBlock {
        bit: u32,
        level: u32,
        crc: u32,
    },
}

impl SeriesDecoder {
    /// Begins where a stream begins, behind so many others.
    pub fn at_a_stream(streams: u64) -> Self {
        Self {
            buffers: BlockBuffers::new(),
            streams,
            blocks: 0,
            at: At::BetweenStreams,
            handed_on: UndoneRuns::default(),
        }
    }

    /// Begins at a block that was cut, or behind it when its bytes `are_handed_on`.
    pub fn at_a_block(parameters: u64, are_handed_on: bool) -> Self {
        let BlockPlace { start_bit: bit, level, crc_before: crc, .. } = BlockPlace::uncompressed(parameters);
        let at = if are_handed_on { At::KnownBlock { bit, level, crc } } else { At::Mark { bit, level, crc } };
        Self { buffers: BlockBuffers::new(), streams: 1, blocks: 0, at, handed_on: UndoneRuns::default() }
    }

    /// Goes on to the next block and decodes it. Returns whether there was one.
    fn next_block(&mut self, input: &mut CompressedReader, turn: &mut CutTurn<'_>) -> Result<bool, CutError> {
        loop {
            match self.at {
                At::BetweenStreams => match between_streams(input, self.streams)? {
                    Between::End => return Ok(false),
                    Between::Padding { bytes } => {
                        input.skip(bytes)?;
                    }
                    Between::Header { level } => {
                        input.consume(HEADER_BYTES);
                        self.at = At::Mark { bit: 0, level, crc: 0 };
                    }
                },
                At::Mark { bit, level, crc } => match self.symbols(input, turn, bit, level)? {
                    Some((symbols, end)) => {
                        let crc = folded(crc, symbols.crc);
                        let buffers = &mut self.buffers;
                        turn.with_hand(|| buffers.decode(symbols).and_then(|()| buffers.check_in_segments()))?;
                        self.handed_on = UndoneRuns::default();
                        self.go_to(input, end, level, crc);
                        return Ok(true);
                    }
                    None => self.end_stream(input, bit, crc)?,
                },
                At::KnownBlock { bit, level, crc } => {
                    let (symbols, end) = self.symbols(input, turn, bit, level)?.ok_or(UnitDefect::Truncated)?;
                    self.go_to(input, end, level, folded(crc, symbols.crc));
                    self.buffers.symbols = symbols.syms;
                }
            }
        }
    }

    fn go_to(&mut self, input: &mut CompressedReader, end: u64, level: u32, crc: u32) {
        input.consume(usize::try_from(end / 8).expect("in memory"));
        self.blocks += 1;
        self.at = At::Mark { bit: (end % 8) as u32, level, crc };
    }

    /// The symbols of the block at a bit, and where it ends; `None` at the stream's end.
    fn symbols(
        &mut self,
        input: &mut CompressedReader,
        turn: &mut CutTurn<'_>,
        bit: u32,
        level: u32,
    ) -> Result<Option<(Box<Symbols>, u64)>, CutError> {
        // Few blocks are longer than the first glance; a pipe brings what it has.
        let mut at_least = 1 << 10;
        loop {
            let (bytes, at_end) = input.ahead(at_least, 1 << 20)?;
            let shown = bytes.len();
            let buffers = &mut self.buffers;
            match turn.with_hand(|| buffers.read(bytes, u64::from(bit), level))? {
                Read::Block { symbols, end } => return Ok(Some((symbols, end))),
                Read::End => return Ok(None),
                Read::Cut if at_end => return Err(UnitDefect::Truncated.into()),
                Read::Cut if shown >= BLOCK_BYTES_MAX => {
                    return Err(UnitDefect::Bzip2("it is longer than any block is").into());
                }
                Read::Cut => at_least = (shown * 2).clamp(1 << 10, BLOCK_BYTES_MAX),
            }
        }
    }

    fn end_stream(&mut self, input: &mut CompressedReader, bit: u32, crc: u32) -> Result<(), CutError> {
        let mark_bytes = (bit as usize + 80).div_ceil(8);
        let bytes = input.peek(mark_bytes, mark_bytes)?;
        check_stream(bytes, u64::from(bit), crc)?;
        input.consume(mark_bytes);
        self.streams += 1;
        self.at = At::BetweenStreams;
        Ok(())
    }
}

impl StreamDecoder for SeriesDecoder {
    fn units_behind(&self) -> u64 {
        self.blocks
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        while uncompressed.len() < segment_bytes {
            if self.handed_on.are_all(&self.buffers.shortened) {
                if !uncompressed.is_empty() && input.would_wait() {
                    break;
                }
                if !self.next_block(input, turn)? {
                    return Ok(SegmentFill::Last(None));
                }
            }
            let BlockBuffers { shortened, uncompressed: segment, .. } = &mut self.buffers;
            segment.clear();
            self.handed_on.go_on(shortened, SEGMENT_BYTES.min(segment_bytes - uncompressed.len()), segment)?;
            uncompressed.append(segment);
        }
        Ok(SegmentFill::More)
    }
}
