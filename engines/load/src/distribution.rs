//! How keys are drawn from 1 to n: sysbench's distributions, and the pieces that scripts' random functions share with them. No clock, no state but
//! the source of random numbers.

pub mod zipf;

use crate::arrivals::RandomSource;
use zipf::Zipf;

/// How keys are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyDistribution {
    /// Each key as often as any other.
    Uniform,
    /// Keys in the middle more often: the mean of several uniform draws.
    Gaussian {
        /// How many draws: sysbench's `--rand-spec-iter`.
        draws: u32,
    },
    /// A few hot keys in the middle, as sysbench's default was for years.
    Special(Special),
    /// Keys at the beginning more often, by a power of a uniform draw.
    Pareto {
        /// The fraction of keys that has all draws but this fraction: 0.2 is the rule of 80 and 20 (`--rand-pareto-h`).
        h: f64,
    },
    /// Key k by 1 / k^exponent (`--rand-zipfian-exp`).
    Zipfian {
        /// 0 is uniform; more is more unequal.
        exponent: f64,
    },
}

/// The special distribution: most draws from a gaussian over all keys, the rest from a narrow uniform part in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// Uniform draws whose mean is taken (`--rand-spec-iter`).
    pub draws: u32,
    /// Per cent of all keys that are hot (`--rand-spec-pct`).
    pub hot_percent: u32,
    /// Per cent of draws that go to hot keys (`--rand-spec-res`).
    pub hot_draws_percent: u32,
}

impl Default for Special {
    fn default() -> Self {
        Self { draws: 12, hot_percent: 1, hot_draws_percent: 75 }
    }
}

/// A distribution that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// No draw has no mean.
    #[error("the number of draws is to be from 1 to 1000, not {0}")]
    Draws(u32),
    /// A part of all.
    #[error("per cent are to be below 100, not {0}")]
    Percent(u32),
    /// The fraction is not between 0 and 1.
    #[error("h is to be above 0 and below 1, not {0}")]
    Pareto(f64),
    /// Less than none, or no number.
    #[error("the exponent is to be from 0 to 1000, not {0}")]
    Exponent(f64),
}

impl KeyDistribution {
    /// Whether it can be drawn from.
    pub fn check(&self) -> Result<(), DistributionError> {
        // LIMIT: a thousand draws a key are more than anybody measures by.
        let draws =
            |draws: u32| if (1..=1000).contains(&draws) { Ok(()) } else { Err(DistributionError::Draws(draws)) };
        match *self {
            Self::Uniform => Ok(()),
            Self::Gaussian { draws: number } => draws(number),
            Self::Special(special) => match [special.hot_percent, special.hot_draws_percent].into_iter().max() {
                Some(percent) if percent >= 100 => Err(DistributionError::Percent(percent)),
                _ => draws(special.draws),
            },
            Self::Pareto { h } if h > 0.0 && h < 1.0 => Ok(()),
            Self::Pareto { h } => Err(DistributionError::Pareto(h)),
            Self::Zipfian { exponent } if (0.0..=1000.0).contains(&exponent) => Ok(()),
            Self::Zipfian { exponent } => Err(DistributionError::Exponent(exponent)),
        }
    }

    /// What draws keys from 1 to `keys`.
    pub fn over(&self, keys: u64) -> Result<KeySource, DistributionError> {
        self.check()?;
        let keys = keys.max(1);
        let shape = match *self {
            Self::Uniform => Shape::Uniform,
            Self::Gaussian { draws } => Shape::Gaussian { draws },
            Self::Special(special) => Shape::Special(special),
            Self::Pareto { h } => Shape::Pareto { power: libm::log(h) / libm::log(1.0 - h) },
            Self::Zipfian { exponent } => Shape::Zipfian(Zipf::new(keys, exponent)),
        };
        Ok(KeySource { keys, shape })
    }
}

/// Draws keys, with all that does not change computed once.
#[derive(Clone, Debug)]
pub struct KeySource {
    keys: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform,
    Gaussian { draws: u32 },
    Special(Special),
    Pareto { power: f64 },
    Zipfian(Zipf),
}

impl KeySource {
    /// One key, from 1 to the number of keys.
    pub fn draw(&self, random: &mut RandomSource) -> u64 {
        let fraction = match &self.shape {
            Shape::Uniform => return 1 + below(random, self.keys),
            Shape::Zipfian(zipf) => return zipf.draw(random),
            Shape::Gaussian { draws } => mean(*draws, random),
            Shape::Pareto { power } => libm::pow(random.unit(), *power),
            Shape::Special(special) => return self.special(special, random),
        };
        self.at(fraction)
    }

    fn at(&self, fraction: f64) -> u64 {
        1 + ((self.keys as f64 * fraction) as u64).min(self.keys - 1)
    }

    /// COMPAT: the shares are sysbench's. It draws hot keys from the upper three quarters of their part alone, since it uses one draw for the
    /// choice and for the key; here they come from all of it.
    fn special(&self, special: &Special, random: &mut RandomSource) -> u64 {
        if random.unit() * 100.0 >= f64::from(special.hot_draws_percent) {
            return self.at(mean(special.draws, random));
        }
        let hot = (self.keys as f64 * f64::from(special.hot_percent) / 100.0).max(1.0) as u64;
        let first = (self.keys - hot) / 2;
        1 + first + below(random, hot)
    }
}

fn mean(draws: u32, random: &mut RandomSource) -> f64 {
    (0..draws).map(|_| random.unit()).sum::<f64>() / f64::from(draws)
}

/// From 0 to below `bound`, each as often as any other: the high half of a product, without the draws that would make some values more frequent
/// (Lemire's method).
pub fn below(random: &mut RandomSource, bound: u64) -> u64 {
    let bound = bound.max(1);
    loop {
        let product = u128::from(random.bits()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests;
