//! Which files are to be archived, in which order, and what is kept or changed of them: what a user chooses. Looks at no file.

use super::mode::ModeRule;
use super::scope::{IgnoreFile, Scope};
use super::tags::Tag;
use crate::member::Time;
use files::{Identity, Status};
use std::collections::{HashMap, HashSet};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The order of names in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By their bytes.
    #[default]
    Name,
    /// By the numbers of their inodes: what disks read fastest.
    Inode,
    /// As the file system gives them.
    None,
}

/// Whether holes are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoleSearch {
    /// They are not.
    #[default]
    Read,
    /// The file system is asked for them.
    Asked,
    /// Blocks of zeros are.
    Zeros,
}

/// What links are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Links.
    #[default]
    Kept,
    /// What they lead to: `-h`.
    Followed,
}

/// Gives a file another name in the archive.
pub type Rename = dyn Fn(&[u8], Renamed) -> Vec<u8> + Send + Sync;

/// Whether an extended attribute is left out, by its name.
pub type LeavesAttribute = dyn Fn(&[u8]) -> bool + Send + Sync;

/// What is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// A member.
    Member,
    /// The member that a hard link is to.
    HardLink,
    /// Where a symbolic link leads.
    SymbolicLink,
}

/// Which files, and what is kept of them.
#[derive(Default)]
pub struct Choice {
    /// Files of patterns that are looked for in each directory.
    pub ignore_files: Vec<IgnoreFile>,
    /// The order.
    pub sort: Sort,
    /// Links.
    pub links: Links,
    /// Whether what lies on other file systems is left out.
    pub stays_on_device: bool,
    /// Files that say of their directories that they are to be left out.
    pub tags: Vec<Tag>,
    /// What is older is left out, but for directories.
    pub newer: Option<Newer>,
    /// Files with several names.
    pub hard_links: HardLinks,
    /// Names as they stand, leading slashes and `..` too.
    pub keeps_absolute: bool,
    /// Looks for holes.
    pub holes: HoleSearch,
    /// Extended attributes are kept.
    pub attributes: bool,
    /// Those that are not: by their names.
    pub leaves_attribute: Option<Box<LeavesAttribute>>,
    /// Access control lists are kept.
    pub lists: bool,
    /// Labels of SELinux are kept.
    pub labels: bool,
    /// Owners without names.
    pub numeric: bool,
    /// What is written instead of what files have.
    pub instead: Instead,
    /// Files that are never archived: the archive itself.
    pub never: HashSet<Identity>,
    /// What the archive has already, and is left out unless it is newer: `-u`. By names in the archive, without slashes at their ends.
    pub newer_than: HashMap<Vec<u8>, Archived>,
    /// Takes names apart and puts them together: `--transform`.
    pub rename: Option<Box<Rename>>,
}

impl Choice {
    /// Whether anything is kept that is learnt of an open file alone.
    pub(super) fn looks_into_files(&self) -> bool {
        self.attributes || self.lists || self.labels
    }
}

/// The last member of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archived {
    /// When the file had been changed.
    pub mtime: Time,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// The part of a named directory that is archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperandDepth {
    /// It with all that is in it.
    #[default]
    Whole,
    /// It alone: `--no-recursion`.
    Itself,
}

/// Files with several names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HardLinks {
    /// The second and later names are links to the first.
    #[default]
    Kept,
    /// The same, and files are told of which not all names are archived.
    Counted,
    /// Each has the data.
    Doubled,
}

/// Numbers of owners, and the number and name to write instead.
pub type OwnerMap = HashMap<u32, (Option<u64>, Vec<u8>)>;

/// What is written instead of what files have.
#[derive(Clone, Debug, Default)]
pub struct Instead {
    /// Owner: number and name. Without a number files keep their own.
    pub owner: Option<(Option<u64>, Vec<u8>)>,
    /// Group: number and name.
    pub group: Option<(Option<u64>, Vec<u8>)>,
    /// The same for owners that are named here; they come first.
    pub owners: OwnerMap,
    /// The same for groups.
    pub groups: OwnerMap,
    /// Permission bits.
    pub mode: Option<ModeRule>,
    /// Time of the last change.
    pub mtime: Option<NewTime>,
}

/// Since when a file must have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newer {
    /// Its bytes: `--newer-mtime`.
    Bytes(Time),
    /// Its bytes, or what else is known of it: `-N`.
    Anything(Time),
}

impl Newer {
    pub(super) fn leaves(self, status: &Status) -> bool {
        let (bytes, anything) = (status.changed_at(), status.status_changed_at());
        match self {
            Self::Bytes(since) => bytes < since,
            Self::Anything(since) => bytes < since && anything < since,
        }
    }
}

/// Finds the time to write for a file, by a directory and its name from there; an error says why there is none.
pub type MtimeOf = dyn Fn(BorrowedFd<'_>, &[u8]) -> Result<Time, String> + Send + Sync;

/// What finds it.
#[derive(Clone)]
pub struct AskedTime(pub Arc<MtimeOf>);

impl std::fmt::Debug for AskedTime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AskedTime")
    }
}

/// What becomes of times of the last change.
#[derive(Clone, Debug)]
pub enum NewTime {
    /// All are this.
    Always(Time),
    /// Later ones are this: `--clamp-mtime`.
    AtMost(Time),
    /// Each has its own: `--set-mtime-command`.
    Asked(AskedTime),
}

/// A name that was given, and where it is to be found.
pub struct Operand {
    /// Where: what `-C` led to.
    pub directory: Arc<OwnedFd>,
    /// The name.
    pub name: Vec<u8>,
    /// How far it is gone into.
    pub depth: OperandDepth,
    /// What is left out.
    pub scope: Scope,
    /// Its names in an incremental archive, if it is a directory.
    pub listing: Option<Vec<u8>>,
}
