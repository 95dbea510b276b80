//! One look at all that decides how wide and how large a run may be: pure data for plans, reports and their tests.
//! What cannot be read is guessed on the safe side and listed.

use crate::affinity::{allowed_cpus, online_cpus};
use crate::cgroup::{ControlGroups, GroupMemory};
use crate::host::{Host, HostError};
use crate::memory::host_memory;
use serde::Serialize;
use std::error::Error;

/// What the host offers this process, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// CPUs this process may run on, at least 1.
    pub allowed_cpus: usize,
    /// CPUs that are switched on, at least 1.
    pub online_cpus: usize,
    /// CPU time the control groups allow, in thousandths of a core; none when nothing bounds it.
    pub cpu_quota_millicores: Option<u64>,
    /// Memory that may be had without swapping, as the kernel estimates.
    pub memory_available_bytes: u64,
    /// The tightest memory limit of the control groups.
    pub memory_limit_bytes: Option<u64>,
    /// What can be had before a control group meets its limit, file cache counted as free.
    pub memory_headroom_bytes: Option<u64>,
    /// What could not be read and was guessed instead.
    pub doubts: Vec<Guess>,
}

/// A field of [`Machine`] that is a guess.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guess {
    /// The field.
    pub field: &'static str,
    /// The file that could not be used, if it was one.
    pub file: Option<String>,
    /// Why, as text that reads after "could not".
    pub reason: String,
}

/// Assumed when the kernel does not say what is available. Larger could drive a small machine into swapping; smaller
/// would leave some formats a single slot.
const MEMORY_ASSUMED_BYTES: u64 = 256 << 20;

impl Machine {
    /// Looks at every field, falls back one by one, and lists what is in doubt.
    pub fn look(host: &Host) -> Self {
        let mut doubts = Vec::new();
        let allowed = sure("allowed_cpus", allowed_cpus(host), &mut doubts);
        let online = sure("online_cpus", online_cpus(host), &mut doubts);
        let groups = ControlGroups::of(host);
        let quota = match &groups {
            Ok(groups) => sure("cpu_quota_millicores", groups.cpu_quota_millicores(host), &mut doubts),
            Err(error) => unsure("cpu_quota_millicores", error, &mut doubts),
        };
        let memory = sure("memory_available_bytes", host_memory(host), &mut doubts);
        let group = match &groups {
            Ok(groups) => sure("memory_limit_bytes", groups.memory(host), &mut doubts),
            Err(error) => unsure("memory_limit_bytes", error, &mut doubts),
        };
        let GroupMemory { limit_bytes, headroom_bytes, .. } = group.unwrap_or_default();
        Self {
            // An unreadable mask is taken for one CPU: being slow is better than pushing others off theirs.
            allowed_cpus: allowed.unwrap_or(1).max(1),
            online_cpus: online.or(allowed).unwrap_or(1).max(1),
            cpu_quota_millicores: quota.flatten(),
            memory_available_bytes: memory.map_or(MEMORY_ASSUMED_BYTES, |memory| memory.available_bytes),
            memory_limit_bytes: limit_bytes,
            memory_headroom_bytes: headroom_bytes,
            doubts,
        }
    }

    /// Cores a run may keep busy: the allowed CPUs, or the quota rounded up if that is less; at least 1.
    pub fn hands_allowed(&self) -> usize {
        let quota = self.cpu_quota_millicores.map_or(u64::MAX, |millicores| millicores.div_ceil(1000));
        self.allowed_cpus.min(usize::try_from(quota).unwrap_or(usize::MAX)).max(1)
    }

    /// Memory a run may use at most, in bytes: what is available, or what the control groups leave if that is less.
    pub fn memory_budget_bytes(&self) -> u64 {
        self.memory_headroom_bytes.unwrap_or(u64::MAX).min(self.memory_available_bytes)
    }
}

/// The value if it was read, else nothing and a doubt.
fn sure<T>(field: &'static str, read: Result<T, HostError>, doubts: &mut Vec<Guess>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => unsure(field, &error, doubts),
    }
}

/// Nothing, and a doubt.
fn unsure<T>(field: &'static str, error: &HostError, doubts: &mut Vec<Guess>) -> Option<T> {
    let file = error.path().map(|path| path.to_string_lossy().into_owned());
    let reason = match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    doubts.push(Guess { field, file, reason });
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn machine(allowed_cpus: usize, cpu_quota_millicores: Option<u64>) -> Machine {
        Machine {
            allowed_cpus,
            online_cpus: 64,
            cpu_quota_millicores,
            memory_available_bytes: 1000,
            memory_limit_bytes: None,
            memory_headroom_bytes: None,
            doubts: Vec::new(),
        }
    }

    #[test]
    fn hands_are_the_lesser_of_mask_and_quota_and_never_none() {
        assert_eq!(machine(8, None).hands_allowed(), 8);
        assert_eq!(machine(8, Some(64_000)).hands_allowed(), 8);
        assert_eq!(machine(8, Some(2500)).hands_allowed(), 3);
        assert_eq!(machine(8, Some(2000)).hands_allowed(), 2);
        assert_eq!(machine(8, Some(0)).hands_allowed(), 1);
    }

    #[test]
    fn the_memory_budget_is_the_lesser_of_host_and_group() {
        let unbounded = machine(1, None);
        assert_eq!(unbounded.memory_budget_bytes(), 1000);
        assert_eq!(Machine { memory_headroom_bytes: Some(10), ..unbounded.clone() }.memory_budget_bytes(), 10);
        assert_eq!(Machine { memory_headroom_bytes: Some(5000), ..unbounded }.memory_budget_bytes(), 1000);
    }

    #[test]
    fn a_whole_host_is_read_without_doubt() {
        let fake = FakeHost::with_cgroup_v2("/app");
        fake.file("/proc/self/status", "Cpus_allowed_list:\t0-5\n");
        fake.file("/sys/devices/system/cpu/online", "0-7\n");
        fake.file("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\n");
        fake.file("/sys/fs/cgroup/app/cpu.max", "350000 100000\n");
        fake.file("/sys/fs/cgroup/app/memory.max", "40960\n");
        fake.file("/sys/fs/cgroup/app/memory.current", "4096\n");
        let expected = Machine {
            allowed_cpus: 6,
            online_cpus: 8,
            cpu_quota_millicores: Some(3500),
            memory_available_bytes: 51_200,
            memory_limit_bytes: Some(40_960),
            memory_headroom_bytes: Some(36_864),
            doubts: Vec::new(),
        };
        assert_eq!(Machine::look(&fake.host()), expected);
    }

    #[test]
    fn an_unreadable_host_is_small_and_every_field_is_in_doubt() {
        let machine = Machine::look(&FakeHost::new().host());
        assert_eq!((machine.hands_allowed(), machine.online_cpus), (1, 1));
        assert_eq!(machine.memory_budget_bytes(), MEMORY_ASSUMED_BYTES);
        let fields: Vec<&str> = machine.doubts.iter().map(|doubt| doubt.field).collect();
        let all =
            ["allowed_cpus", "online_cpus", "cpu_quota_millicores", "memory_available_bytes", "memory_limit_bytes"];
        assert_eq!(fields, all);
        assert_eq!(machine.doubts[1].file.as_deref(), Some("/sys/devices/system/cpu/online"));
        assert!(machine.doubts[1].reason.starts_with("read '/sys/devices/system/cpu/online': No such file"));
    }

    #[test]
    fn one_bad_file_leaves_the_other_fields_alone() {
        let fake = FakeHost::with_cgroup_v2("/app");
        fake.file("/proc/self/status", "Cpus_allowed_list:\t0-5\n");
        fake.file("/sys/devices/system/cpu/online", "0-7\n");
        fake.file("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: lots\n");
        let machine = Machine::look(&fake.host());
        assert_eq!((machine.allowed_cpus, machine.online_cpus), (6, 8));
        let fields: Vec<&str> = machine.doubts.iter().map(|doubt| doubt.field).collect();
        assert_eq!(fields, ["memory_available_bytes"]);
    }

    #[test]
    fn a_snapshot_serialises() {
        let json = serde_json::to_string(&machine(2, Some(1500))).expect("plain data");
        assert!(json.contains(r#""cpu_quota_millicores":1500"#));
    }

    #[test]
    fn the_real_host_offers_at_least_one_hand() {
        let machine = Machine::look(&Host::real());
        assert!(machine.hands_allowed() >= 1 && machine.hands_allowed() <= machine.allowed_cpus);
        assert!(machine.memory_budget_bytes() > 0);
    }
}
