//! The options that every command that works has: hands, priority, memory, plan and report.

use crate::settings::CrewSettings;
use clap::builder::TypedValueParser;
use clap::{Args, Command, ValueEnum};
use crew::budget::{Priority, Weight};
use serde::Deserialize;
use std::ops::Range;

/// Hands, priority, memory, plan and report.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cores and memory")]
pub struct SharedArgs {
    /// Use at most N cores (default, and 0: all that this process may use)
    // COMPAT: -T is zstd's and xz's, -p pigz's name for it.
    #[arg(short = 'j', long = "hands", short_aliases = ['T', 'p'], alias = "threads", value_name = "N", value_parser = parse_hands)]
    pub hands: Option<usize>,

    /// Among the other runs.
    #[command(flatten)]
    pub standing: StandingArgs,

    /// Hold at most SIZE in memory; fewer cores are used where it is tight (64M, 1.5GiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    pub explain: bool,

    /// After the run, print its limit and the gain of more cores
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,
}

/// A run's standing among others. Commands that have more to say about it change the help.
#[derive(Args, Clone, Debug, Default)]
pub struct StandingArgs {
    /// Priority among runs that share the machine (default: the runner's, else the settings file's, else normal)
    #[arg(long, value_enum, value_name = "CLASS", hide_short_help = true)]
    priority: Option<PriorityArg>,

    /// This run's share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)
    #[arg(long, value_name = "N", value_parser = parse_weight(), hide_short_help = true)]
    weight: Option<u16>,
}

/// How a report is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// For programs: one JSON object on one line.
    Json,
}

/// The classes as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PriorityArg {
    /// Served first
    High,
    /// Everyday work
    #[default]
    Normal,
    /// Gives way to normal work
    Low,
    /// Gets cores that no other run wants
    Idle,
}

impl PriorityArg {
    /// The class.
    pub fn class(self) -> Priority {
        match self {
            Self::High => Priority::High,
            Self::Normal => Priority::Normal,
            Self::Low => Priority::Low,
            Self::Idle => Priority::Idle,
        }
    }

    /// How much nicer the process becomes: between this run and programs that take no part in the budget the kernel's scheduler
    /// is the only judge. Rising above others needs rights, so `high` is `normal` for the kernel.
    pub fn nicer_by(self) -> u8 {
        match self {
            Self::High | Self::Normal => 0,
            Self::Low => 10,
            Self::Idle => 19,
        }
    }
}

impl From<Priority> for PriorityArg {
    fn from(class: Priority) -> Self {
        match class {
            Priority::High => Self::High,
            Priority::Normal => Self::Normal,
            Priority::Low => Self::Low,
            Priority::Idle => Self::Idle,
        }
    }
}

impl StandingArgs {
    /// Fills in from the settings file what was not given.
    pub fn settle(&mut self, settings: &CrewSettings) {
        self.priority = self.priority.or(settings.priority);
        self.weight = self.weight.or(settings.weight);
    }

    /// Who goes first.
    pub fn priority(&self) -> PriorityArg {
        self.priority.unwrap_or_default()
    }

    /// The share within the class.
    pub fn weight(&self) -> Weight {
        self.weight.map(Weight::new).unwrap_or_default()
    }
}

/// Reads a share as typed.
pub fn parse_weight() -> impl TypedValueParser<Value = u16> {
    clap::value_parser!(u16).range(i64::from(WEIGHTS.start)..i64::from(WEIGHTS.end))
}

impl SharedArgs {
    /// Fills in from the settings file what was not given.
    pub fn settle(&mut self, settings: &CrewSettings) {
        self.standing.settle(settings);
    }

    /// Who goes first.
    pub fn priority(&self) -> PriorityArg {
        self.standing.priority()
    }

    /// The share within the class.
    pub fn weight(&self) -> Weight {
        self.standing.weight()
    }

    /// Hands that were asked for; none where all that are allowed will do.
    pub fn hands_asked(&self) -> Option<usize> {
        self.hands.filter(|&hands| hands > 0)
    }
}

/// `command` with another help for its option `name`; the order of options stays, which `mut_arg` would change.
pub fn with_help(command: Command, name: &str, help: &'static str) -> Command {
    command.mut_args(|option| if option.get_id() == name { option.help(help) } else { option })
}

/// LIMIT: shares that can be asked for. More would let one run have all there is, as a higher class does.
pub const WEIGHTS: Range<u16> = 1..10_001;

/// LIMIT: more hands than this are a typing mistake; each costs a thread and its buffers.
const HANDS_MAX: usize = 4096;

/// A number of hands as typed.
pub fn parse_hands(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(hands) if hands <= HANDS_MAX => Ok(hands),
        _ => Err(format!("a number from 0 to {HANDS_MAX} is needed")),
    }
}

/// A number of bytes as typed.
pub fn parse_size(text: &str) -> Result<u64, String> {
    terminal::parse_bytes(text).map_err(|error| error.to_string())
}
