//! Signs of life: each worker touches a file of its own, and whoever wants to know compares its time with that of a file touched just now.
//! Both times are of the file system's clock, so clocks of nodes may differ as they like.

use crate::spool::{Spool, SpoolFault, failed};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A worker's own sign of life. It goes with the worker, whether that has done its work or could not begin it; after a kill it stays, and gets old.
#[derive(Debug)]
pub struct AliveSign {
    path: PathBuf,
    file: File,
}

impl AliveSign {
    /// Makes it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(spool: &Spool, worker: &str) -> Result<Self, SpoolFault> {
        let path = spool.path("alive", worker);
        let file = File::create(&path).map_err(failed("make", &path))?;
        let sign = Self { path, file };
        sign.touch()?;
        Ok(sign)
    }

    /// Takes it away: the worker has nothing any more.
    pub(crate) fn remove(&self) {
        let _as_good_as_dead = std::fs::remove_file(&self.path);
    }

    /// Gives it the file system's time.
    ///
    /// # Errors
    /// When that is refused.
    pub fn touch(&self) -> Result<(), SpoolFault> {
        touch(&self.file).map_err(failed("touch", &self.path))
    }
}

impl Drop for AliveSign {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Gives a file its file system's time.
fn touch(file: &File) -> io::Result<()> {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Ok(futimens(file, &Timestamps { last_access: now, last_modification: now })?)
}

/// Whose signs are too old, as of the moment when it was made.
#[derive(Debug)]
pub(crate) struct Roll<'a> {
    spool: &'a Spool,
    now: f64,
    lease: Duration,
    ages: HashMap<String, Option<f64>>,
}

impl<'a> Roll<'a> {
    /// As of `sign`, which was touched just now.
    pub fn call(spool: &'a Spool, sign: &AliveSign) -> Result<Self, SpoolFault> {
        sign.touch()?;
        let now = modified(&sign.path).map_err(failed("look at", &sign.path))?;
        let lease = Duration::from_secs_f64(spool.header().limits.lease_s);
        Ok(Self { spool, now, lease, ages: HashMap::new() })
    }

    /// Whether a worker has given no sign of life for a lease; who never gave one is as good as dead.
    pub fn is_dead(&mut self, worker: &str) -> bool {
        let (spool, now) = (self.spool, self.now);
        let age = *self
            .ages
            .entry(worker.to_owned())
            .or_insert_with(|| modified(&spool.path("alive", worker)).ok().map(|then| now - then));
        age.is_none_or(|age| age > self.lease.as_secs_f64())
    }

    /// Whether a file is older than a lease.
    pub fn is_old(&self, path: &Path) -> bool {
        modified(path).is_ok_and(|then| self.now - then > self.lease.as_secs_f64())
    }
}

fn modified(path: &Path) -> io::Result<f64> {
    let status = std::fs::metadata(path)?;
    Ok(status.mtime() as f64 + status.mtime_nsec() as f64 / 1e9)
}

/// Signs of life that are there; a worker that ends in good order removes its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerSigns {
    /// Given within a lease.
    pub fresh: u32,
    /// Of workers that count as dead.
    pub old: u32,
}

/// Who gives signs of life.
///
/// # Errors
/// When the spool cannot be looked at.
pub fn worker_signs(spool: &Path, lease: Duration) -> io::Result<WorkerSigns> {
    let path = spool.join("looked");
    let now = File::create(&path).and_then(|file| touch(&file)).and_then(|()| modified(&path));
    // A full disk may have no room for a new file, and the directory is there.
    let now =
        now.or_else(|_| File::open(spool).and_then(|directory| touch(&directory)).and_then(|()| modified(spool)))?;
    let mut signs = WorkerSigns::default();
    for entry in std::fs::read_dir(spool.join("alive"))?.flatten() {
        if let Ok(then) = modified(&entry.path()) {
            let is_fresh = now - then <= lease.as_secs_f64();
            *(if is_fresh { &mut signs.fresh } else { &mut signs.old }) += 1;
        }
    }
    Ok(signs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::tests::spool;
    use std::time::SystemTime;
    use testkit::tree::TempTree;

    #[test]
    fn a_worker_that_cannot_begin_leaves_no_sign() {
        let place = TempTree::new();
        let root = place.path().join("spool");
        let spool = spool(&root, 1, &[1], 1);
        let signs = || worker_signs(&root, Duration::from_secs(500)).expect("it can be read");
        let sign = AliveSign::make(&spool, "w").expect("made");
        assert_eq!(signs(), WorkerSigns { fresh: 1, old: 0 });
        drop(sign);
        assert_eq!(signs(), WorkerSigns::default());
    }

    #[test]
    fn a_sign_older_than_a_lease_is_that_of_a_dead_worker() {
        let place = TempTree::new();
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("it is later");
        place.file("alive/new", "").file("alive/old", "");
        place.modified("alive/old", now - Duration::from_secs(1000));
        let signs = worker_signs(place.path(), Duration::from_secs(500)).expect("it can be read");
        assert_eq!(signs, WorkerSigns { fresh: 1, old: 1 });
        // Without a file of its own the time is asked from the directory.
        std::fs::remove_file(place.path().join("looked")).expect("just made");
        place.directory("looked");
        assert_eq!(worker_signs(place.path(), Duration::from_secs(500)).expect("it can be read"), signs);
    }
}
