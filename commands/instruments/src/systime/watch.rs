//! From the beginning of a measurement to its end: time, Ctrl-C, the command's end, the process's end; and what is printed on
//! the way.

use super::plan::{Plan, Subject};
use super::show::{Shown, TextOptions, losses, text};
use super::source::{Made, Source, Started};
use super::{NAME, SystimeArgs, export};
use crate::targets::remark;
use machine::process_facts;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::instrument::look::TextLook;
use mh_kit::instrument::pace::{Pace, Woken};
use mh_kit::instrument::{Format, failure, is_unburied};
use mh_kit::report::print;
use observe::calls::paths::{Paths, name_groups};
use observe::calls::snapshot::CallSnapshot;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use sys::reap::How;
use sys::signals::number::SIGTERM;
use terminal::integer;

/// Runs it to its end.
pub fn run(context: &Context, args: &SystimeArgs, plan: &Plan) -> Result<Outcome, Failure> {
    if let Subject::Process(pid) = plan.subject {
        check_process(context, pid)?;
    }
    remark(context, NAME, &plan.targets);
    let mut output = Output::open(args.output.as_deref())?;
    let (mut source, mut child) = Source::start(context, args, plan)?;
    let began = Instant::now();
    // Before it says so: whoever reads that may press Ctrl-C.
    let step = step(plan.time, plan.every, source.pace());
    let mut pace = Pace::begin(step, 1).map_err(|error| failure(NAME, &error))?;
    announce(context, plan);
    let mut paths = Paths::default();
    let mut printed = began;
    let (has_command, mut is_interrupted) = (plan.subject == Subject::Command, false);
    let mut ended;
    loop {
        // Before it sleeps, too: a short command ends before anybody waits for its signal.
        ended = match &source {
            Source::Traced { .. } => source.ended().map(code_of_how),
            Source::InKernel(_) | Source::Outside(..) => has_ended(&mut child)?.map(code_of_status),
        };
        if ended.is_some() || is_over(context, plan, began) {
            break;
        }
        if let Some(interval) = plan.every.filter(|interval| printed.elapsed() >= *interval) {
            // On the grid of its beginning; what was missed is not made up for.
            printed += interval.mul_f64(printed.elapsed().div_duration_f64(interval).floor());
            let shown = prepare(context, plan, source.read(), source.made(), &mut paths);
            output.put(context, args, &shown)?;
        }
        match pace.sleep().map_err(|error| failure(NAME, &error))? {
            Woken::Due => {
                source.look();
                paths.look(&mut source.read());
            }
            // The terminal has told the command too: its end is worth waiting for, once.
            Woken::Interrupted if has_command && !is_interrupted => is_interrupted = true,
            // Whoever ends us means what we run.
            Woken::Ended(signal) if has_command && !is_interrupted => {
                is_interrupted = true;
                pass_on(source.traced_command().or(child.as_ref().map(|child| child.process.id())), signal);
            }
            Woken::Interrupted | Woken::Ended(SIGTERM) => break,
            Woken::Ended(signal) => sys::signals::die_by(signal),
            Woken::Part | Woken::Child => {}
        }
    }
    let lived = child.filter(|_| ended.is_some()).map(|child| child.began.elapsed());
    let (mut snapshot, made) = source.finish();
    if let Some(lived) = lived {
        // Its own time, without what beginning and ending to measure took.
        snapshot.elapsed_ns = u64::try_from(lived.as_nanos()).unwrap_or(u64::MAX);
    }
    let shown = prepare(context, plan, snapshot, made, &mut paths);
    output.put(context, args, &shown)?;
    match shown.made {
        Made::Outside { unreadable, .. } if unreadable > 0 && !has_command && shown.is_nobody() => {
            Err(refused(unreadable))
        }
        _ => Ok(ended.map_or(Outcome::Done, Outcome::Code)),
    }
}

/// There must be one, and it must be a process: a thread's number names none, and nobody would be followed.
fn check_process(context: &Context, pid: u32) -> Result<(), Failure> {
    let refused = |why: &str| Failure::Environment { command: NAME, message: format!("follow process {pid}: {why}") };
    if matches!(process_facts(&context.host, pid), Ok(None)) {
        return Err(refused("there is none"));
    }
    // What cannot be read is followed all the same.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    if is_unburied(&status) {
        return Err(refused("it has ended, and its parent has not asked how"));
    }
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")).map(str::trim);
    match process.and_then(|process| process.parse::<u32>().ok()) {
        Some(process) if process != pid => Err(refused(&format!("it is a thread of process {process}"))),
        _ => Ok(()),
    }
}

fn refused(unreadable: u64) -> Failure {
    let threads = integer(unreadable);
    let message = format!("follow anybody: {threads} threads belong to others, and this process may not look at them");
    Failure::Environment { command: NAME, message }
}

/// At most `pace`, so that the last of equal parts ends when the time does.
fn part_of(time: Option<Duration>, pace: Duration) -> Duration {
    time.map_or(pace, |time| time.div_f64(time.div_duration_f64(pace).ceil().max(1.0)))
}

/// How long it sleeps at a time: what is printed on the way comes when it is due, and else the end does.
fn step(time: Option<Duration>, interval: Option<Duration>, pace: Duration) -> Duration {
    part_of(interval.or(time), pace)
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

fn pass_on(command: Option<u32>, signal: i32) {
    let signal = rustix::process::Signal::from_named_raw(signal);
    let process = command.and_then(|number| rustix::process::Pid::from_raw(number.cast_signed()));
    let _it_may_be_gone = process.zip(signal).map(|(process, signal)| rustix::process::kill_process(process, signal));
}

fn is_over(context: &Context, plan: &Plan, began: Instant) -> bool {
    let is_gone = matches!(plan.subject, Subject::Process(pid) if is_gone(context, pid));
    is_gone || plan.time.is_some_and(|time| began.elapsed() >= time)
}

/// What cannot be read may live: only a clear answer counts.
fn is_gone(context: &Context, pid: u32) -> bool {
    let is_unburied = || std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|text| is_unburied(&text));
    matches!(process_facts(&context.host, pid), Ok(None)) || is_unburied()
}

fn has_ended(child: &mut Option<Started>) -> Result<Option<ExitStatus>, Failure> {
    let Some(running) = child else { return Ok(None) };
    running.process.try_wait().map_err(|error| failure(NAME, &error))
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

fn prepare(context: &Context, plan: &Plan, mut snapshot: CallSnapshot, made: Made, paths: &mut Paths) -> Shown {
    paths.look(&mut snapshot);
    name_groups(&context.host, &mut snapshot);
    let is_of_some_calls = !plan.request.wanted.is_empty();
    Shown { subject: plan.subject.clone(), is_of_some_calls, is_by_owner: plan.is_by_owner(), snapshot, made }
}

/// Where the result goes.
struct Output {
    file: Option<(PathBuf, File)>,
}

impl Output {
    /// Before anything is measured: a result that cannot be written would be lost. What is in the file stays until there is one.
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let file = File::options().write(true).create(true).truncate(false).open(path);
            file.map(|file| (path.to_owned(), file)).map_err(|error| not_written(path, &error))
        };
        Ok(Self { file: path.map(open).transpose()? })
    }

    /// How the text is made; a file is no terminal.
    fn options(&self, args: &SystimeArgs) -> TextOptions {
        let look = if self.file.is_some() { TextLook::PLAIN } else { args.format.look() };
        TextOptions { rows_max: args.top, with_histogram: args.histogram, unfolds: args.all, look }
    }

    fn put(&mut self, context: &Context, args: &SystimeArgs, shown: &Shown) -> Result<(), Failure> {
        let lost = &shown.snapshot.lost;
        let format = args.format.format();
        if format == Format::Csv && !lost.is_none() {
            // The other forms have it beside the table.
            context.messages.warning(NAME, losses(lost).trim_end(), &[]);
        }
        let text = match format {
            Format::Json => export::json(shown),
            Format::Csv => export::csv(shown),
            Format::Text => text(shown, &self.options(args)),
        };
        match &mut self.file {
            None => print(&text),
            Some((path, file)) => replace(file, &text).map_err(|error| not_written(path, &error)),
        }
    }
}

/// The file has this and nothing else; what is no file, a pipe, gets it behind the rest.
fn replace(file: &mut File, text: &str) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        file.rewind()?;
    }
    file.write_all(text.as_bytes())
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::Environment { command: NAME, message: format!("write {}: {}", terminal::quote(path), with_causes(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_told_from_a_first_thread_that_has() {
        let status = |state: &str, threads: u32| format!("Name:\tx\nState:\t{state}\nTgid:\t7\nThreads:\t{threads}\n");
        assert!(is_unburied(&status("Z (zombie)", 1)));
        assert!(!is_unburied(&status("Z (zombie)", 2)) && !is_unburied(&status("S (sleeping)", 1)));
        assert!(!is_unburied("Name:\tState: Z\nThreads:\t1\n") && !is_unburied(""));
    }

    #[test]
    fn what_is_printed_on_the_way_and_the_end_come_when_they_are_due() {
        let ms = Duration::from_millis;
        assert_eq!(step(None, None, ms(250)), ms(250));
        assert_eq!(step(Some(ms(600)), None, ms(250)), ms(200));
        assert_eq!(step(Some(ms(600)), Some(ms(100)), ms(250)), ms(100));
        assert_eq!(step(None, Some(ms(300)), ms(250)), ms(150));
    }
}
