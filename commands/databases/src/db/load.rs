//! `mh db load`: reads the command line, has the plan made and carried out, and says what is in the table and what is not.

mod args;
mod plan;
mod progress;
mod rejected;
mod report;
mod shown;
mod verdict;

pub use args::{DbLoadArgs, EXAMPLES};

use super::connect::{self, ServerSurroundings};
use super::hands::ServedRun;
use super::stopping::EndingSignals;
use ::load::cost::{ServerMeter, server_behind};
use crew::budget::Lease;
use database::error::LoadFailure;
use database::inputs::LoadInput;
use database::load::{LoadControl, LoadOutcome, Rejects, TableLoad, run as load_table};
use database::target::{TableRequest, TableTarget};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::show_plan;
use plan::LoadJob;
use rejected::RejectFile;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use terminal::Verbosity;
use wire::Connection;

/// How messages begin.
const NAME: &str = "mh db load";

/// The exit code of a wrong command line, of a missing connection or right.
const NOT_BEGUN: u8 = 2;

/// Runs it.
pub fn run(context: &mut Context, mut args: DbLoadArgs) -> Result<Outcome, Failure> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    args.standing.settle(&context.settings.crew);
    let words = args.words().map_err(usage)?;
    let format = args.rows.format(&words.inputs).map_err(usage)?;
    let named = connect::find(&args.connect, &ServerSurroundings::look()).map_err(usage)?;
    for warning in &named.warnings {
        context.messages.warning(NAME, warning, &[]);
    }
    if let Some(file) = &args.rejects.file {
        let inputs = words.inputs.iter().map(|input| match input {
            LoadInput::Stdin => Path::new("/dev/stdin"),
            LoadInput::Path(path) => path,
        });
        RejectFile::refuse(file, &inputs.collect::<Vec<_>>(), args.resume).map_err(usage)?;
    }
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let columns = args.columns();
    let request = TableRequest { table: words.table.clone(), columns, format, encoding: args.rows.encoding.clone() };
    let target = match TableTarget::look(named.database, request) {
        Ok(target) => target,
        Err(error) => return Ok(not_begun(context, &words.table, &named.name, &error)),
    };
    let job = match plan::plan(context.machine.hands_allowed(), &args, &words, target, &named.name) {
        Ok(job) => job,
        Err(refused) => {
            context.messages.error(NAME, &refused, &[]);
            return Ok(Outcome::Code(NOT_BEGUN));
        }
    };
    if args.explain {
        show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    carry_out(context, &args, job, &signals)
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

fn not_begun(context: &Context, table: &str, database: &str, error: &LoadFailure) -> Outcome {
    let message = error.to_string();
    let message = message.strip_prefix("could not ").unwrap_or(&message);
    let text = match error {
        LoadFailure::Connection(wire::WireError::Connect { .. }) => message.to_owned(),
        _ => format!("load into '{}' of {database}: {message}", terminal::printable(table)),
    };
    context.messages.error(NAME, &text, &[]);
    Outcome::Code(NOT_BEGUN)
}

fn carry_out(
    context: &Context,
    args: &DbLoadArgs,
    mut job: LoadJob,
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    let looking = job.target.looking.take();
    // To look for it in all processes takes longer than a small load.
    let looked_at = looking.as_ref().filter(|_| args.report.is_some());
    let server = looked_at.and_then(|connection| server_behind(connection.as_fd()));
    // Without the right to see it, there is no figure.
    let mut meter = server.and_then(|pid| ServerMeter::open(pid).ok());
    let rejects = args.rejects.file.as_deref().map(|file| RejectFile::create(file, args.resume)).transpose();
    let rejects = rejects.map_err(|message| Failure::Environment { command: NAME, message })?;
    let control = Arc::new(LoadControl::new(job.connections));
    signals.end(Arc::clone(&control)).map_err(mh_kit::context::signal_failure)?;
    let a_hand = if job.is_server_here { 1 } else { CONNECTIONS_A_HAND };
    let served = ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.connections, a_hand };
    let (shared, lease) = served.lease(context, &args.standing);
    let progress = progress::start(context, &job, &control);
    let outcome = with_rejects(&job, rejects.as_ref(), args, |rejects| {
        load_with(&job, rejects, lease.as_ref(), &control, looking)
    });
    drop(progress);
    let cost = meter.as_mut().and_then(|meter| meter.look().ok());
    let kept = rejects.map(RejectFile::finish).transpose();
    let rejected = kept.map_err(|message| Failure::Environment { command: NAME, message })?;
    let end =
        report::LoadEnd { job: &job, outcome: &outcome, cost, server, hands_from: shared.hands_from(lease.as_ref()) };
    report::show(context, args, &end)?;
    Ok(shown::conclude(context, &end, rejected.as_ref(), signals.signal()))
}

fn with_rejects<T>(
    job: &LoadJob,
    file: Option<&RejectFile>,
    args: &DbLoadArgs,
    run: impl FnOnce(Option<&Rejects<'_>>) -> T,
) -> T {
    let Some(file) = file else { return run(None) };
    let take = |row: &database::load::RejectedRow<'_>| file.put(row, &job.names);
    run(Some(&Rejects { take: &take, limit: args.rejects.limit }))
}

fn load_with(
    job: &LoadJob,
    rejects: Option<&Rejects<'_>>,
    lease: &dyn Lease,
    control: &LoadControl,
    looking: Option<Connection>,
) -> LoadOutcome {
    let load = TableLoad {
        target: &job.target,
        inputs: &job.inputs,
        rules: &job.rules,
        connections: job.connections,
        commit: job.commit,
        rejects,
        resumes: job.sources.as_deref(),
        truncates: job.truncates,
        header: job.header,
        held_bytes: job.held_bytes,
        lease,
        decoders: job.decoders,
    };
    load_table(&load, control, looking)
}

/// LIMIT: connections to another host that share a hand: they compute a thirtieth of the time.
const CONNECTIONS_A_HAND: usize = 8;
