//! What `mh pstime` will do: every choice of the command line, resolved. Looks at nothing.

use super::columns::Column;
use super::{NAME, PstimeArgs};
use crate::feed::RecordingArgs;
use crate::shares::BaseArg;
use clap::ValueEnum;
use mh_kit::failure::Failure;
use mh_kit::instrument::Format;
use mh_kit::instrument::grammar::Targets;
use mh_kit::instrument::look::TextLook;
use observe::model::Idlers;
use observe::row::{RowGrouping, RowOrder};
use observe::sampler::{Depth, ProcessSelection, SampleContent, Sleepers, Texts};
use std::ffi::OsString;

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
    /// How long to measure, and whom.
    pub targets: Targets,
    /// Intervals; 0 for no end. None where neither they nor their length were given.
    count: Option<u64>,
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
    /// How text looks.
    pub look: TextLook,
    /// Where samples are written to, or come from.
    pub recording: RecordingArgs,
}

impl Plan {
    /// Resolves the command line.
    pub fn new(args: PstimeArgs) -> Result<Self, Failure> {
        let usage = |message: &str| Failure::Usage { command: NAME, message: message.to_owned() };
        // A recording has its own intervals, and a program takes what time it takes.
        let has_interval = args.recording.replay.is_none() && args.program.is_empty();
        let mut targets = args.targets.read(NAME, has_interval)?;
        targets.names.extend(args.names);
        let grouping = match (args.by, args.threads || args.microstates) {
            (Some(ByArg::User), _) => RowGrouping::User,
            (Some(ByArg::Cgroup), _) => RowGrouping::Group,
            (Some(ByArg::Unit), _) => RowGrouping::Unit,
            (Some(ByArg::Name), _) => RowGrouping::Name,
            (None, true) => RowGrouping::Thread,
            (None, false) => RowGrouping::Process,
        };
        if args.children && targets.is_everybody() && args.program.is_empty() {
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
            count: args.targets.count.or(targets.interval.map(|_| 1)),
            targets,
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
            look: args.format.look(),
            recording: args.recording,
        })
    }

    /// What samples must hold.
    pub fn wanted(&self) -> SampleContent {
        let Targets { pids, names, .. } = &self.targets;
        let only_numbers = names.is_empty() && !pids.is_empty() && !self.children;
        let by_text = self.children || self.all || self.is_selective();
        let by_thread = self.grouping == RowGrouping::Thread
            || self.order == RowOrder::Wait
            || self.columns.iter().any(|column| column.needs_threads());
        SampleContent {
            who: if only_numbers { ProcessSelection::These(pids.clone()) } else { ProcessSelection::Everybody },
            texts: if by_text { Texts::OfAll } else { Texts::OfBusy },
            depth: if by_thread { Depth::Threads } else { Depth::Processes },
            sleepers: Sleepers::Asked,
        }
    }

    /// Where neither intervals nor their length were given: goes on where it `has_a_screen` for text, else one interval.
    pub fn settle_count(&mut self, has_a_screen: bool) {
        let goes_on = has_a_screen && self.format == Format::Text && self.recording.record.is_none();
        self.count = self.count.or(Some(if goes_on { 0 } else { 1 }));
    }

    /// Whether it is text for people that goes on until they have had enough.
    pub fn is_endless(&self) -> bool {
        self.count == Some(0) && self.recording.replay.is_none() && self.format == Format::Text
    }

    /// Whether so many intervals are all.
    pub fn ends_after(&self, intervals: u64) -> bool {
        self.count.is_none_or(|count| count > 0 && intervals >= count)
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
        !self.targets.is_everybody()
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn planned(typed: &[&str]) -> Plan {
        let command = PstimeArgs::augment_args(Command::new("pstime"));
        let matches = command.get_matches_from(["pstime"].iter().chain(typed));
        Plan::new(PstimeArgs::from_arg_matches(&matches).expect("good options")).expect("a plan")
    }

    #[test]
    fn without_words_it_goes_on_where_there_is_a_screen_for_text() {
        for (typed, has_a_screen, is_endless) in [
            (&[][..], true, true),
            (&[], false, false),
            (&["mysqld"], true, true),
            (&["--json"], true, false),
            (&["--record", "rec"], true, false),
            (&["1"], true, false),
            (&["-n", "0", "1"], true, true),
            (&["-n", "3"], true, false),
        ] {
            let mut plan = planned(typed);
            plan.settle_count(has_a_screen);
            assert_eq!(plan.is_endless(), is_endless, "{typed:?}");
        }
        let mut once = planned(&["1"]);
        once.settle_count(true);
        assert!(once.ends_after(1) && !planned(&["-n", "0"]).ends_after(9) && !planned(&["-n", "2"]).ends_after(1));
    }

    #[test]
    fn a_pid_is_a_number_behind_the_interval_or_an_option() {
        let plan = planned(&["10", "7141", "-C", "7", "-p", "9"]);
        assert_eq!((plan.targets.pids, plan.targets.names), (vec![7141, 9], vec!["7".to_owned()]));
        assert!(!planned(&["-p", "4711"]).wanted().who.eq(&ProcessSelection::Everybody));
    }
}
