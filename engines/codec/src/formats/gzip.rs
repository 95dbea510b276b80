//! gzip (RFC 1952): members that carry their own length, so that they can be decoded in parallel, or BGZF blocks.
//! Members of other tools have no length: they are decoded as a stream by the kernel, on one core, or, where four and more have time, on them.

mod chunk;
mod container;
mod cut;
mod decode;
mod encode;
pub mod kernel;
mod parallel_member;
mod search;

use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::{
    Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, Tail, UnitLayout,
};
use crate::origin::Origin;
use crate::reading::StreamReading;

/// Name and time in the first header at the start of `head`; `None` where it is no whole header, or tells neither.
pub(crate) fn origin(head: &[u8]) -> Option<Origin> {
    container::origin(head)
}

/// The format.
#[derive(Debug)]
pub struct Gzip;

static FACTS: FormatFacts = FormatFacts {
    name: "gz",
    tool: "gzip",
    suffixes: &[(".gz", ""), (".tgz", ".tar"), (".taz", ".tar"), (".bgz", ""), (".svgz", ".svg")],
    unit_name: "member",
    levels: 0..=12,
    level_before_ultra: 9,
    default_level: 6,
    best_level: 9,
    check: "crc32",
};

/// Uncompressed bytes in one member. Smaller loses ratio (each member starts without history: 1 MiB costs 0.5 % on source code),
/// larger costs memory and starves many hands on small files. Chosen in docs/journal/0001-tamp-first-slice.md.
const MEMBER_BYTES: usize = 1 << 20;

impl Format for Gzip {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&container::MAGIC)
    }

    fn begins_in(&self, bytes: &[u8]) -> bool {
        let tells_its_length = |head| {
            container::parse_header(head).is_ok_and(|header| header.is_some_and(|header| header.member_bytes.is_some()))
        };
        (0..bytes.len()).any(|at| bytes[at..].starts_with(&container::MAGIC) && tells_its_length(&bytes[at..]))
    }

    fn chunk_bytes(&self, options: &EncodeOptions) -> usize {
        match options.layout {
            UnitLayout::Bgzf => encode::BGZF_BLOCKS_A_CHUNK * encode::BGZF_UNCOMPRESSED_BYTES,
            _ => MEMBER_BYTES,
        }
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        encode::compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, options: &EncodeOptions) -> u64 {
        // Measured with libdeflate 1.2x: match tables, and from level 10 on the nodes of its optimal parser.
        if options.level > 9 { 10 << 20 } else { 2 << 20 }
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        256 << 10
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(match options.layout {
            UnitLayout::Bgzf => Box::new(encode::BgzfEncoder::new(options.level)),
            _ => Box::new(encode::MemberEncoder::new(options.level)),
        })
    }

    fn joins_parts(&self) -> bool {
        true
    }

    fn tail(&self, options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(match options.layout {
            UnitLayout::Bgzf => FixedTail(encode::BGZF_END.to_vec()),
            _ => FixedTail::default(),
        })
    }

    fn tell_origin(&self, origin: &Origin, first_unit: &mut ByteBuffer) {
        encode::tell_origin(origin, first_unit);
    }

    fn aside(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        Some(encode::aside(bytes))
    }

    fn open_aside(&self, compressed: &[u8]) -> Option<Vec<u8>> {
        encode::open_aside(compressed)
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        self.cutter_as(limits, &StreamReading::default())
    }

    fn cutter_as(&self, limits: &DecodeLimits, reading: &StreamReading) -> Box<dyn Cutter> {
        Box::new(cut::GzipCutter::new(limits, reading.hands))
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(decode::MemberDecoder::new())
    }
}
