//! What is inside a page that MariaDB compressed before full_crc32: the whole page as it was, with its checksum. Only zlib, the servers' default; the
//! other algorithms (lz4, lzo, lzma, bzip2, snappy) stay not checkable.

use crate::page::{DATA, FLUSH_LSN, u16_at, u32_at};
use libdeflater::Decompressor;

/// `PAGE_ZLIB_ALGORITHM` of MariaDB's `fsp0types.h`.
const ZLIB: u32 = 1;

/// What came of looking inside.
pub enum PageInside {
    /// Nobody here can.
    OtherAlgorithm,
    /// It is a whole page.
    Page(Vec<u8>),
    /// It does not uncompress to a page.
    Damaged,
}

/// Looks inside a page whose header says that it is one.
pub fn inside(page: &[u8]) -> PageInside {
    if u32_at(page, FLUSH_LSN + 4) != ZLIB {
        return PageInside::OtherAlgorithm;
    }
    // Behind the length, which the header's reader has compared with the page's.
    let begin = DATA + 2;
    let compressed = page.get(begin..begin + usize::from(u16_at(page, DATA)));
    let mut whole = vec![0; page.len()];
    let uncompressed = compressed.map(|compressed| Decompressor::new().zlib_decompress(compressed, &mut whole));
    match uncompressed {
        Some(Ok(length)) if length == page.len() => PageInside::Page(whole),
        _ => PageInside::Damaged,
    }
}
