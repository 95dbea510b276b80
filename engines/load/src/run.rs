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
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use sys::error_text::message;

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
    /// Transactions that are under way, or due and wait, at its end.
    pub not_done: u64,
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
    /// The server's words about the first transaction that failed for good.
    pub first_refusal: Option<String>,
    /// Why it ended early, if an error was the reason.
    pub error: Option<String>,
    /// Whether it was stopped before its time.
    pub is_stopped: bool,
}

impl RunReport {
    /// Transactions a second: of those that were done while it was measured.
    pub fn rate(&self) -> f64 {
        let in_time = self.ledger.succeeded().saturating_sub(self.ledger.done_late);
        in_time as f64 / self.elapsed.as_secs_f64().max(1e-9)
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
        first_refusal: Mutex::default(),
    };
    let ledgers: Vec<Mutex<Ledger>> = (0..threads).map(|_| Mutex::default()).collect();
    let gates = Gates::default();
    std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        for (thread, ledger) in ledgers.iter().enumerate() {
            let (shared, gates) = (&shared, &gates);
            let serve = move || serve(plan, part(plan.clients, thread, threads), shared, ledger, workload, gates);
            match std::thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, serve) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    shared.fail(format!("start thread {} of the generator: {}", thread + 1, message(&error)));
                    break;
                }
            }
        }
        let mut is_stopped = false;
        while !is_there(&shared.connected, &handles) {
            if watcher.wants_to_stop() {
                is_stopped = true;
                shared.stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(POLL);
        }
        // That connections were not made is no error then: the report has nothing.
        if is_stopped {
            let _wanted = guarded(&shared.error).take();
        }
        // Looked at before anything is sent: what fails later is in the report.
        let not_connected = guarded(&shared.error).clone();
        gates.all_connected.open();
        if let Some(error) = not_connected {
            gates.last_look.open();
            return Err(error);
        }
        watcher.begins();
        let gathered = gather(plan, &shared, &ledgers, &handles, &mut meter, watcher);
        gates.last_look.open();
        let used = handles.into_iter().filter_map(|handle| handle.join().ok().flatten()).collect();
        Ok(report(plan, &shared, gathered, used))
    })
}

/// What threads wait for. A thread that could not be started, or has ended by a fault, keeps nobody waiting.
#[derive(Default)]
struct Gates {
    /// Before the first transaction.
    all_connected: Gate,
    /// Connections end behind it: with them end the threads and processes that served them, and their figures.
    last_look: Gate,
}

#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *guarded(&self.is_open) = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let mut is_open = guarded(&self.is_open);
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// How often it is looked whether the run has ended or is to end.
const POLL: Duration = Duration::from_millis(20);

/// Whether all threads have counted themselves. One that has passed no gate and is finished was ended by a fault, uncounted.
fn is_there<T>(count: &AtomicUsize, handles: &[ScopedJoinHandle<'_, T>]) -> bool {
    let finished = handles.iter().filter(|handle| handle.is_finished()).count();
    count.load(Ordering::Acquire) + finished >= handles.len()
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
    gates: &Gates,
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
    gates.all_connected.pass();
    let begins = !shared.stop.load(Ordering::Relaxed);
    let used = generator.as_mut().filter(|_| begins).map(Generator::run);
    shared.ended.fetch_add(1, Ordering::AcqRel);
    gates.last_look.pass();
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

fn gather<T>(
    plan: &LoadPlan,
    shared: &GeneratorShared,
    ledgers: &[Mutex<Ledger>],
    handles: &[ScopedJoinHandle<'_, T>],
    meter: &mut Option<&mut ServerMeter>,
    watcher: &mut dyn Watcher,
) -> Gathered {
    let mut gathered = Gathered { ledger: Ledger::default(), elapsed: Duration::ZERO, cost: None, is_stopped: false };
    let mut interval = Ledger::default();
    let (began, mut last) = (Instant::now(), Instant::now());
    let mut under_way = 0_u64;
    // What it used while connections were made is none of the run's.
    let _before = meter.as_mut().map(|meter| meter.look());
    loop {
        let ended = is_there(&shared.ended, handles);
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
        interval.waiting = 0;
        for ledger in ledgers {
            let mut ledger = guarded(ledger);
            interval.join(&ledger);
            ledger.clear();
        }
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut last, now));
        let cost = meter.as_mut().and_then(|meter| meter.look().ok());
        let at_seconds = now.duration_since(began).as_secs_f64() - plan.warmup.as_secs_f64();
        under_way = (under_way + interval.sent).saturating_sub(interval.succeeded() + interval.failures());
        let not_done = under_way + interval.waiting;
        let report = IntervalReport { at_seconds, elapsed, ledger: &interval, cost, is_warmup: !was_warm, not_done };
        if was_warm {
            gathered.ledger.join(&interval);
            gathered.ledger.waiting = interval.waiting;
            gathered.elapsed += elapsed;
            // A look that failed is made up for by the next one, which goes back to the last that did not.
            gathered.cost = match (gathered.cost, cost) {
                (Some(sum), Some(cost)) => Some(added(&sum, &cost)),
                (sum, cost) => sum.or(cost),
            };
        }
        // The last rest of an interval is no interval: its rate would be of a few milliseconds.
        let is_whole = elapsed * 2 > plan.interval;
        if is_whole && !watcher.interval(&report) {
            gathered.is_stopped = true;
            shared.stop.store(true, Ordering::Relaxed);
        }
        if ended {
            // Of a server that has ended meanwhile nothing is known that would be its cost.
            gathered.cost = gathered.cost.filter(|_| cost.is_some());
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
        first_refusal: guarded(&shared.first_refusal).clone(),
        error: guarded(&shared.error).clone(),
        is_stopped: gathered.is_stopped,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
