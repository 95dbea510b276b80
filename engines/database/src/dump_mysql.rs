//! A dump of a database of MariaDB or MySQL: statements by mariadb-dump, rows as files for LOAD DATA, read by many connections of one moment, a large
//! table in parts. Theory: README.md.

mod applied;
pub(crate) mod catalogue;
mod cuts;
mod fault;
mod index;
pub(crate) mod lines;
mod ranges;
pub(crate) mod rights;
mod schema;
mod script;
pub(crate) mod selection;
pub(crate) mod session;
pub(crate) mod snapshots;
mod source;
pub(crate) mod work;

pub use catalogue::{MySqlColumn, MySqlColumnForm};
pub use fault::MySqlDumpFault;
pub use index::{MySqlArchive, MySqlArchivePart, MySqlArchiveTable};
pub use schema::MySqlDumpProgram;
pub use script::RESTORE_SCRIPT;
pub use selection::MySqlSelection;
pub use session::{DumpLock, DumpLockKind, HeldDumpLock, MySqlPosition, MySqlServer};
pub use source::MySqlSource;

use crate::dump::archive::{INDEX, partial_of, seal};
use crate::dump::course::DumpStop;
use crate::dump::read_back::ReadingBack;
use crate::dump::{DumpCodec, DumpError, DumpProgress};
use crate::dump_mysql::catalogue::{MySqlCatalogue, MySqlTable};
use crate::dump_mysql::schema::{SchemaFiles, SchemaWriter};
use crate::dump_mysql::snapshots::Snapshots;
use crate::dump_mysql::source::MySqlDivision;
use crate::dump_mysql::work::{MySqlBoard, MySqlPart, MySqlTableWork, PartFiles};
use crate::target::quoted;
use crew::budget::Lease;
use std::collections::HashSet;
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
    /// Whether the archive is read back before it gets its name.
    pub verifies: bool,
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
        let server = MySqlServer::of(keeper.server_version());
        let lock = match request.selection.has_rows {
            true => server.lock(request.lock),
            false => DumpLockKind::Nothing,
        };
        let mut snapshots = Snapshots::new(keeper, server, lock, request.connections, || self.open(request))?;
        let all: Vec<&MySqlTable> = catalogue.tables.iter().collect();
        snapshots.begin(&all)?;
        let (position, position_warning) = snapshots.position()?;
        let known: HashSet<&str> = all.iter().map(|table| table.name.as_str()).collect();
        snapshots.check_names(database, |name| request.selection.takes(name) && !known.contains(name))?;
        let tables = catalogue.tables.iter().filter(|table| request.selection.takes_rows_of(table)).cloned();
        let tables = self.board.expect(tables);
        let files = PartFiles { directory: partial, database, codec: &request.codec };
        let options = self.option_file(request, &snapshots.keeper)?;
        let schema = SchemaWriter {
            request,
            course: &self.board.course,
            database,
            directory: partial,
            options: &options.0,
            warnings: String::new(),
        };
        let read = self.read_all(request, &catalogue, tables, &mut snapshots, &files, schema, lease)?;
        self.board.course.fault()?;
        let index = MySqlArchive {
            version: index::VERSION,
            kind: index::KIND.to_owned(),
            server: snapshots.server.name(),
            database: database.to_owned(),
            character_set: catalogue.character_set.0,
            collation: catalogue.character_set.1,
            is_consistent: lock != DumpLockKind::Nothing || request.connections == 1,
            position,
            compression: request.codec.name(),
            before: read.files.before,
            after: read.files.after,
            tables: self.board.take_entries(),
        };
        let progress = self.board.progress();
        // Nobody has to wait any longer for this dump.
        drop(snapshots);
        write_index(request, partial, &index)?;
        if request.verifies {
            let is_over = || self.board.course.is_over();
            let (directory, width) = (partial, request.connections);
            ReadingBack { directory, width, lease, is_over: &is_over }.read(&index.rows_files())?;
        }
        seal(partial, &request.target)?;
        let warnings = position_warning.into_iter().chain(read.warnings).collect();
        Ok(MySqlDumped { index, progress, locked: read.locked, warnings })
    }

    fn open(&self, request: &MySqlDumpRequest) -> Result<Connection, DumpError> {
        let connection = session::open(&request.address, request.lock_wait)?;
        self.board.course.may_be_cancelled(&connection);
        Ok(connection)
    }

    /// The address for mariadb-dump, in a file that goes with the value.
    fn option_file(&self, request: &MySqlDumpRequest, connection: &Connection) -> Result<RemovedFile, DumpError> {
        let path = request.private.join("client.cnf");
        let text = request.address.option_file(request.program.dialect, connection.is_encrypted()).unwrap_or_default();
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
        snapshots: &mut Snapshots,
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
                scope.spawn(move || {
                    let write = |connection: &mut Connection, part: &MySqlPart| files.write(board, connection, part);
                    board.ends_with(work::read_parts(board, &mut reader, lease, write))
                });
            }
            board.wait_for_locked();
            let tables: Vec<&MySqlTable> = catalogue.tables.iter().collect();
            let locked = board.ends_with(snapshots.release(&tables, files.database)).unwrap_or_default();
            let writer = scope.spawn(|| {
                let files = board.ends_with(schema.write(catalogue)).unwrap_or_default();
                (files, schema.warnings)
            });
            board.ends_with(divide(board, later, request.part_bytes, &mut snapshots.keeper));
            board.no_more_parts();
            let (files, said) = writer.join().expect("a writer does not panic");
            Ok(ReadAll { files, locked, warnings: said.lines().map(str::to_owned).collect() })
        })
    }
}

/// Finds the parts of tables, the largest first, so that readers begin with those.
pub(crate) fn divide(
    board: &MySqlBoard,
    mut tables: Vec<Arc<MySqlTableWork>>,
    part_bytes: u64,
    keeper: &mut Connection,
) -> Result<(), DumpError> {
    tables.sort_by_key(|table| std::cmp::Reverse(table.table.bytes));
    for table in tables {
        if board.course.is_over() {
            return Ok(());
        }
        let clauses = clauses(&table.table, part_bytes, keeper)?;
        board.add(&table, clauses, false);
    }
    Ok(())
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
    locked: Duration,
    warnings: Vec<String>,
}

/// A file that goes with its value.
struct RemovedFile(PathBuf);

impl Drop for RemovedFile {
    fn drop(&mut self) {
        let _removed_already = std::fs::remove_file(&self.0);
    }
}

/// Writes index and script.
fn write_index(request: &MySqlDumpRequest, partial: &Path, index: &MySqlArchive) -> Result<(), DumpError> {
    let path = partial.join(INDEX);
    let written = serde_json::to_vec(index).map_err(io::Error::from).and_then(|text| std::fs::write(&path, text));
    written.map_err(DumpError::file("write", &path))?;
    let path = partial.join(RESTORE_SCRIPT);
    let script = script::restore_script(index, &request.codec);
    let file = File::options().write(true).create_new(true).mode(0o777).open(&path);
    let written = file.and_then(|mut file| file.write_all(script.as_bytes()));
    written.map_err(DumpError::file("write", &path))
}

/// The database that the address names.
pub(crate) fn database_of(address: &ServerAddress) -> Result<&str, MySqlDumpFault> {
    address.database().ok_or_else(|| MySqlDumpFault::NoDatabase(String::new()))
}
