//! How many workers there are on files: as many as hands are allowed, but one where a rotating disk has the files, and more where another machine has
//! them, unless a number is asked for. For `mh cp`, `mh rm`, `mh mv` and `mh tar`. Asks what paths lie on; measures nothing.

use crate::report::counted;
use machine::{Host, Storage, StorageKind, storage_of};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Another number of workers than hands are allowed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// So many workers at most.
    pub workers: usize,
    /// Workers that share a hand, since they wait.
    pub workers_a_hand: usize,
    /// For the plan and the report.
    pub why: String,
}

/// For the report.
pub fn sentence(width: &str, why: &str) -> String {
    format!("{width} at most: {why}")
}

impl Bound {
    /// The same for fewer workers, where descriptors or memory allow no more.
    pub fn with_workers(&self, workers: usize) -> Self {
        Self { workers, ..self.clone() }
    }

    /// `1 hand`, or `8 workers on 2 hands`.
    pub fn shown(&self) -> String {
        match self.workers_a_hand {
            1 => counted(self.workers as u64, "hand"),
            _ => {
                let hands = counted(self.workers.div_ceil(self.workers_a_hand) as u64, "hand");
                format!("{} on {hands}", counted(self.workers as u64, "worker"))
            }
        }
    }
}

/// LIMIT: paths that are asked about: each costs a look at the list of mounts, and what is typed together mostly lies together.
const PATHS_ASKED: usize = 8;

/// LIMIT: workers that wait for another machine at a time: four a core, eight at least, and no more than its answers can keep busy.
const WAITING_A_CORE: usize = 4;
const WAITING_LEAST: usize = 8;
const WAITING_MOST: usize = 64;

/// What bounds a run on `paths` that has `allowed` hands; nothing does where somebody has said how many there are to be. Of a path that is not there yet
/// its directory counts. One rotating disk decides, whatever else there is.
pub fn bound<'a>(
    host: &Host,
    hands_asked: Option<usize>,
    allowed: impl Fn() -> usize,
    paths: impl IntoIterator<Item = &'a [u8]>,
) -> Option<Bound> {
    if hands_asked.is_some() {
        return None;
    }
    let stored = |path: &Path| storage_of(host, path).ok();
    let paths = paths.into_iter().take(PATHS_ASKED).map(|path| Path::new(OsStr::from_bytes(path)));
    let found = paths.filter_map(|path| stored(path).or_else(|| stored(above(path))));
    let found: Vec<Storage> = found.collect();
    let on = |kind| found.iter().find(|storage| storage.kind == kind);
    if let Some(disk) = on(StorageKind::Rotating) {
        let device = disk.device.clone().unwrap_or_else(|| disk.mount_point.display().to_string());
        let why = format!("{device} is a rotating disk: several workers would make its heads seek");
        return Some(Bound { workers: 1, workers_a_hand: 1, why });
    }
    let network = on(StorageKind::Network)?;
    let allowed = allowed().max(1);
    let workers = (WAITING_A_CORE * allowed).clamp(WAITING_LEAST, WAITING_MOST).max(allowed);
    let why = format!("{} is on another machine: waiting for it uses no core", network.mount_point.display());
    Some(Bound { workers, workers_a_hand: workers.div_ceil(allowed), why })
}

/// The directory that a path's last part stands in.
fn above(path: &Path) -> &Path {
    match path.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A tree in place of `/`, with a partition of a rotating disk at `/slow`, one behind a mapper at `/mapped`, and another machine's directory at `/far`.
    fn fake(root: &Path) -> Host {
        let file = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a directory above")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        file("sys/devices/block/sda/queue/rotational", "1\n");
        file("sys/devices/block/sda/sda1/partition", "1\n");
        file("sys/devices/block/dm-0/queue/rotational", "1\n");
        file("sys/class/block/none", "");
        for (name, directory) in [("sda1", "sda/sda1"), ("dm-0", "dm-0")] {
            symlink(root.join("sys/devices/block").join(directory), root.join("sys/class/block").join(name))
                .expect("linked");
            file(&format!("dev/{name}"), "");
        }
        let mounts = "1 0 0:1 / / rw - tmpfs tmpfs rw\n2 1 0:2 / /slow rw - ext4 /dev/sda1 rw\n\
                      3 1 0:3 / /mapped rw - xfs /dev/dm-0 rw\n4 1 0:4 / /far rw - nfs4 server:/ rw\n";
        file("proc/self/mountinfo", mounts);
        ["slow/tree", "mapped", "far", "quick"].iter().for_each(|name| {
            std::fs::create_dir_all(root.join(name)).expect("made");
        });
        Host::rooted_at(root)
    }

    #[test]
    fn one_hand_works_on_a_turning_disk_and_many_wait_for_another_machine() {
        let place = tempfile::tempdir().expect("a directory");
        let host = fake(place.path());
        let bound =
            |paths: &[&str], allowed, asked| bound(&host, asked, || allowed, paths.iter().map(|path| path.as_bytes()));
        let shown = |paths: &[&str], allowed| bound(paths, allowed, None).map(|bound| bound.shown());
        let one = Some("1 hand".to_owned());
        assert_eq!(shown(&["/slow/tree"], 4), one);
        assert_eq!(shown(&["/quick", "/slow/not-there-yet"], 4), one, "either side");
        assert_eq!(shown(&["/far", "/mapped"], 4), one);
        assert_eq!(shown(&["/quick", "/nowhere/at/all"], 4), None);
        assert_eq!(bound(&["/slow"], 4, Some(3)), None, "who asks gets it");
        assert_eq!(bound(&["/far"], 4, Some(3)), None);
        for (allowed, workers) in [
            (1, "8 workers on 1 hand"),
            (2, "8 workers on 2 hands"),
            (6, "24 workers on 6 hands"),
            (32, "64 workers on 32 hands"),
            (100, "100 hands"),
        ] {
            assert_eq!(shown(&["/quick", "/far"], allowed).as_deref(), Some(workers));
        }
        let why = |paths: &[&str]| bound(paths, 4, None).map(|bound| bound.why);
        assert_eq!(
            why(&["/slow"]).as_deref(),
            Some("sda is a rotating disk: several workers would make its heads seek")
        );
        assert_eq!(why(&["/far"]).as_deref(), Some("/far is on another machine: waiting for it uses no core"));
    }
}
