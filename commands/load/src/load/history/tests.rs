//! Moments that become one, and how many transactions were due.

use super::*;
use ::load::arrivals::{RateProfile, Spacing, Think};
use std::time::Duration;

/// An interval of a second in which `done` transactions took `ns` each.
pub fn moment(at_s: f64, done: u64, ns: u64) -> LoadMoment {
    let mut response = TimeBuckets::default();
    response.add(ns, done);
    LoadMoment {
        at_s,
        elapsed_s: 1.0,
        is_warmup: false,
        counts: MomentCounts { offered: Some(100.0), sent: done, done, failed: 1, dropped: 2 },
        response,
        percentiles_ns: (done > 0).then_some([ns; 3]),
        slip_p99_ns: 50_000,
        slip_max_ns: at_s as u64,
        cost: Some(MomentCost { cpu_ns: 1_000_000 * done, memory_bytes: Some(100_000_000) }),
        own_cpu_ns: 100_000_000,
    }
}

#[test]
fn a_week_has_no_more_moments_than_an_hour_and_loses_no_transaction() {
    let mut history = History { most: 8, ..History::default() };
    (1..=1001_u32).for_each(|second| history.push(moment(f64::from(second), 10, 1_000_000)));
    assert!((4..=8).contains(&history.moments().len()), "{}", history.moments().len());
    assert_eq!(history.moments().iter().map(|moment| moment.counts.done).sum::<u64>(), 10_010);
    assert_eq!(history.moments().iter().map(|moment| moment.elapsed_s).sum::<f64>(), 1001.0);
    let [first, second, ..] = history.moments() else { panic!("there are several") };
    assert_eq!((first.elapsed_s, second.elapsed_s), (history.intervals() as f64, history.intervals() as f64));
    assert_eq!(first.counts.offered, Some(100.0 * first.elapsed_s));
    assert_eq!((first.at_s, first.slip_max_ns), (first.elapsed_s, first.elapsed_s as u64));
    let cost = first.cost.expect("it was measured");
    assert_eq!((cost.cpu_ns, cost.memory_bytes), (10_000_000 * history.intervals() as u64, Some(100_000_000)));
}

#[test]
fn intervals_stay_as_they_were_while_there_is_room() {
    let mut history = History { most: 4, ..History::default() };
    [1_000_000, 9_000_000].into_iter().enumerate().for_each(|(at, ns)| history.push(moment(at as f64, 10, ns)));
    let percentiles: Vec<_> = history.moments().iter().map(|moment| moment.percentiles_ns).collect();
    assert_eq!(percentiles, [Some([1_000_000; 3]), Some([9_000_000; 3])], "exact, not a bucket's");
    let [first, second] = history.moments() else { panic!("there are two") };
    let mut both = first.clone();
    both.join(second);
    let [p50, p95, _] = both.percentiles_ns.expect("there were some");
    assert!(p50 < 1_100_000 && p95 > 8_500_000, "{p50} {p95}");
}

#[test]
fn what_was_due_is_the_area_below_the_rate() {
    let rate = "0..100@10s,100".parse::<RateProfile>().expect("a profile");
    let open = ArrivalModel::Open { rate, spacing: Spacing::Poisson };
    let due = |from, until| offered(&open, from, until).expect("it is open");
    assert!((due(0.0, 10.0) - 500.0).abs() < 1e-6 && (due(20.0, 21.0) - 100.0).abs() < 1e-6);
    assert_eq!(offered(&ArrivalModel::Closed(Think { mean_ns: 0, is_exponential: false }), 0.0, 1.0), None);
}

#[test]
fn the_wait_for_the_last_replies_is_no_interval() {
    let arrivals = ArrivalModel::Clocked { rate: 100.0, jitter_ns: None };
    let mut maker = MomentMaker { arrivals, warmup_s: 0.0, duration_s: 10.0, own_cpu_ns: 0 };
    let ledger = ::load::ledger::Ledger::default();
    let mut at = |at_seconds| {
        let elapsed = Duration::from_secs(1);
        maker.moment(&IntervalReport {
            at_seconds,
            elapsed,
            ledger: &ledger,
            cost: None,
            is_warmup: false,
            not_done: 0,
        })
    };
    assert_eq!(at(9.5).map(|moment| (moment.at_s, moment.counts.offered)), Some((9.5, Some(100.0))));
    assert_eq!(
        at(10.25).map(|moment| (moment.at_s, moment.elapsed_s, moment.counts.offered)),
        Some((10.0, 0.75, Some(75.0)))
    );
    assert!(at(10.75).is_none());
}
