//! Control groups with processes in them: what each used, may use, and was refused (cgroups(7)). A service or container is one group
//! here, whatever groups it has below.

use super::fields::*;
use super::values::{InstanceNames, Values};
use crate::files::Files;
use crate::groups::{Hierarchies, Hierarchy, Version};
use crate::sample::HostSample;
use crate::source::control_group::{throttling, unit, usage_v1_ns, usage_v2_ns};
use crate::source::words::{number, number_of, words};
use machine::{Host, Mount, mounts};
use std::collections::BTreeSet;
use std::path::Path;

/// LIMIT: groups that are read each time; those of the busiest processes come first.
const GROUPS_MAX: usize = 100;

/// Reads control groups.
pub struct GroupReader {
    hierarchies: Hierarchies,
    memory: Option<Hierarchy>,
    root: Files,
}

impl GroupReader {
    /// Finds where they are mounted.
    pub fn open(host: &Host) -> Option<Self> {
        let mounts = mounts(host).unwrap_or_default();
        let of_memory = |mount: &&Mount| {
            mount.filesystem == "cgroup2"
                || mount.filesystem == "cgroup" && mount.options.split(',').any(|name| name == "memory")
        };
        let found = mounts.iter().filter(of_memory).min_by_key(|mount| mount.filesystem == "cgroup2");
        let memory = found.map(|mount| Hierarchy {
            version: if mount.filesystem == "cgroup2" { Version::Two } else { Version::One },
            mount_point: mount.mount_point.clone(),
            root: mount.root.to_string_lossy().trim_end_matches('/').to_owned(),
        });
        Some(Self { hierarchies: Hierarchies::find(host), memory, root: Files::open(host, Path::new("/")).ok()? })
    }

    /// The groups of the processes of `sample`.
    pub fn read(&mut self, sample: &HostSample, names: &mut InstanceNames, values: &mut Values) {
        let paths = sample.processes.iter().filter_map(|process| process.identity.as_deref()?.group.as_deref());
        let paths: BTreeSet<&str> = paths.map(service_of).filter(|path| *path != "/" && !path.is_empty()).collect();
        for path in paths.into_iter().take(GROUPS_MAX) {
            let Some(group) = names.number(path) else { return };
            let mut push =
                |field, value: Option<u64>| value.into_iter().for_each(|value| values.push(field, group, value));
            self.read_cpu(path, &mut push);
            self.read_memory(path, &mut push);
        }
    }

    fn read_cpu(&mut self, path: &str, push: &mut impl FnMut(FieldId, Option<u64>)) {
        if let Some(hierarchy) = self.hierarchies.usage.clone() {
            let used = match hierarchy.version {
                Version::One => self.file(&hierarchy, path, "cpuacct.usage").and_then(usage_v1_ns),
                Version::Two => self.file(&hierarchy, path, "cpu.stat").and_then(usage_v2_ns),
            };
            push(GROUP_USED, used);
        }
        if let Some(hierarchy) = self.hierarchies.quota.clone() {
            let held = self.file(&hierarchy, path, "cpu.stat").and_then(throttling).filter(|held| held.periods > 0);
            push(GROUP_PERIODS, held.map(|held| held.periods));
            push(GROUP_THROTTLED, held.map(|held| held.throttled_periods));
            push(GROUP_QUOTA, self.quota(&hierarchy, path));
        }
    }

    fn quota(&mut self, hierarchy: &Hierarchy, path: &str) -> Option<u64> {
        let (quota, period) = match hierarchy.version {
            Version::One => {
                let quota =
                    self.file(hierarchy, path, "cpu.cfs_quota_us").and_then(|text| number(text.trim_ascii()))?;
                (quota, self.file(hierarchy, path, "cpu.cfs_period_us").and_then(|text| number(text.trim_ascii()))?)
            }
            Version::Two => {
                let mut columns = words(self.file(hierarchy, path, "cpu.max")?);
                (columns.next().and_then(number)?, columns.next().and_then(number)?)
            }
        };
        quota.saturating_mul(1000).checked_div(period)
    }

    fn read_memory(&mut self, path: &str, push: &mut impl FnMut(FieldId, Option<u64>)) {
        let Some(hierarchy) = self.memory.clone() else { return };
        let [usage, limit, kills] = match hierarchy.version {
            Version::One => ["memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control"],
            Version::Two => ["memory.current", "memory.max", "memory.events"],
        };
        push(GROUP_MEMORY, self.file(&hierarchy, path, usage).and_then(|text| number(text.trim_ascii())));
        // LIE: version 1 writes a limit near 2^63 where there is none.
        let limit = self.file(&hierarchy, path, limit).and_then(|text| number(text.trim_ascii()));
        push(GROUP_MEMORY_LIMIT, limit.filter(|limit| *limit < NO_LIMIT));
        push(GROUP_OOM_KILLS, self.file(&hierarchy, path, kills).and_then(|text| number_of(text, b"oom_kill ")));
    }

    fn file(&mut self, hierarchy: &Hierarchy, path: &str, name: &str) -> Option<&[u8]> {
        let directory = hierarchy.levels(path).into_iter().next()?;
        // A group that cannot be seen from here would be answered by the nearest that can.
        if directory == hierarchy.mount_point {
            return None;
        }
        let file = directory.join(name);
        self.root.read(file.to_str()?.trim_start_matches('/')).ok()
    }
}

const NO_LIMIT: u64 = 1 << 60;

/// The path of the service, scope or container that a group belongs to; the group's own where it is none.
fn service_of(path: &str) -> &str {
    let name = unit(path);
    let at = path.find(name).filter(|_| !name.is_empty() && name != path);
    at.map_or(path, |at| {
        let end = path[at..].find('/').map_or(path.len(), |length| at + length);
        &path[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProcHost;
    use crate::sample::{ProcessIdentity, ProcessSample};
    use std::sync::Arc;

    fn sample(group: &str) -> HostSample {
        let identity = ProcessIdentity { group: Some(group.to_owned()), ..ProcessIdentity::default() };
        let process = ProcessSample { identity: Some(Arc::new(identity)), ..ProcessSample::default() };
        HostSample { processes: vec![process], ..HostSample::default() }
    }

    fn read(fake: &FakeProcHost, group: &str) -> (InstanceNames, Values) {
        let (mut names, mut values) = (InstanceNames::default(), Values::default());
        let mut reader = GroupReader::open(&fake.host()).expect("a root");
        reader.read(&sample(group), &mut names, &mut values);
        values.sort();
        (names, values)
    }

    #[test]
    fn a_service_is_one_group_in_both_versions() {
        let fake = FakeProcHost::new();
        fake.file("/proc/self/mountinfo", "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n");
        fake.file("/cg/web.service/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 3\n");
        fake.file("/cg/web.service/cpu.max", "150000 100000\n");
        fake.file("/cg/web.service/memory.current", "4096\n");
        fake.file("/cg/web.service/memory.max", "max\n");
        fake.file("/cg/web.service/memory.events", "low 0\noom_kill 2\n");
        let (names, values) = read(&fake, "/web.service/worker");
        let group = names.find("/web.service").expect("the service");
        let fields = [GROUP_USED, GROUP_QUOTA, GROUP_THROTTLED, GROUP_MEMORY, GROUP_MEMORY_LIMIT, GROUP_OOM_KILLS];
        let found = fields.map(|field| values.of(field, group));
        assert_eq!(found, [Some(5000), Some(1500), Some(3), Some(4096), None, Some(2)]);
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each() {
        let fake = FakeProcHost::new();
        let mount = |point: &str, options: &str| format!("1 1 0:3 / {point} rw - cgroup cgroup rw,{options}\n");
        fake.file("/proc/self/mountinfo", mount("/cg/cpu", "cpu,cpuacct") + &mount("/cg/mem", "memory"));
        fake.file("/cg/cpu/a/cpuacct.usage", "77\n");
        fake.file("/cg/cpu/a/cpu.cfs_quota_us", "-1\n");
        fake.file("/cg/mem/a/memory.limit_in_bytes", "9223372036854771712\n");
        fake.file("/cg/mem/a/memory.oom_control", "oom_kill_disable 0\noom_kill 1\n");
        let (names, values) = read(&fake, "/a");
        let group = names.find("/a").expect("the group");
        let fields = [GROUP_USED, GROUP_QUOTA, GROUP_MEMORY_LIMIT, GROUP_OOM_KILLS];
        assert_eq!(fields.map(|field| values.of(field, group)), [Some(77), None, None, Some(1)]);
        assert_eq!(read(&fake, "/").1, Values::default(), "the whole host is no group");
    }
}
