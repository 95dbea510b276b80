//! Triggers of tables that are there before a restore: the server runs them for each row, and they may change it.

use crate::dump_mysql::catalogue::text;
use crate::restore::RestoreError;
use crate::restore::occupied::listed;
use crate::target::{literal, quoted};
use wire::Connection;

/// A warning of these tables that have triggers for rows that are inserted. `is_verified`: rows are read again anyway.
pub fn warning(
    connection: &mut Connection,
    database: &str,
    tables: &[&str],
    is_verified: bool,
) -> Result<Option<String>, RestoreError> {
    let sql = format!(
        "select distinct event_object_table from information_schema.triggers \
         where event_object_schema = {} and event_manipulation = 'INSERT' order by 1",
        literal(database)
    );
    let rows = connection.query(&sql).map_err(RestoreError::server("look for triggers"))?;
    let found = rows.iter().map(|row| text(row, 0)).filter(|table| tables.contains(&table.as_str()));
    let found: Vec<String> = found.map(|table| quoted(&table, '`')).collect();
    let advice = if is_verified { "" } else { "; --verify reads all rows again and compares them" };
    let warning = || format!("triggers fire for each row and may change it, of {}{advice}", listed(&found));
    Ok((!found.is_empty()).then(warning))
}
