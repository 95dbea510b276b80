//! Random functions, hashes and permutations of scripts: the same distributions as pgbench's, and for hashes and permutations the same values.

use crate::arrivals::RandomSource;
use crate::distribution::below;

/// What parameters may be.
pub(super) const GAUSSIAN_MIN: f64 = 2.0;
pub(super) const ZIPFIAN_RANGE: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// From `min` to `max`, whose difference fits an i64, each as often as any other.
pub(super) fn uniform(random: &mut RandomSource, min: i64, max: i64) -> i64 {
    min + below(random, max.abs_diff(min) + 1) as i64
}

/// The place of a fraction of 1 between `min` and `max`.
fn at(min: i64, max: i64, fraction: f64) -> i64 {
    let keys = max.abs_diff(min) + 1;
    min + ((keys as f64 * fraction) as u64).min(keys - 1) as i64
}

/// Falls exponentially, to e^-parameter of its height at the end.
pub(super) fn exponential(random: &mut RandomSource, min: i64, max: i64, parameter: f64) -> i64 {
    let cut = libm::exp(-parameter);
    let uniform = 1.0 - random.unit();
    at(min, max, -libm::log(cut + (1.0 - cut) * uniform) / parameter)
}

/// A bell whose ends lie `parameter` standard deviations from its middle.
pub(super) fn gaussian(random: &mut RandomSource, min: i64, max: i64, parameter: f64) -> i64 {
    loop {
        let (first, second) = (1.0 - random.unit(), random.unit());
        let deviation = libm::sqrt(-2.0 * libm::log(first)) * libm::sin(std::f64::consts::TAU * second);
        if (-parameter..parameter).contains(&deviation) {
            return at(min, max, (deviation + parameter) / (parameter * 2.0));
        }
    }
}

/// Zipf's, by rejection without a sum over all values (Devroye, Non-Uniform Random Variate Generation, p. 550): nothing to precompute, as a script's
/// parameters may change at each call.
pub(super) fn zipfian(random: &mut RandomSource, min: i64, max: i64, exponent: f64) -> i64 {
    let values = (max.abs_diff(min) + 1) as f64;
    if values <= 1.0 {
        return min;
    }
    let b = libm::pow(2.0, exponent - 1.0);
    loop {
        let (u, v) = (1.0 - random.unit(), random.unit());
        let x = libm::floor(libm::pow(u, -1.0 / (exponent - 1.0)));
        let t = libm::pow(1.0 + 1.0 / x, exponent - 1.0);
        if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= values {
            return min.saturating_add(x as i64 - 1).min(max);
        }
    }
}

/// FNV-1a over the eight bytes of a number.
pub(super) fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x100_0000_01b3;
    let bytes = value.to_le_bytes();
    bytes.iter().fold(BASIS ^ seed as u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)) as i64
}

/// MurmurHash2 over the eight bytes of a number.
pub(super) fn hash_murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut key = (value as u64).wrapping_mul(MULTIPLIER);
    key ^= key >> SHIFT;
    key = key.wrapping_mul(MULTIPLIER);
    let mut hash = seed as u64 ^ MULTIPLIER.wrapping_mul(8);
    hash = (hash ^ key).wrapping_mul(MULTIPLIER);
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    (hash ^ hash >> SHIFT) as i64
}

/// Where `value` lies in a permutation of 0 to `size` - 1 that `seed` chooses: six rounds, each of which multiplies, changes and rotates the lower and the
/// upper values among themselves, and moves all of them.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let mut random = Xoroshiro::seeded(seed as u64);
    // COMPAT: a negative value counts as the unsigned number with the same bits.
    let mut place = value as u64 % size;
    for _round in 0..6 {
        for is_upper in [false, true] {
            let (multiplier, change) = ((random.next() & mask) | 1, random.next() & mask);
            let side = if is_upper { size - 1 - place } else { place };
            if side <= mask {
                let changed = (side.wrapping_mul(multiplier) ^ change) & mask;
                let rotated = ((changed << 1) & mask) | (changed >> (bits - 1));
                place = if is_upper { size - 1 - rotated } else { rotated };
            }
        }
        place = (place + random.up_to(size - 1)) % size;
    }
    place as i64
}

/// xoroshiro128**, seeded by splitmix64: PostgreSQL's generator, on which the permutations depend.
struct Xoroshiro {
    state: [u64; 2],
}

impl Xoroshiro {
    fn seeded(seed: u64) -> Self {
        let mut step = seed;
        let mut split = || {
            step = step.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (step ^ step >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        Self { state: [split(), split()] }
    }

    fn next(&mut self) -> u64 {
        let [first, second] = self.state;
        let changed = first ^ second;
        self.state = [first.rotate_left(24) ^ changed ^ changed << 16, changed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// From 0 to `most`, which is above 0, by the highest bits and rejection.
    fn up_to(&mut self, most: u64) -> u64 {
        let shift = most.leading_zeros();
        loop {
            let value = self.next() >> shift;
            if value <= most {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_pgbenchs() {
        // From the tests of pgbench.
        assert_eq!(hash_murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(hash_fnv1a(10, 5432), -7_793_829_335_365_542_153);
    }

    #[test]
    fn permutations_are_pgbenchs() {
        // From the tests of pgbench, which check it on every architecture.
        assert_eq!([permute(0, 2, 5431), permute(1, 2, 5431)], [0, 1]);
        assert_eq!([permute(0, 2, 5433), permute(1, 2, 5433)], [1, 0]);
        let size = i64::MAX - 10;
        let expected = [
            520_382_784_483_822_430,
            1_143_715_004_660_802_862,
            447_293_596_416_496_998,
            916_527_772_266_572_956,
            2_763_809_008_686_028_849,
            8_648_551_549_198_294_572,
            4_542_876_852_200_565_125,
        ];
        for (index, expected) in expected.into_iter().enumerate() {
            assert_eq!(permute(size - 1 - index as i64, size, 5432), expected);
        }
    }

    #[test]
    fn a_permutation_has_each_value_once() {
        for size in [1, 2, 3, 5, 16, 100, 1000] {
            let mut places: Vec<i64> = (0..size).map(|value| permute(value, size, 42)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..size), "of {size}");
        }
    }

    fn draws(draw: impl Fn(&mut RandomSource) -> i64) -> Vec<i64> {
        let mut random = RandomSource::new(9, 0);
        (0..100_000).map(|_| draw(&mut random)).collect()
    }

    fn share(draws: &[i64], is_counted: impl Fn(i64) -> bool) -> f64 {
        draws.iter().filter(|&&draw| is_counted(draw)).count() as f64 / draws.len() as f64
    }

    #[test]
    fn an_exponential_draw_is_as_likely_as_the_manual_says() {
        let (parameter, draws) = (5.0_f64, draws(|random| exponential(random, 1, 100, 5.0)));
        assert!(draws.iter().all(|draw| (1..=100).contains(draw)));
        let probability = |i: f64| {
            ((-parameter * (i - 1.0) / 100.0).exp() - (-parameter * i / 100.0).exp()) / (1.0 - (-parameter).exp())
        };
        for i in [1, 10, 50] {
            let expected = probability(i as f64);
            let error = (expected / draws.len() as f64).sqrt();
            assert!((share(&draws, |draw| draw == i) - expected).abs() < 5.0 * error, "value {i}");
        }
    }

    #[test]
    fn a_gaussian_draw_is_as_likely_as_the_manual_says() {
        // "67% of values are drawn from the middle 1 / parameter ... and 95% in the middle 2 / parameter".
        let draws = draws(|random| gaussian(random, 0, 999, 4.0));
        assert!(draws.iter().all(|draw| (0..1000).contains(draw)));
        assert!((share(&draws, |draw| (375..625).contains(&draw)) - 0.6827).abs() < 0.008);
        assert!((share(&draws, |draw| (250..750).contains(&draw)) - 0.9545).abs() < 0.004);
    }

    #[test]
    fn a_zipfian_draw_is_as_likely_as_the_manual_says() {
        // "with a parameter of 1.5 ... the first value is drawn 2^1.5 times as frequently as the second".
        let draws = draws(|random| zipfian(random, 10, 1009, 1.5));
        assert!(draws.iter().all(|draw| (10..1010).contains(draw)));
        let ratio = share(&draws, |draw| draw == 10) / share(&draws, |draw| draw == 11);
        assert!((ratio - 2.0_f64.powf(1.5)).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn the_widest_ranges_do_not_overflow() {
        let mut random = RandomSource::new(4, 0);
        let (min, max) = (i64::MIN / 2, i64::MAX / 2);
        for _ in 0..1000 {
            for draw in [
                uniform(&mut random, min, max),
                exponential(&mut random, min, max, 0.001),
                gaussian(&mut random, min, max, 2.0),
                zipfian(&mut random, min, max, 1.001),
            ] {
                assert!((min..=max).contains(&draw));
            }
        }
    }
}
