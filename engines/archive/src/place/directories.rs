//! Open directories of one worker, by path, and what was learnt about files made in them. Makes what is missing on the way.

use super::metadata::Restore;
use super::{Manner, PlaceError, Reach, Root, could_not, split};
use crate::member::Member;
use crate::operation::Operation;
use files::{Directory, Follow, Identity, LinksOnTheWay, Status, how};
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells all workers that a directory went: what they have open may no longer be where its path says; and which directories we have made: on the way
/// to something in them, before the member that stands for them, or, where those that are there keep what they have, for a member.
#[derive(Debug, Default)]
pub struct DirectoriesChanged {
    removed: AtomicU64,
    /// Which ones: paths of directories in one another would need the square of their length.
    made: Mutex<HashSet<Identity>>,
}

impl DirectoriesChanged {
    /// A directory was removed.
    pub fn tell(&self) {
        // ORDER: who goes on with members that depend on it does so behind the pipeline's lock.
        self.removed.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    /// Makes a directory and notes it, in one step: who finds it knows whose it is.
    pub fn make(&self, above: Directory<'_>, name: &[u8], mode: u32) -> io::Result<()> {
        let mut made = self.made();
        above.make_directory(name, mode)?;
        if let Ok(status) = above.status(name, Follow::No) {
            made.insert(status.identity());
        }
        Ok(())
    }

    /// Whether the directory is one of those.
    pub fn was_made(&self, identity: Identity) -> bool {
        self.made().contains(&identity)
    }

    fn made(&self) -> MutexGuard<'_, HashSet<Identity>> {
        self.made.lock()
    }
}

/// An open directory.
pub struct TargetDirectory {
    descriptor: OwnedFd,
    /// What a file of ours gets in it without being told.
    learnt: Mutex<Learnt>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Learnt {
    owner: Option<(u32, u32)>,
    /// Permission bits that were asked for and given: a default access list takes bits away.
    granted: u32,
    any: bool,
}

impl TargetDirectory {
    /// Whether a new file will have the right owner from the beginning.
    pub fn gives_owner(&self, restore: &Restore, member: &Member) -> bool {
        let learnt = *self.learnt.lock();
        restore.owner_of(member).is_none_or(|owner| learnt.owner == Some(owner))
    }

    /// Whether a new file will have owner and mode from the beginning.
    pub fn settles(&self, restore: &Restore, member: &Member, mode: u32) -> bool {
        let learnt = *self.learnt.lock();
        let owner_fits = restore.owner_of(member).is_none_or(|owner| learnt.owner == Some(owner));
        learnt.any && mode & !learnt.granted == 0 && member.mode & 0o7000 == 0 && owner_fits
    }

    /// Looks at the first file that was made here, and says whether it has owner and mode already.
    pub fn learn(&self, restore: &Restore, member: &Member, mode: u32, first: u32, file: BorrowedFd<'_>) -> bool {
        let Ok(status) = Status::of(file) else { return false };
        let owner = (status.user(), status.group());
        let mut learnt = self.learnt.lock();
        learnt.any = true;
        learnt.owner = Some(owner);
        let is_granted = status.mode() & 0o777 == first;
        if is_granted {
            learnt.granted |= first;
        }
        let owner_fits = restore.owner_of(member).is_none_or(|wanted| wanted == owner);
        is_granted && first == mode && owner_fits && member.mode & 0o7000 == 0
    }
}

impl TargetDirectory {
    /// It, to find names in.
    #[inline(always)]
    pub fn directory(&self) -> Directory<'_> {
        Directory::of(&self.descriptor)
    }
}

/// LIMIT: bytes of the paths of one worker's open directories, unless one alone has more. Of directories in one another the last one is all that is needed; the
/// paths of 48 have 10 MB where a hundred thousand lie in one another. Usual ones have a tenth of this.
const PATHS_BYTES: usize = 128 << 10;

/// Open directories of one worker.
pub struct TargetDirectories<'a> {
    root: &'a Root,
    changed: &'a DirectoriesChanged,
    seen_change: Cell<u64>,
    open: HashMap<Arc<[u8]>, Arc<TargetDirectory>>,
    by_age: VecDeque<Arc<[u8]>>,
    /// Bytes of their paths.
    paths_bytes: usize,
    last: Option<(Arc<[u8]>, Arc<TargetDirectory>)>,
    manner: &'a Manner,
    links: LinksOnTheWay,
}

impl<'a> TargetDirectories<'a> {
    /// None open yet. `links` on their way are followed as far as the root allows, or are errors.
    pub fn new(root: &'a Root, changed: &'a DirectoriesChanged, manner: &'a Manner, links: LinksOnTheWay) -> Self {
        let seen_change = Cell::new(changed.now());
        let (open, by_age) = (HashMap::new(), VecDeque::new());
        Self { root, changed, seen_change, open, by_age, paths_bytes: 0, last: None, manner, links }
    }

    /// Whom to tell of a directory that went.
    pub fn changed(&self) -> &DirectoriesChanged {
        self.changed
    }

    /// How far they reach.
    pub fn reach(&self) -> Reach {
        self.root.reach()
    }

    /// Whether one of them may have been opened through a link.
    pub fn have_followed_links(&self) -> bool {
        self.root.has_followed_links()
    }

    /// Where an open directory lies ([`Root::path_of`]).
    pub fn path_of(&self, directory: &TargetDirectory, is_absolute: bool) -> Option<Vec<u8>> {
        self.root.path_of(directory.directory(), is_absolute)
    }

    /// The directory at `path`; it and those above are made where they are missing.
    pub fn directory(&mut self, path: &[u8]) -> Result<Arc<TargetDirectory>, PlaceError> {
        self.find(path, Missing::Make)
    }

    /// The directory at `path`, if there is one.
    pub fn existing(&mut self, path: &[u8]) -> Result<Arc<TargetDirectory>, PlaceError> {
        self.find(path, Missing::Tell)
    }

    fn find(&mut self, path: &[u8], missing: Missing) -> Result<Arc<TargetDirectory>, PlaceError> {
        let now = self.changed.now();
        if self.seen_change.replace(now) != now {
            self.open.clear();
            self.by_age.clear();
            self.paths_bytes = 0;
            self.last = None;
        }
        if let Some((last, directory)) = &self.last
            && **last == *path
        {
            return Ok(Arc::clone(directory));
        }
        let (path, directory) = match self.open.get_key_value(path) {
            Some((path, directory)) => (Arc::clone(path), Arc::clone(directory)),
            None => {
                // Not beside the next one: a path may be as long as all that a worker keeps.
                self.last = None;
                self.open(path, missing)?
            }
        };
        self.last = Some((path, Arc::clone(&directory)));
        Ok(directory)
    }

    fn open(&mut self, path: &[u8], missing: Missing) -> Result<(Arc<[u8]>, Arc<TargetDirectory>), PlaceError> {
        let descriptor = match self.open_below_nearest(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Make => self.make(path)?,
            opened => opened.map_err(could_not(Operation::OpenItsDirectory))?,
        };
        let directory = Arc::new(TargetDirectory { descriptor, learnt: Mutex::default() });
        while (self.by_age.len() >= self.manner.open_directories || self.paths_bytes + path.len() > PATHS_BYTES)
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.paths_bytes -= oldest.len();
            self.open.remove(&oldest);
        }
        let path: Arc<[u8]> = path.into();
        self.paths_bytes += path.len();
        self.by_age.push_back(Arc::clone(&path));
        self.open.insert(Arc::clone(&path), Arc::clone(&directory));
        Ok((path, directory))
    }

    /// From the nearest directory above that is open, else from the root.
    fn open_below_nearest(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let below = |above: &[u8]| path.strip_prefix(above).and_then(|rest| rest.strip_prefix(b"/"));
        let open = self.open.iter().filter(|(above, _)| !above.is_empty());
        let open = open.filter_map(|(above, directory)| Some((directory.directory(), below(above)?)));
        let Some((directory, rest)) = open.min_by_key(|(_, rest)| rest.len()) else {
            return self.root.open_directory(path, self.links);
        };
        let opened = match rest.contains(&b'/') {
            true => self.root.open_from(directory, rest, self.links),
            false => directory.open(rest, how::DIRECTORY, 0),
        };
        match opened {
            // What is not there is not looked for on the whole way again: a hundred thousand directories may be on it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            // A link may lead up from there and not out of the root.
            Err(_) => self.root.open_directory(path, self.links),
            opened => opened,
        }
    }

    /// Makes the directories that are missing.
    fn make(&self, path: &[u8]) -> Result<OwnedFd, PlaceError> {
        let (mut at, missing) = self.deepest_there(path)?;
        for end in missing {
            let (_, name) = split(&path[..end]);
            at = self.make_one(Directory::of(&at), name)?;
        }
        Ok(at)
    }

    fn make_one(&self, above: Directory<'_>, name: &[u8]) -> Result<OwnedFd, PlaceError> {
        match self.changed.make(above, name, (0o777 & !self.manner.umask_of_others) | 0o700) {
            // Another worker was faster, or a link stands there that leads nowhere: opening will tell.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(could_not(Operation::MakeItsDirectory)(error))
            }
            _ => above.open(name, how::DIRECTORY, 0).map_err(could_not(Operation::OpenItsDirectory)),
        }
    }

    /// The deepest directory on the way to `path`, itself not there, that is there; and where the names of those that are missing end. Looked for in
    /// steps that double, since of directories in one another a hundred thousand may be missing, or one.
    fn deepest_there(&self, path: &[u8]) -> Result<(OwnedFd, Vec<usize>), PlaceError> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        // Where each name ends; the root's has no bytes, or is a slash.
        let mut ends: Vec<usize> = std::iter::once(0).chain(slashes.filter(|&at| at > 0)).chain([path.len()]).collect();
        ends.dedup();
        let root_bytes = usize::from(path.starts_with(b"/"));
        let open = |at: usize| self.open_below_nearest(&path[..ends[at].max(root_bytes)]);
        let (mut missing, mut step) = (ends.len() - 1, 1);
        let mut there = None;
        while there.as_ref().is_none_or(|(at, _)| missing - at > 1) {
            let at = match &there {
                Some((at, _)) => at + (missing - at) / 2,
                None => missing.saturating_sub(step),
            };
            match open(at) {
                Ok(directory) => there = Some((at, directory)),
                Err(error) if error.kind() == io::ErrorKind::NotFound && at > 0 => (missing, step) = (at, step * 2),
                Err(error) => return Err(could_not(Operation::OpenItsDirectory)(error)),
            }
        }
        let Some((at, directory)) = there else {
            return Err(could_not(Operation::OpenItsDirectory)(io::ErrorKind::NotFound.into()));
        };
        Ok((directory, ends.split_off(at + 1)))
    }
}

/// A path may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Tell,
}
