//! A sweep: one run for each number of connections, or each rate, in interleaved rounds; what each point took and cost, and the law that throughput follows.
//! Knows no clock and no socket.

mod axis;

pub use axis::{SweepAxis, SweepAxisError, SweepPlan};

use crate::late::WhoWasLate;
use crate::run::RunReport;
use crate::statistics::knee::{self, KneeFit};
use crate::statistics::scalability::{self, LoadPoint, UslFit};
use crate::statistics::{Bootstrap, IntervalEstimate, median};
use serde::Serialize;

/// One run of a sweep. Times are none where the generator was the limit: they would be its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepRun {
    /// Connections or rate.
    pub value: f64,
    /// Which round it was in, from 1.
    pub round: usize,
    /// Transactions done a second.
    pub transactions_per_s: f64,
    /// Response times that so many per cent do not exceed.
    pub p50_s: Option<f64>,
    /// See above.
    pub p95_s: Option<f64>,
    /// See above.
    pub p99_s: Option<f64>,
    /// CPU time of the server for a transaction, if the server is on this host.
    pub server_cpu_s: Option<f64>,
    /// Context switches of the server for a transaction.
    pub server_switches: Option<f64>,
    /// CPU time of the generator for a transaction.
    pub generator_cpu_s: f64,
    /// Transactions that failed or were dropped.
    pub failed: u64,
    /// Whether the generator was the limit.
    pub is_generator: bool,
}

impl SweepRun {
    /// What a run at `value` showed.
    pub fn of(report: &RunReport, value: f64, round: usize) -> Self {
        let ledger = &report.ledger;
        let is_generator = matches!(report.late, WhoWasLate::Generator { .. });
        let response = ledger.response();
        let percentile = |percent: f64| {
            let is_told = !is_generator && response.count() > 0;
            is_told.then(|| response.percentile_ns(percent) as f64 / 1e9)
        };
        let count = ledger.succeeded().max(1) as f64;
        let generator_ns: u64 = report.threads.iter().map(|used| used.cpu_ns).sum();
        Self {
            value,
            round,
            transactions_per_s: report.rate(),
            p50_s: percentile(50.0),
            p95_s: percentile(95.0),
            p99_s: percentile(99.0),
            server_cpu_s: report.cost.map(|cost| cost.cpu_ns() as f64 / 1e9 / count),
            server_switches: report.cost.and_then(|cost| Some(cost.switches? as f64 / count)),
            generator_cpu_s: generator_ns as f64 / 1e9 / count,
            failed: ledger.failures() + ledger.dropped,
            is_generator,
        }
    }
}

/// All runs at one value: medians, and the interval of throughput.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// Connections or rate.
    pub value: f64,
    /// Runs that the figures are of.
    pub runs: usize,
    /// Transactions done a second; bounds are those of the median.
    pub transactions_per_s: IntervalEstimate,
    /// Medians of the runs' percentiles.
    pub p50_s: Option<f64>,
    /// See above.
    pub p95_s: Option<f64>,
    /// See above.
    pub p99_s: Option<f64>,
    /// Median CPU time of the server for a transaction.
    pub server_cpu_s: Option<f64>,
    /// Median context switches of the server for a transaction.
    pub server_switches: Option<f64>,
    /// Median CPU time of the generator for a transaction.
    pub generator_cpu_s: f64,
    /// Transactions that failed or were dropped, in all runs.
    pub failed: u64,
    /// Whether the generator was the limit in a run, so that the point is in no fit.
    pub is_generator: bool,
}

/// The law that throughput follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "kebab-case")]
pub enum SweepLaw {
    /// The Universal Scalability Law, of connections that do not think.
    Scalability(UslFit),
    /// Two lines, of users who think.
    Knee(KneeFit),
    /// None can be given.
    None {
        /// Why not.
        reason: String,
    },
}

/// A whole sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepReport {
    /// What was swept.
    pub axis: SweepAxis,
    /// How long users think, in seconds.
    pub think_s: f64,
    /// By value, in ascending order.
    pub points: Vec<SweepPoint>,
    /// What throughput follows, if connections were swept.
    pub law: Option<SweepLaw>,
}

impl SweepReport {
    /// Puts runs together.
    pub fn new(axis: SweepAxis, is_closed: bool, think_s: f64, runs: &[SweepRun]) -> Self {
        let mut values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let points: Vec<SweepPoint> = values.iter().filter_map(|value| point(*value, runs)).collect();
        let is_fit = |run: &&SweepRun| points.iter().any(|point| point.value == run.value && !point.is_generator);
        let measured: Vec<LoadPoint> = runs
            .iter()
            .filter(is_fit)
            .map(|run| LoadPoint { load: run.value, throughput: run.transactions_per_s })
            .collect();
        let law = (axis == SweepAxis::Connections && is_closed).then(|| law(&measured, think_s));
        Self { axis, think_s, points, law }
    }
}

fn law(measured: &[LoadPoint], think_s: f64) -> SweepLaw {
    let bootstrap = Bootstrap::default();
    let none = |reason: String| SweepLaw::None { reason };
    if think_s > 0.0 {
        return knee::fit(measured, &bootstrap).map_or_else(|error| none(error.to_string()), SweepLaw::Knee);
    }
    scalability::fit(measured, &bootstrap).map_or_else(|error| none(error.to_string()), SweepLaw::Scalability)
}

fn point(value: f64, runs: &[SweepRun]) -> Option<SweepPoint> {
    let here: Vec<&SweepRun> = runs.iter().filter(|run| run.value == value).collect();
    let figures = |of: fn(&SweepRun) -> Option<f64>| here.iter().filter_map(|run| of(run)).collect::<Vec<f64>>();
    let middle = |of: fn(&SweepRun) -> Option<f64>| median(&figures(of));
    Some(SweepPoint {
        value,
        runs: here.len(),
        transactions_per_s: Bootstrap::default().median(&figures(|run| Some(run.transactions_per_s)))?,
        p50_s: middle(|run| run.p50_s),
        p95_s: middle(|run| run.p95_s),
        p99_s: middle(|run| run.p99_s),
        server_cpu_s: middle(|run| run.server_cpu_s),
        server_switches: middle(|run| run.server_switches),
        generator_cpu_s: middle(|run| Some(run.generator_cpu_s))?,
        failed: here.iter().map(|run| run.failed).sum(),
        is_generator: here.iter().any(|run| run.is_generator),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: f64, round: usize, transactions_per_s: f64) -> SweepRun {
        SweepRun {
            value,
            round,
            transactions_per_s,
            p50_s: Some(0.001),
            p95_s: Some(0.002),
            p99_s: Some(0.001 * round as f64),
            server_cpu_s: None,
            server_switches: None,
            generator_cpu_s: 1e-5,
            failed: 1,
            is_generator: false,
        }
    }

    fn swept(throughput: impl Fn(f64) -> f64) -> Vec<SweepRun> {
        let values = (0..11).map(|power| f64::from(1 << power));
        let runs = values.flat_map(|value| (1..=3).map(move |round| (value, round)));
        let noise = |round: usize| 1.0 + 0.01 * (round as f64 - 2.0);
        runs.map(|(value, round)| run(value, round, throughput(value) * noise(round))).collect()
    }

    #[test]
    fn runs_of_a_value_become_a_point_with_medians_and_an_interval() {
        let runs = [run(8.0, 1, 90.0), run(4.0, 1, 50.0), run(4.0, 2, 52.0), run(8.0, 2, 94.0), run(8.0, 3, 91.0)];
        let report = SweepReport::new(SweepAxis::Rate, false, 0.0, &runs);
        let values: Vec<(f64, usize, f64)> =
            report.points.iter().map(|point| (point.value, point.runs, point.transactions_per_s.value)).collect();
        assert_eq!(values, [(4.0, 2, 51.0), (8.0, 3, 91.0)]);
        assert_eq!((report.points[1].p99_s, report.points[1].failed), (Some(0.002), 3));
        let throughput = report.points[1].transactions_per_s;
        assert_eq!((throughput.low, throughput.high), (90.0, 94.0));
        assert_eq!(report.law, None, "rates follow no law");
    }

    #[test]
    fn connections_follow_the_universal_law_and_thinkers_have_a_knee() {
        let usl = |n: f64| 1000.0 * n / (1.0 + 0.03 * (n - 1.0) + 0.0001 * n * (n - 1.0));
        let report = SweepReport::new(SweepAxis::Connections, true, 0.0, &swept(usl));
        let Some(SweepLaw::Scalability(fit)) = report.law else { panic!("{report:?}") };
        assert!(fit.alpha.contains(0.03) && fit.beta.contains(0.0001) && fit.gamma.contains(1000.0), "{fit:?}");
        let thinking = |n: f64| (n / 0.202).min(800.0);
        let report = SweepReport::new(SweepAxis::Connections, true, 0.2, &swept(thinking));
        let Some(SweepLaw::Knee(fit)) = report.law else { panic!("{report:?}") };
        assert!(fit.load.contains(800.0 * 0.202), "{fit:?}");
    }

    #[test]
    fn a_point_of_the_generator_is_in_no_fit() {
        let usl = |n: f64| 1000.0 * n / (1.0 + 0.03 * (n - 1.0) + 0.0001 * n * (n - 1.0));
        let mut runs = swept(usl);
        let spoiled = runs.iter_mut().rfind(|run| run.value == 64.0).expect("it is there");
        (spoiled.is_generator, spoiled.transactions_per_s) = (true, 1.0);
        let report = SweepReport::new(SweepAxis::Connections, true, 0.0, &runs);
        assert!(report.points.iter().all(|point| point.is_generator == (point.value == 64.0)));
        let Some(SweepLaw::Scalability(fit)) = report.law else { panic!("{:?}", report.law) };
        assert!(fit.r_squared > 0.99);
        let few = SweepReport::new(SweepAxis::Connections, true, 0.0, &[run(1.0, 1, 5.0), run(2.0, 1, 9.0)]);
        assert!(matches!(few.law, Some(SweepLaw::None { reason }) if reason.contains("4 loads")));
    }
}
