//! The gzip member header and trailer (RFC 1952 section 2.3), and the extra fields that tell a member's length.
//!
//! Lengths: `BC` is BGZF's (SAM/BAM format specification, section 4.1: total member length - 1, 16 bits); `MZ` is MiGz's
//! (length of the deflate data, 32 bits), which we write too, so that its decoder reads ours in parallel.

use crate::error::UnitDefect;
use crate::origin::Origin;
use crc_fast::{CrcAlgorithm, checksum};

/// Two magic bytes and the only compression method there is.
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// CRC-32 and uncompressed length.
pub(super) const TRAILER_BYTES: usize = 8;

/// LIMIT: extra field 64 KiB by its own length; name and comment are bounded here, so that a header that never ends is an
/// error and not memory.
pub(super) const HEADER_BYTES_MAX: usize = 256 << 10;

const FLAG_HEADER_CRC: u8 = 2;
const FLAG_EXTRA: u8 = 4;
pub(super) const FLAG_NAME: u8 = 8;
const FLAG_COMMENT: u8 = 16;
const FLAGS_RESERVED: u8 = 0xe0;

/// A member's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GzipHeader {
    /// Its own length.
    pub bytes: usize,
    /// The whole member's length, where an extra field tells it.
    pub member_bytes: Option<u64>,
}

/// Reads the header at the start of `head`. `Ok(None)`: it is longer than `head`.
pub(super) fn parse_header(head: &[u8]) -> Result<Option<GzipHeader>, UnitDefect> {
    if head.len() < 10 {
        return if MAGIC.starts_with(&head[..head.len().min(3)]) { Ok(None) } else { Err(not_a_header()) };
    }
    if head[..3] != MAGIC {
        return Err(not_a_header());
    }
    let flags = head[3];
    if flags & FLAGS_RESERVED != 0 {
        return Err(UnitDefect::Header("its header has reserved flags set"));
    }
    let mut at = 10;
    let mut length = Length::Untold;
    if flags & FLAG_EXTRA != 0 {
        let Some(extra_bytes) = little_endian_u16(head, at) else { return too_short(head) };
        let from = at + 2;
        at = from + usize::from(extra_bytes);
        let Some(extra) = head.get(from..at) else { return too_short(head) };
        length = told_length(extra);
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let Some(length) = head[at..].iter().position(|&byte| byte == 0) else { return too_short(head) };
            at += length + 1;
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let Some(stored) = little_endian_u16(head, at) else { return too_short(head) };
        let computed = crc32(&head[..at]) & 0xffff;
        if u32::from(stored) != computed {
            return Err(UnitDefect::Header("its header's checksum is wrong"));
        }
        at += 2;
    }
    let member_bytes = match length {
        Length::Untold => None,
        Length::Member(bytes) => Some(bytes),
        Length::Deflate(bytes) => Some(at as u64 + bytes + TRAILER_BYTES as u64),
    };
    // A length that leaves no room for data is no length: such a member is decoded as a stream, which tells the truth.
    let smallest = (at + 2 + TRAILER_BYTES) as u64;
    Ok(Some(GzipHeader { bytes: at, member_bytes: member_bytes.filter(|&bytes| bytes >= smallest) }))
}

/// What the header at the start of `head` tells of the uncompressed file; `None` where it is not whole, or tells nothing.
pub(super) fn origin(head: &[u8]) -> Option<Origin> {
    let header = parse_header(head).ok()??;
    let modified_seconds = u32::from_le_bytes(head.get(4..8)?.try_into().ok()?);
    let mut at = 10;
    if head[3] & FLAG_EXTRA != 0 {
        at += 2 + usize::from(little_endian_u16(head, at)?);
    }
    let named = head[3] & FLAG_NAME != 0;
    let name = head.get(at..header.bytes).filter(|_| named).unwrap_or_default();
    let name: Vec<u8> = name.iter().copied().take_while(|&byte| byte != 0).collect();
    (!name.is_empty() || modified_seconds != 0).then_some(Origin { name, modified_seconds })
}

fn not_a_header() -> UnitDefect {
    UnitDefect::Header("it does not begin as a gzip member does")
}

fn too_short(head: &[u8]) -> Result<Option<GzipHeader>, UnitDefect> {
    if head.len() >= HEADER_BYTES_MAX {
        return Err(UnitDefect::Header("its header does not end within 256 KiB"));
    }
    Ok(None)
}

enum Length {
    Untold,
    Member(u64),
    Deflate(u64),
}

/// Walks the subfields (two identity bytes, two length bytes, content) for one that tells a length.
fn told_length(mut extra: &[u8]) -> Length {
    while let [first, second, low, high, rest @ ..] = extra {
        let bytes = usize::from(u16::from_le_bytes([*low, *high]));
        let Some((content, after)) = rest.split_at_checked(bytes) else { return Length::Untold };
        match ([*first, *second], content) {
            ([b'B', b'C'], [low, high]) => return Length::Member(u64::from(u16::from_le_bytes([*low, *high])) + 1),
            ([b'M', b'Z'], [a, b, c, d]) => return Length::Deflate(u64::from(u32::from_le_bytes([*a, *b, *c, *d]))),
            _ => extra = after,
        }
    }
    Length::Untold
}

/// What stands in a trailer: CRC-32 of the uncompressed data and its length modulo 2^32.
pub(super) fn parse_trailer(bytes: [u8; TRAILER_BYTES]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

fn little_endian_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// CRC-32 as gzip uses it (RFC 1952 section 8).
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    // A 32-bit checksum in a 64-bit return value.
    checksum(CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNCOMPRESSED: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

    fn with_extra(extra: &[u8]) -> Vec<u8> {
        let mut header = UNCOMPRESSED.to_vec();
        header[3] = FLAG_EXTRA;
        header.extend((extra.len() as u16).to_le_bytes());
        header.extend(extra);
        header
    }

    #[test]
    fn the_shortest_header_and_every_part_of_it() {
        assert_eq!(parse_header(&UNCOMPRESSED).expect("valid"), Some(GzipHeader { bytes: 10, member_bytes: None }));
        for length in 0..10 {
            assert_eq!(parse_header(&UNCOMPRESSED[..length]).expect("could go on"), None);
        }
    }

    #[test]
    fn both_lengths_are_found_behind_other_fields() {
        let bgzf = with_extra(b"XY\x01\x00zBC\x02\x00\x1b\x00");
        assert_eq!(
            parse_header(&bgzf).expect("valid").expect("whole").member_bytes,
            None,
            "27 + 1 bytes cannot hold it"
        );
        let bgzf = with_extra(b"BC\x02\x00\x1b\x00");
        assert_eq!(parse_header(&bgzf).expect("valid").expect("whole").member_bytes, Some(28));
        let migz = with_extra(b"MZ\x04\x00\x00\x01\x00\x00");
        assert_eq!(parse_header(&migz).expect("valid").expect("whole").member_bytes, Some(20 + 256 + 8));
    }

    #[test]
    fn name_comment_and_header_checksum_are_stepped_over() {
        let mut header = UNCOMPRESSED.to_vec();
        header[3] = FLAG_NAME | FLAG_COMMENT | FLAG_HEADER_CRC;
        header.extend(b"name\0a comment\0");
        let crc = crc32(&header) as u16;
        header.extend(crc.to_le_bytes());
        let bytes = header.len();
        assert_eq!(parse_header(&header).expect("valid"), Some(GzipHeader { bytes, member_bytes: None }));
        header[12] ^= 1;
        assert!(parse_header(&header).is_err());
    }

    #[test]
    fn reserved_flags_and_endless_names_are_refused() {
        let mut header = UNCOMPRESSED.to_vec();
        header[3] = 0x20;
        assert!(parse_header(&header).is_err());
        header[3] = FLAG_NAME;
        header.resize(HEADER_BYTES_MAX, b'x');
        assert!(parse_header(&header).is_err());
    }
}
