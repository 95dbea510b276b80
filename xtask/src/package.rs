//! `cargo xtask package`: a directory as it is copied to `/usr/local`: program, manual pages, completions, libraries and header.
//! Makes no archive and installs nothing.

use clap::Args;
use std::path::{Path, PathBuf};
use xtask::workspace::{self, release_binary, release_library, release_preload, root};

/// Where to.
#[derive(Args)]
pub struct PackageArguments {
    /// The directory; made if it is not there, files of the same names are replaced
    #[arg(long, value_name = "DIR", default_value = "target/package")]
    into: PathBuf,
}

/// Builds and copies.
pub fn run(arguments: &PackageArguments) -> Result<(), String> {
    workspace::run("cargo", workspace::RELEASE)?;
    for (source, target) in contents()? {
        copy(&source, &arguments.into.join(target))?;
    }
    println!("{}", arguments.into.display());
    Ok(())
}

/// What goes where.
fn contents() -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let mut contents = vec![
        (release_binary()?, PathBuf::from("bin/mh")),
        (release_library()?, PathBuf::from("lib/libmanyhands.a")),
        (release_preload()?, PathBuf::from("lib/manyhands/libmhwrite.so")),
        (root().join("bindings/c/include/manyhands.h"), PathBuf::from("include/manyhands.h")),
    ];
    for (directory, target) in [("man", "share/man/man1"), ("completions", "share/manyhands/completions")] {
        for file in files_in(&root().join("docs/generated").join(directory))? {
            let name = file.file_name().ok_or("a file without a name")?;
            contents.push((file.clone(), Path::new(target).join(name)));
        }
    }
    Ok(contents)
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("could not list {}: {error}", directory.display());
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect()
}

fn copy(source: &Path, target: &Path) -> Result<(), String> {
    let failed = |error| format!("could not copy {} to {}: {error}", source.display(), target.display());
    if let Some(directory) = target.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    std::fs::copy(source, target).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_not_built_is_there_and_has_a_place_of_its_own() {
        let contents = contents().expect("the project has generated pages");
        let mut targets: Vec<_> = contents.iter().map(|(_, target)| target).collect();
        targets.sort();
        targets.dedup();
        assert_eq!(targets.len(), contents.len());
        assert!(contents.iter().skip(3).all(|(source, _)| source.is_file()), "{contents:?}");
        assert!(contents.iter().any(|(_, target)| target.ends_with("share/man/man1/mh.1")));
    }

    #[test]
    fn directories_are_made_and_files_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let (source, target) = (directory.path().join("a"), directory.path().join("b/c/a"));
        for text in ["one", "two"] {
            std::fs::write(&source, text).expect("a file");
            copy(&source, &target).expect("copied");
            assert_eq!(std::fs::read_to_string(&target).expect("there"), text);
        }
        assert!(copy(&directory.path().join("none"), &target).expect_err("not there").starts_with("could not copy"));
    }
}
