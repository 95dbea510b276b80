//! The command line of `mh bakeoff`.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use terminal::parse_duration;

/// Compare servers, settings or commands fairly, with intervals
///
/// FILE says what is compared: arms (how the server is started, its environment, options, configuration) and loads as mh load takes them. The arms are measured in
/// the order A B B A, each time on a server that was started anew with the data as they were prepared, until the intervals are narrow or the time is used. Where an interval holds
/// both, the report says "cannot tell".
#[derive(Args, Debug)]
pub struct BakeoffArgs {
    /// A comparison in TOML; with --command, the commands to compare
    #[arg(value_name = "FILE", required = true)]
    pub what: Vec<String>,

    /// Compare shell commands instead: mh bakeoff --command 'sleep 1' 'sleep 1.1'
    #[arg(long)]
    pub command: bool,

    /// Go on with a comparison that was interrupted, or measure more: with what is in the file of results already
    #[arg(long)]
    pub resume: bool,

    /// Where each measurement is kept [default: FILE with .results.jsonl, in this directory; for commands nowhere]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// Where servers have their data and sockets [default: a temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,

    /// Show every figure, not only the first ones
    #[arg(short = 'a', long)]
    pub all: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,

    /// Write the report as one page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Rounds before it may end [default: 10 for commands, the file's for servers]
    #[arg(long, alias = "min-runs", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub at_least: Option<u32>,

    /// Rounds after which it ends [default: 1000 for commands, the file's for servers]
    #[arg(long, visible_alias = "runs", alias = "max-runs", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub at_most: Option<u32>,

    /// No round begins that would not end within this time [default: 1m for commands, the file's for servers]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub budget: Option<Duration>,

    /// It ends once each multiple is known within so many per cent [default: 2, the file's for servers]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub width: Option<f64>,

    #[command(flatten)]
    pub commands: CommandOptions,
}

/// What commands alone have, with hyperfine's names.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of --command")]
pub struct CommandOptions {
    /// Rounds that are not counted
    #[arg(short = 'w', long, value_name = "COUNT", default_value_t = 1, requires = "command")]
    pub warmup: u32,

    /// A shell command before each run, which is not measured: to drop caches, to remove what the last run made
    #[arg(short = 'p', long, value_name = "COMMAND", requires = "command")]
    pub prepare: Option<String>,

    /// The shell for the commands
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "/bin/sh", requires = "command")]
    pub shell: String,

    /// No shell: the words of each command are a program and its arguments
    #[arg(short = 'N', long, requires = "command")]
    pub no_shell: bool,

    /// Count runs that end with an exit code other than 0, too
    #[arg(short = 'i', long, requires = "command")]
    pub ignore_failure: bool,

    /// A file as standard input of each run [default: nothing]
    #[arg(long, value_name = "FILE", requires = "command")]
    pub input: Option<PathBuf>,

    /// Show what the commands print
    #[arg(long, requires = "command")]
    pub show_output: bool,
}

fn parse_budget(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent < 1e6);
    percent.ok_or_else(|| format!("'{text}' is no percentage above 0"))
}
