//! What information_schema says of a database: its tables with columns, keys and partitions, and what is not a table. From it follow the statements
//! that read rows.

use super::fault::MySqlDumpFault;
use crate::dump::DumpError;
use crate::target::{literal, quoted};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use wire::Connection;

/// How values of a column stand in a file of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MySqlColumnForm {
    /// As the server shows them, in UTF-8.
    #[default]
    Text,
    /// Bytes as hexadecimal digits.
    Hex,
    /// The number that bits are.
    Bits,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MySqlColumn {
    /// Its name.
    pub name: String,
    /// How its values are written.
    pub form: MySqlColumnForm,
    /// Whether it is the table's AUTO_INCREMENT column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts: bool,
    /// How they are selected.
    #[serde(skip)]
    pub selected: SelectedAs,
}

/// How values of a column are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectedAs {
    /// By the column's name.
    #[default]
    Name,
    /// As a number with all its digits: the server shows six of a FLOAT.
    Double,
    /// As an integer.
    Integer,
    /// As the bytes that are stored: characters of this set do not all come back from UTF-8.
    Bytes,
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// How ranges of it are divided.
    pub kind: KeyKind,
}

/// How ranges of a key's column are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// In the middle.
    Integer,
    /// At a row near the middle of two texts.
    Text,
    /// At a row near the middle of two strings of bytes.
    Binary,
    /// At a row after half of the rows.
    Counted,
}

/// A key that has no NULL and no value twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlKey {
    /// Its name.
    pub name: String,
    /// Its columns, up to the first that cannot be divided.
    pub columns: Vec<KeyColumn>,
}

/// A table, a view or a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MySqlTable {
    /// Its name.
    pub name: String,
    /// What stores it.
    pub engine: String,
    /// Its kind.
    pub kind: MySqlTableKind,
    /// Whether a snapshot shows it as it was.
    pub is_transactional: bool,
    /// Columns that are stored.
    pub columns: Vec<MySqlColumn>,
    /// The key that divides it.
    pub key: Option<MySqlKey>,
    /// The names of its partitions.
    pub partitions: Vec<String>,
    /// The server's estimate.
    pub rows: u64,
    /// Bytes of its rows in the server's storage.
    pub bytes: u64,
}

/// What a name in a database stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MySqlTableKind {
    /// A table with rows to dump.
    #[default]
    Table,
    /// One whose rows are elsewhere: MERGE, FEDERATED, BLACKHOLE.
    WithoutRows,
    /// A sequence of MariaDB, which mariadb-dump writes with its position.
    Sequence,
    /// A view.
    View,
}

/// A database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MySqlCatalogue {
    /// Its default character set and collation.
    pub character_set: (String, String),
    /// Everything that has a name of a table, by names.
    pub tables: Vec<MySqlTable>,
    /// Tables with triggers.
    pub triggered: Vec<String>,
    /// Procedures, functions and packages.
    pub routines: u64,
    /// Events.
    pub events: u64,
    /// Tables with system versioning: older versions of rows are not read.
    pub versioned: Vec<String>,
}

/// Character sets whose every byte string comes back from UTF-8.
const FAITHFUL: [&str; 9] = ["utf8mb4", "utf8mb3", "utf8", "latin1", "ascii", "ucs2", "utf16", "utf16le", "utf32"];

/// Engines whose tables are a view of others, or keep nothing: as mariadb-dump passes over them.
const WITHOUT_ROWS: [&str; 5] = ["mrg_myisam", "mrg_isam", "federated", "blackhole", "sequence"];

type Rows = Vec<Vec<Option<Vec<u8>>>>;

impl MySqlCatalogue {
    /// Reads what the user may see of the database.
    pub fn read(connection: &mut Connection, database: &str) -> Result<Self, DumpError> {
        let schema = literal(database);
        let mut ask = |sql: String| connection.query(&sql).map_err(DumpError::server("read information_schema"));
        let base = ask(format!(
            "select default_character_set_name, default_collation_name from information_schema.schemata where schema_name = {schema}"
        ))?;
        let transactional: HashSet<String> =
            ask("select engine from information_schema.engines where transactions = 'YES'".to_owned())?
                .iter()
                .map(|row| text(row, 0).to_lowercase())
                .collect();
        let tables = ask(format!(
            "select table_name, table_type, engine, table_rows, data_length, table_comment from information_schema.tables \
             where table_schema = {schema} order by table_name"
        ))?;
        let columns = ask(format!(
            "select table_name, column_name, data_type, coalesce(character_set_name, ''), coalesce(generation_expression, ''), \
             extra like '%auto_increment%' \
             from information_schema.columns where table_schema = {schema} order by table_name, ordinal_position"
        ))?;
        let keys = ask(format!(
            "select table_name, index_name, column_name, nullable, sub_part, index_type from information_schema.statistics \
             where table_schema = {schema} and non_unique = 0 order by table_name, index_name <> 'PRIMARY', index_name, seq_in_index"
        ))?;
        let partitions = ask(format!(
            "select distinct table_name, partition_name from information_schema.partitions \
             where table_schema = {schema} and partition_name is not null order by table_name, partition_ordinal_position"
        ))?;
        let triggered = ask(format!(
            "select distinct event_object_table from information_schema.triggers where event_object_schema = {schema} order by 1"
        ))?;
        let routines =
            ask(format!("select count(*) from information_schema.routines where routine_schema = {schema}"))?;
        let events = ask(format!("select count(*) from information_schema.events where event_schema = {schema}"))?;
        let base = base.first().ok_or_else(|| MySqlDumpFault::NoDatabase(database.to_owned()))?;
        let parts = TableParts::new(&columns, &keys, &partitions);
        Ok(Self {
            character_set: (text(base, 0), text(base, 1)),
            tables: tables.iter().map(|row| parts.table(row, &transactional)).collect::<Result<_, _>>()?,
            triggered: triggered.iter().map(|row| text(row, 0)).collect(),
            routines: count(&routines),
            events: count(&events),
            versioned: tables.iter().filter(|row| text(row, 1) == "SYSTEM VERSIONED").map(|row| text(row, 0)).collect(),
        })
    }
}

/// The names of all that has a name of a table. Quick: the server opens none of them.
pub fn names(connection: &mut Connection, database: &str) -> Result<Vec<String>, DumpError> {
    let sql = format!("select table_name from information_schema.tables where table_schema = {}", literal(database));
    let rows = connection.query(&sql).map_err(DumpError::server("read the names of tables"))?;
    Ok(rows.iter().map(|row| text(row, 0)).collect())
}

/// Rows of the catalogue by the table that they are of.
struct TableParts<'a> {
    columns: BTreeMap<String, Vec<&'a [Option<Vec<u8>>]>>,
    keys: BTreeMap<String, Vec<&'a [Option<Vec<u8>>]>>,
    partitions: BTreeMap<String, Vec<&'a [Option<Vec<u8>>]>>,
}

impl<'a> TableParts<'a> {
    fn new(columns: &'a Rows, keys: &'a Rows, partitions: &'a Rows) -> Self {
        let by_table = |rows: &'a Rows| {
            let mut by_table: BTreeMap<String, Vec<&'a [Option<Vec<u8>>]>> = BTreeMap::new();
            rows.iter().for_each(|row| by_table.entry(text(row, 0)).or_default().push(row));
            by_table
        };
        Self { columns: by_table(columns), keys: by_table(keys), partitions: by_table(partitions) }
    }

    fn table(&self, row: &[Option<Vec<u8>>], transactional: &HashSet<String>) -> Result<MySqlTable, MySqlDumpFault> {
        let (name, engine) = (text(row, 0), text(row, 2));
        let kind = match text(row, 1).as_str() {
            "VIEW" | "SYSTEM VIEW" => MySqlTableKind::View,
            "SEQUENCE" => MySqlTableKind::Sequence,
            _ if engine.is_empty() => return Err(MySqlDumpFault::Broken { table: name, comment: text(row, 5) }),
            _ if WITHOUT_ROWS.contains(&engine.to_lowercase().as_str()) => MySqlTableKind::WithoutRows,
            _ => MySqlTableKind::Table,
        };
        let of = |parts: &BTreeMap<String, Vec<&'a [Option<Vec<u8>>]>>| parts.get(&name).cloned().unwrap_or_default();
        let all = of(&self.columns);
        let stored = all.iter().filter(|row| text(row, 4).is_empty());
        let counts = |row: &&[Option<Vec<u8>>]| text(row, 5) == "1";
        let columns = stored
            .map(|row| MySqlColumn { counts: counts(row), ..column(text(row, 1), &text(row, 2), &text(row, 3)) })
            .collect();
        Ok(MySqlTable {
            key: key(&of(&self.keys), &all),
            partitions: of(&self.partitions).iter().map(|row| text(row, 1)).collect(),
            is_transactional: transactional.contains(&engine.to_lowercase()),
            rows: text(row, 3).parse().unwrap_or(0),
            bytes: text(row, 4).parse().unwrap_or(0),
            name,
            engine,
            kind,
            columns,
        })
    }
}

impl MySqlColumn {
    /// As an index has it: how it was selected does not matter to a load.
    pub fn as_loaded(&self) -> Self {
        Self { selected: SelectedAs::default(), ..self.clone() }
    }
}

fn column(name: String, data_type: &str, character_set: &str) -> MySqlColumn {
    let (form, selected) = match data_type {
        "bit" => (MySqlColumnForm::Bits, SelectedAs::Integer),
        "float" => (MySqlColumnForm::Text, SelectedAs::Double),
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "vector" | "geometry" | "point"
        | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon" | "geometrycollection"
        | "geomcollection" => (MySqlColumnForm::Hex, SelectedAs::Name),
        _ if character_set.is_empty() || FAITHFUL.contains(&character_set) => (MySqlColumnForm::Text, SelectedAs::Name),
        _ => (MySqlColumnForm::Hex, SelectedAs::Bytes),
    };
    MySqlColumn { name, form, selected, counts: false }
}

/// The first key that has no NULL, no prefixes of values, and a first column that can be divided; the primary one if it is such.
fn key(statistics: &[&[Option<Vec<u8>>]], columns: &[&[Option<Vec<u8>>]]) -> Option<MySqlKey> {
    let mut rest = statistics;
    while let Some(first) = rest.first() {
        let name = text(first, 1);
        let own = rest.partition_point(|row| text(row, 1) == name);
        let (rows, others) = rest.split_at(own);
        rest = others;
        let is_whole = rows.iter().all(|row| text(row, 3) != "YES" && row[4].is_none() && text(row, 5) == "BTREE");
        let divisible = rows.iter().map_while(|row| {
            let column = columns.iter().find(|column| text(column, 1) == text(row, 2))?;
            Some(KeyColumn { name: text(row, 2), kind: kind(&text(column, 2), &text(column, 3))? })
        });
        let columns: Vec<KeyColumn> = divisible.collect();
        if is_whole && !columns.is_empty() {
            return Some(MySqlKey { name, columns });
        }
    }
    None
}

/// Floating-point numbers are not equal to what is shown of them, and ENUM and SET are not in the order of their texts.
fn kind(data_type: &str, character_set: &str) -> Option<KeyKind> {
    match data_type {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => Some(KeyKind::Integer),
        "char" | "varchar" if FAITHFUL.contains(&character_set) => Some(KeyKind::Text),
        "binary" | "varbinary" => Some(KeyKind::Binary),
        "date" | "datetime" | "timestamp" | "time" | "decimal" | "uuid" | "inet4" | "inet6" => Some(KeyKind::Counted),
        _ => None,
    }
}

impl MySqlTable {
    /// What is selected of it, in the order of `columns`.
    pub fn select_list(&self) -> String {
        let selected = self.columns.iter().map(|column| {
            let name = quoted(&column.name, '`');
            match column.selected {
                SelectedAs::Name => name,
                SelectedAs::Double => format!("{name}+0e0"),
                SelectedAs::Integer => format!("{name}+0"),
                SelectedAs::Bytes => format!("convert({name} using binary)"),
            }
        });
        let list: Vec<String> = selected.collect();
        // A table may have nothing but generated columns, and yet rows.
        if list.is_empty() { "1".to_owned() } else { list.join(",") }
    }

    /// Whether the server converts values, which it cuts off at max_allowed_packet with a warning.
    pub fn has_conversions(&self) -> bool {
        self.columns.iter().any(|column| column.selected == SelectedAs::Bytes)
    }

    /// Whether both are read by the same statements.
    pub fn reads_like(&self, other: &Self) -> bool {
        self.engine == other.engine
            && self.kind == other.kind
            && self.columns == other.columns
            && self.key == other.key
            && self.partitions == other.partitions
    }
}

/// A column of a row as text; empty for NULL.
pub fn text(row: &[Option<Vec<u8>>], column: usize) -> String {
    row.get(column).and_then(Option::as_deref).map_or(String::new(), |text| String::from_utf8_lossy(text).into_owned())
}

fn count(rows: &Rows) -> u64 {
    rows.first().and_then(|row| text(row, 0).parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> Vec<Option<Vec<u8>>> {
        values.iter().map(|value| (*value != "NULL").then(|| value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn columns_are_asked_for_so_that_nothing_is_lost() {
        let select = |data_type: &str, set: &str| {
            let table = MySqlTable { columns: vec![column("a`b".to_owned(), data_type, set)], ..MySqlTable::default() };
            (table.select_list(), table.columns[0].form)
        };
        assert_eq!(select("varchar", "latin1"), ("`a``b`".to_owned(), MySqlColumnForm::Text));
        assert_eq!(select("enum", "gbk"), ("convert(`a``b` using binary)".to_owned(), MySqlColumnForm::Hex));
        assert_eq!(select("float", ""), ("`a``b`+0e0".to_owned(), MySqlColumnForm::Text));
        assert_eq!(select("bit", ""), ("`a``b`+0".to_owned(), MySqlColumnForm::Bits));
        assert_eq!(select("point", ""), ("`a``b`".to_owned(), MySqlColumnForm::Hex));
        assert_eq!(MySqlTable::default().select_list(), "1");
    }

    #[test]
    fn a_key_that_divides_has_no_nulls_and_no_prefixes() {
        let columns = [["t", "a", "int", "", ""], ["t", "b", "varchar", "utf8mb4", ""], ["t", "c", "double", "", ""]];
        let columns: Vec<_> = columns.iter().map(|column| row(column)).collect();
        let columns: Vec<&[_]> = columns.iter().map(Vec::as_slice).collect();
        let found = |statistics: &[[&str; 6]]| {
            let statistics: Vec<_> = statistics.iter().map(|statistic| row(statistic)).collect();
            let statistics: Vec<&[_]> = statistics.iter().map(Vec::as_slice).collect();
            key(&statistics, &columns).map(|key| (key.name, key.columns.len()))
        };
        let pair = [["t", "PRIMARY", "a", "", "NULL", "BTREE"], ["t", "PRIMARY", "c", "", "NULL", "BTREE"]];
        assert_eq!(found(&pair), Some(("PRIMARY".to_owned(), 1)), "a DOUBLE is not divided");
        let prefixed = ["t", "u", "b", "", "10", "BTREE"];
        let nullable = ["t", "v", "a", "YES", "NULL", "BTREE"];
        let good = ["t", "w", "b", "", "NULL", "BTREE"];
        assert_eq!(found(&[prefixed, nullable, good]), Some(("w".to_owned(), 1)));
        assert_eq!(found(&[prefixed, nullable]), None);
    }
}
