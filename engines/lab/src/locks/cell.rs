//! One lock in one situation with so many threads: what is measured in each round, and the check that the lock kept its promise.

use super::calibration::Calibration;
use super::lock::{Lock, LockAccess, LockKind, MadeOf, SpinPolicy, with_lock, with_policy};
use super::round::{Round, RoundOutcome};
use super::scenario::{LockTimes, Scenario};
use super::seat::LockSeat;
use machine::Host;
use std::io;
use std::time::Duration;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockSubject {
    /// No lock at all, for one thread: what the measuring costs.
    Nothing,
    /// A lock of the table.
    Lock(&'static LockKind),
    /// A lock that spins as InnoDB of MySQL 8 does, with this `innodb_spin_wait_pause_multiplier` and defaults otherwise.
    InnoDb {
        /// 1 to 100.
        multiplier: u32,
    },
}

impl LockSubject {
    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Self::Nothing => "none".to_owned(),
            Self::Lock(kind) => kind.name.to_owned(),
            Self::InnoDb { multiplier } => format!("innodb x{multiplier}"),
        }
    }

    /// What it is made of; none for no lock.
    pub fn made_of(self) -> Option<MadeOf> {
        match self {
            Self::Nothing => None,
            Self::Lock(kind) => Some(kind.made_of),
            Self::InnoDb { .. } => Some(MadeOf::Futex),
        }
    }

    /// Whether it counts wake-ups itself.
    pub(super) fn counts_wakes(self) -> bool {
        self.made_of() == Some(MadeOf::Futex)
    }
}

/// A lock in a situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The lock.
    pub subject: LockSubject,
    /// The situation.
    pub scenario: &'static Scenario,
    /// How many threads there are.
    pub threads: usize,
}

/// What all cells of a run have in common.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Where threads look up how long they had no CPU.
    pub host: Host,
    /// CPUs that threads may run on.
    pub cpus: Vec<usize>,
    /// Whether each thread stays on one CPU, if there are no more threads than CPUs.
    pub pins: bool,
    /// How long the lock is held, and not.
    pub times: LockTimes,
    /// How long a cell of weight 1 is watched in each round.
    pub window: Duration,
    /// Holds of each thread that a round has room for: it is watched longer if holds are long. 0: as long as `window` says.
    pub holds_min: u32,
    /// What this machine takes for the parts of waiting.
    pub calibration: Calibration,
}

impl Bench {
    /// Whether threads of this cell stay on one CPU each.
    pub fn is_pinned(&self, cell: &Cell) -> bool {
        self.pins && cell.threads <= self.cpus.len()
    }

    /// How long a round of this cell is watched.
    pub fn window_of(&self, cell: &Cell) -> Duration {
        cell.scenario.window(self.window, self.times.hold, cell.threads, self.holds_min)
    }

    /// Runs one round of `cell`. An error if the lock let two in.
    pub(super) fn round(&self, cell: &Cell) -> io::Result<RoundOutcome> {
        let script = |number| cell.scenario.script(number, self.times, &self.calibration);
        let round = Round {
            scripts: (0..cell.threads).map(script).collect(),
            pins: self.is_pinned(cell).then_some(&self.cpus),
            window: self.window_of(cell),
            calibration: &self.calibration,
            host: &self.host,
        };
        let outcome = match cell.subject {
            LockSubject::Nothing => super::lock::WithLock::with(&round, &NoLock)?,
            LockSubject::Lock(kind) => with_lock(kind, cell.threads, &self.calibration, &round)??,
            LockSubject::InnoDb { multiplier } => with_policy(SpinPolicy { multiplier, ..INNODB }, &round)?,
        };
        match outcome.was_exclusive {
            true => Ok(outcome),
            false => Err(io::Error::other("it let two threads in at once")),
        }
    }
}

/// The defaults of MySQL 8: `innodb_sync_spin_loops`, `innodb_spin_wait_delay`, `innodb_spin_wait_pause_multiplier`.
pub(super) const INNODB: SpinPolicy = SpinPolicy { rounds: 30, delay_max: 6, multiplier: 50 };

struct NoLock;

impl Lock for NoLock {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        critical();
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::LOCKS;
    use super::super::scenario::scenario_named;
    use super::*;

    fn bench(hold: Duration, think: Duration) -> Bench {
        let host = Host::real();
        let cpus = machine::allowed_cpu_numbers(&host).expect("Linux tells");
        let calibration = Calibration { cpu_slots: cpus.len(), ..Calibration::of_parts(2.5, 40.0, 80.0, 6_000.0) };
        Bench {
            host,
            cpus,
            pins: true,
            times: LockTimes { hold, think },
            window: Duration::from_millis(15),
            holds_min: 0,
            calibration,
        }
    }

    fn check(scenario: &str, threads: usize) {
        let scenario = scenario_named(scenario).expect("listed");
        let bench = bench(Duration::from_nanos(50), Duration::ZERO);
        let subjects = LOCKS.iter().filter(|kind| scenario.takes(kind)).map(LockSubject::Lock);
        for subject in subjects.chain([LockSubject::InnoDb { multiplier: 1 }]) {
            let cell = Cell { subject, scenario, threads };
            let outcome = bench.round(&cell).unwrap_or_else(|error| panic!("{}: {error}", subject.name()));
            assert_eq!(outcome.acquisitions.len(), threads, "{}", subject.name());
            let counted: u64 = outcome.acquisitions.iter().sum();
            let timed = if scenario.name == "uncontended" { 0 } else { counted };
            assert_eq!(outcome.waits.all.len(), timed, "{}", subject.name());
        }
    }

    #[test]
    fn every_lock_keeps_threads_apart_and_comes_to_an_end() {
        check("short", 2);
        check("burst", 3);
    }

    #[test]
    fn every_lock_keeps_many_threads_apart_and_comes_to_an_end() {
        check("oversubscribed", 12);
    }

    #[test]
    fn every_lock_keeps_threads_apart_whose_holder_sleeps() {
        check("preempted", 4);
        check("hog", 3);
        check("herd", 9);
        check("uncontended", 1);
    }

    #[test]
    fn every_lock_keeps_writers_apart_from_readers() {
        check("readers", 5);
    }

    #[test]
    fn a_lock_that_lets_two_in_is_an_error() {
        // Holders sleep in the middle: two at once are there for certain.
        let bench = bench(Duration::ZERO, Duration::ZERO);
        let cell =
            Cell { subject: LockSubject::Nothing, scenario: scenario_named("preempted").expect("listed"), threads: 4 };
        let error = bench.round(&cell).err().expect("no lock keeps nobody apart");
        assert!(error.to_string().contains("two threads"), "{error}");
    }
}
