//! Fake `/proc` and `/sys` trees for this crate's own tests.
//! A tree starts empty: what a test does not write is what its host does not have.

use crate::Host;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use tempfile::TempDir;

/// A host made of files in a temporary directory.
pub(crate) struct FakeHost {
    directory: TempDir,
}

impl FakeHost {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(directory.path().join("sys")).expect("a directory for sys");
        Self { directory }
    }

    pub(crate) fn host(&self) -> Host {
        Host::rooted_at(self.directory.path())
    }

    /// Writes the file at the host's absolute `path`, with its directories.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let located = self.locate(path);
        fs::create_dir_all(located.parent().expect("a parent")).expect("directories");
        fs::write(located, text).expect("a file");
    }

    /// Links `path` to `target`, both absolute on the host.
    pub(crate) fn link(&self, path: &str, target: &str) {
        let located = self.locate(path);
        fs::create_dir_all(located.parent().expect("a parent")).expect("directories");
        symlink(self.locate(target), located).expect("a link");
    }

    fn locate(&self, path: &str) -> PathBuf {
        self.directory.path().join(path.trim_start_matches('/'))
    }

    /// A cgroup v2 host whose process sits in `group`.
    pub(crate) fn with_cgroup_v2(group: &str) -> Self {
        let fake = Self::new();
        fake.file("/proc/self/cgroup", &format!("0::{group}\n"));
        fake.file(
            "/proc/self/mountinfo",
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
             31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        fake
    }

    /// A cgroup v1 host whose process sits in `group` for both controllers.
    pub(crate) fn with_cgroup_v1(group: &str) -> Self {
        let fake = Self::new();
        fake.file("/proc/self/cgroup", &format!("4:memory:{group}\n2:cpu,cpuacct:{group}\n1:name=systemd:/\n0::/\n"));
        fake.file(
            "/proc/self/mountinfo",
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
             32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        );
        fake
    }
}
