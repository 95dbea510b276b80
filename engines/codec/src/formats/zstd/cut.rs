//! Finds the frames of a zstd file by hopping from block header to block header: three bytes in every block tell its
//! length, so a frame's end is found without decoding, in any file of any tool, with or without a seek table.
//!
//! The seek table itself is not used for this: hopping costs 0.3 us a block and cannot be lied to.
//! Policy after the last frame: anything that is no frame is an error, as for the zstd tool.

use super::container::{
    BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, HEADER_BYTES_MAX, MAGIC, ZstdFrameHeader, parse_block_header,
    parse_frame_header,
};
use super::decode::ZstdFrameStream;
#[cfg(target_arch = "x86_64")]
use super::parallel_frame::ParallelFrame;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{
    CutError, Cutter, DecodeLimits, Detail, NextUnit, UncompressedSize, UnitPlace, check_stream_bytes,
};
use crate::formats::skippable;

/// A frame from this size on is worth writing while it is decoded. Smaller ones are done before another core wakes up.
const LONG_FRAME_BYTES: u64 = 1 << 20;

/// Blocks of a frame that is not worth it, as far as its size is not known: 1 MiB.
const FEW_BLOCKS: usize = 8;

/// The limit unless less is asked for: the zstd tool's default.
const USUAL_WINDOW_BYTES: u64 = 128 << 20;

pub(super) struct FrameCutter {
    limits: DecodeLimits,
    hands: usize,
    frames: u64,
    frames_with_checksum: u64,
    skipped: u64,
    detail: Detail,
}

impl FrameCutter {
    pub fn new(limits: &DecodeLimits, hands: usize) -> Self {
        Self { limits: *limits, hands, frames: 0, frames_with_checksum: 0, skipped: 0, detail: Detail::default() }
    }

    fn frame(&mut self, input: &mut CompressedReader, header: &ZstdFrameHeader) -> Result<NextUnit, CutError> {
        if header.dictionary != 0 && self.limits.dictionary.is_none() {
            return Err(UnitDefect::Dictionary(header.dictionary).into());
        }
        self.detail = Detail { window_bytes: header.window_bytes, dictionary: header.dictionary, checksum: None };
        // A unit is its own window. Where less than usual is allowed, it holds for units too.
        let is_tight = self.limits.window_bytes < USUAL_WINDOW_BYTES;
        let window_bytes = if is_tight { self.limits.window_bytes } else { u64::MAX };
        let most = self.limits.unit_uncompressed_bytes.min(window_bytes);
        let bearable = header.content_bytes.filter(|&bytes| bytes <= most);
        if let Some(plain_bytes) = bearable
            && let Some((packed_bytes, last_bytes)) = frame_length(input, header, plain_bytes)?
            && !self.is_alone(input, packed_bytes, plain_bytes)?
        {
            self.detail.checksum = header.has_checksum.then_some(last_bytes);
            return Ok(NextUnit::Unit(UnitPlace::whole(packed_bytes, UncompressedSize::Known(plain_bytes))));
        }
        if header.window_bytes > self.limits.window_bytes {
            return Err(window_defect(header.window_bytes, self.limits.window_bytes).into());
        }
        check_stream_bytes(header.window_bytes, &self.limits)?;
        let hands = if ends_soon(input, header)? { 1 } else { self.hands };
        stream(*header, &self.limits, hands)
    }
}

impl FrameCutter {
    /// Whether a frame is the only one of its file and long: then one core decodes it either way, and as a stream another
    /// can write what is decoded meanwhile. A pipe is not asked: it would have to be waited for.
    fn is_alone(&self, input: &mut CompressedReader, packed_bytes: u64, plain_bytes: u64) -> Result<bool, CutError> {
        if !self.limits.streams_lone_unit
            || self.frames > 1
            || plain_bytes < LONG_FRAME_BYTES
            || input.regular_file().is_none()
        {
            return Ok(false);
        }
        Ok(input.peek_at(packed_bytes, &mut [0; 1])? == 0)
    }
}

impl Cutter for FrameCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, at_end) = input.ahead(HEADER_BYTES_MAX, HEADER_BYTES_MAX)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        if let Some(bytes) = skippable::length(head) {
            self.skipped += 1;
            return bytes.map(|bytes| NextUnit::Padding { bytes }).ok_or(UnitDefect::Truncated.into());
        }
        if !head.starts_with(&MAGIC) {
            let could_be_a_frame = at_end && MAGIC.starts_with(&head[..head.len().min(MAGIC.len())]);
            return Err(if could_be_a_frame { UnitDefect::Truncated.into() } else { CutError::Garbage });
        }
        self.frames += 1;
        match parse_frame_header(head)? {
            Some(header) => {
                self.frames_with_checksum += u64::from(header.has_checksum);
                self.frame(input, &header)
            }
            None => Err(UnitDefect::Truncated.into()),
        }
    }

    fn check(&self) -> Option<&'static str> {
        let all_have_one = self.frames > 0 && self.frames_with_checksum == self.frames;
        Some(if all_have_one { "xxh64" } else { "none" })
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn detail(&self) -> Detail {
        self.detail
    }
}

/// The compressed length of the frame at the reader's position, and its last four bytes. `None` when it breaks off, or is longer than any encoder makes
/// it for its content: the stream decoder then tells what is wrong, in bounded memory.
fn frame_length(
    input: &mut CompressedReader,
    header: &ZstdFrameHeader,
    plain_bytes: u64,
) -> Result<Option<(u64, [u8; 4])>, CutError> {
    let blocks = plain_bytes / BLOCK_BYTES_MAX + 1;
    // LIMIT: stored blocks of full size, and as many again that are small or empty.
    let longest = plain_bytes.saturating_add(plain_bytes / 64).saturating_add(blocks.saturating_mul(64) + (1 << 10));
    let mut length = header.bytes as u64;
    loop {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        if length > longest || input.peek_at(length, &mut bytes)? < bytes.len() {
            return Ok(None);
        }
        let block = parse_block_header(bytes)?;
        length += bytes.len() as u64 + block.packed_bytes;
        if block.is_last {
            break;
        }
    }
    length += if header.has_checksum { 4 } else { 0 };
    let mut last = [0; 4];
    // A frame has more bytes than four.
    let is_whole = input.peek_at(length - last.len() as u64, &mut last)? == last.len();
    Ok((is_whole && length <= longest).then_some((length, last)))
}

/// Whether a frame that does not tell its size has but a few blocks. Of a pipe it is not known: it would have to be waited for.
fn ends_soon(input: &mut CompressedReader, header: &ZstdFrameHeader) -> Result<bool, CutError> {
    let mut length = header.bytes as u64;
    let blocks = if header.content_bytes.is_none() && input.regular_file().is_some() { FEW_BLOCKS } else { 0 };
    for _ in 0..blocks {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        if input.peek_at(length, &mut bytes)? < bytes.len() {
            return Ok(true);
        }
        let Ok(block) = parse_block_header(bytes) else { return Ok(true) };
        if block.is_last {
            return Ok(true);
        }
        length += bytes.len() as u64 + block.packed_bytes;
    }
    Ok(false)
}

/// What decodes a frame as a stream.
fn stream(header: ZstdFrameHeader, limits: &DecodeLimits, hands: usize) -> Result<NextUnit, CutError> {
    #[cfg(target_arch = "x86_64")]
    if ParallelFrame::takes(&header, limits, hands)
        && let Some(frame) = ParallelFrame::new(header)
    {
        return Ok(NextUnit::Stream(Box::new(frame)));
    }
    let _one_does = hands;
    Ok(NextUnit::Stream(Box::new(ZstdFrameStream::new(limits, header.content_bytes)?)))
}

fn window_defect(need_bytes: u64, allowed_bytes: u64) -> UnitDefect {
    // RFC 8878 windows are at least 1 KiB.
    let log = 64 - (need_bytes.max(2) - 1).leading_zeros();
    UnitDefect::Window { need_bytes, allowed_bytes, log }
}
