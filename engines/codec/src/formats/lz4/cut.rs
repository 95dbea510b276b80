//! Finds the blocks of LZ4 frames by hopping from size to size: a frame of one block is a unit with its own checksum; of
//! other frames each independent block is one, and the content checksum runs over them. Linked blocks are streamed.
//!
//! Policy after the last frame: anything that is no frame is an error, as for the lz4 tool.

use super::container::{
    HEADER_BYTES_MAX, LEGACY_BLOCK_BYTES, LEGACY_COMPRESSED_MAX, LEGACY_MAGIC, Lz4FrameHeader, MAGIC, STORED,
    parse_frame_header,
};
use super::decode::{LegacyStream, Lz4FrameStream, Lz4UnitKind};
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Cutter, DecodeLimits, NextUnit, UncompressedSize, UnitPlace, check_stream_bytes};
use crate::formats::skippable;
use crate::running_check::TrailerClaim;

/// Bytes of a block's size, of a checksum, of the end mark.
const WORD_BYTES: u64 = 4;

pub(super) struct Lz4BlockCutter {
    limits: DecodeLimits,
    place: Place,
    frames: u64,
    frames_with_checksum: u64,
    skipped: u64,
}

#[derive(Clone, Copy)]
enum Place {
    BetweenFrames,
    InFrame(Lz4FrameHeader),
    InLegacyFrame,
}

impl Lz4BlockCutter {
    pub fn new(limits: &DecodeLimits) -> Self {
        Self { limits: *limits, place: Place::BetweenFrames, frames: 0, frames_with_checksum: 0, skipped: 0 }
    }

    fn between_frames(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, at_end) = input.ahead(HEADER_BYTES_MAX, HEADER_BYTES_MAX)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        if let Some(bytes) = skippable::length(head) {
            self.skipped += 1;
            return bytes.map(|bytes| NextUnit::Padding { bytes }).ok_or(UnitDefect::Truncated.into());
        }
        if head.starts_with(&LEGACY_MAGIC) {
            self.place = Place::InLegacyFrame;
            self.frames += 1;
            return Ok(NextUnit::Padding { bytes: WORD_BYTES });
        }
        if !head.starts_with(&MAGIC) {
            let could_be_a_frame = at_end && MAGIC.starts_with(&head[..head.len().min(MAGIC.len())]);
            return Err(if could_be_a_frame { UnitDefect::Truncated.into() } else { CutError::Garbage });
        }
        self.frames += 1;
        match parse_frame_header(head)? {
            Some(header) => {
                self.frames_with_checksum += u64::from(header.has_content_checksum);
                self.frame(input, header)
            }
            None => Err(UnitDefect::Truncated.into()),
        }
    }

    fn frame(&mut self, input: &mut CompressedReader, header: Lz4FrameHeader) -> Result<NextUnit, CutError> {
        if let (Some(dictionary), None) = (header.dictionary, self.limits.dictionary) {
            return Err(UnitDefect::Dictionary(dictionary).into());
        }
        let one_block = header.content_bytes.filter(|&bytes| bytes <= header.block_bytes_max);
        if let Some(plain_bytes) = one_block
            && plain_bytes <= self.limits.unit_uncompressed_bytes
            && let Some(packed_bytes) = length_of_frame_of_one_block(input, &header)?
        {
            return Ok(NextUnit::Unit(UnitPlace {
                parameters: Lz4UnitKind::WholeFrame.parameters(),
                ..UnitPlace::whole(packed_bytes, UncompressedSize::Known(plain_bytes))
            }));
        }
        if header.blocks_are_independent && header.block_bytes_max <= self.limits.unit_uncompressed_bytes {
            self.place = Place::InFrame(header);
            return Ok(NextUnit::Padding { bytes: header.bytes as u64 });
        }
        Ok(NextUnit::Stream(Box::new(Lz4FrameStream::new(self.limits.dictionary))))
    }

    fn in_frame(&mut self, input: &mut CompressedReader, header: Lz4FrameHeader) -> Result<NextUnit, CutError> {
        let size = word_at(input, 0)?.ok_or(UnitDefect::Truncated)?;
        if size == 0 {
            self.place = Place::BetweenFrames;
            let mut bytes = WORD_BYTES;
            let mut stored = None;
            if header.has_content_checksum {
                stored = Some(word_at(input, bytes)?.ok_or(UnitDefect::Truncated)?);
                bytes += WORD_BYTES;
            }
            return Ok(NextUnit::Check {
                bytes,
                claim: Some(TrailerClaim::Xxh32 { stored, length: header.content_bytes }),
            });
        }
        let data_bytes = u64::from(size & !STORED);
        if data_bytes > header.block_bytes_max {
            return Err(UnitDefect::Header("it is longer than its frame allows").into());
        }
        let checksum_bytes = if header.has_block_checksums { WORD_BYTES } else { 0 };
        let kind = Lz4UnitKind::Block {
            uncompressed_bytes_max: header.block_bytes_max,
            has_checksum: header.has_block_checksums,
        };
        Ok(NextUnit::Unit(UnitPlace {
            parameters: kind.parameters(),
            is_checked_later: header.has_content_checksum || header.content_bytes.is_some(),
            ..UnitPlace::whole(
                whole(input, WORD_BYTES + data_bytes + checksum_bytes)?,
                UncompressedSize::AtMost(header.block_bytes_max),
            )
        }))
    }

    /// A legacy frame has no end: another magic ends it, or the file.
    fn in_legacy_frame(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let Some(size) = word_at(input, 0)? else {
            self.place = Place::BetweenFrames;
            return self.between_frames(input);
        };
        if u64::from(size) > LEGACY_COMPRESSED_MAX {
            self.place = Place::BetweenFrames;
            return self.between_frames(input);
        }
        let kind = Lz4UnitKind::Block { uncompressed_bytes_max: LEGACY_BLOCK_BYTES, has_checksum: false };
        if LEGACY_BLOCK_BYTES > self.limits.unit_uncompressed_bytes {
            check_stream_bytes(LEGACY_BLOCK_BYTES + LEGACY_COMPRESSED_MAX, &self.limits)?;
            return Ok(NextUnit::Stream(Box::new(LegacyStream::default())));
        }
        Ok(NextUnit::Unit(UnitPlace {
            parameters: kind.parameters(),
            ..UnitPlace::whole(
                whole(input, WORD_BYTES + u64::from(size))?,
                UncompressedSize::AtMost(LEGACY_BLOCK_BYTES),
            )
        }))
    }
}

impl Cutter for Lz4BlockCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        match self.place {
            Place::BetweenFrames => self.between_frames(input),
            Place::InFrame(header) => self.in_frame(input, header),
            Place::InLegacyFrame => self.in_legacy_frame(input),
        }
    }

    fn check(&self) -> Option<&'static str> {
        let all_have_one = self.frames > 0 && self.frames_with_checksum == self.frames;
        Some(if all_have_one { "xxh32" } else { "none" })
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// The four bytes that stand `distance` ahead, where there are four.
fn word_at(input: &mut CompressedReader, distance: u64) -> Result<Option<u32>, CutError> {
    let mut word = [0; WORD_BYTES as usize];
    let count = input.peek_at(distance, &mut word)?;
    Ok((count == word.len()).then(|| u32::from_le_bytes(word)))
}

/// `bytes`, if there are so many.
fn whole(input: &mut CompressedReader, bytes: u64) -> Result<u64, CutError> {
    if input.peek_at(bytes - 1, &mut [0; 1])? == 1 { Ok(bytes) } else { Err(UnitDefect::Truncated.into()) }
}

/// The compressed length of a frame, if it has no more than one block and is there as a whole.
fn length_of_frame_of_one_block(
    input: &mut CompressedReader,
    header: &Lz4FrameHeader,
) -> Result<Option<u64>, CutError> {
    let mut length = header.bytes as u64;
    let Some(size) = word_at(input, length)? else { return Ok(None) };
    length += WORD_BYTES;
    if size != 0 {
        let data_bytes = u64::from(size & !STORED);
        if data_bytes > header.block_bytes_max {
            return Ok(None);
        }
        length += data_bytes + if header.has_block_checksums { WORD_BYTES } else { 0 };
        if word_at(input, length)? != Some(0) {
            return Ok(None);
        }
        length += WORD_BYTES;
    }
    if header.has_content_checksum {
        if word_at(input, length)?.is_none() {
            return Ok(None);
        }
        length += WORD_BYTES;
    }
    Ok(Some(length))
}
