//! Where the control groups' CPU files are, so that a group's path in `/proc/PID/cgroup` becomes a directory.
//! Found once; both versions and none at all are fine.

use machine::{Host, Mount, mounts};
use std::path::PathBuf;

/// Which files a hierarchy has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy a controller.
    One,
    /// The unified one.
    Two,
}

/// A hierarchy that tells CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Which files it has.
    pub version: Version,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The group that is mounted there.
    pub root: String,
}

/// The two facts about groups that matter to CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// Where usage is: `cpuacct` or the unified hierarchy.
    pub usage: Option<Hierarchy>,
    /// Where quotas are: `cpu` or the unified hierarchy.
    pub quota: Option<Hierarchy>,
}

impl Hierarchies {
    /// Looks at the mounts; what cannot be read is not there.
    pub fn find(host: &Host) -> Self {
        let Ok(mounts) = mounts(host) else { return Self::default() };
        let controlled = |name: &str| {
            let carries =
                |mount: &&Mount| mount.filesystem == "cgroup" && mount.options.split(',').any(|option| option == name);
            mounts.iter().find(carries).map(|mount| hierarchy(Version::One, mount))
        };
        let unified = || mounts.iter().find(|mount| mount.filesystem == "cgroup2");
        let or_unified =
            |found: Option<Hierarchy>| found.or_else(|| unified().map(|mount| hierarchy(Version::Two, mount)));
        Self { usage: or_unified(controlled("cpuacct")), quota: or_unified(controlled("cpu")) }
    }
}

fn hierarchy(version: Version, mount: &Mount) -> Hierarchy {
    Hierarchy {
        version,
        mount_point: mount.mount_point.clone(),
        root: mount.root.to_string_lossy().trim_end_matches('/').to_owned(),
    }
}

impl Hierarchy {
    /// The directories of `group` and all above it that can be seen, nearest first.
    pub fn levels(&self, group: &str) -> Vec<PathBuf> {
        let below = group.strip_prefix(self.root.as_str()).unwrap_or("");
        // A group outside of what is mounted is shown with `..`; the mount point is then the nearest level.
        let is_inside = below.split('/').all(|part| part != "..");
        let own =
            if is_inside { self.mount_point.join(below.trim_start_matches('/')) } else { self.mount_point.clone() };
        own.ancestors().take_while(|folder| folder.starts_with(&self.mount_point)).map(PathBuf::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProcHost;
    use std::path::Path;

    #[test]
    fn version_1_comes_before_the_unified_hierarchy() {
        let fake = FakeProcHost::new();
        let unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        fake.file("/proc/self/mountinfo", format!("32 31 0:29 / /cg/acct rw - cgroup cgroup rw,cpuacct\n{unified}"));
        let found = Hierarchies::find(&fake.host());
        assert_eq!(found.usage.expect("cpuacct").version, Version::One);
        let quota = found.quota.expect("unified");
        assert_eq!(quota.version, Version::Two);
        let levels = quota.levels("/a/b");
        assert_eq!(levels[0], Path::new("/sys/fs/cgroup/unified/a/b"));
        assert_eq!(levels.len(), 3);
        assert_eq!(quota.levels("/../x"), [PathBuf::from("/sys/fs/cgroup/unified")]);
    }

    #[test]
    fn no_groups_are_no_error() {
        assert_eq!(Hierarchies::find(&FakeProcHost::new().host()), Hierarchies::default());
    }
}
