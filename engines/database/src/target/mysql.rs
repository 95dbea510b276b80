//! MySQL and MariaDB: LOAD DATA LOCAL of rows that are written anew in its own format, so that NULL, quotes and the number of values mean what they mean
//! to COPY; or INSERT where the server does not allow it. LOCAL makes warnings of errors, so warnings are looked at before anything is kept.

use super::sqlite::wrong_count;
use super::{LoadSession, RowRefusal, SessionFailure, TableFacts, TableRequest, TableTarget, failure, quoted, said};
use crate::error::LoadFailure;
use crate::rows::{RowFormat, RowValues, escape};
use wire::{Canceller, Connection, ServerError, WireError};

/// INSERT denied, for a table and for a column.
const NO_RIGHT: [Option<u16>; 2] = [Some(1142), Some(1143)];

/// What a table is. Nothing is changed.
pub(super) fn facts(connection: &mut Connection, request: &TableRequest) -> Result<TableFacts, LoadFailure> {
    let (schema, name) = split_name(&request.table);
    let schema_sql = schema.as_ref().map_or("database()".to_owned(), |schema| literal(schema));
    let place = format!("table_schema = {schema_sql} and table_name = {}", literal(&name));
    let columns = list(
        connection,
        &format!(
            "select column_name from information_schema.columns where {place} and coalesce(generation_expression, '') = '' \
         and extra not like '%INVISIBLE%' order by ordinal_position"
        ),
    )?;
    if columns.is_empty() {
        return Err(LoadFailure::Database(format!("there is no table {}, or no right to see it", request.table)));
    }
    let schema_prefix = schema.as_ref().map(|schema| format!("{}.", quoted(schema, '`'))).unwrap_or_default();
    // It looks at rights, and inserts nothing.
    let asked = connection.query(&format!("explain insert into {schema_prefix}{} () values ()", quoted(&name, '`')));
    if matches!(asked, Err(WireError::Server(error)) if NO_RIGHT.contains(&error.number)) {
        return Err(LoadFailure::Database(format!("no right to insert into {}", request.table)));
    }
    if let Some(encoding) = &request.encoding {
        let sets = "select 1 from information_schema.character_sets where character_set_name";
        if list(connection, &format!("{sets} = lower({})", literal(encoding)))?.is_empty() {
            return Err(LoadFailure::Database(format!("the server knows no encoding '{encoding}'")));
        }
    }
    let mut number = |sql: String| -> Result<Option<u64>, LoadFailure> {
        Ok(list(connection, &sql)?.first().and_then(|text| text.parse().ok()))
    };
    let indexes =
        number(format!("select count(distinct index_name) from information_schema.statistics where {place}"))?;
    let triggers = number(format!(
        "select count(*) from information_schema.triggers where event_object_schema = {schema_sql} and \
         event_object_table = {} and event_manipulation = 'INSERT'",
        literal(&name)
    ))?;
    let own_keys = number(format!(
        "select count(*) from information_schema.key_column_usage where {place} and referenced_table_schema = {schema_sql} \
         and referenced_table_name = {}",
        literal(&name)
    ))?;
    let rows = number(format!("select table_rows from information_schema.tables where {place}"))?;
    let most = number("select @@max_connections".to_owned())?;
    let used = number(
        "select variable_value from information_schema.global_status where variable_name = 'Threads_connected'"
            .to_owned(),
    );
    // MySQL has it elsewhere, and a user may not be allowed to see it.
    let used = used.ok().flatten();
    let version = connection.server_version();
    let kind = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    Ok(TableFacts {
        server: format!("{kind} {}", version.split('-').next().unwrap_or(version)),
        sql_name: format!("{schema_prefix}{}", quoted(&name, '`')),
        name,
        schema_prefix,
        columns,
        indexes: indexes.unwrap_or(0),
        triggers: triggers.unwrap_or(0),
        rows,
        connections_left: most.zip(used).map(|(most, used)| most.saturating_sub(used + 3)),
        one_connection: (own_keys.unwrap_or(0) > 0).then(|| {
            "a foreign key leads to the table itself: a row must not come before the one it refers to".to_owned()
        }),
        ends_at_marker: false,
        // Connections that insert into one table can deadlock, and then a transaction has to be sent again.
        holds_to_the_end: false,
    })
}

/// `schema.table`, each perhaps in backticks.
fn split_name(table: &str) -> (Option<String>, String) {
    let bare = |part: &str| match part.strip_prefix('`').and_then(|part| part.strip_suffix('`')) {
        Some(inner) => inner.replace("``", "`"),
        None => part.to_owned(),
    };
    let is_one = table.starts_with('`') && table.ends_with('`') && !table.contains("`.`");
    match table.split_once('.') {
        Some((schema, name)) if !is_one => (Some(bare(schema)), bare(name)),
        _ => (None, bare(table)),
    }
}

fn list(connection: &mut Connection, sql: &str) -> Result<Vec<String>, WireError> {
    let rows = connection.query(sql)?;
    let text = |row: Vec<Option<Vec<u8>>>| Some(String::from_utf8_lossy(&row.into_iter().next()??).into_owned());
    Ok(rows.into_iter().filter_map(text).collect())
}

/// A string in SQL; the session has no NO_BACKSLASH_ESCAPES where a backslash could matter: names with one are rare, and then not found.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The first statement of a transaction that writes into a ledger at its end: the ledger counts as in use until the server has committed the transaction or
/// rolled it back, which it goes on with when the client is long gone. A lock of the kind that the note takes: no upgrade, which could be a deadlock.
pub(crate) fn use_of(ledger: &str) -> String {
    format!("select 1 from {ledger} limit 0 for update")
}

/// Waits until nobody uses a ledger. Rows that are sent anew while the first ones are rolled back end in deadlocks, or in more locks than a small server's
/// memory has; what is committed later than the ledger is read would come twice.
pub(crate) fn wait_for_users(ledger: &str) -> [String; 2] {
    [format!("lock tables {ledger} write"), "unlock tables".to_owned()]
}

/// How rows get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    LocalFile,
    /// The server does not allow LOAD DATA LOCAL.
    Inserts,
}

/// A session.
pub(super) struct MySqlLoad {
    connection: Connection,
    way: Way,
    load: String,
    insert: String,
    columns: usize,
    format: RowFormat,
    values: RowValues,
    /// Rows written anew.
    written: Vec<u8>,
}

/// LIMIT: warnings that the server keeps of one statement; more rows than these are looked for one by one.
const WARNINGS_KEPT: usize = 65_535;

/// LIMIT: for another load to end, which may have been killed.
const LOCK_SECONDS: u32 = 10;

/// LIMIT: bytes of one INSERT, far below the usual max_allowed_packet.
const INSERT_BYTES: usize = 1 << 20;

impl MySqlLoad {
    pub(super) fn open(mut connection: Connection, target: &TableTarget) -> Result<Self, LoadFailure> {
        // A 0 is a 0, and not the next number.
        let settings = format!(
            "set session max_error_count = {WARNINGS_KEPT}, \
             sql_mode = concat(replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',NO_AUTO_VALUE_ON_ZERO')"
        );
        connection.execute(&settings)?;
        if target.request.encoding.is_some() {
            let encoding = target.request.encoding.as_deref().unwrap_or_default();
            connection.execute(&format!("set names {}", literal(encoding)))?;
        }
        let character_set = target.request.encoding.as_deref().unwrap_or("utf8mb4");
        let (columns, table) = (TableFacts::column_list(target.columns(), '`'), &target.facts.sql_name);
        let load = format!(
            "load data local infile 'mh' into table {table} character set {character_set} fields terminated by '\\t' \
             escaped by '\\\\' lines terminated by '\\n' ({columns})"
        );
        let allowed = list(&mut connection, "select @@local_infile")?;
        let way = if allowed.first().is_some_and(|value| value == "0") { Way::Inserts } else { Way::LocalFile };
        Ok(Self {
            connection,
            way,
            load,
            insert: format!("insert into {table} ({columns}) values "),
            columns: target.columns().len(),
            format: target.format().clone(),
            values: RowValues::default(),
            written: Vec::new(),
        })
    }

    /// Writes the rows in the format of LOAD DATA; how many there are. Those that cannot be are refused all at once.
    fn write_anew(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
        self.written.clear();
        let (mut count, mut refused) = (0, Vec::new());
        for (number, row) in self.format.rows(rows).enumerate() {
            count += 1;
            match read(&mut self.values, &self.format, &rows[row], self.columns) {
                Ok(()) => write_row(&self.values, &mut self.written),
                Err(message) => refused.push(RowRefusal { row: Some(number), message }),
            }
        }
        if refused.is_empty() { Ok(count) } else { Err(SessionFailure::Rows(refused)) }
    }

    fn load_local(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
        let count = self.write_anew(rows)?;
        let written = &self.written;
        let loaded = self.connection.load_local(&self.load, |_name| Ok(&written[..]));
        let taken = loaded.map_err(|error| refused(error, 0))?.affected;
        self.look_at_warnings(count, taken, 0)?;
        Ok(count)
    }

    fn insert(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
        let (mut statement, mut first, mut count) = (self.insert.clone().into_bytes(), 0, 0);
        let format = self.format.clone();
        for (number, row) in format.rows(rows).enumerate() {
            let refuse = |message| SessionFailure::Rows(vec![RowRefusal { row: Some(number), message }]);
            read(&mut self.values, &format, &rows[row], self.columns).map_err(refuse)?;
            if count > 0 {
                statement.push(b',');
            }
            write_values(&self.values, &mut statement);
            count += 1;
            if statement.len() >= INSERT_BYTES {
                self.run_insert(&statement, count, first)?;
                statement.truncate(self.insert.len());
                (first, count) = (number + 1, 0);
            }
        }
        if count > 0 {
            self.run_insert(&statement, count, first)?;
        }
        Ok(first as u64 + count)
    }

    fn run_insert(&mut self, statement: &[u8], count: u64, first: usize) -> Result<(), SessionFailure> {
        let text = str::from_utf8(statement).map_err(|error| {
            let message = format!("not UTF-8 ({error}), and the server does not allow LOAD DATA LOCAL");
            SessionFailure::Rows(vec![RowRefusal { row: None, message }])
        })?;
        let done = self.connection.execute(text).map_err(|error| refused(error, first))?;
        self.look_at_warnings(count, done.affected, first)
    }

    /// Rows that the server changed or left out.
    fn look_at_warnings(&mut self, sent: u64, taken: u64, first: usize) -> Result<(), SessionFailure> {
        let warnings = self.connection.query("show warnings").map_err(failure)?;
        let mut refused: Vec<RowRefusal> = Vec::new();
        for warning in warnings {
            let field = |index: usize| {
                let value = warning.get(index).and_then(Option::as_deref).unwrap_or_default();
                String::from_utf8_lossy(value).into_owned()
            };
            if field(0) == "Note" {
                continue;
            }
            let message = field(2);
            refused.push(RowRefusal {
                row: row_of(&message).map(|row| first + row),
                message: format!("{} {message}", field(1)),
            });
        }
        refused.sort_by_key(|refusal| refusal.row);
        refused.dedup_by_key(|refusal| refusal.row);
        // Only what has a row leads on; a row without one may be the same.
        if refused.iter().any(|refusal| refusal.row.is_some()) {
            refused.retain(|refusal| refusal.row.is_some());
        }
        if refused.is_empty() && taken != sent {
            refused.push(RowRefusal {
                row: None,
                message: format!("the server took {taken} of {sent} rows and did not say why"),
            });
        }
        if refused.is_empty() { Ok(()) } else { Err(SessionFailure::Rows(refused)) }
    }
}

impl LoadSession for MySqlLoad {
    fn execute(&mut self, sql: &str) -> Result<(), SessionFailure> {
        self.connection.execute(sql).map(drop).map_err(failure)
    }

    fn load(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
        match self.way {
            Way::LocalFile => self.load_local(rows),
            Way::Inserts => self.insert(rows),
        }
    }

    fn canceller(&self) -> Option<Canceller> {
        Some(self.connection.canceller())
    }

    fn has_lock(&mut self, name: &str) -> Result<bool, SessionFailure> {
        let sql = format!("select get_lock(md5(concat(database(), {})), {LOCK_SECONDS})", literal(name));
        Ok(list(&mut self.connection, &sql).map_err(failure)?.first().is_some_and(|got| got == "1"))
    }

    fn number(&self) -> Option<u32> {
        Some(self.connection.server_pid())
    }
}

/// Reads a row that has so many values.
fn read(values: &mut RowValues, format: &RowFormat, row: &[u8], columns: usize) -> Result<(), String> {
    values.read(format, row).map_err(|defect| defect.to_string())?;
    if values.len() == columns { Ok(()) } else { Err(wrong_count(values.len(), columns)) }
}

/// An error of a statement whose first row is `first`.
fn refused(error: WireError, first: usize) -> SessionFailure {
    match error {
        WireError::Server(error) if is_of_a_row(&error) => {
            let row = row_of(&error.message).map(|row| first + row);
            SessionFailure::Rows(vec![RowRefusal { row, message: said(&error) }])
        }
        error => failure(error),
    }
}

/// Integrity and values; of those without an SQLSTATE of their own, SIGNAL in a trigger and checks.
fn is_of_a_row(error: &ServerError) -> bool {
    matches!(error.sqlstate(), state if state.starts_with("22") || state.starts_with("23") || state == "45000")
        || matches!(error.number, Some(1264 | 1265 | 1366 | 1292 | 1406 | 1364 | 1300 | 4025 | 3819))
}

/// The row that a message names, from 0.
fn row_of(message: &str) -> Option<usize> {
    let (_, number) = message.rsplit_once("at row ")?;
    let digits = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    number[..digits].parse::<usize>().ok()?.checked_sub(1)
}

fn write_row(values: &RowValues, to: &mut Vec<u8>) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            to.push(b'\t');
        }
        match value {
            Some(value) => escape(value, to),
            None => to.extend_from_slice(b"\\N"),
        }
    }
    to.push(b'\n');
}

fn write_values(values: &RowValues, to: &mut Vec<u8>) {
    to.push(b'(');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            to.push(b',');
        }
        let Some(value) = value else {
            to.extend_from_slice(b"null");
            continue;
        };
        to.push(b'\'');
        for byte in value {
            match byte {
                b'\'' => to.extend_from_slice(b"''"),
                b'\\' => to.extend_from_slice(b"\\\\"),
                0 => to.extend_from_slice(b"\\0"),
                byte => to.push(*byte),
            }
        }
        to.push(b'\'');
    }
    to.push(b')');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::CsvFormat;

    #[test]
    fn rows_are_written_so_that_null_and_empty_stay_apart() {
        let csv = RowFormat::Csv(CsvFormat::default());
        let mut values = RowValues::default();
        values.read(&csv, b"1,,\"\",NULL,\"a\tb\n\\\"\r\n").expect("a row");
        let (mut load, mut insert) = (Vec::new(), Vec::new());
        write_row(&values, &mut load);
        assert_eq!(load, b"1\t\\N\t\tNULL\ta\\tb\\n\\\\\n");
        write_values(&values, &mut insert);
        assert_eq!(insert, b"('1',null,'','NULL','a\tb\n\\\\')");
    }

    #[test]
    fn messages_name_rows_and_names_have_parts() {
        assert_eq!(row_of("Data truncated for column 'at row 1' at row 12"), Some(11));
        assert_eq!(row_of("Incorrect value at row 3 of it"), Some(2));
        assert_eq!(row_of("Duplicate entry '1' for key 'PRIMARY'"), None);
        assert_eq!(split_name("a.b"), (Some("a".to_owned()), "b".to_owned()));
        assert_eq!(split_name("`a``x`.`b`"), (Some("a`x".to_owned()), "b".to_owned()));
        assert_eq!(split_name("`a.b`"), (None, "a.b".to_owned()));
    }
}
