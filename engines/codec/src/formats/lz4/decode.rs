//! Decodes LZ4 units for a worker (a block, or a frame of one block), and frames of linked blocks as a stream.
//! Blocks themselves are the kernel's business.

use super::container::{
    HEADER_BYTES_MAX, LEGACY_BLOCK_BYTES, LEGACY_COMPRESSED_MAX, STORED, WINDOW_BYTES, parse_frame_header,
};
use super::encode::within_reach;
use super::{container::Lz4FrameHeader, kernel};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Decoder, SegmentFill, StreamDecoder};
use crate::running_check::{RunningCheck, TrailerClaim};
use crew::pipeline::{CutTurn, Pause};
use xxhash_rust::xxh32::xxh32;

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lz4UnitKind {
    /// A frame of one block, header and checksum included.
    WholeFrame,
    /// A block of a frame whose header stood before: its size, its bytes, and perhaps their checksum.
    Block { uncompressed_bytes_max: u64, has_checksum: bool },
}

impl Lz4UnitKind {
    /// As a unit's parameters: a block's largest uncompressed size is a power of two, which leaves room for a flag.
    pub fn parameters(self) -> u64 {
        match self {
            Self::WholeFrame => 0,
            Self::Block { uncompressed_bytes_max, has_checksum } => uncompressed_bytes_max | u64::from(has_checksum),
        }
    }

    fn of(parameters: u64) -> Self {
        match parameters {
            0 => Self::WholeFrame,
            _ => Self::Block { uncompressed_bytes_max: parameters & !1, has_checksum: parameters & 1 != 0 },
        }
    }
}

/// Takes a word off the front.
fn word(bytes: &mut &[u8]) -> Result<u32, UnitDefect> {
    let (word, rest) = bytes.split_first_chunk().ok_or(UnitDefect::Truncated)?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*word))
}

fn check(stored: u32, bytes: &[u8]) -> Result<(), UnitDefect> {
    let computed = xxh32(bytes, 0);
    if stored == computed { Ok(()) } else { Err(UnitDefect::Checksum { stored, computed }) }
}

/// Takes a block off the front of `compressed`, behind its size, and returns its data.
fn block_data<'a>(compressed: &mut &'a [u8], size: u32, has_checksum: bool) -> Result<&'a [u8], UnitDefect> {
    let (data, rest) = compressed.split_at_checked((size & !STORED) as usize).ok_or(UnitDefect::Truncated)?;
    *compressed = rest;
    if has_checksum {
        check(word(compressed)?, data)?;
    }
    Ok(data)
}

/// Adds what `data` decode to.
fn decode_block(
    data: &[u8],
    size: u32,
    uncompressed_bytes_max: usize,
    dictionary: Option<&[u8]>,
    uncompressed: &mut ByteBuffer,
) -> Result<usize, UnitDefect> {
    if size & STORED != 0 {
        if data.len() > uncompressed_bytes_max {
            return Err(UnitDefect::Length { stored: uncompressed_bytes_max as u64, actual: data.len() as u64 });
        }
        uncompressed.append(data);
        return Ok(data.len());
    }
    let room = uncompressed.room(uncompressed_bytes_max);
    let decoded = match dictionary {
        Some(dictionary) => kernel::decompress_after(dictionary, data, room)?,
        None => kernel::decompress(data, room)?,
    };
    uncompressed.grow(decoded);
    Ok(decoded)
}

/// Decodes units.
pub(super) struct UnitDecoder {
    /// Bytes that blocks of frames may refer back to.
    dictionary: Option<&'static [u8]>,
}

impl UnitDecoder {
    pub fn new(dictionary: Option<&'static [u8]>) -> Self {
        Self { dictionary: dictionary.map(within_reach) }
    }
}

impl Decoder for UnitDecoder {
    fn decode(
        &mut self,
        compressed: &[u8],
        parameters: u64,
        uncompressed_limit: u64,
        uncompressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect> {
        let mut rest = compressed;
        let Lz4UnitKind::Block { uncompressed_bytes_max, has_checksum } = Lz4UnitKind::of(parameters) else {
            return decode_frame(compressed, uncompressed_limit, self.dictionary, uncompressed);
        };
        // COMPAT: lz4 uses no dictionary for legacy frames.
        let dictionary = self.dictionary.filter(|_| uncompressed_bytes_max != LEGACY_BLOCK_BYTES);
        let size = word(&mut rest)?;
        let data = block_data(&mut rest, size, has_checksum)?;
        let room = usize::try_from(uncompressed_bytes_max.min(uncompressed_limit)).expect("bounded by the limit");
        decode_block(data, size, room, dictionary, uncompressed).map(drop)
    }
}

/// Decodes a frame of one block. Of one that is damaged nothing is left in `uncompressed`.
fn decode_frame(
    compressed: &[u8],
    uncompressed_limit: u64,
    dictionary: Option<&[u8]>,
    uncompressed: &mut ByteBuffer,
) -> Result<(), UnitDefect> {
    let before = uncompressed.len();
    let decoded = decode_sound_frame(compressed, uncompressed_limit, dictionary, uncompressed);
    if decoded.is_err() {
        uncompressed.truncate(before);
    }
    decoded
}

fn decode_sound_frame(
    compressed: &[u8],
    uncompressed_limit: u64,
    dictionary: Option<&[u8]>,
    uncompressed: &mut ByteBuffer,
) -> Result<(), UnitDefect> {
    let header = parse_frame_header(compressed)?.ok_or(UnitDefect::Truncated)?;
    let claimed = header.content_bytes.ok_or(UnitDefect::Header("its header does not tell its size"))?;
    if claimed > uncompressed_limit.min(header.block_bytes_max) {
        return Err(UnitDefect::Length { stored: claimed, actual: uncompressed_limit });
    }
    let wanted = usize::try_from(claimed).expect("bounded by the limit");
    let mut rest = &compressed[header.bytes..];
    let before = uncompressed.len();
    let size = word(&mut rest)?;
    let mut decoded = 0;
    if size != 0 {
        let data = block_data(&mut rest, size, header.has_block_checksums)?;
        decoded = decode_block(data, size, wanted, dictionary, uncompressed)?;
        if word(&mut rest)? != 0 {
            return Err(UnitDefect::Header("it has more than one block"));
        }
    }
    if decoded != wanted {
        return Err(UnitDefect::Length { stored: claimed, actual: decoded as u64 });
    }
    if header.has_content_checksum {
        check(word(&mut rest)?, &uncompressed.content()[before..])?;
    }
    Ok(())
}

/// Decodes one frame segment by segment: for blocks that refer to those before.
pub(super) struct Lz4FrameStream {
    header: Option<Lz4FrameHeader>,
    /// History and the block decoded last; what of it was not passed on begins at `passed`.
    decoded: Vec<u8>,
    passed: usize,
    /// Bytes that blocks may refer back to: the first one if they are linked, else each.
    dictionary: &'static [u8],
}

impl Lz4FrameStream {
    pub fn new(dictionary: Option<&'static [u8]>) -> Self {
        let dictionary = dictionary.map_or(&[][..], within_reach);
        Self { header: None, decoded: dictionary.to_vec(), passed: dictionary.len(), dictionary }
    }

    fn read_header(&mut self, input: &mut CompressedReader) -> Result<Lz4FrameHeader, CutError> {
        if let Some(header) = self.header {
            return Ok(header);
        }
        let (head, _) = input.ahead(HEADER_BYTES_MAX, HEADER_BYTES_MAX)?;
        let header = parse_frame_header(head)?.ok_or(UnitDefect::Truncated)?;
        input.consume(header.bytes);
        self.header = Some(header);
        Ok(header)
    }

    /// Decodes the next block behind the history. Returns false at the end mark.
    fn next_block(
        &mut self,
        input: &mut CompressedReader,
        header: &Lz4FrameHeader,
        turn: &mut CutTurn<'_>,
    ) -> Result<bool, CutError> {
        let mut ahead = input.ahead(4, 4)?.0;
        let size = word(&mut ahead)?;
        if size == 0 {
            input.consume(4);
            return Ok(false);
        }
        let data_bytes = (size & !STORED) as usize;
        if data_bytes as u64 > header.block_bytes_max {
            return Err(UnitDefect::Header("a block of it is longer than it allows").into());
        }
        let bytes = 4 + data_bytes + if header.has_block_checksums { 4 } else { 0 };
        let mut compressed = input.ahead(bytes, bytes)?.0.get(4..bytes).ok_or(UnitDefect::Truncated)?;
        let data = block_data(&mut compressed, size, header.has_block_checksums)?;
        if header.blocks_are_independent {
            self.decoded.clear();
            self.decoded.extend_from_slice(self.dictionary);
        }
        let history = self.decoded.len().min(WINDOW_BYTES);
        let old = self.decoded.len() - history;
        self.decoded.drain(..old);
        let room = usize::try_from(header.block_bytes_max).expect("4 MiB at most");
        self.decoded.resize(history + room, 0);
        let (before, uncompressed) = self.decoded.split_at_mut(history);
        let count = match uncompressed.get_mut(..data.len()) {
            Some(uncompressed) if size & STORED != 0 => {
                uncompressed.copy_from_slice(data);
                data.len()
            }
            _ => turn.with_hand(|| kernel::decompress_after(before, data, uncompressed))?,
        };
        self.decoded.truncate(history + count);
        self.passed = history;
        input.consume(bytes);
        Ok(true)
    }
}

impl StreamDecoder for Lz4FrameStream {
    fn running_check(&self) -> RunningCheck {
        RunningCheck::Xxh32
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        let header = self.read_header(input)?;
        loop {
            let waiting = &self.decoded[self.passed..];
            let step = waiting.len().min(segment_bytes - uncompressed.len());
            uncompressed.append(&waiting[..step]);
            self.passed += step;
            if uncompressed.len() == segment_bytes || (!uncompressed.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
            if !self.next_block(input, &header, turn)? {
                break;
            }
        }
        let mut stored = None;
        if header.has_content_checksum {
            stored = Some(word(&mut input.ahead(4, 4)?.0)?);
            input.consume(4);
        }
        Ok(SegmentFill::Last(Some(TrailerClaim::Xxh32 { stored, length: header.content_bytes })))
    }
}

/// Decodes the rest of a legacy frame segment by segment: for caps that leave no room for its blocks in every slot.
#[derive(Default)]
pub(super) struct LegacyStream {
    decoded: Vec<u8>,
    passed: usize,
}

impl LegacyStream {
    /// Decodes the next block. Returns false where none stands: at the end, or before another frame.
    fn next_block(&mut self, input: &mut CompressedReader, turn: &mut CutTurn<'_>) -> Result<bool, CutError> {
        let (mut head, _) = input.ahead(4, 4)?;
        let Ok(size) = word(&mut head) else { return Ok(false) };
        if u64::from(size) > LEGACY_COMPRESSED_MAX {
            return Ok(false);
        }
        let bytes = 4 + size as usize;
        let data = input.ahead(bytes, bytes)?.0.get(4..bytes).ok_or(UnitDefect::Truncated)?;
        self.decoded.resize(usize::try_from(LEGACY_BLOCK_BYTES).expect("8 MiB"), 0);
        let count = turn.with_hand(|| kernel::decompress(data, &mut self.decoded))?;
        self.decoded.truncate(count);
        self.passed = 0;
        input.consume(bytes);
        Ok(true)
    }
}

impl StreamDecoder for LegacyStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        loop {
            let waiting = &self.decoded[self.passed..];
            let step = waiting.len().min(segment_bytes - uncompressed.len());
            uncompressed.append(&waiting[..step]);
            self.passed += step;
            if uncompressed.len() == segment_bytes || (!uncompressed.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
            if !self.next_block(input, turn)? {
                return Ok(SegmentFill::Last(None));
            }
        }
    }
}
