//! Frames of level 3 by our own match finder (`kernel::finder`): header, blocks, checksum (RFC 8878, 3.1.1).
//! Only lengths are its business: what else a frame has to be is decided in `encode`.

use super::blocks::{block_header, next_block_bytes};
use super::container::MAGIC;
use super::container::ZstdBlockKind;
use super::kernel::finder::{EntropyCoder, FRAME_BYTES_MAX, Finder, FrameFinder, HELD_BYTES};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use std::ops::RangeInclusive;
use xxhash_rust::xxh64::Xxh64;

/// The one level.
pub(super) const LEVEL: i32 = 3;

/// Lengths that are compressed here. For shorter ones the library has smaller tables, which need not be emptied as long.
pub(super) const LENGTHS: RangeInclusive<usize> = 256 << 10..=FRAME_BYTES_MAX;

/// What an encoder holds.
pub(super) const ENCODER_BYTES: u64 = HELD_BYTES as u64;

/// Frame_Header_Descriptor (RFC 8878, 3.1.1.1.1): a content size of four bytes, a single segment, which makes the window as long as
/// the frame, and a checksum.
const DESCRIPTOR: u8 = 2 << 6 | 1 << 5 | 1 << 2;

/// An encoder. The same bytes make the same frame, whatever it has compressed before.
pub(super) struct OwnEncoder {
    finder: Finder,
    coder: EntropyCoder,
}

impl OwnEncoder {
    /// One with its tables.
    ///
    /// # Errors
    ///
    /// The library's, for want of memory.
    pub fn new() -> Result<Self, CodecError> {
        Ok(Self { finder: Finder::new(), coder: EntropyCoder::new()? })
    }

    /// Appends `uncompressed` as a frame to `compressed`.
    ///
    /// # Panics
    ///
    /// If it is longer than [`LENGTHS`] go.
    ///
    /// # Errors
    ///
    /// The library's, for want of memory.
    pub fn encode(&mut self, uncompressed: &[u8], compressed: &mut ByteBuffer) -> Result<(), CodecError> {
        let content_bytes = u32::try_from(uncompressed.len()).expect("the finder's limit is below");
        compressed.append(&MAGIC);
        compressed.append(&[DESCRIPTOR]);
        compressed.append(&content_bytes.to_le_bytes());
        let mut frame = self.finder.begin(uncompressed);
        let (mut checksum, mut is_first) = (Xxh64::new(0), true);
        while is_first || !frame.rest().is_empty() {
            let rest = frame.rest();
            let block = &rest[..next_block_bytes(rest)];
            let is_last = block.len() == rest.len();
            // Here, since the finder wants the block in the caches next.
            checksum.update(block);
            // COMPAT: decoders before libzstd 1.4.4 do not take a repeated byte for a frame's first block.
            if !is_first && is_one_byte(block) {
                frame.step_over(block.len());
                compressed.append(&block_header(ZstdBlockKind::Repeated, block.len(), is_last));
                compressed.append(&block[..1]);
            } else {
                append_block(&mut frame, block, is_last, &mut self.coder, compressed)?;
            }
            is_first = false;
        }
        // Content_Checksum: the low half of the hash.
        compressed.append(&(checksum.digest() as u32).to_le_bytes());
        Ok(())
    }
}

/// Appends the frame's next block, compressed or raw.
fn append_block(
    frame: &mut FrameFinder<'_>,
    block: &[u8],
    is_last: bool,
    coder: &mut EntropyCoder,
    compressed: &mut ByteBuffer,
) -> Result<(), CodecError> {
    let found = frame.next_block(block.len());
    match coder.pack(found)?.filter(|content| is_worth_it(content, block)) {
        Some(content) => {
            compressed.append(&block_header(ZstdBlockKind::Compressed, content.len(), is_last));
            compressed.append(content);
        }
        None => {
            frame.forget_distances();
            compressed.append(&block_header(ZstdBlockKind::Raw, block.len(), is_last));
            compressed.append(block);
        }
    }
    Ok(())
}

/// Less than a 64th, and two bytes, is not worth the decoder's time.
fn is_worth_it(content: &[u8], block: &[u8]) -> bool {
    content.len() + block.len() / 64 + 2 < block.len()
}

fn is_one_byte(block: &[u8]) -> bool {
    // Nearly all that are not are told by a look at two.
    block.first() == block.last() && block[1..] == block[..block.len() - 1]
}

#[cfg(test)]
mod tests;
