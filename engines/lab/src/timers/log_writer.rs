//! The log writer's example: many threads wait for an event that one announces, by polling or by being woken; what it costs
//! in CPU time, and how late they see it.

use crate::spread::Spread;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;
use sys::futex::{Expected, wait_any, wake_all};
use sys::timed_wait::{METHODS, Wait};

/// How waiters learn of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum WakingWay {
    /// Look, `poll` for so many milliseconds, look again.
    Poll {
        /// What `poll` is told.
        ms: u32,
    },
    /// Look, sleep for so many microseconds with a timer slack of 1 ns, look again.
    Nap {
        /// What `nanosleep` is told.
        us: u32,
    },
    /// Sleep on a word; the writer wakes all.
    Woken,
}

/// The ways that are compared: as before 2011, as since, as fine as it goes, and without polling.
pub const WAYS: &[WakingWay] =
    &[WakingWay::Poll { ms: 10 }, WakingWay::Poll { ms: 1 }, WakingWay::Nap { us: 100 }, WakingWay::Woken];

/// What is to be tried.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// How many wait.
    pub waiters: usize,
    /// The time between two events.
    pub every: Duration,
    /// For how long each way is tried.
    pub time: Duration,
}

/// What came of one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakingOutcome {
    /// The way.
    pub way: WakingWay,
    /// Events that were announced.
    pub events: u32,
    /// From the announcement to a waiter that has seen it.
    pub late: Option<Spread>,
    /// CPU time of all waiters, as a share of one core.
    pub waiters_cores: f64,
    /// CPU time of the writer for an event, in microseconds.
    pub writer_us_per_event: f64,
    /// How often each waiter looked, for an event.
    pub looks_per_event: f64,
}

/// LIMIT: announcements whose times are remembered. A waiter that is further behind counts with the oldest that is.
const REMEMBERED: usize = 1 << 12;

struct Board {
    /// 1 from the moment on at which all waiters are there. Those who are there first would look, and take the CPU from the rest.
    gate: AtomicU32,
    events: AtomicU32,
    is_over: AtomicBool,
    announced_ns: Vec<AtomicU64>,
}

impl Board {
    fn announced_ns(&self, event: u32) -> &AtomicU64 {
        &self.announced_ns[event as usize % REMEMBERED]
    }
}

/// What a waiter has to say in the end.
#[derive(Default)]
struct Seen {
    late_ns: Vec<i64>,
    cpu_ns: u64,
    looks: u64,
}

/// Tries one way.
pub fn measure(way: WakingWay, scene: Scene) -> io::Result<WakingOutcome> {
    let announced_ns = (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect();
    let board =
        Board { gate: AtomicU32::new(0), events: AtomicU32::new(0), is_over: AtomicBool::new(false), announced_ns };
    let (seen, writer_cpu_ns, took_ns) = std::thread::scope(|scope| {
        let mut waiters = Vec::with_capacity(scene.waiters);
        let mut failure = None;
        for _ in 0..scene.waiters {
            let waiter = std::thread::Builder::new().name("waiter".to_owned()).stack_size(64 << 10);
            match waiter.spawn_scoped(scope, || wait(way, &board)) {
                Ok(waiter) => waiters.push(waiter),
                // As many as there may be would be another experiment than was asked for.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let begin = Instant::now();
        board.is_over.store(failure.is_some(), Ordering::SeqCst);
        board.gate.store(1, Ordering::SeqCst);
        wake_all(&board.gate);
        let writer_cpu_ns = if failure.is_none() { announce(way, scene, &board) } else { 0 };
        board.is_over.store(true, Ordering::SeqCst);
        board.events.fetch_add(1, Ordering::SeqCst);
        wake_all(&board.events);
        let lost = || Err(io::Error::other("a waiter ended early"));
        let seen: io::Result<Vec<Seen>> =
            waiters.into_iter().map(|waiter| waiter.join().unwrap_or_else(|_panicked| lost())).collect();
        match failure {
            Some(error) => Err(error),
            None => Ok((seen?, writer_cpu_ns, begin.elapsed().as_nanos() as f64)),
        }
    })?;
    // The last one only ended the experiment.
    let events = board.events.load(Ordering::SeqCst).saturating_sub(1);
    let per_event = |count: f64| if events == 0 { 0.0 } else { count / f64::from(events) };
    let looks: u64 = seen.iter().map(|seen| seen.looks).sum();
    let cpu_ns: u64 = seen.iter().map(|seen| seen.cpu_ns).sum();
    Ok(WakingOutcome {
        way,
        events,
        waiters_cores: cpu_ns as f64 / took_ns,
        writer_us_per_event: per_event(writer_cpu_ns as f64 / 1000.0),
        looks_per_event: per_event(looks as f64 / scene.waiters.max(1) as f64),
        late: Spread::of(seen.into_iter().flat_map(|seen| seen.late_ns).collect()),
    })
}

/// Announces events until the time is over; returns its own CPU time.
fn announce(way: WakingWay, scene: Scene, board: &Board) -> u64 {
    let cpu_before = thread_cpu_ns();
    let end = Instant::now() + scene.time;
    let mut next = Instant::now() + scene.every;
    while next < end {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += scene.every;
        let event = board.events.load(Ordering::Relaxed) + 1;
        board.announced_ns(event).store(now_ns(), Ordering::Relaxed);
        // ORDER: who sees the event sees its time.
        board.events.store(event, Ordering::Release);
        if way == WakingWay::Woken {
            wake_all(&board.events);
        }
    }
    // The last one is to be seen, too.
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    thread_cpu_ns() - cpu_before
}

fn wait(way: WakingWay, board: &Board) -> io::Result<Seen> {
    let mut between = between_looks(way)?;
    let mut seen = Seen::default();
    while board.gate.load(Ordering::SeqCst) == 0 {
        wait_any(&[Expected { word: &board.gate, value: 0 }], Duration::from_secs(1))?;
    }
    let cpu_before = thread_cpu_ns();
    let mut known = 0;
    loop {
        // ORDER: with the store of the event.
        let event = board.events.load(Ordering::Acquire);
        seen.looks += 1;
        if board.is_over.load(Ordering::SeqCst) {
            break;
        }
        if event != known {
            let late = now_ns().saturating_sub(board.announced_ns(event).load(Ordering::Relaxed));
            seen.late_ns.push(i64::try_from(late).unwrap_or(i64::MAX));
            known = event;
        }
        match &mut between {
            Some((wait, time)) => wait(*time)?,
            None => wait_any(&[Expected { word: &board.events, value: known }], Duration::from_secs(1))?,
        }
    }
    seen.cpu_ns = thread_cpu_ns() - cpu_before;
    Ok(seen)
}

/// What a waiter does between two looks; none when it is woken.
fn between_looks(way: WakingWay) -> io::Result<Option<(Wait, Duration)>> {
    let prepared = |name: &str| {
        let method = METHODS.iter().find(|method| method.name == name).expect("it is listed");
        (method.prepare)()
    };
    Ok(match way {
        WakingWay::Poll { ms } => Some((prepared("poll")?, Duration::from_millis(ms.into()))),
        WakingWay::Nap { us } => {
            super::set_own_slack(std::num::NonZeroU64::MIN)?;
            Some((prepared("nanosleep")?, Duration::from_micros(us.into())))
        }
        WakingWay::Woken => None,
    })
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_sees_events() {
        let scene = Scene { waiters: 3, every: Duration::from_millis(2), time: Duration::from_millis(60) };
        for &way in WAYS {
            let told = measure(way, scene).expect("it runs");
            // A busy machine may let events pass unseen by a poller, but not all of them.
            assert!(told.events > 0 && told.late.is_some_and(|late| late.min_ns >= 0), "{told:?}");
            assert!(told.waiters_cores > 0.0 && told.looks_per_event > 0.0, "{told:?}");
        }
    }

    #[test]
    fn nobody_waiting_is_no_division_by_nothing() {
        let scene = Scene { waiters: 0, every: Duration::from_secs(9), time: Duration::ZERO };
        let told = measure(WakingWay::Woken, scene).expect("it runs");
        assert_eq!((told.events, told.late, told.looks_per_event), (0, None, 0.0));
    }
}
