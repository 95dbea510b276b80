//! Finds the next mark, of a block or of a stream's end, at any bit of compressed bytes: several GB/s on one core.
//!
//! A magic number has 48 bits and may begin at any of a byte's eight bits, so five bytes of each of the sixteen patterns
//! are whole whatever stands around them. A vectorised searcher looks for these; what it finds is compared in full.

use super::container::{BLOCK_MAGIC, END_MAGIC, MAGIC_BITS, bits_at};
use aho_corasick::Span;
use aho_corasick::packed::Searcher;

/// Bytes of a pattern that are whole at every shift.
const WHOLE_BYTES: usize = 5;

/// What a mark marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bzip2Magic {
    /// A block begins.
    Block,
    /// The stream ends.
    End,
}

/// Looks for marks.
pub(super) struct MarkFinder {
    /// `None` on processors that it has no code for.
    searcher: Option<Searcher>,
}

impl MarkFinder {
    pub fn new() -> Self {
        // Pattern `2 * shift` is the block's, the next one the end's.
        let patterns = (0..8).flat_map(|shift| [BLOCK_MAGIC, END_MAGIC].map(|magic| whole_bytes(magic, shift)));
        Self { searcher: Searcher::new(patterns) }
    }

    /// The first mark that begins at `from_bit` or later and whose magic number is there as a whole.
    pub fn find(&self, bytes: &[u8], from_bit: u64) -> Option<(Bzip2Magic, u64)> {
        let Some(searcher) = &self.searcher else { return find_bit_by_bit(bytes, from_bit) };
        let mut at = usize::try_from(from_bit / 8).ok()?.min(bytes.len());
        loop {
            let found = searcher.find_in(bytes, Span { start: at, end: bytes.len() })?;
            let pattern = found.pattern().as_usize();
            let (shift, mark) =
                (pattern as u64 / 2, if pattern.is_multiple_of(2) { Bzip2Magic::Block } else { Bzip2Magic::End });
            // The whole bytes of a shifted pattern stand behind the byte that it begins in.
            let first_byte = if shift == 0 { Some(found.start()) } else { found.start().checked_sub(1) };
            let bit = first_byte.map(|byte| byte as u64 * 8 + shift).filter(|&bit| bit >= from_bit);
            if let Some(bit) = bit
                && mark_at(bytes, bit) == Some(mark)
            {
                return Some((mark, bit));
            }
            at = found.start() + 1;
        }
    }
}

/// The mark that begins at a bit.
pub(super) fn mark_at(bytes: &[u8], bit: u64) -> Option<Bzip2Magic> {
    match bits_at(bytes, bit, MAGIC_BITS as u32)? {
        BLOCK_MAGIC => Some(Bzip2Magic::Block),
        END_MAGIC => Some(Bzip2Magic::End),
        _ => None,
    }
}

/// The bytes of a magic number, shifted right by some bits, that hold nothing else.
fn whole_bytes(magic: u64, shift: u32) -> [u8; WHOLE_BYTES] {
    let bytes = (magic << (16 - shift)).to_be_bytes();
    let first = usize::from(shift > 0);
    bytes[first..first + WHOLE_BYTES].try_into().expect("five of eight bytes")
}

/// The same without vectors.
fn find_bit_by_bit(bytes: &[u8], from_bit: u64) -> Option<(Bzip2Magic, u64)> {
    let mask = (1 << MAGIC_BITS) - 1;
    let mut window = 0_u64;
    let first = usize::try_from(from_bit / 8).ok()?;
    for (index, &byte) in bytes.iter().enumerate().skip(first) {
        window = window << 8 | u64::from(byte);
        let read = index as u64 * 8 + 8;
        for behind in (0..8).rev() {
            let mark = match window >> behind & mask {
                BLOCK_MAGIC => Bzip2Magic::Block,
                END_MAGIC => Bzip2Magic::End,
                _ => continue,
            };
            if let Some(bit) = (read - behind).checked_sub(MAGIC_BITS)
                && bit >= from_bit
            {
                return Some((mark, bit));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_mark(mut bytes: Vec<u8>, bit: usize, magic: u64) -> Vec<u8> {
        for index in 0..48 {
            let (byte, shift) = ((bit + index) / 8, 7 - (bit + index) % 8);
            bytes[byte] = bytes[byte] & !(1 << shift) | ((magic >> (47 - index) & 1) as u8) << shift;
        }
        bytes
    }

    #[test]
    fn marks_are_found_at_every_bit_and_only_when_whole() {
        let finder = MarkFinder::new();
        for bit in 0..300 {
            for (magic, mark) in [(BLOCK_MAGIC, Bzip2Magic::Block), (END_MAGIC, Bzip2Magic::End)] {
                let bytes = with_mark(vec![0x31; 60], bit, magic);
                assert_eq!(finder.find(&bytes, 0), Some((mark, bit as u64)));
                assert_eq!(finder.find(&bytes, bit as u64), Some((mark, bit as u64)));
                assert_eq!(finder.find(&bytes, bit as u64 + 1), None);
                assert_eq!(finder.find(&bytes[..(bit + 48).div_ceil(8) - 1], 0), None);
            }
        }
    }

    proptest! {
        #[test]
        fn both_ways_find_the_same(seed in any::<u64>(), bits in proptest::collection::vec(0_usize..3900, 0..5), from in 0_u64..4000) {
            let mut bytes = testkit::data::random(500, seed);
            for (index, bit) in bits.into_iter().enumerate() {
                bytes = with_mark(bytes, bit, [BLOCK_MAGIC, END_MAGIC][index % 2]);
            }
            let found = MarkFinder::new().find(&bytes, from);
            prop_assert_eq!(found, find_bit_by_bit(&bytes, from));
        }
    }
}
