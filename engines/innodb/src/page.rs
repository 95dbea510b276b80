//! What stands where on a page: the header that every page begins with, and the names of page types. Big-endian throughout.
//! Sources: MariaDB 10.11 `fil0fil.h`, `fsp0fsp.h`, `page0types.h`; MySQL 8.0 `fil0types.h`.

/// LIMIT: the largest page that any server writes.
pub const PAGE_BYTES_MAX: usize = 65536;
/// LIMIT: the smallest: ROW_FORMAT=COMPRESSED with KEY_BLOCK_SIZE=1.
pub const PAGE_BYTES_MIN: usize = 1024;

/// Old formats: the checksum. full_crc32: the version of the key that the page is encrypted with, 0 if it is not.
pub const CHECKSUM: usize = 0;
/// Page number.
pub const PAGE_NUMBER: usize = 4;
/// Page number of the left neighbour in an index.
pub const PREVIOUS: usize = 8;
/// Page number of the right neighbour in an index.
pub const NEXT: usize = 12;
/// Log sequence number of the last change, 8 bytes.
pub const LSN: usize = 16;
/// Page type, 2 bytes.
pub const TYPE: usize = 24;
/// Old formats: a log sequence number in the first page of system tablespaces; key version and checksum of encrypted pages; the
/// algorithm of compressed ones.
pub const FLUSH_LSN: usize = 26;
/// Space id.
pub const SPACE_ID: usize = 34;
/// Where the content begins.
pub const DATA: usize = 38;
/// Length of the trailer of old formats: checksum, low half of the LSN. In full_crc32 the two change places.
pub const TRAILER_BYTES: usize = 8;

/// In the header of a tablespace, on its first page: its id once more.
pub const HEADER_SPACE_ID: usize = DATA;
/// Its length in pages.
pub const HEADER_PAGES: usize = DATA + 8;
/// Its flags.
pub const HEADER_FLAGS: usize = DATA + 16;
/// Behind the header of 112 bytes: descriptors of extents, on this page and on every `page size`th one.
pub const EXTENT_DESCRIPTORS: usize = DATA + 112;
/// In a descriptor: two bits a page, the first of which says that it is free.
pub const EXTENT_BITMAP: usize = 24;

/// Page number of the transaction system's page in the system tablespace.
pub const TRANSACTION_SYSTEM_PAGE: u32 = 5;
/// From the end of that page: where the doublewrite area is.
pub const DOUBLEWRITE_FROM_END: usize = 200;

/// In an index page, from `DATA`: records, level, index id and what the summary needs.
pub const INDEX_HEAP_TOP: usize = DATA + 2;
/// Records on the heap; the top bit says COMPACT or later.
pub const INDEX_HEAP_RECORDS: usize = DATA + 4;
/// Bytes of deleted records.
pub const INDEX_GARBAGE: usize = DATA + 8;
/// User records.
pub const INDEX_RECORDS: usize = DATA + 16;
/// Level, 0 for leaves.
pub const INDEX_LEVEL: usize = DATA + 26;
/// Index id, 8 bytes.
pub const INDEX_ID: usize = DATA + 28;

/// Reads 2 bytes. Pages are at least [`PAGE_BYTES_MIN`] long; what lies beyond a shorter one reads as 0.
pub fn u16_at(page: &[u8], at: usize) -> u16 {
    page.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// Reads 4 bytes, as [`u16_at`].
pub fn u32_at(page: &[u8], at: usize) -> u32 {
    page.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Reads 8 bytes, as [`u16_at`].
pub fn u64_at(page: &[u8], at: usize) -> u64 {
    u64::from(u32_at(page, at)) << 32 | u64::from(u32_at(page, at + 4))
}

/// Whether nothing was ever written here.
pub fn is_zero(page: &[u8]) -> bool {
    // Hardly any page passes the first look.
    page.iter().take(DATA).all(|byte| *byte == 0) && page.chunks(64).all(|part| part.iter().all(|byte| *byte == 0))
}

/// A page's type, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageType(pub u16);

impl PageType {
    /// Of a tablespace's first page.
    pub const SPACE_HEADER: Self = Self(8);
    /// Of later pages with descriptors of extents.
    pub const EXTENT_DESCRIPTORS: Self = Self(9);
    /// Of the transaction system's page.
    pub const TRANSACTION_SYSTEM: Self = Self(7);
    /// MySQL: compressed by the page, and a hole behind it.
    pub const MYSQL_COMPRESSED: Self = Self(14);
    /// MySQL: encrypted.
    pub const MYSQL_ENCRYPTED: Self = Self(15);
    /// MySQL: both.
    pub const MYSQL_COMPRESSED_ENCRYPTED: Self = Self(16);
    /// MySQL: an encrypted page of a spatial index.
    pub const MYSQL_ENCRYPTED_RTREE: Self = Self(17);
    /// MariaDB: the root of an index after an instant ALTER TABLE. (MySQL 8 has another meaning for the number.)
    pub const INSTANT: Self = Self(18);
    /// MariaDB before full_crc32: PAGE_COMPRESSED.
    pub const PAGE_COMPRESSED: Self = Self(34354);
    /// MariaDB before full_crc32: PAGE_COMPRESSED and encrypted.
    pub const PAGE_COMPRESSED_ENCRYPTED: Self = Self(37401);
    /// A page of an index.
    pub const INDEX: Self = Self(17855);

    /// The one of `page`.
    pub fn of(page: &[u8]) -> Self {
        Self(u16_at(page, TYPE))
    }

    /// As documents of the servers name it.
    pub fn name(self) -> &'static str {
        match self.0 {
            0 => "allocated, not used",
            2 => "undo log",
            3 => "segment inodes",
            4 => "change buffer free list",
            5 => "change buffer bitmap",
            6 => "system",
            7 => "transaction system",
            8 => "tablespace header",
            9 => "extent descriptors",
            10 => "blob",
            11 | 12 => "compressed blob",
            14 => "compressed (MySQL)",
            15 | 17 => "encrypted (MySQL)",
            16 => "compressed, encrypted (MySQL)",
            18 => "index root after instant ALTER, or SDI blob",
            19 => "compressed SDI blob",
            20 => "doublewrite",
            21 => "rollback segment array",
            22..=24 => "large object",
            25..=29 => "compressed large object",
            17853 => "SDI index",
            17854 => "spatial index",
            17855 => "index",
            34354 => "page_compressed",
            37401 => "page_compressed, encrypted",
            other if other & COMPRESSED_MARK != 0 => "page_compressed",
            _ => "unknown",
        }
    }
}

/// full_crc32: set in the type of a page_compressed page, whose other bits are then its length in units of 256 bytes.
pub const COMPRESSED_MARK: u16 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_big_endian_and_never_lie_beyond_the_page() {
        let page = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!((u16_at(&page, 1), u32_at(&page, 1), u64_at(&page, 1)), (0x203, 0x203_0405, 0x203_0405_0607_0809));
        assert_eq!((u16_at(&page, 8), u32_at(&page, 6), u64_at(&page, 9)), (0, 0, 0));
    }

    #[test]
    fn one_bit_anywhere_makes_a_page_not_zero() {
        let mut page = vec![0; 1024];
        assert!(is_zero(&page));
        for at in [0, 37, 38, 500, 1023] {
            page[at] = 1;
            assert!(!is_zero(&page), "{at}");
            page[at] = 0;
        }
    }
}
