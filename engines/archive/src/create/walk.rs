//! Goes through the files that are to be archived, in one order whatever the number of hands, and says what each of them is.
//! Opens regular files, reads none. Every name is used relative to the descriptor of its folder.

use super::choice::{Choice, HardLinks, Links, Operand, Renamed, Sort};
use super::tags::Keeps;
use super::{Event, Source as FileData, Told};
use crate::access_list;
use crate::member::{Attribute, AttributeName, Device, Extent, Kind, Member, Time};
use rustix::fs::{Dir, FileType, SeekFrom, fgetxattr, flistxattr, seek};
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use sys::entry::flags;
use sys::straight;
use sys::tree_calls::{self, Open, Status};

/// As `tree_calls` opens a file for reading.
const FILE: i32 = flags::O_RDONLY | flags::O_NOFOLLOW | flags::O_NONBLOCK | flags::O_NOCTTY;

/// LIMIT: folders that are held open, the deepest ones. One that was closed is found again from the one in it.
const OPEN_MAX: usize = 64;

/// A folder that is being gone through.
struct Level {
    /// None while it is closed.
    folder: Option<Arc<OwnedFd>>,
    /// Bytes of [`Walk::path`] that are its name, with a slash.
    path_bytes: usize,
    /// None when all of them were had: one level more for each of a hundred thousand should take little.
    names: Option<Box<Names>>,
    /// Device and number.
    identity: (u64, u64),
    /// When it had been changed before its names were read.
    ctime: (i64, u32),
}

/// The names in a folder, one behind the other: a folder may have a million of them.
struct Names {
    bytes: Vec<u8>,
    ahead: std::vec::IntoIter<Name>,
}

/// A name in a folder.
struct Name {
    from: usize,
    ino: u64,
    /// LIMIT: the kernel's own: a name has 255 bytes at most.
    bytes: u8,
    /// The folder says that it is a regular file.
    is_file: bool,
}

impl Name {
    fn of<'n>(&self, bytes: &'n [u8]) -> &'n [u8] {
        &bytes[self.from..self.from + usize::from(self.bytes)]
    }
}

impl Names {
    /// None where there are no names.
    fn new(bytes: Vec<u8>, names: Vec<Name>) -> Option<Box<Self>> {
        (!names.is_empty()).then(|| Box::new(Self { bytes, ahead: names.into_iter() }))
    }
}

/// The next name, and whether the folder says that it is a regular file.
fn next_of(names: &mut Option<Box<Names>>) -> Option<(Vec<u8>, bool)> {
    let held = names.as_mut()?;
    let name = held.ahead.next()?;
    let next = (name.of(&held.bytes).to_vec(), name.is_file);
    if held.ahead.len() == 0 {
        *names = None;
    }
    Some(next)
}

/// A member, and its data.
pub struct Found {
    /// It.
    pub member: Member,
    /// Its data, where it has any.
    pub data: Option<Arc<FileData>>,
}

/// Where a name stands.
struct At<'a> {
    folder: BorrowedFd<'a>,
    name: &'a [u8],
    /// From where the walk began.
    path: &'a [u8],
    /// File system of the folder; none for what was named.
    device: Option<u64>,
}

/// What was tried, and why it failed.
type Failed = (&'static str, io::Error);

/// Goes through all operands.
pub struct Walk<'a> {
    choice: &'a Choice,
    operands: std::vec::IntoIter<Operand>,
    levels: Vec<Level>,
    /// The name of the deepest level, with a slash.
    path: Vec<u8>,
    first_names: HashMap<(u64, u64), Vec<u8>>,
    owners: HashMap<u32, Vec<u8>>,
    groups: HashMap<u32, Vec<u8>>,
    removed_was_told: bool,
    /// Counts files that are open.
    open_files: Arc<AtomicUsize>,
}

impl<'a> Walk<'a> {
    /// From the first operand on.
    pub fn new(choice: &'a Choice, operands: Vec<Operand>) -> Self {
        Self {
            choice,
            operands: operands.into_iter(),
            levels: Vec::new(),
            path: Vec::new(),
            first_names: HashMap::new(),
            owners: HashMap::new(),
            groups: HashMap::new(),
            removed_was_told: false,
            open_files: Arc::default(),
        }
    }

    /// The next member. What cannot be archived goes to `tell`.
    pub fn next(&mut self, tell: &mut Told) -> Option<Found> {
        loop {
            let (folder, name, is_file, path, device) = match self.levels.last_mut() {
                Some(Level { folder: Some(folder), names, identity, .. }) => match next_of(names) {
                    Some((name, is_file)) => {
                        let path = [self.path.as_slice(), &name].concat();
                        (Arc::clone(folder), name, is_file, path, Some(identity.0))
                    }
                    None => {
                        self.leave(tell);
                        continue;
                    }
                },
                Some(Level { folder: None, .. }) => {
                    self.leave(tell);
                    continue;
                }
                None => {
                    let Operand { folder, name } = self.operands.next()?;
                    let end = name.iter().rposition(|&byte| byte != b'/').map_or(name.len().min(1), |last| last + 1);
                    (folder, name.clone(), false, name[..end].to_vec(), None)
                }
            };
            if self.choice.excluded.iter().any(|pattern| pattern.matches(&path)) {
                continue;
            }
            let at = At { folder: folder.as_fd(), name: &name, path: &path, device };
            let opened = self.status(folder.as_fd(), &name, is_file);
            let looked = opened.and_then(|(status, file)| self.look(&at, status, file, tell));
            match looked {
                Ok(Some(found)) => return Some(found),
                Ok(None) => {}
                // The folder had it; who names what is not there has made a mistake.
                Err((_, cause)) if device.is_some() && cause.kind() == io::ErrorKind::NotFound => {
                    tell.push(Event::Vanished { path });
                }
                Err((operation, cause)) => tell.push(Event::NotArchived { path, operation, cause }),
            }
        }
    }

    /// Goes back to the folder above, which is opened again where it was closed meanwhile.
    fn leave(&mut self, tell: &mut Told) {
        let Some(left) = self.levels.pop() else { return };
        let now = left.folder.as_ref().and_then(|folder| tree_calls::status_of(folder.as_fd()).ok());
        if now.is_some_and(|now| now.ctime != left.ctime) {
            let slashes = usize::from(self.path.len() > 1);
            tell.push(Event::Changed { path: self.path[..self.path.len() - slashes].to_vec() });
        }
        let path_bytes = self.levels.last().map_or(0, |level| level.path_bytes);
        self.path.truncate(path_bytes);
        let Some(above) = self.levels.last_mut().filter(|above| above.folder.is_none()) else { return };
        let again = left.folder.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)).and_then(|folder| {
            let again = tree_calls::open_at(folder.as_fd(), b"..", Open::Folder)?;
            let status = tree_calls::status_of(again.as_fd())?;
            let is_it = (status.dev, status.ino) == above.identity;
            if is_it { Ok(again) } else { Err(io::Error::other("what was in it has been moved meanwhile")) }
        });
        match again {
            Ok(again) => above.folder = Some(Arc::new(again)),
            Err(cause) if above.names.is_some() => {
                let path = self.path.clone();
                tell.push(Event::NotArchived { path, operation: "go back into it", cause });
            }
            // Nothing was left in it.
            Err(_) => {}
        }
    }

    /// What is at a name. What the folder says to be a file is opened first, which saves a call; whatever else it turns out to
    /// be, or cannot be opened, is looked at by name.
    #[inline(always)]
    fn status(&self, folder: BorrowedFd<'_>, name: &[u8], is_file: bool) -> Result<(Status, Option<File>), Failed> {
        if is_file
            && straight::is_free()
            && let Ok(terminated) = CString::new(name)
            && let Ok(file) = straight::open_at(folder, &terminated, FILE, 0)
            && let Ok(status) = straight::whole_status_of(file.as_fd())
            && status.is_file()
        {
            return Ok((status, Some(File::from(file))));
        }
        if is_file
            && let Ok(file) = tree_calls::open_at(folder, name, Open::File)
            && let Ok(status) = tree_calls::status_of(file.as_fd())
            && status.is_file()
        {
            return Ok((status, Some(File::from(file))));
        }
        let looked = match self.choice.links {
            Links::Followed => tree_calls::status_behind(folder, name),
            Links::Kept => tree_calls::status_at(folder, name),
        };
        Ok((looked.map_err(|cause| ("look at it", cause))?, None))
    }

    /// Opens what was looked at by name: what is opened is what is archived, and another file may have got the name since.
    fn open(&self, folder: BorrowedFd<'_>, name: &[u8], status: &Status) -> Result<File, Failed> {
        let opened = match self.choice.links {
            Links::Followed => tree_calls::open_anywhere(folder, name, Open::File),
            Links::Kept => tree_calls::open_at(folder, name, Open::File),
        };
        let file = File::from(opened.map_err(|cause| ("open it", cause))?);
        let now = tree_calls::status_of(file.as_fd()).map_err(|cause| ("look at it", cause))?;
        if !now.is_file() || (now.dev, now.ino) != (status.dev, status.ino) {
            return Err(("open it", io::Error::other("another file has got its name meanwhile")));
        }
        Ok(file)
    }

    fn look(
        &mut self,
        at: &At<'_>,
        status: Status,
        file: Option<File>,
        tell: &mut Told,
    ) -> Result<Option<Found>, Failed> {
        let At { folder, name, path, .. } = *at;
        if self.choice.never.contains(&(status.dev, status.ino)) {
            tell.push(Event::IsTheArchive { path: path.to_vec() });
            return Ok(None);
        }
        let Some(kind) = kind(&status) else {
            tell.push(Event::Socket { path: path.to_vec() });
            return Ok(None);
        };
        if kind != Kind::Directory && self.choice.newer.is_some_and(|newer| newer.leaves(&status)) {
            return Ok(None);
        }
        let mut member = self.member(&status, kind, path, tell);
        if kind == Kind::Symlink {
            member.link = tree_calls::read_link(folder, name).map_err(|cause| ("read where it leads", cause))?;
            if let Some(rename) = &self.choice.rename {
                member.link = rename(&member.link, Renamed::SymbolicLink);
            }
        }
        let is_no_newer = self.is_no_newer(&member);
        if kind != Kind::Directory && is_no_newer {
            return Ok(None);
        }
        if self.is_later_name(&status, &mut member) {
            return Ok(Some(Found { member, data: None }));
        }
        let data = match kind {
            Kind::Regular => {
                let file = file.map_or_else(|| self.open(folder, name, &status), Ok)?;
                self.data(&status, &mut member, file, path)?
            }
            Kind::Directory => {
                let keeps = self.enter(at, &mut member, tell)?;
                if is_no_newer || keeps == Keeps::Nothing {
                    return Ok(None);
                }
                None
            }
            _ => None,
        };
        Ok(Some(Found { member, data }))
    }

    /// Whether the archive has it as new already. Archives without parts of seconds say nothing about those.
    fn is_no_newer(&self, member: &Member) -> bool {
        let end = member.path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        self.choice.newer_than.get(&member.path[..end]).is_some_and(|there| match there.nanoseconds {
            0 => member.mtime.seconds <= there.seconds,
            _ => member.mtime <= *there,
        })
    }

    /// What it is, without data.
    fn member(&mut self, status: &Status, kind: Kind, path: &[u8], tell: &mut Told) -> Member {
        let instead = &self.choice.instead;
        let mtime = Time { seconds: status.mtime.0, nanoseconds: status.mtime.1 };
        let mut member = Member {
            path: self.stored_name(path, kind, tell),
            kind,
            mode: match &instead.mode {
                Some(rule) => rule.apply(status.mode & 0o7777, kind),
                None => status.mode & 0o7777,
            },
            uid: status.uid.into(),
            gid: status.gid.into(),
            mtime: instead.mtime.map_or(mtime, |new| new.of(mtime)),
            atime: Some(Time { seconds: status.atime.0, nanoseconds: status.atime.1 }),
            ctime: Some(Time { seconds: status.ctime.0, nanoseconds: status.ctime.1 }),
            ..Member::default()
        };
        if matches!(kind, Kind::CharacterDevice | Kind::BlockDevice) {
            member.device = Device { major: status.device.0, minor: status.device.1 };
        }
        if !self.choice.numeric {
            let known = |names: &mut HashMap<u32, Vec<u8>>, number, ask: fn(u32) -> Option<Vec<u8>>| {
                names.entry(number).or_insert_with(|| ask(number).unwrap_or_default()).clone()
            };
            member.owner = known(&mut self.owners, status.uid, sys::names::user_name);
            member.group = known(&mut self.groups, status.gid, sys::names::group_name);
        }
        for (instead, number, name) in
            [(&instead.owner, &mut member.uid, &mut member.owner), (&instead.group, &mut member.gid, &mut member.group)]
        {
            if let Some((given, called)) = instead {
                *number = *given;
                *name = if self.choice.numeric { Vec::new() } else { called.clone() };
            }
        }
        member
    }

    /// The name in the archive: renamed, nothing in front that leads out of where it will be extracted.
    fn stored_name(&mut self, path: &[u8], kind: Kind, tell: &mut Told) -> Vec<u8> {
        let rename = self.choice.rename.as_ref();
        let mut name = rename.map_or_else(|| path.to_vec(), |rename| rename(path, Renamed::Member));
        if !self.choice.keeps_absolute {
            let removed = removed_bytes(&name);
            if removed > 0 && !self.removed_was_told {
                self.removed_was_told = true;
                tell.push(Event::MadeRelative { removed: name[..removed].to_vec() });
            }
            name.drain(..removed);
        }
        if name.is_empty() {
            name.push(b'.');
        }
        if kind == Kind::Directory && !name.ends_with(b"/") {
            name.push(b'/');
        }
        name
    }

    /// Whether the file was archived under another name before; then the member is a link to that.
    fn is_later_name(&mut self, status: &Status, member: &mut Member) -> bool {
        if self.choice.hard_links == HardLinks::Doubled || status.links < 2 || status.is_folder() {
            return false;
        }
        // LIMIT: one name for each file with several; an archive of nothing else needs this much memory.
        match self.first_names.get(&(status.dev, status.ino)) {
            Some(first) => {
                member.kind = Kind::HardLink;
                member.link.clone_from(first);
                true
            }
            None => {
                self.first_names.insert((status.dev, status.ino), member.path.clone());
                false
            }
        }
    }

    fn data(
        &self,
        status: &Status,
        member: &mut Member,
        file: File,
        path: &[u8],
    ) -> Result<Option<Arc<FileData>>, Failed> {
        (member.size, member.stored_bytes) = (status.size, status.size);
        self.attributes(file.as_fd(), member);
        if self.choice.finds_holes && status.blocks < status.size.div_ceil(512) {
            let extents = extents(&file, status.size).map_err(|cause| ("look for its holes", cause))?;
            member.stored_bytes = extents.iter().map(|extent| extent.bytes).sum();
            member.sparse = Some(extents);
        }
        if member.stored_bytes == 0 {
            return Ok(None);
        }
        let extents = member.sparse.clone();
        Ok(Some(Arc::new(FileData::new(file, extents, path.to_vec(), status, &self.open_files))))
    }

    /// Opens a folder, to go on in it. What is archived of it.
    fn enter(&mut self, at: &At<'_>, member: &mut Member, tell: &mut Told) -> Result<Keeps, Failed> {
        let At { folder, name, path, device } = *at;
        if self.choice.folders.stays_out && !self.choice.looks_into_files() {
            return Ok(Keeps::All);
        }
        let opened = match (self.choice.links, device) {
            (Links::Kept, Some(_)) => tree_calls::open_at(folder, name, Open::Folder),
            _ => tree_calls::open_anywhere(folder, name, Open::Folder),
        };
        let opened = opened.map_err(|cause| ("open it", cause))?;
        let status = tree_calls::status_of(opened.as_fd()).map_err(|cause| ("look at it", cause))?;
        self.attributes(opened.as_fd(), member);
        if self.choice.folders.stays_out {
            return Ok(Keeps::All);
        }
        let is_loop = self.choice.links == Links::Followed
            && self.levels.iter().any(|level| level.identity == (status.dev, status.ino));
        if is_loop {
            return Err(("go into it", io::Error::other("it is a folder that it lies in")));
        }
        if self.choice.folders.stays_on_device && device.is_some_and(|device| device != status.dev) {
            return Ok(Keeps::All);
        }
        let tag = self.choice.tags.iter().find(|tag| tag.is_in(opened.as_fd()));
        if let Some(tag) = tag {
            tell.push(Event::Tagged { path: path.to_vec(), tag: tag.name.clone(), keeps: tag.keeps });
            if tag.keeps == Keeps::Nothing {
                return Ok(Keeps::Nothing);
            }
        }
        let is_wanted = |name: &[u8]| tag.is_none_or(|tag| tag.keeps == Keeps::FolderAndTag && name == tag.name);
        let names = self.names(&opened, is_wanted).map_err(|cause| ("read it", cause))?;
        self.path.clear();
        self.path.extend_from_slice(path);
        if !path.ends_with(b"/") {
            self.path.push(b'/');
        }
        self.levels.push(Level {
            folder: Some(Arc::new(opened)),
            path_bytes: self.path.len(),
            names,
            identity: (status.dev, status.ino),
            ctime: status.ctime,
        });
        // Where links are followed, what is above a folder is not where we came from.
        if self.choice.links == Links::Kept
            && let Some(far) = self.levels.len().checked_sub(OPEN_MAX + 1)
            && far > 0
        {
            self.levels[far].folder = None;
        }
        Ok(Keeps::All)
    }

    fn names(&self, folder: &OwnedFd, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<Option<Box<Names>>> {
        let (mut bytes, mut names): (Vec<u8>, Vec<Name>) = Default::default();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && entry.file_type() != FileType::Socket && is_wanted(name) {
                let is_file = entry.file_type() == FileType::RegularFile;
                let length = u8::try_from(name.len()).map_err(io::Error::other)?;
                names.push(Name { from: bytes.len(), ino: entry.ino(), bytes: length, is_file });
                bytes.extend_from_slice(name);
            }
        }
        match self.choice.sort {
            Sort::Name => names.sort_unstable_by(|one, other| one.of(&bytes).cmp(other.of(&bytes))),
            Sort::Inode => names.sort_unstable_by_key(|name| name.ino),
            Sort::None => {}
        }
        Ok(Names::new(bytes, names))
    }

    /// What cannot be read of them is not there for us.
    fn attributes(&self, file: BorrowedFd<'_>, member: &mut Member) {
        let choice = self.choice;
        if !choice.looks_into_files() {
            return;
        }
        // LIMIT: the kernel's own bounds of the list and of one value.
        let mut list = vec![0_u8; 64 << 10];
        let Ok(length) = flistxattr(file, &mut list) else { return };
        let mut names: Vec<&[u8]> = list[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        let mut value = vec![0_u8; 64 << 10];
        for name in names {
            let Ok(length) = fgetxattr(file, name, value.as_mut_slice()) else { continue };
            let value = value[..length].to_vec();
            let attribute = match name {
                b"system.posix_acl_access" => {
                    choice.lists.then_some(AttributeName::AccessList).zip(access_list::to_text(&value))
                }
                b"system.posix_acl_default" => {
                    choice.lists.then_some(AttributeName::DefaultList).zip(access_list::to_text(&value))
                }
                b"security.selinux" => choice.labels.then_some((AttributeName::Selinux, value)),
                name if choice.leaves_attribute.as_ref().is_some_and(|leaves| leaves(name)) => None,
                name => choice.attributes.then(|| (AttributeName::Extended(name.to_vec()), value)),
            };
            member.attributes.extend(attribute.map(|(name, value)| Attribute { name, value }));
        }
    }
}

fn kind(status: &Status) -> Option<Kind> {
    Some(match status.kind() {
        0o100_000 => Kind::Regular,
        0o040_000 => Kind::Directory,
        0o120_000 => Kind::Symlink,
        0o020_000 => Kind::CharacterDevice,
        0o060_000 => Kind::BlockDevice,
        0o010_000 => Kind::Fifo,
        _ => return None,
    })
}

/// Bytes at the front of a name that lead out: slashes, and everything up to the last `..`.
fn removed_bytes(name: &[u8]) -> usize {
    let mut behind = 0;
    let mut at = 0;
    for part in name.split(|&byte| byte == b'/') {
        at += part.len() + 1;
        if part == b".." {
            behind = at.min(name.len());
        }
    }
    behind + name[behind..].iter().take_while(|&&byte| byte == b'/').count()
}

/// Where data are; an empty stretch at the end tells the size, as GNU tar writes it.
fn extents(file: &File, size: u64) -> io::Result<Vec<Extent>> {
    let mut extents = Vec::new();
    let mut at = 0;
    while at < size {
        let from = match seek(file, SeekFrom::Data(at)) {
            Ok(from) => from,
            Err(rustix::io::Errno::NXIO) => break,
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
    Ok(extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_taken_off_the_front() {
        for (name, expected) in
            [("a/b", 0), ("/a", 1), ("//a", 2), ("../a", 3), ("a/../../b", 8), ("..", 2), ("a/..b", 0)]
        {
            assert_eq!(removed_bytes(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn holes_are_found_and_the_end_is_told() {
        let file = tempfile::tempfile().expect("a file");
        sys::at_offset::write_all_at(&file, &[1; 4096], 1 << 20).expect("write");
        file.set_len(2 << 20).expect("truncate");
        let extents = extents(&file, 2 << 20).expect("seek");
        assert_eq!(extents.last(), Some(&Extent { offset: 2 << 20, bytes: 0 }));
        // A file system without holes says that all is data.
        assert!(extents.len() <= 3 && extents.iter().any(|extent| extent.bytes >= 4096), "{extents:?}");
    }
}
