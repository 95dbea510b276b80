//! Files that are being written: where a signal ends the run, half of one does not stay under its name.

use super::Folder;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use sys::tree_calls;

/// All files that are being written.
#[derive(Clone, Default)]
pub struct Unfinished(Arc<Mutex<Slots>>);

#[derive(Default)]
struct Slots {
    files: Vec<Option<(Arc<Folder>, Vec<u8>)>>,
    free: Vec<usize>,
}

/// A file's place among them.
pub struct Entry {
    all: Unfinished,
    slot: usize,
}

impl Unfinished {
    /// Notes a file.
    pub fn enter(&self, folder: &Arc<Folder>, name: &[u8]) -> Entry {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = Some((Arc::clone(folder), name.to_vec()));
        let slot = match slots.free.pop() {
            Some(slot) => {
                slots.files[slot] = file;
                slot
            }
            None => {
                slots.files.push(file);
                slots.files.len() - 1
            }
        };
        Entry { all: self.clone(), slot }
    }

    /// Removes them all, and lets nobody begin or end another: the process is about to end.
    pub fn remove_all_and_hold(&self) {
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (folder, name) in slots.files.iter().flatten() {
            let _nothing_more_to_be_done = tree_calls::remove(folder.as_fd(), name);
        }
        std::mem::forget(slots);
    }
}

impl Entry {
    /// The file is whole, or gone.
    pub fn leave(self) {
        let mut slots = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.files[self.slot] = None;
        slots.free.push(self.slot);
    }
}
