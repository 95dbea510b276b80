//! Where rows go: a table of a server, or of a SQLite file. What the load needs to know of it, and sessions that take rows. Who loads what and when is
//! the load's affair (`load.rs`).

pub(crate) mod mysql;
mod postgres;
mod sqlite;

pub(crate) use mysql::literal;

use crate::error::LoadFailure;
use crate::rows::RowFormat;
use std::path::PathBuf;
use std::time::Duration;
use wire::{Canceller, Connection, Protocol, ServerAddress, ServerError, WireError};

/// A database.
#[derive(Clone, Debug)]
pub enum Database {
    /// Of a server.
    Server(Box<ServerAddress>),
    /// In a file, by the library in this program.
    Sqlite(PathBuf),
}

/// Which table, and how rows for it are written.
#[derive(Clone, Debug)]
pub struct TableRequest {
    /// Its name as SQL has it: `events`, `shop.events`, `"Order Lines"`.
    pub table: String,
    /// The columns that values are for, in their order; none: those of the table.
    pub columns: Option<Vec<String>>,
    /// How rows are written.
    pub format: RowFormat,
    /// The encoding of the rows; none: UTF-8.
    pub encoding: Option<String>,
}

/// What a table is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// The database and its version, for people.
    pub server: String,
    /// The table in SQL.
    pub sql_name: String,
    /// Its name alone.
    pub name: String,
    /// Where its ledger is made, in SQL.
    pub schema_prefix: String,
    /// Columns that take values.
    pub columns: Vec<String>,
    /// Indexes, the primary key among them.
    pub indexes: u64,
    /// Triggers that each row starts.
    pub triggers: u64,
    /// Rows that it has about; none if nobody knows without counting.
    pub rows: Option<u64>,
    /// Connections that the server has left for us; none: it does not say.
    pub connections_left: Option<u64>,
    /// Why one connection has to load all, if so.
    pub one_connection: Option<String>,
    /// Whether the server takes the line `\.` in CSV for the end of the data.
    pub ends_at_marker: bool,
    /// Whether several connections can each hold their rows in one transaction to the end.
    pub holds_to_the_end: bool,
}

impl TableFacts {
    /// What COPY and its relatives are given: the columns in SQL, quoted.
    fn column_list(columns: &[String], quote: char) -> String {
        let quoted: Vec<String> = columns.iter().map(|column| quoted(column, quote)).collect();
        quoted.join(", ")
    }
}

/// Why a session did not do what it was asked for.
#[derive(Debug)]
pub enum SessionFailure {
    /// Rows were refused. What the statement did until then is to be rolled back.
    Rows(Vec<RowRefusal>),
    /// A conflict with another transaction: to be rolled back, and tried again.
    Again(String),
    /// Something else was refused.
    Refused(String),
    /// The connection is gone.
    Lost(WireError),
}

/// A row that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRefusal {
    /// Which, from 0, of the rows that were sent; none: one of them.
    pub row: Option<usize>,
    /// The database's words, or ours.
    pub message: String,
}

/// A session that takes rows for one table.
pub trait LoadSession: Send {
    /// Runs a statement.
    fn execute(&mut self, sql: &str) -> Result<(), SessionFailure>;
    /// Takes rows, whole ones; how many there were.
    fn load(&mut self, rows: &[u8]) -> Result<u64, SessionFailure>;
    /// What ends the statement under way, from another thread; none: there is nobody to ask.
    fn canceller(&self) -> Option<Canceller>;
    /// What the server calls it: PostgreSQL's PID, MySQL's number.
    fn number(&self) -> Option<u32>;
    /// Whether it has got the server's lock of this name, which ends with the session. A session without such locks has it.
    fn has_lock(&mut self, _name: &str) -> Result<bool, SessionFailure> {
        Ok(true)
    }
    /// Has the constraints checked that wait for the commit.
    fn check_deferred(&mut self) -> Result<(), SessionFailure> {
        Ok(())
    }
}

/// A table that was looked at.
#[derive(Debug)]
pub struct TableTarget {
    database: Database,
    request: TableRequest,
    /// What it is.
    pub facts: TableFacts,
    /// The connection that looked at it, to be used again.
    pub looking: Option<Connection>,
}

/// LIMIT: for a connection to come about.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);

impl TableTarget {
    /// Connects and looks at the table. Nothing is changed.
    pub fn look(database: Database, request: TableRequest) -> Result<Self, LoadFailure> {
        match &database {
            Database::Sqlite(path) => {
                let facts = sqlite::facts(path, &request)?;
                Ok(Self { database, request, facts, looking: None })
            }
            Database::Server(address) => {
                let mut connection = Connection::connect(address, CONNECT_WITHIN)?;
                let facts = match address.protocol() {
                    Protocol::Postgres => postgres::facts(&mut connection, &request),
                    Protocol::MySql => mysql::facts(&mut connection, &request),
                }?;
                Ok(Self { database, request, facts, looking: Some(connection) })
            }
        }
    }

    /// The columns that values are for.
    pub fn columns(&self) -> &[String] {
        self.request.columns.as_deref().unwrap_or(&self.facts.columns)
    }

    /// Has values be for these columns.
    pub fn set_columns(&mut self, columns: Vec<String>) {
        self.request.columns = Some(columns);
    }

    /// How rows are written.
    pub fn format(&self) -> &RowFormat {
        &self.request.format
    }

    /// Whether it is a table of a server.
    pub fn protocol(&self) -> Option<Protocol> {
        match &self.database {
            Database::Server(address) => Some(address.protocol()),
            Database::Sqlite(_) => None,
        }
    }

    /// Whether it is on this host, by its name.
    pub fn is_here(&self) -> bool {
        match &self.database {
            Database::Server(address) => address.is_local(),
            Database::Sqlite(_) => true,
        }
    }

    /// What names in SQL stand between.
    pub fn quote(&self) -> char {
        if self.protocol() == Some(Protocol::MySql) { '`' } else { '"' }
    }

    /// A string in SQL.
    pub(crate) fn literal(&self, text: &str) -> String {
        match self.protocol() {
            None => format!("'{}'", text.replace('\'', "''")),
            Some(Protocol::MySql) => literal(text),
            Some(Protocol::Postgres) => postgres::literal(text),
        }
    }

    /// A question with a small answer, on a connection of its own.
    pub(crate) fn rows_of(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, LoadFailure> {
        let text = |value: Option<Vec<u8>>| value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match &self.database {
            Database::Sqlite(path) => sqlite::rows_of(path, sql),
            Database::Server(address) => {
                let rows = Connection::connect(address, CONNECT_WITHIN)?.query(sql)?;
                Ok(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
            }
        }
    }

    /// A session that loads into it.
    pub fn open(&self) -> Result<Box<dyn LoadSession>, LoadFailure> {
        match &self.database {
            Database::Sqlite(path) => Ok(Box::new(sqlite::SqliteLoad::open(path, self)?)),
            Database::Server(address) => {
                let connection = Connection::connect(address, CONNECT_WITHIN)?;
                match address.protocol() {
                    Protocol::Postgres => Ok(Box::new(postgres::PostgresLoad::open(connection, self)?)),
                    Protocol::MySql => Ok(Box::new(mysql::MySqlLoad::open(connection, self)?)),
                }
            }
        }
    }
}

/// A name in SQL.
pub(crate) fn quoted(name: &str, quote: char) -> String {
    let doubled: String = [quote, quote].iter().collect();
    format!("{quote}{}{quote}", name.replace(quote, &doubled))
}

/// A failure of the session: by the server's error, or the connection's end.
fn failure(error: WireError) -> SessionFailure {
    use wire::ErrorKind;
    match error {
        WireError::Server(error) if error.is_fatal => SessionFailure::Lost(WireError::Server(error)),
        WireError::Server(error) => match error.kind() {
            ErrorKind::Deadlock | ErrorKind::Serialization => SessionFailure::Again(said(&error)),
            ErrorKind::Timeout if error.number == Some(1205) => SessionFailure::Again(said(&error)),
            _ => SessionFailure::Refused(said(&error)),
        },
        error => SessionFailure::Lost(error),
    }
}

/// The server's words with where it found what it found.
fn said(error: &ServerError) -> String {
    let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{error}{hint}")
}

impl From<SessionFailure> for LoadFailure {
    fn from(failure: SessionFailure) -> Self {
        match failure {
            SessionFailure::Rows(refused) => {
                Self::Database(refused.into_iter().next().map(|first| first.message).unwrap_or_default())
            }
            SessionFailure::Again(message) | SessionFailure::Refused(message) => Self::Database(message),
            SessionFailure::Lost(error) => Self::Connection(error),
        }
    }
}
