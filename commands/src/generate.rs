//! `mh generate DIR` (hidden): writes man pages and shell completions from the table of commands. `cargo xtask generate`
//! calls it; packagers may too.

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::registry::{self, Entry, Group, Signals};
use clap::{Arg, ArgMatches, Command, ValueHint};
use clap_complete::{Shell, generate_to};
use std::path::{Path, PathBuf};

/// The registry's line.
pub const ENTRY: Entry =
    Entry { name: "generate", group: Group::Hidden, command, rewrite: |line| line, run, signals: Signals::TidyUp };

fn command() -> Command {
    let folder = Arg::new("folder")
        .value_name("DIR")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath);
    Command::new("generate").about("Write man pages and completions into DIR").arg(folder)
}

fn run(_context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let folder: &PathBuf = matches.get_one("folder").expect("it is required");
    write_all(folder).map_err(|error| Failure::Environment {
        command: "mh generate",
        message: format!("write into {}: {error}", terminal::quote(folder)),
    })?;
    Ok(Outcome::Done)
}

fn write_all(folder: &Path) -> std::io::Result<()> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(registry::program(), &man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut registry::program(), "mh", &completions)?;
    }
    Ok(())
}
