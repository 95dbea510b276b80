//! Files that are being written: where a signal ends the run, half of one does not stay under its name.
//! Each worker notes its own, in the step that makes the file: no moment is left in which it is there and not noted.

use super::TargetDirectory;
use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::sync::Arc;

/// All files that are being written, by worker.
#[derive(Clone, Default)]
pub struct Unfinished(Arc<Mutex<Vec<Noted>>>);

/// Those that one worker has begun.
#[derive(Clone, Default)]
pub struct Noted(Arc<Mutex<Slots>>);

#[derive(Default)]
struct Slots {
    files: Vec<Option<(Arc<TargetDirectory>, Vec<u8>)>>,
    free: Vec<usize>,
}

/// A file's place among them.
pub struct Entry {
    among: Noted,
    slot: usize,
}

impl Unfinished {
    /// A worker's own part.
    pub fn of_a_worker(&self) -> Noted {
        let noted = Noted::default();
        self.0.lock().push(noted.clone());
        noted
    }

    /// Removes them all, and lets nobody begin or end another: the process is about to end.
    pub fn remove_all_and_hold(&self) {
        let all = self.0.lock();
        for noted in all.iter() {
            let slots = noted.lock();
            for (directory, name) in slots.files.iter().flatten() {
                let _nothing_more_to_be_done = directory.directory().remove(name);
            }
            std::mem::forget(slots);
        }
        std::mem::forget(all);
    }
}

impl Noted {
    /// Makes a file and notes it.
    #[inline(always)]
    pub fn begin<T>(
        &self,
        directory: &Arc<TargetDirectory>,
        name: &[u8],
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Entry)> {
        let mut slots = self.lock();
        let made = make()?;
        let file = Some((Arc::clone(directory), name.to_vec()));
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
        Ok((made, Entry { among: self.clone(), slot }))
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.0.lock()
    }
}

impl Entry {
    /// The file is whole, or gone.
    #[inline(always)]
    pub fn leave(self) {
        let mut slots = self.among.lock();
        slots.files[self.slot] = None;
        slots.free.push(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{DirectoriesChanged, DirectoryLinks, Existing, Manner, Reach, Restore, Root, TargetDirectories};
    use files::LinksOnTheWay;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    #[test]
    fn a_file_that_is_just_being_made_goes_too() {
        let place = tempfile::tempdir().expect("a directory");
        let root = Root::open(place.path().as_os_str().as_bytes(), Reach::Beneath).expect("open");
        let (changed, unfinished) = (DirectoriesChanged::default(), Unfinished::default());
        let (existing, directory_links) = (Existing::Replace, DirectoryLinks::Replace);
        let (restore, umask) = (Restore::default(), 0o022);
        let manner = Manner {
            existing,
            restore,
            umask,
            umask_of_others: umask,
            directory_links,
            backup: None,
            unlinks_trees: false,
            follows_listings: false,
            open_directories: 1,
        };
        let directory = TargetDirectories::new(&root, &changed, &manner, LinksOnTheWay::FollowBeneath)
            .directory(b"")
            .expect("the root");
        let file = place.path().join("file");
        let noted = unfinished.of_a_worker();
        std::thread::scope(|scope| {
            let (ended, end) = sync_channel(1);
            let begun = noted.begin(&directory, b"file", || {
                let made = std::fs::File::create_new(&file)?;
                scope.spawn(move || {
                    unfinished.remove_all_and_hold();
                    ended.send(()).expect("somebody waits");
                });
                // Whoever ends the run has all the time to overlook the file.
                assert!(end.recv_timeout(Duration::from_millis(100)).is_err(), "it waits until the file is noted");
                Ok((made, end))
            });
            let ((_, end), _entry) = begun.expect("it was made");
            end.recv().expect("the end comes");
        });
        assert!(!file.exists());
    }
}
