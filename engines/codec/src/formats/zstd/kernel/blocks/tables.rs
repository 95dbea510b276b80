//! Tables of Finite State Entropy for literal lengths, offsets and match lengths (RFC 8878 sections 3.1.1.3.2.1 and 4.1).

use super::BlockDefect;
use std::sync::Arc;

/// The three codes of a sequence, in the order in which their tables are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCode {
    LiteralLength,
    Offset,
    MatchLength,
}

impl SequenceCode {
    pub const ALL: [Self; 3] = [Self::LiteralLength, Self::Offset, Self::MatchLength];

    /// Symbols that there are, and the largest accuracy.
    fn bounds(self) -> (usize, u32) {
        match self {
            Self::LiteralLength => (LITERAL_LENGTHS.len(), 9),
            Self::Offset => (32, 8),
            Self::MatchLength => (MATCH_LENGTHS.len(), 9),
        }
    }

    /// Value of a symbol without extra bits, and their number. Offsets count from the three that may be repeated: 0, 1 and 2 stand for those.
    fn value(self, symbol: usize) -> (u32, u8) {
        match (self, symbol) {
            (Self::LiteralLength, _) => LITERAL_LENGTHS[symbol],
            (Self::MatchLength, _) => MATCH_LENGTHS[symbol],
            (Self::Offset, 0 | 1) => (symbol as u32, symbol as u8),
            (Self::Offset, _) => ((1_u32 << symbol) - 3, symbol as u8),
        }
    }

    fn predefined(self) -> SymbolCounts {
        let (accuracy, counts): (u32, &[i16]) = match self {
            Self::LiteralLength => (6, &LITERAL_LENGTH_COUNTS),
            Self::Offset => (5, &OFFSET_COUNTS),
            Self::MatchLength => (6, &MATCH_LENGTH_COUNTS),
        };
        let mut all = [0; SYMBOLS];
        all[..counts.len()].copy_from_slice(counts);
        SymbolCounts { accuracy, counts: all, symbols: counts.len() }
    }
}

/// Symbols of the longest code.
const SYMBOLS: usize = 53;

/// States of the largest table.
const STATES: usize = 512;

/// How often each symbol occurs in a table; -1: less than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolCounts {
    accuracy: u32,
    counts: [i16; SYMBOLS],
    symbols: usize,
}

/// Where a table comes from.
#[derive(Clone, Debug)]
pub enum TableSource {
    Predefined,
    /// One symbol alone.
    Single(u8),
    /// Of this block, or one before.
    Described(Arc<SymbolCounts>),
}

impl TableSource {
    /// Whether it is the same one, which needs not be built again.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Predefined, Self::Predefined) => true,
            (Self::Single(one), Self::Single(other)) => one == other,
            (Self::Described(one), Self::Described(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Reads the description of mode `mode` at the beginning of `bytes`; the bytes that it takes. `before` is what mode 3 repeats.
    pub fn read(
        code: SequenceCode,
        mode: u8,
        bytes: &[u8],
        before: Option<&Self>,
    ) -> Result<(Self, usize), BlockDefect> {
        let (symbols, accuracy_max) = code.bounds();
        match mode {
            0 => Ok((Self::Predefined, 0)),
            1 => match bytes.first() {
                Some(&symbol) if usize::from(symbol) < symbols => Ok((Self::Single(symbol), 1)),
                _ => Err("a table of one symbol has none that there is"),
            },
            2 => {
                let (counts, length) = SymbolCounts::read(bytes, symbols).ok_or("a table of sequences is damaged")?;
                if counts.accuracy > accuracy_max {
                    return Err("a table of sequences is too large");
                }
                Ok((Self::Described(Arc::new(counts)), length))
            }
            _ => before.cloned().map(|table| (table, 0)).ok_or("a table is repeated that no block has described"),
        }
    }
}

impl SymbolCounts {
    /// RFC 8878 section 4.1.1; the bytes that it takes.
    fn read(bytes: &[u8], symbols_max: usize) -> Option<(Self, usize)> {
        let accuracy = u32::from(bytes.first()? & 15) + 5;
        if accuracy > 15 {
            return None;
        }
        let (mut counts, mut symbol, mut bit) = ([0_i16; SYMBOLS], 0_usize, 4_usize);
        let (mut left, mut threshold, mut width) = ((1_i32 << accuracy) + 1, 1_i32 << accuracy, accuracy as usize + 1);
        let mut was_zero = false;
        while left > 1 && symbol < symbols_max {
            if was_zero {
                loop {
                    let zeros = (bits_at(bytes, bit) & 3) as usize;
                    (symbol, bit) = (symbol + zeros, bit + 2);
                    if zeros < 3 || symbol >= symbols_max {
                        break;
                    }
                }
                if symbol >= symbols_max {
                    return None;
                }
            }
            let next = bits_at(bytes, bit) as i32;
            let short = 2 * threshold - 1 - left;
            let mut count = next & (threshold - 1);
            if count < short {
                bit += width - 1;
            } else {
                count = next & (2 * threshold - 1);
                count -= if count >= threshold { short } else { 0 };
                bit += width;
            }
            count -= 1;
            left -= count.abs();
            counts[symbol] = count as i16;
            symbol += 1;
            was_zero = count == 0;
            if left > 1 && left < threshold {
                width = 32 - left.leading_zeros() as usize;
                threshold = 1 << (width - 1);
            }
        }
        let length = bit.div_ceil(8);
        (left == 1 && length <= bytes.len()).then_some((Self { accuracy, counts, symbols: symbol }, length))
    }
}

/// 25 bits and more from a bit on, zeros beyond the end.
fn bits_at(bytes: &[u8], bit: usize) -> u32 {
    let rest = bytes.get(bit / 8..).unwrap_or_default();
    let word = match rest.first_chunk::<4>() {
        Some(word) => u32::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)),
    };
    word >> (bit % 8)
}

/// A table to decode by. An entry has, from its lowest bit on: 8 bits number of extra bits, 8 bits number of state bits, 32 bits value, 16 bits next state.
pub struct SequenceTable {
    code: SequenceCode,
    source: Option<TableSource>,
    pub entries: [u64; STATES],
    pub accuracy: u32,
    /// The most extra bits of an entry.
    pub extra_bits_max: u8,
}

impl SequenceTable {
    pub fn new(code: SequenceCode) -> Self {
        Self { code, source: None, entries: [0; STATES], accuracy: 0, extra_bits_max: 0 }
    }

    /// Makes it the one that is described; does nothing if it is already.
    pub fn become_one(&mut self, source: &TableSource) {
        if self.source.as_ref().is_some_and(|known| known.is(source)) {
            return;
        }
        match source {
            TableSource::Predefined => self.build(&self.code.predefined()),
            TableSource::Described(counts) => self.build(counts),
            TableSource::Single(symbol) => {
                let (value, extra_bits) = self.code.value(usize::from(*symbol));
                self.entries[0] = u64::from(value) << 16 | u64::from(extra_bits);
                (self.accuracy, self.extra_bits_max) = (0, extra_bits);
            }
        }
        self.source = Some(source.clone());
    }

    /// RFC 8878 section 4.1.1: symbols of less than one cell from the end, the others spread by steps.
    fn build(&mut self, table: &SymbolCounts) {
        let cells = 1_usize << table.accuracy;
        let (mask, step) = (cells - 1, (cells >> 1) + (cells >> 3) + 3);
        let (mut symbols, mut nexts) = ([0_u8; STATES], [0_u16; SYMBOLS]);
        let counts = &table.counts[..table.symbols];
        let mut high = cells;
        for (symbol, &count) in counts.iter().enumerate() {
            nexts[symbol] = count.unsigned_abs();
            if count < 0 {
                high -= 1;
                symbols[high] = symbol as u8;
            }
        }
        let mut cell = 0;
        for (symbol, &count) in counts.iter().enumerate() {
            for _ in 0..count.max(0) {
                symbols[cell] = symbol as u8;
                cell = (cell + step) & mask;
                while cell >= high {
                    cell = (cell + step) & mask;
                }
            }
        }
        let mut of_symbols = [(0_u64, 0_u8); SYMBOLS];
        self.extra_bits_max = 0;
        for (symbol, _) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            let (value, extra_bits) = self.code.value(symbol);
            of_symbols[symbol] = (u64::from(value) << 16 | u64::from(extra_bits), extra_bits);
            self.extra_bits_max = self.extra_bits_max.max(extra_bits);
        }
        for (entry, &symbol) in self.entries[..cells].iter_mut().zip(&symbols) {
            let symbol = usize::from(symbol);
            let next = u32::from(nexts[symbol]);
            nexts[symbol] += 1;
            let state_bits = table.accuracy + 1 - (32 - next.leading_zeros());
            let next_state = (next << state_bits) - cells as u32;
            *entry = u64::from(next_state) << 48 | of_symbols[symbol].0 | u64::from(state_bits) << 8;
        }
        self.accuracy = table.accuracy;
    }
}

const LITERAL_LENGTHS: [(u32, u8); 36] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 0),
    (12, 0),
    (13, 0),
    (14, 0),
    (15, 0),
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 9),
    (1024, 10),
    (2048, 11),
    (4096, 12),
    (8192, 13),
    (16_384, 14),
    (32_768, 15),
    (65_536, 16),
];

const MATCH_LENGTHS: [(u32, u8); 53] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 0),
    (12, 0),
    (13, 0),
    (14, 0),
    (15, 0),
    (16, 0),
    (17, 0),
    (18, 0),
    (19, 0),
    (20, 0),
    (21, 0),
    (22, 0),
    (23, 0),
    (24, 0),
    (25, 0),
    (26, 0),
    (27, 0),
    (28, 0),
    (29, 0),
    (30, 0),
    (31, 0),
    (32, 0),
    (33, 0),
    (34, 0),
    (35, 1),
    (37, 1),
    (39, 1),
    (41, 1),
    (43, 2),
    (47, 2),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 5),
    (131, 7),
    (259, 8),
    (515, 9),
    (1027, 10),
    (2051, 11),
    (4099, 12),
    (8195, 13),
    (16_387, 14),
    (32_771, 15),
    (65_539, 16),
];

const LITERAL_LENGTH_COUNTS: [i16; 36] =
    [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1];

const OFFSET_COUNTS: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

const MATCH_LENGTH_COUNTS: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_tables_reach_every_state() {
        for code in SequenceCode::ALL {
            let mut table = SequenceTable::new(code);
            table.become_one(&TableSource::Predefined);
            let cells = 1_usize << table.accuracy;
            let counts = code.predefined();
            assert_eq!(counts.counts.iter().map(|count| count.unsigned_abs()).sum::<u16>() as usize, cells);
            // A state's successors are within the table.
            for entry in &table.entries[..cells] {
                let (state_bits, next) = ((entry >> 8 & 255) as u32, (entry >> 48) as usize);
                assert!(next + (1 << state_bits) <= cells);
            }
        }
    }

    #[test]
    fn descriptions_are_those_of_the_standard() {
        // Accuracy 5, all 32 cells of one symbol: the value 33 of [0, 33] in six bits.
        let bits: u32 = 63 << 4;
        let (counts, length) = SymbolCounts::read(&bits.to_le_bytes(), 36).expect("it is whole");
        assert_eq!((counts.accuracy, counts.counts[0], counts.symbols, length), (5, 32, 1, 2));
        assert!(SymbolCounts::read(&bits.to_le_bytes()[..1], 36).is_none(), "it breaks off");
        assert!(SymbolCounts::read(&[0x0f, 0, 0, 0], 36).is_none(), "accuracy 20");
        // Zeros: each symbol less than one of 32 cells.
        assert_eq!(SymbolCounts::read(&[0; 64], 32).map(|(counts, _)| counts.symbols), Some(32));
        assert!(SymbolCounts::read(&[0; 64], 31).is_none(), "more symbols than there are");
        assert!(SymbolCounts::read(&[], 36).is_none());
    }
}
