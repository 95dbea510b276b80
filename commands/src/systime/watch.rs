//! From the beginning of a measurement to its end: time, Ctrl-C, the command's end, the process's end; and what is printed on
//! the way.

use super::plan::{Plan, Subject};
use super::show::{Shown, losses, text};
use super::source::Source;
use super::{NAME, SystimeArgs, export};
use crate::context::Context;
use crate::failure::{Failure, Outcome, with_causes};
use crate::instruments::failure;
use crate::instruments::pace::{Pace, Woken};
use crate::report::print;
use machine::process_facts;
use observe::calls::paths::{Paths, name_groups};
use observe::calls::snapshot::Snapshot;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use sys::reap::How;
use sys::signals::number::SIGTERM;

/// Runs it to its end.
pub fn run(context: &Context, args: &SystimeArgs, plan: &Plan) -> Result<Outcome, Failure> {
    if let Subject::Process(pid) = plan.subject
        && is_gone(context, pid)
    {
        let message = format!("follow process {pid}: there is none");
        return Err(Failure::Environment { command: NAME, message });
    }
    let (mut source, mut child) = Source::start(context, args, plan)?;
    let began = Instant::now();
    // Before it says so: whoever reads that may press Ctrl-C.
    let mut pace = Pace::begin(part_of(plan.time, source.pace()), 1).map_err(|error| failure(NAME, &error))?;
    announce(context, plan);
    let mut paths = Paths::default();
    let mut printed = began;
    let (has_command, mut is_interrupted) = (plan.subject == Subject::Command, false);
    let mut ended = None;
    loop {
        match pace.sleep().map_err(|error| failure(NAME, &error))? {
            Woken::Due => {
                source.look();
                paths.look(&mut source.read());
            }
            // The command has got it too: its end is worth waiting for, once.
            Woken::Interrupted | Woken::Ended(SIGTERM) if has_command && !is_interrupted => is_interrupted = true,
            Woken::Interrupted | Woken::Ended(SIGTERM) => break,
            Woken::Ended(signal) => sys::signals::die_by(signal),
            Woken::Part | Woken::Child => {}
        }
        ended = match &source {
            Source::Traced { .. } => source.ended().map(code_of_how),
            Source::InKernel(_) | Source::Outside(_) => has_ended(&mut child)?.map(code_of_status),
        };
        if ended.is_some() || is_over(context, plan, began) {
            break;
        }
        if args.interval.is_some_and(|interval| printed.elapsed() >= interval) {
            printed = Instant::now();
            let shown = prepare(context, plan, source.read(), source.made(), &mut paths);
            put(context, args, &shown)?;
        }
    }
    let (snapshot, made) = source.finish();
    put(context, args, &prepare(context, plan, snapshot, made, &mut paths))?;
    Ok(ended.map_or(Outcome::Done, Outcome::Code))
}

/// At most `pace`, so that the last of equal parts ends when the time does.
fn part_of(time: Option<Duration>, pace: Duration) -> Duration {
    time.map_or(pace, |time| time.div_f64(time.div_duration_f64(pace).ceil().max(1.0)))
}

/// A person who waits for a program to start must know that it may start now.
fn announce(context: &Context, plan: &Plan) {
    let whose = match &plan.subject {
        Subject::Named(name) => format!("every process named {}", terminal::quote(name)),
        Subject::Process(pid) => format!("process {pid} and its descendants"),
        Subject::All if plan.time.is_none() => "all processes".to_owned(),
        Subject::All | Subject::Command => return,
    };
    context.messages.note(NAME, &format!("following {whose}; Ctrl-C ends and prints"));
}

fn is_over(context: &Context, plan: &Plan, began: Instant) -> bool {
    let is_gone = matches!(plan.subject, Subject::Process(pid) if is_gone(context, pid));
    is_gone || plan.time.is_some_and(|time| began.elapsed() >= time)
}

/// What cannot be read may live: only a clear answer counts.
fn is_gone(context: &Context, pid: u32) -> bool {
    matches!(process_facts(&context.host, pid), Ok(None))
}

fn has_ended(child: &mut Option<Child>) -> Result<Option<ExitStatus>, Failure> {
    let Some(running) = child else { return Ok(None) };
    running.try_wait().map_err(|error| failure(NAME, &error))
}

fn code_of_status(status: ExitStatus) -> u8 {
    let how = status.code().map(How::Exit).or_else(|| status.signal().map(How::Signal));
    how.map_or(1, code_of_how)
}

/// As shells put it: a signal is 128 and its number.
fn code_of_how(how: How) -> u8 {
    let code = match how {
        How::Exit(code) => code,
        How::Signal(signal) => 128 + signal,
    };
    u8::try_from(code).unwrap_or(1)
}

fn prepare(
    context: &Context,
    plan: &Plan,
    mut snapshot: Snapshot,
    made: super::source::Made,
    paths: &mut Paths,
) -> Shown {
    paths.look(&mut snapshot);
    name_groups(&context.host, &mut snapshot);
    Shown { subject: plan.subject.clone(), is_by_owner: plan.is_by_owner(), snapshot, made }
}

fn put(context: &Context, args: &SystimeArgs, shown: &Shown) -> Result<(), Failure> {
    let lost = &shown.snapshot.lost;
    if args.csv && !lost.is_none() {
        // The other forms have it beside the table.
        context.messages.warning(NAME, losses(lost).trim_end(), &[]);
    }
    let text = match (args.json, args.csv) {
        (true, _) => export::json(shown),
        (_, true) => export::csv(shown),
        _ => text(shown, args.top, args.histogram),
    };
    match &args.output {
        None => print(&text),
        Some(path) => std::fs::write(path, text).map_err(|error| Failure::Environment {
            command: NAME,
            message: format!("write {}: {}", terminal::quote(path), with_causes(&error)),
        }),
    }
}
