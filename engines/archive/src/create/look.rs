//! Looks at what stands at one name: what it is, its open file or directory, and what only these tell. Nothing here depends on what
//! was archived before, so that many hands look at many names; what does is the walk's. Opens regular files, reads none. Every
//! name is used relative to the descriptor of its directory.

use super::ahead::{Ahead, ListedDirectory, Listing, Names, Place};
use super::choice::{Choice, HoleSearch, Links, OperandDepth, Renamed};
use super::data::Counted;
use super::scope::Scope;
use super::tags::{Keeps, Tag};
use crate::member::{Attribute, AttributeName, BLOCK_BYTES, Extent, Kind};
use crate::operation::Operation;
use files::access_list;
use files::{Directory, FileType, Follow, Identity, Moment, Status, how, own_path, straight};
use rustix::fs::{self, RawDir, SeekFrom, seek};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// LIMIT: names in a directory that is read before its turn. One with more is read when the walk goes into it: a tree of nothing else
/// takes the memory of one.
const NAMES_AHEAD_MAX: usize = 16 << 10;

/// LIMIT: what is read of a directory at a time, as the C library does.
const LIST_BYTES: usize = 32 << 10;

const ACCESS_LIST: &[u8] = access_list::ACCESS_LIST.to_bytes();
const DEFAULT_LIST: &[u8] = access_list::DEFAULT_LIST.to_bytes();
const LABEL: &[u8] = b"security.selinux";
/// In the order in which they are written.
const LISTS_AND_LABEL: [&[u8]; 3] = [ACCESS_LIST, DEFAULT_LIST, LABEL];

/// What was tried, and why it failed.
pub(super) type Failed = (Operation, io::Error);

/// What stands at a name.
pub(super) struct Looked {
    /// From where the walk began.
    pub path: Vec<u8>,
    /// Which of its directory's names it is, and whether that says that it is a regular file.
    pub index: usize,
    pub is_file: bool,
    pub seen: Result<Seen, Failed>,
}

impl Looked {
    /// Bytes that are to be read of it, and those of attributes, which have been; a sparse file may have more than can be added up.
    pub fn bytes(&self) -> u64 {
        let Ok(Seen::Thing(thing)) = &self.seen else { return 0 };
        let content = if thing.kind == Kind::Regular { thing.status.bytes().min(1 << 40) } else { 0 };
        content + thing.attributes.iter().map(|attribute| attribute.value.len() as u64).sum::<u64>()
    }
}

/// What was seen there.
pub(super) enum Seen {
    Thing(Box<Thing>),
    /// It was not to be held open until its turn comes.
    Later,
    TheArchive,
    Socket,
}

/// What can be archived.
pub(super) struct Thing {
    pub status: Status,
    pub kind: Kind,
    pub inside: Result<Inside, Failed>,
    pub attributes: Vec<Attribute>,
}

/// What only looking into it tells.
pub(super) enum Inside {
    Nothing,
    /// Where a symbolic link leads.
    Link(Vec<u8>),
    File {
        file: File,
        counted: Counted,
        /// Where its data are, if it has holes.
        extents: Option<Vec<Extent>>,
    },
    /// What is in a directory, unless the walk stays out of it.
    Directory(Option<Opened>),
}

/// A directory, to go on in it.
pub(super) struct Opened {
    pub directory: Arc<OwnedFd>,
    /// That it is open, and its names, until the walk comes to it.
    pub _counted: [Counted; 2],
    /// Which one it is.
    pub identity: Identity,
    /// When it had been changed before its names were read.
    pub ctime: Moment,
    /// What is left out in it.
    pub scope: Scope,
    /// Which of the tags stands in it.
    pub tag: Option<usize>,
    pub listing: Option<Arc<Listing>>,
}

/// When something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// It is its turn.
    Now,
    /// Before: what would take too much to hold is left for later.
    Ahead,
}

/// Where a name stands.
pub(super) struct At<'a> {
    pub place: &'a Place<'a>,
    pub name: &'a [u8],
    /// Which of its directory's names it is.
    pub index: usize,
    /// The directory says that it is a regular file.
    pub is_file: bool,
    /// How far it is gone into.
    pub depth: OperandDepth,
}

impl At<'_> {
    /// That it is to be looked at when its turn comes.
    pub fn later(&self) -> Looked {
        self.looked(self.place.path_of(self.name), Ok(Seen::Later))
    }

    fn looked(&self, path: Vec<u8>, seen: Result<Seen, Failed>) -> Looked {
        Looked { path, index: self.index, is_file: self.is_file, seen }
    }
}

/// Looks at names.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub choice: &'a Choice,
    pub ahead: &'a Ahead,
}

impl Look<'_> {
    /// None for what is not to be archived, without a word about it.
    pub fn at(&self, at: &At<'_>, when: When) -> Option<Looked> {
        let path = at.place.path_of(at.name);
        if at.place.scope.leaves_out(&path) {
            return None;
        }
        if when == When::Ahead && self.ahead.has_too_much_open() {
            return Some(at.later());
        }
        let status = self.status(at.place.directory, at.name, at.is_file);
        let seen = match status.map(|(status, file)| self.see(at, &path, status, file, when)) {
            Ok(None) => return None,
            Ok(Some(seen)) => Ok(seen),
            Err(failed) => Err(failed),
        };
        Some(at.looked(path, seen))
    }

    /// What is at a name. What the directory says to be a file is opened first, which saves a call; whatever else it turns out to
    /// be, or cannot be opened, is looked at by name.
    #[inline(always)]
    fn status(&self, directory: Directory<'_>, name: &[u8], is_file: bool) -> Result<(Status, Option<File>), Failed> {
        if is_file
            && straight::is_free()
            && let Ok(terminated) = CString::new(name)
            && let Ok(file) = straight::open(directory, &terminated, how::FILE, 0)
            && let Ok(status) = straight::status_of(file.as_fd())
            && status.is_regular()
        {
            return Ok((status, Some(File::from(file))));
        }
        if is_file
            && let Ok(file) = directory.open(name, how::FILE, 0)
            && let Ok(status) = Status::of(&file)
            && status.is_regular()
        {
            return Ok((status, Some(File::from(file))));
        }
        let looked = match self.choice.links {
            Links::Followed => directory.status(name, Follow::Yes),
            Links::Kept => directory.status(name, Follow::No),
        };
        Ok((looked.map_err(|cause| (Operation::Look, cause))?, None))
    }

    fn see(&self, at: &At<'_>, path: &[u8], status: Status, file: Option<File>, when: When) -> Option<Seen> {
        if self.choice.never.contains(&status.identity()) {
            return Some(Seen::TheArchive);
        }
        let kind = kind(&status);
        if kind != Some(Kind::Directory) && self.choice.newer.is_some_and(|newer| newer.leaves(&status)) {
            return None;
        }
        let Some(kind) = kind else { return Some(Seen::Socket) };
        let mut attributes = Vec::new();
        let inside = match kind {
            Kind::Symlink => self.link(at),
            Kind::Regular => self.file(at, &status, file, &mut attributes),
            Kind::Directory => match self.directory(at, path, when, &mut attributes) {
                Ok(None) => return Some(Seen::Later),
                Ok(Some(inside)) => Ok(inside),
                Err(failed) => Err(failed),
            },
            _ => Ok(Inside::Nothing),
        };
        if !matches!(kind, Kind::Regular | Kind::Directory) {
            attributes = self.attributes_of(&Source::at(at.place.directory, at.name, self.choice.links), status.mode());
        }
        Some(Seen::Thing(Box::new(Thing { status, kind, inside, attributes })))
    }

    fn link(&self, at: &At<'_>) -> Result<Inside, Failed> {
        let target = at.place.directory.read_link(at.name);
        let target = target.map_err(|cause| (Operation::ReadLink, cause))?;
        Ok(Inside::Link(match &self.choice.rename {
            Some(rename) => rename(&target, Renamed::SymbolicLink),
            None => target,
        }))
    }

    fn file(
        &self,
        at: &At<'_>,
        status: &Status,
        file: Option<File>,
        attributes: &mut Vec<Attribute>,
    ) -> Result<Inside, Failed> {
        let file = file.map_or_else(|| self.open(at, status), Ok)?;
        *attributes = self.attributes_of(&Source::Open(file.as_fd()), status.mode());
        let has_holes = status.allocated_bytes() / 512 < status.bytes().div_ceil(512);
        let extents = match self.choice.holes {
            HoleSearch::Asked if has_holes => extents(&file, status.bytes()),
            HoleSearch::Zeros if has_holes => blocks_with_data(&file, status.bytes()).map(Some),
            _ => Ok(None),
        };
        let extents = extents.map_err(|cause| (Operation::FindHoles, cause))?;
        Ok(Inside::File { file, counted: self.ahead.count_open(), extents })
    }

    /// Opens what was looked at by name: what is opened is what is archived, and another file may have got the name since.
    fn open(&self, at: &At<'_>, status: &Status) -> Result<File, Failed> {
        let opened = match self.choice.links {
            Links::Followed => at.place.directory.open(at.name, how::through_links(how::FILE), 0),
            Links::Kept => at.place.directory.open(at.name, how::FILE, 0),
        };
        let file = File::from(opened.map_err(|cause| (Operation::Open, cause))?);
        let now = Status::of(&file).map_err(|cause| (Operation::Look, cause))?;
        if !now.is_regular() || now.identity() != status.identity() {
            return Err((Operation::Open, io::Error::other("another file has got its name meanwhile")));
        }
        Ok(file)
    }

    /// Opens a directory and reads its names. None where that is for later.
    fn directory(
        &self,
        at: &At<'_>,
        path: &[u8],
        when: When,
        attributes: &mut Vec<Attribute>,
    ) -> Result<Option<Inside>, Failed> {
        let stays_out = at.depth == OperandDepth::Itself;
        if stays_out && !self.choice.looks_into_files() {
            return Ok(Some(Inside::Directory(None)));
        }
        if when == When::Ahead && self.ahead.has_listed_enough() {
            return Ok(None);
        }
        let opened = match (self.choice.links, at.place.device) {
            (Links::Kept, Some(_)) => at.place.directory.open(at.name, how::DIRECTORY, 0),
            _ => at.place.directory.open(at.name, how::through_links(how::DIRECTORY), 0),
        };
        let directory = Arc::new(opened.map_err(|cause| (Operation::Open, cause))?);
        let status = Status::of(&directory).map_err(|cause| (Operation::Look, cause))?;
        *attributes = self.attributes_of(&Source::Open(directory.as_fd()), status.mode());
        let is_elsewhere =
            self.choice.stays_on_device && at.place.device.is_some_and(|device| device != status.identity().device);
        if stays_out || is_elsewhere {
            return Ok(Some(Inside::Directory(None)));
        }
        let tag = self.choice.tags.iter().position(|tag| tag.is_in(Directory::of(&directory)));
        let names_max = if when == When::Ahead { NAMES_AHEAD_MAX } else { usize::MAX };
        let names = self.names(&directory, tag.map(|tag| &self.choice.tags[tag]), names_max);
        let Some(names) = names.map_err(|cause| (Operation::Read, cause))? else { return Ok(None) };
        let _counted = [self.ahead.count_open(), self.ahead.count_listed(names.len())];
        let scope = at.place.scope.inside(Directory::of(&directory), &self.choice.ignore_files);
        let scope = scope.map_err(|cause| (Operation::ReadIgnoreFile, cause))?;
        let inside = ListedDirectory { directory: &directory, device: status.identity().device, scope: &scope };
        let listing = self.ahead.list(names, at, path, inside);
        let (identity, ctime) = (status.identity(), status.status_changed_at());
        Ok(Some(Inside::Directory(Some(Opened { directory, _counted, identity, ctime, scope, tag, listing }))))
    }

    /// The names in a directory; none where there are more than `max`.
    fn names(&self, directory: &OwnedFd, tag: Option<&Tag>, max: usize) -> io::Result<Option<Names>> {
        if tag.is_some_and(|tag| tag.keeps != Keeps::DirectoryAndTag) {
            return Ok(Some(Names::default()));
        }
        let is_wanted = |name: &[u8]| tag.is_none_or(|tag| name == tag.name);
        let mut names = Names::default();
        let mut buffer = Vec::with_capacity(LIST_BYTES);
        // Not opened again by its name `.`, which a directory without `x` does not allow.
        let mut list = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = list.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && is_wanted(name) {
                names.push(name, entry.ino(), entry.file_type()).map_err(io::Error::other)?;
            }
            if names.len() > max {
                return Ok(None);
            }
        }
        names.sort(self.choice.sort);
        Ok(Some(names))
    }

    /// What cannot be read of them is not there for us.
    fn attributes_of(&self, source: &Source<'_>, mode: u32) -> Vec<Attribute> {
        let choice = self.choice;
        if !choice.looks_into_files() {
            return Vec::new();
        }
        // LIMIT: the kernel's own bounds of the list and of one value.
        let mut list = vec![0_u8; 64 << 10];
        let Ok(length) = source.names(&mut list) else { return Vec::new() };
        let mut names: Vec<&[u8]> = list[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()).collect();
        // COMPAT: lists stand first, then the label.
        names.sort_unstable_by_key(|&name| {
            (LISTS_AND_LABEL.iter().position(|first| *first == name).unwrap_or(usize::MAX), name)
        });
        let mut value = vec![0_u8; 64 << 10];
        let mut attributes = Vec::new();
        let has = |name: &[u8]| names.contains(&name);
        if choice.lists && has(DEFAULT_LIST) && !has(ACCESS_LIST) {
            // COMPAT: what the mode says is written as a list where only what is made in the directory has one.
            attributes.push(Attribute { name: AttributeName::AccessList, value: access_list::of_mode(mode) });
        }
        for name in names {
            let Ok(length) = source.value(name, &mut value) else { continue };
            let value = value[..length].to_vec();
            let leaves = || choice.leaves_attribute.as_ref().is_some_and(|leaves| leaves(name));
            let list = |kind: AttributeName| choice.lists.then_some(kind).zip(access_list::to_text(&value));
            let attribute = match name {
                ACCESS_LIST => list(AttributeName::AccessList),
                DEFAULT_LIST => list(AttributeName::DefaultList),
                LABEL if choice.labels => Some((AttributeName::Selinux, value.clone())),
                _ => None,
            };
            attributes.extend(attribute.map(|(name, value)| Attribute { name, value }));
            // COMPAT: a label is an extended attribute, too.
            if choice.attributes && ![ACCESS_LIST, DEFAULT_LIST].contains(&name) && !leaves() {
                attributes.push(Attribute { name: AttributeName::Extended(name.to_vec()), value });
            }
        }
        // COMPAT: the label stands first, and among the extended attributes once more.
        attributes.sort_by_key(|attribute| matches!(attribute.name, AttributeName::Extended(_)));
        attributes
    }
}

/// What has attributes: an open file, or what cannot be opened without harm, by its path.
enum Source<'a> {
    Open(BorrowedFd<'a>),
    Named(Vec<u8>, Links),
}

impl<'a> Source<'a> {
    /// What is at a name that starts at `directory`. Needs `/proc`.
    fn at(directory: Directory<'a>, name: &[u8], links: Links) -> Self {
        let mut path = Vec::new();
        if !name.starts_with(b"/") {
            path.extend_from_slice(&own_path(&directory));
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Self::Named(path, links)
    }

    fn names(&self, list: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            Self::Open(file) => fs::flistxattr(file, list),
            Self::Named(path, Links::Kept) => fs::llistxattr(path.as_slice(), list),
            Self::Named(path, Links::Followed) => fs::listxattr(path.as_slice(), list),
        }
    }

    fn value(&self, name: &[u8], value: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            Self::Open(file) => fs::fgetxattr(file, name, value),
            Self::Named(path, Links::Kept) => fs::lgetxattr(path.as_slice(), name, value),
            Self::Named(path, Links::Followed) => fs::getxattr(path.as_slice(), name, value),
        }
    }
}

fn kind(status: &Status) -> Option<Kind> {
    Some(match status.file_type() {
        FileType::Regular => Kind::Regular,
        FileType::Directory => Kind::Directory,
        FileType::SymbolicLink => Kind::Symlink,
        FileType::CharacterDevice => Kind::CharacterDevice,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket | FileType::Other => return None,
    })
}

/// Where data are; an empty stretch at the end tells the size, as GNU tar writes it. None on file systems that do not know their holes.
fn extents(file: &File, size: u64) -> io::Result<Option<Vec<Extent>>> {
    let mut extents = Vec::new();
    let mut at = 0;
    while at < size {
        let from = match seek(file, SeekFrom::Data(at)) {
            Ok(from) => from,
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let end = seek(file, SeekFrom::Hole(from))?.min(size);
        if end <= from {
            break;
        }
        extents.push(Extent { offset: from, bytes: end - from });
        at = end;
    }
    extents.push(Extent { offset: size, bytes: 0 });
    Ok(Some(extents))
}

/// Where blocks are that are not all zeros, found by reading them. COMPAT: neighbours as one.
fn blocks_with_data(file: &File, size: u64) -> io::Result<Vec<Extent>> {
    let (mut extents, mut at) = (Vec::<Extent>::new(), 0);
    let mut buffer = vec![0; 64 * BLOCK_BYTES];
    while at < size {
        let read = sys::at_offset::read_full_at(file, &mut buffer, at)?;
        for block in buffer[..read].chunks(BLOCK_BYTES).filter(|_| read > 0) {
            let bytes = (block.len() as u64).min(size - at);
            if block.iter().any(|&byte| byte != 0) {
                match extents.last_mut() {
                    Some(last) if last.offset + last.bytes == at => last.bytes += bytes,
                    _ => extents.push(Extent { offset: at, bytes }),
                }
            }
            at += bytes;
        }
        if read < buffer.len() {
            break;
        }
    }
    // COMPAT: only behind a hole at the end.
    if extents.last().is_none_or(|last| last.offset + last.bytes < size) {
        extents.push(Extent { offset: size, bytes: 0 });
    }
    Ok(extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_found_and_the_end_is_told() {
        let file = tempfile::tempfile().expect("a file");
        sys::at_offset::write_all_at(&file, &[1; 4096], 1 << 20).expect("write");
        file.set_len(2 << 20).expect("truncate");
        let extents = extents(&file, 2 << 20).expect("seek").expect("holes are known");
        assert_eq!(extents.last(), Some(&Extent { offset: 2 << 20, bytes: 0 }));
        // A file system without holes says that all is data.
        assert!(extents.len() <= 3 && extents.iter().any(|extent| extent.bytes >= 4096), "{extents:?}");
    }
}
