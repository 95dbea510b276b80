//! The highest rate of an open load that holds a goal: which rate is tried next, and what is known at the end. Knows no clock and no socket. A single
//! run is noisy, so the ends of the interval are run again, and a rate holds by the majority of its runs.

use crate::goal::LatencyGoal;
use crate::late::WhoWasLate;
use crate::run::RunReport;
use serde::Serialize;
use std::time::Duration;

/// What a run at a rate showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// The goal was met.
    Holds,
    /// Response times missed it.
    Late,
    /// Transactions were not done at the rate at which they were due.
    NotKept,
    /// Transactions were dropped.
    Dropped,
    /// Transactions failed.
    Failed,
    /// The generator was the limit: nothing is known of the server.
    Generator,
}

/// A run at a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateTrial {
    /// Transactions due a second.
    pub rate_per_s: f64,
    /// Transactions done a second, until the last of them was done.
    pub done_per_s: f64,
    /// The goal's figures; none where the generator was the limit.
    pub figures_s: Vec<f64>,
    /// What it showed.
    pub verdict: TrialVerdict,
}

/// LIMIT: a rate that takes this much longer than planned to be carried out is not kept; the clock of the end has some milliseconds.
const BEHIND_SHARE: f64 = 0.02;
const BEHIND_LEAST: Duration = Duration::from_millis(100);

impl RateTrial {
    /// Judges a run that was to have this rate.
    pub fn of(report: &RunReport, rate_per_s: f64, goal: &LatencyGoal) -> Self {
        let ledger = &report.ledger;
        let took = report.elapsed + report.drained;
        let figures_s = goal.figures(&ledger.response());
        let is_behind = report.drained > report.elapsed.mul_f64(BEHIND_SHARE) + BEHIND_LEAST;
        let is_kept = !(is_behind || ledger.succeeded() == 0 || report.unfinished() > 0);
        let is_generator = matches!(report.late, WhoWasLate::Generator { .. });
        // The generator's lateness is in response times, and in no service time: what holds with it holds, and what misses without it misses.
        let misses_without = !goal.is_met_by(&goal.figures(&ledger.service()));
        let verdict = match () {
            () if ledger.failures() > 0 => TrialVerdict::Failed,
            () if ledger.dropped > 0 => TrialVerdict::Dropped,
            () if is_kept && goal.is_met_by(&figures_s) => TrialVerdict::Holds,
            () if is_generator && !(is_kept && misses_without) => TrialVerdict::Generator,
            () if !is_kept => TrialVerdict::NotKept,
            () => TrialVerdict::Late,
        };
        let figures_s = if verdict == TrialVerdict::Generator { Vec::new() } else { figures_s };
        let done_per_s = ledger.succeeded() as f64 / took.as_secs_f64().max(1e-9);
        Self { rate_per_s, done_per_s, figures_s, verdict }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// Run at this rate.
    Run(f64),
    /// All is known.
    Ended,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchAnswer {
    /// The highest rate that holds the goal in most of its runs; none if none does.
    pub rate_per_s: Option<f64>,
    /// The highest rate, at or below it, that held in all its runs.
    pub low_per_s: Option<f64>,
    /// The lowest rate above it that held in none of its runs.
    pub high_per_s: Option<f64>,
    /// The run at the next higher rate that is in the middle of those that did not hold.
    pub above: Option<RateTrial>,
    /// Whether the two are as near to each other as was wanted, and were run often enough.
    pub is_narrow: bool,
    /// Whether the next higher rate failed by the generator, so that the server may do more.
    pub is_generator: bool,
}

/// LIMIT: runs of a search; one that is not narrow by then does not become so.
const RUNS_MAX: usize = 60;
/// Runs at a rate that fails, before half of it is tried.
const RUNS_BEFORE_DESCENT: usize = 2;
/// Runs at each end of the interval.
const RUNS_AT_ENDS: usize = 3;
/// LIMIT: lower rates are no load, and the highest is a profile's.
const RATE_LEAST: f64 = 0.01;
const RATE_MOST: f64 = 1e8;

/// A search under way.
#[derive(Clone, Debug)]
pub struct RateSearch {
    begin: f64,
    within: f64,
    least: f64,
    trials: Vec<RateTrial>,
}

/// The runs at one rate.
#[derive(Clone, Copy, Debug)]
struct RateVotes {
    rate: f64,
    held: usize,
    by_generator: usize,
    runs: usize,
}

impl RateVotes {
    fn holds(&self) -> bool {
        2 * self.held > self.runs
    }

    fn fails(&self) -> bool {
        2 * self.held < self.runs
    }
}

impl RateSearch {
    /// Begins at a rate, half of what was done flat out say, and ends when the bounds differ by the share `within` of the upper one. Rates below
    /// `least` are not tried.
    pub fn new(begin: f64, within: f64, least: f64) -> Self {
        let least = rounded(least).clamp(RATE_LEAST, RATE_MOST);
        let begin = rounded(begin).clamp(least, RATE_MOST);
        Self { begin, within: within.clamp(0.001, 1.0), least, trials: Vec::new() }
    }

    /// All runs so far.
    pub fn trials(&self) -> &[RateTrial] {
        &self.trials
    }

    /// A run has ended.
    pub fn add(&mut self, trial: RateTrial) {
        self.trials.push(trial);
    }

    /// What to do next.
    pub fn next(&self) -> SearchStep {
        if self.trials.len() >= RUNS_MAX {
            return SearchStep::Ended;
        }
        let votes = self.votes();
        if let Some(tied) = votes.iter().find(|votes| !votes.holds() && !votes.fails()) {
            return SearchStep::Run(tied.rate);
        }
        let (floor, ceiling) = bounds(&votes);
        // One that holds above one that fails: chance, of which more runs make less.
        let is_doubted = |ceiling: &RateVotes| votes.iter().any(|votes| votes.rate > ceiling.rate && votes.holds());
        if let Some(doubted) = ceiling.filter(|ceiling| ceiling.runs < RUNS_AT_ENDS && is_doubted(ceiling)) {
            return SearchStep::Run(doubted.rate);
        }
        match (floor, ceiling) {
            (None, None) => SearchStep::Run(self.begin),
            (Some(floor), None) if floor.rate < RATE_MOST => SearchStep::Run(rounded(2.0 * floor.rate).min(RATE_MOST)),
            // Where nothing has held yet, a single mishap would lead far down.
            (None, Some(ceiling)) if ceiling.runs < RUNS_BEFORE_DESCENT => SearchStep::Run(ceiling.rate),
            (None, Some(ceiling)) if ceiling.rate > self.least => {
                SearchStep::Run(rounded(ceiling.rate / 2.0).max(self.least))
            }
            (floor, ceiling) => match self.middle(floor, ceiling) {
                Some(rate) => SearchStep::Run(rate),
                None => ends_again(floor, ceiling),
            },
        }
    }

    /// The rate between two ends that are not near enough to each other.
    fn middle(&self, floor: Option<RateVotes>, ceiling: Option<RateVotes>) -> Option<f64> {
        let (low, high) = (floor?.rate, ceiling?.rate);
        let middle = rounded(f64::midpoint(low, high));
        ((high - low) / high > self.within && middle > low && middle < high).then_some(middle)
    }

    /// What is known now.
    pub fn answer(&self) -> SearchAnswer {
        let votes = self.votes();
        let (floor, ceiling) = bounds(&votes);
        let at_or_below = |votes: &&RateVotes| floor.is_some_and(|floor| votes.rate <= floor.rate);
        let low = votes.iter().filter(at_or_below).rfind(|votes| votes.held == votes.runs);
        let above = |votes: &&RateVotes| floor.is_none_or(|floor| votes.rate > floor.rate);
        let high = votes.iter().filter(above).find(|votes| votes.held == 0);
        SearchAnswer {
            rate_per_s: floor.map(|votes| votes.rate),
            low_per_s: low.map(|votes| votes.rate),
            high_per_s: high.map(|votes| votes.rate),
            above: ceiling.and_then(|ceiling| self.middle_trial(ceiling.rate)),
            is_narrow: floor.is_some()
                && ceiling.is_some()
                && self.middle(floor, ceiling).is_none()
                && ends_again(floor, ceiling) == SearchStep::Ended,
            is_generator: ceiling.is_some_and(|ceiling| 2 * ceiling.by_generator > ceiling.runs - ceiling.held),
        }
    }

    /// Of the runs at a rate that did not hold, the one in the middle by its first figure.
    fn middle_trial(&self, rate: f64) -> Option<RateTrial> {
        let is_it = |trial: &&RateTrial| trial.rate_per_s == rate && trial.verdict != TrialVerdict::Holds;
        let mut trials: Vec<&RateTrial> = self.trials.iter().filter(is_it).collect();
        let figure = |trial: &RateTrial| trial.figures_s.first().copied().unwrap_or(f64::INFINITY);
        trials.sort_by(|first, second| figure(first).total_cmp(&figure(second)));
        trials.get(trials.len() / 2).copied().cloned()
    }

    /// The runs by rate, from the lowest on.
    fn votes(&self) -> Vec<RateVotes> {
        let mut votes: Vec<RateVotes> = Vec::new();
        for trial in &self.trials {
            let at = votes.partition_point(|votes| votes.rate < trial.rate_per_s);
            if votes.get(at).is_none_or(|votes| votes.rate != trial.rate_per_s) {
                votes.insert(at, RateVotes { rate: trial.rate_per_s, held: 0, by_generator: 0, runs: 0 });
            }
            votes[at].runs += 1;
            votes[at].held += usize::from(trial.verdict == TrialVerdict::Holds);
            votes[at].by_generator += usize::from(trial.verdict == TrialVerdict::Generator);
        }
        votes
    }
}

/// The highest rate that holds below the lowest that fails, and that one.
fn bounds(votes: &[RateVotes]) -> (Option<RateVotes>, Option<RateVotes>) {
    let ceiling = votes.iter().position(RateVotes::fails);
    let floor = votes[..ceiling.unwrap_or(votes.len())].iter().rfind(|votes| votes.holds());
    (floor.copied(), ceiling.map(|index| votes[index]))
}

/// The end that was run less often, as long as one was not run often enough.
fn ends_again(floor: Option<RateVotes>, ceiling: Option<RateVotes>) -> SearchStep {
    let ends = [floor, ceiling].into_iter().flatten();
    let rarest = ends.min_by_key(|votes| votes.runs).filter(|votes| votes.runs < RUNS_AT_ENDS);
    rarest.map_or(SearchStep::Ended, |votes| SearchStep::Run(votes.rate))
}

/// Four digits: more are not different loads, and fewer would end a search early.
fn rounded(rate: f64) -> f64 {
    if !(rate > 0.0 && rate.is_finite()) {
        return RATE_LEAST;
    }
    let unit = 10_f64.powi(libm::log10(rate).floor() as i32 - 3);
    // Divided, as the unit of a small rate is no binary fraction.
    if unit >= 1.0 { (rate / unit).round() * unit } else { (rate / unit).round() / (1.0 / unit).round() }
}

#[cfg(test)]
mod tests;
