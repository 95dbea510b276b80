//! Directories of incremental archives say what was in them: what was renamed is, and what is there and was not goes. COMPAT: GNU tar's dump
//! directories: records of a letter and a name, each with a NUL behind it, one more NUL at the end.

use super::{PlaceError, Placer, could_not, split};
use crate::member::{AttributeName, Kind, Member};
use crate::operation::Operation;
use files::{Directory, Follow, how};
use files::{Replace, list_buffer, list_some};
use std::collections::HashMap;
use std::ffi::CStr;
use std::io;

/// A record: its letter and its name.
pub fn records(listing: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    listing.split(|&byte| byte == 0).take_while(|record| !record.is_empty()).map(|record| (record[0], &record[1..]))
}

/// The names that a directory of an incremental archive had.
pub fn listing_of(member: &Member) -> Option<&[u8]> {
    let is_listing = |attribute: &&crate::member::Attribute| attribute.name == AttributeName::Listing;
    let attribute = member.attributes.iter().find(is_listing).filter(|_| member.kind == Kind::Directory);
    attribute.map(|attribute| attribute.value.as_slice())
}

/// What is in the place of a name that no record has, while names are exchanged.
const TEMPORARY: &[u8] = b".renamed-by-tar";

impl Placer<'_> {
    /// Gives directories the names that they have by the listing of `member`.
    pub fn follow_renames(&mut self, member: &Member) -> Result<(), PlaceError> {
        let Some(listing) = listing_of(member) else { return Ok(()) };
        let (mut from, mut temporary) = (Vec::new(), TEMPORARY.to_vec());
        for (letter, name) in records(listing) {
            match letter {
                b'X' => temporary = [name, b"/", TEMPORARY].concat(),
                b'R' => from = if name.is_empty() { temporary.clone() } else { name.to_vec() },
                b'T' => self.rename(&from, if name.is_empty() { &temporary } else { name })?,
                _ => {}
            }
        }
        Ok(())
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), PlaceError> {
        let leads_up =
            |name: &[u8]| name.starts_with(b"/") || name.split(|&byte| byte == b'/').any(|part| part == b"..");
        if leads_up(from) || leads_up(to) {
            return Err(could_not(Operation::Rename)(io::Error::other("its name leads outside")));
        }
        let ((above, old), (beneath, new)) = (split(from), split(to));
        let (source, target) = (self.directories.existing(above)?, self.directories.directory(beneath)?);
        let renamed = source.directory().rename(old, target.directory(), new, Replace::Never);
        self.directories.changed().tell();
        match renamed {
            // It has got its name before, or is not here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.map_err(could_not(Operation::Rename)),
        }
    }

    /// Removes from the directory of `member` what its listing does not have, as far as `agrees` to each path.
    pub fn remove_what_went(
        &mut self,
        member: &Member,
        agrees: &mut dyn FnMut(Vec<u8>) -> bool,
    ) -> Result<(), PlaceError> {
        let Some(listing) = listing_of(member) else { return Ok(()) };
        let names: HashMap<&[u8], u8> = records(listing)
            .filter(|(letter, _)| b"YND".contains(letter))
            .map(|(letter, name)| (name, letter))
            .collect();
        let directory = self.directories.existing(&member.path)?;
        let mut there = names_in(directory.directory()).map_err(could_not(Operation::Read))?;
        there.sort_unstable();
        for name in there {
            let status = directory.directory().status(&name, Follow::No);
            let is_directory = status.map_err(could_not(Operation::LookAtWhatIsThere))?.is_directory();
            let stays = match names.get(name.as_slice()) {
                Some(b'D') => is_directory,
                Some(b'Y') => !is_directory,
                Some(_) => true,
                None => false,
            };
            let slash: &[u8] = if member.path.is_empty() { b"" } else { b"/" };
            if !stays && agrees([&member.path, slash, &name].concat()) {
                let removed = remove_all(directory.directory(), &name, is_directory);
                self.directories.changed().tell();
                removed.map_err(could_not(Operation::TakeItsPlace))?;
            }
        }
        Ok(())
    }
}

/// Names in a directory.
fn names_in(directory: Directory<'_>) -> io::Result<Vec<Vec<u8>>> {
    let list = directory.open(c".", how::DIRECTORY, 0)?;
    let (mut buffer, mut names) = (list_buffer(), Vec::new());
    while !list_some(Directory::of(&list), &mut buffer, |name: &CStr, _| names.push(name.to_bytes().to_vec()))? {}
    Ok(names)
}

/// Removes a name with all beneath.
///
/// LIMIT: a descriptor for each directory on the way down.
pub(super) fn remove_all(above: Directory<'_>, name: &[u8], is_directory: bool) -> io::Result<()> {
    if !is_directory {
        return above.unlink(name);
    }
    let directory = above.open(name, how::DIRECTORY, 0)?;
    for inner in names_in(Directory::of(&directory))? {
        let is_directory = Directory::of(&directory).status(&inner, Follow::No)?.is_directory();
        remove_all(Directory::of(&directory), &inner, is_directory)?;
    }
    above.remove_directory(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_at_an_empty_one() {
        let found: Vec<_> = records(b"Ya\0Dd\0Rs/e\0Ts/f\0\0Yx\0").collect();
        assert_eq!(found, [(b'Y', &b"a"[..]), (b'D', b"d"), (b'R', b"s/e"), (b'T', b"s/f")]);
        assert_eq!(records(b"").count() + records(b"\0").count(), 0);
    }
}
