//! Whether one argument of a command bears on another: it reads or writes what the other writes. Then they are carried out in the order in which
//! they were typed.

use crate::finding::joined;
use crate::operand::{directory_of, last_part, trimmed};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What an argument reads and writes, with all that is below: absolute paths without links, `/` as the empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// What it only reads.
    pub reads: Vec<Vec<u8>>,
    /// What it makes, writes over, renames or removes.
    pub writes: Vec<Vec<u8>>,
}

/// Everywhere: an argument with this path bears on every other one.
pub const EVERYWHERE: &[u8] = b"";

/// What arguments so far read and write.
#[derive(Debug, Default)]
pub struct Touched {
    read: Paths,
    written: Paths,
}

impl Touched {
    /// Whether an argument bears on one of them.
    pub fn bears_on(&self, footprint: &Footprint) -> bool {
        footprint.writes.iter().any(|path| self.read.meet(path) || self.written.meet(path))
            || footprint.reads.iter().any(|path| self.written.meet(path))
    }

    /// Adds an argument.
    pub fn add(&mut self, footprint: Footprint) {
        footprint.reads.into_iter().for_each(|path| self.read.add(path));
        footprint.writes.into_iter().for_each(|path| self.written.add(path));
    }
}

/// A set of paths.
#[derive(Debug, Default)]
struct Paths {
    whole: HashSet<Vec<u8>>,
    /// The directories above them.
    above: HashSet<Vec<u8>>,
}

impl Paths {
    fn add(&mut self, path: Vec<u8>) {
        for above in above(&path) {
            // Those above one that is known are known.
            if !self.above.insert(above.to_vec()) {
                break;
            }
        }
        self.whole.insert(path);
    }

    /// Whether one of them is `path`, lies below it or holds it.
    fn meet(&self, path: &[u8]) -> bool {
        !self.whole.is_empty()
            && (self.whole.contains(path)
                || self.above.contains(path)
                || above(path).any(|above| self.whole.contains(above)))
    }
}

/// The directories above a path, the nearest first.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Resolves paths; remembers the last directory, since arguments mostly lie in one.
#[derive(Debug, Default)]
pub struct Resolver {
    last: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Resolver {
    /// The path with the links in its directory's path resolved, and a link that is its last part itself. None if that cannot be known.
    pub fn name(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        let name = last_part(path);
        if [b".".as_slice(), b"..", b"/"].contains(&name) {
            return resolved(path);
        }
        let directory = directory_of(path);
        if self.last.as_ref().is_none_or(|(last, _)| last != directory) {
            self.last = Some((directory.to_vec(), resolved(directory)));
        }
        let directory = self.last.as_ref().and_then(|(_, resolved)| resolved.as_deref())?;
        Some(if directory == EVERYWHERE { [b"/", name].concat() } else { joined(directory, name) })
    }
}

/// The path with all links resolved. None if that cannot be done.
pub fn resolved(path: &[u8]) -> Option<Vec<u8>> {
    let path = std::fs::canonicalize(OsStr::from_bytes(path)).ok()?.into_os_string().into_vec();
    Some(if trimmed(&path) == b"/" { EVERYWHERE.to_vec() } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(reads: &[&str], writes: &[&str]) -> Footprint {
        let bytes = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        Footprint { reads: bytes(reads), writes: bytes(writes) }
    }

    #[test]
    fn who_writes_bears_on_who_reads_or_writes_there_above_or_below() {
        let mut touched = Touched::default();
        assert!(!touched.bears_on(&footprint(&["/a"], &["/b", ""])), "nothing is touched yet");
        touched.add(footprint(&["/source/a"], &["/target/a"]));
        for (reads, writes, bears) in [
            (["/source/b"], ["/target/b"], false),
            (["/source/a"], ["/target/ab"], false),
            (["/source"], ["/target/b"], false),
            (["/source/b"], ["/target/a"], true),
            (["/source/b"], ["/target"], true),
            (["/source/b"], ["/target/a/x"], true),
            (["/target/a/x"], ["/other"], true),
            (["/target"], ["/other"], true),
            (["/source/b"], ["/source/a/x"], true),
            (["/source/b"], [""], true),
            ([""], ["/other"], true),
        ] {
            assert_eq!(touched.bears_on(&footprint(&reads, &writes)), bears, "{reads:?} to {writes:?}");
        }
    }

    #[test]
    fn links_above_the_last_part_are_resolved() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = std::fs::canonicalize(directory.path()).expect("there").into_os_string().into_vec();
        std::fs::create_dir(directory.path().join("real")).expect("made");
        std::os::unix::fs::symlink("real", directory.path().join("link")).expect("made");
        let of = |path: &str| Resolver::default().name(&joined(&top, path.as_bytes()));
        let is = |path: &str| Some(joined(&top, path.as_bytes()));
        assert_eq!(of("link/x"), is("real/x"));
        assert_eq!(of("./link"), is("link"));
        assert_eq!(of("link/."), is("real"));
        assert_eq!(of("link/.."), Some(top.clone()));
        assert_eq!(of("missing/x"), None);
        assert_eq!(Resolver::default().name(b"/"), Some(EVERYWHERE.to_vec()));
        assert_eq!(Resolver::default().name(b"//x"), Some(b"/x".to_vec()));
    }
}
