//! LZ4 frames (lz4_Frame_format.md, version 1.6.4) and legacy ones: written as independent frames of one block each, with
//! size and checksum, so that blocks and checksums are made and decoded in parallel. Frames of other tools are decoded block
//! by block in parallel where their blocks are independent; linked blocks as a stream.

mod container;
mod cut;
mod decode;
mod encode;
mod kernel;
mod offsets;

use crate::error::CodecError;
use crate::format::{
    Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, Tail, UnitLayout,
};

/// The format.
#[derive(Debug)]
pub struct Lz4;

static FACTS: FormatFacts = FormatFacts {
    name: "lz4",
    tool: "lz4",
    suffixes: &[(".lz4", ""), (".tlz4", ".tar")],
    unit_name: "block",
    levels: -65_537..=12,
    level_before_ultra: 12,
    default_level: 1,
    best_level: 12,
    check: "xxh32",
};

impl Format for Lz4 {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&container::MAGIC) || head.starts_with(&container::LEGACY_MAGIC)
    }

    fn skips_frames(&self) -> bool {
        true
    }

    fn chunk_bytes(&self, options: &EncodeOptions) -> usize {
        match options.layout {
            UnitLayout::LegacyBlocks => container::LEGACY_BLOCK_BYTES as usize,
            _ => encode::FRAME_BYTES,
        }
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        encode::compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, _options: &EncodeOptions) -> u64 {
        512 << 10
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        0
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(match options.layout {
            UnitLayout::LegacyBlocks => Box::new(encode::Lz4LegacyEncoder::new(options.level)),
            _ => Box::new(encode::Lz4FrameEncoder::new(options.level, options.dictionary)),
        })
    }

    fn head(&self, options: &EncodeOptions) -> Vec<u8> {
        let is_legacy = options.layout == UnitLayout::LegacyBlocks;
        if is_legacy { container::LEGACY_MAGIC.to_vec() } else { Vec::new() }
    }

    fn joins_parts(&self) -> bool {
        true
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        Box::new(cut::Lz4BlockCutter::new(limits))
    }

    fn decoder(&self, limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(decode::UnitDecoder::new(limits.dictionary))
    }
}
