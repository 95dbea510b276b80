//! What an uncompressed byte costs at each level, learnt from chunks as they are done, on this machine and on these data.
//! Decides nothing; the theory is in `engines/codec/README.md`.

use std::ops::RangeInclusive;

/// What each further level costs where nothing is known of it: a factor. The codecs here grow by 1.2 to 1.4 a level.
const GROWTH: f64 = 1.3;

/// What is added to that for each level of distance. Too dear a guess climbs in two steps instead of one; too cheap a one
/// holds a core for several times as long as planned.
const CAUTION: f64 = 1.1;

/// What is taken off for each level below the lowest known: less than [`GROWTH`], to be on the safe side.
const CHEAPER: f64 = 1.1;

/// After this long without a chunk of its own a level's figure counts half; then what its neighbours make likely takes over. Shorter:
/// levels that proved too slow are tried again more often, one chunk each time. Longer: one bad chunk bars a level for longer.
const HALF_LIFE_NS: f64 = 10e9;

/// What the neighbours' word weighs beside a level's own, which weighs 1 after its first chunk.
const NEIGHBOURS_WEIGHT: f64 = 0.2;

/// LIMIT: so many chunks make a level's figure as firm as it gets.
const WEIGHT_MAX: f64 = 4.0;

/// What is known of all levels.
pub(super) struct Costs {
    lowest: i32,
    levels: Vec<Level>,
    /// How hard the data are now: scales all levels.
    difficulty: f64,
    /// When a chunk was last learnt from.
    latest_ns: u64,
}

/// What is known of one.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Natural logarithm of nanoseconds an uncompressed byte at difficulty 1; `None` until it was tried.
    profile: Option<f64>,
    weight: f64,
    at_ns: u64,
}

/// What a level is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LevelEstimate {
    /// CPU nanoseconds an uncompressed byte.
    pub byte_ns: f64,
    /// It was not tried lately: an opinion of its neighbours.
    pub is_guess: bool,
}

impl Costs {
    pub fn new(levels: &RangeInclusive<i32>) -> Self {
        let count = levels.clone().count();
        Self { lowest: *levels.start(), levels: vec![Level::default(); count], difficulty: 1.0, latest_ns: 0 }
    }

    /// What `level` is expected to cost; `None` before the first chunk.
    pub fn estimate(&self, level: i32) -> Option<LevelEstimate> {
        let at = self.index(level);
        let own = self.levels[at];
        let weight = self.weight(&own);
        let profile = match (own.profile, self.by_neighbours(at)) {
            (Some(own), Some(others)) => (weight * own + NEIGHBOURS_WEIGHT * others) / (weight + NEIGHBOURS_WEIGHT),
            (Some(own), None) => own,
            (None, others) => others?,
        };
        Some(LevelEstimate { byte_ns: libm::exp(profile) * self.difficulty, is_guess: weight < 0.5 })
    }

    /// A chunk was done at `level`.
    pub fn learn(&mut self, now_ns: u64, level: i32, byte_ns: f64) {
        self.latest_ns = self.latest_ns.max(now_ns);
        let byte_ns = byte_ns.max(1e-3);
        let at = self.index(level);
        let weight = self.weight(&self.levels[at]);
        let expected = self.estimate(level).map_or(byte_ns, |estimate| estimate.byte_ns);
        let surprise = libm::log(byte_ns / expected);
        let profile = libm::log(expected / self.difficulty);
        // What is well known of a level does not change by itself: then it is the data that have changed.
        let firmness = weight / (weight + 0.5);
        let own_share = if weight == 0.0 { 1.0 } else { 0.75 - 0.5 * firmness };
        self.difficulty *= libm::exp(surprise * 0.5 * firmness);
        self.levels[at] = Level {
            profile: Some(profile + own_share * surprise),
            weight: (weight + 1.0).min(WEIGHT_MAX),
            at_ns: now_ns,
        };
    }

    fn index(&self, level: i32) -> usize {
        usize::try_from(level - self.lowest).map_or(0, |index| index.min(self.levels.len() - 1))
    }

    /// A level's weight by now. Ages count from the latest chunk: a pause of the producer makes nothing older.
    fn weight(&self, level: &Level) -> f64 {
        let age_ns = self.latest_ns.saturating_sub(level.at_ns);
        level.weight * libm::exp(-(age_ns as f64) / HALF_LIFE_NS * std::f64::consts::LN_2)
    }

    /// What the nearest tried levels on both sides say of the level at `at`.
    fn by_neighbours(&self, at: usize) -> Option<f64> {
        let known = |index: usize| self.levels[index].profile.map(|profile| (index, profile));
        let below = (0..at).rev().find_map(known);
        let above = (at + 1..self.levels.len()).find_map(known);
        match (below, above) {
            (Some((low, from)), Some((high, to))) => Some(from + (to - from) * (at - low) as f64 / (high - low) as f64),
            (Some((low, from)), None) => Some(from + (at - low) as f64 * libm::log(GROWTH * CAUTION)),
            (None, Some((high, to))) => Some(to - (high - at) as f64 * libm::log(CHEAPER)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte_ns(costs: &Costs, level: i32) -> f64 {
        costs.estimate(level).expect("something is known").byte_ns
    }

    #[test]
    fn what_was_not_tried_is_interpolated() {
        let mut costs = Costs::new(&(1..=9));
        assert_eq!(costs.estimate(1), None);
        costs.learn(0, 1, 2.0);
        assert!((byte_ns(&costs, 2) - 2.0 * GROWTH * CAUTION).abs() < 1e-9);
        costs.learn(0, 9, 32.0);
        assert!((byte_ns(&costs, 5) - 8.0).abs() < 1e-9, "half way on a logarithmic scale");
        assert!(costs.estimate(5).expect("known").is_guess);
    }

    #[test]
    fn harder_data_make_every_level_dearer_at_once() {
        let mut costs = Costs::new(&(1..=9));
        for chunk in 0..10 {
            costs.learn(chunk, 3, 4.0);
            costs.learn(chunk, 6, 12.0);
        }
        for chunk in 10..20 {
            costs.learn(chunk, 3, 16.0);
        }
        assert!((byte_ns(&costs, 3) / 16.0 - 1.0).abs() < 0.1);
        assert!(byte_ns(&costs, 6) > 24.0, "level 6 was not tried since, but is dearer, too: {}", byte_ns(&costs, 6));
    }

    #[test]
    fn one_bad_chunk_does_not_bar_a_level_for_ever() {
        let mut costs = Costs::new(&(1..=9));
        costs.learn(0, 5, 10.0);
        costs.learn(0, 6, 500.0);
        let barred = byte_ns(&costs, 6);
        for second in 1..60 {
            costs.learn(second * 1_000_000_000, 5, 10.0);
        }
        assert!(barred > 200.0);
        assert!(byte_ns(&costs, 6) < 20.0, "{}", byte_ns(&costs, 6));
        assert!(costs.estimate(6).expect("known").is_guess);
    }
}
