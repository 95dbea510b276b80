//! zlib's format (RFC 1950): one deflate stream between a header of two bytes and an Adler-32. Written in pieces by all workers,
//! decoded as a stream.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, Format, FormatFacts, NextUnit, SegmentFill,
    StreamDecoder, Tail,
};
use crate::formats::deflate_pieces::{self, DeflateReader, PieceEncoder, piece_and_note};
use crate::formats::gzip::Gzip;
use crate::formats::lzma::NoUnits;
use crew::pipeline::CutTurn;

/// The format.
#[derive(Debug)]
pub struct Zlib;

static FACTS: FormatFacts = FormatFacts {
    name: "zlib",
    tool: "zlib",
    suffixes: &[(".zz", "")],
    unit_name: "piece",
    levels: 0..=12,
    level_before_ultra: 9,
    default_level: 6,
    best_level: 9,
    check: "adler32",
};

const HEADER_BYTES: usize = 2;
const TRAILER_BYTES: usize = 4;

impl Format for Zlib {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    /// Deflate with a window of 32 KiB at most and no dictionary.
    fn recognises(&self, head: &[u8]) -> bool {
        let [method, flags, ..] = *head else { return false };
        method & 0x8f == 8 && flags & 0x20 == 0 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
    }

    fn chunk_bytes(&self, _options: &EncodeOptions) -> usize {
        deflate_pieces::PIECE_BYTES
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        deflate_pieces::compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, options: &EncodeOptions) -> u64 {
        // As for gz, and a decoded piece.
        Gzip.encoder_bytes(options) + deflate_pieces::PIECE_BYTES as u64
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        0
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(Box::new(PieceEncoder::new(options.level, adler32)))
    }

    fn note_bytes(&self) -> usize {
        deflate_pieces::NOTE_BYTES
    }

    fn head(&self, options: &EncodeOptions) -> Vec<u8> {
        // The level's class, and what makes the two bytes a multiple of 31.
        let flags = match options.level {
            ..=1 => 0x01,
            2..=5 => 0x5e,
            6 => 0x9c,
            _ => 0xda,
        };
        vec![0x78, flags]
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(ZlibTail { adler: 1 })
    }

    fn cutter(&self, _limits: &DecodeLimits) -> Box<dyn Cutter> {
        Box::new(ZlibCutter { seen: false })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

struct ZlibTail {
    adler: u32,
}

impl Tail for ZlibTail {
    fn unit(&mut self, compressed: &[u8], plain_bytes: u64) {
        self.adler = combined(self.adler, piece_and_note(compressed).1, plain_bytes);
    }

    fn finish(&mut self) -> Vec<u8> {
        [&deflate_pieces::STREAM_END[..], &self.adler.to_be_bytes()].concat()
    }
}

/// The largest prime below 2^16.
const MODULUS: u32 = 65_521;

/// Bytes after which the sums still fit into 32 bits.
const SUMMED_BYTES: usize = 5552;

fn adler32(bytes: &[u8]) -> u32 {
    adler32_on(1, bytes)
}

/// The checksum of what `adler` is of and `bytes` behind it.
fn adler32_on(adler: u32, bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (adler & 0xffff, adler >> 16);
    for part in bytes.chunks(SUMMED_BYTES) {
        for &byte in part {
            low += u32::from(byte);
            high += low;
        }
        (low, high) = (low % MODULUS, high % MODULUS);
    }
    high << 16 | low
}

/// The checksum of two parts, of which the second has `bytes`.
fn combined(first: u32, second: u32, bytes: u64) -> u32 {
    // Below the modulus, as all terms are.
    let count = (bytes % u64::from(MODULUS)) as u32;
    let (low, high) = (first & 0xffff, first >> 16);
    let sum = |terms: [u64; 3]| (terms.iter().sum::<u64>() % u64::from(MODULUS)) as u32;
    let less_one = u64::from(MODULUS) - 1;
    let new_low = sum([u64::from(low), u64::from(second & 0xffff), less_one]);
    let moved = u64::from(count) * (u64::from(low) + less_one);
    let new_high = sum([u64::from(high), u64::from(second >> 16), moved]);
    new_high << 16 | new_low
}

/// One stream.
struct ZlibCutter {
    seen: bool,
}

impl Cutter for ZlibCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(HEADER_BYTES, HEADER_BYTES)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        if std::mem::replace(&mut self.seen, true) {
            return Err(CutError::Garbage);
        }
        if !Zlib.recognises(head) {
            return Err(UnitDefect::Header("it does not begin as a zlib stream does").into());
        }
        Ok(NextUnit::Stream(Box::new(ZlibStream { deflated: DeflateReader::new(), header_read: false, adler: 1 })))
    }
}

struct ZlibStream {
    deflated: DeflateReader,
    header_read: bool,
    adler: u32,
}

impl StreamDecoder for ZlibStream {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        if !self.header_read {
            input.consume(HEADER_BYTES);
            self.header_read = true;
        }
        let has_ended = self.deflated.fill(input, uncompressed, segment_bytes, turn)?;
        self.adler = turn.with_hand(|| adler32_on(self.adler, uncompressed.content()));
        if !has_ended {
            return Ok(SegmentFill::More);
        }
        let (ahead, _) = input.ahead(TRAILER_BYTES, TRAILER_BYTES)?;
        let stored = u32::from_be_bytes(*ahead.first_chunk().ok_or(UnitDefect::Truncated)?);
        if stored != self.adler {
            return Err(UnitDefect::Checksum { stored, computed: self.adler }.into());
        }
        input.consume(TRAILER_BYTES);
        Ok(SegmentFill::Last(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_parts_are_those_of_the_whole() {
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        let all = testkit::data::random(200_000, 5);
        for at in [0, 1, 5552, 65_521, 70_000, 199_999, 200_000] {
            let (first, second) = all.split_at(at);
            assert_eq!(combined(adler32(first), adler32(second), second.len() as u64), adler32(&all), "{at}");
            assert_eq!(adler32_on(adler32(first), second), adler32(&all), "{at}");
        }
    }

    #[test]
    fn text_is_no_stream() {
        assert!(Zlib.recognises(&[0x78, 0x9c]) && Zlib.recognises(&[0x78, 0x01]));
        assert!(!Zlib.recognises(b"x1") && !Zlib.recognises(b"x") && !Zlib.recognises(&[0x1f, 0x8b]));
    }
}
