//! What a timed wait costs here: every call there is, under several timer slacks, idle and loaded; what reading a clock costs;
//! which calls keep a coarser clock; whether the CPUs' counters agree. Chooses nothing: the command says what to measure.

pub mod clocks;
pub mod coarse;
pub mod counters;
mod load;
pub mod log_writer;
pub mod waits;

pub use load::Load;
pub use sys::timed_wait::{METHODS, Method, Slack, Unit, Until, hold_back_timer_signals};

/// The timer slack of the calling thread in nanoseconds; 0 where the kernel has none.
pub fn own_slack_ns() -> u64 {
    rustix::thread::current_timer_slack().unwrap_or(0)
}

/// Sets the timer slack of the calling thread. Threads and programs that it starts, and what it becomes by execve, inherit it.
pub fn set_own_slack(slack_ns: std::num::NonZeroU64) -> std::io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(slack_ns))?)
}

/// The kernel's tick in nanoseconds: the step of its coarse clock.
pub fn tick_ns() -> u64 {
    let step = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    step.tv_sec.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(step.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_belongs_to_the_thread_and_is_inherited() {
        let before = own_slack_ns();
        let slacks = std::thread::spawn(|| {
            set_own_slack(std::num::NonZeroU64::new(1234).expect("not 0")).expect("it may be set");
            (own_slack_ns(), std::thread::spawn(own_slack_ns).join().expect("no panic"))
        });
        assert_eq!(slacks.join().expect("no panic"), (1234, 1234));
        assert_eq!(own_slack_ns(), before);
        assert!(tick_ns() > 0);
    }
}
