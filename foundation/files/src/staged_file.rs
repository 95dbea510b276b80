//! A file that is written under a temporary name in its final directory and appears under its own name only when complete.
//! Dropped without [`StagedFile::commit`], it vanishes. [`Unfinished`] lets a signal handler's thread remove what is under way.

pub use crate::directory::Replace;
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{AtFlags, CWD, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The temporary names of this process that are on disk now.
#[derive(Clone, Debug, Default)]
pub struct Unfinished {
    paths: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Unfinished {
    /// Notes a directory of temporary files, to be removed with all that is in it.
    pub fn note_directory(&self, directory: &Path) {
        self.lock().insert(directory.to_owned());
    }

    /// Removes every unfinished file and holds the list, so that no new one can be created: for the moment before the
    /// process ends by a signal.
    pub fn remove_all_and_hold(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        let paths = self.lock();
        for path in paths.iter() {
            // Renamed or removed meanwhile: then there is nothing left to remove under this name.
            let _gone_already = match unlinkat(CWD, path, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => std::fs::remove_dir_all(path),
                other => other.map_err(io::Error::from),
            };
        }
        paths
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.paths.lock()
    }
}

/// Who may read a file while it has no name yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: the rights that it is to have are carried over when it is complete.
    OwnerAlone,
    /// Those that the kernel lets, by the umask or by the directory's default access control list: nothing changes that afterwards.
    AsOfAnyFile,
}

/// A file on its way to its name.
#[derive(Debug)]
pub struct StagedFile {
    file: File,
    staged: PathBuf,
    target: PathBuf,
    unfinished: Unfinished,
    committed: bool,
}

impl StagedFile {
    /// Creates the temporary file beside `target`.
    pub fn create(target: &Path, readers: Readers, unfinished: &Unfinished) -> io::Result<Self> {
        let mode = match readers {
            Readers::OwnerAlone => 0o600,
            Readers::AsOfAnyFile => 0o666,
        };
        // LIMIT: names that somebody else left behind (a killed process with our number): a few are stepped over.
        for _ in 0..100 {
            let staged = temporary_name(target);
            let mut paths = unfinished.lock();
            match File::options().read(true).write(true).create_new(true).mode(mode).open(&staged) {
                Ok(file) => {
                    paths.insert(staged.clone());
                    drop(paths);
                    let (target, unfinished) = (target.to_owned(), unfinished.clone());
                    return Ok(Self { file, staged, target, unfinished, committed: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path until it has its name.
    pub fn path(&self) -> &Path {
        &self.staged
    }

    /// Gives the file its name. On failure the temporary file is removed.
    pub fn commit(mut self, replace: Replace) -> io::Result<()> {
        match replace {
            Replace::Yes => std::fs::rename(&self.staged, &self.target)?,
            Replace::Never => rename_to_a_free_name(&self.staged, &self.target)?,
        }
        self.committed = true;
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        let mut paths = self.unfinished.lock();
        if !self.committed {
            let _gone_already = unlinkat(CWD, &self.staged, AtFlags::empty());
        }
        paths.remove(&self.staged);
    }
}

/// `rename` that refuses to replace: in one step where the file system can, by a hard link where it cannot.
fn rename_to_a_free_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match std::fs::hard_link(from, to) {
            Ok(()) => std::fs::remove_file(from),
            // Neither the one nor the other: then between looking and renaming there is a moment, and no way to close it.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists && std::fs::symlink_metadata(to).is_err() => {
                std::fs::rename(from, to)
            }
            Err(error) => Err(error),
        },
        other => Ok(other?),
    }
}

fn temporary_name(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Not derived from the target's name: that may be as long as a name can be.
    target.with_file_name(format!(".mh-{}-{number}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_committed_file_has_its_name_and_a_dropped_one_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let unfinished = Unfinished::default();
        let kept =
            StagedFile::create(&directory.path().join("kept"), Readers::OwnerAlone, &unfinished).expect("create");
        let dropped =
            StagedFile::create(&directory.path().join("dropped"), Readers::OwnerAlone, &unfinished).expect("create");
        assert_eq!(names(directory.path()).len(), 2);
        kept.commit(Replace::Never).expect("commit");
        drop(dropped);
        assert_eq!(names(directory.path()), ["kept"]);
    }

    #[test]
    fn an_existing_file_is_replaced_only_on_request() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("name");
        std::fs::write(&target, "old").expect("write");
        let unfinished = Unfinished::default();
        let refused =
            StagedFile::create(&target, Readers::AsOfAnyFile, &unfinished).expect("create").commit(Replace::Never);
        assert_eq!(refused.expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&target).expect("read"), b"old");
        StagedFile::create(&target, Readers::AsOfAnyFile, &unfinished)
            .expect("create")
            .commit(Replace::Yes)
            .expect("commit");
        assert_eq!(std::fs::read(&target).expect("read"), b"");
        assert_eq!(names(directory.path()), ["name"]);
    }

    #[test]
    fn a_signal_removes_what_is_under_way() {
        let directory = tempfile::tempdir().expect("a directory");
        let unfinished = Unfinished::default();
        let staged =
            StagedFile::create(&directory.path().join("name"), Readers::OwnerAlone, &unfinished).expect("create");
        drop(unfinished.remove_all_and_hold());
        assert!(names(directory.path()).is_empty());
        drop(staged);
    }
}
