//! The table of commands. A new command is a file beside this one and a line in `COMMANDS`; help, man pages and
//! completions come from the same table.

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::report::print;
use crate::{
    ceiling, cp, crew, fit, generate, links, mtwrite, mv, pstime, rm, systime, tamp, tar, timers, tour, xjobs,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// One command.
pub struct Entry {
    /// Its name, also as a link to the binary.
    pub name: &'static str,
    /// Where it stands in the overview.
    pub group: Group,
    /// Its options.
    pub command: fn() -> Command,
    /// Turns what was typed into what clap can read: digits as levels, say.
    pub rewrite: fn(Vec<OsString>) -> Vec<OsString>,
    /// Runs it.
    pub run: fn(&mut Context, &ArgMatches) -> Result<Outcome, Failure>,
    /// Who takes the signals that end a program.
    pub signals: Signals,
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

/// All commands, in the order of the overview.
pub const COMMANDS: &[Entry] = &[
    tamp::ENTRY,
    tar::ENTRY,
    xjobs::ENTRY,
    cp::ENTRY,
    mv::ENTRY,
    rm::ENTRY,
    mtwrite::ENTRY,
    pstime::ENTRY,
    ceiling::ENTRY,
    systime::ENTRY,
    fit::ENTRY,
    timers::ENTRY,
    crew::ENTRY,
    tour::ENTRY,
    links::ENTRY,
    generate::ENTRY,
];

/// Finds and runs the command that `arguments` (program name first) ask for.
pub fn dispatch(mut arguments: Vec<OsString>) -> Result<Outcome, Failure> {
    let called_as = arguments.first().and_then(|name| Path::new(name).file_name()).map(OsStr::to_owned);
    if let Some(old) = called_as.as_deref().and_then(tamp::old_names::find) {
        return tamp::old_names::run(old, arguments.split_off(1));
    }
    if called_as.as_deref() == Some(OsStr::new("xjobs")) {
        return xjobs::run_old_name(arguments.split_off(1));
    }
    let linked = called_as.as_deref().and_then(|name| find(name));
    let (entry, program, rest) = match linked {
        Some(entry) => (entry, entry.name.to_owned(), arguments.split_off(1)),
        None => match arguments.get(1).and_then(|name| find(name)) {
            Some(entry) => (entry, format!("mh {}", entry.name), arguments.split_off(2)),
            None => return overview(arguments),
        },
    };
    if entry.name == "tar"
        && let Some(letter) = tar::old_option_without_value(&rest)
    {
        // COMPAT: what GNU tar's parser never sees ends with tar's own code, not with the parser's.
        let said = format!("Old option '{letter}' requires an argument.");
        let text = format!("{program}: {said}\nTry '{program} --help' for more information.");
        return Err(Failure::InWordsOfOthers { text, code: 2 });
    }
    let mut typed = vec![OsString::from(format!("mh {}", entry.name))];
    typed.extend((entry.rewrite)(rest));
    let mut command = (entry.command)().bin_name(format!("mh {}", entry.name));
    if linked.is_some() && matches!(entry.name, "cp" | "mv" | "rm") {
        // COMPAT: no short options ask for help or the version, so none does among others (`rm -rh`).
        let [help, version] =
            ["help", "version"].map(|name| Arg::new(name).long(name).help(format!("Print {name}")).help_heading(None));
        command = command.disable_help_flag(true).disable_version_flag(true);
        command = command.args([help.action(ArgAction::HelpLong), version.action(ArgAction::Version)]);
    }
    let matches = command.try_get_matches_from(typed).map_err(|error| match linked {
        Some(entry) => in_words_of(entry, error),
        None => Failure::CommandLine(error),
    })?;
    let mut context = match entry.signals {
        Signals::TidyUp => Context::new()?,
        Signals::TidyUpLater => Context::with_later_signals()?,
        Signals::Own => Context::with_own_signals()?,
    };
    context.program = program;
    (entry.run)(&mut context, &matches)
}

/// COMPAT: under an old name a wrong command line is told as the old program tells it, with its exit code.
fn in_words_of(entry: &Entry, error: clap::Error) -> Failure {
    if !error.use_stderr() {
        return Failure::CommandLine(error);
    }
    let (text, name) = (error.render().to_string(), entry.name);
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines: Vec<&str> = text.lines().filter(is_said).collect();
    let said = lines.join("\n");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    let code = match name {
        "cp" | "mv" | "rm" => 1,
        "tar" if is_refused_by_argp(&error) => 64,
        _ => 2,
    };
    Failure::InWordsOfOthers { text: format!("{name}: {said}\nTry '{name} --help' for more information."), code }
}

/// COMPAT: what the parser of GNU tar's options refuses: options that there are not, values that are missing or one too many. What else
/// is wrong the program finds itself.
fn is_refused_by_argp(error: &clap::Error) -> bool {
    match error.kind() {
        ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument | ErrorKind::ValueValidation => false,
        ErrorKind::InvalidValue => {
            matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty())
        }
        _ => true,
    }
}

fn find(name: &OsStr) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| name == entry.name)
}

/// `mh` alone shows the overview; an unknown command, `--help` and `--version` get clap's answer.
fn overview(arguments: Vec<OsString>) -> Result<Outcome, Failure> {
    program().try_get_matches_from(arguments).map_err(Failure::CommandLine)?;
    print(&program().render_help().to_string())?;
    Ok(Outcome::Done)
}

/// The program as a whole: for the overview and for what is generated.
pub fn program() -> Command {
    let mut program = Command::new("mh")
        .about("Everyday Unix utilities on every core, sharing the machine sensibly")
        .version(env!("CARGO_PKG_VERSION"))
        .help_template("{name} {version}: {about}\n\nusage: mh COMMAND [OPTIONS]{after-help}\n")
        .after_help(overview_text())
        .disable_help_subcommand(true);
    for entry in COMMANDS {
        let command = (entry.command)().hide(entry.group == Group::Hidden);
        program = program.subcommand(command);
    }
    program
}

fn overview_text() -> String {
    let mut text = String::new();
    for (group, heading) in [(Group::Do, "do"), (Group::See, "see"), (Group::Manage, "manage"), (Group::Learn, "learn")]
    {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{heading}:\n"));
        for entry in COMMANDS.iter().filter(|entry| entry.group == group) {
            let about = (entry.command)().get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:<10} {about}\n", entry.name));
        }
    }
    text.push_str(
        "\nmh COMMAND -h shows its options. Every command that works takes --explain (the plan, nothing done)",
    );
    text.push_str("\nand --report (what bound the run). Start with: mh tour");
    text
}
