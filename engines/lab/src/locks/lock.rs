//! What every lock under test can do, and the table of them: names, what they are made of, what their waiters do.

use super::borrowed::{CMutexUnderTest, CReadWriteUnderTest, ParkingLot, ParkingLotReadWrite, StdMutex, StdReadWrite};
use super::calibration::Calibration;
use super::seat::LockSeat;
use super::sleeping::{Adaptive, FutexLock, HandOff, SpinThenSleep};
use super::spinning::{BackOff, ClhLock, McsLock, TestAndSet, TicketLock};
use serde::Serialize;
use std::io;

pub(super) use super::sleeping::SpinPolicy;

/// What a thread wants of the data that a lock protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockAccess {
    Read,
    Write,
}

/// A lock under test.
pub(super) trait Lock: Sync {
    /// Runs `critical` while the calling thread holds the lock. Locks that know no readers take both kinds of access for writing.
    fn hold(&self, seat: &mut LockSeat, access: LockAccess, critical: impl FnOnce());
}

/// What a lock is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeOf {
    /// Atomic operations alone: its waiters spin.
    Atomics,
    /// Atomic operations and futex(2).
    Futex,
    /// The C library's.
    Pthread,
    /// Rust's own.
    Std,
    /// The crate parking_lot's.
    ParkingLot,
}

/// Who is woken when a lock becomes free, where that is what sets a lock apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WakePolicy {
    /// One of those who sleep.
    One,
    /// All of them.
    All,
    /// The next in line, who has it then.
    HandOff,
}

/// A lock by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockKind {
    /// Its name.
    pub name: &'static str,
    /// What it is made of.
    pub made_of: MadeOf,
    /// Whom it wakes, of those that differ in nothing else.
    pub wakes: Option<WakePolicy>,
    /// Whether readers hold it together.
    pub knows_readers: bool,
    /// What its waiters do.
    pub about: &'static str,
}

const fn exclusive(name: &'static str, made_of: MadeOf, about: &'static str) -> LockKind {
    LockKind { name, made_of, wakes: None, knows_readers: false, about }
}

const fn waking(name: &'static str, wakes: WakePolicy, about: &'static str) -> LockKind {
    LockKind { name, made_of: MadeOf::Futex, wakes: Some(wakes), knows_readers: false, about }
}

const fn read_write(name: &'static str, made_of: MadeOf, about: &'static str) -> LockKind {
    LockKind { name, made_of, wakes: None, knows_readers: true, about }
}

/// All of them.
pub const LOCKS: &[LockKind] = &[
    exclusive("tas", MadeOf::Atomics, "test-and-set without PAUSE"),
    exclusive("tas-pause", MadeOf::Atomics, "test-and-set with PAUSE"),
    exclusive("backoff", MadeOf::Atomics, "test-and-test-and-set, pauses that double up to a calibrated limit"),
    exclusive("ticket", MadeOf::Atomics, "ticket lock with PAUSE: first come, first served"),
    exclusive("mcs", MadeOf::Atomics, "MCS queue with PAUSE, each waiter at a word of its own"),
    exclusive("clh", MadeOf::Atomics, "CLH queue with PAUSE, each waiter at its predecessor's word"),
    exclusive("adaptive", MadeOf::Futex, "spins while the holder seems to run, then sleeps"),
    exclusive("spin-sleep", MadeOf::Futex, "spins as long as a sleep costs here, then sleeps"),
    waking("futex", WakePolicy::One, "sleeps at once; one is woken, and may lose the race"),
    waking("futex-all", WakePolicy::All, "sleeps at once; all are woken, the thundering herd"),
    waking("handoff", WakePolicy::HandOff, "sleeps at once; the next in line is given the lock"),
    exclusive("pthread", MadeOf::Pthread, "pthread_mutex, normal"),
    exclusive("pthread-spin", MadeOf::Pthread, "pthread_mutex, PTHREAD_MUTEX_ADAPTIVE_NP: spins, then sleeps"),
    exclusive("std", MadeOf::Std, "Rust's std::sync::Mutex: spins 100 times, then sleeps"),
    exclusive("parking_lot", MadeOf::ParkingLot, "parking_lot::Mutex: spins and yields, then parks"),
    read_write("pthread-rw", MadeOf::Pthread, "pthread_rwlock: readers pass waiting writers"),
    read_write("pthread-rw-w", MadeOf::Pthread, "pthread_rwlock that prefers writers"),
    read_write("std-rw", MadeOf::Std, "Rust's std::sync::RwLock"),
    read_write("parking_lot-rw", MadeOf::ParkingLot, "parking_lot::RwLock"),
];

/// The lock of this name.
pub fn lock_named(name: &str) -> Option<&'static LockKind> {
    LOCKS.iter().find(|kind| kind.name == name)
}

/// Something to be done with a lock whose type differs from case to case.
pub(super) trait WithLock {
    type Output;
    fn with(self, lock: &impl Lock) -> Self::Output;
}

/// Makes a lock of this kind for so many threads, and does `task` with it.
pub(super) fn with_lock<T: WithLock>(
    kind: &LockKind,
    threads: usize,
    calibration: &Calibration,
    task: T,
) -> io::Result<T::Output> {
    Ok(match kind.name {
        "tas" => task.with(&TestAndSet::new(false)),
        "tas-pause" => task.with(&TestAndSet::new(true)),
        "backoff" => {
            let (first, most) = calibration.back_off();
            task.with(&BackOff::new(first, most))
        }
        "ticket" => task.with(&TicketLock::default()),
        "mcs" => task.with(&McsLock::new(threads)),
        "clh" => task.with(&ClhLock::new(threads)),
        "adaptive" => task.with(&Adaptive::new(calibration.cpu_slots, calibration.spin_tries().saturating_mul(4))),
        "spin-sleep" => {
            let policy = SpinPolicy { rounds: calibration.spin_tries(), delay_max: 1, multiplier: 1 };
            task.with(&SpinThenSleep::new(policy))
        }
        "futex" => task.with(&FutexLock::waking_one()),
        "futex-all" => task.with(&FutexLock::waking_all()),
        "handoff" => task.with(&HandOff::new(threads)),
        "pthread" => task.with(&CMutexUnderTest::normal()?),
        "pthread-spin" => task.with(&CMutexUnderTest::adaptive()?),
        "std" => task.with(&StdMutex::default()),
        "parking_lot" => task.with(&ParkingLot::default()),
        "pthread-rw" => task.with(&CReadWriteUnderTest::readers_first()?),
        "pthread-rw-w" => task.with(&CReadWriteUnderTest::writers_first()?),
        "std-rw" => task.with(&StdReadWrite::default()),
        "parking_lot-rw" => task.with(&ParkingLotReadWrite::default()),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}

/// The same for a lock that spins by a policy of the caller's.
pub(super) fn with_policy<T: WithLock>(policy: SpinPolicy, task: T) -> T::Output {
    task.with(&SpinThenSleep::new(policy))
}
