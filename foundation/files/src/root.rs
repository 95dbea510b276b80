//! The directory that everything goes beneath: paths are opened so that no link and no `..` leads out of it, with `openat2(2)`
//! or, where kernel or sandbox refuse that, name by name.

use crate::argument::PATH_BYTES_MAX;
use crate::directory::{Directory, Follow, LinksOnTheWay, how, path_of};
use crate::status::Status;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far paths below a root reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Not out of the directory, whatever links say.
    #[default]
    Beneath,
    /// As above, and no link on the way is followed: what stands at a path is really there.
    BeneathWithoutLinks,
    /// Anywhere, as the names say.
    Anywhere,
}

/// A directory beneath which all paths lead.
pub struct Root {
    directory: OwnedFd,
    reach: Reach,
    /// Whether the kernel resolves beneath; asked until it refuses.
    kernel_resolves: AtomicBool,
    /// Whether a directory may have been opened through a link.
    followed: AtomicBool,
}

/// LIMIT: links followed on the way to one directory, as for the kernel.
const LINKS_MAX: usize = 40;
/// LIMIT: what is resolved in one call; longer paths go in steps.
const STEP_BYTES: usize = PATH_BYTES_MAX - 256;

impl Root {
    /// Beneath `path`, which is opened as a person has typed it.
    pub fn open(path: &[u8], reach: Reach) -> io::Result<Self> {
        let path = if path.is_empty() { b"." } else { path };
        let directory = Directory::here().open(path, how::through_links(how::DIRECTORY), 0)?;
        let followed = AtomicBool::new(reach == Reach::Anywhere);
        Ok(Self { directory, reach, kernel_resolves: AtomicBool::new(true), followed })
    }

    /// The same, never asking the kernel to resolve: what a sandbox would make of it.
    #[cfg(test)]
    pub fn by_hand(path: &[u8], reach: Reach) -> io::Result<Self> {
        Ok(Self { kernel_resolves: AtomicBool::new(false), ..Self::open(path, reach)? })
    }

    /// How far paths reach.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether any directory beneath may have been opened through a link: else none that goes was on a way.
    pub fn has_followed_links(&self) -> bool {
        // ORDER: set before the directory is handed out; whoever depends on a member that used it goes on behind the pipeline's lock.
        self.followed.load(Ordering::Relaxed)
    }

    /// Whether nothing is in it, as far as can be seen.
    pub fn is_empty(&self) -> bool {
        let is_a_directories_own = |name: &std::ffi::CStr| matches!(name.to_bytes(), b"." | b"..");
        let listed = rustix::fs::Dir::read_from(&self.directory);
        listed.is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_a_directories_own(entry.file_name())))
        })
    }

    /// Whether a link stands at `path`.
    pub fn has_link(&self, path: &[u8]) -> bool {
        Directory::of(&self.directory).status(path, Follow::No).is_ok_and(|there| there.is_symlink())
    }

    /// Whether a file with other names stands at `path`.
    pub fn has_other_names(&self, path: &[u8]) -> bool {
        Directory::of(&self.directory)
            .status(path, Follow::No)
            .is_ok_and(|there| there.is_regular() && there.links() > 1)
    }

    /// Where an open directory lies, from the root of everything or from this one: a path through no link. None where `/proc` does not tell, or it was moved.
    pub fn path_of(&self, directory: Directory<'_>, is_absolute: bool) -> Option<Vec<u8>> {
        self.found(directory, is_absolute).map(|(path, _)| path)
    }

    /// The same, and the directory, opened by that path. Where members reach anywhere, a directory that does not lie beneath has an absolute path.
    fn found(&self, directory: Directory<'_>, is_absolute: bool) -> Option<(Vec<u8>, OwnedFd)> {
        let whole = path_of(&directory).ok()?;
        let path = match self.below(&whole).filter(|_| !is_absolute) {
            Some(below) => below,
            None if is_absolute || self.reach == Reach::Anywhere => whole,
            None => return None,
        };
        let there = self.open_directory(&path, LinksOnTheWay::Refuse).ok()?;
        let [one, other] = [Status::of(&there), Status::of(directory)];
        let is_it = matches!((one, other), (Ok(one), Ok(other)) if one.identity() == other.identity());
        is_it.then_some((path, there))
    }

    /// What of an absolute path leads on from this directory.
    fn below(&self, whole: &[u8]) -> Option<Vec<u8>> {
        let root = path_of(&self.directory).ok()?;
        let below = if root == b"/" { whole } else { whole.strip_prefix(root.as_slice())? };
        if below.is_empty() { Some(Vec::new()) } else { below.strip_prefix(b"/").map(<[u8]>::to_vec) }
    }

    /// The directory once more.
    pub fn again(&self) -> io::Result<OwnedFd> {
        self.directory.try_clone()
    }

    /// Opens a directory beneath. `path` has no empty names and no `.`; it may be longer than the kernel takes at once.
    /// `links` may refuse what the reach allows.
    pub fn open_directory(&self, path: &[u8], links: LinksOnTheWay) -> io::Result<OwnedFd> {
        if path.is_empty() { self.again() } else { self.open_from(Directory::of(&self.directory), path, links) }
    }

    /// The same from a directory beneath that is open. Links lead nowhere outside that one.
    pub fn open_from(&self, directory: Directory<'_>, path: &[u8], links: LinksOnTheWay) -> io::Result<OwnedFd> {
        let mut rest = path;
        let mut at: Option<OwnedFd> = None;
        loop {
            let end = match rest.len() {
                0..=STEP_BYTES => rest.len(),
                _ => rest[..STEP_BYTES].iter().rposition(|&byte| byte == b'/').unwrap_or(STEP_BYTES),
            };
            let opened = self.step(at.as_ref().map_or(directory, Directory::of), &rest[..end], links)?;
            rest = rest.get(end + 1..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(opened);
            }
            at = Some(opened);
        }
    }

    fn step(&self, from: Directory<'_>, path: &[u8], links: LinksOnTheWay) -> io::Result<OwnedFd> {
        let links = match self.reach {
            Reach::Anywhere => return self.step_anywhere(from, path, links),
            Reach::Beneath => links,
            Reach::BeneathWithoutLinks => LinksOnTheWay::Refuse,
        };
        match self.step_beneath(from, path, links) {
            Err(error) if links == LinksOnTheWay::FollowBeneath && leads_out(&error) => {
                self.beneath_all_the_same(from, path).ok_or(error)
            }
            opened => opened,
        }
    }

    /// A link with an absolute path, or one that goes up, may lead to a directory beneath: below `/` every one does. It is opened once more by the
    /// path that leads there through no link, so that nobody can turn it elsewhere.
    fn beneath_all_the_same(&self, from: Directory<'_>, path: &[u8]) -> Option<OwnedFd> {
        let directory = from.open(path, how::through_links(how::DIRECTORY), 0).ok()?;
        self.found(Directory::of(&directory), false).map(|(_, directory)| directory)
    }

    fn step_beneath(&self, from: Directory<'_>, path: &[u8], links: LinksOnTheWay) -> io::Result<OwnedFd> {
        // ORDER: a hint; who sees it late asks once more.
        if self.kernel_resolves.load(Ordering::Relaxed) {
            let mut opened = from.open_beneath(path, LinksOnTheWay::Refuse);
            if links == LinksOnTheWay::FollowBeneath && opened.as_ref().is_err_and(is_a_link) {
                self.followed.store(true, Ordering::Relaxed);
                opened = from.open_beneath(path, links);
            }
            if !opened.as_ref().is_err_and(is_refused) {
                return opened;
            }
        }
        self.followed.store(true, Ordering::Relaxed);
        let opened = by_hand(from, path, links);
        // EPERM may be meant for this path; that the walk can do it shows that it was the call that is refused.
        if opened.is_ok() {
            self.kernel_resolves.store(false, Ordering::Relaxed);
        }
        opened
    }

    /// LIMIT: where kernel or sandbox refuse `openat2`, links are followed, whoever asks.
    fn step_anywhere(&self, from: Directory<'_>, path: &[u8], links: LinksOnTheWay) -> io::Result<OwnedFd> {
        // ORDER: as above.
        if links == LinksOnTheWay::Refuse && self.kernel_resolves.load(Ordering::Relaxed) {
            let opened = from.open_through_no_link(path);
            if !opened.as_ref().is_err_and(is_refused) {
                return opened;
            }
            self.kernel_resolves.store(false, Ordering::Relaxed);
        }
        from.open(path, how::through_links(how::DIRECTORY), 0)
    }
}

fn leads_out(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error())
}

fn is_a_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn is_refused(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::NOSYS, Errno::PERM].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// LIMIT: names looked up for one step. Only links that lead up again and again, far below, need more than a path has.
const NAMES_MAX: usize = 1 << 16;

/// What openat2 would do: name by name, links read and followed, never above `from`.
fn by_hand(from: Directory<'_>, path: &[u8], allowed: LinksOnTheWay) -> io::Result<OwnedFd> {
    let leads_out = || io::Error::from_raw_os_error(rustix::io::Errno::XDEV.raw_os_error());
    let is_a_loop = || io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error());
    if path.starts_with(b"/") {
        return Err(leads_out());
    }
    let names = |path: &[u8]| path.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect::<VecDeque<_>>();
    let mut ahead = names(path);
    // Names of directories that were really passed. They are not held open: a path may have more of them than there are descriptors.
    let mut way: Vec<Vec<u8>> = Vec::new();
    let mut at = from.descriptor().try_clone_to_owned()?;
    let (mut links, mut looked_up) = (0, 0);
    while let Some(name) = ahead.pop_front() {
        match name.as_slice() {
            b"" | b"." => {}
            b".." => {
                way.pop().ok_or_else(leads_out)?;
                looked_up += way.len();
                if looked_up > NAMES_MAX {
                    return Err(is_a_loop());
                }
                at = from.descriptor().try_clone_to_owned()?;
                for name in &way {
                    at = Directory::of(&at).open(name, how::DIRECTORY, 0)?;
                }
            }
            name => match Directory::of(&at).open(name, how::DIRECTORY, 0) {
                Ok(directory) => {
                    way.push(name.to_vec());
                    at = directory;
                }
                Err(error) => {
                    let Ok(target) = Directory::of(&at).read_link(name) else { return Err(error) };
                    links += 1;
                    if links > LINKS_MAX || allowed == LinksOnTheWay::Refuse {
                        return Err(is_a_loop());
                    }
                    if target.starts_with(b"/") {
                        return Err(leads_out());
                    }
                    names(&target).into_iter().rev().for_each(|name| ahead.push_front(name));
                }
            },
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_open_the_same_and_neither_leads_out() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("root/a/b")).expect("mkdir");
        std::fs::create_dir_all(at("outside")).expect("mkdir");
        for (target, name) in [
            ("a/b", "in"),
            ("../outside", "out"),
            ("/", "abs"),
            ("loop", "loop"),
            ("b/..", "a/back"),
            ("b/../../a/b", "a/round"),
        ] {
            symlink(target, at("root").join(name)).expect("symlink");
        }
        let path = at("root");
        let both = |reach| {
            let path = path.as_os_str().as_bytes();
            [Root::open(path, reach).expect("open"), Root::by_hand(path, reach).expect("open")]
        };
        let (beneath, without_links) = (both(Reach::Beneath), both(Reach::BeneathWithoutLinks));
        for (path, expected, without) in [
            ("a/b", None, None),
            ("in", None, Some(40)),
            ("a/back/b", None, Some(40)),
            ("a/round", None, Some(40)),
            ("a/back/round/../b", None, Some(40)),
            ("out", Some(18), Some(40)),
            ("abs/etc", Some(18), Some(40)),
            ("loop", Some(40), Some(40)),
            ("missing", Some(2), Some(2)),
        ] {
            for (roots, expected) in [(&beneath, expected), (&without_links, without)] {
                for root in roots {
                    let told = root
                        .open_directory(path.as_bytes(), LinksOnTheWay::FollowBeneath)
                        .err()
                        .and_then(|error| error.raw_os_error());
                    assert_eq!(told, expected, "{path}");
                }
            }
        }
    }
}
