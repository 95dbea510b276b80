//! A run: threads of the generator side by side, and their ledgers gathered once an interval.

use crate::arrivals::{ArrivalModel, RandomSource};
use crate::cost::{ServerCost, ServerMeter};
use crate::course::{Course, CoursePart, Overload};
use crate::generator::{Generator, GeneratorShared, ThreadUse, guarded};
use crate::late::{LoadKind, WhoWasLate, judge};
use crate::ledger::Ledger;
use crate::player::Workload;
use crate::session::{SqlDialect, Target};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// What a run is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    /// When transactions are due.
    pub arrivals: ArrivalModel,
    /// What becomes of those that find no connection.
    pub overload: Overload,
    /// Connections.
    pub clients: usize,
    /// Threads of the generator; connections are divided among them.
    pub threads: usize,
    /// How long it runs before it is measured.
    pub warmup: Duration,
    /// How long it is measured.
    pub duration: Duration,
    /// How long transactions under way at the end are waited for.
    pub grace: Duration,
    /// No more transactions than this.
    pub events: Option<u64>,
    /// For all random numbers.
    pub seed: u64,
    /// How often a transaction is begun again after a deadlock or a serialization failure.
    pub retries_max: u32,
    /// Whether it goes on when a statement fails for another reason, or a connection is lost.
    pub goes_on_after_errors: bool,
    /// How long to try for a connection.
    pub connect_within: Duration,
    /// How often to report.
    pub interval: Duration,
}

/// One interval.
pub struct IntervalReport<'a> {
    /// Since the run began to be measured, at the interval's end; negative in the warm-up.
    pub at_seconds: f64,
    /// Its length.
    pub elapsed: Duration,
    /// What happened in it.
    pub ledger: &'a Ledger,
    /// What the server used in it.
    pub cost: Option<ServerCost>,
    /// Whether it is not counted.
    pub is_warmup: bool,
}

/// A whole run.
#[derive(Debug)]
pub struct RunReport {
    /// What happened, the warm-up left out.
    pub ledger: Ledger,
    /// How long it was measured.
    pub elapsed: Duration,
    /// How much longer transactions took that had begun or were due before its end.
    pub drained: Duration,
    /// Of each thread of the generator.
    pub threads: Vec<ThreadUse>,
    /// What the server used while it was measured.
    pub cost: Option<ServerCost>,
    /// What bound it.
    pub late: WhoWasLate,
    /// Why it ended early, if an error was the reason.
    pub error: Option<String>,
    /// Whether it was stopped before its time.
    pub is_stopped: bool,
}

impl RunReport {
    /// Transactions a second.
    pub fn rate(&self) -> f64 {
        self.ledger.succeeded() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Transactions that were due and not carried out when it ended: waiting, or under way.
    pub fn unfinished(&self) -> u64 {
        self.threads.iter().map(|used| used.unfinished + used.waiting).sum()
    }
}

/// Sees each interval of a run, and may end it.
pub trait Watcher {
    /// All connections are made.
    fn begins(&mut self) {}
    /// An interval has ended; false ends the run.
    fn interval(&mut self, report: &IntervalReport<'_>) -> bool;
    /// Whether the run is to end now; asked several times a second.
    fn wants_to_stop(&mut self) -> bool {
        false
    }
}

/// Runs a load to its end. Errors are those before anything is sent; what happens later is in the report.
pub fn run(
    plan: &LoadPlan,
    target: &Arc<dyn Target>,
    workload: &dyn Workload,
    mut meter: Option<&mut ServerMeter>,
    watcher: &mut dyn Watcher,
) -> Result<RunReport, String> {
    let threads = plan.threads.clamp(1, plan.clients.max(1));
    let end = plan.warmup.saturating_add(plan.duration);
    let shared = GeneratorShared {
        target: Arc::clone(target),
        began: OnceLock::new(),
        connected: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        end_ns: nanoseconds(end),
        given_up_ns: nanoseconds(end.saturating_add(plan.grace)),
        retries_max: plan.retries_max,
        goes_on_after_errors: plan.goes_on_after_errors,
        connect_within: plan.connect_within,
        stop: AtomicBool::new(false),
        error: Mutex::default(),
    };
    let ledgers: Vec<Mutex<Ledger>> = (0..threads).map(|_| Mutex::default()).collect();
    let meetings = Meetings { all_connected: Barrier::new(threads + 1), last_look: Barrier::new(threads + 1) };
    std::thread::scope(|scope| {
        let handles: Vec<_> = ledgers
            .iter()
            .enumerate()
            .map(|(thread, ledger)| {
                let (shared, meetings) = (&shared, &meetings);
                scope
                    .spawn(move || serve(plan, part(plan.clients, thread, threads), shared, ledger, workload, meetings))
            })
            .collect();
        while handles.iter().any(|handle| !handle.is_finished()) && !all_here(&shared, &handles, watcher) {
            std::thread::sleep(POLL);
        }
        // Looked at before anything is sent: what fails later is in the report.
        let not_connected = guarded(&shared.error).clone();
        meetings.all_connected.wait();
        if let Some(error) = not_connected {
            meetings.last_look.wait();
            return Err(error);
        }
        watcher.begins();
        let gathered = gather(plan, &shared, &ledgers, &mut meter, watcher);
        meetings.last_look.wait();
        let used = handles.into_iter().filter_map(|handle| handle.join().ok().flatten()).collect();
        Ok(report(plan, &shared, gathered, used))
    })
}

/// Where all threads meet.
struct Meetings {
    /// Before the first transaction.
    all_connected: Barrier,
    /// Connections end behind it: with them end the threads and processes that served them, and their figures.
    last_look: Barrier,
}

/// How often it is looked whether the run has ended or is to end.
const POLL: Duration = Duration::from_millis(20);

/// Whether all threads have connected; one that wants to stop stops them, too.
fn all_here<T>(shared: &GeneratorShared, handles: &[ScopedJoinHandle<'_, T>], watcher: &mut dyn Watcher) -> bool {
    if watcher.wants_to_stop() {
        shared.stop.store(true, Ordering::Relaxed);
    }
    shared.connected.load(Ordering::Acquire) == handles.len()
}

fn part(clients: usize, thread: usize, threads: usize) -> CoursePart {
    let first_client = clients * thread / threads;
    let clients_here = clients * (thread + 1) / threads - first_client;
    CoursePart { thread, threads, clients: clients_here, first_client, clients_of_all: clients }
}

/// One thread: none if its connections could not be made.
fn serve(
    plan: &LoadPlan,
    part: CoursePart,
    shared: &GeneratorShared,
    ledger: &Mutex<Ledger>,
    workload: &dyn Workload,
    meetings: &Meetings,
) -> Option<ThreadUse> {
    let course = Course::new(&plan.arrivals, plan.overload, part, plan.seed, shared.end_ns);
    let players = (part.first_client..part.first_client + part.clients).map(|client| workload.player(client)).collect();
    let random = RandomSource::new(plan.seed ^ PLAYERS, part.thread);
    let events = plan.events.map(|events| {
        let (share, rest) = (events / part.threads as u64, events % part.threads as u64);
        share + u64::from((part.thread as u64) < rest)
    });
    let generator = Generator::connect(shared, ledger, course, players, random, events);
    let mut generator = generator.map_err(|error| shared.fail(error)).ok();
    shared.connected.fetch_add(1, Ordering::AcqRel);
    meetings.all_connected.wait();
    let begins = !shared.stop.load(Ordering::Relaxed);
    let used = generator.as_mut().filter(|_| begins).map(Generator::run);
    shared.ended.fetch_add(1, Ordering::AcqRel);
    meetings.last_look.wait();
    used
}

/// What tells the players' random numbers from the schedule's.
const PLAYERS: u64 = 0x706c_6179_6572_7321;

/// What was gathered while the threads ran.
struct Gathered {
    ledger: Ledger,
    elapsed: Duration,
    cost: Option<ServerCost>,
    is_stopped: bool,
}

fn gather(
    plan: &LoadPlan,
    shared: &GeneratorShared,
    ledgers: &[Mutex<Ledger>],
    meter: &mut Option<&mut ServerMeter>,
    watcher: &mut dyn Watcher,
) -> Gathered {
    let mut gathered = Gathered { ledger: Ledger::default(), elapsed: Duration::ZERO, cost: None, is_stopped: false };
    let mut interval = Ledger::default();
    let (began, mut last) = (Instant::now(), Instant::now());
    // What it used while connections were made is none of the run's.
    let _before = meter.as_mut().map(|meter| meter.look());
    loop {
        let ended = shared.ended.load(Ordering::Acquire) == ledgers.len();
        let was_warm = last.duration_since(began) >= plan.warmup;
        let until = if was_warm { last + plan.interval } else { (last + plan.interval).min(began + plan.warmup) };
        if watcher.wants_to_stop() {
            gathered.is_stopped = true;
            shared.stop.store(true, Ordering::Relaxed);
        }
        if !ended && Instant::now() < until {
            std::thread::sleep(POLL.min(until.saturating_duration_since(Instant::now())));
            continue;
        }
        interval.clear();
        for ledger in ledgers {
            let mut ledger = guarded(ledger);
            interval.join(&ledger);
            ledger.clear();
        }
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut last, now));
        let cost = meter.as_mut().and_then(|meter| meter.look().ok());
        let at_seconds = now.duration_since(began).as_secs_f64() - plan.warmup.as_secs_f64();
        let report = IntervalReport { at_seconds, elapsed, ledger: &interval, cost, is_warmup: !was_warm };
        if was_warm {
            gathered.ledger.join(&interval);
            gathered.elapsed += elapsed;
            gathered.cost = gathered.cost.map_or(cost, |sum| cost.map(|cost| added(&sum, &cost)));
        }
        // The last rest of an interval is no interval: its rate would be of a few milliseconds.
        let is_whole = elapsed * 2 > plan.interval;
        if is_whole && !watcher.interval(&report) {
            gathered.is_stopped = true;
            shared.stop.store(true, Ordering::Relaxed);
        }
        if ended {
            return gathered;
        }
    }
}

/// Both intervals together.
fn added(first: &ServerCost, second: &ServerCost) -> ServerCost {
    ServerCost {
        elapsed_ns: first.elapsed_ns + second.elapsed_ns,
        user_ns: first.user_ns + second.user_ns,
        system_ns: first.system_ns + second.system_ns,
        switches: first.switches.zip(second.switches).map(|(first, second)| first + second),
        ..*second
    }
}

fn report(plan: &LoadPlan, shared: &GeneratorShared, gathered: Gathered, threads: Vec<ThreadUse>) -> RunReport {
    let kind = LoadKind {
        is_open: !matches!(plan.arrivals, ArrivalModel::Closed(_)),
        is_embedded: shared.target.dialect() == SqlDialect::Sqlite,
    };
    // Threads that end wait for the last replies; the rate is that of the time in which transactions were begun.
    let elapsed = gathered.elapsed.min(plan.duration).max(Duration::from_nanos(1));
    RunReport {
        late: judge(&gathered.ledger, &threads, kind),
        ledger: gathered.ledger,
        elapsed,
        drained: gathered.elapsed.saturating_sub(elapsed),
        threads,
        cost: gathered.cost,
        error: guarded(&shared.error).clone(),
        is_stopped: gathered.is_stopped,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
