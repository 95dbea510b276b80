//! The names that were given, where each of them is to go, and which of them members had.

use super::super::TarArgs;
use super::super::selection::{self, SelectionStep};
use archive::pattern::{Manner, PatternGroups, trimmed};
use mh_kit::failure::Failure;
use parking_lot::Mutex;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The names that were given, and how many members had each.
#[derive(Default)]
pub struct Wanted {
    pub names: Vec<Vec<u8>>,
    pub patterns: PatternGroups,
    are_names: bool,
    /// By the numbers of names.
    found: Vec<u64>,
    /// Which of the members of a name is meant; none: all.
    occurrence: Option<u64>,
    is_over: bool,
    /// The member that everything in front of is passed over, until it is met.
    starts_at: Option<Vec<u8>>,
    /// Directories that the names are to go to, beneath that in which the run works. Empty where that is one for all of them.
    targets: Vec<Vec<u8>>,
}

/// What was found out about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// It is not meant.
    No,
    /// It is, as the first of these names.
    As(usize),
    /// All names are.
    Any,
}

impl Wanted {
    pub fn new(args: &TarArgs) -> Self {
        let named: Vec<_> = args.selection.named().map(|named| (named.name.clone(), named.manner)).collect();
        let are_names = named.iter().all(|(_, manner)| manner.are_names());
        let patterns = PatternGroups::new(&named);
        let names: Vec<Vec<u8>> = named.into_iter().map(|(name, _)| name).collect();
        Self {
            found: vec![0; names.len()],
            patterns,
            names,
            are_names,
            occurrence: args.occurrence,
            is_over: false,
            starts_at: args.starting_file.as_ref().map(|name| trimmed(name.as_bytes()).to_vec()),
            targets: Vec::new(),
        }
    }

    /// Goes to the directories that `-C` names, or above them where names go to several.
    pub fn enter_directories(&mut self, args: &TarArgs) -> Result<(), Failure> {
        let steps = &args.selection.steps;
        let last_name = steps.iter().rposition(|step| matches!(step, SelectionStep::Name(_)));
        let first_name = steps.iter().position(|step| matches!(step, SelectionStep::Name(_)));
        let are_apart = first_name
            .zip(last_name)
            .is_some_and(|(first, last)| steps[first..last].iter().any(|step| matches!(step, SelectionStep::Enter(_))));
        if !are_apart {
            return super::super::enter_directories(args);
        }
        let mut directories = Vec::new();
        for step in steps {
            match step {
                SelectionStep::Enter(directory) => selection::enter(directory)?,
                SelectionStep::Name(_) => {
                    let here = std::env::current_dir();
                    let told = |error: std::io::Error| super::super::could_not("enter", ".".as_ref(), &error);
                    directories.push(here.map_err(told)?);
                }
            }
        }
        let above = common(&directories);
        selection::enter(&above)?;
        let beneath = |directory: &PathBuf| {
            directory.strip_prefix(&above).map(|rest| rest.as_os_str().as_bytes().to_vec()).unwrap_or_default()
        };
        self.targets = directories.iter().map(beneath).collect();
        Ok(())
    }

    /// Whether names go to several directories.
    pub fn have_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Where a member goes that is meant by a name: beneath the directory that the run works in.
    pub fn target(&self, meant: Meant) -> &[u8] {
        match meant {
            Meant::As(number) => self.targets.get(number).map_or(b"", Vec::as_slice),
            Meant::No | Meant::Any => b"",
        }
    }

    /// Whether a name is meant, which counts as having been found. COMPAT: the first of several names that match has found it.
    pub fn find(&mut self, name: &[u8]) -> Meant {
        if self.patterns.is_empty() {
            return Meant::Any;
        }
        let first = self.patterns.all_matches(name).first().copied();
        if let Some(number) = first {
            // COMPAT: what is beneath a directory is part of it, and no other occurrence.
            let is_beneath = self.is_beneath(number, name);
            self.found[number] += u64::from(!is_beneath || self.found[number] == 0);
        }
        self.is_over = self.occurrence.is_some_and(|occurrence| {
            !name.ends_with(b"/")
                && self.found.iter().all(|&found| found >= occurrence)
                && !(0..self.names.len()).any(|number| self.is_beneath(number, name))
        });
        let is_meant = |number: usize| self.occurrence.is_none_or(|occurrence| self.found[number] == occurrence);
        first.filter(|&number| is_meant(number)).map_or(Meant::No, Meant::As)
    }

    fn is_beneath(&self, number: usize, name: &[u8]) -> bool {
        name.get(trimmed(&self.names[number]).len()) == Some(&b'/')
    }

    /// Whether the member that is to be the first has been met.
    pub fn has_begun(&mut self, name: &[u8]) -> bool {
        self.starts_at.take_if(|first| trimmed(name) == first.as_slice());
        self.starts_at.is_none()
    }

    /// Whether nothing behind the last member can be meant: each name was found as often as is wanted.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the names are names and not patterns.
    pub fn are_names(&self) -> bool {
        self.are_names && self.occurrence.is_none() && self.starts_at.is_none()
    }
}

/// The directory that all of them are, or are in.
fn common(directories: &[PathBuf]) -> PathBuf {
    let mut above = directories.first().cloned().unwrap_or_else(|| Path::new("/").to_owned());
    for directory in directories {
        while !directory.starts_with(&above) {
            above.pop();
        }
    }
    above
}

/// Names that no member had.
pub fn not_found(wanted: &Mutex<Wanted>) -> Vec<Vec<u8>> {
    let wanted = wanted.lock();
    let least = wanted.occurrence.unwrap_or(1);
    let found = wanted.names.iter().zip(&wanted.found);
    let names = found.filter(|(_, found)| **found < least).map(|(name, _)| trimmed(name).to_vec());
    wanted.starts_at.clone().into_iter().chain(names).collect()
}

/// What is left out. COMPAT: with all that is beneath, whatever is said of recursion behind it.
pub fn excluded(args: &TarArgs) -> PatternGroups {
    PatternGroups::new(&args.selection.excluded)
}

/// How the names of extended attributes are compared.
pub const OF_ATTRIBUTES: Manner = Manner { anchored: true, ..Manner::EXCLUDED };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_have_one_above_them_all() {
        let above = |paths: &[&str]| common(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(above(&["/a/b", "/a/c/d", "/a/b/e"]), Path::new("/a"));
        assert_eq!(above(&["/a/b", "/a/b"]), Path::new("/a/b"));
        assert_eq!(above(&["/a", "/b"]), Path::new("/"));
    }

    #[test]
    fn one_of_several_members_of_a_name_is_meant() {
        let names = vec![b"a".to_vec(), b"d".to_vec()];
        let patterns = PatternGroups::new(&[(names[0].clone(), Manner::MEMBERS), (names[1].clone(), Manner::MEMBERS)]);
        let mut wanted =
            Wanted { names, patterns, are_names: true, found: vec![0; 2], occurrence: Some(2), ..Wanted::default() };
        let found = [&b"a"[..], b"d/", b"a", b"d/x", b"a", b"d", b"b"].map(|name| wanted.find(name));
        assert_eq!(found, [Meant::No, Meant::No, Meant::As(0), Meant::No, Meant::No, Meant::As(1), Meant::No]);
        assert!(wanted.is_over() && !wanted.are_names());
    }
}
