//! PostgreSQL: COPY FROM STDIN with the rows as they are in the input. Errors come with a line, which is counted back to a row.

use super::{LoadSession, RowRefusal, SessionFailure, TableFacts, TableRequest, TableTarget, failure, quoted, said};
use crate::error::LoadFailure;
use crate::rows::{RowFormat, without_line_end};
use memchr::memchr_iter;
use wire::{Canceller, Connection, ServerError, WireError};

/// PostgreSQL 18 reads `\.` in CSV as data.
const MARKER_IS_DATA_FROM: u32 = 18;

/// LIMIT: for another load to end, which may have been killed.
const LOCK_TIMEOUT: &str = "set lock_timeout = '10s'";

/// What a table is. Nothing is changed.
pub(super) fn facts(connection: &mut Connection, request: &TableRequest) -> Result<TableFacts, LoadFailure> {
    let table = find(connection, &request.table)?;
    let [oid, schema, name, rows, can_insert] = &table;
    if can_insert != "t" {
        return Err(LoadFailure::Database(format!("no right to insert into {}", request.table)));
    }
    if let Some(encoding) = &request.encoding {
        let known = first(connection, &format!("select pg_catalog.pg_char_to_encoding({})", literal(encoding)))?;
        if known.and_then(|row| row.into_iter().next()).is_none_or(|number| number == "-1") {
            return Err(LoadFailure::Database(format!("the server knows no encoding '{encoding}'")));
        }
    }
    let count = |connection: &mut Connection, sql: &str| -> Result<u64, LoadFailure> {
        Ok(first(connection, sql)?
            .and_then(|row| row.into_iter().next())
            .and_then(|text| text.parse().ok())
            .unwrap_or(0))
    };
    let indexes = count(connection, &format!("select count(*) from pg_index where indrelid = {oid}"))?;
    let row_triggers = "not tgisinternal and tgtype & 1 = 1 and tgtype & 4 = 4 and tgenabled <> 'D'";
    let triggers =
        count(connection, &format!("select count(*) from pg_trigger where tgrelid = {oid} and {row_triggers}"))?;
    let own =
        format!("select count(*) from pg_constraint where contype = 'f' and conrelid = {oid} and confrelid = {oid}");
    let own_keys = count(connection, &own)?;
    let columns = connection.query(&format!(
        "select attname from pg_attribute where attrelid = {oid} and attnum > 0 and not attisdropped and attgenerated = '' order by attnum"
    ))?;
    let columns = columns.into_iter().filter_map(|row| text(row.into_iter().next()?)).collect();
    let left = "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - 3 \
        - (select count(*) from pg_stat_activity where backend_type = 'client backend')";
    let version = connection.server_version().to_owned();
    Ok(TableFacts {
        server: format!("PostgreSQL {version}"),
        sql_name: format!("{}.{}", quoted(schema, '"'), quoted(name, '"')),
        name: name.clone(),
        schema_prefix: format!("{}.", quoted(schema, '"')),
        columns,
        indexes,
        triggers,
        rows: rows.parse().ok(),
        connections_left: Some(count(connection, &format!("select greatest(0, {left})"))?),
        one_connection: (own_keys > 0).then(|| {
            "a foreign key leads to the table itself: a row must not come before the one it refers to".to_owned()
        }),
        ends_at_marker: major(&version).is_some_and(|major| major < MARKER_IS_DATA_FROM),
        holds_to_the_end: true,
    })
}

fn major(version: &str) -> Option<u32> {
    version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Its number, schema, name, estimated rows, and whether rows may be inserted. A name that is not as SQL has it may be the name as it is.
fn find(connection: &mut Connection, table: &str) -> Result<[String; 5], LoadFailure> {
    let question = |name: &str| {
        format!(
            "select c.oid, n.nspname, c.relname, case when c.reltuples < 0 then null else c.reltuples::bigint end, \
             has_table_privilege(c.oid, 'INSERT') from pg_class c join pg_namespace n on n.oid = c.relnamespace \
             where c.oid = to_regclass({})",
            literal(name)
        )
    };
    let found = first(connection, &question(table))?;
    let found = match found {
        None => first(connection, &question(&quoted(table, '"')))?,
        found => found,
    };
    let missing = || LoadFailure::Database(format!("there is no table {table}"));
    found.ok_or_else(missing)?.try_into().ok().ok_or_else(missing)
}

/// The first row of an answer as text; NULL is empty.
fn first(connection: &mut Connection, sql: &str) -> Result<Option<Vec<String>>, WireError> {
    let rows = connection.query(sql)?;
    Ok(rows.into_iter().next().map(|row| row.into_iter().map(|value| text(value).unwrap_or_default()).collect()))
}

fn text(value: Option<Vec<u8>>) -> Option<String> {
    value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A string in SQL, whatever the server takes a backslash for.
pub(super) fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn literal_bytes(bytes: &[u8]) -> String {
    literal(&String::from_utf8_lossy(bytes))
}

/// A session.
pub(super) struct PostgresLoad {
    connection: Connection,
    copy: String,
    /// The table's name as contexts have it.
    name: String,
    format: RowFormat,
}

impl PostgresLoad {
    pub(super) fn open(mut connection: Connection, target: &TableTarget) -> Result<Self, LoadFailure> {
        // A load takes as long as it takes; it holds a transaction open while others finish.
        connection.execute(
            "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set application_name = 'mh db load'",
        )?;
        let (facts, request) = (&target.facts, &target.request);
        let columns = request.columns.as_ref().map(|columns| format!(" ({})", TableFacts::column_list(columns, '"')));
        let encoding = request.encoding.as_ref().map(|name| format!(", encoding {}", literal(name)));
        let copy = format!(
            "copy {}{} from stdin with ({}{})",
            facts.sql_name,
            columns.unwrap_or_default(),
            options(&request.format),
            encoding.unwrap_or_default()
        );
        Ok(Self { connection, copy, name: facts.name.clone(), format: request.format.clone() })
    }

    fn refused(&self, error: ServerError, rows: &[u8]) -> SessionFailure {
        let is_of_a_row = matches!(&error.sqlstate, [b'2', b'1' | b'2' | b'3', ..] | [b'P', b'0', ..]);
        if error.is_fatal || !is_of_a_row {
            return failure(WireError::Server(error));
        }
        let line = error.context.as_deref().and_then(|context| line_of(context, &self.name));
        let row = line.and_then(|line| row_of_line(&self.format, rows, line));
        let column = error.context.as_deref().and_then(|context| column_of(context, &self.name));
        let message = match column {
            Some(column) => format!("column {column}: {}", said(&error)),
            None => said(&error),
        };
        SessionFailure::Rows(vec![RowRefusal { row, message }])
    }
}

impl LoadSession for PostgresLoad {
    fn execute(&mut self, sql: &str) -> Result<(), SessionFailure> {
        self.connection.execute(sql).map(drop).map_err(failure)
    }

    fn load(&mut self, rows: &[u8]) -> Result<u64, SessionFailure> {
        let copied = self.connection.copy_in(&self.copy).and_then(|mut copy| {
            copy.write(rows)?;
            copy.finish()
        });
        match copied {
            Ok(executed) => Ok(executed.affected),
            Err(WireError::Server(error)) => Err(self.refused(error, rows)),
            Err(error) => Err(failure(error)),
        }
    }

    fn canceller(&self) -> Option<Canceller> {
        Some(self.connection.canceller())
    }

    fn has_lock(&mut self, name: &str) -> Result<bool, SessionFailure> {
        self.execute(LOCK_TIMEOUT)?;
        match self.connection.execute(&format!("select pg_advisory_lock(hashtextextended({}, 0))", literal(name))) {
            Ok(_) => Ok(true),
            Err(WireError::Server(error)) if error.sqlstate() == "55P03" => Ok(false),
            Err(error) => Err(failure(error)),
        }
    }

    fn number(&self) -> Option<u32> {
        Some(self.connection.server_pid())
    }

    fn check_deferred(&mut self) -> Result<(), SessionFailure> {
        self.execute("set constraints all immediate")
    }
}

fn options(format: &RowFormat) -> String {
    let (delimiter, null) = (literal_bytes(&[format.delimiter()]), literal_bytes(format.null()));
    let common = format!("format {}, delimiter {delimiter}, null {null}", format.name());
    match format {
        RowFormat::Text(_) => common,
        RowFormat::Csv(csv) => {
            format!("{common}, quote {}, escape {}", literal_bytes(&[csv.quote]), literal_bytes(&[csv.escape]))
        }
    }
}

/// What follows `COPY name, line N` in a context, which has a line for each level.
fn of_copy<'a>(context: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let rest =
        context.lines().find_map(|line| line.strip_prefix("COPY ")?.strip_prefix(name)?.strip_prefix(", line "))?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..digits].parse().ok()?, &rest[digits..]))
}

fn line_of(context: &str, name: &str) -> Option<usize> {
    of_copy(context, name).map(|(line, _)| line)
}

fn column_of<'a>(context: &'a str, name: &str) -> Option<&'a str> {
    let rest = of_copy(context, name)?.1.strip_prefix(", column ")?;
    Some(rest.split_once(": ").map_or(rest, |(column, _)| column))
}

/// The row that a line belongs to, from 0. The server counts line ends within quotes, and not those behind a backslash.
/// COMPAT: within quotes it counts only the first byte of the line end that the first row has, which it takes for `\r` until that row has ended.
fn row_of_line(format: &RowFormat, rows: &[u8], line: usize) -> Option<usize> {
    if let RowFormat::Text(_) = format {
        return format.rows(rows).nth(line.checked_sub(1)?).map(|_| line - 1);
    }
    let first_end = format.rows(rows).next()?.end;
    let usual = if rows[..first_end].ends_with(b"\r\n") { b'\r' } else { b'\n' };
    let mut last_line = 0;
    format.rows(rows).position(|row| {
        let counted = if row.start == 0 { b'\r' } else { usual };
        let content = without_line_end(&rows[row]);
        last_line += memchr_iter(counted, content).count() + 1;
        last_line >= line
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{CsvFormat, TextFormat};

    #[test]
    fn a_context_has_line_and_column() {
        let context = "COPY t, line 3, column a: \"x, line 9\"";
        assert_eq!((line_of(context, "t"), column_of(context, "t")), (Some(3), Some("a")));
        let context = "PL/pgSQL function f() line 7 at RAISE\nCOPY a, line b, line 12";
        assert_eq!((line_of(context, "a, line b"), column_of(context, "a, line b")), (Some(12), None));
        assert_eq!(line_of("while inserting index tuple", "t"), None);
    }

    #[test]
    fn a_line_is_counted_back_to_its_row() {
        let csv = RowFormat::Csv(CsvFormat::default());
        let rows = b"1\n\"a\nb\nc\"\n3\n4";
        let found: Vec<_> = (1..=7).map(|line| row_of_line(&csv, rows, line)).collect();
        assert_eq!(found, [Some(0), Some(1), Some(1), Some(1), Some(2), Some(3), None]);
        let found: Vec<_> = (1..=3).map(|line| row_of_line(&csv, b"\"a\nb\"\n2\n3\n", line)).collect();
        assert_eq!(found, [Some(0), Some(1), Some(2)], "line ends of the first row are not counted");
        let found: Vec<_> = (1..=3).map(|line| row_of_line(&csv, b"1\r\n\"\n\r\"\r\n3\r\n", line)).collect();
        assert_eq!(found, [Some(0), Some(1), Some(1)]);
        let text = RowFormat::Text(TextFormat::default());
        assert_eq!((row_of_line(&text, b"a\\\nb\nc\n", 2), row_of_line(&text, b"a\n", 2)), (Some(1), None));
    }

    #[test]
    fn options_are_those_of_copy() {
        let csv = RowFormat::Csv(CsvFormat { delimiter: b'\'', null: b"\\N".to_vec(), ..CsvFormat::default() });
        assert_eq!(options(&csv), r#"format csv, delimiter E'''', null E'\\N', quote E'"', escape E'"'"#);
        assert_eq!(major("15.18 (Debian)"), Some(15));
    }
}
