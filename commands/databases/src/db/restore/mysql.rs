//! `mh db restore` of an archive of MariaDB or MySQL.

use super::args::DbRestoreArgs;
use super::plan::{self, RestoreJob, SessionRoom};
use super::report::{self, RestoreEnd};
use super::{NAME, NOT_BEGUN, progress, served, shown, usage};
use crate::db::stopping::EndingSignals;
use ::load::cost::{ServerMeter, server_behind};
use crew::plan::Plan;
use database::dump_mysql::{MySqlArchive, MySqlDumpFault};
use database::restore::RestoreError;
use database::restore_mysql::{MySqlRestoreRequest, MySqlRestoreRun, MySqlTarget, check_files};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{counted, show_plan};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::cpu_clock::process_cpu_ns;
use wire::{Connection, ServerAddress};

/// What pg_restore's options mean to MariaDB as well; owners and privileges are in no archive of it.
const OF_BOTH: [&str; 6] =
    ["--table", "--schema-only", "--data-only", "--strict-names", "--no-owner", "--no-privileges"];

/// LIMIT: tables that a plan lists.
const TABLES_LISTED_MAX: usize = 20;

/// Runs it.
pub fn run(
    context: &mut Context,
    args: &DbRestoreArgs,
    name: String,
    address: ServerAddress,
) -> Result<Outcome, Failure> {
    if let Some(option) = first_of_postgres(args) {
        return Err(usage(format!("{option} is for PostgreSQL")));
    }
    if address.database().is_none() {
        return Err(usage("no database is named: -d mariadb://USER@HOST/DATABASE".to_owned()));
    }
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let run = Arc::new(MySqlRestoreRun::new());
    let stopped = Arc::clone(&run);
    signals.end_with(move || stopped.stop()).map_err(mh_kit::context::signal_failure)?;
    let looked = MySqlArchive::read(&args.archive).map_err(RestoreError::from).and_then(|archive| {
        let (tables, has_schema, has_rows) = args.passed.selection.of_mysql();
        check_files(&args.archive, &archive, &tables, (has_schema, has_rows))?;
        Ok((archive, run.look(&address)?))
    });
    let (archive, (target, connection)) = match looked {
        Ok(looked) => looked,
        Err(error) => return Ok(shown::failure(context, &name, &error, signals.signal(), None)),
    };
    let surroundings = (address.is_local(), context.machine.hands_allowed());
    let job = match plan(args, name.clone(), &archive, &target, surroundings) {
        Ok(job) => job,
        Err(refused) => {
            context.messages.error(NAME, &format!("restore into {name}: {refused}"), &[]);
            return Ok(Outcome::Code(NOT_BEGUN));
        }
    };
    if args.explain {
        show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    carry_out(context, args, (job, address), &run, connection, &signals)
}

/// The first option that has no meaning here.
fn first_of_postgres(args: &DbRestoreArgs) -> Option<String> {
    let passed = [args.passed.selection.options(), args.passed.emission.options()].concat();
    let name = |option: &OsString| option.to_string_lossy().split('=').next().unwrap_or_default().to_owned();
    let mut names = passed.iter().map(name);
    if !args.passed.selection.sections().is_empty() {
        return Some("--section".to_owned());
    }
    let flags = [("--vacuum", args.vacuum), ("--memory", args.memory.is_some())];
    if let Some((name, _)) = flags.into_iter().find(|(_, is_set)| *is_set) {
        return Some(name.to_owned());
    }
    names.find(|name| !OF_BOTH.contains(&name.as_str()))
}

/// Decides. The error is a sentence for the user that reads after "could not".
fn plan(
    args: &DbRestoreArgs,
    name: String,
    archive: &MySqlArchive,
    target: &MySqlTarget,
    (is_server_here, hands_allowed): (bool, usize),
) -> Result<RestoreJob, String> {
    let mut plan = Plan::new(format!("restore {} into {name}", terminal::quote(&args.archive)));
    let place = if is_server_here { "it is on this host and shares its cores" } else { "it is elsewhere" };
    plan.choose("server", target.server.name(), place);
    plan.choose("archive", format!("of database {}", archive.database), format!("dumped from {}", archive.server));
    // The leader is the only one besides.
    let room = SessionRoom { has: target.connections_left, others: 1, each: 1 };
    let (connections, reason) = plan::connections(args.connections, &room, hands_allowed)?;
    plan.choose("connections", connections.to_string(), reason);
    let (way, reason) = match target.takes_files {
        true => ("LOAD DATA LOCAL", "a transaction for each file of the archive"),
        false => ("INSERT", "the server does not allow local_infile, which is faster"),
    };
    plan.choose("rows", way, reason);
    plan.choose(
        "keys",
        "after the rows",
        "one ALTER for all keys of a table, as soon as its rows are in; UNIQUE ones are there before",
    );
    plan.choose("checks", "foreign_key_checks = 0", "of these sessions alone: the source had checked");
    list_tables(&mut plan, archive);
    match args.verify {
        true => plan.choose("verification", "full", "all rows are read again, and compared with the archive's hashes"),
        false => plan.choose("verification", "rows", "each frame's hash, and the server's count of rows of each file"),
    }
    plan.choose("interruption", "--resume goes on", "each file is noted in the table mh_restore_* until all is done");
    plan.choose("database", plan::into(args.into()), "by the command line");
    mh_kit::sharing::explain(&mut plan);
    Ok(RestoreJob { plan, name, connections, chunk_bytes: 0, index_memory: None, is_server_here, has_program: false })
}

fn list_tables(plan: &mut Plan, archive: &MySqlArchive) {
    let mut largest: Vec<_> = archive.tables.iter().filter(|table| table.stored >= 1 << 20).collect();
    largest.sort_by_key(|table| std::cmp::Reverse(table.stored));
    for table in largest.iter().take(TABLES_LISTED_MAX) {
        let files = counted(table.parts.len() as u64, "file");
        let rows = counted(table.rows, "row");
        plan.choose("table", table.table.clone(), format!("{rows}, {} in {files}", terminal::bytes(table.stored)));
    }
    let others = archive.tables.len() - largest.len().min(TABLES_LISTED_MAX);
    if others > 0 {
        plan.choose("other tables", terminal::integer(others as u64), "they are smaller");
    }
}

fn carry_out(
    context: &Context,
    args: &DbRestoreArgs,
    (job, address): (RestoreJob, ServerAddress),
    run: &Arc<MySqlRestoreRun>,
    looking: Connection,
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    // Without the right to see it, there is no figure.
    let mut meter = server_behind(looking.as_fd()).and_then(|pid| ServerMeter::open(pid).ok());
    drop(looking);
    let cores = context.machine.hands_allowed();
    let (shared, lease) = served(&job, cores).lease(context, &args.standing);
    let shown_run = Arc::clone(run);
    let progress = progress::start(context, address.database().unwrap_or_default(), move || shown_run.progress());
    let (tables, has_schema, has_rows) = args.passed.selection.of_mysql();
    let request = MySqlRestoreRequest {
        address,
        archive: args.archive.clone(),
        tables,
        has_schema,
        has_rows,
        connections: job.connections,
        into: args.into(),
        exits_on_error: args.exit_on_error,
        verifies: args.verify,
    };
    let (begin, cpu_before) = (Instant::now(), process_cpu_ns());
    let outcome = run.run(&request, lease.as_ref());
    let wall = begin.elapsed();
    drop(progress);
    run.take_warnings().iter().for_each(|warning| context.messages.warning(NAME, warning, &[]));
    let restored = match outcome {
        Ok(restored) => restored,
        Err(RestoreError::MySql(fault)) if refusal_hint(&fault).is_some() => {
            let hints: Vec<String> = refusal_hint(&fault).into_iter().map(str::to_owned).collect();
            context.messages.error(NAME, &format!("restore into {}: {fault}", job.name), &hints);
            return Ok(Outcome::Code(NOT_BEGUN));
        }
        Err(error) => {
            let signal = signals.signal().filter(|_| matches!(error, RestoreError::Interrupted));
            return Ok(shown::failure(context, &job.name, &error, signal, Some(args.into())));
        }
    };
    let end = RestoreEnd {
        job: &job,
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

/// A hint for when a restore has left the database as it was, lest it touch what is not its own.
fn refusal_hint(fault: &MySqlDumpFault) -> Option<&'static str> {
    match fault {
        MySqlDumpFault::Present { .. } => Some("--clean drops what is to be restored, -t selects tables"),
        MySqlDumpFault::OtherKind { .. } => Some(
            "nothing was dropped: --clean drops tables, sequences and views of their own kind, and views where a table comes",
        ),
        MySqlDumpFault::InDoubt { .. } => {
            Some("remove the rows of the file that was not complete; then --resume goes on")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::dump_mysql::{MySqlArchiveTable, MySqlServer};

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbRestoreArgs,
    }

    fn typed(words: &[&str]) -> DbRestoreArgs {
        let words = ["restore", "d"].into_iter().chain(words.iter().copied());
        <Typed as clap::Parser>::try_parse_from(words).expect("a command line").args
    }

    #[test]
    fn options_of_postgresql_are_named() {
        assert_eq!(first_of_postgres(&typed(&["-t", "a", "-s", "-O"])), None);
        assert_eq!(first_of_postgres(&typed(&["-t", "a", "--role", "r"])).as_deref(), Some("--role"));
        assert_eq!(first_of_postgres(&typed(&["--vacuum"])).as_deref(), Some("--vacuum"));
        assert_eq!(first_of_postgres(&typed(&["--section", "data"])).as_deref(), Some("--section"));
    }

    #[test]
    fn a_plan_says_how_rows_come_in() {
        let table = MySqlArchiveTable { table: "big".to_owned(), stored: 5 << 20, ..MySqlArchiveTable::default() };
        let archive = MySqlArchive { tables: vec![table], ..MySqlArchive::default() };
        let server = MySqlServer::of("10.11.19-MariaDB");
        let target = MySqlTarget { server, connections_left: 100, takes_files: false };
        let job = plan(&typed(&[]), "shop".to_owned(), &archive, &target, (true, 4)).expect("a plan");
        assert_eq!((job.connections, job.plan.about("rows").expect("a choice").decision.as_str()), (8, "INSERT"));
        assert_eq!(job.plan.about("table").expect("a choice").decision, "big");
    }
}
