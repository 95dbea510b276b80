//! The contents of an xz file by its Indexes, and by the headers of blocks: for lists. Decodes nothing.

use super::check::CheckKind;
use super::container::{
    BLOCK_HEADER_BYTES_MAX, MAGIC, STREAM_FOOTER_BYTES, STREAM_HEADER_BYTES, block_header_bytes, parse_block_header,
    parse_stream_footer, parse_stream_header,
};
use super::index::{PADDING_BYTES, XzIndexRecord, compressed_bytes, parse_index, record_count};
use crate::error::UnitDefect;
use crate::filter_chain::FilterChain;
use crate::format::CutError;
use std::fs::File;
use sys::at_offset::read_full_at;

/// LIMIT: an Index of a list.
const LISTED_INDEX_BYTES_MAX: u64 = 64 << 20;

/// LIMIT: streams and blocks of a file together. A record may be as short as two bytes, and takes much more in memory.
const LISTED_PARTS_MAX: u64 = 8 << 20;

/// Memory of one of them.
const PART_BYTES: u64 = (size_of::<XzIndexRecord>() + size_of::<XzBlockSurvey>()) as u64;

/// A stream of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XzStreamSurvey {
    /// Its offset in the file.
    pub offset: u64,
    /// Header, blocks, Index and footer.
    pub bytes: u64,
    /// Number of its check in the format's table.
    pub check: u8,
    /// Zero bytes behind it.
    pub padding_bytes: u64,
    /// Its blocks.
    pub blocks: Vec<XzBlockSurvey>,
}

impl XzStreamSurvey {
    /// Uncompressed bytes.
    #[must_use]
    pub fn uncompressed_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.uncompressed_bytes).sum()
    }
}

/// A block of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XzBlockSurvey {
    /// Its offset in the file.
    pub offset: u64,
    /// Header, data, padding and check.
    pub bytes: u64,
    /// The same without the padding.
    pub unpadded_bytes: u64,
    /// Its size when it is decoded.
    pub uncompressed_bytes: u64,
}

/// Facts of a block that are not in the Index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XzBlockDetail {
    /// Bytes of its header.
    pub header_bytes: usize,
    /// Whether the header tells the compressed and the uncompressed size.
    pub has_sizes: (bool, bool),
    /// Bytes of its data.
    pub compressed_bytes: u64,
    /// Its filters.
    pub chain: FilterChain,
    /// As it is stored.
    pub check: Vec<u8>,
}

const BROKEN: CutError = CutError::Defect(UnitDefect::Header("its parts do not agree with each other"));

/// The streams of a whole file, in order.
///
/// # Errors
///
/// [`CutError::Garbage`] if it does not begin as an xz file.
pub fn streams(file: &File) -> Result<Vec<XzStreamSurvey>, CutError> {
    streams_within(file, LISTED_PARTS_MAX)
}

/// The same, of at most `parts_max` streams and blocks.
fn streams_within(file: &File, parts_max: u64) -> Result<Vec<XzStreamSurvey>, CutError> {
    let mut head = [0; MAGIC.len()];
    read_full_at(file, &mut head, 0)?;
    if head != MAGIC {
        return Err(CutError::Garbage);
    }
    let mut streams = Vec::new();
    let (mut end, mut padding_bytes, mut parts) = (file.metadata()?.len(), 0, 0);
    while end > 0 {
        let zeros = padding_before(file, end)?;
        (end, padding_bytes) = (end - zeros, padding_bytes + zeros);
        if zeros > 0 {
            continue;
        }
        let mut add = |count: u64| {
            parts = count.saturating_add(parts);
            let bytes = |parts: u64| parts.saturating_mul(PART_BYTES);
            let too_many = UnitDefect::Memory { need_bytes: bytes(parts), allowed_bytes: bytes(parts_max) };
            if parts <= parts_max { Ok(()) } else { Err(too_many) }
        };
        let stream = stream_before(file, end, padding_bytes, &mut add)?;
        (end, padding_bytes) = (stream.offset, 0);
        streams.push(stream);
    }
    streams.reverse();
    Ok(streams)
}

/// Zero bytes before `end`, in fours, of those read at a time.
fn padding_before(file: &File, end: u64) -> Result<u64, CutError> {
    let mut word = [0; 4];
    let Some(at) = end.checked_sub(word.len() as u64) else { return Err(BROKEN) };
    read_full_at(file, &mut word, at)?;
    if word != [0; 4] {
        return Ok(0);
    }
    let count = end.min(PADDING_BYTES);
    let mut bytes = vec![0; count as usize];
    read_full_at(file, &mut bytes, end - count)?;
    let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    Ok(zeros as u64 / 4 * 4)
}

/// The stream that ends at `end`. `add` is asked before memory is taken for its parts.
fn stream_before(
    file: &File,
    end: u64,
    padding_bytes: u64,
    add: &mut dyn FnMut(u64) -> Result<(), UnitDefect>,
) -> Result<XzStreamSurvey, CutError> {
    let mut footer = [0; STREAM_FOOTER_BYTES];
    let footer_at = end.checked_sub(footer.len() as u64).ok_or(BROKEN)?;
    read_full_at(file, &mut footer, footer_at)?;
    let (check, index_bytes) = parse_stream_footer(&footer)?;
    let index_at = footer_at.checked_sub(index_bytes).ok_or(BROKEN)?;
    if index_bytes > LISTED_INDEX_BYTES_MAX {
        return Err(UnitDefect::Memory { need_bytes: index_bytes, allowed_bytes: LISTED_INDEX_BYTES_MAX }.into());
    }
    let mut index = vec![0; index_bytes as usize];
    read_full_at(file, &mut index, index_at)?;
    add(record_count(&index).ok_or(BROKEN)?.saturating_add(1))?;
    let records = parse_index(&index).ok_or(BROKEN)?;
    let blocks_bytes =
        records.iter().try_fold(0_u64, |sum, record| sum.checked_add(record.padded_bytes())).ok_or(BROKEN)?;
    let blocks_at = index_at.checked_sub(blocks_bytes).ok_or(BROKEN)?;
    let offset = blocks_at.checked_sub(STREAM_HEADER_BYTES as u64).ok_or(BROKEN)?;
    let mut header = [0; STREAM_HEADER_BYTES];
    read_full_at(file, &mut header, offset)?;
    if !header.starts_with(&MAGIC) || parse_stream_header(&header)? != check {
        return Err(BROKEN);
    }
    records.iter().try_fold(0_u64, |sum, record| sum.checked_add(record.uncompressed_bytes)).ok_or(BROKEN)?;
    let mut at = blocks_at;
    let blocks = records.iter().map(|record| {
        let XzIndexRecord { unpadded_bytes, uncompressed_bytes } = *record;
        let block = XzBlockSurvey { offset: at, bytes: record.padded_bytes(), unpadded_bytes, uncompressed_bytes };
        at += block.bytes;
        block
    });
    Ok(XzStreamSurvey { offset, bytes: end - offset, check: check.id(), padding_bytes, blocks: blocks.collect() })
}

/// Reads the header and the check of a block in a stream with this kind of check.
///
/// # Errors
///
/// If its header is broken, or does not agree with the Index.
pub fn detail(file: &File, check: u8, block: &XzBlockSurvey) -> Result<XzBlockDetail, CutError> {
    let check_bytes = CheckKind::from_id(check).bytes();
    let most = usize::try_from(block.bytes).unwrap_or(usize::MAX).min(BLOCK_HEADER_BYTES_MAX);
    let mut head = vec![0; most];
    read_full_at(file, &mut head, block.offset)?;
    let first = *head.first().filter(|first| **first != 0).ok_or(BROKEN)?;
    let header = parse_block_header(head.get(..block_header_bytes(first)).ok_or(BROKEN)?)?;
    let chain = header.chain().ok_or(UnitDefect::Unsupported("it needs a filter that is not known here"))?;
    let record = XzIndexRecord { unpadded_bytes: block.unpadded_bytes, uncompressed_bytes: block.uncompressed_bytes };
    let data_bytes = compressed_bytes(record, header.bytes, CheckKind::from_id(check)).ok_or(BROKEN)?;
    if header.compressed_bytes.is_some_and(|stored| stored != data_bytes)
        || header.uncompressed_bytes.is_some_and(|stored| stored != block.uncompressed_bytes)
    {
        return Err(BROKEN);
    }
    let mut stored = vec![0; check_bytes];
    let check_at = (block.offset + block.bytes).checked_sub(check_bytes as u64).ok_or(BROKEN)?;
    read_full_at(file, &mut stored, check_at)?;
    Ok(XzBlockDetail {
        header_bytes: header.bytes,
        has_sizes: (header.compressed_bytes.is_some(), header.uncompressed_bytes.is_some()),
        compressed_bytes: data_bytes,
        chain,
        check: stored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::xz::container::{stream_footer, stream_header};
    use crate::formats::xz::index::XzIndexRecords;
    use std::io::Write;

    /// A stream whose Index has so many blocks of five bytes; the blocks are zeros.
    fn stream(blocks: u64) -> Vec<u8> {
        let mut records = XzIndexRecords::default();
        (0..blocks).for_each(|_| records.add(XzIndexRecord { unpadded_bytes: 5, uncompressed_bytes: 1 }));
        let index = records.index();
        let footer = stream_footer(CheckKind::Crc32, index.len() as u64);
        [&stream_header(CheckKind::Crc32)[..], &vec![0; 8 * blocks as usize], &index, &footer].concat()
    }

    #[test]
    fn streams_and_blocks_of_a_file_are_limited_together() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[stream(300), stream(0), stream(2)].concat()).expect("write");
        let found = streams_within(&file, 305).expect("as many as are allowed");
        assert_eq!(found.iter().map(|stream| stream.blocks.len()).collect::<Vec<_>>(), [300, 0, 2]);
        let Err(CutError::Defect(UnitDefect::Memory { need_bytes, allowed_bytes })) = streams_within(&file, 304) else {
            panic!("one too many");
        };
        assert_eq!((need_bytes, allowed_bytes), (305 * PART_BYTES, 304 * PART_BYTES));
    }
}
