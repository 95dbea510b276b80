//! A dump of a database of MariaDB or MySQL: statements by mariadb-dump, rows as files for LOAD DATA, read by many connections of one moment, a large
//! table in parts. Theory: README.md.

pub(crate) mod catalogue;
mod cuts;
mod fault;
mod index;
mod ranges;
mod rights;
mod schema;
mod script;
pub(crate) mod selection;
pub(crate) mod session;
mod source;
mod work;

pub use catalogue::{MySqlColumn, MySqlColumnForm};
pub use fault::MySqlDumpFault;
pub use index::{MySqlArchive, MySqlArchivePart, MySqlArchiveTable};
pub use schema::MySqlDumpProgram;
pub use script::RESTORE_SCRIPT;
pub use selection::MySqlSelection;
pub use session::{DumpLock, DumpLockKind, MySqlPosition, MySqlServer};
pub use source::MySqlSource;

use crate::dump::archive::{INDEX, partial_of, seal};
use crate::dump::course::DumpStop;
use crate::dump::{DumpCodec, DumpError, DumpProgress};
use crate::dump_mysql::catalogue::{MySqlCatalogue, MySqlTable};
use crate::dump_mysql::schema::{SchemaFiles, SchemaWriter};
use crate::dump_mysql::source::MySqlDivision;
use crate::dump_mysql::work::{MySqlBoard, MySqlTableWork, PartFiles};
use crate::target::quoted;
use crew::budget::Lease;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wire::{Connection, ServerAddress};

/// What is dumped, and how.
pub struct MySqlDumpRequest {
    /// The server and its database.
    pub address: ServerAddress,
    /// Which objects.
    pub selection: MySqlSelection,
    /// What writes the schema.
    pub program: MySqlDumpProgram,
    /// The directory that the archive becomes.
    pub target: PathBuf,
    /// A directory that nobody else may read, for a file with the password.
    pub private: PathBuf,
    /// Connections that read rows.
    pub connections: usize,
    /// How rows are compressed.
    pub codec: DumpCodec,
    /// Bytes of storage of a part of a table.
    pub part_bytes: u64,
    /// How all connections come to see one moment.
    pub lock: DumpLock,
    /// How long a lock is waited for.
    pub lock_wait: Duration,
}

/// What came of a dump.
#[derive(Debug)]
pub struct MySqlDumped {
    /// What stands in `mh.index`.
    pub index: MySqlArchive,
    /// At its end.
    pub progress: DumpProgress,
    /// How long the server's lock was held.
    pub locked: Duration,
    /// What its user should know.
    pub warnings: Vec<String>,
}

/// A dump that runs; what it shows of itself.
#[derive(Default)]
pub struct MySqlDumpRun {
    board: Arc<MySqlBoard>,
}

/// All connections of a dump, which see one moment.
struct Snapshots {
    /// Holds on to tables, and is asked where to divide them.
    keeper: Connection,
    readers: Vec<Connection>,
    leader: Connection,
    lock: DumpLockKind,
    server: MySqlServer,
    position: Option<MySqlPosition>,
    warnings: Vec<String>,
    since: std::time::Instant,
}

impl MySqlDumpRun {
    /// Nothing has begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far it is.
    pub fn progress(&self) -> DumpProgress {
        self.board.progress()
    }

    /// Ends it: statements on the server are cancelled, and nothing is kept.
    pub fn stop(&self) {
        self.board.stop(DumpStop::Interrupted);
    }

    /// Dumps. The target does not exist before, and is whole or absent after.
    pub fn run(&self, request: &MySqlDumpRequest, lease: &dyn Lease) -> Result<MySqlDumped, DumpError> {
        let partial = partial_of(&request.target)?;
        std::fs::create_dir(&partial).map_err(DumpError::file("make directory", &partial))?;
        let outcome = self.dump_into(request, &partial, lease);
        if outcome.is_err() {
            // What is left of it is marked by its name, and worth nothing: the snapshot is gone.
            let _may_not_be_there = std::fs::remove_dir_all(&partial);
        }
        // The first reason to end is the one that counts: what others found follows from it.
        self.board.course.fault()?;
        outcome
    }

    fn dump_into(
        &self,
        request: &MySqlDumpRequest,
        partial: &Path,
        lease: &dyn Lease,
    ) -> Result<MySqlDumped, DumpError> {
        let database = database_of(&request.address)?;
        let mut keeper = self.open(request)?;
        let mut catalogue = MySqlCatalogue::read(&mut keeper, database)?;
        request.selection.apply(&mut catalogue)?;
        let readers = (0..request.connections).map(|_| self.open(request)).collect::<Result<_, _>>()?;
        let leader = self.open(request)?;
        let server = MySqlServer::of(leader.server_version());
        let lock = match request.selection.has_rows {
            true => server.lock(request.lock),
            false => DumpLockKind::Nothing,
        };
        let since = std::time::Instant::now();
        let mut snapshots =
            Snapshots { keeper, readers, leader, lock, server, position: None, warnings: Vec::new(), since };
        snapshots.begin(&catalogue)?;
        snapshots.check_names(request, &catalogue, database)?;
        let tables = catalogue.tables.iter().filter(|table| request.selection.takes_rows_of(table)).cloned();
        let tables = self.board.expect(tables);
        let files = PartFiles { directory: partial, database, codec: &request.codec };
        let options = self.option_file(request, &snapshots.leader)?;
        let schema = SchemaWriter {
            request,
            course: &self.board.course,
            database,
            directory: partial,
            options: &options.0,
            warnings: String::new(),
        };
        let read = self.read_all(request, &catalogue, tables, snapshots, &files, schema, lease)?;
        self.board.course.fault()?;
        let index = MySqlArchive {
            version: index::VERSION,
            kind: index::KIND.to_owned(),
            server: read.server.name(),
            database: database.to_owned(),
            character_set: catalogue.character_set.0,
            collation: catalogue.character_set.1,
            is_consistent: lock != DumpLockKind::Nothing || request.connections == 1,
            position: read.position,
            compression: request.codec.name(),
            before: read.files.before,
            after: read.files.after,
            tables: self.board.take_tables(),
        };
        let progress = DumpProgress { tables: index.tables.len() as u64, ..self.board.progress() };
        finish(request, partial, &index)?;
        Ok(MySqlDumped { index, progress, locked: read.locked, warnings: read.warnings })
    }

    fn open(&self, request: &MySqlDumpRequest) -> Result<Connection, DumpError> {
        let connection = session::open(&request.address, request.lock_wait)?;
        self.board.course.may_be_cancelled(&connection);
        Ok(connection)
    }

    /// The address for mariadb-dump, in a file that goes with the value.
    fn option_file(&self, request: &MySqlDumpRequest, leader: &Connection) -> Result<RemovedFile, DumpError> {
        let path = request.private.join("client.cnf");
        let text = request.address.option_file(request.program.dialect, leader.is_encrypted()).unwrap_or_default();
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let removed = RemovedFile(path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(DumpError::file("write", &removed.0))?;
        Ok(removed)
    }

    /// Reads rows over all connections while the schema is written.
    #[expect(clippy::too_many_arguments, reason = "all that a dump has gathered by then")]
    fn read_all(
        &self,
        request: &MySqlDumpRequest,
        catalogue: &MySqlCatalogue,
        tables: Vec<Arc<MySqlTableWork>>,
        mut snapshots: Snapshots,
        files: &PartFiles<'_>,
        mut schema: SchemaWriter<'_>,
        lease: &dyn Lease,
    ) -> Result<ReadAll, DumpError> {
        let board = &self.board;
        let (under_lock, later): (Vec<_>, Vec<_>) = tables.into_iter().partition(|table| !table.table.is_transactional);
        for table in &under_lock {
            board.add(table, vec![String::new()], true);
        }
        let readers = std::mem::take(&mut snapshots.readers);
        std::thread::scope(|scope| {
            for mut reader in readers {
                scope.spawn(move || board.ends_with(work::read_parts(board, files, &mut reader, lease)));
            }
            board.wait_for_locked();
            let locked = board.ends_with(snapshots.release(request, catalogue, files.database)).unwrap_or_default();
            let writer = scope.spawn(|| {
                let files = board.ends_with(schema.write(catalogue)).unwrap_or_default();
                (files, schema.warnings)
            });
            board.ends_with(self.divide(request, later, &mut snapshots.keeper));
            board.no_more_parts();
            let (files, said) = writer.join().expect("a writer does not panic");
            let mut warnings = snapshots.warnings;
            warnings.extend(said.lines().map(str::to_owned));
            Ok(ReadAll { files, position: snapshots.position, server: snapshots.server, locked, warnings })
        })
    }

    /// Finds the parts of tables, the largest first, so that readers begin with those.
    fn divide(
        &self,
        request: &MySqlDumpRequest,
        mut tables: Vec<Arc<MySqlTableWork>>,
        keeper: &mut Connection,
    ) -> Result<(), DumpError> {
        tables.sort_by_key(|table| std::cmp::Reverse(table.table.bytes));
        for table in tables {
            if self.board.course.is_over() {
                return Ok(());
            }
            let clauses = clauses(&table.table, request.part_bytes, keeper)?;
            self.board.add(&table, clauses, false);
        }
        Ok(())
    }
}

/// What stands behind the table's name in the statement of each part.
fn clauses(table: &MySqlTable, part_bytes: u64, keeper: &mut Connection) -> Result<Vec<String>, DumpError> {
    match (table.division(part_bytes), &table.key) {
        (MySqlDivision::Ranges(rows), Some(key)) => {
            let mut keys = ranges::ServerKeys::new(keeper, &table.name, key);
            let ranges = cuts::cut(&mut keys, rows)?;
            let index = ranges::forced_index(key);
            let clause = |range| index.clone() + &ranges::where_clause(&ranges::conditions(key, range));
            let clauses: Vec<String> = ranges.iter().map(clause).collect();
            // LIMIT: without a lock, rows may come after the look that found none.
            Ok(if clauses.is_empty() { vec![String::new()] } else { clauses })
        }
        (MySqlDivision::Partitions, _) => {
            Ok(table.partitions.iter().map(|name| format!(" partition ({})", quoted(name, '`'))).collect())
        }
        _ => Ok(vec![String::new()]),
    }
}

/// What has come of reading.
struct ReadAll {
    files: SchemaFiles,
    position: Option<MySqlPosition>,
    server: MySqlServer,
    locked: Duration,
    warnings: Vec<String>,
}

impl Snapshots {
    /// Takes the lock, begins all snapshots, and holds on to tables.
    fn begin(&mut self, catalogue: &MySqlCatalogue) -> Result<(), DumpError> {
        let tables: Vec<&MySqlTable> = catalogue.tables.iter().collect();
        self.since = std::time::Instant::now();
        self.lock.take(&mut self.leader, &self.server)?;
        for connection in self.readers.iter_mut().chain([&mut self.keeper]) {
            session::begin_snapshot(connection)?;
        }
        if self.lock != DumpLockKind::Nothing {
            let (position, warning) = session::position(&mut self.leader, &self.server)?;
            self.position = position;
            self.warnings.extend(warning);
        }
        std::thread::scope(|scope| {
            let all = self.readers.iter_mut().chain([&mut self.keeper]);
            let touching: Vec<_> = all.map(|connection| scope.spawn(|| session::touch(connection, &tables))).collect();
            touching.into_iter().try_for_each(|touched| touched.join().expect("it does not panic"))
        })
    }

    /// A table that was made between the first look and the lock would be absent.
    fn check_names(
        &mut self,
        request: &MySqlDumpRequest,
        catalogue: &MySqlCatalogue,
        database: &str,
    ) -> Result<(), DumpError> {
        let names = catalogue::names(&mut self.leader, database)?;
        let known: HashSet<&str> = catalogue.tables.iter().map(|table| table.name.as_str()).collect();
        let new = names.into_iter().find(|name| request.selection.takes(name) && !known.contains(name.as_str()));
        new.map_or(Ok(()), |name| Err(MySqlDumpFault::Changed(name).into()))
    }

    /// Releases the lock; how long it was held. Tables are now held by transactions, so that what is seen of them stays.
    fn release(
        &mut self,
        request: &MySqlDumpRequest,
        catalogue: &MySqlCatalogue,
        database: &str,
    ) -> Result<Duration, DumpError> {
        self.lock.release(&mut self.leader, &self.server)?;
        let held = if self.lock == DumpLockKind::Nothing { Duration::ZERO } else { self.since.elapsed() };
        let mut now = MySqlCatalogue::read(&mut self.leader, database)?;
        // Between the first look and the lock, somebody may have altered a table.
        request.selection.apply(&mut now)?;
        let now: HashMap<&str, &MySqlTable> = now.tables.iter().map(|table| (table.name.as_str(), table)).collect();
        let is_same = |table: &MySqlTable| now.get(table.name.as_str()).is_some_and(|other| table.reads_like(other));
        let changed = catalogue.tables.iter().find(|table| !is_same(table));
        match changed {
            Some(table) => Err(MySqlDumpFault::Changed(table.name.clone()).into()),
            None => Ok(held),
        }
    }
}

/// A file that goes with its value.
struct RemovedFile(PathBuf);

impl Drop for RemovedFile {
    fn drop(&mut self) {
        let _removed_already = std::fs::remove_file(&self.0);
    }
}

/// Writes index and script, and gives the archive its name.
fn finish(request: &MySqlDumpRequest, partial: &Path, index: &MySqlArchive) -> Result<(), DumpError> {
    let path = partial.join(INDEX);
    let written = serde_json::to_vec(index).map_err(io::Error::from).and_then(|text| std::fs::write(&path, text));
    written.map_err(DumpError::file("write", &path))?;
    let path = partial.join(RESTORE_SCRIPT);
    let script = script::restore_script(index, &request.codec);
    let file = File::options().write(true).create_new(true).mode(0o777).open(&path);
    let written = file.and_then(|mut file| file.write_all(script.as_bytes()));
    written.map_err(DumpError::file("write", &path))?;
    seal(partial, &request.target)
}

/// The database that the address names.
pub(crate) fn database_of(address: &ServerAddress) -> Result<&str, MySqlDumpFault> {
    address.database().ok_or_else(|| MySqlDumpFault::NoDatabase(String::new()))
}
