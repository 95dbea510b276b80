//! Times of an interval, counted in buckets whose width is a sixteenth of a power of two: to 3 %, in a few hundred bytes. They add up exactly.

use ::load::ledger::Distribution;
use std::collections::BTreeMap;

/// How many times fell into each bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeBuckets(BTreeMap<u16, u64>);

/// Bits of a time that tell buckets apart, behind its first.
const BITS: u32 = 4;
/// Below this everything is one bucket.
const LEAST_NS: u64 = 1 << BITS;

impl TimeBuckets {
    /// Those of a distribution.
    pub fn of(distribution: &Distribution) -> Self {
        let mut buckets = Self::default();
        for value in distribution.histogram().iter_recorded() {
            buckets.add(value.value_iterated_to(), value.count_at_value());
        }
        buckets
    }

    /// Adds `count` times of `ns`.
    pub fn add(&mut self, ns: u64, count: u64) {
        if count > 0 {
            *self.0.entry(bucket(ns)).or_default() += count;
        }
    }

    /// Adds all of another.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(bucket, count)| *self.0.entry(*bucket).or_default() += count);
    }

    /// Each bucket by its middle.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(bucket, count)| (middle_ns(*bucket), *count))
    }

    /// The times that these percents do not exceed; none if there are no times.
    pub fn percentiles_ns<const COUNT: usize>(&self, percents: [f64; COUNT]) -> Option<[u64; COUNT]> {
        let total: u64 = self.0.values().sum();
        let (last, _) = self.iter().last()?;
        Some(percents.map(|percent| {
            let wanted = ((percent / 100.0 * total as f64).ceil() as u64).max(1);
            let mut below = 0;
            let found = self.iter().find(|(_, count)| {
                below += count;
                below >= wanted
            });
            found.map_or(last, |(ns, _)| ns)
        }))
    }
}

fn bucket(ns: u64) -> u16 {
    let ns = ns.max(LEAST_NS);
    let shift = ns.ilog2() - BITS;
    // The first bit counts one power more; that of the shortest is 16.
    ((u64::from(shift) << BITS) + (ns >> shift)) as u16
}

fn middle_ns(bucket: u16) -> u64 {
    let shift = u32::from(bucket >> BITS).saturating_sub(1);
    let low = u64::from(bucket) - (u64::from(shift) << BITS);
    (low << shift) + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_to_three_percent() {
        for ns in [16, 17, 31, 32, 33, 255, 256, 1_000, 123_456, 999_999_999, 3_600_000_000_000, u64::MAX >> 1] {
            let kept = middle_ns(bucket(ns));
            assert!(kept.abs_diff(ns) as f64 <= 0.034 * ns as f64, "{ns}: {kept}");
        }
        let ascending: Vec<u16> = (0..60).map(|power| bucket(1_u64 << power)).collect();
        assert!(ascending.is_sorted(), "{ascending:?}");
    }

    #[test]
    fn percentiles_of_what_was_joined_are_those_of_all() {
        let (mut first, mut second) = (TimeBuckets::default(), TimeBuckets::default());
        (1..=900).for_each(|us| first.add(us * 1000, 1));
        (901..=1000).for_each(|us| second.add(us * 1000, 1));
        first.join(&second);
        let found = first.percentiles_ns([50.0, 95.0, 100.0]).expect("there are some");
        for (found, exact) in found.into_iter().zip([500_000.0, 950_000.0, 1_000_000.0]) {
            assert!((found as f64 / exact - 1.0).abs() < 0.04, "{found} {exact}");
        }
        assert_eq!(first.iter().map(|(_, count)| count).sum::<u64>(), 1000);
        assert_eq!(TimeBuckets::default().percentiles_ns([50.0]), None);
    }
}
