//! What an entry carries besides its bytes, put on its copy in the order of [`files::Metadata`], after its bytes.

use super::{Attribute, Keep};
use crate::finding::number;
use files::access_list::{ACCESS_LIST, DEFAULT_LIST};
use files::{AttributeSetter, FileReference, FileType, Metadata, MetadataPart, MetadataRules, Status, UNCHANGED};
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
    /// Whether it may have access lists of its own: it was there before, or a directory handed them on to it.
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
    let status = carried.status;
    // COMPAT: where modes are forgotten, what is new has its mode alone; but a directory goes on handing down what it inherited.
    let loses_lists =
        carried.has_lists && !carried.is_link && (keep.mode || (keep.forgets_mode && carried.mode.is_some()));
    let owner = (status.user(), status.group());
    let metadata = Metadata {
        owner: (keep.owner && carried.owner_now != Some(owner)).then_some(owner),
        mode: carried.mode,
        mode_now: carried.mode_now.filter(|_| !loses_lists),
        is_link: carried.is_link,
        times: keep.times.then(|| [Some(status.read_at()), Some(status.changed_at())]),
    };
    let mut rules = Carrying { carried, keep, buffers, loses_lists, is_somebody_elses: false, refused: Vec::new() };
    metadata.apply(carried.to, &mut rules);
    rules.refused
}

/// The rules of one entry.
struct Carrying<'a> {
    carried: &'a Carried<'a>,
    keep: &'a Keep,
    buffers: &'a mut AttributeBuffers,
    /// Whether lists that it inherited go.
    loses_lists: bool,
    /// Only root may give files away; that is no complaint.
    is_somebody_elses: bool,
    refused: Vec<NotKept>,
}

impl MetadataRules for Carrying<'_> {
    fn owner_refused(&mut self, target: FileReference<'_>, cause: io::Error) {
        let may_fail = [Errno::PERM, Errno::INVAL].iter().any(|errno| errno.raw_os_error() == number(&cause));
        if !may_fail || files::acts_as_root() {
            self.refused.push(NotKept { what: What::Owner, cause });
            return;
        }
        self.is_somebody_elses = true;
        // COMPAT: the group is tried alone; its success makes the owner no more right.
        let _group_alone = target.set_owner(UNCHANGED, self.carried.status.group());
    }

    fn set_attributes(&mut self, setter: &mut AttributeSetter<'_>) {
        if self.loses_lists {
            let _has_none = setter.remove(ACCESS_LIST);
            if self.keep.mode && self.carried.status.file_type() == FileType::Directory {
                let _has_none = setter.remove(DEFAULT_LIST);
            }
        }
        if self.keep.mode || self.keep.context || self.keep.attributes != Attribute::Leave {
            self.carry_attributes(setter);
        }
    }

    fn granted(&self, mode: u32) -> u32 {
        // COMPAT: what belongs to somebody else now must not act in their name.
        let mode = if self.is_somebody_elses { mode & 0o1777 } else { mode };
        if mode & 0o7000 == 0 { mode | self.carried.special } else { mode }
    }

    fn refused(&mut self, part: MetadataPart, cause: io::Error) {
        let what = match part {
            MetadataPart::Owner => What::Owner,
            MetadataPart::Mode => What::Mode,
            MetadataPart::Times => What::Times,
        };
        self.refused.push(NotKept { what, cause });
    }
}

impl Carrying<'_> {
    fn carry_attributes(&mut self, setter: &mut AttributeSetter<'_>) {
        let AttributeBuffers { names, value } = &mut *self.buffers;
        if let Err(cause) = self.carried.from.attribute_names(names) {
            // COMPAT: told to who has named attributes; and a file system without any has none to carry.
            if self.keep.attributes == Attribute::Require && !knows_none(&cause) {
                self.refused.push(NotKept { what: What::Listing, cause });
            }
            return;
        }
        for name in names.split_inclusive(|&byte| byte == 0) {
            let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
            let is_list = name == ACCESS_LIST || name == DEFAULT_LIST;
            if !is_wanted(name, is_list, self.keep) {
                continue;
            }
            let copied = self.carried.from.attribute(name, value).and_then(|()| setter.set(name, value));
            if let Err(cause) = copied
                && is_to_be_told(&cause, is_list, self.keep)
            {
                self.refused.push(NotKept { what: if is_list { What::Mode } else { What::Attributes }, cause });
            }
        }
    }
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
