//! What happened between two snapshots of one host: rates of counters. A counter that ran backwards (a device that went and came
//! back, a 32-bit counter that wrapped) has no rate in that interval.

use super::fields::{FieldId, PSI_CPU_SOME, PSI_IO_FULL, PSI_IO_SOME, PSI_IRQ_FULL, PSI_MEMORY_FULL, PSI_MEMORY_SOME};
use super::snapshot::Snapshot;
use super::values::{InstanceId, WHOLE};

/// Two snapshots; the earlier is missing at the beginning and behind a gap.
#[derive(Clone, Copy, Debug)]
pub struct HostInterval<'a> {
    /// The one before.
    pub earlier: Option<&'a Snapshot>,
    /// The one that is told of.
    pub later: &'a Snapshot,
}

/// Times in which something waited: no more of them than time passes. The kernel adds up a wait when it ends or is looked at, so that over
/// a short interval it may report more.
const WAITING_TIMES: [FieldId; 6] =
    [PSI_CPU_SOME, PSI_MEMORY_SOME, PSI_MEMORY_FULL, PSI_IO_SOME, PSI_IO_FULL, PSI_IRQ_FULL];

impl<'a> HostInterval<'a> {
    /// Between two snapshots.
    pub fn new(earlier: Option<&'a Snapshot>, later: &'a Snapshot) -> Self {
        // Of another boot, or in the wrong order: nothing follows from them together.
        let earlier = earlier.filter(|earlier| earlier.at.monotonic_ns < later.at.monotonic_ns);
        Self { earlier, later }
    }

    /// Its length in seconds; none without an earlier snapshot.
    pub fn seconds(&self) -> Option<f64> {
        let earlier = self.earlier?;
        Some((self.later.at.monotonic_ns - earlier.at.monotonic_ns) as f64 / 1e9)
    }

    /// What a gauge of the host says now.
    pub fn gauge(&self, field: FieldId) -> Option<u64> {
        self.later.values.get(field)
    }

    /// What a gauge says now.
    pub fn gauge_of(&self, field: FieldId, instance: InstanceId) -> Option<u64> {
        self.later.values.of(field, instance)
    }

    /// By how much a counter of the host grew.
    pub fn growth(&self, field: FieldId) -> Option<u64> {
        self.growth_of(field, WHOLE)
    }

    /// By how much a counter grew.
    pub fn growth_of(&self, field: FieldId, instance: InstanceId) -> Option<u64> {
        // Numbers of instances are the same in both unless a new list was begun.
        let name = self.later.names.name(instance);
        let earlier = self.earlier?;
        let before = if earlier.names.name(instance) == name { instance } else { earlier.names.find(name)? };
        self.later.values.of(field, instance)?.checked_sub(earlier.values.of(field, before)?)
    }

    /// By how much a counter of the host grew, a second.
    pub fn rate(&self, field: FieldId) -> Option<f64> {
        self.rate_of(field, WHOLE)
    }

    /// By how much a counter grew, a second.
    pub fn rate_of(&self, field: FieldId, instance: InstanceId) -> Option<f64> {
        let rate = self.growth_of(field, instance)? as f64 / self.seconds()?;
        Some(if WAITING_TIMES.contains(&field) { rate.min(1e9) } else { rate })
    }

    /// Nanoseconds of a counter as a share of the time: of a CPU, of a disk. May be above 1 where many are added up.
    pub fn share(&self, field: FieldId) -> Option<f64> {
        self.share_of(field, WHOLE)
    }

    /// The same of an instance.
    pub fn share_of(&self, field: FieldId, instance: InstanceId) -> Option<f64> {
        Some(self.rate_of(field, instance)? / 1e9)
    }

    /// What a metric is told of now, with names.
    pub fn instances(&self, field: FieldId) -> impl Iterator<Item = (InstanceId, &'a str)> {
        let later = self.later;
        later.values.each(field).map(|(instance, _)| (instance, later.names.name(instance)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fields::{CPU_USER, DISK_BUSY, DISK_READ, SWITCHES};
    use crate::host::snapshot::HostMoment;
    use crate::host::values::InstanceNames;
    use std::sync::Arc;

    fn snapshot(monotonic_ns: u64, disk: &str, values: &[(FieldId, u64)]) -> Snapshot {
        let mut names = InstanceNames::default();
        let number = names.number(disk).expect("room");
        let mut snapshot = Snapshot {
            at: HostMoment { monotonic_ns, ..HostMoment::default() },
            names: Arc::new(names),
            ..Snapshot::default()
        };
        for (field, value) in values {
            let instance = if *field == SWITCHES { WHOLE } else { number };
            snapshot.values.push(*field, instance, *value);
        }
        snapshot.values.sort();
        snapshot
    }

    #[test]
    fn rates_are_of_the_time_that_passed() {
        let earlier = snapshot(1_000_000_000, "vda", &[(SWITCHES, 10), (DISK_READ, 100), (DISK_BUSY, 0)]);
        let later = snapshot(3_000_000_000, "vda", &[(SWITCHES, 30), (DISK_READ, 90), (DISK_BUSY, 500_000_000)]);
        let interval = HostInterval::new(Some(&earlier), &later);
        let (vda, _) = interval.instances(DISK_READ).next().expect("a disk");
        assert_eq!((interval.seconds(), interval.rate(SWITCHES)), (Some(2.0), Some(10.0)));
        assert_eq!(interval.rate_of(DISK_READ, vda), None, "it ran backwards");
        assert_eq!((interval.share_of(DISK_BUSY, vda), interval.gauge(SWITCHES)), (Some(0.25), Some(30)));
    }

    #[test]
    fn nothing_waits_for_more_than_the_time_that_passes() {
        let (mut earlier, mut later) = (snapshot(1_000_000_000, "vda", &[]), snapshot(2_000_000_000, "vda", &[]));
        for field in WAITING_TIMES.into_iter().chain([CPU_USER]) {
            earlier.values.push(field, WHOLE, 7);
            later.values.push(field, WHOLE, 1_030_000_007);
        }
        [&mut earlier, &mut later].into_iter().for_each(|snapshot| snapshot.values.sort());
        let interval = HostInterval::new(Some(&earlier), &later);
        for field in WAITING_TIMES {
            assert_eq!((interval.share(field), interval.rate(field)), (Some(1.0), Some(1e9)));
        }
        assert_eq!(interval.share(CPU_USER), Some(1.03), "of several CPUs");
    }

    #[test]
    fn another_disk_of_the_same_number_is_another_disk() {
        let earlier = snapshot(1, "vda", &[(DISK_READ, 100)]);
        let later = snapshot(2, "vdb", &[(DISK_READ, 200)]);
        let interval = HostInterval::new(Some(&earlier), &later);
        let (vdb, name) = interval.instances(DISK_READ).next().expect("a disk");
        assert_eq!((interval.growth_of(DISK_READ, vdb), name), (None, "vdb"));
        for interval in [HostInterval::new(Some(&later), &earlier), HostInterval::new(None, &later)] {
            assert_eq!((interval.seconds(), interval.rate(SWITCHES)), (None, None));
        }
    }
}
