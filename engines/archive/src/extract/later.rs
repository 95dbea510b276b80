//! Directories whose metadata come when everything in them is there. Kept by name in the directory above, and gone through from there, so that
//! directories in one another cost what they are and not what their paths would: in memory, and in names that the kernel looks up.

use super::name::Name;
use super::way::Way;
use crate::member::{Attribute, AttributeName, Kind, Member, Time};
use crate::place::Root;
use files::{Directory, Identity, LinksOnTheWay, Status, how};
use std::collections::{HashMap, hash_map};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a directory gets: what is needed of its member, since there may be hundreds of thousands.
pub struct Later {
    mode: u32,
    owner: (u64, u64),
    mtime: Time,
    rare: Option<Box<Rare>>,
    /// Where its header stands in the archive.
    pub header_offset: u64,
    name: Name,
}

/// What few directories get.
struct Rare {
    atime: Option<Time>,
    attributes: Vec<Attribute>,
}

impl Later {
    fn of(member: &Member, name: Name) -> Self {
        let Member { mode, uid, gid, mtime, atime, header_offset, ref attributes, .. } = *member;
        // What is said of names has come true by then.
        let attributes = attributes.iter().filter(|attribute| attribute.name != AttributeName::Listing);
        let attributes: Vec<_> = attributes.cloned().collect();
        let has_rare = atime.is_some() || !attributes.is_empty();
        let rare = has_rare.then(|| Box::new(Rare { atime, attributes }));
        Self { mode, owner: (uid, gid), mtime, rare, header_offset, name }
    }

    /// As the archive has it, without names.
    pub fn member(self) -> Member {
        let Self { mode, owner: (uid, gid), mtime, rare, header_offset, .. } = self;
        let (atime, attributes) = rare.map_or((None, Vec::new()), |rare| (rare.atime, rare.attributes));
        Member { kind: Kind::Directory, mode, uid, gid, mtime, atime, attributes, header_offset, ..Member::default() }
    }
}

/// A number of what is noted. LIMIT: four thousand millions of directories: what is noted of them has hundreds of gigabytes.
type Number = u32;

fn number(count: usize) -> Number {
    Number::try_from(count).expect("memory ends before the numbers do")
}

/// A directory of the archive, or on the way to one.
#[derive(Default)]
struct Node {
    inside: Inside,
    /// Where among [`LaterDirectories::laters`] it stands, once it has stood there.
    later: Option<Number>,
}

/// The directories in a directory, by name: mostly none, or one.
#[derive(Default)]
enum Inside {
    #[default]
    None,
    One(Box<[u8]>, Number),
    Many(Box<Names>),
}

/// Elsewhere, so that a directory with one directory in it or none, which is nearly every one, has no room for it.
struct Names(HashMap<Box<[u8]>, Number>);

impl Inside {
    fn get(&self, name: &[u8]) -> Option<Number> {
        match self {
            Self::None => None,
            Self::One(only, node) => (**only == *name).then_some(*node),
            Self::Many(nodes) => nodes.0.get(name).copied(),
        }
    }

    fn insert(&mut self, name: &[u8], node: Number) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(name.into(), node),
            Self::One(only, first) => Self::Many(Box::new(Names([(only, first), (name.into(), node)].into()))),
            Self::Many(mut nodes) => {
                nodes.0.insert(name.into(), node);
                Self::Many(nodes)
            }
        };
    }
}

/// Those of them that are still to be gone through.
enum Ahead {
    One(Option<(Box<[u8]>, Number)>),
    Many(Box<hash_map::IntoIter<Box<[u8]>, Number>>),
}

impl Ahead {
    fn of(inside: Inside) -> Self {
        match inside {
            Inside::None => Self::One(None),
            Inside::One(name, node) => Self::One(Some((name, node))),
            Inside::Many(nodes) => Self::Many(Box::new(nodes.0.into_iter())),
        }
    }

    fn next(&mut self) -> Option<(Box<[u8]>, Number)> {
        match self {
            Self::One(only) => only.take(),
            Self::Many(nodes) => nodes.next(),
        }
    }
}

/// All directories that get something later. The last of a path is in force.
pub struct LaterDirectories {
    /// The first is the root.
    nodes: Vec<Node>,
    /// What they get; nothing where something else stands there by now. In one place, since each by itself would take half as much again.
    laters: Vec<Option<Later>>,
    way: Way<Number>,
}

impl Default for LaterDirectories {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], laters: Vec::new(), way: Way::default() }
    }
}

const ROOT: Number = 0;

/// What a directory gets that comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// What comes with it now.
    Anew,
    /// What came first: directories that are there stay as they are.
    AsBefore,
}

impl LaterDirectories {
    /// Notes what the directory at `member`'s path gets; `name` is what the archive calls it; `again` is for one that came before.
    pub fn note(&mut self, member: &Member, name: Name, again: Again) {
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
        let later = Some(Later::of(member, name));
        match self.nodes[at as usize].later {
            Some(there) if again == Again::AsBefore && self.laters[there as usize].is_some() => {}
            Some(there) => self.laters[there as usize] = later,
            None => {
                self.nodes[at as usize].later = Some(number(self.laters.len()));
                self.laters.push(later);
            }
        }
    }

    /// Something else is at `path` now.
    pub fn forget(&mut self, path: &[u8]) {
        let ahead = self.way.leave_for(path, drop);
        let mut at = self.way.last().copied().unwrap_or(ROOT);
        let mut parts = ahead.split(|&byte| byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let Some(found) = self.nodes[at as usize].inside.get(part) else { return };
            at = found;
            if parts.peek().is_some() {
                self.way.enter(part, at);
            }
        }
        if let Some(there) = self.nodes[at as usize].later {
            self.laters[there as usize] = None;
        }
    }

    fn inside(&mut self, above: Number, name: &[u8]) -> Number {
        if let Some(found) = self.nodes[above as usize].inside.get(name) {
            return found;
        }
        let node = number(self.nodes.len());
        self.nodes.push(Node::default());
        self.nodes[above as usize].inside.insert(name, node);
        node
    }

    /// Calls `restore` with each directory and its name in the archive, those in a directory before the directory itself: a mode may bar the way.
    pub fn deepest_first(
        self,
        root: &Root,
        open_max: usize,
        restore: impl FnMut(Later, Vec<u8>, io::Result<BorrowedFd<'_>>),
    ) {
        let Self { mut nodes, laters, .. } = self;
        let top = std::mem::take(&mut nodes[ROOT as usize]);
        let top = Level { at: opened(root.again()), path_bytes: 0, ahead: Ahead::of(top.inside), later: top.later };
        Descent { root, nodes, laters, path: Vec::new(), levels: vec![top], open_max, restore }.go();
    }
}

/// LIMIT: directories that are held open where descriptors are enough, the deepest ones. One that was closed is found again from the one in it.
pub const OPEN_MAX: usize = 48;

/// Where a directory is.
enum At {
    Open(OwnedFd),
    /// Which one it was.
    Closed(Identity),
    /// The kernel's number for why it cannot be opened, or none.
    Failed(Option<i32>),
}

fn opened(opened: io::Result<OwnedFd>) -> At {
    match opened {
        Ok(directory) => At::Open(directory),
        Err(error) => At::Failed(error.raw_os_error()),
    }
}

/// A directory that is being gone through.
struct Level {
    at: At,
    /// Bytes of [`Descent::path`] that are its path.
    path_bytes: usize,
    ahead: Ahead,
    later: Option<Number>,
}

struct Descent<'a, Restore> {
    root: &'a Root,
    nodes: Vec<Node>,
    laters: Vec<Option<Later>>,
    path: Vec<u8>,
    levels: Vec<Level>,
    open_max: usize,
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

    fn enter(&mut self, name: &[u8], node: Number) {
        let Node { inside, later } = std::mem::take(&mut self.nodes[node as usize]);
        if self.levels.len() > 1 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        let Some(above) = self.levels.last() else { return };
        let at = match &above.at {
            At::Open(directory) => opened(self.open(Directory::of(directory), name, self.is_to_be_changed(later))),
            At::Closed(_) => At::Failed(None),
            At::Failed(error) => At::Failed(*error),
        };
        self.levels.push(Level { at, path_bytes: self.path.len(), ahead: Ahead::of(inside), later });
        if let Some(far) = self.levels.len().checked_sub(self.open_max + 1).filter(|&far| far > 0) {
            close(&mut self.levels[far]);
        }
    }

    fn is_to_be_changed(&self, later: Option<Number>) -> bool {
        later.is_some_and(|there| self.laters[there as usize].is_some())
    }

    /// A directory that gets something is never opened through a link; links on the way to one lead where they lead, beneath the root.
    fn open(&self, above: Directory<'_>, name: &[u8], is_to_be_changed: bool) -> io::Result<OwnedFd> {
        if name.is_empty() {
            return by_path(self.root, &self.path);
        }
        match above.open(name, how::DIRECTORY, 0) {
            Err(_) if !is_to_be_changed => by_path(self.root, &self.path),
            // One that was there before: its mode is about to be another.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => above.open_shut(name),
            opened => opened,
        }
    }

    /// The directory above is found again before this one gets a mode that may bar the way to it.
    fn leave(&mut self) {
        let Some(Level { at, path_bytes, later, .. }) = self.levels.pop() else { return };
        let above_bytes = self.levels.last().map_or(0, |above| above.path_bytes);
        if let Some(above) = self.levels.last_mut()
            && let At::Closed(identity) = above.at
        {
            above.at = opened(again(&at, identity, || by_path(self.root, &self.path[..above_bytes])));
        }
        if let Some(later) = later.and_then(|there| self.laters[there as usize].take()) {
            let name = later.name.whole(&self.path[..path_bytes]);
            let directory = match &at {
                At::Open(directory) => Ok(directory.as_fd()),
                At::Failed(Some(error)) => Err(io::Error::from_raw_os_error(*error)),
                At::Failed(None) | At::Closed(_) => Err(io::Error::other("it was moved meanwhile")),
            };
            (self.restore)(later, name, directory);
        }
        self.path.truncate(above_bytes);
    }
}

/// An absolute name begins with the root of everything, which has no name.
fn by_path(root: &Root, path: &[u8]) -> io::Result<OwnedFd> {
    root.open_directory(if path.is_empty() { b"/" } else { path }, LinksOnTheWay::FollowBeneath)
}

/// Closes a directory, having noted which one it is.
fn close(level: &mut Level) {
    if let At::Open(directory) = &level.at
        && let Ok(status) = Status::of(directory)
    {
        level.at = At::Closed(status.identity());
    }
}

/// The directory above `below`, if it is the one that it was: from there, or by its path.
fn again(below: &At, identity: Identity, by_path: impl FnOnce() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    if let At::Open(below) = below
        && let Ok(Some(found)) = Directory::of(below).open_same(c"..", identity)
    {
        return Ok(found);
    }
    let found = by_path()?;
    let is_it = Status::of(&found).is_ok_and(|status| status.identity() == identity);
    if is_it { Ok(found) } else { Err(io::Error::other("it was moved meanwhile")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Reach;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    fn noted(directories: &[(&str, &str)]) -> LaterDirectories {
        let mut later = LaterDirectories::default();
        for (path, name) in directories {
            let member = Member { path: path.as_bytes().to_vec(), ..Member::default() };
            later.note(&member, Name::new(name.as_bytes(), path.as_bytes()), Again::Anew);
        }
        later
    }

    /// The names in the order in which they come, with the numbers of errors.
    fn told(later: LaterDirectories, root: &Path) -> Vec<(String, Option<i32>)> {
        let root = Root::open(root.as_os_str().as_bytes(), Reach::Beneath).expect("open");
        let mut told = Vec::new();
        later.deepest_first(&root, OPEN_MAX, |_, name, directory| {
            told.push((
                String::from_utf8_lossy(&name).into_owned(),
                directory.err().and_then(|error| error.raw_os_error()),
            ));
        });
        told
    }

    #[test]
    fn each_directory_comes_once_and_behind_what_is_in_it() {
        let place = tempfile::tempdir().expect("a directory");
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
        let place = tempfile::tempdir().expect("a directory");
        let path = ["d"; 200].join("/");
        std::fs::create_dir_all(place.path().join(&path)).expect("mkdir");
        std::os::unix::fs::symlink("d/d/d", place.path().join("in")).expect("symlink");
        let ends = || path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let chain: Vec<&str> = ends().map(|end| &path[..end]).collect();
        let directories: Vec<(&str, &str)> =
            chain.iter().map(|path| (*path, *path)).chain([("in/d", "through"), ("in", "itself")]).collect();
        let told_of_all = told(noted(&directories), place.path());
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
