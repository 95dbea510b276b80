//! What bound a run on many workers: where their places' time went, and a sentence of it. Pure rules.

use super::costs::{ClusterRun, WorkerRun, median};
use super::words::{counted, percentage, time};
use serde::Serialize;
use std::fmt;

/// Where the time of all places went, as shares of it, from the submission to the end of the last job. They add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PlaceShares {
    /// Workers waited to be started.
    pub queue: f64,
    /// They had started, and no job of theirs had.
    pub start: f64,
    /// Jobs ran.
    pub busy: f64,
    /// Between jobs: claims, barriers, memory.
    pub gaps: f64,
    /// There was nothing left for them, and others still worked.
    pub tail: f64,
    /// They were dead.
    pub dead: f64,
}

/// What bound a run on many workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "bound", rename_all = "snake_case")]
pub enum ClusterBound {
    /// More workers would have made it shorter.
    Work,
    /// The longest job.
    LongestJob {
        /// How long it took.
        seconds: f64,
    },
    /// The wait for nodes.
    QueueWait,
    /// Starting workers.
    Start,
    /// Claims, barriers and memory, between jobs.
    Gaps,
    /// A worker that was behind when the others had nothing left.
    Stragglers {
        /// Its number.
        worker: usize,
        /// How many times as long as others' its chunks took, if that can be said.
        slower: Option<f64>,
    },
    /// Workers that died, and the wait until their chunks could be claimed again.
    DeadWorkers,
    /// Nothing ran.
    CannotTell,
}

/// A verdict on a run on many workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterVerdict {
    /// What bound it.
    #[serde(flatten)]
    pub bound: ClusterBound,
    /// Where the time went.
    pub shares: PlaceShares,
    /// How long it took.
    pub seconds: f64,
    /// Workers that were asked for.
    pub workers: usize,
    /// Those of them that never began.
    pub absent: usize,
    /// Those of them that died.
    pub died: usize,
}

/// A loss of a third is what a person would name first.
const NAMED_SHARE: f64 = 0.33;

/// With less time than this besides it the longest job was the run.
const LONGEST_SHARE: f64 = 0.9;

/// Judges a run.
pub fn verdict(run: &ClusterRun) -> ClusterVerdict {
    let shares = shares(run);
    ClusterVerdict {
        bound: bound(run, &shares),
        shares,
        seconds: run.ended_s,
        workers: run.workers.len(),
        absent: run.workers.iter().filter(|worker| worker.started_s.is_none()).count(),
        died: run.workers.iter().filter(|worker| worker.died_s.is_some()).count(),
    }
}

fn shares(run: &ClusterRun) -> PlaceShares {
    let mut sum = PlaceShares::default();
    let mut places_s = 0.0;
    for worker in &run.workers {
        let width = worker.width.max(1) as f64;
        places_s += width * run.ended_s;
        let ended_s = worker.died_s.map_or(run.ended_s, |died_s| died_s.min(run.ended_s));
        let started_s = worker.started_s.map_or(ended_s, |started_s| started_s.clamp(0.0, ended_s));
        sum.queue += width * started_s;
        sum.dead += width * (run.ended_s - ended_s);
        let Some((first_s, last_s)) = worker.worked_s else {
            sum.tail += width * (ended_s - started_s);
            continue;
        };
        let first_s = first_s.clamp(started_s, ended_s);
        let last_s = last_s.clamp(first_s, ended_s);
        let busy_s = worker.busy_s.clamp(0.0, width * (last_s - first_s));
        sum.start += width * (first_s - started_s);
        sum.busy += busy_s;
        sum.gaps += width * (last_s - first_s) - busy_s;
        sum.tail += width * (ended_s - last_s);
    }
    let share = |seconds: f64| if places_s > 0.0 { seconds / places_s } else { 0.0 };
    PlaceShares {
        queue: share(sum.queue),
        start: share(sum.start),
        busy: share(sum.busy),
        gaps: share(sum.gaps),
        tail: share(sum.tail),
        dead: share(sum.dead),
    }
}

fn bound(run: &ClusterRun, shares: &PlaceShares) -> ClusterBound {
    let first_s = run.workers.iter().filter_map(|worker| worker.worked_s).map(|(first_s, _)| first_s);
    let Some(first_s) = first_s.min_by(f64::total_cmp).filter(|_| run.ended_s > 0.0) else {
        return ClusterBound::CannotTell;
    };
    let longest = ClusterBound::LongestJob { seconds: run.longest_job_s };
    let is_longest = run.longest_job_s >= LONGEST_SHARE * (run.ended_s - first_s);
    let has_died = run.workers.iter().any(|worker| worker.died_s.is_some());
    let end = match (has_died, is_longest) {
        // Whoever had nothing left waited for what a dead worker had begun.
        (true, _) => ClusterBound::DeadWorkers,
        (false, true) => longest,
        (false, false) => straggler(&run.workers),
    };
    let dead = if has_died { shares.dead + shares.tail } else { shares.tail };
    let losses = [
        (shares.queue, ClusterBound::QueueWait),
        (shares.start, ClusterBound::Start),
        (shares.gaps, ClusterBound::Gaps),
        (dead, end),
    ];
    let largest = losses.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
    match largest {
        Some((share, bound)) if share >= NAMED_SHARE => bound,
        _ if is_longest => longest,
        _ => ClusterBound::Work,
    }
}

/// The worker whose last job ended last, and how slow it was.
fn straggler(workers: &[WorkerRun]) -> ClusterBound {
    let last_s = |worker: &WorkerRun| worker.worked_s.map_or(0.0, |(_, last_s)| last_s);
    let last = workers.iter().enumerate().max_by(|(_, one), (_, other)| last_s(one).total_cmp(&last_s(other)));
    let worker = last.map_or(0, |(number, _)| number);
    let own_s = workers.get(worker).and_then(|worker| median(worker.chunk_s.iter().copied()));
    let others = workers.iter().enumerate().filter(|(number, _)| *number != worker);
    let others_s = median(others.flat_map(|(_, other)| other.chunk_s.iter().copied()));
    let slower = own_s.zip(others_s.filter(|seconds| *seconds > 0.0)).map(|(own_s, others_s)| own_s / others_s);
    ClusterBound::Stragglers { worker, slower }
}

/// Times as long: less is no reason to be behind.
const SLOWER_FROM: f64 = 1.5;

impl fmt::Display for ClusterVerdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_time = |share: f64| format!("{} of {}", percentage(share), time(self.seconds));
        let shares = &self.shares;
        match self.bound {
            ClusterBound::Work => write!(
                formatter,
                "bound by work: jobs kept {} busy for {}",
                counted(self.workers, "worker"),
                of_time(shares.busy)
            ),
            ClusterBound::LongestJob { seconds } => write!(
                formatter,
                "bound by the longest job: it took {} of {}; more workers cannot make it shorter",
                time(seconds),
                time(self.seconds)
            ),
            ClusterBound::QueueWait => {
                write!(formatter, "bound by the wait for nodes: workers waited for {}", of_time(shares.queue))
            }
            ClusterBound::Start => {
                write!(formatter, "bound by the start of workers: it took {}", of_time(shares.start))
            }
            ClusterBound::Gaps => write!(
                formatter,
                "bound by claims, barriers or memory: workers had no job between two for {}",
                of_time(shares.gaps)
            ),
            ClusterBound::Stragglers { worker, slower } => {
                write!(
                    formatter,
                    "bound by stragglers: for {} workers had nothing left while worker {worker} went on",
                    of_time(shares.tail)
                )?;
                match slower.filter(|slower| *slower >= SLOWER_FROM) {
                    Some(slower) => write!(formatter, "; its chunks took {slower:.1} times as long as others'"),
                    None => Ok(()),
                }
            }
            ClusterBound::DeadWorkers => write!(
                formatter,
                "bound by workers that died: for {} they or those that waited for their chunks did nothing",
                of_time(shares.dead + shares.tail)
            ),
            ClusterBound::CannotTell => write!(formatter, "no verdict: no job ran"),
        }?;
        for (count, did) in [(self.absent, "never began"), (self.died, "died")] {
            if count > 0 {
                write!(formatter, "; {count} of {} {did}", counted(self.workers, "worker"))?;
            }
        }
        write!(formatter, ".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker of one place that was always busy from its first job to its last.
    fn worker(started_s: f64, first_s: f64, last_s: f64) -> WorkerRun {
        WorkerRun {
            started_s: Some(started_s),
            worked_s: Some((first_s, last_s)),
            busy_s: last_s - first_s,
            width: 1,
            chunk_s: vec![1.0; 4],
            died_s: None,
        }
    }

    fn run(longest_job_s: f64, workers: Vec<WorkerRun>) -> ClusterRun {
        let ended_s = workers.iter().filter_map(|worker| worker.worked_s).map(|(_, last_s)| last_s).fold(0.0, f64::max);
        ClusterRun { ended_s, longest_job_s, workers }
    }

    fn sentence(longest_job_s: f64, workers: Vec<WorkerRun>) -> String {
        let run = run(longest_job_s, workers);
        let verdict = verdict(&run);
        let PlaceShares { queue, start, busy, gaps, tail, dead } = verdict.shares;
        assert!((queue + start + busy + gaps + tail + dead - 1.0).abs() < 1e-9, "{verdict:?}");
        verdict.to_string()
    }

    #[test]
    fn work_binds_where_all_are_busy() {
        let told = sentence(1.0, vec![worker(0.5, 1.0, 20.0), worker(0.5, 1.0, 19.0)]);
        assert_eq!(told, "bound by work: jobs kept 2 workers busy for 92 % of 20.0 s.");
    }

    #[test]
    fn the_longest_job_binds_where_it_was_the_run() {
        let told = sentence(18.0, vec![worker(0.5, 1.0, 20.0), worker(0.5, 1.0, 3.0)]);
        let expected = "bound by the longest job: it took 18.0 s of 20.0 s; more workers cannot make it shorter.";
        assert_eq!(told, expected);
        assert_eq!(sentence(18.5, vec![worker(0.5, 1.0, 20.0); 2]), expected.replace("18.0", "18.5"));
    }

    #[test]
    fn the_wait_for_nodes_and_their_start_are_no_work() {
        let told = sentence(1.0, vec![worker(60.0, 61.0, 100.0), worker(70.0, 71.0, 100.0)]);
        assert_eq!(told, "bound by the wait for nodes: workers waited for 65 % of 1 min 40 s.");
        let absent = WorkerRun { started_s: None, worked_s: None, busy_s: 0.0, ..worker(0.0, 0.0, 0.0) };
        let told = sentence(1.0, vec![worker(0.0, 1.0, 100.0), absent]);
        assert_eq!(
            told,
            "bound by the wait for nodes: workers waited for 50 % of 1 min 40 s; 1 of 2 workers never began."
        );
        let told = sentence(1.0, vec![worker(0.0, 8.0, 10.0), worker(0.0, 7.0, 10.0)]);
        assert_eq!(told, "bound by the start of workers: it took 75 % of 10.0 s.");
    }

    #[test]
    fn places_without_jobs_between_jobs_are_named() {
        let slow = WorkerRun { busy_s: 4.0, ..worker(0.0, 0.0, 10.0) };
        let told = sentence(1.0, vec![slow.clone(), slow]);
        let expected = "bound by claims, barriers or memory: workers had no job between two for 60 % of 10.0 s.";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_straggler_is_named_with_its_slowness() {
        let behind = WorkerRun { chunk_s: vec![3.0, 3.5, 3.0], ..worker(0.0, 0.5, 10.0) };
        let told = sentence(1.0, vec![worker(0.0, 0.5, 2.0), behind.clone(), worker(0.0, 0.5, 2.5)]);
        let expected = "bound by stragglers: for 52 % of 10.0 s workers had nothing left while worker 1 went on";
        assert_eq!(told, format!("{expected}; its chunks took 3.0 times as long as others'."));
        let as_fast = WorkerRun { chunk_s: vec![1.0], ..behind };
        let told = sentence(1.0, vec![worker(0.0, 0.5, 2.0), as_fast, worker(0.0, 0.5, 2.5)]);
        assert_eq!(told, format!("{expected}."));
    }

    #[test]
    fn the_dead_and_those_that_waited_for_them_are_one_loss() {
        let dead = WorkerRun { died_s: Some(10.0), ..worker(0.0, 1.0, 9.0) };
        let told = sentence(1.0, vec![worker(0.0, 1.0, 80.0), dead.clone()]);
        let expected = "bound by workers that died: for 44 % of 1 min 20 s they or those that waited for their chunks \
                        did nothing; 1 of 2 workers died.";
        assert_eq!(told, expected);
        let late = WorkerRun { died_s: Some(79.0), ..worker(0.0, 1.0, 79.0) };
        let told = sentence(1.0, vec![worker(0.0, 1.0, 80.0), late]);
        assert!(told.starts_with("bound by work: ") && told.ends_with("; 1 of 2 workers died."), "{told}");
    }

    #[test]
    fn without_jobs_nothing_is_said() {
        assert_eq!(verdict(&ClusterRun::default()).to_string(), "no verdict: no job ran.");
    }
}
