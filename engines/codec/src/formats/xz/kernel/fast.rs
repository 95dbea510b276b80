//! The hot loop: symbols while input and output are not near their ends.
//! Theory: `trees` tells how bits are decoded; here are the bits that are worth a branch, and the copies. The output is
//! addressed from the dictionary's first byte on, so that one number is the position, the state it gives, and how far back there
//! is something. Stores of copies run ahead into the slack.
#![expect(unsafe_code, reason = "pointer reads and writes without bounds checks: this loop is what the kernel is for")]
// Invariants all blocks below rest on (`symbols` establishes 1 and 2, the loop keeps all):
//  1. at the head of a turn `next <= last_next`, behind which INPUT_SLACK_BYTES are readable; a symbol takes at most 20 bytes,
//     and nothing is read further ahead than 8 bytes behind those;
//  2. at the head of a turn `at < soft_end`, behind which OUTPUT_SLACK_BYTES are writable; a turn writes at most
//     MATCH_BYTES_MAX + COPY_OVERSHOOT bytes from `at` on;
//  3. a copy and a match byte are read from `at - distance` with `1 <= distance <= at`: the four distances were checked
//     against `at` when they were decoded or are 1, `at` only grows until they are reset, and a repeat asks for `at > 0`;
//  4. `state` is below STATES, the position state below POSITION_STATES, a literal's context below 16: `Properties` bounds them.

use super::careful::{RANGE_MIN, RangeDecoder};
use super::model::{
    ALIGN, IS_MATCH, IS_REPEAT, IS_REPEAT_0, IS_REPEAT_0_LONG, IS_REPEAT_1, IS_REPEAT_2, LENGTH_HIGH, LENGTH_IS_HIGH,
    LENGTH_IS_NOT_LOW, LENGTH_LOW, LENGTH_MIDDLE, LITERAL_ROW, LITERAL_STATES, LITERALS, MATCH_BYTES_MAX,
    MATCH_BYTES_MIN, MATCH_LENGTHS, MOVE_BITS, Model, NEAR, PROBABILITY_BITS, REPEAT_LENGTHS, SLOT_DIRECT,
    SLOT_MODELLED, SLOTS, after_literal, after_match, after_repeat, after_short_repeat,
};
use super::trees::{Coder, direct, matched_tree, tree_of, tree_of_3, tree_of_4, tree_of_6, tree_of_8};
use super::{Lzma2Error, Output, too_far};

/// Bytes that a symbol may take in (22 bits with probabilities, 26 without: 20 bytes), and what is read ahead.
const INPUT_SLACK_BYTES: usize = 32;

/// Bytes that copies may write behind a match.
const COPY_OVERSHOOT: usize = 64;
const OUTPUT_SLACK_BYTES: usize = MATCH_BYTES_MAX + COPY_OVERSHOOT;

/// Five bits in the other order.
const REVERSED: [u8; 32] = {
    let mut reversed = [0; 32];
    let mut bits = 0;
    while bits < 32 {
        reversed[bits as usize] = (bits as u8).reverse_bits() >> 3;
        bits += 1;
    }
    reversed
};

/// Decodes a bit by the probability at an offset, and goes on in one of two ways.
macro_rules! branch {
    ($coder:ident, $probabilities:ident, $offset:expr, $if_0:expr, $if_1:expr) => {{
        // SAFETY: the offset is inside the array by invariant 4.
        let probability = unsafe { $probabilities.add($offset) };
        if $coder.range < RANGE_MIN {
            $coder.range <<= 8;
            // SAFETY: invariant 1.
            unsafe {
                $coder.code = $coder.code << 8 | u32::from(*$coder.next);
                $coder.next = $coder.next.add(1);
            }
        }
        // SAFETY: as above.
        let value = u32::from(unsafe { *probability });
        let bound = ($coder.range >> PROBABILITY_BITS) * value;
        if $coder.code < bound {
            $coder.range = bound;
            // SAFETY: as above.
            unsafe { *probability = (value + (((1 << PROBABILITY_BITS) - value) >> MOVE_BITS)) as u16 };
            $if_0
        } else {
            $coder.range -= bound;
            $coder.code = $coder.code.wrapping_sub(bound);
            // SAFETY: as above.
            unsafe { *probability = (value - (value >> MOVE_BITS)) as u16 };
            $if_1
        }
    }};
}

/// Decodes symbols until the chunk ends or an edge is near. `input` goes on behind the chunk, and may be taken in beyond it.
pub(super) fn symbols(
    model: &mut Model,
    decoder: &mut RangeDecoder,
    input: &[u8],
    output: &mut Output<'_>,
) -> Result<(), Lzma2Error> {
    let Some(last_next) = input.len().checked_sub(INPUT_SLACK_BYTES) else { return Ok(()) };
    let Some(soft_end) = output.buffer.len().checked_sub(OUTPUT_SLACK_BYTES) else { return Ok(()) };
    let (chunk_end, soft_end) = (output.chunk_end, soft_end.min(output.chunk_end));
    let dictionary_bytes = output.dictionary_bytes;
    let base = output.buffer.as_mut_ptr();
    let begin = input.as_ptr();
    if decoder.next > last_next {
        return Ok(());
    }
    // SAFETY: both are offsets inside the input.
    let (next, last_next) = unsafe { (begin.add(decoder.next), begin.add(last_next)) };
    let mut coder = Coder { range: decoder.range, code: decoder.code, next };
    let probabilities = model.probabilities.as_mut_ptr();
    let properties = model.properties;
    let position_mask = (1usize << properties.position_bits) - 1;
    let literal_mask = (1usize << properties.literal_position_bits) - 1;
    let context_bits = properties.context_bits;
    let context_shift = 4 - context_bits;
    let mut state = model.state;
    let [mut distance, mut distance_1, mut distance_2, mut distance_3] = model.distances;
    let mut at = output.at;
    // Bytes in front of `at` that are yet to be copied, and from how far back.
    let (mut pending, mut pending_distance) = (0, 1);
    // The high four bits of the byte before.
    let mut before = if at == 0 { 0 } else { u32::from(output.buffer[at - 1] >> 4) };

    macro_rules! flush {
        () => {
            // SAFETY: invariants 2 and 3, which held for the match when it was put off.
            unsafe { copy_match(base.add(at - pending), pending_distance, pending) };
        };
    }

    let end = loop {
        if at >= soft_end || coder.next > last_next {
            break Ok(());
        }
        let position_state = at & position_mask;
        let row = (state as usize) * 16 + position_state;
        let is_match = branch!(coder, probabilities, IS_MATCH + row, false, true);
        if !is_match {
            let position_context = (at & literal_mask) << context_bits;
            let row_of = |before: u32| {
                let context = position_context | ((before & 15) >> context_shift) as usize;
                // SAFETY: the row is one of 16 by invariant 4.
                unsafe { probabilities.add(LITERALS + context * LITERAL_ROW) }
            };
            let (byte, high) = if state < LITERAL_STATES {
                // SAFETY: invariant 1.
                unsafe { tree_of_8(&mut coder, row_of(before)) }
            } else {
                if pending != 0 {
                    flush!();
                    pending = 0;
                    // SAFETY: invariant 3.
                    before = u32::from(unsafe { *base.add(at - 1) } >> 4);
                }
                // SAFETY: invariants 1 and 3.
                unsafe { matched_tree(&mut coder, row_of(before), *base.add(at - distance as usize - 1)) }
            };
            // SAFETY: invariant 2.
            unsafe { *base.add(at) = byte as u8 };
            before = high;
            at += 1;
            state = after_literal(state);
            continue;
        }
        let lengths;
        let is_repeat = branch!(coder, probabilities, IS_REPEAT + state as usize, false, true);
        if is_repeat {
            if at == 0 {
                break Err(too_far(distance, 0));
            }
            let is_other = branch!(coder, probabilities, IS_REPEAT_0 + state as usize, false, true);
            if !is_other {
                let is_long = branch!(coder, probabilities, IS_REPEAT_0_LONG + row, false, true);
                if !is_long {
                    if pending != 0 {
                        flush!();
                        pending = 0;
                    }
                    // SAFETY: invariants 2 and 3.
                    let byte = unsafe {
                        let byte = *base.add(at - distance as usize - 1);
                        *base.add(at) = byte;
                        byte
                    };
                    before = u32::from(byte >> 4);
                    at += 1;
                    state = after_short_repeat(state);
                    continue;
                }
            } else {
                let chosen = branch!(coder, probabilities, IS_REPEAT_1 + state as usize, distance_1, {
                    let chosen = branch!(coder, probabilities, IS_REPEAT_2 + state as usize, distance_2, {
                        let chosen = distance_3;
                        distance_3 = distance_2;
                        chosen
                    });
                    distance_2 = distance_1;
                    chosen
                });
                distance_1 = distance;
                distance = chosen;
            }
            state = after_repeat(state);
            lengths = REPEAT_LENGTHS;
        } else {
            (distance_3, distance_2, distance_1) = (distance_2, distance_1, distance);
            state = after_match(state);
            lengths = MATCH_LENGTHS;
        }
        // The trees stand inside the branches: chosen first and decoded behind them, they were slower.
        let length = branch!(
            coder,
            probabilities,
            lengths + LENGTH_IS_NOT_LOW,
            {
                let offset = lengths + LENGTH_LOW + 8 * position_state;
                // SAFETY: the tree is inside the array, by its offset and invariant 4; bytes are there by invariant 1.
                unsafe { tree_of_3(&mut coder, probabilities.add(offset)) - 8 + MATCH_BYTES_MIN }
            },
            branch!(
                coder,
                probabilities,
                lengths + LENGTH_IS_HIGH,
                {
                    let offset = lengths + LENGTH_MIDDLE + 8 * position_state;
                    // SAFETY: as above.
                    unsafe { tree_of_3(&mut coder, probabilities.add(offset)) + MATCH_BYTES_MIN }
                },
                // SAFETY: as above.
                unsafe {
                    tree_of_8(&mut coder, probabilities.add(lengths + LENGTH_HIGH)).0 - 256 + MATCH_BYTES_MIN + 16
                }
            )
        ) as usize;
        if !is_repeat {
            // SAFETY: as above; the trees of slots below 14 lie inside of NEAR's 128.
            distance = unsafe {
                let by_length = (length - MATCH_BYTES_MIN as usize).min(3);
                let slot = tree_of_6(&mut coder, probabilities.add(SLOTS + 64 * by_length)) - 64;
                if slot < SLOT_MODELLED {
                    slot
                } else {
                    let count = (slot >> 1) - 1;
                    let high = 2 | slot & 1;
                    if slot < SLOT_DIRECT {
                        let smallest = high << count;
                        let node = tree_of(&mut coder, probabilities.add(NEAR + (smallest - slot) as usize), count);
                        smallest + u32::from(REVERSED[((node << (5 - count)) & 31) as usize])
                    } else {
                        let high = direct(&mut coder, high, count - 4);
                        prefetch(base.wrapping_add(at).wrapping_sub((high << 4) as usize + 8));
                        let node = tree_of_4(&mut coder, probabilities.add(ALIGN));
                        high << 4 | u32::from(REVERSED[(node << 1 & 31) as usize])
                    }
                }
            };
            let available = at.min(dictionary_bytes);
            if distance as usize >= available {
                break Err(too_far(distance, available));
            }
        }
        if length > chunk_end - at {
            break Err(Lzma2Error::MatchTooLong);
        }
        // Whether or not there is one: a branch would cost more.
        flush!();
        pending_distance = distance as usize + 1;
        pending = length;
        let from = base.wrapping_add(at - pending_distance);
        prefetch(from);
        prefetch(from.wrapping_add(length));
        at += length;
    };
    if pending != 0 {
        flush!();
    }
    output.at = at;
    *decoder = RangeDecoder { range: coder.range, code: coder.code, next: coder.next as usize - begin as usize };
    model.state = state;
    model.distances = [distance, distance_1, distance_2, distance_3];
    end
}

/// Has a cache line brought in, wherever it is.
#[inline(always)]
fn prefetch(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint only, that may point anywhere.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

/// Copies sixteen bytes, all of which are read before one is written.
///
/// # Safety
///
/// They are readable and writable.
#[inline(always)]
unsafe fn copy_16(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises; unaligned accesses are asked for as such.
    unsafe { to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()) }
}

/// Repeats what stands `distance` before `to`.
///
/// # Safety
///
/// `distance` bytes before `to` are readable, `length + COPY_OVERSHOOT` from it on writable; both are at least 1.
#[inline(always)]
unsafe fn copy_match(to: *mut u8, distance: usize, length: usize) {
    // SAFETY: reads begin `distance` before the writes and stay behind them; writes stop less than 64 past `length`.
    unsafe {
        let from = to.sub(distance).cast_const();
        if distance >= 16 {
            copy_16(from, to);
            copy_16(from.add(16), to.add(16));
            let mut done = 32;
            while done < length {
                copy_16(from.add(done), to.add(done));
                copy_16(from.add(done + 16), to.add(done + 16));
                done += 32;
            }
        } else {
            copy_near(from, to, distance, length);
        }
    }
}

/// The same for distances below 16: the pattern grows by itself until sixteen bytes can be copied at once.
///
/// # Safety
///
/// As for [`copy_match`].
#[inline(always)]
unsafe fn copy_near(from: *const u8, to: *mut u8, distance: usize, length: usize) {
    // SAFETY: as for `copy_match`: each byte is read after it was written, at most sixteen of them are written behind the match.
    unsafe {
        let head = length.min(16);
        for index in 0..head {
            *to.add(index) = *from.add(index);
        }
        // A multiple of the distance that is at least 16 where that many have been written, and not past them.
        let mut done = head;
        let step = distance * (16 / distance);
        while done < length {
            copy_16(to.add(done - step), to.add(done));
            done += step;
        }
    }
}
