//! CRC-32C by carry-less multiplication of 256 bits at a time, for processors that have it without AVX-512 (AMD Zen 3, Intel Alder Lake); `crc-fast` has
//! wide kernels for AVX-512 only. Folds (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009): a block times x^n
//! added to the block n bits on leaves the remainder as it is. What is left is finished by the CRC instruction.
#![expect(unsafe_code, reason = "vector loads through pointers: this loop is what the kernel is for")]

use std::arch::x86_64::{
    __m256i, _mm_crc32_u8, _mm_crc32_u64, _mm256_clmulepi64_epi128, _mm256_loadu_si256, _mm256_set_epi32,
    _mm256_set_epi64x, _mm256_storeu_si256, _mm256_xor_si256,
};

/// Bytes of a step: eight accumulators hide the latency of a multiplication.
const STEP_BYTES: usize = 256;
const LANES: usize = STEP_BYTES / 32;

/// LIMIT: below this the fixed costs outweigh the loop, and below a step there is nothing to fold.
const LEAST_BYTES: usize = 2 * STEP_BYTES;

/// The polynomial without its highest term.
const POLYNOMIAL: u32 = 0x1edc_6f41;

/// x^exponent modulo the polynomial, with its bits in reverse and one place up, as a product of reversed factors needs it.
const fn constant(exponent: u32) -> i64 {
    let (mut remainder, mut at) = (1_u32, 0);
    while at < exponent {
        let carry = remainder >> 31;
        remainder = (remainder << 1) ^ (carry * POLYNOMIAL);
        at += 1;
    }
    (remainder.reverse_bits() as i64) << 1
}

/// Both halves of a lane of 128 bits, moved on by one step.
const LOW: i64 = constant(STEP_BYTES as u32 * 8 + 32);
const HIGH: i64 = constant(STEP_BYTES as u32 * 8 - 32);

/// The CRC-32C of `bytes`; none if something else is faster here: on other processors, and for few bytes.
pub fn crc32c(bytes: &[u8]) -> Option<u32> {
    let is_supported = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("sse4.2")
        && !is_x86_feature_detected!("avx512vl");
    // SAFETY: the processor has all three features.
    (is_supported && bytes.len() >= LEAST_BYTES).then(|| unsafe { fold(bytes) })
}

#[target_feature(enable = "avx2,vpclmulqdq,sse4.2")]
fn fold(bytes: &[u8]) -> u32 {
    let constants = _mm256_set_epi64x(HIGH, LOW, HIGH, LOW);
    let (first, rest) = bytes.split_at(STEP_BYTES);
    let mut lanes = [_mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, 0); LANES];
    for (lane, part) in lanes.iter_mut().zip(first.chunks_exact(32)) {
        *lane = load(part);
    }
    lanes[0] = _mm256_xor_si256(lanes[0], _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, -1));
    let steps = rest.chunks_exact(STEP_BYTES);
    let tail = steps.remainder();
    for step in steps {
        for (lane, part) in lanes.iter_mut().zip(step.chunks_exact(32)) {
            let low = _mm256_clmulepi64_epi128::<0x00>(*lane, constants);
            let high = _mm256_clmulepi64_epi128::<0x11>(*lane, constants);
            *lane = _mm256_xor_si256(_mm256_xor_si256(low, high), load(part));
        }
    }
    let mut folded = [0_u8; STEP_BYTES];
    for (lane, part) in lanes.iter().zip(folded.chunks_exact_mut(32)) {
        // SAFETY: a store of 32 bytes without alignment into a part of 32.
        unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast(), *lane) }
    }
    !finish(finish(0, &folded), tail)
}

#[target_feature(enable = "avx2")]
fn load(part: &[u8]) -> __m256i {
    let part: &[u8; 32] = part.try_into().expect("a part of 32 bytes");
    // SAFETY: a load of 32 bytes without alignment from a part of 32.
    unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
}

/// Goes on with the CRC instruction.
#[target_feature(enable = "sse4.2")]
fn finish(crc: u32, bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    let crc = words.fold(u64::from(crc), |crc, word| {
        _mm_crc32_u64(crc, u64::from_le_bytes(word.try_into().expect("a word of 8 bytes")))
    });
    rest.iter().fold(crc as u32, |crc, byte| _mm_crc32_u8(crc, *byte))
}
