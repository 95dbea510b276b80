//! The checksums that pages carry or have carried, as pure functions. A page is as long as its layout says.
//! Sources: MariaDB 10.11 `buf0checksum.cc`, `ut0rnd.inl`, `page0zip.cc`; the same in MySQL 5.7 to 8.4.

use crate::crc32c::crc32c;
use crate::page::{CHECKSUM, DATA, FLUSH_LSN, LSN, PAGE_NUMBER, SPACE_ID, TRAILER_BYTES, TYPE};

/// Stands in place of a checksum where a server was told to compute none (innodb_checksum_algorithm=none).
pub const NO_CHECKSUM: u32 = 0xdead_beef;

/// full_crc32: over all that is in front of the last 4 bytes.
pub fn full_crc32(payload: &[u8]) -> u32 {
    crc32c(&payload[..payload.len() - 4])
}

/// crc32: two parts, without the fields that were once written past the buffer pool.
pub fn crc32(page: &[u8]) -> u32 {
    crc32c(&page[PAGE_NUMBER..FLUSH_LSN]) ^ crc32c(&page[DATA..page.len() - TRAILER_BYTES])
}

/// innodb, at the beginning of a page: the same parts by a hash of its own.
pub fn innodb(page: &[u8]) -> u32 {
    fold(&page[PAGE_NUMBER..FLUSH_LSN]).wrapping_add(fold(&page[DATA..page.len() - TRAILER_BYTES]))
}

/// innodb, at the end of a page: the header only, as MySQL 4.0 had it. The checksum at the beginning is part of it.
pub fn innodb_old(page: &[u8]) -> u32 {
    fold(&page[CHECKSUM..FLUSH_LSN])
}

/// ROW_FORMAT=COMPRESSED with crc32.
pub fn compressed_crc32(page: &[u8]) -> u32 {
    crc32c(&page[PAGE_NUMBER..LSN]) ^ crc32c(&page[TYPE..TYPE + 2]) ^ crc32c(&page[SPACE_ID..])
}

/// ROW_FORMAT=COMPRESSED with innodb: Adler-32 that begins with 0 in place of 1.
pub fn compressed_adler32(page: &[u8]) -> u32 {
    [&page[PAGE_NUMBER..LSN], &page[TYPE..TYPE + 2], &page[SPACE_ID..]].into_iter().fold(0, adler32)
}

/// The hash of `ut_fold_binary`. The servers compute it in 64 bits and keep 32, and no step moves a bit down.
fn fold(bytes: &[u8]) -> u32 {
    const MASK: u32 = 1_463_735_687;
    const MASK_2: u32 = 1_653_893_711;
    bytes.iter().fold(0, |hash: u32, byte| {
        let byte = u32::from(*byte);
        (((hash ^ byte ^ MASK_2) << 8).wrapping_add(hash) ^ MASK).wrapping_add(byte)
    })
}

/// RFC 1950, section 9.
fn adler32(begin: u32, bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    // LIMIT: so many bytes cannot make a sum of 32 bits overflow (zlib's NMAX).
    const STEP: usize = 5552;
    let (mut low, mut high) = (begin & 0xffff, begin >> 16);
    for part in bytes.chunks(STEP) {
        for byte in part {
            low += u32::from(*byte);
            high += low;
        }
        (low, high) = (low % MODULUS, high % MODULUS);
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adler_is_the_one_of_rfc_1950() {
        assert_eq!(adler32(1, b"Wikipedia"), 0x11e6_0398);
        assert_eq!(adler32(adler32(1, b"Wiki"), b"pedia"), 0x11e6_0398);
        assert_eq!(adler32(0, &[0; 4]), 0);
        let long = vec![0xff; 100_000];
        let slow = long.iter().fold((1_u64, 0_u64), |(low, high), byte| {
            let low = (low + u64::from(*byte)) % 65521;
            (low, (high + low) % 65521)
        });
        assert_eq!(u64::from(adler32(1, &long)), slow.1 << 16 | slow.0);
    }

    #[test]
    fn the_hash_is_the_one_that_servers_compute_in_64_bits() {
        let server = |bytes: &[u8]| {
            let pair = |one: u64, two: u64| {
                ((((one ^ two ^ 1_653_893_711) << 8).wrapping_add(one)) ^ 1_463_735_687).wrapping_add(two)
            };
            bytes.iter().fold(0, |hash, byte| pair(hash, u64::from(*byte))) as u32
        };
        let bytes: Vec<u8> = (0..5000_u32).map(|at| ((at * at) >> 3) as u8).collect();
        assert_eq!(fold(&bytes), server(&bytes));
        assert_eq!(fold(&[]), 0);
    }

    #[test]
    fn each_checksum_covers_what_it_should_and_nothing_else() {
        let page: Vec<u8> = (0..1024_u32).map(|at| ((at * 7) >> 2) as u8).collect();
        let covered = |of: fn(&[u8]) -> u32| {
            let is_covered = |at: &usize| {
                let mut other = page.clone();
                other[*at] ^= 0x10;
                of(&other) != of(&page)
            };
            (0..1024).filter(is_covered).collect::<Vec<usize>>()
        };
        let from = |parts: &[std::ops::Range<usize>]| parts.iter().cloned().flatten().collect::<Vec<usize>>();
        assert_eq!(covered(full_crc32), (0..1020).collect::<Vec<usize>>());
        assert_eq!(covered(crc32), from(&[4..26, 38..1016]));
        assert_eq!(covered(innodb), from(&[4..26, 38..1016]));
        assert_eq!(covered(innodb_old), (0..26).collect::<Vec<usize>>());
        assert_eq!(covered(compressed_crc32), from(&[4..16, 24..26, 34..1024]));
        assert_eq!(covered(compressed_adler32), from(&[4..16, 24..26, 34..1024]));
    }
}
