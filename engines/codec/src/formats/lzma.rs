//! .lzma (LZMA_alone, doc/lzma-file-format.txt of xz): the format before xz, one stream without checks. Nothing in it can be
//! divided, so both directions are liblzma's on one core, with reading and writing on others.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::filter_chain::lzma1_decoder_bytes;
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, NextUnit,
    SegmentFill, StreamDecoder, StreamEncoder, Tail, check_stream_bytes,
};
use crate::formats::xz;
use crate::reading::StreamReading;
use crew::pipeline::{CutTurn, Pause};
use liblzma::stream::{Action, Status, Stream};

/// The format.
#[derive(Debug)]
pub struct Lzma;

static FACTS: FormatFacts = FormatFacts {
    name: "lzma",
    tool: "lzma",
    suffixes: &[(".lzma", ""), (".tlz", ".tar")],
    unit_name: "stream",
    levels: 0..=9,
    level_before_ultra: 9,
    default_level: 6,
    best_level: 9,
    check: "none",
};

/// Properties, dictionary size, uncompressed size.
const HEADER_BYTES: usize = 13;

/// Compressed bytes given to the library at a time, and room for what comes out.
const STEP_BYTES: usize = 64 << 10;

/// Uncompressed bytes taken at a time: there are no units. Few, since hands move between chunks alone where one stream is all there is: 50 ms at the
/// highest level.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// LZMA makes what it cannot pack a little larger.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    plain_bytes + plain_bytes / 64 + HEADER_BYTES + STEP_BYTES
}

impl Format for Lzma {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    /// There is no magic: properties in range, and sizes as encoders write them, as xz decides too.
    fn recognises(&self, head: &[u8]) -> bool {
        let Some((&properties, rest)) = head.split_first() else { return false };
        let (Some(&dictionary), Some(size)) = (rest.first_chunk(), rest.get(4..12)) else { return false };
        let dictionary = u32::from_le_bytes(dictionary);
        // 2^n, or 2^n + 2^(n-1).
        let is_usual = dictionary == u32::MAX
            || dictionary.is_power_of_two()
            || (dictionary % 3 == 0 && (dictionary / 3).is_power_of_two());
        let size = size.iter().rev().fold(0_u64, |size, &byte| size << 8 | u64::from(byte));
        // LIMIT: known sizes below 256 GiB.
        properties < 9 * 5 * 5 && dictionary >= 4096 && is_usual && (size == u64::MAX || size < 1 << 38)
    }

    fn chunk_bytes(&self, _options: &EncodeOptions) -> usize {
        CHUNK_BYTES
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, options: &EncodeOptions) -> u64 {
        xz::encoder_bytes(options)
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        0
    }

    fn encoder(&self, _options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Err(CodecError::Library { library: "lzma", message: "its streams cannot be divided".to_owned() })
    }

    fn stream_encoder(&self, options: &EncodeOptions) -> Result<Option<Box<dyn StreamEncoder>>, CodecError> {
        let settings = xz::chain(options).settings().options();
        let stream = settings.and_then(|settings| Stream::new_lzma_encoder(&settings));
        Ok(Some(Box::new(WholeEncoder::new(stream.map_err(xz::library_error)?))))
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        self.cutter_as(limits, &StreamReading::default())
    }

    fn cutter_as(&self, limits: &DecodeLimits, reading: &StreamReading) -> Box<dyn Cutter> {
        Box::new(WholeCutter { limits: *limits, reading: *reading, seen: false })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

/// Encodes all bytes as one stream of the library.
pub(super) struct WholeEncoder {
    stream: Stream,
}

impl WholeEncoder {
    pub fn new(stream: Stream) -> Self {
        Self { stream }
    }

    fn step(&mut self, uncompressed: &[u8], action: Action, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        let mut rest = uncompressed;
        loop {
            let (consumed, produced) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.process(rest, compressed.room(STEP_BYTES), action).map_err(xz::library_error)?;
            // Both fit into what was given.
            rest = &rest[(self.stream.total_in() - consumed) as usize..];
            compressed.grow((self.stream.total_out() - produced) as usize);
            let is_done = if matches!(action, Action::Run) { rest.is_empty() } else { status == Status::StreamEnd };
            if is_done {
                return Ok(());
            }
        }
    }
}

impl StreamEncoder for WholeEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        ends: bool,
        compressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        self.step(uncompressed, if ends { Action::Finish } else { Action::Run }, compressed)
    }

    /// Filters that cannot do this are refused before.
    fn flush(&mut self, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        self.step(&[], Action::SyncFlush, compressed)
    }
}

/// Finds the one stream there is.
struct WholeCutter {
    limits: DecodeLimits,
    reading: StreamReading,
    seen: bool,
}

impl Cutter for WholeCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(HEADER_BYTES, STEP_BYTES)?;
        if head.is_empty() || self.seen && self.reading.is_first_alone {
            return Ok(NextUnit::End);
        }
        if std::mem::replace(&mut self.seen, true) {
            return Err(CutError::Garbage);
        }
        let dictionary = head.get(1..).and_then(<[u8]>::first_chunk).ok_or(UnitDefect::Truncated)?;
        let dictionary = u32::from_le_bytes(*dictionary);
        self.reading.check_filter_bytes(lzma1_decoder_bytes(dictionary))?;
        check_stream_bytes(u64::from(dictionary), &self.limits)?;
        let stream = Stream::new_lzma_decoder(u64::MAX).map_err(UnitDefect::Lzma)?;
        Ok(NextUnit::Stream(Box::new(WholeStream::new(stream))))
    }
}

/// Decodes what the library knows the end of.
pub(super) struct WholeStream {
    stream: Stream,
}

impl WholeStream {
    pub fn new(stream: Stream) -> Self {
        Self { stream }
    }
}

impl StreamDecoder for WholeStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        loop {
            let (compressed, at_end) = input.ahead(1, STEP_BYTES)?;
            let (consumed, produced) = (self.stream.total_in(), self.stream.total_out());
            // A stream of unknown length that breaks off is told by `Finish` alone.
            let action = if at_end { Action::Finish } else { Action::Run };
            let room = uncompressed.room(segment_bytes - uncompressed.len());
            let outcome = turn.with_hand(|| self.stream.process(compressed, room, action));
            let (consumed, produced) = (self.stream.total_in() - consumed, self.stream.total_out() - produced);
            // Both fit into what was given.
            uncompressed.grow(produced as usize);
            input.consume(consumed as usize);
            if outcome.map_err(UnitDefect::Lzma)? == Status::StreamEnd {
                return Ok(SegmentFill::Last(None));
            }
            if at_end && consumed == 0 && produced == 0 {
                return Err(UnitDefect::Truncated.into());
            }
            if uncompressed.len() == segment_bytes || (!uncompressed.is_empty() && input.would_wait()) {
                return Ok(SegmentFill::More);
            }
        }
    }
}

/// The cutter gives no units.
pub(super) struct NoUnits;

impl Decoder for NoUnits {
    fn decode(&mut self, _: &[u8], _: u64, _: u64, _: &mut ByteBuffer, _: &mut Pause<'_>) -> Result<(), UnitDefect> {
        Err(UnitDefect::Header("it has no units"))
    }
}
