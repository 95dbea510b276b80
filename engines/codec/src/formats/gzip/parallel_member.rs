//! One long member on several cores: other threads decode chunks of it before anybody knows what stands before them, and the one in turn puts them in
//! order. Theory: `engines/codec/README.md`.

use super::chunk::{
    CHUNK_MEMORY, ChunkSource, ChunkTask, DecodedChunk, HANDS_MIN, OVERLAP_BYTES, SERIES_BYTES, SpareMemory,
};
use super::decode::{MemberStream, SeriesEnd};
use super::kernel::WINDOW_BYTES;
use super::search::{self, STORED_HEADER_BITS};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::UnitDefect;
use crate::format::{AheadOfStream, CutError, SegmentFill, SegmentRest, StreamDecoder};
use crate::running_check::RunningCheck;
use crate::task_pool::TaskPool;
use crew::pipeline::CutTurn;
use std::collections::VecDeque;
use std::sync::Arc;

/// Uncompressed bytes that a chunk is to have.
const CHUNK_BYTES: u64 = 2 << 20;

/// Compressed bytes of a chunk. A few blocks at least, and more than the search for the first one costs.
const RANGE_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=512 << 10;

/// Chunks in vain one after another, and so many compressed bytes that are decoded in series after them.
const MISSES_MAX: u32 = 16;
const PAUSE_BYTES: u64 = 64 << 20;

/// Chunks that were decoded and wait in the pipeline to be resolved.
const CHUNKS_IN_SLOTS: usize = 4;

/// Owners of the spare memory besides chunks: the cutter and the member.
const OWNERS: usize = 2;

/// Bits before a stored block's length in which its header may begin.
const STORED_HEADER_AND_PADDING: u64 = STORED_HEADER_BITS as u64 + 7;

/// A range of compressed bytes that is decoded ahead.
struct AheadRange {
    number: u64,
    from: u64,
}

/// How the next bytes are decoded.
enum Step {
    /// They were, ahead.
    Chunk(DecodedChunk),
    /// Up to the first block that begins at this bit of the input or behind it.
    Series(u64),
}

/// Decodes one member of unknown length.
pub(super) struct ParallelMember {
    series: MemberStream,
    pool: Arc<TaskPool<ChunkTask>>,
    ranges: VecDeque<AheadRange>,
    /// Ranges so far.
    begun: u64,
    /// Where the next one begins.
    cursor: u64,
    /// Ranges that may be under way now, and at most.
    depth: usize,
    depth_max: usize,
    misses: u32,
    /// Chunks are decoded ahead from this place on.
    ahead_from: u64,
    next: Option<DecodedChunk>,
    /// Where the member begins.
    from: Option<u64>,
    uncompressed_bytes: u64,
    spare: SpareMemory,
    rest: Option<SegmentRest>,
}

impl Drop for ParallelMember {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl ParallelMember {
    /// The decoder of a member at which the reader stands, for so many hands with so much memory, if it is worth it. The member before had so many compressed
    /// bytes; `spare` is what is left of its memory.
    pub fn for_hands(
        hands: usize,
        memory: u64,
        input: &CompressedReader,
        bytes_before: u64,
        spare: &SpareMemory,
    ) -> Option<Self> {
        let depth_max = usize::try_from(memory / CHUNK_MEMORY).unwrap_or(usize::MAX).min(2 * hands + CHUNKS_IN_SLOTS);
        (hands >= HANDS_MIN && depth_max >= HANDS_MIN && !input.is_stream()).then(|| Self {
            series: MemberStream::new(false),
            pool: Arc::default(),
            ranges: VecDeque::new(),
            begun: 0,
            cursor: 0,
            depth: HANDS_MIN,
            depth_max,
            misses: 0,
            ahead_from: input.position() + bytes_before.max(SERIES_BYTES),
            next: None,
            from: None,
            uncompressed_bytes: 0,
            spare: Arc::clone(spare),
            rest: None,
        })
    }

    /// The bit of the input at which decoding stands.
    fn at(&self, input: &CompressedReader) -> u64 {
        input.position() * 8 + u64::from(self.series.bits_used())
    }

    fn step(&mut self, input: &mut CompressedReader, turn: &mut CutTurn<'_>) -> Result<Step, CutError> {
        let at = self.at(input);
        self.from.get_or_insert(input.position());
        if input.position() < self.ahead_from {
            return Ok(Step::Series(u64::MAX));
        }
        if self.series.window().is_none() || !self.series.is_between_blocks() {
            return Ok(Step::Series(at));
        }
        self.read_ahead(input);
        // Decoding in series will find bytes that cannot be read.
        let mut header = [0; 8];
        input.peek_at(0, &mut header).unwrap_or(0);
        let here = input.position() * 8 + search::canonical(&header, (at % 8) as usize) as u64;
        loop {
            match self.next.take() {
                Some(chunk) if chunk.begin == here => {
                    (self.misses, self.depth) = (0, (2 * self.depth).min(self.depth_max));
                    return Ok(Step::Chunk(chunk));
                }
                Some(chunk) if chunk.begin > here => {
                    let stop = chunk.begin - STORED_HEADER_AND_PADDING;
                    self.next = Some(chunk);
                    return Ok(Step::Series(stop));
                }
                Some(_) => self.miss(input.position()),
                None => {}
            }
            match self.ranges.pop_front() {
                None => return Ok(Step::Series(u64::MAX)),
                Some(range) if range.from * 8 > at => {
                    let stop = range.from * 8;
                    self.ranges.push_front(range);
                    return Ok(Step::Series(stop));
                }
                // A chunk that nobody has had time for is decoded in series, which is faster than by the same thread as a chunk.
                Some(range) => match turn.prepare(|| self.pool.take_begun(range.number)) {
                    Some(Some(chunk)) => self.next = Some(chunk),
                    Some(None) => self.miss(input.position()),
                    None => {}
                },
            }
        }
    }

    fn miss(&mut self, position: u64) {
        (self.misses, self.depth) = (self.misses + 1, (self.depth / 2).max(1));
        if self.misses >= MISSES_MAX {
            (self.misses, self.ahead_from) = (0, position + PAUSE_BYTES);
        }
    }

    /// Has further ranges decoded, as far as they can be read and there is memory for them: chunks in the pipeline's slots count, too.
    fn read_ahead(&mut self, input: &mut CompressedReader) {
        let ratio = self.uncompressed_bytes / (input.position() - self.from.unwrap_or(0)).max(1);
        let bytes = (CHUNK_BYTES / ratio.max(1)).clamp(*RANGE_BYTES.start(), *RANGE_BYTES.end());
        while self.ranges.len() < self.depth && Arc::strong_count(&self.spare) < self.depth_max + OWNERS {
            // The range at hand is this thread's own.
            let from = self.cursor.max(input.position() + if self.ranges.is_empty() { bytes } else { 0 });
            let distance = from - input.position();
            let source = match input.regular_file() {
                Some(file) => {
                    let file = Arc::clone(file);
                    if input.peek_at(distance, &mut [0]).unwrap_or(0) == 0 {
                        break;
                    }
                    ChunkSource::File(file)
                }
                None => {
                    let mut compressed = vec![0; bytes as usize + OVERLAP_BYTES];
                    let read = input.peek_at(distance, &mut compressed).unwrap_or(0);
                    compressed.truncate(read);
                    if read == 0 {
                        break;
                    }
                    ChunkSource::Memory(compressed)
                }
            };
            self.pool
                .add(self.begun, ChunkTask { source, spare: Arc::clone(&self.spare), from, bytes: bytes as usize });
            self.ranges.push_back(AheadRange { number: self.begun, from });
            (self.begun, self.cursor) = (self.begun + 1, from + bytes);
        }
    }

    /// Goes on behind a chunk, whose bytes are made by whoever has time.
    fn place(&mut self, chunk: DecodedChunk, input: &mut CompressedReader) -> Result<SegmentFill, CutError> {
        let window: Box<[u8; WINDOW_BYTES]> = Box::new(*self.series.window().ok_or(UnitDefect::Truncated)?);
        let (end, is_final) = (chunk.end, chunk.is_final);
        let bytes = if is_final { end.div_ceil(8) } else { end / 8 } - input.position();
        if input.skip(bytes)? < bytes {
            return Err(UnitDefect::Truncated.into());
        }
        self.uncompressed_bytes += chunk.bytes() as u64;
        self.series.go_on((end % 8) as u32, chunk.window_behind(&window));
        self.rest = Some(Box::new(move |uncompressed: &mut ByteBuffer| chunk.append_to(uncompressed, &window)));
        if is_final { MemberStream::read_trailer(input) } else { Ok(SegmentFill::More) }
    }
}

impl StreamDecoder for ParallelMember {
    fn running_check(&self) -> RunningCheck {
        RunningCheck::Crc32
    }

    fn ahead(&self) -> Option<Arc<dyn AheadOfStream>> {
        let ahead: Arc<dyn AheadOfStream> = Arc::<TaskPool<ChunkTask>>::clone(&self.pool);
        Some(ahead)
    }

    fn rest(&mut self) -> Option<SegmentRest> {
        self.rest.take()
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        self.series.begin_segment(uncompressed);
        let filled = loop {
            match self.step(input, turn)? {
                Step::Chunk(chunk) if uncompressed.is_empty() => {
                    uncompressed.clear();
                    return self.place(chunk, input);
                }
                Step::Chunk(chunk) => {
                    self.next = Some(chunk);
                    break SegmentFill::More;
                }
                Step::Series(stop) => {
                    let end = self.series.fill_to(stop, input, uncompressed, segment_bytes, turn)?;
                    if let SeriesEnd::Segment(filled) = end {
                        break filled;
                    }
                }
            }
        };
        self.uncompressed_bytes += uncompressed.len() as u64;
        self.series.end_segment(uncompressed);
        Ok(filled)
    }
}

#[cfg(test)]
mod tests;
