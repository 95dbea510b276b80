//! `cargo xtask generate`: man pages and completions, written by the program itself from its table of commands.

use crate::workspace::{self, root};
use clap::Args;
use std::path::Path;

/// What to do with them.
#[derive(Args)]
pub struct GenerateArguments {
    /// Only say whether docs/generated is up to date
    #[arg(long)]
    check: bool,
}

/// Writes docs/generated, or compares it.
pub fn run(arguments: &GenerateArguments) -> Result<(), String> {
    workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    let program = workspace::release_binary();
    let program = program.to_str().ok_or("the target folder's name is not text")?;
    let fresh = tempfile::tempdir().map_err(|error| format!("could not make a folder: {error}"))?;
    let fresh_name = fresh.path().to_str().ok_or("the temporary folder's name is not text")?;
    workspace::run(program, &["generate", fresh_name])?;
    let kept = root().join("docs/generated");
    if arguments.check {
        return if same(fresh.path(), &kept) {
            Ok(())
        } else {
            Err("docs/generated is old: cargo xtask generate".into())
        };
    }
    workspace::run("mkdir", &["-p", "docs/generated"])?;
    workspace::run("cp", &["-r", &format!("{fresh_name}/."), "docs/generated"])
}

fn same(fresh: &Path, kept: &Path) -> bool {
    let arguments = ["-r".as_ref(), fresh.as_os_str(), kept.as_os_str()];
    std::process::Command::new("diff").args(arguments).status().is_ok_and(|status| status.success())
}
