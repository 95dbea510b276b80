//! Finds the blocks of a bzip2 file by their magic numbers, which stand at any bit, without decoding anything. Any file
//! can be divided so, whoever made it; the checksums between blocks and stream are compared here, block by block.
//!
//! What looks like a mark may be data. By chance it does not happen (a block's front must be plausible, a stream's end
//! must have the right checksum or a stream behind it). A file made to deceive is read all the same where its bytes can
//! be read again: the block in front of the false mark does not end there, and decoding goes on in series from it.
//! From a pipe such a file is refused.
//!
//! Policy after the last stream: as for gz, zeros to the end are padding and anything else is an error; bzip2 warns.

use super::container::{
    BlockPlace, FRONT_BYTES, HEADER_BYTES, LEVEL_BYTES, MARK_BITS, could_be_a_header, crc_at, folded,
    is_plausible_block, level_of, uncompressed_bound,
};
use super::decode::SeriesDecoder;
use super::scan::{Bzip2Magic, MarkFinder, mark_at};
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Cutter, DecodeLimits, NextUnit, UncompressedSize, UnitPlace, check_stream_bytes};

/// LIMIT: no encoder makes a block of 900 000 bytes longer than this: 18 002 groups of 50 codes of 20 bits are 2.25 MB.
/// Only code tables padded with steps up and down could be longer; a file without marks must not fill the memory.
pub(super) const BLOCK_BYTES_MAX: usize = 3 << 20;

/// Bytes looked at for the next mark at a time.
const STEP_BYTES: usize = 256 << 10;

pub(super) struct Bzip2BlockCutter {
    finder: MarkFinder,
    limits: DecodeLimits,
    streams: u64,
    place: Place,
}

/// What stands at the reader's position.
enum Place {
    /// A stream's header, or what follows the last stream.
    BetweenStreams,
    /// A mark, at a bit of the first byte.
    Mark(Stream),
    /// Nothing that could be read: told already.
    Ended,
}

/// A stream of which blocks have been cut.
#[derive(Clone, Copy)]
struct Stream {
    level: u32,
    crc: u32,
    bit: u32,
}

/// What stands where a stream may begin.
pub(super) enum Between {
    Header { level: u32 },
    Padding { bytes: u64 },
    End,
}

/// Looks at what stands where a stream may begin.
pub(super) fn between_streams(input: &mut CompressedReader, streams: u64) -> Result<Between, CutError> {
    let (head, at_end) = input.ahead(HEADER_BYTES, STEP_BYTES)?;
    if head.is_empty() {
        return Ok(Between::End);
    }
    if let Some(level) = level_of(head) {
        return Ok(Between::Header { level });
    }
    if at_end && could_be_a_header(head) {
        return Err(UnitDefect::Truncated.into());
    }
    match if streams > 0 { input.zeros_to_the_end()? } else { 0 } {
        0 => Err(CutError::Garbage),
        bytes => Ok(Between::Padding { bytes }),
    }
}

/// Compares the checksum in a stream's end mark with that of its blocks. The mark is at `bit`.
pub(super) fn check_stream(bytes: &[u8], bit: u64, computed: u32) -> Result<(), UnitDefect> {
    match crc_at(bytes, bit + MARK_BITS - 32) {
        None => Err(UnitDefect::Truncated),
        Some(stored) if stored == computed => Ok(()),
        Some(stored) => Err(UnitDefect::StreamChecksum { stored, computed }),
    }
}

impl Bzip2BlockCutter {
    pub fn new(limits: &DecodeLimits) -> Self {
        Self { finder: MarkFinder::new(), limits: *limits, streams: 0, place: Place::BetweenStreams }
    }

    fn header(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        match between_streams(input, self.streams)? {
            Between::End => Ok(NextUnit::End),
            Between::Padding { bytes } => Ok(NextUnit::Zeros { bytes }),
            // That a block is too large for a worker is found by decoding it. A file is decoded from there again, in
            // series; a pipe cannot be. So under tight memory its blocks are decoded in series from the beginning.
            Between::Header { level } if is_tight(level, &self.limits) && input.regular_file().is_none() => {
                check_stream_bytes(decoding_bytes(level), &self.limits)?;
                self.place = Place::Ended;
                Ok(NextUnit::Stream(Box::new(SeriesDecoder::at_a_stream(self.streams))))
            }
            Between::Header { level } => {
                check_stream_bytes(decoding_bytes(level), &self.limits)?;
                self.place = Place::Mark(Stream { level, crc: 0, bit: 0 });
                Ok(NextUnit::Padding { bytes: HEADER_BYTES as u64 })
            }
        }
    }

    fn mark(&mut self, input: &mut CompressedReader, stream: Stream) -> Result<NextUnit, CutError> {
        let bit = u64::from(stream.bit);
        let (bytes, _) = input.ahead(mark_bytes(bit), STEP_BYTES)?;
        match mark_at(bytes, bit) {
            Some(Bzip2Magic::Block) => self.block(input, stream),
            Some(Bzip2Magic::End) => {
                check_stream(bytes, bit, stream.crc)?;
                self.streams += 1;
                self.place = Place::BetweenStreams;
                Ok(NextUnit::Padding { bytes: mark_bytes(bit) as u64 })
            }
            None if bytes.len() < mark_bytes(bit) => Err(UnitDefect::Truncated.into()),
            None => Err(super::container::defect(&mibz2::ErrorKind::BadBlockMagic).into()),
        }
    }

    /// The block whose mark stands at the reader's position, up to the next mark.
    fn block(&mut self, input: &mut CompressedReader, stream: Stream) -> Result<NextUnit, CutError> {
        let begins = u64::from(stream.bit);
        let is_only_reading = input.regular_file().is_none();
        let mut from_bit = begins + MARK_BITS;
        loop {
            let wanted = usize::try_from(from_bit / 8).expect("bounded below") + STEP_BYTES;
            let (bytes, at_end) = input.ahead(wanted, wanted)?;
            let stored = crc_at(bytes, begins + MARK_BITS - 32);
            let found = self.finder.find(bytes, from_bit);
            match (found, stored) {
                (Some((mark, bit)), Some(stored)) => {
                    // Enough behind the mark to tell whether it is one.
                    let (bytes, _) = input.ahead(usize::try_from(bit / 8).expect("in memory") + FRONT_BYTES, wanted)?;
                    let crc = folded(stream.crc, stored);
                    if is_mark(mark, bytes, bit, stream.level, crc) {
                        self.place = Place::Mark(Stream { crc, bit: (bit % 8) as u32, ..stream });
                        return Ok(NextUnit::Unit(unit(stream, bit, Some((bit % 8) as u32), is_only_reading)));
                    }
                    from_bit = bit + 1;
                }
                // No mark begins before the last six bytes.
                _ if !at_end && bytes.len() < BLOCK_BYTES_MAX => from_bit = from_bit.max(bytes.len() as u64 * 8 - 55),
                _ => {
                    let count = bytes.len().min(BLOCK_BYTES_MAX) as u64;
                    self.place = Place::Ended;
                    return Ok(NextUnit::Unit(unit(stream, count * 8, None, is_only_reading)));
                }
            }
        }
    }
}

/// What decoding a block takes, its compressed bytes included: the longest block, eight bytes for each of its places.
fn decoding_bytes(level: u32) -> u64 {
    BLOCK_BYTES_MAX as u64 + 8 * u64::from(level) * LEVEL_BYTES as u64
}

/// Whether a worker can hold less than blocks with few long runs come to; or, where memory is promised, than any may.
fn is_tight(level: u32, limits: &DecodeLimits) -> bool {
    let is_promised = limits.stream_bytes < u64::MAX;
    let usual = u64::from(level) * LEVEL_BYTES as u64 * USUAL_GROWTH;
    limits.unit_uncompressed_bytes < if is_promised { uncompressed_bound(level) } else { usual }
}

/// How much undoing runs makes of a block, nearly always; only data of long runs come to more, and 52 times at most.
const USUAL_GROWTH: u64 = 4;

/// Bytes up to the end of the mark that begins at `bit`.
fn mark_bytes(bit: u64) -> usize {
    usize::try_from((bit + MARK_BITS).div_ceil(8)).expect("a few bytes")
}

fn unit(stream: Stream, end: u64, end_bit: Option<u32>, is_only_reading: bool) -> UnitPlace {
    let Stream { level, crc, bit } = stream;
    let place = BlockPlace { start_bit: bit, end_bit, level, is_only_reading, crc_before: crc };
    UnitPlace {
        packed_bytes: end / 8,
        shared_bytes: usize::from(!end.is_multiple_of(8)),
        uncompressed: UncompressedSize::AtMost(uncompressed_bound(level)),
        parameters: place.compressed(),
        is_checked_later: false,
    }
}

/// Whether what looks like a mark at `bit` is one, as far as can be told without decoding. `crc` is the stream's checksum
/// if it ends there.
fn is_mark(mark: Bzip2Magic, bytes: &[u8], bit: u64, level: u32, crc: u32) -> bool {
    match mark {
        Bzip2Magic::Block => is_plausible_block(bytes, bit, level),
        Bzip2Magic::End => match crc_at(bytes, bit + MARK_BITS - 32) {
            Some(stored) if stored != crc => {
                let behind = &bytes[bytes.len().min(mark_bytes(bit))..];
                behind.is_empty() || level_of(behind).is_some()
            }
            _ => true,
        },
    }
}

impl Cutter for Bzip2BlockCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        match self.place {
            Place::BetweenStreams => self.header(input),
            Place::Mark(stream) => self.mark(input, stream),
            Place::Ended if input.is_at_end()? => Ok(NextUnit::End),
            Place::Ended => Err(UnitDefect::Bzip2("no block ends within 3 MiB of its beginning").into()),
        }
    }
}
