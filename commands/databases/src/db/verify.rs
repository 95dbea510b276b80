//! `mh db verify`: finds both sides, reads what is to be read, and prints which tables are the same.

mod args;
mod plan;
mod progress;
mod report;
mod shown;

pub use args::{DbVerifyArgs, EXAMPLES};

use super::connect::{self, ServerSurroundings};
use super::hands::ServedRun;
use super::stopping::EndingSignals;
use args::TypedSide;
use crew::budget::Lease;
use database::dump::{DumpError, DumpProgress};
use database::target::Database;
use database::verify::{
    ArchiveDigests, NoDigests, PostgresReading, TableState, TableToRead, WantedTables, compare, is_named, together,
};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::show_plan;
use plan::{ReadServerFacts, SideFacts, VerifyPlan};
use report::VerifyEnd;
use shown::TablesShown;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use terminal::Verbosity;
use wire::{Protocol, ServerAddress};

/// How messages begin.
const NAME: &str = "mh db verify";

/// The exit code of a wrong command line, of a side that cannot be read.
const CANNOT: u8 = 2;

/// The exit code of a run that a signal ended, less the signal's number.
const BY_SIGNAL: i32 = 128;

/// Bytes of a table that are read at a time.
const PART_BYTES: u64 = 32 << 20;

/// A side that is known.
enum Side {
    Archive { path: PathBuf, digests: ArchiveDigests },
    Server { name: String, is_here: bool, reading: Arc<PostgresReading> },
}

/// A side that is not looked at yet.
enum NamedSide {
    Archive(PathBuf),
    Server { name: String, address: Box<ServerAddress> },
}

/// Runs it.
pub fn run(context: &mut Context, mut args: DbVerifyArgs) -> Result<Outcome, Failure> {
    let verbosity = if args.quiet { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    args.standing.settle(&context.settings.crew);
    let typed = args.both_sides().map_err(usage)?;
    let [one, other] = typed.map(|side| named(context, &args, side));
    let signals = EndingSignals::hold().map_err(mh_kit::context::signal_failure)?;
    let sides = match look(&args, [one?, other?]) {
        Ok(sides) => sides,
        Err(refused) => {
            context.messages.error(NAME, &refused, &[]);
            return Ok(Outcome::Code(CANNOT));
        }
    };
    let encoding = sides.iter().find_map(Side::encoding);
    let facts = [facts(&sides[0]), facts(&sides[1])];
    let job = plan::plan(args.connections, context.machine.hands_allowed(), &facts, encoding.as_deref());
    if args.explain {
        show_plan(context, &job.plan, args.report)?;
        return Ok(Outcome::Done);
    }
    carry_out(context, &args, &job, sides, &signals)
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

fn named(context: &Context, args: &DbVerifyArgs, side: TypedSide) -> Result<NamedSide, Failure> {
    let text = match side {
        TypedSide::Archive(path) => return Ok(NamedSide::Archive(path)),
        TypedSide::Server(text) => text,
    };
    let mut connect = args.connect.clone();
    connect.dbname = text.or(connect.dbname);
    let found = connect::find(&connect, &ServerSurroundings::look()).map_err(usage)?;
    for warning in &found.warnings {
        context.messages.warning(NAME, warning, &[]);
    }
    match found.database {
        Database::Server(address) if address.protocol() == Protocol::Postgres => {
            Ok(NamedSide::Server { name: found.name, address })
        }
        Database::Server(_) => Err(usage("tables of MariaDB and MySQL are compared by CHECKSUM TABLE".to_owned())),
        Database::Sqlite(_) => Err(usage("SQLite files are compared by sqldiff".to_owned())),
    }
}

/// Looks at both; the second side has the tables of the first, and is read in its encoding. The error reads after "could not".
fn look(args: &DbVerifyArgs, [one, other]: [NamedSide; 2]) -> Result<[Side; 2], String> {
    let wanted = if args.tables.is_empty() { WantedTables::All } else { WantedTables::Named(args.tables.clone()) };
    let first = look_at(one, &wanted, None, &args.tables)?;
    let tables: Vec<TableToRead> = match &first {
        Side::Archive { digests, .. } => digests.tables.iter().map(|(table, _)| table.clone()).collect(),
        Side::Server { reading, .. } => reading.tables().map(|(table, _)| table).collect(),
    };
    if let Some(unknown) =
        args.tables.iter().find(|name| !tables.iter().any(|table| is_named(&table.name, std::slice::from_ref(*name))))
    {
        return Err(format!("find table '{}' on the first side, {}", terminal::printable(unknown), first.name()));
    }
    let encoding = first.encoding();
    let second = look_at(other, &WantedTables::These(tables), encoding.as_deref(), &args.tables)?;
    Ok([first, second])
}

fn look_at(side: NamedSide, wanted: &WantedTables, encoding: Option<&str>, names: &[String]) -> Result<Side, String> {
    match side {
        NamedSide::Archive(path) => {
            let mut digests = ArchiveDigests::read(&path).map_err(|error| match error {
                NoDigests::Read { .. } => {
                    format!("{}; mh db dump writes it, other archives have none", with_causes(&error))
                }
                error => format!("compare {}: {error}", terminal::quote(&path)),
            })?;
            digests.tables.retain(|(table, _)| names.is_empty() || is_named(&table.name, names));
            Ok(Side::Archive { path, digests })
        }
        NamedSide::Server { name, address } => {
            let looked = PostgresReading::look(&address, wanted, encoding, PART_BYTES);
            let reading = looked.map_err(|error| format!("look at {name}: {}", with_causes(&error)))?;
            Ok(Side::Server { name, is_here: address.is_local(), reading: Arc::new(reading) })
        }
    }
}

impl Side {
    fn name(&self) -> String {
        match self {
            Self::Archive { path, .. } => terminal::quote(path).to_string(),
            Self::Server { name, .. } => name.clone(),
        }
    }

    fn encoding(&self) -> Option<String> {
        match self {
            Self::Archive { digests, .. } => digests.encoding.clone(),
            Self::Server { reading, .. } => reading.encoding().ok(),
        }
    }

    fn reading(&self) -> Option<&Arc<PostgresReading>> {
        match self {
            Self::Archive { .. } => None,
            Self::Server { reading, .. } => Some(reading),
        }
    }

    /// Rows and digests of its tables, which are read if they are a server's.
    fn states(&self, connections: usize, lease: &dyn Lease) -> Result<Vec<(String, TableState)>, DumpError> {
        match self {
            Self::Archive { digests, .. } => {
                let state = |(table, digest): &(TableToRead, _)| (table.name.clone(), TableState::Read(*digest));
                Ok(digests.tables.iter().map(state).collect())
            }
            Self::Server { reading, .. } => reading.read(connections, lease),
        }
    }
}

fn facts(side: &Side) -> SideFacts {
    let name = side.name();
    match side {
        Side::Archive { digests, .. } => SideFacts { name, server: None, tables: digests.tables.len() as u64 },
        Side::Server { is_here, reading, .. } => {
            let tables: Vec<(String, u64)> = reading.tables().map(|(table, bytes)| (table.name, bytes)).collect();
            let count = tables.len() as u64;
            let (version, parts, stored) = (reading.server_version(), reading.parts(), reading.stored());
            let server = ReadServerFacts { version, is_here: *is_here, parts, stored, tables };
            SideFacts { name, server: Some(server), tables: count }
        }
    }
}

fn carry_out(
    context: &Context,
    args: &DbVerifyArgs,
    job: &VerifyPlan,
    sides: [Side; 2],
    signals: &EndingSignals,
) -> Result<Outcome, Failure> {
    let readings: Vec<Arc<PostgresReading>> = sides.iter().filter_map(Side::reading).cloned().collect();
    let stopped = readings.clone();
    signals
        .end_with(move || stopped.iter().for_each(|reading| reading.stop()))
        .map_err(mh_kit::context::signal_failure)?;
    let is_here = sides.iter().all(|side| !matches!(side, Side::Server { is_here: false, .. }));
    let a_hand = if is_here { 1 } else { CONNECTIONS_A_HAND };
    let served =
        ServedRun { command: NAME, purpose: &job.plan.purpose, connections: job.connections.iter().sum(), a_hand };
    let (shared, lease) = served.lease(context, &args.standing);
    let read = move || {
        let all = readings.iter().map(|reading| reading.progress());
        all.fold(DumpProgress::default(), |sum, one| together(&sum, &one))
    };
    let progress = progress::start(context, read.clone());
    let begin = Instant::now();
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
        (true, _) => TablesShown::Json,
        (false, true) => TablesShown::Different,
        (false, false) => TablesShown::All,
    };
    shown::tables(&compared, how)?;
    if let Some(format) = args.report {
        let end = VerifyEnd {
            purpose: &job.plan.purpose,
            progress: &read(),
            connections: job.connections.iter().sum(),
            wall,
            hands_from: shared.hands_from(lease.as_ref()),
        };
        context.messages.report(&report::text(&end, format));
    }
    Ok(shown::conclude(context, &compared, wall))
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
    context.messages.error(NAME, &format!("compare {}: {}", side.name(), with_causes(error)), &[]);
    Outcome::Code(CANNOT)
}

/// LIMIT: connections to another host that share a hand: they compute a tenth of the time.
const CONNECTIONS_A_HAND: usize = 8;
