//! How much there is in some file trees, found out little by little beside a run: the total of its progress line.
//! Gives up on trees of very many entries, and on what it cannot list: then there is no total.

use crate::Identity;
use std::collections::HashSet;
use std::fs::{self, Metadata, ReadDir};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// LIMIT: a tree of more entries has no total: a run is half done by the time that they are counted.
const ENTRIES_MAX: u64 = 300_000;

/// What a tree's entries amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surveyed {
    /// Entries, directories included.
    pub entries: u64,
    /// What they weigh together.
    pub bytes: u64,
}

/// How entries are counted.
#[derive(Clone, Copy, Debug)]
pub struct SurveyRules {
    /// What an entry adds to the bytes.
    pub weigh: fn(&Metadata) -> u64,
    /// Whether links among the operands themselves are followed.
    pub follows_operands: bool,
    /// Whether a file of several names adds its bytes only once.
    pub weighs_links_once: bool,
}

/// A survey under way.
#[derive(Debug)]
pub struct Survey {
    rules: SurveyRules,
    operands: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    listed: Option<ReadDir>,
    met: HashSet<(u64, u64)>,
    /// Files that do not count.
    left_out: HashSet<Identity>,
    so_far: Surveyed,
    has_given_up: bool,
}

impl Survey {
    /// Of the trees at `operands`.
    pub fn new(operands: Vec<PathBuf>, rules: SurveyRules) -> Self {
        let (directories, met, left_out) = (Vec::new(), HashSet::new(), HashSet::new());
        let so_far = Surveyed::default();
        Self { rules, operands, directories, listed: None, met, left_out, so_far, has_given_up: false }
    }

    /// Without these files: what a run writes may lie in the trees that it reads.
    pub fn without(self, left_out: HashSet<Identity>) -> Self {
        Self { left_out, ..self }
    }

    /// Goes on for about as long, and returns the whole once it is known.
    pub fn go_on(&mut self, time: Duration) -> Option<Surveyed> {
        let begin = Instant::now();
        while !self.has_given_up {
            if !self.step() {
                return (!self.has_given_up).then_some(self.so_far);
            }
            if begin.elapsed() >= time {
                return None;
            }
        }
        None
    }

    /// Looks at one more entry; false where there is none.
    fn step(&mut self) -> bool {
        if let Some(entry) = self.listed.as_mut().and_then(Iterator::next) {
            let looked = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)));
            match looked {
                Ok((path, metadata)) => self.count(path, &metadata),
                Err(_) => self.has_given_up = true,
            }
            return true;
        }
        self.listed = None;
        if let Some(directory) = self.directories.pop() {
            match fs::read_dir(directory) {
                Ok(listed) => self.listed = Some(listed),
                Err(_) => self.has_given_up = true,
            }
            return true;
        }
        let Some(operand) = self.operands.pop() else { return false };
        let metadata =
            if self.rules.follows_operands { fs::metadata(&operand) } else { fs::symlink_metadata(&operand) };
        match metadata {
            Ok(metadata) => self.count(operand, &metadata),
            Err(_) => self.has_given_up = true,
        }
        true
    }

    fn count(&mut self, path: PathBuf, metadata: &Metadata) {
        if self.left_out.contains(&Identity::from(metadata)) {
            return;
        }
        self.so_far.entries += 1;
        if metadata.is_dir() {
            self.directories.push(path);
        }
        let is_one_of_several = self.rules.weighs_links_once && metadata.is_file() && metadata.nlink() > 1;
        if !is_one_of_several || self.met.insert((metadata.dev(), metadata.ino())) {
            self.so_far.bytes += (self.rules.weigh)(metadata);
        }
        self.has_given_up |= self.so_far.entries > ENTRIES_MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: SurveyRules = SurveyRules {
        weigh: |metadata| if metadata.is_file() { metadata.len() } else { 0 },
        follows_operands: false,
        weighs_links_once: true,
    };

    #[test]
    fn trees_are_counted_whole_and_files_of_several_names_once() {
        let place = tempfile::tempdir().expect("a directory");
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("tree/below")).expect("directories");
        fs::write(path("tree/a"), [1; 100]).expect("a file");
        fs::write(path("tree/below/b"), [1; 20]).expect("a file");
        fs::hard_link(path("tree/a"), path("tree/below/a")).expect("a link");
        std::os::unix::fs::symlink("a", path("tree/link")).expect("a link");
        fs::write(path("alone"), [1; 3]).expect("a file");
        let whole = |rules| {
            let mut survey = Survey::new(vec![path("tree"), path("alone")], rules);
            (0..100).find_map(|_| survey.go_on(Duration::ZERO))
        };
        assert_eq!(whole(RULES), Some(Surveyed { entries: 7, bytes: 123 }));
        assert_eq!(whole(SurveyRules { weighs_links_once: false, ..RULES }), Some(Surveyed { entries: 7, bytes: 223 }));
        let own = fs::metadata(path("tree/below/b")).map(|own| HashSet::from([Identity::from(&own)])).expect("a file");
        let mut survey = Survey::new(vec![path("tree"), path("alone")], RULES).without(own);
        assert_eq!(survey.go_on(Duration::MAX), Some(Surveyed { entries: 6, bytes: 103 }));
    }

    #[test]
    fn what_is_not_there_has_no_total_and_what_is_not_finished_neither() {
        let place = tempfile::tempdir().expect("a directory");
        let (there, missing) = (place.path().to_owned(), place.path().join("missing"));
        assert_eq!(Survey::new(vec![there.clone(), missing], RULES).go_on(Duration::MAX), None);
        let mut survey = Survey::new(vec![there], RULES);
        assert_eq!(survey.go_on(Duration::ZERO), None, "one step is not all");
        assert_eq!(survey.go_on(Duration::MAX), Some(Surveyed { entries: 1, bytes: 0 }));
        assert_eq!(survey.go_on(Duration::MAX), Some(Surveyed { entries: 1, bytes: 0 }), "it stays known");
    }
}
