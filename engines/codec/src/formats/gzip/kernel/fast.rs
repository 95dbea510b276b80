//! The hot loop: symbols while the input is at least eight bytes from its end and the output is before its soft end.
//! It does no bookkeeping per byte; everything that could be cut is left to the careful loop.
//! Theory: one refill to at least 56 bits pays for a whole turn (at most 15 + 5 bits of literal and length, 15 + 13 of
//! distance). `word` is in truth full to its 64th bit after a refill, so the next look-up of 11 bits does not wait for the
//! next refill. It is begun before the copy, and stores run ahead into the slack.
#![expect(unsafe_code, reason = "pointer reads and writes without bounds checks: this loop is what the kernel is for")]
// Invariants all blocks below rest on (`inflate` asserts the first, `turns` keeps the others):
//  1. `soft_end + SLACK_BYTES <= buffer.len()` and `floor <= at`;
//  2. at the head of a turn `next <= last_read`, where eight bytes are readable at `last_read`; a turn reads once, at `next`;
//  3. at the head of a turn `at < soft_end`; a turn writes at most 2 + 258 cells and COPY_OVERSHOOT bytes from `at` on;
//  4. a copy reads from `at - distance` with `1 <= distance <= at - floor`, and never past where it writes.

use super::bits::BitReader;
use super::tables::{DISTANCE_BITS, InflateTables, Portable, Processor, SYMBOL_BITS};
use super::{ByteCell, Halt, InflateError, Output, Pause, SLACK_BYTES, too_far};

/// Bytes that copies may write behind a match: less than one round of the copying loop.
const COPY_OVERSHOOT: usize = 64;
const _: () = assert!(2 + 258 + COPY_OVERSHOOT <= SLACK_BYTES, "the slack takes in what a turn may write");

/// Decodes symbols until the block ends or an edge is near.
pub(super) fn symbols<C: ByteCell>(
    tables: &InflateTables,
    bits: &mut BitReader<'_>,
    output: &mut Output<'_, C>,
) -> Result<Pause, Halt> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { symbols_on_avx2(tables, bits, output) };
    }
    turns::<Portable, C>(tables, bits, output)
}

/// The same, with shifts that leave the flags alone and take any register (BMI2), and three-operand moves (AVX).
/// The 32-byte registers of AVX2 are left unused: copies of 32 bytes measured slower than two of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn symbols_on_avx2<C: ByteCell>(
    tables: &InflateTables,
    bits: &mut BitReader<'_>,
    output: &mut Output<'_, C>,
) -> Result<Pause, Halt> {
    turns::<Bmi2, C>(tables, bits, output)
}

/// One with BMI2. Only for code that is reached where it was detected.
#[cfg(target_arch = "x86_64")]
struct Bmi2;

#[cfg(target_arch = "x86_64")]
impl Processor for Bmi2 {
    #[inline(always)]
    fn low_bits(word: u64, entry: u32) -> u64 {
        // The compiler finds this instruction in the portable form, but not that it needs no mask.
        // SAFETY: this type is only named below the detection in `symbols`.
        unsafe { std::arch::x86_64::_bzhi_u64(word, entry) }
    }
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

/// The loop itself. Longer than other functions may be, since its state has to live in registers: calls and structs would spill it.
#[inline(always)]
fn turns<P: Processor, C: ByteCell>(
    tables: &InflateTables,
    bits: &mut BitReader<'_>,
    output: &mut Output<'_, C>,
) -> Result<Pause, Halt> {
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
            // Only the lowest six bits of the count are a count: the others gather rubbish, which is cheaper than masking.
            count = count.wrapping_sub($entry);
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
        // Two cells whether or not there are literals: a branch would cost more.
        // SAFETY: invariant 3.
        unsafe {
            at.cast::<[C; 2]>().write_unaligned(C::pair(symbol.literals()));
            at = at.add(symbol.literal_count());
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
        let length = symbol.length::<P>(ahead);
        let ahead = word;
        let mut entry = tables.distances[word as usize & ((1 << DISTANCE_BITS) - 1)];
        if entry.is_exceptional() {
            entry = tables.linked_distance(entry, word);
            if entry.is_invalid() {
                break Err(InflateError::DistanceSymbol);
            }
        }
        take!(entry.0);
        let distance = entry.distance::<P>(ahead);
        // Before the refill, see the theory above: at most 48 of 64 bits are gone.
        symbol = look_up!();
        refill!();
        let (back, bytes) = (distance * size_of::<C>(), length * size_of::<C>());
        let available = at as usize - floor as usize;
        if back > available {
            break Err(too_far(distance, available / size_of::<C>()));
        }
        // SAFETY: invariants 3 and 4.
        unsafe {
            copy_match(at.cast(), back, bytes);
            at = at.byte_add(bytes);
        }
    };
    output.at = output.floor + (at as usize - floor as usize) / size_of::<C>();
    bits.next = next as usize - input as usize;
    bits.word = word;
    bits.count = count & 63;
    Ok(pause?)
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
            // Three unasked: 32 bytes are mispredicted more often, 64 cost more stores; both measured slower.
            copy_16(from.add(32), to.add(32));
            let mut done = 48;
            while done < length {
                copy_16(from.add(done), to.add(done));
                copy_16(from.add(done + 16), to.add(done + 16));
                copy_16(from.add(done + 32), to.add(done + 32));
                copy_16(from.add(done + 48), to.add(done + 48));
                done += 64;
            }
        } else {
            copy_near(from, to, distance, length);
        }
    }
}

/// Per distance below 8: what makes a word of the pattern out of its first occurrence, by multiplication.
const SPREAD: [u64; 8] = [
    0,
    0x0101_0101_0101_0101,
    0x0001_0001_0001_0001,
    1 | 1 << 24 | 1 << 48,
    1 | 1 << 32,
    1 | 1 << 40,
    1 | 1 << 48,
    1 | 1 << 56,
];

/// Per distance below 8: its largest multiple in a word.
const STEP: [usize; 8] = [8, 8, 8, 6, 8, 5, 6, 7];

/// The same for distances below 16.
///
/// # Safety
///
/// As for [`copy_match`].
#[inline(always)]
unsafe fn copy_near(from: *const u8, to: *mut u8, distance: usize, length: usize) {
    // SAFETY: as for `copy_match`; the eight bytes read at once may reach past `to`, where the buffer has its slack.
    unsafe {
        let mut done = 0;
        if distance >= 8 {
            while done < length {
                to.add(done).cast::<u64>().write_unaligned(from.add(done).cast::<u64>().read_unaligned());
                done += 8;
            }
            return;
        }
        let pattern = word_at(from) & ((1 << (8 * distance)) - 1);
        let word = pattern.wrapping_mul(SPREAD[distance & 7]).to_le();
        // The largest multiple of the distance in a word: there the pattern begins again.
        let step = STEP[distance & 7];
        while done < length {
            to.add(done).cast::<u64>().write_unaligned(word);
            done += step;
        }
    }
}
