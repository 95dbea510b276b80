//! Figures of an interval that bands show and whose past is kept, counted in one place. Pure.

use super::{PARTS, busy, cpu_shares, each_cpu};
use crate::sysstat::usual::{Deviation, Figure, Usual};
use observe::host::fields::*;
use observe::host::interval::HostInterval;
use observe::host::snapshot::ProcessLine;
use observe::host::values::InstanceId;
use observe::host::verdict::file_system_use;
use std::borrow::Cow;

/// What a disk did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskFigures {
    /// Share of the time in which a request was under way.
    pub busy: f64,
    /// Requests a second, read and written.
    pub requests: [f64; 2],
    /// Bytes a second, read and written.
    pub bytes: [f64; 2],
    /// Seconds a request took.
    pub awaited: f64,
    /// Requests under way.
    pub queue: f64,
    /// Whether it did anything.
    pub has_moved: bool,
}

impl DiskFigures {
    /// Of a disk; none before the second look.
    pub fn of(interval: &HostInterval<'_>, disk: InstanceId) -> Option<Self> {
        let rate = |field| interval.rate_of(field, disk).unwrap_or(0.0);
        let requests = [rate(DISK_READS), rate(DISK_WRITES)];
        let busy = interval.share_of(DISK_BUSY, disk)?;
        let all = requests[0] + requests[1];
        let waited_s = (rate(DISK_READ_TIME) + rate(DISK_WRITE_TIME)) / 1e9;
        Some(Self {
            busy: busy.min(1.0),
            requests,
            bytes: [rate(DISK_READ), rate(DISK_WRITTEN)],
            awaited: if all > 0.0 { waited_s / all } else { 0.0 },
            queue: interval.share_of(DISK_QUEUE, disk).unwrap_or(0.0),
            has_moved: all + rate(DISK_FLUSHES) > 0.0 || busy > 0.0,
        })
    }

    fn named(&self) -> [(Figure, f64); 5] {
        [
            (Figure::DiskBusy, self.busy),
            (Figure::DiskRequests, self.requests[0] + self.requests[1]),
            (Figure::DiskBytes, self.bytes[0] + self.bytes[1]),
            (Figure::DiskAwait, self.awaited),
            (Figure::DiskQueue, self.queue),
        ]
    }

    /// Which of its figures lie far from what is usual: use, requests, bytes, time of a request, queue.
    pub fn deviations(&self, usual: Option<&Usual>, name: &str) -> [Option<Deviation>; 5] {
        self.named().map(|(figure, value)| usual.and_then(|usual| usual.deviation(figure, name, value)))
    }
}

/// Bits a second that an interface received and sent.
pub fn wire(interval: &HostInterval<'_>, interface: InstanceId) -> [f64; 2] {
    [NET_RECEIVED, NET_SENT].map(|field| interval.rate_of(field, interface).unwrap_or(0.0) * 8.0)
}

/// Bytes that programs can have without swapping; of a kernel that does not report them those with nothing in them.
pub fn memory_available(interval: &HostInterval<'_>) -> u64 {
    interval.gauge(MEM_AVAILABLE).or_else(|| interval.gauge(MEM_FREE)).unwrap_or(0)
}

/// Bytes that programs cannot have. This is what "used" means everywhere: cache is given up when it is needed.
pub fn memory_used_bytes(interval: &HostInterval<'_>) -> u64 {
    interval.gauge(MEM_TOTAL).unwrap_or(0).saturating_sub(memory_available(interval))
}

/// The same as a share of all memory.
pub fn memory_used(interval: &HostInterval<'_>) -> Option<f64> {
    let total = interval.gauge(MEM_TOTAL).filter(|total| *total > 0)?;
    Some(memory_used_bytes(interval) as f64 / total as f64)
}

/// Share of TCP segments that were sent again.
pub fn sent_again(interval: &HostInterval<'_>) -> f64 {
    let rate = |field| interval.rate(field).unwrap_or(0.0);
    let (sent, again) = (rate(TCP_SENT), rate(TCP_RETRANSMITTED));
    if sent > 0.0 { again / sent } else { 0.0 }
}

/// All figures that have a past, of what they are, and the value. None before the second look.
pub fn all<'a>(interval: &HostInterval<'a>) -> Vec<(Figure, Cow<'a, str>, f64)> {
    let mut all: Vec<(Figure, Cow<'a, str>, f64)> =
        of_devices(interval).into_iter().map(|(figure, name, value)| (figure, Cow::Borrowed(name), value)).collect();
    if !all.is_empty() {
        for line in interval.later.processes.iter().take(PROCESSES_MAX) {
            let name = process_name(line);
            let cores = f64::from(line.cpu.used) / 1e6;
            all.push((Figure::ProcessCpu, Cow::Owned(name.clone()), cores));
            all.push((Figure::ProcessMemory, Cow::Owned(name), line.resident_bytes as f64));
        }
    }
    all
}

/// LIMIT: processes whose past is kept, the busiest.
const PROCESSES_MAX: usize = 300;

/// A number is given out again: a process is known by when it began, too.
fn process_name(line: &ProcessLine) -> String {
    format!("{}.{}", line.id.pid, line.id.start_ticks)
}

/// Which figures of a process lie far from what is usual for it: CPU, resident bytes.
pub fn process_deviations(usual: Option<&Usual>, line: &ProcessLine) -> [Option<Deviation>; 2] {
    let Some(usual) = usual else { return [None; 2] };
    let name = process_name(line);
    let cores = f64::from(line.cpu.used) / 1e6;
    [
        usual.deviation(Figure::ProcessCpu, &name, cores),
        usual.deviation(Figure::ProcessMemory, &name, line.resident_bytes as f64),
    ]
}

/// Which figures of a control group lie far from what is usual for it: CPU, memory.
pub fn group_deviations(
    interval: &HostInterval<'_>,
    usual: Option<&Usual>,
    group: InstanceId,
) -> [Option<Deviation>; 2] {
    let name = interval.later.names.name(group);
    let figures = group_figures(interval, group);
    figures.map(|(figure, value)| usual.and_then(|usual| usual.deviation(figure, name, value?)))
}

fn group_figures(interval: &HostInterval<'_>, group: InstanceId) -> [(Figure, Option<f64>); 2] {
    [
        (Figure::GroupCpu, interval.share_of(GROUP_USED, group)),
        (Figure::GroupMemory, interval.gauge_of(GROUP_MEMORY, group).map(|bytes| bytes as f64)),
    ]
}

/// Of the host, its devices, file systems and control groups.
fn of_devices<'a>(interval: &HostInterval<'a>) -> Vec<(Figure, &'a str, f64)> {
    let Some(shares) = cpu_shares(interval) else { return Vec::new() };
    let mut all: Vec<(Figure, &'a str, f64)> =
        whole(interval).into_iter().map(|(what, value)| (what, "", value)).collect();
    all.extend((0..PARTS.len() - 1).map(|part| (Figure::CpuPart(part), "", shares[part])));
    for (disk, name) in interval.instances(DISK_BUSY) {
        let figures = DiskFigures::of(interval, disk).unwrap_or_default();
        all.extend(figures.named().map(|(figure, value)| (figure, name, value)));
    }
    for (interface, name) in interval.instances(NET_RECEIVED) {
        let [received, sent] = wire(interval, interface);
        all.extend([(Figure::Received, name, received), (Figure::Sent, name, sent)]);
    }
    for (instance, name) in interval.instances(FS_SIZE) {
        all.extend(file_system_use(interval, instance).map(|used| (Figure::FileSystemUsed, name, used)));
    }
    for (group, name) in interval.instances(GROUP_USED) {
        let figures = group_figures(interval, group).into_iter();
        all.extend(figures.filter_map(|(figure, value)| Some((figure, name, value?))));
    }
    all
}

/// Those of the host as a whole.
pub fn whole(interval: &HostInterval<'_>) -> Vec<(Figure, f64)> {
    let Some(shares) = cpu_shares(interval) else { return Vec::new() };
    let rate = |field| interval.rate(field).unwrap_or(0.0);
    let share = |field| interval.share(field).unwrap_or(0.0);
    vec![
        (Figure::CpuBusy, busy(&shares)),
        (Figure::CpuBusiest, each_cpu(interval).iter().map(|(_, share)| *share).fold(0.0, f64::max)),
        (Figure::Runnable, interval.gauge(RUNNABLE).unwrap_or(0) as f64),
        (Figure::Switches, rate(SWITCHES)),
        (Figure::WaitCpu, share(PSI_CPU_SOME)),
        (Figure::WaitMemory, share(PSI_MEMORY_SOME)),
        (Figure::MemoryUsed, memory_used(interval).unwrap_or(0.0)),
        (Figure::Faults, rate(FAULTS)),
        (Figure::MajorFaults, rate(FAULTS_MAJOR)),
        (Figure::SentAgain, sent_again(interval)),
    ]
}
