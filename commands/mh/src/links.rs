//! `mh links DIR`: makes links to this program under the names of the tools that it can stand in for.
//! Replaces nothing but its own links, and those only when told to.

use crate::registry::COMMANDS;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use terminal::quote;

/// How messages begin.
const NAME: &str = "mh links";

/// The registry's line.
pub const ENTRY: Entry = Entry::new("links", Group::Learn, Signals::TidyUp, command, run);

/// Make links under the old names: gzip, zstd, sha256sum and others
///
/// Called by such a name the program has that tool's options, environment variables, messages and exit codes, and uses all
/// cores. DIR is created if need be; put it at the front of PATH.
#[derive(Args, Debug)]
struct LinksArgs {
    /// Directory for the links
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,

    /// Make only these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Make hard links instead of symbolic ones
    #[arg(long)]
    hard: bool,

    /// Replace links that were made for another copy of this program
    #[arg(short, long)]
    force: bool,
}

fn command() -> Command {
    LinksArgs::augment_args(Command::new("links")).after_help(
        "Examples:\n  mh links ~/bin                       all names\n  \
         mh links --only gzip,gunzip ~/bin    two of them",
    )
}

/// What stands where a link is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    /// The very link that is to be made.
    Same,
    /// A link to another copy of this program, or to one that is gone, or of the other kind.
    Ours,
    Foreign,
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = LinksArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let names = names(&args.only)?;
    let program = std::env::current_exe().map_err(|error| failure("find its own file", &error))?;
    make_directory(&args.directory)?;
    let mut failed = false;
    for name in names {
        let path = args.directory.join(name);
        match make(&program, &path, &args) {
            Ok(There::Same) => {}
            Ok(There::Nothing) => print(&format!("{}\n", terminal::printable(&path.to_string_lossy())))?,
            Ok(There::Ours) => {
                failed = true;
                let hint = ["-f replaces it".to_owned()];
                context.messages.error(NAME, &format!("make {}: it is a link to another mh", quote(&path)), &hint);
            }
            Ok(There::Foreign) => {
                failed = true;
                let cause = "something else has that name; it is never replaced";
                context.messages.error(NAME, &format!("make {}: {cause}", quote(&path)), &[]);
            }
            // The cause is the directory or the program, and the same for every other name.
            Err(error) => return Err(failure(&format!("make {}", quote(&path)), &error)),
        }
    }
    Ok(if failed { Outcome::Partial } else { Outcome::Done })
}

/// A file in its place is no reason to say that it exists.
fn make_directory(directory: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(directory);
    made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let message = format!("make links in {}: it is not a directory", quote(directory));
            Failure::Environment { command: NAME, message }
        }
        _ => failure(&format!("create {}", quote(directory)), &error),
    })
}

fn failure(what: &str, error: &io::Error) -> Failure {
    Failure::Environment { command: NAME, message: format!("{what}: {}", mh_kit::failure::with_causes(error)) }
}

/// All names that there are, or those that were asked for.
fn names(only: &[String]) -> Result<Vec<&'static str>, Failure> {
    let own_name = |entry: &'static Entry| entry.link.is_offered.then_some(entry.name);
    let of_entry = |entry: &'static Entry| entry.old_names.names.iter().copied().chain(own_name(entry));
    let all: Vec<&'static str> = COMMANDS.iter().flat_map(of_entry).collect();
    if only.is_empty() {
        return Ok(all);
    }
    let find = |wanted: &String| {
        let known = all.iter().copied().find(|name| name == wanted);
        known.ok_or_else(|| Failure::Usage {
            command: NAME,
            message: format!("there is no name {}; there are {}", quote(wanted), all.join(", ")),
        })
    };
    only.iter().map(find).collect()
}

/// Makes one link; tells what stood there before, which stays unless it is nothing or may be replaced.
fn make(program: &Path, path: &Path, args: &LinksArgs) -> io::Result<There> {
    let there = look(program, path, args.hard)?;
    let replaces = there == There::Ours && args.force;
    if there != There::Nothing && !replaces {
        return Ok(there);
    }
    let link = |path: &Path| if args.hard { fs::hard_link(program, path) } else { symlink(program, path) };
    if replaces {
        // Never a moment without the name.
        let fresh = path.with_file_name(format!(".mh-{}.tmp", std::process::id()));
        link(&fresh)?;
        if let Err(error) = fs::rename(&fresh, path) {
            let _the_error_is_told = fs::remove_file(&fresh);
            return Err(error);
        }
    } else {
        link(path)?;
    }
    Ok(There::Nothing)
}

fn look(program: &Path, path: &Path, hard: bool) -> io::Result<There> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
        Err(error) => return Err(error),
    };
    let this = fs::metadata(program)?;
    let is_this = |other: &fs::Metadata| (other.dev(), other.ino()) == (this.dev(), this.ino());
    if !found.is_symlink() {
        let same = is_this(&found);
        return Ok(match (same, hard) {
            (true, true) => There::Same,
            (true, false) => There::Ours,
            _ => There::Foreign,
        });
    }
    let leads_here = fs::metadata(path).is_ok_and(|behind| is_this(&behind));
    let named_like_us = fs::read_link(path)?.file_name() == Some(OsStr::new("mh"));
    Ok(match (leads_here, hard) {
        (true, false) => There::Same,
        (true, true) => There::Ours,
        _ if named_like_us => There::Ours,
        _ => There::Foreign,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(directory: &Path, hard: bool, force: bool) -> LinksArgs {
        LinksArgs { directory: directory.to_owned(), only: Vec::new(), hard, force }
    }

    #[test]
    fn only_its_own_links_are_replaced_and_only_when_told_to() {
        let directory = tempfile::tempdir().expect("a directory");
        let (program, other) = (directory.path().join("mh"), directory.path().join("other"));
        fs::write(&program, "x").expect("a file");
        fs::write(&other, "y").expect("a file");
        let path = directory.path().join("gzip");
        let made =
            |force, hard| make(&program, &path, &args(directory.path(), hard, force)).expect("it can be looked at");
        assert_eq!(made(false, false), There::Nothing);
        assert_eq!(fs::read(&path).expect("it leads there"), b"x");
        assert_eq!(made(false, false), There::Same);
        assert_eq!(made(false, true), There::Ours);
        assert_eq!(made(true, true), There::Nothing);
        assert_eq!(made(false, true), There::Same);
        fs::remove_file(&path).expect("ours");
        symlink("/nowhere/mh", &path).expect("a link");
        assert_eq!(made(false, false), There::Ours);
        assert_eq!(made(true, false), There::Nothing);
        fs::remove_file(&path).expect("ours");
        symlink(&other, &path).expect("a link");
        assert_eq!(made(true, false), There::Foreign);
        assert_eq!(fs::read(&path).expect("it stays"), b"y");
    }

    #[test]
    fn a_missing_directory_is_made_and_a_file_is_none() {
        let place = tempfile::tempdir().expect("a directory");
        make_directory(&place.path().join("a/b")).expect("made");
        assert!(place.path().join("a/b").is_dir());
        let file = place.path().join("file");
        fs::write(&file, "x").expect("a file");
        let message = match make_directory(&file) {
            Err(Failure::Environment { message, .. }) => message,
            other => panic!("{other:?}"),
        };
        assert!(message.ends_with("file': it is not a directory"), "{message}");
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(names(&["gzip".to_owned()]).expect("known"), ["gzip"]);
        assert!(names(&["rm".to_owned()]).is_err());
        assert!(names(&[]).expect("all").contains(&"tamp"));
    }
}
