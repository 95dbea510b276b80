//! Where a DEFLATE block may begin in the midst of data (RFC 1951 section 3.2.3): blocks with codes of their own, whose headers hardly occur by chance,
//! and stored ones, whose lengths are written twice. Blocks of fixed codes cannot be told from other bits, and final ones have nothing behind them.

/// Bits of the header of a dynamic block before the lengths of its length code.
const FIXED_BITS: u32 = 17;

/// LIMIT: of both counts of codes, less the 257 and 1 that are always there: zlib refuses more.
const COUNTS_MAX: u64 = 29;

/// A stored block's header: the bits before its length, which are all zero.
pub const STORED_HEADER_BITS: usize = 3;

/// What a code of the lengths 0 to 7 takes of the space of codes of seven bits, for four lengths of three bits together.
static SPACE_OF_FOUR: [u16; 1 << 12] = space_of_four();

const fn space_of_four() -> [u16; 1 << 12] {
    let mut spaces = [0; 1 << 12];
    let mut lengths = 0;
    while lengths < spaces.len() {
        let mut at = 0;
        while at < 12 {
            let length = lengths >> at & 7;
            spaces[lengths] += if length == 0 { 0 } else { 128 >> length };
            at += 3;
        }
        lengths += 1;
    }
    spaces
}

/// The first bit in `from..end` at which a block's header may stand; `end` is at most eight times the bytes.
pub fn find_block(bytes: &[u8], from: usize, end: usize) -> Option<usize> {
    let mut byte = from / 8;
    let mut wanted = !0 << (from % 8);
    while byte * 8 < end {
        let word = word_at(bytes, byte);
        // Bits where a zero, a zero and a one stand: no final block, of type 2.
        let mut headers = (!word & !(word >> 1) & word >> 2) & 0xff & wanted;
        while headers != 0 {
            let bit = headers.trailing_zeros();
            headers &= headers - 1;
            if may_be_dynamic(bytes, byte, bit) {
                return Some(byte * 8 + bit as usize).filter(|bit| *bit < end);
            }
        }
        // A dynamic one in the last two bits of the byte is found before a stored one that begins a bit earlier: a later beginning is as good.
        let stored = 8 - STORED_HEADER_BITS;
        if word >> stored & 7 == 0 && wanted >> stored & 1 == 1 && is_stored(word) {
            return Some(byte * 8 + stored).filter(|bit| *bit < end);
        }
        byte += 1;
        wanted = !0;
    }
    None
}

/// Where the header of a stored block that begins at `bit` would begin if nothing stood between it and the length: the same block. Other blocks stay where
/// they are.
pub fn canonical(bytes: &[u8], bit: usize) -> usize {
    let word = word_at(bytes, bit / 8) >> (bit % 8);
    let to_length = (bit + STORED_HEADER_BITS).next_multiple_of(8) - bit;
    if word & ((1 << to_length) - 1) == 0 { bit + to_length - STORED_HEADER_BITS } else { bit }
}

/// Whether the two bytes behind the first are a stored block's length, and the two behind them its complement.
fn is_stored(word: u64) -> bool {
    (word >> 8 ^ word >> 24) & 0xffff == 0xffff
}

fn may_be_dynamic(bytes: &[u8], byte: usize, bit: u32) -> bool {
    let word = word_at(bytes, byte) >> bit;
    let (symbols, distances, lengths) = (word >> 3 & 31, word >> 8 & 31, (word >> 13 & 15) as u32 + 4);
    if symbols > COUNTS_MAX || distances > COUNTS_MAX {
        return false;
    }
    let first_length = byte * 8 + bit as usize + FIXED_BITS as usize;
    let codes = word_at(bytes, first_length / 8) >> (first_length % 8) & ((1 << (3 * lengths)) - 1);
    let space = |at: u32| u32::from(SPACE_OF_FOUR[(codes >> at & 0xfff) as usize]);
    // COMPAT: as zlib has it, only a complete code is one.
    space(0) + space(12) + space(24) + space(36) + space(48) == 128
}

/// 57 bits and more from the byte on; zeros behind the end.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{InflateStatus, Inflater, SLACK_BYTES};
    use super::*;

    #[test]
    fn stored_blocks_are_found_at_their_length() {
        let mut bytes = vec![0xff; 40];
        // Padding and a header of zeros before the length 0x1234.
        bytes[20..25].copy_from_slice(&[0x07, 0x34, 0x12, 0xcb, 0xed]);
        assert_eq!(find_block(&bytes, 0, 320), Some(20 * 8 + 5));
        assert_eq!(find_block(&bytes, 20 * 8 + 5, 320), Some(20 * 8 + 5));
        assert_eq!(find_block(&bytes, 20 * 8 + 6, 320), None);
        assert_eq!(find_block(&bytes, 0, 20 * 8 + 5), None);
        bytes[24] = 0xec;
        assert_eq!(find_block(&bytes, 0, 320), None, "the complement is another");
        // Wherever its header begins, it is the same block; not where the padding is not zero.
        bytes[20] = 0x01;
        assert_eq!((canonical(&bytes, 161), canonical(&bytes, 165), canonical(&bytes, 160)), (165, 165, 160));
        assert_eq!(find_block(&[], 0, 0), None);
        assert_eq!(canonical(&[], 0), 5);
    }

    #[test]
    fn every_dynamic_block_of_real_data_is_found() {
        let text = testkit::data::mixed(2 << 20, 3);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
        std::io::Write::write_all(&mut encoder, &text).expect("to memory");
        let deflated = encoder.finish().expect("to memory");
        let mut inflater = Inflater::boxed();
        let mut buffer = vec![0_u8; text.len() + 1 + SLACK_BYTES];
        let (mut byte, mut filled, mut found) = (0, 0, 0);
        loop {
            let soft_end = text.len() + 1;
            let step =
                inflater.inflate_to(0, &deflated[byte..], true, &mut buffer, filled, soft_end).expect("it is sound");
            (byte, filled) = (byte + step.consumed, filled + step.produced);
            if step.status == InflateStatus::Finished {
                break;
            }
            let bit = byte * 8 + inflater.bits_used() as usize;
            let kind = word_at(&deflated, byte) >> inflater.bits_used() & 7;
            if kind == 4 || kind == 0 {
                assert_eq!(
                    find_block(&deflated, canonical(&deflated, bit), deflated.len() * 8),
                    Some(canonical(&deflated, bit))
                );
                found += 1;
            }
        }
        assert!(found > 3, "{found}");
    }
}
