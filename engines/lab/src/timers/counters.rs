//! Whether the CPUs' own counters of time agree. Theory: "The counters of CPUs" in this crate's README.

use crate::pinned::stay_on;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sys::time_stamp::time_stamp;

/// How far the counter of `cpu` may be ahead of that of the reference CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offset {
    /// The CPU.
    pub cpu: usize,
    /// At least so many nanoseconds ahead; negative is behind.
    pub low_ns: f64,
    /// At most so many.
    pub high_ns: f64,
}

impl Offset {
    /// Whether no difference could be shown.
    pub fn agrees(&self) -> bool {
        self.low_ns <= 0.0 && self.high_ns >= 0.0
    }
}

/// What came of holding them against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counters {
    /// The CPU that all others were held against.
    pub reference: usize,
    /// Counts in a microsecond.
    pub counts_per_us: f64,
    /// One for each other CPU.
    pub offsets: Vec<Offset>,
    /// CPUs for which no figure came about: they were switched off, or too busy.
    pub failed: Vec<usize>,
}

/// Flights in each direction.
const FLIGHTS: u64 = 2_000;
/// LIMIT: where other programs hold a CPU a flight may take milliseconds; a pair that takes longer ends with what it has.
const PAIR_TIME_MAX: Duration = Duration::from_millis(60);
/// Fewer flights show nothing.
const FLIGHTS_MIN: u64 = 50;

/// Compares each of `cpus` with the first. None where there is no counter or only one CPU.
pub fn compare(cpus: &[usize]) -> Option<Counters> {
    time_stamp()?;
    let (&reference, others) = cpus.split_first()?;
    if others.is_empty() {
        return None;
    }
    let counts_per_us = rate()?;
    let mut counters = Counters { reference, counts_per_us, offsets: Vec::new(), failed: Vec::new() };
    for &cpu in others {
        match Court::default().play(reference, cpu) {
            Some((low, high)) => {
                let ns = |counts: i64| counts as f64 * 1000.0 / counts_per_us;
                counters.offsets.push(Offset { cpu, low_ns: ns(low), high_ns: ns(high) });
            }
            None => counters.failed.push(cpu),
        }
    }
    Some(counters)
}

/// Counts in a microsecond, by the monotonic clock.
fn rate() -> Option<f64> {
    let (begin, first) = (Instant::now(), time_stamp()?);
    std::thread::sleep(Duration::from_millis(20));
    let (last, took) = (time_stamp()?, begin.elapsed());
    let counts = last.checked_sub(first).filter(|&counts| counts > 0)?;
    Some(counts as f64 / (took.as_secs_f64() * 1e6))
}

/// Where two threads throw a ball: even turns belong to the first, odd ones to the second.
#[derive(Default)]
struct Court {
    turn: AtomicU64,
    stamp: AtomicU64,
    is_over: AtomicBool,
}

impl Court {
    /// Bounds of second minus first, in counts.
    fn play(&self, first: usize, second: usize) -> Option<(i64, i64)> {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let catcher = scope.spawn(|| self.side(second, 1, begin));
            let backwards = self.on_a_thread(scope, first, begin);
            let forwards = catcher.join().ok().flatten();
            // Forward flights took (second - first) + flight, backward ones (first - second) + flight.
            Some((backwards?.checked_neg()?, forwards?))
        })
    }

    fn on_a_thread<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        cpu: usize,
        begin: Instant,
    ) -> Option<i64> {
        scope.spawn(move || self.side(cpu, 0, begin)).join().ok().flatten()
    }

    /// Plays the turns of `parity` and returns the smallest difference of a catch: own counter less the thrower's.
    fn side(&self, cpu: usize, parity: u64, begin: Instant) -> Option<i64> {
        let smallest = self.throw_and_catch(cpu, parity, begin);
        // Whoever leaves first lets the other go, too.
        self.is_over.store(true, Ordering::Relaxed);
        smallest
    }

    fn throw_and_catch(&self, cpu: usize, parity: u64, begin: Instant) -> Option<i64> {
        stay_on(cpu).ok()?;
        let mut smallest: Option<i64> = None;
        let mut caught = 0;
        for round in 0..FLIGHTS {
            let own_turn = round * 2 + parity;
            if !self.await_turn(own_turn, begin) {
                break;
            }
            let now = time_stamp()?;
            // The first turn has no throw before it.
            if own_turn > 0 {
                let took = now.wrapping_sub(self.stamp.load(Ordering::Relaxed)).cast_signed();
                smallest = Some(smallest.map_or(took, |smallest| smallest.min(took)));
                caught += 1;
            }
            self.stamp.store(time_stamp()?, Ordering::Relaxed);
            // ORDER: who sees the turn sees the stamp.
            self.turn.store(own_turn + 1, Ordering::Release);
        }
        smallest.filter(|_| caught >= FLIGHTS_MIN)
    }

    /// Spins until it is `turn`; false when the game is over.
    fn await_turn(&self, turn: u64, begin: Instant) -> bool {
        let mut spins = 0_u32;
        // ORDER: with the store of the turn.
        while self.turn.load(Ordering::Acquire) != turn {
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(4096) {
                if self.is_over.load(Ordering::Relaxed) || begin.elapsed() > PAIR_TIME_MAX {
                    return false;
                }
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_lie_in_order_and_each_cpu_has_an_answer() {
        let host = machine::Host::real();
        let cpus = machine::allowed_cpu_numbers(&host).expect("Linux tells");
        let Some(counters) = compare(&cpus) else { return };
        assert_eq!(counters.offsets.len() + counters.failed.len(), cpus.len() - 1);
        assert!(counters.offsets.iter().all(|offset| offset.low_ns <= offset.high_ns), "{counters:?}");
        assert!(compare(&cpus[..1]).is_none());
    }

    #[test]
    fn a_cpu_that_is_not_there_ends_the_game_for_both() {
        assert_eq!(Court::default().play(8_000, 8_001), None);
    }

    #[test]
    fn zero_between_the_bounds_is_agreement() {
        let offset = |low_ns, high_ns| Offset { cpu: 1, low_ns, high_ns };
        assert!(offset(-30.0, 40.0).agrees());
        assert!(!offset(3.0, 40.0).agrees() && !offset(-40.0, -3.0).agrees());
    }
}
