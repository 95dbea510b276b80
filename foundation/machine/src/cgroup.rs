//! What the control groups of this process allow: CPU quota and memory, in version 1, version 2 and the hybrid of both
//! (cgroups(7), Documentation/admin-guide/cgroup-v2.rst). A group is bound by its ancestors too, so each reader takes the
//! tightest level between the process's own group and the highest visible one. Changes nothing, joins no group.

use crate::host::{Host, HostError, parse_number};
use crate::mounts::{Mount, mounts};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// A kind of resource that control groups bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Time on CPUs.
    Cpu,
    /// Memory.
    Memory,
    /// Numbers of tasks.
    Pids,
    /// Holding all processes of a group still; version 2 has it without a controller.
    Freezer,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Freezer => "freezer",
        }
    }
}

/// One line of `/proc/self/cgroup`: this process's group in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The hierarchy's controllers; none for version 2.
    pub controllers: Vec<String>,
    /// The group, from the hierarchy's root (or the root of the cgroup namespace).
    pub path: PathBuf,
}

/// Memory that the control groups allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupMemory {
    /// The tightest limit of the group and its ancestors.
    pub limit_bytes: Option<u64>,
    /// What can still be had before some level meets its limit. File cache counts as free, since the kernel gives it up
    /// before it refuses memory; without that, a group that has read a large file would look full.
    pub headroom_bytes: Option<u64>,
}

/// Tasks (threads) that the control groups allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTasks {
    /// The limit of the level that has the least left.
    pub limit: u64,
    /// Tasks in it and below.
    pub now: u64,
    /// The level's directory on the host.
    pub directory: PathBuf,
}

/// Reads `/proc/self/cgroup`.
pub fn memberships(host: &Host) -> Result<Vec<Membership>, HostError> {
    memberships_in(host, Path::new("/proc/self/cgroup"))
}

fn memberships_in(host: &Host, path: &Path) -> Result<Vec<Membership>, HostError> {
    let text = host.read(path)?;
    text.lines()
        .map(|line| {
            let mut columns = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(group)) = (columns.next(), columns.next()) else {
                return Err(HostError::absent(path, "the columns of a hierarchy"));
            };
            let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Ok(Membership { controllers, path: PathBuf::from(group) })
        })
        .collect()
}

/// A CPU quota and the group that has it: all processes below share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// CPU time in thousandths of a core.
    pub millicores: u64,
    /// The group's directory on the host.
    pub directory: PathBuf,
}

/// The tightest CPU quota of this process's groups; none when nothing bounds it.
pub fn cpu_quota(host: &Host) -> Result<Option<CpuQuota>, HostError> {
    ControlGroups::of(host)?.cpu_quota(host)
}

/// A number by which processes in different mount namespaces know the same group: its directory's inode (cgroups(7)).
pub fn group_number(host: &Host, directory: &Path) -> Result<u64, HostError> {
    match std::fs::metadata(host.locate(directory)) {
        Ok(status) => Ok(status.ino()),
        Err(cause) => Err(HostError::Read { path: directory.to_owned(), cause }),
    }
}

/// Whether all of process `pid`'s group is held still (cgroup-v1/freezer-subsystem.rst; cgroup-v2.rst, `cgroup.freeze`): such a
/// process looks as if it slept. A process that is gone is not.
pub fn is_frozen(host: &Host, pid: u32) -> Result<bool, HostError> {
    let path = PathBuf::from(format!("/proc/{pid}/cgroup"));
    if host.read_if_there(&path)?.is_none() {
        return Ok(false);
    }
    let memberships = memberships_in(host, &path)?;
    // A hierarchy's root cannot be frozen: then there is nothing more to be read.
    let can_be = |membership: &Membership| {
        let is_v2 = membership.controllers.is_empty();
        let is_freezer = membership.controllers.iter().any(|name| name == Controller::Freezer.name());
        (is_v2 || is_freezer) && membership.path != Path::new("/")
    };
    if !memberships.iter().any(can_be) {
        return Ok(false);
    }
    let groups = ControlGroups { memberships, mounts: mounts(host)? };
    // Both tell what holds for the group in the end, whichever of its ancestors was told to freeze.
    for (version, file, word) in
        [(Version::One, "freezer.state", "FROZEN"), (Version::Two, "cgroup.events", "frozen 1")]
    {
        let directory = Levels::in_version(&groups, Controller::Freezer, version)?
            .and_then(|levels| levels.directories.into_iter().next());
        let Some(directory) = directory else { continue };
        if host.read_if_there(&directory.join(file))?.is_some_and(|text| text.lines().any(|line| line == word)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The control groups of this process and where they are mounted: read once for all controllers, since the kernel takes its
/// time to list mounts.
pub struct ControlGroups {
    memberships: Vec<Membership>,
    mounts: Vec<Mount>,
}

impl ControlGroups {
    /// Reads `/proc/self/cgroup` and `/proc/self/mountinfo`.
    pub fn of(host: &Host) -> Result<Self, HostError> {
        let memberships = memberships(host)?;
        let mounts = if memberships.is_empty() { Vec::new() } else { mounts(host)? };
        Ok(Self { memberships, mounts })
    }

    /// The same for another process. An error when it has gone.
    pub fn of_process(host: &Host, pid: u32) -> Result<Self, HostError> {
        let memberships = memberships_in(host, &PathBuf::from(format!("/proc/{pid}/cgroup")))?;
        let mounts = if memberships.is_empty() { Vec::new() } else { mounts(host)? };
        Ok(Self { memberships, mounts })
    }

    /// The groups that both are in: of each hierarchy the deepest common one.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        let shared = self.memberships.iter().filter_map(|own| {
            let theirs = other.memberships.iter().find(|theirs| theirs.controllers == own.controllers)?;
            let pairs = own.path.components().zip(theirs.path.components());
            let path = pairs.take_while(|(one, another)| one == another).map(|(one, _)| one).collect();
            Some(Membership { controllers: own.controllers.clone(), path })
        });
        Self { memberships: shared.collect(), mounts: self.mounts.clone() }
    }

    /// The groups one level up.
    #[must_use]
    pub fn above(&self) -> Self {
        let up = |own: &Membership| Membership {
            controllers: own.controllers.clone(),
            path: own.path.parent().map_or_else(|| own.path.clone(), Path::to_owned),
        };
        Self { memberships: self.memberships.iter().map(up).collect(), mounts: self.mounts.clone() }
    }

    /// The level at which the fewest tasks may be added; none when nothing bounds them.
    pub fn tasks(&self, host: &Host) -> Result<Option<GroupTasks>, HostError> {
        let Some(levels) = Levels::find(self, Controller::Pids)? else { return Ok(None) };
        let mut tightest: Option<GroupTasks> = None;
        for directory in levels.directories {
            let limit_path = directory.join("pids.max");
            let Some(text) = host.read_if_there(&limit_path)?.filter(|text| text != "max") else { continue };
            let limit = parse_number(&limit_path, "the limit", &text)?;
            let now_path = directory.join("pids.current");
            let now = host.read_if_there(&now_path)?.map(|text| parse_number(&now_path, "the tasks", &text));
            let now = now.transpose()?.unwrap_or(0);
            let left = |tasks: &GroupTasks| tasks.limit.saturating_sub(tasks.now);
            if tightest.as_ref().is_none_or(|tightest| limit.saturating_sub(now) < left(tightest)) {
                tightest = Some(GroupTasks { limit, now, directory });
            }
        }
        Ok(tightest)
    }

    /// The tightest CPU quota of the group and its ancestors; none when nothing bounds it.
    pub fn cpu_quota(&self, host: &Host) -> Result<Option<CpuQuota>, HostError> {
        let Some(levels) = Levels::find(self, Controller::Cpu)? else { return Ok(None) };
        let mut tightest: Option<CpuQuota> = None;
        for directory in &levels.directories {
            let quota = match levels.version {
                Version::One => quota_v1(host, directory)?,
                Version::Two => quota_v2(host, directory)?,
            };
            let Some(millicores) = quota else { continue };
            // Of two equal quotas the outer one counts: more processes share it.
            if tightest.as_ref().is_none_or(|tightest| millicores <= tightest.millicores) {
                tightest = Some(CpuQuota { millicores, directory: directory.clone() });
            }
        }
        Ok(tightest)
    }

    /// The tightest CPU quota in thousandths of a core, whichever group has it.
    pub fn cpu_quota_millicores(&self, host: &Host) -> Result<Option<u64>, HostError> {
        Ok(self.cpu_quota(host)?.map(|quota| quota.millicores))
    }

    /// The memory that the group and its ancestors allow.
    pub fn memory(&self, host: &Host) -> Result<GroupMemory, HostError> {
        let Some(levels) = Levels::find(self, Controller::Memory)? else { return Ok(GroupMemory::default()) };
        let names = levels.version.memory_names();
        let mut memory = GroupMemory::default();
        for directory in &levels.directories {
            let Some(limit) = memory_limit(host, &directory.join(names.limit))? else { continue };
            let usage = host.read_if_there(&directory.join(names.usage))?;
            let usage = usage.map(|text| parse_number(&directory.join(names.usage), "the usage", &text)).transpose()?;
            let used = usage.unwrap_or(0).saturating_sub(file_cache_bytes(host, directory, names)?);
            memory.limit_bytes = lesser(memory.limit_bytes, Some(limit));
            memory.headroom_bytes = lesser(memory.headroom_bytes, Some(limit.saturating_sub(used)));
        }
        Ok(memory)
    }
}

/// The smaller of two bounds, where none is no bound.
fn lesser(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// File names and keys of the memory controller.
#[derive(Clone, Copy)]
struct MemoryNames {
    limit: &'static str,
    usage: &'static str,
    file_cache: [&'static str; 2],
}

impl Version {
    fn memory_names(self) -> MemoryNames {
        match self {
            Self::One => MemoryNames {
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                // Without "total_" the groups below would be missing, which usage counts.
                file_cache: ["total_inactive_file", "total_active_file"],
            },
            Self::Two => MemoryNames {
                limit: "memory.max",
                usage: "memory.current",
                file_cache: ["inactive_file", "active_file"],
            },
        }
    }
}

/// The directories of a group and its visible ancestors, nearest first.
#[derive(Debug, PartialEq, Eq)]
struct Levels {
    version: Version,
    directories: Vec<PathBuf>,
}

impl Levels {
    /// Finds the hierarchy that has `controller`: version 1 where it is bound there, else version 2. None when the process
    /// is in no group at all.
    fn find(groups: &ControlGroups, controller: Controller) -> Result<Option<Self>, HostError> {
        match Self::in_version(groups, controller, Version::One)? {
            None => Self::in_version(groups, controller, Version::Two),
            levels => Ok(levels),
        }
    }

    /// The same in the hierarchies of one version.
    fn in_version(groups: &ControlGroups, controller: Controller, version: Version) -> Result<Option<Self>, HostError> {
        let ControlGroups { memberships, mounts } = groups;
        let is_meant = |membership: &&Membership| match version {
            Version::One => membership.controllers.iter().any(|name| name == controller.name()),
            Version::Two => membership.controllers.is_empty(),
        };
        let Some(membership) = memberships.iter().find(is_meant) else { return Ok(None) };
        let carries = |mount: &&Mount| match version {
            Version::One => {
                mount.filesystem == "cgroup" && mount.options.split(',').any(|name| name == controller.name())
            }
            Version::Two => mount.filesystem == "cgroup2",
        };
        let mut candidates: Vec<&Mount> = mounts.iter().filter(carries).collect();
        // A hierarchy may be mounted in several places; the one that shows most of the process's ancestry comes first.
        candidates.sort_by_key(|mount| (!membership.path.starts_with(&mount.root), mount.root.as_os_str().len()));
        let Some(mount) = candidates.first() else {
            return Err(HostError::absent(Path::new("/proc/self/mountinfo"), "the mount of the control groups"));
        };
        Ok(Some(Self { version, directories: directories(mount, &membership.path) }))
    }
}

/// The directory of `group` below `mount` and all above it up to the mount point.
fn directories(mount: &Mount, group: &Path) -> Vec<PathBuf> {
    // A group outside of what is mounted (`/../x` in a namespace, or the host's path in a container) cannot be seen:
    // what is mounted is then the nearest level that can.
    let below = group.strip_prefix(&mount.root).ok();
    let below = below.filter(|below| below.components().all(|part| matches!(part, Component::Normal(_))));
    let own = mount.mount_point.join(below.unwrap_or(Path::new("")));
    own.ancestors().take_while(|directory| directory.starts_with(&mount.mount_point)).map(Path::to_owned).collect()
}

/// `cpu.cfs_quota_us` of `cpu.cfs_period_us`; -1 is no quota.
fn quota_v1(host: &Host, directory: &Path) -> Result<Option<u64>, HostError> {
    let (quota_path, period_path) = (directory.join("cpu.cfs_quota_us"), directory.join("cpu.cfs_period_us"));
    match host.read_if_there(&quota_path)?.as_deref() {
        None | Some("-1") => Ok(None),
        Some(quota) => {
            let quota = parse_number(&quota_path, "the quota", quota)?;
            let period = parse_number(&period_path, "the period", host.read(&period_path)?.trim_end())?;
            millicores(&period_path, quota, period).map(Some)
        }
    }
}

/// `cpu.max`: quota (or `max`) and period. The root group has no such file.
fn quota_v2(host: &Host, directory: &Path) -> Result<Option<u64>, HostError> {
    let path = directory.join("cpu.max");
    let Some(text) = host.read_if_there(&path)? else { return Ok(None) };
    let (quota, period) = text.split_once(' ').ok_or_else(|| HostError::absent(&path, "the period"))?;
    if quota == "max" {
        return Ok(None);
    }
    let quota = parse_number(&path, "the quota", quota)?;
    millicores(&path, quota, parse_number(&path, "the period", period)?).map(Some)
}

fn millicores(period_path: &Path, quota_us: u64, period_us: u64) -> Result<u64, HostError> {
    let millicores = quota_us.saturating_mul(1000).checked_div(period_us);
    millicores.ok_or_else(|| HostError::not_a_number(period_path, "the period", "0"))
}

/// LIE: version 1 says "no limit" with the largest number of whole pages below 2^63; no machine has this much memory.
const NO_LIMIT_V1_BYTES: u64 = 1 << 62;

fn memory_limit(host: &Host, path: &Path) -> Result<Option<u64>, HostError> {
    match host.read_if_there(path)?.as_deref() {
        None | Some("max") => Ok(None),
        Some(text) => Ok(Some(parse_number(path, "the limit", text)?).filter(|limit| *limit < NO_LIMIT_V1_BYTES)),
    }
}

/// File cache of the group and those below it; nothing when the group keeps no statistics.
fn file_cache_bytes(host: &Host, directory: &Path, names: MemoryNames) -> Result<u64, HostError> {
    let path = directory.join("memory.stat");
    let Some(text) = host.read_if_there(&path)? else { return Ok(0) };
    let mut sum: u64 = 0;
    for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        if names.file_cache.contains(&name) {
            sum = sum.saturating_add(parse_number(&path, "the file cache", value)?);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    const V2: &str = "/sys/fs/cgroup";

    fn cpu_quota_millicores(host: &Host) -> Result<Option<u64>, HostError> {
        ControlGroups::of(host)?.cpu_quota_millicores(host)
    }

    fn group_memory(host: &Host) -> Result<GroupMemory, HostError> {
        ControlGroups::of(host)?.memory(host)
    }

    #[test]
    fn a_frozen_group_is_seen_in_both_versions_and_its_neighbour_is_not() {
        let fake = FakeHost::with_cgroup_v2("/user");
        fake.file("/proc/7/cgroup", "0::/user/job\n");
        fake.file("/proc/8/cgroup", "0::/\n");
        let events = "/sys/fs/cgroup/user/job/cgroup.events";
        fake.file(events, "populated 1\nfrozen 0\n");
        let is_frozen = |fake: &FakeHost, pid| is_frozen(&fake.host(), pid).expect("readable");
        assert!(!is_frozen(&fake, 7) && !is_frozen(&fake, 8) && !is_frozen(&fake, 9), "9 is gone");
        fake.file(events, "populated 1\nfrozen 1\n");
        assert!(is_frozen(&fake, 7) && !is_frozen(&fake, 8));

        let fake = FakeHost::with_cgroup_v1("/");
        fake.file("/proc/self/mountinfo", "36 31 0:33 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
        fake.file("/proc/7/cgroup", "9:freezer:/job\n2:cpu,cpuacct:/\n");
        for (state, expected) in [("THAWED\n", false), ("FREEZING\n", false), ("FROZEN\n", true)] {
            fake.file("/sys/fs/cgroup/freezer/job/freezer.state", state);
            assert_eq!(is_frozen(&fake, 7), expected, "{state}");
        }
    }

    #[test]
    fn version_2_quota_is_the_tightest_of_all_levels() {
        let fake = FakeHost::with_cgroup_v2("/outer/inner");
        fake.file(&format!("{V2}/outer/inner/cpu.max"), "400000 100000\n");
        fake.file(&format!("{V2}/outer/cpu.max"), "75000 50000\n");
        assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), Some(1500));
        fake.file(&format!("{V2}/outer/cpu.max"), "max 100000\n");
        assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), Some(4000));
        fake.file(&format!("{V2}/outer/inner/cpu.max"), "max 100000\n");
        assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), None);
    }

    #[test]
    fn version_1_quota_is_the_tightest_of_all_levels() {
        let fake = FakeHost::with_cgroup_v1("/outer/inner");
        let cpu = "/sys/fs/cgroup/cpu,cpuacct";
        for (group, quota) in [("", "-1"), ("/outer", "250000"), ("/outer/inner", "300000")] {
            fake.file(&format!("{cpu}{group}/cpu.cfs_quota_us"), quota);
            fake.file(&format!("{cpu}{group}/cpu.cfs_period_us"), "100000\n");
        }
        assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), Some(2500));
    }

    #[test]
    fn version_2_memory_counts_file_cache_as_free() {
        let fake = FakeHost::with_cgroup_v2("/outer/inner");
        fake.file(&format!("{V2}/outer/inner/memory.max"), "max\n");
        fake.file(&format!("{V2}/outer/inner/memory.current"), "600\n");
        fake.file(&format!("{V2}/outer/memory.max"), "1000\n");
        fake.file(&format!("{V2}/outer/memory.current"), "900\n");
        fake.file(&format!("{V2}/outer/memory.stat"), "anon 200\nfile 700\ninactive_file 400\nactive_file 100\n");
        let expected = GroupMemory { limit_bytes: Some(1000), headroom_bytes: Some(1000 - (900 - 500)) };
        assert_eq!(group_memory(&fake.host()).expect("readable"), expected);
    }

    #[test]
    fn tasks_are_bound_where_the_fewest_are_left() {
        let fake = FakeHost::with_cgroup_v2("/outer/inner");
        fake.file(&format!("{V2}/outer/inner/pids.max"), "100\n");
        fake.file(&format!("{V2}/outer/inner/pids.current"), "10\n");
        fake.file(&format!("{V2}/outer/pids.max"), "500\n");
        fake.file(&format!("{V2}/outer/pids.current"), "450\n");
        let tasks = ControlGroups::of(&fake.host()).expect("groups").tasks(&fake.host()).expect("readable");
        assert_eq!(tasks.map(|tasks| (tasks.limit, tasks.now)), Some((500, 450)));
        fake.file(&format!("{V2}/outer/pids.max"), "max\n");
        let tasks = ControlGroups::of(&fake.host()).expect("groups").tasks(&fake.host()).expect("readable");
        assert_eq!(tasks.map(|tasks| tasks.limit), Some(100));
    }

    #[test]
    fn groups_of_two_processes_meet_at_their_common_ancestor() {
        let fake = FakeHost::with_cgroup_v2("/a/b/c");
        fake.file("/proc/7/cgroup", "0::/a/b/d/e\n");
        let own = ControlGroups::of(&fake.host()).expect("groups");
        let shared = own.shared_with(&ControlGroups::of_process(&fake.host(), 7).expect("it is there"));
        assert_eq!(shared.memberships[0].path, Path::new("/a/b"));
        assert_eq!(shared.above().memberships[0].path, Path::new("/a"));
        assert_eq!(shared.above().above().above().memberships[0].path, Path::new("/"));
        assert!(ControlGroups::of_process(&fake.host(), 8).is_err());
    }

    #[test]
    fn headroom_may_be_tightest_where_the_limit_is_not() {
        let fake = FakeHost::with_cgroup_v2("/outer/inner");
        fake.file(&format!("{V2}/outer/inner/memory.max"), "1000\n");
        fake.file(&format!("{V2}/outer/inner/memory.current"), "100\n");
        fake.file(&format!("{V2}/outer/memory.max"), "2000\n");
        fake.file(&format!("{V2}/outer/memory.current"), "1900\n");
        let memory = group_memory(&fake.host()).expect("readable");
        assert_eq!((memory.limit_bytes, memory.headroom_bytes), (Some(1000), Some(100)));
    }

    #[test]
    fn the_huge_number_of_version_1_is_no_limit() {
        let fake = FakeHost::with_cgroup_v1("/outer/inner");
        let own = "/sys/fs/cgroup/memory/outer/inner";
        fake.file(&format!("{own}/memory.limit_in_bytes"), "9223372036854771712\n");
        fake.file(&format!("{own}/memory.usage_in_bytes"), "4096\n");
        let expected = GroupMemory { limit_bytes: None, headroom_bytes: None };
        assert_eq!(group_memory(&fake.host()).expect("readable"), expected);
        fake.file("/sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "8192\n");
        fake.file("/sys/fs/cgroup/memory/outer/memory.usage_in_bytes", "5000\n");
        fake.file("/sys/fs/cgroup/memory/outer/memory.stat", "inactive_file 7\ntotal_inactive_file 904\n");
        let memory = group_memory(&fake.host()).expect("readable");
        assert_eq!((memory.limit_bytes, memory.headroom_bytes), (Some(8192), Some(4096)));
    }

    #[test]
    fn a_container_that_sees_only_its_own_group_reads_it_at_the_mount() {
        let fake = FakeHost::new();
        fake.file("/proc/self/cgroup", "0::/docker/abc/leaf\n");
        fake.file("/proc/self/mountinfo", "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        fake.file(&format!("{V2}/cpu.max"), "200000 100000\n");
        fake.file(&format!("{V2}/leaf/cpu.max"), "100000 100000\n");
        assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), Some(1000));
    }

    #[test]
    fn a_group_outside_of_the_namespace_is_read_at_the_mount() {
        for outside in ["/../other", "/elsewhere"] {
            let fake = FakeHost::new();
            fake.file("/proc/self/cgroup", &format!("0::{outside}\n"));
            fake.file("/proc/self/mountinfo", "31 23 0:28 /docker /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
            fake.file(&format!("{V2}/cpu.max"), "300000 100000\n");
            assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), Some(3000));
        }
    }

    #[test]
    fn a_process_in_no_group_is_unbounded() {
        let fake = FakeHost::new();
        fake.file("/proc/self/cgroup", "");
        assert_eq!(cpu_quota_millicores(&fake.host()).expect("readable"), None);
        assert_eq!(group_memory(&fake.host()).expect("readable"), GroupMemory::default());
    }

    #[test]
    fn groups_that_are_mounted_nowhere_are_an_error_not_unbounded() {
        let fake = FakeHost::new();
        fake.file("/proc/self/cgroup", "0::/\n");
        fake.file("/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
        let error = cpu_quota_millicores(&fake.host()).expect_err("cannot be known");
        assert_eq!(error.to_string(), "find the mount of the control groups in '/proc/self/mountinfo'");
        assert!(error.is_unsaid());
    }

    #[test]
    fn malformed_files_name_the_field() {
        for (text, message) in [
            ("many 100000", "find the quota in '/sys/fs/cgroup/a/cpu.max'"),
            ("100000", "find the period in '/sys/fs/cgroup/a/cpu.max'"),
            ("100000 0", "find the period in '/sys/fs/cgroup/a/cpu.max'"),
        ] {
            let fake = FakeHost::with_cgroup_v2("/a");
            fake.file("/sys/fs/cgroup/a/cpu.max", text);
            assert_eq!(cpu_quota_millicores(&fake.host()).expect_err(text).to_string(), message);
        }
        let fake = FakeHost::new();
        fake.file("/proc/self/cgroup", "no colons\n");
        let error = memberships(&fake.host()).expect_err("malformed");
        assert_eq!(error.to_string(), "find the columns of a hierarchy in '/proc/self/cgroup'");
    }

    #[test]
    fn the_outer_one_of_equal_quotas_is_named_and_has_a_number() {
        let fake = FakeHost::with_cgroup_v2("/outer/inner");
        fake.file("/sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
        fake.file("/sys/fs/cgroup/outer/inner/cpu.max", "200000 100000\n");
        let quota = cpu_quota(&fake.host()).expect("readable").expect("a quota");
        assert_eq!(quota, CpuQuota { millicores: 2000, directory: PathBuf::from("/sys/fs/cgroup/outer") });
        let number = group_number(&fake.host(), &quota.directory).expect("there");
        assert_ne!(number, group_number(&fake.host(), &quota.directory.join("inner")).expect("there"));
    }
}
