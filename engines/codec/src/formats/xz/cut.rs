//! Finds the blocks of xz streams: by the sizes in their headers, else by the Index of a regular file; what neither tells is
//! streamed. At the end of each stream its Index is compared with the blocks that were met.
//!
//! Policy between streams: zero bytes in multiples of four are padding (section 2.2); anything else is an error, as for xz.

use super::check::CheckKind;
use super::container::{
    BLOCK_HEADER_BYTES_MAX, INDEX_INDICATOR, MAGIC, STREAM_FOOTER_BYTES, STREAM_HEADER_BYTES, XzBlockHeader,
    block_header_bytes, parse_block_header, parse_stream_footer, parse_stream_header,
};
use super::decode::{BlockStream, BlockUnit};
use super::index::{XzIndexRecord, XzIndexRecords, blocks_of_file, compressed_bytes, record};
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{
    CutError, Cutter, DecodeLimits, NextUnit, Remark, UncompressedSize, UnitPlace, check_stream_bytes,
};
use crate::reading::StreamReading;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A block from this size on is worth writing while it is decoded. Smaller ones are done before another core wakes up.
const LONG_BLOCK_BYTES: u64 = 1 << 20;

/// Padding that is looked at together.
const PADDING_BYTES: usize = 64 << 10;

pub(super) struct XzBlockCutter {
    limits: DecodeLimits,
    reading: StreamReading,
    /// The check of the stream that the reader is in.
    stream: Option<CheckKind>,
    /// The check of the stream begun last.
    last_check: Option<CheckKind>,
    /// Shared with the decoder of a block whose sizes only decoding tells.
    records: Arc<Mutex<XzIndexRecords>>,
    /// The file's blocks by offset, once one was met that needed it.
    by_index: Option<HashMap<u64, XzIndexRecord>>,
    blocks: u64,
}

impl XzBlockCutter {
    pub fn new(limits: &DecodeLimits, reading: &StreamReading) -> Self {
        Self {
            limits: *limits,
            reading: *reading,
            stream: None,
            last_check: None,
            records: Arc::default(),
            by_index: None,
            blocks: 0,
        }
    }

    fn between_streams(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(STREAM_HEADER_BYTES, STREAM_HEADER_BYTES)?;
        if head.is_empty() || self.last_check.is_some() && self.reading.is_first_alone {
            return Ok(NextUnit::End);
        }
        if head.starts_with(&[0; 4]) {
            let (ahead, _) = input.ahead(4, PADDING_BYTES)?;
            let zeros = ahead.iter().take_while(|&&byte| byte == 0).count();
            return Ok(NextUnit::Padding { bytes: zeros as u64 / 4 * 4 });
        }
        if !head.starts_with(&MAGIC[..head.len().min(MAGIC.len())]) {
            return Err(CutError::Garbage);
        }
        let header = head.first_chunk().ok_or(UnitDefect::Truncated)?;
        self.stream = Some(parse_stream_header(header)?);
        self.last_check = self.stream;
        *self.records.lock() = XzIndexRecords::default();
        Ok(NextUnit::Padding { bytes: STREAM_HEADER_BYTES as u64 })
    }

    fn block(&mut self, input: &mut CompressedReader, check: CheckKind) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(1, BLOCK_HEADER_BYTES_MAX)?;
        let &first = head.first().ok_or(UnitDefect::Truncated)?;
        if first == INDEX_INDICATOR {
            return self.index(input, check);
        }
        let header_bytes = block_header_bytes(first);
        let (head, _) = input.ahead(header_bytes, BLOCK_HEADER_BYTES_MAX)?;
        let header = parse_block_header(head.get(..header_bytes).ok_or(UnitDefect::Truncated)?)?;
        self.reading.check_filter_bytes(header.chain().map_or(0, |chain| chain.decoder_bytes()))?;
        let is_checked = !self.reading.ignores_checks;
        let is_first = self.blocks == 0;
        self.blocks += 1;
        if let Some(record) = self.sizes(input, &header, check)
            && let Some(packed_bytes) = self.bearable(input, record, header.dictionary_bytes(), is_first)?
        {
            self.records.lock().add(record);
            return Ok(NextUnit::Unit(UnitPlace {
                parameters: BlockUnit {
                    check,
                    is_checked,
                    uncompressed_bytes: record.uncompressed_bytes,
                    padding_bytes: packed_bytes - record.unpadded_bytes,
                }
                .parameters(),
                ..UnitPlace::whole(packed_bytes, UncompressedSize::Known(record.uncompressed_bytes))
            }));
        }
        check_stream_bytes(header.dictionary_bytes(), &self.limits)?;
        Ok(NextUnit::Stream(Box::new(BlockStream::new(check, is_checked, Arc::clone(&self.records)))))
    }

    /// Both sizes of the block at the reader's position, by its header or by the file's Index.
    fn sizes(
        &mut self,
        input: &mut CompressedReader,
        header: &XzBlockHeader,
        check: CheckKind,
    ) -> Option<XzIndexRecord> {
        if let (Some(compressed), Some(uncompressed)) = (header.compressed_bytes, header.uncompressed_bytes) {
            return Some(record(header.bytes, compressed, check, uncompressed));
        }
        let file = input.regular_file()?;
        let by_index = self.by_index.get_or_insert_with(|| blocks_of_file(file));
        let found = *by_index.get(&input.position())?;
        compressed_bytes(found, header.bytes, check).map(|_| found)
    }

    /// The compressed size of a block that a worker can hold as a whole and that is there as a whole.
    fn bearable(
        &self,
        input: &mut CompressedReader,
        record: XzIndexRecord,
        dictionary_bytes: u64,
        is_first: bool,
    ) -> Result<Option<u64>, CutError> {
        let limit = self.limits.unit_uncompressed_bytes;
        // LZMA2 stores what it cannot pack, at three bytes for 64 KiB.
        if record.uncompressed_bytes > limit || record.unpadded_bytes > limit + limit / 1024 + (64 << 10) {
            return Ok(None);
        }
        let packed_bytes = record.padded_bytes();
        let referred_bytes = dictionary_bytes.min(record.uncompressed_bytes);
        if packed_bytes + record.uncompressed_bytes + referred_bytes > self.limits.unit_held_bytes {
            return Ok(None);
        }
        if input.peek_at(packed_bytes - 1, &mut [0; 1])? == 0 {
            return Ok(None);
        }
        // The only block of a file, if it is long: one core decodes it either way, and as a stream another can write what
        // is decoded meanwhile. A pipe is not asked: it would have to be waited for.
        if self.limits.streams_lone_unit
            && is_first
            && record.uncompressed_bytes >= LONG_BLOCK_BYTES
            && input.regular_file().is_some()
        {
            let mut next = [0; 1];
            if input.peek_at(packed_bytes, &mut next)? == 1 && next[0] == INDEX_INDICATOR {
                return Ok(None);
            }
        }
        Ok(Some(packed_bytes))
    }

    fn index(&mut self, input: &mut CompressedReader, check: CheckKind) -> Result<NextUnit, CutError> {
        let expected = self.records.lock().index();
        let mut index = vec![0; expected.len()];
        let read = input.peek_at(0, &mut index)?;
        if index[..read] != expected[..read] {
            return Err(UnitDefect::Header("the stream's Index does not agree with its blocks").into());
        }
        let mut footer = [0; STREAM_FOOTER_BYTES];
        if read < index.len() || input.peek_at(read as u64, &mut footer)? < footer.len() {
            return Err(UnitDefect::Truncated.into());
        }
        if parse_stream_footer(&footer)? != (check, index.len() as u64) {
            return Err(UnitDefect::Header("its stream footer does not agree with the stream").into());
        }
        self.stream = None;
        Ok(NextUnit::Padding { bytes: (index.len() + footer.len()) as u64 })
    }
}

impl Cutter for XzBlockCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        match self.stream {
            None => self.between_streams(input),
            Some(check) => self.block(input, check),
        }
    }

    fn check(&self) -> Option<&'static str> {
        self.last_check.map(CheckKind::name)
    }

    fn remark(&self) -> Option<Remark> {
        matches!(self.last_check, Some(CheckKind::Unknown(_))).then_some(Remark::UnknownCheck)
    }
}
