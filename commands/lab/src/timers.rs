//! `mh timers`: what a timed wait really costs here. Measures with the engine `lab`, then shows; beside it a runner that gives
//! an unmodified program another timer slack, and the log writer's example.

mod become_program;
mod log_writer;
mod show;
mod span;

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use lab::timers::clocks::SystemClock;
use lab::timers::coarse::Coarse;
use lab::timers::counters::Counters;
use lab::timers::waits::{Busy, Effort, Setting, WaitOutcome};
use lab::timers::{Load, METHODS, Method};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::instrument::{Format, FormatArgs};
use mh_kit::report::{json_line, print};
use mh_kit::shared_args::with_help;
use serde::Serialize;
pub(crate) use span::parse_span;
use span::parse_wait;
use std::num::NonZeroU64;
use std::time::Duration;

/// How messages begin.
const NAME: &str = "mh timers";

/// The registry's line. Signals are its own: interval timers send theirs to the process, so that no thread may be there that
/// does not hold them back.
pub const ENTRY: Entry = Entry::new("timers", Group::See, Signals::Own, command, run);

/// Show the real cost of timed waits, for every call
///
/// Lateness is measured against the time that a call was given, in the call's own unit: poll cannot wait for 100 us, only for 1 ms.
/// Each call is tried with two timer slacks.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
struct TimersArgs {
    #[command(subcommand)]
    other: Option<OtherArgs>,

    /// Measure again with a spinning thread on every CPU
    #[arg(long)]
    load: bool,

    /// Measure on each CPU that this process may use (poll and clock_nanosleep, unless -c names others)
    #[arg(long)]
    per_cpu: bool,

    /// Only this call; may be given again
    #[arg(short, long = "call", value_name = "CALL", value_parser = PossibleValuesParser::new(METHODS.iter().map(|method| method.name)), hide_possible_values = true)]
    calls: Vec<String>,

    /// Purpose of the waits
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = parse_wait)]
    wait: Duration,

    /// Measure under this timer slack, too; may be given again [default: 1ns]
    #[arg(long = "slack", value_name = "TIME", value_parser = parse_slack)]
    slacks: Vec<NonZeroU64>,

    /// Waits in each row; a row ends early after half a second
    #[arg(short = 'n', long = "count", alias = "rounds", value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rounds: u32,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Debug, Subcommand)]
enum OtherArgs {
    /// Run a program with another timer slack
    ///
    /// The program is not changed: the slack belongs to the thread and stays over execve(2), and what the program starts inherits it.
    Run {
        /// The slack: 1ns for waits that end as exactly as the machine can
        #[arg(long, value_name = "TIME", default_value = "1ns", value_parser = parse_slack)]
        slack: NonZeroU64,
        /// The program and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
        program: Vec<std::ffi::OsString>,
    },
    /// Compare polling with waking: many threads wait for an event of one thread
    LogWriter(log_writer::LogWriterArgs),
}

fn parse_slack(text: &str) -> Result<NonZeroU64, String> {
    let span = parse_span(text)?;
    // 0 means "as at the start" to the kernel, which is the opposite of what it looks like.
    let nanoseconds = u64::try_from(span.as_nanos()).ok().and_then(NonZeroU64::new);
    nanoseconds.ok_or_else(|| "a slack of 1ns is the smallest".to_owned())
}

fn command() -> Command {
    let command = TimersArgs::augment_args(Command::new("timers"));
    with_help(command, "csv", "Print the waits as comma-separated values").after_help(
        "Examples:\n  mh timers                            every call, in some seconds\n  \
         mh timers --load -c poll             one call, while every CPU is busy\n  \
         mh timers run --slack 1ns -- PROGRAM a program whose waits end on time\n  \
         mh timers log-writer                 ways to wake many waiters, as a database's log does",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = TimersArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    match &args.other {
        Some(OtherArgs::Run { slack, program }) => become_program::become_program(*slack, program),
        Some(OtherArgs::LogWriter(args)) => log_writer::run(args),
        None => {
            let report = measure(context, &args)?;
            print(&match args.format.format() {
                Format::Json => json_line(&report),
                Format::Csv => show::as_csv(&report),
                Format::Text => show::as_text(&report, args.format.look()),
            })?;
            Ok(Outcome::Done)
        }
    }
}

fn failure(operation: &str, error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Environment { command: NAME, message: format!("{operation}: {}", with_causes(error)) }
}

/// All that was measured.
#[derive(Serialize)]
struct Report {
    /// CPUs that this process may use.
    cpus: usize,
    /// Where the kernel takes its time from.
    clock_source: Option<String>,
    /// What else it could use.
    clock_sources_available: Vec<String>,
    /// The kernel's tick.
    tick_ns: u64,
    /// The timer slack that programs started from here inherit.
    slack_ns: u64,
    /// What was wanted of every wait.
    wanted_ns: u64,
    /// Threads of other programs that could run when it began: an idle machine has none.
    others_runnable: Option<u64>,
    waits: Vec<WaitOutcome>,
    coarse: Vec<Coarse>,
    clocks: Vec<SystemClock>,
    /// None where there is one CPU, or no counter.
    counters: Option<Counters>,
}

/// LIMIT: longer rows would tell little more, and there are many.
const ROW_TIME_MAX: Duration = Duration::from_millis(500);

fn measure(context: &Context, args: &TimersArgs) -> Result<Report, Failure> {
    lab::timers::hold_back_timer_signals().map_err(|error| failure("hold back the timers' signals", &error))?;
    let cpus = machine::allowed_cpu_numbers(&context.host).map_err(|error| failure("count CPUs", &error))?;
    // What is not told is shown as not known; the measurements stand without it.
    let source = machine::clock_source(&context.host).unwrap_or_default();
    let others_runnable = machine::runnable_threads(&context.host).ok().map(|count| count.saturating_sub(1));
    let (coarse, clocks) = (lab::timers::coarse::measure(), lab::timers::clocks::measure());
    let counters = lab::timers::counters::compare(&cpus);
    let mut waits = rows(args, &cpus, Busy::Others);
    if args.load {
        let load = Load::on(&cpus).map_err(|error| failure("start a spinning thread on every CPU", &error))?;
        waits.extend(rows(args, &cpus, Busy::All));
        drop(load);
    }
    Ok(Report {
        cpus: cpus.len(),
        clock_source: source.current,
        clock_sources_available: source.available,
        tick_ns: lab::timers::tick_ns(),
        slack_ns: lab::timers::own_slack_ns(),
        wanted_ns: u64::try_from(args.wait.as_nanos()).unwrap_or(u64::MAX),
        others_runnable,
        waits,
        coarse,
        clocks,
        counters,
    })
}

fn rows(args: &TimersArgs, cpus: &[usize], busy: Busy) -> Vec<WaitOutcome> {
    let places: Vec<Option<usize>> = if args.per_cpu { cpus.iter().copied().map(Some).collect() } else { vec![None] };
    let smallest = [NonZeroU64::MIN];
    let chosen: &[NonZeroU64] = if args.slacks.is_empty() { &smallest } else { &args.slacks };
    // The inherited one first.
    let slacks: Vec<Option<NonZeroU64>> = std::iter::once(None).chain(chosen.iter().copied().map(Some)).collect();
    let effort = Effort { rounds: args.rounds as usize, time_max: ROW_TIME_MAX };
    let mut rows = Vec::new();
    for &cpu in &places {
        for method in METHODS.iter().filter(|method| is_chosen(method, args)) {
            for &slack_ns in &slacks {
                let setting = Setting { wanted: args.wait, slack_ns, cpu, busy };
                rows.push(lab::timers::waits::measure(method, setting, effort));
            }
        }
    }
    rows
}

/// On each CPU two calls say enough: one that counts milliseconds and one that does not.
const PER_CPU: [&str; 2] = ["poll", "clock_nanosleep"];

fn is_chosen(method: &Method, args: &TimersArgs) -> bool {
    match args.calls.is_empty() {
        true => !args.per_cpu || PER_CPU.contains(&method.name),
        false => args.calls.iter().any(|call| call == method.name),
    }
}
