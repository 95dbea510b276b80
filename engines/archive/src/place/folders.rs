//! Open folders of one worker, by path, and what was learnt about files made in them. Makes what is missing on the way.

use super::metadata::Restore;
use super::{PlaceError, Root, could_not, split};
use crate::member::Member;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::tree_calls;

/// Tells all workers that a folder went: what they have open may no longer be where its path says; and which folders were made
/// by us on the way to something in them, before the member that stands for them.
#[derive(Debug, Default)]
pub struct FoldersChanged {
    removed: AtomicU64,
    made_on_the_way: Mutex<HashSet<Vec<u8>>>,
}

impl FoldersChanged {
    /// A folder was removed.
    pub fn tell(&self) {
        // ORDER: who goes on with members that depend on it does so behind the pipeline's lock.
        self.removed.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    /// Whether the folder at `path` is there only because something in it came first.
    pub fn was_made_on_the_way(&self, path: &[u8]) -> bool {
        self.on_the_way().contains(path)
    }

    fn on_the_way(&self) -> MutexGuard<'_, HashSet<Vec<u8>>> {
        self.made_on_the_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open folder.
pub struct Folder {
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

impl Folder {
    /// Whether a new file will have the right owner from the beginning.
    pub fn gives_owner(&self, restore: &Restore, member: &Member) -> bool {
        let learnt = *self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        restore.owner_of(member).is_none_or(|owner| learnt.owner == Some(owner))
    }

    /// Whether a new file will have owner and mode from the beginning.
    pub fn settles(&self, restore: &Restore, member: &Member, mode: u32) -> bool {
        let learnt = *self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        let owner_fits = restore.owner_of(member).is_none_or(|owner| learnt.owner == Some(owner));
        learnt.any && mode & !learnt.granted == 0 && member.mode & 0o7000 == 0 && owner_fits
    }

    /// Looks at the first file that was made here, and says whether it has owner and mode already.
    pub fn learn(&self, restore: &Restore, member: &Member, mode: u32, first: u32, file: BorrowedFd<'_>) -> bool {
        let Ok(status) = tree_calls::status_of(file) else { return false };
        let owner = (status.uid, status.gid);
        let mut learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        learnt.any = true;
        learnt.owner = Some(owner);
        let is_granted = status.mode & 0o777 == first;
        if is_granted {
            learnt.granted |= first;
        }
        let owner_fits = restore.owner_of(member).is_none_or(|wanted| wanted == owner);
        is_granted && first == mode && owner_fits && member.mode & 0o7000 == 0
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// LIMIT: folders that a worker keeps open. Archives go folder by folder; more would cost descriptors and save nothing.
const OPEN_MAX: usize = 48;

/// Open folders of one worker.
pub struct Folders<'a> {
    root: &'a Root,
    changed: &'a FoldersChanged,
    seen_change: Cell<u64>,
    open: HashMap<Vec<u8>, Arc<Folder>>,
    by_age: VecDeque<Vec<u8>>,
    last: Option<(Vec<u8>, Arc<Folder>)>,
    umask: u32,
}

impl<'a> Folders<'a> {
    /// None open yet.
    pub fn new(root: &'a Root, changed: &'a FoldersChanged, umask: u32) -> Self {
        let seen_change = Cell::new(changed.now());
        Self { root, changed, seen_change, open: HashMap::new(), by_age: VecDeque::new(), last: None, umask }
    }

    /// Whom to tell of a folder that went.
    pub fn changed(&self) -> &FoldersChanged {
        self.changed
    }

    /// What all paths are relative to.
    pub fn root(&self) -> &Root {
        self.root
    }

    /// The folder at `path`; it and those above are made where they are missing.
    pub fn folder(&mut self, path: &[u8]) -> Result<Arc<Folder>, PlaceError> {
        self.find(path, Missing::Make)
    }

    /// The folder at `path`, if there is one.
    pub fn existing(&mut self, path: &[u8]) -> Result<Arc<Folder>, PlaceError> {
        self.find(path, Missing::Tell)
    }

    fn find(&mut self, path: &[u8], missing: Missing) -> Result<Arc<Folder>, PlaceError> {
        let now = self.changed.now();
        if self.seen_change.replace(now) != now {
            self.open.clear();
            self.by_age.clear();
            self.last = None;
        }
        if let Some((last, folder)) = &self.last
            && last == path
        {
            return Ok(Arc::clone(folder));
        }
        let folder = match self.open.get(path) {
            Some(folder) => Arc::clone(folder),
            None => self.open(path, missing)?,
        };
        self.last = Some((path.to_vec(), Arc::clone(&folder)));
        Ok(folder)
    }

    fn open(&mut self, path: &[u8], missing: Missing) -> Result<Arc<Folder>, PlaceError> {
        let descriptor = match self.open_below_parent(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Make => self.make(path)?,
            opened => opened.map_err(could_not(OPEN_ITS_FOLDER))?,
        };
        let folder = Arc::new(Folder { descriptor, learnt: Mutex::default() });
        if self.by_age.len() >= OPEN_MAX
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.open.remove(&oldest);
        }
        self.by_age.push_back(path.to_vec());
        self.open.insert(path.to_vec(), Arc::clone(&folder));
        Ok(folder)
    }

    /// From the parent, where that is open and the last name is no link; else from the root.
    fn open_below_parent(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let (parent, name) = split(path);
        if let Some(parent) = self.open.get(parent).filter(|_| !name.is_empty())
            && let Ok(folder) = tree_calls::open_at(parent.as_fd(), name, tree_calls::Open::Folder)
        {
            return Ok(folder);
        }
        self.root.open_folder(path)
    }

    /// Makes the folders that are missing, from the first on.
    fn make(&self, path: &[u8]) -> Result<OwnedFd, PlaceError> {
        let mut ends = vec![path.len()];
        let mut at = loop {
            let end = *ends.last().unwrap_or(&0);
            let parent = split(&path[..end]).0.len();
            match self.root.open_folder(&path[..parent]) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && parent > 0 => ends.push(parent),
                opened => break opened.map_err(could_not(OPEN_ITS_FOLDER))?,
            }
        };
        for &end in ends.iter().rev() {
            let (_, name) = split(&path[..end]);
            // Noted while nobody else can see that it is there: who finds it knows whose it is.
            let mut on_the_way = self.changed.on_the_way();
            match tree_calls::make_folder(at.as_fd(), name, (0o777 & !self.umask) | 0o700) {
                Ok(()) => {
                    on_the_way.insert(path[..end].to_vec());
                }
                // Another worker was faster, or a link stands there that leads nowhere: opening will tell.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(could_not("make its folder")(error));
                }
                Err(_) => {}
            }
            drop(on_the_way);
            at = tree_calls::open_at(at.as_fd(), name, tree_calls::Open::Folder).map_err(could_not(OPEN_ITS_FOLDER))?;
        }
        Ok(at)
    }
}

/// A path may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Tell,
}

const OPEN_ITS_FOLDER: &str = "open its folder";
