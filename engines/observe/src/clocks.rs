//! The clocks that a sampler reads. Real ones ask the kernel; a fake host has none, and tests move theirs by hand.

use sys::cpu_clock::{Counted, monotonic_ns, other_process_ns, since_boot_ns, tick_ns};

/// The clocks of a host.
pub trait HostClocks {
    /// Time that CPU clocks keep pace with: stands still while the machine is suspended.
    fn now_ns(&self) -> u64;
    /// Time since boot, suspended time included.
    fn since_boot_ns(&self) -> u64;
    /// Nanoseconds since 1970.
    fn wall_ns(&self) -> u64;
    /// The time between two ticks of a busy CPU.
    fn tick_ns(&self) -> u64;
    /// A CPU clock of another process; none where it has ended or cannot be asked.
    fn process_ns(&self, pid: u32, counted: Counted) -> Option<u64>;
}

/// The kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelClocks;

impl HostClocks for KernelClocks {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn since_boot_ns(&self) -> u64 {
        since_boot_ns()
    }

    fn wall_ns(&self) -> u64 {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
    }

    fn tick_ns(&self) -> u64 {
        tick_ns()
    }

    fn process_ns(&self, pid: u32, counted: Counted) -> Option<u64> {
        other_process_ns(pid, counted).ok()
    }
}
