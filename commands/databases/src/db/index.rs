//! `mh db index`: reads the command line and a file of statements, has the plan made and carried out, and says what is there and what is not.

mod args;
pub mod plan;
mod progress;
mod report;
mod shown;

pub use args::{DbIndexArgs, EXAMPLES};

use super::connect::{self, NamedDatabase, ServerSurroundings};
use super::hands::ServedRun;
use super::stopping::EndingSignals;
use ::load::cost::{ServerMeter, server_behind};
use crew::budget::Lease;
use database::indexes::{self, AfterFailure, IndexLanes, IndexWork, LaneStop, Present, Rebuild, ScriptDialect};
use database::load::WaitTally;
use database::target::Database;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::show_plan;
use parking_lot::{Condvar, Mutex};
use plan::{IndexCircumstances, IndexPlan};
use report::IndexMeasures;
use shown::IndexEnd;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::Verbosity;
use wire::{Connection, Protocol, ServerAddress};

/// How messages begin.
const NAME: &str = "mh db index";

/// The exit code of a wrong command line or file, of a missing connection or right.
const NOT_BEGUN: u8 = 2;

/// How long a server may take for a login.
const LOGIN: Duration = Duration::from_secs(30);

/// LIMIT: of a file of statements; it is held in memory.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Where statements come from.
pub enum IndexSource {
    /// A file, or standard input.
    File(PathBuf),
    /// The indexes that are there.
    Catalogue,
}

impl IndexSource {
    /// A place, for a message about a statement.
    fn place(&self, line: u64) -> String {
        match self {
            Self::File(path) => format!("{}, line {}: ", shown_path(path), terminal::integer(line)),
            Self::Catalogue => String::new(),
        }
    }
}

fn shown_path(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { terminal::quote(path).to_string() }
}

/// Runs it.
pub fn run(context: &mut Context, mut args: DbIndexArgs) -> Result<Outcome, Failure> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    args.standing.settle(&context.settings.crew);
    let named = connect::find(&args.connect, &ServerSurroundings::look()).map_err(usage)?;
    for warning in &named.warnings {
        context.messages.warning(NAME, warning, &[]);
    }
    let NamedDatabase { database, name, .. } = named;
    let address = match database {
        Database::Server(address) => *address,
        Database::Sqlite(_) => {
            return Err(usage("SQLite builds one index at a time: sqlite3 FILE < FILE.sql".to_owned()));
        }
    };
    if !args.rebuild && (args.concurrently || !args.tables.is_empty()) {
        return Err(usage("-t and --concurrently go with --rebuild: a file names its tables itself".to_owned()));
    }
    if args.concurrently && address.protocol() != Protocol::Postgres {
        return Err(usage("--concurrently is a word of PostgreSQL".to_owned()));
    }
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let (job, looking) = match look(context, &args, &address, name) {
        Ok(looked) => looked,
        Err(refused) => {
            context.messages.error(NAME, &refused, &[]);
            return Ok(Outcome::Code(NOT_BEGUN));
        }
    };
    if args.explain {
        show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    carry_out(context, &args, IndexRun { job, address, looking }, &signals)
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

/// Reads the file and asks the server. The error reads after "could not".
fn look(
    context: &Context,
    args: &DbIndexArgs,
    address: &ServerAddress,
    name: String,
) -> Result<(IndexPlan, Connection), String> {
    let is_postgres = address.protocol() == Protocol::Postgres;
    let dialect = if is_postgres { ScriptDialect::Postgres } else { ScriptDialect::MySql };
    let statements = match &args.file {
        Some(path) => {
            let text = read(path).map_err(|cause| format!("read {}: {cause}", shown_path(path)))?;
            indexes::parse(&text, dialect).map_err(|fault| format!("use {}: {fault}", shown_path(path)))?
        }
        None => Vec::new(),
    };
    let failed = |error: wire::WireError| {
        let message = error.to_string();
        let message = message.strip_prefix("could not ").map(str::to_owned);
        message.unwrap_or_else(|| format!("build indexes of {name}: {error}"))
    };
    let mut connection = Connection::connect(address, LOGIN).map_err(failed)?;
    let circumstances = IndexCircumstances {
        name: name.clone(),
        server_version: connection.server_version().to_owned(),
        is_postgres,
        server_workers: indexes::server_workers(&mut connection).map_err(failed)?,
        connections_left: indexes::connections_left(&mut connection).map_err(failed)?,
        is_server_here: address.is_local(),
        hands_allowed: context.machine.hands_allowed(),
        memory_bytes: context.machine.memory_budget_bytes(),
    };
    let work = if args.rebuild {
        let how = if args.concurrently { Rebuild::Concurrent } else { Rebuild::Locked };
        let jobs = indexes::rebuild(&mut connection, &args.tables, how).map_err(failed)??;
        IndexWork { jobs, present: Vec::new() }
    } else {
        let present = if args.resume { Present::PassedOver } else { Present::Refused };
        indexes::plan(&mut connection, &statements, present).map_err(failed)?
    };
    Ok((plan::plan(args, circumstances, work)?, connection))
}

fn read(path: &Path) -> Result<String, String> {
    let reader: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(|error| sys::error_text::message(&error))?),
    };
    let mut bytes = Vec::new();
    reader.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| sys::error_text::message(&error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it has more than {}, which is no file of indexes", terminal::bytes(FILE_BYTES_MAX)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = terminal::integer(error.utf8_error().valid_up_to() as u64);
        format!("byte {at} is not UTF-8; pg_dump --encoding=UTF8 writes it")
    })
}

/// What is needed to carry a plan out.
struct IndexRun {
    job: IndexPlan,
    address: ServerAddress,
    looking: Connection,
}

fn carry_out(
    context: &Context,
    args: &DbIndexArgs,
    mut run: IndexRun,
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    let after_failure = if args.exit_on_error { AfterFailure::Stop } else { AfterFailure::GoOn };
    let lanes = Arc::new(IndexLanes::new(run.job.rule, after_failure));
    let stopped = Arc::clone(&lanes);
    signals.end_with(move || stopped.stop(LaneStop::Interrupted)).map_err(mh_kit::context::signal_failure)?;
    let looked_at = Some(&run.looking).filter(|_| args.report.is_some());
    let server = looked_at.and_then(|connection| server_behind(connection.as_fd()));
    // Without the right to see it, there is no figure.
    let mut meter = server.and_then(|pid| ServerMeter::open(pid).ok());
    let job = &run.job;
    let a_hand = if job.is_server_here { 1 } else { BUILDS_A_HAND };
    let served = ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.rule.hands, a_hand };
    let (shared, lease) = served.lease(context, &args.standing);
    let progress = progress::start(context, run.address.database().unwrap_or(run.address.user()), &lanes);
    let begin = Instant::now();
    lanes.add(std::mem::take(&mut run.job.work.jobs));
    lanes.no_more();
    let waits = in_lanes(&lanes, &run.address, run.looking, lease.as_ref());
    let wall = begin.elapsed();
    drop(progress);
    let cost = meter.as_mut().and_then(|meter| meter.look().ok());
    let outcomes = lanes.take_outcomes();
    // A server that does not answer any more has said so already.
    let invalid =
        Connection::connect(&run.address, LOGIN).and_then(|mut connection| indexes::invalid_indexes(&mut connection));
    let end = IndexEnd {
        source: &args.file.clone().map_or(IndexSource::Catalogue, IndexSource::File),
        name: &run.job.name,
        outcomes: &outcomes,
        present: run.job.work.present.len(),
        stop: lanes.stopped(),
        wall,
        invalid: &invalid.unwrap_or_default(),
        signal: signals.signal(),
    };
    let measures = IndexMeasures { plan: &run.job, waits: &waits, cost, hands_from: shared.hands_from(lease.as_ref()) };
    report::show(context, args.report, &end, &measures);
    Ok(shown::conclude(context, &end))
}

/// Has lanes carry out all jobs, and the server watched meanwhile.
fn in_lanes(lanes: &IndexLanes, address: &ServerAddress, looking: Connection, lease: &dyn Lease) -> WaitTally {
    let is_over = (Mutex::new(false), Condvar::new());
    let connect = || Connection::connect(address, LOGIN);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            lanes.watch(looking, |time| {
                let mut over = is_over.0.lock();
                if !*over {
                    is_over.1.wait_for(&mut over, time);
                }
                *over
            })
        });
        std::thread::scope(|scope| {
            for _ in 0..lanes.rule().lanes {
                scope.spawn(|| lanes.work(&connect, lease));
            }
        });
        *is_over.0.lock() = true;
        is_over.1.notify_all();
        watch.join().expect("a watcher does not panic")
    })
}

/// LIMIT: builds on another host that share a hand: they compute nothing here.
const BUILDS_A_HAND: usize = 16;
