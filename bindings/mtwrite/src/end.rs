//! Before the process ends or becomes two: everything is performed, and what failed without the program's knowledge is said.

use crate::file::{self, BUFFERS, Fault, FileState, Free};
use crate::identities::{self, KnownFiles};
use crate::locks::held;
use crate::statistics::{self, FILES, UNTOLD};
use crate::{boundary, buffers, workers};
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// LIMIT: failures that are said one by one; the others are counted.
const FAULTS_SAID: usize = 20;

static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
static HAS_FAILED: AtomicBool = AtomicBool::new(false);
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Threads that are about to fork: no further file is queued until they have done it.
static FREEZING: AtomicUsize = AtomicUsize::new(0);

/// A failure that no write of the program was answered with, and none can be any more: the file is closed, or no longer queued.
pub fn remember(fault: Fault) {
    UNTOLD.add(1);
    has_failed();
    let mut faults = lock_faults();
    if faults.len() < FAULTS_SAID {
        faults.push(fault);
    }
}

/// Performs everything that waits. Files that are open stay as they are.
pub fn drain_all() {
    each(|index, file, identity| file.drain(index, identity));
}

/// The same, and no open file is queued any more.
pub fn release_all() {
    each(|index, file, identity| file.release(index, identity));
}

fn each(act: impl Fn(usize, &'static file::File, identities::FileIdentity)) {
    if identities::any() {
        for (index, file) in file::all() {
            if let Some(identity) = file.occupant() {
                act(index, file, identity);
            }
        }
    }
}

/// This process must not end with 0.
pub fn has_failed() {
    HAS_FAILED.store(true, Ordering::Release);
}

/// The process is about to end with `status`: with which it must end.
pub fn finish(status: i32) -> i32 {
    release_all();
    say_faults();
    if !IS_REPORTED.swap(true, Ordering::AcqRel) {
        boundary::report(&statistics::take());
    }
    if status == 0 && HAS_FAILED.load(Ordering::Acquire) { 1 } else { status }
}

/// The process is about to become another program: whether that one must not end with 0.
pub fn hand_over() -> bool {
    release_all();
    say_faults();
    if FILES.is_any() {
        boundary::report(&statistics::take());
    }
    HAS_FAILED.load(Ordering::Acquire)
}

/// Says what failed since it was last said.
pub fn say_faults() {
    for fault in std::mem::take(&mut *lock_faults()) {
        boundary::say(&said(&fault));
    }
}

fn lock_faults() -> MutexGuard<'static, Vec<Fault>> {
    held(FAULTS.lock())
}

fn said(fault: &Fault) -> String {
    // As Rust escapes it, between the quotes of all our messages.
    let path = format!("{:?}", Path::new(std::ffi::OsStr::from_bytes(&fault.path)));
    let path = &path[1..path.len() - 1];
    let cause = std::io::Error::from_raw_os_error(fault.errno).to_string();
    let cause = cause.split(" (os error ").next().unwrap_or_default();
    format!("mh mtwrite: could not {} '{path}': {cause}\n", fault.operation)
}

/// All locks of this library, held over a fork.
pub struct Frozen {
    files: Vec<MutexGuard<'static, FileState>>,
    _known: MutexGuard<'static, KnownFiles>,
    free: MutexGuard<'static, Free>,
    faults: MutexGuard<'static, Vec<Fault>>,
    list: MutexGuard<'static, workers::WorkList>,
    _stock: MutexGuard<'static, buffers::Stock>,
}

thread_local! {
    static FROZEN: RefCell<Option<Frozen>> = const { RefCell::new(None) };
}

impl Frozen {
    fn take() -> Self {
        let files: Vec<_> = file::all().collect();
        Self {
            files: files.iter().map(|(_, file)| file.lock()).collect(),
            _known: identities::lock(),
            free: file::lock_free(),
            faults: lock_faults(),
            list: workers::lock(),
            _stock: BUFFERS.lock(),
        }
    }

    /// Whether no file is queued, and no thread works on one.
    fn is_at_rest(&self) -> bool {
        self.free.is_within(self.files.len()) && self.files.iter().all(|file| file.occupant().is_none())
    }
}

/// Whether a file that is written to for the first time must not be queued at this moment.
pub fn is_freezing() -> bool {
    FREEZING.load(Ordering::SeqCst) > 0
}

/// Before a fork: nothing waits, no file is shared between two queues, and no lock is held by a thread that the child does not have.
/// Other threads may have queued more before the locks are ours; since no further file can be, that comes to an end.
pub fn freeze() {
    FREEZING.fetch_add(1, Ordering::SeqCst);
    loop {
        release_all();
        let frozen = Frozen::take();
        if frozen.is_at_rest() {
            FROZEN.set(Some(frozen));
            return;
        }
        drop(frozen);
        std::thread::yield_now();
    }
}

/// After it, in the parent.
pub fn thaw() {
    if FROZEN.take().is_some() {
        FREEZING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// After it, in the child, which begins from nothing: what failed before is the parent's to say.
pub fn thaw_in_child() {
    if let Some(mut frozen) = FROZEN.take() {
        frozen.list.begin_again();
        frozen.free.begin_again();
        frozen.faults.clear();
    }
    FREEZING.store(0, Ordering::SeqCst);
    statistics::begin_again();
    HAS_FAILED.store(false, Ordering::Release);
    IS_REPORTED.store(false, Ordering::Release);
}
