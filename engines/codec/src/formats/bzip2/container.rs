//! The bzip2 container: stream headers, the two magic numbers, what stands at the front of a block, and how a block's
//! place is compressed into its unit's parameters. The format has no specification but its own source and format notes.
//!
//! A stream is `BZh1` to `BZh9`, blocks, an end mark with the folded checksums of the blocks, and zero bits up to a byte.
//! Everything between header and end mark stands at any bit; bits are counted from a byte's highest.

use crate::error::UnitDefect;

/// A stream's header: `BZh` and the level.
pub(super) const HEADER_BYTES: usize = 4;

/// Bits of either magic number.
pub(super) const MAGIC_BITS: u64 = 48;
/// The digits of pi: a block begins.
pub(super) const BLOCK_MAGIC: u64 = 0x3141_5926_5359;
/// The digits of the square root of pi: a stream ends.
pub(super) const END_MAGIC: u64 = 0x1772_4538_5090;

/// Magic number and checksum, of a block as of a stream's end.
pub(super) const MARK_BITS: u64 = MAGIC_BITS + 32;

/// Uncompressed bytes that a run of five bytes stands for at most: four alike and a count up to 255.
const RUN_BYTES_MAX: u64 = 4 + 255;

/// A block holds so many bytes a level, after runs were shortened.
pub(super) const LEVEL_BYTES: usize = 100_000;

/// The most that a block of a level decodes to.
pub(super) fn uncompressed_bound(level: u32) -> u64 {
    u64::from(level) * LEVEL_BYTES as u64 / 5 * RUN_BYTES_MAX
}

/// The level of a stream whose header stands at the start of `head`.
pub(super) fn level_of(head: &[u8]) -> Option<u32> {
    match head {
        [b'B', b'Z', b'h', digit @ b'1'..=b'9', ..] => Some(u32::from(digit - b'0')),
        _ => None,
    }
}

/// Whether `head`, which is all there is, could go on to be a stream's header.
pub(super) fn could_be_a_header(head: &[u8]) -> bool {
    head.len() < HEADER_BYTES && b"BZh".starts_with(&head[..head.len().min(3)])
}

/// A stream's checksum with one more block's.
pub(super) fn folded(stream: u32, block: u32) -> u32 {
    stream.rotate_left(1) ^ block
}

/// Up to 56 bits at a bit offset, if they are all there.
pub(super) fn bits_at(bytes: &[u8], bit: u64, count: u32) -> Option<u64> {
    let first = usize::try_from(bit / 8).ok()?;
    let (skipped, end) = ((bit % 8) as u32, usize::try_from((bit + u64::from(count)).div_ceil(8)).ok()?);
    let window = bytes.get(first..end)?.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let read = 8 * (end - first) as u32;
    Some(window >> (read - skipped - count) & ((1 << count) - 1))
}

/// The 32 bits of a checksum.
pub(super) fn crc_at(bytes: &[u8], bit: u64) -> Option<u32> {
    // 32 bits fit.
    bits_at(bytes, bit, 32).map(|crc| crc as u32)
}

/// LIMIT: selectors that are looked at to tell a block from chance. Of random bits one in 60 000 passes all checks.
const SELECTORS_SEEN: u64 = 256;

/// Whether what follows a block magic at `bit` can be the front of a block, as far as `bytes` reach.
///
/// The magic's 48 bits come up by chance once in 35 TB of compressed data; with this, never. A file that was made to deceive
/// passes; see [`super::cut`].
pub(super) fn is_plausible_block(bytes: &[u8], bit: u64, level: u32) -> bool {
    block_front(bytes, bit + MARK_BITS, level).unwrap_or(true)
}

/// `None`: the bytes end before it is certain.
fn block_front(bytes: &[u8], bit: u64, level: u32) -> Option<bool> {
    // The bit of a randomised block is let through: decoding gives it its own error.
    let origin = bits_at(bytes, bit + 1, 24)?;
    if origin > u64::from(level) * LEVEL_BYTES as u64 + 10 {
        return Some(false);
    }
    let rows = bits_at(bytes, bit + 25, 16)?;
    if rows == 0 {
        return Some(false);
    }
    let mut at = bit + 41;
    for _ in 0..rows.count_ones() {
        if bits_at(bytes, at, 16)? == 0 {
            return Some(false);
        }
        at += 16;
    }
    let (tables, selectors) = (bits_at(bytes, at, 3)?, bits_at(bytes, at + 3, 15)?);
    if !(2..=6).contains(&tables) || selectors == 0 {
        return Some(false);
    }
    at += 18;
    for _ in 0..selectors.min(SELECTORS_SEEN) {
        let mut ones = 0;
        while bits_at(bytes, at, 1)? == 1 {
            ones += 1;
            at += 1;
            if ones >= tables {
                return Some(false);
            }
        }
        at += 1;
    }
    Some(true)
}

/// Bytes behind a block magic that decide whether it is plausible: mark, symbol map, selectors of six bits.
pub(super) const FRONT_BYTES: usize = (MARK_BITS as usize + 25 + 16 * 17 + 18 + SELECTORS_SEEN as usize * 6) / 8 + 2;

/// What a block's decoder must know of bytes that are not the block's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// The bit of the unit's first byte at which the block begins.
    pub start_bit: u32,
    /// Where it must end: the bit of the unit's last byte at which the next mark begins (0: with a byte).
    /// `None` where no mark was found, because the input breaks off or goes on too long.
    pub end_bit: Option<u32>,
    /// The stream's level.
    pub level: u32,
    /// Whether this is the only reading there is (a pipe's): then a block that is larger than a worker should hold is
    /// decoded all the same. LIMIT: [`uncompressed_bound`].
    pub is_only_reading: bool,
    /// The stream's checksum folded up to this block, for decoding on in series.
    pub crc_before: u32,
}

impl BlockPlace {
    /// As a unit's parameters.
    pub fn compressed(self) -> u64 {
        u64::from(self.crc_before) << 32
            | u64::from(self.is_only_reading) << 12
            | u64::from(self.level) << 8
            | u64::from(self.end_bit.unwrap_or(8)) << 4
            | u64::from(self.start_bit)
    }

    /// From a unit's parameters.
    pub fn uncompressed(parameters: u64) -> Self {
        // Each field was put there with these widths.
        let field = |shift: u32, mask: u64| (parameters >> shift & mask) as u32;
        Self {
            start_bit: field(0, 15),
            end_bit: Some(field(4, 15)).filter(|&bit| bit < 8),
            level: field(8, 15),
            is_only_reading: field(12, 1) == 1,
            crc_before: field(32, u64::from(u32::MAX)),
        }
    }
}

/// The defect that mibz2 found.
pub(super) fn defect(kind: &mibz2::ErrorKind) -> UnitDefect {
    use mibz2::ErrorKind as Kind;
    UnitDefect::Bzip2(match kind {
        Kind::BlockCrc { stored, computed } => return UnitDefect::Checksum { stored: *stored, computed: *computed },
        Kind::Truncated => return UnitDefect::Truncated,
        Kind::BadBlockMagic => "neither a block nor the end of the stream begins here",
        Kind::Randomised => "it is randomised, as only bzip2 before 0.9.5 wrote it: this is not supported",
        Kind::BadOrigPtr => "it says that its text begins behind its end",
        Kind::NoSymbols => "it uses no byte value at all",
        Kind::BadGroups => "it has not two to six code tables",
        Kind::BadSelectors => "it has no selectors",
        Kind::BadSelector => "a selector asks for a code table that it has not",
        Kind::BadCodeLength => "a code length is not 1 to 20",
        Kind::BadHuffmanCode => "a code is in no table",
        Kind::SelectorOverrun => "its data go on behind the last selector",
        Kind::RunTooLong => "a run is longer than a block",
        Kind::BlockTooLong => "it is longer than its stream's level allows",
        Kind::RunUnfinished => "it ends inside a run",
        _ => "it cannot be decoded",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_highest() {
        let bytes = [0b1010_0101, 0b1100_0011, 0xff, 0, 0xaa, 0x55, 0x0f, 0xf0];
        assert_eq!(bits_at(&bytes, 0, 8), Some(0xa5));
        assert_eq!(bits_at(&bytes, 4, 8), Some(0x5c));
        assert_eq!(bits_at(&bytes, 7, 1), Some(1));
        assert_eq!(bits_at(&bytes, 3, 48), Some(0x2e1f_f805_52a8));
        assert_eq!(bits_at(&bytes, 16, 48), Some(0xff00_aa55_0ff0));
        assert_eq!(bits_at(&bytes, 17, 48), None);
    }

    #[test]
    fn places_survive_packing() {
        for end_bit in [None, Some(0), Some(7)] {
            let place = BlockPlace {
                start_bit: 7,
                end_bit,
                level: 9,
                is_only_reading: end_bit.is_none(),
                crc_before: 0xdead_beef,
            };
            assert_eq!(BlockPlace::uncompressed(place.compressed()), place);
        }
    }

    #[test]
    fn only_streams_have_levels() {
        assert_eq!(level_of(b"BZh9"), Some(9));
        assert_eq!(level_of(b"BZh0"), None);
        assert_eq!(level_of(b"BZ0"), None);
        assert!(could_be_a_header(b"BZ") && could_be_a_header(b"BZh") && !could_be_a_header(b"BX"));
    }
}
