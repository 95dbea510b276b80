//! The situations that locks are tried in. Names are those of mutex-benches where it has them.

use super::calibration::Calibration;
use super::lock::{LockAccess, LockKind};
use std::time::Duration;

/// A situation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What happens in it.
    pub about: &'static str,
    /// How many threads there are.
    pub crowd: Crowd,
    /// How many times as long as others it is watched in each round: turns of many threads take their time.
    pub weight: u32,
    what: What,
}

/// How many threads a situation has, unless the user says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// One, whatever the user says.
    One,
    /// One for each CPU, two at least.
    EachCpu,
    /// Two for each CPU.
    Twice,
    /// 64, and at least four for each CPU.
    Many,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Alone,
    Plain,
    Long,
    Herd,
    Burst,
    Hog,
    Nap,
    Readers,
}

const fn scenario(name: &'static str, what: What, crowd: Crowd, weight: u32, about: &'static str) -> Scenario {
    Scenario { name, about, crowd, weight, what }
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    scenario("uncontended", What::Alone, Crowd::One, 1, "one thread alone, without work: what the lock itself costs"),
    scenario("short", What::Plain, Crowd::EachCpu, 1, "each thread holds the lock shortly"),
    scenario("long", What::Long, Crowd::EachCpu, 1, "the lock is held a hundred times as long"),
    scenario("burst", What::Burst, Crowd::EachCpu, 1, "16 acquisitions at once, then a pause as long as all of theirs"),
    scenario("hog", What::Hog, Crowd::EachCpu, 1, "one thread holds the lock a thousand times as long as the others"),
    scenario("oversubscribed", What::Plain, Crowd::Many, 7, "short, with more threads than CPUs"),
    scenario("herd", What::Herd, Crowd::Many, 4, "each holder sleeps for 50 us, as for a write: so do all"),
    scenario("preempted", What::Nap, Crowd::Twice, 2, "every 64th holder leaves its CPU for 50 us in the middle"),
    scenario("readers", What::Readers, Crowd::EachCpu, 1, "nine of ten only read"),
];

/// The situation of this name.
pub fn scenario_named(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

impl Scenario {
    /// How many threads there are on so many CPUs.
    pub fn threads(&self, cpus: usize) -> usize {
        match self.crowd {
            Crowd::One => 1,
            Crowd::EachCpu => cpus.max(2),
            Crowd::Twice => cpus.max(2) * 2,
            Crowd::Many => (cpus * 4).max(64),
        }
    }

    /// Whether this lock has a place in it: where there are readers, locks that know them and one that does not, to compare with.
    pub fn takes(&self, kind: &LockKind) -> bool {
        match self.what {
            What::Readers => kind.knows_readers || ["std", "pthread"].contains(&kind.name),
            // Spinning queues do not get anywhere there.
            What::Herd => kind.wakes.is_some() || ["std", "pthread", "parking_lot"].contains(&kind.name),
            _ => !kind.knows_readers,
        }
    }

    /// Whether there are readers in it.
    pub fn has_readers(&self) -> bool {
        self.what == What::Readers
    }

    /// How long a hold is in it.
    pub fn hold(&self, hold: Duration) -> Duration {
        match self.what {
            What::Alone => Duration::ZERO,
            What::Long => hold * 100,
            _ => hold,
        }
    }

    /// The longest hold in it.
    pub fn longest_hold(&self, hold: Duration) -> Duration {
        match self.what {
            What::Hog => hold * HOG_TIMES,
            What::Herd | What::Nap => hold + NAP,
            _ => self.hold(hold),
        }
    }

    /// How long a round of so many threads is watched, if one of weight 1 is watched for `base`: at least for `holds_min` holds of each.
    pub fn window(&self, base: Duration, hold: Duration, threads: usize, holds_min: u32) -> Duration {
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let least = self.longest_hold(hold).saturating_mul(holds_min.saturating_mul(threads));
        (base * self.weight).max(least.min(LENGTHENED_MAX))
    }

    /// How long a thread works without the lock in it.
    pub fn think(&self, think: Duration) -> Duration {
        if self.what == What::Alone { Duration::ZERO } else { think }
    }

    /// What the thread of this number does.
    pub(super) fn script(&self, number: usize, times: LockTimes, calibration: &Calibration) -> ThreadScript {
        let hold_steps = calibration.steps(self.hold(times.hold));
        let think_steps = calibration.steps(self.think(times.think));
        let plain = ThreadScript { hold_steps, think_steps, burst: 1, nap_every: 0, reads_of_ten: 0, is_timed: true };
        match self.what {
            What::Plain | What::Long => plain,
            What::Herd => ThreadScript { nap_every: 1, ..plain },
            What::Alone => ThreadScript { is_timed: false, ..plain },
            What::Burst => ThreadScript { burst: BURST, think_steps: think_steps.saturating_mul(BURST), ..plain },
            What::Hog if number == 0 => ThreadScript { hold_steps: hold_steps.saturating_mul(HOG_TIMES), ..plain },
            What::Hog => plain,
            What::Nap => ThreadScript { nap_every: NAP_EVERY, ..plain },
            What::Readers => ThreadScript { reads_of_ten: 9, ..plain },
        }
    }
}

/// How many times as long the hog holds the lock.
const HOG_TIMES: u32 = 1000;
/// LIMIT: rounds are not made longer than this for the sake of long holds.
const LENGTHENED_MAX: Duration = Duration::from_secs(5);
/// Acquisitions without work between them.
const BURST: u32 = 16;
/// Holds, of which one goes with a nap.
const NAP_EVERY: u32 = 64;
/// How long a holder is away from its CPU.
pub(super) const NAP: Duration = Duration::from_micros(50);

/// How long a lock is held, and how long a thread works between two holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockTimes {
    /// With the lock.
    pub hold: Duration,
    /// Without it.
    pub think: Duration,
}

/// What a thread does again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadScript {
    pub hold_steps: u32,
    pub think_steps: u32,
    /// Acquisitions before it thinks.
    pub burst: u32,
    /// 0: never.
    pub nap_every: u32,
    pub reads_of_ten: u32,
    /// Whether waits are timed. Reading the counter twice costs more than a lock that nobody else wants.
    pub is_timed: bool,
}

impl ThreadScript {
    /// What the `count`th acquisition is for.
    pub(super) fn access(&self, count: u32) -> LockAccess {
        if count % 10 < self.reads_of_ten { LockAccess::Read } else { LockAccess::Write }
    }

    pub(super) fn naps(&self, count: u32) -> bool {
        self.nap_every > 0 && count.is_multiple_of(self.nap_every)
    }

    pub(super) fn thinks(&self, count: u32) -> bool {
        count.is_multiple_of(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::LOCKS;
    use super::*;

    const TIMES: LockTimes = LockTimes { hold: Duration::from_nanos(100), think: Duration::from_micros(1) };

    fn script(name: &str, number: usize) -> ThreadScript {
        scenario_named(name).expect("listed").script(number, TIMES, &Calibration::of_parts(2.5, 40.0, 80.0, 6_000.0))
    }

    #[test]
    fn situations_differ_in_what_their_name_says() {
        let short = script("short", 0);
        assert_eq!((short.hold_steps, short.think_steps, short.burst), (50, 500, 1));
        assert_eq!(script("long", 1).hold_steps, 5_000);
        assert!((0..9).all(|count| script("herd", 1).naps(count)));
        let alone = script("uncontended", 0);
        assert_eq!((alone.hold_steps, alone.think_steps, alone.is_timed), (0, 0, false));
        assert_eq!((script("hog", 0).hold_steps, script("hog", 1).hold_steps), (50_000, 50));
        let burst = script("burst", 0);
        assert_eq!((0..32).filter(|&count| burst.thinks(count)).collect::<Vec<_>>(), [0, 16]);
        let nap = script("preempted", 0);
        assert_eq!((0..130).filter(|&count| nap.naps(count)).collect::<Vec<_>>(), [0, 64, 128]);
        let reads = |name| (0..100).filter(|&count| script(name, 0).access(count) == LockAccess::Read).count();
        assert_eq!((reads("readers"), reads("short")), (90, 0));
    }

    #[test]
    fn readers_meet_locks_that_know_them_and_one_or_two_that_do_not() {
        let taken = |name: &str| {
            let scenario = scenario_named(name).expect("listed");
            LOCKS.iter().filter(|kind| scenario.takes(kind)).map(|kind| kind.name).collect::<Vec<_>>()
        };
        assert_eq!(taken("readers"), ["pthread", "std", "pthread-rw", "pthread-rw-w", "std-rw", "parking_lot-rw"]);
        assert!(taken("short").contains(&"mcs") && !taken("short").contains(&"std-rw"));
        assert_eq!(taken("herd"), ["futex", "futex-all", "handoff", "pthread", "std", "parking_lot"]);
    }

    #[test]
    fn rounds_are_long_enough_for_twenty_holds_of_each_thread() {
        let window = |name: &str, hold_us, threads| {
            let (base, hold) = (Duration::from_millis(16), Duration::from_micros(hold_us));
            scenario_named(name).expect("listed").window(base, hold, threads, 20)
        };
        assert_eq!(
            (window("short", 1, 2), window("short", 5_000, 2)),
            (Duration::from_millis(16), Duration::from_millis(200))
        );
        assert_eq!((window("long", 100, 4), window("hog", 10_000, 2)), (Duration::from_millis(800), LENGTHENED_MAX));
        assert_eq!(window("oversubscribed", 0, 64), Duration::from_millis(112));
        assert_eq!(window("uncontended", 10_000, 1), Duration::from_millis(16));
    }

    #[test]
    fn a_crowd_is_larger_than_the_machine() {
        let threads = |name: &str, cpus| scenario_named(name).expect("listed").threads(cpus);
        assert_eq!((threads("uncontended", 8), threads("short", 1), threads("short", 8)), (1, 2, 8));
        assert_eq!(
            (threads("oversubscribed", 2), threads("oversubscribed", 64), threads("preempted", 2)),
            (64, 256, 4)
        );
    }
}
