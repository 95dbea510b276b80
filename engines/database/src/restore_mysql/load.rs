//! A file of rows goes into its table: by LOAD DATA LOCAL, or by INSERT if the server does not allow that. Its rows and their line in the ledger are one transaction.

use super::board::MySqlRestoreBoard;
use super::ledger::MySqlLedger;
use super::{RestoreTableJob, open};
use crate::dump_mysql::catalogue::text;
use crate::dump_mysql::{MySqlArchivePart, MySqlColumnForm, MySqlDumpFault};
use crate::restore::RestoreError;
use crate::restore::work::RowFrameReader;
use crate::rows::{RowFormat, RowValues, TextFormat};
use crate::target::{literal, quoted};
use std::cell::RefCell;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;
use wire::{Connection, ServerAddress, ServerError, WireError};

/// LIMIT: how often a file is sent again after a conflict, or over a new connection.
const RETRIES_MAX: u32 = 10;

/// The first wait before that; each one is twice as long.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// LIMIT: bytes of one INSERT, far below the usual max_allowed_packet.
const INSERT_BYTES: usize = 1 << 20;

/// A value that ENUM does not know; and that it knows as the empty one.
const TRUNCATED: &str = "1265";

/// A connection that loads.
pub struct Loader<'a> {
    pub connection: Connection,
    pub address: &'a ServerAddress,
    pub archive: &'a Path,
    pub ledger: &'a MySqlLedger,
    pub board: &'a MySqlRestoreBoard,
    /// Whether the server takes files of the client.
    pub takes_files: bool,
}

impl Loader<'_> {
    /// Loads a file; its rows.
    pub fn load(&mut self, table: &RestoreTableJob<'_>, part: &MySqlArchivePart) -> Result<u64, RestoreError> {
        let mut attempt = 0;
        loop {
            let error = match self.attempt(table, part) {
                Ok(rows) => return Ok(rows),
                Err(error) => error,
            };
            attempt += 1;
            let is_lost = is_lost(&error);
            if attempt > RETRIES_MAX || self.board.is_over() || !(is_lost || is_conflict(&error)) {
                return Err(error);
            }
            std::thread::sleep(RETRY_AFTER * 2_u32.pow(attempt.min(7)));
            if !is_lost {
                self.connection.execute("rollback").map_err(RestoreError::server("roll back"))?;
                continue;
            }
            // Without a transaction, rows that came would come again.
            if !table.entry.is_transactional {
                return Err(error);
            }
            self.connection = open(self.address, self.board)?;
            if self.ledger.has_now(&mut self.connection, &part.file)? {
                return Ok(part.rows);
            }
        }
    }

    fn attempt(&mut self, table: &RestoreTableJob<'_>, part: &MySqlArchivePart) -> Result<u64, RestoreError> {
        let failed = || RestoreError::server(format!("restore rows of '{}'", table.entry.table));
        self.connection.execute("begin").map_err(failed())?;
        self.connection.execute(&self.ledger.use_of()).map_err(failed())?;
        let taken = match self.takes_files {
            true => self.load_local(table, part)?,
            false => self.insert(table, part)?,
        };
        if taken != part.rows {
            let table = table.entry.table.clone();
            return Err(RestoreError::Rows { table, expected: part.rows, taken });
        }
        // COMPAT: a server that is asked to cancel between two statements of one request answers only the first, and waits: these are two requests.
        let note = self.ledger.note(&part.file, part.rows);
        self.connection.execute(&note).map_err(failed())?;
        self.connection.execute("commit").map_err(failed())?;
        Ok(taken)
    }

    fn load_local(&mut self, table: &RestoreTableJob<'_>, part: &MySqlArchivePart) -> Result<u64, RestoreError> {
        let path = self.archive.join(&part.file);
        let fault = RefCell::new(None);
        let sql = table.entry.load_statement("'mh'");
        let board = self.board;
        let loaded = self.connection.load_local(&sql, |_name| {
            let reader = RowFrameReader::open(&path).map_err(|error| put(&fault, error))?;
            Ok(PartReader { reader, part, frame: 0, rows: Vec::new(), at: 0, fault: &fault, board })
        });
        if let Some(error) = fault.take() {
            return Err(error);
        }
        let failed = RestoreError::server(format!("restore rows of '{}'", table.entry.table));
        let taken = loaded.map_err(failed)?.affected;
        self.check_warnings(table)?;
        Ok(taken)
    }

    fn insert(&mut self, table: &RestoreTableJob<'_>, part: &MySqlArchivePart) -> Result<u64, RestoreError> {
        let mut reader = RowFrameReader::open(&self.archive.join(&part.file))?;
        let insert = Insert::new(table);
        let mut sent = 0;
        for frame in &part.frames {
            let statements = insert.statements(reader.read(frame)?)?;
            for sql in statements {
                let failed = RestoreError::server(format!("restore rows of '{}'", table.entry.table));
                sent += self.connection.execute_bytes(&sql).map_err(failed)?.affected;
                self.check_warnings(table)?;
            }
        }
        Ok(sent)
    }

    /// LOAD DATA LOCAL makes warnings of errors, and goes on.
    fn check_warnings(&mut self, table: &RestoreTableJob<'_>) -> Result<(), RestoreError> {
        let warnings = self.connection.query("show warnings").map_err(RestoreError::server("read warnings"))?;
        let is_meant =
            |row: &Vec<Option<Vec<u8>>>| text(row, 0) == "Note" || table.may_have_enum() && text(row, 1) == TRUNCATED;
        match warnings.iter().find(|row| !is_meant(row)) {
            None => Ok(()),
            Some(row) => {
                let warning = format!("{} {}", text(row, 1), text(row, 2));
                Err(MySqlDumpFault::Altered { table: table.entry.table.clone(), warning }.into())
            }
        }
    }
}

/// A deadlock's victim, or a lock that was waited for too long. Two connections that load one table may come to that with ranges that have nothing in common.
fn is_conflict(error: &RestoreError) -> bool {
    matches!(server_error(error), Some(error) if matches!(error.number, Some(1205 | 1213)))
}

/// The connection is gone, and with it the transaction.
fn is_lost(error: &RestoreError) -> bool {
    match error {
        RestoreError::Server { cause: WireError::Server(error), .. } => error.is_fatal,
        RestoreError::Server { cause: WireError::Closed | WireError::Io(_), .. } => true,
        _ => false,
    }
}

fn server_error(error: &RestoreError) -> Option<&ServerError> {
    match error {
        RestoreError::Server { cause: WireError::Server(error), .. } => Some(error),
        _ => None,
    }
}

fn put(fault: &RefCell<Option<RestoreError>>, error: RestoreError) -> io::Error {
    *fault.borrow_mut() = Some(error);
    io::Error::other("the archive cannot be read")
}

/// A file of rows, uncompressed and verified, frame by frame.
struct PartReader<'a> {
    reader: RowFrameReader,
    part: &'a MySqlArchivePart,
    frame: usize,
    rows: Vec<u8>,
    at: usize,
    /// What went wrong, in better words than those of an `io::Error`.
    fault: &'a RefCell<Option<RestoreError>>,
    board: &'a MySqlRestoreBoard,
}

impl Read for PartReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rows.len() {
            if self.board.is_over() {
                return Err(put(self.fault, RestoreError::Interrupted));
            }
            let Some(frame) = self.part.frames.get(self.frame) else { return Ok(0) };
            let rows = self.reader.read(frame).map_err(|error| put(self.fault, error))?;
            self.rows.clear();
            self.rows.extend_from_slice(rows);
            (self.frame, self.at) = (self.frame + 1, 0);
        }
        let count = into.len().min(self.rows.len() - self.at);
        into[..count].copy_from_slice(&self.rows[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// INSERT statements of rows.
struct Insert<'a> {
    table: &'a str,
    head: String,
    forms: Vec<MySqlColumnForm>,
}

impl<'a> Insert<'a> {
    fn new(table: &RestoreTableJob<'a>) -> Self {
        let columns = &table.entry.columns;
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name, '`')).collect();
        let head = format!("insert into {} ({}) values ", quoted(&table.entry.table, '`'), names.join(","));
        Self { table: &table.entry.table, head, forms: columns.iter().map(|column| column.form).collect() }
    }

    fn statements(&self, rows: &[u8]) -> Result<Vec<Vec<u8>>, RestoreError> {
        let format = RowFormat::Text(TextFormat::default());
        let (mut statements, mut values) = (Vec::new(), RowValues::default());
        let mut statement = Vec::new();
        for row in format.rows(rows) {
            let damaged = |what: String| MySqlDumpFault::Archive { file: self.table.to_owned(), what };
            let row = &rows[row];
            // Lines of a dump end with a line feed alone: a carriage return before it is data.
            let content = row.strip_suffix(b"\n").unwrap_or(row);
            values.read_content(&format, content).map_err(|defect| damaged(defect.to_string()))?;
            if !self.forms.is_empty() && values.len() != self.forms.len() {
                return Err(
                    damaged(format!("a row has {} values for {} columns", values.len(), self.forms.len())).into()
                );
            }
            statement.extend_from_slice(if statement.is_empty() { self.head.as_bytes() } else { b"," });
            self.put_row(&values, &mut statement);
            if statement.len() >= INSERT_BYTES {
                statements.push(std::mem::take(&mut statement));
            }
        }
        if !statement.is_empty() {
            statements.push(statement);
        }
        Ok(statements)
    }

    fn put_row(&self, values: &RowValues, to: &mut Vec<u8>) {
        to.push(b'(');
        for (number, (value, form)) in values.iter().zip(&self.forms).enumerate() {
            if number > 0 {
                to.push(b',');
            }
            match (value, form) {
                (None, _) => to.extend_from_slice(b"null"),
                (Some(value), MySqlColumnForm::Bits) => to.extend_from_slice(value),
                (Some(value), MySqlColumnForm::Hex) => {
                    to.extend_from_slice(b"x'");
                    to.extend_from_slice(value);
                    to.push(b'\'');
                }
                (Some(value), MySqlColumnForm::Text) => put_text(value, to),
            }
        }
        to.push(b')');
    }
}

fn put_text(value: &[u8], to: &mut Vec<u8>) {
    to.push(b'\'');
    for byte in value {
        match byte {
            b'\'' => to.extend_from_slice(b"''"),
            b'\\' => to.extend_from_slice(b"\\\\"),
            byte => to.push(*byte),
        }
    }
    to.push(b'\'');
}

/// Whether the server takes files of its clients, and of this one.
pub fn takes_files(connection: &mut Connection) -> Result<bool, RestoreError> {
    let rows = connection.query("select @@local_infile").map_err(RestoreError::server("read the server's settings"))?;
    Ok(rows.first().is_some_and(|row| text(row, 0) != "0"))
}

/// The quoted names of keys that a table has.
pub fn existing_keys(connection: &mut Connection, database: &str, table: &str) -> Result<Vec<String>, RestoreError> {
    quoted_names(connection, "distinct index_name from information_schema.statistics", &place(database, table))
}

/// Those of its foreign keys; a key may have the same name.
pub fn foreign_keys(connection: &mut Connection, database: &str, table: &str) -> Result<Vec<String>, RestoreError> {
    let place = format!("{} and constraint_type = 'FOREIGN KEY'", place(database, table));
    quoted_names(connection, "constraint_name from information_schema.table_constraints", &place)
}

fn place(database: &str, table: &str) -> String {
    format!("table_schema = {} and table_name = {}", literal(database), literal(table))
}

fn quoted_names(connection: &mut Connection, what: &str, place: &str) -> Result<Vec<String>, RestoreError> {
    let rows =
        connection.query(&format!("select {what} where {place}")).map_err(RestoreError::server("look for keys"))?;
    Ok(rows.iter().map(|row| quoted(&text(row, 0), '`')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump_mysql::{MySqlArchiveTable, MySqlColumn};

    #[test]
    fn rows_become_inserts_of_the_same_values() {
        let column = |name: &str, form| MySqlColumn { name: name.to_owned(), form, ..MySqlColumn::default() };
        let columns = vec![
            column("a", MySqlColumnForm::Text),
            column("b", MySqlColumnForm::Hex),
            column("c", MySqlColumnForm::Bits),
        ];
        let entry = MySqlArchiveTable { table: "t".to_owned(), columns, ..MySqlArchiveTable::default() };
        let job = RestoreTableJob { entry: &entry, parts: Vec::new(), statement: None };
        let statements = Insert::new(&job).statements(b"it's\\t\\\\\t00FF\t5\n\\N\t\\N\t\\N\n").expect("good rows");
        let expected = "insert into `t` (`a`,`b`,`c`) values ('it''s\t\\\\',x'00FF',5),(null,null,null)";
        assert_eq!(statements, [expected.as_bytes()]);
        assert!(Insert::new(&job).statements(b"1\t2\n").is_err());
        let columns = vec![column("a", MySqlColumnForm::Text)];
        let entry = MySqlArchiveTable { table: "t".to_owned(), columns, ..MySqlArchiveTable::default() };
        let job = RestoreTableJob { entry: &entry, parts: Vec::new(), statement: None };
        let statements = Insert::new(&job).statements(b"line\r\n\r\n").expect("good rows");
        assert_eq!(statements, [b"insert into `t` (`a`) values ('line\r'),('\r')"], "a carriage return is data");
    }

    #[test]
    fn only_conflicts_and_lost_connections_are_worth_another_attempt() {
        let error = |cause| RestoreError::Server { what: String::new(), cause };
        let server = |number| {
            let message = "no".into();
            error(WireError::Server(ServerError {
                sqlstate: *b"HY000",
                number: Some(number),
                message,
                detail: None,
                context: None,
                hint: None,
                is_fatal: number == 1927,
            }))
        };
        assert!(is_conflict(&server(1213)) && is_conflict(&server(1205)) && !is_conflict(&server(1062)));
        assert!(is_lost(&server(1927)) && is_lost(&error(WireError::Closed)) && !is_lost(&server(1213)));
        assert!(!is_lost(&RestoreError::Interrupted) && !is_conflict(&RestoreError::Interrupted));
    }
}
