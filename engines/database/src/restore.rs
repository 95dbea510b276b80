//! A restore of pg_dump's directory format. pg_restore restores all of it but rows of tables and their indexes: rows are loaded here over many
//! connections, and a table's indexes are made as soon as its rows are in. Theory: README.md.

mod board;
mod clean;
mod contents;
mod error;
mod feed;
mod ledger;
mod making;
pub(crate) mod occupied;
mod order;
mod program;
pub(crate) mod reread;
mod tables;
pub(crate) mod work;

pub use contents::{ArchiveContents, ArchiveEntry, ArchiveReader, ArchiveScript, EntryKind, Section};
pub use error::RestoreError;
pub use tables::{RestoreParts, RestoreTable, RowSource};
pub use work::RowFrameReader;

use crate::dump::proxy::ProgramProxy;
use crate::dump::{connections_left, major};
use crate::load::{WaitTally, watch_postgres};
use board::RestoreBoard;
use crew::budget::Lease;
use feed::Feeding;
use ledger::{LedgerState, RestoreLedger, RestoreStage};
use making::IndexMaking;
use parking_lot::Mutex;
use program::{RestoreHost, RestoreProgram};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wire::{Connection, ServerAddress};
use work::Working;

/// How long a server may take for a login.
const LOGIN: Duration = Duration::from_secs(30);

/// What is restored, and how.
pub struct RestoreRequest {
    /// The server and its database.
    pub address: ServerAddress,
    /// The directory with pg_restore.
    pub programs: PathBuf,
    /// The archive.
    pub archive: PathBuf,
    /// pg_restore's options for how statements are written: owners, rights, tablespaces.
    pub options: Vec<OsString>,
    /// A private directory for lists and a socket; its path must be short (unix(7)).
    pub scratch: PathBuf,
    /// Connections that load rows and make indexes.
    pub connections: usize,
    /// Cores of the server that builds of indexes may use.
    pub cores: usize,
    /// Memory for all sorts of indexes together; none: each session has what the server gives it.
    pub index_memory: Option<u64>,
    /// Uncompressed bytes of a piece of a file that pg_dump has written.
    pub chunk_bytes: usize,
    /// What may be there before.
    pub into: RestoreInto,
    /// Whether the first statement that is refused ends the restore.
    pub exits_on_error: bool,
    /// Whether tables are vacuumed and analysed at the end.
    pub vacuums: bool,
    /// Whether rows are read again at the end, and compared with `mh.index`.
    pub verifies: bool,
}

/// What a restore may find in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreInto {
    /// Nothing.
    Empty,
    /// Anything.
    Existing,
    /// What is to be restored; it is dropped before.
    Cleaned {
        /// Whether it may also not be there.
        if_exists: bool,
    },
    /// What an interrupted restore has left; nothing else, if there was none.
    Interrupted,
}

/// A statement that the server refused, and the restore went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreFault {
    /// What was attempted.
    pub what: String,
    /// The server's words.
    pub message: String,
}

/// Stages of a restore, for progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestorePhase {
    /// pg_restore makes schemas and tables.
    #[default]
    Before,
    /// Rows are loaded and indexes made.
    Rows,
    /// pg_restore makes foreign keys, triggers and the rest.
    After,
    /// Tables are vacuumed.
    Vacuum,
    /// Rows are read again.
    Verify,
}

/// How far a restore is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreProgress {
    /// What it is at.
    pub phase: RestorePhase,
    /// Tables with rows, and those that are done with their indexes.
    pub tables: u64,
    /// Of these.
    pub tables_done: u64,
    /// Rows that are in.
    pub rows: u64,
    /// Their bytes as COPY has them.
    pub bytes: u64,
    /// Bytes of the archive whose rows are in.
    pub stored_done: u64,
    /// In all.
    pub stored: u64,
    /// Indexes and constraints of tables whose rows are in.
    pub indexes: u64,
    /// Of these.
    pub indexes_done: u64,
    /// Connections at work.
    pub at_work: u64,
    /// Where their threads have spent their time.
    pub clocks: RestoreClocks,
}

/// Time of all connections, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreClocks {
    /// Loading rows.
    pub loading: Duration,
    /// Making indexes.
    pub indexing: Duration,
    /// Of both, computing in this program.
    pub computing: Duration,
    /// Waiting for a core of the machine's budget.
    pub waiting_for_hands: Duration,
    /// Waiting for something to do.
    pub waiting_for_work: Duration,
}

impl RestoreClocks {
    pub(crate) fn add(&mut self, other: &Self) {
        self.loading += other.loading;
        self.indexing += other.indexing;
        self.computing += other.computing;
        self.waiting_for_hands += other.waiting_for_hands;
        self.waiting_for_work += other.waiting_for_work;
    }
}

/// What came of a restore that reached its end.
#[derive(Debug)]
pub struct Restored {
    /// At its end.
    pub progress: RestoreProgress,
    /// Rows that an interrupted restore had loaded.
    pub rows_before: u64,
    /// Statements that were refused.
    pub faults: Vec<RestoreFault>,
    /// What pg_restore warned of.
    pub warnings: Vec<String>,
    /// What the server did for us, look by look.
    pub waits: WaitTally,
}

/// A restore that runs; what it shows of itself.
#[derive(Default)]
pub struct RestoreRun {
    board: Arc<RestoreBoard>,
    warnings: Mutex<Vec<String>>,
}

/// A server that rows are restored into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreTarget {
    /// Its version.
    pub server_version: String,
    /// The first number of that.
    pub server_major: u32,
    /// Connections that it has left, with that of the look.
    pub connections_left: u64,
}

/// An archive that was looked at.
#[derive(Clone, Debug, Default)]
pub struct LookedArchive {
    /// Its selected entries.
    pub contents: ArchiveContents,
    /// Who restores what.
    pub parts: RestoreParts,
}

impl LookedArchive {
    /// Looks at an archive: `selection` are pg_restore's options for what is restored, `options` those for how.
    pub fn look(
        reader: &ArchiveReader<'_>,
        selection: &[OsString],
        options: &[OsString],
    ) -> Result<Self, RestoreError> {
        let contents = reader.contents(selection)?;
        let script = reader.script(&tables::scripted(&contents), options)?;
        let parts = tables::divide(reader.archive, &contents, &script)?;
        Ok(Self { contents, parts })
    }
}

/// What the parts of a run have in common.
struct Running<'a> {
    request: &'a RestoreRequest,
    looked: &'a LookedArchive,
    lease: &'a dyn Lease,
    reader: ArchiveReader<'a>,
    proxy: ProgramProxy,
    leader: Mutex<Connection>,
    ledger: RestoreLedger,
    goes_on: bool,
    note_at_commit: Arc<Mutex<Option<String>>>,
    warnings: Mutex<Vec<String>>,
    faults: Mutex<Vec<RestoreFault>>,
}

impl RestoreRun {
    /// Nothing has begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the server, over a connection that is returned; `stop` ends that, too.
    pub fn look(&self, address: &ServerAddress) -> Result<(RestoreTarget, Connection), RestoreError> {
        let mut connection = connect(address)?;
        self.board.may_be_cancelled(&connection);
        let left = connections_left(&mut connection)
            .map_err(|cause| RestoreError::Server { what: "read the server's settings".to_owned(), cause })?;
        let server_version = connection.server_version().to_owned();
        let server_major = major(&server_version).unwrap_or(0);
        Ok((RestoreTarget { server_version, server_major, connections_left: left }, connection))
    }

    /// Warnings, whether it has succeeded or not.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock())
    }

    /// How far it is.
    pub fn progress(&self) -> RestoreProgress {
        self.board.progress()
    }

    /// Ends it: statements on the server are cancelled. What is committed stays, for a restore that goes on.
    pub fn stop(&self) {
        self.board.stop(RestoreError::Interrupted);
    }

    /// Restores.
    pub fn run(
        &self,
        request: &RestoreRequest,
        looked: &LookedArchive,
        lease: &dyn Lease,
    ) -> Result<Restored, RestoreError> {
        let outcome = self.restore(request, looked, lease);
        if outcome.is_err() {
            // What was ended from outside has failed in some way.
            self.board.end()?;
        }
        outcome
    }

    fn restore(
        &self,
        request: &RestoreRequest,
        looked: &LookedArchive,
        lease: &dyn Lease,
    ) -> Result<Restored, RestoreError> {
        let mut leader = connect(&request.address)?;
        self.board.may_be_cancelled(&leader);
        work::set_up(&mut leader, &looked.parts.settings)?;
        let archive = ledger::archive_name(&request.archive, looked)?;
        let (ledger, goes_on) = begin(&mut leader, request, looked, &archive)?;
        let note_at_commit = Arc::new(Mutex::new(None));
        let host = Box::new(RestoreHost {
            board: Arc::clone(&self.board),
            note_at_commit: Arc::clone(&note_at_commit),
            server_major: major(leader.server_version()).unwrap_or(0),
        });
        let running = Running {
            request,
            looked,
            lease,
            reader: ArchiveReader {
                programs: &request.programs,
                archive: &request.archive,
                scratch: &request.scratch,
                sections: &[],
            },
            proxy: ProgramProxy::open(&request.scratch, request.address.clone(), host)?,
            leader: Mutex::new(leader),
            ledger,
            goes_on,
            note_at_commit,
            warnings: Mutex::default(),
            faults: Mutex::default(),
        };
        self.clean(&running)?;
        self.before(&running)?;
        let waits = self.rows_and_indexes(&running)?;
        self.after(&running)?;
        self.vacuum(&running)?;
        self.verify(&running)?;
        let failed = |cause| RestoreError::Server { what: "remove what was noted".to_owned(), cause };
        ledger::remove(&mut running.leader.lock()).map_err(failed)?;
        let mut faults = running.ledger.refused().to_vec();
        faults.append(&mut running.faults.into_inner());
        let (rows_before, warnings) = (running.ledger.rows(), running.warnings.into_inner());
        Ok(Restored { progress: self.board.progress(), rows_before, faults, warnings, waits })
    }

    fn clean(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        let RestoreInto::Cleaned { if_exists } = running.ledger.begun_into() else { return Ok(()) };
        if running.ledger.has(RestoreStage::Cleaned) {
            return Ok(());
        }
        let has_drop = |entry: &&ArchiveEntry| entry.section != Section::Data || entry.kind == EntryKind::LargeObject;
        let entries: Vec<&ArchiveEntry> = running.looked.contents.entries.iter().filter(has_drop).collect();
        let options = &running.request.options;
        // What an interrupted run has dropped is not there.
        let if_exists = if_exists || running.goes_on;
        let faults =
            clean::clean(&mut running.leader.lock(), &self.board, &running.reader, &entries, options, if_exists)?;
        self.board.end()?;
        running.note(RestoreStage::Cleaned, faults)
    }

    /// Schemas, tables, functions: pg_restore's, one statement after the other.
    fn before(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        self.board.enter(RestorePhase::Before);
        if running.ledger.has(RestoreStage::Before) {
            return Ok(());
        }
        let refused = running.pg_restore(&self.board, "before", &running.looked.parts.before, &[])?;
        running.note(RestoreStage::Before, refused)
    }

    /// Rows and indexes, and large objects beside them.
    fn rows_and_indexes(&self, running: &Running<'_>) -> Result<WaitTally, RestoreError> {
        self.board.enter(RestorePhase::Rows);
        let parts = &running.looked.parts;
        let request = running.request;
        let indexes = IndexMaking::new(request, &parts.tables, &mut running.leader.lock(), running.goes_on)?;
        let streams = parts.tables.iter().filter(|table| table.source == RowSource::Stream).count();
        let feeders = if parts.in_order { 1 } else { (request.connections / 4).clamp(1, streams.max(1)) };
        self.board.begin(&parts.tables, &indexes.lanes, feeders);
        self.warn(running)?;
        let order::TableOrder { order, referring } = order::order(parts, &mut running.leader.lock())?;
        let feeding = Feeding {
            request,
            tables: &parts.tables,
            order: &order,
            next: &AtomicUsize::new(0),
            ledger: &running.ledger,
            board: &self.board,
            lease: running.lease,
            indexes: &indexes,
            leader: &running.leader,
            in_order: parts.in_order,
            referring: &referring,
        };
        let working = Working {
            request,
            tables: &parts.tables,
            settings: &parts.settings,
            ledger: &running.ledger,
            board: &self.board,
            lease: running.lease,
            indexes: &indexes,
        };
        let connecting = || Connection::connect(&request.address, LOGIN);
        let is_over = AtomicBool::new(false);
        let waits = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(request, &self.board, &indexes, &is_over));
            let others = scope.spawn(|| self.board.ends_with(self.meanwhile(running)));
            let lanes: Vec<_> = (0..indexes.lanes.rule().lanes)
                .map(|_| scope.spawn(|| indexes.lanes.work(&connecting, running.lease)))
                .collect();
            for _ in 0..feeders {
                scope.spawn(|| feeding.run());
            }
            let workers: Vec<_> =
                (0..request.connections).map(|_| scope.spawn(|| self.board.ends_with(working.run()))).collect();
            for worker in workers {
                // What failed is on the board.
                let _worked = worker.join().expect("a worker does not panic");
            }
            indexes.lanes.no_more();
            lanes.into_iter().for_each(|lane| lane.join().expect("a lane does not panic"));
            let _restored = others.join().expect("pg_restore is waited for");
            is_over.store(true, Ordering::Release);
            watcher.join().expect("a watcher does not panic")
        });
        self.board.end()?;
        let made = indexes.end()?;
        self.board.was_indexing(made.ended, made.time);
        let first = made.faults.first().filter(|_| request.exits_on_error || self.board.is_over());
        if let Some(RestoreFault { what, message }) = first.cloned() {
            return Err(RestoreError::Refused { what, message });
        }
        running.note(RestoreStage::Rows, made.faults)?;
        Ok(waits)
    }

    /// Warns of tables that are not made here and have rows; those that an interrupted restore has left are its own.
    fn warn(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        let parts = &running.looked.parts;
        if parts.in_order && !running.goes_on {
            let names: Vec<String> = parts.tables.iter().map(|table| table.name.clone()).collect();
            self.warnings.lock().extend(occupied::warning(&mut running.leader.lock(), &names)?);
        }
        Ok(())
    }

    /// Large objects and positions of sequences: all in one transaction, so that they come once.
    fn meanwhile(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        if running.ledger.has(RestoreStage::Meanwhile) {
            return Ok(());
        }
        let entries = &running.looked.parts.meanwhile;
        if entries.is_empty() {
            return running.note(RestoreStage::Meanwhile, Vec::new());
        }
        *running.note_at_commit.lock() = Some(running.ledger.note(RestoreStage::Meanwhile));
        // The first refusal ends it.
        running.pg_restore(&self.board, "meanwhile", entries, &["--single-transaction".into()]).map(drop)
    }

    /// Foreign keys, triggers, policies, materialised views: pg_restore's, which knows which of them lock the same tables.
    fn after(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        self.board.enter(RestorePhase::After);
        let jobs = format!("--jobs={}", running.request.connections);
        let refused = running.pg_restore(&self.board, "after", &running.looked.parts.after, &[jobs.into()])?;
        running.faults.lock().extend(refused);
        Ok(())
    }

    fn vacuum(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        if !running.request.vacuums {
            return Ok(());
        }
        self.board.enter(RestorePhase::Vacuum);
        let tables = &running.looked.parts.tables;
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..running.request.connections.min(tables.len()) {
                scope.spawn(|| self.board.ends_with(self.vacuum_some(running, &next)));
            }
        });
        self.board.end()
    }

    fn verify(&self, running: &Running<'_>) -> Result<(), RestoreError> {
        if !running.request.verifies {
            return Ok(());
        }
        self.board.enter(RestorePhase::Verify);
        let tables = &running.looked.parts.tables;
        let differences = reread::differences(running.request, tables, &self.board, running.lease)?;
        running.faults.lock().extend(differences);
        Ok(())
    }

    fn vacuum_some(&self, running: &Running<'_>, next: &AtomicUsize) -> Result<(), RestoreError> {
        let mut connection = connect(&running.request.address)?;
        self.board.may_be_cancelled(&connection);
        work::set_up(&mut connection, &running.looked.parts.settings)?;
        while let Some(table) = running.looked.parts.tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            let hand = running.lease.take();
            let vacuumed = connection.execute(&format!("vacuum (freeze, analyze) {}", table.name));
            running.lease.give_back(hand);
            vacuumed.map_err(|cause| RestoreError::Server { what: format!("vacuum {}", table.name), cause })?;
        }
        Ok(())
    }
}

impl Running<'_> {
    /// Has pg_restore restore some entries; what the server refused.
    fn pg_restore(
        &self,
        board: &RestoreBoard,
        name: &str,
        entries: &[u64],
        options: &[OsString],
    ) -> Result<Vec<RestoreFault>, RestoreError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: HashSet<u64> = entries.iter().copied().collect();
        let entries: Vec<&ArchiveEntry> =
            self.looked.contents.entries.iter().filter(|entry| wanted.contains(&entry.id)).collect();
        let list = self.reader.list_file(name, &entries)?;
        let mut all = options.to_vec();
        all.extend(self.request.options.iter().cloned());
        all.extend((self.request.exits_on_error && !self.goes_on).then(|| "--exit-on-error".into()));
        let program = RestoreProgram {
            directory: &self.request.programs,
            archive: &self.request.archive,
            proxy: &self.proxy,
            board,
        };
        let mut remarks = program.run(&list, &all)?;
        if board.is_over() {
            return Err(RestoreError::Interrupted);
        }
        self.warnings.lock().append(&mut remarks.warnings);
        // In a database that was not empty, what is there may be somebody else's.
        let may_be_ours = self.goes_on && self.ledger.begun_into() != RestoreInto::Existing;
        // Nothing is wrong with the statement: the restore can go on when there is room.
        if let Some((_, fault)) = remarks.refused.iter().find(|(sqlstate, _)| sqlstate == DISK_FULL) {
            let RestoreFault { what, message } = fault.clone();
            return Err(RestoreError::Refused { what, message });
        }
        let refused = remarks.refused.into_iter();
        Ok(refused
            .filter(|(sqlstate, fault)| !may_be_ours || !is_there_already(sqlstate, &fault.message))
            .map(|(_, fault)| fault)
            .collect())
    }

    /// Notes a stage, with what the server refused in it.
    fn note(&self, stage: RestoreStage, refused: Vec<RestoreFault>) -> Result<(), RestoreError> {
        let failed = |cause| RestoreError::Server { what: "note what is done".to_owned(), cause };
        let noted = self.leader.lock().execute(&self.ledger.note_with(stage, &refused)).map(drop).map_err(failed);
        self.faults.lock().extend(refused);
        noted
    }
}

const DISK_FULL: &str = "53100";

/// Whether the server refused something that an interrupted restore has made. Each entry is one transaction, so it is there whole.
fn is_there_already(sqlstate: &str, message: &str) -> bool {
    // A table, an object, a schema, a function, a database.
    const DUPLICATES: [&str; 5] = ["42P07", "42710", "42P06", "42723", "42P04"];
    // LIMIT: codes that have other meanings, too, are told apart by the server's English words.
    let is_other = matches!(sqlstate, "42P16" | "42809" | "55000" | "42P17");
    DUPLICATES.contains(&sqlstate)
        || is_other && ["already", "multiple primary keys"].iter().any(|words| message.contains(words))
}

/// Looks at what the server does for rows and indexes, if it lets us.
fn watch(request: &RestoreRequest, board: &RestoreBoard, indexes: &IndexMaking<'_>, is_over: &AtomicBool) -> WaitTally {
    let waits = |time: Duration| {
        let end = Instant::now() + time;
        if indexes.lanes.stopped().is_some() {
            // A lane has failed: rows of other tables are not waited for.
            board.halt();
        }
        while !is_over.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.load(Ordering::Acquire)
    };
    let connections = [connect(&request.address), connect(&request.address)];
    let [Ok(mut for_rows), Ok(for_indexes)] = connections else { return WaitTally::default() };
    std::thread::scope(|scope| {
        let lanes = scope.spawn(|| indexes.lanes.watch(for_indexes, waits));
        let mut tally = watch_postgres(&mut for_rows, || board.processes(), waits);
        for (wait, count) in lanes.join().expect("a watcher does not panic").seen {
            *tally.seen.entry(wait).or_default() += count;
        }
        tally
    })
}

const OBJECTS: &str = "select count(*) from pg_catalog.pg_class c \
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and n.nspname <> 'information_schema' \
    and n.nspname !~ '^pg_' and not exists (select 1 from pg_catalog.pg_depend d \
    where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e')";

/// Looks at what is there, and finds the ledger or begins one; whether an interrupted restore goes on.
fn begin(
    leader: &mut Connection,
    request: &RestoreRequest,
    looked: &LookedArchive,
    archive: &str,
) -> Result<(RestoreLedger, bool), RestoreError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |cause| RestoreError::Server { what, cause }
    };
    let cleans = matches!(request.into, RestoreInto::Cleaned { .. });
    match RestoreLedger::look(leader, archive)? {
        LedgerState::Ours(mut ledger) if request.into == RestoreInto::Interrupted => {
            forget_unlogged(leader, looked, &mut ledger)?;
            return Ok((ledger, true));
        }
        LedgerState::None => {}
        _ if cleans => ledger::remove(leader).map_err(failed("remove what an interrupted restore has noted"))?,
        found => return Err(RestoreError::Unfinished { is_ours: matches!(found, LedgerState::Ours(_)) }),
    }
    // Rows alone go into tables that are there.
    let makes = |entry: &ArchiveEntry| entry.section == Section::PreData && entry.kind != EntryKind::LargeObject;
    let makes_objects = looked.contents.entries.iter().any(makes);
    let resumes = request.into == RestoreInto::Interrupted;
    let needs_room = makes_objects && !cleans && request.into != RestoreInto::Existing;
    if needs_room || resumes {
        let rows = leader.query(OBJECTS).map_err(failed("look whether the database is empty"))?;
        let count = rows.first().and_then(|row| str::from_utf8(row.first()?.as_deref()?).ok()?.parse().ok());
        match count.unwrap_or(0) {
            0 => {}
            _ if resumes => return Err(RestoreError::NothingInterrupted),
            objects => return Err(RestoreError::NotEmpty(objects)),
        }
    }
    Ok((RestoreLedger::begin(leader, archive, request.into)?, false))
}

/// A server that has crashed has emptied unlogged tables, and the ledger does not know it: their rows come anew. Tables that were there before are
/// left as they are.
fn forget_unlogged(
    leader: &mut Connection,
    looked: &LookedArchive,
    ledger: &mut RestoreLedger,
) -> Result<(), RestoreError> {
    let parts = &looked.parts;
    if ledger.begun_into() == RestoreInto::Existing || parts.in_order {
        return Ok(());
    }
    let has_rows = ledger.entries();
    for table in parts.tables.iter().filter(|table| has_rows.contains(&table.entry)) {
        let failed = |cause| RestoreError::Server { what: format!("look at {}", table.name), cause };
        let sql = format!(
            "select 1 from pg_catalog.pg_class where oid = {}::pg_catalog.regclass and relpersistence = 'u'",
            crate::indexes::literal(&table.name)
        );
        if !leader.query(&sql).map_err(failed)?.is_empty() {
            let forget = ledger.forget(table.entry);
            leader.execute(&format!("begin; truncate only {}; {forget}; commit", table.name)).map_err(failed)?;
        }
    }
    Ok(())
}

fn connect(address: &ServerAddress) -> Result<Connection, RestoreError> {
    let failed = |cause| RestoreError::Server { what: "connect to the server".to_owned(), cause };
    Connection::connect(address, LOGIN).map_err(failed)
}
