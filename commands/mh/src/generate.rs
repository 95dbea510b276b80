//! `mh generate DIR` (hidden): writes man pages and shell completions from the table of commands. `cargo xtask generate`
//! calls it; packagers may too.

use crate::registry;
use clap::{Arg, ArgMatches, Command, ValueHint};
use clap_complete::{Shell, generate_to};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// The registry's line.
pub const ENTRY: Entry = Entry::new("generate", Group::Hidden, Signals::TidyUp, command, run);

fn command() -> Command {
    let directory = Arg::new("directory")
        .value_name("DIR")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath);
    Command::new("generate").about("Write man pages and completions into DIR").arg(directory)
}

fn run(_context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let directory: &PathBuf = matches.get_one("directory").expect("it is required");
    write_all(directory).map_err(|error| Failure::Environment {
        command: "mh generate",
        message: format!("write into {}: {error}", terminal::quote(directory)),
    })?;
    Ok(Outcome::Done)
}

fn write_all(directory: &Path) -> std::io::Result<()> {
    let (man, completions) = (directory.join("man"), directory.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(described(registry::program()), &man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut completed(), "mh", &completions)?;
    }
    Ok(())
}

/// The program as its pages describe it: all that `--help` says of an option, its other names too, which `clap_mangen` leaves out.
fn described(command: Command) -> Command {
    command.mut_subcommands(described).mut_args(|argument| {
        let text = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
        let names = other_names(&argument);
        let text = if names.is_empty() { text } else { format!("{text} [also: {}]", names.join(", ")) };
        match argument.is_hide_short_help_set() || argument.get_long_help().is_some() {
            // Of what -h leaves out, pages have the long text alone.
            true => argument.long_help(text),
            false => argument.help(text),
        }
    })
}

fn other_names(argument: &Arg) -> Vec<String> {
    let letters =
        argument.get_visible_short_aliases().unwrap_or_default().into_iter().map(|letter| format!("-{letter}"));
    let words = argument.get_visible_aliases().unwrap_or_default().into_iter().map(|name| format!("--{name}"));
    letters.chain(words).collect()
}

/// The program as far as completions see it: bash's would offer hidden options too.
fn completed() -> Command {
    let shown = registry::COMMANDS.iter().filter(|entry| entry.group != Group::Hidden);
    let commands = shown.map(|entry| {
        let whole = (entry.command)();
        let arguments = whole.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
        let command = Command::new(entry.name)
            .about(whole.get_about().cloned().unwrap_or_default())
            .disable_version_flag(whole.is_disable_version_flag_set())
            .disable_help_flag(whole.is_disable_help_flag_set())
            .args(arguments)
            .subcommands(whole.get_subcommands().cloned());
        if whole.get_version().is_some() { command.version(env!("CARGO_PKG_VERSION")) } else { command }
    });
    Command::new("mh").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true).subcommands(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_say_all_that_help_says() {
        let described = described(registry::program());
        let xjobs = described.find_subcommand("xjobs").expect("it is there");
        let text = |letter: char| {
            let option = xjobs.get_arguments().find(|option| option.get_short() == Some(letter)).expect("it is there");
            option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default()
        };
        assert_eq!(text('u'), "Jobs write directly, mixed as it comes [also: -d]");
        assert!(text('s').ends_with("[also: -a, --arg-file]"), "{}", text('s'));
        for option in xjobs.get_arguments().filter(|option| option.is_hide_short_help_set()) {
            assert!(option.get_long_help().is_some_and(|text| !text.to_string().is_empty()), "{option}");
        }
    }
}
