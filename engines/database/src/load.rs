//! A load: one thread reads and cuts, each connection has a thread that loads chunks, one looks at what the server waits for. README.md has the rules of
//! transactions. Decides nothing about files and tables; its caller does.

mod control;
mod ending;
mod ledger;
mod narrowing;
mod queue;
mod reading;
mod watch;
mod worker;

pub use control::{LoadClocks, LoadControl};
pub use ledger::{LoadedRange, SourceFacts};
pub use narrowing::{RejectedRow, Rejects, TakeRejected};
pub use reading::{header_names, is_name_of};
pub use watch::{ServerWait, WaitTally};
pub(crate) use watch::{postgres_wait, watch_postgres};

use crate::chunks::ChunkRules;
use crate::error::LoadFailure;
use crate::inputs::LoadInput;
use crate::target::TableTarget;
use crew::budget::Lease;
use ledger::ChunkLedger;
use wire::Connection;

/// What becomes of rows that are in when another is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Nothing is kept unless all of it is: each connection commits at the end, when all are done.
    AtTheEnd,
    /// Each chunk is kept by itself.
    EachChunk,
}

/// What to load and how.
pub struct TableLoad<'a> {
    /// Where to.
    pub target: &'a TableTarget,
    /// Where from.
    pub inputs: &'a [LoadInput],
    /// How inputs are cut.
    pub rules: &'a ChunkRules,
    /// Connections, at most.
    pub connections: usize,
    /// What is kept.
    pub commit: Commit,
    /// Where refused rows go; none: the first ends the load.
    pub rejects: Option<&'a Rejects<'a>>,
    /// Whether what is done is noted in the database, and what a load before has noted is passed over: with the inputs as they are.
    pub resumes: Option<&'a [SourceFacts]>,
    /// Whether the table is emptied first.
    pub truncates: bool,
    /// How the columns of the header are taken.
    pub header: HeaderUse,
    /// LIMIT: bytes of chunks that wait or are under way, unless one alone has more.
    pub held_bytes: u64,
    /// Whose hands: a connection holds one while the server works for it.
    pub lease: &'a dyn Lease,
    /// Hands for decoding.
    pub decoders: usize,
}

/// What the first row of each input is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeaderUse {
    /// It is passed over; one that names the columns in another order ends the load.
    #[default]
    Checked,
    /// It is passed over, whatever it says.
    Skipped,
    /// It has to name the columns in their order.
    Matched,
    /// It names the columns that values are for. The caller has read it already.
    Names,
}

/// What came of a load.
#[derive(Debug, Default)]
pub struct LoadOutcome {
    /// Why it did not load all; none if it did.
    pub error: Option<LoadFailure>,
    /// What is committed by this run, in the order of the inputs, neighbours as one.
    pub committed: Vec<LoadedRange>,
    /// What may be committed or not: the connection broke when the server was asked to.
    pub unknown: Vec<LoadedRange>,
    /// What an earlier run had done.
    pub done_before: Vec<LoadedRange>,
    /// Rows that are committed.
    pub rows: u64,
    /// Rows that were refused and written away.
    pub rejected: u64,
    /// How often a chunk was sent again after a conflict.
    pub retries: u64,
    /// Connections that were used.
    pub connections: usize,
    /// Where the time went.
    pub clocks: LoadClocks,
    /// What the server did for us, look by look.
    pub waits: WaitTally,
}

/// Loads all inputs. `watching` is a connection that may ask questions meanwhile.
pub fn run(load: &TableLoad<'_>, control: &LoadControl, watching: Option<Connection>) -> LoadOutcome {
    let begin = std::time::Instant::now();
    let mut outcome = LoadOutcome::default();
    let prepared = prepare(load);
    let ledger = match prepared {
        Ok(ledger) => ledger,
        Err(error) => {
            outcome.error = Some(error);
            return outcome;
        }
    };
    let shared = worker::LoadShared::new(load, control, ledger.as_ref());
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch::watch(watching, load, control));
        let reader = scope.spawn(|| reading::read_all(load, control, ledger.as_ref()));
        let workers: Vec<_> = (0..load.connections).map(|_| scope.spawn(|| worker::work(&shared))).collect();
        for worker in workers {
            let clocks = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome.clocks.add(&clocks);
        }
        // Nobody takes chunks any more.
        control.queue.stop();
        let clocks = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.clocks.add(&clocks);
        control.end_watch();
        outcome.waits = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    outcome.clocks.wall = begin.elapsed();
    control.fill(&mut outcome);
    if let Some(ledger) = ledger {
        outcome.done_before = ledger::merged(ledger.done().to_vec());
        if outcome.error.is_none()
            && let Err(error) = ledger.drop_with(load.target)
        {
            outcome.error = Some(error);
        }
    }
    outcome.connections = load.connections;
    outcome
}

/// Empties the table, and finds the ledger or makes one. A load that goes on empties nothing.
fn prepare(load: &TableLoad<'_>) -> Result<Option<ChunkLedger>, LoadFailure> {
    let ledger = load.resumes.map(|sources| ChunkLedger::open(load.target, sources)).transpose()?;
    let goes_on = ledger.as_ref().is_some_and(|ledger| !ledger.done().is_empty());
    if load.truncates && !goes_on && !worker::truncates_itself(load) {
        load.target.open()?.execute(&worker::truncate_statement(load.target))?;
    }
    Ok(ledger)
}

#[cfg(test)]
mod tests;
