//! What a run of jobs has measured, and what bound it: pure data and pure rules. Text and JSON are made in `commands`.

use crate::schedule;
use serde::Serialize;

/// Nanoseconds of a run, by what kept it from being shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaitClocks {
    /// All hands that may be used were at work, and jobs waited.
    pub hands_ns: u64,
    /// Jobs waited for hands that others had.
    pub unstaffed_ns: u64,
    /// The list gave no jobs.
    pub list_ns: u64,
    /// A `%%` or an `after` held all jobs that waited.
    pub order_ns: u64,
    /// `--load`, `--delay` or a shortage of processes or files held them.
    pub held_ns: u64,
    /// There was not enough memory for another job: `--memory`, `--memfree`, or the machine was short of it.
    pub memory_ns: u64,
    /// Whoever reads the output was slow.
    pub output_ns: u64,
    /// The list had ended, and not every hand had a job: the last ones ran.
    pub tail_ns: u64,
}

/// What a run has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JobMeasures {
    /// From the first byte of the list to the last job's end.
    pub wall_ns: u64,
    /// Jobs that could run at once.
    pub width: usize,
    /// Jobs that were started, each attempt counted.
    pub starts: u64,
    /// Jobs' times, each times its hands, added up.
    pub work_ns: u64,
    /// The longest job.
    pub longest_ns: u64,
    /// Its number in the list.
    pub longest_job: u64,
    /// The longest chain of jobs that had to wait for each other.
    pub critical_path_ns: u64,
    /// How many jobs it has.
    pub critical_path_jobs: u64,
    /// The number of its last job.
    pub critical_path_end: u64,
    /// CPU time of jobs, waited-for children included.
    pub jobs_cpu_ns: u64,
    /// Blocks that jobs had read from disks and written.
    pub jobs_blocks: u64,
    /// CPU time of the runner itself.
    pub own_cpu_ns: u64,
    /// Bytes that jobs printed through the runner.
    pub output_bytes: u64,
    /// The largest job of those whose peak is known.
    pub rss_peak_bytes: Option<u64>,
    /// For how long some task of the machine waited for a disk meanwhile (PSI `some`); none where nobody counts.
    pub disk_waits_ns: Option<u64>,
    /// For how long some task of the machine waited for a CPU meanwhile (PSI `some`); none where nobody counts.
    pub cpu_waits_ns: Option<u64>,
    /// When the last job would have ended at each of [`schedule::widths`], by list scheduling of the jobs' own times; none where
    /// the jobs were too many to keep their times, or waited for each other.
    pub scheduled_ns: Option<[u64; 5]>,
    /// Times that a job was put off for memory.
    pub put_off: u64,
    /// Where the time went.
    pub waits: WaitClocks,
}

/// What bound a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "bound", rename_all = "snake_case")]
pub enum JobsBound {
    /// More hands would have made it shorter.
    Hands {
        /// Share of the hands' time that had jobs.
        busy: f64,
        /// Share of the jobs' time in which they used a CPU.
        on_cpu: f64,
    },
    /// Others had the hands.
    Unstaffed {
        /// Share of the run.
        share: f64,
    },
    /// Jobs waited for disks rather than for a CPU.
    Disks {
        /// Share of the run in which some task of the machine waited for a disk.
        share: f64,
        /// Share of the jobs' time in which they used a CPU.
        on_cpu: f64,
    },
    /// The longest job.
    LongestJob {
        /// Its share of the run.
        share: f64,
    },
    /// The longest chain of jobs that had to wait for each other.
    LongestChain {
        /// Its share of the run.
        share: f64,
    },
    /// Whoever writes the list.
    List {
        /// Share of the run.
        share: f64,
    },
    /// `%%` and `after`.
    Order {
        /// Share of the run.
        share: f64,
    },
    /// Memory: what jobs are expected to need together, `--memfree`, or pressure.
    Memory {
        /// Share of the run.
        share: f64,
    },
    /// `--load`, `--delay`, a shortage of processes or files.
    Held {
        /// Share of the run.
        share: f64,
    },
    /// Whoever reads the output.
    Output {
        /// Share of the run.
        share: f64,
    },
    /// Starting programs: the jobs themselves are shorter than what starting one costs.
    Spawning {
        /// CPU time that a job needs, its start included.
        job_cpu_ns: u64,
    },
    /// It was too short to measure, or nothing was run.
    CannotTell,
}

impl JobsBound {
    /// Whether the run waited for something that more hands would wait for too.
    fn is_a_wait(self) -> bool {
        matches!(
            self,
            Self::Unstaffed { .. }
                | Self::List { .. }
                | Self::Order { .. }
                | Self::Memory { .. }
                | Self::Held { .. }
                | Self::Output { .. }
        )
    }
}

/// A verdict with its forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobsVerdict {
    /// What bound the run.
    #[serde(flatten)]
    pub bound: JobsBound,
    /// Share of the run that one more hand would save.
    pub one_more_hand_saves: f64,
    /// Expected seconds at other widths.
    pub expected: Vec<ForecastPoint>,
}

/// A point of the forecast.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForecastPoint {
    /// Hands.
    pub width: usize,
    /// Expected time.
    pub seconds: f64,
}

/// LIMIT: shorter runs say more about the clock than about the jobs.
const TELLING_WALL_NS: u64 = 50_000_000;

/// A wait that takes a third of the run is what a person would name first.
const NAMED_SHARE: f64 = 0.33;

/// Jobs below this need less time than a dynamically linked program's start (0.5 ms CPU).
const SHORT_JOB_NS: u64 = 2_000_000;

/// Jobs that use a CPU for less than half of their time wait for something else, and hands are not what they lack.
const MOSTLY_ON_CPU: f64 = 0.5;

/// Judges a run.
pub fn verdict(measures: &JobMeasures) -> JobsVerdict {
    let wall = measures.wall_ns.max(1) as f64;
    let bound = bound(measures);
    let now = scheduled_ns(measures, measures.width.max(1));
    let expected_at = |width: usize| match scheduled_ns(measures, width) {
        // What the run waited for besides is waited for while fewer hands work.
        scheduled if width < measures.width => scheduled.max(wall),
        // More hands help only while hands were what lacked.
        scheduled if bound.is_a_wait() => wall - measures.waits.hands_ns as f64 * (1.0 - scheduled / now.max(1.0)),
        // What the model does not know (starts, the list's first line) stays as it was.
        scheduled => (wall - now + scheduled).max(0.0),
    };
    let mut widths: Vec<usize> = [1, 2, 4].iter().map(|factor| measures.width.max(1) * factor).collect();
    widths.insert(0, 1);
    widths.dedup();
    let points = widths.iter().map(|&width| ForecastPoint { width, seconds: expected_at(width) / 1e9 });
    JobsVerdict {
        bound,
        one_more_hand_saves: ((wall - expected_at(measures.width.max(1) + 1)) / wall).clamp(0.0, 1.0),
        expected: points.collect(),
    }
}

/// List scheduling with the jobs' own times where they are known; else its bound: the work divided, but never below the
/// critical path (Graham 1969).
fn scheduled_ns(measures: &JobMeasures, width: usize) -> f64 {
    let known = schedule::widths(measures.width).iter().position(|known| *known == width);
    if let Some((index, scheduled)) = known.zip(measures.scheduled_ns) {
        return scheduled[index] as f64;
    }
    (measures.work_ns as f64 / width as f64).max(measures.critical_path_ns as f64)
}

fn bound(measures: &JobMeasures) -> JobsBound {
    let wall = measures.wall_ns.max(1) as f64;
    if measures.wall_ns < TELLING_WALL_NS || measures.starts == 0 {
        return JobsBound::CannotTell;
    }
    let share = |nanoseconds: u64| nanoseconds as f64 / wall;
    let waits = &measures.waits;
    let named = [
        (share(waits.output_ns), JobsBound::Output { share: share(waits.output_ns) }),
        (share(waits.unstaffed_ns), JobsBound::Unstaffed { share: share(waits.unstaffed_ns) }),
        (share(waits.memory_ns), JobsBound::Memory { share: share(waits.memory_ns) }),
        (share(waits.held_ns), JobsBound::Held { share: share(waits.held_ns) }),
        (share(waits.list_ns), JobsBound::List { share: share(waits.list_ns) }),
        (share(waits.order_ns), JobsBound::Order { share: share(waits.order_ns) }),
    ];
    let critical = share(measures.critical_path_ns);
    let on_cpu = (measures.jobs_cpu_ns as f64 / measures.work_ns.max(1) as f64).min(1.0);
    let on_disks = measures.disk_waits_ns.map_or(0.0, share).min(1.0);
    // What waits for disks is the machine's tasks; jobs that neither read nor wrote a block are not among them.
    let on_disks = if measures.jobs_blocks > 0 { on_disks } else { 0.0 };
    if on_disks >= NAMED_SHARE && on_cpu < MOSTLY_ON_CPU && share(waits.list_ns) < NAMED_SHARE {
        return JobsBound::Disks { share: on_disks, on_cpu };
    }
    let longest = |share: f64| match measures.critical_path_jobs {
        0 | 1 => JobsBound::LongestJob { share },
        _ => JobsBound::LongestChain { share },
    };
    if critical >= 0.9 {
        return longest(critical.min(1.0));
    }
    let largest = named.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((_, bound)) = largest.filter(|(share, _)| *share >= NAMED_SHARE) {
        return *bound;
    }
    if measures.work_ns / measures.starts < SHORT_JOB_NS {
        return JobsBound::Spawning { job_cpu_ns: (measures.jobs_cpu_ns + measures.own_cpu_ns) / measures.starts };
    }
    let busy = (measures.work_ns as f64 / (wall * measures.width.max(1) as f64)).min(1.0);
    if critical >= 0.7 && busy < 0.9 {
        return longest(critical);
    }
    JobsBound::Hands { busy, on_cpu }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn run() -> JobMeasures {
        JobMeasures {
            wall_ns: 10 * SECOND,
            width: 2,
            starts: 20,
            work_ns: 20 * SECOND,
            longest_ns: SECOND,
            critical_path_ns: SECOND,
            jobs_cpu_ns: 20 * SECOND,
            ..JobMeasures::default()
        }
    }

    #[test]
    fn each_bound_has_its_evidence() {
        let bound = |change: fn(&mut JobMeasures)| {
            let mut measures = run();
            change(&mut measures);
            verdict(&measures).bound
        };
        assert_eq!(bound(|_| {}), JobsBound::Hands { busy: 1.0, on_cpu: 1.0 });
        assert_eq!(bound(|run| run.jobs_cpu_ns = SECOND), JobsBound::Hands { busy: 1.0, on_cpu: 0.05 });
        assert_eq!(bound(|run| run.waits.unstaffed_ns = 5 * SECOND), JobsBound::Unstaffed { share: 0.5 });
        let waits_for_disks = |run: &mut JobMeasures| {
            (run.disk_waits_ns, run.jobs_cpu_ns, run.jobs_blocks) = (Some(8 * SECOND), 2 * SECOND, 8)
        };
        assert_eq!(bound(waits_for_disks), JobsBound::Disks { share: 0.8, on_cpu: 0.1 });
        let others_do = |run: &mut JobMeasures| (run.disk_waits_ns, run.jobs_cpu_ns) = (Some(8 * SECOND), 2 * SECOND);
        assert!(matches!(bound(others_do), JobsBound::Hands { .. }), "jobs had nothing to do with disks");
        assert!(
            matches!(bound(|run| run.disk_waits_ns = Some(8 * SECOND)), JobsBound::Hands { .. }),
            "jobs kept the CPUs busy"
        );
        assert_eq!(bound(|run| run.critical_path_ns = 10 * SECOND), JobsBound::LongestJob { share: 1.0 });
        let chain = |run: &mut JobMeasures| (run.critical_path_ns, run.work_ns) = (8 * SECOND, 12 * SECOND);
        assert_eq!(bound(chain), JobsBound::LongestJob { share: 0.8 });
        let chain = |run: &mut JobMeasures| (run.critical_path_ns, run.critical_path_jobs) = (9 * SECOND, 2);
        assert_eq!(bound(chain), JobsBound::LongestChain { share: 0.9 });
        assert!(
            matches!(bound(|run| run.critical_path_ns = 8 * SECOND), JobsBound::Hands { .. }),
            "with all hands busy, more of them would make it shorter"
        );
        assert_eq!(bound(|run| run.waits.list_ns = 5 * SECOND), JobsBound::List { share: 0.5 });
        assert_eq!(bound(|run| run.waits.order_ns = 5 * SECOND), JobsBound::Order { share: 0.5 });
        assert_eq!(bound(|run| run.waits.held_ns = 5 * SECOND), JobsBound::Held { share: 0.5 });
        assert_eq!(bound(|run| run.waits.memory_ns = 5 * SECOND), JobsBound::Memory { share: 0.5 });
        assert_eq!(bound(|run| run.waits.output_ns = 5 * SECOND), JobsBound::Output { share: 0.5 });
        assert!(matches!(bound(|run| run.starts = 20_000), JobsBound::Spawning { .. }));
        assert_eq!(bound(|run| run.wall_ns = 1000), JobsBound::CannotTell);
    }

    #[test]
    fn times_of_the_jobs_tell_more_than_their_sum() {
        // 1, 1, 4 and 1 s at two hands take 5 s; three would take 4, as the bound has it for two.
        let scheduled = schedule::widths(2).map(|width| (schedule::makespan([1e9, 1e9, 4e9, 1e9], width)) as u64);
        let run = JobMeasures {
            wall_ns: 5 * SECOND,
            starts: 4,
            work_ns: 7 * SECOND,
            critical_path_ns: 4 * SECOND,
            scheduled_ns: Some(scheduled),
            ..run()
        };
        let verdict = verdict(&run);
        assert!((verdict.one_more_hand_saves - 0.2).abs() < 1e-9);
        assert_eq!(verdict.bound, JobsBound::LongestJob { share: 0.8 });
        assert_eq!(verdict.expected.iter().map(|point| point.seconds).collect::<Vec<_>>(), [7.0, 5.0, 4.0, 4.0]);
    }

    #[test]
    fn what_the_run_waited_for_is_not_bought_with_hands() {
        // One after the other at two hands, for there was memory for one.
        let scheduled = schedule::widths(2).map(|width| schedule::makespan([5e9, 5e9], width) as u64);
        let run = JobMeasures {
            starts: 2,
            work_ns: 10 * SECOND,
            scheduled_ns: Some(scheduled),
            waits: WaitClocks { memory_ns: 5 * SECOND, ..WaitClocks::default() },
            ..run()
        };
        let verdict = verdict(&run);
        assert_eq!((verdict.bound, verdict.one_more_hand_saves), (JobsBound::Memory { share: 0.5 }, 0.0));
        assert!(verdict.expected.iter().all(|point| point.seconds == 10.0), "{:?}", verdict.expected);
    }

    #[test]
    fn a_list_of_one_job_is_bound_by_it() {
        let one = JobMeasures { starts: 1, work_ns: 10 * SECOND, critical_path_ns: 10 * SECOND, ..run() };
        assert_eq!(verdict(&one).bound, JobsBound::LongestJob { share: 1.0 });
        assert_eq!(verdict(&one).one_more_hand_saves, 0.0);
    }

    #[test]
    fn one_more_hand_buys_what_list_scheduling_says() {
        let verdict = verdict(&run());
        assert!((verdict.one_more_hand_saves - 1.0 / 3.0).abs() < 1e-9);
        let seconds: Vec<f64> = verdict.expected.iter().map(|point| point.seconds).collect();
        assert_eq!(seconds, [20.0, 10.0, 5.0, 2.5]);
    }
}
