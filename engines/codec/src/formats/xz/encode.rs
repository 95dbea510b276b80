//! Encodes xz blocks: filters by liblzma, with both sizes in the header and the check behind; and the Index of a lane's blocks.

use super::check::{Check, CheckKind};
use super::container::{
    BLOCK_HEADER_BYTES_MAX, block_header, block_header_bytes, padding, parse_block_header, stream_footer,
    written_block_header_bytes,
};
use super::index::{XzIndexRecords, record};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::filter_chain::{FilterChain, LzmaSettings};
use crate::format::{CheckName, EncodeOptions, Encoder, StreamEncoder, Tail};
use crew::pipeline::Pause;
use liblzma::stream::{Action, Error, Status, Stream};

/// The check of what is written: 64 bits unless another one was asked for, as xz has it.
pub(super) fn check_kind(options: &EncodeOptions) -> CheckKind {
    match options.check {
        Some(CheckName::None) => CheckKind::None,
        Some(CheckName::Crc32) => CheckKind::Crc32,
        Some(CheckName::Sha256) => CheckKind::Sha256,
        Some(CheckName::Crc64) | None => CheckKind::Crc64,
    }
}

/// The filters of blocks that have none of their own.
pub(crate) fn chain(options: &EncodeOptions) -> FilterChain {
    options.blocks.chain.unwrap_or_else(|| {
        // Levels begin at 0.
        let settings = LzmaSettings::preset(options.level.unsigned_abs(), options.is_extreme);
        FilterChain::lzma2(LzmaSettings { dictionary_bytes: reach(options, settings.dictionary_bytes), ..settings })
    })
}

/// LIMIT: LZMA2's least.
const DICTIONARY_BYTES_MIN: u32 = 4096;

/// Uncompressed bytes given to the library at a time. The slowest levels take 1 MB/s and less: 20 ms.
const STEP_BYTES: usize = 16 << 10;

/// The reach of matches: `usual` bytes or less.
fn reach(options: &EncodeOptions, usual: u32) -> u32 {
    options.reach_bytes.map_or(usual, |reach| usual.min(reach.max(DICTIONARY_BYTES_MIN)))
}

/// All chains that blocks may have.
fn chains(options: &EncodeOptions) -> impl Iterator<Item = FilterChain> {
    options.blocks.chains(chain(options)).map(|(_, chain)| chain)
}

/// Uncompressed bytes in one block at most: as asked for, or three dictionaries, as `xz -T` has it, and 1 MiB at least, but no
/// more than the longest that is listed.
pub(super) fn block_bytes(options: &EncodeOptions) -> u64 {
    let blocks = &options.blocks;
    let usual = || {
        // A shorter reach makes no shorter blocks: archives have their segments from the level alone.
        let whole = EncodeOptions { reach_bytes: None, ..*options };
        let most = chains(&whole).map(|chain| chain.block_bytes()).max().unwrap_or(1);
        let listed = blocks.list.unwrap_or(&[]).iter().map(|block| block.bytes).max();
        listed.map_or(most, |listed| most.min(listed))
    };
    blocks.most_bytes.unwrap_or_else(usual)
}

/// Memory of liblzma's encoder.
pub(crate) fn encoder_bytes(options: &EncodeOptions) -> u64 {
    chains(options).map(|chain| chain.encoder_bytes()).max().unwrap_or(0)
}

/// The largest compressed size: all of it in stored chunks of 64 KiB, three bytes each, and what stands around the data.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    plain_bytes + 3 * (plain_bytes >> 16) + 16 + BLOCK_HEADER_BYTES_MAX + 16
}

pub(crate) fn library_error(error: Error) -> CodecError {
    CodecError::Library { library: "lzma", message: error.to_string() }
}

/// One block a chunk.
pub(super) struct BlockEncoder(EncodeOptions);

impl BlockEncoder {
    pub fn new(options: &EncodeOptions) -> Self {
        Self(*options)
    }
}

impl Encoder for BlockEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        if uncompressed.is_empty() {
            // A stream of no blocks.
            return Ok(());
        }
        SegmentEncoder::new(&self.0, uncompressed.len())?.encode(uncompressed, true, compressed, pause)
    }
}

/// Uncompressed bytes in one block, that come segment by segment: liblzma keeps what it refers to.
pub(super) struct SegmentEncoder {
    stream: Stream,
    check: Check,
    plain_bytes: usize,
    chain: FilterChain,
    header_bytes: usize,
}

impl SegmentEncoder {
    pub fn new(options: &EncodeOptions, plain_bytes: usize) -> Result<Self, CodecError> {
        let chain = chain(options);
        // A dictionary longer than the block is never used, only allocated and cleared.
        let needed =
            u32::try_from(plain_bytes).unwrap_or(u32::MAX).max(DICTIONARY_BYTES_MIN).checked_next_power_of_two();
        let chain = chain.with_dictionary(chain.settings().dictionary_bytes.min(needed.unwrap_or(u32::MAX)));
        let filters = chain.to_library().map_err(library_error)?;
        let stream = Stream::new_raw_encoder(&filters).map_err(library_error)?;
        let header_bytes = written_block_header_bytes(&chain);
        Ok(Self { stream, check: Check::begin(check_kind(options)), plain_bytes, chain, header_bytes })
    }

    /// Takes some bytes in, the last of the block or not.
    fn step(&mut self, uncompressed: &[u8], ends: bool, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        let (consumed, produced) = (self.stream.total_in(), self.stream.total_out());
        // All of the block fits into the bound.
        let room = compressed.room(compressed_bound(self.plain_bytes) - self.header_bytes - produced as usize);
        let action = if ends { Action::Finish } else { Action::Run };
        let status = self.stream.process(uncompressed, room, action).map_err(library_error)?;
        compressed.grow((self.stream.total_out() - produced) as usize);
        let is_done = self.stream.total_in() - consumed == uncompressed.len() as u64;
        if !is_done || ends != (status == Status::StreamEnd) {
            return Err(library_error(Error::Program));
        }
        self.check.add(uncompressed);
        Ok(())
    }

    /// What stands around the data, once their lengths are known.
    fn finish(&mut self, compressed: &mut ByteBuffer) {
        let (plain_bytes, compressed_bytes) = (self.stream.total_in(), self.stream.total_out());
        let header = block_header(compressed_bytes, plain_bytes, &self.chain);
        compressed.content_mut()[..self.header_bytes].copy_from_slice(&header);
        compressed.append(&[0; 4][..padding(compressed_bytes) as usize]);
        compressed.append(&std::mem::replace(&mut self.check, Check::None).finish());
    }
}

impl StreamEncoder for SegmentEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        ends: bool,
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        if compressed.is_empty() {
            compressed.append(&vec![0; self.header_bytes]);
        }
        let mut steps = uncompressed.chunks(STEP_BYTES).peekable();
        while let Some(step) = steps.next() {
            self.step(step, ends && steps.peek().is_none(), compressed)?;
            pause.gone_through(step.len());
            pause.point();
        }
        if ends {
            if uncompressed.is_empty() {
                self.step(uncompressed, true, compressed)?;
            }
            self.finish(compressed);
        }
        Ok(())
    }
}

/// Index and stream footer.
pub(super) struct IndexTail {
    check: CheckKind,
    records: XzIndexRecords,
}

impl IndexTail {
    pub fn new(options: &EncodeOptions) -> Self {
        Self { check: check_kind(options), records: XzIndexRecords::default() }
    }
}

impl Tail for IndexTail {
    fn unit(&mut self, compressed: &[u8], plain_bytes: u64) {
        let Some(&first) = compressed.first() else { return };
        let header = parse_block_header(&compressed[..block_header_bytes(first)]).expect("it was written here");
        let compressed_bytes = header.compressed_bytes.expect("it was written here");
        self.records.add(record(header.bytes, compressed_bytes, self.check, plain_bytes));
    }

    fn finish(&mut self) -> Vec<u8> {
        let index = self.records.index();
        [&index[..], &stream_footer(self.check, index.len() as u64)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{BlockOptions, ListedBlock, UnitLayout};

    #[test]
    fn the_levels_chain_counts_where_a_block_has_it() {
        let [small, large] = [0, 9].map(|level| FilterChain::lzma2(LzmaSettings::preset(level, false)));
        let own = ListedBlock { bytes: u64::MAX, chain: Some(small) };
        let of = |list: Vec<ListedBlock>| {
            let blocks = BlockOptions { list: Some(list.leak()), ..BlockOptions::default() };
            let options = EncodeOptions { blocks, ..EncodeOptions::new(9, UnitLayout::ParallelUnits) };
            (encoder_bytes(&options), block_bytes(&options))
        };
        assert_eq!(of(vec![own]), (small.encoder_bytes(), small.block_bytes()));
        let usual = (large.encoder_bytes(), large.block_bytes());
        assert_eq!(of(vec![own, ListedBlock { chain: None, ..own }]), usual);
        assert_eq!(of(Vec::new()).0, usual.0);
    }
}
