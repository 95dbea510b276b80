//! xz (The .xz File Format, version 1.2.1): one stream of blocks whose headers tell both sizes, so that they are found and
//! decoded in parallel, from files and pipes. Blocks of other tools without sizes are found through a file's Index; in a
//! pipe they are decoded as a stream. The container is read and written here; liblzma packs LZMA2, decodes it as a
//! stream and does the filters; whole blocks of LZMA2 alone are decoded by `kernel`.

mod check;
mod container;
mod cut;
mod decode;
mod encode;
mod in_order;
mod index;
#[cfg(feature = "lzma2-kernel")]
pub mod kernel;
pub mod survey;

use crate::error::CodecError;
use crate::format::{
    Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, StreamEncoder, Tail,
    UnitLayout,
};
use crate::reading::StreamReading;

/// The format.
#[derive(Debug)]
pub struct Xz;

static FACTS: FormatFacts = FormatFacts {
    name: "xz",
    tool: "xz",
    suffixes: &[(".xz", ""), (".txz", ".tar")],
    unit_name: "block",
    levels: 0..=9,
    level_before_ultra: 9,
    default_level: 6,
    best_level: 9,
    check: "crc64",
};

pub(crate) use container::put_vli;
pub(crate) use encode::{chain, encoder_bytes, library_error};

impl Format for Xz {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&container::MAGIC)
    }

    fn chunk_bytes(&self, options: &EncodeOptions) -> usize {
        match options.layout {
            UnitLayout::SingleUnit => in_order::SEGMENT_BYTES,
            UnitLayout::ParallelUnits | UnitLayout::Bgzf | UnitLayout::LegacyBlocks => {
                usize::try_from(encode::block_bytes(options)).unwrap_or(usize::MAX)
            }
        }
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        encode::compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, options: &EncodeOptions) -> u64 {
        encoder_bytes(options)
    }

    fn decoder_bytes(&self, unit_uncompressed_bytes: u64) -> u64 {
        // The dictionary of a block is not longer than the block; the kernel needs none.
        unit_uncompressed_bytes + (256 << 10)
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(Box::new(encode::BlockEncoder::new(options)))
    }

    fn takes_segments(&self) -> bool {
        true
    }

    fn unit_encoder(&self, options: &EncodeOptions, plain_bytes: usize) -> Result<Box<dyn StreamEncoder>, CodecError> {
        Ok(Box::new(encode::SegmentEncoder::new(options, plain_bytes)?))
    }

    fn stream_encoder(&self, options: &EncodeOptions) -> Result<Option<Box<dyn StreamEncoder>>, CodecError> {
        let is_in_order = options.layout == UnitLayout::SingleUnit;
        Ok(is_in_order.then(|| Box::new(in_order::InOrderEncoder::new(options)) as Box<dyn StreamEncoder>))
    }

    fn head(&self, options: &EncodeOptions) -> Vec<u8> {
        container::stream_header(encode::check_kind(options))
    }

    fn tail(&self, options: &EncodeOptions) -> Box<dyn Tail> {
        match options.layout {
            // The encoder writes it.
            UnitLayout::SingleUnit => Box::new(FixedTail::default()),
            UnitLayout::ParallelUnits | UnitLayout::Bgzf | UnitLayout::LegacyBlocks => {
                Box::new(encode::IndexTail::new(options))
            }
        }
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        self.cutter_as(limits, &StreamReading::default())
    }

    fn cutter_as(&self, limits: &DecodeLimits, reading: &StreamReading) -> Box<dyn Cutter> {
        Box::new(cut::XzBlockCutter::new(limits, reading))
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(decode::XzBlockDecoder::new())
    }
}
