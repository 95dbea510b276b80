//! The bit stream of a block's sequences (RFC 8878 section 3.1.1.3.2), read into an array of eight bytes a sequence.

use super::tables::SequenceTable;
use super::{BLOCK_BYTES, BlockDefect};
use core::arch::x86_64::_bzhi_u64;

/// Literals and the match behind them, as the copying step wants them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Sequence {
    /// Where the match is copied from, counted from the start of the block: the source of a later one can be fetched ahead without adding up lengths.
    pub from: i32,
    pub literals: u16,
    pub matched: u16,
}

/// A sequence whose offset was repeated from before the block: the offset `repeat` (0 to 2) at its start, less `minus`.
#[derive(Clone, Copy, Debug)]
pub struct OpenOffset {
    pub sequence: u32,
    /// Where the match is copied to, counted from the start of the block.
    pub to: i32,
    pub repeat: u8,
    pub minus: u32,
}

/// Sequences of a block at most: a match has three bytes or more.
pub const SEQUENCES_MAX: usize = BLOCK_BYTES / 3;

/// Sequences that are read ahead of by the copying step, and pieces of long ones.
pub const SEQUENCES_ROOM: usize = SEQUENCES_MAX + 64;

/// Zero bytes that stand in front of a block: the bits are read from their end on, eight bytes at a time.
pub const FRONT: usize = 64;

/// An offset that is not known yet: the one that could be repeated as the `k`-th at the block's start. What is below it, as far as half the distance to
/// the next, is that one less the difference.
pub const fn unknown(k: i32) -> i32 {
    i32::MIN + (k << 20) + (1 << 19)
}

/// The repeat that such a value stands for, and what it is less.
pub fn known_later(offset: i32) -> (u8, u32) {
    let k = (offset.wrapping_sub(i32::MIN)) >> 20;
    (k as u8, unknown(k).wrapping_sub(offset) as u32)
}

/// What the sequences of a block come to.
pub struct SequencesEnd {
    /// Entries of the array.
    pub count: usize,
    /// Bytes that literals before matches and matches make.
    pub bytes: usize,
    /// Repeat offsets behind them.
    pub repeats: [i32; 3],
}

/// The tables of the three codes.
pub struct SequenceTables {
    pub literal_lengths: SequenceTable,
    pub offsets: SequenceTable,
    pub match_lengths: SequenceTable,
}

const DAMAGED: BlockDefect = "its sequences are damaged";

/// Decodes `count` sequences, at least one, from the bits in `block[from..]`, of which `FRONT` bytes at least stand in front, into `sequences`, of
/// `SEQUENCES_ROOM` entries.
#[target_feature(enable = "bmi1,bmi2,lzcnt,avx2")]
pub fn decode(
    tables: &SequenceTables,
    block: &[u8],
    from: usize,
    count: usize,
    sequences: &mut [Sequence],
    open: &mut Vec<OpenOffset>,
) -> Result<SequencesEnd, BlockDefect> {
    let may_be_long = tables.literal_lengths.extra_bits_max > 15
        || tables.match_lengths.extra_bits_max > 14
        || tables.offsets.extra_bits_max > 30;
    if may_be_long {
        run::<true>(tables, block, from, count, sequences, open)
    } else {
        run::<false>(tables, block, from, count, sequences, open)
    }
    .ok_or(DAMAGED)
}

/// Bits, read from the end on.
struct BitStream<'a> {
    block: &'a [u8],
    /// Where the word stands.
    at: usize,
    word: u64,
    /// Bits of the word that are not read yet, in the low byte; what stands above that is never looked at.
    left: u64,
}

impl<'a> BitStream<'a> {
    /// Those that end with the block, whose last byte has a mark on top.
    fn new(block: &'a [u8]) -> Option<Self> {
        let last = block.last().filter(|byte| **byte != 0)?;
        let at = block.len().checked_sub(8)?;
        let left = u64::from(56 + 7 - last.leading_zeros());
        Some(Self { block, at, word: load(block, at)?, left })
    }

    /// So many bits of the word behind `at` that are left. The number is the low byte of an entry, or of one that was shifted.
    #[target_feature(enable = "bmi1,bmi2,lzcnt,avx2")]
    #[inline]
    fn look(&self, at: u64, bits: u64) -> u32 {
        _bzhi_u64(self.word >> (at & 63), bits as u32) as u32
    }

    #[target_feature(enable = "bmi1,bmi2,lzcnt,avx2")]
    #[inline]
    fn take(&mut self, bits: u64) -> u32 {
        self.left = self.left.wrapping_sub(bits);
        self.look(self.left, bits)
    }

    /// Goes on to a word of which 56 bits or more are left.
    #[target_feature(enable = "bmi1,bmi2,lzcnt,avx2")]
    #[inline]
    fn refill(&mut self) -> Option<()> {
        self.at = self.at.wrapping_add(usize::from(self.left as u8) / 8).wrapping_sub(7);
        self.left = self.left & 7 | 56;
        self.word = load(self.block, self.at)?;
        Some(())
    }
}

fn load(block: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*block.get(at..)?.first_chunk::<8>()?))
}

/// The three offsets that may be repeated.
#[derive(Clone, Copy)]
struct RecentOffsets(i32, i32, i32);

impl RecentOffsets {
    /// RFC 8878 section 3.1.1.5: `value` is 0 to 2 where `is_repeat`, and counts one more behind no literals.
    #[inline]
    fn next(self, value: u32, is_repeat: bool, literals: u32) -> Self {
        let Self(first, second, third) = self;
        if !is_repeat {
            return Self(value as i32, first, second);
        }
        match value + u32::from(literals == 0) {
            0 => self,
            1 => Self(second, first, third),
            2 => Self(third, first, second),
            _ => Self(first - 1, first, second),
        }
    }
}

/// The sequences so far.
struct SequenceList<'a> {
    sequences: &'a mut [Sequence],
    open: &'a mut Vec<OpenOffset>,
    next: usize,
    /// Bytes that they make.
    position: u64,
}

impl SequenceList<'_> {
    #[inline]
    fn push(&mut self, literals: u32, matched: u32, offset: i32) -> Option<()> {
        self.position += u64::from(literals);
        let mut from = (self.position as i32).wrapping_sub(offset);
        if offset <= 0 {
            self.leave_open(offset)?;
            from = 0;
        }
        let sequence = Sequence { from, literals: literals as u16, matched: matched as u16 };
        *self.sequences.get_mut(self.next)? = sequence;
        self.next += 1;
        self.position += u64::from(matched);
        Some(())
    }

    #[cold]
    fn leave_open(&mut self, offset: i32) -> Option<()> {
        if offset == 0 {
            return None;
        }
        let (repeat, minus) = known_later(offset);
        self.open.push(OpenOffset { sequence: self.next as u32, to: self.position as i32, repeat, minus });
        Some(())
    }

    /// In pieces, so that lengths have 16 bits.
    #[cold]
    fn push_long(&mut self, mut literals: u32, mut matched: u32, offset: i32) -> Option<()> {
        const MOST: u32 = 0xffff;
        if self.position + u64::from(literals) + u64::from(matched) > BLOCK_BYTES as u64 {
            return None;
        }
        while literals > MOST {
            *self.sequences.get_mut(self.next)? = Sequence { from: 0, literals: MOST as u16, matched: 0 };
            (self.next, literals) = (self.next + 1, literals - MOST);
            self.position += u64::from(MOST);
        }
        while matched > MOST {
            self.push(literals, MOST, offset)?;
            (literals, matched) = (0, matched - MOST);
        }
        self.push(literals, matched, offset)
    }
}

#[target_feature(enable = "bmi1,bmi2,lzcnt,avx2")]
fn run<const MAY_BE_LONG: bool>(
    tables: &SequenceTables,
    block: &[u8],
    from: usize,
    count: usize,
    sequences: &mut [Sequence],
    open: &mut Vec<OpenOffset>,
) -> Option<SequencesEnd> {
    let mut bits = BitStream::new(block).filter(|_| block.len() > from)?;
    let (literal_lengths, offsets, match_lengths) =
        (&tables.literal_lengths.entries, &tables.offsets.entries, &tables.match_lengths.entries);
    let mut literal_state = bits.take(u64::from(tables.literal_lengths.accuracy));
    let mut offset_state = bits.take(u64::from(tables.offsets.accuracy));
    let mut match_state = bits.take(u64::from(tables.match_lengths.accuracy));
    bits.refill()?;
    let mut recent = RecentOffsets(unknown(0), unknown(1), unknown(2));
    let mut list = SequenceList { sequences, open, next: 0, position: 0 };
    let mut sequences_left = count;
    loop {
        let l = literal_lengths[literal_state as usize & 511];
        let m = match_lengths[match_state as usize & 511];
        let o = offsets[offset_state as usize & 511];
        // Of the low byte: all extra bits; of the next one: all state bits.
        let sum = l.wrapping_add(m).wrapping_add(o);
        let mut rest = bits.left.wrapping_sub(sum);
        let mut offset = value(o).wrapping_add(bits.look(bits.left.wrapping_sub(o), o));
        let mut matched = value(m).wrapping_add(bits.look(rest.wrapping_add(l), m));
        let mut literals = value(l).wrapping_add(bits.look(rest, l));
        if (rest as i8) < 26 {
            // Rare: one word has not the bits for all six.
            offset = value(o).wrapping_add(bits.take(o));
            bits.left &= 255;
            bits.refill()?;
            matched = value(m).wrapping_add(bits.take(m));
            literals = value(l).wrapping_add(bits.take(l));
            bits.left &= 255;
            bits.refill()?;
            rest = bits.left;
        }
        let is_repeat = o as u8 <= 1;
        if MAY_BE_LONG && !is_repeat && offset > i32::MAX as u32 {
            return None;
        }
        recent = recent.next(offset, is_repeat, literals);
        if MAY_BE_LONG && literals | matched > 0xffff {
            list.push_long(literals, matched, recent.0)?;
        } else {
            list.push(literals, matched, recent.0)?;
        }
        sequences_left -= 1;
        if sequences_left == 0 {
            bits.left = rest;
            break;
        }
        let (behind_literals, end) = (rest.wrapping_sub(l >> 8), rest.wrapping_sub(sum >> 8));
        literal_state = (l >> 48) as u32 + bits.look(behind_literals, l >> 8);
        match_state = (m >> 48) as u32 + bits.look(end.wrapping_add(o >> 8), m >> 8);
        offset_state = (o >> 48) as u32 + bits.look(end, o >> 8);
        bits.left = end;
        bits.refill()?;
        if bits.at + 8 < from {
            return None;
        }
    }
    // Every bit was read, and none of what stands before.
    let is_exact = (bits.at as i64 - from as i64) * 8 + i64::from(bits.left as i8) == 0;
    (is_exact && list.position <= BLOCK_BYTES as u64).then_some(SequencesEnd {
        count: list.next,
        bytes: list.position as usize,
        repeats: [recent.0, recent.1, recent.2],
    })
}

/// The value in an entry.
fn value(entry: u64) -> u32 {
    (entry >> 16) as u32
}
