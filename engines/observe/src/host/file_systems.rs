//! How full file systems are. `statvfs(2)` of a network file system whose server is gone never returns, so other threads ask; who
//! waits too long is left behind, and its file system is called silent until it comes back.

use machine::{Host, mounts};
use parking_lot::Mutex;
use rustix::fs::statvfs;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSystemUse {
    /// Where it is mounted.
    pub place: PathBuf,
    /// What it says; none where it does not answer.
    pub sizes: Option<FileSystemSizes>,
}

/// Bytes and inodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystemSizes {
    /// Its size in bytes.
    pub size: u64,
    /// Bytes that users without rights may still write.
    pub free: u64,
    /// Bytes in use.
    pub used: u64,
    /// Inodes there may be; 0 where they are made as needed.
    pub inodes: u64,
    /// Inodes left.
    pub inodes_free: u64,
}

/// LIMIT: an answer that takes longer is none. Local file systems need microseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// Sizes move slowly, and a machine may have hundreds of mounts.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// LIMIT: threads that wait for file systems that do not answer; more of these are not asked.
const WAITING_MAX: usize = 8;
/// LIMIT: mounts that are asked; a host of containers may have thousands, of which most show the same.
const MOUNTS_MAX: usize = 256;

/// Types that are no storage, or are full by nature.
const NOT_ASKED: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fuse.lxcfs",
    "fuse.portal",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "squashfs",
    "sysfs",
    "tracefs",
];

/// Asks file systems for their sizes, beside whoever looks.
pub struct FileSystemProbe {
    host: Host,
    shared: Arc<Mutex<Shared>>,
    asked: Option<Instant>,
}

/// What the threads and the sampler have in common.
#[derive(Default)]
struct Shared {
    /// What was found last.
    found: Vec<FileSystemUse>,
    /// What a thread asks now, and since when.
    now: Option<(PathBuf, Instant)>,
    /// Which thread is meant: one that was left behind has an older number.
    turn: u64,
    /// Whether that thread is at work.
    is_working: bool,
    /// Those that do not answer.
    silent: HashSet<PathBuf>,
}

impl FileSystemProbe {
    /// Of the mounts of `host`.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone(), shared: Arc::default(), asked: None }
    }

    /// What is known now. Never waits.
    pub fn look(&mut self) -> Vec<FileSystemUse> {
        let now = Instant::now();
        let mut shared = self.shared.lock();
        if let Some((place, since)) = shared.now.clone()
            && now.saturating_duration_since(since) > PATIENCE
        {
            (shared.turn, shared.is_working, shared.now) = (shared.turn + 1, false, None);
            shared.silent.insert(place);
            self.asked = None;
        }
        let is_due = self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= ASK_EVERY);
        if is_due && !shared.is_working && shared.silent.len() < WAITING_MAX {
            self.asked = Some(now);
            let turn = shared.turn;
            let (host, of_thread) = (self.host.clone(), Arc::clone(&self.shared));
            let name = "file systems".to_owned();
            let spawned = std::thread::Builder::new()
                .name(name)
                .stack_size(64 << 10)
                .spawn(move || ask_all(&host, turn, &of_thread));
            shared.is_working = spawned.is_ok();
        }
        let silent = shared.silent.iter().map(|place| FileSystemUse { place: place.clone(), sizes: None });
        let answering = shared.found.iter().filter(|one| !shared.silent.contains(&one.place)).cloned();
        answering.chain(silent).collect()
    }
}

fn ask_all(host: &Host, turn: u64, shared: &Mutex<Shared>) {
    let mut found = Vec::new();
    for place in places(host) {
        {
            let mut shared = shared.lock();
            if shared.turn != turn {
                return;
            }
            if shared.silent.contains(&place) {
                continue;
            }
            shared.now = Some((place.clone(), Instant::now()));
        }
        let sizes = sizes(&host.locate(&place));
        let mut shared = shared.lock();
        if shared.turn != turn {
            // It answered at last: the next round asks it again.
            shared.silent.remove(&place);
            return;
        }
        found.extend(sizes.map(|sizes| FileSystemUse { place, sizes: Some(sizes) }));
    }
    let mut shared = shared.lock();
    if shared.turn == turn {
        (shared.found, shared.now, shared.is_working) = (found, None, false);
    }
}

/// One place of each file system: the shortest, which people know it by.
fn places(host: &Host) -> Vec<PathBuf> {
    let mut mounts = mounts(host).unwrap_or_default();
    mounts.retain(|mount| !NOT_ASKED.contains(&mount.filesystem.as_str()));
    mounts.sort_by_key(|mount| mount.mount_point.as_os_str().len());
    let mut seen = HashSet::new();
    mounts.retain(|mount| seen.insert((mount.device.major, mount.device.minor)));
    mounts.into_iter().map(|mount| mount.mount_point).take(MOUNTS_MAX).collect()
}

fn sizes(place: &std::path::Path) -> Option<FileSystemSizes> {
    let status = statvfs(place).ok().filter(|status| status.f_blocks > 0)?;
    let bytes = |blocks: u64| blocks.saturating_mul(status.f_frsize);
    Some(FileSystemSizes {
        size: bytes(status.f_blocks),
        free: bytes(status.f_bavail),
        used: bytes(status.f_blocks.saturating_sub(status.f_bfree)),
        inodes: status.f_files,
        inodes_free: status.f_ffree,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_system_is_asked_once_at_its_shortest_place() {
        let fake = crate::fake::FakeProcHost::new();
        fake.file(
            "/proc/self/mountinfo",
            "1 1 8:1 /sub /data/deep rw - ext4 /dev/sda1 rw\n2 1 8:1 / /data rw - ext4 /dev/sda1 rw\n3 1 0:5 / /proc rw - proc proc rw\n",
        );
        assert_eq!(places(&fake.host()), [PathBuf::from("/data")]);
    }

    #[test]
    fn answers_come_and_silence_is_told() {
        let mut probe = FileSystemProbe::new(&Host::real());
        let mut found = probe.look();
        while found.is_empty() {
            std::thread::yield_now();
            found = probe.look();
        }
        assert!(found.iter().any(|one| one.sizes.is_some_and(|sizes| sizes.size >= sizes.used)));
        // A thread that waits for ever, as the sampler finds it.
        let place = PathBuf::from("/gone");
        let long_ago = Instant::now().checked_sub(2 * PATIENCE).expect("the clock runs for long");
        {
            let mut shared = probe.shared.lock();
            (shared.now, shared.is_working) = (Some((place.clone(), long_ago)), true);
        }
        assert!(probe.look().contains(&FileSystemUse { place, sizes: None }));
    }
}
