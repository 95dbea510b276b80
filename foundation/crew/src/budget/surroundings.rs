//! A run's place on the machine: its CPUs, the quota it shares, its process.
//! Read once when the budget is opened; holds no class and no weight.

use super::cpu_set::CpuSet;
use super::entitlement::Quota;
use super::row::RowIdentity;
use machine::{
    Host, HostError, Topology, allowed_cpu_numbers, cpu_quota, group_number, own_pid_namespace, process_facts, topology,
};
use std::path::PathBuf;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// CPUs it may use: its mask, less those that its user keeps free.
    pub cpus: CpuSet,
    /// The CPU quota of its control group.
    pub quota: Option<Quota>,
    /// Which process it is.
    pub identity: RowIdentity,
    /// Which of its CPUs share a core, and which are slower: what is taken first.
    pub topology: Topology,
}

impl Surroundings {
    /// Looks at `host` for the calling process. Fails where `/proc` does not tell which process this is: without that others
    /// could not see its death in every case.
    pub fn look(host: &Host) -> Result<Self, HostError> {
        Self::look_as(host, std::process::id())
    }

    /// The same for a run that is to be known by the number of another process of this pid namespace: its supervisor's.
    pub fn look_as(host: &Host, process: u32) -> Result<Self, HostError> {
        let facts = process_facts(host, process)?.ok_or_else(|| HostError::Read {
            path: PathBuf::from(format!("/proc/{process}/stat")),
            cause: std::io::Error::from(std::io::ErrorKind::NotFound),
        })?;
        let identity = RowIdentity { process, start_ticks: facts.start_ticks, namespace: own_pid_namespace(host)? };
        // In a chroot, or a rescue system, no control group is mounted: no quota can be seen, and a run must not fail for that.
        let quota = match cpu_quota(host).or_else(|error| if error.is_unsaid() { Ok(None) } else { Err(error) })? {
            Some(quota) => Some(Quota { group: group_number(host, &quota.directory)?, millicores: quota.millicores }),
            None => None,
        };
        let cpus = allowed_cpu_numbers(host)?;
        Ok(Self { topology: topology(host, &cpus), cpus: CpuSet::of(cpus), quota, identity })
    }

    /// The same without its `count` lowest CPUs, as far as one is left. All runs that leave out as many leave out the same, so
    /// together they never take these. The lowest, since interrupts and the system's own work gather there.
    #[must_use]
    pub fn without_first(self, count: usize) -> Self {
        let left_out = count.min(self.cpus.count().saturating_sub(1));
        Self { cpus: self.cpus.without_first(left_out), ..self }
    }

    /// Hands that this run could hold when it had the machine to itself, at least 1.
    pub fn hands(&self) -> usize {
        let quota = self.quota.map_or(u64::MAX, |quota| quota.hands());
        self.cpus.count().min(usize::try_from(quota).unwrap_or(usize::MAX)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::fake_machine::FakeMachine;

    #[test]
    fn where_no_control_group_is_mounted_there_is_no_quota_to_be_seen() {
        let machine = FakeMachine::new(4, 1 << 30);
        machine.file("/proc/self/cgroup", "0::/\n");
        machine.file("/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
        let fields = "S 1 ".to_owned() + &"0 ".repeat(17) + "100 " + &"0 ".repeat(30);
        machine.file(&format!("/proc/{}/stat", std::process::id()), &format!("{} (x) {fields}\n", std::process::id()));
        machine.file("/proc/self/ns/pid", "");
        let seen = Surroundings::look_as(&Host::rooted_at(machine.root()), std::process::id());
        assert_eq!(seen.expect("it can be looked at").quota, None);
    }

    #[test]
    fn reserved_cpus_are_the_lowest_and_never_all() {
        let identity = RowIdentity { process: 1, start_ticks: 1, namespace: 1 };
        let all = Surroundings { cpus: CpuSet::of([2, 3, 9]), quota: None, identity, topology: Topology::default() };
        assert_eq!(all.clone().without_first(0), all);
        assert_eq!(all.clone().without_first(1).cpus, CpuSet::of([3, 9]));
        assert_eq!(all.without_first(64).cpus, CpuSet::of([9]));
    }
}
