//! One command as the table knows it: its options, how it runs, and the old names and habits that it answers to.
//! A family makes its entries; it never sees the table.

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use clap::{ArgMatches, Command};
use std::ffi::OsString;

/// One command.
pub struct Entry {
    /// Its name, also as a link to the binary.
    pub name: &'static str,
    /// Where it stands in the overview.
    pub group: Group,
    /// Who takes the signals that end a program.
    pub signals: Signals,
    /// Its options.
    pub command: fn() -> Command,
    /// Runs it.
    pub run: fn(&mut Context, &ArgMatches) -> Result<Outcome, Failure>,
    /// Refuses what only the typed words show, before they are rewritten.
    pub refuse: fn(&[OsString]) -> Option<Refusal>,
    /// Rewrites typed words into what clap can read: digits as levels, say.
    pub rewrite: fn(Vec<OsString>) -> Vec<OsString>,
    /// How a link of its own name behaves.
    pub link: LinkProfile,
    /// Old names with a command line of their own.
    pub old_names: OldNames,
}

/// A command line that is refused, as the old tool reports it.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The message, after the program's name.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

/// How a link of a command's own name behaves.
pub struct LinkProfile {
    /// The exit code for a command line that clap refuses.
    pub usage_code: fn(&clap::Error) -> u8,
    /// The old tool's message for such a one, if it is no sentence of getopt's; none: ours.
    pub usage_words: fn(&clap::Error) -> Option<&'static str>,
    /// Whether -h and -V ask for help and the version: an old tool may have other uses for them.
    pub has_short_help: bool,
    /// The text behind its name in the line of `--version`; empty: our version.
    pub version: &'static str,
    /// The first line of the old tool's help, if it has `--usage`, too; empty: it has not.
    pub usage: &'static str,
    /// Whether `mh links` makes such a link.
    pub is_offered: bool,
    /// Whether the old tool takes long options cut short: then its own come before those that only we have.
    pub abbreviates: bool,
}

/// Old names with a command line of their own.
pub struct OldNames {
    /// The names.
    pub names: &'static [&'static str],
    /// Runs under one of them.
    pub run: fn(&'static str, Vec<OsString>) -> Result<Outcome, Failure>,
}

/// Who takes the signals that end a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// A thread that removes unfinished files and lets the signal have its way.
    TidyUp,
    /// Such a thread, once there is something to tidy up: the command starts it.
    TidyUpLater,
    /// The command.
    Own,
}

/// The parts of the overview, and what it does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Utilities on all cores.
    Do,
    /// Ruling over runs that are under way.
    Manage,
    /// Instruments: what the cores are doing.
    See,
    /// Learning about the program itself.
    Learn,
    /// For the project's own tools.
    Hidden,
}

impl Entry {
    /// A command without old habits. Others name what differs: `Entry { rewrite, ..Entry::new(...) }`.
    pub const fn new(
        name: &'static str,
        group: Group,
        signals: Signals,
        command: fn() -> Command,
        run: fn(&mut Context, &ArgMatches) -> Result<Outcome, Failure>,
    ) -> Self {
        Self {
            name,
            group,
            signals,
            command,
            run,
            refuse: |_words| None,
            rewrite: |words| words,
            link: LinkProfile::NEW,
            old_names: OldNames::NONE,
        }
    }
}

impl LinkProfile {
    /// Of a command that replaces no old tool.
    pub const NEW: Self = Self {
        usage_code: |_error| 2,
        usage_words: |_error| None,
        has_short_help: true,
        version: "",
        usage: "",
        is_offered: false,
        abbreviates: false,
    };
}

impl OldNames {
    /// There are none.
    pub const NONE: Self = Self { names: &[], run: |_name, _words| Ok(Outcome::Done) };
}
