//! What runs use of the CPUs, all processes below each included, and which of them were started in this terminal. Looks at `/proc`;
//! steps of a clock tick are fine enough for a percentage.

use crew::budget::census::{Census, CensusRun};
use machine::Host;
use rustix::process::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use sys::process_tree::Processes;
use sys::session::session_of;

/// Cores that each run uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunUsages(BTreeMap<u32, f64>);

impl RunUsages {
    /// Cores that `run` uses; none where it is not known.
    pub fn cores(&self, run: &CensusRun) -> Option<f64> {
        self.0.get(&run.pid).copied().filter(|_| run.detail.is_near)
    }
}

/// Sums at one moment.
pub struct UsageLook {
    at: Instant,
    /// Clock ticks of each run and all that is below it, with the children that were waited for.
    ticks: BTreeMap<u32, u64>,
}

impl UsageLook {
    /// Looks at the runs of `census`.
    pub fn now(census: &Census) -> Self {
        let (at, host) = (Instant::now(), Host::real());
        let near: BTreeSet<u32> = census.runs.iter().filter(|run| run.detail.is_near).map(|run| run.pid).collect();
        let processes = if near.is_empty() { Processes::default() } else { Processes::look() };
        let of = |pid: u32| machine::process_cpu_ticks(&host, pid).ok().flatten().unwrap_or(0);
        let with_below = |pid: u32| {
            let roots: Vec<Pid> = Pid::from_raw(pid.cast_signed()).into_iter().collect();
            let below = processes.below(&roots).into_iter();
            of(pid) + below.map(|process| of(process.pid.as_raw_nonzero().get().cast_unsigned())).sum::<u64>()
        };
        Self { at, ticks: near.into_iter().map(|pid| (pid, with_below(pid))).collect() }
    }

    /// Since an earlier look; a run that was not there yet has no figure.
    pub fn since(&self, earlier: &Self) -> RunUsages {
        let seconds = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let used =
            |(pid, ticks): (&u32, &u64)| Some((*pid, cores(ticks.saturating_sub(*earlier.ticks.get(pid)?), seconds)?));
        RunUsages(self.ticks.iter().filter_map(used).collect())
    }

    /// Since each run began: for a single look.
    pub fn on_average(&self, census: &Census) -> RunUsages {
        let used = |run: &CensusRun| Some((run.pid, cores(*self.ticks.get(&run.pid)?, run.seconds as f64)?));
        RunUsages(census.runs.iter().filter_map(used).collect())
    }
}

/// LIMIT: less than this is too short for steps of a tick.
const SECONDS_LEAST: f64 = 0.2;

fn cores(ticks: u64, seconds: f64) -> Option<f64> {
    let cores = ticks as f64 / rustix::param::clock_ticks_per_second() as f64 / seconds;
    (seconds >= SECONDS_LEAST).then_some(cores)
}

/// Which runs belong to the session of this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnSession(BTreeSet<u32>);

impl OwnSession {
    /// Asks for each run of `census`.
    pub fn of(census: &Census) -> Self {
        let Some(own) = session_of(None) else { return Self::default() };
        let is_own = |pid: &u32| Pid::from_raw(pid.cast_signed()).and_then(|pid| session_of(Some(pid))) == Some(own);
        Self(census.runs.iter().filter(|run| run.detail.is_near).map(|run| run.pid).filter(is_own).collect())
    }

    /// Whether `run` is one of them.
    pub fn has(&self, run: &CensusRun) -> bool {
        run.detail.is_near && self.0.contains(&run.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::census::{RunDetail, RunState};
    use crew::budget::{Priority, Weight};

    #[test]
    fn use_is_that_of_the_time_between_two_looks() {
        let at = Instant::now();
        let look = |milliseconds, ticks| UsageLook {
            at: at + std::time::Duration::from_millis(milliseconds),
            ticks: BTreeMap::from([(7, ticks)]),
        };
        let ticks_a_second = rustix::param::clock_ticks_per_second();
        let usage = look(2000, 100 + 3 * ticks_a_second).since(&look(0, 100));
        assert_eq!(usage.0.get(&7), Some(&1.5), "three seconds of CPU time in two");
        assert_eq!(look(1, 200).since(&look(0, 100)), RunUsages::default(), "too short");
        let new = UsageLook { at, ticks: BTreeMap::new() };
        assert_eq!(look(2000, 1).since(&new), RunUsages::default(), "not there before");
    }

    #[test]
    fn this_process_is_seen_to_work_in_its_own_session() {
        let detail = RunDetail { is_near: true, ..RunDetail::default() };
        let run = |pid| CensusRun {
            pid,
            class: Priority::Normal,
            weight: Weight::default(),
            holds: 1,
            above_capacity: 0,
            lent: 0,
            inherited: 0,
            external: 0,
            wants: 1,
            useful: 1,
            seconds: 10,
            detail,
            what: String::new(),
            state: RunState::Working,
            why: String::new(),
        };
        let census = Census { runs: vec![run(std::process::id()), run(4_194_303)], ..Census::default() };
        let own = OwnSession::of(&census);
        // A container's session may have been started outside of it: it has no number then, and nobody is seen to share it.
        assert_eq!(own.has(&census.runs[0]), session_of(None).is_some());
        assert!(!own.has(&census.runs[1]), "nobody has this number");
        let far = CensusRun { detail: RunDetail::default(), ..census.runs[0].clone() };
        assert!(!own.has(&far), "its number means another process here");
        assert!(UsageLook::now(&census).on_average(&census).cores(&census.runs[0]).is_some_and(|cores| cores >= 0.0));
    }
}
