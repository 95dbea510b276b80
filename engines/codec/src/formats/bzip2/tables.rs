//! Huffman tables for a block: up to six, each for the groups of fifty symbols that it packs best. Groups choose a table,
//! tables are made anew from the groups that chose them, and so on; bzip2 does the same, four times.

use super::symbols::ALPHABET_MAX;

/// Symbols that are compressed with one table.
pub(super) const GROUP_SYMBOLS: usize = 50;

/// Tables there can be.
const TABLES_MAX: usize = 6;

/// COMPAT: decoders take codes of up to 20 bits, the oldest of 17; bzip2 writes no longer ones since 1.0.3.
const CODE_BITS_MAX: u8 = 17;

/// More rounds gain nothing that can be measured; bzip2 has as many.
const ROUNDS: usize = 4;

/// Bits that a symbol costs in each table, ten bits a table: fifty codes of 17 bits are less than 1024.
const COST_BITS: usize = 10;

/// Code lengths of one table, by symbol.
pub(super) type Lengths = [u8; ALPHABET_MAX];

/// The tables of a block and which group uses which.
#[derive(Default)]
pub(super) struct Bzip2Tables {
    /// Code lengths of each.
    pub lengths: Vec<Lengths>,
    /// The table of each group.
    pub selectors: Vec<u8>,
}

/// How often each symbol occurs.
type Counts = [u32; ALPHABET_MAX];

impl Bzip2Tables {
    /// Finds tables for `symbols`, of an alphabet of `alphabet`.
    pub fn fit(&mut self, symbols: &[u16], alphabet: usize) {
        let mut total = [0; ALPHABET_MAX];
        symbols.iter().for_each(|&symbol| total[usize::from(symbol)] += 1);
        let tables = tables_for(symbols.len());
        self.lengths = first_lengths(&total[..alphabet], symbols.len(), tables);
        for _ in 0..ROUNDS {
            let counts = self.choose(symbols, alphabet, tables);
            for (lengths, counts) in self.lengths.iter_mut().zip(&counts) {
                code_lengths(&counts[..alphabet], lengths);
            }
        }
    }

    /// Chooses the cheapest table for each group. Returns what the groups of each table hold.
    fn choose(&mut self, symbols: &[u16], alphabet: usize, tables: usize) -> Vec<Counts> {
        let mut costs = [0_u64; 512];
        for (symbol, cost) in costs[..alphabet].iter_mut().enumerate() {
            let lengths = self.lengths.iter().map(|lengths| u64::from(lengths[symbol]));
            *cost = lengths.rev().fold(0, |compressed, bits| compressed << COST_BITS | bits);
        }
        self.selectors.clear();
        let mut counts = vec![[0_u32; ALPHABET_MAX]; tables];
        for group in symbols.chunks(GROUP_SYMBOLS) {
            // Symbols are below 258: the mask changes nothing and spares the check.
            let sums: u64 = group.iter().map(|&symbol| costs[usize::from(symbol) & 511]).sum();
            let cost = |table: usize| sums >> (table * COST_BITS) & ((1 << COST_BITS) - 1);
            let best = (0..tables).min_by_key(|&table| cost(table)).expect("there are two at least");
            self.selectors.push(best as u8);
            let counts = &mut counts[best];
            group.iter().for_each(|&symbol| counts[usize::from(symbol)] += 1);
        }
        counts
    }
}

/// As many as bzip2 takes: each costs about a hundred bytes.
fn tables_for(symbols: usize) -> usize {
    match symbols {
        0..200 => 2,
        200..600 => 3,
        600..1200 => 4,
        1200..2400 => 5,
        _ => TABLES_MAX,
    }
}

/// Tables to begin with: each for a range of symbols that is as frequent as the others.
fn first_lengths(total: &[u32], symbols: usize, tables: usize) -> Vec<Lengths> {
    const CHEAP: u8 = 0;
    const DEAR: u8 = 15;
    let mut left = symbols;
    let mut from = 0;
    let mut first = Vec::with_capacity(tables);
    for table in 0..tables {
        let share = left / (tables - table);
        let (mut to, mut sum) = (from, 0);
        while sum < share && to < total.len() {
            sum += total[to] as usize;
            to += 1;
        }
        // The last symbol of every other range goes to the next one, so that errors do not add up.
        if to > from + 1 && table > 0 && table < tables - 1 && table % 2 == 1 {
            to -= 1;
            sum -= total[to] as usize;
        }
        let mut lengths = [DEAR; ALPHABET_MAX];
        lengths[from..to].fill(CHEAP);
        first.push(lengths);
        from = to;
        left -= sum;
    }
    first
}

/// Huffman code lengths for counts; every symbol gets a code, also those that do not occur.
///
/// Where a code would be too long the counts are made flatter and it begins again: hardly ever, and it costs next to nothing.
fn code_lengths(counts: &[u32], lengths: &mut Lengths) {
    let mut weights: Vec<u32> = counts.iter().map(|&count| count.max(1)).collect();
    loop {
        if huffman_depths(&weights, lengths) <= CODE_BITS_MAX {
            return;
        }
        weights.iter_mut().for_each(|weight| *weight = *weight / 2 + 1);
    }
}

/// Two queues: leaves by weight, and inner nodes, which come out in the order of their weights. Returns the largest depth.
fn huffman_depths(weights: &[u32], lengths: &mut Lengths) -> u8 {
    let leaves = weights.len();
    // Weight and symbol in one word sort by weight.
    let mut sorted = [0_u64; ALPHABET_MAX];
    for (symbol, &weight) in weights.iter().enumerate() {
        sorted[symbol] = u64::from(weight) << 16 | symbol as u64;
    }
    sorted[..leaves].sort_unstable();
    let mut inner = [0_u64; ALPHABET_MAX];
    // Nodes are numbered: leaves as sorted, inner ones behind them.
    let mut parent = [0_u16; 2 * ALPHABET_MAX];
    let (mut leaf, mut oldest) = (0, 0);
    for made in 0..leaves - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            let takes_leaf = leaf < leaves && (oldest == made || sorted[leaf] >> 16 <= inner[oldest]);
            let node = if takes_leaf {
                weight += sorted[leaf] >> 16;
                leaf += 1;
                leaf - 1
            } else {
                weight += inner[oldest];
                oldest += 1;
                leaves + oldest - 1
            };
            parent[node] = (leaves + made) as u16;
        }
        inner[made] = weight;
    }
    // The root is the last; parents have larger numbers than their children.
    let mut depth = [0_u8; 2 * ALPHABET_MAX];
    let root = 2 * leaves - 2;
    let mut deepest = 0;
    for node in (0..root).rev() {
        depth[node] = depth[usize::from(parent[node])].saturating_add(1);
        if node < leaves {
            lengths[(sorted[node] & 0xffff) as usize] = depth[node];
            deepest = deepest.max(depth[node]);
        }
    }
    deepest
}

/// The codes of a table, by symbol: canonical, shorter ones first, each with its length in the lowest five bits.
pub(super) fn codes(lengths: &[u8]) -> [u32; ALPHABET_MAX] {
    let mut codes = [0; ALPHABET_MAX];
    let mut next = 0_u32;
    for bits in 1..=CODE_BITS_MAX {
        for (symbol, _) in lengths.iter().enumerate().filter(|&(_, &length)| length == bits) {
            codes[symbol] = next << 5 | u32::from(bits);
            next += 1;
        }
        next <<= 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kraft_sum(lengths: &[u8]) -> u64 {
        lengths.iter().map(|&bits| 1 << (32 - bits)).sum()
    }

    #[test]
    fn steep_counts_give_codes_that_are_not_too_long() {
        let mut counts = vec![1_u32, 1];
        while counts.len() < 40 {
            counts.push(counts[counts.len() - 1].saturating_add(counts[counts.len() - 2]));
        }
        let mut lengths = [0; ALPHABET_MAX];
        code_lengths(&counts, &mut lengths);
        assert!(lengths[..counts.len()].iter().all(|&bits| (1..=CODE_BITS_MAX).contains(&bits)));
        assert_eq!(kraft_sum(&lengths[..counts.len()]), 1 << 32);
    }

    proptest! {
        #[test]
        fn codes_are_complete_and_as_short_as_two_smallest_at_a_time(
            counts in proptest::collection::vec(0_u32..5000, 3..=ALPHABET_MAX),
        ) {
            let mut lengths = [0; ALPHABET_MAX];
            code_lengths(&counts, &mut lengths);
            let lengths = &lengths[..counts.len()];
            prop_assert_eq!(kraft_sum(lengths), 1 << 32);
            let cost: u64 = counts.iter().zip(lengths).map(|(&count, &bits)| u64::from(count.max(1)) * u64::from(bits)).sum();
            let mut heap: Vec<u64> = counts.iter().map(|&count| u64::from(count.max(1))).collect();
            let mut least = 0;
            while heap.len() > 1 {
                heap.sort_unstable_by_key(|&weight| std::cmp::Reverse(weight));
                let sum = heap.pop().expect("two") + heap.pop().expect("two");
                least += sum;
                heap.push(sum);
            }
            let weights: Vec<u32> = counts.iter().map(|&count| count.max(1)).collect();
            let is_flattened = huffman_depths(&weights, &mut [0; ALPHABET_MAX]) > CODE_BITS_MAX;
            prop_assert!(cost == least || is_flattened && cost > least && cost <= least + least / 1000, "{} {}", cost, least);
        }

        #[test]
        fn groups_get_tables_and_codes_have_no_common_beginnings(symbols in proptest::collection::vec(0_u16..30, 1..3000)) {
            let mut tables = Bzip2Tables::default();
            tables.fit(&symbols, 30);
            prop_assert_eq!(tables.selectors.len(), symbols.len().div_ceil(GROUP_SYMBOLS));
            for lengths in &tables.lengths {
                let codes = codes(&lengths[..30]);
                for (first, one) in codes[..30].iter().enumerate() {
                    for other in codes[..30].iter().skip(first + 1) {
                        let (short, long) = if one & 31 <= other & 31 { (one, other) } else { (other, one) };
                        prop_assert!(long >> 5 >> ((long & 31) - (short & 31)) != short >> 5);
                    }
                }
            }
        }
    }
}
