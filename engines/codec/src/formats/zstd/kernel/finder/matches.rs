//! The match finder: two tables of positions, one by the hash of eight bytes and one by that of five, the latest position each.
//! Theory: a look at a candidate is a cache miss, and most candidates are none. An entry has the position in 22 bits and ten
//! more bits of the hash that led to it, so that all but one in a thousand of those are known without a look at their bytes.
//! Offsets that repeat are resolved here, over all blocks of the frame, since the entropy coder sees one block at a time.
#![expect(unsafe_code, reason = "reads and writes without bounds checks: these loops take most of a frame's time")]
// Invariants all blocks below rest on:
//  1. `base` is the frame, of at most 4 MiB (`Finder::begin`); `end` is a position in it or its length (`next_block`);
//  2. `last + 16 <= end`, and no position behind `last + 1` is looked at or noted: eight bytes are readable from each;
//  3. an entry of a table is 0 or was noted in this frame, before the position that is looked at: `begin` empties the tables;
//  4. each recent distance is at least 1 and at most `at`: they begin as 1, 4 and 8, the search at 8, and a distance is added
//     when a match is found that far before `at`;
//  5. `anchor <= at`, both only grow and end within the block; a sequence takes at least four bytes of it and no byte twice:
//     `BlockMatches` has room for as many sequences and literals as a block can have, and for what copies write past them.

use super::{BLOCK_BYTES_MAX, FRAME_BYTES_MAX, ZSTD_Sequence};
use sys::huge_page::{self, HUGE_PAGE_BYTES};

/// Entries of the tables: 512 KiB and 256 KiB, of the second half in text. What fewer cost stands in
/// docs/journal/0003-five-formats.md.
const LONG_LOG: u32 = 17;
const SHORT_LOG: u32 = 16;
const TEXT_SHORT_LOG: u32 = 15;

/// Every so many bytes of a frame one is looked at: a prime, so that records of nearly any length are met at all their places.
const SAMPLE_STRIDE_BYTES: usize = 1021;

/// Fewer than one in so many bytes of text are something else than letters, signs and ends of lines of ASCII.
const TEXT_BYTES_TO_ONE_OTHER: usize = 32;

/// Bits of the hash in an entry beside the position.
const TAG_BITS: u32 = 10;
const TAG_MASK: u32 = (1 << TAG_BITS) - 1;
const _: () = assert!(FRAME_BYTES_MAX - 1 <= (u32::MAX >> TAG_BITS) as usize, "a position fits beside its tag");

/// What stands at least behind a position that is looked at: eight bytes are read there, and from the one or two behind it.
const MARGIN_BYTES: usize = 16;

/// LIMIT: a block that is shorter is all literals.
const BLOCK_BYTES_MIN: usize = 2 * MARGIN_BYTES;

/// The first position that is looked at: no distance of a frame's beginning (1, 4 and 8) reaches from there to before it.
const FIRST: usize = 8;

/// Positions without a match after which one more is left out between two looks.
const STRETCH: usize = 256;

/// The shortest match.
const MATCH_BYTES_MIN: usize = 4;

/// LIMIT: sequences of a block: its bytes in the shortest matches, and the delimiter.
const SEQUENCES_MAX: usize = BLOCK_BYTES_MAX / MATCH_BYTES_MIN + 1;

/// Bytes that copies of literals may read and write past their end.
const COPY_OVERSHOOT: usize = 32;

/// A block's literals, and what the entropy coder wants readable behind them.
const LITERALS_ROOM: usize = BLOCK_BYTES_MAX + 2 * COPY_OVERSHOOT;

/// What a finder works in.
pub(super) const HELD_BYTES: usize = size_of::<Memory>();

/// One block as sequences and literals.
pub struct BlockMatches {
    sequences: [ZSTD_Sequence; SEQUENCES_MAX],
    sequence_count: usize,
    literals: [u8; LITERALS_ROOM],
    literal_count: usize,
    block_bytes: usize,
}

impl BlockMatches {
    /// The sequences, a delimiter with the last literals at their end. In place of its offset each has the Offset_Value of
    /// RFC 8878 (3.1.1.3.2.1.1) less 3, wrapping: see the entropy coder.
    pub(super) fn sequences(&self) -> &[ZSTD_Sequence] {
        &self.sequences[..self.sequence_count]
    }

    /// The room of the literals and how many there are.
    pub(super) fn literals(&self) -> (&[u8], usize) {
        (&self.literals, self.literal_count)
    }

    /// What the block decodes to.
    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }
}

/// The tables, and what was found last. In a huge page: each look is at another place of them, and would need another page.
#[repr(C, align(0x20_0000))]
struct Memory {
    long: [Entry; 1 << LONG_LOG],
    short: [Entry; 1 << SHORT_LOG],
    found: BlockMatches,
}
const _: () = assert!(size_of::<Memory>() == HUGE_PAGE_BYTES, "it all fits into one");

/// Finds matches in one frame after the other.
pub struct Finder(Box<Memory>);

impl Finder {
    /// One with its tables.
    pub fn new() -> Self {
        let mut memory = huge_page::boxed::<Memory>();
        let place = memory.as_mut_ptr();
        // SAFETY: these are all its fields, and made of numbers, which zeros are. What is behind them in the page stays untouched.
        Self(unsafe {
            (&raw mut (*place).long).write_bytes(0, 1);
            (&raw mut (*place).short).write_bytes(0, 1);
            (&raw mut (*place).found).write_bytes(0, 1);
            memory.assume_init()
        })
    }

    /// Begins a frame: nothing of others is known in it.
    ///
    /// # Panics
    ///
    /// If it is longer than [`FRAME_BYTES_MAX`].
    pub fn begin<'a>(&'a mut self, frame: &'a [u8]) -> FrameFinder<'a> {
        assert!(frame.len() <= FRAME_BYTES_MAX, "positions of a frame fit into the tables");
        self.0.long.fill(Entry(0));
        self.0.short.fill(Entry(0));
        let recent = Recent([1, 4, 8]);
        FrameFinder { memory: &mut self.0, frame, is_text: is_text(frame), done: 0, recent, recent_before: recent }
    }
}

/// Whether a frame is text as ASCII has it, by a sample of its bytes: the short matches of text lie nearer, and half a table finds nearly all.
/// Zeros do not count: headers and the ends of records are full of them.
fn is_text(frame: &[u8]) -> bool {
    let (mut bytes, mut others) = (0, 0);
    for byte in frame.iter().step_by(SAMPLE_STRIDE_BYTES).filter(|byte| **byte != 0) {
        bytes += 1;
        others += usize::from(!matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r'));
    }
    others * TEXT_BYTES_TO_ONE_OTHER < bytes
}

/// A finder in a frame, between two blocks.
pub struct FrameFinder<'a> {
    memory: &'a mut Memory,
    frame: &'a [u8],
    is_text: bool,
    /// Bytes before the next block.
    done: usize,
    recent: Recent,
    recent_before: Recent,
}

impl<'a> FrameFinder<'a> {
    /// What no block was made of yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.frame[self.done..]
    }

    /// Divides the next `bytes` of the frame into sequences and literals.
    ///
    /// # Panics
    ///
    /// If there are fewer, or more than [`BLOCK_BYTES_MAX`].
    pub fn next_block(&mut self, bytes: usize) -> &BlockMatches {
        if self.is_text {
            self.walk::<TEXT_SHORT_LOG>(bytes);
        } else {
            self.walk::<SHORT_LOG>(bytes);
        }
        &self.memory.found
    }

    // Never inlined: in a larger function the loops below have fewer registers, which cost 3 % of the time.
    #[inline(never)]
    fn walk<const SHORT: u32>(&mut self, bytes: usize) {
        assert!(bytes <= BLOCK_BYTES_MAX && bytes <= self.rest().len(), "a block of the frame");
        let (start, end) = (self.done, self.done + bytes);
        (self.done, self.recent_before) = (end, self.recent);
        let Memory { long, short, found } = &mut *self.memory;
        let mut walk = Walk::<SHORT> {
            base: self.frame.as_ptr(),
            copy_end: self.frame.len().saturating_sub(COPY_OVERSHOOT),
            long,
            short,
            recent: self.recent,
            at: start.max(FIRST),
            anchor: start,
            end,
            last: end.saturating_sub(MARGIN_BYTES),
            sequence: found.sequences.as_mut_ptr(),
            literal: found.literals.as_mut_ptr(),
        };
        if bytes >= BLOCK_BYTES_MIN {
            walk.matches();
        }
        walk.finish();
        self.recent = walk.recent;
        found.sequence_count = (walk.sequence.addr() - found.sequences.as_ptr().addr()) / size_of::<ZSTD_Sequence>();
        found.literal_count = walk.literal.addr() - found.literals.as_ptr().addr();
        found.block_bytes = bytes;
    }

    /// The last block is not written as sequences: its decoder will know of none of their distances.
    pub fn forget_distances(&mut self) {
        self.recent = self.recent_before;
    }

    /// Steps over the next `bytes` of the frame: nothing will refer to them.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn step_over(&mut self, bytes: usize) {
        assert!(bytes <= self.rest().len(), "a block of the frame");
        self.done += bytes;
    }
}

/// A hash: the table's slot, then the tag.
#[derive(Clone, Copy)]
struct Key(u32);

impl Key {
    #[inline(always)]
    fn of_eight(word: u64) -> Self {
        Self((word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LONG_LOG - TAG_BITS)) as u32)
    }

    #[inline(always)]
    fn of_five<const SHORT: u32>(word: u64) -> Self {
        Self(((word << 24).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SHORT - TAG_BITS)) as u32)
    }

    #[inline(always)]
    fn slot(self) -> usize {
        (self.0 >> TAG_BITS) as usize
    }
}

/// A position and the tag of the key that led to it.
#[derive(Clone, Copy)]
struct Entry(u32);

impl Entry {
    #[inline(always)]
    fn new(position: usize, key: Key) -> Self {
        Self((position as u32) << TAG_BITS | key.0 & TAG_MASK)
    }

    #[inline(always)]
    fn position(self) -> usize {
        (self.0 >> TAG_BITS) as usize
    }

    #[inline(always)]
    fn may_match(self, key: Key) -> bool {
        (self.0 ^ key.0) & TAG_MASK == 0
    }
}

/// The distances used last, the latest first (RFC 8878, 3.1.1.5).
#[derive(Clone, Copy)]
struct Recent([usize; 3]);

impl Recent {
    /// The Offset_Value of a distance; takes it to the front. Without literals before it value 1 means the second distance and
    /// value 2 the third.
    #[inline(always)]
    fn value(&mut self, distance: usize, has_literals: bool) -> u32 {
        let [first, second, third] = self.0;
        if distance == first && has_literals {
            return 1;
        }
        let shift = u32::from(!has_literals);
        if distance == second {
            self.0 = [distance, first, third];
            return 2 - shift;
        }
        self.0 = [distance, first, second];
        if distance == third { 3 - shift } else { distance as u32 + 3 }
    }
}

/// Where a match was found.
struct Match {
    /// The position that was looked at.
    seen: usize,
    start: usize,
    length: usize,
    /// As [`Recent::value`] tells.
    value: u32,
}

/// The state within a block. `SHORT`: the logarithm of how many entries of the table of five bytes are used.
struct Walk<'a, const SHORT: u32> {
    base: *const u8,
    /// From before here on copies may read too much.
    copy_end: usize,
    long: &'a mut [Entry; 1 << LONG_LOG],
    short: &'a mut [Entry; 1 << SHORT_LOG],
    recent: Recent,
    /// Where to look next.
    at: usize,
    /// Where the literals begin that belong to no sequence yet.
    anchor: usize,
    /// The end of the block.
    end: usize,
    /// The last position of the block to look at.
    last: usize,
    sequence: *mut ZSTD_Sequence,
    literal: *mut u8,
}

impl<const SHORT: u32> Walk<'_, SHORT> {
    /// All matches of the block.
    #[inline(always)]
    fn matches(&mut self) {
        while let Some(found) = self.search() {
            self.put(found.start, found.length, found.value);
            if self.at > self.last {
                break;
            }
            // Noting costs next to nothing beside a match. The match ends behind all of these.
            for seen in [found.seen + 2, found.seen + 3, self.at - 4, self.at - 2, self.at - 1] {
                self.note_long(seen);
            }
            self.note_short(found.seen + 2);
            self.note_short(self.at - 1);
            self.repeats_of_second();
        }
    }

    /// Looks at one position after the other until there is a match: the distance used last one byte on, eight bytes here, or
    /// five here if there are not eight one step on.
    #[inline(always)]
    fn search(&mut self) -> Option<Match> {
        let mut at = self.at;
        let mut next = at + 1;
        if next > self.last {
            return None;
        }
        let (mut step, mut stretch_end) = (1, at + STRETCH);
        let mut key = self.long_key(at);
        let mut entry = self.long[key.slot()];
        loop {
            let short_key = self.short_key(at);
            let short_entry = self.short[short_key.slot()];
            self.long[key.slot()] = Entry::new(at, key);
            self.short[short_key.slot()] = Entry::new(at, short_key);
            let (start, distance) = (at + 1, self.recent.0[0]);
            if self.four_at(start - distance) == self.four_at(start) {
                return Some(Match { seen: at, start, length: self.length(start, start - distance, 4), value: 1 });
            }
            let next_key = self.long_key(next);
            if entry.may_match(key) && self.eight_at(entry.position()) == self.eight_at(at) {
                let found = self.found(at, at, entry.position(), self.length(at, entry.position(), 8));
                self.note_if_near(step, next, next_key);
                return Some(found);
            }
            let next_entry = self.long[next_key.slot()];
            if short_entry.may_match(short_key) && self.four_at(short_entry.position()) == self.four_at(at) {
                let (mut start, mut from) = (at, short_entry.position());
                let mut length = self.length(start, from, 4);
                if next_entry.may_match(next_key) && self.eight_at(next_entry.position()) == self.eight_at(next) {
                    let other = self.length(next, next_entry.position(), 8);
                    if other > length {
                        (start, from, length) = (next, next_entry.position(), other);
                    }
                }
                let found = self.found(at, start, from, length);
                self.note_if_near(step, next, next_key);
                return Some(found);
            }
            if next >= stretch_end {
                step += 1;
                stretch_end += STRETCH;
            }
            (at, key, entry) = (next, next_key, next_entry);
            next += step;
            if next > self.last {
                return None;
            }
        }
    }

    /// A match by a table: it may begin before where it was seen.
    #[inline(always)]
    fn found(&mut self, seen: usize, mut start: usize, mut from: usize, mut length: usize) -> Match {
        let distance = start - from;
        while start > self.anchor && from > 0 && self.byte_at(start - 1) == self.byte_at(from - 1) {
            start -= 1;
            from -= 1;
            length += 1;
        }
        Match { seen, start, length, value: self.recent.value(distance, start > self.anchor) }
    }

    /// The position after the one with the match, whose key is known. With wider steps it may lie behind the match.
    #[inline(always)]
    fn note_if_near(&mut self, step: usize, next: usize, key: Key) {
        if step < MATCH_BYTES_MIN {
            self.long[key.slot()] = Entry::new(next, key);
        }
    }

    /// Matches right behind the last one, at the distance before its own: value 1, since no literals stand before them.
    #[inline(always)]
    fn repeats_of_second(&mut self) {
        while self.at <= self.last {
            let [first, second, third] = self.recent.0;
            if self.four_at(self.at) != self.four_at(self.at - second) {
                break;
            }
            let length = self.length(self.at, self.at - second, 4);
            self.recent.0 = [second, first, third];
            self.note_short(self.at);
            self.note_long(self.at);
            self.put(self.at, length, 1);
        }
    }

    /// Writes a sequence and goes behind its match.
    #[inline(always)]
    fn put(&mut self, start: usize, length: usize, value: u32) {
        let literals = start - self.anchor;
        self.put_literals(literals);
        let sequence = ZSTD_Sequence {
            offset: value.wrapping_sub(3),
            litLength: literals as u32,
            matchLength: length as u32,
            rep: 0,
        };
        // SAFETY: invariant 5.
        unsafe {
            self.sequence.write(sequence);
            self.sequence = self.sequence.add(1);
        }
        self.at = start + length;
        self.anchor = self.at;
    }

    /// What is left of the block, and the delimiter.
    #[inline(always)]
    fn finish(&mut self) {
        let literals = self.end - self.anchor;
        self.put_literals(literals);
        // SAFETY: invariant 5: the delimiter has its own place.
        unsafe {
            self.sequence.write(ZSTD_Sequence { offset: 0, litLength: literals as u32, matchLength: 0, rep: 0 });
            self.sequence = self.sequence.add(1);
        }
    }

    #[inline(always)]
    fn put_literals(&mut self, count: usize) {
        // SAFETY: invariants 1 and 5; most are few, so sixteen bytes are copied unasked where the frame has them.
        unsafe {
            let from = self.base.add(self.anchor);
            if self.anchor + count < self.copy_end {
                copy_16(from, self.literal);
                let mut done = 16;
                while done < count {
                    copy_16(from.add(done), self.literal.add(done));
                    copy_16(from.add(done + 16), self.literal.add(done + 16));
                    done += 32;
                }
            } else {
                from.copy_to_nonoverlapping(self.literal, count);
            }
            self.literal = self.literal.add(count);
        }
    }

    /// How long two positions go on alike, within the block, when their first `known` bytes are.
    #[inline(always)]
    fn length(&self, at: usize, from: usize, known: usize) -> usize {
        let (mut length, room) = (known, self.end - at);
        while length + 16 <= room {
            let difference = self.sixteen_at(at + length) ^ self.sixteen_at(from + length);
            if difference != 0 {
                return length + (difference.trailing_zeros() / 8) as usize;
            }
            length += 16;
        }
        while length < room && self.byte_at(at + length) == self.byte_at(from + length) {
            length += 1;
        }
        length
    }

    #[inline(always)]
    fn note_long(&mut self, at: usize) {
        let key = self.long_key(at);
        self.long[key.slot()] = Entry::new(at, key);
    }

    #[inline(always)]
    fn note_short(&mut self, at: usize) {
        let key = self.short_key(at);
        self.short[key.slot()] = Entry::new(at, key);
    }

    #[inline(always)]
    fn long_key(&self, at: usize) -> Key {
        Key::of_eight(self.eight_at(at))
    }

    #[inline(always)]
    fn short_key(&self, at: usize) -> Key {
        Key::of_five::<SHORT>(self.eight_at(at))
    }

    #[inline(always)]
    fn byte_at(&self, at: usize) -> u8 {
        // SAFETY: by invariants 1 and 3 before the end of the block.
        unsafe { *self.base.add(at) }
    }

    #[inline(always)]
    fn four_at(&self, at: usize) -> u32 {
        // SAFETY: invariants 2, 3 and 4; unaligned reads are asked for as such.
        unsafe { self.base.add(at).cast::<u32>().read_unaligned() }
    }

    /// Little-endian: hashes take the bytes in their order.
    #[inline(always)]
    fn eight_at(&self, at: usize) -> u64 {
        // SAFETY: invariants 2 and 3; `length` asks within the block. Unaligned reads are asked for as such.
        u64::from_le(unsafe { self.base.add(at).cast::<u64>().read_unaligned() })
    }

    /// Little-endian.
    #[inline(always)]
    fn sixteen_at(&self, at: usize) -> u128 {
        // SAFETY: invariant 2: asked within the block. Unaligned reads are asked for as such.
        u128::from_le(unsafe { self.base.add(at).cast::<u128>().read_unaligned() })
    }
}

/// Copies sixteen bytes.
///
/// # Safety
///
/// They are readable and writable.
#[inline(always)]
unsafe fn copy_16(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises; unaligned accesses are asked for as such.
    unsafe { to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::data::{log_lines, random, text, zeros};

    #[test]
    fn text_is_told_from_what_is_none() {
        let bytes = 1 << 20;
        assert!(is_text(&text(bytes, 1)) && is_text(&log_lines(bytes, 2)));
        assert!(is_text(
            "A café in a line of words is still text, as are other letters now and then. ".repeat(9999).as_bytes()
        ));
        assert!(!is_text(&random(bytes, 3)) && !is_text("читать ".repeat(99_999).as_bytes()));
        assert!(
            !is_text(b"") && !is_text(&zeros(bytes)) && !is_text(&[1, 0, 0, 0].repeat(bytes)),
            "nothing, and numbers"
        );
        let with_program = [text(bytes, 4), random(bytes / 8, 5)].concat();
        assert!(!is_text(&with_program), "a ninth of it is none");
        assert!(is_text(&[text(bytes, 6), zeros(bytes)].concat()), "headers and the ends of records are zeros");
    }
}
