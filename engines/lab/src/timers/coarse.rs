//! Calls that keep a coarser clock than the rest: CPU time as times(2) returns it, clock(3), the interval timers of CPU time.
//! In 2012 they stayed at 10 ms; here each is asked.

use super::clocks::smallest_step;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::time::Duration;
use sys::clock_reading::{clock_us, times_user};
use sys::timed_wait::{CpuTimer, spin_until_expiry};

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coarse {
    /// Its name.
    pub call: &'static str,
    /// What it counts in.
    pub unit_ns: u64,
    /// The step that it was seen to go in, or what a timer took that was told 1 ms; none where it did not move, or could not be set.
    pub seen_ns: Option<u64>,
    /// What was done.
    pub how: &'static str,
}

/// What timers are told.
const TOLD: Duration = Duration::from_millis(1);
/// Rounds of each timer; the middle one counts.
const ROUNDS: usize = 9;

/// All of them. The timers' signals must be held back, and no other thread of this process be at work.
pub fn measure() -> Vec<Coarse> {
    let (_, ticks_a_second) = times_user();
    let tick_ns = 1_000_000_000 / ticks_a_second.max(1);
    let clock = smallest_step(|| clock_us() * 1000);
    // One read in a hundred: each is a system call, and its step is long.
    let mut spin = || {
        (0..100).for_each(|_| std::hint::spin_loop());
        times_user().0 * tick_ns
    };
    let step = |call, unit_ns, seen_ns| Coarse { call, unit_ns, seen_ns, how: "smallest step seen" };
    let timer = |call, timer| Coarse {
        call,
        unit_ns: 1_000,
        seen_ns: expiry_ns(timer),
        how: "CPU time to go off when told 1 ms",
    };
    vec![
        step("times", tick_ns, smallest_step(&mut spin)),
        step("clock", 1_000, clock),
        timer("setitimer virtual", CpuTimer::Virtual),
        timer("setitimer profiling", CpuTimer::Profiling),
    ]
}

/// The CPU time that a timer which was told 1 ms let pass, in the middle of some rounds.
fn expiry_ns(timer: CpuTimer) -> Option<u64> {
    let mut took: Vec<u64> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let before = cpu_ns();
        spin_until_expiry(timer, TOLD).ok()?;
        took.push(cpu_ns().saturating_sub(before));
    }
    took.sort_unstable();
    took.get(ROUNDS / 2).copied()
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
