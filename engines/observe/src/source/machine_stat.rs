//! `/proc/stat` (proc_stat(5)): what each CPU did since boot, in clock ticks, by sampling at ticks.
//! LIE: a thread that runs between ticks and sleeps across them is not in it.

use super::words::{lines, number, number_of, words};
use serde::{Deserialize, Serialize};

/// One CPU's ticks, or those of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// The CPU's number.
    pub cpu: u32,
    /// In programs.
    // LIE: guest and guest_nice are already in user and nice; adding them counts twice.
    pub user: u64,
    /// In the kernel for programs.
    pub system: u64,
    /// In the kernel for interrupts.
    pub interrupts: u64,
    /// Nothing to run.
    // LIE: idle and iowait may run backwards.
    pub idle: u64,
    /// Wanted to run while the hypervisor ran another guest.
    pub steal: u64,
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTicks {
    /// All CPUs together.
    pub all: CpuTicks,
    /// Each CPU that is switched on, by number.
    pub cpus: Vec<CpuTicks>,
    /// Threads that run or could.
    pub runnable: u64,
}

/// Fills `machine` from the file's text. False where it is no such file; `machine` is then empty.
pub fn parse_into(text: &[u8], machine: &mut MachineTicks) -> bool {
    machine.cpus.clear();
    machine.all = CpuTicks::default();
    let mut has_all = false;
    for line in lines(text) {
        // CPUs stand first: the interrupt counters behind them are long and not wanted.
        let Some(rest) = line.strip_prefix(b"cpu") else { break };
        let mut columns = words(rest);
        let is_all = rest.starts_with(b" ");
        let cpu =
            if is_all { Some(0) } else { columns.next().and_then(number).and_then(|cpu| u32::try_from(cpu).ok()) };
        let mut values = [0_u64; 8];
        for value in &mut values {
            *value = columns.next().and_then(number).unwrap_or(0);
        }
        let Some(cpu) = cpu else { continue };
        let [user, nice, system, idle, iowait, irq, softirq, steal] = values;
        let ticks = CpuTicks {
            cpu,
            user: user.saturating_add(nice),
            system,
            interrupts: irq.saturating_add(softirq),
            idle: idle.saturating_add(iowait),
            steal,
        };
        if is_all {
            machine.all = ticks;
            has_all = true;
        } else {
            machine.cpus.push(ticks);
        }
    }
    machine.runnable = number_of(text, b"procs_running ").unwrap_or(0);
    has_all
}

impl CpuTicks {
    /// Ticks in which the CPU worked for this machine.
    pub fn busy(&self) -> u64 {
        self.user.saturating_add(self.system).saturating_add(self.interrupts)
    }

    /// Share of the time since `earlier` in which it was busy, 0 to 1; none when no tick has passed.
    pub fn busy_share_since(&self, earlier: &Self) -> Option<f64> {
        let busy = self.busy().saturating_sub(earlier.busy());
        let others = self.idle.saturating_sub(earlier.idle).saturating_add(self.steal.saturating_sub(earlier.steal));
        let all = busy.saturating_add(others);
        (all > 0).then(|| busy as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_cpus_leave_gaps_and_guest_time_counts_once() {
        let text = b"cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 1 0 0 8 0 0 0 0 1 0\ncpu3 0 2 4 0 16 32 64 128 0 0\n\
            intr 1 2 3\nprocs_running 7\n";
        let mut machine = MachineTicks::default();
        assert!(parse_into(text, &mut machine));
        assert_eq!((machine.all.busy(), machine.all.idle, machine.all.steal), (1 + 2 + 4 + 32 + 64, 24, 128));
        assert_eq!(machine.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(machine.runnable, 7);
    }

    #[test]
    fn four_thousand_cpus_are_read() {
        let mut text = String::from("cpu  4096 0 0 4096 0 0 0 0 0 0\n");
        (0..4096).for_each(|cpu| text.push_str(&format!("cpu{cpu} 1 0 0 1 0 0 0 0 0 0\n")));
        let mut machine = MachineTicks::default();
        assert!(parse_into(text.as_bytes(), &mut machine));
        assert_eq!(machine.cpus.len(), 4096);
        assert_eq!(machine.cpus[4095].cpu, 4095);
    }

    #[test]
    fn shares_survive_clocks_that_run_backwards() {
        let earlier = CpuTicks { user: 100, idle: 500, ..CpuTicks::default() };
        let later = CpuTicks { user: 110, idle: 499, ..CpuTicks::default() };
        assert_eq!(later.busy_share_since(&earlier), Some(1.0));
        assert_eq!(earlier.busy_share_since(&earlier), None);
        assert!(!parse_into(b"intr 1\n", &mut MachineTicks::default()));
    }
}
