//! What a run says about its place on the machine: its CPUs, the quota it shares, which process it is.
//! Read once when the budget is opened; holds no class and no weight.

use super::cpu_set::CpuSet;
use super::entitlement::Quota;
use super::row::Identity;
use machine::{Host, HostError, allowed_cpu_numbers, cpu_quota, group_number, own_pid_namespace, process_facts};
use std::path::PathBuf;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// CPUs it may use: its mask, less those that its user keeps free.
    pub cpus: CpuSet,
    /// The CPU quota of its control group.
    pub quota: Option<Quota>,
    /// Which process it is.
    pub identity: Identity,
}

impl Surroundings {
    /// Looks at `host` for the calling process. Fails where `/proc` does not tell which process this is: without that others
    /// could not see its death in every case.
    pub fn look(host: &Host) -> Result<Self, HostError> {
        Self::look_as(host, std::process::id())
    }

    /// The same for a run that is to be known by the number of another process of this pid namespace: its guard's.
    pub fn look_as(host: &Host, process: u32) -> Result<Self, HostError> {
        let facts = process_facts(host, process)?.ok_or_else(|| HostError::Read {
            path: PathBuf::from(format!("/proc/{process}/stat")),
            cause: std::io::Error::from(std::io::ErrorKind::NotFound),
        })?;
        let identity = Identity { process, start_ticks: facts.start_ticks, namespace: own_pid_namespace(host)? };
        let quota = match cpu_quota(host)? {
            Some(quota) => Some(Quota { group: group_number(host, &quota.folder)?, millicores: quota.millicores }),
            None => None,
        };
        Ok(Self { cpus: CpuSet::of(allowed_cpu_numbers(host)?), quota, identity })
    }

    /// Hands that this run could hold when it had the machine to itself, at least 1.
    pub fn hands(&self) -> usize {
        let quota = self.quota.map_or(u64::MAX, |quota| quota.hands());
        self.cpus.count().min(usize::try_from(quota).unwrap_or(usize::MAX)).max(1)
    }
}
