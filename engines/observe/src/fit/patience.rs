//! How long to rest between two looks at pages, so that looking takes no more than its share of a CPU. Pure.

use std::time::Duration;

/// LIMIT: looking at pages takes one hundredth of a CPU: each look is followed by 99 times its own CPU time of rest.
const RESTS_PER_LOOK: u32 = 99;

/// What is left of the time, and how much of it looking may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    left: Duration,
    /// The slowest look so far.
    ns_per_kibibyte: u64,
}

/// What a look costs before one was measured: 40 ns a page, and some microseconds for any.
const NANOSECONDS_PER_KIBIBYTE: u64 = 10;
const NANOSECONDS_PER_LOOK: u64 = 30_000;

impl Patience {
    pub fn new(time: Duration) -> Self {
        Self { left: time, ns_per_kibibyte: NANOSECONDS_PER_KIBIBYTE }
    }

    /// Whether there is time for a look at so much memory, and for the rest after it.
    pub fn allows(&self, resident_bytes: u64) -> bool {
        let ns = (resident_bytes >> 10).saturating_mul(self.ns_per_kibibyte).saturating_add(NANOSECONDS_PER_LOOK);
        Duration::from_nanos(ns.saturating_mul(u64::from(RESTS_PER_LOOK) + 1)) <= self.left
    }

    /// How long to rest after a look at so much memory that took `cpu`.
    pub fn rest_after(&mut self, resident_bytes: u64, cpu: Duration) -> Duration {
        let cpu_ns = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        let measured = cpu_ns.saturating_sub(NANOSECONDS_PER_LOOK) / (resident_bytes >> 10).max(1);
        // Never less than the first guess: pages that are not there cost nothing, and huge ones little.
        self.ns_per_kibibyte = self.ns_per_kibibyte.max(measured);
        let rest = cpu.saturating_mul(RESTS_PER_LOOK).min(self.left);
        self.left = self.left.saturating_sub(rest.saturating_add(cpu));
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_takes_a_hundredth() {
        let mut patience = Patience::new(Duration::from_secs(2));
        let (mut looked, mut rested) = (Duration::ZERO, Duration::ZERO);
        let cpu = Duration::from_micros(80);
        while patience.allows(4 << 20) {
            looked += cpu;
            rested += patience.rest_after(4 << 20, cpu);
        }
        assert!(looked * 100 <= looked + rested && looked > Duration::from_millis(19), "{looked:?} {rested:?}");
    }

    #[test]
    fn what_would_take_too_long_is_not_begun() {
        let mut patience = Patience::new(Duration::from_secs(2));
        assert!(patience.allows(1 << 30) && !patience.allows(4 << 30) && !patience.allows(u64::MAX));
        // A slow machine is learned from one look.
        let rest = patience.rest_after(1 << 20, Duration::from_millis(1));
        assert_eq!(rest, Duration::from_millis(99));
        assert!(!patience.allows(1 << 30));
        assert_eq!(patience.rest_after(1, Duration::MAX), Duration::from_millis(1900));
        assert!(!patience.allows(0));
    }
}
