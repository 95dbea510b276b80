//! Where the project is, which files it has, running a program in it, and installing one from Debian's packages.
//! Knows no task.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's root: of the tree that cargo runs this for, which need not be the one it was built in where two share a
/// target directory.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).parent().expect("xtask is a directory of the project").to_owned()
}

/// All files that belong to the project, by path from its root: tracked ones and new ones that git does not ignore.
pub fn files() -> Result<Vec<PathBuf>, String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .stderr(Stdio::null())
        .output();
    match listed {
        Ok(output) if output.status.success() => {
            let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
            let paths = names.map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()));
            Ok(paths.filter(|path| root().join(path).is_file()).collect())
        }
        // An unpacked archive without git: everything but what is built.
        _ => walk(&root(), Path::new("")),
    }
}

fn walk(root: &Path, below: &Path) -> Result<Vec<PathBuf>, String> {
    let directory = root.join(below);
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(&directory).map_err(|error| format!("could not list {}: {error}", directory.display()))?
    {
        let entry = entry.map_err(|error| format!("could not list {}: {error}", directory.display()))?;
        let path = below.join(entry.file_name());
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && !path.starts_with("target") && !path.starts_with(".git") {
            found.extend(walk(root, &path)?);
        } else if !is_directory {
            found.push(path);
        }
    }
    Ok(found)
}

/// Reads a file of the project.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("could not read {}: {error}", path.display()))
}

/// Whether a program can be found.
pub fn has_program(name: &str) -> bool {
    find_program(name).is_some()
}

/// A program in PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Runs a program to its end, its output going where ours goes.
pub fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .status()
        .map_err(|error| format!("could not run {program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} {} ended with {status}", arguments.join(" "))) }
}

/// A program, and Debian's package that has it.
pub type Packaged = (&'static str, &'static str);

/// Those that this machine does not have.
pub fn missing(wanted: &[Packaged]) -> Vec<Packaged> {
    wanted.iter().filter(|(program, _)| !has_program(program)).copied().collect()
}

/// Installs what is missing, if root and a network allow it; returns what stays missing.
pub fn install(wanted: &[Packaged]) -> Vec<Packaged> {
    let absent = missing(wanted);
    if !absent.is_empty() && rustix::process::getuid().is_root() && has_program("apt-get") {
        // Without a network all of it fails, and what needs the programs is left out by whoever asked.
        let apt_get = ["DEBIAN_FRONTEND=noninteractive", "apt-get"];
        let _offline = run("env", &[&apt_get[..], &["update", "-qq"]].concat());
        // One by one: a package that this release does not have must not keep the others away.
        for (_, package) in absent {
            println!("=== installing {package}");
            let install = ["install", "-y", "-qq", "--no-install-recommends", package];
            let _unavailable = run("env", &[&apt_get[..], &install].concat());
        }
    }
    missing(wanted)
}

/// A program of this project as it is built for tests.
pub fn built(name: &str) -> Result<PathBuf, String> {
    Ok(target_directory()?.join("debug").join(name))
}

/// The program of this project, built for release.
pub fn release_binary() -> Result<PathBuf, String> {
    Ok(target_directory()?.join("release/mh"))
}

/// What is built for release: the program, and the libraries for other programs.
pub const RELEASE: &[&str] =
    &["build", "--release", "--package", "manyhands", "--package", "manyhands-c", "--package", "manyhands-mtwrite"];

/// Where cargo builds, whichever way it was told.
fn target_directory() -> Result<PathBuf, String> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("could not ask cargo for its metadata: {error}"))?;
    Ok(metadata.target_directory.into_std_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_files_are_listed_from_its_root() {
        let files = files().expect("they can be listed");
        assert!(files.contains(&PathBuf::from("xtask/src/workspace.rs")));
        assert!(!files.iter().any(|path| path.starts_with("target") || path.starts_with(".git")));
    }

    #[test]
    fn programs_are_found_in_path() {
        assert!(has_program("sh"));
        assert!(!has_program("no-such-program-anywhere"));
        assert_eq!(install(&[("sh", "dash")]), Vec::<Packaged>::new());
        assert_eq!(
            missing(&[("sh", "dash"), ("no-such-program-anywhere", "none")]),
            [("no-such-program-anywhere", "none")]
        );
    }

    #[test]
    fn a_failing_program_is_an_error_with_its_name() {
        assert_eq!(run("true", &[]), Ok(()));
        assert!(run("false", &[]).expect_err("it fails").starts_with("false"));
        assert!(run("no-such-program-anywhere", &[]).is_err());
    }
}
