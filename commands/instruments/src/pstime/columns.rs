//! The columns of `mh pstime`: heading, side, and what stands in them.

use super::plan::Unit;
use crate::shares::Base;
use clap::ValueEnum;
use observe::model::Presence;
use observe::row::{ProcessRow, RowGrouping};
use observe::source::accounts::Accounts;
use observe::source::control_group::unit;
use terminal::Align;

/// A column, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Column {
    /// The effective user
    Uid,
    /// The process
    Pid,
    /// The thread
    Tid,
    /// User time
    Usr,
    /// System time
    Sys,
    /// How far %USR and %SYS may be off, with 98 % confidence
    Error,
    /// User and system time
    Cpu,
    /// How far %CPU may be off
    Stale,
    /// User and system time as a share of one core, whatever the base
    Core,
    /// CPU seconds
    Secs,
    /// Time its threads could run and had no CPU
    Wait,
    /// Time its threads waited for block devices (needs kernel.task_delayacct)
    Block,
    /// Time a thread waited for anything else
    Sleep,
    /// Processes, or threads, in the row
    Members,
    /// The control group
    Cgroup,
    /// The service or container
    Unit,
    /// The short name
    Name,
    /// The command line
    Command,
}

/// What cells are written with.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    /// Meaning of 100 %.
    pub base: Base,
    /// Percentages or seconds.
    pub unit: Unit,
    /// Names of users.
    pub accounts: &'a Accounts,
}

impl Column {
    /// The columns that a table has unless others are asked for.
    pub fn usual(grouping: RowGrouping, microstates: bool) -> Vec<Self> {
        match grouping {
            RowGrouping::Thread if microstates => {
                use Column::*;
                vec![Uid, Pid, Tid, Usr, Sys, Wait, Block, Sleep, Error, Name]
            }
            RowGrouping::Thread => vec![Self::Uid, Self::Pid, Self::Tid, Self::Usr, Self::Sys, Self::Error, Self::Name],
            RowGrouping::Process => vec![Self::Uid, Self::Pid, Self::Usr, Self::Sys, Self::Error, Self::Command],
            RowGrouping::User => vec![Self::Uid, Self::Members, Self::Usr, Self::Sys, Self::Error],
            RowGrouping::Group => vec![Self::Members, Self::Usr, Self::Sys, Self::Error, Self::Cgroup],
            RowGrouping::Unit => vec![Self::Members, Self::Usr, Self::Sys, Self::Error, Self::Unit],
            RowGrouping::Name => vec![Self::Members, Self::Usr, Self::Sys, Self::Error, Self::Name],
        }
    }

    /// Whether the samples must hold threads for it.
    pub fn needs_threads(self) -> bool {
        matches!(self, Self::Wait | Self::Block | Self::Sleep | Self::Tid)
    }

    /// Words to the left, numbers to the right.
    pub fn align(self) -> Align {
        match self {
            Self::Cgroup | Self::Unit | Self::Name | Self::Command => Align::Left,
            _ => Align::Right,
        }
    }

    /// What stands above it. Seconds and percentages have different headings.
    pub fn heading(self, unit: Unit) -> &'static str {
        let either = |percent, seconds| if unit == Unit::Percent { percent } else { seconds };
        match self {
            Self::Uid => "UID",
            Self::Pid => "PID",
            Self::Tid => "TID",
            Self::Usr => either("%USR", "USR s"),
            Self::Sys => either("%SYS", "SYS s"),
            Self::Error => "+-",
            Self::Cpu => either("%CPU", "CPU s"),
            Self::Stale => "+-CPU",
            Self::Core => "%CORE",
            Self::Secs => "CPU s",
            Self::Wait => either("%WAIT", "WAIT s"),
            Self::Block => either("%BLOCK", "BLOCK s"),
            Self::Sleep => either("%SLEEP", "SLEEP s"),
            Self::Members => "N",
            Self::Cgroup => "CGROUP",
            Self::Unit => "UNIT",
            Self::Name => "NAME",
            Self::Command => "COMMAND",
        }
    }

    /// What stands in it.
    pub fn cell(self, row: &ProcessRow, style: Style<'_>) -> String {
        let number = |cores: f64| terminal::four_digits(style.value(cores, row));
        let optional = |cores: Option<f64>| cores.map_or_else(|| "-".to_owned(), number);
        let id = |id: Option<u32>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        match self {
            Self::Uid => row.user.map_or_else(|| "-".to_owned(), |user| style.accounts.name(user)),
            Self::Pid => id(row.pid),
            Self::Tid => id(row.tid),
            Self::Usr => number(row.user_cores),
            Self::Sys => number(row.system_cores),
            Self::Error => terminal::error_digits(style.value(row.error_cores, row)),
            Self::Cpu => number(row.cores),
            Self::Stale => terminal::error_digits(style.value(row.stale_cores, row)),
            Self::Core => terminal::four_digits(row.cores * 100.0),
            Self::Secs => terminal::four_digits(row.cpu_ns as f64 / 1e9),
            Self::Wait => optional(row.wait_cores),
            Self::Block => optional(row.block_cores),
            Self::Sleep => optional(row.sleep_cores),
            Self::Members => row.members.to_string(),
            Self::Cgroup => row.group.clone().unwrap_or_default(),
            Self::Unit => row.group.as_deref().map(unit).unwrap_or_default().to_owned(),
            Self::Name => row.name.clone(),
            Self::Command if row.presence == Presence::Born => format!("{} (began)", row.command),
            Self::Command => row.command.clone(),
        }
    }
}

impl Style<'_> {
    /// A number of cores as a percentage of the base, or as seconds of the row's time.
    fn value(self, cores: f64, row: &ProcessRow) -> f64 {
        match self.unit {
            Unit::Percent => self.base.percent(cores),
            Unit::Seconds => cores * row.elapsed_ns as f64 / 1e9,
        }
    }
}
