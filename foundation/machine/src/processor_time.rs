//! What all CPUs together did since boot (`/proc/stat`), so that two samples say how busy the host was between them.
//! This file does not show which process did the work.

use crate::host::{Host, HostError, parse_number};
use std::path::Path;

/// Time of all CPUs added up since boot, in clock ticks (`sysconf(_SC_CLK_TCK)`, in practice 10 ms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Running programs, the kernel or interrupts.
    pub busy_ticks: u64,
    /// Nothing to run, or waiting for a disk with nothing else to run.
    pub idle_ticks: u64,
    /// Wanted to run, but the hypervisor ran another guest.
    pub steal_ticks: u64,
}

impl ProcessorTime {
    /// Share of all CPUs' time that was busy since `earlier`, 0 to 1; none when no tick has passed.
    ///
    /// Times the number of online CPUs it is the number of cores in use.
    pub fn busy_share_since(&self, earlier: &Self) -> Option<f64> {
        // LIE: idle and iowait may run backwards by some ticks (proc_stat(5)), hence no plain subtraction.
        let busy = self.busy_ticks.saturating_sub(earlier.busy_ticks);
        let idle = self.idle_ticks.saturating_sub(earlier.idle_ticks);
        let steal = self.steal_ticks.saturating_sub(earlier.steal_ticks);
        let all = busy.saturating_add(idle).saturating_add(steal);
        (all > 0).then(|| busy as f64 / all as f64)
    }
}

/// Columns of the `cpu` line in order (proc_stat(5)); guest time follows them and is already part of user time.
const COLUMNS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// Reads the line for all CPUs of `/proc/stat`.
pub fn processor_time(host: &Host) -> Result<ProcessorTime, HostError> {
    let path = Path::new("/proc/stat");
    let text = host.read(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let mut words = line.ok_or_else(|| HostError::absent(path, "the line of all CPUs"))?.split_ascii_whitespace();
    let mut ticks = [0_u64; COLUMNS.len()];
    for (value, column) in ticks.iter_mut().zip(COLUMNS) {
        let word = words.next().ok_or_else(|| HostError::absent(path, column))?;
        *value = parse_number(path, column, word)?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let busy_ticks = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
    Ok(ProcessorTime { busy_ticks, idle_ticks: idle.saturating_add(iowait), steal_ticks: steal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn columns_are_added_up_and_guest_time_is_not_counted_twice() {
        let fake = FakeHost::new();
        fake.file("/proc/stat", "cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 9 9 9 9 9 9 9 9 9 9\n");
        let time = processor_time(&fake.host()).expect("a good file");
        assert_eq!(time, ProcessorTime { busy_ticks: 1 + 2 + 4 + 32 + 64, idle_ticks: 24, steal_ticks: 128 });
    }

    #[test]
    fn two_samples_give_the_busy_share() {
        let earlier = ProcessorTime { busy_ticks: 100, idle_ticks: 500, steal_ticks: 0 };
        let later = ProcessorTime { busy_ticks: 130, idle_ticks: 560, steal_ticks: 10 };
        assert_eq!(later.busy_share_since(&earlier), Some(0.3));
        assert_eq!(earlier.busy_share_since(&earlier), None);
    }

    #[test]
    fn idle_time_that_runs_backwards_is_no_panic() {
        let earlier = ProcessorTime { busy_ticks: 100, idle_ticks: 500, steal_ticks: 0 };
        let later = ProcessorTime { busy_ticks: 110, idle_ticks: 499, steal_ticks: 0 };
        assert_eq!(later.busy_share_since(&earlier), Some(1.0));
    }

    #[test]
    fn short_or_malformed_lines_name_the_column() {
        for (bad, message) in [
            ("cpu0 1 2 3\n", "find the line of all CPUs in '/proc/stat'"),
            ("cpu  1 2 4 8 16 32 64\n", "find steal in '/proc/stat'"),
            ("cpu  1 2 four 8 16 32 64 128\n", "find system in '/proc/stat'"),
        ] {
            let fake = FakeHost::new();
            fake.file("/proc/stat", bad);
            assert_eq!(processor_time(&fake.host()).expect_err(bad).to_string(), message);
        }
    }
}
