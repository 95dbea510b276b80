//! Rows of a part as lines of text, which are those of a dump's files and those whose hashes a verification adds up.

use super::catalogue::{MySqlColumn, MySqlColumnForm, MySqlTable, text};
use super::fault::MySqlDumpFault;
use super::work::{MySqlBoard, MySqlPart};
use crate::dump::DumpError;
use crate::rows::escape;
use crate::target::quoted;
use std::io;
use wire::{Connection, RowPart};

/// Takes lines.
pub trait LineSink {
    /// What a line is appended to.
    fn line(&mut self) -> &mut Vec<u8>;
    /// The line is complete, with its line end.
    fn end_line(&mut self) -> Result<(), DumpError>;
}

/// Has the server send the rows of a part, and returns its count of them; none if all is over.
pub fn send_rows(
    board: &MySqlBoard,
    connection: &mut Connection,
    part: &MySqlPart,
    sink: &mut impl LineSink,
) -> Result<Option<u64>, DumpError> {
    let table = &part.table.table;
    let sql = format!("select {} from {}{}", table.select_list(), quoted(&table.name, '`'), part.clause);
    let (mut column, mut failed) = (0, None);
    let outcome = connection.rows_out(&sql, |value| match value {
        RowPart::Value(value) => {
            put_value(sink.line(), column, table.columns.get(column), value);
            column += 1;
            Ok(())
        }
        RowPart::End => {
            column = 0;
            sink.line().push(b'\n');
            failed = sink.end_line().err();
            if failed.is_some() || board.course.is_over() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        }
    });
    if board.course.is_over() {
        return Ok(None);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let rows = outcome.map_err(DumpError::server(format!("read rows of '{}'", table.name)))?.rows;
    if table.has_conversions() {
        check_conversions(connection, table)?;
    }
    Ok(Some(rows))
}

/// A conversion whose value is longer than max_allowed_packet gives NULL and a warning.
fn check_conversions(connection: &mut Connection, table: &MySqlTable) -> Result<(), DumpError> {
    let warnings = connection.query("show warnings").map_err(DumpError::server("read warnings"))?;
    match warnings.first() {
        None => Ok(()),
        Some(row) => Err(MySqlDumpFault::CutOff { table: table.name.clone(), warning: text(row, 2) }.into()),
    }
}

fn put_value(row: &mut Vec<u8>, number: usize, column: Option<&MySqlColumn>, value: Option<&[u8]>) {
    if number > 0 {
        row.push(b'\t');
    }
    match (value, column.map(|column| column.form)) {
        (None, _) => row.extend_from_slice(b"\\N"),
        (Some(value), Some(MySqlColumnForm::Hex)) => put_hex(value, row),
        (Some(value), _) => escape(value, row),
    }
}

fn put_hex(value: &[u8], row: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    row.reserve(2 * value.len());
    for byte in value {
        row.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_load_data_reads() {
        let column = |form| MySqlColumn { form, ..MySqlColumn::default() };
        let (plain, binary) = (column(MySqlColumnForm::Text), column(MySqlColumnForm::Hex));
        let mut row = Vec::new();
        let values: [(_, Option<&[u8]>); 5] = [
            (&plain, Some(b"a\tb\nc\\")),
            (&plain, None),
            (&binary, Some(b"\0\xff\n")),
            (&binary, None),
            (&plain, Some(b"")),
        ];
        for (number, (column, value)) in values.into_iter().enumerate() {
            put_value(&mut row, number, Some(column), value);
        }
        assert_eq!(row, b"a\\tb\\nc\\\\\t\\N\t00FF0A\t\\N\t");
    }
}
