//! Encodes a whole xz stream in order, block by block as the bytes come, for blocks that are too large to be held: their headers
//! tell no sizes, as those of `xz -T1`.

use super::check::Check;
use super::container::{block_header_without_sizes, padding, stream_footer};
use super::encode::{chain, check_kind, library_error};
use super::index::{XzIndexRecords, record};
use crate::block_borders::BlockBorders;
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::filter_chain::FilterChain;
use crate::format::{EncodeOptions, StreamEncoder};
use crew::pipeline::Pause;
use liblzma::stream::{Action, Error, Status, Stream};

/// Uncompressed bytes taken at a time: a hand is kept for no longer.
pub(super) const SEGMENT_BYTES: usize = 64 << 10;

/// Room made for what the library gives at a time.
const ROOM_BYTES: usize = 64 << 10;

/// The encoder of one stream; its header is written by others.
pub(super) struct InOrderEncoder {
    options: EncodeOptions,
    borders: BlockBorders,
    block: Option<OpenBlock>,
    records: XzIndexRecords,
}

struct OpenBlock {
    stream: Stream,
    check: Check,
    header_bytes: usize,
    /// Uncompressed bytes that it may yet take.
    left: u64,
}

impl OpenBlock {
    fn begin(
        options: &EncodeOptions,
        (left, own): (u64, Option<FilterChain>),
        compressed: &mut ByteBuffer,
    ) -> Result<Self, CodecError> {
        let chain = own.unwrap_or_else(|| chain(options));
        let filters = chain.to_library().map_err(library_error)?;
        let stream = Stream::new_raw_encoder(&filters).map_err(library_error)?;
        let header = block_header_without_sizes(&chain);
        compressed.append(&header);
        Ok(Self { stream, check: Check::begin(check_kind(options)), header_bytes: header.len(), left })
    }

    fn take(&mut self, uncompressed: &[u8], action: Action, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        self.check.add(uncompressed);
        self.left -= uncompressed.len() as u64;
        let mut rest = uncompressed;
        loop {
            let (consumed, produced) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.process(rest, compressed.room(ROOM_BYTES), action).map_err(library_error)?;
            // Both fit into what was given.
            rest = &rest[(self.stream.total_in() - consumed) as usize..];
            let produced = (self.stream.total_out() - produced) as usize;
            compressed.grow(produced);
            match (action, status) {
                (Action::Finish, Status::StreamEnd) => return Ok(()),
                (Action::Run, _) if rest.is_empty() && produced < ROOM_BYTES => return Ok(()),
                (_, Status::MemNeeded) => return Err(library_error(Error::Program)),
                _ => {}
            }
        }
    }
}

impl InOrderEncoder {
    pub fn new(options: &EncodeOptions) -> Self {
        let most_bytes = options.blocks.most_bytes.unwrap_or(u64::MAX);
        let borders = BlockBorders::new(&options.blocks, most_bytes);
        Self { options: *options, borders, block: None, records: XzIndexRecords::default() }
    }

    fn finish_block(&mut self, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        let Some(mut block) = self.block.take() else { return Ok(()) };
        block.take(&[], Action::Finish, compressed)?;
        let (plain_bytes, packed_bytes) = (block.stream.total_in(), block.stream.total_out());
        compressed.append(&[0; 4][..padding(packed_bytes) as usize]);
        compressed.append(&block.check.finish());
        self.records.add(record(block.header_bytes, packed_bytes, check_kind(&self.options), plain_bytes));
        Ok(())
    }
}

impl StreamEncoder for InOrderEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        ends: bool,
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        let mut rest = uncompressed;
        while !rest.is_empty() {
            if self.block.is_none() {
                self.block = Some(OpenBlock::begin(&self.options, self.borders.next(), compressed)?);
            }
            let block = self.block.as_mut().expect("begun");
            let count = usize::try_from(block.left).unwrap_or(usize::MAX).min(rest.len());
            let (taken, behind) = rest.split_at(count);
            block.take(taken, Action::Run, compressed)?;
            rest = behind;
            if block.left == 0 {
                self.finish_block(compressed)?;
            }
            pause.gone_through(count);
            pause.point();
        }
        if ends {
            self.finish_block(compressed)?;
            let index = self.records.index();
            compressed.append(&index);
            compressed.append(&stream_footer(check_kind(&self.options), index.len() as u64));
        }
        Ok(())
    }

    fn flush(&mut self, compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        self.finish_block(compressed)
    }
}
