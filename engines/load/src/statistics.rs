//! What measurements say: medians with intervals, differences and ratios of two arms, when to stop measuring, in which order to measure. Intervals are
//! bootstrap percentiles from a seed, so that a report is the same each time. Nothing here decides by significance.

pub mod knee;
pub mod queues;
pub mod scalability;

use crate::arrivals::RandomSource;
use crate::distribution::below;
use serde::Serialize;

/// LIMIT: resamples of an interval; more change its third digit.
const RESAMPLES: usize = 2000;

/// How sure an interval is to be, and what it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Between 0 and 1.
    pub confidence: f64,
    /// The same seed gives the same interval.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { confidence: 0.95, seed: 1 }
    }
}

/// A value, and between which bounds it lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IntervalEstimate {
    /// The value itself.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl IntervalEstimate {
    /// How wide the interval is beside its value; none if that is 0.
    pub fn relative_width(&self) -> Option<f64> {
        (self.value != 0.0).then(|| (self.high - self.low) / self.value.abs())
    }

    /// Whether a value lies inside.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The middle of values, or the mean of the two in the middle; none of none.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if is_even => Some(f64::midpoint(lower, upper)),
        _ => Some(upper),
    }
}

impl Bootstrap {
    /// The median of one sample; none of an empty one.
    pub fn median(&self, sample: &[f64]) -> Option<IntervalEstimate> {
        let value = median(sample)?;
        let mut drawn = Vec::with_capacity(sample.len());
        self.interval(value, |random| {
            resample(sample, random, &mut drawn);
            median_in_place(&mut drawn)
        })
    }

    /// How much more the median of `second` is than that of `first`.
    pub fn difference(&self, first: &[f64], second: &[f64]) -> Option<IntervalEstimate> {
        self.of_two(first, second, |first, second| second - first)
    }

    /// The median of `second` as a multiple of that of `first`; none if a median can be 0.
    pub fn ratio(&self, first: &[f64], second: &[f64]) -> Option<IntervalEstimate> {
        let is_positive = |sample: &[f64]| sample.iter().all(|value| *value > 0.0);
        if !is_positive(first) || !is_positive(second) {
            return None;
        }
        self.of_two(first, second, |first, second| second / first)
    }

    /// Arms are resampled apart from each other.
    fn of_two(&self, first: &[f64], second: &[f64], compare: impl Fn(f64, f64) -> f64) -> Option<IntervalEstimate> {
        let value = compare(median(first)?, median(second)?);
        let mut drawn = Vec::with_capacity(first.len().max(second.len()));
        self.interval(value, |random| {
            resample(first, random, &mut drawn);
            let of_first = median_in_place(&mut drawn)?;
            resample(second, random, &mut drawn);
            Some(compare(of_first, median_in_place(&mut drawn)?))
        })
    }

    /// The percentiles of what is drawn again and again.
    fn interval(&self, value: f64, mut draw: impl FnMut(&mut RandomSource) -> Option<f64>) -> Option<IntervalEstimate> {
        let mut random = RandomSource::new(self.seed, 0);
        let drawn: Option<Vec<f64>> = (0..RESAMPLES).map(|_| draw(&mut random)).collect();
        Some(self.percentiles(value, drawn?))
    }

    fn percentiles(&self, value: f64, mut drawn: Vec<f64>) -> IntervalEstimate {
        drawn.sort_unstable_by(f64::total_cmp);
        let outside = (1.0 - self.confidence.clamp(0.0, 1.0)) / 2.0;
        let last = drawn.len().saturating_sub(1);
        let at = |fraction: f64| {
            drawn.get((fraction * last as f64 + 0.5) as usize).or(drawn.last()).copied().unwrap_or(value)
        };
        IntervalEstimate { value, low: at(outside), high: at(1.0 - outside) }
    }
}

fn resample(sample: &[f64], random: &mut RandomSource, drawn: &mut Vec<f64>) {
    drawn.clear();
    drawn.extend((0..sample.len()).map(|_| sample[below(random, sample.len() as u64) as usize]));
}

/// The order in which arms are measured: forward and backward by turns (A B B A A B ...), so that what drifts meets all arms alike.
pub fn interleaved(arms: usize, rounds: usize) -> impl Iterator<Item = usize> {
    (0..rounds).flat_map(move |round| {
        let is_backward = round % 2 == 1;
        (0..arms).map(move |arm| if is_backward { arms - 1 - arm } else { arm })
    })
}

/// When a value is known well enough: by how wide its interval is, never by what it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// How wide the interval may be beside the value: 0.02 is two per cent of it.
    pub relative_width: f64,
    /// Measurements before the first look; fewer than six give intervals that are too narrow.
    pub least: usize,
    /// Measurements after which it ends in any case.
    pub most: usize,
}

/// Whether to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppingDecision {
    /// There is more to learn.
    GoOn,
    /// The interval is narrow enough.
    Narrow,
    /// There were enough measurements, and the interval is wider than was wanted.
    Exhausted,
}

impl StoppingRule {
    /// Whether to measure on after this sample.
    pub fn decide(&self, sample: &[f64], bootstrap: &Bootstrap) -> StoppingDecision {
        if sample.len() < self.least.min(self.most) {
            return StoppingDecision::GoOn;
        }
        let width = bootstrap.median(sample).and_then(|interval| interval.relative_width());
        match width {
            Some(width) if width <= self.relative_width => StoppingDecision::Narrow,
            _ if sample.len() >= self.most => StoppingDecision::Exhausted,
            _ => StoppingDecision::GoOn,
        }
    }
}

#[cfg(test)]
mod tests;
