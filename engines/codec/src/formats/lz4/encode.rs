//! Encodes LZ4 frames: one independent block each, stored where packing does not pay, with content size and checksum.

use super::container::{HEADER_BYTES_MAX, STORED, frame_header};
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
    HEADER_BYTES_MAX + AROUND_BLOCK_BYTES + plain_bytes
}

/// One frame a chunk.
pub(super) struct Lz4FrameEncoder {
    level: i32,
}

impl Lz4FrameEncoder {
    pub fn new(level: i32) -> Self {
        Self { level }
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
            let (written, flag) = match kernel::compress(uncompressed, block, self.level) {
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
