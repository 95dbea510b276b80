//! The table of commands, and how one is found and run. A new command is a file in a family's crate and a line in `COMMANDS`; help, man pages
//! and completions come from the same table.

use crate::{generate, links, tour};
use clap::{Arg, ArgAction, Command};
use mh_archives::TAR;
use mh_instruments::{CEILING, FIT, PSTIME, SYSTIME};
#[cfg(feature = "mtwrite")]
use mh_jobs::MTWRITE;
use mh_jobs::{CREW, XJOBS};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use mh_lab::TIMERS;
use mh_streams::TAMP;
use mh_trees::{CP, MV, RM};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// All commands, in the order of the overview.
pub const COMMANDS: &[Entry] = &[
    TAMP,
    TAR,
    XJOBS,
    CP,
    MV,
    RM,
    #[cfg(feature = "mtwrite")]
    MTWRITE,
    PSTIME,
    CEILING,
    SYSTIME,
    FIT,
    TIMERS,
    CREW,
    tour::ENTRY,
    links::ENTRY,
    generate::ENTRY,
];

/// Finds and runs the command that `arguments` (program name first) ask for.
pub fn dispatch(mut arguments: Vec<OsString>) -> Result<Outcome, Failure> {
    let called_as = arguments.first().and_then(|name| Path::new(name).file_name()).map(OsStr::to_owned);
    if let Some((name, run)) = called_as.as_deref().and_then(find_old) {
        return run(name, arguments.split_off(1));
    }
    let linked = called_as.as_deref().and_then(find);
    match linked {
        Some(entry) => run(entry, entry.name.to_owned(), true, arguments.split_off(1)),
        None => match arguments.get(1).and_then(|name| find(name)) {
            Some(entry) => run(entry, format!("mh {}", entry.name), false, arguments.split_off(2)),
            None => overview(arguments),
        },
    }
}

/// Runs a command that is known by `program` to its user.
fn run(entry: &Entry, program: String, is_linked: bool, words: Vec<OsString>) -> Result<Outcome, Failure> {
    if let Some(refusal) = (entry.refuse)(&words) {
        return Err(refused(&program, &refusal.message, refusal.code));
    }
    let mut typed = vec![OsString::from(format!("mh {}", entry.name))];
    typed.extend((entry.rewrite)(words));
    let mut command = (entry.command)().bin_name(format!("mh {}", entry.name));
    if is_linked && !entry.link.has_short_help {
        let [help, version] =
            ["help", "version"].map(|name| Arg::new(name).long(name).help(format!("Print {name}")).help_heading(None));
        command = command.disable_help_flag(true).disable_version_flag(true);
        command = command.args([help.action(ArgAction::HelpLong), version.action(ArgAction::Version)]);
    }
    let matches = command.try_get_matches_from(typed).map_err(|error| match is_linked {
        true => in_words_of(entry, error),
        false => Failure::CommandLine(error),
    })?;
    let mut context = match entry.signals {
        Signals::TidyUp => Context::new()?,
        Signals::TidyUpLater => Context::with_later_signals()?,
        Signals::Own => Context::with_own_signals()?,
    };
    context.program = program;
    (entry.run)(&mut context, &matches)
}

/// COMPAT: under an old name a wrong command line is reported as the old program reports it, with its exit code.
fn in_words_of(entry: &Entry, error: clap::Error) -> Failure {
    if !error.use_stderr() {
        return Failure::CommandLine(error);
    }
    let text = error.render().to_string();
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines: Vec<&str> = text.lines().filter(is_said).collect();
    let said = lines.join("\n");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    refused(entry.name, said, (entry.link.usage_code)(&error))
}

fn refused(program: &str, message: &str, code: u8) -> Failure {
    Failure::InWordsOfOthers {
        text: format!("{program}: {message}\nTry '{program} --help' for more information."),
        code,
    }
}

type RunOld = fn(&'static str, Vec<OsString>) -> Result<Outcome, Failure>;

fn find_old(called_as: &OsStr) -> Option<(&'static str, RunOld)> {
    COMMANDS.iter().map(|entry| &entry.old_names).find_map(|old| {
        let name = old.names.iter().find(|name| called_as == **name)?;
        Some((*name, old.run))
    })
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
