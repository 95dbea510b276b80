//! Whether two sides have the same rows: an archive and a server, or two servers. A server's rows are read again over many connections of one
//! moment, as a dump reads them, and added up to the same digest; nothing is kept of them. Theory: README.md.

mod archive;
mod digest;
mod mysql;
mod postgres;

pub use archive::{ArchiveDigests, NoDigests};
pub use mysql::{MySqlMoment, MySqlReadOptions, MySqlReading};
pub use postgres::PostgresReading;

use crate::dump::{DumpClocks, DumpError, DumpProgress};
use crate::dump_mysql::MySqlDumpFault;
use crew::budget::Lease;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{Protocol, ServerError, WireError};

/// Rows of a table, and the sum of their hashes, which does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowDigest {
    /// Rows.
    pub rows: u64,
    /// Their bytes as COPY has them.
    pub bytes: u64,
    /// The sum of their XXH3-128, with wrap-around.
    pub sum: u128,
}

impl RowDigest {
    /// With another part of the table.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, bytes: self.bytes + other.bytes, sum: self.sum.wrapping_add(other.sum) }
    }
}

/// A table to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableToRead {
    /// Its name; of PostgreSQL, quoted and with its schema.
    pub name: String,
    /// Its columns.
    pub columns: ColumnsToRead,
}

/// Columns of a table, in the order of the side that is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ColumnsToRead {
    /// Its own.
    #[default]
    Own,
    /// Of PostgreSQL: quoted and in parentheses, as COPY has them.
    List(String),
    /// Of MariaDB and MySQL: their names.
    Names(Vec<String>),
}

/// Which tables.
#[derive(Clone, Debug)]
pub enum WantedTables {
    /// All of the database.
    All,
    /// All of these names, with their schema or without it.
    Named(Vec<String>),
    /// Those of the other side; further columns are passed over.
    These(Vec<TableToRead>),
    /// Those of the other side, which has no further columns.
    Alike(Vec<TableToRead>),
}

/// How a server's rows come to be of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMoment {
    /// All connections share a snapshot.
    Shared,
    /// Each has its own, and all begin at once.
    Locked(MySqlMoment),
}

/// A server whose rows are read. It is looked at, then the moment begins, then rows are read; one that is stopped ends with an error.
pub trait ServerReading: Send + Sync {
    /// Its name and version.
    fn server(&self) -> String;
    /// The encoding that rows are read in, if there are several.
    fn encoding(&self) -> Option<String>;
    /// How rows come to be of one moment.
    fn moment(&self) -> ReadMoment;
    /// Whether a table is one of these names.
    fn is_named(&self, table: &str, names: &[String]) -> bool;
    /// Tables that will be read, with the bytes of their storage.
    fn tables(&self) -> Vec<(TableToRead, u64)>;
    /// Tables that there are, and that were not asked for.
    fn others(&self) -> &[String];
    /// Parts that may be read at the same time.
    fn parts(&self) -> u64;
    /// How far it is.
    fn progress(&self) -> DumpProgress;
    /// Ends it from outside.
    fn stop(&self);
    /// Begins the moment for so many connections; how long writers had to wait.
    fn begin(&self, connections: usize, lease: &dyn Lease) -> Result<Duration, DumpError>;
    /// Reads over as many connections as it has begun with.
    fn read(&self, connections: usize, lease: &dyn Lease) -> Result<Vec<(String, TableState)>, DumpError>;
}

/// Begins and reads, unless `is_over`.
pub fn read_unless(
    reading: &dyn ServerReading,
    connections: usize,
    lease: &dyn Lease,
    is_over: impl Fn() -> bool + Sync,
) -> Result<Vec<(String, TableState)>, DumpError> {
    let is_read = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_read.load(Ordering::Acquire) {
                if is_over() {
                    reading.stop();
                }
                std::thread::sleep(LOOKS_EVERY);
            }
        });
        let found = reading.begin(connections, lease).and_then(|_held| reading.read(connections, lease));
        is_read.store(true, Ordering::Release);
        found
    })
}

/// How often a reading looks whether all is over.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// A server of another kind as people know it.
pub fn kind_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Postgres => "PostgreSQL",
        Protocol::MySql => "MariaDB or MySQL",
    }
}

/// What is on one side.
#[derive(Debug)]
pub enum TableState {
    /// It was read.
    Read(RowDigest),
    /// There is none of this name.
    Missing,
    /// It is there, and was not read, as the other side has none.
    Unread,
    /// The server refused to show it: a column that there is not, a right that is missing.
    Refused(DumpError),
}

/// How two sides of a table compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableVerdict {
    /// The same rows, in any order.
    Same,
    /// Other rows, or one side has no such table or column.
    Differs,
    /// A side could not be read, for want of a right say.
    Unknown,
}

/// A table on both sides.
#[derive(Debug)]
pub struct ComparedTable {
    /// Its quoted name.
    pub name: String,
    /// The side that is believed.
    pub expected: TableState,
    /// The other one.
    pub found: TableState,
}

/// COMPAT: PostgreSQL's code of a missing right, that of row security included.
const DENIED: &str = "42501";

/// COMPAT: errors of MariaDB and MySQL about a column or a table that there is not.
const ABSENT: [u16; 2] = [1054, 1146];

impl TableState {
    /// Whether nothing is known of its rows.
    fn is_unknown(&self) -> bool {
        let Self::Refused(error) = self else { return false };
        match error {
            DumpError::MySql(fault) => !matches!(fault, MySqlDumpFault::NoColumn(_) | MySqlDumpFault::MoreColumn(_)),
            DumpError::Server { cause: WireError::Server(error), .. } => is_of_reading(error),
            _ => false,
        }
    }
}

/// Whether an error is about the reader, and not about what there is.
fn is_of_reading(error: &ServerError) -> bool {
    error.number.map_or_else(|| error.sqlstate() == DENIED, |number| !ABSENT.contains(&number))
}

impl ComparedTable {
    /// Whether they are the same.
    pub fn verdict(&self) -> TableVerdict {
        match (&self.expected, &self.found) {
            // The line behind the last row is none of a table's bytes.
            (TableState::Read(one), TableState::Read(other)) if (one.rows, one.sum) == (other.rows, other.sum) => {
                TableVerdict::Same
            }
            (one, other) if one.is_unknown() || other.is_unknown() => TableVerdict::Unknown,
            _ => TableVerdict::Differs,
        }
    }
}

/// Puts both sides of each table together, sorted by name.
pub fn compare(
    expected: impl IntoIterator<Item = (String, TableState)>,
    found: impl IntoIterator<Item = (String, TableState)>,
) -> Vec<ComparedTable> {
    let mut found: BTreeMap<String, TableState> = found.into_iter().collect();
    let both = |(name, expected): (String, TableState)| {
        let found = found.remove(&name).unwrap_or(TableState::Missing);
        ComparedTable { name, expected, found }
    };
    let mut compared: Vec<ComparedTable> = expected.into_iter().map(both).collect();
    let only = found.into_iter().map(|(name, found)| ComparedTable { name, expected: TableState::Missing, found });
    compared.extend(only);
    compared.sort_by(|one, other| one.name.cmp(&other.name));
    compared
}

/// The progress of two servers that are read at the same time.
pub fn together(one: &DumpProgress, other: &DumpProgress) -> DumpProgress {
    DumpProgress {
        tables: one.tables + other.tables,
        tables_done: one.tables_done + other.tables_done,
        rows: one.rows + other.rows,
        bytes: one.bytes + other.bytes,
        stored_done: one.stored_done + other.stored_done,
        stored: one.stored + other.stored,
        written: 0,
        at_work: one.at_work + other.at_work,
        clocks: DumpClocks {
            reading: one.clocks.reading + other.clocks.reading,
            computing: one.clocks.computing + other.clocks.computing,
            waiting_for_hands: one.clocks.waiting_for_hands + other.clocks.waiting_for_hands,
            waiting_for_work: one.clocks.waiting_for_work + other.clocks.waiting_for_work,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: u64, sum: u128) -> TableState {
        TableState::Read(RowDigest { rows, bytes: rows, sum })
    }

    #[test]
    fn tables_of_both_sides_are_compared_by_rows_and_sums() {
        let table = |name: &str, state| (name.to_owned(), state);
        let expected = [table("b", read(2, 5)), table("a", read(1, 1)), table("c", read(0, 0)), table("d", read(1, 7))];
        let found = [table("a", read(1, 1)), table("b", read(2, 6)), table("d", read(2, 7)), table("e", read(0, 0))];
        let compared = compare(expected, found);
        let verdicts: Vec<_> = compared.iter().map(|table| (table.name.as_str(), table.verdict())).collect();
        use TableVerdict::{Differs, Same};
        assert_eq!(verdicts, [("a", Same), ("b", Differs), ("c", Differs), ("d", Differs), ("e", Differs)]);
    }
}
