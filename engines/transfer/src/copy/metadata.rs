//! What an entry carries besides its bytes: owner, attributes, mode, times, in the order in which one does not undo the other.
//! LIE: a change of owner clears set-id bits and capabilities, a write clears them too; so they come last.

use super::{Attribute, Keep};
use crate::finding::number;
use files::{ACCESS_LIST, DEFAULT_LIST, FileReference, FileType, Status, UNCHANGED};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;

/// What could not be kept.
#[derive(Debug)]
pub struct NotKept {
    /// What.
    pub what: What,
    /// Why.
    pub cause: io::Error,
}

/// A part of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Owner and group.
    Owner,
    /// The mode and the access lists.
    Mode,
    /// Times.
    Times,
    /// Extended attributes.
    Attributes,
    /// Extended attributes, whose names the source does not tell.
    Listing,
}

/// An entry that is to get another's metadata.
pub struct Carried<'a> {
    /// From.
    pub from: FileReference<'a>,
    /// To.
    pub to: FileReference<'a>,
    /// What the source was.
    pub status: &'a Status,
    /// Owner and group that it has now, if known.
    pub owner_now: Option<(u32, u32)>,
    /// The mode that it has now, if known for certain.
    pub mode_now: Option<u32>,
    /// The mode that it should have.
    pub mode: Option<u32>,
    /// Set-id bits and the sticky bit that a directory has, from where it stands or from before: they stay unless the mode brings some.
    pub special: u32,
    /// Whether it may have access lists of its own: it was there before, or a folder handed them on to it.
    pub has_lists: bool,
    /// Whether modes mean anything: not for links.
    pub is_link: bool,
}

/// Two buffers for names and values of attributes.
#[derive(Default)]
pub struct AttributeBuffers {
    names: Vec<u8>,
    value: Vec<u8>,
}

/// Carries over what `keep` says; goes on past refusals and returns them.
pub fn carry(carried: &Carried<'_>, keep: &Keep, buffers: &mut AttributeBuffers) -> Vec<NotKept> {
    let mut refused = Vec::new();
    let (mut mode, mut mode_now) = (carried.mode, carried.mode_now);
    if keep.owner && carried.owner_now != Some((carried.status.user(), carried.status.group())) {
        match set_owner(carried) {
            Ok(Arrived::Yes) => {}
            // COMPAT: what belongs to somebody else now must not act in their name.
            Ok(Arrived::No) => mode = mode.map(|mode| mode & 0o1777),
            Err(cause) => refused.push(NotKept { what: What::Owner, cause }),
        }
        // A change of owner may have changed it.
        mode_now = mode_now.filter(|mode| mode & 0o7000 == 0);
    }
    mode = mode.map(|mode| if mode & 0o7000 == 0 { mode | carried.special } else { mode });
    // COMPAT: where modes are forgotten, what is new has its mode alone; but a folder goes on handing down what it inherited.
    let loses_lists = keep.mode || (keep.forgets_mode && mode.is_some());
    if carried.has_lists && loses_lists && !carried.is_link {
        let _has_none = carried.to.remove_attribute(ACCESS_LIST);
        if keep.mode && carried.status.file_type() == FileType::Directory {
            let _has_none = carried.to.remove_attribute(DEFAULT_LIST);
        }
        mode_now = None;
    }
    let (has_list, opened) = carry_attributes(carried, keep, buffers, &mut refused);
    if let Some(before) = opened {
        mode = mode.or(Some(before));
        mode_now = None;
    }
    if let Some(mode) = mode
        && !carried.is_link
        && (has_list || mode_now != Some(mode))
        && let Err(cause) = carried.to.set_mode(mode)
    {
        refused.push(NotKept { what: What::Mode, cause });
    }
    if keep.times
        && let Err(cause) = carried.to.set_times(Some(carried.status.read_at()), Some(carried.status.changed_at()))
    {
        refused.push(NotKept { what: What::Times, cause });
    }
    refused
}

enum Arrived {
    Yes,
    /// Only root may give files away; that is no complaint.
    No,
}

fn set_owner(carried: &Carried<'_>) -> io::Result<Arrived> {
    let (user, group) = (carried.status.user(), carried.status.group());
    let Err(error) = carried.to.set_owner(user, group) else { return Ok(Arrived::Yes) };
    let may_fail = [Errno::PERM, Errno::INVAL].iter().any(|errno| errno.raw_os_error() == number(&error));
    if !may_fail || files::acts_as_root() {
        return Err(error);
    }
    // COMPAT: the group is tried alone; its success makes the owner no more right.
    let _group_alone = carried.to.set_owner(UNCHANGED, group);
    Ok(Arrived::No)
}

/// Whether there was an access list; and the mode from which the target had to be made writable, if so.
fn carry_attributes(
    carried: &Carried<'_>,
    keep: &Keep,
    buffers: &mut AttributeBuffers,
    refused: &mut Vec<NotKept>,
) -> (bool, Option<u32>) {
    if !keep.mode && !keep.context && keep.attributes == Attribute::Leave {
        return (false, None);
    }
    let AttributeBuffers { names, value } = buffers;
    if let Err(cause) = carried.from.attribute_names(names) {
        // COMPAT: told to who has named attributes; and a file system without any has none to carry.
        if keep.attributes == Attribute::Require && !knows_none(&cause) {
            refused.push(NotKept { what: What::Listing, cause });
        }
        return (false, None);
    }
    let (mut has_list, mut opened) = (false, None);
    for name in names.split_inclusive(|&byte| byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let is_list = name == ACCESS_LIST || name == DEFAULT_LIST;
        if !is_wanted(name, is_list, keep) {
            continue;
        }
        has_list |= name == ACCESS_LIST;
        let copied = carried.from.attribute(name, value).and_then(|()| {
            let set = || carried.to.set_attribute(name, value);
            set().or_else(|error| {
                let is_shut = number(&error) == Errno::ACCESS.raw_os_error() && opened.is_none() && !carried.is_link;
                if is_shut && let Ok(mode) = make_writable(carried.to) {
                    opened = Some(mode);
                    return set();
                }
                Err(error)
            })
        });
        if let Err(cause) = copied
            && is_to_be_told(&cause, is_list, keep)
        {
            refused.push(NotKept { what: if is_list { What::Mode } else { What::Attributes }, cause });
        }
    }
    (has_list, opened)
}

/// COMPAT: attributes of a user are for who may write, and a copy may be read-only from its first moment. The mode before.
fn make_writable(target: FileReference<'_>) -> io::Result<u32> {
    let status = target.status()?;
    target.set_mode(status.mode() | 0o200)?;
    Ok(status.mode())
}

fn knows_none(cause: &io::Error) -> bool {
    [Errno::OPNOTSUPP, Errno::NOSYS].iter().any(|errno| errno.raw_os_error() == number(cause))
}

fn is_wanted(name: &CStr, is_list: bool, keep: &Keep) -> bool {
    match name.to_bytes() {
        _ if is_list => keep.mode,
        // COMPAT: a label is an attribute like others, too.
        b"security.selinux" => keep.context || keep.attributes != Attribute::Leave,
        // COMPAT: /etc/xattr.conf: what a security module computes from the file itself is not copied.
        b"security.evm" | b"security.ima" => false,
        name if name.starts_with(b"security.SMACK64") => false,
        // NFSv4's own form of an access list, which the mode stands for.
        b"system.nfs4_acl" => false,
        _ => keep.attributes != Attribute::Leave,
    }
}

/// COMPAT: -a takes what it can get; who names an attribute wants to hear of it.
fn is_to_be_told(cause: &io::Error, is_list: bool, keep: &Keep) -> bool {
    let number = number(cause);
    let is_usual = [Errno::OPNOTSUPP, Errno::PERM, Errno::NODATA].iter().any(|errno| errno.raw_os_error() == number);
    !is_usual || (!is_list && keep.attributes == Attribute::Require && number != Errno::NODATA.raw_os_error())
}
