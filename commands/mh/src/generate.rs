//! `mh generate DIR` (hidden): writes man pages and shell completions from the table of commands. `cargo xtask generate`
//! calls it; packagers may too. What a page has is in `generate/page.rs`.

mod facts;
mod page;

use crate::registry;
use clap::{Arg, ArgMatches, Command, ValueHint};
use clap_complete::{Shell, generate, generate_to};
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
    for (name, text) in pages(release_date())? {
        std::fs::write(man.join(name), text)?;
    }
    for shell in [Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut completed(), "mh", &completions)?;
    }
    std::fs::write(completions.join("mh.bash"), bash_completion())
}

/// The completion by clap, wrapped. For values without a list it offers files itself, but splits their names at blanks and ends
/// a directory with a space; bash's own completion, which runs if nothing is offered, does neither.
fn bash_completion() -> String {
    let mut generated = Vec::new();
    generate(Shell::Bash, &mut completed(), "mh", &mut generated);
    let generated = String::from_utf8_lossy(&generated);
    generated.replace(r#"COMPREPLY=($(compgen -f "${cur}"))"#, "COMPREPLY=()") + include_str!("generate/mh.bash")
}

/// All manual pages: their files' names and texts.
fn pages(date: &str) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = vec![("mh-settings.5".to_owned(), settings_page(date).into_bytes())];
    let mut waiting = vec![(built(), String::new())];
    while let Some((command, above)) = waiting.pop() {
        let examples = page::help_behind_options(&command);
        let below = command.get_subcommands().filter(|below| !below.is_hide_set()).cloned();
        waiting.extend(below.map(|below| (below, examples.clone())));
        pages.push(page::page(&command, &above, date)?);
    }
    Ok(pages)
}

/// The program with all names that clap gives its parts.
fn built() -> Command {
    let mut program = described(registry::program()).disable_help_subcommand(true);
    program.build();
    program
}

fn settings_page(date: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    include_str!("generate/mh-settings.5").replace("@DATE@", date).replace("@VERSION@", version)
}

/// The date that the changelog gives this version; empty as long as there is none.
fn release_date() -> &'static str {
    date_of(include_str!("../../../CHANGELOG.md"), env!("CARGO_PKG_VERSION"))
}

fn date_of<'a>(changelog: &'a str, version: &str) -> &'a str {
    let heading = format!("## {version} - ");
    changelog.lines().find_map(|line| line.strip_prefix(&heading)).map(str::trim).unwrap_or_default()
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
        let arguments: Vec<_> = whole.get_arguments().filter(|argument| !argument.is_hide_set()).cloned().collect();
        let is_shown = |member: &clap::Id| arguments.iter().any(|argument| argument.get_id() == member);
        let groups: Vec<_> = whole.get_groups().filter(|group| group.get_args().all(is_shown)).cloned().collect();
        let command = Command::new(entry.name)
            .about(whole.get_about().cloned().unwrap_or_default())
            .disable_version_flag(whole.is_disable_version_flag_set())
            .disable_help_flag(whole.is_disable_help_flag_set())
            .args(arguments)
            .groups(groups)
            .subcommands(whole.get_subcommands().cloned());
        if whole.get_version().is_some() { command.version(env!("CARGO_PKG_VERSION")) } else { command }
    });
    Command::new("mh").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true).subcommands(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_the_date_of_its_release() {
        let changelog = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2027-01-02\n- a\n";
        assert_eq!(date_of(changelog, "0.2.0"), "2027-01-02");
        assert_eq!(date_of(changelog, "0.3.0"), "");
    }

    #[test]
    fn the_settings_page_names_every_key() {
        let page = settings_page("2027-01-02");
        for key in ["priority", "weight", "reserved_cores", "gives_way", "2027-01-02"] {
            assert!(page.contains(key), "{key}");
        }
        assert!(!page.contains('@'), "{page}");
    }

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
