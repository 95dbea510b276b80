//! What is known of a database before its dump: for a plan, and for the number of connections.

use super::session::DumpSession;
use super::table::{Catalogue, text_of};
use super::{DumpError, DumpRun, connect};
use wire::{Connection, ServerAddress, WireError};

/// A database that is to be dumped.
#[derive(Clone, Debug, Default)]
pub struct DumpSource {
    /// `15.18 (Debian ...)`.
    pub server_version: String,
    /// `15`.
    pub server_major: u32,
    /// Connections that the server has left.
    pub connections_left: u64,
    /// Tables that the server can lock, all sessions together.
    pub lock_slots: u64,
    /// A standby, where the rows that are read may be taken away.
    pub is_standby: bool,
    /// Tables with their parts, largest first.
    pub tables: Vec<SourceTable>,
}

/// A table as a dump would read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTable {
    /// Its quoted name.
    pub name: String,
    /// Bytes of heap and TOAST.
    pub bytes: u64,
    /// In how many parts.
    pub parts: u64,
    /// Why it is not divided though it is large.
    pub undivided: Option<&'static str>,
}

/// pg_stat_database counts the sessions of all users, whoever asks.
const CONNECTIONS_LEFT: &str = "select greatest(0, current_setting('max_connections')::int8 \
    - current_setting('superuser_reserved_connections')::int8 \
    - (select coalesce(sum(numbackends), 0) from pg_catalog.pg_stat_database)::int8 + 1)";

const FACTS: &str = "select current_setting('max_locks_per_transaction')::int8 * (current_setting('max_connections')::int8 \
    + current_setting('max_prepared_transactions')::int8), pg_catalog.pg_is_in_recovery()";

/// Connections that the server has left, with the one that asks.
pub(crate) fn connections_left(connection: &mut Connection) -> Result<u64, WireError> {
    let rows = connection.query(CONNECTIONS_LEFT)?;
    Ok(text_of(&rows, 0, 0).and_then(|text| text.parse().ok()).unwrap_or(0))
}

impl DumpRun {
    /// Looks at the database, over a session that is returned; `stop` ends that, too. `connections_left` counts that session.
    pub fn look(
        &self,
        address: &ServerAddress,
        session: &DumpSession,
        part_bytes: u64,
    ) -> Result<(DumpSource, Connection), DumpError> {
        let mut connection = connect(address)?;
        self.board.may_be_cancelled(&connection);
        session.set(&mut connection, session.lock_wait.as_deref().unwrap_or("0"))?;
        let settings = "read the server's settings";
        let connections_left = connections_left(&mut connection).map_err(DumpError::server(settings))?;
        let facts = connection.query(FACTS).map_err(DumpError::server(settings))?;
        let number = |column| text_of(&facts, 0, column).and_then(|text| text.parse().ok()).unwrap_or(0);
        let catalogue = Catalogue::read(&mut connection)?;
        let source = DumpSource {
            server_version: connection.server_version().to_owned(),
            server_major: major(connection.server_version()).unwrap_or(0),
            connections_left,
            lock_slots: number(0),
            is_standby: text_of(&facts, 0, 1).as_deref() == Some("t"),
            tables: tables(&catalogue, part_bytes),
        };
        Ok((source, connection))
    }
}

fn tables(catalogue: &Catalogue, part_bytes: u64) -> Vec<SourceTable> {
    let mut tables: Vec<SourceTable> = catalogue
        .all()
        .filter(|(name, _)| !name.starts_with("pg_") && !name.starts_with("information_schema."))
        .map(|(name, table)| SourceTable {
            name: name.to_owned(),
            bytes: table.bytes,
            parts: catalogue.divide(table, part_bytes).parts(),
            undivided: catalogue.why_whole(table, part_bytes),
        })
        .collect();
    tables.sort_by(|one, other| (other.bytes, &one.name).cmp(&(one.bytes, &other.name)));
    tables
}

/// The first number of a version.
pub fn major(version: &str) -> Option<u32> {
    version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_begin_with_their_major() {
        assert_eq!(major("15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!((major("18beta1"), major("devel")), (Some(18), None));
    }
}
