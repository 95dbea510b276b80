//! From a sorted block to symbols: each byte becomes its place in a list of the bytes seen last, and zeros, which are most,
//! become their number in digits of their own.

/// The digits of a run of zeros, with the values 1 and 2 (bijective base 2), lowest first.
const RUN_A: u16 = 0;

/// Values of a byte, two digits and an end, less the zero that the digits stand for.
pub(super) const ALPHABET_MAX: usize = 258;

/// A block's symbols.
#[derive(Default)]
pub(super) struct Symbols {
    /// One after another; the last is the end.
    pub list: Vec<u16>,
    /// Which bytes there are.
    pub used: Vec<u8>,
}

impl Symbols {
    /// How many different symbols there can be.
    pub fn alphabet(&self) -> usize {
        self.used.len() + 2
    }

    /// Turns the last column of a sorted block into symbols.
    pub fn fill(&mut self, last_column: &[u8]) {
        let mut is_used = [false; 256];
        last_column.iter().for_each(|&byte| is_used[usize::from(byte)] = true);
        self.used.clear();
        self.used.extend((0..=255).filter(|&byte: &u8| is_used[usize::from(byte)]));
        let mut recent = Recent::new(&self.used);
        self.list.clear();
        self.list.reserve(last_column.len() + 1);
        let mut zeros = 0;
        for &byte in last_column {
            if byte == recent.first() {
                zeros += 1;
                continue;
            }
            if zeros > 0 {
                push_run(zeros, &mut self.list);
                zeros = 0;
            }
            self.list.push(recent.bring_to_front(byte) + 1);
        }
        push_run(zeros, &mut self.list);
        self.list.push(self.used.len() as u16 + 1);
    }
}

fn push_run(mut zeros: usize, list: &mut Vec<u16>) {
    while zeros > 0 {
        let is_even = zeros.is_multiple_of(2);
        list.push(RUN_A + u16::from(is_even));
        zeros = (zeros - 1 - usize::from(is_even)) / 2;
    }
}

/// Bytes in a word of the list.
const WORD_BYTES: usize = 8;

/// The list of bytes, the last one seen in front, eight to a word, the front in the lowest byte.
struct Recent {
    words: [u64; 256 / WORD_BYTES],
}

const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;

impl Recent {
    fn new(used: &[u8]) -> Self {
        let mut words = [0; 256 / WORD_BYTES];
        for (word, bytes) in words.iter_mut().zip(used.chunks(WORD_BYTES)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Self { words }
    }

    fn first(&self) -> u8 {
        // The lowest byte.
        self.words[0] as u8
    }

    /// Moves `byte`, which is in the list and not its first, to the front; returns where it was. What stands behind the
    /// bytes in use is zero and never reached, since every byte that is looked for is found before.
    fn bring_to_front(&mut self, byte: u8) -> u16 {
        let mut carried = u64::from(byte);
        let wanted = u64::from(byte) * LOWEST_BITS;
        for (index, word) in self.words.iter_mut().enumerate() {
            let differs = *word ^ wanted;
            // The lowest byte that is zero gets its highest bit set; those above it may get one wrongly.
            let hit = differs.wrapping_sub(LOWEST_BITS) & !differs & LOWEST_BITS << 7;
            if hit != 0 {
                let upto = hit ^ (hit - 1);
                let moved = *word << 8 | carried;
                *word = *word & !upto | moved & upto;
                return (index * WORD_BYTES) as u16 + (hit.trailing_zeros() / 8) as u16;
            }
            let last = *word >> 56;
            *word = *word << 8 | carried;
            carried = last;
        }
        unreachable!("every byte of the block is in the list");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By definition.
    fn expected(last_column: &[u8]) -> Vec<u16> {
        let mut recent: Vec<u8> = (0..=255).filter(|byte| last_column.contains(byte)).collect();
        let end = recent.len() as u16 + 1;
        let (mut list, mut zeros) = (Vec::new(), 0);
        for byte in last_column {
            let place = recent.iter().position(|other| other == byte).expect("it is there");
            recent.remove(place);
            recent.insert(0, *byte);
            if place == 0 {
                zeros += 1;
                continue;
            }
            push_run(std::mem::take(&mut zeros), &mut list);
            list.push(place as u16 + 1);
        }
        push_run(zeros, &mut list);
        list.push(end);
        list
    }

    #[test]
    fn runs_are_written_in_digits_of_one_and_two() {
        for zeros in 0..1000 {
            let mut list = Vec::new();
            push_run(zeros, &mut list);
            let back: usize = list.iter().enumerate().map(|(index, &digit)| (usize::from(digit) + 1) << index).sum();
            assert_eq!(back, zeros);
        }
    }

    proptest! {
        #[test]
        fn places_are_those_of_a_list(values in 1_u16..=256, bytes in proptest::collection::vec(any::<u8>(), 1..2000)) {
            let column: Vec<u8> = bytes.iter().map(|&byte| (u16::from(byte) % values) as u8).collect();
            let mut symbols = Symbols::default();
            symbols.fill(&column);
            prop_assert_eq!(symbols.list, expected(&column));
        }
    }
}
