//! The xz container: stream header and footer, block headers, variable-length integers; read and written without LZMA.

use super::check::CheckKind;
use crate::error::UnitDefect;
use crate::filter_chain::{FilterChain, add_properties, dictionary_code, dictionary_size};
use crc_fast::{CrcAlgorithm, checksum};
use liblzma::stream::Filters;

/// Begins a stream.
pub(super) const MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const FOOTER_MAGIC: [u8; 2] = *b"YZ";

/// Stream header and stream footer.
pub(super) const STREAM_HEADER_BYTES: usize = 12;
pub(super) const STREAM_FOOTER_BYTES: usize = 12;

/// Longest block header: its size is one byte, counted in words.
pub(super) const BLOCK_HEADER_BYTES_MAX: usize = 1024;

/// First byte of the Index, where a block header's size would stand.
pub(super) const INDEX_INDICATOR: u8 = 0;

const HAS_COMPRESSED_SIZE: u8 = 0x40;
const HAS_UNCOMPRESSED_SIZE: u8 = 0x80;
const LZMA2: u64 = 0x21;

/// LIMIT: sizes have 63 bits (section 1.2).
const VLI_BYTES_MAX: usize = 9;

/// CRC-32 as the container uses it.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    // The algorithm's width.
    checksum(CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}

fn check_crc32(bytes: &[u8], stored: [u8; 4]) -> Result<(), UnitDefect> {
    let (stored, computed) = (u32::from_le_bytes(stored), crc32(bytes));
    if stored == computed { Ok(()) } else { Err(UnitDefect::Checksum { stored, computed }) }
}

/// Bytes from `length` to the next multiple of four.
pub(super) fn padding(length: u64) -> u64 {
    length.next_multiple_of(4) - length
}

/// Appends a variable-length integer (section 1.2).
pub(crate) fn put_vli(mut value: u64, target: &mut Vec<u8>) {
    while value >= 0x80 {
        // Seven bits at a time.
        target.push(value as u8 | 0x80);
        value >>= 7;
    }
    target.push(value as u8);
}

/// Takes a variable-length integer off the front.
pub(super) fn take_vli(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(VLI_BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            // A last byte of zero is the longer form of a shorter number: not allowed.
            let is_shortest = byte != 0 || index == 0;
            *bytes = &bytes[index + 1..];
            return is_shortest.then_some(value);
        }
    }
    None
}

/// The header of a stream whose blocks carry `check`.
pub(super) fn stream_header(check: CheckKind) -> Vec<u8> {
    let flags = [0, check.id()];
    [&MAGIC[..], &flags, &crc32(&flags).to_le_bytes()].concat()
}

/// The footer of a stream whose Index has `index_bytes`.
pub(super) fn stream_footer(check: CheckKind, index_bytes: u64) -> Vec<u8> {
    // LIMIT: the field holds 16 GiB of Index.
    let backward_size = (index_bytes / 4 - 1) as u32;
    let fields = [&backward_size.to_le_bytes()[..], &[0, check.id()]].concat();
    [&crc32(&fields).to_le_bytes()[..], &fields, &FOOTER_MAGIC].concat()
}

/// Reads a stream header.
pub(super) fn parse_stream_header(header: &[u8; STREAM_HEADER_BYTES]) -> Result<CheckKind, UnitDefect> {
    let flags = [header[6], header[7]];
    check_crc32(&flags, [header[8], header[9], header[10], header[11]])?;
    parse_flags(flags)
}

/// Reads a stream footer: the check, and the size of the Index before it.
pub(super) fn parse_stream_footer(footer: &[u8; STREAM_FOOTER_BYTES]) -> Result<(CheckKind, u64), UnitDefect> {
    if footer[10..] != FOOTER_MAGIC {
        return Err(UnitDefect::Header("its stream footer is none"));
    }
    check_crc32(&footer[4..10], [footer[0], footer[1], footer[2], footer[3]])?;
    let backward_size = u32::from_le_bytes([footer[4], footer[5], footer[6], footer[7]]);
    Ok((parse_flags([footer[8], footer[9]])?, (u64::from(backward_size) + 1) * 4))
}

fn parse_flags(flags: [u8; 2]) -> Result<CheckKind, UnitDefect> {
    if flags[0] != 0 || flags[1] & 0xf0 != 0 {
        return Err(UnitDefect::Unsupported("its stream flags have a reserved bit set"));
    }
    Ok(CheckKind::from_id(flags[1]))
}

/// What a block header tells.
#[derive(Debug)]
pub(super) struct XzBlockHeader {
    pub bytes: usize,
    pub compressed_bytes: Option<u64>,
    pub uncompressed_bytes: Option<u64>,
    /// Identifier and properties of each filter, in the order of encoding.
    filters: Vec<(u64, Vec<u8>)>,
}

/// Length of the block header that begins with `first`.
pub(super) fn block_header_bytes(first: u8) -> usize {
    (usize::from(first) + 1) * 4
}

/// Reads the block header that `header` is.
pub(super) fn parse_block_header(header: &[u8]) -> Result<XzBlockHeader, UnitDefect> {
    let broken = UnitDefect::Header("its header is broken");
    let Some((fields, &stored)) = header.split_last_chunk() else { return Err(broken) };
    check_crc32(fields, stored)?;
    let [_, flags, rest @ ..] = fields else { return Err(broken) };
    if flags & 0x3c != 0 {
        return Err(UnitDefect::Unsupported("its header has a reserved bit set"));
    }
    let mut rest = rest;
    let mut size = |is_there: u8| match flags & is_there {
        0 => Ok(None),
        _ => take_vli(&mut rest).map(Some).ok_or(UnitDefect::Header("its header tells a size that is none")),
    };
    let compressed_bytes = size(HAS_COMPRESSED_SIZE)?;
    let uncompressed_bytes = size(HAS_UNCOMPRESSED_SIZE)?;
    if compressed_bytes == Some(0) {
        return Err(UnitDefect::Header("its header tells a size that is none"));
    }
    let mut filters = Vec::new();
    for _ in 0..=flags & 0x03 {
        let id = take_vli(&mut rest);
        let size = take_vli(&mut rest).and_then(|size| usize::try_from(size).ok());
        let properties = size.and_then(|size| rest.split_at_checked(size));
        let (Some(id), Some((properties, behind))) = (id, properties) else { return Err(broken) };
        rest = behind;
        filters.push((id, properties.to_vec()));
    }
    if rest.iter().any(|&byte| byte != 0) {
        return Err(UnitDefect::Header("its header is longer than what it tells"));
    }
    Ok(XzBlockHeader { bytes: header.len(), compressed_bytes, uncompressed_bytes, filters })
}

/// Length of the headers written here for blocks of `chain`: room for any two sizes, so that data can be put behind it before
/// they are known.
pub(super) fn written_block_header_bytes(chain: &FilterChain) -> usize {
    let mut flags = Vec::new();
    chain.put_flags(&mut flags);
    (2 + 2 * VLI_BYTES_MAX + flags.len() + size_of::<u32>()).next_multiple_of(4)
}

/// Writes the header of a block of `chain`, with both sizes.
pub(super) fn block_header(compressed_bytes: u64, uncompressed_bytes: u64, chain: &FilterChain) -> Vec<u8> {
    let mut header = vec![0, HAS_COMPRESSED_SIZE | HAS_UNCOMPRESSED_SIZE | filters_flag(chain)];
    put_vli(compressed_bytes, &mut header);
    put_vli(uncompressed_bytes, &mut header);
    chain.put_flags(&mut header);
    finish_header(header, written_block_header_bytes(chain))
}

/// The same of a block whose sizes nobody knows before it has ended.
pub(super) fn block_header_without_sizes(chain: &FilterChain) -> Vec<u8> {
    let mut header = vec![0, filters_flag(chain)];
    chain.put_flags(&mut header);
    let bytes = (header.len() + size_of::<u32>()).next_multiple_of(4);
    finish_header(header, bytes)
}

fn filters_flag(chain: &FilterChain) -> u8 {
    // From one to four.
    (chain.len() - 1) as u8
}

fn finish_header(mut header: Vec<u8>, bytes: usize) -> Vec<u8> {
    header.resize(bytes - size_of::<u32>(), 0);
    // LIMIT: 48 bytes, three filters with an offset and LZMA2.
    header[0] = (bytes / 4 - 1) as u8;
    let crc = crc32(&header);
    header.extend(crc.to_le_bytes());
    header
}

impl XzBlockHeader {
    /// Whether the block is LZMA2 with nothing before it, and has a dictionary of a size that there is.
    #[cfg(feature = "lzma2-kernel")]
    pub fn has_no_filter(&self) -> bool {
        matches!(&self.filters[..], [(LZMA2, properties)] if matches!(properties[..], [0..=40]))
    }

    /// The filters, if all of them are known.
    pub fn chain(&self) -> Option<FilterChain> {
        FilterChain::of_flags(&self.filters)
    }

    /// Bytes of the dictionary that decoding needs.
    pub fn dictionary_bytes(&self) -> u64 {
        let lzma2 = self.filters.iter().rev().find(|(id, _)| *id == LZMA2);
        lzma2.and_then(|(_, properties)| properties.first()).map_or(0, |&code| dictionary_size(code))
    }

    /// The filter chain for liblzma; a dictionary larger than `uncompressed_bytes_max` is no use to a block of no more.
    pub fn filters(&self, uncompressed_bytes_max: u64) -> Result<Filters, UnitDefect> {
        let mut chain = Filters::new();
        for (id, properties) in &self.filters {
            let smaller = (*id == LZMA2).then(|| {
                let most = dictionary_code(u32::try_from(uncompressed_bytes_max).unwrap_or(u32::MAX));
                properties.iter().map(|&code| if code <= 40 { code.min(most) } else { code }).collect::<Vec<u8>>()
            });
            let added = add_properties(&mut chain, *id, smaller.as_deref().unwrap_or(properties));
            let added = added.ok_or(UnitDefect::Unsupported("it needs a filter that is not known here"))?;
            added.map_err(UnitDefect::Lzma)?;
        }
        Ok(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter_chain::LzmaSettings;

    #[test]
    fn integers_come_back_and_long_forms_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), (1 << 63) - 1] {
            let mut bytes = Vec::new();
            put_vli(value, &mut bytes);
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!(take_vli(&mut rest), Some(value));
            assert_eq!(rest, [7]);
        }
        assert_eq!(take_vli(&mut &[0x80, 0][..]), None);
        assert_eq!(take_vli(&mut &[0x80][..]), None);
        assert_eq!(take_vli(&mut &[0xff; 10][..]), None);
    }

    #[test]
    fn headers_are_read_as_they_were_written() {
        let header = stream_header(CheckKind::Crc64);
        assert_eq!(parse_stream_header(header[..].try_into().expect("its size")).expect("valid"), CheckKind::Crc64);
        let footer = stream_footer(CheckKind::Crc64, 48);
        assert_eq!(
            parse_stream_footer(footer[..].try_into().expect("its size")).expect("valid"),
            (CheckKind::Crc64, 48)
        );
        let chain = FilterChain::lzma2(LzmaSettings::preset(6, false));
        let header = block_header_without_sizes(&chain);
        let read = parse_block_header(&header).expect("valid");
        assert_eq!((header.len(), read.compressed_bytes, read.uncompressed_bytes), (12, None, None));
        let header = block_header(1 << 20, 24 << 20, &chain);
        assert_eq!(header.len(), 28);
        let read = parse_block_header(&header).expect("valid");
        assert_eq!(block_header_bytes(header[0]), header.len());
        assert_eq!((read.compressed_bytes, read.uncompressed_bytes), (Some(1 << 20), Some(24 << 20)));
        assert_eq!(read.dictionary_bytes(), 8 << 20);
        for at in 0..header.len() {
            let mut flipped = header.clone();
            flipped[at] ^= 4;
            assert!(parse_block_header(&flipped).is_err(), "byte {at}");
        }
    }
}
