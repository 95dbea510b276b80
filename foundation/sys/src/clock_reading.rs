//! Clocks as programs read them: through the C library, which asks the kernel's vDSO, and by a system call; times(2) and
//! clock(3), which count in units of their own. Reads; times nothing.

use rustix::time::ClockId;
use std::mem::MaybeUninit;

/// How a clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As every program does.
    Library,
    /// Without the vDSO.
    SystemCall,
}

/// Nanoseconds of `clock`; 0 where it does not exist.
#[inline]
pub fn read(clock: ClockId, way: Way) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    let number = clock as libc::clockid_t;
    // SAFETY: there is room for a time, and zeroes are one.
    let time = unsafe {
        match way {
            Way::Library => i64::from(libc::clock_gettime(number, time.as_mut_ptr())),
            Way::SystemCall => libc::syscall(libc::SYS_clock_gettime, number, time.as_mut_ptr()),
        };
        time.assume_init()
    };
    time.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.unsigned_abs())
}

/// CPU time in user mode of this process, as times(2) tells it, and how many of its units are a second.
pub fn times_user() -> (u64, u64) {
    let mut times = MaybeUninit::<libc::tms>::zeroed();
    // SAFETY: there is room for the times, and zeroes are some; the other call takes a number.
    unsafe {
        libc::times(times.as_mut_ptr());
        (times.assume_init().tms_utime.unsigned_abs(), libc::sysconf(libc::_SC_CLK_TCK).unsigned_abs())
    }
}

// SAFETY: as the C library declares it.
unsafe extern "C" {
    fn clock() -> libc::clock_t;
}

/// CPU time of this process in microseconds, as clock(3) tells it.
pub fn clock_us() -> u64 {
    // SAFETY: takes nothing.
    unsafe { clock() }.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same_clock() {
        let first = read(ClockId::Monotonic, Way::Library);
        let second = read(ClockId::Monotonic, Way::SystemCall);
        let third = read(ClockId::Monotonic, Way::Library);
        assert!(first > 0 && first <= second && second <= third, "{first} {second} {third}");
    }

    #[test]
    fn cpu_time_has_units_and_grows() {
        let (before, per_second) = times_user();
        assert!(per_second > 0);
        let begin = clock_us();
        while clock_us() == begin {
            std::hint::spin_loop();
        }
        assert!(times_user().0 >= before);
    }
}
