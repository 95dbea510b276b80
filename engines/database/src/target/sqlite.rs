//! SQLite in this process: one writer, a prepared INSERT a row, values as text, which a column's affinity makes numbers of.

use super::{LoadSession, RowRefusal, SessionFailure, TableFacts, TableRequest, TableTarget, quoted};
use crate::error::LoadFailure;
use crate::rows::{RowFormat, RowValues};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, ToSql, types::ToSqlOutput};
use std::path::Path;
use std::time::Duration;
use wire::Canceller;

/// LIMIT: how long another connection's lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(30);

fn refused(error: &Error) -> LoadFailure {
    LoadFailure::Database(error.to_string())
}

fn open(path: &Path) -> Result<Connection, LoadFailure> {
    // A mistyped name must not become a database.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| refused(&error))?;
    connection.busy_timeout(LOCK_WAIT).map_err(|error| refused(&error))?;
    Ok(connection)
}

/// What a table is. Nothing is changed.
pub(super) fn facts(path: &Path, request: &TableRequest) -> Result<TableFacts, LoadFailure> {
    let connection = open(path)?;
    let name = request.table.trim_matches('"').replace("\"\"", "\"");
    let list = |sql: &str| -> Result<Vec<String>, Error> {
        let mut statement = connection.prepare(sql)?;
        statement.query_map([&name], |row| row.get(0))?.collect()
    };
    // 2 and 3 are generated columns.
    let columns = list("select name from pragma_table_xinfo(?1) where hidden not in (2, 3) order by cid");
    let columns = columns.map_err(|error| refused(&error))?;
    if columns.is_empty() {
        return Err(LoadFailure::Database(format!("there is no table {}", request.table)));
    }
    let indexes = list("select name from pragma_index_list(?1)").map_err(|error| refused(&error))?;
    let triggers = list("select name from sqlite_schema where type = 'trigger' and tbl_name = ?1");
    Ok(TableFacts {
        server: format!("SQLite {}", rusqlite::version()),
        sql_name: quoted(&name, '"'),
        name,
        columns,
        indexes: indexes.len() as u64,
        triggers: triggers.map_err(|error| refused(&error))?.len() as u64,
        one_connection: Some("SQLite has one writer".to_owned()),
        holds_to_the_end: true,
        ..TableFacts::default()
    })
}

/// A question with a small answer.
pub(super) fn rows_of(path: &Path, sql: &str) -> Result<Vec<Vec<Option<String>>>, LoadFailure> {
    let connection = open(path)?;
    let ask = || -> Result<Vec<Vec<Option<String>>>, Error> {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let text = |value: ValueRef<'_>| match value {
            ValueRef::Null => None,
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        };
        let rows =
            statement.query_map([], |row| (0..columns).map(|column| Ok(text(row.get_ref(column)?))).collect())?;
        rows.collect()
    };
    ask().map_err(|error| refused(&error))
}

/// A session.
pub(super) struct SqliteLoad {
    connection: Connection,
    insert: String,
    columns: usize,
    format: RowFormat,
    values: RowValues,
}

impl SqliteLoad {
    pub(super) fn open(path: &Path, target: &TableTarget) -> Result<Self, LoadFailure> {
        let connection = open(path)?;
        let columns = target.columns();
        let places: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
        let insert = format!(
            "insert into {} ({}) values ({})",
            target.facts.sql_name,
            TableFacts::column_list(columns, '"'),
            places.join(", ")
        );
        connection.prepare(&insert).map_err(|error| refused(&error))?;
        let (columns, format) = (columns.len(), target.format().clone());
        Ok(Self { connection, insert, columns, format, values: RowValues::default() })
    }
}

/// The text of a value.
struct TextValue<'a>(Option<&'a [u8]>);

impl ToSql for TextValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.0.map_or(ValueRef::Null, ValueRef::Text)))
    }
}

fn failed(error: &Error) -> SessionFailure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SessionFailure::Again(error.to_string()),
        _ => SessionFailure::Refused(error.to_string()),
    }
}

/// Whether it is about the row, and not about the database.
fn is_of_a_row(error: &Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig | ErrorCode::Unknown)
    )
}

impl LoadSession for SqliteLoad {
    fn execute(&mut self, sql: &str) -> Result<(), SessionFailure> {
        self.connection.execute_batch(sql).map_err(|error| failed(&error))
    }

    fn load(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
        let mut insert = self.connection.prepare_cached(&self.insert).map_err(|error| failed(&error))?;
        let mut count = 0;
        for (number, row) in self.format.rows(rows).enumerate() {
            let refuse = |message: String| SessionFailure::Rows(vec![RowRefusal { row: Some(number), message }]);
            self.values.read(&self.format, &rows[row]).map_err(|defect| refuse(defect.to_string()))?;
            if self.values.len() != self.columns {
                return Err(refuse(wrong_count(self.values.len(), self.columns)));
            }
            for (index, value) in self.values.iter().enumerate() {
                insert.raw_bind_parameter(index + 1, TextValue(value)).map_err(|error| failed(&error))?;
            }
            match insert.raw_execute() {
                Ok(_) => count += 1,
                Err(error) if is_of_a_row(&error) => return Err(refuse(error.to_string())),
                Err(error) => return Err(failed(&error)),
            }
        }
        Ok(count)
    }

    fn canceller(&self) -> Option<Canceller> {
        None
    }

    fn number(&self) -> Option<u32> {
        None
    }
}

/// A row that has another number of values than there are columns for.
pub(super) fn wrong_count(values: usize, columns: usize) -> String {
    let s = |count| if count == 1 { "" } else { "s" };
    format!("{values} value{} for {columns} column{}", s(values), s(columns))
}
