//! What a run of jobs looks like on a terminal while it goes: a line of counts with the time left, and below it the jobs that
//! run. Drawn under their outputs, twice a second; nothing where nobody looks.

use super::plan::Job;
use super::{Called, XjobsArgs};
use crew::budget::progress::{ProgressSource, ProgressUnit, WorkDone};
use jobs::run::{JobTally, OutputManner, RunSnapshot, SeenJob, Watched};
use jobs::schedule::{RemainingTime, ScheduleStanding, left};
use machine::Host;
use mh_kit::context::Context;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use terminal::Progress;

/// LIMIT: jobs that are shown; those that have run longest.
const SHOWN_MAX: usize = 6;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing.
    Plain,
    /// One line (`--bar`).
    Line,
    /// A line, and one for each running job.
    Block,
}

/// What a run of this plan shows, if its standard error is a terminal.
pub fn look(context: &Context, job: &Job, args: &XjobsArgs) -> Look {
    let jobs_write_there = context.terminals.stdout && matches!(job.options.output, OutputManner::Direct);
    if args.plain || args.ask || job.called == Called::OldName || (jobs_write_there && !args.bar) {
        return Look::Plain;
    }
    if args.bar { Look::Line } else { Look::Block }
}

/// Starts drawing. What is watched comes back for the engine; none where nothing is drawn.
pub fn start(context: &Context, job: &Job, look: Look, tally: Arc<JobTally>) -> Option<(Progress, Arc<Watched>)> {
    if look == Look::Plain || !context.messages.shows_progress() {
        return None;
    }
    let watched = Arc::new(Watched::default());
    let name = job.options.template.class_name();
    let known = name.and_then(|name| job.options.memory.classes.find(&name).map(|known| known.seconds));
    // Of earlier runs a mean is known; three jobs of that length are what it counts for.
    watched.begin(
        job.options.width,
        known.filter(|known| known.count() > 2).into_iter().flat_map(|known| [known.mean(); 3]),
    );
    let (total, seen, host) = (job.total, Arc::clone(&watched), context.host.clone());
    let progress = Progress::start_lines(&context.messages, move |_elapsed| {
        let (seen, counts) = (seen.look(), Counts::of(&tally, total));
        let mut lines = vec![counts_line(&counts, time_left(&seen, &counts))];
        if look == Look::Block {
            lines.extend(job_lines(&seen, |pid| cpu_seconds(&host, pid)));
        }
        lines
    });
    Some((progress, watched))
}

/// How many jobs have ended, for the table.
pub fn jobs_ended(tally: &Arc<JobTally>, total: Option<u64>) -> ProgressSource {
    let tally = Arc::clone(tally);
    Arc::new(move || {
        let Counts { ended, total, .. } = Counts::of(&tally, total);
        WorkDone { unit: ProgressUnit::Jobs, done: ended, total }
    })
}

struct Counts {
    ended: u64,
    failed: u64,
    running: u64,
    waits_for_memory: bool,
    total: Option<u64>,
}

impl Counts {
    fn of(tally: &JobTally, total: Option<u64>) -> Self {
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (ended, running) = (of(&tally.ended), of(&tally.running));
        // A list that has grown past its announced length has no known length.
        let total = total.filter(|total| ended + running <= *total);
        let waits_for_memory = tally.waits_for_memory.load(Ordering::Relaxed);
        Self { ended, failed: of(&tally.failed), running, waits_for_memory, total }
    }
}

fn time_left(seen: &RunSnapshot, counts: &Counts) -> Option<RemainingTime> {
    let waiting = counts.total?.checked_sub(counts.ended + counts.running)?;
    let running: Vec<f64> = seen.running.iter().map(|job| job.started.elapsed().as_secs_f64()).collect();
    let times: Vec<f64> = seen.times.iter().copied().collect();
    left(&ScheduleStanding { width: seen.width, running: &running, waiting, times: &times })
}

fn counts_line(counts: &Counts, left: Option<RemainingTime>) -> String {
    let mut parts = vec![match counts.total {
        Some(total) => format!("{} of {} jobs", terminal::integer(counts.ended), terminal::integer(total)),
        None => mh_kit::report::counted(counts.ended, "job"),
    }];
    parts.push(format!("{} running", counts.running));
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed));
    }
    if counts.waits_for_memory {
        parts.push("the next waits for memory".to_owned());
    }
    let time = |seconds: f64| Duration::try_from_secs_f64(seconds).ok().map(terminal::duration_coarse);
    if let Some((seconds, error)) = left.and_then(|left| time(left.seconds).zip(time(left.error))) {
        parts.push(format!("left {seconds} ± {error}"));
    }
    parts.join("  ")
}

fn job_lines(seen: &RunSnapshot, cpu_seconds: impl Fn(i32) -> Option<f64>) -> Vec<String> {
    let line = |job: &SeenJob| {
        let ran = job.started.elapsed();
        let cpu = cpu_seconds(job.pid).map(|seconds| seconds / ran.as_secs_f64().max(0.01));
        let cpu = cpu.map_or(String::new(), |share| format!("  CPU {}", terminal::percentage_whole(share)));
        format!("  {}  {}{cpu}  {}", job.number, terminal::duration_coarse(ran), job.words)
    };
    let mut lines: Vec<String> = seen.running.iter().take(SHOWN_MAX).map(line).collect();
    if let Some(more) = seen.running.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// Of a job's process and the children it has waited for; others show when they end.
fn cpu_seconds(host: &Host, pid: i32) -> Option<f64> {
    let ticks = machine::process_cpu_ticks(host, pid.cast_unsigned()).ok().flatten()?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn counts(ended: u64, running: u64, total: Option<u64>) -> Counts {
        let tally = JobTally::default();
        tally.ended.store(ended, Ordering::Relaxed);
        tally.running.store(running, Ordering::Relaxed);
        tally.failed.store(ended / 4, Ordering::Relaxed);
        Counts::of(&tally, total)
    }

    #[test]
    fn the_time_left_stands_with_its_error() {
        let left = Some(RemainingTime { seconds: 80.0, error: 6.0 });
        assert_eq!(counts_line(&counts(0, 2, None), None), "0 jobs  2 running");
        let line = counts_line(&counts(4, 2, Some(8)), left);
        assert_eq!(line, "4 of 8 jobs  2 running  1 failed  left 1 min 20 s ± 6 s");
        assert!(counts_line(&counts(4, 5, Some(8)), None).starts_with("4 jobs"), "the list has grown");
        let waits = Counts { waits_for_memory: true, ..counts(0, 0, Some(2)) };
        assert_eq!(counts_line(&waits, None), "0 of 2 jobs  0 running  the next waits for memory");
    }

    #[test]
    fn the_time_left_needs_a_total_and_some_jobs() {
        let seen = RunSnapshot { width: 2, times: [1.0, 1.0, 1.0].into(), ..RunSnapshot::default() };
        assert_eq!(time_left(&seen, &counts(4, 0, Some(8))).map(|left| left.seconds), Some(2.0));
        assert_eq!(time_left(&seen, &counts(4, 0, None)), None);
        assert_eq!(time_left(&RunSnapshot::default(), &counts(0, 0, Some(8))), None);
    }

    #[test]
    fn running_jobs_are_shown_up_to_a_bound() {
        let job = |number| SeenJob { number, pid: 7, words: "lame a.wav".to_owned(), started: Instant::now() };
        let seen = RunSnapshot { running: (1..=8).map(job).collect(), ..RunSnapshot::default() };
        let lines = job_lines(&seen, |_| Some(0.005));
        assert_eq!((lines.len(), lines[6].as_str()), (7, "  and 2 more"));
        assert_eq!(lines[0], "  1  0 s  CPU 50 %  lame a.wav");
        assert_eq!(job_lines(&seen, |_| None)[1], "  2  0 s  lame a.wav");
    }
}
