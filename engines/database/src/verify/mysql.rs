//! The rows of a MariaDB or MySQL: read by the statements of a dump, in parts, by connections that begin their snapshots under one lock. Lines are
//! those of a dump's files, so that their hashes are those of its index.

use super::digest::RowDigester;
use super::{ColumnsToRead, ReadMoment, RowDigest, ServerReading, TableState, TableToRead, WantedTables};
use crate::dump::course::DumpStop;
use crate::dump::{ArchiveFrame, DumpError, DumpProgress};
use crate::dump_mysql::catalogue::{MySqlCatalogue, MySqlTable, MySqlTableKind};
use crate::dump_mysql::lines::{LineSink, send_rows};
use crate::dump_mysql::rights::MySqlRights;
use crate::dump_mysql::selection::matches;
use crate::dump_mysql::snapshots::Snapshots;
use crate::dump_mysql::work::{MySqlBoard, MySqlPart, MySqlTableWork, check_count, read_parts};
use crate::dump_mysql::{
    DumpLock, DumpLockKind, MySqlArchivePart, MySqlArchiveTable, MySqlColumn, MySqlDumpFault, MySqlServer, database_of,
    divide, session,
};
use crate::target::quoted;
use crew::budget::Lease;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use wire::{Connection, ServerAddress, WireError};

/// How a server is read.
#[derive(Clone, Copy, Debug)]
pub struct MySqlReadOptions {
    /// How all connections come to see one moment.
    pub lock: DumpLock,
    /// How long that lock is waited for.
    pub lock_wait: Duration,
    /// Bytes of storage of a part of a table.
    pub part_bytes: u64,
}

/// How the connections to a server come to see one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MySqlMoment {
    /// What was asked for.
    pub asked: DumpLock,
    /// What that is on this server.
    pub lock: DumpLockKind,
    /// Whether the user has the right to lock.
    pub may_lock: bool,
    /// Connections that the server has left.
    pub connections_left: u64,
    /// Tables without transactions, which are read while the lock is held, and their bytes.
    pub locked: (u64, u64),
}

impl MySqlMoment {
    /// The lock that so many connections take. One has its moment by itself, unless tables have no transactions.
    pub fn lock(&self, connections: usize) -> DumpLockKind {
        let is_one_enough = connections <= 1 && self.locked.0 == 0;
        match self.asked {
            DumpLock::Auto if !self.may_lock || is_one_enough => DumpLockKind::Nothing,
            _ => self.lock,
        }
    }
}

/// A server whose rows are read.
pub struct MySqlReading {
    address: ServerAddress,
    server: MySqlServer,
    options: MySqlReadOptions,
    moment: MySqlMoment,
    tables: Vec<ReadTable>,
    /// Names of tables that there are not.
    missing: Vec<String>,
    /// Tables that there are, and that were not asked for.
    others: Vec<String>,
    /// Everything that had a name of a table, at the first look.
    known: HashSet<String>,
    /// Tables that cannot be read, by their own names.
    refused: Mutex<HashMap<String, DumpError>>,
    begun: Mutex<Option<BegunReading>>,
    board: MySqlBoard,
}

/// A table that is read.
struct ReadTable {
    /// As the other side has it.
    name: String,
    /// As the catalogue has it.
    own: MySqlTable,
    /// With the columns of the other side.
    read: MySqlTable,
    is_readable: bool,
}

/// The moment has begun.
struct BegunReading {
    snapshots: Snapshots,
    /// Tables that are still to be read.
    tables: Vec<Arc<MySqlTableWork>>,
}

/// COMPAT: a statement was cancelled, a connection was killed: that is no property of the table.
const ENDED: [u16; 2] = [1317, 1927];

/// For locks of tables that are looked at.
const LOOK_WAIT: Duration = Duration::from_secs(1);

/// Bytes of lines that are hashed together.
const HASHED_BYTES: usize = 64 << 10;

/// LIMIT: memory that is kept for lines behind a long one.
const KEPT_BYTES: usize = 1 << 20;

/// Whether a table of this database matches one of these names, which may have `*` and `?`, and the database before them.
pub fn is_named(table: &str, database: &str, names: &[String]) -> bool {
    let bare = |name: &String| Some(name.strip_prefix(database)?.strip_prefix('.')?.to_owned());
    names.iter().any(|name| matches(name, table) || bare(name).is_some_and(|name| matches(&name, table)))
}

/// What an index says of a table; none if its digest is no number.
pub fn row_digest(table: &MySqlArchiveTable) -> Option<RowDigest> {
    let sum = u128::from_str_radix(&table.digest, 16).ok()?;
    Some(RowDigest { rows: table.rows, bytes: table.bytes, sum })
}

impl MySqlReading {
    /// Looks at the database. Tables that the user may not see are an error, or unknown if they are named.
    pub fn look(address: &ServerAddress, wanted: &WantedTables, options: MySqlReadOptions) -> Result<Self, DumpError> {
        let mut connection = session::open(address, LOOK_WAIT)?;
        let server = MySqlServer::of(connection.server_version());
        let database = database_of(address)?;
        let catalogue = MySqlCatalogue::read(&mut connection, database)?;
        let rights = MySqlRights::read(&mut connection, database)?;
        if matches!(wanted, WantedTables::All) && !rights.has_all_rows() {
            let on = format!("{}.*", quoted(database, '`'));
            let fault = MySqlDumpFault::Right { right: "SELECT", on, without: "-t TABLE", what: "the others" };
            return Err(fault.into());
        }
        let known = catalogue.tables.iter().map(|table| table.name.clone()).collect();
        let is_table = |table: &MySqlTable| table.kind == MySqlTableKind::Table;
        let present: Vec<MySqlTable> = catalogue.tables.into_iter().filter(is_table).collect();
        let is_alike = matches!(wanted, WantedTables::Alike(_));
        let mut found = FoundTables { is_alike, ..FoundTables::default() };
        found.look_for(wanted_of(wanted, &present, database), present, rights.has_all_rows());
        if !rights.has_all_rows() {
            found.try_each(&mut connection)?;
        }
        found.tables.sort_by_key(|table| std::cmp::Reverse(table.own.bytes));
        let locked = found.tables.iter().filter(|table| table.is_readable && !table.own.is_transactional);
        let moment = MySqlMoment {
            asked: options.lock,
            lock: server.lock(options.lock),
            may_lock: rights.may_lock(),
            connections_left: session::connections_left(&mut connection),
            locked: locked.fold((0, 0), |(count, bytes), table| (count + 1, bytes + table.own.bytes)),
        };
        Ok(Self {
            address: address.clone(),
            server,
            options,
            moment,
            tables: found.tables,
            missing: found.missing,
            others: found.others,
            known,
            refused: Mutex::new(found.refused),
            begun: Mutex::default(),
            board: MySqlBoard::default(),
        })
    }

    fn readable(&self) -> impl Iterator<Item = &ReadTable> {
        self.tables.iter().filter(|table| table.is_readable)
    }

    fn open(&self) -> Result<Connection, DumpError> {
        let connection = session::open(&self.address, self.options.lock_wait)?;
        self.board.course.may_be_cancelled(&connection);
        if self.board.course.is_over() { Err(DumpError::Interrupted) } else { Ok(connection) }
    }

    /// Opens all connections and begins their snapshots. Tables without transactions are read before the lock goes.
    fn begin_moment(&self, connections: usize, lease: &dyn Lease) -> Result<Duration, DumpError> {
        let database = database_of(&self.address)?;
        let lock = self.moment.lock(connections);
        let mut snapshots = Snapshots::new(self.open()?, self.server.clone(), lock, connections, || self.open())?;
        let own: Vec<&MySqlTable> = self.readable().map(|table| &table.own).collect();
        snapshots.begin(&own)?;
        snapshots.check_names(database, |name| !self.known.contains(name))?;
        let works = self.board.expect(self.readable().map(|table| table.read.clone()));
        let is_later = |work: &Arc<MySqlTableWork>| work.table.is_transactional || lock == DumpLockKind::Nothing;
        let (later, under_lock): (Vec<_>, Vec<_>) = works.into_iter().partition(is_later);
        if !under_lock.is_empty() {
            for table in &under_lock {
                self.board.add(table, vec![String::new()], true);
            }
            self.board.no_more_parts();
            std::thread::scope(|scope| self.start_readers(scope, &mut snapshots.readers, lease));
            self.board.more_parts_come();
        }
        let held = snapshots.release(&own, database)?;
        *self.begun.lock() = Some(BegunReading { snapshots, tables: later });
        Ok(held)
    }

    fn start_readers<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        readers: &'scope mut [Connection],
        lease: &'scope dyn Lease,
    ) {
        for reader in readers {
            scope.spawn(move || {
                let read = |connection: &mut Connection, part: &MySqlPart| self.read_part(connection, part);
                self.board.ends_with(read_parts(&self.board, reader, lease, read))
            });
        }
    }

    /// Adds a part up. A table that the server refuses to show is noted, and the others are read.
    fn read_part(&self, connection: &mut Connection, part: &MySqlPart) -> Result<Option<MySqlArchivePart>, DumpError> {
        let table = &part.table.table;
        if self.refused.lock().contains_key(&table.name) {
            return Ok(Some(MySqlArchivePart::default()));
        }
        let mut lines = HashedLines { board: &self.board, text: Vec::new(), digester: RowDigester::default() };
        match send_rows(&self.board, connection, part, &mut lines) {
            Ok(Some(rows)) => {
                let digest = lines.finish();
                check_count(table, rows, digest.rows)?;
                Ok(Some(summed(&digest)))
            }
            Ok(None) => Ok(None),
            Err(error) if is_of_table(&error) => {
                self.refused.lock().entry(table.name.clone()).or_insert(error);
                Ok(Some(MySqlArchivePart::default()))
            }
            Err(error) => Err(error),
        }
    }

    fn states(&self) -> Vec<(String, TableState)> {
        let read = self.board.take_entries();
        let read: HashMap<&str, &MySqlArchiveTable> = read.iter().map(|table| (table.table.as_str(), table)).collect();
        let mut refused = std::mem::take(&mut *self.refused.lock());
        let mut state = |table: &ReadTable| match refused.remove(&table.own.name) {
            Some(error) => TableState::Refused(error),
            None => read
                .get(table.own.name.as_str())
                .copied()
                .and_then(row_digest)
                .map_or(TableState::Unread, TableState::Read),
        };
        let mut states: Vec<_> = self.tables.iter().map(|table| (table.name.clone(), state(table))).collect();
        states.extend(self.missing.iter().map(|name| (name.clone(), TableState::Missing)));
        states
    }
}

impl ServerReading for MySqlReading {
    fn server(&self) -> String {
        self.server.name()
    }

    fn encoding(&self) -> Option<String> {
        None
    }

    fn moment(&self) -> ReadMoment {
        ReadMoment::Locked(self.moment)
    }

    fn is_named(&self, table: &str, names: &[String]) -> bool {
        is_named(table, self.address.database().unwrap_or_default(), names)
    }

    fn tables(&self) -> Vec<(TableToRead, u64)> {
        let names = |table: &ReadTable| table.read.columns.iter().map(|column| column.name.clone()).collect();
        let table =
            |table: &ReadTable| TableToRead { name: table.name.clone(), columns: ColumnsToRead::Names(names(table)) };
        self.tables.iter().map(|found| (table(found), found.own.bytes)).collect()
    }

    fn others(&self) -> &[String] {
        &self.others
    }

    fn parts(&self) -> u64 {
        self.readable().map(|table| table.own.division(self.options.part_bytes).parts(&table.own)).sum()
    }

    fn progress(&self) -> DumpProgress {
        self.board.progress()
    }

    fn stop(&self) {
        self.board.stop(DumpStop::Interrupted);
    }

    fn begin(&self, connections: usize, lease: &dyn Lease) -> Result<Duration, DumpError> {
        let outcome = self.begin_moment(connections, lease);
        self.board.course.fault()?;
        outcome
    }

    fn read(&self, _connections: usize, lease: &dyn Lease) -> Result<Vec<(String, TableState)>, DumpError> {
        let Some(BegunReading { mut snapshots, tables }) = self.begun.lock().take() else {
            return Err(DumpError::Interrupted);
        };
        let (readers, keeper) = (&mut snapshots.readers, &mut snapshots.keeper);
        std::thread::scope(|scope| {
            self.start_readers(scope, readers, lease);
            self.board.ends_with(divide(&self.board, tables, self.options.part_bytes, keeper));
            self.board.no_more_parts();
        });
        self.board.course.fault()?;
        Ok(self.states())
    }
}

/// Tables of a database that are wanted.
fn wanted_of(wanted: &WantedTables, present: &[MySqlTable], database: &str) -> Vec<TableToRead> {
    let own = |table: &MySqlTable| TableToRead { name: table.name.clone(), columns: ColumnsToRead::Own };
    match wanted {
        WantedTables::All => present.iter().map(own).collect(),
        WantedTables::Named(names) => {
            present.iter().filter(|table| is_named(&table.name, database, names)).map(own).collect()
        }
        WantedTables::These(tables) | WantedTables::Alike(tables) => tables.clone(),
    }
}

/// Which tables are there.
#[derive(Default)]
struct FoundTables {
    tables: Vec<ReadTable>,
    missing: Vec<String>,
    others: Vec<String>,
    refused: HashMap<String, DumpError>,
    /// Whether a column that the other side has not is a difference.
    is_alike: bool,
}

impl FoundTables {
    /// Finds what is wanted among what is present. `sees_all`: what is not seen is not there.
    fn look_for(&mut self, wanted: Vec<TableToRead>, present: Vec<MySqlTable>, sees_all: bool) {
        let mut present: HashMap<String, MySqlTable> =
            present.into_iter().map(|table| (table.name.clone(), table)).collect();
        let exact: Vec<Option<MySqlTable>> = wanted.iter().map(|table| present.remove(&table.name)).collect();
        // A server may have all names in lower case.
        let mut loosely: HashMap<String, String> =
            present.keys().map(|name| (name.to_lowercase(), name.clone())).collect();
        for (table, exact) in wanted.into_iter().zip(exact) {
            let own = exact.or_else(|| present.remove(&loosely.remove(&table.name.to_lowercase())?));
            match own {
                Some(own) => self.add(table, own),
                None if sees_all => self.missing.push(table.name),
                None => {
                    let own = MySqlTable { name: table.name.clone(), ..MySqlTable::default() };
                    self.refused.insert(table.name.clone(), MySqlDumpFault::Unseen(table.name.clone()).into());
                    self.tables.push(ReadTable { name: table.name, read: own.clone(), own, is_readable: false });
                }
            }
        }
        self.others = present.into_keys().collect();
        self.others.sort();
    }

    fn add(&mut self, table: TableToRead, own: MySqlTable) {
        let columns = match &table.columns {
            ColumnsToRead::Names(names) => in_order(&own.columns, names, self.is_alike),
            ColumnsToRead::Own | ColumnsToRead::List(_) => Ok(own.columns.clone()),
        };
        let is_readable = columns.is_ok();
        let columns = columns.unwrap_or_else(|fault| {
            self.refused.insert(own.name.clone(), fault.into());
            own.columns.clone()
        });
        let read = MySqlTable { columns, ..own.clone() };
        self.tables.push(ReadTable { name: table.name, own, read, is_readable });
    }

    /// Asks for all columns of each table: rights may be on tables, or on columns, which are not seen without them.
    fn try_each(&mut self, connection: &mut Connection) -> Result<(), DumpError> {
        for table in &mut self.tables {
            let name = &table.own.name;
            if matches!(self.refused.get(name), Some(DumpError::MySql(MySqlDumpFault::Unseen(_)))) {
                continue;
            }
            let outcome = connection.execute(&format!("select * from {} limit 0", quoted(name, '`')));
            match outcome.map_err(DumpError::server(format!("read rows of '{name}'"))) {
                Err(error) if is_of_table(&error) => {
                    self.refused.insert(name.clone(), error);
                    table.is_readable = false;
                }
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }
}

/// The columns of these names; the error is one that is not there or, if sides are to be alike, one more. Names of columns have no case.
fn in_order(own: &[MySqlColumn], names: &[String], is_alike: bool) -> Result<Vec<MySqlColumn>, MySqlDumpFault> {
    let is_named = |column: &MySqlColumn, name: &String| column.name.to_lowercase() == name.to_lowercase();
    let find = |name: &String| {
        let column = own.iter().find(|column| is_named(column, name)).cloned();
        column.ok_or_else(|| MySqlDumpFault::NoColumn(name.clone()))
    };
    let columns = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    match own.iter().find(|column| is_alike && !names.iter().any(|name| is_named(column, name))) {
        Some(column) => Err(MySqlDumpFault::MoreColumn(column.name.clone())),
        None => Ok(columns),
    }
}

/// Whether the server has refused to show a table, and shows others.
fn is_of_table(error: &DumpError) -> bool {
    match error {
        DumpError::Server { cause: WireError::Server(error), .. } => {
            !error.is_fatal && !error.number.is_some_and(|number| ENDED.contains(&number))
        }
        error => matches!(error, DumpError::MySql(MySqlDumpFault::CutOff { .. })),
    }
}

/// A part whose rows are nowhere but in this sum.
fn summed(digest: &RowDigest) -> MySqlArchivePart {
    let (rows, bytes) = (digest.rows, digest.bytes);
    let frame =
        ArchiveFrame { offset: 0, stored: 0, bytes, rows, digest: format!("{:032x}", digest.sum), units: Vec::new() };
    MySqlArchivePart { rows, bytes, frames: vec![frame], ..MySqlArchivePart::default() }
}

/// Lines whose hashes are added up.
struct HashedLines<'a> {
    board: &'a MySqlBoard,
    text: Vec<u8>,
    digester: RowDigester,
}

impl LineSink for HashedLines<'_> {
    fn line(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    fn end_line(&mut self) -> Result<(), DumpError> {
        if self.text.len() >= HASHED_BYTES {
            self.hash();
        }
        Ok(())
    }
}

impl HashedLines<'_> {
    fn hash(&mut self) {
        self.digester.take(&self.text);
        self.board.course.came(self.text.len() as u64);
        self.text.clear();
        self.text.shrink_to(KEPT_BYTES);
    }

    fn finish(mut self) -> RowDigest {
        self.hash();
        self.digester.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, columns: &[&str]) -> MySqlTable {
        let column = |name: &&str| MySqlColumn { name: (*name).to_owned(), ..MySqlColumn::default() };
        MySqlTable {
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            is_transactional: true,
            ..MySqlTable::default()
        }
    }

    fn wanted(name: &str, columns: &[&str]) -> TableToRead {
        let columns = ColumnsToRead::Names(columns.iter().map(|name| (*name).to_owned()).collect());
        TableToRead { name: name.to_owned(), columns }
    }

    #[test]
    fn tables_are_found_by_their_names_and_columns_are_in_the_other_sides_order() {
        let mut found = FoundTables::default();
        let present =
            vec![table("orders", &["id", "Word"]), table("Orders", &["x"]), table("odd", &[]), table("lower", &[])];
        let asked = vec![
            wanted("orders", &["word", "id"]),
            wanted("LOWER", &[]),
            wanted("Orders", &["y"]),
            wanted("none", &[]),
        ];
        found.look_for(asked, present, true);
        let read: Vec<_> = found.tables.iter().map(|table| (table.name.as_str(), table.own.name.as_str())).collect();
        assert_eq!(read, [("orders", "orders"), ("LOWER", "lower"), ("Orders", "Orders")]);
        assert_eq!(found.tables[0].read.select_list(), "`Word`,`id`");
        assert!(!found.tables[2].is_readable && found.refused.contains_key("Orders"));
        assert_eq!((found.missing, found.others), (vec!["none".to_owned()], vec!["odd".to_owned()]));
        let mut hidden = FoundTables::default();
        hidden.look_for(vec![wanted("none", &[])], Vec::new(), false);
        assert!(hidden.missing.is_empty() && hidden.refused.contains_key("none"), "it may be there");
        let own = table("t", &["a", "B"]).columns;
        let names = ["b".to_owned()];
        assert!(in_order(&own, &names, false).is_ok_and(|columns| columns.len() == 1));
        assert_eq!(in_order(&own, &names, true), Err(MySqlDumpFault::MoreColumn("a".to_owned())));
    }

    #[test]
    fn a_lock_is_taken_when_it_is_needed() {
        let moment = MySqlMoment {
            asked: DumpLock::Auto,
            lock: DumpLockKind::BackupStage,
            may_lock: true,
            connections_left: 10,
            locked: (0, 0),
        };
        assert_eq!([moment.lock(1), moment.lock(2)], [DumpLockKind::Nothing, DumpLockKind::BackupStage]);
        let old = MySqlMoment { locked: (1, 5), ..moment };
        assert_eq!(old.lock(1), DumpLockKind::BackupStage);
        assert_eq!(MySqlMoment { may_lock: false, ..old }.lock(1), DumpLockKind::Nothing);
        let flush = MySqlMoment { asked: DumpLock::Flush, lock: DumpLockKind::Flush, may_lock: false, ..moment };
        assert_eq!(flush.lock(1), DumpLockKind::Flush, "the server refuses it, with its reason");
    }

    #[test]
    fn names_are_patterns_with_or_without_their_database() {
        let named = |name: &str| is_named("orders", "my.shop", &[name.to_owned()]);
        assert_eq!(
            ["orders", "order?", "my.shop.ord*", "shop.orders", "order"].map(named),
            [true, true, true, false, false]
        );
    }
}
