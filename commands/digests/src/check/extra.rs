//! Files that no line of a manifest names. Holds 16 bytes a name, so a manifest of a million lines takes some 30 MB.

use super::judged::{say_extra, say_unlisted};
use crate::request::{Judging, Says, SumRequest};
use crate::words::{SumWords, quoted};
use digests::algorithm::Algorithm;
use digests::stream_hash;
use digests::walk::{FileWalk, Walked};
use files::{Directory, Follow, Identity, Status};
use mh_kit::report::counted;
use std::collections::HashSet;
use std::fs::File;

/// What no line names.
#[derive(Default)]
pub struct Extra {
    /// Files.
    pub files: u64,
    /// Directories that could not be listed.
    pub unlisted: u64,
}

/// Names that lines had.
#[derive(Default)]
pub struct NamesSeen {
    /// By a hash that nobody can aim at: half of BLAKE3.
    names: HashSet<[u8; 16]>,
    /// The directory that all of them are below, once there is one.
    common: Option<Vec<u8>>,
    /// The manifests themselves.
    manifests: Vec<Identity>,
}

impl NamesSeen {
    /// A line's name.
    pub fn add(&mut self, name: &[u8]) {
        let name = simplified(name);
        self.names.insert(hashed(&name));
        let directory = name.iter().rposition(|byte| *byte == b'/').map_or(&b""[..], |slash| &name[..=slash]);
        match &mut self.common {
            None => self.common = Some(directory.to_vec()),
            Some(common) => shorten(common, directory),
        }
    }

    /// A manifest lies where it lies.
    pub fn is_no_extra(&mut self, manifest: &File) {
        self.manifests.extend(Status::of(manifest).ok().map(|status| status.identity()));
    }

    /// Reports files below `directory`, or below the one that all names have in common, that no line names. What has no contents of its own can have
    /// no line (`-r` leaves it out), so it is reported and is no error.
    pub fn report_extra(&self, words: &SumWords, request: &SumRequest, judging: &Judging, directory: &[u8]) -> Extra {
        let common = self.common.as_deref().unwrap_or_default();
        let root: &[u8] = match (directory, common) {
            ([], []) => b".",
            ([], common) => common,
            (directory, _) => directory,
        };
        let (mut found, mut others, mut first_of_others) = (Extra::default(), 0_u64, None);
        if let Err(error) = Directory::here().status(root, Follow::Yes) {
            say_unlisted(words, root, &error);
            found.unlisted += 1;
            return found;
        }
        for walked in FileWalk::new(root).leaving_out(request.left_out) {
            match walked {
                Walked::File(path) if self.is_extra(&path) => {
                    found.files += 1;
                    if judging.says > Says::Nothing {
                        say_extra(words, request.is_json, &simplified(&path));
                    }
                }
                Walked::Other(path) if self.is_extra(&path) => {
                    others += 1;
                    first_of_others.get_or_insert(path);
                }
                Walked::File(_) | Walked::Other(_) => {}
                Walked::Failed(path, error) => {
                    found.unlisted += 1;
                    say_unlisted(words, &path, &error);
                }
            }
        }
        if let Some(first) = first_of_others {
            let count = counted(others, "entry");
            words.warn(&format!(
                "{count} without contents that no line names: links, FIFOs, devices (the first is {})",
                quoted(&first)
            ));
        }
        found
    }

    fn is_extra(&self, path: &[u8]) -> bool {
        let is_manifest = || {
            let status = Directory::here().status(path, Follow::No);
            status.is_ok_and(|status| self.manifests.contains(&status.identity()))
        };
        !self.names.contains(&hashed(&simplified(path))) && !is_manifest()
    }
}

fn hashed(name: &[u8]) -> [u8; 16] {
    let mut hash = stream_hash(Algorithm::Blake3);
    hash.update(name);
    let value = hash.finish();
    std::array::from_fn(|at| value.bytes()[at])
}

/// Cuts `common` down to what it has in common with `directory`, at a slash.
fn shorten(common: &mut Vec<u8>, directory: &[u8]) {
    let same = common.iter().zip(directory).take_while(|(one, other)| one == other).count();
    let end = common[..same].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    common.truncate(end);
}

/// A path without `.` and empty parts: two names that differ by those alone are one file.
fn simplified(path: &[u8]) -> Vec<u8> {
    let mut simple = if path.first() == Some(&b'/') { vec![b'/'] } else { Vec::new() };
    for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".") {
        if !matches!(simple.last(), None | Some(b'/')) {
            simple.push(b'/');
        }
        simple.extend(part);
    }
    simple
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_paths() {
        for (path, simple) in [(&b"./a//b/./c"[..], &b"a/b/c"[..]), (b"/a/", b"/a"), (b".", b""), (b"../a", b"../a")] {
            assert_eq!(simplified(path), simple);
        }
    }

    #[test]
    fn the_directory_that_all_names_share_is_where_extra_files_are_looked_for() {
        let common = |names: &[&[u8]]| {
            let mut seen = NamesSeen::default();
            names.iter().for_each(|name| seen.add(name));
            seen.common.unwrap_or_default()
        };
        assert_eq!(common(&[b"tree/a/x", b"./tree/ab", b"tree/b"]), b"tree/");
        assert_eq!(common(&[b"tree/a", b"tree2/b"]), b"");
        assert_eq!(common(&[b"/a/b/c", b"/a/d"]), b"/a/");
        assert_eq!(common(&[b"a"]), b"");
    }
}
