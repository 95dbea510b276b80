//! Copying trees: every directory is a task, its entries are copied below two descriptors, and its own metadata come when all below it is
//! done. What is to be copied and how stands here; `tree` does it, `item` does one entry. Asks and tells through a listener.

mod comparing;
mod data;
mod directory;
mod existing;
mod filling;
mod half;
mod item;
mod large;
mod linking;
mod links;
mod metadata;
mod paths;
mod plain;
mod ranges;
mod tree;
mod turns;
mod watched;

pub use directory::{MadeDirectory, finish_made};
pub use existing::{back_up, backup_name};
pub use half::HalfDone;
pub use metadata::{AttributeBuffers, Carried, NotKept, What, carry};
pub use ranges::{FileRange, RangeDigest, copy_range, digest_range};
pub use watched::FileWatch;

use crate::finding::Finding;
use crate::tally::Tally;
use crew::budget::Lease;
use crew::scatter::{self, Scattered, ThreadWidth};
use files::{FileType, Follow, Identity, Status};
use std::io;
use std::os::fd::OwnedFd;

/// From where to where, as paths that messages show.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is copied.
    pub source: Vec<u8>,
    /// The copy's own path.
    pub target: Vec<u8>,
}

/// What is to be copied, and how.
pub struct Copying<'a> {
    /// What.
    pub jobs: &'a [Job],
    /// How.
    pub manner: &'a Manner,
    /// Bits that new files do not get where modes are not kept. The process's own mask is to be 0 where they are kept.
    pub umask: u32,
    /// Who is asked and told.
    pub listener: &'a dyn Listener,
    /// Counts.
    pub tally: &'a Tally,
    /// Descriptors of directories that may be open at once, of each of the two sides.
    pub descriptors: usize,
    /// What is under way, for a signal.
    pub half_done: &'a HalfDone,
    /// A directory that belongs to nobody's tree.
    pub left_out: Option<Identity>,
}

impl Copying<'_> {
    /// Whether a target's directory is missing only because nothing is made.
    fn is_to_have_parents(&self, error: &io::Error) -> bool {
        self.manner.pretends
            && self.manner.targets == JobTargets::WithParents
            && error.kind() == io::ErrorKind::NotFound
    }
}

/// How files and directories are copied.
pub struct Manner {
    /// Goes into directories.
    pub recursive: bool,
    /// Which links are followed.
    pub follow: FollowLinks,
    /// What is made.
    pub make: Make,
    /// What a copy keeps of its source.
    pub keep: Keep,
    /// What becomes of a file that has the name already.
    pub existing: Existing,
    /// Whether it stays in any case if it is not older than the source.
    pub update: bool,
    /// Where a file cannot be opened for writing, it is removed and made anew.
    pub force: bool,
    /// A file that has the name is removed before, not written over.
    pub remove_first: bool,
    /// A file that has the name is kept under another one.
    pub backup: Option<Backup>,
    /// Files that are the same already are left as they are.
    pub skip_same: Option<Same>,
    /// Reads back what was written.
    pub verify: Option<Same>,
    /// Holes.
    pub sparse: Sparse,
    /// Shared blocks.
    pub reflink: Reflink,
    /// Does not enter directories on other devices than their operand.
    pub one_file_system: bool,
    /// Copies what special files give instead of making such files.
    pub contents: bool,
    /// The listener hears of every copy.
    pub tells_all: bool,
    /// And of what had to go for one.
    pub tells_removed: bool,
    /// And of the way that each file's bytes went: then it hears of a file when its bytes are there.
    pub tells_ways: bool,
    /// Changes nothing and tells what would be copied.
    pub pretends: bool,
    /// What the jobs' targets are.
    pub targets: JobTargets,
    /// Keeps the directories that the targets stand in open, to be brought to the disk afterwards.
    pub keeps_roots: bool,
}

/// What the targets of jobs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTargets {
    /// They were typed: a link in a target's place is followed.
    Typed,
    /// Whoever asks makes the directories above them: while it only pretends they may be missing.
    WithParents,
    /// They were found in a tree: a link in a target's place goes, as in a copy of that tree.
    Found,
}

/// Which links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowLinks {
    /// None.
    Never,
    /// Those that were typed.
    Operands,
    /// All.
    Always,
}

/// What is made of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// A copy.
    Copies,
    /// Another name.
    HardLinks,
    /// A link to it.
    SymbolicLinks,
    /// A file with its metadata, and without its bytes.
    Attributes,
    /// Directories that others will fill, without their metadata. The listener hears of them, and of all that was found.
    Directories,
}

/// What a copy keeps of its source.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Mode and access lists.
    pub mode: bool,
    /// Where modes are not kept: whether the source's mode means nothing at all, as if a new file had been made by hand.
    pub forgets_mode: bool,
    /// Owner and group.
    pub owner: bool,
    /// Times.
    pub times: bool,
    /// Several names of one file.
    pub links: bool,
    /// Extended attributes.
    pub attributes: Attribute,
    /// The security context.
    pub context: bool,
}

impl Keep {
    /// Whether access lists that a copy inherited go.
    pub fn clears_lists(&self) -> bool {
        self.mode || self.forgets_mode
    }

    /// The mode that a copy is made from, before the mask.
    pub fn mode_of(&self, status: &Status) -> u32 {
        match status.file_type() {
            _ if !self.forgets_mode => status.mode(),
            FileType::Directory => 0o777 | status.mode() & 0o1000,
            FileType::Socket => 0o777,
            _ => 0o666,
        }
    }
}

/// Whether extended attributes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// No.
    Leave,
    /// As far as the target can hold them.
    Keep,
    /// All of them, or it is a complaint.
    Require,
}

/// What becomes of a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is written over.
    Replace,
    /// It stays.
    Stays,
    /// The listener is asked. Then one worker does it all, in order.
    Ask,
}

/// How two files are found to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// To skip: by length and time. To verify: byte by byte.
    Usual,
    /// By the digest of what they hold.
    Digest,
}

/// How holes are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparse {
    /// Holes stay holes.
    Auto,
    /// Pages of zeros become holes, too.
    Always,
    /// Everything is written.
    Never,
}

/// Whether blocks are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflink {
    /// Where that can be done.
    Auto,
    /// Or it is an error.
    Always,
    /// No.
    Never,
}

/// How the name of a backup is made.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Which names.
    pub names: BackupNames,
    /// What is put behind a simple name.
    pub suffix: Vec<u8>,
}

/// Names of backups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupNames {
    /// `name~`.
    Simple,
    /// `name.~1~` and so on.
    Numbered,
    /// Numbered where there are numbered ones already.
    AsBefore,
}

/// What could not be done as asked.
#[derive(Debug)]
pub enum Complaint {
    /// The source is not to be found, or nothing can be learnt about it.
    Stat(io::Error),
    /// The same of the target.
    StatTarget(Vec<u8>, io::Error),
    /// It cannot be opened.
    Open(io::Error),
    /// A directory cannot be listed.
    List(io::Error),
    /// Reading failed.
    Read(io::Error),
    /// Writing the target failed.
    Write(Vec<u8>, io::Error),
    /// The target cannot be made: a file, a directory, a link.
    Make(MakeWhat, Vec<u8>, io::Error),
    /// Another name cannot be made for what has the second one.
    Link(Vec<u8>, Vec<u8>, io::Error),
    /// A symbolic link to it cannot be made.
    PointTo(Vec<u8>, io::Error),
    /// Its blocks cannot be shared.
    Share(Vec<u8>, io::Error),
    /// The old file cannot be removed or renamed.
    Remove(Vec<u8>, io::Error),
    /// The old file cannot be kept as a backup.
    BackUp(Vec<u8>, io::Error),
    /// The backup would take the place of the source.
    BackupIsSource(Vec<u8>),
    /// Metadata could not be kept.
    Keep(What, Vec<u8>, io::Error),
    /// A directory without `-r`.
    IsDirectory,
    /// A directory would be written over by something else, or the other way round.
    DirectoryOverOther(Vec<u8>),
    /// See above.
    OtherOverDirectory(Vec<u8>),
    /// Source and target are one file.
    SameFile(Vec<u8>),
    /// A directory into itself.
    IntoItself(Vec<u8>),
    /// A link that leads nowhere would be written through.
    Dangling(Vec<u8>),
    /// A link that leads to a directory it is in.
    Cycle,
    /// A relative link elsewhere than in the working directory.
    RelativeLink(Vec<u8>),
    /// What was read back is not what was written.
    Differs(Vec<u8>),
    /// Reading back failed.
    Verify(Vec<u8>, io::Error),
}

/// What could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakeWhat {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO.
    Fifo,
    /// A device or a socket.
    Special,
}

impl MakeWhat {
    /// What is made by name of something of this kind.
    fn by_name(kind: FileType) -> Self {
        match kind {
            FileType::Regular | FileType::SymbolicLink => Self::Link,
            FileType::Fifo => Self::Fifo,
            _ => Self::Special,
        }
    }
}

/// An entry that is no directory, and where its copy is to be.
#[derive(Clone, Debug)]
pub struct FoundEntry {
    /// The entry, as a path that begins as it was typed.
    pub source: Vec<u8>,
    /// Its copy.
    pub target: Vec<u8>,
    /// What it is.
    pub status: Status,
    /// Whether a link's target is meant.
    pub follow: Follow,
    /// Whether it was typed, not found below what was.
    pub is_typed: bool,
    /// What has the copy's name now.
    pub there: Option<Status>,
    /// Whether what is there stays (`-n`, `-u`).
    pub stays: bool,
}

/// Who is asked and told. Called from many threads.
pub trait Listener: Sync {
    /// Whether the existing `target` may be written over.
    fn agrees(&self, target: &[u8]) -> bool;
    /// Something was copied, or would have been; where a backup was made, its path; where it is wanted, which way bytes went and why.
    fn copied(&self, source: &[u8], target: &[u8], backup: Option<&[u8]>, way: Option<&str>);
    /// What had the name `target` was removed, so that a copy could be made.
    fn removed(&self, target: &[u8]);
    /// An entry that is no directory was found, where others are to copy it ([`Make::Directories`]).
    fn found(&self, _entry: FoundEntry) {}
    /// A directory is ready to be filled by others; what it needs when they have done so.
    fn opened(&self, _directory: MadeDirectory) {}
    /// Whether it sees the bytes of every file on their way. Then no file is divided, and no blocks are shared.
    fn watches(&self) -> bool {
        false
    }
    /// Who sees the bytes of the next file, where it watches.
    fn watch(&self) -> Option<Box<dyn FileWatch + '_>> {
        None
    }
    /// What was not done, in order.
    fn complain(&self, findings: Vec<Finding<Complaint>>);
}

/// What a run has done.
pub struct Copied {
    /// What was measured.
    pub measured: Scattered,
    /// Ways and how often each was taken.
    pub ways: Vec<(String, u64)>,
    /// Directories that the targets stand in, where they were to be kept: to be brought to the disk as a whole.
    pub roots: Vec<OwnedFd>,
    /// Which jobs are complete: nothing in them was complained about.
    pub is_complete: Vec<bool>,
}

/// Whether some jobs write where others read or write, so that they have to be done one after the other.
pub fn bear_on_each_other(jobs: &[Job], manner: &Manner) -> bool {
    turns::Turns::new(jobs, manner).are_several
}

/// Copies all jobs.
pub fn copy(copying: &Copying<'_>, width: usize, lease: &dyn Lease) -> Copied {
    // Questions come one after the other, in an order that a person can follow.
    let workers = if copying.manner.existing == Existing::Ask { 1 } else { width };
    let run = tree::Run::new(copying, workers);
    let seeds = run.turns.next();
    let measured = scatter::run(&run, seeds, ThreadWidth { workers }, lease);
    run.finished(measured)
}
