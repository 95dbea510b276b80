//! `mh crew wait`: sleeps until runs have ended, or until a core is free that nobody waits for.
//! Sleeps on the table and on processes; looks by itself only for what neither tells.

use super::NAME;
use super::unread_slots::unread_slots;
use clap::Args;
use crew::budget::CrewDirectory;
use crew::budget::census::{Census, CensusRun, RunState, census};
use crew::budget::table::TableError;
use crew::budget::watch::Watch;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::counted;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use std::time::{Duration, Instant};

/// How long a sleep for an end may last: a run whose mark nobody keeps (no thread for it) ends in silence. Longer tells of
/// such an end later; shorter wakes up for nothing.
const LOOK_FOR_ENDS: Duration = Duration::from_secs(1);
/// A core that comes free while nobody is hungry is announced by nothing, so that giving it back costs nothing. Five looks a
/// second are soon enough for a person, and 20 us of a core.
const LOOK_FOR_CORES: Duration = Duration::from_millis(200);

/// Wait until runs have ended
///
/// Exit code 0: what was waited for has come. 1: the time was over before. 3: the table cannot be read.
#[derive(Args, Debug)]
pub struct WaitArgs {
    /// Process ids of the runs (default: all there are); one that has no run is waited for as a process
    pid: Vec<u32>,

    /// Wait until a core is free that no run waits for, instead; job slots that no program has read count as free
    #[arg(long, conflicts_with = "pid")]
    idle: bool,

    /// Wait at most so long (90, 1.5m, 2h)
    #[arg(long, value_name = "TIME", value_parser = crate::xjobs::parse_time)]
    timeout: Option<Duration>,
}

/// Waits.
pub fn run(context: &mut Context, directory: &CrewDirectory, args: &WaitArgs) -> Result<Outcome, Failure> {
    let mut watch = match Watch::open(directory) {
        Ok(watch) => watch,
        // None can be made, so there is nobody to wait for.
        Err(_) if census(directory).is_ok_and(|census| census.runs.is_empty()) => {
            return wait_for_processes(context, args);
        }
        Err(error) => return Ok(unreadable(context, "watch", &error)),
    };
    let deadline = args.timeout.map(|time| Instant::now() + time);
    let left = || deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let look = if args.idle { LOOK_FOR_CORES } else { LOOK_FOR_ENDS };
    loop {
        let since = watch.moment();
        let census = match watch.census() {
            Ok(census) => census,
            Err(error) => return Ok(unreadable(context, "read", &error)),
        };
        let what_is_left = if args.idle { busy(&census) } else { awaited(&census, &args.pid) };
        let process = living_without_run(&census, &args.pid);
        if what_is_left.is_none() && process.is_none() {
            return Ok(Outcome::Done);
        }
        if left().is_some_and(|left| left.is_zero()) {
            let what = what_is_left.unwrap_or_else(|| "a process was".to_owned());
            context.messages.conclusion(NAME, &format!("{what} still there when the time was over"));
            return Ok(Outcome::Partial);
        }
        match process {
            Some(process) if what_is_left.is_none() => wait_for_process(process, left()),
            _ => watch.sleep(since, left().unwrap_or(look).min(look)),
        }
    }
}

/// Who is still there of those that are waited for, in words; nobody that is dead.
fn awaited(census: &Census, pids: &[u32]) -> Option<String> {
    let is_meant = |run: &&CensusRun| run.state != RunState::Dead && (pids.is_empty() || pids.contains(&run.pid));
    match census.runs.iter().filter(is_meant).count() {
        0 => None,
        count => Some(those(count)),
    }
}

fn those(count: usize) -> String {
    format!("{} {}", counted(count as u64, "run"), if count == 1 { "was" } else { "were" })
}

/// Told apart from a time that was over.
fn unreadable(context: &Context, operation: &str, error: &TableError) -> Outcome {
    context.messages.error(NAME, &format!("{operation} the table: {}", with_causes(error)), &[]);
    Outcome::Code(3)
}

/// Where there is no table and none can be made.
fn wait_for_processes(context: &Context, args: &WaitArgs) -> Result<Outcome, Failure> {
    let deadline = args.timeout.map(|time| Instant::now() + time);
    while let Some(process) = living_without_run(&Census::default(), &args.pid) {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            context.messages.conclusion(NAME, "a process was still there when the time was over");
            return Ok(Outcome::Partial);
        }
        wait_for_process(process, left);
    }
    Ok(Outcome::Done)
}

/// What keeps the cores from being idle, in words.
fn busy(census: &Census) -> Option<String> {
    // Who is paused, or stopped, waits for a person.
    let is_hungry =
        |run: &CensusRun| matches!(run.state, RunState::Waiting | RunState::Returning) && run.wants > run.holds;
    let is_hungry = census.runs.iter().any(is_hungry);
    match census.runs.is_empty() || !is_hungry && census.free + unread_slots(census) > 0 {
        true => None,
        false => Some(those(census.runs.len())),
    }
}

/// A process that is waited for, lives and has no run: it has none yet, or never will.
fn living_without_run(census: &Census, pids: &[u32]) -> Option<Pid> {
    let has_none = |pid: &&u32| census.runs.iter().all(|run| run.pid != **pid);
    let processes = pids.iter().filter(has_none).filter_map(|&pid| Pid::from_raw(i32::try_from(pid).ok()?));
    processes.into_iter().find(|&process| lives(process))
}

/// Whether a process is there, whoever's it is, and more than what its parent has still to ask for.
fn lives(process: Pid) -> bool {
    let is_there = !matches!(rustix::process::test_kill_process(process), Err(Errno::SRCH));
    let status = || std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    is_there && !mh_kit::instrument::is_unburied(&status())
}

/// Sleeps until it has ended, or for `at_most`; where it cannot be watched, for a moment.
fn wait_for_process(process: Pid, at_most: Option<Duration>) {
    let Ok(descriptor) = pidfd_open(process, PidfdFlags::empty()) else {
        std::thread::sleep(at_most.unwrap_or(LOOK_FOR_ENDS).min(LOOK_FOR_ENDS));
        return;
    };
    let limit = at_most.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    let _or_interrupted = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], limit.as_ref());
}
