//! A connection's thread: takes chunks, loads each within a transaction, holds a hand while the server works. After a conflict a chunk is sent again if
//! it has a transaction of its own.

use super::control::{LoadClocks, LoadControl, PanicEnds};
use super::ledger::{ChunkLedger, LoadedRange};
use super::narrowing::{Narrowed, load_narrowing, put_away, refused_left};
use super::{Commit, TableLoad};
use crate::chunks::RowChunk;
use crate::error::LoadFailure;
use crate::target::{LoadSession, SessionFailure, TableTarget};
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;
use wire::Protocol;

/// What all connections have in common.
pub struct LoadShared<'a, 'b> {
    load: &'a TableLoad<'b>,
    control: &'a LoadControl,
    ledger: Option<&'a ChunkLedger>,
}

impl<'a, 'b> LoadShared<'a, 'b> {
    pub fn new(load: &'a TableLoad<'b>, control: &'a LoadControl, ledger: Option<&'a ChunkLedger>) -> Self {
        Self { load, control, ledger }
    }
}

/// LIMIT: how often a chunk is sent again.
const RETRIES_MAX: u32 = 10;
/// The first wait before that; each one is twice as long.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// Works until there are no chunks, or the load has failed.
pub fn work(shared: &LoadShared<'_, '_>) -> LoadClocks {
    let _panic_ends = PanicEnds(shared.control);
    let cpu_before = thread_cpu_ns();
    let mut clocks = LoadClocks::default();
    if let Err(error) = with_session(shared, &mut clocks) {
        shared.control.fail(error, None);
    }
    clocks.client_cpu = Duration::from_nanos(thread_cpu_ns() - cpu_before);
    clocks
}

fn with_session(shared: &LoadShared<'_, '_>, clocks: &mut LoadClocks) -> Result<(), LoadFailure> {
    let mut session = shared.load.target.open()?;
    let number = session.number();
    if let Some((number, canceller)) = number.zip(session.canceller()) {
        shared.control.opened(number, canceller);
    }
    let outcome = match shared.load.commit {
        Commit::AtTheEnd => all_in_one(shared, session.as_mut(), clocks),
        Commit::EachChunk => chunk_by_chunk(shared, session, clocks),
    };
    if let Some(number) = number {
        shared.control.closed(number);
    }
    outcome
}

/// One transaction for all chunks that this connection gets; committed when every connection has come so far.
fn all_in_one(
    shared: &LoadShared<'_, '_>,
    session: &mut dyn LoadSession,
    clocks: &mut LoadClocks,
) -> Result<(), LoadFailure> {
    let (load, control) = (shared.load, shared.control);
    session.execute("begin")?;
    if load.truncates && truncates_itself(load) {
        session.execute(&truncate_statement(load.target))?;
    }
    let mut ranges = Vec::new();
    while let Some(chunk) = next_chunk(control, clocks) {
        let loaded = with_hand(shared, clocks, || session.load(&chunk.bytes));
        let rows = loaded.map_err(|failure| failed(failure, &chunk, load))?;
        control.loaded(rows, chunk.bytes.len() as u64);
        ranges.push(LoadedRange::of(&chunk, rows));
        control.queue.give_back(chunk);
    }
    if control.is_stopped() || !control.ending.meet(0) {
        return roll_back(session);
    }
    session.check_deferred()?;
    if !control.ending.meet(1) {
        return roll_back(session);
    }
    commit(control, session, ranges)
}

fn roll_back(session: &mut dyn LoadSession) -> Result<(), LoadFailure> {
    // A connection that is gone is rolled back by the server.
    let _gone = session.execute("rollback");
    Ok(())
}

fn commit(control: &LoadControl, session: &mut dyn LoadSession, ranges: Vec<LoadedRange>) -> Result<(), LoadFailure> {
    match session.execute("commit") {
        Ok(()) => {
            control.committed(ranges);
            Ok(())
        }
        Err(SessionFailure::Lost(error)) => {
            control.is_unknown(ranges);
            Err(error.into())
        }
        Err(other) => Err(other.into()),
    }
}

fn next_chunk(control: &LoadControl, clocks: &mut LoadClocks) -> Option<RowChunk> {
    let before = Instant::now();
    let chunk = control.queue.take();
    clocks.waiting_for_chunks += before.elapsed();
    chunk
}

/// Holds a hand while the server works.
fn with_hand<T>(shared: &LoadShared<'_, '_>, clocks: &mut LoadClocks, work: impl FnOnce() -> T) -> T {
    let before = Instant::now();
    let hand = shared.load.lease.take();
    clocks.waiting_for_hands += before.elapsed();
    shared.control.begins_work();
    let before = Instant::now();
    let done = work();
    clocks.loading += before.elapsed();
    shared.control.ends_work();
    shared.load.lease.give_back(hand);
    done
}

fn chunk_by_chunk(
    shared: &LoadShared<'_, '_>,
    mut session: Box<dyn LoadSession>,
    clocks: &mut LoadClocks,
) -> Result<(), LoadFailure> {
    let control = shared.control;
    while let Some(chunk) = next_chunk(control, clocks) {
        let mut attempt = 0;
        loop {
            let outcome = with_hand(shared, clocks, || one_chunk(shared, session.as_mut(), &chunk));
            let Err(failure) = outcome else { break };
            attempt += 1;
            let again = failure.is_worth_another() && attempt <= RETRIES_MAX && !control.is_stopped();
            if !again {
                roll_back(session.as_mut())?;
                return Err(failure.into_error(&chunk, shared.load));
            }
            control.retried();
            std::thread::sleep(RETRY_AFTER * 2_u32.pow(attempt.min(7)));
            if failure.is_lost() {
                session = shared.load.target.open()?;
            } else {
                roll_back(session.as_mut())?;
            }
        }
        control.queue.give_back(chunk);
    }
    Ok(())
}

/// Why a chunk with a transaction of its own is not in.
enum ChunkFailure {
    Session(SessionFailure),
    /// For reasons that do not go away.
    Load(LoadFailure),
}

impl From<SessionFailure> for ChunkFailure {
    fn from(failure: SessionFailure) -> Self {
        Self::Session(failure)
    }
}

impl From<LoadFailure> for ChunkFailure {
    fn from(error: LoadFailure) -> Self {
        Self::Load(error)
    }
}

impl ChunkFailure {
    fn is_worth_another(&self) -> bool {
        matches!(self, Self::Session(SessionFailure::Again(_) | SessionFailure::Lost(_)))
    }

    fn is_lost(&self) -> bool {
        matches!(self, Self::Session(SessionFailure::Lost(_)))
    }

    fn into_error(self, chunk: &RowChunk, load: &TableLoad<'_>) -> LoadFailure {
        match self {
            Self::Session(failure) => failed(failure, chunk, load),
            Self::Load(error) => error,
        }
    }
}

fn one_chunk(shared: &LoadShared<'_, '_>, session: &mut dyn LoadSession, chunk: &RowChunk) -> Result<(), ChunkFailure> {
    let (load, control) = (shared.load, shared.control);
    session.execute("begin")?;
    if let Some(statement) = shared.ledger.and_then(|ledger| ledger.use_of(load.target)) {
        session.execute(&statement)?;
    }
    let narrowed = match load.rejects {
        None => Narrowed { rows: session.load(&chunk.bytes)?, refused: Vec::new() },
        Some(rejects) => {
            let left = refused_left(rejects, control);
            load_narrowing(session, load.target.format(), &chunk.bytes, left)?
        }
    };
    let range = LoadedRange::of(chunk, narrowed.rows);
    if let Some(ledger) = shared.ledger {
        session.execute(&ledger.note(&range))?;
    }
    if let Some(rejects) = load.rejects {
        put_away(rejects, control, chunk, &narrowed.refused)?;
    }
    // Behind this line a lost connection is no reason to send the chunk again.
    commit(control, session, vec![range])?;
    control.loaded(narrowed.rows, chunk.bytes.len() as u64);
    Ok(())
}

/// The failure with the place of its row.
fn failed(failure: SessionFailure, chunk: &RowChunk, load: &TableLoad<'_>) -> LoadFailure {
    let SessionFailure::Rows(refusals) = failure else { return failure.into() };
    let Some(first) = refusals.into_iter().next() else { return LoadFailure::Database(String::new()) };
    let row = first.row.and_then(|number| load.target.format().rows(&chunk.bytes).nth(number));
    match row {
        Some(row) => LoadFailure::Row { place: chunk.place(row.start), message: first.message },
        None => LoadFailure::Rows {
            from: chunk.place(0),
            last_line: chunk.first_line + chunk.lines,
            message: first.message,
        },
    }
}

/// Whether the one connection empties the table in its own transaction.
pub fn truncates_itself(load: &TableLoad<'_>) -> bool {
    let is_in_transactions = load.target.protocol() != Some(Protocol::MySql);
    is_in_transactions && load.connections == 1 && load.commit == Commit::AtTheEnd
}

/// What empties the table.
pub fn truncate_statement(target: &TableTarget) -> String {
    match target.protocol() {
        None => format!("delete from {}", target.facts.sql_name),
        Some(_) => format!("truncate table {}", target.facts.sql_name),
    }
}
