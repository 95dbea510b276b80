//! .lz (lzip, doc/lzip manual of lzip): members of LZMA data with a CRC-32 and both lengths behind them, read only. A member's
//! length stands at its end, so members are decoded one behind another, by liblzma.

use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::filter_chain::lzma1_decoder_bytes;
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, NextUnit, Tail,
    check_stream_bytes,
};
use crate::formats::lzma::{NoUnits, WholeStream};
use crate::reading::StreamReading;
use liblzma::stream::Stream;

/// The format.
#[derive(Debug)]
pub struct Lzip;

static FACTS: FormatFacts = FormatFacts {
    name: "lz",
    tool: "lzip",
    suffixes: &[(".lz", "")],
    unit_name: "member",
    levels: 0..=0,
    level_before_ultra: 0,
    default_level: 0,
    best_level: 0,
    check: "crc32",
};

const MAGIC: [u8; 4] = *b"LZIP";

/// Magic, version, dictionary size.
const HEADER_BYTES: usize = 6;

/// The newest version; 0 lacks the member's own length.
const VERSION_MAX: u8 = 1;

impl Format for Lzip {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&MAGIC)
    }

    fn begins_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(HEADER_BYTES).any(|head| head.starts_with(&MAGIC) && head[4] <= VERSION_MAX)
    }

    fn can_encode(&self) -> bool {
        false
    }

    fn chunk_bytes(&self, _options: &EncodeOptions) -> usize {
        1 << 20
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        plain_bytes
    }

    fn encoder_bytes(&self, _options: &EncodeOptions) -> u64 {
        0
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        0
    }

    fn encoder(&self, _options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Err(CodecError::Library { library: "lzma", message: "lz files are only read".to_owned() })
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        self.cutter_as(limits, &StreamReading::default())
    }

    fn cutter_as(&self, limits: &DecodeLimits, reading: &StreamReading) -> Box<dyn Cutter> {
        Box::new(MemberCutter { limits: *limits, reading: *reading })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

/// Finds members where the one before has ended.
struct MemberCutter {
    limits: DecodeLimits,
    reading: StreamReading,
}

impl Cutter for MemberCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(HEADER_BYTES, HEADER_BYTES)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        if !head.starts_with(&MAGIC) {
            return Err(CutError::Garbage);
        }
        let [_, _, _, _, version, dictionary, ..] = *head else { return Err(UnitDefect::Truncated.into()) };
        if version > VERSION_MAX {
            return Err(UnitDefect::Header("its header is of an unknown version").into());
        }
        let dictionary = dictionary_bytes(dictionary);
        self.reading.check_filter_bytes(lzma1_decoder_bytes(u32::try_from(dictionary).unwrap_or(u32::MAX)))?;
        check_stream_bytes(dictionary, &self.limits)?;
        let stream = Stream::new_lzip_decoder(u64::MAX, 0).map_err(UnitDefect::Lzma)?;
        Ok(NextUnit::Stream(Box::new(WholeStream::new(stream))))
    }
}

/// A power of two, less some sixteenths of it.
fn dictionary_bytes(code: u8) -> u64 {
    let base = 1_u64 << (code & 0x1f);
    base - base / 16 * u64::from(code >> 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_have_sixteenths_of_powers_of_two() {
        assert_eq!(dictionary_bytes(12), 4096);
        assert_eq!(dictionary_bytes(0x20 | 20), (1 << 20) / 16 * 15);
        assert_eq!(dictionary_bytes(0xd3), (1 << 19) - 6 * (1 << 15), "the manual's example");
    }
}
