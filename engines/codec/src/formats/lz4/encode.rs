//! Encodes LZ4 frames: one independent block each, stored where packing does not pay, with content size and checksum.

use super::container::{HEADER_BYTES_MAX, STORED, WINDOW_BYTES, frame_header};
use super::kernel;
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::Encoder;
use crew::pipeline::Pause;
use xxhash_rust::xxh32::xxh32;

/// Uncompressed bytes in one frame: the largest block that the format has. `lz4` writes blocks of this size too, in one frame whose
/// checksum then runs over all of them in order; frames of one block have it computed, and verified, in parallel.
pub(super) const FRAME_BYTES: usize = 4 << 20;

/// Block size, end mark and content checksum.
const AROUND_BLOCK_BYTES: usize = 4 + 4 + 4;

/// The largest compressed size of a frame of `plain_bytes`: all stored.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    let in_frames = HEADER_BYTES_MAX + AROUND_BLOCK_BYTES + plain_bytes;
    in_frames.max(size_of::<u32>() + legacy_bound(plain_bytes))
}

/// The largest compressed size of a block that cannot be stored (`LZ4_compressBound`).
fn legacy_bound(plain_bytes: usize) -> usize {
    plain_bytes + plain_bytes / 255 + 16
}

/// One frame a chunk.
pub(super) struct Lz4FrameEncoder {
    level: i32,
    /// Bytes that blocks may refer back to.
    dictionary: Option<&'static [u8]>,
}

impl Lz4FrameEncoder {
    pub fn new(level: i32, dictionary: Option<&'static [u8]>) -> Self {
        Self { level, dictionary: dictionary.map(within_reach) }
    }

    fn compress(&self, uncompressed: &[u8], block: &mut [u8]) -> Option<usize> {
        match self.dictionary {
            Some(dictionary) => kernel::compress_after(dictionary, uncompressed, block, self.level),
            None => kernel::compress(uncompressed, block, self.level),
        }
    }
}

/// The part of a dictionary that matches can reach.
pub(super) fn within_reach(dictionary: &[u8]) -> &[u8] {
    &dictionary[dictionary.len().saturating_sub(WINDOW_BYTES)..]
}

/// One block of a legacy frame a chunk, as `lz4 -l` writes them: Linux kernels read this format.
pub(super) struct Lz4LegacyEncoder {
    level: i32,
}

impl Lz4LegacyEncoder {
    pub fn new(level: i32) -> Self {
        // COMPAT: below 3 all levels are one.
        Self { level: if level < 3 { 1 } else { level } }
    }
}

impl Encoder for Lz4LegacyEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        if uncompressed.is_empty() {
            return Ok(());
        }
        let room = compressed.room(size_of::<u32>() + legacy_bound(uncompressed.len()));
        let (size, block) = room.split_at_mut(size_of::<u32>());
        let written = kernel::compress(uncompressed, block, self.level)
            .ok_or_else(|| CodecError::Library { library: "lz4", message: "a block does not fit".to_owned() })?;
        // A block has 8 MiB and a little at most.
        size.copy_from_slice(&(written as u32).to_le_bytes());
        compressed.grow(size_of::<u32>() + written);
        Ok(())
    }
}

impl Encoder for Lz4FrameEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        compressed.append(&frame_header(uncompressed.len() as u64));
        if !uncompressed.is_empty() {
            let room = compressed.room(size_of::<u32>() + uncompressed.len());
            let (size, block) = room.split_at_mut(size_of::<u32>());
            let (written, flag) = match self.compress(uncompressed, block) {
                Some(written) if written < uncompressed.len() => (written, 0),
                _ => {
                    block.copy_from_slice(uncompressed);
                    (uncompressed.len(), STORED)
                }
            };
            // A block has 4 MiB at most.
            size.copy_from_slice(&(written as u32 | flag).to_le_bytes());
            compressed.grow(size_of::<u32>() + written);
        }
        compressed.append(&0_u32.to_le_bytes());
        compressed.append(&xxh32(uncompressed, 0).to_le_bytes());
        Ok(())
    }
}
