//! How measured times are spread: the smallest, the middle, the last hundredth, the largest.

use serde::Serialize;

/// Some measured times. At least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many.
    pub rounds: usize,
    /// The smallest.
    pub min_ns: i64,
    /// Half are below.
    pub p50_ns: i64,
    /// 99 of 100 are below.
    pub p99_ns: i64,
    /// The largest.
    pub max_ns: i64,
    /// How many are below 0.
    pub early: usize,
}

impl Spread {
    /// Of these times; none when there are none.
    pub fn of(mut times_ns: Vec<i64>) -> Option<Self> {
        times_ns.sort_unstable();
        let rounds = times_ns.len();
        let (&min_ns, &max_ns) = (times_ns.first()?, times_ns.last()?);
        // The nearest rank: a time that was measured, not one between two.
        let rank = |hundredths: usize| times_ns[(rounds * hundredths).div_ceil(100).saturating_sub(1)];
        let early = times_ns.partition_point(|&time| time < 0);
        Some(Self { rounds, min_ns, p50_ns: rank(50), p99_ns: rank(99), max_ns, early })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_times_that_were_measured() {
        let spread = Spread::of((1..=200).rev().collect()).expect("some");
        assert_eq!((spread.min_ns, spread.p50_ns, spread.p99_ns, spread.max_ns), (1, 100, 198, 200));
        assert_eq!((spread.rounds, spread.early), (200, 0));
        let one = Spread::of(vec![-3]).expect("one");
        assert_eq!((one.min_ns, one.p50_ns, one.p99_ns, one.max_ns, one.early), (-3, -3, -3, -3, 1));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
