//! How many indexes are built at once, and over how many workers of the server each. Measured: with two cores, one index at a time with one worker takes
//! 0.81 of the time that it takes without, and two at a time the same; with more cores lanes come first, since workers share one sort.

/// What bounds the building of indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneLimits {
    /// Cores that may work at once.
    pub hands: usize,
    /// Parallel workers that the server starts, all sessions together.
    pub server_workers: usize,
    /// Memory for all sorts together; none: each session has what the server gives it.
    pub memory_bytes: Option<u64>,
}

/// How indexes are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRule {
    /// Indexes at once, each on a connection of its own.
    pub lanes: usize,
    /// Cores that lanes and their workers share.
    pub hands: usize,
    /// The most workers of one lane.
    pub workers: usize,
    /// Memory of a lane's sort, its workers' included.
    pub memory_bytes: Option<u64>,
}

/// LIMIT: with fewer cores one index is built at a time.
const LANES_FROM: usize = 4;

/// COMPAT: PostgreSQL starts no worker that has less of maintenance_work_mem than this.
const MEMORY_A_WORKER: u64 = 32 << 20;

/// LIMIT: of maintenance_work_mem: more does not make sorts faster that need one merge.
const MEMORY_MAX: u64 = 1 << 30;

/// COMPAT: the least maintenance_work_mem.
const MEMORY_MIN: u64 = 1 << 20;

impl LaneRule {
    /// For so many builds of which none needs another's end.
    pub fn choose(limits: LaneLimits, builds: usize) -> Self {
        let hands = limits.hands.max(1);
        let lanes = if hands < LANES_FROM { 1 } else { hands.min(builds).max(1) };
        let memory_bytes = limits.memory_bytes.map(|memory| (memory / lanes as u64).clamp(MEMORY_MIN, MEMORY_MAX));
        let by_memory = memory_bytes.map_or(usize::MAX, |memory| (memory / MEMORY_A_WORKER).saturating_sub(1) as usize);
        let workers = (hands - 1).min(limits.server_workers).min(by_memory);
        Self { lanes, hands, workers, memory_bytes }
    }

    /// Workers for a build that begins now: what is left of the cores when every idle lane has got one for a build that waits.
    pub fn workers_now(&self, hands_used: usize, idle_lanes: usize, waiting: usize) -> usize {
        let free = self.hands.saturating_sub(hands_used);
        let share = free / (1 + idle_lanes.min(waiting));
        share.saturating_sub(1).min(self.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(hands: usize, builds: usize) -> LaneRule {
        LaneRule::choose(LaneLimits { hands, server_workers: 8, memory_bytes: None }, builds)
    }

    #[test]
    fn few_cores_go_to_one_index_and_many_to_lanes_first() {
        let at_first = |rule: LaneRule, builds: usize| rule.workers_now(0, rule.lanes - 1, builds - 1);
        assert_eq!((rule(2, 4).lanes, at_first(rule(2, 4), 4)), (1, 1));
        assert_eq!((rule(1, 4).lanes, at_first(rule(1, 4), 4)), (1, 0));
        assert_eq!((rule(4, 4).lanes, at_first(rule(4, 4), 4)), (4, 0));
        assert_eq!((rule(16, 4).lanes, at_first(rule(16, 4), 4)), (4, 3));
        assert_eq!((rule(16, 1).lanes, at_first(rule(16, 1), 1)), (1, 8));
        assert_eq!(rule(16, 0).lanes, 1);
    }

    #[test]
    fn lanes_and_workers_are_never_more_than_cores() {
        for hands in 1..=64 {
            for builds in 1..=20 {
                let rule = rule(hands, builds);
                let mut used = 0;
                for lane in 0..rule.lanes.min(builds) {
                    used += 1 + rule.workers_now(used, rule.lanes - lane - 1, builds - lane - 1);
                }
                assert!(used <= hands, "{hands} {builds}: {used}");
            }
        }
    }

    #[test]
    fn memory_is_shared_by_lanes_and_bounds_workers() {
        let limits = LaneLimits { hands: 2, server_workers: 8, memory_bytes: Some(60 << 20) };
        assert_eq!(LaneRule::choose(limits, 4).workers, 0);
        let limits = LaneLimits { memory_bytes: Some(64 << 20), ..limits };
        assert_eq!(LaneRule::choose(limits, 4).workers, 1);
        let limits = LaneLimits { hands: 8, server_workers: 8, memory_bytes: Some(512 << 20) };
        assert_eq!(LaneRule::choose(limits, 4).memory_bytes, Some(128 << 20));
    }
}
