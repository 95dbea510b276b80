//! What this machine takes for the parts of waiting: a PAUSE, handing a cache line to another CPU, a sleep and a wake-up; and how long
//! the work is that threads do while they hold a lock. Theory: "locks" in this crate's README.

use super::atomics::Ordering;
use super::seat::Phase;
use super::sleep::FutexWord;
use crate::pinned::stay_on;
use machine::Host;
use serde::Serialize;
use std::io;
use std::time::{Duration, Instant};
use sys::cpu_clock::{monotonic_ns, process_cpu_ns};
use sys::time_stamp::time_stamp;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Counts of the CPU's time stamp counter in a nanosecond.
    pub counts_per_ns: f64,
    /// Whether the counter keeps its pace and never stops, as the CPU reports it; none if it reports nothing.
    pub counter_is_steady: Option<bool>,
    /// A PAUSE (`isb` on ARM) in counts.
    pub pause_counts: f64,
    /// The same in nanoseconds.
    pub pause_ns: f64,
    /// The same, held against the system's clock alone.
    pub pause_by_clock_ns: f64,
    /// From a store on one CPU until another CPU has seen it; none if there is one CPU.
    pub handover_ns: Option<f64>,
    /// From a wake-up until the sleeper runs.
    pub wake_latency_ns: f64,
    /// CPU time of a sleep and its wake-up, of both threads.
    pub sleep_cpu_ns: f64,
    /// Steps of work in a nanosecond.
    pub(super) steps_per_ns: f64,
    /// CPUs that a thread may find itself on.
    pub(super) cpu_slots: usize,
}

/// Of the counter where there is one.
#[inline]
pub(super) fn now() -> u64 {
    time_stamp().unwrap_or_else(monotonic_ns)
}

/// A chain of multiplications: none begins before the one before it has ended, and a thread that loses its CPU does the rest later.
/// Looking at a clock instead, it would find its time gone.
#[inline(never)]
pub(super) fn work(steps: u32) {
    let mut value = 1_u64;
    for step in 0..steps {
        value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(step);
    }
    std::hint::black_box(value);
}

/// LIMIT: spins that nobody would wait through.
const TRIES_MAX: f64 = 100_000.0;

impl Calibration {
    /// Measures on these CPUs, in a third of a second.
    pub fn measure(host: &Host, cpus: &[usize]) -> io::Result<Self> {
        let on_one_cpu = || {
            stay_on(cpus.first().copied().unwrap_or(0))?;
            let counts_per_ns = counter_rate();
            let pause_counts = pause_in(now);
            let steps_per_ns = f64::from(WORK_STEPS) / (shortest_of(|| work(WORK_STEPS)) / counts_per_ns);
            Ok((counts_per_ns, pause_counts, pause_in(monotonic_ns), steps_per_ns))
        };
        let (counts_per_ns, pause_counts, pause_by_clock_ns, steps_per_ns) = in_a_thread(on_one_cpu)?;
        let places = [cpus.first(), cpus.get(1).or(cpus.first())].map(|cpu| cpu.copied().unwrap_or(0));
        let spinning = if cpus.len() > 1 { Some(play(places, false)?) } else { None };
        let sleeping = play(places, true)?;
        Ok(Self {
            counts_per_ns,
            counter_is_steady: machine::counter_is_steady(host),
            pause_counts,
            pause_ns: pause_counts / counts_per_ns,
            pause_by_clock_ns,
            handover_ns: spinning.map(|game| game.flight_ns),
            wake_latency_ns: sleeping.flight_ns,
            sleep_cpu_ns: sleeping.cpu_ns,
            steps_per_ns,
            cpu_slots: cpus.iter().max().map_or(1, |last| last + 1),
        })
    }

    /// Of parts that are known from elsewhere, for what follows from them: counts of the counter in a nanosecond, a PAUSE, a hand-over and a
    /// wake-up. Two CPUs, and work whose steps take 2 ns.
    pub fn of_parts(counts_per_ns: f64, pause_ns: f64, handover_ns: f64, wake_latency_ns: f64) -> Self {
        Self {
            counts_per_ns,
            counter_is_steady: Some(true),
            pause_counts: pause_ns * counts_per_ns,
            pause_ns,
            pause_by_clock_ns: pause_ns,
            handover_ns: Some(handover_ns),
            wake_latency_ns,
            sleep_cpu_ns: wake_latency_ns,
            steps_per_ns: 0.5,
            cpu_slots: 2,
        }
    }

    /// PAUSEs that take as long as a sleep and its wake-up.
    pub fn spin_tries(&self) -> u32 {
        (self.wake_latency_ns / self.pause_ns).clamp(1.0, TRIES_MAX) as u32
    }

    /// PAUSEs of a back-off that doubles: from one hand-over of a cache line on, to sixteen.
    pub(super) fn back_off(&self) -> (u32, u32) {
        let first = (self.handover_ns.unwrap_or(0.0) / self.pause_ns).clamp(1.0, TRIES_MAX / 16.0) as u32;
        (first, first * 16)
    }

    pub(super) fn steps(&self, time: Duration) -> u32 {
        (time.as_nanos() as f64 * self.steps_per_ns).round() as u32
    }

    pub(super) fn ns(&self, counts: u64) -> u64 {
        (counts as f64 / self.counts_per_ns) as u64
    }
}

fn in_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("calibration".to_owned()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_panicked| Err(io::Error::other("its thread ended early")))
    })
}

/// Counts in a nanosecond, by the monotonic clock.
fn counter_rate() -> f64 {
    let both = || {
        // The clock is read between two reads of the counter; of some tries the closest.
        let tries = (0..9).map(|_| {
            let (before, clock_ns, after) = (now(), monotonic_ns(), now());
            (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), clock_ns)
        });
        tries.min().map_or((0, 0), |(_, counts, clock_ns)| (counts, clock_ns))
    };
    let (first, first_ns) = both();
    std::thread::sleep(Duration::from_millis(60));
    let (last, last_ns) = both();
    last.saturating_sub(first) as f64 / last_ns.saturating_sub(first_ns).max(1) as f64
}

/// PAUSEs in a batch, and batches: most of these are free of interrupts.
const PAUSES: u32 = 1024;
const BATCHES: usize = 401;
/// Enough that reading the counter does not matter.
const WORK_STEPS: u32 = 20_000;

/// What a PAUSE takes by this clock. The loop around it costs nothing beside it.
fn pause_in(clock: impl Fn() -> u64) -> f64 {
    let batch = || {
        let begin = clock();
        for _ in 0..PAUSES / 8 {
            std::hint::spin_loop();
            std::hint::spin_loop();
            std::hint::spin_loop();
            std::hint::spin_loop();
            std::hint::spin_loop();
            std::hint::spin_loop();
            std::hint::spin_loop();
            std::hint::spin_loop();
        }
        clock().saturating_sub(begin)
    };
    let mut took: Vec<u64> = (0..BATCHES).map(|_| batch()).collect();
    took.sort_unstable();
    // Below the middle: what other programs did is in the upper half.
    took[BATCHES / 4] as f64 / f64::from(PAUSES)
}

/// The shortest of some tries, in counts.
fn shortest_of(task: impl Fn()) -> f64 {
    let tries = (0..21).map(|_| {
        let begin = now();
        task();
        now().saturating_sub(begin)
    });
    tries.min().unwrap_or(0).max(1) as f64
}

/// What came of a game of two threads.
#[derive(Clone, Copy, Debug)]
struct Game {
    flight_ns: f64,
    cpu_ns: f64,
}

/// Round trips of one sample, and samples.
const TRIPS: u32 = 20;
const SAMPLES: usize = 201;
/// LIMIT: on a busy machine a trip may take milliseconds.
const GAME_TIME_MAX: Duration = Duration::from_millis(120);

/// Two threads give a word to one another: even values are the first's, odd ones the second's. Each spins for its turn, or sleeps.
fn play(cpus: [usize; 2], sleeps: bool) -> io::Result<Game> {
    let (word, phase) = (FutexWord::new(0), Phase::default());
    std::thread::scope(|scope| {
        let partner = scope.spawn(|| {
            // Without a CPU to stay on it plays from wherever it is.
            let _anywhere = stay_on(cpus[1]);
            while await_turn(&word, 1, sleeps, &phase) {
                pass_on(&word, sleeps);
            }
        });
        let game = in_a_thread(|| {
            stay_on(cpus[0])?;
            Ok(serve(&word, sleeps, &phase))
        });
        phase.become_now(Phase::OVER);
        pass_on(&word, sleeps);
        partner.join().ok().ok_or_else(|| io::Error::other("its thread ended early"))?;
        game
    })
}

fn serve(word: &FutexWord, sleeps: bool, phase: &Phase) -> Game {
    let (begin, cpu_begin) = (Instant::now(), process_cpu_ns());
    let mut trips_ns = Vec::with_capacity(SAMPLES);
    while trips_ns.len() < SAMPLES && (trips_ns.is_empty() || begin.elapsed() < GAME_TIME_MAX) {
        let sample = Instant::now();
        for _ in 0..TRIPS {
            pass_on(word, sleeps);
            await_turn(word, 0, sleeps, phase);
        }
        trips_ns.push(sample.elapsed().as_nanos() as f64 / f64::from(TRIPS));
    }
    let passes = 2.0 * f64::from(TRIPS) * trips_ns.len() as f64;
    let cpu_ns = process_cpu_ns().saturating_sub(cpu_begin) as f64 / passes;
    trips_ns.sort_unstable_by(f64::total_cmp);
    // Below the middle: what other programs did is in the upper half.
    Game { flight_ns: trips_ns[trips_ns.len() / 4] / 2.0, cpu_ns }
}

fn pass_on(word: &FutexWord, sleeps: bool) {
    word.fetch_add(1, Ordering::Release);
    if sleeps {
        word.wake(1);
    }
}

/// False when the game is over.
fn await_turn(word: &FutexWord, parity: u32, sleeps: bool, phase: &Phase) -> bool {
    let mut looks = 0_u32;
    loop {
        let value = word.load(Ordering::Acquire);
        if phase.now() == Phase::OVER {
            return false;
        }
        if value % 2 == parity {
            return true;
        }
        looks += 1;
        match sleeps {
            true => drop(word.sleep_while(value)),
            // Where both were put on one CPU, or another program is on it, the other one must get a turn.
            false if looks.is_multiple_of(1 << 14) => std::thread::yield_now(),
            false => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_found_on_this_machine() {
        let host = Host::real();
        let cpus = machine::allowed_cpu_numbers(&host).expect("Linux tells");
        let found = Calibration::measure(&host, &cpus).expect("it runs");
        for figure in [found.counts_per_ns, found.pause_ns, found.pause_by_clock_ns, found.wake_latency_ns] {
            assert!(figure > 0.0 && figure.is_finite(), "{found:?}");
        }
        assert!(found.sleep_cpu_ns > 0.0 && found.steps_per_ns > 0.0 && found.spin_tries() >= 1, "{found:?}");
        assert_eq!(found.handover_ns.is_some(), cpus.len() > 1);
        let alone = Calibration::measure(&host, &cpus[..1]).expect("it runs");
        assert_eq!(alone.handover_ns, None);
    }

    #[test]
    fn limits_of_spinning_follow_from_the_parts() {
        let found = Calibration::of_parts(2.5, 40.0, 80.0, 6_000.0);
        assert_eq!((found.spin_tries(), found.back_off()), (150, (2, 32)));
        assert_eq!((found.steps(Duration::from_nanos(100)), found.ns(250)), (50, 100));
        let odd = Calibration { wake_latency_ns: 0.0, handover_ns: None, ..found };
        assert_eq!((odd.spin_tries(), odd.back_off()), (1, (1, 16)));
    }
}
