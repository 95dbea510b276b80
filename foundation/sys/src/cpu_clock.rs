//! CPU time in nanoseconds: of the calling thread and process, and of any other process (`clock_getcpuclockid(3)`).
//! Wall clocks stand here only where two of them must be comparable with what the kernel writes into `/proc`.

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use std::io;

/// CPU time used by the calling thread, user and system together. Costs about 0.3 us.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time used by all threads of this process, user and system together.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// What a process's clock counts, over all its threads, those that ended included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// What the scheduler measured: exact, but a thread that runs at this moment was last added up at a tick.
    Scheduled,
    /// Ticks that met it in user mode.
    UserTicks,
    /// Ticks that met it in user mode or in the kernel.
    AllTicks,
}

/// A clock of process `pid`. Costs about 0.2 us, needs no rights; `EINVAL` where there is no such process.
pub fn other_process_ns(pid: u32, counted: Counted) -> io::Result<u64> {
    let which = match counted {
        Counted::AllTicks => 0,
        Counted::UserTicks => 1,
        Counted::Scheduled => 2,
    };
    // The kernel's own encoding (include/linux/posix-timers_types.h), which clock_getcpuclockid(3) gives too, after a
    // system call to see whether the process is there.
    let clock = (!pid.cast_signed() << 3) | which;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live object of the right type; any clock number may be asked for.
    match unsafe { libc::clock_gettime(clock, &mut time) } {
        0 => Ok(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Time since boot that no clock step moves, without the time that the machine was suspended; like CPU clocks.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Time since boot with the time that the machine was suspended: what the kernel stamps processes' starts with.
pub fn since_boot_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// The time between two timer ticks of a busy CPU. The coarse clocks advance at ticks, so theirs is the resolution.
pub fn tick_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::MonotonicCoarse))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_moves_both_clocks() {
        let (thread_before, process_before) = (thread_cpu_ns(), process_cpu_ns());
        let mut sum = 0_u64;
        for value in 0..3_000_000_u64 {
            sum = std::hint::black_box(sum ^ value);
        }
        assert!(thread_cpu_ns() > thread_before);
        assert!(process_cpu_ns() > process_before);
    }

    #[test]
    fn a_process_s_own_clock_is_the_one_that_others_see() {
        let own = process_cpu_ns();
        let seen = other_process_ns(std::process::id(), Counted::Scheduled).expect("this process lives");
        assert!(seen >= own);
        let user = other_process_ns(std::process::id(), Counted::UserTicks).expect("this process lives");
        assert!(user <= other_process_ns(std::process::id(), Counted::AllTicks).expect("this process lives"));
        // LIMIT: no Linux has process numbers above 2^22.
        assert_eq!(
            other_process_ns(1 << 24, Counted::Scheduled).expect_err("no such process").raw_os_error(),
            Some(libc::EINVAL)
        );
    }

    #[test]
    fn a_tick_is_between_a_tenth_of_a_millisecond_and_ten() {
        assert!((100_000..=10_000_000).contains(&tick_ns()), "{}", tick_ns());
        let monotonic_ns = monotonic_ns();
        assert!(since_boot_ns() >= monotonic_ns);
    }
}
