//! The CPU's own counter of time: TSC on x86, the virtual counter on ARM. Each CPU has one; that they agree is a promise of
//! the hardware or the kernel's doing, and not to be taken for granted.

/// The counter of the CPU that runs this thread, read after everything before it is done. None on other CPUs.
#[inline]
pub fn time_stamp() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        // SAFETY: both are in every x86-64 CPU. Programs may be forbidden to read the counter (PR_SET_TSC), which no sandbox
        // known to us does: the C library reads it for the time.
        Some(unsafe {
            _mm_lfence();
            let counter = _rdtsc();
            _mm_lfence();
            counter
        })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let counter: u64;
        // SAFETY: a barrier and a read of a register that Linux lets programs read.
        unsafe { std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) counter, options(nostack, preserves_flags)) };
        Some(counter)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_cpu_it_runs_forward() {
        let Some(first) = time_stamp() else { return };
        std::thread::sleep(std::time::Duration::from_millis(2));
        // Were the CPUs' counters far apart and the thread moved, this would fail; then every other clock would, too.
        assert!(time_stamp().expect("as before") > first);
    }
}
