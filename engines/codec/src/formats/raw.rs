//! Raw streams: what a chain of filters makes, with no header, check or length around it. Nothing tells that a file is one, nor
//! which chain it has: it must be given. Both directions are liblzma's on one core.

use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, NextUnit,
    StreamEncoder, Tail,
};
use crate::formats::lzma::{CHUNK_BYTES, NoUnits, WholeEncoder, WholeStream, compressed_bound};
use crate::formats::xz;
use crate::reading::StreamReading;
use liblzma::stream::Stream;

/// The format.
#[derive(Debug)]
pub struct Raw;

static FACTS: FormatFacts = FormatFacts {
    name: "raw",
    tool: "raw",
    suffixes: &[(".raw", "")],
    unit_name: "stream",
    levels: 0..=9,
    level_before_ultra: 9,
    default_level: 6,
    best_level: 9,
    check: "none",
};

impl Format for Raw {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, _head: &[u8]) -> bool {
        false
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
        Err(CodecError::Library { library: "lzma", message: "raw streams cannot be divided".to_owned() })
    }

    fn stream_encoder(&self, options: &EncodeOptions) -> Result<Option<Box<dyn StreamEncoder>>, CodecError> {
        let filters = xz::chain(options).to_library();
        let stream = filters.and_then(|filters| Stream::new_raw_encoder(&filters)).map_err(xz::library_error)?;
        Ok(Some(Box::new(WholeEncoder::new(stream))))
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    /// Of a stream of which nothing is known: it is none.
    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        self.cutter_as(limits, &StreamReading::default())
    }

    fn cutter_as(&self, _limits: &DecodeLimits, reading: &StreamReading) -> Box<dyn Cutter> {
        Box::new(RawCutter { reading: *reading })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

/// Finds the one stream there is.
struct RawCutter {
    reading: StreamReading,
}

impl Cutter for RawCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let Some(chain) = self.reading.raw.take() else {
            let is_over = self.reading.is_first_alone || input.is_at_end()?;
            return if is_over { Ok(NextUnit::End) } else { Err(CutError::Garbage) };
        };
        self.reading.check_filter_bytes(chain.decoder_bytes())?;
        let filters = chain.to_library().map_err(UnitDefect::Lzma)?;
        let stream = Stream::new_raw_decoder(&filters).map_err(UnitDefect::Lzma)?;
        Ok(NextUnit::Stream(Box::new(WholeStream::new(stream))))
    }
}
