//! `--clean`: drops what is to be restored, by the statements that pg_restore writes for it.

use super::board::RestoreBoard;
use super::contents::{ArchiveEntry, ArchiveReader};
use super::{RestoreError, RestoreFault};
use crate::indexes::{ScriptDialect, SqlLexer, SqlTokenKind};
use std::ffi::OsString;
use wire::{Connection, WireError};

/// Drops; what the server refused. Ends with `board`.
pub fn clean(
    connection: &mut Connection,
    board: &RestoreBoard,
    reader: &ArchiveReader<'_>,
    entries: &[&ArchiveEntry],
    options: &[OsString],
    if_exists: bool,
) -> Result<Vec<RestoreFault>, RestoreError> {
    let mut all = options.to_vec();
    all.push("--clean".into());
    all.extend(if_exists.then(|| "--if-exists".into()));
    let script = reader.script(entries, &all)?;
    let (absent, refused) = drop_all(connection, board, statements(&String::from_utf8_lossy(&script.prelude)))?;
    // What was refused may have gone with something behind it: a partition's key with the partition.
    let (_gone, mut faults) = drop_all(connection, board, refused.into_iter().map(|fault| fault.what).collect())?;
    faults.extend(absent);
    Ok(faults)
}

/// Drops; what was not there, and what was refused for other reasons.
fn drop_all(
    connection: &mut Connection,
    board: &RestoreBoard,
    statements: Vec<String>,
) -> Result<(Vec<RestoreFault>, Vec<RestoreFault>), RestoreError> {
    let (mut absent, mut refused) = (Vec::new(), Vec::new());
    for statement in statements {
        if board.is_over() {
            return Err(RestoreError::Interrupted);
        }
        match connection.execute(&statement) {
            Ok(_) => {}
            Err(WireError::Server(error)) if error.sqlstate() == CANCELLED => return Err(RestoreError::Interrupted),
            Err(WireError::Server(error)) if !error.is_fatal => {
                let faults = if is_absent(error.sqlstate()) { &mut absent } else { &mut refused };
                faults.push(RestoreFault { what: statement, message: error.to_string() });
            }
            Err(cause) => return Err(RestoreError::Server { what: "drop what is to be restored".to_owned(), cause }),
        }
    }
    Ok((absent, refused))
}

/// A statement was ended from outside.
const CANCELLED: &str = "57014";

/// A table, a schema, a function, or anything else that does not exist.
fn is_absent(sqlstate: &str) -> bool {
    matches!(sqlstate, "42P01" | "3F000" | "42883" | "42704")
}

/// The statements of a script but those that set something up.
fn statements(text: &str) -> Vec<String> {
    let mut lexer = SqlLexer::new(text, ScriptDialect::Postgres);
    let mut statements = Vec::new();
    let mut begin = None;
    while let Ok(Some(token)) = lexer.next() {
        match (token.kind, begin) {
            (SqlTokenKind::Symbol(b';'), Some(from)) => {
                statements.push(text[from..token.begin].trim_end().to_owned());
                begin = None;
            }
            (_, None) => begin = Some(token.begin),
            _ => {}
        }
    }
    statements.retain(|statement| !statement.starts_with("SET ") && !statement.contains("pg_catalog.set_config("));
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_those_that_drop() {
        let text = "SET a = 1;\nSELECT pg_catalog.set_config('search_path', '', false);\nDROP TABLE public.\"a;b\";\n\
            SELECT pg_catalog.lo_unlink('5');\nALTER TABLE x\n  DROP CONSTRAINT y;\n";
        assert_eq!(
            statements(text),
            ["DROP TABLE public.\"a;b\"", "SELECT pg_catalog.lo_unlink('5')", "ALTER TABLE x\n  DROP CONSTRAINT y"]
        );
    }
}
