//! `mh db restore`: reads the command line, looks at the archive and the server, has the plan made and carried out, and says what is in the database.

mod args;
mod mysql;
mod plan;
mod progress;
mod report;
mod selection;
mod shown;

pub use args::{DbRestoreArgs, EXAMPLES};

use super::connect::{self, ServerSurroundings};
use super::hands::ServedRun;
use super::programs::{self, ClientPrograms};
use super::scratch::private_directory;
use super::stopping::EndingSignals;
use ::load::cost::{ServerMeter, server_behind};
use database::restore::{
    ArchiveReader, LookedArchive, RestoreError, RestoreRequest, RestoreRun, RestoreTarget, Section,
};
use database::target::Database;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::show_plan;
use plan::{RestoreCircumstances, RestoreJob};
use report::RestoreEnd;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::cpu_clock::process_cpu_ns;
use tempfile::TempDir;
use terminal::Verbosity;
use wire::{Connection, Protocol, ServerAddress};

/// How messages begin.
const NAME: &str = "mh db restore";

/// The exit code of a wrong command line, of a missing connection or right.
const NOT_BEGUN: u8 = 2;

/// Runs it.
pub fn run(context: &mut Context, mut args: DbRestoreArgs) -> Result<Outcome, Failure> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    args.standing.settle(&context.settings.crew);
    let kind = archive_kind(&args.archive).map_err(usage)?;
    let named = connect::find(&args.connect, &ServerSurroundings::look()).map_err(usage)?;
    let address = server(kind, named.database).map_err(usage)?;
    for warning in &named.warnings {
        context.messages.warning(NAME, warning, &[]);
    }
    match kind {
        Protocol::Postgres => postgres(context, &args, named.name, address),
        Protocol::MySql => mysql::run(context, &args, named.name, address),
    }
}

/// Restores an archive of pg_dump.
fn postgres(
    context: &mut Context,
    args: &DbRestoreArgs,
    name: String,
    address: ServerAddress,
) -> Result<Outcome, Failure> {
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let run = Arc::new(RestoreRun::new());
    let stopped = Arc::clone(&run);
    signals.end_with(move || stopped.stop()).map_err(mh_kit::context::signal_failure)?;
    let scratch = private_directory().map_err(|message| Failure::Environment { command: NAME, message })?;
    let looked = run.look(&address).and_then(|(target, connection)| {
        let (programs, archive) = look_at_archive(args, scratch.path(), &target)?;
        Ok((target, connection, programs, archive))
    });
    let (target, connection, programs, archive) = match looked {
        Ok(looked) => looked,
        Err(error) => return Ok(shown::failure(context, &name, &error, signals.signal(), None)),
    };
    let circumstances = RestoreCircumstances {
        name: name.clone(),
        server_version: target.server_version.clone(),
        connections_left: target.connections_left,
        programs: &programs,
        looked: &archive,
        is_server_here: address.is_local(),
        hands_allowed: context.machine.hands_allowed(),
        memory_bytes: context.machine.memory_budget_bytes(),
    };
    let job = match plan::plan(args, &circumstances) {
        Ok(job) => job,
        Err(refused) => {
            context.messages.error(NAME, &format!("restore into {name}: {refused}"), &[]);
            return Ok(Outcome::Code(NOT_BEGUN));
        }
    };
    if let Some(fault) = &archive.parts.index_fault {
        // With -q, too: nothing else reports that rows go unverified.
        let text = format!("warning: {fault}: rows are restored without it, and are not verified by it");
        context.messages.conclusion(NAME, &text);
    }
    if args.explain {
        show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    let work = RestoreWork { job, address, run, archive, programs, scratch };
    carry_out(context, args, work, connection, &signals)
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

/// Whose archive it is, if it can be restored here.
fn archive_kind(archive: &Path) -> Result<Protocol, String> {
    let name = terminal::quote(archive);
    match std::fs::metadata(archive) {
        Err(error) => Err(format!("{name}: {}", with_causes(&error))),
        Ok(metadata) if !metadata.is_dir() => Err(format!(
            "{name} is no directory: directory archives (pg_dump -Fd, mh db dump) are restored here; \
             pg_restore restores custom and tar archives, psql and mariadb SQL"
        )),
        Ok(_) if archive.join("toc.dat").is_file() => Ok(Protocol::Postgres),
        Ok(_) if archive.join("mh.index").is_file() => Ok(Protocol::MySql),
        Ok(_) => Err(format!("{name} is no archive: it has neither pg_dump's toc.dat nor an mh.index")),
    }
}

/// The server, if it is one that the archive can be restored into.
fn server(kind: Protocol, database: Database) -> Result<ServerAddress, String> {
    let of = |protocol| if protocol == Protocol::Postgres { "PostgreSQL" } else { "MariaDB or MySQL" };
    match database {
        Database::Server(address) if address.protocol() == kind => Ok(*address),
        Database::Server(address) => {
            Err(format!("the archive is of {}, and the server is {}", of(kind), of(address.protocol())))
        }
        Database::Sqlite(_) => Err(format!("the archive is of {}, and the database is a SQLite file", of(kind))),
    }
}

/// Has the first pg_restore that can read it list the archive.
fn look_at_archive(
    args: &DbRestoreArgs,
    scratch: &Path,
    target: &RestoreTarget,
) -> Result<(ClientPrograms, LookedArchive), RestoreError> {
    let (selection, options) = (args.passed.selection.options(), args.passed.emission.options());
    let sections: Vec<Section> =
        args.passed.selection.sections().iter().filter_map(|name| Section::by_name(name)).collect();
    let mut failed = None;
    for programs in programs::for_restore(target.server_major) {
        let reader =
            ArchiveReader { programs: &programs.directory, archive: &args.archive, scratch, sections: &sections };
        match LookedArchive::look(&reader, &selection, &options) {
            Ok(looked) => return Ok((programs, looked)),
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    let missing = || RestoreError::Program {
        program: "pg_restore",
        message: format!("is not installed; the package is postgresql-client-{}", target.server_major),
    };
    Err(failed.unwrap_or_else(missing))
}

/// What is needed to carry a plan out.
struct RestoreWork {
    job: RestoreJob,
    address: ServerAddress,
    run: Arc<RestoreRun>,
    archive: LookedArchive,
    programs: ClientPrograms,
    scratch: TempDir,
}

fn carry_out(
    context: &Context,
    args: &DbRestoreArgs,
    work: RestoreWork,
    looking: Connection,
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    // Without the right to see it, there is no figure.
    let mut meter = server_behind(looking.as_fd()).and_then(|pid| ServerMeter::open(pid).ok());
    drop(looking);
    let job = &work.job;
    let cores = context.machine.hands_allowed();
    let (shared, lease) = served(job, cores).lease(context, &args.standing);
    let request = RestoreRequest {
        address: work.address.clone(),
        programs: work.programs.directory.clone(),
        archive: args.archive.clone(),
        options: args.passed.emission.options(),
        scratch: work.scratch.path().to_owned(),
        connections: job.connections,
        cores,
        index_memory: job.index_memory,
        chunk_bytes: job.chunk_bytes,
        into: args.into(),
        exits_on_error: args.exit_on_error,
        vacuums: args.vacuum,
        verifies: args.verify,
    };
    let run = Arc::clone(&work.run);
    let label = work.address.database().unwrap_or(work.address.user());
    let progress = progress::start(context, label, move || run.progress());
    let (begin, cpu_before) = (Instant::now(), process_cpu_ns());
    let outcome = work.run.run(&request, &work.archive, lease.as_ref());
    let wall = begin.elapsed();
    drop(progress);
    work.run.take_warnings().iter().for_each(|warning| context.messages.warning(NAME, warning, &[]));
    let restored = match outcome {
        Ok(restored) => restored,
        Err(error) => {
            let signal = signals.signal().filter(|_| is_by_signal(&error));
            return Ok(shown::failure(context, &job.name, &error, signal, Some(args.into())));
        }
    };
    let end = RestoreEnd {
        job,
        restored: &restored,
        wall,
        client_cpu: Duration::from_nanos(process_cpu_ns().saturating_sub(cpu_before)),
        cost: meter.as_mut().and_then(|meter| meter.look().ok()),
        hands_from: shared.hands_from(lease.as_ref()),
        cores,
    };
    report::show(context, args.report, &end);
    Ok(shown::end(context, &job.name, &restored, wall))
}

/// A terminal sends its signals to pg_restore, too, which may be the first to end.
fn is_by_signal(error: &RestoreError) -> bool {
    matches!(error, RestoreError::Interrupted | RestoreError::Program { .. })
}

/// A server on this host works on its cores, and waits between.
fn served(job: &RestoreJob, cores: usize) -> ServedRun<'_> {
    let a_hand = if job.is_server_here { job.connections.div_ceil(cores) } else { CONNECTIONS_A_HAND_ELSEWHERE };
    ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.connections, a_hand }
}

/// LIMIT: connections to another host that share a hand: they decompress for a part of the time.
const CONNECTIONS_A_HAND_ELSEWHERE: usize = 4;
