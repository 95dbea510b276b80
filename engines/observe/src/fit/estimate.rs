//! How many more fit, from what was read: one more costs what the middle one costs; each limit allows so many; the smallest
//! binds. Says how sure that is, and which assumption weighs most. Pure.

use super::{HostSurvey, MemoryCost};
use serde::Serialize;

/// What the user supposes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Suppose {
    /// Memory of the machine, in place of what it has.
    pub memory_bytes: Option<u64>,
    /// Memory that is to be left alone; none for the usual share.
    pub reserve_bytes: Option<u64>,
}

/// LIMIT: a twentieth of the memory is left alone unless the user says otherwise: with less, file cache has no room and everything
/// gets slow before anything fails.
const RESERVE_SHARE: u64 = 20;
/// Percent of ten seconds in which something waited for memory: above, the machine has too little already.
pub const PRESSURE_MAX: f64 = 10.0;
/// Instances that use less of a core are idle, and CPU does not bound them: a session that looks at the clock now and then.
const IDLE_CORES: f64 = 0.005;

/// A number with what it may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// Not less, probably.
    pub low: f64,
    /// Most likely.
    pub middle: f64,
    /// Not more, probably.
    pub high: f64,
}

/// One limit and how many it allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitBound {
    /// Which.
    pub what: String,
    /// What is left of it, in its unit.
    pub left: f64,
    /// What one more takes of it, in the same unit.
    pub each: f64,
    /// The unit.
    pub unit: BoundUnit,
    /// How many more it allows; none where one more takes nothing of it.
    pub fits: Option<u64>,
}

/// What a bound is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundUnit {
    /// Of memory.
    Bytes,
    /// Of the pools of huge pages.
    #[serde(rename = "bytes-of-huge-pages")]
    HugeBytes,
    /// Of CPU.
    Cores,
    /// Tasks, files.
    Pieces,
    /// Of time.
    Percent,
}

/// What weighs most in how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "assumption")]
pub enum Dominates {
    /// Only so many instances were there to learn from.
    Few {
        /// How many.
        instances: usize,
    },
    /// They differ; the new ones are taken to be like the middle one.
    Spread {
        /// The dearest half's share above or the cheapest half's below the middle, whichever is more.
        share: f64,
    },
    /// Pages of none or few could be looked at: what is shared since a fork counts in each.
    Undetailed {
        /// Share of the private memory that was taken on trust.
        share: f64,
    },
    /// They were growing while they were watched.
    Growing {
        /// Of the middle one, in a second.
        bytes_per_second: f64,
    },
    /// CPU binds, and they are taken to stay as busy as they were.
    AsBusy,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitEstimate {
    /// Memory that one more takes.
    pub each_bytes: Range,
    /// Of which the middle one has these parts.
    pub each: MemoryCost,
    /// Shared memory that the middle one has alone: no part of what one more takes, as nobody knows whether the next make theirs.
    pub left_out_bytes: u64,
    /// All limits, the tightest first.
    pub bounds: Vec<FitBound>,
    /// How many more fit, by all limits; none when nothing bounds them.
    pub fits: Option<Range>,
    /// Limits besides the first that bind at either end of that range.
    pub may_bind: Vec<String>,
    /// The assumption that weighs most.
    pub dominates: Dominates,
}

/// None when there is no instance to learn from.
pub fn estimate(survey: &HostSurvey, suppose: Suppose) -> Option<FitEstimate> {
    let mut costs: Vec<(u64, MemoryCost)> =
        survey.instances.iter().map(|instance| (instance.cost.total_bytes(), instance.cost)).collect();
    costs.sort_by_key(|(total, _)| *total);
    let totals: Vec<f64> = costs.iter().map(|(total, _)| *total as f64).collect();
    let each_bytes = middle_of(&totals)?;
    let each = costs[(costs.len() - 1) / 2].1;
    let mut bounds = memory_bounds(survey, suppose, each_bytes.middle);
    bounds.extend(other_bounds(survey));
    bounds.sort_by_key(|bound| bound.fits.unwrap_or(u64::MAX));
    let (fits, may_bind) = range_of_all(&bounds, each_bytes);
    let dominates = dominates(survey, each_bytes, &bounds);
    let left_out_bytes = left_out(survey);
    Some(FitEstimate { each_bytes, each, left_out_bytes, bounds, fits, may_bind, dominates })
}

fn left_out(survey: &HostSurvey) -> u64 {
    let mut own: Vec<u64> = survey.instances.iter().map(|instance| instance.own_shared_bytes).collect();
    own.sort_unstable();
    own.get(own.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// The smallest of all limits, at each price of memory: where one more takes less of it, another limit may be met first.
fn range_of_all(bounds: &[FitBound], each_bytes: Range) -> (Option<Range>, Vec<String>) {
    let ranges: Vec<(&FitBound, Range)> =
        bounds.iter().filter_map(|bound| Some((bound, range_of(bound, each_bytes)?))).collect();
    let smallest =
        |end: fn(&Range) -> f64| ranges.iter().min_by(|(_, one), (_, other)| end(one).total_cmp(&end(other)));
    let ends = (smallest(|range| range.low), smallest(|range| range.middle), smallest(|range| range.high));
    let (Some((least, low)), Some((first, middle)), Some((most, high))) = ends else { return (None, Vec::new()) };
    let mut may_bind: Vec<String> = [least, most].map(|bound| bound.what.clone()).to_vec();
    may_bind.dedup();
    may_bind.retain(|what| *what != first.what);
    (Some(Range { low: low.low, middle: middle.middle, high: high.high }), may_bind)
}

/// The median, and between which values it lies: order statistics at two standard deviations of the binomial, so that no shape of
/// distribution is supposed. Of few the smallest and the largest; of one, half and double.
fn middle_of(sorted: &[f64]) -> Option<Range> {
    let count = sorted.len();
    let (&first, &last) = (sorted.first()?, sorted.last()?);
    let middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
    if count == 1 {
        return Some(Range { low: middle / 2.0, middle, high: middle * 2.0 });
    }
    let reach = (count as f64).sqrt();
    let (below, above) = (count as f64 / 2.0 - reach, count as f64 / 2.0 + reach);
    let low = if below < 1.0 { first } else { sorted[below as usize - 1] };
    let high = sorted.get(above.ceil() as usize).copied().unwrap_or(last);
    Some(Range { low, middle, high })
}

/// The machine's memory and the groups'.
fn memory_bounds(survey: &HostSurvey, suppose: Suppose, each: f64) -> Vec<FitBound> {
    let room = &survey.room;
    let total = suppose.memory_bytes.unwrap_or(room.memory_total_bytes);
    let reserve = suppose.reserve_bytes.unwrap_or(total / RESERVE_SHARE);
    let used = room.memory_total_bytes.saturating_sub(room.memory_available_bytes);
    let left = total.saturating_sub(used).saturating_sub(reserve);
    let mut bounds = Vec::new();
    if total > 0 {
        bounds.push(bound("memory", left as f64, each, BoundUnit::Bytes));
    }
    if let Some(left) = room.group_memory_bytes {
        bounds.push(bound("memory limit of their control group", left as f64, each, BoundUnit::Bytes));
    }
    if let Some(pressure) = room.memory_pressure {
        // Not a stock that runs out: it is there or it is not.
        let fits = (pressure > PRESSURE_MAX).then_some(0);
        let what = "waiting for memory (PSI, 10 s)".to_owned();
        bounds.push(FitBound { what, left: PRESSURE_MAX - pressure, each: 0.0, unit: BoundUnit::Percent, fits });
    }
    bounds
}

fn other_bounds(survey: &HostSurvey) -> Vec<FitBound> {
    let (room, count) = (&survey.room, survey.instances.len().max(1) as f64);
    let cores_of_all: f64 = survey.instances.iter().map(|instance| instance.cores).sum();
    let cores = Some(cores_of_all / count).filter(|&cores| cores > IDLE_CORES).unwrap_or(0.0);
    let threads = survey.instances.iter().map(|instance| instance.threads as f64).sum::<f64>() / count;
    let mut bounds = Vec::new();
    let huge_bytes = survey.instances.iter().map(|instance| instance.cost.huge_bytes as f64).sum::<f64>() / count;
    if let Some(left) = room.huge_bytes.filter(|_| huge_bytes > 0.0) {
        bounds.push(bound("the pool of huge pages", left as f64, huge_bytes, BoundUnit::HugeBytes));
    }
    if let Some(idle) = room.idle_cores {
        bounds.push(bound("CPU", idle, cores, BoundUnit::Cores));
    }
    if let Some(quota) = room.quota_cores {
        bounds.push(bound(
            "CPU quota of their control group",
            (quota - cores_of_all).max(0.0),
            cores,
            BoundUnit::Cores,
        ));
    }
    for limit in &room.tasks {
        bounds.push(bound(&limit.limit, limit.left as f64, threads.max(1.0), BoundUnit::Pieces));
    }
    let known: Vec<f64> = survey.instances.iter().filter_map(|instance| Some(instance.descriptors? as f64)).collect();
    if let Some(left) = room.files
        && !known.is_empty()
    {
        let each = known.iter().sum::<f64>() / known.len() as f64;
        bounds.push(bound("open files (fs.file-max)", left as f64, each, BoundUnit::Pieces));
    }
    bounds
}

fn bound(what: &str, left: f64, each: f64, unit: BoundUnit) -> FitBound {
    // Less than a billionth of a unit is nothing.
    let fits = (each > 1e-9).then(|| (left / each) as u64);
    FitBound { what: what.to_owned(), left, each, unit, fits }
}

/// Memory is as unsure as its price; other limits are counted.
fn range_of(bound: &FitBound, each_bytes: Range) -> Option<Range> {
    let middle = bound.fits? as f64;
    if bound.unit != BoundUnit::Bytes {
        return Some(Range { low: middle, middle, high: middle });
    }
    let at = |each: f64| if each > 0.0 { (bound.left / each).floor() } else { middle };
    Some(Range { low: at(each_bytes.high), middle, high: at(each_bytes.low) })
}

fn dominates(survey: &HostSurvey, each: Range, bounds: &[FitBound]) -> Dominates {
    let instances = survey.instances.len();
    if bounds.first().is_some_and(|bound| bound.unit == BoundUnit::Cores && bound.fits.is_some()) {
        return Dominates::AsBusy;
    }
    if instances < 3 {
        return Dominates::Few { instances };
    }
    let middle = each.middle.max(1.0);
    let spread = ((each.high - each.middle).max(each.middle - each.low)) / middle;
    // What could not be looked at may be shared altogether, or not at all; in proportion to what could it is neither.
    let share_undetailed = 1.0 - survey.read_in_detail as f64 / survey.processes.max(1) as f64;
    let undetailed = if survey.read_in_detail == 0 { 1.0 } else { share_undetailed * 0.1 };
    let mut growth: Vec<i64> = survey.instances.iter().map(|instance| instance.growth_bytes.max(0)).collect();
    growth.sort_unstable();
    let seconds = (survey.watched_ns as f64 / 1e9).max(1e-3);
    let bytes_per_second = growth[growth.len() / 2] as f64 / seconds;
    // In an hour: growth does not end with the watching.
    let growing = bytes_per_second * 3600.0 / middle;
    if growing > spread.max(undetailed) {
        return Dominates::Growing { bytes_per_second };
    }
    if undetailed > spread {
        Dominates::Undetailed { share: share_undetailed }
    } else {
        Dominates::Spread { share: spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{HostRoom, Instance, TaskRoom};

    fn instance(heap_bytes: u64) -> Instance {
        let cost = MemoryCost { heap_bytes, ..MemoryCost::default() };
        Instance { processes: 1, threads: 2, cost, descriptors: Some(10), read_in_detail: 1, ..Instance::default() }
    }

    fn survey(heaps: &[u64]) -> HostSurvey {
        let room = HostRoom {
            memory_total_bytes: 2000,
            memory_available_bytes: 1100,
            cpus: 2,
            idle_cores: Some(1.0),
            ..HostRoom::default()
        };
        let count = heaps.len() as u64;
        let instances = heaps.iter().copied().map(instance).collect();
        HostSurvey {
            instances,
            room,
            watched_ns: 1_000_000_000,
            processes: count,
            read_in_detail: count,
            ..HostSurvey::default()
        }
    }

    #[test]
    fn memory_binds_with_a_reserve_and_supposed_memory() {
        let seen = survey(&[100, 100, 100]);
        let found = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!(found.bounds[0].what, "memory");
        assert_eq!(found.fits.map(|fits| fits.middle), Some(10.0));
        let more = Suppose { memory_bytes: Some(4000), reserve_bytes: Some(0) };
        assert_eq!(estimate(&seen, more).expect("instances").fits.map(|fits| fits.middle), Some(31.0));
        let less = Suppose { memory_bytes: Some(500), reserve_bytes: None };
        assert_eq!(estimate(&seen, less).expect("instances").fits.map(|fits| fits.middle), Some(0.0));
    }

    #[test]
    fn the_smallest_bound_binds_and_idle_instances_need_no_cpu() {
        let mut seen = survey(&[100, 100, 100]);
        seen.room.tasks = vec![TaskRoom { limit: "pids.max of /a".to_owned(), left: 7 }];
        let found = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!((found.bounds[0].what.as_str(), found.bounds[0].fits), ("pids.max of /a", Some(3)));
        assert_eq!(found.fits.map(|fits| (fits.low, fits.high)), Some((3.0, 3.0)));
        let cpu = found.bounds.iter().find(|bound| bound.what == "CPU").expect("told");
        assert_eq!(cpu.fits, None);
        seen.instances.iter_mut().for_each(|instance| instance.cores = 0.5);
        let found = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!((found.bounds[0].what.as_str(), found.bounds[0].fits), ("CPU", Some(2)));
        assert_eq!(found.dominates, Dominates::AsBusy);
    }

    #[test]
    fn the_pool_of_huge_pages_is_a_limit_and_no_memory() {
        let mut seen = survey(&[100, 100, 100]);
        seen.room.huge_bytes = Some(5000);
        let none = estimate(&seen, Suppose::default()).expect("instances");
        assert!(none.bounds.iter().all(|bound| bound.unit != BoundUnit::HugeBytes), "nobody has any");
        seen.instances.iter_mut().for_each(|instance| instance.cost.huge_bytes = 1500);
        seen.instances[1].own_shared_bytes = 70;
        seen.instances[2].own_shared_bytes = 30;
        let found = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!((found.bounds[0].what.as_str(), found.bounds[0].fits), ("the pool of huge pages", Some(3)));
        assert_eq!(found.fits.map(|fits| (fits.low, fits.middle, fits.high)), Some((3.0, 3.0, 3.0)));
        assert_eq!((found.each_bytes.middle, found.left_out_bytes), (100.0, 30));
    }

    #[test]
    fn no_end_of_the_answer_is_beyond_another_limit() {
        let mut seen = survey(&[50, 100, 200]);
        let free = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!(free.fits.map(|fits| (fits.low, fits.middle, fits.high)), Some((5.0, 10.0, 20.0)));
        assert_eq!(free.may_bind, Vec::<String>::new());
        // Two threads each.
        seen.room.tasks = vec![TaskRoom { limit: "kernel.pid_max".to_owned(), left: 24 }];
        let bound = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!(
            (bound.bounds[0].what.as_str(), bound.may_bind.as_slice()),
            ("memory", &["kernel.pid_max".to_owned()][..])
        );
        assert_eq!(bound.fits.map(|fits| (fits.low, fits.middle, fits.high)), Some((5.0, 10.0, 12.0)));
        // Tasks bind, and memory does if the next are dear.
        seen.room.tasks[0].left = 14;
        let bound = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!(
            (bound.bounds[0].what.as_str(), bound.may_bind.as_slice()),
            ("kernel.pid_max", &["memory".to_owned()][..])
        );
        assert_eq!(bound.fits.map(|fits| (fits.low, fits.middle, fits.high)), Some((5.0, 7.0, 7.0)));
    }

    #[test]
    fn a_machine_that_waits_for_memory_has_no_room() {
        let mut seen = survey(&[1, 1, 1]);
        seen.room.memory_pressure = Some(3.0);
        assert_ne!(estimate(&seen, Suppose::default()).expect("instances").fits.map(|fits| fits.middle), Some(0.0));
        seen.room.memory_pressure = Some(30.0);
        let found = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!(found.fits.map(|fits| fits.middle), Some(0.0));
        assert!(found.bounds[0].what.contains("PSI"));
    }

    #[test]
    fn few_and_unequal_instances_make_it_unsure() {
        let found = estimate(&survey(&[100]), Suppose::default()).expect("one");
        assert_eq!((found.each_bytes.low, found.each_bytes.high), (50.0, 200.0));
        assert_eq!(found.dominates, Dominates::Few { instances: 1 });
        let found = estimate(&survey(&[10, 100, 100, 300]), Suppose::default()).expect("some");
        assert_eq!((found.each_bytes.low, found.each_bytes.middle, found.each_bytes.high), (10.0, 100.0, 300.0));
        assert!(matches!(found.dominates, Dominates::Spread { share } if share > 1.9));
        assert_eq!(estimate(&survey(&[]), Suppose::default()), None);
        let equal = vec![100; 400];
        let found = estimate(&survey(&equal), Suppose::default()).expect("many");
        assert_eq!((found.each_bytes.low, found.each_bytes.high), (100.0, 100.0));
    }

    #[test]
    fn the_middle_lies_between_its_bounds_whatever_the_count() {
        for count in 1..400 {
            let sorted: Vec<f64> = (0..count).map(f64::from).collect();
            let range = middle_of(&sorted).expect("some");
            assert!(range.low <= range.middle && range.middle <= range.high, "{count}: {range:?}");
        }
        let hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(middle_of(&hundred), Some(Range { low: 39.0, middle: 49.5, high: 60.0 }));
    }

    #[test]
    fn growth_and_missing_rights_are_named_when_they_weigh_most() {
        let mut seen = survey(&[1000, 1000, 1000]);
        seen.instances.iter_mut().for_each(|instance| instance.growth_bytes = 50);
        let found = estimate(&seen, Suppose::default()).expect("instances");
        assert_eq!(found.dominates, Dominates::Growing { bytes_per_second: 50.0 });
        let mut seen = survey(&[1000, 1000, 1000]);
        seen.read_in_detail = 0;
        assert_eq!(estimate(&seen, Suppose::default()).expect("some").dominates, Dominates::Undetailed { share: 1.0 });
    }

    #[test]
    fn a_host_that_tells_nothing_is_survived() {
        let nothing = HostSurvey { instances: vec![Instance::default()], ..HostSurvey::default() };
        let found = estimate(&nothing, Suppose::default()).expect("one");
        assert_eq!((found.fits, found.each_bytes.middle), (None, 0.0));
    }
}
