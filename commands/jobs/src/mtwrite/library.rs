//! The library that programs load: a file beside this program or where packages put it, else the copy within this program,
//! which the loader reads by way of a file in memory.

use super::NAME;
use mh_kit::failure::{Failure, with_causes};
use std::fs::File;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "libmhwrite.so";
/// Where it may be, from the directory of the program.
const DIRECTORIES: [&str; 2] = ["", "../lib/manyhands"];

#[cfg(has_embedded_library)]
const EMBEDDED: &[u8] = include_bytes!(env!("MH_MTWRITE_LIBRARY"));
#[cfg(not(has_embedded_library))]
const EMBEDDED: &[u8] = &[];

/// A library under a path that the loader can open.
pub struct Library {
    path: PathBuf,
    /// What the path leads to, if that has no name elsewhere.
    in_memory: Option<File>,
}

impl Library {
    /// Finds a file, or unfolds the embedded copy.
    pub fn find() -> Result<Self, Failure> {
        let failed =
            |why: String| Failure::Environment { command: NAME, message: format!("find '{FILE_NAME}': {why}") };
        let program = std::env::current_exe().map_err(|error| failed(with_causes(&error)))?;
        let beside = program.parent().unwrap_or(Path::new("/"));
        let places = DIRECTORIES.map(|directory| beside.join(directory).join(FILE_NAME));
        let found = places.iter().filter(|place| place.is_file()).find_map(|place| place.canonicalize().ok());
        match found.filter(|path| is_readable_by_the_loader(path)) {
            Some(path) => Ok(Self { path, in_memory: None }),
            None if EMBEDDED.is_empty() => Err(failed(format!(
                "this build holds no copy of it, and neither {} nor {} can be loaded (install the package, or put the file there)",
                terminal::quote(&places[0]),
                terminal::quote(&places[1])
            ))),
            None => Self::unfold(EMBEDDED).map_err(|error| failed(with_causes(&error))),
        }
    }

    /// The bytes as a file without a name. Programs find it by way of this process: one that outlives it starts others without the
    /// library, and the loader of each prints a line about that.
    fn unfold(bytes: &[u8]) -> std::io::Result<Self> {
        let (file, path) = super::file_in_memory("libmhwrite")?;
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, 0)?;
        Ok(Self { path: path.into(), in_memory: Some(file) })
    }

    /// For `LD_PRELOAD`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For the plan.
    pub fn origin(&self) -> String {
        if self.in_memory.is_some() { "the copy within this program".to_owned() } else { terminal::quote(&self.path) }
    }
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
        assert_eq!(std::fs::read(library.path()).expect("it leads there"), b"\x7fELF and so on");
        assert_eq!(library.origin(), "the copy within this program");
    }

    #[test]
    fn names_that_the_loader_would_divide_are_not_given_to_it() {
        for (path, is_readable) in [("/a/b.so", true), ("/a b.so", false), ("/a:b.so", false), ("/a\tb", false)] {
            assert_eq!(is_readable_by_the_loader(Path::new(path)), is_readable, "{path}");
        }
    }
}
