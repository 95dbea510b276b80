//! What is wrong with a host, worst first: pure judgement over an interval; every limit is a constant with its reason. What threads suffer
//! comes from `ceiling`; here is what the host as a whole tells.

use super::fields::{
    CPU_GUEST, CPU_IDLE, CPU_IOWAIT, CPU_IRQ, CPU_NICE, CPU_SOFTIRQ, CPU_STEAL, CPU_SYSTEM, CPU_USER, DISK_BUSY,
    FS_FREE, FS_INODES, FS_INODES_FREE, FS_SILENT, FS_SIZE, FS_USED, FieldId, GROUP_PERIODS, GROUP_THROTTLED,
    LIMIT_HEADROOM, LIMIT_MEMORY, LISTEN_OVERFLOWS, MEM_AVAILABLE, MEM_TOTAL, NET_DROPS_IN, NET_DROPS_OUT,
    NET_ERRORS_IN, NET_ERRORS_OUT, NET_RECEIVED, NET_SENT, NET_SPEED, OOM_KILLS, PSI_CPU_SOME, PSI_IO_SOME,
    PSI_MEMORY_FULL, TCP_RETRANSMITTED, TCP_SENT,
};
use super::interval::HostInterval;
use super::snapshot::ThreadFinding;
use super::values::InstanceId;
use crate::ceiling::Limit;
use serde::Serialize;

/// What is wrong, worst first: the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostTrouble {
    /// The kernel ended processes for want of memory.
    OutOfMemory,
    /// A file system does not answer.
    SilentFileSystem,
    /// A file system is full, or will be soon.
    FullFileSystem,
    /// Programs wait for memory.
    ShortOfMemory,
    /// A quota holds threads back.
    Throttled,
    /// Threads have no CPU.
    Starved,
    /// The hypervisor runs others.
    Stolen,
    /// A thread runs all the time.
    Ceiling,
    /// Programs wait for a disk that is busy.
    Disk,
    /// A thread waits for a disk.
    IoBound,
    /// Connections are refused.
    Listen,
    /// Packets are lost.
    Network,
}

impl HostTrouble {
    /// All of them, the worst first.
    pub const ALL: [Self; 12] = [
        Self::OutOfMemory,
        Self::SilentFileSystem,
        Self::FullFileSystem,
        Self::ShortOfMemory,
        Self::Throttled,
        Self::Starved,
        Self::Stolen,
        Self::Ceiling,
        Self::Disk,
        Self::IoBound,
        Self::Listen,
        Self::Network,
    ];
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct HostVerdict<'a> {
    /// What is wrong.
    pub trouble: HostTrouble,
    /// The thread it is about.
    pub thread: Option<&'a ThreadFinding>,
    /// The disk, file system, interface or victim it is about; empty where it is none.
    pub place: &'a str,
    /// How bad: a share of 0 to 1, a number of events, or seconds to full, by kind.
    pub measure: f64,
    /// For how long, in seconds, where that is known.
    pub seconds: Option<f64>,
}

/// A thread that ran all the time for less than this is a compiler at work: no ceiling of anything.
const HELD_LEAST_S: f64 = 3.0;
/// Programs that wait for memory for a tenth of the time are a tenth slower.
const MEMORY_FULL: f64 = 0.10;
/// Below this share of memory the kernel begins to throw out what programs need.
const AVAILABLE_LEAST: f64 = 0.03;
/// A disk that is busy nearly all of the time, and for which programs wait for a fifth of it.
const DISK_FULL: f64 = 0.90;
const DISK_WAIT: f64 = 0.20;
/// Administrators act at 98 %: what is left is fragments and root's reserve.
const FS_FULL: f64 = 0.98;
/// One segment in fifty sent again halves what a connection carries; of a few segments it says nothing.
const RETRANSMITTED: f64 = 0.02;
const SEGMENTS_ENOUGH: f64 = 100.0;
/// A link that is used to nine tenths delays.
const LINK_FULL: f64 = 0.90;
/// Errors a second that are no accident.
const LOST_NOTABLE: f64 = 10.0;
/// A thread that could run and waits is starved only if the host has no CPU for it: others wait, too.
const CPU_WAIT: f64 = 0.10;

/// A group that was held back in fewer of its periods was not, on the whole; one period is an accident.
const PERIODS_NOTABLE: f64 = 0.05;
const PERIODS_ENOUGH: u64 = 2;
/// No CPU has time to spare, and threads wait for a quarter of the time: whoever wants a CPU gets less of it.
const CPUS_FULL: f64 = 0.95;
const CPUS_WAIT: f64 = 0.25;

/// What is wrong, worst first.
pub fn verdicts<'a>(interval: &HostInterval<'a>) -> Vec<HostVerdict<'a>> {
    let mut found = Vec::new();
    memory(interval, &mut found);
    file_systems(interval, &mut found);
    cpus(interval, &mut found);
    threads(interval, &mut found);
    disks(interval, &mut found);
    network(interval, &mut found);
    found.sort_by(|one, other| {
        let longest = other.seconds.unwrap_or(0.0).total_cmp(&one.seconds.unwrap_or(0.0));
        one.trouble.cmp(&other.trouble).then(longest)
    });
    found
}

fn plain(trouble: HostTrouble, place: &str, measure: f64) -> HostVerdict<'_> {
    HostVerdict { trouble, thread: None, place, measure, seconds: None }
}

fn memory<'a>(interval: &HostInterval<'a>, found: &mut Vec<HostVerdict<'a>>) {
    if let Some(kills) = interval.growth(OOM_KILLS).filter(|kills| *kills > 0) {
        let victim = interval.later.oom_victims.first().map_or("", String::as_str);
        found.push(plain(HostTrouble::OutOfMemory, victim, kills as f64));
    }
    let waits = interval.share(PSI_MEMORY_FULL).unwrap_or(0.0);
    let share = |left: FieldId, all: FieldId| {
        let (left, all) = (interval.gauge(left)?, interval.gauge(all)?);
        (all > 0).then(|| left as f64 / all as f64)
    };
    // A container's own limit is nearer than the host's memory.
    let left = share(LIMIT_HEADROOM, LIMIT_MEMORY).into_iter().chain(share(MEM_AVAILABLE, MEM_TOTAL));
    let left = left.fold(1.0, f64::min);
    if waits >= MEMORY_FULL || left < AVAILABLE_LEAST {
        found.push(plain(HostTrouble::ShortOfMemory, "", left));
    }
}

fn file_systems<'a>(interval: &HostInterval<'a>, found: &mut Vec<HostVerdict<'a>>) {
    for (_, place) in interval.instances(FS_SILENT) {
        found.push(plain(HostTrouble::SilentFileSystem, place, 1.0));
    }
    for (instance, place) in interval.instances(FS_SIZE) {
        if let Some(used) = file_system_use(interval, instance).filter(|used| *used >= FS_FULL) {
            found.push(plain(HostTrouble::FullFileSystem, place, used));
        }
    }
}

/// How full a file system is, 0 to 1: bytes or inodes, whichever is nearer its end. As df counts: what root alone may have is not there.
pub fn file_system_use(interval: &HostInterval<'_>, instance: InstanceId) -> Option<f64> {
    let value = |field| interval.gauge_of(field, instance);
    let (used, free) = (value(FS_USED)?, value(FS_FREE)?);
    let bytes = used as f64 / used.saturating_add(free).max(1) as f64;
    let inodes = value(FS_INODES).zip(value(FS_INODES_FREE)).filter(|(all, _)| *all > 0);
    let inodes = inodes.map_or(0.0, |(all, free)| all.saturating_sub(free) as f64 / all as f64);
    Some(bytes.max(inodes))
}

/// Groups whose quota was used up, and CPUs that all have work: true of each interval, however short.
fn cpus<'a>(interval: &HostInterval<'a>, found: &mut Vec<HostVerdict<'a>>) {
    for (group, path) in interval.instances(GROUP_PERIODS) {
        let periods = interval.growth_of(GROUP_PERIODS, group).unwrap_or(0);
        let throttled = interval.growth_of(GROUP_THROTTLED, group).unwrap_or(0);
        let share = throttled as f64 / periods.max(1) as f64;
        if throttled >= PERIODS_ENOUGH && share >= PERIODS_NOTABLE {
            found.push(plain(HostTrouble::Throttled, path, share));
        }
    }
    let growth = |field| interval.growth(field).unwrap_or(0) as f64;
    let rests: f64 = [CPU_IDLE, CPU_IOWAIT].map(growth).iter().sum();
    let works: f64 =
        [CPU_USER, CPU_NICE, CPU_SYSTEM, CPU_IRQ, CPU_SOFTIRQ, CPU_STEAL, CPU_GUEST].map(growth).iter().sum();
    let waits = interval.share(PSI_CPU_SOME).unwrap_or(0.0);
    if works > 0.0 && works / (works + rests) >= CPUS_FULL && waits >= CPUS_WAIT {
        found.push(plain(HostTrouble::Starved, "", waits));
    }
}

fn threads<'a>(interval: &HostInterval<'a>, found: &mut Vec<HostVerdict<'a>>) {
    let later = interval.later;
    for thread in &later.findings {
        let trouble = match thread.limit {
            Limit::Ceiling => HostTrouble::Ceiling,
            Limit::Starved => HostTrouble::Starved,
            Limit::Throttled => HostTrouble::Throttled,
            Limit::Stolen => HostTrouble::Stolen,
            Limit::IoBound => HostTrouble::IoBound,
        };
        let seconds = later.at.boot_ns.saturating_sub(thread.since_boot_ns) as f64 / 1e9;
        let all_wait = || interval.share(PSI_CPU_SOME).is_none_or(|waits| waits >= CPU_WAIT);
        if seconds < HELD_LEAST_S || (trouble == HostTrouble::Starved && !all_wait()) {
            continue;
        }
        let measure = f64::from(thread.share) / 1e4;
        found.push(HostVerdict { trouble, thread: Some(thread), place: "", measure, seconds: Some(seconds) });
    }
}

fn disks<'a>(interval: &HostInterval<'a>, found: &mut Vec<HostVerdict<'a>>) {
    let waits = interval.share(PSI_IO_SOME).unwrap_or(0.0);
    for (instance, disk) in interval.instances(DISK_BUSY) {
        let busy = interval.share_of(DISK_BUSY, instance).unwrap_or(0.0);
        if busy >= DISK_FULL && waits >= DISK_WAIT {
            found.push(plain(HostTrouble::Disk, disk, busy.min(1.0)));
        }
    }
}

fn network<'a>(interval: &HostInterval<'a>, found: &mut Vec<HostVerdict<'a>>) {
    let refused = interval.growth(LISTEN_OVERFLOWS).unwrap_or(0);
    if refused > 0 {
        found.push(plain(HostTrouble::Listen, "", refused as f64));
    }
    let (sent, again) = (interval.rate(TCP_SENT).unwrap_or(0.0), interval.rate(TCP_RETRANSMITTED).unwrap_or(0.0));
    if sent >= SEGMENTS_ENOUGH && again / sent >= RETRANSMITTED {
        found.push(plain(HostTrouble::Network, "", again / sent));
    }
    for (instance, name) in interval.instances(NET_RECEIVED) {
        let rate = |field| interval.rate_of(field, instance).unwrap_or(0.0);
        let lost: f64 = [NET_ERRORS_IN, NET_DROPS_IN, NET_ERRORS_OUT, NET_DROPS_OUT].into_iter().map(rate).sum();
        let speed = interval.gauge_of(NET_SPEED, instance).map(|megabits| megabits as f64 * 1e6 / 8.0);
        let used = speed.map_or(0.0, |speed| rate(NET_RECEIVED).max(rate(NET_SENT)) / speed);
        if lost >= LOST_NOTABLE || used >= LINK_FULL {
            found.push(plain(HostTrouble::Network, name, used));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::snapshot::Snapshot;
    use crate::host::values::{InstanceNames, WHOLE};
    use std::sync::Arc;

    fn snapshot(second: u64, values: &[(FieldId, &str, u64)]) -> Snapshot {
        let mut names = InstanceNames::default();
        let mut snapshot = Snapshot::default();
        snapshot.at.monotonic_ns = second * 1_000_000_000;
        snapshot.at.boot_ns = second * 1_000_000_000;
        for (field, name, value) in values {
            let instance = if name.is_empty() { WHOLE } else { names.number(name).expect("room") };
            snapshot.values.push(*field, instance, *value);
        }
        snapshot.values.sort();
        snapshot.names = Arc::new(names);
        snapshot
    }

    fn troubles(earlier: &Snapshot, later: &Snapshot) -> Vec<(HostTrouble, String)> {
        let found = verdicts(&HostInterval::new(Some(earlier), later));
        found.into_iter().map(|verdict| (verdict.trouble, verdict.place.to_owned())).collect()
    }

    #[test]
    fn all_troubles_are_listed() {
        assert!(HostTrouble::ALL.is_sorted());
        assert_eq!(HostTrouble::ALL.len(), HostTrouble::Network as usize + 1);
    }

    #[test]
    fn a_host_at_rest_has_no_trouble() {
        let rest =
            [(MEM_TOTAL, "", 100), (MEM_AVAILABLE, "", 50), (FS_SIZE, "/", 100), (FS_USED, "/", 97), (FS_FREE, "/", 3)];
        assert_eq!(troubles(&snapshot(1, &rest), &snapshot(2, &rest)), []);
        assert_eq!(troubles(&Snapshot::default(), &Snapshot::default()), []);
    }

    #[test]
    fn the_worst_comes_first() {
        let earlier =
            snapshot(1, &[(OOM_KILLS, "", 1), (LISTEN_OVERFLOWS, "", 5), (DISK_BUSY, "vda", 0), (PSI_IO_SOME, "", 0)]);
        let later = snapshot(
            2,
            &[
                (OOM_KILLS, "", 2),
                (LISTEN_OVERFLOWS, "", 6),
                (DISK_BUSY, "vda", 950_000_000),
                (PSI_IO_SOME, "", 300_000_000),
                (FS_SIZE, "/var", 100),
                (FS_USED, "/var", 99),
                (FS_FREE, "/var", 1),
                (FS_SILENT, "/nfs", 1),
            ],
        );
        let expected = [
            (HostTrouble::OutOfMemory, ""),
            (HostTrouble::SilentFileSystem, "/nfs"),
            (HostTrouble::FullFileSystem, "/var"),
            (HostTrouble::Disk, "vda"),
            (HostTrouble::Listen, ""),
        ];
        assert_eq!(troubles(&earlier, &later), expected.map(|(trouble, place)| (trouble, place.to_owned())));
    }

    #[test]
    fn full_cpus_and_used_up_quotas_are_told_of_each_interval() {
        let at = |second: u64| {
            let values = [
                (CPU_USER, "", second * 1_990),
                (CPU_IDLE, "", second * 10),
                (PSI_CPU_SOME, "", second * 500_000_000),
                (GROUP_PERIODS, "/web.service", second * 10),
                (GROUP_THROTTLED, "/web.service", second * 8),
                (GROUP_PERIODS, "/calm.service", second * 10),
                (GROUP_THROTTLED, "/calm.service", 0),
            ];
            snapshot(second, &values)
        };
        let expected = [(HostTrouble::Throttled, "/web.service".to_owned()), (HostTrouble::Starved, String::new())];
        assert_eq!(troubles(&at(1), &at(2)), expected);
    }

    #[test]
    fn a_ceiling_counts_from_three_seconds_on_and_inodes_count_as_bytes_do() {
        let finding = |since_boot_ns| ThreadFinding {
            limit: Limit::Ceiling,
            pid: 1,
            tid: 1,
            process: "p".into(),
            thread: "t".into(),
            share: 9_900,
            since_boot_ns,
            group: String::new(),
        };
        let fields = [(FS_USED, "/", 1), (FS_FREE, "/", 99), (FS_INODES, "/", 100), (FS_INODES_FREE, "/", 1)];
        let mut later = snapshot(10, &fields);
        later.findings = vec![finding(8_000_000_000), finding(2_000_000_000)];
        let earlier = snapshot(9, &[]);
        let interval = HostInterval::new(Some(&earlier), &later);
        let found = verdicts(&interval);
        assert_eq!(
            found.iter().map(|one| (one.trouble, one.seconds)).collect::<Vec<_>>(),
            [(HostTrouble::Ceiling, Some(8.0))]
        );
        let (root, _) = interval.instances(FS_USED).next().expect("there");
        assert_eq!(file_system_use(&interval, root), Some(0.99));
    }
}
