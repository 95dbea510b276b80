//! Folders whose metadata come when everything in them is there. Kept by name in the folder above, and gone through from there, so that
//! folders in one another cost what they are and not what their paths would: in memory, and in names that the kernel looks up.

use super::name::Name;
use super::way::Way;
use crate::member::{Attribute, Kind, Member, Time};
use crate::place::Root;
use std::collections::{HashMap, hash_map};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use sys::tree_calls::{self, Open};

/// What a folder gets: what is needed of its member, since there may be hundreds of thousands.
pub struct Later {
    mode: u32,
    owner: (u64, u64),
    mtime: Time,
    atime: Option<Time>,
    attributes: Box<[Attribute]>,
    /// Where its header stands in the archive.
    pub header_offset: u64,
    name: Name,
}

impl Later {
    fn of(member: &Member, name: Name) -> Self {
        let Member { mode, uid, gid, mtime, atime, header_offset, .. } = *member;
        let attributes = member.attributes.clone().into();
        Self { mode, owner: (uid, gid), mtime, atime, attributes, header_offset, name }
    }

    /// As the archive has it, without names.
    pub fn member(self) -> Member {
        let Self { mode, owner: (uid, gid), mtime, atime, attributes, header_offset, .. } = self;
        let (kind, attributes) = (Kind::Directory, attributes.into());
        Member { kind, mode, uid, gid, mtime, atime, attributes, header_offset, ..Member::default() }
    }
}

/// A folder of the archive, or on the way to one.
#[derive(Default)]
struct Node {
    inside: Inside,
    later: Option<Box<Later>>,
}

/// The folders in a folder, by name: mostly none, or one.
#[derive(Default)]
enum Inside {
    #[default]
    None,
    One(Box<[u8]>, usize),
    Many(HashMap<Box<[u8]>, usize>),
}

impl Inside {
    fn get(&self, name: &[u8]) -> Option<usize> {
        match self {
            Self::None => None,
            Self::One(only, node) => (**only == *name).then_some(*node),
            Self::Many(nodes) => nodes.get(name).copied(),
        }
    }

    fn insert(&mut self, name: &[u8], node: usize) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(name.into(), node),
            Self::One(only, first) => Self::Many([(only, first), (name.into(), node)].into()),
            Self::Many(mut nodes) => {
                nodes.insert(name.into(), node);
                Self::Many(nodes)
            }
        };
    }
}

/// Those of them that are still to be gone through.
enum Ahead {
    One(Option<(Box<[u8]>, usize)>),
    Many(Box<hash_map::IntoIter<Box<[u8]>, usize>>),
}

impl Ahead {
    fn of(inside: Inside) -> Self {
        match inside {
            Inside::None => Self::One(None),
            Inside::One(name, node) => Self::One(Some((name, node))),
            Inside::Many(nodes) => Self::Many(Box::new(nodes.into_iter())),
        }
    }

    fn next(&mut self) -> Option<(Box<[u8]>, usize)> {
        match self {
            Self::One(only) => only.take(),
            Self::Many(nodes) => nodes.next(),
        }
    }
}

/// All folders that get something later. The last of a path is in force.
pub struct LaterFolders {
    /// The first is the root.
    nodes: Vec<Node>,
    way: Way<usize>,
}

impl Default for LaterFolders {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], way: Way::default() }
    }
}

const ROOT: usize = 0;

impl LaterFolders {
    /// Notes what the folder at `member`'s path gets; `name` is what the archive calls it.
    pub fn note(&mut self, member: &Member, name: Name) {
        let path = member.path.as_slice();
        let mut at = ROOT;
        if !path.is_empty() {
            let ahead = self.way.leave_for(path, drop);
            at = self.way.last().copied().unwrap_or(ROOT);
            let mut parts = ahead.split(|&byte| byte == b'/').peekable();
            while let Some(part) = parts.next() {
                at = self.inside(at, part);
                if parts.peek().is_some() {
                    self.way.enter(part, at);
                }
            }
        }
        self.nodes[at].later = Some(Box::new(Later::of(member, name)));
    }

    /// Something else is at `path` now.
    pub fn forget(&mut self, path: &[u8]) {
        let ahead = self.way.leave_for(path, drop);
        let mut at = self.way.last().copied().unwrap_or(ROOT);
        let mut parts = ahead.split(|&byte| byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let Some(found) = self.nodes[at].inside.get(part) else { return };
            at = found;
            if parts.peek().is_some() {
                self.way.enter(part, at);
            }
        }
        self.nodes[at].later = None;
    }

    fn inside(&mut self, above: usize, name: &[u8]) -> usize {
        if let Some(found) = self.nodes[above].inside.get(name) {
            return found;
        }
        self.nodes.push(Node::default());
        let node = self.nodes.len() - 1;
        self.nodes[above].inside.insert(name, node);
        node
    }

    /// Calls `restore` with each folder and its name in the archive, those in a folder before the folder itself: a mode may bar the way.
    pub fn deepest_first(self, root: &Root, restore: impl FnMut(Later, Vec<u8>, io::Result<BorrowedFd<'_>>)) {
        let mut nodes = self.nodes;
        let top = std::mem::take(&mut nodes[ROOT]);
        let top = Level { at: opened(root.again()), path_bytes: 0, ahead: Ahead::of(top.inside), later: top.later };
        Descent { root, nodes, path: Vec::new(), levels: vec![top], restore }.go();
    }
}

/// LIMIT: folders that are held open, the deepest ones. One that was closed is found again from the one in it.
const OPEN_MAX: usize = 48;

/// Where a folder is.
enum At {
    Open(OwnedFd),
    /// Device and number of one that was open.
    Closed((u64, u64)),
    /// The kernel's number for why it cannot be opened, or none.
    Failed(Option<i32>),
}

fn opened(opened: io::Result<OwnedFd>) -> At {
    match opened {
        Ok(folder) => At::Open(folder),
        Err(error) => At::Failed(error.raw_os_error()),
    }
}

/// A folder that is being gone through.
struct Level {
    at: At,
    /// Bytes of [`Descent::path`] that are its path.
    path_bytes: usize,
    ahead: Ahead,
    later: Option<Box<Later>>,
}

struct Descent<'a, Restore> {
    root: &'a Root,
    nodes: Vec<Node>,
    path: Vec<u8>,
    levels: Vec<Level>,
    restore: Restore,
}

impl<Restore: FnMut(Later, Vec<u8>, io::Result<BorrowedFd<'_>>)> Descent<'_, Restore> {
    fn go(mut self) {
        while let Some(level) = self.levels.last_mut() {
            match level.ahead.next() {
                Some((name, node)) => self.enter(&name, node),
                None => self.leave(),
            }
        }
    }

    fn enter(&mut self, name: &[u8], node: usize) {
        let Node { inside, later } = std::mem::take(&mut self.nodes[node]);
        if self.levels.len() > 1 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        let Some(above) = self.levels.last() else { return };
        let at = match &above.at {
            At::Open(folder) => opened(self.open(folder.as_fd(), name, later.is_some())),
            At::Closed(_) => At::Failed(None),
            At::Failed(error) => At::Failed(*error),
        };
        self.levels.push(Level { at, path_bytes: self.path.len(), ahead: Ahead::of(inside), later });
        if let Some(far) = self.levels.len().checked_sub(OPEN_MAX + 1).filter(|&far| far > 0) {
            close(&mut self.levels[far]);
        }
    }

    /// A folder that gets something is never opened through a link; links on the way to one lead where they lead, beneath the root.
    fn open(&self, above: BorrowedFd<'_>, name: &[u8], is_to_be_changed: bool) -> io::Result<OwnedFd> {
        match tree_calls::open_at(above, name, Open::Folder) {
            Err(_) if !is_to_be_changed => self.root.open_folder(&self.path),
            opened => opened,
        }
    }

    /// The folder above is found again before this one gets a mode that may bar the way to it.
    fn leave(&mut self) {
        let Some(Level { at, path_bytes, later, .. }) = self.levels.pop() else { return };
        let above_bytes = self.levels.last().map_or(0, |above| above.path_bytes);
        if let Some(above) = self.levels.last_mut()
            && let At::Closed(identity) = above.at
        {
            above.at = opened(again(&at, identity, || self.root.open_folder(&self.path[..above_bytes])));
        }
        if let Some(later) = later {
            let name = later.name.whole(&self.path[..path_bytes]);
            let folder = match &at {
                At::Open(folder) => Ok(folder.as_fd()),
                At::Failed(Some(error)) => Err(io::Error::from_raw_os_error(*error)),
                At::Failed(None) | At::Closed(_) => Err(io::Error::other("it was moved meanwhile")),
            };
            (self.restore)(*later, name, folder);
        }
        self.path.truncate(above_bytes);
    }
}

/// Closes a folder, having noted which one it is.
fn close(level: &mut Level) {
    if let At::Open(folder) = &level.at
        && let Ok(status) = tree_calls::status_of(folder.as_fd())
    {
        level.at = At::Closed((status.dev, status.ino));
    }
}

/// The folder above `below`, if it is the one that it was: from there, or by its path.
fn again(below: &At, identity: (u64, u64), by_path: impl FnOnce() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let is_it = |folder: &OwnedFd| {
        tree_calls::status_of(folder.as_fd()).is_ok_and(|status| (status.dev, status.ino) == identity)
    };
    if let At::Open(below) = below
        && let Ok(found) = tree_calls::open_at(below.as_fd(), b"..", Open::Folder)
        && is_it(&found)
    {
        return Ok(found);
    }
    by_path().and_then(|found| if is_it(&found) { Ok(found) } else { Err(io::Error::other("it was moved meanwhile")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Reach;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    fn noted(folders: &[(&str, &str)]) -> LaterFolders {
        let mut later = LaterFolders::default();
        for (path, name) in folders {
            let member = Member { path: path.as_bytes().to_vec(), ..Member::default() };
            later.note(&member, Name::new(name.as_bytes(), path.as_bytes()));
        }
        later
    }

    /// The names in the order in which they come, with the numbers of errors.
    fn told(later: LaterFolders, root: &Path) -> Vec<(String, Option<i32>)> {
        let root = Root::open(root.as_os_str().as_bytes(), Reach::Beneath).expect("open");
        let mut told = Vec::new();
        later.deepest_first(&root, |_, name, folder| {
            told.push((
                String::from_utf8_lossy(&name).into_owned(),
                folder.err().and_then(|error| error.raw_os_error()),
            ));
        });
        told
    }

    #[test]
    fn each_folder_comes_once_and_behind_what_is_in_it() {
        let place = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(place.path().join("a/b/c")).expect("mkdir");
        std::fs::create_dir_all(place.path().join("e/f")).expect("mkdir");
        let mut later = noted(&[
            ("", "./"),
            ("a", "./a/"),
            ("a/b/c", "top/a/b/c//"),
            ("a/b", "./a/b"),
            ("a/b", "renamed"),
            ("gone/x", "gone/x/"),
            ("e", "e"),
        ]);
        later.forget(b"e");
        later.forget(b"e/f");
        later.forget(b"never/was");
        let told = told(later, place.path());
        let at = |name: &str| told.iter().position(|(told, _)| told == name).expect(name);
        assert_eq!(told.len(), 5, "{told:?}");
        assert!(at("top/a/b/c//") < at("renamed") && at("renamed") < at("./a/"), "{told:?}");
        assert_eq!(told[4], ("./".to_owned(), None));
        assert_eq!(told[at("gone/x/")].1, Some(2));
        assert!(told.iter().filter(|(_, error)| error.is_some()).count() == 1, "{told:?}");
    }

    #[test]
    fn a_chain_is_gone_through_and_its_links_are_not_followed_at_the_end() {
        let place = tempfile::tempdir().expect("a folder");
        let path = ["d"; 200].join("/");
        std::fs::create_dir_all(place.path().join(&path)).expect("mkdir");
        std::os::unix::fs::symlink("d/d/d", place.path().join("in")).expect("symlink");
        let ends = || path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let chain: Vec<&str> = ends().map(|end| &path[..end]).collect();
        let folders: Vec<(&str, &str)> =
            chain.iter().map(|path| (*path, *path)).chain([("in/d", "through"), ("in", "itself")]).collect();
        let told_of_all = told(noted(&folders), place.path());
        assert_eq!(told_of_all.len(), 202);
        let failed: Vec<_> = told_of_all.iter().filter(|(_, error)| error.is_some()).collect();
        assert_eq!(failed.len(), 2, "a link gets nothing, and nothing is found through it: {failed:?}");
        let through = told(noted(&[("in/d", "through")]), place.path());
        assert_eq!(through, [("through".to_owned(), None)]);
        let mut deepest_first: Vec<usize> = told_of_all.iter().map(|(name, _)| name.len()).collect();
        deepest_first.retain(|&bytes| bytes > 7);
        assert!(deepest_first.is_sorted_by(|one, other| one > other), "{deepest_first:?}");
    }
}
