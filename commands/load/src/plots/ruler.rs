//! Where a value lies along an axis, and which values are named there. Logarithms are those of `libm`, not the C library's.

use super::Scale;
use std::f64::consts::LOG10_2;

/// An axis of a known range, from one place of the picture to another.
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Between ticks of a linear axis.
    step: f64,
    /// Places of `low` and `high`.
    ends: (f64, f64),
}

/// LIMIT: what is larger is an error of whoever measured it, and would overflow.
const LARGEST: f64 = 1e30;
/// About so many ticks; fewer than twice as many.
const TICKS: f64 = 5.0;

impl Ruler {
    /// An axis from left to right. None if no value can be drawn.
    pub(super) fn lying(scale: Scale, values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Option<Self> {
        let (low, high) = range(scale, values)?;
        let mut ruler = Self::rounded(scale, low, high, ends);
        if scale == Scale::Linear && high > low {
            // Time ends where it ends, not at the next tick.
            ruler.high = high;
        }
        Some(ruler)
    }

    /// An axis from below. A linear one begins at zero: differences look as large as they are.
    pub(super) fn upright(scale: Scale, values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Option<Self> {
        let (low, high) = range(scale, values)?;
        let (low, high) = if scale == Scale::Linear { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        Some(Self::rounded(scale, low, high, ends))
    }

    /// With ends that are ticks.
    fn rounded(scale: Scale, low: f64, high: f64, ends: (f64, f64)) -> Self {
        let (low, high, step) = match scale {
            Scale::Linear => {
                let high = if high > low { high } else { low + low.abs().max(1.0) };
                let step = round_step((high - low) / TICKS);
                (libm::floor(low / step + 1e-9) * step, libm::ceil(high / step - 1e-9) * step, step)
            }
            Scale::Logarithmic => {
                let (below, above) = (step_below(low), -step_below(-high));
                if below < above { (below, above, 1.0) } else { (below - 0.5, above + 0.5, 1.0) }
            }
            Scale::Percentile => (0.0, high.max(1.0), 1.0),
        };
        Self { scale, low, high, step, ends }
    }

    /// The place of a value; none if it has none.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        let share = (transformed(self.scale, value)? - self.low) / (self.high - self.low);
        Some(self.ends.0 + share * (self.ends.1 - self.ends.0))
    }

    /// Both ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        self.ends
    }

    /// The values that are named: places and names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Logarithmic => self.logarithmic_ticks(),
            Scale::Percentile => percentile_ticks(self.high),
        };
        values.into_iter().filter_map(|(value, name)| Some((self.at(value)?, name))).collect()
    }

    fn linear_ticks(&self) -> Vec<(f64, String)> {
        let count = libm::floor((self.high - self.low) / self.step + 1e-9) as u32;
        let value = |tick: u32| self.low + f64::from(tick) * self.step;
        let largest = self.low.abs().max(self.high.abs());
        (0..=count).map(value).map(|value| (value, number(value, self.step, largest))).collect()
    }

    /// Powers of ten, and twice and five times as much if there are few.
    fn logarithmic_ticks(&self) -> Vec<(f64, String)> {
        let decades = self.high - self.low;
        let factors: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = if decades > 8.0 { 3 } else { 1 };
        let (first, last) = (libm::floor(self.low) as i32, libm::ceil(self.high) as i32);
        let mut ticks = Vec::new();
        for decade in (first..=last).filter(|decade| decade.rem_euclid(every) == 0) {
            for factor in factors {
                let value = factor * 10_f64.powi(decade);
                let at = libm::log10(value);
                if at > self.low - 1e-9 && at < self.high + 1e-9 {
                    ticks.push((value, number(value, value, value)));
                }
            }
        }
        ticks
    }
}

fn percentile_ticks(high: f64) -> Vec<(f64, String)> {
    const NAMES: [(f64, &str); 8] = [
        (0.0, "0 %"),
        (0.5, "50 %"),
        (0.9, "90 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.9999, "99.99 %"),
        (0.999_99, "99.999 %"),
        (0.999_999, "99.9999 %"),
    ];
    let most = libm::floor(high + 1e-9) as usize;
    // The names of the last ones are long: with many of them, half is left out.
    let shown = NAMES.iter().take(most + 2).filter(|(share, _)| *share != 0.5 || most <= 3);
    shown.map(|(share, name)| (*share, (*name).to_owned())).collect()
}

/// The smallest and the largest of the values that have a place, as the scale has them.
fn range(scale: Scale, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter_map(|value| transformed(scale, value)).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

fn transformed(scale: Scale, value: f64) -> Option<f64> {
    if !value.is_finite() || value.abs() > LARGEST {
        return None;
    }
    match scale {
        Scale::Linear => Some(value),
        Scale::Logarithmic => (value > 1.0 / LARGEST).then(|| libm::log10(value)),
        Scale::Percentile => ((0.0..1.0).contains(&value)).then(|| -libm::log10(1.0 - value)),
    }
}

/// The logarithms of 1, 2 and 5, and of 10.
const STEPS: [f64; 4] = [0.0, LOG10_2, 1.0 - LOG10_2, 1.0];

/// The logarithm of the next lower 1, 2 or 5 times a power of ten. Its negation gives the next higher one: the steps are their own mirror image.
fn step_below(logarithm: f64) -> f64 {
    let decade = libm::floor(logarithm + 1e-9);
    let rest = logarithm - decade + 1e-9;
    decade + STEPS.iter().rev().find(|step| **step <= rest).unwrap_or(&0.0)
}

/// The next larger 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let decade = 10_f64.powi(libm::floor(libm::log10(least.max(1.0 / LARGEST))) as i32);
    [1.0, 2.0, 5.0]
        .iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

/// A number with as many places as steps of `step` need, in millions if the largest beside it has so many.
fn number(value: f64, step: f64, largest: f64) -> String {
    let (divisor, suffix) = match largest {
        1e9.. => (1e9, " G"),
        1e6.. => (1e6, " M"),
        _ => (1.0, ""),
    };
    let (value, step) = (value / divisor, step / divisor);
    let places = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 9.0) as usize;
    // Without -0.
    let value = if value.abs() < step / 2.0 { 0.0 } else { value };
    if places > 0 || value.abs() < 10_000.0 {
        return format!("{value:.places$}{suffix}");
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}{suffix}", terminal::integer(libm::round(value.abs()) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: Scale, values: &[f64]) -> Vec<String> {
        let ruler = Ruler::lying(scale, values.iter().copied(), (0.0, 100.0)).expect("there are some");
        ruler.ticks().into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn ticks_are_round_and_begin_below_every_value() {
        assert_eq!(names(Scale::Linear, &[0.0, 9.7]), ["0", "2", "4", "6", "8"]);
        assert_eq!(names(Scale::Linear, &[-0.12, 0.31]), ["-0.2", "-0.1", "0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(names(Scale::Linear, &[0.0, 41_000.0]), ["0", "10,000", "20,000", "30,000", "40,000"]);
        assert_eq!(names(Scale::Linear, &[0.0, 1.9e6]), ["0.0 M", "0.5 M", "1.0 M", "1.5 M"]);
        assert_eq!(names(Scale::Logarithmic, &[0.13, 4.0]), ["0.1", "0.2", "0.5", "1", "2", "5"]);
        assert_eq!(names(Scale::Logarithmic, &[0.01, 9000.0]), ["0.01", "0.1", "1", "10", "100", "1000", "10,000"]);
        assert_eq!(names(Scale::Percentile, &[0.0, 0.9991]), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn an_upright_axis_begins_at_zero_and_ends_at_a_tick() {
        let ruler = Ruler::upright(Scale::Linear, [31.0, 97.0].into_iter(), (100.0, 0.0)).expect("there are some");
        let names: Vec<String> = ruler.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(
            (names, ruler.at(100.0)),
            (["0", "20", "40", "60", "80", "100"].map(str::to_owned).to_vec(), Some(0.0))
        );
    }

    #[test]
    fn a_single_value_has_a_place_between_the_ends() {
        for (scale, value) in
            [(Scale::Linear, 7.0), (Scale::Linear, 0.0), (Scale::Logarithmic, 100.0), (Scale::Percentile, 0.5)]
        {
            let ruler = Ruler::lying(scale, std::iter::once(value), (0.0, 100.0)).expect("one is enough");
            assert!(ruler.at(value).is_some_and(|at| (0.0..=100.0).contains(&at)), "{scale:?} {value}");
            assert!(ruler.ticks().len() > 1, "{scale:?} {value}");
        }
    }

    #[test]
    fn values_without_a_place_have_none() {
        assert!(Ruler::lying(Scale::Linear, [f64::NAN, f64::INFINITY, 1e300].into_iter(), (0.0, 1.0)).is_none());
        assert!(Ruler::lying(Scale::Logarithmic, [0.0, -1.0].into_iter(), (0.0, 1.0)).is_none());
        let ruler = Ruler::lying(Scale::Percentile, [0.0, 0.99].into_iter(), (0.0, 1.0)).expect("both have one");
        assert_eq!((ruler.at(1.0), ruler.at(0.0)), (None, Some(0.0)));
    }
}
