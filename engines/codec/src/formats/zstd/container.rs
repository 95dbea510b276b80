//! The zstd frame header and block headers (RFC 8878 sections 3.1.1 and 3.1.2), read without decoding anything.

use crate::error::UnitDefect;

/// Magic number of a frame, little endian.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Longest frame header, magic included.
pub(super) const HEADER_BYTES_MAX: usize = 18;

/// Length of a block header (RFC 8878 section 3.1.1.2).
pub(super) const BLOCK_HEADER_BYTES: usize = 3;

/// No block decodes to more (RFC 8878 section 3.1.1.2.4).
pub(super) const BLOCK_BYTES_MAX: u64 = 128 << 10;

/// Magic number of the skippable frame that holds a seek table, and of its footer (zstd seekable format 0.1.0).
pub(super) const SEEK_TABLE_MAGIC: u32 = 0x184D_2A5E;
pub(super) const SEEK_FOOTER_MAGIC: u32 = 0x8F92_EAB1;

/// What a frame header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZstdFrameHeader {
    pub bytes: usize,
    pub window_bytes: u64,
    pub content_bytes: Option<u64>,
    pub has_checksum: bool,
    pub dictionary: u32,
}

/// Reads the header at the start of `head`, which begins with the magic. `Ok(None)`: it is longer than `head`.
pub(super) fn parse_frame_header(head: &[u8]) -> Result<Option<ZstdFrameHeader>, UnitDefect> {
    let Some(&descriptor) = head.get(MAGIC.len()) else { return Ok(None) };
    if descriptor & 0x08 != 0 {
        return Err(UnitDefect::Header("its header has a reserved bit set"));
    }
    let is_single_segment = descriptor & 0x20 != 0;
    let mut at = MAGIC.len() + 1;
    let mut window_bytes = 0;
    if !is_single_segment {
        let Some(&window) = head.get(at) else { return Ok(None) };
        at += 1;
        let base = 1_u64 << (10 + (window >> 3));
        window_bytes = base + base / 8 * u64::from(window & 7);
    }
    let dictionary_width = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let Some(dictionary) = little_endian(head, at, dictionary_width) else { return Ok(None) };
    at += dictionary_width;
    let content_width = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let Some(stored) = little_endian(head, at, content_width) else { return Ok(None) };
    at += content_width;
    // Two-byte sizes begin where one-byte sizes end.
    let content_bytes = match content_width {
        0 => None,
        2 => Some(stored + 256),
        _ => Some(stored),
    };
    if is_single_segment {
        window_bytes = content_bytes.unwrap_or(0);
    }
    let has_checksum = descriptor & 0x04 != 0;
    // At most four bytes were read for it.
    let dictionary = dictionary as u32;
    Ok(Some(ZstdFrameHeader { bytes: at, window_bytes, content_bytes, has_checksum, dictionary }))
}

/// A block's type (RFC 8878, 3.1.1.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZstdBlockKind {
    /// Its bytes stand behind the header.
    Raw = 0,
    /// Its one byte stands there, to be repeated.
    Repeated = 1,
    /// A compressed block's content stands there.
    Compressed = 2,
}

/// A block as its three header bytes tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZstdBlockHeader {
    pub is_last: bool,
    pub kind: ZstdBlockKind,
    /// The size that it tells: of a repeated byte, how often it is repeated.
    pub size: u64,
    /// Bytes that follow the header in the file.
    pub packed_bytes: u64,
}

/// Reads a block header.
pub(super) fn parse_block_header(bytes: [u8; BLOCK_HEADER_BYTES]) -> Result<ZstdBlockHeader, UnitDefect> {
    let [low, middle, high] = bytes;
    let word = u32::from_le_bytes([low, middle, high, 0]);
    let size = u64::from(word >> 3);
    let (kind, packed_bytes) = match (word >> 1) & 3 {
        0 => (ZstdBlockKind::Raw, size),
        1 => (ZstdBlockKind::Repeated, 1),
        2 => (ZstdBlockKind::Compressed, size),
        _ => return Err(UnitDefect::Header("one of its blocks is of the reserved type")),
    };
    if size > BLOCK_BYTES_MAX {
        return Err(UnitDefect::Header("one of its blocks is larger than 128 KiB"));
    }
    Ok(ZstdBlockHeader { is_last: word & 1 == 1, kind, size, packed_bytes })
}

fn little_endian(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at + width)?;
    Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_real_frames_are_read() {
        for (plain_bytes, level) in [(0, 1), (100, 1), (300, 3), (70_000, 19), (5 << 20, 3)] {
            let uncompressed = testkit::data::text(plain_bytes, 3);
            let mut frame = vec![0; zstd_safe::compress_bound(plain_bytes)];
            let size = zstd_safe::compress(frame.as_mut_slice(), &uncompressed, level).expect("compress");
            let header = parse_frame_header(&frame[..size]).expect("valid").expect("whole");
            assert_eq!(header.content_bytes, Some(plain_bytes as u64));
            assert!(!header.has_checksum && header.dictionary == 0 && header.bytes <= HEADER_BYTES_MAX);
            for length in MAGIC.len()..header.bytes {
                assert_eq!(parse_frame_header(&frame[..length]).expect("could go on"), None);
            }
        }
    }

    #[test]
    fn reserved_bits_are_refused() {
        assert!(parse_frame_header(&[0x28, 0xb5, 0x2f, 0xfd, 0x08, 0]).is_err());
        assert!(parse_block_header([0x07, 0, 0]).is_err());
        assert_eq!(
            parse_block_header([0x03, 0xff, 0]).expect("RLE"),
            ZstdBlockHeader { is_last: true, kind: ZstdBlockKind::Repeated, size: 0x1fe0, packed_bytes: 1 }
        );
    }
}
