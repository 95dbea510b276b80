//! A part of a member that is decoded before anybody knows what comes before it: from the first block that begins in it to the first one that does not.

use super::kernel::markers::{MARKED_HISTORY, MarkerTable, behind_last_marker, fill_history};
use super::kernel::{ByteCell, InflateStatus, Inflater, SLACK_BYTES, WINDOW_BYTES};
use super::search;
use crate::byte_buffer::ByteBuffer;
use crate::task_pool::AheadTask;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::Arc;
use sys::at_offset::read_full_at;

/// Hands from which on it is worth it: chunks cost twice the CPU time of the same bytes in series.
pub const HANDS_MIN: usize = 4;

/// CPU time of a member by chunks, as a multiple of that in series: measured on a source tree (`docs/journal/0029-one-frame-built.md`).
pub const CPU_FACTOR: f64 = 2.0;

/// Compressed bytes that a member has before chunks of it are decoded ahead: of short ones, what is decoded ahead would lie behind their end.
pub const SERIES_BYTES: u64 = 1 << 20;

/// Bytes behind a chunk's range that are read with it: the last block, which begins in the range, ends there. A longer one is left to the thread in turn.
pub const OVERLAP_BYTES: usize = 128 << 10;

/// LIMIT: uncompressed bytes of a chunk. Behind the last block within it, the thread in turn goes on.
const CHUNK_BYTES_MAX: usize = 4 << 20;

/// Memory that a chunk takes at most: two bytes in cells and one in bytes for each that is uncompressed, and compressed bytes.
pub const CHUNK_MEMORY: u64 = 3 * CHUNK_BYTES_MAX as u64 + (1 << 20);

/// Where the compressed bytes are.
pub enum ChunkSource {
    File(Arc<File>),
    /// Those of the range and of the overlap.
    Memory(Vec<u8>),
}

/// What a chunk is decoded into.
pub struct ChunkMemory {
    /// Markers of the window, then cells that were decoded.
    cells: Vec<u16>,
    /// The last window of those, then bytes.
    bytes: Vec<u8>,
}

impl Default for ChunkMemory {
    fn default() -> Self {
        // Fresh zeros take memory where something is written to them.
        let mut cells = vec![0; MARKED_HISTORY + CHUNK_BYTES_MAX + SLACK_BYTES];
        fill_history(&mut cells[..MARKED_HISTORY]);
        Self { cells, bytes: vec![0; WINDOW_BYTES + CHUNK_BYTES_MAX + SLACK_BYTES] }
    }
}

/// Memory of chunks that are done, for further ones.
pub type SpareMemory = Arc<Mutex<Vec<ChunkMemory>>>;

/// A range of compressed bytes to be decoded.
pub struct ChunkTask {
    pub source: ChunkSource,
    pub spare: SpareMemory,
    pub from: u64,
    pub bytes: usize,
}

/// Whole blocks, decoded.
pub struct DecodedChunk {
    /// The bit of the input at which they begin, as [`search::canonical`] has it.
    pub begin: u64,
    /// Behind their last bit.
    pub end: u64,
    /// Whether the final block is the last one.
    pub is_final: bool,
    memory: ChunkMemory,
    spare: SpareMemory,
    /// Behind the first bytes, some of which are markers; behind the other ones, of which none refers to a marker.
    marked_to: usize,
    plain_to: usize,
}

impl Drop for DecodedChunk {
    fn drop(&mut self) {
        let memory = ChunkMemory {
            cells: std::mem::take(&mut self.memory.cells),
            bytes: std::mem::take(&mut self.memory.bytes),
        };
        self.spare.lock().push(memory);
    }
}

impl DecodedChunk {
    pub fn bytes(&self) -> usize {
        self.marked().len() + self.plain().len()
    }

    fn marked(&self) -> &[u16] {
        &self.memory.cells[MARKED_HISTORY..self.marked_to]
    }

    fn plain(&self) -> &[u8] {
        &self.memory.bytes[WINDOW_BYTES..self.plain_to]
    }

    /// The last bytes of `window`, which stands before it, and of itself.
    pub fn window_behind(&self, window: &[u8; WINDOW_BYTES]) -> Vec<u8> {
        let (marked, plain) = (self.marked(), self.plain());
        let plain = &plain[plain.len().saturating_sub(WINDOW_BYTES)..];
        let marked = &marked[marked.len().saturating_sub(WINDOW_BYTES - plain.len())..];
        let mut behind = window[marked.len() + plain.len()..].to_vec();
        let from = behind.len();
        behind.resize(from + marked.len(), 0);
        MarkerTable::new(window).resolve(marked, &mut behind[from..]);
        behind.extend_from_slice(plain);
        behind
    }

    /// Adds its bytes, where `window` stands before them.
    pub fn append_to(&self, uncompressed: &mut ByteBuffer, window: &[u8; WINDOW_BYTES]) {
        let room = uncompressed.room(self.bytes());
        let (marked, plain) = room.split_at_mut(self.marked().len());
        MarkerTable::new(window).resolve(self.marked(), marked);
        plain.copy_from_slice(self.plain());
        uncompressed.grow(self.bytes());
    }
}

/// What a thread decodes chunks with.
pub struct ChunkTools {
    inflater: Box<Inflater>,
    compressed: Vec<u8>,
}

impl Default for ChunkTools {
    fn default() -> Self {
        Self { inflater: Inflater::boxed(), compressed: Vec::new() }
    }
}

impl AheadTask for ChunkTask {
    type Tools = ChunkTools;
    /// None where no block was found that can be decoded: the thread in turn will see why.
    type Outcome = Option<DecodedChunk>;

    fn run(self, tools: &mut ChunkTools) -> Option<DecodedChunk> {
        let compressed = match self.source {
            ChunkSource::Memory(bytes) => bytes,
            ChunkSource::File(file) => {
                let mut compressed = std::mem::take(&mut tools.compressed);
                compressed.resize(self.bytes + OVERLAP_BYTES, 0);
                let read = read_full_at(&file, &mut compressed, self.from).unwrap_or(0);
                compressed.truncate(read);
                compressed
            }
        };
        let memory = self.spare.lock().pop().unwrap_or_default();
        let chunk = DecodedChunk {
            begin: 0,
            end: 0,
            is_final: false,
            memory,
            spare: self.spare,
            marked_to: MARKED_HISTORY,
            plain_to: WINDOW_BYTES,
        };
        let range = self.bytes.min(compressed.len()) * 8;
        let chunk = ChunkDecoder { inflater: &mut tools.inflater, compressed: &compressed, range, chunk }.decode();
        tools.compressed = compressed;
        let from = self.from * 8;
        chunk.map(|mut chunk| {
            (chunk.begin, chunk.end) = (chunk.begin + from, chunk.end + from);
            chunk
        })
    }

    fn panicked() -> Option<DecodedChunk> {
        None
    }
}

/// Between two blocks.
#[derive(Clone, Copy)]
struct Border {
    /// In the compressed bytes.
    bit: usize,
    /// Cells or bytes before it, history included.
    filled: usize,
    is_final: bool,
}

/// A chunk while it is decoded.
struct ChunkDecoder<'a> {
    inflater: &'a mut Inflater,
    compressed: &'a [u8],
    /// Bits in which its blocks begin.
    range: usize,
    chunk: DecodedChunk,
}

impl ChunkDecoder<'_> {
    /// Decodes from the first block in the range.
    fn decode(mut self) -> Option<DecodedChunk> {
        let mut from = 0;
        let mut tried = 0;
        while tried < CHUNK_BYTES_MAX {
            let begin = search::find_block(self.compressed, from, self.range)?;
            match self.decode_marked(begin) {
                Ok(border) => {
                    self.chunk.marked_to = border.filled;
                    let border = self.decode_plain(border);
                    self.chunk.plain_to = border.filled;
                    (self.chunk.begin, self.chunk.end) = (begin as u64, border.bit as u64);
                    self.chunk.is_final = border.is_final;
                    return Some(self.chunk);
                }
                // A block that was found by chance breaks off before its end.
                Err(bytes) => tried += bytes,
            }
            from = begin + 1;
        }
        None
    }

    /// Decodes blocks into cells, until the last window has no marker. Where not one block is whole, how far it came.
    fn decode_marked(&mut self, begin: usize) -> Result<Border, usize> {
        let cells = &mut self.chunk.memory.cells;
        let first = Border { bit: begin, filled: MARKED_HISTORY, is_final: false };
        let begun = next_block(self.inflater, self.compressed, cells, first);
        let mut border = begun.map_err(|filled| filled - MARKED_HISTORY)?;
        let mut behind_marker = MARKED_HISTORY;
        while border.bit < self.range && !border.is_final {
            if border.filled >= behind_marker + WINDOW_BYTES {
                behind_marker += behind_last_marker(&cells[behind_marker..border.filled]);
                if border.filled >= behind_marker + WINDOW_BYTES {
                    break;
                }
            }
            let Ok(next) = next_block(self.inflater, self.compressed, cells, border) else { break };
            border = next;
        }
        Ok(border)
    }

    /// Goes on in bytes, where no marker is left in the window and there is more in the range.
    fn decode_plain(&mut self, marked: Border) -> Border {
        let ChunkMemory { cells, bytes } = &mut self.chunk.memory;
        let mut border = Border { filled: WINDOW_BYTES, ..marked };
        let last = &cells[marked.filled - WINDOW_BYTES..marked.filled];
        if marked.filled < MARKED_HISTORY + WINDOW_BYTES || behind_last_marker(last) > 0 {
            return border;
        }
        for (byte, cell) in bytes.iter_mut().zip(last) {
            *byte = *cell as u8;
        }
        // Both parts together are one chunk.
        let room = CHUNK_BYTES_MAX - (marked.filled - MARKED_HISTORY).min(CHUNK_BYTES_MAX);
        let bytes = &mut bytes[..WINDOW_BYTES + room + SLACK_BYTES];
        while border.bit < self.range && !border.is_final {
            let Ok(next) = next_block(self.inflater, self.compressed, bytes, border) else { break };
            border = next;
        }
        border
    }
}

/// Decodes the block behind a border; where it is damaged, too long for what is there, or expands too far, how far the buffer was filled.
fn next_block<C: ByteCell>(
    inflater: &mut Inflater,
    compressed: &[u8],
    buffer: &mut [C],
    border: Border,
) -> Result<Border, usize> {
    let (byte, bits_used) = (border.bit / 8, (border.bit % 8) as u32);
    let soft_end = buffer.len() - SLACK_BYTES;
    inflater.resume(bits_used);
    let step = inflater
        .inflate_to(0, &compressed[byte..], false, buffer, border.filled, soft_end)
        .map_err(|broken| border.filled + broken.produced)?;
    let filled = border.filled + step.produced;
    match step.status {
        InflateStatus::BlockEnd | InflateStatus::Finished => {
            let bit = (byte + step.consumed) * 8 + inflater.bits_used() as usize;
            Ok(Border { bit, filled, is_final: step.status == InflateStatus::Finished })
        }
        InflateStatus::NeedsInput | InflateStatus::OutputFull => Err(filled),
    }
}
