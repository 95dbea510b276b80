//! What response times must be for a rate to count as held: `p99<10ms,max<1s`.

use crate::ledger::Distribution;
use std::fmt;
use std::str::FromStr;

/// A figure of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoalFigure {
    /// The time that so many per cent do not exceed.
    Percentile(f64),
    /// The mean.
    Mean,
    /// The longest.
    Max,
}

impl GoalFigure {
    /// The figure in seconds.
    pub fn of(self, response: &Distribution) -> f64 {
        match self {
            Self::Percentile(percent) => response.percentile_ns(percent) as f64 / 1e9,
            Self::Mean => response.mean_ns() / 1e9,
            Self::Max => response.max_ns() as f64 / 1e9,
        }
    }

    /// How many transactions it takes to be more than chance: some for a mean, some beyond a percentile.
    fn transactions_least(self) -> f64 {
        match self {
            Self::Percentile(percent) => BEYOND_LEAST / (1.0 - percent / 100.0),
            Self::Mean | Self::Max => TRANSACTIONS_LEAST,
        }
    }

    /// How many of `count` transactions lie beyond it: few of them make it a matter of chance. None for the mean, which all have a part in.
    pub fn beyond(self, count: u64) -> Option<f64> {
        match self {
            Self::Percentile(percent) => Some(count as f64 * (1.0 - percent / 100.0)),
            Self::Mean | Self::Max => None,
        }
    }
}

impl fmt::Display for GoalFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

/// LIMIT: transactions that a run must have, and those beyond a percentile; with fewer it says nothing of a rate.
const TRANSACTIONS_LEAST: f64 = 30.0;
const BEYOND_LEAST: f64 = 2.0;

/// A figure and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyLimit {
    /// Which figure.
    pub figure: GoalFigure,
    /// What it must be below, in seconds.
    pub below_s: f64,
}

/// All that must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyGoal {
    /// One or more limits.
    pub limits: Vec<LatencyLimit>,
}

impl LatencyGoal {
    /// Each limit's figure in seconds.
    pub fn figures(&self, response: &Distribution) -> Vec<f64> {
        self.limits.iter().map(|limit| limit.figure.of(response)).collect()
    }

    /// How many transactions a run must have, so that it says something of its rate.
    pub fn transactions_least(&self) -> f64 {
        self.limits.iter().map(|limit| limit.figure.transactions_least()).fold(TRANSACTIONS_LEAST, f64::max)
    }

    /// Whether figures are below their limits.
    pub fn is_met_by(&self, figures: &[f64]) -> bool {
        self.limits.iter().zip(figures).all(|(limit, figure)| *figure < limit.below_s)
    }
}

impl fmt::Display for LatencyGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, limit) in self.limits.iter().enumerate() {
            let (number, unit) = match limit.below_s {
                seconds if seconds >= 1.0 => (seconds, "s"),
                seconds if seconds >= 1e-3 => (seconds * 1e3, "ms"),
                seconds => (seconds * 1e6, "us"),
            };
            // A limit of 10 ms is no 10.000000000000002.
            let number = (number * 1e6).round() / 1e6;
            write!(f, "{}{} < {number} {unit}", if index == 0 { "" } else { ", " }, limit.figure)?;
        }
        Ok(())
    }
}

/// Why a text is no goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no goal such as p99<10ms, p99.9<1s, mean<500us or max<2s")]
pub struct LatencyGoalError(String);

impl FromStr for LatencyGoal {
    type Err = LatencyGoalError;

    fn from_str(text: &str) -> Result<Self, LatencyGoalError> {
        let limit = |part: &str| limit(part).ok_or_else(|| LatencyGoalError(part.trim().to_owned()));
        Ok(Self { limits: text.split(',').map(limit).collect::<Result<_, _>>()? })
    }
}

fn limit(part: &str) -> Option<LatencyLimit> {
    let (figure, time) = part.split_once('<')?;
    let figure = match figure.trim() {
        "mean" | "avg" => GoalFigure::Mean,
        "max" => GoalFigure::Max,
        percentile => {
            let percent = percentile.strip_prefix('p')?.parse::<f64>().ok()?;
            GoalFigure::Percentile(Some(percent).filter(|percent| *percent > 0.0 && *percent < 100.0)?)
        }
    };
    Some(LatencyLimit { figure, below_s: seconds(time.trim())? })
}

fn seconds(text: &str) -> Option<f64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    (1e-6..=3600.0).contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<LatencyGoal>().expect(text).to_string()
    }

    #[test]
    fn goals_are_read_and_shown() {
        assert_eq!(shown("p99<10ms"), "p99 < 10 ms");
        assert_eq!(shown("p99.9 < 1.5s, max<2m,mean<250us"), "p99.9 < 1.5 s, max < 120 s, mean < 250 us");
        for wrong in ["", "p99", "p99<", "p99<10", "p100<1s", "p0<1s", "px<1s", "q99<1s", "p99<1h", "p99<0ms", "p9<1s,"]
        {
            assert!(wrong.parse::<LatencyGoal>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_goal_holds_when_all_its_limits_do() {
        let goal: LatencyGoal = "p50<3ms,max<10ms".parse().expect("a goal");
        let mut response = Distribution::default();
        (1..=5).for_each(|ms| response.add(ms * 1_000_000));
        let figures = goal.figures(&response);
        assert!((figures[0] - 0.003).abs() < 1e-5 && (figures[1] - 0.005).abs() < 1e-5, "{figures:?}");
        assert!(!goal.is_met_by(&figures), "3.001 ms in a histogram of 0.1 %");
        assert!(goal.is_met_by(&[0.002, 0.009]) && !goal.is_met_by(&[0.002, 0.01]));
    }

    #[test]
    fn few_transactions_lie_beyond_a_high_percentile() {
        assert!(GoalFigure::Percentile(99.9).beyond(500).is_some_and(|beyond| (beyond - 0.5).abs() < 1e-9));
        assert_eq!(GoalFigure::Mean.beyond(5), None);
        let least = |text: &str| text.parse::<LatencyGoal>().expect(text).transactions_least();
        assert!((least("mean<1s,p99<1s") - 200.0).abs() < 1e-6 && (least("max<1s") - 30.0).abs() < 1e-6);
    }
}
