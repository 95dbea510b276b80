//! What a member carries besides its data, put on what stands for it. The order is the kernel's: an owner takes set-id bits and
//! capabilities away, so it comes first, then attributes, then the mode, then access control lists, whose mask a mode would change, then
//! the times, which every change would move.

use super::{Folder, PlaceError, could_not};
use crate::access_list;
use crate::member::{Attribute, AttributeName, Kind, Member};
use files::{ACCESS_LIST, DEFAULT_LIST, FileReference, Status};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::BorrowedFd;

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
    /// The owner that a member is to have. Numbers that this machine cannot have are left, which its calls say by their largest number.
    pub fn owner_of(&self, member: &Member) -> Option<(u32, u32)> {
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let owner = (number(member.uid), number(member.gid));
        (self.owner.is_wanted() && owner != (u32::MAX, u32::MAX)).then_some(owner)
    }

    /// COMPAT: with access control lists the mode, which stands for a list where none is stored, is the stored one: as with GNU tar.
    fn mode_of(&self, member: &Member, umask: u32) -> u32 {
        let kept = if self.set_id.is_wanted() { 0o7777 } else { 0o777 };
        let umask = if self.lists.is_wanted() { 0 } else { umask };
        member.mode & kept & !umask
    }

    /// Whether a file that has been made still gets more than owner, mode and times.
    pub(super) fn gives_more(&self, member: &Member) -> bool {
        self.lists.is_wanted() || self.has_attributes(member)
    }

    fn has_attributes(&self, member: &Member) -> bool {
        !member.attributes.is_empty() && [self.attributes, self.labels].iter().any(|choice| choice.is_wanted())
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
    let target = FileReference::Open(file);
    let owned = if is_settled { Ok(()) } else { set_owner(restore, member, file) };
    // Set-id bits are for the owner that it could not get.
    let wanted = if owned.is_err() { 0o777 } else { 0o7777 };
    let mode = restore.mode_of(member, umask) & wanted | own_bits(restore, member, file);
    let attributed = set_attributes(restore, member, mode, target);
    let moded = match is_settled && !restore.gives_more(member) {
        true => Ok(()),
        false => target.set_mode(mode).map_err(could_not("set its mode")),
    };
    let listed = set_lists(restore, member, target);
    let timed = if restore.times.is_wanted() {
        target.set_times(member.atime, Some(member.mtime)).map_err(could_not("set its times"))
    } else {
        Ok(())
    };
    owned.and(moded).and(timed).and(attributed).and(listed)
}

/// Bits of a directory that stay where modes are not asked for: it has setgid from the one that it was made in.
fn own_bits(restore: &Restore, member: &Member, directory: BorrowedFd<'_>) -> u32 {
    if restore.set_id.is_wanted() || member.kind != Kind::Directory {
        return 0;
    }
    Status::of(directory).map_or(0, |there| there.mode() & 0o7000)
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

/// On what cannot be opened without harm: links, devices, named pipes. Attributes and lists of these need `/proc`.
pub fn restore_unopened(
    restore: &Restore,
    umask: u32,
    member: &Member,
    folder: &Folder,
    name: &[u8],
) -> Result<(), PlaceError> {
    let in_text = CString::new(name).map_err(io::Error::from).map_err(could_not("name it"))?;
    let target = FileReference::Named(folder.directory(), &in_text);
    let owned = restore
        .owner_of(member)
        .map_or(Ok(()), |(uid, gid)| target.set_owner(uid, gid).map_err(could_not("set its owner")));
    // Set-id bits are for the owner that it could not get; the others it has since it was made, unless a list that it inherited took some.
    let mode = restore.mode_of(member, umask) & if owned.is_ok() { 0o7777 } else { 0o777 };
    let has_mode = |there: Status| there.mode() == mode;
    let moded = match member.kind == Kind::Symlink || target.status().is_ok_and(has_mode) {
        true => Ok(()),
        false => target.set_mode(mode).map_err(could_not("set its mode")),
    };
    let attributed = set_attributes(restore, member, mode, target);
    let listed = if member.kind == Kind::Symlink { Ok(()) } else { set_lists(restore, member, target) };
    let timed = match restore.times.is_wanted() {
        true => target.set_times(member.atime, Some(member.mtime)).map_err(could_not("set its times")),
        false => Ok(()),
    };
    owned.and(moded).and(timed).and(attributed).and(listed)
}

fn set_owner(restore: &Restore, member: &Member, file: BorrowedFd<'_>) -> Result<(), PlaceError> {
    let Some((uid, gid)) = restore.owner_of(member) else { return Ok(()) };
    FileReference::Open(file).set_owner(uid, gid).map_err(could_not("set its owner"))
}

/// What was tried where an attribute could not be set: all that is lost is that attribute.
pub const SET_ATTRIBUTES: &str = "set its attributes";

/// Names of attributes that could not be set, and why the first of them could not.
#[derive(Debug, thiserror::Error)]
#[error("{}", String::from_utf8_lossy(&names.join(&b", "[..])))]
struct Unset {
    names: Vec<Vec<u8>>,
    #[source]
    cause: io::Error,
}

/// Collects those that fail, so that one does not keep the others away.
#[derive(Default)]
struct Failed(Option<Unset>);

impl Failed {
    fn note(&mut self, name: &[u8], outcome: io::Result<()>) {
        match (outcome, &mut self.0) {
            (Ok(()), _) => {}
            (Err(_), Some(unset)) => unset.names.push(name.to_vec()),
            (Err(cause), None) => self.0 = Some(Unset { names: vec![name.to_vec()], cause }),
        }
    }

    fn outcome(self) -> Result<(), PlaceError> {
        let Some(mut unset) = self.0 else { return Ok(()) };
        unset.names.sort_unstable();
        Err(could_not(SET_ATTRIBUTES)(io::Error::new(unset.cause.kind(), unset)))
    }
}

/// Sets all but lists. `mode` is what the file gets afterwards.
fn set_attributes(restore: &Restore, member: &Member, mode: u32, target: FileReference<'_>) -> Result<(), PlaceError> {
    if !restore.has_attributes(member) {
        return Ok(());
    }
    let mut failed = Failed::default();
    for attribute in &member.attributes {
        let (choice, name) = match &attribute.name {
            AttributeName::Extended(name) => (restore.attributes, name.as_slice()),
            AttributeName::Selinux => (restore.labels, &b"security.selinux"[..]),
            AttributeName::AccessList | AttributeName::DefaultList => continue,
        };
        if choice.is_wanted() {
            failed.note(name, set_attribute(attribute, name, mode, target));
        }
    }
    failed.outcome()
}

/// `user.*` is set by whoever may write to the file; its owner may for as long as that takes.
fn set_attribute(attribute: &Attribute, name: &[u8], mode: u32, target: FileReference<'_>) -> io::Result<()> {
    let name = CString::new(name)?;
    let set = || target.set_attribute(&name, &attribute.value);
    match (set(), target) {
        (Err(error), FileReference::Open(_))
            if error.kind() == io::ErrorKind::PermissionDenied
                && mode & 0o200 == 0
                && target.set_mode(mode & 0o500 | 0o200).is_ok() =>
        {
            set()
        }
        (outcome, _) => outcome,
    }
}

/// The lists that are stored, and no other: what it inherited goes.
fn set_lists(restore: &Restore, member: &Member, target: FileReference<'_>) -> Result<(), PlaceError> {
    if !restore.lists.is_wanted() {
        return Ok(());
    }
    let mut failed = Failed::default();
    failed.note(ACCESS_LIST.to_bytes(), set_list(member, &AttributeName::AccessList, ACCESS_LIST, target));
    if member.kind == Kind::Directory {
        failed.note(DEFAULT_LIST.to_bytes(), set_list(member, &AttributeName::DefaultList, DEFAULT_LIST, target));
    }
    failed.outcome()
}

fn set_list(member: &Member, name: &AttributeName, key: &CStr, target: FileReference<'_>) -> io::Result<()> {
    let Some(stored) = member.attributes.iter().rfind(|attribute| attribute.name == *name) else {
        return remove_list(target, key);
    };
    let value = access_list::from_text(&stored.value);
    let value = value.ok_or_else(|| io::Error::other("its text is no access control list"))?;
    target.set_attribute(key, &value)
}

/// Where there are no lists, none is to be removed.
fn remove_list(target: FileReference<'_>, key: &CStr) -> io::Result<()> {
    use rustix::io::Errno;
    let is = |error: &io::Error, errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    match target.remove_attribute(key) {
        Err(error) if is(&error, Errno::NODATA) || is(&error, Errno::OPNOTSUPP) => Ok(()),
        removed => removed,
    }
}
