//! `cargo xtask generate`: man pages and completions, written by the program itself from its table of commands.
//! Knows none of them; `mh generate` does.

use clap::Args;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use xtask::workspace::{self, root};

/// What to do with them.
#[derive(Args)]
pub struct GenerateArguments {
    /// Only say whether docs/generated is up to date
    #[arg(long)]
    check: bool,
}

const DIRECTORY: &str = "docs/generated";

/// Writes docs/generated, or compares it.
pub fn run(arguments: &GenerateArguments) -> Result<(), String> {
    workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    let program = workspace::release_binary()?;
    let program = program.to_str().ok_or("the target directory's name is not text")?;
    let fresh = tempfile::tempdir().map_err(|error| format!("could not make a directory: {error}"))?;
    let fresh_name = fresh.path().to_str().ok_or("the temporary directory's name is not text")?;
    workspace::run(program, &["generate", fresh_name])?;
    let kept = root().join(DIRECTORY);
    if arguments.check {
        let is_same = is_same(fresh.path(), &kept)?;
        return if is_same { Ok(()) } else { Err(format!("{DIRECTORY} is old: run cargo xtask generate")) };
    }
    replace(fresh.path(), &kept)
}

/// The whole directory is ours: a page that is no longer written must not stay.
fn replace(fresh: &Path, kept: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(kept) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("could not replace {}: {error}", kept.display()));
        }
        _ => {}
    }
    let status = Command::new("cp").arg("-r").arg(fresh).arg(kept).status();
    let status = status.map_err(|error| format!("could not run cp: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("could not write {}: cp ended with {status}", kept.display())) }
}

fn is_same(fresh: &Path, kept: &Path) -> Result<bool, String> {
    let status = Command::new("diff").arg("-r").arg(fresh).arg(kept).status();
    Ok(status.map_err(|error| format!("could not run diff: {error}"))?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_makes_the_same_and_leaves_nothing_old() {
        let directory = tempfile::tempdir().expect("a directory");
        let (fresh, kept) = (directory.path().join("fresh"), directory.path().join("kept"));
        std::fs::create_dir_all(fresh.join("man")).expect("a directory");
        std::fs::write(fresh.join("man/mh.1"), "new").expect("a file");
        assert_eq!(is_same(&fresh, &kept), Ok(false), "there is none yet");
        replace(&fresh, &kept).expect("it can be written");
        std::fs::write(kept.join("old.1"), "old").expect("a file");
        assert_eq!(is_same(&fresh, &kept), Ok(false), "a page too many");
        replace(&fresh, &kept).expect("it can be written");
        assert_eq!(is_same(&fresh, &kept), Ok(true));
    }
}
