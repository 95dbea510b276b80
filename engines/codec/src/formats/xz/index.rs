//! The Index behind the blocks: built block by block, compared at a stream's end, and read from a file's end to find blocks
//! whose headers tell no sizes.

use super::check::CheckKind;
use super::container::{
    INDEX_INDICATOR, STREAM_FOOTER_BYTES, STREAM_HEADER_BYTES, crc32, parse_stream_footer, put_vli, take_vli,
};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use sys::at_offset::read_full_at;

/// What the Index tells of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct XzIndexRecord {
    /// Header, compressed data and check, without the padding between the latter two.
    pub unpadded_bytes: u64,
    pub uncompressed_bytes: u64,
}

impl XzIndexRecord {
    /// Distance to the next block.
    pub fn padded_bytes(self) -> u64 {
        self.unpadded_bytes.next_multiple_of(4)
    }
}

/// The records of a stream so far, as the Index holds them.
#[derive(Debug, Default)]
pub(super) struct XzIndexRecords {
    count: u64,
    encoded: Vec<u8>,
}

impl XzIndexRecords {
    pub fn add(&mut self, record: XzIndexRecord) {
        self.count += 1;
        put_vli(record.unpadded_bytes, &mut self.encoded);
        put_vli(record.uncompressed_bytes, &mut self.encoded);
    }

    /// The Index of these records: there is one way only to write it.
    pub fn index(&self) -> Vec<u8> {
        let mut index = vec![INDEX_INDICATOR];
        put_vli(self.count, &mut index);
        index.extend_from_slice(&self.encoded);
        index.resize(index.len().next_multiple_of(4), 0);
        let crc = crc32(&index);
        index.extend(crc.to_le_bytes());
        index
    }
}

/// LIMIT: an Index that is read from a file's end, and the blocks of a file that are looked up in it: 16 MB of records. A
/// terabyte in the blocks of 24 MiB that `xz -T` writes has 42 000. What has more is decoded in series.
const INDEX_BYTES_MAX: u64 = 4 << 20;
const BLOCKS_MAX: usize = 250_000;

/// Padding between streams that is read at a time.
pub(super) const PADDING_BYTES: u64 = 64 << 10;

/// The blocks of a whole file by their offsets, from the Indexes found from its end backwards; empty where anything about
/// them is not as it should be.
pub(super) fn blocks_of_file(file: &File) -> HashMap<u64, XzIndexRecord> {
    let mut blocks = HashMap::new();
    let Ok(mut end) = file.metadata().map(|metadata| metadata.len()) else { return HashMap::new() };
    while end > 0 {
        match stream_before(file, end) {
            Ok(Some((begin, records))) if blocks.len() + records.len() <= BLOCKS_MAX => {
                let mut offset = begin + STREAM_HEADER_BYTES as u64;
                for record in records {
                    blocks.insert(offset, record);
                    offset += record.padded_bytes();
                }
                end = begin;
            }
            Ok(None) => match padding_before(file, end) {
                Ok(bytes) => end -= bytes,
                Err(_) => return HashMap::new(),
            },
            Ok(Some(_)) | Err(_) => return HashMap::new(),
        }
    }
    blocks
}

/// How many zero bytes stand before `end`, of those read at a time: a multiple of four, and four at least.
fn padding_before(file: &File, end: u64) -> io::Result<u64> {
    let count = end.min(PADDING_BYTES);
    let mut bytes = vec![0; usize::try_from(count).map_err(io::Error::other)?];
    read_full_at(file, &mut bytes, end - count)?;
    let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    Ok((zeros as u64 / 4 * 4).max(4))
}

/// The stream that ends at `end`: where it begins, and its records. `Ok(None)`: four bytes of padding stand there.
fn stream_before(file: &File, end: u64) -> io::Result<Option<(u64, Vec<XzIndexRecord>)>> {
    let none = || io::Error::from(io::ErrorKind::InvalidData);
    let mut footer = [0; STREAM_FOOTER_BYTES];
    let footer_at = end.checked_sub(footer.len() as u64).ok_or_else(none)?;
    read_full_at(file, &mut footer, footer_at)?;
    if footer[8..] == [0; 4] {
        return Ok(None);
    }
    let (_, index_bytes) = parse_stream_footer(&footer).map_err(io::Error::other)?;
    let index_at = footer_at.checked_sub(index_bytes).filter(|_| index_bytes <= INDEX_BYTES_MAX).ok_or_else(none)?;
    let mut index = vec![0; usize::try_from(index_bytes).map_err(io::Error::other)?];
    read_full_at(file, &mut index, index_at)?;
    let records = parse_index(&index).ok_or_else(none)?;
    let blocks_bytes = records.iter().try_fold(0_u64, |sum, record| sum.checked_add(record.padded_bytes()));
    let begin = blocks_bytes
        .and_then(|bytes| index_at.checked_sub(bytes))
        .and_then(|blocks_at| blocks_at.checked_sub(STREAM_HEADER_BYTES as u64));
    Ok(Some((begin.ok_or_else(none)?, records)))
}

/// The number of records that an Index says it has.
pub(super) fn record_count(index: &[u8]) -> Option<u64> {
    let (&indicator, mut rest) = index.split_first()?;
    if indicator == INDEX_INDICATOR { take_vli(&mut rest) } else { None }
}

pub(super) fn parse_index(index: &[u8]) -> Option<Vec<XzIndexRecord>> {
    let (fields, &stored) = index.split_last_chunk()?;
    if crc32(fields) != u32::from_le_bytes(stored) || fields.first() != Some(&INDEX_INDICATOR) {
        return None;
    }
    let mut rest = &fields[1..];
    let count = take_vli(&mut rest)?;
    let mut records = Vec::new();
    for _ in 0..count {
        let (unpadded_bytes, uncompressed_bytes) = (take_vli(&mut rest)?, take_vli(&mut rest)?);
        // LIMIT: 63 bits (section 1.2); what is more cannot be padded.
        if !(5..=1 << 62).contains(&unpadded_bytes) {
            return None;
        }
        records.push(XzIndexRecord { unpadded_bytes, uncompressed_bytes });
    }
    (rest.len() < 4 && rest.iter().all(|&byte| byte == 0)).then_some(records)
}

/// The parts of a block behind its header, where its unpadded size is known.
pub(super) fn compressed_bytes(record: XzIndexRecord, header_bytes: usize, check: CheckKind) -> Option<u64> {
    record.unpadded_bytes.checked_sub(header_bytes as u64 + check.bytes() as u64).filter(|&bytes| bytes > 0)
}

/// The record of a block with these parts.
pub(super) fn record(header_bytes: usize, compressed: u64, check: CheckKind, uncompressed_bytes: u64) -> XzIndexRecord {
    let unpadded_bytes = (header_bytes as u64).saturating_add(compressed).saturating_add(check.bytes() as u64);
    XzIndexRecord { unpadded_bytes, uncompressed_bytes }
}
