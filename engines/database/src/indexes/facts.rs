//! What the server knows of the tables that statements name: their sizes, which the order of builds depends on, and the indexes that they have.

use super::lexer::ScriptDialect;
use super::script::ScriptStatement;
use super::statement::ScriptOrder;
use crate::dump::text_of;
use crate::target::quoted;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use wire::{Connection, WireError};

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedTable {
    /// Its identity: its number, or its quoted name with its database in MySQL.
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

/// All tables of a script. A name means what it does under the search path, or the USE of MySQL, that stands before it.
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
            by_path.entry(place(statement)).or_default().extend(tables_of(&statement.order));
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
                    ScriptDialect::MySql => mysql_tables(connection, &path, asked)?,
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
        self.tables.get(&(place(statement), name.to_owned()))
    }

    #[cfg(test)]
    pub(super) fn of_tables(tables: impl IntoIterator<Item = (String, IndexedTable)>) -> Self {
        let tables = tables.into_iter().map(|(name, table)| ((String::new(), name), table)).collect();
        Self { tables, taken: HashSet::new() }
    }
}

/// The setting that says where a name without a schema is looked for.
fn place(statement: &ScriptStatement) -> String {
    let decides = |setting: &&String| database_used(setting).is_some() || setting.contains("search_path");
    statement.settings.iter().find(decides).cloned().unwrap_or_default()
}

/// The database of `USE database`, as it stands.
fn database_used(setting: &str) -> Option<&str> {
    let rest = setting.get(..3).filter(|word| word.eq_ignore_ascii_case("use")).map(|_| &setting[3..])?;
    rest.starts_with([' ', '\t', '\r', '\n', '`']).then(|| rest.trim())
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

/// How a connection to MySQL reads names.
struct MySqlNames {
    /// The database of a name without one.
    database: String,
    /// Whether `T` is another table than `t`.
    has_cases: bool,
}

impl MySqlNames {
    fn read(connection: &mut Connection, place: &str) -> Result<Self, WireError> {
        let rows = connection.query("select database(), @@lower_case_table_names")?;
        let has_cases = text_of(&rows, 0, 1).is_none_or(|setting| setting == "0");
        let used = database_used(place).map(mysql_name).or_else(|| text_of(&rows, 0, 0));
        Ok(Self { database: used.unwrap_or_default(), has_cases })
    }

    /// Database and table of a name.
    fn parts(&self, name: &str) -> (String, String) {
        let mut parts = mysql_parts(name);
        let table = parts.pop().unwrap_or_default();
        let database = parts.pop().unwrap_or_else(|| self.database.clone());
        if self.has_cases { (database, table) } else { (database.to_lowercase(), table.to_lowercase()) }
    }
}

/// Tables by these names; one that is not there has its identity, and no more.
fn mysql_tables(
    connection: &mut Connection,
    place: &str,
    asked: &[&str],
) -> Result<Vec<(String, IndexedTable)>, WireError> {
    let names = MySqlNames::read(connection, place)?;
    let mut databases: BTreeMap<String, HashMap<String, IndexedTable>> = BTreeMap::new();
    let mut found = Vec::new();
    for name in asked {
        let (database, table) = names.parts(name);
        if !databases.contains_key(&database) {
            let tables = tables_of_database(connection, &database, &names)?;
            databases.insert(database.clone(), tables);
        }
        let known = databases.get(&database).and_then(|tables| tables.get(&table)).cloned();
        let identity = format!("{}.{}", quoted(&database, '`'), quoted(&table, '`'));
        found.push(((*name).to_owned(), IndexedTable { identity, name: table, ..known.unwrap_or_default() }));
    }
    Ok(found)
}

fn tables_of_database(
    connection: &mut Connection,
    database: &str,
    names: &MySqlNames,
) -> Result<HashMap<String, IndexedTable>, WireError> {
    let of_database = format!("where table_schema = {}", crate::target::literal(database));
    let key = |name: String| if names.has_cases { name } else { name.to_lowercase() };
    let sql = format!("select table_name, data_length, table_rows from information_schema.tables {of_database}");
    let rows = connection.query(&sql)?;
    let mut tables = HashMap::new();
    for row in 0..rows.len() {
        let text = |column| text_of(&rows, row, column).unwrap_or_default();
        let (bytes, rows) = (text(1).parse().unwrap_or(0), text(2).parse().ok());
        tables.insert(key(text(0)), IndexedTable { bytes, rows, ..IndexedTable::default() });
    }
    let sql = format!("select distinct table_name, index_name from information_schema.statistics {of_database}");
    let rows = connection.query(&sql)?;
    for row in 0..rows.len() {
        let text = |column| text_of(&rows, row, column).unwrap_or_default();
        if let Some(table) = tables.get_mut(&key(text(0))) {
            table.indexes.insert(text(1), true);
        }
    }
    Ok(tables)
}

/// A name without its quotes; MySQL keeps the letters' case.
pub fn mysql_name(name: &str) -> String {
    mysql_parts(name).pop().unwrap_or_default()
}

/// The parts of a qualified name, without quotes.
fn mysql_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = name.chars().peekable();
    let mut is_quoted = false;
    while let Some(letter) = letters.next() {
        let last = parts.last_mut().expect("there is one from the beginning");
        match letter {
            '`' if is_quoted && letters.next_if_eq(&'`').is_some() => last.push('`'),
            '`' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(String::new()),
            letter if is_quoted || !letter.is_whitespace() => last.push(letter),
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mysql_lose_their_quotes_only() {
        assert_eq!((mysql_name("`shop`.`Or ders`"), mysql_name("Orders")), ("Or ders".to_owned(), "Orders".to_owned()));
        assert_eq!(mysql_name("shop.t"), "t");
        assert_eq!(mysql_parts("`a.``b` . t"), ["a.`b", "t"]);
    }

    #[test]
    fn a_name_of_mysql_is_of_the_database_that_is_used() {
        assert_eq!((database_used("USE `a b`"), database_used("use\ta")), (Some("`a b`"), Some("a")));
        assert_eq!((database_used("user = 1"), database_used("SET use = 1")), (None, None));
        let names = MySqlNames { database: "Da".to_owned(), has_cases: true };
        let parts = |names: &MySqlNames, name: &str| names.parts(name);
        assert_eq!(parts(&names, "T"), ("Da".to_owned(), "T".to_owned()));
        assert_eq!(parts(&names, "db.`T`"), ("db".to_owned(), "T".to_owned()));
        let folding = MySqlNames { has_cases: false, ..names };
        assert_eq!(parts(&folding, "T"), ("da".to_owned(), "t".to_owned()));
    }
}
