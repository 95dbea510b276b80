//! What a sweep goes over, as it is typed: `connections=1..2048` doubles, `1..64@8` steps, `1,2,4,8` is a list.

use crate::statistics::interleaved;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweepAxis {
    /// The number of connections.
    Connections,
    /// The rate of an open load.
    Rate,
}

impl SweepAxis {
    /// Its name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Rate => "rate",
        }
    }

    fn most(self) -> f64 {
        match self {
            Self::Connections => 65_536.0,
            Self::Rate => 1e8,
        }
    }
}

/// An axis and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    /// What is swept.
    pub axis: SweepAxis,
    /// In ascending order, without repetition.
    pub values: Vec<f64>,
}

/// LIMIT: values of a sweep; with runs of ten seconds these take hours.
const VALUES_MAX: usize = 1000;

impl SweepPlan {
    /// Values with the number of their round from 1, interleaved: forward and backward by turns, so that what drifts meets all alike.
    pub fn runs(&self, rounds: usize) -> impl Iterator<Item = (usize, f64)> {
        let count = self.values.len();
        interleaved(count, rounds).enumerate().map(move |(index, arm)| (1 + index / count, self.values[arm]))
    }
}

/// Why a text is no sweep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SweepAxisError {
    /// Neither axis.
    #[error("'{0}' is neither connections=VALUES nor rate=VALUES")]
    Axis(String),
    /// A value that is none.
    #[error("'{0}' is no value: above 0, connections whole and at most 65536, rates at most 1e8")]
    Value(String),
    /// An empty or backward range.
    #[error("'{0}' is no range: FROM..TO doubles, FROM..TO@STEP steps")]
    Range(String),
    /// One of them is no sweep, and too many have no end.
    #[error("a sweep has 2 to 1000 values, not {0}")]
    Count(usize),
}

impl FromStr for SweepPlan {
    type Err = SweepAxisError;

    fn from_str(text: &str) -> Result<Self, SweepAxisError> {
        let wrong = || SweepAxisError::Axis(text.to_owned());
        let (name, list) = text.split_once('=').ok_or_else(wrong)?;
        let axis = [SweepAxis::Connections, SweepAxis::Rate].into_iter().find(|axis| axis.name() == name);
        let axis = axis.ok_or_else(wrong)?;
        let mut values = Vec::new();
        for part in list.split(',') {
            match part.split_once("..") {
                Some((from, to)) => range(axis, part, from, to, &mut values)?,
                None => values.push(value(axis, part)?),
            }
        }
        values.sort_by(f64::total_cmp);
        values.dedup();
        if !(2..=VALUES_MAX).contains(&values.len()) {
            return Err(SweepAxisError::Count(values.len()));
        }
        Ok(Self { axis, values })
    }
}

fn value(axis: SweepAxis, text: &str) -> Result<f64, SweepAxisError> {
    let value = text.trim().parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= axis.most());
    let is_right = |value: &f64| axis == SweepAxis::Rate || value.fract() == 0.0;
    value.filter(is_right).ok_or_else(|| SweepAxisError::Value(text.to_owned()))
}

/// Both ends are values, whatever the steps.
fn range(axis: SweepAxis, part: &str, from: &str, to: &str, values: &mut Vec<f64>) -> Result<(), SweepAxisError> {
    let (to, step) = match to.split_once('@') {
        Some((to, step)) => (to, Some(value(axis, step)?)),
        None => (to, None),
    };
    let (from, to) = (value(axis, from)?, value(axis, to)?);
    if from >= to {
        return Err(SweepAxisError::Range(part.to_owned()));
    }
    let mut next = from;
    while next < to {
        if values.len() > VALUES_MAX {
            return Err(SweepAxisError::Count(values.len()));
        }
        values.push(next);
        next = match step {
            // From 1 by 8 is 1, 8, 16: that is meant by whoever types it.
            Some(step) if next < step => step,
            Some(step) => next + step,
            None => next * 2.0,
        };
    }
    values.push(to);
    Ok(())
}

impl fmt::Display for SweepPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.values.first().unwrap_or(&0.0), self.values.last().unwrap_or(&0.0));
        write!(f, "{} values from {first} to {last}", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<f64> {
        text.parse::<SweepPlan>().unwrap_or_else(|error| panic!("{text}: {error}")).values
    }

    #[test]
    fn ranges_double_or_step_and_lists_are_sorted() {
        assert_eq!(values("connections=1..8"), [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(values("connections=3..20"), [3.0, 6.0, 12.0, 20.0]);
        assert_eq!(values("connections=1..32@8"), [1.0, 8.0, 16.0, 24.0, 32.0]);
        assert_eq!(values("connections=10..20@4"), [10.0, 14.0, 18.0, 20.0]);
        assert_eq!(values("connections=8,1,4,4,16..32"), [1.0, 4.0, 8.0, 16.0, 32.0]);
        assert_eq!(values("rate=0.5..2"), [0.5, 1.0, 2.0]);
        assert_eq!(values("connections=1..2048").len(), 12);
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for wrong in [
            "1..8",
            "threads=1..8",
            "connections=",
            "connections=1",
            "connections=0..8",
            "connections=1.5,2",
            "connections=1..65537",
            "connections=8..1",
            "connections=1..8@0",
            "rate=1..100000@0.001",
            "rate=1,inf",
            "rate=1..x",
        ] {
            assert!(wrong.parse::<SweepPlan>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rounds_go_forward_and_backward() {
        let plan: SweepPlan = "connections=1..4".parse().expect("a sweep");
        let runs: Vec<(usize, f64)> = plan.runs(2).collect();
        assert_eq!(runs, [(1, 1.0), (1, 2.0), (1, 4.0), (2, 4.0), (2, 2.0), (2, 1.0)]);
    }
}
