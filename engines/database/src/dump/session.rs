//! The sessions of a dump on the server: with settings under which a table's text is what pg_dump would have written, and one snapshot for all.

use super::{DumpError, table};
use wire::Connection;

/// How long a reader waits for a table that pg_dump has locked before: somebody who waits for an exclusive lock is in front of it, and may give up.
const LOCK_WAIT: &str = "30s";

/// What pg_dump's options say of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpSession {
    /// `--role`: whose rights are used.
    pub role: Option<String>,
    /// `--enable-row-security`: rows that the user may not see are left out; else they are an error.
    pub has_row_security: bool,
    /// `--serializable-deferrable`: the snapshot is one that a serial order of transactions has.
    pub is_deferrable: bool,
    /// `--lock-wait-timeout`: how long a table's lock is waited for.
    pub lock_wait: Option<String>,
}

/// The same for every session, and for those that read rows again to compare them.
const SETTINGS: &str = "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; \
    set extra_float_digits = 3; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set timezone = 'UTC'; \
    set bytea_output = 'hex'; set synchronize_seqscans = off; \
    select pg_catalog.set_config('search_path', '', false)";

/// COMPAT: pg_dump writes rows in the encoding of the database, and says so in the archive.
pub const ENCODING_OF_SERVER: &str =
    "select pg_catalog.set_config('client_encoding', pg_catalog.current_setting('server_encoding'), false)";

/// The encoding of a session that was set up.
pub fn encoding(connection: &mut Connection) -> Result<String, DumpError> {
    let rows = connection.query("show client_encoding").map_err(DumpError::server("ask for the encoding"))?;
    Ok(table::text_of(&rows, 0, 0).unwrap_or_default())
}

impl DumpSession {
    /// Begins the transaction whose snapshot all others share; its name.
    pub fn begin(&self, leader: &mut Connection) -> Result<String, DumpError> {
        self.set(leader, self.lock_wait.as_deref().unwrap_or("0"))?;
        let begin = match self.is_deferrable {
            true => "begin isolation level serializable read only deferrable",
            false => "begin isolation level repeatable read read only",
        };
        leader.execute(begin).map_err(DumpError::server("begin a transaction"))?;
        let rows =
            leader.query("select pg_catalog.pg_export_snapshot()").map_err(DumpError::server("export a snapshot"))?;
        table::text_of(&rows, 0, 0).ok_or_else(|| DumpError::Program {
            program: "the server",
            message: "has exported a snapshot without a name".to_owned(),
        })
    }

    /// Joins a snapshot.
    pub fn join(&self, connection: &mut Connection, snapshot: &str) -> Result<(), DumpError> {
        self.set(connection, self.lock_wait.as_deref().unwrap_or(LOCK_WAIT))?;
        let begin = "begin isolation level repeatable read read only";
        connection.execute(begin).map_err(DumpError::server("begin a transaction"))?;
        let sql = format!("set transaction snapshot {}", literal(snapshot));
        connection.execute(&sql).map(drop).map_err(DumpError::server("join the snapshot"))
    }

    /// Makes the session's settings.
    pub fn set(&self, connection: &mut Connection, lock_wait: &str) -> Result<(), DumpError> {
        let row_security = if self.has_row_security { "on" } else { "off" };
        let mut sql = format!("{SETTINGS}; {ENCODING_OF_SERVER}; set row_security = {row_security}");
        sql += &format!("; set lock_timeout = {}", literal(lock_wait));
        if let Some(role) = &self.role {
            sql += &format!("; set role \"{}\"", role.replace('"', "\"\""));
        }
        connection.execute(&sql).map(drop).map_err(DumpError::server("set up a session"))
    }
}

/// A string in SQL, with a backslash as it is.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
