//! Zstandard (RFC 8878): independent frames with a seek table behind them, or one frame by the library's own threads.
//! Frames whose header tells a bearable size are decoded in parallel, whoever made them; larger ones as a stream.

#[cfg(feature = "zstd-finder")]
mod blocks;
mod container;
mod cut;
mod decode;
mod encode;
mod kernel;
#[cfg(feature = "zstd-finder")]
mod own_frames;
#[cfg(not(feature = "zstd-finder"))]
#[path = "zstd/no_own_frames.rs"]
mod own_frames;
#[cfg(target_arch = "x86_64")]
mod parallel_frame;
pub(crate) mod parameters;
mod stepped_frames;
pub mod survey;

use super::skippable;
use crate::error::CodecError;
use crate::format::{
    Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, Format, FormatFacts, StreamEncoder, Tail, UnitLayout,
};
use crate::reading::StreamReading;

pub(crate) use kernel::train as train_dictionary;

/// The format.
#[derive(Debug)]
pub struct Zstd;

static FACTS: FormatFacts = FormatFacts {
    name: "zst",
    tool: "zstd",
    suffixes: &[(".zst", ""), (".tzst", ".tar"), (".zstd", "")],
    unit_name: "frame",
    levels: -131_072..=22,
    level_before_ultra: 19,
    default_level: 1,
    best_level: 19,
    check: "xxh64",
};

impl Format for Zstd {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&container::MAGIC) || skippable::begins(head)
    }

    fn skips_frames(&self) -> bool {
        true
    }

    fn chunk_bytes(&self, options: &EncodeOptions) -> usize {
        encode::frame_bytes(options.level)
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        zstd_safe::compress_bound(plain_bytes)
    }

    fn encoder_bytes(&self, options: &EncodeOptions) -> u64 {
        encode::context_bytes(options)
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        256 << 10
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(Box::new(encode::ZstdFrameEncoder::new(options)?))
    }

    fn stream_encoder(&self, options: &EncodeOptions) -> Result<Option<Box<dyn StreamEncoder>>, CodecError> {
        match options.layout {
            UnitLayout::SingleUnit => Ok(Some(Box::new(encode::FrameStreamEncoder::new(options)?))),
            UnitLayout::ParallelUnits | UnitLayout::Bgzf | UnitLayout::LegacyBlocks => Ok(None),
        }
    }

    fn joins_parts(&self) -> bool {
        true
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(encode::SeekTable::default())
    }

    fn aside(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        skippable::wrap(bytes)
    }

    fn open_aside(&self, compressed: &[u8]) -> Option<Vec<u8>> {
        skippable::unwrap(compressed)
    }

    fn tail_bytes(&self, end: &[u8]) -> u64 {
        encode::seek_table_bytes(end)
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        self.cutter_as(limits, &StreamReading::default())
    }

    fn cutter_as(&self, limits: &DecodeLimits, reading: &StreamReading) -> Box<dyn Cutter> {
        Box::new(cut::FrameCutter::new(limits, reading.hands))
    }

    fn decoder(&self, limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(decode::FrameDecoder::new(limits))
    }
}
