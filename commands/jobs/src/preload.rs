//! Libraries that unmodified programs load before their own (`LD_PRELOAD`): a file beside this program or where packages put it, else the
//! copy within this program, which the loader reads by way of a file in memory.

use mh_kit::context::variable;
use mh_kit::failure::{Failure, with_causes};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where packages put it, from the directory of the program: a file that processes of other users and PID namespaces can read, too.
pub const OF_PACKAGES: &str = "../lib/manyhands";

/// A library of ours.
pub struct Preload {
    /// Which command needs it: how messages begin.
    pub command: &'static str,
    /// Its file, where there is one.
    pub file_name: &'static str,
    /// Its bytes; empty where this build has none.
    pub embedded: &'static [u8],
    /// Where a file of that name goes first, from the directory of the program.
    pub directories: &'static [&'static str],
}

/// A library under a path that the loader can open.
pub struct Library {
    path: PathBuf,
    /// What the path leads to, if that has no name elsewhere.
    in_memory: Option<File>,
}

impl Preload {
    /// Finds a file, or unfolds the embedded copy.
    pub fn find(&self) -> Result<Library, Failure> {
        let failed = |why: String| Failure::Environment {
            command: self.command,
            message: format!("find '{}': {why}", self.file_name),
        };
        let program = std::env::current_exe().map_err(|error| failed(with_causes(&error)))?;
        let beside = program.parent().unwrap_or(Path::new("/"));
        let places: Vec<PathBuf> =
            self.directories.iter().map(|directory| beside.join(directory).join(self.file_name)).collect();
        let found = places.iter().filter(|place| place.is_file()).find_map(|place| place.canonicalize().ok());
        match found.filter(|path| is_readable_by_the_loader(path)) {
            Some(path) => Ok(Library { path, in_memory: None }),
            None if self.embedded.is_empty() => Err(failed(format!(
                "this build holds no copy of it, and none can be loaded from {} (install the package, or put the file there)",
                places.iter().map(terminal::quote).collect::<Vec<_>>().join(" or ")
            ))),
            None => Library::unfold(self.embedded).map_err(|error| failed(with_causes(&error))),
        }
    }
}

impl Library {
    /// The bytes as a file without a name. Programs find it by way of this process: one that outlives it starts others without the
    /// library, and the loader of each prints a line about that.
    fn unfold(bytes: &[u8]) -> std::io::Result<Self> {
        let (file, path) = file_in_memory("library")?;
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, 0)?;
        Ok(Self { path: path.into(), in_memory: Some(file) })
    }

    /// The variable that has it loaded, before what is loaded anyway.
    pub fn variable(&self) -> OsString {
        let mut preload = OsString::from("LD_PRELOAD=");
        preload.push(&self.path);
        if let Some(others) = variable("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        preload
    }

    /// For the plan.
    pub fn origin(&self) -> String {
        if self.in_memory.is_some() { "the copy within this program".to_owned() } else { terminal::quote(&self.path) }
    }
}

/// A file without a name, and the path by which other processes reach it while this one lives.
pub fn file_in_memory(name: &str) -> std::io::Result<(File, String)> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path))
}

/// COMPAT: ld.so takes blanks and colons for ends of names.
fn is_readable_by_the_loader(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'\t' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_copy_can_be_read_under_its_path() {
        let library = Library::unfold(b"\x7fELF and so on").expect("there is memory");
        assert_eq!(std::fs::read(&library.path).expect("it leads there"), b"\x7fELF and so on");
        assert_eq!(library.origin(), "the copy within this program");
    }

    #[test]
    fn names_that_the_loader_would_divide_are_not_given_to_it() {
        for (path, is_readable) in [("/a/b.so", true), ("/a b.so", false), ("/a:b.so", false), ("/a\tb", false)] {
            assert_eq!(is_readable_by_the_loader(Path::new(path)), is_readable, "{path}");
        }
    }
}
