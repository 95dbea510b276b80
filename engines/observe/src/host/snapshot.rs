//! What is known of a host at one moment: counters and gauges, and what its processes did since the moment before. Plain data:
//! the same for a live host, a recording and another host's feed.

use super::values::{InstanceNames, Values};
use crate::ceiling::Limit;
use std::sync::Arc;

/// One moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When it was.
    pub at: HostMoment,
    /// Counters and gauges.
    pub values: Values,
    /// Names of what they are of.
    pub names: Arc<InstanceNames>,
    /// Processes and what they used since the moment before: the busiest first, then by number.
    pub processes: Vec<ProcessLine>,
    /// Threads that did something, each as a line whose parent is its process; of this host alone, frames leave them out.
    pub threads: Vec<ProcessLine>,
    /// What was used besides.
    pub rest: ProcessRest,
    /// Threads that cannot go faster.
    pub findings: Vec<ThreadFinding>,
    /// `name/PID` of those that the kernel ended for want of memory since the moment before, if its log may be read.
    pub oom_victims: Vec<String>,
}

/// A moment on the clocks that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMoment {
    /// The clock that stands still while the host is suspended: rates are made of it.
    pub monotonic_ns: u64,
    /// Since boot, suspensions included.
    pub boot_ns: u64,
    /// Since 1970, for people; may be set anew.
    pub wall_ns: u64,
}

/// A process and what it used since the moment before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessLine {
    /// Which one.
    pub id: ProcessId,
    /// Its parent.
    pub parent: u32,
    /// Its effective user's number.
    pub user: Option<u32>,
    /// Its names.
    pub text: Arc<ProcessText>,
    /// The kernel's letter for its state.
    pub state: u8,
    /// Threads it has.
    pub threads: u32,
    /// CPU time it used.
    pub cpu: ProcessCpu,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Its nice value.
    pub nice: i8,
    /// Size of its address space in bytes.
    pub virtual_bytes: u64,
    /// CPU time since it began, in milliseconds.
    pub cpu_time_ms: u64,
    /// Bytes that it read and wrote below the page cache, a second; none where it was not looked at or may not be.
    pub io: Option<ProcessTransfer>,
}

/// A process, which no later one of the same number is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it began, in hundredths of a second after boot; 0 where it is not known.
    pub start_ticks: u64,
}

/// A process's names. Text from outside: escaped wherever it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessText {
    /// The kernel's short name.
    pub name: String,
    /// The command line, or the name in brackets where there is none.
    pub command: String,
    /// The control group.
    pub group: String,
}

/// CPU time of a process in an interval, in millionths of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessCpu {
    /// Used.
    pub used: u32,
    /// How far that may be off.
    pub error: u32,
    /// Of it, in the kernel; an estimate where few ticks met it.
    pub system: u32,
    /// Threads that could run and had no CPU; none where that is not known.
    pub waited: Option<u32>,
}

/// Bytes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTransfer {
    /// Read from storage.
    pub read: u64,
    /// Written to storage.
    pub written: u64,
}

/// What no process of the list used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessRest {
    /// Processes there are.
    pub count: u32,
    /// Of these, with a thread that has a CPU or waits for one.
    pub running: u32,
    /// Processes that began since the moment before and live.
    pub born: u32,
    /// Processes that ended since the moment before, those that came and went included where they were noted.
    pub ended: u32,
    /// Millionths of a core that all processes used, as the host says.
    pub total: Option<u32>,
    /// Of it, used by no process that is still there: those that ended, came and went, or are hidden.
    pub unlisted: Option<i32>,
    /// Of it, used by processes that are there and have no line of their own; a cut list has them.
    pub cut: u32,
    /// Names of some that ended, those that used most first.
    pub ended_names: Vec<String>,
}

/// A thread that cannot go faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFinding {
    /// Why.
    pub limit: Limit,
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its process's name.
    pub process: String,
    /// Its own name.
    pub thread: String,
    /// Share of the time that held it back, in hundredths of a percent: on a CPU, waiting for one, waiting for a disk.
    pub share: u32,
    /// Since when, in nanoseconds after boot.
    pub since_boot_ns: u64,
    /// The control group whose quota held it back; empty for other causes.
    pub group: String,
}

impl Snapshot {
    /// The first `count` processes; what the others used is in [`ProcessRest::cut`].
    pub fn cut_to(&mut self, count: usize) {
        let cut = self.processes.get(count..).unwrap_or_default().iter().map(|line| line.cpu.used);
        self.rest.cut = cut.fold(self.rest.cut, u32::saturating_add);
        self.processes.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_list_says_what_is_missing() {
        let line = |used| ProcessLine { cpu: ProcessCpu { used, ..ProcessCpu::default() }, ..ProcessLine::default() };
        let mut snapshot = Snapshot { processes: vec![line(7), line(5), line(3)], ..Snapshot::default() };
        snapshot.cut_to(1);
        snapshot.cut_to(9);
        assert_eq!((snapshot.processes.len(), snapshot.rest.cut), (1, 8));
    }
}
