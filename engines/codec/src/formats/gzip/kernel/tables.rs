//! What one look-up answers: compressed entries, the tables that hold them, and the two alphabets (RFC 1951 section 3.2.5).
//! An entry carries every bit count and base that decoding needs, so that a symbol costs one load and a few shifts; entries
//! of the main symbol table hold as much as fits its index: up to two literals, or a literal and a length.
//! How the tables are filled is in `build`.

use std::sync::LazyLock;

/// Bits of look-ahead that index the main symbol table: 8 KiB. The tables compete with the window for the first-level cache,
/// so 12 measured 1 to 3 % slower, and entries of 64 bits 6 %; 10 measured 2 % slower for holding fewer pairs.
pub(super) const SYMBOL_BITS: u32 = 11;
/// Bits of look-ahead that index the main distance table: 1 KiB. 9 measured no better, and takes more cache.
pub(super) const DISTANCE_BITS: u32 = 8;
/// The longest code (RFC 1951 section 3.2.7).
pub(super) const CODE_BITS_MAX: u32 = 15;
/// Symbols in the literal/length alphabet, the two that never occur in valid data among them.
pub(super) const SYMBOLS: usize = 288;
/// Symbols in the distance alphabet, likewise.
pub(super) const DISTANCES: usize = 32;
/// Symbol that ends a block.
pub(super) const END_OF_BLOCK: usize = 256;

/// LIMIT: room for subtables. A subtable of 2^b entries takes in at least b + 1 symbols of a complete code; at b = 15 - 11 = 4
/// that is at most 288 / 5 * 16 = 912 entries for symbols; at b = 15 - 8 = 7 at most 32 / 8 * 128 = 512 for distances (and
/// less for smaller b in both cases). Filling checks its indices, so an error here would be a panic and no wild write.
const SYMBOL_ENTRIES: usize = (1 << SYMBOL_BITS) + 1024;
const DISTANCE_ENTRIES: usize = (1 << DISTANCE_BITS) + 512;

/// An answer of the symbol table.
///
/// - bits 0..6: bits taken in all, codes and extra bits (0 for a link to a subtable);
/// - bit 6: end of block, link or invalid; bit 7: holds no length;
/// - bits 8..12: bits taken by codes alone, so where a length's extra bits begin (for a link: index bits of the subtable);
/// - bit 12: link; bit 13: invalid; both are 0 where there is a length, since shifts by bits 8..14 find its extra bits;
/// - bits 14..16: how many literals; bits 16..24: the first one (for a link, bits 16..32: where the subtable begins);
/// - bits 24..32: the second literal, or a length's base less [`LENGTH_MIN`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct SymbolEntry(pub u32);

const EXCEPTIONAL: u32 = 1 << 6;
const NO_LENGTH: u32 = 1 << 7;
const LINK: u32 = 1 << 12;
const INVALID: u32 = 1 << 13;
const ONE_LITERAL: u32 = 1 << 14;
/// One bit more in both bit counts.
const ONE_CODE_BIT: u32 = 0x0101;

/// The shortest match.
pub(super) const LENGTH_MIN: usize = 3;

/// An answer of the distance table.
///
/// - bits 0..8: bits taken in all (0 for a link); bits 8..16: bits taken by the code alone (for a link: index bits);
/// - bits 16..31: base (for a link: where the subtable begins; for an invalid one: 0); bit 31: link or invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct DistanceEntry(pub u32);

const DISTANCE_EXCEPTIONAL: u32 = 1 << 31;

/// What processors do differently.
pub(super) trait Processor {
    /// The lowest bits of `word`, as many as the lowest six bits of `entry` say.
    fn low_bits(word: u64, entry: u32) -> u64;
}

/// Any processor.
pub(super) struct Portable;

impl Processor for Portable {
    #[inline(always)]
    fn low_bits(word: u64, entry: u32) -> u64 {
        word & ((1 << (entry & 63)) - 1)
    }
}

/// What the two kinds of entry have in common: what filling tables needs.
pub(super) trait TableEntry: Copy {
    /// The entry for a code that is `code_bits` longer.
    fn lengthened(self, code_bits: u32) -> Self;
    /// A link to `1 << index_bits` entries at `start`.
    fn link(start: usize, index_bits: u32) -> Self;
    /// An entry for bits that are no code.
    fn invalid() -> Self;
}

impl TableEntry for SymbolEntry {
    #[inline]
    fn lengthened(self, code_bits: u32) -> Self {
        Self(self.0 + code_bits * ONE_CODE_BIT)
    }

    fn link(start: usize, index_bits: u32) -> Self {
        Self(NO_LENGTH | EXCEPTIONAL | LINK | (start as u32) << 16 | index_bits << 8)
    }

    fn invalid() -> Self {
        Self(NO_LENGTH | EXCEPTIONAL | INVALID)
    }
}

impl TableEntry for DistanceEntry {
    #[inline]
    fn lengthened(self, code_bits: u32) -> Self {
        Self(self.0 + code_bits * ONE_CODE_BIT)
    }

    fn link(start: usize, index_bits: u32) -> Self {
        Self(DISTANCE_EXCEPTIONAL | (start as u32) << 16 | index_bits << 8)
    }

    fn invalid() -> Self {
        Self(DISTANCE_EXCEPTIONAL)
    }
}

impl SymbolEntry {
    const fn literal(byte: u8) -> Self {
        Self(NO_LENGTH | ONE_LITERAL | (byte as u32) << 16)
    }

    /// Bits taken, extra bits included.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & 0x3f
    }

    /// Bits of codes alone.
    #[inline(always)]
    pub fn code_bits(self) -> u32 {
        self.0 >> 8 & 0xf
    }

    /// Whether a distance follows.
    #[inline(always)]
    pub fn is_match(self) -> bool {
        self.0 & NO_LENGTH == 0
    }

    /// Whether it is anything but literals and lengths.
    #[inline(always)]
    pub fn is_exceptional(self) -> bool {
        self.0 & EXCEPTIONAL != 0
    }

    #[inline(always)]
    pub fn is_link(self) -> bool {
        self.0 & (EXCEPTIONAL | LINK) == EXCEPTIONAL | LINK
    }

    /// Whether an exceptional entry is the end of the block.
    #[inline(always)]
    pub fn is_end(self) -> bool {
        self.0 & (LINK | INVALID | EXCEPTIONAL) == EXCEPTIONAL
    }

    /// Whether it is one literal and nothing more.
    #[inline(always)]
    pub fn is_one_literal(self) -> bool {
        self.0 & (NO_LENGTH | EXCEPTIONAL) == NO_LENGTH && self.literal_count() == 1
    }

    /// Room for two literals, of which [`SymbolEntry::literal_count`] are some.
    #[inline(always)]
    pub fn literals(self) -> [u8; 2] {
        ((self.0 >> 16) as u16).to_le_bytes()
    }

    #[inline(always)]
    pub fn literal_count(self) -> usize {
        (self.0 >> 14 & 3) as usize
    }

    /// The length, where `ahead` is what the entry was looked up with. Only of an entry that holds a length.
    #[inline(always)]
    pub fn length<P: Processor>(self, ahead: u64) -> usize {
        let extra = P::low_bits(ahead, self.0) >> (self.0 >> 8 & 63);
        (self.0 >> 24) as usize + extra as usize + LENGTH_MIN
    }

    /// A literal's entry with what `next`, a literal or a length, holds behind it.
    #[inline(always)]
    pub fn followed_by(self, next: Self) -> Self {
        let literal = self.0 & 0x00ff_0000;
        let behind = if next.is_match() { next.0 } else { next.0 & 0xff00_ffff | (next.0 & 0x00ff_0000) << 8 };
        Self(behind + self.bits() * ONE_CODE_BIT + literal + ONE_LITERAL)
    }
}

impl DistanceEntry {
    /// Bits taken, extra bits included.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & 0xff
    }

    /// Whether it is no distance.
    #[inline(always)]
    pub fn is_exceptional(self) -> bool {
        self.0.cast_signed() < 0
    }

    /// Whether it stands for bits that are no distance; links take no bits.
    #[inline(always)]
    pub fn is_invalid(self) -> bool {
        self.is_exceptional() && self.bits() > 0
    }

    /// The distance, where `ahead` is what the entry was looked up with. Only of an entry that is not exceptional.
    #[inline(always)]
    pub fn distance<P: Processor>(self, ahead: u64) -> usize {
        let extra = P::low_bits(ahead, self.0) >> (self.0 >> 8 & 63);
        (self.0 >> 16) as usize + extra as usize
    }
}

/// The two tables of a block: a main part indexed by the next bits, subtables behind it.
#[derive(Debug)]
pub(super) struct InflateTables {
    pub symbols: [SymbolEntry; SYMBOL_ENTRIES],
    pub distances: [DistanceEntry; DISTANCE_ENTRIES],
}

impl InflateTables {
    /// Without any code.
    pub fn new() -> Self {
        let symbols = [SymbolEntry::invalid().lengthened(1); SYMBOL_ENTRIES];
        let distances = [DistanceEntry::invalid().lengthened(1); DISTANCE_ENTRIES];
        Self { symbols, distances }
    }

    /// Those of blocks with fixed codes (RFC 1951 section 3.2.6).
    pub fn fixed() -> &'static Self {
        static FIXED: LazyLock<Box<InflateTables>> = LazyLock::new(|| {
            let mut lengths = [8; SYMBOLS + DISTANCES];
            lengths[144..256].fill(9);
            lengths[256..280].fill(7);
            lengths[SYMBOLS..].fill(5);
            let mut tables = Box::new(InflateTables::new());
            tables.build(&lengths[..SYMBOLS], &lengths[SYMBOLS..]).expect("the fixed codes are codes");
            tables
        });
        &FIXED
    }

    /// The answer to the bits `ahead`, never a link.
    #[inline(always)]
    pub fn symbol(&self, ahead: u64) -> SymbolEntry {
        let entry = self.symbols[ahead as usize & ((1 << SYMBOL_BITS) - 1)];
        if entry.is_link() { self.linked_symbol(entry, ahead) } else { entry }
    }

    /// What a link leads to.
    #[inline(always)]
    pub fn linked_symbol(&self, link: SymbolEntry, ahead: u64) -> SymbolEntry {
        let index = (ahead >> SYMBOL_BITS) as usize & ((1 << link.code_bits()) - 1);
        self.symbols[(link.0 >> 16) as usize + index]
    }

    /// The answer to the bits `ahead`, never a link.
    #[inline(always)]
    pub fn distance(&self, ahead: u64) -> DistanceEntry {
        let entry = self.distances[ahead as usize & ((1 << DISTANCE_BITS) - 1)];
        if entry.is_exceptional() { self.linked_distance(entry, ahead) } else { entry }
    }

    /// What an exceptional entry leads to: itself, if it is invalid.
    #[inline(always)]
    pub fn linked_distance(&self, link: DistanceEntry, ahead: u64) -> DistanceEntry {
        if link.is_invalid() {
            return link;
        }
        let index = (ahead >> DISTANCE_BITS) as usize & ((1 << ((link.0 >> 8) & 0xff)) - 1);
        self.distances[(link.0 >> 16 & 0x7fff) as usize + index]
    }
}

/// Entries of all literal/length symbols, for codes of no bits.
pub(super) static SYMBOL_ALPHABET: [SymbolEntry; SYMBOLS] = symbol_alphabet();

/// Entries of all distance symbols, for codes of no bits.
pub(super) static DISTANCE_ALPHABET: [DistanceEntry; DISTANCES] = distance_alphabet();

const fn symbol_alphabet() -> [SymbolEntry; SYMBOLS] {
    let mut entries = [SymbolEntry(NO_LENGTH | EXCEPTIONAL | INVALID); SYMBOLS];
    let mut symbol = 0;
    while symbol < END_OF_BLOCK {
        entries[symbol] = SymbolEntry::literal(symbol as u8);
        symbol += 1;
    }
    entries[END_OF_BLOCK] = SymbolEntry(NO_LENGTH | EXCEPTIONAL);
    // Symbols 257..285: eight lengths of their own, then four to every number of extra bits; 285 is the longest match.
    let (mut symbol, mut length) = (257, 3);
    while symbol < 285 {
        let group = (symbol - 257) / 4;
        let extra_bits = if group < 2 { 0 } else { group as u32 - 1 };
        entries[symbol] = SymbolEntry((length - LENGTH_MIN as u32) << 24 | extra_bits);
        length += 1 << extra_bits;
        symbol += 1;
    }
    entries[285] = SymbolEntry((258 - LENGTH_MIN as u32) << 24);
    entries
}

const fn distance_alphabet() -> [DistanceEntry; DISTANCES] {
    let mut entries = [DistanceEntry(DISTANCE_EXCEPTIONAL); DISTANCES];
    let (mut symbol, mut distance) = (0, 1);
    while symbol < 30 {
        let pair = symbol as u32 / 2;
        let extra_bits = if pair < 2 { 0 } else { pair - 1 };
        entries[symbol] = DistanceEntry(distance << 16 | extra_bits);
        distance += 1 << extra_bits;
        symbol += 1;
    }
    entries
}
