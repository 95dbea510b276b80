//! Pages for tests, written by the formulas in the servers' sources (MariaDB 10.5 `buf0flu.cc`, `buf0checksum.cc`, `page0zip.cc`) and not by the
//! functions under test: bit by bit, one byte after the other.

use crate::judge::SpaceFacts;
use crate::layout::{PageFormat, PageLayout};

/// A space of pages of this format.
pub fn facts(format: PageFormat, bytes: usize) -> SpaceFacts {
    SpaceFacts { layout: PageLayout::plain(format, bytes), space_id: 7 }
}

/// CRC-32C, a bit at a time.
pub fn crc(parts: &[&[u8]]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 })
    };
    !parts.iter().flat_map(|part| part.iter()).fold(u32::MAX, step)
}

/// `ut_fold_binary` as it is in the source, in 64 bits.
fn fold(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash: u64, byte| {
        let byte = u64::from(*byte);
        (((hash ^ byte ^ 1_653_893_711) << 8).wrapping_add(hash) ^ 1_463_735_687).wrapping_add(byte)
    })
}

/// The Adler-32 of zlib, from `begin`.
fn adler(begin: u32, bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (begin & 0xffff, begin >> 16);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    high << 16 | low
}

/// Writes a number.
pub fn put(page: &mut [u8], at: usize, number: u32) {
    page[at..at + 4].copy_from_slice(&number.to_be_bytes());
}

/// Header, content and the low half of the log sequence number of an index page, without a checksum.
pub fn unsigned(number: u32, bytes: usize, lsn_at: usize) -> Vec<u8> {
    let mut page: Vec<u8> = (0..bytes).map(|at| (at * at / 7 + number as usize) as u8).collect();
    put(&mut page, 0, 0);
    put(&mut page, 4, number);
    put(&mut page, 16, 3);
    put(&mut page, 20, 0x1234_5678 + number);
    page[24..26].copy_from_slice(&17855_u16.to_be_bytes());
    page[26..34].fill(0);
    put(&mut page, 34, 7);
    if lsn_at > 0 {
        put(&mut page, lsn_at, 0x1234_5678 + number);
    }
    page
}

/// A page of full_crc32.
pub fn full_crc32(number: u32, bytes: usize) -> Vec<u8> {
    let mut page = unsigned(number, bytes, bytes - 8);
    let sum = crc(&[&page[..bytes - 4]]);
    put(&mut page, bytes - 4, sum);
    page
}

/// Signs a page as crc32 does.
pub fn sign_crc32(page: &mut [u8]) {
    let end = page.len() - 8;
    let sum = crc(&[&page[4..26]]) ^ crc(&[&page[38..end]]);
    put(page, 0, sum);
    put(page, end, sum);
}

/// A page of crc32.
pub fn crc32(number: u32, bytes: usize) -> Vec<u8> {
    let mut page = unsigned(number, bytes, bytes - 4);
    sign_crc32(&mut page);
    page
}

/// A page of innodb, `buf_calc_page_new_checksum` in front and `buf_calc_page_old_checksum` behind.
pub fn innodb(number: u32, bytes: usize) -> Vec<u8> {
    let mut page = unsigned(number, bytes, bytes - 4);
    let sum = fold(&page[4..26]).wrapping_add(fold(&page[38..bytes - 8]));
    put(&mut page, 0, sum as u32);
    let old = fold(&page[..26]);
    put(&mut page, bytes - 8, old as u32);
    page
}

/// A page of none.
pub fn none(number: u32, bytes: usize) -> Vec<u8> {
    let mut page = unsigned(number, bytes, bytes - 4);
    put(&mut page, 0, 0xdead_beef);
    put(&mut page, bytes - 8, 0xdead_beef);
    page
}

/// A page of ROW_FORMAT=COMPRESSED, by either of its checksums.
pub fn compressed(number: u32, bytes: usize, is_adler: bool) -> Vec<u8> {
    let mut page = unsigned(number, bytes, 0);
    let parts = [&page[4..16], &page[24..26], &page[34..]];
    let sum = match is_adler {
        true => parts.iter().fold(0, |sum, part| adler(sum, part)),
        false => parts.iter().fold(0, |sum, part| sum ^ crc(&[part])),
    };
    put(&mut page, 0, sum);
    page
}
