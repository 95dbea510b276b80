//! Rebuilding indexes that are there: REINDEX of PostgreSQL, a job for each index; ALTER TABLE FORCE of MySQL, which builds a table and its indexes anew.

use super::facts::literal;
use super::jobs::{IndexJob, Present, TableSharing};
use crate::dump::text_of;
use std::sync::Arc;
use wire::{Connection, Protocol, WireError};

/// How indexes are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// The table is not written to meanwhile, and the index not read.
    Locked,
    /// Others read and write; it takes longer. PostgreSQL only.
    Concurrent,
}

/// Jobs for all indexes of these tables, as SQL has their names; of no table: of the database. The error of a name is a sentence.
pub fn rebuild(
    connection: &mut Connection,
    tables: &[String],
    how: Rebuild,
) -> Result<Result<Vec<IndexJob>, String>, WireError> {
    match connection.protocol() == Protocol::Postgres {
        true => postgres(connection, tables, how),
        false => mysql(connection, tables),
    }
}

const INDEXES: &str = "select i.indrelid, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), \
    i.indrelid::pg_catalog.regclass::text, pg_catalog.pg_relation_size(i.indrelid), pg_catalog.pg_relation_size(c.oid), \
    a.amname in ('btree', 'brin', 'gin') from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid \
    join pg_catalog.pg_class t on t.oid = i.indrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    join pg_catalog.pg_am a on a.oid = c.relam \
    where c.relkind = 'i' and t.relkind in ('r', 'm') and t.relpersistence <> 't' \
    and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')";

fn postgres(
    connection: &mut Connection,
    tables: &[String],
    how: Rebuild,
) -> Result<Result<Vec<IndexJob>, String>, WireError> {
    let mut wanted = Vec::new();
    for table in tables {
        // Partitions with the table that they are of.
        let sql = format!(
            "select relid::oid from pg_catalog.pg_partition_tree(pg_catalog.to_regclass({name})) \
             union select pg_catalog.to_regclass({name})::oid where pg_catalog.to_regclass({name}) is not null",
            name = literal(table)
        );
        let rows = connection.query(&sql)?;
        if rows.is_empty() {
            return Ok(Err(format!("find table '{table}'")));
        }
        wanted.extend((0..rows.len()).filter_map(|row| text_of(&rows, row, 0)));
    }
    let of_tables =
        if tables.is_empty() { String::new() } else { format!(" and i.indrelid in ({})", wanted.join(", ")) };
    let rows = connection.query(&format!("{INDEXES}{of_tables} order by 2"))?;
    let (words, sharing) = match how {
        Rebuild::Locked => ("INDEX", TableSharing::Builds),
        Rebuild::Concurrent => ("INDEX CONCURRENTLY", TableSharing::Alone),
    };
    let job = |row| {
        let text = |column| text_of(&rows, row, column).unwrap_or_default();
        let number = |column| text(column).parse::<u64>().unwrap_or(0);
        IndexJob {
            line: 0,
            name: format!("index {} of {}", text(1), text(2)),
            tables: vec![text(0)],
            sharing,
            phase: 0,
            settings: Arc::new([]),
            sql: Some(format!("REINDEX {words} {}", text(1))),
            attach: None,
            bytes: number(3) + number(4),
            is_parallel: text(5) == "t",
            present: Present::Refused,
            apart: Vec::new(),
        }
    };
    Ok(Ok((0..rows.len()).map(job).collect()))
}

fn mysql(connection: &mut Connection, tables: &[String]) -> Result<Result<Vec<IndexJob>, String>, WireError> {
    let sql = "select table_name, data_length + index_length from information_schema.tables \
        where table_schema = database() and table_type = 'BASE TABLE' order by 1";
    let rows = connection.query(sql)?;
    let mut jobs = Vec::new();
    for row in 0..rows.len() {
        let name = text_of(&rows, row, 0).unwrap_or_default();
        if !tables.is_empty() && !tables.contains(&name) {
            continue;
        }
        jobs.push(IndexJob {
            line: 0,
            name: format!("table {name} with its indexes"),
            tables: vec![name.clone()],
            sharing: TableSharing::Alone,
            phase: 0,
            settings: Arc::new([]),
            sql: Some(format!("ALTER TABLE `{}` FORCE", name.replace('`', "``"))),
            attach: None,
            bytes: text_of(&rows, row, 1).and_then(|text| text.parse().ok()).unwrap_or(0),
            is_parallel: false,
            present: Present::Refused,
            apart: Vec::new(),
        });
    }
    match tables.iter().find(|table| !jobs.iter().any(|job| job.tables.contains(table))) {
        Some(missing) => Ok(Err(format!("find table '{missing}'"))),
        None => Ok(Ok(jobs)),
    }
}
