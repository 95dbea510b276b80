//! Fills the tables of a block from its code lengths: canonical Huffman codes (RFC 1951 section 3.2.2).
//! What is a code is decided as zlib does: complete ones are, and of the incomplete ones a single code of one bit; for
//! distances also none at all. Codes are visited in the order of their values, so that every entry of the main table is
//! written once at its shortest index and spread by doubling the table; no entry is ever computed twice.

use super::InflateError;
use super::tables::{
    CODE_BITS_MAX, DISTANCE_ALPHABET, DISTANCE_BITS, InflateTables, SYMBOL_ALPHABET, SYMBOL_BITS, SYMBOLS, SymbolEntry,
    TableEntry,
};

/// Symbols in the order of their codes.
struct CodeOrder {
    symbols: [u16; SYMBOLS],
    /// How many of them are used.
    count: usize,
    /// How far the lengths fill the space of codes of 15 bits.
    space: u32,
}

/// The whole space of codes.
const FULL_SPACE: u32 = 1 << CODE_BITS_MAX;

impl CodeOrder {
    fn of(lengths: &[u8]) -> Self {
        let mut counts = [0u16; CODE_BITS_MAX as usize + 1];
        for &length in lengths {
            counts[usize::from(length & 15)] += 1;
        }
        counts[0] = 0;
        let (mut starts, mut at, mut space) = ([0u16; CODE_BITS_MAX as usize + 1], 0, 0);
        for (length, (&count, start)) in counts.iter().zip(&mut starts).enumerate() {
            *start = at;
            at += count;
            space += u32::from(count) << (CODE_BITS_MAX as usize - length);
        }
        let mut symbols = [0; SYMBOLS];
        for (symbol, &length) in lengths.iter().enumerate() {
            if length != 0 {
                let start = &mut starts[usize::from(length & 15)];
                symbols[usize::from(*start)] = symbol as u16;
                *start += 1;
            }
        }
        Self { symbols, count: usize::from(at), space }
    }
}

impl InflateTables {
    /// Fills both tables. At most 288 and 32 lengths of at most 15.
    pub fn build(&mut self, symbol_lengths: &[u8], distance_lengths: &[u8]) -> Result<(), InflateError> {
        let order = CodeOrder::of(symbol_lengths);
        fill(&mut self.symbols, SYMBOL_BITS, &SYMBOL_ALPHABET, symbol_lengths, &order)
            .ok_or(InflateError::LiteralCode)?;
        self.pair(symbol_lengths, &order);
        let order = CodeOrder::of(distance_lengths);
        if order.count == 0 {
            self.distances[..1 << DISTANCE_BITS].fill(TableEntry::lengthened(TableEntry::invalid(), 1));
            return Ok(());
        }
        fill(&mut self.distances, DISTANCE_BITS, &DISTANCE_ALPHABET, distance_lengths, &order)
            .ok_or(InflateError::DistanceCode)
    }

    /// Lets literals of the main table take in the symbol behind them where the index holds all of its code.
    /// Costs in proportion to what it changes: with long codes, which pair rarely, it does next to nothing.
    fn pair(&mut self, lengths: &[u8], order: &CodeOrder) {
        if order.space != FULL_SPACE {
            return;
        }
        let symbols = &order.symbols[..order.count];
        let shortest = u32::from(lengths[usize::from(symbols[0])]);
        let main: &mut [SymbolEntry; 1 << SYMBOL_BITS] =
            self.symbols.first_chunk_mut().expect("the main table comes first");
        // Where the codes are that can be part of a pair: their first index and their entry.
        let mut codes = [(0u32, SymbolEntry::default()); SYMBOLS];
        let (mut count, mut code) = (0, 0);
        for &symbol in symbols {
            let bits = u32::from(lengths[usize::from(symbol)]);
            if bits + shortest > SYMBOL_BITS {
                break;
            }
            codes[count] = (code as u32, main[code]);
            count += 1;
            code = next_code(code, bits);
        }
        let codes = &codes[..count];
        for &(first_code, first) in codes.iter().filter(|(_, first)| first.is_one_literal()) {
            let first_bits = first.bits();
            for &(next_code, next) in codes {
                let bits = first_bits + next.code_bits();
                if bits > SYMBOL_BITS {
                    break;
                }
                if next.is_exceptional() {
                    continue;
                }
                let pair = first.followed_by(next);
                let mut index = (first_code | next_code << first_bits) as usize;
                while index < main.len() {
                    main[index] = pair;
                    index += 1 << bits;
                }
            }
        }
    }
}

/// Fills one table; none if the lengths are no code.
fn fill<E: TableEntry>(
    table: &mut [E],
    main_bits: u32,
    alphabet: &[E],
    lengths: &[u8],
    order: &CodeOrder,
) -> Option<()> {
    let symbols = &order.symbols[..order.count];
    if order.space != FULL_SPACE {
        // COMPAT: zlib takes one code of one bit, and refuses the other bit only when it occurs.
        let [single] = *symbols else { return None };
        if order.space != FULL_SPACE / 2 {
            return None;
        }
        for pair in table[..1 << main_bits].chunks_exact_mut(2) {
            pair[0] = alphabet[usize::from(single)].lengthened(1);
            pair[1] = E::invalid().lengthened(1);
        }
        return Some(());
    }
    let code_bits = |symbol: u16| u32::from(lengths[usize::from(symbol)]);
    // Codes begin with their highest bit, so an index holds them reversed: counting up carries downwards.
    let (mut code, mut size_bits) = (0, code_bits(symbols[0]).min(main_bits));
    let mut done = 0;
    while let Some(&symbol) = symbols.get(done) {
        let bits = code_bits(symbol);
        if bits > main_bits {
            break;
        }
        while size_bits < bits {
            table.copy_within(..1 << size_bits, 1 << size_bits);
            size_bits += 1;
        }
        table[code] = alphabet[usize::from(symbol)].lengthened(bits);
        code = next_code(code, bits);
        done += 1;
    }
    while size_bits < main_bits {
        table.copy_within(..1 << size_bits, 1 << size_bits);
        size_bits += 1;
    }
    fill_subtables(table, main_bits, alphabet, &symbols[done..], lengths, code);
    Some(())
}

/// Fills subtables for the codes longer than the main index, from `code` on.
fn fill_subtables<E: TableEntry>(
    table: &mut [E],
    main_bits: u32,
    alphabet: &[E],
    mut symbols: &[u16],
    lengths: &[u8],
    mut code: usize,
) {
    let code_bits = |symbol: u16| u32::from(lengths[usize::from(symbol)]);
    let mut start = 1 << main_bits;
    while !symbols.is_empty() {
        // All symbols that share one main index: as many as fill its space. The last of them has the longest code.
        let (mut members, mut space) = (0, 0);
        while space < FULL_SPACE >> main_bits {
            space += FULL_SPACE >> code_bits(symbols[members]);
            members += 1;
        }
        let index_bits = code_bits(symbols[members - 1]) - main_bits;
        let (group, rest) = symbols.split_at(members);
        let subtable = &mut table[start..start + (1 << index_bits)];
        let prefix = code & ((1 << main_bits) - 1);
        for &symbol in group {
            let bits = code_bits(symbol);
            let entry = alphabet[usize::from(symbol)].lengthened(bits);
            for place in subtable[code >> main_bits..].iter_mut().step_by(1 << (bits - main_bits)) {
                *place = entry;
            }
            code = next_code(code, bits);
        }
        table[prefix] = E::link(start, index_bits);
        start += 1 << index_bits;
        symbols = rest;
    }
}

/// The code of `bits` bits behind `code`, both with the highest bit lowest. After the last one comes 0.
#[inline]
fn next_code(code: usize, bits: u32) -> usize {
    let zeros = !code & ((1 << bits) - 1);
    match zeros.checked_ilog2() {
        Some(carry) => (code & ((1 << carry) - 1)) | 1 << carry,
        None => 0,
    }
}
