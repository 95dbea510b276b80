//! Decodes LZ4 units for a worker (a block, or a frame of one block), and frames of linked blocks as a stream.
//! Blocks themselves are the kernel's business.

use super::container::{
    HEADER_BYTES_MAX, LEGACY_BLOCK_BYTES, LEGACY_PACKED_MAX, STORED, WINDOW_BYTES, parse_frame_header,
};
use super::{container::Lz4FrameHeader, kernel};
use crate::byte_buffer::ByteBuffer;
use crate::error::UnitDefect;
use crate::format::{CutError, Decoder, SegmentFill, StreamDecoder};
use crate::packed_reader::PackedReader;
use crate::running_check::{RunningCheck, TrailerClaim};
use crew::pipeline::{CutTurn, Pause};
use xxhash_rust::xxh32::xxh32;

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lz4UnitKind {
    /// A frame of one block, header and checksum included.
    WholeFrame,
    /// A block of a frame whose header stood before: its size, its bytes, and perhaps their checksum.
    Block { plain_bytes_max: u64, has_checksum: bool },
}

impl Lz4UnitKind {
    /// As a unit's parameters: a block's largest plain size is a power of two, which leaves room for a flag.
    pub fn parameters(self) -> u64 {
        match self {
            Self::WholeFrame => 0,
            Self::Block { plain_bytes_max, has_checksum } => plain_bytes_max | u64::from(has_checksum),
        }
    }

    fn of(parameters: u64) -> Self {
        match parameters {
            0 => Self::WholeFrame,
            _ => Self::Block { plain_bytes_max: parameters & !1, has_checksum: parameters & 1 != 0 },
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

/// Takes a block off the front of `packed`, behind its size, and returns its data.
fn block_data<'a>(packed: &mut &'a [u8], size: u32, has_checksum: bool) -> Result<&'a [u8], UnitDefect> {
    let (data, rest) = packed.split_at_checked((size & !STORED) as usize).ok_or(UnitDefect::Truncated)?;
    *packed = rest;
    if has_checksum {
        check(word(packed)?, data)?;
    }
    Ok(data)
}

/// Adds what `data` decode to.
fn decode_block(data: &[u8], size: u32, plain_bytes_max: usize, plain: &mut ByteBuffer) -> Result<usize, UnitDefect> {
    if size & STORED != 0 {
        if data.len() > plain_bytes_max {
            return Err(UnitDefect::Length { stored: plain_bytes_max as u64, actual: data.len() as u64 });
        }
        plain.append(data);
        return Ok(data.len());
    }
    let decoded = kernel::decompress(data, plain.room(plain_bytes_max))?;
    plain.grow(decoded);
    Ok(decoded)
}

/// Decodes units.
pub(super) struct UnitDecoder;

impl Decoder for UnitDecoder {
    fn decode(
        &mut self,
        packed: &[u8],
        parameters: u64,
        plain_limit: u64,
        plain: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect> {
        let mut rest = packed;
        let Lz4UnitKind::Block { plain_bytes_max, has_checksum } = Lz4UnitKind::of(parameters) else {
            return decode_frame(packed, plain_limit, plain);
        };
        let size = word(&mut rest)?;
        let data = block_data(&mut rest, size, has_checksum)?;
        let room = usize::try_from(plain_bytes_max.min(plain_limit)).expect("bounded by the limit");
        decode_block(data, size, room, plain).map(drop)
    }
}

/// Decodes a frame of one block. Of one that is damaged nothing is left in `plain`.
fn decode_frame(packed: &[u8], plain_limit: u64, plain: &mut ByteBuffer) -> Result<(), UnitDefect> {
    let before = plain.len();
    let decoded = decode_sound_frame(packed, plain_limit, plain);
    if decoded.is_err() {
        plain.truncate(before);
    }
    decoded
}

fn decode_sound_frame(packed: &[u8], plain_limit: u64, plain: &mut ByteBuffer) -> Result<(), UnitDefect> {
    let header = parse_frame_header(packed)?.ok_or(UnitDefect::Truncated)?;
    let claimed = header.content_bytes.ok_or(UnitDefect::Header("its header does not tell its size"))?;
    if claimed > plain_limit.min(header.block_bytes_max) {
        return Err(UnitDefect::Length { stored: claimed, actual: plain_limit });
    }
    let wanted = usize::try_from(claimed).expect("bounded by the limit");
    let mut rest = &packed[header.bytes..];
    let before = plain.len();
    let size = word(&mut rest)?;
    let mut decoded = 0;
    if size != 0 {
        let data = block_data(&mut rest, size, header.has_block_checksums)?;
        decoded = decode_block(data, size, wanted, plain)?;
        if word(&mut rest)? != 0 {
            return Err(UnitDefect::Header("it has more than one block"));
        }
    }
    if decoded != wanted {
        return Err(UnitDefect::Length { stored: claimed, actual: decoded as u64 });
    }
    if header.has_content_checksum {
        check(word(&mut rest)?, &plain.content()[before..])?;
    }
    Ok(())
}

/// Decodes one frame piece by piece: for blocks that refer to those before.
pub(super) struct Lz4FrameStream {
    header: Option<Lz4FrameHeader>,
    /// History and the block decoded last; what of it was not passed on begins at `passed`.
    decoded: Vec<u8>,
    passed: usize,
}

impl Lz4FrameStream {
    pub fn new() -> Self {
        Self { header: None, decoded: Vec::new(), passed: 0 }
    }

    fn read_header(&mut self, input: &mut PackedReader) -> Result<Lz4FrameHeader, CutError> {
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
        input: &mut PackedReader,
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
        let mut packed = input.ahead(bytes, bytes)?.0.get(4..bytes).ok_or(UnitDefect::Truncated)?;
        let data = block_data(&mut packed, size, header.has_block_checksums)?;
        let history = if header.blocks_are_independent { 0 } else { self.decoded.len().min(WINDOW_BYTES) };
        let old = self.decoded.len() - history;
        self.decoded.drain(..old);
        let room = usize::try_from(header.block_bytes_max).expect("4 MiB at most");
        self.decoded.resize(history + room, 0);
        let (before, plain) = self.decoded.split_at_mut(history);
        let count = match plain.get_mut(..data.len()) {
            Some(plain) if size & STORED != 0 => {
                plain.copy_from_slice(data);
                data.len()
            }
            _ => turn.with_hand(|| kernel::decompress_after(before, data, plain))?,
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
        input: &mut PackedReader,
        plain: &mut ByteBuffer,
        piece_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        plain.clear();
        let header = self.read_header(input)?;
        loop {
            let waiting = &self.decoded[self.passed..];
            let step = waiting.len().min(piece_bytes - plain.len());
            plain.append(&waiting[..step]);
            self.passed += step;
            if plain.len() == piece_bytes || (!plain.is_empty() && input.would_wait()) {
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

/// Decodes the rest of a legacy frame piece by piece: for caps that leave no room for its blocks in every slot.
#[derive(Default)]
pub(super) struct LegacyStream {
    decoded: Vec<u8>,
    passed: usize,
}

impl LegacyStream {
    /// Decodes the next block. Returns false where none stands: at the end, or before another frame.
    fn next_block(&mut self, input: &mut PackedReader, turn: &mut CutTurn<'_>) -> Result<bool, CutError> {
        let (mut head, _) = input.ahead(4, 4)?;
        let Ok(size) = word(&mut head) else { return Ok(false) };
        if u64::from(size) > LEGACY_PACKED_MAX {
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
        input: &mut PackedReader,
        plain: &mut ByteBuffer,
        piece_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        plain.clear();
        loop {
            let waiting = &self.decoded[self.passed..];
            let step = waiting.len().min(piece_bytes - plain.len());
            plain.append(&waiting[..step]);
            self.passed += step;
            if plain.len() == piece_bytes || (!plain.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
            if !self.next_block(input, turn)? {
                return Ok(SegmentFill::Last(None));
            }
        }
    }
}
