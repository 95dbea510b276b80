//! `mh pstime`: the CPU time of processes over an interval, with four digits and with its error.
//! Reads and computes nothing itself (engines/observe). Reading order: PstimeArgs -> plan -> run -> show.

mod choose;
mod columns;
mod plan;
mod show;
mod spawned;

use crate::feed::{Feed, RecordingArgs, Step};
use crate::name_parser;
use crate::shares::BaseArg;
use crate::targets::{TargetArgs, remark};
use choose::Chosen;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use columns::Column;
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::instrument::FormatArgs;
use mh_kit::instrument::grammar::{INTERVAL, SENTENCE};
use mh_kit::instrument::live::{Output, with_screen};
use mh_kit::shared_args::with_help;
use observe::calls::split::{CallSplit, divide};
use observe::departed::Departed;
use observe::model::{Idlers, Interval};
use observe::process_tree::ProcessTree;
use observe::sample::HostSample;
use observe::starving::Starving;
use plan::Plan;
use show::Shower;
use std::ffi::OsString;

/// How messages begin.
const NAME: &str = "mh pstime";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("pstime", Group::See, Signals::Own, command, run);

/// What makes no sense of a program whose end alone is looked at.
const OF_SAMPLES: [&str; 14] = [
    "replay",
    "record",
    "words",
    "pids",
    "names",
    "count",
    "threads",
    "microstates",
    "users",
    "by",
    "columns",
    "min",
    "top",
    "all",
];

/// Show the CPU time of processes over an interval, with its error
///
/// Two readings of each process's own CPU clock, INTERVAL apart. Without PID or NAME: every process that used CPU time. Without
/// INTERVAL and COUNT: a screen every 3 seconds on a terminal, elsewhere one interval of 3 seconds. +- is how far %USR and %SYS may be off: kernels divide user from system time by ticks, and a running thread's clock
/// is up to a tick old.
#[derive(Args, Debug)]
pub struct PstimeArgs {
    #[command(flatten)]
    targets: TargetArgs,

    /// A program to run; its resource usage is printed on standard error when it ends
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = OF_SAMPLES)]
    program: Vec<OsString>,

    /// Seconds of CPU time instead of percentages
    #[arg(short = 's', long = "seconds")]
    seconds: bool,

    /// A row for each thread
    #[arg(short = 't', long = "threads")]
    threads: bool,

    /// Show how each thread spent its time: running, waiting for a CPU, a device or something else (implies -t)
    #[arg(short = 'm', long = "microstates")]
    microstates: bool,

    /// Divide user from system time by measuring every system call, not by ticks; each call costs a little more (needs
    /// CAP_BPF and CAP_PERFMON)
    #[arg(long, conflicts_with_all = ["threads", "microstates", "children", "program", "record", "replay"])]
    exact: bool,

    /// Add to each listed process all its descendants, ended ones too
    #[arg(short = 'c', long = "children")]
    children: bool,

    /// Processes of this name (may be given again)
    #[arg(short = 'C', long = "name", value_name = "NAME", value_parser = name_parser())]
    names: Vec<String>,

    /// Processes of this user only, by name or number (may be given again)
    #[arg(short = 'u', long = "user", value_name = "USER")]
    users: Vec<String>,

    /// One row for all processes that have this in common
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["threads", "microstates", "children"])]
    by: Option<plan::ByArg>,

    /// Meaning of 100 % [default: machine; with -m one core, so that each thread's states sum to 100 %]
    #[arg(long = "of", value_enum, value_name = "BASE")]
    base: Option<BaseArg>,

    /// Columns, joined by commas
    #[arg(short = 'o', long = "columns", value_name = "COLUMNS", value_enum, value_delimiter = ',')]
    columns: Vec<Column>,

    /// Sort rows by this column
    #[arg(long, value_enum, value_name = "COLUMN", default_value = "cpu", hide_short_help = true)]
    sort: plan::SortArg,

    /// Leave out rows below PERCENT
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    min: f64,

    /// At most COUNT rows
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,

    /// Processes that used nothing, too
    #[arg(short = 'a', long = "all")]
    all: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    recording: RecordingArgs,
}

fn command() -> Command {
    let usage = "mh pstime [OPTIONS] [INTERVAL] [NAME|PID]...\n       mh pstime [OPTIONS] -- COMMAND [ARGUMENT]...\n       \
         mh pstime [OPTIONS] --replay FILE [NAME|PID]...";
    let command = PstimeArgs::augment_args(Command::new("pstime"));
    let command = with_help(command, "json", "Print one JSON object an interval, or one when the program ends");
    let command = with_help(command, "count", "Repeat COUNT times, then print averages; 0 goes on until Ctrl-C");
    with_help(command, "csv", "Comma-separated values").override_usage(usage).after_help(format!(
        "{SENTENCE}.\n\nExamples:\n  mh pstime 10                           who used the CPUs in these ten seconds\n  \
         mh pstime 10 mysqld 7141               these processes\n  \
         mh pstime -n 0 1 -u mysql --by unit    every second, by service, until Ctrl-C\n  \
         mh pstime -- make -j8                  what a command and its children used",
    ))
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = PstimeArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let plan = Plan::new(args)?;
    if !plan.program.is_empty() {
        return spawned::run(context, &plan);
    }
    remark(context, NAME, &plan.targets);
    let interval = plan.targets.interval.unwrap_or(INTERVAL);
    let mut feed = Feed::open(NAME, &plan.recording, || Feed::live(NAME, &context.host, interval, plan.wanted()))?;
    let exact = if plan.is_exact { Some(exact(context)?) } else { None };
    let mut plan = plan;
    plan.settle_count(context.terminals.have_a_screen());
    if plan.is_endless() && context.terminals.have_a_screen() {
        return with_screen(NAME, HELP, |output| watch(context, &plan, &mut feed, exact.as_ref(), output));
    }
    watch(context, &plan, &mut feed, exact.as_ref(), Output::Printed(NAME))
}

/// What a screen says of itself.
const HELP: &[&str] = &[
    "%USR %SYS  time on CPUs, in the program and in the kernel; what 100 % is, the first line says",
    "+-         how far each of them may be off, in points",
    "%WAIT      of all its threads: they could run and had no CPU",
    "(unaccounted)  what the machine used and no row has",
];

fn exact(context: &Context) -> Result<CallSplit, Failure> {
    CallSplit::start(&context.host).map_err(|error| {
        let message = format!("{}; without --exact ticks divide, and the error is printed", with_causes(&error));
        Failure::Environment { command: NAME, message }
    })
}

/// Interval by interval, then the averages.
fn watch(
    context: &Context,
    plan: &Plan,
    feed: &mut Feed,
    exact: Option<&CallSplit>,
    output: Output,
) -> Result<Outcome, Failure> {
    let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
    if feed.first(&mut earlier)? == Step::End {
        return Err(Failure::Environment {
            command: NAME,
            message: "find a sample: the recording is empty".to_owned(),
        });
    }
    if plan.is_of_threads() && earlier.threads.is_empty() && !earlier.processes.is_empty() {
        let message = "show threads: none are recorded; mh pstime -t --record does".to_owned();
        return Err(Failure::Environment { command: NAME, message });
    }
    let chosen = Chosen::new(plan, &feed.accounts)?;
    chosen.missing(context, &output, &earlier);
    let mut unseen = chosen.all();
    chosen.note_seen(&mut unseen, &earlier);
    let mut families: Vec<ProcessTree> = if plan.children { chosen.families(&earlier) } else { Vec::new() };
    let mut interval = Interval::new(plan.idlers());
    let mut shower = Shower::new(plan, feed.tier, feed.accounts.clone(), exact.map(CallSplit::cost), output.clone());
    let read_calls = || exact.map(CallSplit::read).unwrap_or_default();
    let first_calls = read_calls();
    let mut earlier_calls = first_calls.clone();
    // The averages are of one long interval, from the first sample to the last: exact where sums of rounded rows are not.
    let (first, first_families) = (earlier.clone(), families.clone());
    let (mut departed, mut starving) = (Departed::default(), Starving::default());
    let mut count = 0;
    loop {
        let step = feed.next(&earlier, &mut later)?;
        match step {
            Step::Child => continue,
            Step::End => break,
            Step::Sample | Step::Last => {}
        }
        let later_calls = read_calls();
        interval.update(&earlier, &later);
        divide(&mut interval, &earlier_calls, &later_calls);
        earlier_calls = later_calls;
        let usages = families.iter().map(|family| family.usage(&interval, &earlier, &later)).collect();
        shower.interval(&chosen.content(&interval, usages, &earlier, &later), &interval, &later)?;
        families.iter_mut().for_each(|family| family.follow(&later));
        departed.note(&earlier, &later);
        starving.note(&interval);
        chosen.note_seen(&mut unseen, &later);
        std::mem::swap(&mut earlier, &mut later);
        count += 1;
        if chosen.are_all_gone(&earlier, &families) {
            output.remark(&context.messages, NAME, "all processes that were to be watched have ended");
            break;
        }
        if step == Step::Last || (plan.ends_after(count) && plan.recording.replay.is_none()) {
            break;
        }
    }
    if count > 1 {
        let earlier = departed.join(&earlier);
        let mut whole = Interval::new(Idlers::Listed);
        whole.update(&first, &earlier);
        whole.ended = departed.count();
        starving.add_to(&mut whole, plan.idlers());
        divide(&mut whole, &first_calls, &earlier_calls);
        let usages = first_families.iter().map(|family| family.usage(&whole, &first, &earlier)).collect();
        shower.average(&chosen.content(&whole, usages, &first, &earlier), &whole, &earlier)?;
    }
    Ok(if unseen.is_empty() { Outcome::Done } else { Outcome::Partial })
}
