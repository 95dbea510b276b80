//! A restore of an archive of MariaDB or MySQL: tables are made without the keys that can come later, files are loaded over many connections, a table's keys are
//! made when its rows are in, and then come foreign keys, routines, views, triggers and events. Theory: README.md.

mod board;
mod ledger;
mod load;
mod objects;
mod reread;
pub mod statements;
mod triggers;

use crate::dump::archive::INDEX;
use crate::dump_mysql::catalogue::text;
use crate::dump_mysql::selection::matches;
use crate::dump_mysql::{
    MySqlArchive, MySqlArchivePart, MySqlArchiveTable, MySqlDumpFault, MySqlServer, database_of, session,
};
use crate::load::WaitTally;
use crate::restore::occupied;
use crate::restore::{RestoreClocks, RestoreError, RestoreFault, RestoreInto, RestorePhase, RestoreProgress, Restored};
use crate::target::{literal, quoted};
use board::{MySqlRestoreBoard, MySqlRestoreJob};
use crew::budget::Lease;
use ledger::MySqlLedger;
use load::{Loader, existing_keys, foreign_keys, takes_files};
use objects::{MadeObject, clean, drop_own, entry_of, refuse_present, views_in_the_way};
use statements::{MadeKind, Statements, TableStatement, deed, made};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;
use wire::{Connection, ErrorKind, ServerAddress, WireError};
use xxhash_rust::xxh3::xxh3_64;

/// What is restored, and how.
pub struct MySqlRestoreRequest {
    /// The server and its database.
    pub address: ServerAddress,
    /// The archive.
    pub archive: PathBuf,
    /// These tables only, by names with `*` and `?`, without what goes with no table; none: all.
    pub tables: Vec<String>,
    /// Statements that make objects.
    pub has_schema: bool,
    /// Rows.
    pub has_rows: bool,
    /// Connections that load.
    pub connections: usize,
    /// What may be there before.
    pub into: RestoreInto,
    /// Whether the first statement that is refused ends the restore.
    pub exits_on_error: bool,
    /// Whether all rows are read again, and compared with what was dumped.
    pub verifies: bool,
}

/// A server that is restored into.
#[derive(Clone, Debug)]
pub struct MySqlTarget {
    /// It.
    pub server: MySqlServer,
    /// Connections that it has left, with that of the look.
    pub connections_left: u64,
    /// Whether it allows LOAD DATA LOCAL.
    pub takes_files: bool,
}

/// A restore that runs; what it shows of itself.
#[derive(Default)]
pub struct MySqlRestoreRun {
    board: Arc<MySqlRestoreBoard>,
}

/// A table with the files that are to be loaded into it.
pub struct RestoreTableJob<'a> {
    entry: &'a MySqlArchiveTable,
    parts: Vec<&'a MySqlArchivePart>,
    /// What made it; none if it was there.
    statement: Option<&'a TableStatement>,
}

impl RestoreTableJob<'_> {
    fn has_keys(&self) -> bool {
        self.keys() > 0
    }

    fn keys(&self) -> u64 {
        self.statement.map_or(0, |statement| (statement.keys.len() + statement.special_keys.len()) as u64)
    }

    fn stored(&self) -> u64 {
        self.parts.iter().map(|part| part.stored).sum()
    }

    fn may_have_enum(&self) -> bool {
        self.statement.is_none_or(|statement| statement.has_enum)
    }
}

/// What the parts of a run have in common.
struct Running<'a> {
    request: &'a MySqlRestoreRequest,
    database: &'a str,
    leader: Connection,
    ledger: MySqlLedger,
    /// An interrupted restore goes on.
    goes_on: bool,
}

/// How long a lock of a table's definition is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(3600);

/// LIMIT: for another restore to end, which may have been killed.
const LOCK_SECONDS: u32 = 10;

/// Errors that say that something is there which an interrupted restore may have made.
const THERE_ALREADY: [u16; 5] = [1050, 1061, 1304, 1359, 1537];

impl MySqlRestoreRun {
    /// Nothing has begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far it is.
    pub fn progress(&self) -> RestoreProgress {
        self.board.progress()
    }

    /// Ends it: statements on the server are cancelled. What is committed stays, for a restore that goes on.
    pub fn stop(&self) {
        self.board.stop(RestoreError::Interrupted);
    }

    /// Warnings, whether it has succeeded or not.
    pub fn take_warnings(&self) -> Vec<String> {
        self.board.take_warnings()
    }

    /// Looks at the server, over a connection that is returned; `stop` ends that, too.
    pub fn look(&self, address: &ServerAddress) -> Result<(MySqlTarget, Connection), RestoreError> {
        let mut connection = open(address, &self.board)?;
        let target = MySqlTarget {
            server: MySqlServer::of(connection.server_version()),
            connections_left: session::connections_left(&mut connection),
            takes_files: takes_files(&mut connection)?,
        };
        Ok((target, connection))
    }

    /// Restores.
    pub fn run(&self, request: &MySqlRestoreRequest, lease: &dyn Lease) -> Result<Restored, RestoreError> {
        let outcome = self.restore(request, lease);
        // What was ended from outside has failed in some way.
        self.board.end()?;
        outcome
    }

    fn restore(&self, request: &MySqlRestoreRequest, lease: &dyn Lease) -> Result<Restored, RestoreError> {
        let archive = MySqlArchive::read(&request.archive)?;
        let database = database_of(&request.address)?;
        let mut leader = open(&request.address, &self.board)?;
        be_alone(&mut leader, database)?;
        let schema = Schema::read(request, &archive)?;
        let (ledger, goes_on) = begin(&mut leader, request, database, &schema)?;
        let mut running = Running { request, database, leader, ledger, goes_on };
        self.before(&mut running, &schema)?;
        let rows_before = self.rows_and_keys(&mut running, &schema, lease)?;
        self.verify(request, &schema, lease)?;
        self.after(&mut running, &schema)?;
        ledger::remove(&mut running.leader, running.ledger.name())?;
        self.board.end()?;
        let (progress, faults) = (self.board.progress(), self.board.take_faults());
        Ok(Restored { progress, rows_before, faults, warnings: Vec::new(), waits: WaitTally::default() })
    }

    /// Tables and sequences, one after the other.
    fn before(&self, running: &mut Running<'_>, schema: &Schema) -> Result<(), RestoreError> {
        self.board.enter(RestorePhase::Before);
        if !running.request.has_schema || running.ledger.has(SCHEMA_STAGE) {
            return Ok(());
        }
        if running.goes_on {
            drop_own(&mut running.leader, &mut running.ledger, &schema.made)?;
        }
        for statement in &schema.before {
            if self.board.is_over() {
                return Err(RestoreError::Interrupted);
            }
            running.make(statement)?;
        }
        // What the files set is theirs alone.
        running.set_up()?;
        running.note(SCHEMA_STAGE, 0)
    }

    /// Files and keys, over all connections; rows that were in before.
    fn rows_and_keys(
        &self,
        running: &mut Running<'_>,
        schema: &Schema,
        lease: &dyn Lease,
    ) -> Result<u64, RestoreError> {
        self.board.enter(RestorePhase::Rows);
        running.count_before(schema)?;
        let (tables, rows_before) = running.tables(schema)?;
        running.warn(schema, &tables)?.into_iter().for_each(|warning| self.board.warn(warning));
        self.board.set_tables(&tables);
        let takes_files = takes_files(&mut running.leader)?;
        let (request, ledger) = (running.request, &running.ledger);
        std::thread::scope(|scope| {
            for _ in 0..request.connections {
                scope.spawn(|| {
                    self.board.ends_with(self.work(request, ledger, &tables, running.database, takes_files, lease))
                });
            }
        });
        self.board.end()?;
        Ok(rows_before)
    }

    /// Before triggers and events are there, which may change rows.
    fn verify(&self, request: &MySqlRestoreRequest, schema: &Schema, lease: &dyn Lease) -> Result<(), RestoreError> {
        if !request.verifies || !request.has_rows {
            return Ok(());
        }
        self.board.enter(RestorePhase::Verify);
        let differences = reread::differences(request, &schema.entries, &self.board, lease)?;
        differences.into_iter().for_each(|difference| self.board.fault(difference));
        Ok(())
    }

    /// One connection's work.
    fn work(
        &self,
        request: &MySqlRestoreRequest,
        ledger: &MySqlLedger,
        tables: &[RestoreTableJob<'_>],
        database: &str,
        takes_files: bool,
        lease: &dyn Lease,
    ) -> Result<(), RestoreError> {
        let board = &*self.board;
        let mut loader = None;
        loop {
            let before = Instant::now();
            let Some(job) = board.next() else { return Ok(()) };
            let mut clocks = RestoreClocks { waiting_for_work: before.elapsed(), ..RestoreClocks::default() };
            let before = Instant::now();
            let hand = lease.take();
            clocks.waiting_for_hands = before.elapsed();
            let (begin, cpu_before) = (Instant::now(), thread_cpu_ns());
            let outcome = (|| {
                let loader = match &mut loader {
                    Some(loader) => loader,
                    None => loader.insert(Loader {
                        connection: open(&request.address, board)?,
                        address: &request.address,
                        archive: &request.archive,
                        ledger,
                        board,
                        takes_files,
                    }),
                };
                self.carry_out(loader, tables, job, database, request)
            })();
            lease.give_back(hand);
            let spent = match job {
                MySqlRestoreJob::Rows { .. } => &mut clocks.loading,
                MySqlRestoreJob::Keys { .. } => &mut clocks.indexing,
            };
            *spent = begin.elapsed();
            clocks.computing = Duration::from_nanos(thread_cpu_ns().saturating_sub(cpu_before));
            board.job_ends(&clocks);
            outcome?;
        }
    }

    fn carry_out(
        &self,
        loader: &mut Loader<'_>,
        tables: &[RestoreTableJob<'_>],
        job: MySqlRestoreJob,
        database: &str,
        request: &MySqlRestoreRequest,
    ) -> Result<(), RestoreError> {
        match job {
            MySqlRestoreJob::Rows { table, part } => {
                let file = tables[table].parts[part];
                let rows = loader.load(&tables[table], file)?;
                self.board.part_is_in(table, rows, file.bytes, file.stored);
                Ok(())
            }
            MySqlRestoreJob::Keys { table } => {
                let Some(statement) = tables[table].statement else { return Ok(()) };
                if request.into == RestoreInto::Interrupted {
                    ledger::wait_for_users(&mut loader.connection, &tables[table].entry.table)?;
                }
                let existing = existing_keys(&mut loader.connection, database, &tables[table].entry.table)?;
                let missing = |(name, _): &&(String, String)| !existing.contains(name);
                let plain: Vec<String> =
                    statement.keys.iter().filter(missing).map(|(_, definition)| format!("ADD {definition}")).collect();
                let special =
                    statement.special_keys.iter().filter(missing).map(|(_, definition)| format!("ADD {definition}"));
                let together = Some(plain.join(", ")).filter(|keys| !keys.is_empty());
                for keys in together.into_iter().chain(special) {
                    if self.board.is_over() {
                        return Err(RestoreError::Interrupted);
                    }
                    let sql = format!("ALTER TABLE {} {keys}", statement.name);
                    self.statement(&mut loader.connection, sql.as_bytes(), false, request.exits_on_error)?;
                }
                self.board.keys_are_made(table);
                Ok(())
            }
        }
    }

    /// Runs a statement; false if the server refused it, which does not end the restore unless that is asked for.
    fn statement(
        &self,
        connection: &mut Connection,
        sql: &[u8],
        may_be_there: bool,
        exits_on_error: bool,
    ) -> Result<bool, RestoreError> {
        match connection.execute_bytes(sql) {
            Ok(_) => Ok(true),
            // With a full disk, nothing is wrong with the statement: the restore can go on when there is room.
            Err(WireError::Server(error))
                if !error.is_fatal && !self.board.is_over() && error.kind() != ErrorKind::DiskFull =>
            {
                let is_there = may_be_there && error.number.is_some_and(|number| THERE_ALREADY.contains(&number));
                if is_there {
                    return Ok(true);
                }
                self.board.fault(RestoreFault { what: deed(sql), message: error.to_string() });
                match exits_on_error {
                    true => Err(RestoreError::server(deed(sql))(WireError::Server(error))),
                    false => Ok(false),
                }
            }
            Err(cause) => Err(RestoreError::server(deed(sql))(cause)),
        }
    }

    /// Foreign keys one after the other, then routines, views, triggers and events.
    fn after(&self, running: &mut Running<'_>, schema: &Schema) -> Result<(), RestoreError> {
        self.board.enter(RestorePhase::After);
        if !running.request.has_schema {
            return Ok(());
        }
        let exits = running.request.exits_on_error;
        for table in schema.tables.values().filter(|table| !table.foreign_keys.is_empty()) {
            let existing = foreign_keys(&mut running.leader, running.database, &bare(&table.name))?;
            for (name, definition) in &table.foreign_keys {
                if !existing.contains(name) {
                    let sql = format!("ALTER TABLE {} ADD {definition}", table.name);
                    self.statement(&mut running.leader, sql.as_bytes(), false, exits)?;
                }
            }
        }
        for (file, statements) in &schema.after {
            if running.ledger.has(file) {
                continue;
            }
            let mut is_whole = true;
            for sql in statements {
                if self.board.is_over() {
                    return Err(RestoreError::Interrupted);
                }
                is_whole &= self.statement(&mut running.leader, sql, running.goes_on, exits)?;
            }
            running.set_up()?;
            // One that goes on carries out such a file again, and reports again what is refused.
            if is_whole {
                running.note(file, 0)?;
            }
        }
        Ok(())
    }
}

impl Running<'_> {
    fn set_up(&mut self) -> Result<(), RestoreError> {
        set_up(&mut self.leader)
    }

    fn note(&mut self, entry: &str, rows: u64) -> Result<(), RestoreError> {
        let sql = self.ledger.note(entry, rows);
        self.leader.execute(&sql).map(drop).map_err(RestoreError::server("note what is done"))
    }

    /// Makes a table, or what stands between tables. The object is noted before, and forgotten if the server refuses it: then it is another's.
    fn make(&mut self, statement: &SchemaStatement) -> Result<(), RestoreError> {
        let sql = match statement {
            SchemaStatement::Table(table) => table.create.as_bytes(),
            SchemaStatement::Other(sql) => sql,
        };
        let entry = made(sql).as_ref().map(entry_of);
        if let Some(entry) = &entry {
            self.note(entry, 0)?;
        }
        let Err(cause) = self.leader.execute_bytes(sql) else { return Ok(()) };
        if let (Some(entry), WireError::Server(_)) = (&entry, &cause) {
            // Why it was refused is what counts.
            let _a_table_with_rows_is_not_dropped = self.ledger.forget(&mut self.leader, &[entry]);
        }
        Err(RestoreError::server(deed(sql))(cause))
    }

    /// Notes how many rows tables had that are not made here, before the first file is loaded. Without transactions nothing else tells these rows from
    /// those of a file that was not complete.
    fn count_before(&mut self, schema: &Schema) -> Result<(), RestoreError> {
        if !self.request.has_rows || self.ledger.has(COUNTED_STAGE) {
            return Ok(());
        }
        for entry in schema.entries.iter().filter(|entry| !entry.is_transactional && !schema.makes(&entry.table)) {
            let note = rows_before(&entry.table);
            if !self.ledger.has(&note) {
                let rows = self.count(&entry.table)?;
                self.note(&note, rows)?;
            }
        }
        self.note(COUNTED_STAGE, 0)
    }

    fn count(&mut self, table: &str) -> Result<u64, RestoreError> {
        let sql = format!("select count(*) from {}", quoted(table, '`'));
        let rows = self.leader.query(&sql).map_err(RestoreError::server(format!("count rows of '{table}'")))?;
        Ok(rows.first().and_then(|row| text(row, 0).parse().ok()).unwrap_or(0))
    }

    /// Tables with the files that are not in; rows that are.
    fn tables<'b>(&mut self, schema: &'b Schema) -> Result<(Vec<RestoreTableJob<'b>>, u64), RestoreError>
    where
        Self: 'b,
    {
        let (mut jobs, mut before) = (Vec::new(), 0);
        for entry in &schema.entries {
            let mut parts: Vec<&MySqlArchivePart> = entry.parts.iter().filter(|_| self.request.has_rows).collect();
            let is_whole = parts.iter().all(|part| self.ledger.has(&part.file));
            if !entry.is_transactional && self.goes_on && !is_whole {
                self.begin_again(schema, &entry.table, &parts)?;
            }
            before += self.rows_in(&parts);
            parts.retain(|part| !self.ledger.has(&part.file));
            let statement = schema.tables.get(&entry.table).filter(|_| self.request.has_schema);
            jobs.push(RestoreTableJob { entry, parts, statement });
        }
        Ok((jobs, before))
    }

    /// Warns of tables that are not made here: of rows that they have, and of triggers that change what comes.
    fn warn(&mut self, schema: &Schema, jobs: &[RestoreTableJob<'_>]) -> Result<Vec<String>, RestoreError> {
        let is_there = |job: &&RestoreTableJob<'_>| !job.parts.is_empty() && !schema.makes(&job.entry.table);
        let tables: Vec<&str> = jobs.iter().filter(is_there).map(|job| job.entry.table.as_str()).collect();
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = tables.iter().map(|table| quoted(table, '`')).collect();
        // Rows that an interrupted restore has left are its own.
        let rows = if self.goes_on { None } else { occupied::warning(&mut self.leader, &names)? };
        let triggers = triggers::warning(&mut self.leader, self.database, &tables, self.request.verifies)?;
        Ok(rows.into_iter().chain(triggers).collect())
    }

    fn rows_in(&self, parts: &[&MySqlArchivePart]) -> u64 {
        parts.iter().filter(|part| self.ledger.has(&part.file)).map(|part| part.rows).sum()
    }

    /// Empties a table without transactions, of which a killed connection may have left a part of a file: all of it comes again. One that had rows before is
    /// never emptied.
    fn begin_again(&mut self, schema: &Schema, table: &str, parts: &[&MySqlArchivePart]) -> Result<(), RestoreError> {
        if !schema.makes(table) {
            // Without a note no file had begun.
            let Some(before) = self.ledger.rows(&rows_before(table)) else { return Ok(()) };
            let (loaded, now) = (self.rows_in(parts), self.count(table)?);
            if now == before + loaded {
                return Ok(());
            }
            if before > 0 {
                return Err(MySqlDumpFault::InDoubt { table: table.to_owned(), before, loaded, now }.into());
            }
        }
        let sql = format!("truncate table {}", quoted(table, '`'));
        self.leader.execute(&sql).map_err(RestoreError::server(format!("empty '{table}'")))?;
        let files: Vec<&str> = parts.iter().map(|part| part.file.as_str()).collect();
        self.ledger.forget(&mut self.leader, &files)
    }
}

/// The stage that is noted when all tables are there.
const SCHEMA_STAGE: &str = "schema";

/// The stage that is noted when it is known how many rows were there before.
const COUNTED_STAGE: &str = "rows before";

/// The entry with the rows that a table had.
fn rows_before(table: &str) -> String {
    format!("{COUNTED_STAGE} {}", quoted(table, '`'))
}

/// A statement of the files that come first.
enum SchemaStatement {
    Table(TableStatement),
    Other(Vec<u8>),
}

/// What is selected of an archive's files with statements.
struct Schema {
    before: Vec<SchemaStatement>,
    after: Vec<(String, Vec<Vec<u8>>)>,
    /// Tables that are made, by their bare names.
    tables: HashMap<String, TableStatement>,
    /// Tables with rows.
    entries: Vec<MySqlArchiveTable>,
    /// Everything that is made, for one who drops it.
    made: Vec<MadeObject>,
}

impl Schema {
    fn read(request: &MySqlRestoreRequest, archive: &MySqlArchive) -> Result<Self, RestoreError> {
        let is_selected = |name: &str| is_selected(&request.tables, name);
        let entries = archive.tables.iter().filter(|table| is_selected(&table.table)).cloned().collect();
        let mut schema =
            Self { before: Vec::new(), after: Vec::new(), tables: HashMap::new(), entries, made: Vec::new() };
        if !request.has_schema {
            return Ok(schema);
        }
        for file in &archive.before {
            let bytes = read(&request.archive, file)?;
            for sql in Statements::new(&bytes) {
                schema.add(sql, is_selected);
            }
        }
        // What goes with no table is not what was selected.
        for file in archive.after.iter().filter(|_| request.tables.is_empty()) {
            let bytes = read(&request.archive, file)?;
            let statements: Vec<Vec<u8>> = Statements::new(&bytes).map(<[u8]>::to_vec).collect();
            schema.made.extend(statements.iter().filter_map(|sql| made(sql)));
            schema.after.push((file.clone(), statements));
        }
        Ok(schema)
    }

    /// Whether a table is made, so that it was not there before.
    fn makes(&self, table: &str) -> bool {
        self.made.iter().any(|(kind, name)| *kind == MadeKind::Table && bare(name) == table)
    }

    fn add(&mut self, sql: &[u8], is_selected: impl Fn(&str) -> bool) {
        let object = made(sql);
        if object.as_ref().is_some_and(|(_, name)| !is_selected(&bare(name))) {
            return;
        }
        let table = str::from_utf8(sql).ok().and_then(TableStatement::parse);
        match table {
            Some(table) => {
                self.tables.insert(bare(&table.name), table.clone());
                self.before.push(SchemaStatement::Table(table));
            }
            // The position of a sequence that is not made.
            None if sql.starts_with(b"DO SETVAL(") && !is_selected(&sequence_of(sql)) => {}
            None => self.before.push(SchemaStatement::Other(sql.to_vec())),
        }
        self.made.extend(object);
    }
}

fn sequence_of(sql: &[u8]) -> String {
    let text = String::from_utf8_lossy(sql);
    let name = text.trim_start_matches("DO SETVAL(").split(", ").next().unwrap_or_default().to_owned();
    bare(&name)
}

/// A name without its backticks.
fn bare(name: &str) -> String {
    let inner = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(name);
    inner.replace("``", "`")
}

fn read(archive: &Path, file: &str) -> Result<Vec<u8>, RestoreError> {
    let path = archive.join(file);
    std::fs::read(&path).map_err(RestoreError::file("read", &path))
}

/// Files that are not there, or shorter than they were: to be looked for before anything is done.
pub fn check_files(
    directory: &Path,
    archive: &MySqlArchive,
    tables: &[String],
    (has_schema, has_rows): (bool, bool),
) -> Result<(), RestoreError> {
    let statements = archive.before.iter().chain(&archive.after).filter(|_| has_schema);
    for path in statements.map(|file| directory.join(file)) {
        std::fs::metadata(&path).map_err(RestoreError::file("read", &path))?;
    }
    let selected = archive.tables.iter().filter(|table| has_rows && is_selected(tables, &table.table));
    for part in selected.flat_map(|table| &table.parts) {
        let path = directory.join(&part.file);
        let found = std::fs::metadata(&path).map_err(RestoreError::file("read", &path))?.len();
        if found != part.stored {
            let what = format!("it has {found} bytes, and mh.index says {}", part.stored);
            return Err(RestoreError::Damaged { file: path.display().to_string(), offset: 0, what });
        }
    }
    Ok(())
}

/// Whether a table is one of these, which may have `*` and `?`; of none, all are.
fn is_selected(tables: &[String], name: &str) -> bool {
    tables.is_empty() || tables.iter().any(|pattern| matches(pattern, name))
}

/// Tells archives apart, and selections of one.
fn archive_name(request: &MySqlRestoreRequest) -> Result<String, RestoreError> {
    let selection = format!("{:?} {} {}", request.tables, request.has_schema, request.has_rows);
    let index = read(&request.archive, INDEX)?;
    Ok(format!("{:016x}", xxh3_64(&[selection.as_bytes(), &index].concat())))
}

/// Two restores into one database would not know of each other.
fn be_alone(leader: &mut Connection, database: &str) -> Result<(), RestoreError> {
    let sql = format!("select get_lock(md5(concat('mh restore ', {})), {LOCK_SECONDS})", literal(database));
    let rows = leader.query(&sql).map_err(RestoreError::server("look for another restore"))?;
    if rows.first().is_some_and(|row| text(row, 0) == "1") { Ok(()) } else { Err(RestoreError::Busy) }
}

/// Looks at what is there, and finds the ledger or begins one; whether an interrupted restore goes on.
fn begin(
    leader: &mut Connection,
    request: &MySqlRestoreRequest,
    database: &str,
    schema: &Schema,
) -> Result<(MySqlLedger, bool), RestoreError> {
    let name = archive_name(request)?;
    let look = ledger::look(leader, database, &name)?;
    let cleans = matches!(request.into, RestoreInto::Cleaned { .. });
    let views = if cleans { views_in_the_way(leader, database, &schema.made)? } else { Vec::new() };
    match look.ours {
        // Objects that were there before were looked at when it began.
        Some(ledger) if request.into == RestoreInto::Interrupted => return Ok((ledger.settled(leader)?, true)),
        Some(ledger) if cleans => ledger::remove(leader, ledger.name())?,
        Some(_) => return Err(RestoreError::Unfinished { is_ours: true }),
        None => {}
    }
    if request.into == RestoreInto::Interrupted && look.others.is_empty() && look.objects > 0 {
        return Err(RestoreError::NothingInterrupted);
    }
    if cleans {
        look.others.iter().try_for_each(|other| ledger::remove(leader, other))?;
        clean(leader, &views)?;
        clean(leader, &schema.made)?;
    } else if !look.others.is_empty() {
        return Err(RestoreError::Unfinished { is_ours: false });
    } else if look.objects > 0 && request.has_schema && request.into != RestoreInto::Existing {
        return Err(RestoreError::NotEmpty(look.objects));
    } else {
        refuse_present(leader, database, &schema.made)?;
    }
    Ok((MySqlLedger::begin(leader, &name)?, false))
}

/// Connects, with the settings of a restore: values as they are in the archive, references that are checked by nobody a second time.
fn open(address: &ServerAddress, board: &MySqlRestoreBoard) -> Result<Connection, RestoreError> {
    let mut connection = session::open(address, LOCK_WAIT)?;
    board.may_be_cancelled(&connection);
    set_up(&mut connection)?;
    Ok(connection)
}

/// COMPAT: one statement, as a server that is asked to cancel between two of one request answers only the first. `unique_checks` stays on: without it,
/// MariaDB's bulk insert into an empty table may lose rows that were committed when a statement is cancelled (10.11.19).
fn set_up(connection: &mut Connection) -> Result<(), RestoreError> {
    let sql = "set names utf8mb4, time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', foreign_key_checks = 0";
    connection.execute(sql).map(drop).map_err(RestoreError::server("set up a session"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bare() {
        assert_eq!(bare("`a``b`"), "a`b");
        assert_eq!(sequence_of(b"DO SETVAL(`it's`, 1001, 0)"), "it's");
    }
}
