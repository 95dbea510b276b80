//! What reading each clock costs, whether a system call is needed, and in which steps it goes on.

use rustix::time::{ClockId, clock_getres};
use serde::Serialize;
use std::time::{Duration, Instant};
use sys::clock_reading::{Way, read};

/// One clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemClock {
    /// Its name without `CLOCK_`.
    pub clock: &'static str,
    /// The cheapest of many batches of reads, a read.
    pub read_ns: f64,
    /// The same by a system call, always.
    pub system_call_ns: f64,
    /// Whether the library needs no system call: it costs well under one.
    pub is_read_in_user_mode: bool,
    /// What the kernel says its step is.
    pub resolution_ns: u64,
    /// The smallest step that was seen; none when it stood still.
    pub step_ns: Option<u64>,
}

const CLOCKS: &[(&str, ClockId)] = &[
    ("REALTIME", ClockId::Realtime),
    ("MONOTONIC", ClockId::Monotonic),
    ("MONOTONIC_RAW", ClockId::MonotonicRaw),
    ("BOOTTIME", ClockId::Boottime),
    ("REALTIME_COARSE", ClockId::RealtimeCoarse),
    ("MONOTONIC_COARSE", ClockId::MonotonicCoarse),
    ("PROCESS_CPUTIME_ID", ClockId::ProcessCPUTime),
    ("THREAD_CPUTIME_ID", ClockId::ThreadCPUTime),
];

/// Batches and reads in each: together some milliseconds for all clocks.
const BATCHES: usize = 30;
const READS: u32 = 200;
/// Reads after which a fine clock has shown its smallest step, and the time after which a coarse one has.
const STEP_READS: u32 = 20_000;
const STEP_TIME: Duration = Duration::from_millis(40);
/// LIMIT: a clock of CPU time goes on only while there is a CPU, which others may have: then it has so long for its first step.
const FIRST_STEP_TIME: Duration = Duration::from_millis(400);
/// Below this share of a system call's cost no system call can have been made.
const USER_MODE_SHARE: f64 = 0.6;

/// All clocks.
pub fn measure() -> Vec<SystemClock> {
    CLOCKS.iter().map(|&(name, clock)| one(name, clock)).collect()
}

fn one(name: &'static str, clock: ClockId) -> SystemClock {
    let (read_ns, system_call_ns) = (cost_ns(clock, Way::Library), cost_ns(clock, Way::SystemCall));
    let resolution = clock_getres(clock);
    SystemClock {
        clock: name,
        read_ns,
        system_call_ns,
        is_read_in_user_mode: read_ns < system_call_ns * USER_MODE_SHARE,
        resolution_ns: resolution.tv_sec.unsigned_abs() * 1_000_000_000 + resolution.tv_nsec.unsigned_abs(),
        step_ns: smallest_step(|| read(clock, Way::Library)),
    }
}

/// The smallest of many: what is above it was somebody else.
fn cost_ns(clock: ClockId, way: Way) -> f64 {
    let batch = |_| {
        let begin = Instant::now();
        for _ in 0..READS {
            std::hint::black_box(read(clock, way));
        }
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(READS)
    };
    (0..BATCHES).map(batch).fold(f64::INFINITY, f64::min)
}

/// The smallest step of a clock that is read again and again.
pub(super) fn smallest_step(mut read: impl FnMut() -> u64) -> Option<u64> {
    /// Longer steps are a coarse clock's, of which there are few.
    const COARSE_NS: u64 = 100_000;
    let begin = Instant::now();
    let (mut last, mut smallest, mut reads) = (read(), None, 0_u32);
    loop {
        let now = read();
        if now > last {
            smallest = Some(smallest.map_or(now - last, |smallest: u64| smallest.min(now - last)));
        }
        last = now;
        reads = reads.wrapping_add(1);
        let is_fine = smallest.is_some_and(|smallest| smallest < COARSE_NS);
        let is_seen = reads >= STEP_READS && is_fine;
        // The time is looked at now and then: that costs more than most reads.
        let time_max = if smallest.is_some() { STEP_TIME } else { FIRST_STEP_TIME };
        if is_seen || (reads.is_multiple_of(64) && begin.elapsed() > time_max) {
            return smallest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_is_measured_and_the_coarse_ones_have_long_steps() {
        let clocks = measure();
        assert_eq!(clocks.len(), CLOCKS.len());
        let named = |name| clocks.iter().find(|clock| clock.clock == name).expect("listed");
        assert!(clocks.iter().all(|clock| clock.read_ns > 0.0 && clock.system_call_ns > 0.0));
        assert!(named("MONOTONIC").resolution_ns <= named("MONOTONIC_COARSE").resolution_ns);
    }

    #[test]
    fn the_smallest_step_of_a_clock_is_found() {
        let mut now = 0;
        let fine = smallest_step(|| {
            now += if now % 7 == 0 { 30 } else { 20 };
            now
        });
        assert_eq!(fine, Some(20));
        let mut reads = 0;
        assert_eq!(
            smallest_step(|| {
                reads += 1;
                reads / 500 * 4_000_000
            }),
            Some(4_000_000)
        );
        assert_eq!(smallest_step(|| 5), None);
    }
}
