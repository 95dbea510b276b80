//! What was read at one moment. Every field may be missing: processes vanish, files are hidden, kernels differ.
//! Pure data; the sampler fills it, a recording brings it back.

use crate::source::control_group::Throttling;
use crate::source::machine_stat::MachineTicks;
use crate::source::process_stat::StatLine;
use crate::source::run_delay::ThreadRunDelay;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One moment. Processes are sorted by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSample {
    /// When it began, on the clock that CPU clocks keep pace with.
    pub at_ns: u64,
    /// The same on the clock that processes' start times are written in.
    pub since_boot_ns: u64,
    /// The same in nanoseconds since 1970, for people.
    pub wall_ns: u64,
    /// The machine as a whole.
    pub machine: MachineSample,
    /// All processes that were looked at.
    pub processes: Vec<ProcessSample>,
    /// Threads of those whose threads were looked at.
    pub threads: Vec<ThreadSample>,
    /// Who has ended since the sample before; none where nobody notes that.
    pub endings: Option<Endings>,
}

/// Processes that have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endings {
    /// Those that were noted.
    pub named: Vec<Ending>,
    /// How many more there were, or more than that.
    pub unnamed: u64,
}

/// A process as it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Its number.
    pub pid: u32,
    /// When it began, as in [`ProcessSample::folder`], where that is known.
    #[serde(default)]
    pub folder: Option<u64>,
    /// Its name.
    pub name: ThreadName,
    /// CPU time of its whole life.
    pub used_ns: u64,
}

/// The machine as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSample {
    /// What `/proc/stat` says.
    pub ticks: Option<MachineTicks>,
    /// CPU time of all processes, the ended ones too.
    pub total: Option<MachineTotal>,
    /// For how long somebody waited for a CPU.
    pub pressure_us: Option<u64>,
    /// CPUs that are switched on.
    pub online_cpus: u32,
    /// CPU time that control groups allow to this process and its neighbours, in thousandths of a core.
    pub quota_millicores: Option<u64>,
    /// The time between two ticks.
    pub tick_ns: u64,
    /// How often each control group with a quota was held back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttling: BTreeMap<String, Throttling>,
    /// How often threads were looked at since the sample before.
    #[serde(default)]
    pub looks: u32,
}

/// CPU time of all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTotal {
    /// Since boot.
    pub used_ns: u64,
    /// Where it comes from.
    pub basis: TotalBasis,
}

/// Where the total of the machine comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TotalBasis {
    /// The CPU accounting of the topmost control group that can be seen: exact.
    ControlGroup,
    /// Ticks that met a busy CPU: steps of 10 ms, and blind to what happens between ticks.
    Ticks,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSample {
    /// Its number.
    pub pid: u32,
    /// The inode of its directory in `/proc`, or when it began: as long as it is the same, so is the process.
    // LIE: the reverse does not hold, the kernel may forget the directory and make another one for the same process.
    pub folder: u64,
    /// When its CPU time was read.
    pub at_ns: u64,
    /// CPU time since it began.
    pub cpu: CpuReading,
    /// How many of its threads may have been on a CPU at that moment: each may be up to a tick ahead of the reading.
    pub may_run: u32,
    /// What its line in `/proc` said when it was last worth reading.
    pub line: Option<StatLine>,
    /// Who it is.
    pub identity: Option<Arc<ProcessIdentity>>,
    /// Where its threads stand in the sample's list.
    pub threads: Span,
}

/// Part of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub start: u32,
    /// One behind the last.
    pub end: u32,
}

impl Span {
    /// The part of `list`.
    pub fn of<T>(self, list: &[T]) -> &[T] {
        list.get(self.range()).unwrap_or_default()
    }

    /// Which part that is.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// CPU time of a process, ended threads included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuReading {
    /// What the scheduler measured.
    pub total_ns: Option<u64>,
    /// Ticks that met it in user mode, as time.
    pub user_ns: Option<u64>,
    /// Ticks that met it in the kernel, as time.
    pub system_ns: Option<u64>,
    /// User and system time of children that ended and were waited for, where it is known better than in ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children_ns: Option<[u64; 2]>,
    /// Where the total comes from.
    pub basis: CpuBasis,
}

/// Where a process's total comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuBasis {
    /// Its CPU clock, in nanoseconds.
    #[default]
    Clock,
    /// What the scheduler has added up, and for how long its threads have run since.
    Scheduler,
    /// The sum over its present threads, in nanoseconds: what ended threads used is known in steps of 10 ms only.
    Threads,
    /// `/proc/PID/stat`, in steps of 10 ms.
    Ticks,
}

/// Who a process is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The kernel's short name for it. Text from outside: escaped wherever it is shown.
    pub name: String,
    /// Its arguments, joined by blanks; empty for threads of the kernel.
    pub command: String,
    /// Its effective user.
    pub user: Option<u32>,
    /// Its control group.
    pub group: Option<String>,
    /// How many CPUs it may run on.
    pub cpus_allowed: Option<u32>,
}

impl ProcessIdentity {
    /// The command line, or `[name]` where there is none, as `ps` shows.
    pub fn shown(&self) -> String {
        if self.command.is_empty() { format!("[{}]", self.name) } else { self.command.clone() }
    }

    /// Whether `typed` is its name: the kernel's short one, or the file that it was started from.
    pub fn is_called(&self, typed: &str) -> bool {
        let program = self.command.split(' ').next().unwrap_or_default();
        let file = program.rsplit('/').next().unwrap_or_default();
        self.name == typed || file == typed || program == typed
    }

    /// The same of a process that only its short name is known of: the file's name, as far as the kernel keeps it.
    pub fn may_be_called(short_name: &ThreadName, typed: &str) -> bool {
        let file = typed.rsplit('/').next().unwrap_or_default();
        let kept = |name: &str| crate::source::words::text_of(&name.as_bytes()[..name.len().min(SHORT_NAME_BYTES)]);
        let name = short_name.text();
        name == typed || name == kept(file)
    }
}

/// One thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSample {
    /// Its number.
    pub tid: u32,
    /// When it was read.
    pub at_ns: u64,
    /// Time on CPUs, and waiting for one.
    pub delay: Option<ThreadRunDelay>,
    /// What its line said.
    pub line: Option<StatLine>,
    /// Its name.
    pub name: ThreadName,
    /// In what state it was found by looks since the sample before.
    #[serde(default)]
    pub seen: StatesSeen,
}

/// In how many looks a thread was in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatesSeen {
    /// It could run.
    pub runnable: u32,
    /// It waited and took no signal: for a disk, mostly.
    pub uninterruptible: u32,
}

/// What the kernel keeps of a program's name.
const SHORT_NAME_BYTES: usize = 15;

/// LIMIT: the kernel keeps 15 bytes of a thread's name, which are 60 letters where none of them is text; the longer ones of its own
/// workers are cut.
const NAME_BYTES: usize = 63;

/// A thread's name, kept in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ThreadName {
    bytes: [u8; NAME_BYTES],
    length: u8,
}

impl Default for ThreadName {
    fn default() -> Self {
        Self { bytes: [0; NAME_BYTES], length: 0 }
    }
}

impl ThreadName {
    /// The first bytes of `name`.
    pub fn new(name: &[u8]) -> Self {
        let length = name.len().min(NAME_BYTES);
        let mut bytes = [0; NAME_BYTES];
        bytes[..length].copy_from_slice(&name[..length]);
        Self { bytes, length: length as u8 }
    }

    /// What was kept of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).min(NAME_BYTES)]
    }

    /// As text from outside: escaped wherever it is shown.
    pub fn text(&self) -> String {
        crate::source::words::text_of(self.bytes())
    }
}

impl std::fmt::Debug for ThreadName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", self.text())
    }
}

impl Serialize for ThreadName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for ThreadName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::new(text.as_bytes()))
    }
}

impl HostSample {
    /// The process of that number.
    pub fn process(&self, pid: u32) -> Option<&ProcessSample> {
        let at = self.processes.binary_search_by_key(&pid, |process| process.pid).ok()?;
        self.processes.get(at)
    }

    /// The threads of `process`.
    pub fn threads_of(&self, process: &ProcessSample) -> &[ThreadSample] {
        process.threads.of(&self.threads)
    }

    /// It began at `at_ns`, later than was thought, on all its clocks.
    pub fn begin_later(&mut self, at_ns: u64) {
        let later_ns = at_ns.saturating_sub(self.at_ns);
        for clock in [&mut self.at_ns, &mut self.since_boot_ns, &mut self.wall_ns] {
            *clock = clock.saturating_add(later_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_by_its_short_name_its_file_or_its_path() {
        let identity = ProcessIdentity {
            name: "mysqld".into(),
            command: "/usr/sbin/mysqld-8 --x".into(),
            ..ProcessIdentity::default()
        };
        for name in ["mysqld", "mysqld-8", "/usr/sbin/mysqld-8"] {
            assert!(identity.is_called(name), "{name}");
        }
        let short = ThreadName::new(b"a-name-of-15-by");
        for name in ["a-name-of-15-by", "a-name-of-15-bytes-and-more", "/bin/a-name-of-15-bytes"] {
            assert!(ProcessIdentity::may_be_called(&short, name), "{name}");
        }
        assert!(!ProcessIdentity::may_be_called(&short, "a-name-of-15") && !ProcessIdentity::may_be_called(&short, ""));
        assert!(!identity.is_called("mysql") && !identity.is_called("--x"));
        assert_eq!(ProcessIdentity { name: "kworker".into(), ..ProcessIdentity::default() }.shown(), "[kworker]");
    }

    #[test]
    fn long_and_strange_names_are_kept_in_place() {
        assert_eq!(ThreadName::new(&[b'x'; 99]).text().len(), NAME_BYTES);
        let name = ThreadName::new(b"a)\n\xff");
        assert_eq!(name.text(), "a)\n\\xff");
        let json = serde_json::to_string(&name).expect("plain data");
        assert_eq!(serde_json::from_str::<ThreadName>(&json).expect("a name").text(), "a)\n\\xff");
        let json = serde_json::to_string(&ThreadName::new(&[0xfe; 15])).expect("plain data");
        assert_eq!(serde_json::from_str::<ThreadName>(&json).expect("a name").text(), "\\xfe".repeat(15));
    }
}
