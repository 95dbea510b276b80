//! Moments of seeded draws beside their closed forms. The bounds are five standard errors wide, and the draws are always the same.

use super::*;
use proptest::prelude::*;

const DRAWS: usize = 200_000;
const KEYS: u64 = 10_000;

/// Mean and variance of keys as fractions of their range.
fn moments(distribution: KeyDistribution) -> (f64, f64) {
    let source = distribution.over(KEYS).expect("it can be drawn from");
    let mut random = RandomSource::new(11, 0);
    let draws: Vec<f64> = (0..DRAWS).map(|_| (source.draw(&mut random) as f64 - 0.5) / KEYS as f64).collect();
    let mean = draws.iter().sum::<f64>() / DRAWS as f64;
    (mean, draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / DRAWS as f64)
}

fn assert_near(found: (f64, f64), mean: f64, variance: f64) {
    let error = libm::sqrt(variance / DRAWS as f64);
    assert!((found.0 - mean).abs() < 5.0 * error, "mean {} is not {mean}", found.0);
    assert!((found.1 / variance - 1.0).abs() < 0.03, "variance {} is not {variance}", found.1);
}

#[test]
fn uniform_has_mean_a_half_and_variance_a_twelfth() {
    assert_near(moments(KeyDistribution::Uniform), 0.5, 1.0 / 12.0);
}

#[test]
fn gaussian_is_narrower_by_the_number_of_draws() {
    assert_near(moments(KeyDistribution::Gaussian { draws: 12 }), 0.5, 1.0 / 144.0);
    assert_near(moments(KeyDistribution::Gaussian { draws: 1 }), 0.5, 1.0 / 12.0);
}

#[test]
fn pareto_has_the_moments_of_a_power() {
    let power = 0.2_f64.ln() / 0.8_f64.ln();
    let (mean, square) = (1.0 / (1.0 + power), 1.0 / (1.0 + 2.0 * power));
    assert_near(moments(KeyDistribution::Pareto { h: 0.2 }), mean, square - mean * mean);
}

#[test]
fn eighty_per_cent_of_paretos_draws_go_to_twenty_per_cent_of_keys() {
    let source = KeyDistribution::Pareto { h: 0.2 }.over(KEYS).expect("it can be drawn from");
    let mut random = RandomSource::new(3, 0);
    let hot = (0..DRAWS).filter(|_| source.draw(&mut random) <= KEYS / 5).count() as f64 / DRAWS as f64;
    assert!((hot - 0.8).abs() < 0.005, "{hot}");
}

#[test]
fn special_is_a_mixture_of_both() {
    let special = Special { draws: 12, hot_percent: 10, hot_draws_percent: 60 };
    let variance = 0.6 * 0.01 / 12.0 + 0.4 / 144.0;
    assert_near(moments(KeyDistribution::Special(special)), 0.5, variance);
}

#[test]
fn zipfian_has_the_moments_of_its_sums() {
    let weight = |key: u64| libm::pow(key as f64, -0.8);
    let all: f64 = (1..=KEYS).map(weight).sum();
    let moment = |power: f64| -> f64 {
        (1..=KEYS).map(|key| weight(key) * libm::pow((key as f64 - 0.5) / KEYS as f64, power)).sum::<f64>() / all
    };
    let (mean, square) = (moment(1.0), moment(2.0));
    assert_near(moments(KeyDistribution::Zipfian { exponent: 0.8 }), mean, square - mean * mean);
}

#[test]
fn below_takes_each_value_alike() {
    let (mut random, mut counts) = (RandomSource::new(5, 0), [0_u32; 7]);
    (0..70_000).for_each(|_| counts[below(&mut random, 7) as usize] += 1);
    assert!(counts.iter().all(|&count| (9500..10_500).contains(&count)), "{counts:?}");
}

#[test]
fn impossible_distributions_are_refused() {
    let special = |hot_percent, hot_draws_percent| Special { draws: 12, hot_percent, hot_draws_percent };
    for bad in [
        KeyDistribution::Gaussian { draws: 0 },
        KeyDistribution::Special(special(100, 1)),
        KeyDistribution::Special(special(1, 100)),
        KeyDistribution::Pareto { h: 0.0 },
        KeyDistribution::Pareto { h: 1.0 },
        KeyDistribution::Pareto { h: f64::NAN },
        KeyDistribution::Zipfian { exponent: -0.1 },
        KeyDistribution::Zipfian { exponent: f64::NAN },
    ] {
        assert!(bad.over(10).is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn every_key_is_in_range(keys in 1..u64::MAX >> 12, seed: u64, exponent in 0.0..4.0, h in 0.01..0.99) {
        let mut random = RandomSource::new(seed, 0);
        for distribution in [
            KeyDistribution::Uniform,
            KeyDistribution::Gaussian { draws: 3 },
            KeyDistribution::Special(Special::default()),
            KeyDistribution::Pareto { h },
            KeyDistribution::Zipfian { exponent },
        ] {
            let source = distribution.over(keys).expect("it can be drawn from");
            for _ in 0..20 {
                let key = source.draw(&mut random);
                prop_assert!((1..=keys).contains(&key), "{distribution:?} drew {key} of {keys}");
            }
        }
    }
}
