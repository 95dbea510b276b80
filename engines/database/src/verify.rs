//! Whether two sides have the same rows: an archive and a server, or two servers. A server's rows are read again over many connections of one
//! snapshot, as a dump reads them, and added up to the same digest; nothing is kept of them. Theory: README.md.

mod digest;
mod postgres;

pub use postgres::{PostgresReading, WantedTables, is_named};

use crate::dump::{ArchiveIndex, ArchiveTable, DumpClocks, DumpError, DumpProgress, INDEX};
use std::collections::BTreeMap;
use std::path::Path;

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
    /// Its quoted name with its schema.
    pub name: String,
    /// Its columns in the order of the other side, quoted and in parentheses; none: its own.
    pub columns: Option<String>,
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
    /// A side could not be read for want of a right.
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

impl ComparedTable {
    /// Whether they are the same.
    pub fn verdict(&self) -> TableVerdict {
        let is_denied = |state: &TableState| {
            matches!(state, TableState::Refused(DumpError::Server { cause: wire::WireError::Server(error), .. })
                if error.sqlstate() == DENIED)
        };
        match (&self.expected, &self.found) {
            // The line behind the last row is none of a table's bytes.
            (TableState::Read(one), TableState::Read(other)) if (one.rows, one.sum) == (other.rows, other.sum) => {
                TableVerdict::Same
            }
            (one, other) if is_denied(one) || is_denied(other) => TableVerdict::Unknown,
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

/// What an archive says of its tables.
#[derive(Clone, Debug, Default)]
pub struct ArchiveDigests {
    /// The encoding that its rows are in; none: it is not noted.
    pub encoding: Option<String>,
    /// Its tables.
    pub tables: Vec<(TableToRead, RowDigest)>,
}

/// Why an archive cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum NoDigests {
    /// It has no index, or one that cannot be read.
    #[error("read '{path}'")]
    Read {
        /// The index.
        path: String,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The index is that of another kind of database.
    #[error("'{0}' is of MariaDB or MySQL, whose tables are not compared")]
    OtherKind(String),
    /// A digest that is none.
    #[error("'{0}' has a digest that is none")]
    Digest(String),
}

/// Indexes of PostgreSQL have no such word.
#[derive(serde::Deserialize)]
struct IndexKind {
    kind: Option<String>,
}

impl ArchiveDigests {
    /// Reads `mh.index` of an archive.
    pub fn read(archive: &Path) -> Result<Self, NoDigests> {
        let path = archive.join(INDEX);
        let shown = || path.display().to_string();
        let text = std::fs::read(&path).map_err(|cause| NoDigests::Read { path: shown(), cause })?;
        if serde_json::from_slice::<IndexKind>(&text).is_ok_and(|index| index.kind.is_some()) {
            return Err(NoDigests::OtherKind(shown()));
        }
        let index: ArchiveIndex =
            serde_json::from_slice(&text).map_err(|cause| NoDigests::Read { path: shown(), cause: cause.into() })?;
        let tables = index.tables.iter().map(expected).collect::<Option<Vec<_>>>();
        let encoding = Some(index.encoding).filter(|encoding| !encoding.is_empty());
        Ok(Self { encoding, tables: tables.ok_or_else(|| NoDigests::Digest(shown()))? })
    }
}

fn expected(table: &ArchiveTable) -> Option<(TableToRead, RowDigest)> {
    let sum = u128::from_str_radix(&table.digest, 16).ok()?;
    let columns = Some(table.columns.clone()).filter(|columns| !columns.is_empty());
    Some((TableToRead { name: table.table.clone(), columns }, RowDigest { rows: table.rows, bytes: table.bytes, sum }))
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

    #[test]
    fn an_archive_without_an_index_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(matches!(ArchiveDigests::read(directory.path()), Err(NoDigests::Read { .. })));
        std::fs::write(directory.path().join(INDEX), r#"{"version":1,"tables":[{"table":"t"}]}"#).expect("ours");
        assert!(ArchiveDigests::read(directory.path()).is_err(), "a table without a digest");
        std::fs::write(directory.path().join(INDEX), r#"{"version":1,"kind":"mysql","tables":[]}"#).expect("ours");
        assert!(matches!(ArchiveDigests::read(directory.path()), Err(NoDigests::OtherKind(_))));
    }
}
