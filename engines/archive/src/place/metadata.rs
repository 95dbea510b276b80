//! What a member carries besides its data, put on what stands for it in the order of [`files::Metadata`].

use super::{PlaceError, TargetDirectory, could_not};
use crate::member::{AttributeName, Kind, Member};
use crate::operation::Operation;
use files::access_list::{self, ACCESS_LIST, DEFAULT_LIST};
use files::{AttributeSetter, FileReference, Metadata, MetadataPart, MetadataRules, Status};
use rustix::io::Errno;
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

    fn metadata(&self, member: &Member, mode: u32) -> Metadata {
        Metadata {
            owner: self.owner_of(member),
            mode: Some(mode),
            mode_now: None,
            is_link: member.kind == Kind::Symlink,
            times: self.times.is_wanted().then_some([member.atime, Some(member.mtime)]),
        }
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
    let mode = restore.mode_of(member, umask);
    let metadata = Metadata {
        owner: if is_settled { None } else { restore.owner_of(member) },
        mode_now: (is_settled && !restore.gives_more(member)).then_some(mode),
        ..restore.metadata(member, mode)
    };
    let own_bits = own_bits(restore, member, file);
    restore_all(restore, member, FileReference::Open(file), &metadata, own_bits)
}

/// Bits of a directory that stay where modes are not asked for: it has setgid from the one that it was made in.
fn own_bits(restore: &Restore, member: &Member, directory: BorrowedFd<'_>) -> u32 {
    if restore.set_id.is_wanted() || member.kind != Kind::Directory {
        return 0;
    }
    Status::of(directory).map_or(0, |there| there.mode() & 0o7000)
}

/// On a directory, when everything in it is there.
pub fn restore_directory(
    restore: &Restore,
    umask: u32,
    member: &Member,
    directory: BorrowedFd<'_>,
) -> Result<(), PlaceError> {
    restore_open(restore, umask, member, directory, false)
}

/// On what cannot be opened without harm: links, devices, named pipes. Attributes and lists of these need `/proc`.
pub fn restore_unopened(
    restore: &Restore,
    umask: u32,
    member: &Member,
    directory: &TargetDirectory,
    name: &[u8],
) -> Result<(), PlaceError> {
    let name = CString::new(name).map_err(io::Error::from).map_err(could_not(Operation::Name))?;
    let target = FileReference::Named(directory.directory(), &name);
    let mut metadata = restore.metadata(member, restore.mode_of(member, umask));
    if !metadata.is_link {
        // It has its mode since it was made, unless a list that it inherited took some of it.
        metadata.mode_now = target.status().ok().map(|there| there.mode());
    }
    restore_all(restore, member, target, &metadata, 0)
}

fn restore_all(
    restore: &Restore,
    member: &Member,
    target: FileReference<'_>,
    metadata: &Metadata,
    own_bits: u32,
) -> Result<(), PlaceError> {
    let mut rules = Restoring { restore, member, own_bits, refused: Refused::default() };
    metadata.apply(target, &mut rules);
    let Refused { owner, mode, times, attributes, lists } = rules.refused;
    let first = |cause: Option<io::Error>, operation| cause.map_or(Ok(()), |cause| Err(could_not(operation)(cause)));
    first(owner, Operation::SetOwner)?;
    first(mode, Operation::SetMode)?;
    first(times, Operation::SetTimes)?;
    attributes.outcome()?;
    lists.outcome()
}

/// What could not be restored.
#[derive(Default)]
struct Refused {
    owner: Option<io::Error>,
    mode: Option<io::Error>,
    times: Option<io::Error>,
    attributes: Failed,
    lists: Failed,
}

/// The rules of one member.
struct Restoring<'a> {
    restore: &'a Restore,
    member: &'a Member,
    /// Bits that stay, whatever the mode.
    own_bits: u32,
    refused: Refused,
}

impl MetadataRules for Restoring<'_> {
    fn owner_refused(&mut self, _: FileReference<'_>, cause: io::Error) {
        self.refused.owner = Some(cause);
    }

    fn set_attributes(&mut self, setter: &mut AttributeSetter<'_>) {
        for attribute in &self.member.attributes {
            let (choice, name) = match &attribute.name {
                AttributeName::Extended(name) => (self.restore.attributes, name.as_slice()),
                AttributeName::Selinux => (self.restore.labels, &b"security.selinux"[..]),
                AttributeName::AccessList | AttributeName::DefaultList | AttributeName::Listing => continue,
            };
            if choice.is_wanted() {
                let set = CString::new(name).map_err(io::Error::from);
                self.refused.attributes.note(name, set.and_then(|name| setter.set(&name, &attribute.value)));
            }
        }
        if self.restore.lists.is_wanted() && self.member.kind != Kind::Symlink {
            self.set_list(&AttributeName::AccessList, ACCESS_LIST, setter);
            if self.member.kind == Kind::Directory {
                self.set_list(&AttributeName::DefaultList, DEFAULT_LIST, setter);
            }
        }
    }

    fn granted(&self, mode: u32) -> u32 {
        // Set-id bits are for the owner that it could not get.
        let granted = if self.refused.owner.is_some() { 0o777 } else { 0o7777 };
        mode & granted | self.own_bits
    }

    fn refused(&mut self, part: MetadataPart, cause: io::Error) {
        let refused = &mut self.refused;
        let part = match part {
            MetadataPart::Owner => &mut refused.owner,
            MetadataPart::Mode => &mut refused.mode,
            MetadataPart::Times => &mut refused.times,
        };
        *part = Some(cause);
    }
}

impl Restoring<'_> {
    /// The list that is stored, and no other: one that it inherited goes.
    fn set_list(&mut self, name: &AttributeName, key: &CStr, setter: &mut AttributeSetter<'_>) {
        let stored = self.member.attributes.iter().rfind(|attribute| attribute.name == *name);
        let done = match stored.map(|stored| access_list::from_text(&stored.value)) {
            None => remove_list(setter, key),
            Some(Some(value)) => setter.set(key, &value),
            Some(None) => Err(io::Error::other("its text is no access control list")),
        };
        self.refused.lists.note(key.to_bytes(), done);
    }
}

/// Where there are no lists, none is to be removed.
fn remove_list(setter: &mut AttributeSetter<'_>, key: &CStr) -> io::Result<()> {
    match setter.remove(key) {
        Err(error)
            if [Errno::NODATA, Errno::OPNOTSUPP].contains(&Errno::from_io_error(&error).unwrap_or(Errno::IO)) =>
        {
            Ok(())
        }
        removed => removed,
    }
}

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
        Err(could_not(Operation::SetAttributes)(io::Error::new(unset.cause.kind(), unset)))
    }
}
