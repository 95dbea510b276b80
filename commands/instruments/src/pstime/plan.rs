//! What `mh pstime` will do: every choice of the command line, resolved. Looks at nothing.

use super::columns::Column;
use super::{NAME, PstimeArgs};
use crate::feed::RecordingArgs;
use crate::shares::BaseArg;
use clap::ValueEnum;
use mh_kit::failure::Failure;
use mh_kit::instrument::{Format, parse_interval};
use observe::model::Idlers;
use observe::row::{RowGrouping, RowOrder};
use observe::sampler::{Depth, ProcessSelection, SampleContent, Sleepers, Texts};
use std::ffi::OsString;
use std::time::Duration;

/// What rows may have in common, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ByArg {
    /// The effective user
    User,
    /// The control group
    Cgroup,
    /// The service or container
    Unit,
    /// The name
    Name,
}

/// Sort rows by this column, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    /// CPU time
    Cpu,
    /// User time
    Usr,
    /// System time
    Sys,
    /// Time without a CPU
    Wait,
    /// Number
    Pid,
    /// Name
    Name,
}

/// What numbers stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Percentages of a base.
    Percent,
    /// Seconds of CPU time.
    Seconds,
}

/// All choices.
#[derive(Debug)]
pub struct Plan {
    /// Between two samples; none where a recording or a program decides.
    pub interval: Option<Duration>,
    /// Intervals; 0 for no end.
    pub count: u64,
    /// Processes by number.
    pub pids: Vec<u32>,
    /// Processes by name.
    pub names: Vec<String>,
    /// Users, as typed.
    pub users: Vec<String>,
    /// A program to run.
    pub program: Vec<OsString>,
    /// Whether every call is measured.
    pub is_exact: bool,
    /// Whether children are followed.
    pub children: bool,
    /// What a row is.
    pub grouping: RowGrouping,
    /// Meaning of 100 %.
    pub base: BaseArg,
    /// What numbers stand for.
    pub unit: Unit,
    /// Columns.
    pub columns: Vec<Column>,
    /// Sort rows by this column.
    pub order: RowOrder,
    /// Rows below are left out.
    pub min_percent: f64,
    /// More rows are left out.
    pub top: Option<usize>,
    /// Whether rows without CPU time are shown.
    pub all: bool,
    /// How intervals are written.
    pub format: Format,
    /// Where samples are written to, or come from.
    pub recording: RecordingArgs,
}

impl Plan {
    /// Resolves the command line.
    pub fn new(args: PstimeArgs) -> Result<Self, Failure> {
        let usage = |message: &str| Failure::Usage { command: NAME, message: message.to_owned() };
        let is_number = |target: &String| target.bytes().all(|byte| byte.is_ascii_digit());
        // A recording has its own intervals, and a program takes what time it takes.
        let has_interval = args.recording.replay.is_none() && args.program.is_empty();
        let mut words = args.words.into_iter();
        let interval = if has_interval { words.next() } else { None };
        let interval = interval.map(|word| {
            parse_interval(&word).map_err(|reason| usage(&format!("INTERVAL is {}: {reason}", terminal::quote(&word))))
        });
        let interval = interval.transpose()?;
        let (numbers, names): (Vec<String>, Vec<String>) = words.partition(is_number);
        let pids: Option<Vec<u32>> = numbers.iter().map(|number| number.parse().ok()).collect();
        let pids = pids.ok_or_else(|| usage("a process number is larger than any there is"))?;
        let grouping = match (args.by, args.threads || args.microstates) {
            (Some(ByArg::User), _) => RowGrouping::User,
            (Some(ByArg::Cgroup), _) => RowGrouping::Group,
            (Some(ByArg::Unit), _) => RowGrouping::Unit,
            (Some(ByArg::Name), _) => RowGrouping::Name,
            (None, true) => RowGrouping::Thread,
            (None, false) => RowGrouping::Process,
        };
        let names = [names, args.names].concat();
        if args.children && pids.is_empty() && names.is_empty() && args.program.is_empty() {
            return Err(usage("-c needs processes to follow, by PID or NAME"));
        }
        if !args.min.is_finite() {
            return Err(usage("--min needs a percentage"));
        }
        let columns = match args.columns.is_empty() {
            false => args.columns,
            true => Column::usual(grouping, args.microstates),
        };
        Ok(Self {
            interval,
            count: args.count,
            pids,
            names,
            users: args.users,
            program: args.program,
            is_exact: args.exact,
            children: args.children,
            grouping,
            base: args.base.unwrap_or(if args.microstates { BaseArg::Core } else { BaseArg::Machine }),
            unit: if args.seconds { Unit::Seconds } else { Unit::Percent },
            columns,
            order: order(args.sort),
            min_percent: args.min,
            top: args.top,
            all: args.all,
            format: args.format.format(),
            recording: args.recording,
        })
    }

    /// What samples must hold.
    pub fn wanted(&self) -> SampleContent {
        let only_numbers = self.names.is_empty() && !self.pids.is_empty() && !self.children;
        let by_text = self.children || self.all || !self.names.is_empty() || !self.pids.is_empty();
        let by_thread = self.grouping == RowGrouping::Thread
            || self.order == RowOrder::Wait
            || self.columns.iter().any(|column| column.needs_threads());
        SampleContent {
            who: if only_numbers { ProcessSelection::These(self.pids.clone()) } else { ProcessSelection::Everybody },
            texts: if by_text { Texts::OfAll } else { Texts::OfBusy },
            depth: if by_thread { Depth::Threads } else { Depth::Processes },
            sleepers: Sleepers::Asked,
        }
    }

    /// Whether it is text for people that goes on until they have had enough.
    pub fn is_endless(&self) -> bool {
        self.count == 0 && self.recording.replay.is_none() && self.format == Format::Text
    }

    /// Whether processes that did nothing are listed: the ones that were asked for are, always.
    pub fn idlers(&self) -> Idlers {
        if self.all || self.is_selective() { Idlers::Listed } else { Idlers::Counted }
    }

    /// Whether a row is a thread.
    pub fn is_of_threads(&self) -> bool {
        self.grouping == RowGrouping::Thread && !self.children
    }

    /// Whether processes were asked for by number or name.
    pub fn is_selective(&self) -> bool {
        !self.pids.is_empty() || !self.names.is_empty()
    }
}

fn order(arg: SortArg) -> RowOrder {
    match arg {
        SortArg::Cpu => RowOrder::Cpu,
        SortArg::Usr => RowOrder::User,
        SortArg::Sys => RowOrder::System,
        SortArg::Wait => RowOrder::Wait,
        SortArg::Pid => RowOrder::Pid,
        SortArg::Name => RowOrder::Name,
    }
}
