//! Which files are queued, by device and inode: for whoever comes by a path or by another descriptor.

use crate::locks::held;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// What a file is, whatever its names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity {
    /// Of the file system.
    pub device: u64,
    /// In it.
    pub inode: u64,
}

/// What is remembered of files.
pub struct KnownFiles {
    /// Their places.
    queued: BTreeMap<FileIdentity, usize>,
    /// Those that the program has locked, and that are queued no more.
    locked: BTreeSet<FileIdentity>,
}

static KNOWN: Mutex<KnownFiles> = Mutex::new(KnownFiles { queued: BTreeMap::new(), locked: BTreeSet::new() });
static HAS_LOCKED: AtomicBool = AtomicBool::new(false);

/// How many there are: asked by every call with a path, most often to learn that there is none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many files have been finished: a call that was made early, and asks late, learns from this that a file was finished in between.
static FINISHED: AtomicU64 = AtomicU64::new(0);

/// The list, for a fork.
pub fn lock() -> MutexGuard<'static, KnownFiles> {
    held(KNOWN.lock())
}

/// Whether any file is queued.
pub fn any() -> bool {
    // ORDER: acquire; a thread sees at least the files that it has queued itself.
    COUNT.load(Ordering::Acquire) > 0
}

/// How many files have been finished so far. To be asked before a call, and again behind [`any`] or [`find`].
pub fn finished() -> u64 {
    FINISHED.load(Ordering::Acquire)
}

/// The file of that identity.
pub fn find(identity: FileIdentity) -> Option<usize> {
    if any() { lock().queued.get(&identity).copied() } else { None }
}

/// Adds a file. The one that is there already instead, if there is one.
pub fn add(identity: FileIdentity, index: usize) -> Result<(), usize> {
    let mut known = lock();
    if let Some(&other) = known.queued.get(&identity) {
        return Err(other);
    }
    known.queued.insert(identity, index);
    COUNT.store(known.queued.len(), Ordering::Release);
    Ok(())
}

/// Takes it out.
pub fn remove(identity: FileIdentity) {
    let mut known = lock();
    known.queued.remove(&identity);
    // ORDER: before the count, behind whose acquire it is read: who finds no file any more sees that there was one.
    FINISHED.fetch_add(1, Ordering::Release);
    COUNT.store(known.queued.len(), Ordering::Release);
}

/// The program has locked it.
pub fn lock_for_good(identity: FileIdentity) {
    lock().locked.insert(identity);
    HAS_LOCKED.store(true, Ordering::Release);
}

/// Whether the program has ever locked it.
pub fn is_locked(identity: FileIdentity) -> bool {
    HAS_LOCKED.load(Ordering::Acquire) && lock().locked.contains(&identity)
}
