//! Removing trees: every directory is a task, its entries are unlinked below its descriptor while it is listed, and it is removed by whoever
//! finishes the last thing in it. Asks and tells through a listener; knows no words.

use crate::directory::{descriptor, make_room};
use crate::finding::{Finding, joined, number};
use crate::operand::{Operand, Parent, trimmed};
use crate::tally::{Counts, Tally};
use crew::budget::Lease;
use crew::scatter::{self, Begun, Branch, Expanded, Scattered, ThreadWidth, Tree, TreeNode};
use files::{
    DescriptorBudget, Directory, FileType, Follow, HandedFd, KeptDirectory, ListBuffer, Status, how, list_buffer,
    list_some, rewind, straight,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be removed, and how.
pub struct Removal<'a> {
    /// Paths as typed.
    pub operands: &'a [Vec<u8>],
    /// Which directories.
    pub directories: DirectoryRemoval,
    /// When the listener is asked.
    pub caution: Caution,
    /// What is not there is no complaint.
    pub ignores_missing: bool,
    /// Which operands were there and lie in another one: they may be gone with it before their turn comes.
    pub go_with_another: &'a [bool],
    /// Does not enter directories on other devices than their operand.
    pub one_file_system: bool,
    /// The listener hears of every removal.
    pub tells_all: bool,
    /// Changes nothing and tells what would be removed.
    pub pretends: bool,
    /// Who is asked and told.
    pub listener: &'a dyn Listener,
    /// Counts.
    pub tally: &'a Tally,
    /// Descriptors that may be open at once.
    pub descriptors: usize,
}

/// Which directories are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryRemoval {
    /// None.
    Never,
    /// Empty ones.
    Empty,
    /// With all that is in them.
    Whole,
}

/// When the listener is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// Never.
    Never,
    /// About what the user may not write to.
    WriteProtected,
    /// About everything. Then one worker does it all, in order.
    Always,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Whether to go into a directory that is not empty.
    Descend,
    /// Whether to remove an entry of this kind and length.
    Remove(FileType, u64),
}

/// A question.
pub struct Question<'a> {
    /// What is asked.
    pub asked: Asked,
    /// About what.
    pub path: &'a [u8],
    /// Whether the user may not write to it.
    pub is_write_protected: bool,
}

/// Why something was not removed.
#[derive(Debug)]
pub enum Complaint {
    /// The kernel refused.
    Refused(io::Error),
    /// It is a directory, and directories were not asked for.
    IsDirectory,
    /// It lies on another device.
    OtherDevice,
}

/// Who is asked and told. Called from many threads.
pub trait Listener: Sync {
    /// Whether to go on.
    fn agrees(&self, question: &Question<'_>) -> bool;
    /// Something was removed, or would have been.
    fn removed(&self, path: &[u8], is_directory: bool);
    /// What was not removed, in order.
    fn complain(&self, findings: Vec<Finding<Complaint>>);
}

/// Removes all operands.
pub fn remove(removal: &Removal<'_>, width: usize, lease: &dyn Lease) -> Scattered {
    // Questions come one after the other, in an order that a person can follow.
    let workers = if removal.caution == Caution::Always { 1 } else { width };
    let run = Run { removal, descriptors: DescriptorBudget::new(removal.descriptors) };
    let seeds = (0..removal.operands.len()).map(Seed::Operand).collect();
    scatter::run(&run, seeds, ThreadWidth { workers }, lease)
}

struct Run<'a> {
    removal: &'a Removal<'a>,
    descriptors: DescriptorBudget,
}

/// A task.
enum Seed {
    /// What was typed, by its number.
    Operand(usize),
    /// A directory in the directory above.
    Directory(CString),
    /// Entries of the directory above, none of them known to be a directory, each ended by a zero byte.
    Entries(Vec<u8>),
}

/// A directory that is being removed.
struct Node {
    directory: KeptDirectory,
    operand: usize,
    /// Where the operand's own name stands.
    top: Option<Parent>,
    device: u64,
    /// Something in it stays, so it stays; that was told already.
    stays: AtomicBool,
}

type ANode = Arc<TreeNode<Node>>;

/// What a worker keeps between tasks.
struct Scratch {
    buffer: ListBuffer,
}

/// The list of a directory, as far as it was read.
struct Growth {
    list: Arc<HandedFd>,
    /// Its path, where anything may have to be said about its entries.
    path: Option<Vec<u8>>,
}

impl Tree for Run<'_> {
    type Task = Seed;
    type Node = Node;
    type Expansion = Growth;
    type Scratch = Scratch;
    type Report = Finding<Complaint>;

    fn scratch(&self, _worker: usize) -> Scratch {
        Scratch { buffer: list_buffer() }
    }

    fn begin(&self, seed: Seed, above: Option<&ANode>, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        match (seed, above) {
            (Seed::Operand(number), _) => self.begin_operand(number, branch),
            (Seed::Directory(name), Some(above)) => match descriptor(above, |at| &at.directory, &self.descriptors) {
                Ok(parent) => self.begin_directory(name, &Place::In(above, Directory::of(&parent)), branch),
                Err(error) => self.complain(&Place::In(above, Directory::here()), &name, error, branch),
            },
            (Seed::Entries(names), Some(above)) => {
                self.remove_entries(&names, above, branch);
                Begun::Done
            }
            (_, None) => unreachable!("only operands begin a run"),
        }
    }

    fn expand(&self, node: &ANode, growth: &mut Growth, branch: &mut Branch<'_, Self>) -> Expanded {
        make_room(node, |node| &node.directory, &self.descriptors);
        let mut buffer = std::mem::take(&mut branch.scratch.buffer);
        let hands_over = branch.has_takers() && self.removal.caution == Caution::Never;
        let (mut handed_over, mut is_met) = (Vec::new(), false);
        let mut counts = Counts::default();
        let path = growth.path.as_deref();
        let may_be_plain = self.may_be_plain();
        let place = Place::In(node, Directory::of(&growth.list));
        let listed = list_some(Directory::of(&growth.list), &mut buffer, |name, listed| match listed {
            Some(FileType::Directory) => branch.spawn(Seed::Directory(name.to_owned())),
            // The first buffer is worked on here: most directories have no second one.
            _ if hands_over && is_met => handed_over.extend_from_slice(name.to_bytes_with_nul()),
            _ => {
                is_met = true;
                if may_be_plain && straight::unlink(Directory::of(&growth.list), name).is_ok() {
                    counts.entries += 1;
                    return;
                }
                match self.remove_entry(name, &place, path, branch) {
                    Entry::IsDirectory => branch.spawn(Seed::Directory(name.to_owned())),
                    Entry::Removed => counts.entries += 1,
                    Entry::Stays => {}
                }
            }
        });
        branch.scratch.buffer = buffer;
        self.removal.tally.add(counts);
        let grown = match listed {
            Ok(true) => Expanded::Done,
            Ok(false) => Expanded::More,
            Err(error) => {
                // The directory says what could not be read; that it is not empty follows.
                self.complain(&place, c"", error, branch);
                Expanded::Done
            }
        };
        match grown {
            // What is left of a directory's only buffer would cost another worker more to begin than to do.
            Expanded::Done => self.remove_entries(&handed_over, node, branch),
            Expanded::More if handed_over.is_empty() => {}
            Expanded::More => branch.spawn(Seed::Entries(handed_over)),
        }
        grown
    }

    fn leave(&self, node: &TreeNode<Node>, above: Option<&ANode>, branch: &mut Branch<'_, Self>) {
        self.leave_directory(node, above, branch);
        if let Some(above) = above {
            above.node.directory.reopen_from(&node.node.directory, &self.descriptors);
            if node.node.stays.load(Ordering::Acquire) {
                above.node.stays.store(true, Ordering::Release);
            }
        }
        node.node.directory.close(&self.descriptors);
    }

    fn tell(&self, reports: Vec<Finding<Complaint>>) {
        self.removal.listener.complain(reports);
    }
}

/// Where a name stands.
enum Place<'a> {
    Top(usize, Directory<'a>),
    In(&'a ANode, Directory<'a>),
}

impl Place<'_> {
    fn directory(&self) -> Directory<'_> {
        match self {
            Self::Top(_, directory) | Self::In(_, directory) => *directory,
        }
    }

    fn operand(&self) -> usize {
        match self {
            Self::Top(operand, _) => *operand,
            Self::In(node, _) => node.node.operand,
        }
    }
}

/// What became of an entry.
enum Entry {
    Removed,
    /// By the user's wish, or it was complained about; or somebody else removed it.
    Stays,
    IsDirectory,
}

impl Run<'_> {
    fn begin_operand(&self, number: usize, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        let operand = match Operand::open(&self.removal.operands[number]) {
            Ok(operand) => operand,
            Err(error) => return self.complain(&Place::Top(number, Directory::here()), c"", error, branch),
        };
        let place = Place::Top(number, operand.parent.directory());
        let kind = match place.directory().status(&operand.name, Follow::No) {
            Ok(status) => status.file_type(),
            Err(error) => return self.complain(&place, c"", error, branch),
        };
        match (kind, self.removal.directories) {
            (FileType::Directory, DirectoryRemoval::Never) => {
                let finding = self.finding(&place, c"", Complaint::IsDirectory);
                self.keep(finding, branch);
                Begun::Done
            }
            (FileType::Directory, DirectoryRemoval::Empty) => {
                self.remove_empty(&operand.name, &place, branch);
                Begun::Done
            }
            (FileType::Directory, DirectoryRemoval::Whole) => {
                match self.begin_directory(operand.name.clone(), &place, branch) {
                    Begun::Node(node, growth) => {
                        Begun::Node(Node { top: Some(operand.parent.clone()), ..node }, growth)
                    }
                    Begun::Done => Begun::Done,
                }
            }
            // COMPAT: rm says so, too: what is no directory has no name with a slash behind it.
            _ if operand.has_slash && !self.leads_to_directory(&operand) => {
                self.complain(&place, c"", Errno::NOTDIR.into(), branch)
            }
            (_, DirectoryRemoval::Never) if operand.has_slash => {
                let finding = self.finding(&place, c"", Complaint::IsDirectory);
                self.keep(finding, branch);
                Begun::Done
            }
            _ if operand.has_slash => self.complain(&place, c"", Errno::NOTDIR.into(), branch),
            _ => {
                let path = self.needs_paths().then(|| self.removal.operands[number].clone());
                if let Entry::Removed = self.remove_named(&operand.name, &place, path.as_deref(), branch) {
                    self.removal.tally.add(Counts { entries: 1, ..Counts::default() });
                }
                Begun::Done
            }
        }
    }

    fn leads_to_directory(&self, operand: &Operand) -> bool {
        let meant = operand.parent.directory().status(&operand.name, Follow::Yes);
        meant.is_ok_and(|status| status.file_type() == FileType::Directory)
    }

    /// Opens a directory and asks whether to go into it.
    fn begin_directory(&self, name: CString, place: &Place<'_>, branch: &mut Branch<'_, Self>) -> Begun<Node, Growth> {
        let list = match place.directory().open(&name, how::DIRECTORY, 0) {
            Ok(list) => list,
            Err(error) => return self.cannot_open(&name, place, error, branch),
        };
        let mut device = 0;
        if self.removal.one_file_system {
            device = Status::of(&list).map_or(0, |status| status.identity().device);
            if let Place::In(above, _) = place
                && above.node.device != device
            {
                let finding = self.finding(place, &name, Complaint::OtherDevice);
                self.keep(finding, branch);
                self.stays(place);
                return Begun::Done;
            }
        }
        let path = self.needs_paths().then(|| self.path(place, &name));
        if let Some(path) = &path
            && !self.may_descend(Directory::of(&list), &name, place, path, branch)
        {
            self.stays(place);
            return Begun::Done;
        }
        let operand = place.operand();
        let directory = KeptDirectory::new(name, list, &self.descriptors);
        let list = directory.open().expect("it was just opened");
        let node = Node { directory, operand, top: None, device, stays: AtomicBool::new(false) };
        Begun::Node(node, Growth { list, path })
    }

    /// A directory that cannot be read can still be removed when it is empty; what was swapped for something else meanwhile is that.
    fn cannot_open(
        &self,
        name: &CStr,
        place: &Place<'_>,
        error: io::Error,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Node, Growth> {
        let removed = match number(&error) {
            number if number == Errno::NOTDIR.raw_os_error() || number == Errno::LOOP.raw_os_error() => {
                self.remove_named(name, place, None, branch);
                return Begun::Done;
            }
            _ if self.removal.pretends => false,
            _ if !self.may_remove_unread(name, place) => {
                self.stays(place);
                return Begun::Done;
            }
            _ => place.directory().remove_directory(name).is_ok(),
        };
        if removed {
            self.tell_removed(place, name, FileType::Directory);
            return Begun::Done;
        }
        self.complain(place, name, error, branch)
    }

    /// COMPAT: nobody can say whether it is empty, so both questions are asked.
    fn may_remove_unread(&self, name: &CStr, place: &Place<'_>) -> bool {
        let is_write_protected = !place.directory().is_writable(name);
        let is_asked = match self.removal.caution {
            Caution::Never => false,
            Caution::WriteProtected => is_write_protected,
            Caution::Always => true,
        };
        let path = self.path(place, name);
        let agrees = |asked| self.removal.listener.agrees(&Question { asked, path: &path, is_write_protected });
        !is_asked || (agrees(Asked::Descend) && agrees(Asked::Remove(FileType::Directory, 0)))
    }

    fn may_descend(
        &self,
        directory: Directory<'_>,
        name: &CStr,
        place: &Place<'_>,
        path: &[u8],
        branch: &mut Branch<'_, Self>,
    ) -> bool {
        if self.removal.caution == Caution::Never {
            return true;
        }
        let is_write_protected = !place.directory().is_writable(name);
        if self.removal.caution == Caution::WriteProtected && !is_write_protected {
            return true;
        }
        // What cannot be listed will be complained about when it is.
        let is_empty = holds_nothing(directory, branch).unwrap_or(true);
        let _told_later = rewind(directory.descriptor());
        // COMPAT: an empty directory is asked about once, when it is to be removed.
        is_empty || self.removal.listener.agrees(&Question { asked: Asked::Descend, path, is_write_protected })
    }

    fn remove_entries(&self, names: &[u8], above: &ANode, branch: &mut Branch<'_, Self>) {
        if names.is_empty() {
            return;
        }
        let directory = match descriptor(above, |node| &node.directory, &self.descriptors) {
            Ok(directory) => directory,
            Err(error) => {
                self.complain(&Place::In(above, Directory::here()), c"", error, branch);
                return;
            }
        };
        let place = Place::In(above, Directory::of(&directory));
        let path = self.needs_paths().then(|| path_of(self.removal, above));
        let (mut entries, may_be_plain) = (0, self.may_be_plain());
        for name in names.split_inclusive(|&byte| byte == 0) {
            let name = CStr::from_bytes_with_nul(name).expect("names were put together with their ends");
            if may_be_plain && straight::unlink(place.directory(), name).is_ok() {
                entries += 1;
                continue;
            }
            match self.remove_entry(name, &place, path.as_deref(), branch) {
                // Its list called it no directory a moment ago: somebody is at work here.
                Entry::IsDirectory => _ = self.complain(&place, name, Errno::ISDIR.into(), branch),
                Entry::Removed => entries += 1,
                Entry::Stays => {}
            }
        }
        self.removal.tally.add(Counts { entries, ..Counts::default() });
    }

    /// An entry in a directory whose path is `above`, if it may be needed.
    fn remove_entry(
        &self,
        name: &CStr,
        place: &Place<'_>,
        above: Option<&[u8]>,
        branch: &mut Branch<'_, Self>,
    ) -> Entry {
        let path = above.map(|above| joined(above, name.to_bytes()));
        self.remove_named(name, place, path.as_deref(), branch)
    }

    fn remove_named(
        &self,
        name: &CStr,
        place: &Place<'_>,
        path: Option<&[u8]>,
        branch: &mut Branch<'_, Self>,
    ) -> Entry {
        if self.removal.pretends || self.removal.caution != Caution::Never {
            match place.directory().status(name, Follow::No) {
                Ok(status) if status.file_type() == FileType::Directory => return Entry::IsDirectory,
                Ok(status) if !self.may_remove(&status, name, place, path) => {
                    self.stays(place);
                    return Entry::Stays;
                }
                Ok(_) => {}
                Err(error) => {
                    self.complain(place, name, error, branch);
                    return Entry::Stays;
                }
            }
        }
        let removed = if self.removal.pretends { Ok(()) } else { place.directory().unlink(name) };
        match removed {
            Ok(()) => {
                self.tell_removed(place, name, FileType::Regular);
                Entry::Removed
            }
            Err(error) if number(&error) == Errno::ISDIR.raw_os_error() => Entry::IsDirectory,
            Err(error) => {
                self.complain(place, name, error, branch);
                Entry::Stays
            }
        }
    }

    fn may_remove(&self, status: &Status, name: &CStr, place: &Place<'_>, path: Option<&[u8]>) -> bool {
        if self.removal.caution == Caution::Never {
            return true;
        }
        // COMPAT: a link is never write-protected: its own mode means nothing.
        let is_write_protected = status.file_type() != FileType::SymbolicLink && !place.directory().is_writable(name);
        if self.removal.caution == Caution::WriteProtected && !is_write_protected {
            return true;
        }
        let path = path.map_or_else(|| self.path(place, name), <[u8]>::to_vec);
        let asked = Asked::Remove(status.file_type(), status.bytes());
        self.removal.listener.agrees(&Question { asked, path: &path, is_write_protected })
    }

    fn is_empty(&self, name: &CStr, place: &Place<'_>, branch: &mut Branch<'_, Self>) -> io::Result<bool> {
        holds_nothing(Directory::of(&place.directory().open(name, how::DIRECTORY, 0)?), branch)
    }

    fn remove_empty(&self, name: &CStr, place: &Place<'_>, branch: &mut Branch<'_, Self>) {
        // COMPAT: what is not empty is not asked about. Nor would it be removed.
        let is_looked_at = self.removal.caution != Caution::Never || self.removal.pretends;
        if is_looked_at && matches!(self.is_empty(name, place, branch), Ok(false)) {
            self.complain(place, c"", Errno::NOTEMPTY.into(), branch);
            return;
        }
        let may = match place.directory().status(name, Follow::No) {
            Ok(status) => self.may_remove(&status, name, place, None),
            Err(_) => true,
        };
        if !may {
            return;
        }
        match if self.removal.pretends { Ok(()) } else { place.directory().remove_directory(name) } {
            Ok(()) => {
                self.removal.tally.add(Counts { entries: 1, directories: 1, ..Counts::default() });
                self.tell_removed(place, c"", FileType::Directory);
            }
            Err(error) => _ = self.complain(place, c"", error, branch),
        }
    }

    /// Removes a directory in which nothing is left.
    fn leave_directory(&self, node: &TreeNode<Node>, above: Option<&ANode>, branch: &mut Branch<'_, Self>) {
        let node = &node.node;
        if node.stays.load(Ordering::Acquire) {
            return;
        }
        let opened;
        let place = match (above, &node.top) {
            (Some(above), _) => {
                above.node.directory.reopen_from(&node.directory, &self.descriptors);
                match descriptor(above, |node| &node.directory, &self.descriptors) {
                    Ok(directory) => opened = directory,
                    Err(error) => {
                        self.complain(&Place::In(above, Directory::here()), node.directory.name(), error, branch);
                        return;
                    }
                }
                Place::In(above, Directory::of(&opened))
            }
            (None, Some(top)) => Place::Top(node.operand, top.directory()),
            (None, None) => unreachable!("a node without one above is an operand"),
        };
        let name = node.directory.name();
        // An operand is called as it was typed.
        let shown = if above.is_some() { name } else { c"" };
        if self.removal.caution != Caution::Never
            && let Ok(status) = place.directory().status(name, Follow::No)
            && !self.may_remove(&status, name, &place, Some(&self.path(&place, shown)))
        {
            node.stays.store(true, Ordering::Release);
            return;
        }
        match self.remove_directory(node, &place, branch) {
            Ok(()) => {
                self.removal.tally.add(Counts { entries: 1, directories: 1, ..Counts::default() });
                self.tell_removed(&place, shown, FileType::Directory);
            }
            Err(error) => {
                // Whoever else removed it did what was wanted: nothing stays.
                if number(&error) != Errno::NOENT.raw_os_error() {
                    node.stays.store(true, Ordering::Release);
                }
                self.complain(&place, shown, error, branch);
            }
        }
    }

    fn remove_directory(&self, node: &Node, place: &Place<'_>, branch: &mut Branch<'_, Self>) -> io::Result<()> {
        if self.removal.pretends {
            return Ok(());
        }
        // LIE: on some file systems (NFS) a list from which entries are removed leaves some out. LIMIT: three more looks; who still puts
        // something in would win for ever.
        for look in 0..4 {
            match place.directory().remove_directory(node.directory.name()) {
                Err(error) if number(&error) == Errno::NOTEMPTY.raw_os_error() && look < 3 => {
                    let Some(list) = node.directory.open() else { return Err(error) };
                    rewind(list.as_fd())?;
                    while !list_some(Directory::of(&list), &mut branch.scratch.buffer, |name, _| {
                        // A directory among them is what makes the next try fail.
                        let _seen_next = Directory::of(&list).unlink(name);
                    })? {}
                }
                other => return other,
            }
        }
        unreachable!("the last look returns")
    }

    /// Whether nothing is asked or told of an entry: it is unlinked in the loop over the list, and looked at only if that fails.
    fn may_be_plain(&self) -> bool {
        !self.needs_paths() && !self.removal.pretends && straight::is_free()
    }

    fn needs_paths(&self) -> bool {
        self.removal.tells_all || self.removal.caution != Caution::Never
    }

    fn stays(&self, place: &Place<'_>) {
        if let Place::In(above, _) = place {
            above.node.stays.store(true, Ordering::Release);
        }
    }

    fn tell_removed(&self, place: &Place<'_>, name: &CStr, kind: FileType) {
        if self.removal.tells_all {
            let name = if matches!(place, Place::Top(..)) { c"" } else { name };
            self.removal.listener.removed(&self.path(place, name), kind == FileType::Directory);
        }
    }

    /// The path of `name` at a place; an empty name is the place itself.
    fn path(&self, place: &Place<'_>, name: &CStr) -> Vec<u8> {
        match place {
            Place::Top(operand, _) => self.removal.operands[*operand].clone(),
            Place::In(node, _) if name.is_empty() => path_of(self.removal, node),
            Place::In(node, _) => joined(&path_of(self.removal, node), name.to_bytes()),
        }
    }

    fn finding(&self, place: &Place<'_>, name: &CStr, complaint: Complaint) -> Finding<Complaint> {
        Finding { operand: place.operand(), path: self.path(place, name), complaint }
    }

    fn keep(&self, finding: Finding<Complaint>, branch: &mut Branch<'_, Self>) {
        self.removal.tally.add(Counts { failed: 1, ..Counts::default() });
        branch.report(finding);
    }

    fn complain(
        &self,
        place: &Place<'_>,
        name: &CStr,
        error: io::Error,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<Node, Growth> {
        let number = number(&error);
        // COMPAT: a name that the file system cannot have is not there, either.
        let is_missing = [Errno::NOENT, Errno::NOTDIR, Errno::ILSEQ].map(Errno::raw_os_error).contains(&number);
        // Somebody else removed it first: below an operand that is what was wanted.
        let is_below = match place {
            Place::Top(operand, _) => self.removal.go_with_another.get(*operand).copied().unwrap_or(false),
            Place::In(..) => true,
        };
        let is_gone = number == Errno::NOENT.raw_os_error() && is_below;
        if is_gone || (is_missing && self.removal.ignores_missing) {
            return Begun::Done;
        }
        self.stays(place);
        let finding = self.finding(place, name, Complaint::Refused(error));
        self.keep(finding, branch);
        Begun::Done
    }
}

/// Lists a directory from where it stands until something is found.
fn holds_nothing(directory: Directory<'_>, branch: &mut Branch<'_, Run<'_>>) -> io::Result<bool> {
    let mut is_empty = true;
    while is_empty && !list_some(directory, &mut branch.scratch.buffer, |_, _| is_empty = false)? {}
    Ok(is_empty)
}

/// The path of a directory, as its operand was typed.
fn path_of(removal: &Removal<'_>, node: &ANode) -> Vec<u8> {
    let mut names = Vec::new();
    let mut level = Arc::clone(node);
    while let Some(above) = level.above() {
        names.push(level.node.directory.name().to_owned());
        level = above;
    }
    let mut path = trimmed(&removal.operands[level.node.operand]).to_vec();
    for name in names.iter().rev() {
        if path.last().is_some_and(|&last| last != b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
    }
    path
}
