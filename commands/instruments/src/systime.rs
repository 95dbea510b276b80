//! `mh systime`: where the time of system calls goes, of programs that are running or are still to start.
//! What is measured and what it costs: `engines/observe/CALLS.md`. Here: whose calls, how, until when.

mod export;
mod idle;
mod plan;
mod show;
mod source;
mod watch;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::grammar::SENTENCE;
use mh_kit::instrument::{FormatArgs, parse_interval};
use observe::calls::CallGrouping;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How messages begin.
const NAME: &str = "mh systime";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("systime", Group::See, Signals::Own, command, run);

/// Show where the time of system calls goes
///
/// Follows every process of a name from its start, a process and its descendants, a command, or all processes, for INTERVAL or
/// until Ctrl-C; then prints time by system call, those with most work on a CPU first, and what the threads did between calls.
/// Calls in which threads only waited for something to do (poll, futex, a sleep) are one line, unless --all is given.
///
/// By default waits are exact and time on a CPU is sampled: system calls run untouched. --exact counts and times every
/// call in the kernel. Both need CAP_BPF and CAP_PERFMON; without them threads are looked at from outside.
#[derive(Args, Clone, Debug)]
pub struct SystimeArgs {
    /// How long to measure (default: until Ctrl-C), then a program's name (every process of it, running or still to start) or a
    /// PID; without any, all
    #[arg(value_name = "INTERVAL|NAME|PID")]
    words: Vec<OsString>,

    /// This process and its descendants
    #[arg(short = 'p', long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=4_194_304), conflicts_with = "line")]
    pid: Option<u32>,

    /// Run this command and measure it and its descendants, from the first call on
    #[arg(last = true, value_name = "COMMAND")]
    line: Vec<OsString>,

    /// Count and time every call in the kernel; each call costs a little more
    #[arg(long)]
    exact: bool,

    /// Without privileges: stop the command at each call, many times slower; an estimate is printed first
    #[arg(long, conflicts_with_all = ["exact", "words", "pid", "by", "calls"], requires = "line")]
    trace: bool,

    /// One table of everything, or rows by command name, process, thread or control group
    #[arg(long, value_enum, default_value = "all", value_name = "WHAT")]
    by: ByArg,

    /// Only these calls (close,openat); the rest counts as time between calls
    #[arg(short = 'e', long = "call", value_name = "CALL", value_delimiter = ',')]
    calls: Vec<String>,

    /// Measure for COUNT times INTERVAL, and print what there is by then at the end of each; 0 goes on until Ctrl-C
    #[arg(long, value_name = "COUNT", conflicts_with = "every")]
    count: Option<u32>,

    /// Print intermediate results every TIME
    #[arg(short = 'i', long, alias = "interval", value_name = "TIME", value_parser = parse_interval)]
    every: Option<Duration>,

    /// The same as INTERVAL
    #[arg(long = "for", value_name = "TIME", value_parser = parse_interval, hide = true, conflicts_with = "count")]
    time: Option<Duration>,

    /// Print at most ROWS rows of each table; 0 prints all
    #[arg(long, short_alias = 'n', value_name = "ROWS", default_value_t = 20)]
    top: usize,

    /// A row for each call in which threads only waited for something to do, too
    #[arg(short = 'a', long)]
    all: bool,

    /// Show how the durations of each call are spread (needs --exact or --trace)
    #[arg(long)]
    histogram: bool,

    #[command(flatten)]
    format: FormatArgs,

    /// Write the result to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What the rows are by, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByArg {
    /// Everything together
    All,
    /// By the name of the program
    Comm,
    /// By process
    Pid,
    /// By thread
    Thread,
    /// By control group
    Cgroup,
}

impl ByArg {
    fn grouping(self) -> CallGrouping {
        match self {
            Self::All => CallGrouping::Together,
            Self::Comm => CallGrouping::Name,
            Self::Pid => CallGrouping::Process,
            Self::Thread => CallGrouping::Thread,
            Self::Cgroup => CallGrouping::Group,
        }
    }
}

fn command() -> Command {
    let usage =
        "mh systime [OPTIONS] [INTERVAL] [NAME|PID]\n       mh systime [OPTIONS] [INTERVAL] -- COMMAND [ARGUMENT]...";
    SystimeArgs::augment_args(Command::new("systime")).override_usage(usage).after_help(format!(
        "{SENTENCE}.\n\n\
         Examples:\n  mh systime xjobs                 every process of that name, until Ctrl-C\n  \
         mh systime --exact -- make -j8   a command and all it starts, each call counted\n  \
         mh systime 10 --by comm          all processes for 10 seconds, by name\n  \
         mh systime -p 4711 -e fsync,close --exact\n\n\
         10,000+3 under CALLS: 10,000 ended, 3 were still under way; their time is in TIME."
    ))
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = SystimeArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let plan = plan::plan(&args)?;
    watch::run(context, &args, &plan)
}
