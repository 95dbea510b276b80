//! Decodes gzip members: whole ones for a worker, endless ones as a stream with the check left to other cores.
//! Deflate itself is the kernel's business.

use super::chunk::{CPU_FACTOR, HANDS_MIN, SERIES_BYTES};
use super::container::{HEADER_BYTES_MAX, TRAILER_BYTES, crc32, parse_header, parse_trailer};
use super::kernel::{InflateStatus, Inflater, SLACK_BYTES, WINDOW_BYTES};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{CutError, Decoder, SegmentFill, StreamDecoder};
use crate::running_check::{RunningCheck, TrailerClaim};
use crew::measures::DividedTurns;
use crew::pipeline::{CutTurn, Pause};

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
    /// Compressed bytes so far, where more hands could divide them.
    divisible_bytes: Option<u64>,
}

/// Why decoding in series stopped.
pub(super) enum SeriesEnd {
    /// The segment is as long as it is to be, or the member has ended.
    Segment(SegmentFill),
    /// A block ended where the caller wanted to stop.
    BlockEnd,
}

impl MemberStream {
    /// Of an input that is there as a whole, or comes as it comes.
    pub fn new(is_whole: bool) -> Self {
        let (inflater, history) = (Inflater::boxed(), Vec::with_capacity(WINDOW_BYTES));
        Self { inflater, header_read: false, history, divisible_bytes: is_whole.then_some(0) }
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

    /// The bytes before the next segment, if they are as many as blocks can refer to.
    pub fn window(&self) -> Option<&[u8; WINDOW_BYTES]> {
        self.history.first_chunk()
    }

    /// Whether the next thing is a block.
    pub fn is_between_blocks(&self) -> bool {
        self.inflater.is_between_blocks()
    }

    /// Bits of the next input byte that were used already.
    pub fn bits_used(&self) -> u32 {
        self.inflater.bits_used()
    }

    /// Goes on before another block, which has these bytes before it.
    pub fn go_on(&mut self, bits_used: u32, window: Vec<u8>) {
        self.inflater.resume(bits_used);
        self.history = window;
    }

    /// A segment begins.
    pub fn begin_segment(&self, uncompressed: &mut ByteBuffer) {
        uncompressed.restart_with(&self.history);
    }

    /// A segment has ended.
    pub fn end_segment(&mut self, uncompressed: &ByteBuffer) {
        self.history.clear();
        self.history.extend_from_slice(uncompressed.last(WINDOW_BYTES));
    }

    pub fn read_trailer(input: &mut CompressedReader) -> Result<SegmentFill, CutError> {
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

    fn divided_turns(&self) -> Option<DividedTurns> {
        let is_long = self.divisible_bytes.is_some_and(|bytes| bytes > 4 * SERIES_BYTES);
        is_long.then_some(DividedTurns { from_hands: HANDS_MIN, cpu_factor: CPU_FACTOR })
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        self.begin_segment(uncompressed);
        let filled = loop {
            if let SeriesEnd::Segment(filled) = self.fill_to(u64::MAX, input, uncompressed, segment_bytes, turn)? {
                break filled;
            }
        };
        self.end_segment(uncompressed);
        Ok(filled)
    }
}

impl MemberStream {
    /// Adds to a segment what comes before the first block that begins at bit `stop` of the input or behind it.
    pub fn fill_to(
        &mut self,
        stop: u64,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SeriesEnd, CutError> {
        if !self.header_read {
            self.read_header(input)?;
        }
        let mut at_least = 1;
        loop {
            let stop = usize::try_from(stop.saturating_sub(input.position() * 8)).unwrap_or(usize::MAX);
            let (compressed, at_end) = input.ahead(at_least, INPUT_BYTES)?;
            let shown = compressed.len();
            let (buffer, filled) =
                uncompressed.with_history(segment_bytes.saturating_sub(uncompressed.len()) + SLACK_BYTES);
            let soft_end = buffer.len() - SLACK_BYTES;
            let inflater = &mut self.inflater;
            // Told of no end, the kernel hands out what it has decoded up to where the data break off.
            let step = match turn.with_hand(|| inflater.inflate_to(stop, compressed, false, buffer, filled, soft_end)) {
                Ok(step) => step,
                Err(broken) => {
                    uncompressed.grow(broken.produced);
                    return Err(CutError::Defect(UnitDefect::Deflate(broken.cause)));
                }
            };
            input.consume(step.consumed);
            self.divisible_bytes = self.divisible_bytes.map(|bytes| bytes + step.consumed as u64);
            uncompressed.grow(step.produced);
            match step.status {
                InflateStatus::Finished => return Self::read_trailer(input).map(SeriesEnd::Segment),
                InflateStatus::BlockEnd => return Ok(SeriesEnd::BlockEnd),
                InflateStatus::OutputFull => break,
                InflateStatus::NeedsInput if at_end => return Err(UnitDefect::Truncated.into()),
                InflateStatus::NeedsInput if !uncompressed.is_empty() && input.would_wait() => break,
                // What is left was too little to go on with: one byte more than it, at least.
                InflateStatus::NeedsInput => at_least = shown - step.consumed + 1,
            }
        }
        Ok(SeriesEnd::Segment(SegmentFill::More))
    }
}
