//! In which order tables are filled.

use super::{RestoreError, RestoreParts};
use crate::dump::text_of;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use wire::Connection;

/// The table that refers, and the one that it refers to.
const REFERENCES: &str = "select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), \
    pg_catalog.quote_ident(m.nspname) || '.' || pg_catalog.quote_ident(d.relname) \
    from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid \
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_class d on d.oid = k.confrelid \
    join pg_catalog.pg_namespace m on m.oid = d.relnamespace where k.contype = 'f'";

/// In which order tables are filled, and which in one statement.
#[derive(Debug)]
pub struct TableOrder {
    /// All tables.
    pub order: Vec<usize>,
    /// Those that are there with a foreign key to themselves.
    pub referring: HashSet<usize>,
}

/// The largest table first, since it would be the last otherwise. Tables that are there with their foreign keys: those that others refer to first.
pub fn order(parts: &RestoreParts, connection: &mut Connection) -> Result<TableOrder, RestoreError> {
    if !parts.in_order {
        let mut order: Vec<usize> = (0..parts.tables.len()).collect();
        order.sort_by_key(|&table| Reverse(parts.tables[table].stored));
        return Ok(TableOrder { order, referring: HashSet::new() });
    }
    let rows = connection
        .query(REFERENCES)
        .map_err(|cause| RestoreError::Server { what: "read foreign keys".to_owned(), cause })?;
    let names: HashMap<&str, usize> =
        parts.tables.iter().enumerate().map(|(number, table)| (table.name.as_str(), number)).collect();
    let number = |row, column| names.get(text_of(&rows, row, column)?.as_str()).copied();
    let references: Vec<(usize, usize)> =
        (0..rows.len()).filter_map(|row| Some((number(row, 0)?, number(row, 1)?))).collect();
    let referring = references.iter().filter(|(table, other)| table == other).map(|(table, _)| *table).collect();
    Ok(TableOrder { order: referred_first(parts.tables.len(), &references), referring })
}

/// Tables behind those that they refer to; of a circle, the first is the one that comes first in the archive.
fn referred_first(tables: usize, references: &[(usize, usize)]) -> Vec<usize> {
    let mut waits_for: Vec<HashSet<usize>> = vec![HashSet::new(); tables];
    for &(table, other) in references.iter().filter(|(table, other)| table != other) {
        waits_for[table].insert(other);
    }
    let mut left: Vec<usize> = (0..tables).collect();
    let mut order = Vec::with_capacity(tables);
    let mut done = HashSet::new();
    while !left.is_empty() {
        let is_free = |table: &usize| waits_for[*table].is_subset(&done);
        let mut free: Vec<usize> = left.iter().copied().filter(is_free).collect();
        if free.is_empty() {
            free.push(left[0]);
        }
        done.extend(free.iter().copied());
        left.retain(|table| !free.contains(table));
        order.append(&mut free);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_behind_those_that_they_refer_to() {
        assert_eq!(referred_first(3, &[]), [0, 1, 2]);
        assert_eq!(referred_first(4, &[(0, 2), (2, 3), (1, 1)]), [1, 3, 2, 0]);
        assert_eq!(referred_first(3, &[(0, 1), (1, 0), (2, 0)]), [0, 1, 2], "a circle");
    }
}
