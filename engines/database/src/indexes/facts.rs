//! What the server knows of the tables that statements name: their sizes, which the order of builds depends on, and the indexes that they have.

use super::lexer::ScriptDialect;
use super::script::ScriptStatement;
use super::statement::ScriptOrder;
use crate::dump::text_of;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use wire::{Connection, WireError};

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedTable {
    /// What no other table has: its number, or its name in MySQL.
    pub identity: String,
    /// Its name without its schema.
    pub name: String,
    /// Whether it has partitions in place of rows.
    pub is_partitioned: bool,
    /// Bytes of its heap, or of those of its partitions.
    pub bytes: u64,
    /// Its rows, if they were counted since it was made.
    pub rows: Option<u64>,
    /// Columns by name.
    pub columns: HashMap<String, ColumnWidth>,
    /// Its indexes by name, and whether each is whole.
    pub indexes: HashMap<String, bool>,
    /// Its constraints.
    pub constraints: HashSet<String>,
}

/// What a column costs a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnWidth {
    /// Bytes of a value.
    pub bytes: u64,
    /// Compared by a collation.
    pub is_text: bool,
}

/// All tables of a script. A name means what it does under the search path that stands before it.
#[derive(Clone, Debug, Default)]
pub struct IndexFacts {
    tables: HashMap<(String, String), IndexedTable>,
    /// Names of relations that keys without a name would have got, by the number of the table and the name.
    taken: HashSet<(String, String)>,
}

/// LIMIT: tables in one question.
const TABLES_ASKED: usize = 1000;

impl IndexFacts {
    /// Asks the server.
    pub fn read(
        connection: &mut Connection,
        statements: &[ScriptStatement],
        dialect: ScriptDialect,
    ) -> Result<Self, WireError> {
        let mut by_path: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for statement in statements {
            by_path.entry(search_path(statement)).or_default().extend(tables_of(&statement.order));
        }
        let mut facts = Self::default();
        for (path, tables) in by_path {
            let tables: Vec<&str> = tables.into_iter().collect();
            if dialect == ScriptDialect::Postgres {
                connection.execute(if path.is_empty() { "reset search_path" } else { &path })?;
            }
            for asked in tables.chunks(TABLES_ASKED) {
                let found = match dialect {
                    ScriptDialect::Postgres => postgres_tables(connection, asked)?,
                    ScriptDialect::MySql => mysql_tables(connection, asked)?,
                };
                facts.tables.extend(found.into_iter().map(|(name, table)| ((path.clone(), name), table)));
            }
        }
        Ok(facts)
    }

    /// Asks which of these names, each of a table's schema, are in use.
    pub fn look_for_names(
        &mut self,
        connection: &mut Connection,
        wanted: &[(String, String)],
    ) -> Result<(), WireError> {
        for (identity, name) in wanted {
            let sql = format!(
                "select 1 from pg_catalog.pg_class c join pg_catalog.pg_class t on t.relnamespace = c.relnamespace \
                 where t.oid = {identity} and c.relname = {}",
                literal(name)
            );
            if !connection.query(&sql)?.is_empty() {
                self.taken.insert((identity.clone(), name.clone()));
            }
        }
        Ok(())
    }

    /// Whether a relation beside a table has this name.
    pub fn is_taken(&self, table: &IndexedTable, name: &str) -> bool {
        self.taken.contains(&(table.identity.clone(), name.to_owned()))
    }

    /// The table that a statement names.
    pub fn table(&self, statement: &ScriptStatement, name: &str) -> Option<&IndexedTable> {
        self.tables.get(&(search_path(statement), name.to_owned()))
    }

    #[cfg(test)]
    pub(super) fn of_tables(tables: impl IntoIterator<Item = (String, IndexedTable)>) -> Self {
        let tables = tables.into_iter().map(|(name, table)| ((String::new(), name), table)).collect();
        Self { tables, taken: HashSet::new() }
    }
}

fn search_path(statement: &ScriptStatement) -> String {
    statement.settings.iter().find(|setting| setting.contains("search_path")).cloned().unwrap_or_default()
}

fn tables_of(order: &ScriptOrder) -> Vec<&str> {
    match order {
        ScriptOrder::Index(index) => vec![&index.table],
        ScriptOrder::Key(key) => vec![&key.table],
        ScriptOrder::TableKeys { table, .. } => vec![table],
        ScriptOrder::Constraint { tables, .. } => tables.iter().map(String::as_str).collect(),
        ScriptOrder::Setting(_) | ScriptOrder::Following => Vec::new(),
    }
}

/// A string in SQL of PostgreSQL, with a backslash as it is.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn postgres_tables(connection: &mut Connection, names: &[&str]) -> Result<Vec<(String, IndexedTable)>, WireError> {
    let list: Vec<String> = names.iter().map(|name| literal(name)).collect();
    let sql = format!(
        "select n.name, c.oid, c.relname, c.relkind = 'p', \
         case when c.relkind = 'p' then (select coalesce(sum(pg_catalog.pg_relation_size(relid)), 0) \
         from pg_catalog.pg_partition_tree(c.oid)) else pg_catalog.pg_relation_size(c.oid) end, c.reltuples::int8 \
         from pg_catalog.unnest(array[{}]::text[]) n(name) \
         join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(n.name)",
        list.join(", ")
    );
    let rows = connection.query(&sql)?;
    let mut tables = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let text = |column| text_of(&rows, row, column).unwrap_or_default();
        tables.push((
            text(0),
            IndexedTable {
                identity: text(1),
                name: text(2),
                is_partitioned: text(3) == "t",
                bytes: text(4).parse().unwrap_or(0),
                rows: text(5).parse().ok(),
                ..IndexedTable::default()
            },
        ));
    }
    describe(connection, &mut tables)?;
    Ok(tables)
}

/// Columns, indexes and constraints.
fn describe(connection: &mut Connection, tables: &mut [(String, IndexedTable)]) -> Result<(), WireError> {
    if tables.is_empty() {
        return Ok(());
    }
    let list: Vec<&str> = tables.iter().map(|(_, table)| table.identity.as_str()).collect();
    let list = list.join(", ");
    let columns = format!(
        "select a.attrelid, a.attname, case when a.attlen > 0 then a.attlen else s.avg_width end, t.typcategory = 'S' \
         from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid \
         join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
         left join pg_catalog.pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname \
         and s.attname = a.attname and not s.inherited where a.attrelid in ({list}) and a.attnum > 0 and not a.attisdropped"
    );
    let indexes = format!(
        "select i.indrelid, c.relname, i.indisvalid from pg_catalog.pg_index i \
         join pg_catalog.pg_class c on c.oid = i.indexrelid where i.indrelid in ({list})"
    );
    let constraints = format!("select conrelid, conname from pg_catalog.pg_constraint where conrelid in ({list})");
    let mut by_identity: HashMap<String, IndexedTable> = HashMap::new();
    let rows = connection.query(&columns)?;
    let text = |rows: &[Vec<Option<Vec<u8>>>], row, column| text_of(rows, row, column).unwrap_or_default();
    for row in 0..rows.len() {
        let bytes = text(&rows, row, 2).parse().unwrap_or(WIDTH_UNKNOWN);
        let width = ColumnWidth { bytes, is_text: text(&rows, row, 3) == "t" };
        by_identity.entry(text(&rows, row, 0)).or_default().columns.insert(text(&rows, row, 1), width);
    }
    let rows = connection.query(&indexes)?;
    for row in 0..rows.len() {
        let is_whole = text(&rows, row, 2) == "t";
        by_identity.entry(text(&rows, row, 0)).or_default().indexes.insert(text(&rows, row, 1), is_whole);
    }
    let rows = connection.query(&constraints)?;
    for row in 0..rows.len() {
        by_identity.entry(text(&rows, row, 0)).or_default().constraints.insert(text(&rows, row, 1));
    }
    for (_, table) in tables {
        if let Some(found) = by_identity.get(&table.identity) {
            let IndexedTable { columns, indexes, constraints, .. } = found.clone();
            *table = IndexedTable { columns, indexes, constraints, ..std::mem::take(table) };
        }
    }
    Ok(())
}

/// Bytes of a value of which nothing is known, and of an expression.
pub const WIDTH_UNKNOWN: u64 = 32;

fn mysql_tables(connection: &mut Connection, names: &[&str]) -> Result<Vec<(String, IndexedTable)>, WireError> {
    let sql =
        "select table_name, data_length, table_rows from information_schema.tables where table_schema = database()";
    let rows = connection.query(sql)?;
    let mut tables = HashMap::new();
    for row in 0..rows.len() {
        let text = |column| text_of(&rows, row, column).unwrap_or_default();
        let facts = IndexedTable {
            identity: text(0),
            name: text(0),
            bytes: text(1).parse().unwrap_or(0),
            rows: text(2).parse().ok(),
            ..IndexedTable::default()
        };
        tables.insert(text(0), facts);
    }
    let rows = connection.query(
        "select distinct table_name, index_name from information_schema.statistics where table_schema = database()",
    )?;
    for row in 0..rows.len() {
        let (table, index) = (text_of(&rows, row, 0).unwrap_or_default(), text_of(&rows, row, 1).unwrap_or_default());
        if let Some(table) = tables.get_mut(&table) {
            table.indexes.insert(index, true);
        }
    }
    let found = names.iter().filter_map(|name| Some(((*name).to_owned(), tables.get(&mysql_name(name))?.clone())));
    Ok(found.collect())
}

/// A name without its quotes; MySQL keeps the letters' case.
pub fn mysql_name(name: &str) -> String {
    let last = if name.ends_with('`') { name } else { name.rsplit('.').next().unwrap_or(name) };
    match last
        .strip_suffix('`')
        .and_then(|name| name.rsplit_once('`').map(|(before, name)| (before.ends_with('`'), name)))
    {
        // LIMIT: a name with a backquote in it is not found, and its size is not known.
        Some((false, name)) => name.to_owned(),
        _ => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mysql_lose_their_quotes_only() {
        assert_eq!((mysql_name("`shop`.`Or ders`"), mysql_name("Orders")), ("Or ders".to_owned(), "Orders".to_owned()));
        assert_eq!(mysql_name("shop.t"), "t");
    }
}
