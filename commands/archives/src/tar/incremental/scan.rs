//! Goes through directories and decides what of each is archived: by the state that was noted before, or all of it.

use super::super::TarArgs;
use super::super::create::tell_of_tag;
use super::super::list::quoted;
use super::super::messages::plain;
use super::snapshot::{DirectoriesSnapshot, KnownDirectory};
use super::{beside, complain, tell};
use archive::create::{Choice, Keeps, Links, Operand};
use archive::member::Time;
use archive::place::listing::records;
use files::{Directory, FileType, Follow, Identity, Status, how, list_buffer, list_some};
use mh_kit::context::Context;
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

/// What came of it.
#[derive(Default)]
pub struct Scanned {
    pub operands: Vec<Operand>,
    pub directories: Vec<KnownDirectory>,
    pub failed: u64,
}

/// Of a directory all files are archived, or those that have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Children {
    All,
    Changed,
}

/// A scan at work.
pub struct Scan<'a> {
    context: &'a Context,
    args: &'a TarArgs,
    choice: &'a Choice,
    old: Option<&'a DirectoriesSnapshot>,
    by_name: HashMap<Vec<u8>, &'a KnownDirectory>,
    by_identity: HashMap<Identity, &'a KnownDirectory>,
    /// Names that directories had, and those that they have now.
    renames: Vec<(Vec<u8>, Vec<u8>)>,
    scanned: Scanned,
    files: Vec<Operand>,
    seen: HashSet<Identity>,
}

impl<'a> Scan<'a> {
    pub fn new(
        context: &'a Context,
        args: &'a TarArgs,
        choice: &'a Choice,
        old: Option<&'a DirectoriesSnapshot>,
    ) -> Self {
        let directories = old.map(|old| old.directories.as_slice()).unwrap_or_default();
        let checks_device = !args.incremental.no_check_device;
        let identity = |known: &KnownDirectory| Identity {
            device: if checks_device && !known.is_on_nfs { known.device } else { 0 },
            inode: known.inode,
        };
        Self {
            context,
            args,
            choice,
            old,
            by_name: directories.iter().map(|known| (known.name.clone(), known)).collect(),
            by_identity: directories.iter().map(|known| (identity(known), known)).collect(),
            renames: Vec::new(),
            scanned: Scanned::default(),
            files: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// One that was named, with all beneath.
    pub fn operand(&mut self, operand: Operand) {
        let status = Directory::of(&operand.directory).status(&operand.name, self.follow());
        match status {
            Ok(status) if status.is_directory() => {
                let at = self.scanned.operands.len();
                let device = status.identity().device;
                self.directory(&operand, operand.name.clone(), &status, device);
                self.say_renames(at);
            }
            Ok(status) if self.old.is_some_and(|old| is_older(&status, old.time)) => {}
            // What is no directory, or cannot be looked at, is the archive's own business.
            _ => self.scanned.operands.push(operand),
        }
    }

    /// All that is to be archived: directories in front of files.
    pub fn finish(mut self) -> Scanned {
        self.scanned.operands.append(&mut self.files);
        self.scanned
    }

    fn follow(&self) -> Follow {
        if self.choice.links == Links::Followed { Follow::Yes } else { Follow::No }
    }

    /// The first directory of those that were named tells of all that were renamed. COMPAT: those that free a name come before those that take it.
    fn say_renames(&mut self, at: usize) {
        let Some(listing) = self.scanned.operands.get_mut(at).and_then(|operand| operand.listing.as_mut()) else {
            return;
        };
        let mut left = std::mem::take(&mut self.renames);
        // The NUL at the end.
        listing.pop();
        while !left.is_empty() {
            // Nor before the directory that it lies in has got its name.
            let is_free =
                |(own, to): &(Vec<u8>, Vec<u8>)| !left.iter().any(|(from, above)| from == to || is_beneath(own, above));
            match left.iter().position(is_free) {
                Some(next) => {
                    let (from, to) = left.remove(next);
                    listing.extend([b"R", from.as_slice(), b"\0T", &to, b"\0"].concat());
                }
                None => {
                    // All wait for one another: one goes out of the way.
                    let (from, to) = left.remove(0);
                    let above = from.iter().rposition(|&byte| byte == b'/').map_or(&b"."[..], |slash| &from[..slash]);
                    listing.extend([b"X", above, b"\0R", &from, b"\0T\0"].concat());
                    left.push((Vec::new(), to));
                }
            }
        }
        listing.push(0);
    }

    fn directory(&mut self, root: &Operand, name: Vec<u8>, status: &Status, device_above: u64) {
        let opened = Directory::of(&root.directory).open(&name, how::through_links(how::DIRECTORY), 0);
        let listed = opened.and_then(|directory| Ok((names_in(&directory)?, directory)));
        let (names, directory) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                self.scanned.failed += 1;
                return complain(self.context, &name, "open", &error);
            }
        };
        // A directory that lies in itself by a link, or was named twice, is archived once.
        if !self.seen.insert(status.identity()) {
            return;
        }
        let is_on_nfs = is_on_nfs(&directory);
        let (children, known) = self.compare(&name, status, is_on_nfs);
        let stays_out = self.choice.stays_on_device && status.identity().device != device_above;
        let tag = self.choice.tags.iter().find(|tag| tag.is_in(Directory::of(&directory)));
        if let Some(tag) = tag {
            tell_of_tag(self.context, self.args, &name, tag);
        }
        if tag.is_some_and(|tag| tag.keeps == Keeps::Nothing) {
            return;
        }
        let before: HashSet<Vec<u8>> =
            known.map(|known| records(&known.listing).map(|(_, name)| name.to_vec()).collect()).unwrap_or_default();
        let mut listing = Vec::new();
        let mut beneath = Vec::new();
        for entry in names {
            let path = [name.as_slice(), if name.ends_with(b"/") { b"" } else { b"/" }, &entry].concat();
            let is_kept = !stays_out && tag.is_none_or(|tag| tag.keeps == Keeps::DirectoryAndTag && tag.name == entry);
            let letter = match is_kept && !root.scope.leaves_out(&path) {
                false => b'N',
                true => self.entry(&directory, &entry, &path, (children, before.contains(&entry)), &mut beneath),
            };
            if letter == b'Y' {
                self.files.push(beside(root, path));
            }
            listing.extend([&[letter], entry.as_slice(), b"\0"].concat());
        }
        let (seconds, identity) = (status.changed_at(), status.identity());
        let state = KnownDirectory {
            name: trimmed(&name).to_vec(),
            is_on_nfs,
            mtime: seconds,
            device: identity.device,
            inode: identity.inode,
            listing: listing.clone(),
        };
        self.scanned.directories.push(state);
        listing.push(0);
        self.scanned.operands.push(Operand { listing: Some(listing), ..beside(root, name) });
        for (path, status) in beneath {
            self.directory(root, path, &status, identity.device);
        }
    }

    /// The letter of an entry: a directory, a file that is archived, or one that is not.
    fn entry(
        &mut self,
        directory: &OwnedFd,
        entry: &[u8],
        path: &[u8],
        (children, was_there): (Children, bool),
        beneath: &mut Vec<(Vec<u8>, Status)>,
    ) -> u8 {
        let status = match Directory::of(directory).status(entry, self.follow()) {
            Ok(status) => status,
            Err(error) => {
                self.scanned.failed += 1;
                complain(self.context, path, "look", &error);
                return b'N';
            }
        };
        if status.is_directory() {
            beneath.push((path.to_vec(), status));
            return b'D';
        }
        let since = self.old.map(|old| old.time).filter(|_| children == Children::Changed && was_there);
        let is_old = since.is_some_and(|since| is_older(&status, since));
        let is_left = self.choice.never.contains(&status.identity()) || is_old;
        if is_left { b'N' } else { b'Y' }
    }

    /// What was known of a directory before, and whether all in it is to be archived.
    fn compare(&mut self, name: &[u8], status: &Status, is_on_nfs: bool) -> (Children, Option<&'a KnownDirectory>) {
        let checks_device = !self.args.incremental.no_check_device && !is_on_nfs;
        let identity = Identity {
            device: if checks_device { status.identity().device } else { 0 },
            inode: status.identity().inode,
        };
        let name = trimmed(name);
        let say = |keyword, what: &dyn Fn(fn(&[u8]) -> String) -> String| {
            tell(self.context, self.args, keyword, (&what(plain), &what(quoted)));
        };
        // As it was called then.
        let then = self.name_before(name);
        let by_name = self.by_name.get(&then).copied();
        let is_same = by_name.is_some_and(|known| {
            known.inode == identity.inode && (!checks_device || known.is_on_nfs || known.device == identity.device)
        });
        if is_same {
            return (Children::Changed, by_name);
        }
        match self.by_identity.get(&identity).copied() {
            Some(known) => {
                // COMPAT: quotes around the second name alone.
                let from = quoted(&known.name);
                say("rename-directory", &|shown| format!("{}: Directory has been renamed from {from}", shown(name)));
                // COMPAT: by the name that it has when those above it have theirs.
                self.renames.push((self.name_by_now(&known.name), name.to_vec()));
                (Children::Changed, Some(known))
            }
            None if by_name.is_some() => {
                say("rename-directory", &|shown| format!("{}: Directory has been renamed", shown(name)));
                (Children::All, None)
            }
            None => {
                say("new-directory", &|shown| format!("{}: Directory is new", shown(name)));
                (Children::All, None)
            }
        }
    }

    /// An old name of a directory when those above it have been renamed.
    fn name_by_now(&self, name: &[u8]) -> Vec<u8> {
        self.renames.iter().fold(name.to_vec(), |name, (from, to)| match is_beneath(&name, from) {
            true => [to.as_slice(), &name[from.len()..]].concat(),
            false => name,
        })
    }

    /// The name of a directory before one above it was renamed.
    fn name_before(&self, name: &[u8]) -> Vec<u8> {
        self.renames.iter().rev().fold(name.to_vec(), |name, (from, to)| match is_beneath(&name, to) {
            true => [from.as_slice(), &name[to.len()..]].concat(),
            false => name,
        })
    }
}

fn is_older(status: &Status, since: Time) -> bool {
    status.changed_at() < since && status.status_changed_at() < since
}

fn is_beneath(name: &[u8], directory: &[u8]) -> bool {
    name.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}

fn trimmed(name: &[u8]) -> &[u8] {
    archive::pattern::trimmed(name)
}

/// The names in a directory, by their bytes.
fn names_in(directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let (mut buffer, mut names) = (list_buffer(), Vec::new());
    let mut each = |name: &CStr, _: Option<FileType>| names.push(name.to_bytes().to_vec());
    while !list_some(Directory::of(directory), &mut buffer, &mut each)? {}
    names.sort_unstable();
    Ok(names)
}

/// What another machine has gets other numbers of devices each time.
fn is_on_nfs(directory: &OwnedFd) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|found| found.f_type == rustix::fs::NFS_SUPER_MAGIC)
}
