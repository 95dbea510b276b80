//! The second step: what the sequences of a block say is copied, block after block, into a ring that holds the frame's window.
#![expect(unsafe_code, reason = "copies of 32 bytes that overshoot, whose bounds are checked once a block")]
// Invariants all blocks below rest on:
//  1. those of `DecodedBlock`: its lengths add up to `size`, and its literals have `SLACK` bytes behind them;
//  2. `bytes` is `room + SLACK` long, and a block of `size` is laid at `at` with `at + size <= room`: a copy that ends within the block may overshoot by 32;
//  3. no match begins further back than `at`, or, where `lap_end` is behind the block, than `window` bytes, of which those before the lap are the last ones
//     in front of `lap_end`. As `room` is two blocks and `SLACK` more than the window, they lie behind what the block and its overshoot overwrite.

use super::entropy::DecodedBlock;
use super::sequences::Sequence;
use super::{BLOCK_BYTES, BlockDefect, SLACK};
use core::arch::x86_64::{
    __m128i, __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_storeu_si128, _mm256_loadu_si256,
    _mm256_storeu_si256,
};

/// Room beside the window: the less of it, the more often a match reaches behind the ring's end.
const BESIDE_WINDOW: usize = 4 << 20;

/// Sequences whose source is fetched ahead.
const AHEAD: usize = 8;

/// Bytes of a copy.
const WIDE: usize = 32;

/// The last bytes of a frame, and its repeat offsets.
pub struct BlockHistory {
    bytes: Vec<u8>,
    room: usize,
    /// Where the next block goes.
    at: usize,
    /// Where the lap before ended; 0 in the first one.
    lap_end: usize,
    window: u64,
    done: u64,
    repeats: [i64; 3],
}

impl BlockHistory {
    /// Of a frame with this window, in bytes; it holds 4 MiB and two blocks more. None where there is no memory for it.
    pub fn new(window: usize) -> Option<Self> {
        let room = window + BESIDE_WINDOW + 2 * BLOCK_BYTES + SLACK;
        // Asked for first, since what follows, which leaves fresh zeros untouched, ends the process where there is none.
        Vec::<u8>::new().try_reserve_exact(room + SLACK).ok()?;
        // The first repeat offsets are those of RFC 8878 section 3.1.1.5.
        Some(Self {
            bytes: vec![0; room + SLACK],
            room,
            at: 0,
            lap_end: 0,
            window: window as u64,
            done: 0,
            repeats: [1, 4, 8],
        })
    }

    /// Bytes so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Places a block behind the ones before; its content.
    ///
    /// # Errors
    ///
    /// A match reaches back before the frame's start, or the window's.
    pub fn append(&mut self, block: &mut DecodedBlock) -> Result<&[u8], BlockDefect> {
        const FAR: BlockDefect = "a match reaches back too far";
        let limit = self.done.min(self.window) as i64;
        let mut least = i64::from(block.least);
        for open in &block.open {
            let known = self.repeats.get(usize::from(open.repeat)).copied().unwrap_or(0);
            let offset = known - i64::from(open.minus);
            let from = i64::from(open.to) - offset;
            if offset <= 0 || -from > limit {
                return Err(FAR);
            }
            least = least.min(from);
            block.sequences[open.sequence as usize].from = from as i32;
        }
        if -least > limit {
            return Err(FAR);
        }
        self.repeats = block.repeats.map(|offset| DecodedBlock::resolve(offset, self.repeats));
        if self.at + block.size > self.room {
            (self.lap_end, self.at) = (self.at, 0);
        }
        let sequences = &block.sequences[..block.count + AHEAD];
        let begin = self.at;
        // A match of a block before this lap is behind the ring's end.
        // SAFETY: the decoder that made the block has found the instructions; all matches are within reach, as invariant 3 has it.
        unsafe {
            if -least > begin as i64 {
                self.copy::<true>(sequences, &block.literals, block.literals_size);
            } else {
                self.copy::<false>(sequences, &block.literals, block.literals_size);
            }
        }
        self.at += block.size;
        self.done += block.size as u64;
        Ok(&self.bytes[begin..self.at])
    }

    /// # Safety
    ///
    /// The CPU has AVX2, and all of the block's matches are within reach.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    unsafe fn copy<const REACHES_BEHIND: bool>(
        &mut self,
        sequences: &[Sequence],
        literals: &[u8],
        literals_size: usize,
    ) {
        let ring = self.bytes.as_mut_ptr();
        let count = sequences.len() - AHEAD;
        let mut literal = literals.as_ptr();
        // SAFETY: invariants 1 to 3, each pointer stays within the ring, or the literals.
        unsafe {
            let begin = ring.add(self.at);
            let literals_end = literal.add(literals_size);
            let mut to = begin;
            for number in 0..count {
                let ahead = sequences.get_unchecked(number + AHEAD);
                _mm_prefetch::<_MM_HINT_T0>(begin.wrapping_offset(ahead.from as isize).cast::<i8>());
                let sequence = *sequences.get_unchecked(number);
                let length = usize::from(sequence.literals);
                far_copy(to, literal, length);
                (to, literal) = (to.add(length), literal.add(length));
                let mut left = usize::from(sequence.matched);
                let mut back = self.at as isize + sequence.from as isize;
                if REACHES_BEHIND && back < 0 {
                    let behind = left.min(back.unsigned_abs());
                    far_copy(to, ring.add(self.lap_end).offset(back), behind);
                    (to, left, back) = (to.add(behind), left - behind, back + behind as isize);
                    if left == 0 {
                        continue;
                    }
                }
                let from = ring.wrapping_offset(back).cast_const();
                let distance = to as usize - from as usize;
                if distance >= WIDE {
                    far_copy(to, from, left);
                } else if left > 0 {
                    near_copy(to, from, distance, left);
                }
                to = to.add(left);
            }
            let left = literals_end as usize - literal as usize;
            std::ptr::copy_nonoverlapping(literal, to, left);
        }
    }
}

/// Copies in steps of 32 bytes, at least one.
///
/// # Safety
///
/// `from` and `to` are 32 bytes apart or more, and both have so many bytes beyond the end.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn far_copy(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller's.
    unsafe {
        _mm256_storeu_si256(to.cast::<__m256i>(), _mm256_loadu_si256(from.cast::<__m256i>()));
        let mut done = WIDE;
        while done < length {
            _mm256_storeu_si256(to.add(done).cast::<__m256i>(), _mm256_loadu_si256(from.add(done).cast::<__m256i>()));
            done += WIDE;
        }
    }
}

/// Copies where source and target overlap: the bytes in between are repeated.
///
/// # Safety
///
/// `from` is `distance` bytes before `to`, at least one, and there are 32 bytes beyond the end.
#[target_feature(enable = "avx2")]
unsafe fn near_copy(to: *mut u8, from: *const u8, distance: usize, length: usize) {
    // SAFETY: the caller's.
    unsafe {
        let mut done = 0;
        if distance >= 16 {
            while done < length {
                let bytes = _mm_loadu_si128(from.add(done).cast::<__m128i>());
                _mm_storeu_si128(to.add(done).cast::<__m128i>(), bytes);
                done += 16;
            }
            return;
        }
        let mut pattern = [0_u8; 16];
        for (number, byte) in pattern.iter_mut().enumerate() {
            *byte = *from.add(number % distance);
        }
        let bytes = _mm_loadu_si128(pattern.as_ptr().cast::<__m128i>());
        while done < length {
            _mm_storeu_si128(to.add(done).cast::<__m128i>(), bytes);
            done += 16 - 16 % distance;
        }
    }
}
