//! One long frame on several cores: its blocks' literals and sequences are decoded by whoever has time, ahead of the one thread that
//! copies them in order. Theory: `engines/codec/README.md`.

use super::container::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, ZstdBlockKind, ZstdFrameHeader, parse_block_header};
use super::kernel::blocks::{BlockDecoder, BlockDefect, BlockHistory, CompressedBlock, DecodedBlock, TablesSoFar};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{AheadOfStream, CutError, DecodeLimits, SegmentFill, StreamDecoder};
use crate::task_pool::{AheadTask, TaskPool};
use crew::pipeline::CutTurn;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use xxhash_rust::xxh64::Xxh64;

/// Blocks under way at most. Each takes up to 0.7 MB.
const UNDER_WAY: u64 = 24;

/// Compressed bytes that are read at a time.
const INPUT_BYTES: usize = 256 << 10;

/// LIMIT: the largest window; the library decodes what needs more.
const WINDOW_MAX: u64 = 1 << 30;

/// A frame from this size on is worth the hand-overs.
const LEAST_BYTES: u64 = 1 << 20;

/// A block that waits to be decoded.
struct BlockTask {
    block: Result<CompressedBlock, BlockDefect>,
    block_bytes: usize,
    /// Memory for it.
    into: DecodedBlock,
}

type Decoded = Result<DecodedBlock, BlockDefect>;

impl AheadTask for BlockTask {
    type Tools = Option<BlockDecoder>;
    type Outcome = Decoded;

    fn run(mut self, tools: &mut Self::Tools) -> Decoded {
        let block = self.block?;
        if tools.is_none() {
            *tools = BlockDecoder::new();
        }
        let decoder = tools.as_mut().ok_or("there is no memory to decode it")?;
        decoder.decode(&block, self.block_bytes, &mut self.into)?;
        Ok(self.into)
    }

    fn panicked() -> Decoded {
        Err("its decoder has panicked")
    }
}

/// Decodes one frame segment by segment.
pub(super) struct ParallelFrame {
    pool: Arc<TaskPool<BlockTask>>,
    block_bytes: usize,
    spare: Vec<DecodedBlock>,
    header: ZstdFrameHeader,
    tables: TablesSoFar,
    history: BlockHistory,
    checksum: Xxh64,
    has_begun: bool,
    /// Blocks that were read, and whether the last one is among them.
    read: u64,
    is_all_read: bool,
    copied: u64,
    /// Where the blocks begin that are under way.
    offsets: VecDeque<u64>,
    /// Why no more could be read: told behind the blocks that were.
    read_error: Option<io::Error>,
}

impl Drop for ParallelFrame {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl ParallelFrame {
    /// Whether a frame is decoded so where there are so many hands.
    pub fn takes(header: &ZstdFrameHeader, limits: &DecodeLimits, hands: usize) -> bool {
        hands > 1
            && header.window_bytes <= WINDOW_MAX
            && header.content_bytes.is_none_or(|bytes| bytes >= LEAST_BYTES)
            && header.dictionary == 0
            && limits.dictionary.is_none()
            && limits.prefix.is_none()
            && BlockDecoder::is_possible()
    }

    /// Of a frame whose header is `header`, at which the reader will stand. None where there is no memory for its window.
    pub fn new(header: ZstdFrameHeader) -> Option<Self> {
        // RFC 8878 section 3.1.1.2.4. A frame that is shorter than its window needs no more than itself.
        let window = header.window_bytes.min(WINDOW_MAX).min(header.content_bytes.unwrap_or(u64::MAX)) as usize;
        let block_bytes = header.window_bytes.min(BLOCK_BYTES_MAX) as usize;
        Some(Self {
            pool: Arc::default(),
            block_bytes,
            spare: Vec::new(),
            header,
            tables: TablesSoFar::default(),
            history: BlockHistory::new(window)?,
            checksum: Xxh64::new(0),
            has_begun: false,
            read: 0,
            is_all_read: false,
            copied: 0,
            offsets: VecDeque::new(),
            read_error: None,
        })
    }

    /// Reads the next block, if one is wanted now. What cannot be read is no loss of the blocks before it.
    fn read_ahead(&mut self, input: &mut CompressedReader) -> Result<(), CutError> {
        match self.read_block(input) {
            Err(CutError::Read(error)) if self.read > self.copied => {
                (self.read_error, self.is_all_read) = (Some(error), true);
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn read_block(&mut self, input: &mut CompressedReader) -> Result<(), CutError> {
        let is_wanted = !self.is_all_read && self.read - self.copied < UNDER_WAY;
        if !is_wanted || self.read > self.copied && input.would_wait() {
            return Ok(());
        }
        let offset = input.position();
        let (head, _) = input.ahead(BLOCK_HEADER_BYTES, INPUT_BYTES)?;
        let outcome = match head.first_chunk::<BLOCK_HEADER_BYTES>() {
            None => return self.breaks_off(),
            Some(head) => parse_block_header(*head),
        };
        let header = match outcome {
            Ok(header) if header.size <= self.block_bytes as u64 => header,
            Ok(_) => return self.add(offset, Err("it is larger than a block of this frame may be"), true),
            Err(_) => return self.add(offset, Err("it is of a reserved type, or too large"), true),
        };
        input.consume(BLOCK_HEADER_BYTES);
        let packed_bytes = header.packed_bytes as usize;
        let front = if header.kind == ZstdBlockKind::Compressed { TablesSoFar::FRONT } else { 0 };
        let mut bytes = Vec::with_capacity(front + packed_bytes);
        bytes.resize(front, 0);
        // The reader has a buffer, so that few of these are a read of their own.
        input.peek(packed_bytes, INPUT_BYTES)?;
        if input.take_into(packed_bytes, &mut bytes)? < packed_bytes {
            return self.breaks_off();
        }
        let block = match header.kind {
            ZstdBlockKind::Raw => Ok(CompressedBlock::Raw(bytes)),
            ZstdBlockKind::Repeated => Ok(CompressedBlock::Repeated(bytes[0], header.size as usize)),
            // COMPAT: the library's stream takes one of no bytes for an empty block.
            ZstdBlockKind::Compressed if packed_bytes == 0 => Ok(CompressedBlock::Raw(Vec::new())),
            ZstdBlockKind::Compressed => self.tables.block(bytes),
        };
        let is_last = header.is_last || block.is_err();
        self.add(offset, block, is_last)
    }

    /// What was read before comes first.
    fn breaks_off(&mut self) -> Result<(), CutError> {
        if self.read == self.copied {
            return Err(UnitDefect::Truncated.into());
        }
        self.add(0, Err(BREAKS_OFF), true)
    }

    fn add(&mut self, offset: u64, block: Result<CompressedBlock, BlockDefect>, is_last: bool) -> Result<(), CutError> {
        let into = self.spare.pop().unwrap_or_default();
        self.pool.add(self.read, BlockTask { block, block_bytes: self.block_bytes, into });
        self.offsets.push_back(offset);
        self.read += 1;
        self.is_all_read = is_last;
        Ok(())
    }

    /// Copies the next block, decoded, into its place.
    fn copy_block(&mut self, decoded: Decoded, uncompressed: &mut ByteBuffer) -> Result<(), UnitDefect> {
        let (number, offset) = (self.copied, self.offsets.pop_front().unwrap_or(0));
        let damaged = |what| match what {
            BREAKS_OFF => UnitDefect::Truncated,
            what => UnitDefect::ZstdBlock { number: number + 1, offset, what },
        };
        let mut block = decoded.map_err(damaged)?;
        let done = self.history.done() + block.bytes() as u64;
        let content = self.history.append(&mut block).map_err(damaged)?;
        if let Some(stored) = self.header.content_bytes.filter(|&stored| stored < done) {
            return Err(UnitDefect::Length { stored, actual: done });
        }
        if self.header.has_checksum {
            self.checksum.update(content);
        }
        uncompressed.append(content);
        self.spare.push(block);
        self.copied += 1;
        Ok(())
    }

    /// Behind the last block: its size and its checksum.
    fn finish(&mut self, input: &mut CompressedReader) -> Result<(), CutError> {
        let done = self.history.done();
        if let Some(stored) = self.header.content_bytes.filter(|&stored| stored != done) {
            return Err(UnitDefect::Length { stored, actual: done }.into());
        }
        if self.header.has_checksum {
            let (behind, _) = input.ahead(4, 4)?;
            let Some(stored) = behind.first_chunk::<4>() else { return Err(UnitDefect::Truncated.into()) };
            // RFC 8878 section 3.1.1: the low four bytes.
            let (stored, computed) = (u32::from_le_bytes(*stored), self.checksum.digest() as u32);
            input.consume(4);
            if stored != computed {
                return Err(UnitDefect::Checksum { stored, computed }.into());
            }
        }
        Ok(())
    }
}

/// Among defects of blocks: there is none.
const BREAKS_OFF: BlockDefect = "it breaks off";

impl StreamDecoder for ParallelFrame {
    fn ahead(&self) -> Option<Arc<dyn AheadOfStream>> {
        let ahead: Arc<dyn AheadOfStream> = Arc::<TaskPool<BlockTask>>::clone(&self.pool);
        Some(ahead)
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        uncompressed.clear();
        if !self.has_begun {
            self.has_begun = true;
            input.peek(self.header.bytes, INPUT_BYTES)?;
            input.consume(self.header.bytes);
        }
        loop {
            // Two for one that is copied, until so many are under way.
            self.read_ahead(input)?;
            self.read_ahead(input)?;
            let decoded = turn.prepare(|| self.pool.take(self.copied));
            turn.with_hand(|| self.copy_block(decoded, uncompressed))?;
            if self.is_all_read && self.copied == self.read {
                if let Some(error) = self.read_error.take() {
                    return Err(error.into());
                }
                return self.finish(input).map(|()| SegmentFill::Last(None));
            }
            let nothing_at_hand = self.copied == self.read && !uncompressed.is_empty() && input.would_wait();
            if uncompressed.len() + BLOCK_BYTES_MAX as usize > segment_bytes || nothing_at_hand {
                return Ok(SegmentFill::More);
            }
        }
    }
}

#[cfg(test)]
mod tests;
