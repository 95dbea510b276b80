//! How the pages of a tablespace are laid out, as the flags in its header say. Knows no page.
//! Source: MariaDB 10.11 `fsp0types.h`, whose table also has MySQL's bits.

use serde::Serialize;

/// Which rules a page is written by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageFormat {
    /// MariaDB 10.4 and later: one CRC-32C over the page.
    FullCrc32,
    /// All others: innodb_checksum_algorithm=crc32, innodb or none, page by page.
    Crc32,
    /// ROW_FORMAT=COMPRESSED: pages smaller than the server's.
    Compressed,
}

impl PageFormat {
    /// As the servers' documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FullCrc32 => "full_crc32",
            Self::Crc32 => "crc32",
            Self::Compressed => "ROW_FORMAT=COMPRESSED",
        }
    }
}

/// A tablespace's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    /// Its rules.
    pub format: PageFormat,
    /// innodb_page_size.
    pub logical_bytes: usize,
    /// Bytes of a page in the file: less than `logical_bytes` with ROW_FORMAT=COMPRESSED only.
    pub physical_bytes: usize,
    /// MySQL: the tablespace is encrypted.
    pub is_mysql_encrypted: bool,
}

/// Bits of the flags.
const FULL_CRC32: u32 = 1 << 4;
const FULL_CRC32_ALGORITHM_SHIFT: u32 = 5;
/// LIMIT: the highest number of a compression algorithm (snappy).
const ALGORITHM_MAX: u32 = 6;
const ZIP_SHIFT: u32 = 1;
const PAGE_SIZE_SHIFT: u32 = 6;
const MYSQL_ENCRYPTION: u32 = 1 << 13;
/// The highest bit that has a meaning: page_compressed.
const FLAGS_KNOWN: u32 = (1 << 17) - 1;

/// 512 bytes, shifted by what the flags say.
const SIZE_UNIT: usize = 512;

impl PageLayout {
    /// What `flags` say, if they say something possible.
    pub fn of_flags(flags: u32) -> Option<Self> {
        if flags & FULL_CRC32 != 0 {
            let bytes = page_bytes(flags & 15, None)?;
            let is_known = flags >> FULL_CRC32_ALGORITHM_SHIFT <= ALGORITHM_MAX;
            return is_known.then(|| Self::plain(PageFormat::FullCrc32, bytes));
        }
        if flags & !FLAGS_KNOWN != 0 {
            return None;
        }
        let logical_bytes = page_bytes(flags >> PAGE_SIZE_SHIFT & 15, Some(16384))?;
        let is_mysql_encrypted = flags & MYSQL_ENCRYPTION != 0;
        match flags >> ZIP_SHIFT & 15 {
            0 => Some(Self { is_mysql_encrypted, ..Self::plain(PageFormat::Crc32, logical_bytes) }),
            zip => {
                let physical_bytes = SIZE_UNIT << zip;
                let is_possible = physical_bytes <= logical_bytes && physical_bytes <= 16384;
                let layout = Self { format: PageFormat::Compressed, logical_bytes, physical_bytes, is_mysql_encrypted };
                is_possible.then_some(layout)
            }
        }
    }

    /// One whose pages have the server's size.
    pub fn plain(format: PageFormat, bytes: usize) -> Self {
        Self { format, logical_bytes: bytes, physical_bytes: bytes, is_mysql_encrypted: false }
    }

    /// Everything that a header could have said, for files whose header is damaged. Whether MySQL encrypts them is unknown, so they are taken to be.
    pub fn all() -> impl Iterator<Item = Self> {
        let sizes = [16384, 4096, 8192, 32768, 65536];
        let plain = [PageFormat::FullCrc32, PageFormat::Crc32].into_iter();
        let plain = plain.flat_map(move |format| sizes.map(|bytes| Self::plain(format, bytes)));
        let compressed = [8192, 4096, 2048, 1024, 16384]
            .map(|physical_bytes| Self { physical_bytes, ..Self::plain(PageFormat::Compressed, 16384) });
        plain.chain(compressed).map(|layout| Self { is_mysql_encrypted: layout.format == PageFormat::Crc32, ..layout })
    }

    /// Pages of an extent: 1 MiB, but 64 pages at least.
    pub fn extent_pages(&self) -> u32 {
        ((1 << 20) / self.logical_bytes as u32).max(64)
    }

    /// A page with descriptors of extents describes so many pages, and stands in front of them.
    pub fn described_pages(&self) -> u32 {
        self.physical_bytes as u32
    }

    /// Bytes of one descriptor.
    pub fn descriptor_bytes(&self) -> usize {
        crate::page::EXTENT_BITMAP + self.extent_pages() as usize * 2 / 8
    }
}

fn page_bytes(shift: u32, of_zero: Option<usize>) -> Option<usize> {
    match shift {
        0 => of_zero,
        3..=7 => Some(SIZE_UNIT << shift),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flags: u32) -> Option<(PageFormat, usize, usize)> {
        PageLayout::of_flags(flags).map(|layout| (layout.format, layout.logical_bytes, layout.physical_bytes))
    }

    #[test]
    fn flags_say_format_and_sizes() {
        assert_eq!(of(0), Some((PageFormat::Crc32, 16384, 16384)), "MySQL 5.0 to MariaDB 10.3, COMPACT");
        assert_eq!(of(0x21), Some((PageFormat::Crc32, 16384, 16384)), "DYNAMIC");
        assert_eq!(of(0x15), Some((PageFormat::FullCrc32, 16384, 16384)));
        assert_eq!(of(0x13), Some((PageFormat::FullCrc32, 4096, 4096)));
        assert_eq!(of(0x17 | 6 << 5), Some((PageFormat::FullCrc32, 65536, 65536)), "page_compressed by snappy");
        assert_eq!(of(0x29), Some((PageFormat::Compressed, 16384, 8192)), "KEY_BLOCK_SIZE=8");
        assert_eq!(of(0x23), Some((PageFormat::Compressed, 16384, 1024)), "KEY_BLOCK_SIZE=1");
        assert_eq!(of(3 << 6), Some((PageFormat::Crc32, 4096, 4096)));
        assert_eq!(of(0x4021), Some((PageFormat::Crc32, 16384, 16384)), "MySQL 8: with SDI");
        assert_eq!(PageLayout::of_flags(0x6021).map(|layout| layout.is_mysql_encrypted), Some(true));
    }

    #[test]
    fn flags_that_no_server_writes_are_refused() {
        for flags in [0x10, 0x11, 0x18, 0x15 | 7 << 5, 1 << 6, 8 << 6, 1 << 17, u32::MAX, 0x2b | 3 << 6] {
            assert_eq!(of(flags), None, "{flags:#x}");
        }
    }

    #[test]
    fn extents_follow_the_page_size() {
        let extent = |bytes| PageLayout::plain(PageFormat::Crc32, bytes).extent_pages();
        assert_eq!([4096, 8192, 16384, 32768, 65536].map(extent), [256, 128, 64, 64, 64]);
        let descriptor = |bytes| PageLayout::plain(PageFormat::Crc32, bytes).descriptor_bytes();
        assert_eq!([4096, 8192, 16384].map(descriptor), [88, 56, 40]);
    }
}
