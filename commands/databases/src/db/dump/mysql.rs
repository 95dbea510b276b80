//! `mh db dump` of MariaDB and MySQL: looks at the server, has the plan made and carried out, and reports what is in the archive.

mod args;
mod plan;
mod programs;

pub use args::MySqlDumpArgs;

use super::args::DbDumpArgs;
use super::plan::PART_BYTES;
use super::report::{self, DumpEnd};
use super::{CONNECTIONS_A_HAND, NAME, NOT_BEGUN, is_by_signal, progress, shown, usage};
use crate::db::hands::ServedRun;
use crate::db::scratch::private_directory;
use crate::db::stopping::EndingSignals;
use ::load::cost::{ServerMeter, server_behind};
use database::dump::DumpRun;
use database::dump_mysql::{MySqlDumpRequest, MySqlDumpRun};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::show_plan;
use plan::{MySqlCircumstances, MySqlDumpJob};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::cpu_clock::process_cpu_ns;
use wire::ServerAddress;

/// Databases that no server can be given back.
const SERVERS_OWN: [&str; 3] = ["information_schema", "performance_schema", "sys"];

/// Runs it.
pub fn run(context: &mut Context, args: &DbDumpArgs, name: String, address: ServerAddress) -> Result<Outcome, Failure> {
    if let Some(option) = args::first_of_postgres(&args.selection()) {
        return Err(usage(format!("{option} is for PostgreSQL")));
    }
    if args.is_script() {
        return Err(usage(
            "a script of MariaDB is mariadb-dump's, over one connection: mariadb-dump DB | mh tamp, or -f DIR"
                .to_owned(),
        ));
    }
    let Some(database) = address.database() else {
        return Err(usage("no database is named: -d mariadb://USER@HOST/DATABASE".to_owned()));
    };
    if SERVERS_OWN.iter().any(|own| own.eq_ignore_ascii_case(database)) {
        let text = format!("dump {name}: {database} is a view of the server's own state, and has no rows to restore");
        context.messages.error(NAME, &text, &[]);
        return Ok(Outcome::Code(NOT_BEGUN));
    }
    let selection = args.mysql_selection(database);
    let lock_wait = args::lock_wait(args.lock_wait()).map_err(usage)?;
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let run = Arc::new(MySqlDumpRun::new());
    let stopped = Arc::clone(&run);
    signals.end_with(move || stopped.stop()).map_err(mh_kit::context::signal_failure)?;
    if let Err(error) = DumpRun::check_target(&args.file) {
        let _always_refused = shown::failure(context, &name, &error, None);
        return Ok(Outcome::Code(NOT_BEGUN));
    }
    let lock = args.mysql.lock();
    let (source, looking) = match run.look(&address, &selection, lock, PART_BYTES) {
        Ok(looked) => looked,
        Err(error) => {
            return Ok(shown::failure_of_look(context, &name, &error, signals.signal()));
        }
    };
    let planned = programs::find(source.server.is_mariadb).and_then(|program| {
        let (is_server_here, hands_allowed) = (address.is_local(), context.machine.hands_allowed());
        let name = name.clone();
        plan::plan(args, MySqlCircumstances { name, source: &source, program, is_server_here, hands_allowed })
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
    let directory = private_directory().map_err(|message| Failure::Environment { command: NAME, message })?;
    let request = MySqlDumpRequest {
        address,
        selection,
        program: job.program.program.clone(),
        target: args.file.clone(),
        private: directory.path().to_owned(),
        connections: job.connections,
        codec: job.codec,
        part_bytes: PART_BYTES,
        lock,
        lock_wait,
        verifies: args.verify,
    };
    carry_out(context, args, &MySqlDumpWork { job, request, run }, meter, &signals)
}

/// What is needed to carry a plan out.
struct MySqlDumpWork {
    job: MySqlDumpJob,
    request: MySqlDumpRequest,
    run: Arc<MySqlDumpRun>,
}

fn carry_out(
    context: &Context,
    args: &DbDumpArgs,
    work: &MySqlDumpWork,
    mut meter: Option<ServerMeter>,
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    let job = &work.job;
    let a_hand = if job.is_server_here { 1 } else { CONNECTIONS_A_HAND };
    let served = ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.connections, a_hand };
    let (shared, lease) = served.lease(context, &args.standing);
    let run = Arc::clone(&work.run);
    let label = work.request.address.database().unwrap_or_default();
    let progress = progress::start(context, label, move || run.progress());
    let (begin, cpu_before) = (Instant::now(), process_cpu_ns());
    let outcome = work.run.run(&work.request, lease.as_ref());
    let wall = begin.elapsed();
    drop(progress);
    let dumped = match outcome {
        Ok(dumped) => dumped,
        Err(error) => {
            let signal = signals.signal().filter(|_| is_by_signal(&error));
            return Ok(shown::failure(context, &job.name, &error, signal));
        }
    };
    let parts = dumped.index.tables.iter().flat_map(|table| &table.parts);
    let end = DumpEnd {
        name: &job.name,
        program: "mariadb-dump",
        program_version: &job.program.version,
        connections: job.connections,
        is_server_here: job.is_server_here,
        codec: &job.codec,
        progress: &dumped.progress,
        frames: parts.map(|part| part.frames.len() as u64).sum(),
        locked: Some(dumped.locked).filter(|held| !held.is_zero()),
        wall,
        client_cpu: Duration::from_nanos(process_cpu_ns().saturating_sub(cpu_before)),
        cost: meter.as_mut().and_then(|meter| meter.look().ok()),
        hands_from: shared.hands_from(lease.as_ref()),
        cores: context.machine.hands_allowed(),
    };
    report::show(context, args.report, &end);
    dumped.warnings.iter().for_each(|warning| context.messages.warning(NAME, warning, &[]));
    shown::success(context, &args.shown_target(), &dumped.progress, wall);
    Ok(Outcome::Done)
}
