//! A fake machine: a tree with the `/proc` and `/sys` of so many CPUs and so much memory, for `Host::rooted_at`.
//! What is not written here the machine does not have.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

/// A machine made of files.
pub struct FakeMachine {
    root: TempDir,
}

const MOUNTS: &str = "proc/self/mountinfo";

impl FakeMachine {
    /// With `cpus` CPUs that may be used, and `memory_bytes` available.
    pub fn new(cpus: usize, memory_bytes: u64) -> Self {
        let fake = Self { root: tempfile::tempdir().expect("a temporary directory") };
        let last = cpus.checked_sub(1).expect("a machine has a CPU");
        fake.file("proc/self/status", &format!("Cpus_allowed_list:\t0-{last}\n"));
        fake.file("sys/devices/system/cpu/online", &format!("0-{last}\n"));
        let kilobytes = memory_bytes >> 10;
        fake.file("proc/meminfo", &format!("MemTotal: {kilobytes} kB\nMemAvailable: {kilobytes} kB\n"));
        fake.file("proc/self/cgroup", "0::/\n");
        fake.file(MOUNTS, "1 0 0:1 / / rw - tmpfs tmpfs rw\n2 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake
    }

    /// Mounts an empty file system of a rotating disk at `path`.
    pub fn with_rotating_disk(self, path: &str) -> Self {
        self.file("sys/devices/block/sda/queue/rotational", "1\n");
        self.file("sys/class/block/none", "");
        let device = self.root().join("sys/devices/block/sda");
        symlink(device, self.root().join("sys/class/block/sda")).expect("a link");
        self.file("dev/sda", "");
        self.mounted(path, "ext4 /dev/sda")
    }

    /// Mounts another machine's files at `path`.
    pub fn with_network_directory(self, path: &str) -> Self {
        self.mounted(path, "nfs4 server:/")
    }

    fn mounted(self, path: &str, what: &str) -> Self {
        let mounts = fs::read_to_string(self.root().join(MOUNTS)).expect("it has mounts");
        let number = mounts.lines().count() + 1;
        self.file(MOUNTS, &format!("{mounts}{number} 1 0:{number} / {path} rw - {what} rw\n"));
        fs::create_dir_all(self.root().join(path.trim_start_matches('/'))).expect("a directory");
        self
    }

    /// Writes the file at `path`, with its directories.
    pub fn file(&self, path: &str, text: &str) {
        let path = self.root().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().expect("a directory above")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// What stands in place of `/`.
    pub fn root(&self) -> &Path {
        self.root.path()
    }
}
