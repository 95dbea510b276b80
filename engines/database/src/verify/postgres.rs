//! The rows of a PostgreSQL: read by the statements of a dump, in parts, by connections of one snapshot.

use super::digest::RowDigester;
use super::{ColumnsToRead, ReadMoment, RowDigest, ServerReading, TableState, TableToRead, WantedTables};
use crate::dump::{
    Catalogue, CopyOut, DumpClocks, DumpError, DumpProgress, DumpSession, TableDivision, connect, text_of,
};
use crate::dump_mysql::MySqlDumpFault;
use crate::indexes::plain_name;
use crew::budget::Lease;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;
use wire::{Canceller, Connection, ServerAddress, WireError};

/// How long a server may take to hear of a cancel request.
const CANCEL: Duration = Duration::from_secs(5);

/// A server whose rows are read.
pub struct PostgresReading {
    address: ServerAddress,
    leader: Mutex<Connection>,
    session: DumpSession,
    snapshot: String,
    /// That rows are read in; none: the database's.
    encoding: Option<String>,
    tables: Vec<ReadTable>,
    /// Names of tables that there are not.
    missing: Vec<String>,
    /// Tables that there are, and that were not asked for.
    others: Vec<String>,
    board: ReadingBoard,
}

impl WantedTables {
    /// Of a database whose tables have these columns.
    fn of(&self, columns: &BTreeMap<String, String>) -> Vec<TableToRead> {
        let own = |name: &String| TableToRead { name: name.clone(), columns: ColumnsToRead::Own };
        match self {
            Self::All => columns.keys().map(own).collect(),
            Self::Named(names) => columns.keys().filter(|name| is_named(name, names)).map(own).collect(),
            Self::These(tables) | Self::Alike(tables) => tables.clone(),
        }
    }
}

/// Whether a table, by its quoted name with its schema, is one of these names.
pub fn is_named(table: &str, names: &[String]) -> bool {
    let last = plain_name(table);
    names.iter().any(|name| name == table || (!name.contains('.') && plain_name(name) == last))
}

/// A column of one list, as COPY has it, that the other has not, if it has all of the other's: the server names a column that there is not.
fn more_column(own: &str, other: &str) -> Option<String> {
    let (own, other) = (names_in(own), names_in(other));
    let has_all = other.iter().all(|name| own.contains(name));
    own.into_iter().find(|name| has_all && !other.contains(name))
}

/// The names in a list, without their quotes: versions differ in the words that they quote.
fn names_in(list: &str) -> Vec<String> {
    let inner = list.trim().trim_start_matches('(').strip_suffix(')').unwrap_or_default();
    let mut is_quoted = false;
    let parts = inner.split(|letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    });
    parts.map(|part| plain_name(part.trim())).filter(|name| !name.is_empty()).collect()
}

/// A table that is read.
struct ReadTable {
    name: String,
    columns: String,
    division: TableDivision,
    stored: u64,
    state: Mutex<TableReading>,
}

#[derive(Default)]
struct TableReading {
    digest: RowDigest,
    parts: u64,
    refused: Option<DumpError>,
}

/// What all threads share.
#[derive(Default)]
struct ReadingBoard {
    /// Places in the list of parts.
    next: AtomicU64,
    is_over: AtomicBool,
    is_interrupted: AtomicBool,
    failed: Mutex<Option<DumpError>>,
    cancellers: Mutex<Vec<Canceller>>,
    tables_done: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    stored_done: AtomicU64,
    at_work: AtomicU64,
    clocks: Mutex<DumpClocks>,
}

/// Columns that a dump has: no generated ones.
const COLUMNS: &str = "select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), \
    coalesce('(' || pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' order by a.attnum) || ')', '') \
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' \
    where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' group by 1";

impl PostgresReading {
    /// Connects and begins the snapshot. Rows are read in `encoding`, or in the database's.
    pub fn look(
        address: &ServerAddress,
        wanted: &WantedTables,
        encoding: Option<&str>,
        part_bytes: u64,
    ) -> Result<Self, DumpError> {
        let session = DumpSession::default();
        let mut leader = connect(address)?;
        let snapshot = session.begin(&mut leader)?;
        let catalogue = Catalogue::read(&mut leader)?;
        let rows = leader.query(COLUMNS).map_err(DumpError::server("read the list of columns"))?;
        let columns = |row| Some((text_of(&rows, row, 0)?, text_of(&rows, row, 1)?));
        let columns: BTreeMap<String, String> = (0..rows.len()).filter_map(columns).collect();
        let asked = wanted.of(&columns);
        let is_alike = matches!(wanted, WantedTables::Alike(_));
        // Versions differ in the words that they quote.
        let loosely: BTreeMap<String, &String> = columns.keys().map(|name| (name.replace('"', ""), name)).collect();
        let mut found = Vec::new();
        let mut missing = Vec::new();
        let mut others: BTreeSet<String> = columns.keys().cloned().collect();
        for table in asked {
            let own = columns.get_key_value(&table.name).map(|(name, _)| name);
            let own = own.or_else(|| loosely.get(&table.name.replace('"', "")).copied());
            let Some((own, stored)) = own.and_then(|own| Some((own, catalogue.find(own)?))) else {
                missing.push(table.name);
                continue;
            };
            others.remove(own);
            let more = match &table.columns {
                ColumnsToRead::List(list) if is_alike => more_column(&columns[own], list),
                _ => None,
            };
            let refused = more.map(|column| MySqlDumpFault::MoreColumn(column).into());
            found.push(ReadTable {
                columns: match table.columns {
                    ColumnsToRead::List(list) => list,
                    ColumnsToRead::Own | ColumnsToRead::Names(_) => columns[own].clone(),
                },
                name: table.name,
                division: catalogue.divide(stored, part_bytes),
                stored: stored.bytes,
                state: Mutex::new(TableReading { refused, ..TableReading::default() }),
            });
        }
        found.sort_by_key(|table| Reverse(table.stored));
        let board = ReadingBoard::default();
        let encoding = encoding.map(str::to_owned);
        let others = others.into_iter().collect();
        let (address, leader) = (address.clone(), Mutex::new(leader));
        Ok(Self { address, leader, session, snapshot, encoding, tables: found, missing, others, board })
    }

    fn read_parts(&self, parts: &[(usize, u64)], lease: &dyn Lease) -> Result<(), DumpError> {
        let mut connection = None;
        while let Some((at, part)) = self.board.take(parts) {
            let table = &self.tables[at];
            if table.state.lock().refused.is_none() {
                let joined = match &mut connection {
                    Some(joined) => joined,
                    None => connection.insert(self.join()?),
                };
                let read = self.with_hand(lease, || self.read_part(joined, table, part));
                self.take_outcome(table, read, joined)?;
            }
            self.board.part_done(table);
        }
        Ok(())
    }

    fn take_outcome(
        &self,
        table: &ReadTable,
        read: Result<RowDigest, DumpError>,
        joined: &mut Connection,
    ) -> Result<(), DumpError> {
        match read {
            Ok(digest) => {
                let mut state = table.state.lock();
                state.digest = state.digest.with(digest);
                Ok(())
            }
            Err(error) if is_of_table(&error) && !self.board.is_over() => {
                table.state.lock().refused.get_or_insert(error);
                joined.execute("rollback").map_err(DumpError::server("end a transaction"))?;
                self.begin(joined)
            }
            Err(error) => Err(error),
        }
    }

    fn join(&self) -> Result<Connection, DumpError> {
        let mut joined = connect(&self.address)?;
        self.board.cancellers.lock().push(joined.canceller());
        if self.board.is_over() {
            return Err(DumpError::Interrupted);
        }
        self.begin(&mut joined)?;
        Ok(joined)
    }

    fn begin(&self, joined: &mut Connection) -> Result<(), DumpError> {
        self.session.join(joined, &self.snapshot)?;
        if let Some(encoding) = &self.encoding {
            let sql = format!("set client_encoding = '{}'", encoding.replace('\'', "''"));
            joined.execute(&sql).map_err(DumpError::server(format!("read rows in {encoding}")))?;
        }
        Ok(())
    }

    fn read_part(&self, joined: &mut Connection, table: &ReadTable, part: u64) -> Result<RowDigest, DumpError> {
        let copy = CopyOut { table: &table.name, columns: &table.columns };
        let mut digester = RowDigester::default();
        let outcome = joined.copy_out(&table.division.statement(&copy, part), |bytes| {
            if self.board.is_over() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.board.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            digester.take(bytes);
            Ok(())
        });
        let executed = outcome.map_err(DumpError::server(format!("read rows of {}", table.name)))?;
        let digest = digester.finish();
        if digest.rows != executed.affected {
            let (sent, counted) = (digest.rows, executed.affected);
            let message = format!("has sent {sent} rows of {} and counted {counted}", table.name);
            return Err(DumpError::Program { program: "the server", message });
        }
        self.board.rows.fetch_add(digest.rows, Ordering::Relaxed);
        Ok(digest)
    }

    /// Holds a core while rows come: the server computes, and then we do.
    fn with_hand<T>(&self, lease: &dyn Lease, work: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let hand = lease.take();
        let (begin, cpu_before) = (Instant::now(), thread_cpu_ns());
        self.board.at_work.fetch_add(1, Ordering::Relaxed);
        let done = work();
        self.board.at_work.fetch_sub(1, Ordering::Relaxed);
        lease.give_back(hand);
        let mut clocks = self.board.clocks.lock();
        clocks.waiting_for_hands += begin - before;
        clocks.reading += begin.elapsed();
        clocks.computing += Duration::from_nanos(thread_cpu_ns().saturating_sub(cpu_before));
        done
    }
}

impl ServerReading for PostgresReading {
    fn server(&self) -> String {
        format!("PostgreSQL {}", self.leader.lock().server_version())
    }

    fn encoding(&self) -> Option<String> {
        self.encoding.clone().or_else(|| crate::dump::encoding(&mut self.leader.lock()).ok())
    }

    fn moment(&self) -> ReadMoment {
        ReadMoment::Shared
    }

    fn is_named(&self, table: &str, names: &[String]) -> bool {
        is_named(table, names)
    }

    fn tables(&self) -> Vec<(TableToRead, u64)> {
        let columns = |table: &ReadTable| ColumnsToRead::List(table.columns.clone());
        let table = |table: &ReadTable| TableToRead { name: table.name.clone(), columns: columns(table) };
        self.tables.iter().map(|found| (table(found), found.stored)).collect()
    }

    fn others(&self) -> &[String] {
        &self.others
    }

    fn parts(&self) -> u64 {
        self.tables.iter().map(|table| table.division.parts()).sum()
    }

    fn progress(&self) -> DumpProgress {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DumpProgress {
            tables: self.tables.len() as u64,
            tables_done: count(&self.board.tables_done),
            rows: count(&self.board.rows),
            bytes: count(&self.board.bytes),
            stored_done: count(&self.board.stored_done),
            stored: self.tables.iter().map(|table| table.stored).sum(),
            written: 0,
            at_work: count(&self.board.at_work),
            clocks: *self.board.clocks.lock(),
        }
    }

    fn stop(&self) {
        self.board.is_interrupted.store(true, Ordering::SeqCst);
        self.board.end();
    }

    /// The snapshot is there since the look, and nobody waited.
    fn begin(&self, _connections: usize, _lease: &dyn Lease) -> Result<Duration, DumpError> {
        Ok(Duration::ZERO)
    }

    fn read(&self, connections: usize, lease: &dyn Lease) -> Result<Vec<(String, TableState)>, DumpError> {
        let parts: Vec<(usize, u64)> = self
            .tables
            .iter()
            .enumerate()
            .flat_map(|(at, table)| (0..table.division.parts()).map(move |part| (at, part)))
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    if let Err(error) = self.read_parts(&parts, lease) {
                        self.board.failed.lock().get_or_insert(error);
                        self.board.end();
                    }
                });
            }
        });
        if self.board.is_interrupted.load(Ordering::SeqCst) {
            return Err(DumpError::Interrupted);
        }
        if let Some(error) = self.board.failed.lock().take() {
            return Err(error);
        }
        let state = |table: &ReadTable| {
            let mut state = table.state.lock();
            let read = TableState::Read(state.digest);
            (table.name.clone(), state.refused.take().map_or(read, TableState::Refused))
        };
        let missing = self.missing.iter().map(|name| (name.clone(), TableState::Missing));
        Ok(self.tables.iter().map(state).chain(missing).collect())
    }
}

/// Whether the server has refused a statement and goes on.
fn is_of_table(error: &DumpError) -> bool {
    matches!(error, DumpError::Server { cause: WireError::Server(error), .. } if !error.is_fatal)
}

impl ReadingBoard {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        for canceller in std::mem::take(&mut *self.cancellers.lock()) {
            let _ends_by_itself_then = canceller.cancel(CANCEL);
        }
    }

    fn take(&self, parts: &[(usize, u64)]) -> Option<(usize, u64)> {
        if self.is_over() {
            return None;
        }
        let at = usize::try_from(self.next.fetch_add(1, Ordering::Relaxed)).ok()?;
        parts.get(at).copied()
    }

    fn part_done(&self, table: &ReadTable) {
        let parts = table.division.parts();
        self.stored_done.fetch_add(table.stored / parts, Ordering::Relaxed);
        let mut state = table.state.lock();
        state.parts += 1;
        if state.parts == parts {
            self.tables_done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_column_is_found_however_names_are_quoted() {
        let own = r#"(id, "a, b", "order", "it""s")"#;
        assert_eq!(names_in(own), ["id", "a, b", "order", "it\"s"]);
        assert_eq!(more_column(own, r#"("a, b", id, order)"#).as_deref(), Some("it\"s"));
        assert_eq!(more_column(own, r#"("it""s", "a, b", "order", id)"#), None);
        assert_eq!(more_column(own, "(id, gone)"), None, "the server names a column that is not there");
        assert_eq!((names_in(""), more_column("(a)", "").as_deref()), (Vec::new(), Some("a")));
    }
}
