//! What a file carries besides its bytes, put on it in the one order in which no step undoes another. LIE: a change of owner clears set-id bits and
//! capabilities, which no call reports, and a write clears them, too. So the owner comes first; then attributes and access control lists; then
//! the mode, which may bar from them and is the list's own mask; then the times, which every step moves.

use crate::access_list::{ACCESS_LIST, permission_bits};
use crate::attributes::FileReference;
use crate::status::Moment;
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;

/// What a file is to get. What is none stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metadata {
    /// Owner and group.
    pub owner: Option<(u32, u32)>,
    /// Permission bits, with set-user-id and the like.
    pub mode: Option<u32>,
    /// Those that it has now, if known for certain: the same ones are not set again.
    pub mode_now: Option<u32>,
    /// Whether it is a symbolic link, which has no mode and no lists.
    pub is_link: bool,
    /// When it was last read and changed.
    pub times: Option<[Option<Moment>; 2]>,
}

/// A part of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataPart {
    /// Owner and group.
    Owner,
    /// Permission bits.
    Mode,
    /// Times.
    Times,
}

/// What is different between those who put metadata on files: where attributes come from, and what a refusal means.
pub trait MetadataRules {
    /// The owner was refused. What can be done about it in its place is done here.
    fn owner_refused(&mut self, target: FileReference<'_>, cause: io::Error);

    /// Sets attributes and lists.
    fn set_attributes(&mut self, setter: &mut AttributeSetter<'_>);

    /// What of `mode` the file may get after all that came before.
    fn granted(&self, mode: u32) -> u32;

    /// A part was refused; the others follow all the same.
    fn refused(&mut self, part: MetadataPart, cause: io::Error);
}

/// Sets attributes of one file.
pub struct AttributeSetter<'a> {
    target: FileReference<'a>,
    is_link: bool,
    /// The mode from which the file had to be made writable.
    opened: Option<u32>,
    /// Whether a list has changed, and with it the mode.
    has_changed_lists: bool,
    /// The permission bits of the list that was set.
    listed: Option<u32>,
}

impl AttributeSetter<'_> {
    /// Sets one. `user.*` is set by whoever may write to the file: its owner may for as long as that takes.
    pub fn set(&mut self, name: &CStr, value: &[u8]) -> io::Result<()> {
        let set = || self.target.set_attribute(name, value);
        let done = set().or_else(|error| {
            let is_shut = error.raw_os_error() == Some(Errno::ACCESS.raw_os_error());
            if is_shut
                && !self.is_link
                && self.opened.is_none()
                && let Ok(mode) = make_writable(self.target)
            {
                self.opened = Some(mode);
                return set();
            }
            Err(error)
        });
        if done.is_ok() && name == ACCESS_LIST {
            self.has_changed_lists = true;
            self.listed = permission_bits(value);
        }
        done
    }

    /// Removes one.
    pub fn remove(&mut self, name: &CStr) -> io::Result<()> {
        self.has_changed_lists |= name == ACCESS_LIST;
        self.target.remove_attribute(name)
    }
}

/// A file may be read-only from its first moment. Returns the mode before.
fn make_writable(target: FileReference<'_>) -> io::Result<u32> {
    let mode = target.status()?.mode();
    target.set_mode(mode | 0o200)?;
    Ok(mode)
}

impl Metadata {
    /// Puts all of it on `target`, and goes on past refusals.
    ///
    /// A list that was set has the last word about the permission bits that it has entries for: whoever stored both may have changed one.
    pub fn apply(&self, target: FileReference<'_>, rules: &mut impl MetadataRules) {
        let mut mode_now = self.mode_now;
        if let Some((user, group)) = self.owner {
            if let Err(cause) = target.set_owner(user, group) {
                rules.owner_refused(target, cause);
            }
            // A change of owner may have changed it.
            mode_now = mode_now.filter(|mode| mode & 0o7000 == 0);
        }
        let (is_link, has_changed_lists) = (self.is_link, false);
        let mut setter = AttributeSetter { target, is_link, opened: None, has_changed_lists, listed: None };
        rules.set_attributes(&mut setter);
        let AttributeSetter { opened, has_changed_lists, listed, .. } = setter;
        let is_known = opened.is_none() && !has_changed_lists;
        let mode = self.mode.map(|mode| rules.granted(listed.map_or(mode, |listed| mode & 0o7000 | listed)));
        if let Some(mode) = mode.or(opened)
            && !self.is_link
            && (!is_known || mode_now != Some(mode))
            && let Err(cause) = target.set_mode(mode)
        {
            rules.refused(MetadataPart::Mode, cause);
        }
        if let Some([read, changed]) = self.times
            && let Err(cause) = target.set_times(read, changed)
        {
            rules.refused(MetadataPart::Times, cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;
    use std::fs::File;
    use std::os::fd::AsFd;

    /// Sets one attribute and a list, notes what was refused.
    #[derive(Default)]
    struct Rules {
        list: Option<Vec<u8>>,
        attributed: Option<io::Result<()>>,
        listed: Option<io::Result<()>>,
        refused: Vec<MetadataPart>,
    }

    impl MetadataRules for Rules {
        fn owner_refused(&mut self, _: FileReference<'_>, _: io::Error) {
            self.refused.push(MetadataPart::Owner);
        }

        fn set_attributes(&mut self, setter: &mut AttributeSetter<'_>) {
            self.attributed = Some(setter.set(c"user.colour", b"blue"));
            self.listed = self.list.as_ref().map(|list| setter.set(ACCESS_LIST, list));
        }

        fn granted(&self, mode: u32) -> u32 {
            mode & 0o1777
        }

        fn refused(&mut self, part: MetadataPart, _: io::Error) {
            self.refused.push(part);
        }
    }

    const PAST: Moment = Moment { seconds: 1_000_000_000, nanoseconds: 5 };

    #[test]
    fn no_part_undoes_another() {
        let file = tempfile::tempfile().expect("a file");
        let status = Status::of(&file).expect("stat");
        let (owner, times) = (Some((status.user(), status.group())), Some([Some(PAST), Some(PAST)]));
        let metadata = Metadata { owner, mode: Some(0o6440), times, ..Metadata::default() };
        let mut rules = Rules::default();
        metadata.apply(FileReference::Open(file.as_fd()), &mut rules);
        let now = Status::of(&file).expect("stat");
        assert_eq!((now.mode(), now.changed_at(), now.read_at()), (0o440, PAST, PAST));
        assert!(rules.refused.is_empty());
        if rules.attributed.is_some_and(|set| set.is_ok()) {
            let mut value = Vec::new();
            FileReference::Open(file.as_fd()).attribute(c"user.colour", &mut value).expect("it was set");
            assert_eq!(value, b"blue");
        }
    }

    #[test]
    fn a_list_has_the_last_word_about_the_bits_that_it_has() {
        let directory = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let file = File::create(directory.path().join("f")).expect("a file");
        let list = crate::access_list::from_text(b"u::rw-,u:1:rwx,g::r--,m::r-x,o::---").expect("a list");
        let mut rules = Rules { list: Some(list), ..Rules::default() };
        let metadata = Metadata { mode: Some(0o1777), ..Metadata::default() };
        metadata.apply(FileReference::Open(file.as_fd()), &mut rules);
        let expected = match rules.listed.expect("it was tried") {
            Ok(()) => 0o1650,
            Err(_no_lists_here) => 0o1777,
        };
        assert_eq!(Status::of(&file).expect("stat").mode(), expected);
    }

    #[test]
    fn refusals_are_reported_and_the_rest_follows() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = File::open(directory.path()).expect("open");
        std::os::unix::fs::symlink("nowhere", directory.path().join("l")).expect("symlink");
        let link = FileReference::Named(crate::Directory::of(&open), c"l");
        // A link has a time and no mode; what is not there has neither.
        let metadata =
            Metadata { mode: Some(0o600), is_link: true, times: Some([None, Some(PAST)]), ..Metadata::default() };
        let mut rules = Rules::default();
        metadata.apply(link, &mut rules);
        assert_eq!((link.status().expect("stat").changed_at(), rules.refused.len()), (PAST, 0));
        let missing = FileReference::Named(crate::Directory::of(&open), c"m");
        let metadata = Metadata { owner: Some((0, 0)), is_link: false, ..metadata };
        metadata.apply(missing, &mut rules);
        assert_eq!(rules.refused, [MetadataPart::Owner, MetadataPart::Mode, MetadataPart::Times]);
    }
}
