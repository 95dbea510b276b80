//! One round: threads acquire one lock again and again for a short while, and count. The caller compares rounds.

use super::calibration::{Calibration, now, work};
use super::guarded::Guarded;
use super::kernel::switches;
use super::lock::{Lock, LockAccess, WithLock};
use super::scenario::{NAP, ThreadScript};
use super::seat::{LockSeat, Phase, WakeCounts};
use crate::pinned::stay_on;
use hdrhistogram::Histogram;
use machine::Host;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use sys::cpu_clock::process_cpu_ns;

/// What a round is made of.
pub(super) struct Round<'a> {
    /// What each thread does.
    pub scripts: Vec<ThreadScript>,
    /// The CPUs that threads stay on, in turns; none if they go where the scheduler puts them.
    pub pins: Option<&'a [usize]>,
    /// How long is counted.
    pub window: Duration,
    pub calibration: &'a Calibration,
    pub host: &'a Host,
}

/// What came of a round.
pub(super) struct RoundOutcome {
    pub window_ns: u64,
    /// Of each thread, while it was counted.
    pub acquisitions: Vec<u64>,
    pub waits: Waits,
    /// CPU time of all threads.
    pub cpu_ns: u64,
    /// Times that threads left their CPUs: because they waited, because others wanted to run.
    pub switches: (u64, u64),
    pub counts: WakeCounts,
    /// Whether nobody was let in beside a writer.
    pub was_exclusive: bool,
    /// Time that threads could have run and had no CPU.
    pub run_delay_ns: u64,
}

/// How long threads waited for the lock.
pub(super) struct Waits {
    pub all: Histogram<u32>,
    /// Those who wanted to write, where there are others.
    pub writers: Histogram<u32>,
    /// Waits that the round's end cut short are in it.
    pub longest_ns: u64,
}

/// LIMIT: a wait of a minute is the longest that is told from longer ones; times are kept to one in a hundred.
const LONGEST_NS: u64 = 60_000_000_000;

impl Waits {
    fn none() -> Self {
        let histogram = || Histogram::new_with_max(LONGEST_NS, 2).expect("the bounds are right");
        Self { all: histogram(), writers: histogram(), longest_ns: 0 }
    }

    fn record(&mut self, access: LockAccess, wait_ns: u64) {
        self.all.saturating_record(wait_ns);
        if access == LockAccess::Write {
            self.writers.saturating_record(wait_ns);
        }
        self.longest_ns = self.longest_ns.max(wait_ns);
    }

    fn add(&mut self, other: &Self) {
        // Their bounds are alike.
        self.all.add(&other.all).expect("they have the same bounds");
        self.writers.add(&other.writers).expect("they have the same bounds");
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// What the threads of a round share besides the lock.
#[derive(Default)]
struct Scene {
    phase: Phase,
    guarded: Guarded,
    measured_at: AtomicU64,
    over_at: AtomicU64,
}

/// What a thread has counted.
struct Ledger {
    waits: Waits,
    acquisitions: u64,
    writes: u64,
    was_exclusive: bool,
    counts: WakeCounts,
    run_delay_ns: u64,
}

impl WithLock for &Round<'_> {
    type Output = io::Result<RoundOutcome>;

    fn with(self, lock: &impl Lock) -> Self::Output {
        let scene = Scene::default();
        std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.scripts.len());
            let mut failure = None;
            for (number, script) in self.scripts.iter().enumerate() {
                let thread = std::thread::Builder::new().name("locks".to_owned()).stack_size(64 << 10);
                let (scene, script) = (&scene, *script);
                match thread.spawn_scoped(scope, move || self.take_part(lock, scene, number, script)) {
                    Ok(thread) => threads.push(thread),
                    // As many as there may be would be another experiment than was asked for.
                    Err(error) => failure = Some(error),
                }
            }
            let watched = if failure.is_none() { self.watch(&scene) } else { Watched::default() };
            scene.phase.become_now(Phase::OVER);
            let lost = || Err(io::Error::other("a thread ended early"));
            let ledgers: io::Result<Vec<Ledger>> =
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_panicked| lost())).collect();
            match failure {
                Some(error) => Err(error),
                None => Ok(summed(&scene, watched, &ledgers?)),
            }
        })
    }
}

/// What the watching thread has seen between begin and end.
#[derive(Default)]
struct Watched {
    window_ns: u64,
    cpu_ns: u64,
    switches: (u64, u64),
}

impl Round<'_> {
    fn watch(&self, scene: &Scene) -> Watched {
        scene.phase.become_now(Phase::WARM_UP);
        std::thread::sleep((self.window / 8).max(Duration::from_millis(2)));
        let (cpu_begin, switches_begin, begin) = (process_cpu_ns(), switches(), now());
        scene.measured_at.store(begin, Ordering::SeqCst);
        scene.phase.become_now(Phase::MEASURED);
        std::thread::sleep(self.window);
        let (cpu_end, switches_end, end) = (process_cpu_ns(), switches(), now());
        scene.over_at.store(end, Ordering::SeqCst);
        Watched {
            window_ns: self.calibration.ns(end.saturating_sub(begin)).max(1),
            cpu_ns: cpu_end.saturating_sub(cpu_begin),
            switches: (
                switches_end.0.saturating_sub(switches_begin.0),
                switches_end.1.saturating_sub(switches_begin.1),
            ),
        }
    }

    fn take_part(&self, lock: &impl Lock, scene: &Scene, number: usize, script: ThreadScript) -> io::Result<Ledger> {
        if let Some(pins) = self.pins.filter(|pins| !pins.is_empty()) {
            stay_on(pins[number % pins.len()])?;
        }
        let mut seat = LockSeat::new(number, &scene.phase);
        let mut ledger = Ledger {
            waits: Waits::none(),
            acquisitions: 0,
            writes: 0,
            was_exclusive: true,
            counts: WakeCounts::default(),
            run_delay_ns: 0,
        };
        scene.phase.wait_at_gate();
        let mut before = None;
        let mut count = 0_u32;
        loop {
            let phase = scene.phase.now();
            if phase == Phase::OVER {
                break;
            }
            if phase == Phase::MEASURED && before.is_none() {
                before = Some((seat.counts, self.run_delay_ns()));
            }
            let access = script.access(count);
            let time = || if script.is_timed { now() } else { 0 };
            let asked = time();
            let mut got = asked;
            let mut was_alone = true;
            lock.hold(&mut seat, access, || {
                got = time();
                let visit = scene.guarded.enter(access);
                work(script.hold_steps);
                if script.naps(count) {
                    std::thread::sleep(NAP);
                }
                was_alone = scene.guarded.leave(visit);
            });
            ledger.writes += u64::from(access == LockAccess::Write);
            ledger.was_exclusive &= was_alone;
            self.note(scene, script, (phase, access), (asked, got), &mut ledger);
            if script.thinks(count) {
                work(script.think_steps);
            }
            count = count.wrapping_add(1);
        }
        if let Some((counts_before, delay_before)) = before {
            ledger.counts.wakes = seat.counts.wakes - counts_before.wakes;
            ledger.counts.wasted = seat.counts.wasted - counts_before.wasted;
            ledger.run_delay_ns = self.run_delay_ns().saturating_sub(delay_before);
        }
        Ok(ledger)
    }

    fn run_delay_ns(&self) -> u64 {
        machine::thread_run_delay_ns(self.host).unwrap_or(0)
    }

    /// Notes an acquisition: whole if it began and ended while it was counted, else only how much of the time it waited.
    fn note(
        &self,
        scene: &Scene,
        script: ThreadScript,
        (phase, access): (u32, LockAccess),
        (asked, got): (u64, u64),
        ledger: &mut Ledger,
    ) {
        let wait_ns = |from: u64, to: u64| self.calibration.ns(to.saturating_sub(from));
        match (phase, scene.phase.now()) {
            (Phase::MEASURED, Phase::MEASURED) => {
                ledger.acquisitions += 1;
                if script.is_timed {
                    ledger.waits.record(access, wait_ns(asked, got));
                }
            }
            (_, Phase::MEASURED | Phase::OVER) if script.is_timed => {
                let over = match scene.over_at.load(Ordering::SeqCst) {
                    0 => u64::MAX,
                    over => over,
                };
                let from = asked.max(scene.measured_at.load(Ordering::SeqCst));
                ledger.waits.longest_ns = ledger.waits.longest_ns.max(wait_ns(from, got.min(over)));
            }
            _ => {}
        }
    }
}

fn summed(scene: &Scene, watched: Watched, ledgers: &[Ledger]) -> RoundOutcome {
    let mut waits = Waits::none();
    let mut counts = WakeCounts::default();
    let mut run_delay_ns = 0;
    for ledger in ledgers {
        waits.add(&ledger.waits);
        counts.wakes += ledger.counts.wakes;
        counts.wasted += ledger.counts.wasted;
        run_delay_ns += ledger.run_delay_ns;
    }
    let writes: u64 = ledgers.iter().map(|ledger| ledger.writes).sum();
    RoundOutcome {
        window_ns: watched.window_ns,
        acquisitions: ledgers.iter().map(|ledger| ledger.acquisitions).collect(),
        waits,
        cpu_ns: watched.cpu_ns,
        switches: watched.switches,
        counts,
        was_exclusive: ledgers.iter().all(|ledger| ledger.was_exclusive) && scene.guarded.writes() == writes,
        run_delay_ns,
    }
}
