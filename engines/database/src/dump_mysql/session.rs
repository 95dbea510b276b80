//! Sessions of a dump on a server of MariaDB or MySQL: settings, the lock under which all see one moment, and the position in the binary log of it.

use super::applied;
use super::catalogue::{MySqlTable, MySqlTableKind, text};
use crate::dump::{DumpError, connect};
use crate::target::quoted;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::{Connection, ServerAddress, WireError};

/// What is known of a server by its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlServer {
    /// `10.11.19`.
    pub version: String,
    /// Whether it is MariaDB.
    pub is_mariadb: bool,
    number: (u32, u32, u32),
}

/// How all connections come to see one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DumpLock {
    /// BACKUP STAGE where there is one, else FLUSH TABLES WITH READ LOCK.
    #[default]
    Auto,
    /// FLUSH TABLES WITH READ LOCK.
    Flush,
    /// They do not, unless there is only one.
    None,
}

/// The lock that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpLockKind {
    /// MariaDB's: writers go on, commits wait.
    BackupStage,
    /// Writers wait, and the lock waits for their statements.
    Flush,
    /// None.
    Nothing,
}

/// Where a replica of the dump goes on reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MySqlPosition {
    /// The binary log's file.
    pub binlog_file: String,
    /// And the place in it.
    pub binlog_position: u64,
    /// MariaDB: what the server has written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gtid_binlog_pos: Option<String>,
    /// MariaDB: what it has replicated, whatever the number of its appliers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gtid_slave_pos: Option<String>,
    /// MySQL's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gtid_executed: Option<String>,
}

/// The first MariaDB with BACKUP STAGE.
const STAGES_SINCE: (u32, u32, u32) = (10, 4, 1);

/// LIMIT: a statement that touches so many tables at once.
const TOUCHED_AT_ONCE: usize = 200;

/// Settings that one kind of server has and the other has not, or has since a version.
const OPTIONAL: [&str; 6] = [
    "max_statement_time = 0",
    "max_execution_time = 0",
    "idle_transaction_timeout = 0",
    "idle_readonly_transaction_timeout = 0",
    "sql_big_selects = 1",
    "sql_select_limit = 18446744073709551615",
];

/// MySQL's lock against DDL, since 8.0.
const LOCK_INSTANCE: &str = "lock instance for backup";

const UNKNOWN_VARIABLE: u16 = 1193;
const ACCESS_DENIED: u16 = 1227;
const SYNTAX: u16 = 1064;

/// Why a replica's GTIDs may be those of a moment before.
const UNSURE_GTIDS: &str = "gtid_slave_pos in the archive may lack transactions that its rows have: the user may not read mysql.gtid_slave_pos";

impl MySqlServer {
    /// Of what a server calls its version.
    pub fn of(version: &str) -> Self {
        let mut numbers =
            version.split(|letter: char| !letter.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        let number = (next(), next(), next());
        let short = version.split('-').next().unwrap_or(version).to_owned();
        Self { version: short, is_mariadb: version.contains("MariaDB"), number }
    }

    /// `MariaDB 10.11.19`.
    pub fn name(&self) -> String {
        format!("{} {}", if self.is_mariadb { "MariaDB" } else { "MySQL" }, self.version)
    }

    /// The lock that is meant here.
    pub fn lock(&self, asked: DumpLock) -> DumpLockKind {
        match asked {
            DumpLock::None => DumpLockKind::Nothing,
            DumpLock::Auto if self.is_mariadb && self.number >= STAGES_SINCE => DumpLockKind::BackupStage,
            DumpLock::Auto | DumpLock::Flush => DumpLockKind::Flush,
        }
    }
}

/// Connects, with settings under which values are shown as they can be loaded.
pub fn open(address: &ServerAddress, lock_wait: Duration) -> Result<Connection, DumpError> {
    let mut connection = connect(address)?;
    let seconds = lock_wait.as_secs().clamp(1, 31_536_000);
    let settings = format!(
        "set names utf8mb4; set session time_zone = '+00:00', sql_mode = '', wait_timeout = 604800, net_write_timeout = 86400, \
         net_read_timeout = 86400, lock_wait_timeout = {seconds}; set session transaction isolation level repeatable read"
    );
    connection.execute(&settings).map_err(DumpError::server("set up a session"))?;
    for setting in OPTIONAL {
        match connection.execute(&format!("set session {setting}")) {
            Err(WireError::Server(error)) if error.number == Some(UNKNOWN_VARIABLE) => {}
            outcome => drop(outcome.map_err(DumpError::server("set up a session"))?),
        }
    }
    Ok(connection)
}

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldDumpLock {
    kind: DumpLockKind,
    /// Whether MySQL's lock against DDL is held beside it.
    has_instance: bool,
}

impl DumpLockKind {
    /// Takes it.
    pub fn take(self, leader: &mut Connection, server: &MySqlServer) -> Result<HeldDumpLock, DumpError> {
        let mut held = HeldDumpLock { kind: self, has_instance: false };
        let statements: &[&str] = match self {
            Self::BackupStage => &["backup stage start", "backup stage block_commit"],
            Self::Flush if server.is_mariadb || server.number < (8, 0, 0) => &["flush tables with read lock"],
            Self::Flush => &[LOCK_INSTANCE, "flush tables with read lock"],
            Self::Nothing => &[],
        };
        for statement in statements {
            match leader.execute(statement) {
                // The right BACKUP_ADMIN is MySQL's own; without that lock, DDL is held off by tables that are touched.
                Err(WireError::Server(error)) if error.number == Some(ACCESS_DENIED) && *statement == LOCK_INSTANCE => {
                }
                outcome => {
                    outcome.map_err(DumpError::server(format!("lock the server ({statement})")))?;
                    held.has_instance |= *statement == LOCK_INSTANCE;
                }
            }
        }
        Ok(held)
    }

    /// As the server calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BackupStage => "BACKUP STAGE BLOCK_COMMIT",
            Self::Flush => "FLUSH TABLES WITH READ LOCK",
            Self::Nothing => "none",
        }
    }
}

impl HeldDumpLock {
    /// Releases it.
    pub fn release(self, leader: &mut Connection) -> Result<(), DumpError> {
        let Some(statement) = self.unlock() else { return Ok(()) };
        leader.execute(statement).map(drop).map_err(DumpError::server("release the server's lock"))
    }

    /// The statement that releases it. UNLOCK INSTANCE needs the same right as the lock.
    fn unlock(self) -> Option<&'static str> {
        match self.kind {
            DumpLockKind::BackupStage => Some("backup stage end"),
            DumpLockKind::Flush if self.has_instance => Some("unlock tables; unlock instance"),
            DumpLockKind::Flush => Some("unlock tables"),
            DumpLockKind::Nothing => None,
        }
    }
}

/// Begins the transaction whose snapshot the connection reads.
pub fn begin_snapshot(connection: &mut Connection) -> Result<(), DumpError> {
    let sql = "start transaction with consistent snapshot, read only";
    connection.execute(sql).map(drop).map_err(DumpError::server("begin a snapshot"))
}

/// Reads nothing of each table, so that the transaction keeps it from being altered, and waits for no lock later: one that
/// comes to a table behind an ALTER that waits for another connection of ours would wait for ever.
pub fn touch(connection: &mut Connection, tables: &[&MySqlTable]) -> Result<(), DumpError> {
    let tables: Vec<&&MySqlTable> = tables.iter().filter(|table| table.kind == MySqlTableKind::Table).collect();
    for some in tables.chunks(TOUCHED_AT_ONCE) {
        let each = some.iter().map(|table| format!("select 1 from {} limit 0", quoted(&table.name, '`')));
        let sql: Vec<String> = each.collect();
        connection.execute(&sql.join(";")).map_err(DumpError::server("read a table for the first time"))?;
    }
    Ok(())
}

/// The position at this moment, which is the snapshot's; none if there is no binary log, or no right to see it, with a reason then.
pub fn position(
    leader: &mut Connection,
    snapshot: &mut Connection,
    server: &MySqlServer,
) -> Result<(Option<MySqlPosition>, Option<String>), DumpError> {
    let statement =
        if !server.is_mariadb && server.number >= (8, 2, 0) { "show binary log status" } else { "show master status" };
    let rows = match leader.query(statement) {
        Err(WireError::Server(error)) if matches!(error.number, Some(ACCESS_DENIED | SYNTAX)) => {
            return Ok((None, Some(format!("the position in the binary log is not in the archive: {error}"))));
        }
        outcome => outcome.map_err(DumpError::server("read the position in the binary log"))?,
    };
    let gtids = if server.is_mariadb {
        "select @@global.gtid_binlog_pos, @@global.gtid_slave_pos"
    } else {
        "select @@global.gtid_executed"
    };
    let gtids = match leader.query(gtids) {
        Ok(rows) => rows.into_iter().next().unwrap_or_default(),
        Err(WireError::Server(_)) => Vec::new(),
        Err(error) => return Err(DumpError::server("read GTIDs")(error)),
    };
    let gtid = |column| Some(text(&gtids, column)).filter(|gtid| !gtid.is_empty());
    let has_some = gtid(0).is_some() || gtid(1).is_some();
    let Some(row) = rows.first().map(Vec::as_slice).or(has_some.then_some(&[][..])) else { return Ok((None, None)) };
    let position = MySqlPosition {
        binlog_file: text(row, 0),
        binlog_position: text(row, 1).parse().unwrap_or(0),
        ..MySqlPosition::default()
    };
    if !server.is_mariadb {
        return Ok((Some(MySqlPosition { gtid_executed: gtid(0), ..position }), None));
    }
    let position = MySqlPosition { gtid_binlog_pos: gtid(0), gtid_slave_pos: gtid(1), ..position };
    if position.gtid_slave_pos.is_none() {
        return Ok((Some(position), None));
    }
    match applied::gtids(snapshot)? {
        Some(gtids) => Ok((Some(MySqlPosition { gtid_slave_pos: Some(gtids), ..position }), None)),
        None => Ok((Some(position), Some(UNSURE_GTIDS.to_owned()))),
    }
}

/// Connections that the server has left, this one included. MySQL has the variable elsewhere, and a user may not be allowed to see it: then as
/// many as there are in all.
pub fn connections_left(connection: &mut Connection) -> u64 {
    let mut number = |sql: &str| -> Option<u64> { text(connection.query(sql).ok()?.first()?, 0).parse().ok() };
    let most = number("select @@max_connections").unwrap_or(0);
    let used = "select variable_value from information_schema.global_status where variable_name = 'Threads_connected'";
    most.saturating_sub(number(used).unwrap_or(1)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_the_shortest_that_the_version_has() {
        let lock = |version| MySqlServer::of(version).lock(DumpLock::Auto);
        assert_eq!(lock("10.11.19-MariaDB-0+deb12u1-log"), DumpLockKind::BackupStage);
        assert_eq!(lock("10.3.39-MariaDB"), DumpLockKind::Flush);
        assert_eq!(lock("8.0.36-0ubuntu0.22.04.1"), DumpLockKind::Flush);
        assert_eq!(MySqlServer::of("11.4.2-MariaDB").lock(DumpLock::None), DumpLockKind::Nothing);
        assert_eq!(MySqlServer::of("8.4.0").name(), "MySQL 8.4.0");
    }

    #[test]
    fn what_was_not_locked_is_not_unlocked() {
        let unlock = |kind, has_instance| HeldDumpLock { kind, has_instance }.unlock();
        assert_eq!(unlock(DumpLockKind::Flush, false), Some("unlock tables"));
        assert_eq!(unlock(DumpLockKind::Flush, true), Some("unlock tables; unlock instance"));
        assert_eq!(unlock(DumpLockKind::Nothing, false), None);
    }
}
