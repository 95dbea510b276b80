//! What is known of a database of MariaDB or MySQL before its dump: for a plan, for the number of connections, and to refuse what would be incomplete.

use super::catalogue::{MySqlCatalogue, MySqlTable, MySqlTableKind};
use super::rights::MySqlRights;
use super::session::{self, DumpLock, DumpLockKind, MySqlServer};
use super::{MySqlDumpRun, MySqlSelection, database_of};
use crate::dump::{DumpError, SourceTable};
use std::time::Duration;
use wire::{Connection, ServerAddress};

/// A database that is to be dumped.
#[derive(Clone, Debug)]
pub struct MySqlSource {
    /// Its server.
    pub server: MySqlServer,
    /// Connections that the server has left, with one that looks.
    pub connections_left: u64,
    /// How all connections come to see one moment.
    pub lock: DumpLockKind,
    /// Tables with their parts, largest first.
    pub tables: Vec<SourceTable>,
    /// Tables that are read while the lock is held, and their bytes.
    pub locked: (u64, u64),
    /// Tables with system versioning.
    pub versioned: Vec<String>,
    /// Whether TLS encrypts the connection.
    pub is_encrypted: bool,
}

impl MySqlDumpRun {
    /// Looks at the database, over a session that is returned; `stop` ends that, too. An object that could not be dumped is an error.
    pub fn look(
        &self,
        address: &ServerAddress,
        selection: &MySqlSelection,
        lock: DumpLock,
        part_bytes: u64,
    ) -> Result<(MySqlSource, Connection), DumpError> {
        let mut connection = session::open(address, Duration::from_secs(1))?;
        self.board.course.may_be_cancelled(&connection);
        let server = MySqlServer::of(connection.server_version());
        let database = database_of(address)?;
        let mut catalogue = MySqlCatalogue::read(&mut connection, database)?;
        selection.apply(&mut catalogue)?;
        MySqlRights::read(&mut connection, database)?.check(&server, database, selection, &catalogue, lock)?;
        let with_rows: Vec<&MySqlTable> =
            catalogue.tables.iter().filter(|table| selection.takes_rows_of(table)).collect();
        let locked = with_rows.iter().filter(|table| !table.is_transactional);
        let source = MySqlSource {
            connections_left: session::connections_left(&mut connection),
            lock: server.lock(lock),
            locked: locked.fold((0, 0), |(count, bytes), table| (count + 1, bytes + table.bytes)),
            tables: tables(&with_rows, part_bytes),
            versioned: catalogue.versioned,
            is_encrypted: connection.is_encrypted(),
            server,
        };
        Ok((source, connection))
    }
}

fn tables(tables: &[&MySqlTable], part_bytes: u64) -> Vec<SourceTable> {
    let mut tables: Vec<SourceTable> = tables
        .iter()
        .map(|table| SourceTable {
            name: table.name.clone(),
            bytes: table.bytes,
            parts: table.division(part_bytes).parts(table),
            undivided: table.why_whole(part_bytes),
        })
        .collect();
    tables.sort_by(|one, other| (other.bytes, &one.name).cmp(&(one.bytes, &other.name)));
    tables
}

/// How a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MySqlDivision {
    /// In one piece.
    Whole,
    /// By partitions.
    Partitions,
    /// By ranges of its key, of so many rows.
    Ranges(u64),
}

/// LIMIT: parts of a table; each takes several estimates of the server.
const PARTS_MAX: u64 = 128;

impl MySqlTable {
    /// How it is read in parts of about `part_bytes`.
    pub fn division(&self, part_bytes: u64) -> MySqlDivision {
        let parts = (self.bytes / part_bytes.max(1)).min(PARTS_MAX);
        match &self.key {
            _ if parts < 2 || !self.is_transactional || self.kind != MySqlTableKind::Table => MySqlDivision::Whole,
            Some(_) => MySqlDivision::Ranges((self.rows / parts).max(1)),
            None if self.partitions.len() > 1 => MySqlDivision::Partitions,
            None => MySqlDivision::Whole,
        }
    }

    /// Why a table that is large enough for several parts is read as one.
    pub fn why_whole(&self, part_bytes: u64) -> Option<&'static str> {
        if self.bytes / part_bytes.max(1) < 2 || self.division(part_bytes) != MySqlDivision::Whole {
            return None;
        }
        Some(match self.is_transactional {
            true => "it has no key that can be divided: one without NULL, and not of ENUM, SET or floating point",
            false => "its engine does not store rows in the order of a key",
        })
    }
}

impl MySqlDivision {
    /// In how many parts, about.
    pub fn parts(self, table: &MySqlTable) -> u64 {
        match self {
            Self::Whole => 1,
            Self::Partitions => table.partitions.len() as u64,
            Self::Ranges(rows) => table.rows.div_ceil(rows).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{KeyColumn, KeyKind, MySqlKey};
    use super::*;

    #[test]
    fn a_table_is_divided_by_what_it_has() {
        let column = KeyColumn { name: "id".to_owned(), kind: KeyKind::Integer };
        let key = MySqlKey { name: "PRIMARY".to_owned(), columns: vec![column] };
        let table =
            MySqlTable { is_transactional: true, key: Some(key), rows: 1000, bytes: 100, ..MySqlTable::default() };
        assert_eq!(table.division(10), MySqlDivision::Ranges(100));
        assert_eq!((table.division(60), table.why_whole(60)), (MySqlDivision::Whole, None));
        let bare = MySqlTable { key: None, ..table.clone() };
        assert!(bare.why_whole(10).is_some_and(|reason| reason.contains("no key")));
        let parted = MySqlTable { partitions: vec!["p0".to_owned(), "p1".to_owned()], ..bare };
        assert_eq!(parted.division(10).parts(&parted), 2);
        let old = MySqlTable { is_transactional: false, ..table };
        assert!(old.why_whole(10).is_some_and(|reason| reason.contains("engine")));
    }
}
