//! The Burrows-Wheeler transform of a block as the format wants it: of its rotations, while libsais sorts suffixes.
//!
//! The two agree for the least rotation `w` of a block. Where one suffix is a prefix of another, the shorter comes first;
//! as rotations, the shorter goes on with `w` itself and the longer with a proper suffix of `w`, which is greater than `w`
//! and no prefix of it (Lyndon words have no borders), or equal where the block is a power, and then the rotations are
//! equal too. So the block is turned to its least rotation, transformed, and the rank of its first byte is found.

use crate::error::CodecError;
use libsais::BwtConstruction;
use libsais::bwt::AuxIndicesSamplingRate;

/// The rank of every 32nd position is noted. More cost time in libsais, fewer cost counting afterwards: 20 us a step.
const NOTED: usize = 32;

/// Room behind the suffix array that makes libsais faster, as it recommends.
const EXTRA_ENTRIES: usize = 6 * 256;

/// Buffers for one block after another: about 6 bytes for each of the block's.
#[derive(Default)]
pub(super) struct Sorter {
    turned: Vec<u8>,
    last_column: Vec<u8>,
    suffixes: Vec<i32>,
    ranks: Vec<i32>,
}

impl Sorter {
    /// The last column of the sorted rotations of `block`, which is not empty, and the rank of the block itself.
    pub fn transform(&mut self, block: &[u8]) -> Result<(&[u8], usize), CodecError> {
        let least = least_rotation(block);
        self.turned.clear();
        self.turned.extend_from_slice(&block[least..]);
        self.turned.extend_from_slice(&block[..least]);
        let bytes = block.len();
        self.last_column.resize(bytes, 0);
        if self.suffixes.len() < bytes + EXTRA_ENTRIES {
            self.suffixes.resize(bytes + EXTRA_ENTRIES, 0);
        }
        self.ranks.resize((bytes - 1) / NOTED + 1, 0);
        BwtConstruction::for_text(&self.turned)
            .in_borrowed_buffer(&mut self.last_column)
            .with_borrowed_temporary_array_buffer(&mut self.suffixes[..bytes + EXTRA_ENTRIES])
            .single_threaded()
            .with_aux_indices_in_buffer(AuxIndicesSamplingRate::from(NOTED as i32), &mut self.ranks)
            .run()
            .map_err(|error| CodecError::Library { library: "libsais", message: error.to_string() })?;
        let rank = self.rank_of((bytes - least) % bytes);
        Ok((&self.last_column, rank))
    }

    /// The rank of the rotation that begins at a position of the turned block: from the next noted position behind it,
    /// back byte by byte.
    fn rank_of(&self, position: usize) -> usize {
        let bytes = self.turned.len();
        let noted = position.next_multiple_of(NOTED);
        // Positions are noted up to the end; the end itself is the beginning.
        let (mut at, noted) = if noted < bytes { (noted, noted / NOTED) } else { (bytes, 0) };
        // libsais counts ranks from 1.
        let mut rank = usize::try_from(self.ranks[noted]).expect("ranks are positive") - 1;
        if position == at {
            return rank;
        }
        let mut smaller = [0_usize; 257];
        for &byte in &self.turned {
            smaller[usize::from(byte) + 1] += 1;
        }
        (0..256).for_each(|byte| smaller[byte + 1] += smaller[byte]);
        while at > position {
            at -= 1;
            let byte = self.turned[at];
            rank = smaller[usize::from(byte)] + count(&self.last_column[..rank], byte);
        }
        rank
    }
}

/// How often a byte is in there.
fn count(bytes: &[u8], byte: u8) -> usize {
    // Sums of a byte each, over few enough to fit: this becomes vector code.
    bytes.chunks(255).map(|chunk| usize::from(chunk.iter().map(|&other| u8::from(other == byte)).sum::<u8>())).sum()
}

/// Where the least rotation begins: two candidates are compared, and the greater one steps over what was equal.
fn least_rotation(block: &[u8]) -> usize {
    let bytes = block.len();
    let at = |index: usize| block[if index < bytes { index } else { index - bytes }];
    let (mut best, mut other, mut equal) = (0, 1, 0);
    while best < bytes && other < bytes && equal < bytes {
        if equal == 0 && best < other {
            // Most rotations lose by their first byte.
            let first = block[best];
            match block[other..].iter().position(|&byte| byte <= first) {
                Some(skipped) => other += skipped,
                None => break,
            }
        }
        let (left, right) = (at(best + equal), at(other + equal));
        if left == right {
            equal += 1;
            continue;
        }
        if left > right {
            best = (best + equal + 1).max(other);
            other = best + 1;
        } else {
            other += equal + 1;
        }
        equal = 0;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rotation(block: &[u8], from: usize) -> Vec<u8> {
        [&block[from..], &block[..from]].concat()
    }

    /// By definition: all rotations, sorted.
    fn check(block: &[u8]) {
        let mut rotations: Vec<Vec<u8>> = (0..block.len()).map(|from| rotation(block, from)).collect();
        rotations.sort();
        let expected: Vec<u8> = rotations.iter().map(|rotation| rotation[block.len() - 1]).collect();
        assert_eq!(rotation(block, least_rotation(block)), rotations[0], "the least of {block:?}");
        let mut sorter = Sorter::default();
        let (last_column, rank) = sorter.transform(block).expect("libsais");
        assert_eq!(last_column, expected, "{block:?}");
        assert_eq!(rotations[rank], block, "{block:?}");
    }

    #[test]
    fn short_blocks_and_powers() {
        for block in [&b"a"[..], b"aa", b"ab", b"ba", b"banana", b"abab", b"bababa", b"aabaab", b"zzzzzzzzzzz"] {
            check(block);
        }
        for power in [31, 32, 33, 64, 97] {
            check(&[7].repeat(power));
            check(&b"ba".repeat(power));
            check(&b"cabcab".repeat(power));
        }
    }

    #[test]
    fn a_fibonacci_word() {
        let (mut word, mut next) = (b"b".to_vec(), b"a".to_vec());
        while word.len() < 900 {
            (word, next) = (next.clone(), [next, word].concat());
            check(&word);
        }
    }

    proptest! {
        #[test]
        fn rotations_are_sorted_as_by_definition(values in 1_u8..5, bytes in proptest::collection::vec(any::<u8>(), 1..300)) {
            let block: Vec<u8> = bytes.iter().map(|byte| byte % values).collect();
            check(&block);
        }

        #[test]
        fn repeated_words_too(word in proptest::collection::vec(0_u8..3, 1..12), times in 1_usize..40, tail in 0_usize..4) {
            let mut block = word.repeat(times);
            block.extend_from_slice(&word[..tail.min(word.len())]);
            check(&block);
        }
    }
}
