//! The LZ4 frame descriptor and block sizes, read and written without decoding anything.

use crate::error::UnitDefect;
use xxhash_rust::xxh32::xxh32;

/// Magic number of a frame, little endian.
pub(super) const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Magic number of a legacy frame: blocks of 8 MiB without any check, to the end of the file or the next magic.
pub(super) const LEGACY_MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// What a legacy block decodes to at most.
pub(super) const LEGACY_BLOCK_BYTES: u64 = 8 << 20;

/// The largest compressed size of a legacy block: what liblz4 bounds 8 MiB by.
pub(super) const LEGACY_COMPRESSED_MAX: u64 = LEGACY_BLOCK_BYTES + LEGACY_BLOCK_BYTES / 255 + 16;

/// Longest frame header, magic included: size and dictionary both there.
pub(super) const HEADER_BYTES_MAX: usize = 19;

/// In a block's size: the bytes are stored, not compressed.
pub(super) const STORED: u32 = 1 << 31;

/// How far linked blocks refer back.
pub(super) const WINDOW_BYTES: usize = 64 << 10;

const VERSION: u8 = 0b0100_0000;
const INDEPENDENT: u8 = 1 << 5;
const BLOCK_CHECKSUM: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const DICTIONARY: u8 = 1;

/// What a frame header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lz4FrameHeader {
    pub bytes: usize,
    pub blocks_are_independent: bool,
    pub has_block_checksums: bool,
    pub has_content_checksum: bool,
    pub content_bytes: Option<u64>,
    pub block_bytes_max: u64,
    pub dictionary: Option<u32>,
}

/// Reads the header at the start of `head`, which begins with the magic. `Ok(None)`: it is longer than `head`.
pub(super) fn parse_frame_header(head: &[u8]) -> Result<Option<Lz4FrameHeader>, UnitDefect> {
    let Some(&[flags, block]) = head.get(4..6) else { return Ok(None) };
    if flags & 0b1100_0000 != VERSION {
        return Err(UnitDefect::Header("its header is of an unknown version"));
    }
    if flags & 0b10 != 0 || block & 0b1000_1111 != 0 {
        return Err(UnitDefect::Header("its header has a reserved bit set"));
    }
    let block_bytes_max = match block >> 4 {
        size @ 4..=7 => 1_u64 << (8 + 2 * size),
        _ => return Err(UnitDefect::Header("its header tells no valid block size")),
    };
    let mut at = 6;
    let mut content_bytes = None;
    if flags & CONTENT_SIZE != 0 {
        let Some(&size) = head.get(at..).and_then(<[u8]>::first_chunk) else { return Ok(None) };
        content_bytes = Some(u64::from_le_bytes(size));
        at += size.len();
    }
    let mut dictionary = None;
    if flags & DICTIONARY != 0 {
        let Some(&id) = head.get(at..).and_then(<[u8]>::first_chunk) else { return Ok(None) };
        dictionary = Some(u32::from_le_bytes(id));
        at += id.len();
    }
    let Some(&stored) = head.get(at) else { return Ok(None) };
    let computed = header_check(&head[4..at]);
    if stored != computed {
        return Err(UnitDefect::Checksum { stored: u32::from(stored), computed: u32::from(computed) });
    }
    Ok(Some(Lz4FrameHeader {
        bytes: at + 1,
        blocks_are_independent: flags & INDEPENDENT != 0,
        has_block_checksums: flags & BLOCK_CHECKSUM != 0,
        has_content_checksum: flags & CONTENT_CHECKSUM != 0,
        content_bytes,
        block_bytes_max,
        dictionary,
    }))
}

/// Writes the header of a frame with one block: independent, with content size and content checksum.
pub(super) fn frame_header(content_bytes: u64) -> Vec<u8> {
    let size = (4..=6).find(|size| content_bytes <= 1 << (8 + 2 * size)).unwrap_or(7);
    let mut header = MAGIC.to_vec();
    header.extend([VERSION | INDEPENDENT | CONTENT_SIZE | CONTENT_CHECKSUM, size << 4]);
    header.extend(content_bytes.to_le_bytes());
    header.push(header_check(&header[4..]));
    header
}

/// The second byte of the descriptor's XXH32.
fn header_check(descriptor: &[u8]) -> u8 {
    xxh32(descriptor, 0).to_le_bytes()[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (bytes, block_bytes_max) in [(0, 64 << 10), (70_000, 256 << 10), (1 << 20, 1 << 20), (4 << 20, 4 << 20)] {
            let written = frame_header(bytes);
            let read = parse_frame_header(&written).expect("valid").expect("whole");
            assert_eq!((read.bytes, read.content_bytes), (written.len(), Some(bytes)));
            assert_eq!(read.block_bytes_max, block_bytes_max);
            assert!(read.blocks_are_independent && read.has_content_checksum && !read.has_block_checksums);
            for cut in 4..written.len() {
                assert!(matches!(parse_frame_header(&written[..cut]), Ok(None)), "{cut} bytes are no header");
            }
        }
    }
}
