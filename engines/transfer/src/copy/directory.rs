//! One directory of a copy: it is made, or the one that is there is taken; and it gets its metadata when all in it is there.

use super::item::Item;
use super::metadata::{Carried, DEFAULT_LIST, carry};
use super::tree::{AKnot, FolderNode, Node, Place, Run, source_of, target_of};
use super::{Complaint, MakeWhat};
use crate::finding::{Finding, number};
use crate::folder::{Folder, OPEN_FOLDER, open_above};
use crate::operand::Parent;
use crew::scatter::{Branch, Knot};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use sys::entry::{self, Follow, Status, Target, flags};

impl Run<'_> {
    /// COMPAT: of a folder that may not be read an empty copy is made. It is known by a descriptor that it cannot be listed by.
    pub fn look_at(&self, item: &Item<'_>) -> Option<(OwnedFd, Status)> {
        let nofollow = if item.follow == Follow::Yes { 0 } else { flags::O_NOFOLLOW };
        let folder = entry::open_at(item.source, item.name, flags::O_PATH | flags::O_DIRECTORY | nofollow, 0).ok()?;
        let status = entry::status_of(folder.as_fd()).ok()?;
        Some((folder, status))
    }

    /// Makes the copy of a folder, or takes the one that is there, and opens it.
    pub fn make_folder(&self, item: &Item<'_>, node: &mut FolderNode) -> Result<(), Complaint> {
        let (parent, name) = (item.target.as_fd(), item.target_name);
        let path = || item.target_path(self);
        // Nobody but its owner gets in before it has its own mode; where modes are not kept the mask decides.
        let keep = &self.copying.manner.keep;
        let open = if keep.owner || keep.mode { 0o700 } else { keep.mode_of(&node.status) & 0o777 | 0o700 };
        let is_new = match entry::make_folder_at(parent, name, open) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(Complaint::Make(MakeWhat::Folder, path(), error)),
        };
        // COMPAT: a folder that was typed, to be copied into, may be a link to one; a copy's own name may not.
        let may_follow = !is_new && matches!(item.place, Place::Top(_)) && item.is_into_target(self);
        let flags = if may_follow { OPEN_FOLDER & !flags::O_NOFOLLOW } else { OPEN_FOLDER };
        let opened = if is_new { open_made(parent, name) } else { open_with_status(parent, name, flags) };
        let (folder, status) = match opened {
            Ok(opened) => opened,
            Err(error) if !is_new && is_no_folder(&error) => return Err(Complaint::FolderOverOther(path())),
            Err(error) => return Err(Complaint::Make(MakeWhat::Folder, path(), error)),
        };
        if status.identity() == node.status.identity() {
            return Err(if is_new { Complaint::IntoItself(path()) } else { Complaint::SameFile(path()) });
        }
        node.made = is_new.then_some((status.user(), status.group()));
        node.made_mode = status.mode();
        node.target_device = status.identity().device;
        node.inherits = self.copying.manner.keep.clears_lists()
            && entry::attribute(Target::Open(folder.as_fd()), DEFAULT_LIST, &mut Vec::new()).is_ok();
        let folder = Folder::known(name.to_owned(), folder, status.identity(), &self.targets);
        if let Place::Top(job) = item.place {
            self.tops.write().unwrap_or_else(PoisonError::into_inner).insert(status.identity());
            let top = Parent::Folder(folder.open().expect("it was just opened"));
            // What is mounted there is on a disk of its own.
            self.note_root(&top);
            self.folders[*job].get_or_init(|| top);
        }
        node.target = Some(folder);
        Ok(())
    }

    /// Metadata of a folder whose entries are all there.
    pub fn finish_folder(
        &self,
        folder: &FolderNode,
        knot: &Knot<Node>,
        above: Option<&AKnot>,
        branch: &mut Branch<'_, Self>,
    ) {
        branch.scratch.counts.entries += 1;
        branch.scratch.counts.folders += 1;
        if let Some(above) = above {
            open_above(&folder.source, source_of(&above.node), &self.sources);
            if let Some(target) = &folder.target {
                open_above(target, target_of(&above.node), &self.targets);
            }
        }
        // Whoever left something below it last has opened both again.
        let (Some(source), Some(target)) = (folder.source.open(), folder.target.as_ref().and_then(Folder::open)) else {
            if !self.copying.manner.pretends {
                let complaint = Complaint::Open(io::Error::other("it was moved meanwhile"));
                self.keep_finding(Finding { operand: folder.job, path: self.source_path_of(knot), complaint }, branch);
            }
            return;
        };
        let keep = &self.copying.manner.keep;
        let (special, source_mode) = (folder.made_mode & 0o7000, keep.mode_of(&folder.status));
        let mode = match folder.made {
            _ if keep.mode => Some(folder.status.mode()),
            // COMPAT: a new folder is sticky as its source is, but gives nobody's rights on; what it has of the folder that it stands in stays.
            Some(_) if keep.owner || keep.forgets_mode => Some(source_mode & 0o1777 & !self.copying.umask | special),
            // As it was made, by the mask or by a default list, without the rights that were lent to its owner.
            Some(_) => Some(folder.made_mode & (source_mode | 0o7077) | source_mode & 0o1000),
            None => None,
        };
        let carried = Carried {
            from: Target::Open(source.as_fd()),
            to: Target::Open(target.as_fd()),
            status: &folder.status,
            owner_now: folder.made,
            // As it was made: then it needs no call of its own.
            mode_now: (folder.made.is_some() && !keep.mode && !keep.owner).then_some(folder.made_mode | 0o700),
            mode,
            special,
            has_lists: folder.inherits || folder.made.is_none(),
            is_link: false,
        };
        for refused in carry(&carried, keep, &mut branch.scratch.attributes) {
            let path = self.target_path_of(knot);
            let complaint = Complaint::Keep(refused.what, path, refused.cause);
            self.keep_finding(Finding { operand: folder.job, path: self.source_path_of(knot), complaint }, branch);
        }
    }
}

fn open_with_status(parent: BorrowedFd<'_>, name: &CStr, flags: i32) -> io::Result<(OwnedFd, Status)> {
    let folder = entry::open_at(parent, name, flags, 0)?;
    let status = entry::status_of(folder.as_fd())?;
    Ok((folder, status))
}

/// Opens a directory that was just made, with the mode that it was made with. COMPAT: a default list or the mask may have shut it to its owner, who lends
/// it all rights until it is filled.
fn open_made(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<(OwnedFd, Status)> {
    match open_with_status(parent, name, OPEN_FOLDER) {
        Ok((folder, status)) if status.mode() & 0o700 != 0o700 => {
            entry::set_mode(Target::Open(folder.as_fd()), status.mode() | 0o700)?;
            Ok((folder, status))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let status = entry::status_at(parent, name, Follow::No)?;
            entry::set_mode(Target::Named(parent, name), status.mode() | 0o700)?;
            Ok((entry::open_at(parent, name, OPEN_FOLDER, 0)?, status))
        }
        opened => opened,
    }
}

fn is_no_folder(error: &io::Error) -> bool {
    [Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error).contains(&number(error))
}
