//! Somebody who swaps a directory for a link that leads out of the tree, without end, while others work on the tree. Judges nothing.

use crate::place::Place;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Has `directory` by turns a directory and a link to `outside`, each step one exchange, so that something is there at any time. Whoever works on
/// the tree may take either away, or put a directory where the link was: then there are new ones.
fn swap(place: &Place, directory: &str, stop: &AtomicBool, swaps: &AtomicU64) {
    let (at, beside) = (place.path(directory), place.path("beside"));
    let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    while !stop.load(Ordering::Relaxed) {
        if !is_link(&at) && !is_link(&beside) {
            // Nothing is there yet, or a directory of theirs. They may still put files into it: then it goes the next time.
            let _none_yet = std::fs::remove_dir_all(&beside);
            let _still_there = symlink(place.path("outside"), &beside);
        }
        match renameat_with(CWD, &at, CWD, &beside, RenameFlags::EXCHANGE) {
            Ok(()) if is_link(&at) || is_link(&beside) => _ = swaps.fetch_add(1, Ordering::Relaxed),
            Ok(()) => {}
            // They have taken one away and not made the other yet.
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// Runs `work` while `directory` is swapped; it is given the number of swaps so far.
pub fn while_swapped(place: &Place, directory: &str, work: impl FnOnce(&AtomicU64)) {
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| swap(place, directory, &stop, &swaps));
        // A failure must end the other thread too.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&swaps)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(swaps.into_inner() > 0, "nothing was swapped");
}
