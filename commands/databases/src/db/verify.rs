//! `mh db verify`: finds both sides, reads what is to be read, and prints which tables are the same.

mod args;
mod plan;
mod progress;
mod report;
mod shown;
mod sides;

pub use args::{DbVerifyArgs, EXAMPLES};

use super::hands::ServedRun;
use super::stopping::EndingSignals;
use crew::budget::Lease;
use database::dump::{DumpError, DumpProgress};
use database::dump_mysql::MySqlDumpFault;
use database::verify::{ServerReading, TableState, compare, together};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::show_plan;
use plan::VerifyPlan;
use report::VerifyEnd;
use shown::TablesShown;
use sides::{NamedSide, Side};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::Verbosity;

/// How messages begin.
const NAME: &str = "mh db verify";

/// The exit code of a wrong command line, of a side that cannot be read.
const CANNOT: u8 = 2;

/// The exit code of a run that a signal ended, less the signal's number.
const BY_SIGNAL: i32 = 128;

/// Runs it.
pub fn run(context: &mut Context, mut args: DbVerifyArgs) -> Result<Outcome, Failure> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    args.standing.settle(&context.settings.crew);
    let typed = args.both_sides().map_err(usage)?;
    let [one, other] = typed.map(|side| NamedSide::of(context, &args, side));
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let sides = match sides::look(&args, [one?, other?]) {
        Ok(sides) => sides,
        Err(refused) => {
            context.messages.error(NAME, &refused, &[]);
            return Ok(Outcome::Code(CANNOT));
        }
    };
    let encoding = sides.iter().find_map(Side::encoding);
    let facts = [sides[0].facts(), sides[1].facts()];
    let job = plan::plan(args.connections, context.machine.hands_allowed(), &facts, encoding.as_deref());
    job.warnings.iter().for_each(|warning| context.messages.warning(NAME, warning, &[]));
    if args.explain {
        let shown = show_plan(context, &job.plan, args.report);
        return shown.map_or_else(|failure| not_printed(context, failure), |()| Ok(Outcome::Done));
    }
    carry_out(context, &args, &job, sides, &signals)
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

fn carry_out(
    context: &Context,
    args: &DbVerifyArgs,
    job: &VerifyPlan,
    sides: [Side; 2],
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    let readings: Vec<Arc<dyn ServerReading>> = sides.iter().filter_map(Side::reading).cloned().collect();
    let stopped = readings.clone();
    signals
        .end_with(move || stopped.iter().for_each(|reading| reading.stop()))
        .map_err(mh_kit::context::signal_failure)?;
    let a_hand = if sides.iter().all(Side::is_here) { 1 } else { CONNECTIONS_A_HAND };
    let served =
        ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.connections.iter().sum(), a_hand };
    let (shared, lease) = served.lease(context, &args.standing);
    let read = move || {
        let all = readings.iter().map(|reading| reading.progress());
        all.fold(DumpProgress::default(), |sum, one| together(&sum, &one))
    };
    let progress = progress::start(context, read.clone());
    let begin = Instant::now();
    // One after the other: of two databases of one server, the second could not lock it before the first has released it.
    let mut locked = Duration::ZERO;
    for (side, connections) in sides.iter().zip(job.connections) {
        match side.begin(connections, lease.as_ref()) {
            Ok(held) => locked = locked.max(held),
            Err(error) => {
                drop(progress);
                return Ok(failed(context, side, &error, signals));
            }
        }
    }
    let [one, other] = read_both(&sides, job.connections, lease.as_ref());
    let wall = begin.elapsed();
    drop(progress);
    let (first, second) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        // A side that fails has the other one interrupted.
        (Err(error), Ok(_) | Err(DumpError::Interrupted)) => return Ok(failed(context, &sides[0], &error, signals)),
        (_, Err(error)) => return Ok(failed(context, &sides[1], &error, signals)),
    };
    let compared = compare(first, second.into_iter().chain(unread(context, args, &sides)));
    let how = match (args.json, args.quiet) {
        (true, false) => TablesShown::Json,
        (true, true) => TablesShown::DifferentJson,
        (false, true) => TablesShown::Different,
        (false, false) => TablesShown::All,
    };
    if let Err(failure) = shown::tables(&compared, how) {
        return not_printed(context, failure);
    }
    if let Some(format) = args.report {
        let end = VerifyEnd {
            purpose: &job.plan.purpose,
            progress: &read(),
            connections: job.connections.iter().sum(),
            locked: Some(locked).filter(|held| !held.is_zero()),
            wall,
            hands_from: shared.hands_from(lease.as_ref()),
        };
        context.messages.report(&report::text(&end, format));
    }
    Ok(shown::conclude(context, &compared, wall))
}

/// Nobody knows the result: that must not look as if tables differed.
fn not_printed(context: &Context, failure: Failure) -> Result<Outcome, Failure> {
    match failure {
        Failure::Environment { message, .. } => {
            context.messages.error(NAME, &message, &[]);
            Ok(Outcome::Code(CANNOT))
        }
        failure => Err(failure),
    }
}

/// Tables of the second side that the first has none of. An archive may be of a part of its database.
fn unread(context: &Context, args: &DbVerifyArgs, sides: &[Side; 2]) -> Vec<(String, TableState)> {
    match sides {
        [Side::Server { .. }, Side::Server { reading, .. }] if args.tables.is_empty() => {
            reading.others().iter().map(|name| (name.clone(), TableState::Unread)).collect()
        }
        [Side::Archive { .. }, Side::Server { reading, .. }] if args.tables.is_empty() => {
            let count = reading.others().len() as u64;
            if count > 0 {
                let count = mh_kit::report::counted(count, "table");
                context.messages.note(NAME, &format!("{count} of the database not in the archive, and not compared"));
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

type SideStates = Result<Vec<(String, TableState)>, DumpError>;

/// Both at the same time, of one moment each. The failure of one ends the other.
fn read_both(sides: &[Side; 2], connections: [usize; 2], lease: &dyn Lease) -> [SideStates; 2] {
    let ends_other = |states: SideStates, other: &Side| {
        if let (Err(_), Some(reading)) = (&states, other.reading()) {
            reading.stop();
        }
        states
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(|| ends_other(sides[1].states(connections[1], lease), &sides[0]));
        let first = ends_other(sides[0].states(connections[0], lease), &sides[1]);
        [first, second.join().expect("a reader does not panic")]
    })
}

fn failed(context: &Context, side: &Side, error: &DumpError, signals: &EndingSignals) -> Outcome {
    if let Some(signal) = signals.signal().filter(|_| matches!(error, DumpError::Interrupted)) {
        context.messages.error(NAME, &format!("compare {}: interrupted", side.name()), &[]);
        return Outcome::Code(u8::try_from(BY_SIGNAL + signal).unwrap_or(1));
    }
    let cause = with_causes(error);
    let hints: Vec<String> = advice(error, &cause).into_iter().map(str::to_owned).collect();
    context.messages.error(NAME, &format!("compare {}: {cause}", side.name()), &hints);
    Outcome::Code(CANNOT)
}

fn advice(error: &DumpError, cause: &str) -> Option<&'static str> {
    match error {
        DumpError::MySql(MySqlDumpFault::Changed(_)) => Some("run it again when no DDL runs"),
        _ if cause.contains("Lock wait timeout") => Some(
            "a session holds what the lock needs: information_schema.processlist names it; --lock none takes no lock",
        ),
        _ => None,
    }
}

/// LIMIT: connections to another host that share a hand: they compute a tenth of the time.
const CONNECTIONS_A_HAND: usize = 8;
