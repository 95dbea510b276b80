//! The table of commands, and how one is found and run. A new command is a file in a family's crate and a line in `COMMANDS`; help, man pages
//! and completions come from the same table.

use crate::{generate, links, tour};
use clap::{Arg, ArgAction, Command};
use mh_archives::TAR;
use mh_databases::{DB, INNODB};
use mh_digests::SUM;
use mh_instruments::{CEILING, FIT, PSTIME, SYSSTAT, SYSTIME};
#[cfg(feature = "mtwrite")]
use mh_jobs::MTWRITE;
use mh_jobs::{CREW, NUMA, VMTASKS, XJOBS};
use mh_kit::command_line::{self, RefusedLine};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::getopt;
use mh_kit::report::print;
use mh_lab::{LOCKS, TIMERS};
use mh_load::{BAKEOFF, LOAD};
use mh_streams::TAMP;
use mh_trees::{CP, MV, RM};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use terminal::quote;

/// All commands, in the order of the overview.
pub const COMMANDS: &[Entry] = &[
    TAMP,
    TAR,
    XJOBS,
    CP,
    MV,
    RM,
    SUM,
    #[cfg(feature = "mtwrite")]
    MTWRITE,
    VMTASKS,
    NUMA,
    INNODB,
    DB,
    SYSSTAT,
    PSTIME,
    CEILING,
    SYSTIME,
    FIT,
    LOCKS,
    TIMERS,
    LOAD,
    BAKEOFF,
    CREW,
    tour::ENTRY,
    links::ENTRY,
    generate::ENTRY,
];

/// What `--version` prints behind the name: the build script knows the commit.
const VERSION: &str = env!("MH_VERSION");

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
            None => without_command(&arguments[1..]),
        },
    }
}

/// Runs a command that is known by `program` to its user.
fn run(entry: &Entry, program: String, is_linked: bool, words: Vec<OsString>) -> Result<Outcome, Failure> {
    if let Some(refusal) = (entry.refuse)(&words) {
        return Err(match is_linked {
            true => refused(entry, &program, &refusal.message, refusal.code),
            false => not_understood(&program, refusal.message, &command_line::shows_options(&program)),
        });
    }
    let mut command = named(entry, &program);
    if is_linked && !entry.link.version.is_empty() {
        command = command.version(entry.link.version);
    }
    if is_linked && !entry.link.usage.is_empty() {
        command = command.before_help(entry.link.usage);
    }
    // A letter that an old tool has another use for asks for help where nothing else is asked for.
    if !is_linked && words == ["-h"] {
        print(&command.render_help().to_string())?;
        return Ok(Outcome::Done);
    }
    if is_linked && !entry.link.has_short_help {
        let [help, version] =
            ["help", "version"].map(|name| Arg::new(name).long(name).help(format!("Print {name}")).help_heading(None));
        command = command.disable_help_flag(true).disable_version_flag(true);
        command = command.args([help.action(ArgAction::HelpLong), version.action(ArgAction::Version)]);
    }
    let mut words = (entry.rewrite)(words);
    if entry.link.abbreviates {
        command_line::complete(&command, &mut words);
    }
    let typed = [OsString::from(format!("mh {}", entry.name))].into_iter().chain(words.iter().cloned());
    let matches = command.try_get_matches_from_mut(typed).map_err(|error| match () {
        () if !error.use_stderr() => Failure::CommandLine(error),
        () if is_linked => in_words_of(entry, &command, &words, &error),
        () => Failure::refused(&command, &program, &words, &error),
    })?;
    if !is_linked && let Some(refused) = command_line::report_apart(&command, &words) {
        return Err(Failure::Refused { program, refused });
    }
    let mut context = match entry.signals {
        Signals::TidyUp => Context::new()?,
        Signals::TidyUpLater => Context::with_later_signals()?,
        Signals::Own => Context::with_own_signals()?,
    };
    (context.program, context.words) = (program, words);
    (entry.run)(&mut context, &matches)
}

/// A command's options, under the name that its user knows.
fn named(entry: &Entry, program: &str) -> Command {
    (entry.command)().bin_name(format!("mh {}", entry.name)).display_name(program).version(VERSION)
}

/// COMPAT: under an old name a wrong command line is reported as the old program reports it, with its exit code.
fn in_words_of(entry: &Entry, command: &Command, words: &[OsString], error: &clap::Error) -> Failure {
    // Hints are for those who call us by our own names.
    let RefusedLine { message, .. } = command_line::refused(command, entry.name, words, error);
    let theirs = (entry.link.usage_words)(error).map(str::to_owned);
    let message = theirs.or_else(|| getopt::sentence(words, error)).unwrap_or(message);
    refused(entry, entry.name, &message, (entry.link.usage_code)(error))
}

fn refused(entry: &Entry, program: &str, message: &str, code: u8) -> Failure {
    let or_usage = if entry.link.usage.is_empty() { String::new() } else { format!(" or '{program} --usage'") };
    Failure::InWordsOfOthers {
        text: format!("{program}: {message}\nTry '{program} --help'{or_usage} for more information."),
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

/// Requests to `mh` itself: the overview, help for a command, the version. Anything else is an unknown command.
fn without_command(words: &[OsString]) -> Result<Outcome, Failure> {
    let asked: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    match asked.first().map(AsRef::as_ref) {
        Some("help") if words.len() > 1 && words[1] != "help" => help_for(&words[1]),
        None | Some("help" | "-h" | "--help") => {
            print(&program().render_help().to_string())?;
            Ok(Outcome::Done)
        }
        Some("-V" | "--version") => {
            print(&format!("mh {VERSION}\n"))?;
            Ok(Outcome::Done)
        }
        Some(option) if option.starts_with('-') => {
            Err(not_understood("mh", format!("unexpected argument {}", quote(&words[0])), "mh -h shows the commands"))
        }
        Some(_) => Err(no_command(&words[0])),
    }
}

/// `mh help COMMAND`, as `mh COMMAND --help`; for an old name, that name's help.
fn help_for(name: &OsStr) -> Result<Outcome, Failure> {
    let words = vec![OsString::from("--help")];
    match (find(name), find_old(name)) {
        (Some(entry), _) => run(entry, format!("mh {}", entry.name), false, words),
        (None, Some((name, run))) => run(name, words),
        (None, None) => Err(no_command(name)),
    }
}

fn no_command(typed: &OsStr) -> Failure {
    let shown = COMMANDS.iter().filter(|entry| entry.group != Group::Hidden).map(|entry| entry.name);
    let hint = match (find_old(typed), command_line::nearest(&typed.to_string_lossy().to_lowercase(), shown)) {
        (Some((name, _)), _) => {
            format!("{name} is an old name: mh links DIR makes the links, mh help {name} shows its options")
        }
        (None, Some(name)) => format!("mh {name} is a command"),
        (None, None) => "mh help shows the commands".to_owned(),
    };
    not_understood("mh", format!("there is no command {}", quote(typed)), &hint)
}

fn not_understood(program: &str, message: String, hint: &str) -> Failure {
    Failure::Refused { program: program.to_owned(), refused: RefusedLine { message, hints: vec![hint.to_owned()] } }
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
        "\nmh help COMMAND shows its options, --explain its plan (and nothing is done),\n\
         --report what limited the run. Start with: mh tour",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(typed: &str) -> (String, String) {
        let words: Vec<OsString> = ["mh"].into_iter().chain(typed.split(' ')).map(OsString::from).collect();
        match dispatch(words) {
            Err(Failure::Refused { program, refused: RefusedLine { message, hints } }) => {
                (format!("{program}: {message}"), hints.join(" / "))
            }
            other => panic!("{typed}: {other:?}"),
        }
    }

    #[test]
    fn what_is_no_command_names_the_nearest() {
        assert_eq!(refused("tmap"), ("mh: there is no command 'tmap'".into(), "mh tamp is a command".into()));
        assert_eq!(refused("TAMP").1, "mh tamp is a command");
        assert_eq!(refused("nonsense").1, "mh help shows the commands");
        assert!(refused("gzip a").1.contains("mh links DIR"));
        assert_eq!(refused("--nonsense").0, "mh: unexpected argument '--nonsense'");
        assert_eq!(refused("help nonsense").0, "mh: there is no command 'nonsense'");
    }

    #[test]
    fn a_wrong_option_names_the_right_one() {
        let (message, hint) = refused("tamp --compression-level 3 a");
        assert_eq!(message, "mh tamp: unexpected argument '--compression-level'");
        assert!(hint.starts_with("--level N: Level, as -0 to -19"), "{hint}");
        assert!(refused("xjobs --threads 3 a").1.starts_with("-j, --jobs N: "));
        assert!(refused("tamp --threads x a").0.starts_with("mh tamp: invalid value 'x' for --hands"));
        assert_eq!(
            refused("tar").0,
            "mh tar: one of -c, -x, -t, -r, -u, -d, -A, --delete, --test-label, --show-defaults is needed"
        );
        assert_eq!(refused("crew run --nonsense").1, "mh crew run -h shows the options");
    }

    #[test]
    fn no_line_of_the_overview_is_wider_than_a_terminal() {
        let too_wide: Vec<_> =
            overview_text().lines().filter(|line| line.chars().count() > 79).map(str::to_owned).collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
    }

    #[test]
    fn every_command_has_both_helps() {
        for entry in COMMANDS {
            let mut command = named(entry, entry.name);
            assert!(
                !command.render_help().to_string().is_empty() && !command.render_long_help().to_string().is_empty()
            );
            let has_version = command.get_version().is_some();
            assert!(
                !has_version || command.render_version().starts_with(&format!("{} 0.", entry.name)),
                "{}",
                entry.name
            );
        }
    }
}
