//! The hot loop: symbols while the input is at least eight bytes from its end and the output is before its soft end.
//! It does no bookkeeping per byte; everything that could be cut is left to the careful loop.
//! Theory: one refill to at least 56 bits pays for a whole turn (at most 11 + 5 bits of literals and length or 15 + 5 through
//! a subtable, and 15 + 13 of distance); the next look-up is begun before the copy, and stores run ahead into the slack.
#![expect(unsafe_code, reason = "pointer reads and writes without bounds checks: this loop is what the kernel is for")]
// Invariants all blocks below rest on (`inflate` asserts the first, `Edges` computes the rest):
//  1. `soft_end + SLACK_BYTES <= buffer.len()` and `floor <= at`;
//  2. at the head of a turn `next <= last_read`, where eight bytes are readable at `last_read`; a turn reads once, at `next`;
//  3. at the head of a turn `at < soft_end`; a turn writes at most 4 + 258 + COPY_OVERSHOOT bytes from `at` on;
//  4. a copy reads from `at - distance` with `1 <= distance <= at - floor`, and never past where it writes.

use super::bits::BitReader;
use super::tables::{DISTANCE_BITS, SYMBOL_BITS, Tables};
use super::{Halt, InflateError, Output, Pause, SLACK_BYTES, too_far};

/// Bytes that copies may write behind a match.
const COPY_OVERSHOOT: usize = 64;
const _: () = assert!(4 + 258 + COPY_OVERSHOOT <= SLACK_BYTES, "the slack takes in what a turn may write");

/// Decodes symbols until the block ends or an edge is near.
pub(super) fn symbols(tables: &Tables, bits: &mut BitReader<'_>, output: &mut Output<'_>) -> Result<Pause, Halt> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { symbols_bmi2(tables, bits, output) };
    }
    turns(tables, bits, output)
}

/// The same, with shifts that leave the flags alone and take any register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn symbols_bmi2(tables: &Tables, bits: &mut BitReader<'_>, output: &mut Output<'_>) -> Result<Pause, Halt> {
    turns(tables, bits, output)
}

/// Reads eight bytes as a little-endian number.
///
/// # Safety
///
/// They are readable.
#[inline(always)]
unsafe fn word_at(from: *const u8) -> u64 {
    // SAFETY: as the caller promises; unaligned reads are asked for as such.
    u64::from_le(unsafe { from.cast::<u64>().read_unaligned() })
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

/// Longer than other functions may be, since its state has to live in registers: calls and structs would spill it.
#[inline(always)]
fn turns(tables: &Tables, bits: &mut BitReader<'_>, output: &mut Output<'_>) -> Result<Pause, Halt> {
    let Some(last_read) = bits.input.len().checked_sub(8) else { return Ok(Pause::Edge) };
    if bits.next > last_read || output.at >= output.soft_end {
        return Ok(Pause::Edge);
    }
    let input = bits.input.as_ptr();
    let buffer = output.buffer.as_mut_ptr();
    // SAFETY: all four are offsets inside the slices, by invariants 1 and 2.
    let (mut next, last_read, floor, mut at, soft_end) = unsafe {
        let floor = buffer.add(output.floor);
        (input.add(bits.next), input.add(last_read), floor, buffer.add(output.at), buffer.add(output.soft_end))
    };
    let mut word = bits.word;
    let mut count = bits.count;

    macro_rules! refill {
        () => {
            // SAFETY: invariant 2.
            word |= unsafe { word_at(next) } << (count & 63);
            // SAFETY: at most seven bytes on, of the eight that are there.
            next = unsafe { next.add((!(count >> 3) & 7) as usize) };
            count |= 56;
        };
    }
    macro_rules! take {
        ($entry:expr) => {
            word >>= $entry & 63;
            // Only the lowest byte of the count is a count: the others gather rubbish, which is cheaper than masking.
            count = count.wrapping_sub($entry as u32);
        };
    }
    macro_rules! look_up {
        () => {
            tables.symbols[word as usize & ((1 << SYMBOL_BITS) - 1)]
        };
    }

    refill!();
    let mut symbol = look_up!();
    let pause = loop {
        if next > last_read || at >= soft_end {
            break Ok(Pause::Edge);
        }
        let ahead = word;
        let literals = (symbol.0 >> 32) as u32;
        // SAFETY: invariant 3.
        unsafe {
            at.cast::<u32>().write_unaligned(literals.to_le());
            at = at.add((symbol.0 >> 56) as usize);
        }
        take!(symbol.0);
        if !symbol.is_match() {
            if symbol.is_exceptional() {
                if symbol.is_link() {
                    symbol = tables.linked_symbol(symbol, word);
                    continue;
                }
                break if symbol.is_end() { Ok(Pause::EndOfBlock) } else { Err(InflateError::LiteralSymbol) };
            }
            symbol = look_up!();
            refill!();
            continue;
        }
        let length = symbol.length(ahead);
        let ahead = word;
        let mut entry = tables.distances[word as usize & ((1 << DISTANCE_BITS) - 1)];
        if entry.is_exceptional() {
            entry = tables.linked_distance(entry, word);
            if entry.is_invalid() {
                break Err(InflateError::DistanceSymbol);
            }
        }
        take!(entry.0);
        let distance = entry.distance(ahead);
        refill!();
        symbol = look_up!();
        let available = at as usize - floor as usize;
        if distance > available {
            break Err(too_far(distance, available));
        }
        // SAFETY: invariants 3 and 4.
        unsafe {
            copy_match(at, distance, length);
            at = at.add(length);
        }
    };
    output.at = at as usize - buffer as usize;
    bits.next = next as usize - input as usize;
    bits.word = word;
    bits.count = count & 0xff;
    Ok(pause?)
}

/// Repeats what stands `distance` before `to`.
///
/// # Safety
///
/// `distance` bytes before `to` are readable, `length + COPY_OVERSHOOT` from it on writable; both are at least 1.
#[inline(always)]
unsafe fn copy_match(to: *mut u8, distance: usize, length: usize) {
    // SAFETY: reads begin `distance` before the writes and stay behind them; writes stop less than 32 past `length`.
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
            copy_near(to, distance, length);
        }
    }
}

/// The same for distances below 16: the pattern is made as long as a word first.
///
/// # Safety
///
/// As for [`copy_match`].
#[inline(always)]
unsafe fn copy_near(to: *mut u8, distance: usize, length: usize) {
    // SAFETY: as for `copy_match`.
    unsafe {
        let from = to.sub(distance);
        if distance == 1 {
            std::ptr::write_bytes(to, *from, (length + 15) & !15);
            return;
        }
        if distance >= 8 {
            let mut done = 0;
            while done < length {
                let word = from.add(done).cast::<u64>().read_unaligned();
                to.add(done).cast::<u64>().write_unaligned(word);
                done += 8;
            }
            return;
        }
        for done in 0..length {
            *to.add(done) = *from.add(done);
        }
    }
}
