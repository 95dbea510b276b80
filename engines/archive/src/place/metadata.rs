//! What a member carries besides its data, put on what stands for it. The order is the kernel's: an owner takes set-id bits and
//! capabilities away, so it comes first, then attributes, then the mode, then the times, which every change would move.

use super::{Folder, PlaceError, could_not};
use crate::access_list;
use crate::member::{AttributeName, Kind, Member};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use sys::{entry, tree_calls};

/// What is restored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restore {
    /// Owner and group, as numbers of this machine.
    pub owner: Choice,
    /// Set-id and sticky bits.
    pub set_id: Choice,
    /// Times.
    pub times: Choice,
    /// Extended attributes.
    pub attributes: Choice,
    /// Access control lists.
    pub lists: Choice,
    /// SELinux' labels.
    pub labels: Choice,
}

/// Whether something is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// It is.
    Restored,
    /// It is left as it comes.
    #[default]
    Left,
}

impl Choice {
    /// Restored where `is_wanted`.
    pub fn when(is_wanted: bool) -> Self {
        if is_wanted { Self::Restored } else { Self::Left }
    }

    pub(super) fn is_wanted(self) -> bool {
        self == Self::Restored
    }
}

impl Restore {
    /// The owner that a member is to have. Numbers that this machine cannot have are left.
    pub fn owner_of(&self, member: &Member) -> Option<(u32, u32)> {
        let number = |number: u64| u32::try_from(number).ok().filter(|&number| number != u32::MAX);
        self.owner.is_wanted().then_some(())?;
        Some((number(member.uid)?, number(member.gid)?))
    }

    fn mode_of(&self, member: &Member, umask: u32) -> u32 {
        let kept = if self.set_id.is_wanted() { 0o7777 } else { 0o777 };
        member.mode & kept & !umask
    }

    pub(super) fn has_attributes(&self, member: &Member) -> bool {
        !member.attributes.is_empty()
            && [self.attributes, self.lists, self.labels].iter().any(|choice| choice.is_wanted())
    }
}

/// On an open file. `is_settled`: owner and mode are right already.
pub fn restore_open(
    restore: &Restore,
    umask: u32,
    member: &Member,
    file: BorrowedFd<'_>,
    is_settled: bool,
) -> Result<(), PlaceError> {
    let owned = if is_settled { Ok(()) } else { set_owner(restore, member, file) };
    let attributed = if restore.has_attributes(member) {
        set_attributes(restore, member, |name, value| tree_calls::set_attribute(file, name, value))
    } else {
        Ok(())
    };
    let mode = restore.mode_of(member, umask);
    // Attributes may have been a list, which changes the mode.
    let moded = match (is_settled && !restore.has_attributes(member), owned.is_err()) {
        (true, _) => Ok(()),
        // Set-id bits are for the owner that it could not get.
        (false, true) => tree_calls::set_mode(file, mode & 0o777).map_err(could_not("set its mode")),
        (false, false) => tree_calls::set_mode(file, mode).map_err(could_not("set its mode")),
    };
    let timed = if restore.times.is_wanted() {
        tree_calls::set_times(file, access_time(member), changed_time(member)).map_err(could_not("set its times"))
    } else {
        Ok(())
    };
    owned.and(attributed).and(moded).and(timed)
}

/// On a folder, when everything in it is there.
pub fn restore_folder(
    restore: &Restore,
    umask: u32,
    member: &Member,
    folder: BorrowedFd<'_>,
) -> Result<(), PlaceError> {
    restore_open(restore, umask, member, folder, false)
}

/// On what cannot be opened without harm: links, devices, named pipes.
pub fn restore_unopened(
    restore: &Restore,
    umask: u32,
    member: &Member,
    folder: &Folder,
    name: &[u8],
) -> Result<(), PlaceError> {
    let owned = restore.owner_of(member).map_or(Ok(()), |(uid, gid)| {
        tree_calls::set_owner_at(folder.as_fd(), name, uid, gid).map_err(could_not("set its owner"))
    });
    // Set-id bits are for the owner that it could not get; the others it has since it was made.
    let mode = restore.mode_of(member, umask);
    let moded = match member.kind != Kind::Symlink && mode & 0o7000 != 0 && owned.is_ok() {
        true => tree_calls::set_mode_at(folder.as_fd(), name, mode).map_err(could_not("set its mode")),
        false => Ok(()),
    };
    // Behind the mode, which would change a list.
    let attributed = if restore.has_attributes(member) {
        set_attributes(restore, member, |attribute, value| set_attribute_at(folder, name, attribute, value))
    } else {
        Ok(())
    };
    let timed = match restore.times.is_wanted() {
        true => tree_calls::set_times_at(folder.as_fd(), name, access_time(member), changed_time(member))
            .map_err(could_not("set its times")),
        false => Ok(()),
    };
    owned.and(moded).and(attributed).and(timed)
}

/// On what is at a name; of a symbolic link the link's own. Needs `/proc`.
fn set_attribute_at(folder: &Folder, name: &[u8], attribute: &[u8], value: &[u8]) -> io::Result<()> {
    let (name, attribute) = (CString::new(name)?, CString::new(attribute)?);
    entry::set_attribute(entry::Target::Named(folder.as_fd(), &name), &attribute, value)
}

pub(super) fn access_time(member: &Member) -> tree_calls::SetTime {
    member.atime.map(|time| (time.seconds, time.nanoseconds))
}

pub(super) fn changed_time(member: &Member) -> tree_calls::SetTime {
    Some((member.mtime.seconds, member.mtime.nanoseconds))
}

fn set_owner(restore: &Restore, member: &Member, file: BorrowedFd<'_>) -> Result<(), PlaceError> {
    let Some((uid, gid)) = restore.owner_of(member) else { return Ok(()) };
    tree_calls::set_owner(file, uid, gid).map_err(could_not("set its owner"))
}

fn set_attributes(
    restore: &Restore,
    member: &Member,
    set_one: impl Fn(&[u8], &[u8]) -> io::Result<()>,
) -> Result<(), PlaceError> {
    let mut first = Ok(());
    for attribute in &member.attributes {
        let (choice, name) = match &attribute.name {
            AttributeName::Extended(name) => (restore.attributes, name.as_slice()),
            AttributeName::Selinux => (restore.labels, &b"security.selinux"[..]),
            AttributeName::AccessList => (restore.lists, &b"system.posix_acl_access"[..]),
            AttributeName::DefaultList => (restore.lists, &b"system.posix_acl_default"[..]),
        };
        if !choice.is_wanted() {
            continue;
        }
        let set = match attribute.name {
            AttributeName::Extended(_) | AttributeName::Selinux => set_one(name, &attribute.value),
            AttributeName::AccessList | AttributeName::DefaultList => {
                let value = access_list::from_text(&attribute.value);
                let value = value.ok_or_else(|| io::Error::other("its text is no access control list"));
                value.and_then(|value| set_one(name, &value))
            }
        };
        first = first.and(set.map_err(could_not("set its attributes")));
    }
    first
}
