//! Before the process ends or becomes two: everything is performed, and what failed without the program's knowledge is said.

use crate::file::{self, BUFFERS, Fault, Free, State};
use crate::identities::{self, Known};
use crate::statistics::{self, UNTOLD};
use crate::{boundary, buffers, workers};
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// LIMIT: failures that are said one by one; the others are counted.
const FAULTS_SAID: usize = 20;

static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// A failure that the program was not told of, and cannot be any more: it has closed the file.
pub fn remember(fault: Fault) {
    UNTOLD.add(1);
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
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

fn each(act: impl Fn(usize, &'static file::File, identities::Identity)) {
    if identities::any() {
        for (index, file) in file::all() {
            if let Some(identity) = file.occupant() {
                act(index, file, identity);
            }
        }
    }
}

/// The process is about to end with `status`: with which it must end.
pub fn finish(status: i32) -> i32 {
    release_all();
    let faults = std::mem::take(&mut *FAULTS.lock().unwrap_or_else(PoisonError::into_inner));
    for fault in &faults {
        boundary::say(&said(fault));
    }
    if !IS_REPORTED.swap(true, Ordering::AcqRel) {
        boundary::report(&statistics::line());
    }
    if status == 0 && !faults.is_empty() { 1 } else { status }
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
    _files: Vec<MutexGuard<'static, State>>,
    _known: MutexGuard<'static, Known>,
    _free: MutexGuard<'static, Free>,
    _faults: MutexGuard<'static, Vec<Fault>>,
    list: MutexGuard<'static, workers::List>,
    _stock: MutexGuard<'static, buffers::Stock>,
}

thread_local! {
    static FROZEN: RefCell<Option<Frozen>> = const { RefCell::new(None) };
}

/// Before a fork: nothing waits, no file is shared between two queues, and no lock is held by a thread that the child does not have.
pub fn freeze() {
    release_all();
    let files: Vec<_> = file::all().collect();
    let frozen = Frozen {
        _files: files.iter().map(|(_, file)| file.lock()).collect(),
        _known: identities::lock(),
        _free: file::lock_free(),
        _faults: FAULTS.lock().unwrap_or_else(PoisonError::into_inner),
        list: workers::lock(),
        _stock: BUFFERS.lock(),
    };
    FROZEN.set(Some(frozen));
}

/// After it, in the parent.
pub fn thaw() {
    FROZEN.set(None);
}

/// After it, in the child, which begins from nothing.
pub fn thaw_in_child() {
    let mut frozen = FROZEN.take();
    if let Some(frozen) = &mut frozen {
        frozen.list.begin_again();
    }
    statistics::begin_again();
    IS_REPORTED.store(false, Ordering::Release);
}
