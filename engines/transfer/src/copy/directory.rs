//! One directory of a copy: it is made, or the one that is there is taken; and it gets its metadata when all in it is there.

use super::item::Item;
use super::metadata::{AttributeBuffers, Carried, NotKept, carry};
use super::tree::{ANode, DirectoryNode, Node, Place, Run, source_of, target_of};
use super::{Complaint, Existing, FoundEntry, Keep, Make, MakeWhat};
use crate::finding::{Finding, number};
use crate::operand::Parent;
use crew::scatter::{Branch, TreeNode};
use files::access_list::DEFAULT_LIST;
use files::{Directory, FileReference, Follow, KeptDirectory, Status, how};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

impl Run<'_> {
    /// COMPAT: of a directory that may not be read an empty copy is made. It is known by a descriptor that it cannot be listed by.
    pub fn look_at(&self, item: &Item<'_>) -> Option<(OwnedFd, Status)> {
        let directory = item.source.open(item.name, how::PLACE | item.follow.open_flag(), 0).ok()?;
        let status = Status::of(&directory).ok()?;
        Some((directory, status))
    }

    /// Makes the copy of a directory, or takes the one that is there, and opens it.
    pub fn make_directory(&self, item: &Item<'_>, node: &mut DirectoryNode) -> Result<(), Complaint> {
        let (parent, name) = (item.target.directory(), item.target_name);
        let path = || item.target_path(self);
        // Nobody but its owner gets in before it has its own mode; where modes are not kept the mask decides.
        let keep = &self.copying.manner.keep;
        let open = if keep.owner || keep.mode { 0o700 } else { keep.mode_of(&node.status) & 0o777 | 0o700 };
        let is_new = match parent.make_directory(name, open) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(Complaint::Make(MakeWhat::Directory, path(), error)),
        };
        // COMPAT: a directory that was typed, to be copied into, may be a link to one; a copy's own name may not.
        let may_follow = !is_new && matches!(item.place, Place::Top(_)) && item.is_into_target(self);
        let flags = if may_follow { how::through_links(how::DIRECTORY) } else { how::DIRECTORY };
        let opened = if is_new { open_made(parent, name) } else { open_with_status(parent, name, flags) };
        let (directory, status) = match opened {
            Ok(opened) => opened,
            Err(error) if !is_new && is_no_directory(&error) => return Err(Complaint::DirectoryOverOther(path())),
            Err(error) => return Err(Complaint::Make(MakeWhat::Directory, path(), error)),
        };
        if status.identity() == node.status.identity() {
            return Err(if is_new { Complaint::IntoItself(path()) } else { Complaint::SameFile(path()) });
        }
        node.made = is_new.then_some((status.user(), status.group()));
        node.made_mode = status.mode();
        node.target_device = status.identity().device;
        node.inherits = self.copying.manner.keep.clears_lists()
            && FileReference::Open(directory.as_fd()).attribute(DEFAULT_LIST, &mut Vec::new()).is_ok();
        let directory = KeptDirectory::known(name.to_owned(), directory, status.identity(), &self.targets);
        if let Place::Top(job) = item.place {
            self.tops.write().insert(status.identity());
            let top = Parent::Directory(directory.open().expect("it was just opened"));
            // What is mounted there is on a disk of its own.
            self.note_root(&top);
            self.directories[*job].get_or_init(|| top);
        }
        node.target = Some(directory);
        Ok(())
    }

    /// Others will copy it.
    pub fn leave_to_others(&self, item: &Item<'_>, status: Status, branch: &mut Branch<'_, Self>) {
        let (parent, is_typed) = (item.target.directory(), matches!(item.place, Place::Top(_)));
        let there = parent.status(item.target_name, Follow::No).ok();
        let followed = || parent.status(item.target_name, Follow::Yes).ok().filter(|_| is_typed);
        let meant = there.and_then(|there| if there.is_symlink() { followed().or(Some(there)) } else { Some(there) });
        let is_kept =
            |there: &Status| self.copying.manner.existing == Existing::Stays || self.is_up_to_date(&status, there);
        let stays = meant.as_ref().is_some_and(is_kept);
        branch.scratch.counts.left += u64::from(stays);
        let (source, target) = (item.source_path(self), item.target_path(self));
        self.copying.listener.found(FoundEntry { source, target, status, follow: item.follow, is_typed, there, stays });
    }

    /// Metadata of a directory whose entries are all there.
    pub fn finish_directory(
        &self,
        directory: &DirectoryNode,
        node: &TreeNode<Node>,
        above: Option<&ANode>,
        branch: &mut Branch<'_, Self>,
    ) {
        let manner = self.copying.manner;
        let was_there = directory.made.is_none() && !manner.pretends && manner.make != Make::Directories;
        let is_left = manner.skip_same.is_some() && was_there;
        branch.scratch.counts.entries += 1;
        branch.scratch.counts.directories += u64::from(!is_left);
        branch.scratch.counts.left += u64::from(is_left);
        if let Some(above) = above {
            source_of(&above.node).reopen_from(&directory.source, &self.sources);
            if let Some(target) = &directory.target {
                target_of(&above.node).reopen_from(target, &self.targets);
            }
        }
        // Whoever left something below it last has opened both again.
        let (Some(source), Some(target)) =
            (directory.source.open(), directory.target.as_ref().and_then(KeptDirectory::open))
        else {
            if !self.copying.manner.pretends {
                let complaint = Complaint::Open(io::Error::other("it was moved meanwhile"));
                self.keep_finding(
                    Finding { operand: directory.job, path: self.source_path_of(node), complaint },
                    branch,
                );
            }
            return;
        };
        let keep = &self.copying.manner.keep;
        if self.copying.manner.make == Make::Directories {
            return self.copying.listener.opened(MadeDirectory {
                source: self.source_path_of(node),
                target: self.target_path_of(node),
                is_new: directory.made.is_some(),
                made_mode: directory.made_mode,
                inherits: directory.inherits,
            });
        }
        let special = directory.made_mode & 0o7000;
        let (is_new, umask) = (directory.made.is_some(), self.copying.umask);
        let mode = mode_at_end(keep, umask, is_new, directory.made_mode, &directory.status);
        let carried = Carried {
            from: FileReference::Open(source.as_fd()),
            to: FileReference::Open(target.as_fd()),
            status: &directory.status,
            owner_now: directory.made,
            // As it was made: then it needs no call of its own.
            mode_now: (directory.made.is_some() && !keep.mode && !keep.owner).then_some(directory.made_mode | 0o700),
            mode,
            special,
            has_lists: directory.inherits || directory.made.is_none(),
            is_link: false,
        };
        for refused in carry(&carried, keep, &mut branch.scratch.attributes) {
            let path = self.target_path_of(node);
            let complaint = Complaint::Keep(refused.what, path, refused.cause);
            self.keep_finding(Finding { operand: directory.job, path: self.source_path_of(node), complaint }, branch);
        }
    }
}

/// The mode that a directory has when all in it is there; none if it stays as it is.
fn mode_at_end(keep: &Keep, umask: u32, is_new: bool, made_mode: u32, source: &Status) -> Option<u32> {
    let source_mode = keep.mode_of(source);
    match is_new {
        _ if keep.mode => Some(source.mode()),
        // COMPAT: a new directory is sticky as its source is, but gives nobody's rights on; what it has of the directory that it stands in stays.
        true if keep.owner || keep.forgets_mode => Some(source_mode & 0o1777 & !umask | made_mode & 0o7000),
        // As it was made, by the mask or by a default list, without the rights that were lent to its owner.
        true => Some(made_mode & (source_mode | 0o7077) | source_mode & 0o1000),
        false => None,
    }
}

/// A directory that was made to be filled by others ([`Make::Directories`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeDirectory {
    /// What it is a copy of.
    pub source: Vec<u8>,
    /// Where it is.
    pub target: Vec<u8>,
    /// Whether it was not there before.
    pub is_new: bool,
    /// The mode that it was made with, or has had.
    pub made_mode: u32,
    /// Whether it hands access lists down.
    pub inherits: bool,
}

/// Gives a directory that others have filled its metadata; what could not be kept. May be done again.
///
/// # Errors
/// When one of the two directories cannot be looked at.
pub fn finish_made(
    directory: &MadeDirectory,
    keep: &Keep,
    umask: u32,
    buffers: &mut AttributeBuffers,
) -> io::Result<Vec<NotKept>> {
    let paths = [&directory.source, &directory.target].map(|path| CString::new(path.as_slice()));
    let [source, target] = paths.map(|path| path.map_err(io::Error::from));
    let (source, target) = (source?, target?);
    let status = Directory::here().status(&source, Follow::Yes)?;
    Directory::here().status(&target, Follow::Yes)?;
    let flags = how::through_links(how::DIRECTORY);
    let open = |path: &CString| Directory::here().open(path, flags, 0);
    let (from, to) = (open(&source), open(&target));
    let carried = Carried {
        from: open_or_named(&from, &source),
        to: open_or_named(&to, &target),
        status: &status,
        owner_now: None,
        mode_now: None,
        mode: mode_at_end(keep, umask, directory.is_new, directory.made_mode, &status),
        special: directory.made_mode & 0o7000,
        has_lists: directory.inherits || !directory.is_new,
        is_link: false,
    };
    Ok(carry(&carried, keep, buffers))
}

/// A directory that may be passed through but not be listed is meant by its path.
fn open_or_named<'a>(open: &'a io::Result<OwnedFd>, path: &'a CString) -> FileReference<'a> {
    open.as_ref().map_or(FileReference::Named(Directory::here(), path), |open| FileReference::Open(open.as_fd()))
}

fn open_with_status(parent: Directory<'_>, name: &CStr, flags: OFlags) -> io::Result<(OwnedFd, Status)> {
    let directory = parent.open(name, flags, 0)?;
    let status = Status::of(&directory)?;
    Ok((directory, status))
}

/// Opens a directory that was just made, with the mode that it was made with. COMPAT: a default list or the mask may have shut it to its owner, who lends
/// it all rights until it is filled.
fn open_made(parent: Directory<'_>, name: &CStr) -> io::Result<(OwnedFd, Status)> {
    match open_with_status(parent, name, how::DIRECTORY) {
        Ok((directory, status)) if status.mode() & 0o700 != 0o700 => {
            FileReference::Open(directory.as_fd()).set_mode(status.mode() | 0o700)?;
            Ok((directory, status))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let status = parent.status(name, Follow::No)?;
            FileReference::Named(parent, name).set_mode(status.mode() | 0o700)?;
            Ok((parent.open(name, how::DIRECTORY, 0)?, status))
        }
        opened => opened,
    }
}

fn is_no_directory(error: &io::Error) -> bool {
    [Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error).contains(&number(error))
}
