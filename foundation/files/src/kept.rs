//! A budget of descriptors: directories that are closed while the work is far below them, and opened again only if they are still the same.

use crate::directory::Directory;
use crate::status::{Identity, Status};
use parking_lot::{Mutex, MutexGuard};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use sys::own_table::{HandedFd, Kept, OwnTable};

/// LIMIT: the lowest levels of a chain keep their descriptors, if there are some for twice as many: siblings there are worked on next.
const LEVELS_KEPT: usize = 8;

/// How many descriptors of directories a run may hold.
#[derive(Debug)]
pub struct DescriptorBudget {
    open: AtomicUsize,
    most: usize,
    levels_kept: usize,
}

impl DescriptorBudget {
    /// A budget of `most`. LIMIT: it is a wish: a run whose workers are all at different places holds some a worker beyond it.
    pub fn new(most: usize) -> Self {
        Self { open: AtomicUsize::new(0), most: most.max(1), levels_kept: (most / 2).clamp(1, LEVELS_KEPT) }
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// How many levels above one that is worked on keep their descriptors; none while there are enough for all.
    pub fn levels_kept(&self) -> Option<usize> {
        // ORDER: a count of its own; a moment's error costs one descriptor.
        (self.open() >= self.most).then_some(self.levels_kept)
    }
}

/// A directory of a tree: open, or closed and known well enough to be opened again.
#[derive(Debug)]
pub struct KeptDirectory {
    name: CString,
    descriptor: Mutex<Option<Arc<HandedFd>>>,
    identity: OnceLock<Identity>,
}

impl KeptDirectory {
    /// An open directory; `name` is what it is called in the one above.
    pub fn new(name: CString, descriptor: OwnedFd, budget: &DescriptorBudget) -> Self {
        budget.open.fetch_add(1, Ordering::Relaxed);
        Self { name, descriptor: Mutex::new(Some(Arc::new(descriptor.into()))), identity: OnceLock::new() }
    }

    /// The same, if its identity is known already.
    pub fn known(name: CString, descriptor: OwnedFd, identity: Identity, budget: &DescriptorBudget) -> Self {
        let directory = Self::new(name, descriptor, budget);
        directory.identity.get_or_init(|| identity);
        directory
    }

    /// What it is called in the directory above.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Which one it is, if that was asked for.
    pub fn identity(&self) -> Option<Identity> {
        self.identity.get().copied()
    }

    /// Its descriptor, if it is open.
    pub fn open(&self) -> Option<Arc<HandedFd>> {
        self.lock().clone()
    }

    /// Closes it for good.
    pub fn close(&self, budget: &DescriptorBudget) {
        if self.lock().take().is_some() {
            budget.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Closes it, having noted which one it is.
    pub fn close_for_now(&self, budget: &DescriptorBudget) {
        let mut descriptor = self.lock();
        let Some(open) = descriptor.as_ref() else { return };
        if self.identity.get().is_none() {
            let Ok(status) = Status::of(open) else { return };
            self.identity.get_or_init(|| status.identity());
        }
        *descriptor = None;
        budget.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Opens it again, by `name` in `above`, if it is still the same.
    pub fn reopen(&self, above: Directory<'_>, name: &CStr, budget: &DescriptorBudget) -> io::Result<Arc<HandedFd>> {
        let moved = || io::Error::other("the directory was moved meanwhile");
        let identity = self.identity().ok_or_else(moved)?;
        let found = above.open_same(name, identity)?.ok_or_else(moved)?;
        let found = Arc::new(HandedFd::from(found));
        if self.lock().replace(Arc::clone(&found)).is_none() {
            budget.open.fetch_add(1, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// Before `below`, which is in it, is closed: opens it through the `..` of that one, which is one call instead of one a level.
    pub fn reopen_from(&self, below: &Self, budget: &DescriptorBudget) {
        if self.open().is_none()
            && let Some(open) = below.open()
        {
            // If it was moved meanwhile, its own way down will tell.
            let _another = self.reopen(Directory::of(&open), c"..", budget);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<HandedFd>>> {
        self.descriptor.lock()
    }
}

/// Tables of descriptors for the workers of a run ([`sys::own_table`]): each worker but the first has its own, so that none waits for a lock on
/// the one that a process has.
#[derive(Debug)]
pub struct WorkerTables {
    /// What is the same in all of them, from when there is work for two; none: all workers share one table.
    kept: OnceLock<Option<Kept>>,
}

impl WorkerTables {
    /// For a run whose workers share one table, unless they are to have their own.
    pub fn new(has_own: bool) -> Self {
        Self { kept: if has_own { OnceLock::new() } else { OnceLock::from(None) } }
    }

    /// Before there is work for two, and no file is open that could be in two tables. It takes as long as copying three small files, so not before.
    pub fn prepare(&self) {
        self.kept.get_or_init(|| Kept::now().ok());
    }

    /// The calling worker's own table, until what is returned is dropped. The first one keeps the one that all others of the process share.
    pub fn begin(&self, worker: usize) -> Option<OwnTable> {
        self.kept.get().and_then(Option::as_ref).filter(|_| worker > 0).map(Kept::begin_own)
    }
}
