//! Where the project is, which files it has, and running a program in it.
//! Knows no task.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the project").to_owned()
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
    let folder = root.join(below);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| format!("could not list {}: {error}", folder.display()))? {
        let entry = entry.map_err(|error| format!("could not list {}: {error}", folder.display()))?;
        let path = below.join(entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !path.starts_with("target") && !path.starts_with(".git") {
            found.extend(walk(root, &path)?);
        } else if !is_folder {
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
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
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

/// The program of this project, built for release.
pub fn release_binary() -> PathBuf {
    target_folder().join("release/mh")
}

/// Where cargo builds.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
