//! What waits to be copied to another file system, and whether it must be copied before what comes next.

use super::rename::Kept;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use transfer::copy::Job;
use transfer::finding::joined;
use transfer::operand::{folder_of, last_part};

/// Moves that wait, with what had the targets' names.
#[derive(Default)]
pub struct Elsewhere {
    waiting: Vec<(Job, Option<Kept>)>,
    /// Their sources, with links in their paths resolved.
    sources: BTreeSet<Vec<u8>>,
    targets: HashSet<Vec<u8>>,
}

impl Elsewhere {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets `job` wait; what had its target's name is put back if it fails.
    pub fn add(&mut self, job: Job, kept: Option<Kept>) {
        self.sources.insert(resolved(&job.source));
        self.targets.insert(job.target.clone());
        self.waiting.push((job, kept));
    }

    /// COMPAT: one source is moved after the other. Whether `job` would be another one if what waits were done: it has the same target, or its source
    /// is one that waits, lies in one or holds one.
    pub fn bears_on(&self, job: &Job) -> bool {
        if self.is_empty() {
            return false;
        }
        let source = resolved(&job.source);
        let slashes = source.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let is_in_one = slashes.clone().any(|slash| self.sources.contains(&source[..slash]));
        let below = [source.as_slice(), b"/"].concat();
        let holds_one = self.sources.range(below.clone()..).next().is_some_and(|first| first.starts_with(&below));
        self.targets.contains(&job.target) || self.sources.contains(&source) || is_in_one || holds_one
    }

    /// What waits, in order.
    pub fn into_jobs(self) -> impl Iterator<Item = (Job, Option<Kept>)> {
        self.waiting.into_iter()
    }
}

/// The path with the links in its folder's resolved; as it is where that cannot be done.
fn resolved(path: &[u8]) -> Vec<u8> {
    match std::fs::canonicalize(OsStr::from_bytes(folder_of(path))) {
        Ok(folder) => joined(&folder.into_os_string().into_vec(), last_part(path)),
        Err(_) => path.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_another_comes_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("folders");
        let path = |name: &str| folder.path().join(name).into_os_string().into_vec();
        let job = |source: &str, target: &str| Job { source: path(source), target: target.as_bytes().to_vec() };
        let mut elsewhere = Elsewhere::default();
        assert!(!elsewhere.bears_on(&job("a", "t/a")));
        elsewhere.add(job("a/b", "t/b"), None);
        for (source, target, bears) in [
            ("a/b", "t/x", true),
            ("a/./b/", "t/x", true),
            ("a", "t/a", true),
            ("a/b/c", "t/c", true),
            ("a/bc", "t/b", true),
            ("a/bc", "t/bc", false),
            ("a/a", "t/a", false),
        ] {
            assert_eq!(elsewhere.bears_on(&job(source, target)), bears, "{source} to {target}");
        }
    }
}
