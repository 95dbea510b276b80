//! Tables that have rows before a restore adds others: rows that are there already come twice, unless a key refuses them.

use super::RestoreError;
use wire::{Connection, WireError};

/// LIMIT: names that a warning lists.
const NAMES_LISTED_MAX: usize = 10;

/// A warning of these tables, by their quoted names, that have rows.
pub fn warning(connection: &mut Connection, tables: &[String]) -> Result<Option<String>, RestoreError> {
    let mut occupied = Vec::new();
    for table in tables {
        match connection.query(&format!("select 1 from {table} limit 1")) {
            Ok(rows) if rows.is_empty() => {}
            Ok(_) => occupied.push(table.clone()),
            // A user who may add rows may lack the right to see them.
            Err(WireError::Server(error)) if !error.is_fatal => {}
            Err(cause) => return Err(RestoreError::server(format!("look for rows in {table}"))(cause)),
        }
    }
    Ok(text(&occupied))
}

fn text(occupied: &[String]) -> Option<String> {
    match occupied {
        [] => None,
        [table] => Some(format!("{table} is not empty: rows are added to those that it has")),
        tables => Some(format!(
            "{} tables are not empty, and rows are added to those that they have: {}",
            tables.len(),
            listed(tables)
        )),
    }
}

/// The first names, and how many there are besides.
pub fn listed(names: &[String]) -> String {
    let first = names.iter().take(NAMES_LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_LISTED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_a_few_tables() {
        let names = |count: usize| (0..count).map(|number| format!("t{number}")).collect::<Vec<_>>();
        assert_eq!(text(&names(0)), None);
        assert_eq!(text(&names(1)).as_deref(), Some("t0 is not empty: rows are added to those that it has"));
        assert!(text(&names(12)).is_some_and(|text| text.starts_with("12 tables") && text.ends_with("t9 and 2 more")));
    }
}
