//! The ledger of a restore: a table in the database that is restored into, with a row for each file, written in the transaction that loads it; and, before
//! any file, a row for each object that the restore makes and for what tables held before it.

use crate::dump_mysql::catalogue::text;
use crate::restore::RestoreError;
use crate::target::{literal, mysql, quoted};
use std::collections::HashMap;
use wire::Connection;

/// Ledgers of all archives begin so.
const PREFIX: &str = "mh_restore_";

/// The ledger of an archive.
#[derive(Clone, Debug)]
pub struct MySqlLedger {
    table: String,
    /// Files, stages and objects, with their rows.
    done: HashMap<String, u64>,
}

/// What is in a database before a restore.
pub struct LedgerLook {
    /// Ours, if it is there.
    pub ours: Option<MySqlLedger>,
    /// Another archive's.
    pub others: Vec<String>,
    /// Tables, views and sequences besides.
    pub objects: u64,
}

/// Looks what is there; `archive` tells archives apart.
pub fn look(connection: &mut Connection, database: &str, archive: &str) -> Result<LedgerLook, RestoreError> {
    let sql = format!("select table_name from information_schema.tables where table_schema = {}", literal(database));
    let rows = connection.query(&sql).map_err(RestoreError::server("look whether the database is empty"))?;
    let names: Vec<String> = rows.iter().map(|row| text(row, 0)).collect();
    let name = format!("{PREFIX}{archive}");
    let (ledgers, objects): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| name.starts_with(PREFIX));
    let ours = match ledgers.contains(&name) {
        true => Some(MySqlLedger::read(connection, &name)?),
        false => None,
    };
    let others = ledgers.into_iter().filter(|ledger| *ledger != name).collect();
    Ok(LedgerLook { ours, others, objects: objects.len() as u64 })
}

/// Removes a ledger by its name.
pub fn remove(connection: &mut Connection, name: &str) -> Result<(), RestoreError> {
    let sql = format!("drop table if exists {}", quoted(name, '`'));
    connection.execute(&sql).map(drop).map_err(RestoreError::server("remove what was noted"))
}

/// Waits until nobody uses a table: an ALTER goes on when its client was killed.
pub fn wait_for_users(connection: &mut Connection, name: &str) -> Result<(), RestoreError> {
    let statements = mysql::wait_for_users(&quoted(name, '`'));
    let failed = || RestoreError::server("wait for what was begun before");
    statements.iter().try_for_each(|sql| connection.execute(sql).map(drop).map_err(failed()))
}

impl MySqlLedger {
    /// Begins one.
    pub fn begin(connection: &mut Connection, archive: &str) -> Result<Self, RestoreError> {
        let table = format!("{PREFIX}{archive}");
        let sql = format!(
            "create table {} (file varchar(255) character set utf8mb4 collate utf8mb4_bin primary key, loaded bigint unsigned not null) \
             engine = InnoDB",
            quoted(&table, '`')
        );
        connection.execute(&sql).map_err(RestoreError::server("note what is done"))?;
        Ok(Self { table, done: HashMap::new() })
    }

    /// The same when what was begun under it has ended.
    pub fn settled(self, connection: &mut Connection) -> Result<Self, RestoreError> {
        wait_for_users(connection, &self.table)?;
        Self::read(connection, &self.table)
    }

    fn read(connection: &mut Connection, name: &str) -> Result<Self, RestoreError> {
        let sql = format!("select file, loaded from {}", quoted(name, '`'));
        let rows = connection.query(&sql).map_err(RestoreError::server("read what is done"))?;
        let done = rows.iter().map(|row| (text(row, 0), text(row, 1).parse().unwrap_or(0))).collect();
        Ok(Self { table: name.to_owned(), done })
    }

    /// Whether a file was done when this restore began.
    pub fn has(&self, file: &str) -> bool {
        self.done.contains_key(file)
    }

    /// The rows that an entry had then.
    pub fn rows(&self, entry: &str) -> Option<u64> {
        self.done.get(entry).copied()
    }

    /// Whether a file is done, now that the connection that loaded it is gone.
    pub fn has_now(&self, connection: &mut Connection, file: &str) -> Result<bool, RestoreError> {
        wait_for_users(connection, &self.table)?;
        let sql = format!("select 1 from {} where file = {}", quoted(&self.table, '`'), literal(file));
        let rows = connection.query(&sql).map_err(RestoreError::server("read what is done"))?;
        Ok(!rows.is_empty())
    }

    /// The first statement of a file's transaction.
    pub fn use_of(&self) -> String {
        mysql::use_of(&quoted(&self.table, '`'))
    }

    /// Notes a file, in the transaction that is open.
    pub fn note(&self, file: &str, rows: u64) -> String {
        format!("insert into {} values ({}, {rows})", quoted(&self.table, '`'), literal(file))
    }

    /// Forgets what is to come again: files of a table, or objects.
    pub fn forget(&mut self, connection: &mut Connection, files: &[&str]) -> Result<(), RestoreError> {
        if files.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = files.iter().map(|file| literal(file)).collect();
        let sql = format!("delete from {} where file in ({})", quoted(&self.table, '`'), list.join(","));
        connection.execute(&sql).map_err(RestoreError::server("note what is done"))?;
        self.done.retain(|file, _| !files.contains(&file.as_str()));
        Ok(())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.table
    }
}
