//! Zipf's distribution over 1 to n by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6.3, 1996): exact for every exponent from 0, with
//! no table, and seldom a second draw.

use crate::arrivals::RandomSource;

/// Draws key k with a probability proportional to 1 / k^exponent.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    keys: f64,
    exponent: f64,
    /// Where the hat's integral begins, and where it ends.
    area: (f64, f64),
    /// A draw this near to its key is accepted without a look at the hat.
    shortcut: f64,
}

impl Zipf {
    /// Over keys from 1.
    pub fn new(keys: u64, exponent: f64) -> Self {
        let keys = keys.max(1) as f64;
        let begin = integral(1.5, exponent) - 1.0;
        let end = integral(keys + 0.5, exponent);
        let shortcut = 2.0 - inverse_integral(integral(2.5, exponent) - density(2.0, exponent), exponent);
        Self { keys, exponent, area: (begin, end), shortcut }
    }

    /// One key.
    pub fn draw(&self, random: &mut RandomSource) -> u64 {
        let (begin, end) = self.area;
        loop {
            let area = end + random.unit() * (begin - end);
            let place = inverse_integral(area, self.exponent);
            // Rounding may lead out of the range at its ends.
            let key = libm::floor(place + 0.5).clamp(1.0, self.keys);
            let is_under_hat = || area >= integral(key + 0.5, self.exponent) - density(key, self.exponent);
            if key - place <= self.shortcut || is_under_hat() {
                return key as u64;
            }
        }
    }
}

/// The hat: 1 / x^exponent.
fn density(x: f64, exponent: f64) -> f64 {
    libm::exp(-exponent * libm::log(x))
}

/// The integral of the hat, (x^(1 - exponent) - 1) / (1 - exponent), in a form that is exact at exponent 1, too, where it is log(x).
fn integral(x: f64, exponent: f64) -> f64 {
    let log = libm::log(x);
    exp_minus_1_by(log * (1.0 - exponent)) * log
}

fn inverse_integral(area: f64, exponent: f64) -> f64 {
    // Below -1 there is nothing but errors of rounding.
    let scaled = (area * (1.0 - exponent)).max(-1.0);
    libm::exp(log_1_plus_by(scaled) * area)
}

/// (e^x - 1) / x.
fn exp_minus_1_by(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// log(1 + x) / x.
fn log_1_plus_by(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_is_undone_by_its_inverse() {
        for exponent in [0.0, 0.5, 0.8, 1.0, 1.0 + 1e-10, 1.2, 3.0] {
            for x in [1.5, 2.0, 10.5, 12_345.5] {
                let back = inverse_integral(integral(x, exponent), exponent);
                assert!((back / x - 1.0).abs() < 1e-6, "{x} came back as {back} with exponent {exponent}");
            }
        }
    }

    #[test]
    fn each_key_comes_as_often_as_it_should() {
        const DRAWS: u32 = 200_000;
        for exponent in [0.0, 0.8, 1.0, 1.3, 2.5] {
            let (keys, mut random) = (20_u64, RandomSource::new(7, 0));
            let zipf = Zipf::new(keys, exponent);
            let mut counts = vec![0_u32; keys as usize];
            (0..DRAWS).for_each(|_| counts[zipf.draw(&mut random) as usize - 1] += 1);
            let weight = |key: usize| libm::pow(key as f64, -exponent);
            let all: f64 = (1..=keys as usize).map(weight).sum();
            // Pearson's sum is 19 on average; above 52.4 it is once in ten thousand seeds, and this one is always the same.
            let pearson: f64 = (1..=keys as usize)
                .map(|key| {
                    let expected = f64::from(DRAWS) * weight(key) / all;
                    let off = f64::from(counts[key - 1]) - expected;
                    off * off / expected
                })
                .sum();
            assert!(pearson < 52.4, "exponent {exponent}: {pearson}");
        }
    }

    #[test]
    fn one_key_is_the_only_one() {
        let mut random = RandomSource::new(1, 0);
        assert!((0..100).all(|_| Zipf::new(1, 0.8).draw(&mut random) == 1));
        assert!((0..100).all(|_| Zipf::new(0, 5.0).draw(&mut random) == 1));
    }

    #[test]
    fn many_keys_stay_in_their_range() {
        let mut random = RandomSource::new(2, 0);
        for exponent in [0.0, 0.8, 1.0, 20.0, 1000.0] {
            let zipf = Zipf::new(1 << 40, exponent);
            assert!((0..2000).all(|_| (1..=1 << 40).contains(&zipf.draw(&mut random))), "exponent {exponent}");
        }
    }
}
