//! The verdict on one page: pure, from its bytes, its place and its tablespace's layout. Decides as the servers do when they read a page, but where they
//! would take a page on trust it says that the page was not checked.

use crate::checksum::{self, NO_CHECKSUM};
use crate::inside::{PageInside, inside};
use crate::layout::{PageFormat, PageLayout};
use crate::page::{
    CHECKSUM, COMPRESSED_MARK, DATA, FLUSH_LSN, LSN, PAGE_NUMBER, PageType, SPACE_ID, TRAILER_BYTES, TYPE, is_zero,
    u16_at, u32_at,
};
use serde::Serialize;

/// What is known of a tablespace whose pages are judged.
#[derive(Clone, Copy, Debug)]
pub struct SpaceFacts {
    /// How its pages are laid out.
    pub layout: PageLayout,
    /// Its id.
    pub space_id: u32,
}

/// What a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageVerdict {
    /// As the server wrote it.
    Good,
    /// All zeros: the server has allocated it and never written it.
    Zero,
    /// Its place and its log sequence number are right, but its content cannot be checked.
    NotCheckable(Reason),
    /// Not as the server wrote it.
    Corrupt(Vec<Mismatch>),
}

/// Why a page's content cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It was written with innodb_checksum_algorithm=none.
    NoChecksum,
    /// MariaDB's PAGE_COMPRESSED before full_crc32, by another algorithm than zlib: the checksum is of the page before it was compressed.
    PageCompressed,
    /// The same, encrypted besides.
    PageCompressedEncrypted,
    /// MySQL's page compression: the checksum is of the page before it was compressed.
    MysqlCompressed,
    /// MySQL's encryption: the checksum is of the page before it was encrypted.
    MysqlEncrypted,
}

impl Reason {
    /// For people, behind a number of pages.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoChecksum => "written without a checksum (innodb_checksum_algorithm=none)",
            Self::PageCompressed => "page_compressed, not by zlib: the checksum is inside the compressed data",
            Self::PageCompressedEncrypted => "page_compressed and encrypted: the checksum is inside the encrypted data",
            Self::MysqlCompressed => "compressed by MySQL: the checksum is of the uncompressed page",
            Self::MysqlEncrypted => "encrypted by MySQL: the checksum is of the page before encryption",
        }
    }
}

/// Two numbers that should be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// What they are.
    pub field: Field,
    /// By the place of the page, or computed from its bytes.
    pub expected: u32,
    /// On the page.
    pub found: u32,
}

/// What a mismatch is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The checksum at the beginning of the page, or its only one.
    Checksum,
    /// Old formats: the checksum at the end.
    ChecksumAtEnd,
    /// The low half of the log sequence number: in the header, and once more at the end.
    Lsn,
    /// The page number.
    PageNumber,
    /// The space id.
    SpaceId,
    /// The length of a page_compressed page, which must be less than the page's. Expected is the longest.
    CompressedBytes,
    /// The length of a page_compressed page when it is uncompressed. Found is 0 if it cannot be.
    UncompressedBytes,
}

impl Field {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::ChecksumAtEnd => "checksum at the end",
            Self::Lsn => "log sequence number at the end",
            Self::PageNumber => "page number",
            Self::SpaceId => "space id",
            Self::CompressedBytes => "compressed length",
            Self::UncompressedBytes => "uncompressed length",
        }
    }

    /// Whether people read it as a number of things, not as a pattern of bits.
    pub fn is_decimal(self) -> bool {
        matches!(self, Self::PageNumber | Self::SpaceId | Self::CompressedBytes | Self::UncompressedBytes)
    }
}

/// Judges `page`, which is as long as the layout says and stands in the place of page `number`.
pub fn judge(page: &[u8], number: u32, facts: &SpaceFacts) -> PageVerdict {
    match as_it_is(page, number, facts) {
        PageVerdict::NotCheckable(Reason::PageCompressed) => match inside(page) {
            PageInside::OtherAlgorithm => PageVerdict::NotCheckable(Reason::PageCompressed),
            PageInside::Page(whole) => as_it_is(&whole, number, facts),
            PageInside::Damaged => {
                let expected = page.len() as u32;
                PageVerdict::Corrupt(vec![Mismatch { field: Field::UncompressedBytes, expected, found: 0 }])
            }
        },
        verdict => verdict,
    }
}

/// The same without looking inside a compressed page.
fn as_it_is(page: &[u8], number: u32, facts: &SpaceFacts) -> PageVerdict {
    if is_zero(page) {
        return PageVerdict::Zero;
    }
    let mut mismatches = Vec::new();
    let reason = match facts.layout.format {
        PageFormat::FullCrc32 => {
            full_crc32(page, &mut mismatches);
            None
        }
        PageFormat::Crc32 => crc32(page, facts, &mut mismatches),
        PageFormat::Compressed => compressed(page, facts, &mut mismatches),
    };
    compare(&mut mismatches, Field::PageNumber, number, u32_at(page, PAGE_NUMBER));
    if shows_space_id(page, facts.layout.format) {
        compare(&mut mismatches, Field::SpaceId, facts.space_id, u32_at(page, SPACE_ID));
    }
    match reason {
        _ if !mismatches.is_empty() => PageVerdict::Corrupt(mismatches),
        Some(reason) => PageVerdict::NotCheckable(reason),
        None => PageVerdict::Good,
    }
}

fn compare(mismatches: &mut Vec<Mismatch>, field: Field, expected: u32, found: u32) {
    if expected != found {
        mismatches.push(Mismatch { field, expected, found });
    }
}

/// full_crc32 compresses and encrypts from byte 26 on, and the space id with it.
fn shows_space_id(page: &[u8], format: PageFormat) -> bool {
    format != PageFormat::FullCrc32 || (u16_at(page, TYPE) & COMPRESSED_MARK == 0 && u32_at(page, CHECKSUM) == 0)
}

/// One checksum at the end of what the page holds: a compressed page is shorter, and a hole follows it. Encrypted pages carry the checksum of
/// what is in the file, so no key is needed.
fn full_crc32(page: &[u8], mismatches: &mut Vec<Mismatch>) {
    let page_type = u16_at(page, TYPE);
    let is_compressed = page_type & COMPRESSED_MARK != 0;
    let length = if is_compressed { usize::from(page_type & !COMPRESSED_MARK) << 8 } else { page.len() };
    // LIMIT: a compressed page is shorter than a page, and has room for its header.
    if is_compressed && !(1..page.len()).contains(&length) {
        let longest = page.len() as u32 - 256;
        mismatches.push(Mismatch { field: Field::CompressedBytes, expected: longest, found: length as u32 });
        return;
    }
    let payload = &page[..length];
    compare(mismatches, Field::Checksum, checksum::full_crc32(payload), u32_at(payload, length - 4));
    if !is_compressed && u32_at(page, CHECKSUM) == 0 {
        compare(mismatches, Field::Lsn, u32_at(page, LSN + 4), u32_at(page, length - TRAILER_BYTES));
    }
}

/// All formats before full_crc32 whose pages have the server's size.
fn crc32(page: &[u8], facts: &SpaceFacts, mismatches: &mut Vec<Mismatch>) -> Option<Reason> {
    if let Some(reason) = sealed(page, facts) {
        return Some(reason);
    }
    let crc = checksum::crc32(page);
    let encryption = encryption_checksum(page);
    match encryption {
        Some(NO_CHECKSUM) => return Some(Reason::NoChecksum),
        Some(found) if found == crc || found == checksum::innodb(page) => return None,
        _ => {}
    }
    let end = page.len() - TRAILER_BYTES;
    compare(mismatches, Field::Lsn, u32_at(page, LSN + 4), u32_at(page, end + 4));
    let (first, last) = (u32_at(page, CHECKSUM), u32_at(page, end));
    if first == crc && last == crc {
        return None;
    }
    let old = checksum::innodb_old(page);
    if first == NO_CHECKSUM && (last == NO_CHECKSUM || last == old) {
        return Some(Reason::NoChecksum);
    }
    let innodb = checksum::innodb(page);
    // COMPAT: servers before 4.0 had the LSN's high half there, and one without checksums may have written the page before.
    let is_old = last == old || last == u32_at(page, LSN) || last == NO_CHECKSUM;
    match (first == innodb, is_old) {
        (true, true) => {}
        (true, false) => compare(mismatches, Field::ChecksumAtEnd, old, last),
        (false, _) if last == old => compare(mismatches, Field::Checksum, innodb, first),
        (false, _) => match encryption {
            Some(found) => compare(mismatches, Field::Checksum, crc, found),
            None => {
                compare(mismatches, Field::Checksum, crc, first);
                compare(mismatches, Field::ChecksumAtEnd, crc, last);
            }
        },
    }
    None
}

/// MariaDB before full_crc32 puts a checksum of the encrypted page behind the version of its key. LIE: old servers wrote a log sequence number in
/// the same place, and spatial indexes another, so a page that does not pass may not be encrypted at all.
fn encryption_checksum(page: &[u8]) -> Option<u32> {
    let has_key_version = u32_at(page, FLUSH_LSN) != 0;
    has_key_version.then(|| u32_at(page, FLUSH_LSN + 4))
}

/// Pages whose checksum was computed before they were compressed or encrypted. The type alone is not enough: one bit makes it of an ordinary
/// page's, so what such a page has in its header must be there, too.
fn sealed(page: &[u8], facts: &SpaceFacts) -> Option<Reason> {
    // LIMIT: zlib, lz4, lzo, lzma, bzip2, snappy.
    let is_algorithm = |number: u32| (1..=6).contains(&number);
    let compressed_bytes = usize::from(u16_at(page, DATA));
    let fits = (1..page.len() - DATA).contains(&compressed_bytes);
    match PageType::of(page) {
        PageType::PAGE_COMPRESSED => {
            let has_algorithm = u32_at(page, FLUSH_LSN) == 0 && is_algorithm(u32_at(page, FLUSH_LSN + 4));
            (has_algorithm && fits).then_some(Reason::PageCompressed)
        }
        PageType::PAGE_COMPRESSED_ENCRYPTED => {
            let has_algorithm = is_algorithm(u32::from(u16_at(page, DATA + 2)));
            (has_algorithm && fits && u32_at(page, FLUSH_LSN) != 0).then_some(Reason::PageCompressedEncrypted)
        }
        PageType::MYSQL_COMPRESSED => {
            let [version, algorithm] = u16_at(page, FLUSH_LSN).to_be_bytes();
            let is_whole = usize::from(u16_at(page, FLUSH_LSN + 4)) == page.len() - DATA;
            ((1..=2).contains(&version) && (1..=2).contains(&algorithm) && is_whole).then_some(Reason::MysqlCompressed)
        }
        PageType::MYSQL_ENCRYPTED | PageType::MYSQL_ENCRYPTED_RTREE | PageType::MYSQL_COMPRESSED_ENCRYPTED => {
            facts.layout.is_mysql_encrypted.then_some(Reason::MysqlEncrypted)
        }
        _ => None,
    }
}

/// ROW_FORMAT=COMPRESSED: one checksum in the header, and no log sequence number at the end.
fn compressed(page: &[u8], facts: &SpaceFacts, mismatches: &mut Vec<Mismatch>) -> Option<Reason> {
    let crc = checksum::compressed_crc32(page);
    let is_good = |found: u32| found == crc || found == checksum::compressed_adler32(page);
    if PageType::of(page) == PageType::MYSQL_ENCRYPTED && facts.layout.is_mysql_encrypted {
        return Some(Reason::MysqlEncrypted);
    }
    let encryption = encryption_checksum(page);
    let first = u32_at(page, CHECKSUM);
    match (encryption, first) {
        (Some(found), _) if found != NO_CHECKSUM && is_good(found) => None,
        (_, NO_CHECKSUM) | (Some(NO_CHECKSUM), _) => Some(Reason::NoChecksum),
        (_, first) if is_good(first) => None,
        (encryption, first) => {
            compare(mismatches, Field::Checksum, crc, encryption.unwrap_or(first));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_pages as made;

    const BYTES: usize = 4096;
    const NUMBER: u32 = 5;

    fn judged(page: &[u8], format: PageFormat) -> PageVerdict {
        judge(page, NUMBER, &made::facts(format, page.len()))
    }

    /// Offsets of bytes in which one flipped bit goes unnoticed.
    fn blind(page: &[u8], format: PageFormat) -> Vec<usize> {
        let goes_unnoticed = |at: &usize| {
            let mut damaged = page.to_vec();
            damaged[*at] ^= 4;
            !matches!(judged(&damaged, format), PageVerdict::Corrupt(_))
        };
        (0..page.len()).filter(goes_unnoticed).collect()
    }

    fn fields(verdict: &PageVerdict) -> Vec<Field> {
        match verdict {
            PageVerdict::Corrupt(mismatches) => mismatches.iter().map(|mismatch| mismatch.field).collect(),
            other => panic!("{other:?} is not corrupt"),
        }
    }

    #[test]
    fn full_crc32_notices_every_bit() {
        for bytes in [4096, 8192, 16384, 32768, 65536] {
            assert_eq!(judged(&made::full_crc32(NUMBER, bytes), PageFormat::FullCrc32), PageVerdict::Good, "{bytes}");
        }
        assert_eq!(blind(&made::full_crc32(NUMBER, BYTES), PageFormat::FullCrc32), []);
    }

    #[test]
    fn crc32_and_innodb_notice_every_bit_but_those_of_the_field_that_no_checksum_covers() {
        for page in [made::crc32(NUMBER, BYTES), made::innodb(NUMBER, BYTES)] {
            assert_eq!(judged(&page, PageFormat::Crc32), PageVerdict::Good);
            assert_eq!(blind(&page, PageFormat::Crc32), (26..34).collect::<Vec<usize>>());
        }
    }

    #[test]
    fn compressed_rows_notice_every_bit_but_those_of_lsn_and_that_field() {
        for is_adler in [false, true] {
            let page = made::compressed(NUMBER, 1024, is_adler);
            assert_eq!(judged(&page, PageFormat::Compressed), PageVerdict::Good, "adler: {is_adler}");
            assert_eq!(blind(&page, PageFormat::Compressed), (16..24).chain(26..34).collect::<Vec<usize>>());
        }
    }

    #[test]
    fn a_page_without_a_checksum_is_never_good() {
        let page = made::none(NUMBER, BYTES);
        assert_eq!(judged(&page, PageFormat::Crc32), PageVerdict::NotCheckable(Reason::NoChecksum));
        let mut elsewhere = page.clone();
        made::put(&mut elsewhere, PAGE_NUMBER, NUMBER + 1);
        assert_eq!(fields(&judged(&elsewhere, PageFormat::Crc32)), [Field::PageNumber]);
        let mut torn = page;
        made::put(&mut torn, BYTES - 4, 1);
        assert_eq!(fields(&judged(&torn, PageFormat::Crc32)), [Field::Lsn]);
    }

    #[test]
    fn what_is_expected_and_found_is_told() {
        let mut page = made::crc32(NUMBER, BYTES);
        let sum = u32_at(&page, CHECKSUM);
        made::put(&mut page, CHECKSUM, 1);
        let mismatch = Mismatch { field: Field::Checksum, expected: sum, found: 1 };
        assert_eq!(judged(&page, PageFormat::Crc32), PageVerdict::Corrupt(vec![mismatch]));
        let mut page = made::innodb(NUMBER, BYTES);
        let sum = u32_at(&page, BYTES - TRAILER_BYTES);
        made::put(&mut page, BYTES - TRAILER_BYTES, 1);
        let mismatch = Mismatch { field: Field::ChecksumAtEnd, expected: sum, found: 1 };
        assert_eq!(judged(&page, PageFormat::Crc32), PageVerdict::Corrupt(vec![mismatch]));
        let misplaced = judge(&made::full_crc32(9, BYTES), NUMBER, &made::facts(PageFormat::FullCrc32, BYTES));
        let mismatch = Mismatch { field: Field::PageNumber, expected: NUMBER, found: 9 };
        assert_eq!(misplaced, PageVerdict::Corrupt(vec![mismatch]), "a sound page in the wrong place");
        let facts = SpaceFacts { space_id: 8, ..made::facts(PageFormat::FullCrc32, BYTES) };
        assert_eq!(fields(&judge(&made::full_crc32(NUMBER, BYTES), NUMBER, &facts)), [Field::SpaceId]);
    }

    #[test]
    fn a_page_of_zeros_was_never_written_and_one_bit_makes_it_corrupt() {
        for format in [PageFormat::FullCrc32, PageFormat::Crc32, PageFormat::Compressed] {
            let mut page = vec![0; BYTES];
            assert_eq!(judged(&page, format), PageVerdict::Zero);
            page[BYTES / 2] = 1;
            assert!(matches!(judged(&page, format), PageVerdict::Corrupt(_)));
        }
    }

    /// A page that full_crc32 compressed into `length` bytes.
    fn squeezed(length: usize) -> Vec<u8> {
        let mut page = made::unsigned(NUMBER, BYTES, 0);
        page[TYPE..TYPE + 2].copy_from_slice(&(COMPRESSED_MARK | (length >> 8) as u16).to_be_bytes());
        let sum = made::crc(&[&page[..length - 4]]);
        made::put(&mut page, length - 4, sum);
        page
    }

    #[test]
    fn a_page_compressed_by_full_crc32_is_checked_as_far_as_it_goes() {
        let page = squeezed(1024);
        assert_eq!(
            judged(&page, PageFormat::FullCrc32),
            PageVerdict::Good,
            "its space id and LSN at the end are content"
        );
        assert_eq!(blind(&page, PageFormat::FullCrc32), (1024..BYTES).collect::<Vec<usize>>(), "behind it is a hole");
        for claimed in [0, BYTES as u16 >> 8, 0x7fff] {
            let mut page = squeezed(1024);
            page[TYPE..TYPE + 2].copy_from_slice(&(COMPRESSED_MARK | claimed).to_be_bytes());
            assert!(fields(&judged(&page, PageFormat::FullCrc32)).contains(&Field::CompressedBytes), "{claimed}");
        }
    }

    /// A page that MariaDB's zlib compressed before full_crc32.
    fn compressed_by_zlib(whole: &[u8]) -> Vec<u8> {
        let mut page = whole.to_vec();
        page[DATA + 2..].fill(0);
        let level = libdeflater::CompressionLvl::default();
        let room = &mut page[DATA + 2..];
        let length = libdeflater::Compressor::new(level).zlib_compress(whole, room).expect("it fits");
        page[DATA..DATA + 2].copy_from_slice(&(length as u16).to_be_bytes());
        page[TYPE..TYPE + 2].copy_from_slice(&34354_u16.to_be_bytes());
        made::put(&mut page, CHECKSUM, NO_CHECKSUM);
        made::put(&mut page, FLUSH_LSN + 4, 1);
        page
    }

    #[test]
    fn a_page_compressed_by_zlib_is_checked_inside() {
        let mut whole = made::unsigned(NUMBER, BYTES, BYTES - 4);
        whole[200..4000].fill(7);
        made::sign_crc32(&mut whole);
        let page = compressed_by_zlib(&whole);
        assert_eq!(judged(&page, PageFormat::Crc32), PageVerdict::Good);
        let mut damaged = page.clone();
        damaged[DATA + 40] ^= 1;
        assert!(matches!(judged(&damaged, PageFormat::Crc32), PageVerdict::Corrupt(_)));
        whole[300] ^= 1;
        let fields = fields(&judged(&compressed_by_zlib(&whole), PageFormat::Crc32));
        assert_eq!(fields, [Field::Checksum, Field::ChecksumAtEnd], "it was damaged before it was compressed");
    }

    #[test]
    fn encrypted_pages_need_no_key() {
        let mut page = made::unsigned(NUMBER, BYTES, 0);
        made::put(&mut page, CHECKSUM, 1);
        made::put(&mut page, SPACE_ID, 0x5555);
        let sum = made::crc(&[&page[..BYTES - 4]]);
        made::put(&mut page, BYTES - 4, sum);
        assert_eq!(judged(&page, PageFormat::FullCrc32), PageVerdict::Good);
        assert_eq!(blind(&page, PageFormat::FullCrc32), []);

        let mut page = made::unsigned(NUMBER, BYTES, 0);
        let sum = made::crc(&[&page[4..26]]) ^ made::crc(&[&page[38..BYTES - 8]]);
        made::put(&mut page, FLUSH_LSN, 1);
        made::put(&mut page, FLUSH_LSN + 4, sum);
        assert_eq!(judged(&page, PageFormat::Crc32), PageVerdict::Good, "before full_crc32");
        page[BYTES / 2] ^= 1;
        let PageVerdict::Corrupt(mismatches) = judged(&page, PageFormat::Crc32) else { panic!("a bit was flipped") };
        assert!(mismatches.iter().any(|mismatch| mismatch.field == Field::Checksum && mismatch.found == sum));
    }

    #[test]
    fn what_was_sealed_after_its_checksum_is_not_checkable_and_one_bit_of_the_type_does_not_make_it_so() {
        let sealed = |page_type: u16, header: &[(usize, u32)]| {
            let mut page = made::crc32(NUMBER, BYTES);
            page[TYPE..TYPE + 2].copy_from_slice(&page_type.to_be_bytes());
            header.iter().for_each(|(at, number)| made::put(&mut page, *at, *number));
            page
        };
        let reason = |page: &[u8]| judged(page, PageFormat::Crc32);
        let page = sealed(34354, &[(FLUSH_LSN + 4, 2), (DATA, 500 << 16)]);
        assert_eq!(reason(&page), PageVerdict::NotCheckable(Reason::PageCompressed), "lz4");
        let page = sealed(37401, &[(FLUSH_LSN, 1), (DATA, 500 << 16 | 1)]);
        assert_eq!(reason(&page), PageVerdict::NotCheckable(Reason::PageCompressedEncrypted));
        let page = sealed(14, &[(FLUSH_LSN, 0x0101 << 16), (FLUSH_LSN + 4, (BYTES as u32 - 38) << 16)]);
        assert_eq!(reason(&page), PageVerdict::NotCheckable(Reason::MysqlCompressed));
        for page_type in [34354, 37401, 14, 15, 16, 17] {
            assert!(matches!(reason(&sealed(page_type, &[])), PageVerdict::Corrupt(_)), "{page_type}");
        }
        let mut facts = made::facts(PageFormat::Crc32, BYTES);
        facts.layout.is_mysql_encrypted = true;
        for page_type in [15, 16, 17] {
            let verdict = judge(&sealed(page_type, &[]), NUMBER, &facts);
            assert_eq!(verdict, PageVerdict::NotCheckable(Reason::MysqlEncrypted));
        }
    }
}
