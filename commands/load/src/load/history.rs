//! What is kept of each interval for pages and screens, in bounded memory however long a run is: when there are too many intervals, neighbours become one.
//! Knows no ledger afterwards; a run's own figures come from its report.

mod buckets;

use ::load::arrivals::ArrivalModel;
use ::load::ledger::Distribution;
use ::load::run::{IntervalReport, LoadPlan};
pub use buckets::TimeBuckets;
use sys::cpu_clock::process_cpu_ns;

/// The percentiles over time.
pub const OVER_TIME: [(&str, f64); 3] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0)];

/// What a server used in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentCost {
    pub cpu_ns: u64,
    /// At its end.
    pub memory_bytes: Option<u64>,
}

/// How many transactions there were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MomentCounts {
    /// That were due, if anything but their predecessors made them so.
    pub offered: Option<f64>,
    pub sent: u64,
    pub done: u64,
    pub failed: u64,
    pub dropped: u64,
}

/// An interval, or several that have become one.
#[derive(Clone, Debug)]
pub struct LoadMoment {
    /// Its end, in seconds since measuring began; not above 0 in the warm-up.
    pub at_s: f64,
    pub elapsed_s: f64,
    pub is_warmup: bool,
    pub counts: MomentCounts,
    pub response: TimeBuckets,
    /// Of the response, as [`OVER_TIME`] has them; none if nothing was done. Of several intervals by their buckets.
    pub percentiles_ns: Option<[u64; OVER_TIME.len()]>,
    /// Of several intervals, the largest.
    pub slip_p99_ns: u64,
    pub slip_max_ns: u64,
    pub cost: Option<MomentCost>,
    /// What this process used.
    pub own_cpu_ns: u64,
}

impl LoadMoment {
    /// How many a second.
    pub fn a_second(&self, count: u64) -> f64 {
        count as f64 / self.elapsed_s.max(1e-9)
    }

    fn join(&mut self, later: &Self) {
        let (ours, theirs) = (&mut self.counts, &later.counts);
        ours.offered = ours.offered.zip(theirs.offered).map(|(first, second)| first + second);
        ours.sent += theirs.sent;
        ours.done += theirs.done;
        ours.failed += theirs.failed;
        ours.dropped += theirs.dropped;
        self.at_s = later.at_s;
        self.elapsed_s += later.elapsed_s;
        self.response.join(&later.response);
        self.percentiles_ns = self.response.percentiles_ns(OVER_TIME.map(|(_, percent)| percent));
        self.slip_p99_ns = self.slip_p99_ns.max(later.slip_p99_ns);
        self.slip_max_ns = self.slip_max_ns.max(later.slip_max_ns);
        self.own_cpu_ns += later.own_cpu_ns;
        self.cost = self
            .cost
            .zip(later.cost)
            .map(|(first, second)| MomentCost { cpu_ns: first.cpu_ns + second.cpu_ns, ..second });
    }
}

/// Makes moments of intervals.
pub struct MomentMaker {
    arrivals: ArrivalModel,
    warmup_s: f64,
    duration_s: f64,
    own_cpu_ns: u64,
}

impl MomentMaker {
    /// For a run that is about to begin.
    pub fn new(plan: &LoadPlan) -> Self {
        Self {
            arrivals: plan.arrivals.clone(),
            warmup_s: plan.warmup.as_secs_f64(),
            duration_s: plan.duration.as_secs_f64(),
            own_cpu_ns: process_cpu_ns(),
        }
    }

    /// What is kept of an interval; none of one that is mostly the wait for the last replies, in which nothing is due.
    pub fn moment(&mut self, report: &IntervalReport<'_>) -> Option<LoadMoment> {
        let (ledger, response) = (report.ledger, report.ledger.response());
        let at_s = report.at_seconds.min(self.duration_s);
        let elapsed_s = report.elapsed.as_secs_f64() - (report.at_seconds - at_s);
        if elapsed_s * 2.0 < report.elapsed.as_secs_f64() {
            return None;
        }
        let now_ns = process_cpu_ns();
        let until_s = at_s + self.warmup_s;
        let of = |(_, percent): (&str, f64)| response.percentile_ns(percent);
        Some(LoadMoment {
            at_s,
            elapsed_s,
            is_warmup: report.is_warmup,
            counts: MomentCounts {
                offered: offered(&self.arrivals, (until_s - elapsed_s).max(0.0), until_s),
                sent: ledger.sent,
                done: ledger.succeeded(),
                failed: ledger.failures(),
                dropped: ledger.dropped,
            },
            percentiles_ns: (response.count() > 0).then(|| OVER_TIME.map(of)),
            response: TimeBuckets::of(&response),
            slip_p99_ns: ledger.slip.percentile_ns(99.0),
            slip_max_ns: longest_ns(&ledger.slip),
            cost: report.cost.map(|cost| MomentCost { cpu_ns: cost.cpu_ns(), memory_bytes: cost.memory_bytes }),
            own_cpu_ns: now_ns.saturating_sub(std::mem::replace(&mut self.own_cpu_ns, now_ns)),
        })
    }
}

fn longest_ns(distribution: &Distribution) -> u64 {
    if distribution.count() == 0 { 0 } else { distribution.max_ns() }
}

/// How many transactions were due, in seconds since the run began. In a closed load each one's predecessor decides that.
fn offered(arrivals: &ArrivalModel, from_s: f64, until_s: f64) -> Option<f64> {
    // An area below straight lines: exact but where a line ends within a step.
    const STEPS: u32 = 32;
    let elapsed_s = until_s - from_s;
    match arrivals {
        ArrivalModel::Closed(_) => None,
        ArrivalModel::Clocked { rate, .. } => Some(rate * elapsed_s),
        ArrivalModel::Open { rate, .. } => {
            let step_s = elapsed_s / f64::from(STEPS);
            Some((0..STEPS).map(|step| rate.rate_at(from_s + (f64::from(step) + 0.5) * step_s) * step_s).sum())
        }
    }
}

/// LIMIT: of a page; its plots have room for about so many points, and they take some megabytes at most.
const MOMENTS_MAX: usize = 600;

/// The moments of a run.
pub struct History {
    moments: Vec<LoadMoment>,
    /// How many intervals a moment is made of.
    intervals: usize,
    /// Intervals of the last moment.
    in_last: usize,
    most: usize,
}

impl Default for History {
    fn default() -> Self {
        Self { moments: Vec::new(), intervals: 1, in_last: 1, most: MOMENTS_MAX }
    }
}

impl History {
    /// Adds an interval.
    pub fn push(&mut self, moment: LoadMoment) {
        if self.in_last < self.intervals
            && let Some(last) = self.moments.last_mut()
            && last.is_warmup == moment.is_warmup
        {
            last.join(&moment);
            self.in_last += 1;
            return;
        }
        if self.moments.len() == self.most {
            self.halve();
        }
        self.moments.push(moment);
        self.in_last = 1;
    }

    fn halve(&mut self) {
        self.intervals *= 2;
        let moments = std::mem::take(&mut self.moments);
        for (index, moment) in moments.into_iter().enumerate() {
            match self.moments.last_mut() {
                Some(last) if index % 2 == 1 && last.is_warmup == moment.is_warmup => last.join(&moment),
                _ => self.moments.push(moment),
            }
        }
    }

    /// All of them, in order.
    pub fn moments(&self) -> &[LoadMoment] {
        &self.moments
    }

    /// How many intervals each is made of.
    pub fn intervals(&self) -> usize {
        self.intervals
    }
}

#[cfg(test)]
pub mod tests;
