//! Decodes gzip members: whole ones for a worker, endless ones as a stream with the check left to other cores.
//! Deflate itself is the kernel's business.

use super::container::{HEADER_BYTES_MAX, TRAILER_BYTES, crc32, parse_header, parse_trailer};
use super::kernel::{InflateStatus, Inflater, SLACK_BYTES};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Decoder, SegmentFill, StreamDecoder};
use crate::running_check::{RunningCheck, TrailerClaim};
use crew::pipeline::{CutTurn, Pause};

/// How far deflate refers back (RFC 1951 section 3.2.5).
const WINDOW_BYTES: usize = 32 << 10;

/// Compressed bytes given to the kernel at a time. Larger leaves the cache, smaller costs calls.
const INPUT_BYTES: usize = 256 << 10;

/// Decodes members whose length is known.
pub(super) struct MemberDecoder {
    inflater: Box<Inflater>,
}

impl MemberDecoder {
    pub fn new() -> Self {
        Self { inflater: Inflater::boxed() }
    }
}

impl Decoder for MemberDecoder {
    fn decode(
        &mut self,
        compressed: &[u8],
        _parameters: u64,
        uncompressed_limit: u64,
        uncompressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), UnitDefect> {
        let header = parse_header(compressed)?.ok_or(UnitDefect::Truncated)?;
        let data_end = compressed.len().checked_sub(TRAILER_BYTES).filter(|end| *end > header.bytes);
        let (body, trailer) = compressed.split_at(data_end.ok_or(UnitDefect::Truncated)?);
        let (crc_stored, length_stored) = parse_trailer(trailer.try_into().expect("split at its size"));
        let plain_bytes = u64::from(length_stored);
        if plain_bytes > uncompressed_limit {
            return Err(UnitDefect::Length { stored: plain_bytes, actual: uncompressed_limit });
        }
        let deflated = &body[header.bytes..];
        let wanted = usize::try_from(plain_bytes).expect("bounded by the limit");
        self.inflater.reset();
        // One byte more than claimed may come out before the kernel stops: enough to catch a length that is too small.
        let (buffer, filled) = uncompressed.with_history(wanted + 1 + SLACK_BYTES);
        let step = self.inflater.inflate(deflated, true, buffer, filled, filled + wanted + 1);
        let step = step.map_err(|broken| UnitDefect::Deflate(broken.cause))?;
        if step.produced != wanted || step.status != InflateStatus::Finished {
            return Err(UnitDefect::Length { stored: plain_bytes, actual: step.produced as u64 });
        }
        if step.consumed != deflated.len() {
            let (stored, actual) = (deflated.len() as u64, step.consumed as u64);
            return Err(UnitDefect::CompressedLength { stored, actual });
        }
        let computed = crc32(&buffer[filled..filled + wanted]);
        if computed != crc_stored {
            return Err(UnitDefect::Checksum { stored: crc_stored, computed });
        }
        uncompressed.grow(wanted);
        Ok(())
    }
}

/// Decodes one member of unknown length, segment by segment.
pub(super) struct MemberStream {
    inflater: Box<Inflater>,
    header_read: bool,
    history: Vec<u8>,
}

impl MemberStream {
    pub fn new() -> Self {
        Self { inflater: Inflater::boxed(), header_read: false, history: Vec::with_capacity(WINDOW_BYTES) }
    }

    fn read_header(&mut self, input: &mut CompressedReader) -> Result<(), CutError> {
        let mut glance = 512;
        loop {
            let (head, at_end) = input.ahead(glance, glance)?;
            match parse_header(head)? {
                Some(header) => {
                    input.consume(header.bytes);
                    self.header_read = true;
                    return Ok(());
                }
                None if at_end => return Err(UnitDefect::Truncated.into()),
                None => glance = (glance * 8).min(HEADER_BYTES_MAX),
            }
        }
    }

    fn read_trailer(input: &mut CompressedReader) -> Result<SegmentFill, CutError> {
        let (ahead, _) = input.ahead(TRAILER_BYTES, TRAILER_BYTES)?;
        let trailer = ahead.first_chunk().ok_or(UnitDefect::Truncated)?;
        let (stored, length_modulo) = parse_trailer(*trailer);
        input.consume(TRAILER_BYTES);
        Ok(SegmentFill::Last(Some(TrailerClaim::Crc32 { stored, length_modulo })))
    }
}

impl StreamDecoder for MemberStream {
    fn running_check(&self) -> RunningCheck {
        RunningCheck::Crc32
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        if !self.header_read {
            self.read_header(input)?;
        }
        uncompressed.restart_with(&self.history);
        let mut at_least = 1;
        loop {
            let (compressed, at_end) = input.ahead(at_least, INPUT_BYTES)?;
            let shown = compressed.len();
            let (buffer, filled) =
                uncompressed.with_history(segment_bytes.saturating_sub(uncompressed.len()) + SLACK_BYTES);
            let soft_end = buffer.len() - SLACK_BYTES;
            let inflater = &mut self.inflater;
            // Told of no end, the kernel hands out what it has decoded up to where the data break off.
            let step = match turn.with_hand(|| inflater.inflate(compressed, false, buffer, filled, soft_end)) {
                Ok(step) => step,
                Err(broken) => {
                    uncompressed.grow(broken.produced);
                    return Err(CutError::Defect(UnitDefect::Deflate(broken.cause)));
                }
            };
            input.consume(step.consumed);
            uncompressed.grow(step.produced);
            match step.status {
                InflateStatus::Finished => return Self::read_trailer(input),
                InflateStatus::OutputFull => break,
                InflateStatus::NeedsInput if at_end => return Err(UnitDefect::Truncated.into()),
                InflateStatus::NeedsInput if !uncompressed.is_empty() && input.would_wait() => break,
                // What is left was too little to go on with: one byte more than it, at least.
                InflateStatus::NeedsInput => at_least = shown - step.consumed + 1,
            }
        }
        self.history.clear();
        self.history.extend_from_slice(uncompressed.last(WINDOW_BYTES));
        Ok(SegmentFill::More)
    }
}
