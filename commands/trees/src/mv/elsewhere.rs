//! What waits to be copied to another file system, and whether it must be copied before what comes next.

use super::rename::Kept;
use transfer::copy::Job;
use transfer::overlap::{EVERYWHERE, Footprint, Resolver, Touched};

/// Moves that wait, with what had the targets' names.
#[derive(Default)]
pub struct Elsewhere {
    waiting: Vec<(Job, Option<Kept>)>,
    touched: Touched,
}

impl Elsewhere {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets `job` wait; what had its target's name is put back if it fails.
    pub fn add(&mut self, job: Job, kept: Option<Kept>) {
        self.touched.add(footprint(&job));
        self.waiting.push((job, kept));
    }

    /// COMPAT: one source is moved after the other. Whether `job` would be another one if what waits were done: its source or its target is
    /// one of theirs, lies in one or holds one.
    pub fn bears_on(&self, job: &Job) -> bool {
        !self.is_empty() && self.touched.bears_on(&footprint(job))
    }

    /// What waits, in order.
    pub fn into_jobs(self) -> impl Iterator<Item = (Job, Option<Kept>)> {
        self.waiting.into_iter()
    }
}

/// A source is removed, so it is written as well.
fn footprint(job: &Job) -> Footprint {
    let resolve = |path| Resolver::default().name(path).unwrap_or_else(|| EVERYWHERE.to_vec());
    Footprint { reads: Vec::new(), writes: vec![resolve(&job.source), resolve(&job.target)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn what_lies_in_another_comes_after_it() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(directory.path().join("a/b")).expect("directories");
        let path = |name: &str| directory.path().join(name).into_os_string().into_vec();
        std::fs::create_dir(directory.path().join("t")).expect("made");
        let job = |source: &str, target: &str| Job { source: path(source), target: path(target) };
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
            ("t/b", "t/y", true),
            ("t/b/in", "t/y", true),
            ("t/y", "t/./b", true),
            ("not/there/yet", "t/y", true),
        ] {
            assert_eq!(elsewhere.bears_on(&job(source, target)), bears, "{source} to {target}");
        }
    }
}
