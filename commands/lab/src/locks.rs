//! `mh locks`: what locks cost here, in several situations, and which settings for spinning follow. Measures with the engine `lab`, then shows.

mod advice_text;
mod measure;
mod plan;
mod show;
mod signs;

use crate::timers::parse_span;
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use lab::locks::advice::SpinAdvice;
use lab::locks::calibration::Calibration;
use lab::locks::row::LockRow;
use lab::locks::scenario::SCENARIOS;
use lab::locks::{LOCKS, WakePolicy};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::instrument::{Format, FormatArgs};
use mh_kit::report::{json_line, print_as};
use mh_kit::shared_args::with_help;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// How messages begin.
const NAME: &str = "mh locks";

/// The registry's line. Signals are its own: the first one ends the rounds, and what was measured is shown.
pub const ENTRY: Entry = Entry::new("locks", Group::See, Signals::Own, command, run);

/// Compare locks that spin, queue or sleep, on this machine
///
/// Each lock is tried in several situations, in short rounds in turns. Every row is checked: a lock that lets two threads in is an error.
/// Settings for spinning that follow for MySQL, MariaDB and PostgreSQL stand at the end.
#[derive(Args, Debug)]
struct LocksArgs {
    /// Threads; several make several tables [default: each situation's own]
    #[arg(short, long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Vec<u16>,

    /// Time for which the lock is held
    #[arg(long, value_name = "TIME", default_value = "100ns", value_parser = parse_work)]
    hold: Duration,

    /// Time without the lock between two holds
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_work)]
    think: Duration,

    /// Only sleeping locks that wake: one, all or handoff
    #[arg(
        short,
        long,
        value_name = "MODE",
        value_enum,
        hide_possible_values = true,
        value_delimiter = ',',
        conflicts_with = "locks"
    )]
    waiters: Vec<WaitersArg>,

    /// Only these locks; --help lists them
    #[arg(long, alias = "lock", value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(plan::lock_names()), hide_possible_values = true)]
    locks: Vec<String>,

    /// Only these situations; --help lists them
    #[arg(short, long, alias = "scenarios", value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(SCENARIOS.iter().map(|scenario| scenario.name)), hide_possible_values = true)]
    scenario: Vec<String>,

    /// Rounds of each row; the middle one counts
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,

    /// Time for everything [default: 16 ms a row and round]
    #[arg(long, value_name = "TIME", value_parser = parse_total)]
    seconds: Option<Duration>,

    /// Let the scheduler place threads that would each have a CPU
    #[arg(long)]
    no_pin: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// Whom a lock wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WaitersArg {
    /// One waiter, which may lose the race for the lock
    #[value(alias = "wake-one")]
    One,
    /// All waiters: the thundering herd
    #[value(alias = "wake-all")]
    All,
    /// The next in line, which has the lock then
    #[value(alias = "hand-off")]
    Handoff,
}

impl WaitersArg {
    fn policy(self) -> WakePolicy {
        match self {
            Self::One => WakePolicy::One,
            Self::All => WakePolicy::All,
            Self::Handoff => WakePolicy::HandOff,
        }
    }
}

/// LIMIT: a lock that is held longer is seldom asked for in a round.
const LONGEST_WORK: Duration = Duration::from_millis(10);

fn parse_work(text: &str) -> Result<Duration, String> {
    let work = parse_span(text)?;
    match work > LONGEST_WORK {
        true => Err("10 ms is the longest; a bare number is seconds, 100ns are nanoseconds".to_owned()),
        false => Ok(work),
    }
}

fn parse_total(text: &str) -> Result<Duration, String> {
    let time = parse_span(text)?;
    if time.is_zero() { Err("some time is needed".to_owned()) } else { Ok(time) }
}

fn command() -> Command {
    let command = LocksArgs::augment_args(Command::new("locks"));
    let examples = "Examples:\n  mh locks                               everything, in half a minute\n  \
         mh locks --waiters one,all -t 8,64     the thundering herd\n  \
         mh locks --locks futex,mcs --hold 2us  two locks, held longer";
    let mut lists = examples.to_owned() + "\n\nLocks:\n";
    for kind in LOCKS {
        writeln!(lists, "  {:<15} {}", kind.name, kind.about).expect("writing to a string");
    }
    writeln!(
        lists,
        "  {:<15} as MySQL 8 spins, with the default multiplier and a calculated one\n\nSituations:",
        plan::INNODB
    )
    .expect("writing to a string");
    for scenario in SCENARIOS {
        writeln!(lists, "  {:<15} {}", scenario.name, scenario.about).expect("writing to a string");
    }
    with_help(command, "csv", "Print the rows as comma-separated values")
        .after_help(examples)
        .after_long_help(lists.trim_end().to_owned())
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = LocksArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let report = measure::measure(context, &args)?;
    let text = match args.format.format() {
        Format::Json => json_line(&report),
        Format::Csv => show::as_csv(&report),
        Format::Text => show::as_text(&report, args.format.look()),
    };
    print_as(NAME, &text)?;
    Ok(outcome(&report))
}

/// What a signal has left is a result if a round was whole; otherwise the signal ended the run, as the shell names that.
fn outcome(report: &LocksReport) -> Outcome {
    match report.signal {
        Some(signal) if report.rounds_whole == 0 => Outcome::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        _ => Outcome::Done,
    }
}

fn failure(operation: &str, error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Environment { command: NAME, message: format!("{operation}: {}", with_causes(error)) }
}

/// Why no more was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    /// All was.
    Done,
    /// A signal came.
    Signal,
    /// On a busy machine rounds took longer than was said before.
    Time,
}

/// All that was measured.
#[derive(Serialize)]
struct LocksReport {
    /// CPUs that this process may use.
    cpus: usize,
    /// Whether some of them share a core; none of them do where that is not known.
    shares_cores: bool,
    /// What the parts of waiting take.
    calibration: Calibration,
    hold_ns: u64,
    think_ns: u64,
    /// Rounds that were asked for. A row has fewer if a signal ended the run.
    rounds: u16,
    ended: Ended,
    /// Rounds in which every row had its turn.
    rounds_whole: u16,
    /// The signal that ended them.
    #[serde(skip)]
    signal: Option<i32>,
    took_s: f64,
    /// CPUs that other programs, and the hypervisor, took meanwhile; none if it is not known.
    others_cpus: Option<f64>,
    rows: Vec<LockRow>,
    advice: SpinAdvice,
}
