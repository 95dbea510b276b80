//! What came of a cell in several rounds: medians, and how far rounds differ.

use super::cell::{Bench, Cell};
use super::lock::MadeOf;
use super::round::RoundOutcome;
use serde::Serialize;
use std::io;

/// The middle of some rounds, and the smallest and largest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Middle {
    /// Half of the rounds are below.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Middle {
    /// Of these; none when there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let (&low, &high) = (values.first()?, values.last()?);
        let upper = values[values.len() / 2];
        let median = if values.len().is_multiple_of(2) { (values[values.len() / 2 - 1] + upper) / 2.0 } else { upper };
        Some(Self { median, low, high })
    }

    /// Half of the way from the smallest to the largest, as a share of the middle.
    pub fn spread(&self) -> f64 {
        let half = (self.high - self.low) / 2.0;
        if half > 0.0 { half / self.median } else { 0.0 }
    }
}

/// How long was waited: the middle of the rounds' figures, and the longest of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WaitFigures {
    /// Half were shorter.
    pub p50_ns: f64,
    /// 99 of 100 were.
    pub p99_ns: f64,
    /// The longest; a wait that the end of a round cut short counts as far as it went.
    pub longest_ns: u64,
}

/// What an acquisition costs beside its wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LockCosts {
    /// CPU time of all threads, less the work that they did with and without the lock.
    pub cpu_ns: f64,
    /// CPU time of all threads for the time that the lock was held.
    pub cpu_over_held: f64,
    /// Times that a thread left its CPU because it waited.
    pub sleeps: f64,
    /// Times that a thread left its CPU because another was to run.
    pub preemptions: f64,
    /// Wake-ups after which the lock was not to be had; none if the lock does not count them.
    pub wasted_wakes: Option<f64>,
}

/// A cell's figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockRow {
    /// The lock.
    pub lock: String,
    /// What it is made of; none for no lock.
    pub made_of: Option<MadeOf>,
    /// The situation.
    pub scenario: &'static str,
    /// How many threads there were.
    pub threads: usize,
    /// CPUs that they could run on.
    pub cpus: usize,
    /// Whether each stayed on one.
    pub pinned: bool,
    /// Rounds that the figures are of.
    pub rounds: usize,
    /// Rounds that were left out, since another program had taken a thread's CPU.
    pub rounds_disturbed: usize,
    /// How long a round was watched.
    pub window_ns: u64,
    /// Acquisitions in a second.
    pub per_s: Middle,
    /// How long was waited; none if nobody got the lock while it was counted.
    pub wait: Option<WaitFigures>,
    /// The same for writers, where there are readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer_wait: Option<WaitFigures>,
    /// Jain's index: 1 if all threads got the lock equally often, 1 / threads if one had it alone.
    pub fairness: Option<f64>,
    /// What an acquisition costs; none if there was none.
    pub costs: Option<LockCosts>,
}

/// A cell and its rounds so far.
pub struct Measured {
    /// The cell.
    pub cell: Cell,
    rounds: Vec<RoundFigures>,
}

/// One round in numbers.
struct RoundFigures {
    was_disturbed: bool,
    per_s: f64,
    waits: [Option<(f64, f64)>; 2],
    longest_ns: u64,
    fairness: Option<f64>,
    costs: Option<LockCosts>,
}

impl Measured {
    /// Nothing yet.
    pub fn begin(cell: Cell) -> Self {
        Self { cell, rounds: Vec::new() }
    }

    /// Measures one round more.
    pub fn go_on(&mut self, bench: &Bench) -> io::Result<()> {
        let outcome = bench.round(&self.cell)?;
        self.rounds.push(RoundFigures::of(&self.cell, bench, &outcome));
        Ok(())
    }

    /// Rounds that nothing disturbed, if they are more than half; else all.
    fn quiet_rounds(&self) -> Vec<&RoundFigures> {
        let quiet: Vec<&RoundFigures> = self.rounds.iter().filter(|round| !round.was_disturbed).collect();
        if quiet.len() * 2 > self.rounds.len() { quiet } else { self.rounds.iter().collect() }
    }

    /// The figures; none before the first round.
    pub fn row(&self, bench: &Bench) -> Option<LockRow> {
        let rounds = self.quiet_rounds();
        let middle = |pick: &dyn Fn(&RoundFigures) -> Option<f64>| {
            Middle::of(rounds.iter().filter_map(|round| pick(round)).collect()).map(|middle| middle.median)
        };
        let longest_ns = rounds.iter().map(|round| round.longest_ns).max()?;
        let wait = |which: usize| {
            let p50_ns = middle(&|round| round.waits[which].map(|(p50, _)| p50))?;
            let p99_ns = middle(&|round| round.waits[which].map(|(_, p99)| p99))?;
            Some(WaitFigures { p50_ns, p99_ns, longest_ns })
        };
        let cost = |pick: fn(&LockCosts) -> f64| middle(&|round| round.costs.as_ref().map(pick));
        let costs = || {
            Some(LockCosts {
                cpu_ns: cost(|costs| costs.cpu_ns)?,
                cpu_over_held: cost(|costs| costs.cpu_over_held)?,
                sleeps: cost(|costs| costs.sleeps)?,
                preemptions: cost(|costs| costs.preemptions)?,
                wasted_wakes: middle(&|round| round.costs.as_ref()?.wasted_wakes),
            })
        };
        Some(LockRow {
            lock: self.cell.subject.name(),
            made_of: self.cell.subject.made_of(),
            scenario: self.cell.scenario.name,
            threads: self.cell.threads,
            cpus: bench.cpus.len(),
            pinned: bench.is_pinned(&self.cell),
            rounds: rounds.len(),
            rounds_disturbed: self.rounds.len() - rounds.len(),
            window_ns: u64::try_from(bench.window_of(&self.cell).as_nanos()).unwrap_or(u64::MAX),
            per_s: Middle::of(rounds.iter().map(|round| round.per_s).collect())?,
            wait: wait(0),
            writer_wait: if self.cell.scenario.has_readers() { wait(1) } else { None },
            fairness: middle(&|round| round.fairness),
            costs: costs(),
        })
    }
}

impl RoundFigures {
    fn of(cell: &Cell, bench: &Bench, outcome: &RoundOutcome) -> Self {
        let acquisitions: u64 = outcome.acquisitions.iter().sum();
        let quantiles = |histogram: &hdrhistogram::Histogram<u32>| {
            // The histogram returns the upper end of a step.
            let at = |quantile| histogram.value_at_quantile(quantile).min(outcome.waits.longest_ns) as f64;
            (!histogram.is_empty()).then(|| (at(0.5), at(0.99)))
        };
        Self {
            was_disturbed: was_disturbed(cell, bench, outcome),
            per_s: acquisitions as f64 * 1e9 / outcome.window_ns as f64,
            waits: [quantiles(&outcome.waits.all), quantiles(&outcome.waits.writers)],
            longest_ns: outcome.waits.longest_ns,
            fairness: jains_index(&outcome.acquisitions),
            costs: (acquisitions > 0).then(|| costs_of(cell, bench, outcome, acquisitions as f64)),
        }
    }
}

/// Share of the threads' time that they may be without a CPU though there are enough: the thread that ends the round takes some microseconds.
const DELAY_SHARE_MAX: f64 = 0.01;

/// Whether another program took CPUs. Where there are more threads than CPUs nobody can tell.
fn was_disturbed(cell: &Cell, bench: &Bench, outcome: &RoundOutcome) -> bool {
    let time_ns = outcome.window_ns as f64 * cell.threads as f64;
    cell.threads <= bench.cpus.len() && outcome.run_delay_ns as f64 > DELAY_SHARE_MAX * time_ns
}

fn costs_of(cell: &Cell, bench: &Bench, outcome: &RoundOutcome, acquisitions: f64) -> LockCosts {
    let script = |number| cell.scenario.script(number, bench.times, &bench.calibration);
    let ns = |steps: u32| f64::from(steps) / bench.calibration.steps_per_ns;
    let of_threads = outcome.acquisitions.iter().enumerate().map(|(number, &count)| (script(number), count as f64));
    let (held_ns, thought_ns) = of_threads.fold((0.0, 0.0), |(held, thought), (script, count)| {
        (held + count * ns(script.hold_steps), thought + count * ns(script.think_steps) / f64::from(script.burst))
    });
    let cpu_ns = outcome.cpu_ns as f64;
    LockCosts {
        cpu_ns: ((cpu_ns - held_ns - thought_ns) / acquisitions).max(0.0),
        cpu_over_held: if held_ns > 0.0 { cpu_ns / held_ns } else { 0.0 },
        sleeps: outcome.switches.0 as f64 / acquisitions,
        preemptions: outcome.switches.1 as f64 / acquisitions,
        wasted_wakes: cell.subject.counts_wakes().then(|| outcome.counts.wasted as f64 / acquisitions),
    }
}

/// How equally something was shared (Jain, Chiu, Hawe 1984); none if there was nothing.
fn jains_index(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_of_rounds_and_the_spread_of_the_outermost() {
        let middle = Middle::of(vec![3.0, 1.0, 2.0]).expect("some");
        assert_eq!((middle.median, middle.low, middle.high, middle.spread()), (2.0, 1.0, 3.0, 0.5));
        assert_eq!(Middle::of(vec![1.0, 2.0]).map(|middle| middle.median), Some(1.5));
        assert_eq!(Middle::of(Vec::new()), None);
        assert_eq!(Middle::of(vec![0.0]).map(|middle| middle.spread()), Some(0.0));
        assert_eq!(Middle::of(vec![0.0, 0.0, 1.0]).map(|middle| middle.spread()), Some(f64::INFINITY));
    }

    #[test]
    fn fairness_is_one_for_equal_shares_and_a_fraction_for_one_alone() {
        assert_eq!(jains_index(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(jains_index(&[8, 0, 0, 0]), Some(0.25));
        assert_eq!((jains_index(&[0, 0]), jains_index(&[])), (None, None));
    }

    #[test]
    fn disturbed_rounds_are_left_out_if_most_were_quiet() {
        let round = |per_s, was_disturbed| RoundFigures {
            was_disturbed,
            per_s,
            waits: [None, None],
            longest_ns: per_s as u64,
            fairness: None,
            costs: None,
        };
        let scenario = crate::locks::scenario::scenario_named("short").expect("listed");
        let cell = Cell { subject: crate::locks::cell::LockSubject::Nothing, scenario, threads: 2 };
        let medians = |rounds: Vec<RoundFigures>| {
            let measured = Measured { cell, rounds };
            let per_s: Vec<f64> = measured.quiet_rounds().iter().map(|round| round.per_s).collect();
            Middle::of(per_s).map(|middle| middle.median)
        };
        assert_eq!(medians(vec![round(10.0, false), round(1.0, true), round(12.0, false)]), Some(11.0));
        assert_eq!(medians(vec![round(10.0, false), round(1.0, true), round(2.0, true)]), Some(2.0));
        assert_eq!(medians(Vec::new()), None);
    }
}
