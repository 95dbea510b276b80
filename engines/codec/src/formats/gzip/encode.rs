//! Encodes gzip members with libdeflate, one whole member at a time, each with its length in an extra field.
//! Writes no name and no time unless told to: the same input gives the same output, whenever and wherever it is made.

use super::container::{FLAG_NAME, crc32};
use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::Encoder;
use crate::origin::Origin;
use crew::pipeline::Pause;
use libdeflater::{CompressionLvl, Compressor};

/// Uncompressed bytes in a BGZF block: what htslib uses, so that even incompressible data fit into 64 KiB.
pub(super) const BGZF_UNCOMPRESSED_BYTES: usize = 0xff00;

/// Blocks handed to a worker together: about 1 MiB, since a single block is too little work.
pub(super) const BGZF_BLOCKS_A_CHUNK: usize = 16;

/// The empty block that ends a BGZF file (SAM/BAM format specification, section 4.1.2).
pub(super) const BGZF_END: [u8; 28] =
    [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

const SIZED_HEADER: [u8; 16] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 8, 0, b'M', b'Z', 4, 0];
/// The deflate data's length behind the sized header.
const LENGTH_BYTES: usize = 4;

const BGZF_HEADER: [u8; 16] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0];

/// Bytes for somebody else in an extra field of an empty member (RFC 1952 section 2.3.1.1): identity, length, content.
const ASIDE_IDENTITY: [u8; 2] = *b"MI";
/// An extra field holds less than 64 KiB, the member's own length among it.
const ASIDE_BYTES_MAX: usize = 0xffff - 8 - 4;
/// An empty deflate block, and CRC-32 and length of nothing.
const NOTHING: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Empty members with `bytes` in their headers, as many as it takes.
pub(super) fn aside(bytes: &[u8]) -> Vec<u8> {
    let mut members = Vec::with_capacity(bytes.len() + 40);
    for part in bytes.chunks(ASIDE_BYTES_MAX) {
        members.extend([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff]);
        // Both fit into 16 bits, since parts are that short.
        members.extend(((8 + 4 + part.len()) as u16).to_le_bytes());
        members.extend(*b"MZ\x04\0\x02\0\0\0");
        members.extend(ASIDE_IDENTITY);
        members.extend((part.len() as u16).to_le_bytes());
        members.extend(part);
        members.extend(NOTHING);
    }
    members
}

/// What [`aside`] wrapped; none where `members` are not wholly that.
pub(super) fn open_aside(mut members: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(members.len());
    while !members.is_empty() {
        let length = usize::from(u16::from_le_bytes([*members.get(22)?, *members.get(23)?]));
        let (member, rest) = members.split_at_checked(24 + length + NOTHING.len())?;
        let content = &member[24..24 + length];
        // What it should be is made anew: every byte counts.
        if content.is_empty() || aside(content) != member {
            return None;
        }
        bytes.extend(content);
        members = rest;
    }
    Some(bytes)
}

/// Largest size of members for `plain_bytes`: deflate's stored blocks cost 5 bytes each, headers and trailers 28 each.
pub(super) fn compressed_bound(plain_bytes: usize) -> usize {
    let blocks = plain_bytes / BGZF_UNCOMPRESSED_BYTES + 1;
    plain_bytes + plain_bytes / 1000 + blocks * 64
}

/// libdeflate's effort for a gzip level.
///
/// libdeflate's 7 packs as small as zlib's 9 and its 8 smaller, in half the time; 9 gains 0.2 % for 33 % more time. So
/// 8 and 9 mean 7 and 8 there, and 10 to 12 are its own. Measured in docs/journal/0001-tamp-first-slice.md.
fn effort(level: i32) -> CompressionLvl {
    let effort = match level {
        8 | 9 => level - 1,
        other => other,
    };
    CompressionLvl::new(effort).expect("the facts bound the level to 0..=12")
}

/// Writes name and time into the first member. A BGZF block stays as it is: its readers know one header only.
pub(super) fn tell_origin(origin: &Origin, first_unit: &mut ByteBuffer) {
    let from = SIZED_HEADER.len() + LENGTH_BYTES;
    if !first_unit.content().starts_with(&SIZED_HEADER) {
        return;
    }
    let data = first_unit.content()[from..].to_vec();
    let mut header = first_unit.content()[..from].to_vec();
    header[4..8].copy_from_slice(&origin.modified_seconds.to_le_bytes());
    if !origin.name.is_empty() {
        header[3] |= FLAG_NAME;
        header.extend_from_slice(&origin.name);
        header.push(0);
    }
    first_unit.clear();
    first_unit.append(&header);
    first_unit.append(&data);
}

/// Members of one chunk each.
pub(super) struct MemberEncoder {
    compressor: Compressor,
}

impl MemberEncoder {
    pub fn new(level: i32) -> Self {
        Self { compressor: Compressor::new(effort(level)) }
    }
}

impl Encoder for MemberEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        _pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        compressed.append(&SIZED_HEADER);
        let deflate_bytes = append_member(&mut self.compressor, uncompressed, LENGTH_BYTES, compressed)?;
        let length = u32::try_from(deflate_bytes).expect("a chunk is far below 4 GiB");
        compressed.content_mut()[16..20].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }
}

/// BGZF blocks, several a chunk.
pub(super) struct BgzfEncoder {
    compressor: Compressor,
}

impl BgzfEncoder {
    pub fn new(level: i32) -> Self {
        Self { compressor: Compressor::new(effort(level)) }
    }
}

impl Encoder for BgzfEncoder {
    fn encode(
        &mut self,
        uncompressed: &[u8],
        compressed: &mut ByteBuffer,
        pause: &mut Pause<'_>,
    ) -> Result<(), CodecError> {
        compressed.clear();
        for block in uncompressed.chunks(BGZF_UNCOMPRESSED_BYTES) {
            let from = compressed.len();
            compressed.append(&BGZF_HEADER);
            append_member(&mut self.compressor, block, 2, compressed)?;
            let length = u16::try_from(compressed.len() - from - 1).expect("a block of this size fits into 64 KiB");
            compressed.content_mut()[from + 16..from + 18].copy_from_slice(&length.to_le_bytes());
            pause.point();
        }
        Ok(())
    }
}

/// Appends room for a length of `length_bytes`, the deflate data and the trailer. Returns the size of the deflate data.
fn append_member(
    compressor: &mut Compressor,
    uncompressed: &[u8],
    length_bytes: usize,
    compressed: &mut ByteBuffer,
) -> Result<usize, CodecError> {
    compressed.append(&[0; 4][..length_bytes]);
    let room = compressed.room(compressor.deflate_compress_bound(uncompressed.len()));
    let deflate_bytes = compressor
        .deflate_compress(uncompressed, room)
        .map_err(|error| CodecError::Library { library: "libdeflate", message: error.to_string() })?;
    compressed.grow(deflate_bytes);
    compressed.append(&crc32(uncompressed).to_le_bytes());
    // RFC 1952: the length modulo 2^32.
    compressed.append(&(uncompressed.len() as u32).to_le_bytes());
    Ok(deflate_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::container::parse_header;
    use super::*;
    use std::io::Read;

    fn encoded(encoder: &mut dyn Encoder, uncompressed: &[u8]) -> Vec<u8> {
        let mut compressed = ByteBuffer::default();
        compressed.append(&[9; 3]);
        encoder.encode(uncompressed, &mut compressed, &mut Pause::never()).expect("encode");
        compressed.content().to_vec()
    }

    #[test]
    fn members_tell_their_length_and_zlib_reads_them() {
        let uncompressed = testkit::data::mixed(300_000, 7);
        for level in [0, 1, 6, 9, 12] {
            for (mut encoder, name) in [
                (Box::new(MemberEncoder::new(level)) as Box<dyn Encoder>, "member"),
                (Box::new(BgzfEncoder::new(level)) as Box<dyn Encoder>, "bgzf"),
            ] {
                let compressed = encoded(encoder.as_mut(), &uncompressed);
                assert!(compressed.len() <= compressed_bound(uncompressed.len()), "{name} -{level}");
                let mut at = 0;
                while at < compressed.len() {
                    let header = parse_header(&compressed[at..]).expect("valid").expect("whole");
                    at += usize::try_from(header.member_bytes.expect("a length")).expect("small");
                }
                assert_eq!(at, compressed.len(), "{name} -{level}: the lengths add up");
                let mut back = Vec::new();
                flate2::read::MultiGzDecoder::new(compressed.as_slice()).read_to_end(&mut back).expect("zlib reads it");
                assert!(back == uncompressed, "{name} -{level}");
            }
        }
    }

    #[test]
    fn a_member_tells_name_and_time_and_keeps_its_data_and_length() {
        let uncompressed = testkit::data::text(5000, 3);
        let told = Origin { name: b"a name".to_vec(), modified_seconds: 1_700_000_000 };
        let mut compressed = ByteBuffer::default();
        MemberEncoder::new(6).encode(&uncompressed, &mut compressed, &mut Pause::never()).expect("encode");
        tell_origin(&told, &mut compressed);
        assert_eq!(super::super::container::origin(compressed.content()), Some(told));
        let header = parse_header(compressed.content()).expect("valid").expect("whole");
        assert_eq!(header.member_bytes, Some(compressed.len() as u64));
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(compressed.content()).read_to_end(&mut back).expect("zlib reads it");
        assert!(back == uncompressed);
    }

    #[test]
    fn incompressible_blocks_fit() {
        let uncompressed = testkit::data::random(BGZF_UNCOMPRESSED_BYTES * 3, 1);
        for level in 0..=12 {
            encoded(&mut BgzfEncoder::new(level), &uncompressed);
        }
    }
}
