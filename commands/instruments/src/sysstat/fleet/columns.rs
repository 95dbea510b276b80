//! The figures of a host's row: one table for rows, for what is usual, for hosts that are alike and for those that are compared. Pure.

use crate::sysstat::bands::figures::{DiskFigures, memory_used, wire};
use crate::sysstat::bands::{busy, cpu_shares, each_cpu};
use crate::sysstat::line::{count, latency, limit, millions, percent, size, whole_percent};
use crate::sysstat::usual::{Deviation, Figure, Usual};
use observe::host::fields::*;
use observe::host::interval::HostInterval;
use terminal::Tint;

/// A column of rows.
pub struct FleetColumn {
    /// Its heading in rows.
    pub heading: &'static str,
    /// Its name where there is room.
    pub name: &'static str,
    /// Its width in rows, a blank included.
    pub width: usize,
    /// The figure, if what is usual of it is known.
    pub figure: Option<Figure>,
    /// Hosts whose figures are no further apart than that are alike.
    pub alike_within: Option<f64>,
    /// How it is written.
    pub text: fn(f64) -> String,
    /// From where on it is a warning, and worse.
    pub limits: Option<(f64, f64)>,
}

const fn column(heading: &'static str, name: &'static str, width: usize, text: fn(f64) -> String) -> FleetColumn {
    FleetColumn { heading, name, width, figure: None, alike_within: None, text, limits: None }
}

/// How many there are.
pub const COUNT: usize = 11;

/// The columns, from left to right.
pub const COLUMNS: [FleetColumn; COUNT] = [
    FleetColumn {
        figure: Some(Figure::CpuBusy),
        alike_within: Some(0.15),
        limits: Some((0.8, 0.95)),
        ..column("cpu%", "cpu %", 6, percent)
    },
    FleetColumn {
        figure: Some(Figure::CpuBusiest),
        alike_within: Some(0.40),
        limits: Some((0.9, 0.98)),
        ..column("maxcpu", "busiest cpu %", 7, whole_percent)
    },
    FleetColumn {
        figure: Some(Figure::Runnable),
        alike_within: Some(4.0),
        ..column("runq", "runnable threads", 5, count)
    },
    FleetColumn { figure: Some(Figure::WaitCpu), ..column("psi", "waiting for cpu %", 5, whole_percent) },
    FleetColumn {
        figure: Some(Figure::MemoryUsed),
        alike_within: Some(0.20),
        limits: Some((0.9, 0.97)),
        ..column("mem%", "memory %", 6, whole_percent)
    },
    column("avail", "memory available", 7, as_size),
    FleetColumn { figure: Some(Figure::WaitMemory), ..column("psi", "waiting for memory %", 5, whole_percent) },
    FleetColumn {
        figure: Some(Figure::DiskBusy),
        alike_within: Some(0.20),
        limits: Some((0.7, 0.95)),
        ..column("disk%", "busiest disk %", 6, whole_percent)
    },
    FleetColumn { figure: Some(Figure::DiskAwait), ..column("await", "time of a request", 6, latency) },
    FleetColumn { figure: Some(Figure::Received), ..column("rxMb", "received Mb/s", 6, millions) },
    FleetColumn { figure: Some(Figure::Sent), ..column("txMb", "sent Mb/s", 6, millions) },
];

/// The column of runnable threads, whose limit depends on the CPUs.
const RUNQ: usize = 2;
/// Those that are shown on a narrow screen: verdicts need room.
const FEW: [usize; 5] = [0, 1, RUNQ, 4, 7];
const ALL: [usize; COUNT] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/// From this width on all are shown.
const WIDE: usize = 120;

/// The columns for a screen of this width.
pub fn columns_for(width: usize) -> &'static [usize] {
    if width >= WIDE { &ALL } else { &FEW }
}

fn as_size(bytes: f64) -> String {
    size(bytes as u64)
}

/// The figures of a host, in the order of [`COLUMNS`], and what stands out of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetFigures {
    /// Values; none before the second look, or if the host does not report them.
    pub values: [Option<f64>; COUNT],
    /// How far they are from what is usual.
    pub deviations: [Option<Deviation>; COUNT],
    cpus: f64,
}

impl FleetFigures {
    /// Of an interval.
    pub fn of(interval: &HostInterval<'_>) -> Self {
        let Some(shares) = cpu_shares(interval) else { return Self::default() };
        let disks: Vec<DiskFigures> =
            interval.instances(DISK_BUSY).filter_map(|(disk, _)| DiskFigures::of(interval, disk)).collect();
        // A mean over all requests, however they are spread over disks.
        let requests: f64 = disks.iter().map(|disk| disk.requests.iter().sum::<f64>()).sum();
        let waited: f64 = disks.iter().map(|disk| disk.requests.iter().sum::<f64>() * disk.awaited).sum();
        // What a host sends to itself crosses no wire.
        let links = interval.instances(NET_RECEIVED).filter(|(_, name)| *name != "lo");
        let [received, sent] = links
            .map(|(link, _)| wire(interval, link))
            .fold([0.0, 0.0], |sum, link| [sum[0] + link[0], sum[1] + link[1]]);
        let values = [
            Some(busy(&shares)),
            Some(each_cpu(interval).iter().map(|(_, share)| *share).fold(0.0, f64::max)),
            interval.gauge(RUNNABLE).map(|count| count as f64),
            interval.share(PSI_CPU_SOME),
            memory_used(interval),
            interval.gauge(MEM_AVAILABLE).map(|bytes| bytes as f64),
            interval.share(PSI_MEMORY_SOME),
            Some(disks.iter().map(|disk| disk.busy).fold(0.0, f64::max)),
            Some(if requests > 0.0 { waited / requests } else { 0.0 }),
            Some(received),
            Some(sent),
        ];
        let cpus = interval.gauge(CPUS_ONLINE).unwrap_or(1).max(1) as f64;
        Self { values, deviations: [None; COUNT], cpus }
    }

    /// Compares them with what is usual, of which they are then a part.
    pub fn judge(&mut self, usual: &mut Usual, boot_ns: u64) {
        let figures = COLUMNS.iter().zip(self.values).filter_map(|(column, value)| Some((column.figure?, "", value?)));
        usual.note(boot_ns, figures);
        for (at, column) in COLUMNS.iter().enumerate() {
            let known = column.figure.zip(self.values[at]);
            self.deviations[at] = known.and_then(|(figure, value)| usual.deviation(figure, "", value));
        }
    }

    /// How a column stands out by its limit.
    pub fn limit(&self, at: usize) -> Option<Tint> {
        let value = self.values[at]?;
        if at == RUNQ {
            return limit(value / self.cpus.max(1.0), 1.01, 2.0);
        }
        COLUMNS[at].limits.and_then(|(warn, bad)| limit(value, warn, bad))
    }

    /// A column as text.
    pub fn text(&self, at: usize) -> String {
        self.values[at].map_or_else(|| "-".to_owned(), COLUMNS[at].text)
    }

    /// Whether nothing stands out. Threads of one moment are no queue: a row must not come and go with them.
    pub fn is_calm(&self) -> bool {
        (0..COUNT).all(|at| self.deviations[at].is_none() && (at == RUNQ || self.limit(at).is_none()))
    }

    /// Whether two hosts do about the same.
    pub fn is_like(&self, other: &Self) -> bool {
        COLUMNS.iter().zip(self.values.iter().zip(other.values)).all(|(column, (one, other))| {
            let Some(within) = column.alike_within else { return true };
            match (one, other) {
                (Some(one), Some(other)) => (one - other).abs() <= within,
                (one, other) => one.is_none() && other.is_none(),
            }
        })
    }
}
