//! `mh db dump`: reads the command line, looks at the server, has the plan made and carried out, and says what is in the archive.

mod args;
mod mysql;
mod plan;
mod progress;
mod report;
mod selection;
mod shown;

pub use args::{DbDumpArgs, EXAMPLES};

use super::connect::{self, ServerSurroundings};
use super::hands::ServedRun;
use super::programs;
use super::scratch::private_directory;
use super::stopping::EndingSignals;
use ::load::cost::{ServerMeter, server_behind};
use database::dump::{DumpError, DumpRequest, DumpRun};
use database::target::Database;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::show_plan;
use plan::{DumpCircumstances, DumpJob};
use report::DumpEnd;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::cpu_clock::process_cpu_ns;
use terminal::Verbosity;
use wire::{Protocol, ServerAddress};

/// How messages begin.
const NAME: &str = "mh db dump";

/// The exit code of a wrong command line, of a missing connection or right.
const NOT_BEGUN: u8 = 2;

/// Runs it.
pub fn run(context: &mut Context, mut args: DbDumpArgs) -> Result<Outcome, Failure> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    args.standing.settle(&context.settings.crew);
    // Without a slash at its end, which would make names beside it names in it.
    args.file = args.file.components().collect();
    args.check_format().map_err(usage)?;
    let named = connect::find(&args.connect(), &ServerSurroundings::look()).map_err(usage)?;
    for warning in &named.warnings {
        context.messages.warning(NAME, warning, &[]);
    }
    match named.database {
        Database::Server(address) if address.protocol() == Protocol::MySql => {
            mysql::run(context, &args, named.name, *address)
        }
        Database::Server(address) => postgres(context, &args, named.name, &address),
        Database::Sqlite(_) => {
            Err(usage("a SQLite file is not dumped: sqlite3 FILE .dump does, or .backup".to_owned()))
        }
    }
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

/// Dumps a database of PostgreSQL.
fn postgres(
    context: &mut Context,
    args: &DbDumpArgs,
    name: String,
    address: &ServerAddress,
) -> Result<Outcome, Failure> {
    if let Some(option) = args.mysql.first() {
        return Err(usage(format!("{option} is for MariaDB and MySQL")));
    }
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let run = Arc::new(DumpRun::new());
    let stopped = Arc::clone(&run);
    signals.end_with(move || stopped.stop()).map_err(mh_kit::context::signal_failure)?;
    if let Some(Err(error)) = args.target().map(|target| DumpRun::check_target(&target)) {
        let _always_refused = shown::failure(context, &name, &error, None);
        return Ok(Outcome::Code(NOT_BEGUN));
    }
    let (source, looking) = match run.look(address, &args.session(), plan::part_bytes(args)) {
        Ok(looked) => looked,
        Err(error) => {
            return Ok(shown::failure_of_look(context, &name, &error, signals.signal()));
        }
    };
    let planned = programs::find(source.server_major).and_then(|programs| {
        let (name, is_server_here, hands_allowed) = (name.clone(), address.is_local(), context.machine.hands_allowed());
        plan::plan(args, DumpCircumstances { name, source: &source, programs, is_server_here, hands_allowed })
    });
    let job = match planned {
        Ok(job) => job,
        Err(refused) => {
            context.messages.error(NAME, &format!("dump {name}: {refused}"), &[]);
            return Ok(Outcome::Code(NOT_BEGUN));
        }
    };
    job.warnings.iter().for_each(|warning| context.messages.warning(NAME, warning, &[]));
    if args.explain {
        show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    // Without the right to see it, there is no figure.
    let meter = server_behind(looking.as_fd()).and_then(|pid| ServerMeter::open(pid).ok());
    drop(looking);
    carry_out(context, args, DumpWork { job, address: address.clone(), run, meter }, &signals)
}

/// What is needed to carry a plan out.
struct DumpWork {
    job: DumpJob,
    address: ServerAddress,
    run: Arc<DumpRun>,
    meter: Option<ServerMeter>,
}

fn carry_out(
    context: &Context,
    args: &DbDumpArgs,
    mut work: DumpWork,
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    let sockets = private_directory().map_err(|message| Failure::Environment { command: NAME, message })?;
    let job = &work.job;
    let a_hand = if job.is_server_here { 1 } else { CONNECTIONS_A_HAND };
    let served = ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.connections, a_hand };
    let (shared, lease) = served.lease(context, &args.standing);
    let request = DumpRequest {
        address: work.address.clone(),
        selection: args.selection(),
        session: args.session(),
        programs: job.programs.directory.clone(),
        target: args.target(),
        sockets: sockets.path().to_owned(),
        connections: job.connections,
        codec: job.codec,
        part_bytes: plan::part_bytes(args),
        verifies: args.verify,
    };
    let run = Arc::clone(&work.run);
    let label = work.address.database().unwrap_or(work.address.user());
    let progress = progress::start(context, label, move || run.progress());
    let (begin, cpu_before) = (Instant::now(), process_cpu_ns());
    let outcome = work.run.run(&request, lease.as_ref());
    let wall = begin.elapsed();
    drop(progress);
    drop(sockets);
    let dumped = match outcome {
        Ok(dumped) => dumped,
        Err(error) => {
            let signal = signals.signal().filter(|_| is_by_signal(&error));
            if args.is_script() && is_reader_gone(&error) {
                return Err(Failure::BrokenPipe);
            }
            let outcome = shown::failure(context, &job.name, &error, signal);
            if args.is_script() {
                context.messages.warning(NAME, "the script on standard output is incomplete", &[]);
            }
            return Ok(outcome);
        }
    };
    let end = DumpEnd {
        name: &job.name,
        program: "pg_dump",
        program_version: &job.programs.version,
        connections: job.connections,
        is_server_here: job.is_server_here,
        codec: &job.codec,
        progress: &dumped.progress,
        frames: dumped.index.tables.iter().map(|table| table.frames.len() as u64).sum(),
        locked: None,
        wall,
        client_cpu: Duration::from_nanos(process_cpu_ns().saturating_sub(cpu_before)),
        cost: work.meter.as_mut().and_then(|meter| meter.look().ok()),
        hands_from: shared.hands_from(lease.as_ref()),
        cores: context.machine.hands_allowed(),
    };
    report::show(context, args.report, &end);
    shown::warnings(context, "pg_dump", dumped.warnings.lines());
    shown::success(context, &args.shown_target(), &dumped.progress, wall);
    Ok(Outcome::Done)
}

/// A terminal sends its signals to pg_dump, too, which may be the first to end.
fn is_by_signal(error: &DumpError) -> bool {
    matches!(error, DumpError::Interrupted | DumpError::Program { .. })
}

/// Whether nobody reads the script any more, which ends pg_dump.
fn is_reader_gone(error: &DumpError) -> bool {
    matches!(error, DumpError::Program { message, .. } if message.starts_with("failed (signal: 13 "))
}

/// LIMIT: connections to another host that share a hand: they compress for a third of the time.
const CONNECTIONS_A_HAND: usize = 3;
