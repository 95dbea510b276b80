//! Model tests: shuttle steers every atomic operation, sleep and wake-up of our own locks through random schedules, and reports two threads
//! at once, a lost wake-up or a deadlock with the schedule that showed it. Run by `cargo xtask test`.

use super::calibration::Calibration;
use super::guarded::Guarded;
use super::lock::{LOCKS, Lock, LockAccess, LockKind, MadeOf, SpinPolicy, WithLock, with_lock, with_policy};
use super::seat::{LockSeat, Phase};

/// Schedules of each lock, by each of two strategies.
const SCHEDULES: usize = 4_000;
const THREADS: usize = 3;
const ACQUISITIONS: u64 = 2;

/// All threads acquire the lock some times.
struct Contend;

impl WithLock for Contend {
    type Output = ();

    fn with(self, lock: &impl Lock) {
        let (guarded, phase) = (Guarded::default(), Phase::default());
        shuttle::thread::scope(|scope| {
            for number in 0..THREADS {
                let (guarded, phase) = (&guarded, &phase);
                scope.spawn(move || {
                    let mut seat = LockSeat::new(number, phase);
                    for _ in 0..ACQUISITIONS {
                        lock.hold(&mut seat, LockAccess::Write, || {
                            let visit = guarded.enter(LockAccess::Write);
                            assert!(guarded.leave(visit), "two threads had the lock at once");
                        });
                    }
                });
            }
        });
        // A schedule may lose writes without a visit that sees another one.
        assert!(
            guarded.writes() == THREADS as u64 * ACQUISITIONS,
            "two threads had the lock at once, and lost a write"
        );
    }
}

fn explore(body: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(body.clone(), SCHEDULES);
    // Half of the schedules have few preemptions in unlikely places.
    shuttle::check_pct(body, SCHEDULES, 3);
}

fn calibration() -> Calibration {
    // A hand-over and a sleep of a PAUSE each: spins are short, so that schedules reach the sleeps.
    Calibration::of_parts(1.0, 1.0, 1.0, 2.0)
}

fn check(kind: &'static LockKind) {
    explore(move || with_lock(kind, THREADS, &calibration(), Contend).expect("it can be made"));
}

#[test]
fn locks_of_atomics_and_futexes_keep_threads_apart_and_lose_no_wake_up() {
    let ours = LOCKS.iter().filter(|kind| [MadeOf::Atomics, MadeOf::Futex].contains(&kind.made_of));
    let checked: Vec<&str> = ours.inspect(|kind| check(kind)).map(|kind| kind.name).collect();
    assert_eq!(checked.len(), 11, "{checked:?}");
}

#[test]
fn a_lock_that_spins_as_innodb_does_keeps_threads_apart() {
    explore(|| with_policy(SpinPolicy { rounds: 2, delay_max: 1, multiplier: 1 }, Contend));
}

struct NoLock;

impl Lock for NoLock {
    fn hold(&self, _seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        critical();
    }
}

#[test]
#[should_panic(expected = "two threads had the lock at once")]
fn the_model_finds_a_lock_that_is_none() {
    explore(|| Contend.with(&NoLock));
}
