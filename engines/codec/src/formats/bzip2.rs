//! bzip2 (Julian Seward): blocks of up to 900 kB, sorted and Huffman-coded, in streams. We write a stream for each block, as
//! pbzip2 does, and decode the blocks of any file in parallel.

mod container;
mod cut;
mod decode;
mod encode;
mod runs;
mod scan;
mod sort;
mod symbols;
mod tables;

use crate::error::CodecError;
use crate::format::{
    Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, FixedTail, Format, FormatFacts, StreamDecoder, Tail,
};

/// The format.
#[derive(Debug)]
pub struct Bzip2;

static FACTS: FormatFacts = FormatFacts {
    name: "bz2",
    tool: "bzip2",
    suffixes: &[(".bz2", ""), (".tbz2", ".tar"), (".tbz", ".tar"), (".tz2", ".tar"), (".bz", "")],
    unit_name: "block",
    levels: 1..=9,
    level_before_ultra: 9,
    default_level: 9,
    best_level: 9,
    check: "crc32",
};

impl Format for Bzip2 {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let magics = [container::BLOCK_MAGIC, container::END_MAGIC].map(|magic| (magic << 16).to_be_bytes());
        let behind = &head[head.len().min(container::HEADER_BYTES)..head.len().min(container::HEADER_BYTES + 6)];
        container::level_of(head).is_some() && magics.iter().any(|magic| magic.starts_with(behind))
    }

    fn begins_in(&self, bytes: &[u8]) -> bool {
        let head_bytes = container::HEADER_BYTES + 6;
        bytes.windows(head_bytes).any(|head| head[0] == b'B' && self.recognises(head))
    }

    fn chunk_bytes(&self, options: &EncodeOptions) -> usize {
        encode::chunk_bytes(options.level)
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        encode::compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, _options: &EncodeOptions) -> u64 {
        // Two copies of a block, its suffix array of 32-bit places, its symbols.
        10 << 20
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        // mibz2's scratch for blocks of 900 kB.
        8 << 20
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(Box::new(encode::StreamsEncoder::new(options.level)))
    }

    fn joins_parts(&self) -> bool {
        true
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(FixedTail::default())
    }

    fn cutter(&self, limits: &DecodeLimits) -> Box<dyn Cutter> {
        Box::new(cut::Bzip2BlockCutter::new(limits))
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(decode::Bzip2BlockDecoder::new())
    }

    fn in_series(&self, parameters: u64, is_handed_on: bool) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decode::SeriesDecoder::at_a_block(parameters, is_handed_on)))
    }
}
