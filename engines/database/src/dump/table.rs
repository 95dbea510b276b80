//! What the catalogue says of tables, and how one is divided: by ranges of pages (ctid), so many that each holds about the same bytes. Bytes
//! are counted with TOAST, which may hang on few pages.

use super::DumpError;
use super::source::major;
use super::statement::CopyOut;
use std::collections::HashMap;
use wire::Connection;

/// The first version whose scans by ranges of ctid read only their range.
const RANGES_SINCE: u32 = 14;

/// A table as the catalogue has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueTable {
    /// Its number.
    pub oid: u32,
    /// Pages of its heap.
    pub pages: u64,
    /// Bytes of heap and TOAST.
    pub bytes: u64,
    /// Whether it is stored by pages that a ctid names.
    pub is_heap: bool,
}

/// All tables by their quoted names.
#[derive(Debug, Default)]
pub struct Catalogue {
    tables: HashMap<String, CatalogueTable>,
    has_ranges: bool,
}

const TABLES: &str = "select c.oid, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), \
    pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int8, \
    pg_catalog.pg_table_size(c.oid), coalesce(a.amname = 'heap', false) \
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    left join pg_catalog.pg_am a on a.oid = c.relam where c.relkind = 'r'";

impl Catalogue {
    /// Reads it in the connection's snapshot.
    pub fn read(connection: &mut Connection) -> Result<Self, DumpError> {
        let rows = connection.query(TABLES).map_err(DumpError::server("read the list of tables"))?;
        let has_ranges = major(connection.server_version()).is_some_and(|major| major >= RANGES_SINCE);
        let tables = (0..rows.len()).filter_map(|row| {
            let number = |column| text_of(&rows, row, column)?.parse::<u64>().ok();
            let table = CatalogueTable {
                oid: u32::try_from(number(0)?).ok()?,
                pages: number(2)?,
                bytes: number(3)?,
                is_heap: text_of(&rows, row, 4)? == "t",
            };
            Some((text_of(&rows, row, 1)?, table))
        });
        Ok(Self { tables: tables.collect(), has_ranges })
    }

    /// The table that a statement asks for.
    pub fn find(&self, name: &str) -> Option<&CatalogueTable> {
        self.tables.get(name)
    }

    /// Every table with its quoted name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &CatalogueTable)> {
        self.tables.iter().map(|(name, table)| (name.as_str(), table))
    }

    /// Why a table that is large enough for several parts is read as one.
    pub fn why_whole(&self, table: &CatalogueTable, part_bytes: u64) -> Option<&'static str> {
        if table.bytes / part_bytes.max(1) < 2 {
            return None;
        }
        match (self.has_ranges, table.is_heap, table.pages) {
            (false, ..) => Some("the server reads ranges of a table from version 14 on"),
            (_, false, _) => Some("it is not stored as a heap"),
            (.., 0 | 1) => Some("its rows are on one page"),
            _ => None,
        }
    }

    /// How it is read in parts of about `part_bytes`.
    pub fn divide(&self, table: &CatalogueTable, part_bytes: u64) -> TableDivision {
        let parts = table.bytes / part_bytes.max(1);
        if !self.has_ranges || !table.is_heap || parts < 2 || table.pages < 2 {
            return TableDivision { pages: table.pages, pages_a_part: table.pages.max(1) };
        }
        TableDivision { pages: table.pages, pages_a_part: (table.pages / parts).max(1) }
    }
}

/// A table's pages in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDivision {
    pages: u64,
    pages_a_part: u64,
}

impl TableDivision {
    /// How many parts.
    pub fn parts(self) -> u64 {
        self.pages.div_ceil(self.pages_a_part).max(1)
    }

    /// Where a part is in its table, for messages; empty for a table that is read whole.
    pub fn place(self, part: u64) -> String {
        let first = part * self.pages_a_part;
        match self.parts() {
            0 | 1 => String::new(),
            parts if part + 1 == parts => format!(" from ctid ({first},0) on"),
            _ => format!(" from ctid ({first},0) to ({},0)", first + self.pages_a_part),
        }
    }

    /// The statement that reads one of them. The last has no end: rows behind the pages of the snapshot are not in it.
    pub fn statement(self, copy: &CopyOut<'_>, part: u64) -> String {
        let Some(columns) = copy.selected().filter(|_| self.parts() > 1) else {
            return format!("COPY {} {} TO STDOUT", copy.table, copy.columns);
        };
        let first = part * self.pages_a_part;
        let end = match part + 1 < self.parts() {
            true => format!(" AND ctid < '({},0)'::pg_catalog.tid", first + self.pages_a_part),
            false => String::new(),
        };
        format!(
            "COPY (SELECT {columns} FROM ONLY {} WHERE ctid >= '({first},0)'::pg_catalog.tid{end}) TO STDOUT",
            copy.table
        )
    }
}

/// A value of an answer as text.
pub fn text_of(rows: &[Vec<Option<Vec<u8>>>], row: usize, column: usize) -> Option<String> {
    let value = rows.get(row)?.get(column)?.as_deref()?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(has_ranges: bool) -> Catalogue {
        Catalogue { tables: HashMap::new(), has_ranges }
    }

    fn table(pages: u64, bytes: u64) -> CatalogueTable {
        CatalogueTable { oid: 1, pages, bytes, is_heap: true }
    }

    #[test]
    fn large_tables_are_divided_by_bytes_and_small_ones_are_not() {
        let parts = |pages, bytes| catalogue(true).divide(&table(pages, bytes), 32 << 20).parts();
        assert_eq!(parts(4096, 32 << 20), 1);
        assert_eq!(parts(131_072, 1 << 30), 32);
        assert_eq!(parts(2, 640 << 20), 2, "TOAST on two pages");
        assert_eq!((parts(0, 0), parts(1, 1 << 30)), (1, 1));
        assert_eq!(catalogue(false).divide(&table(131_072, 1 << 30), 32 << 20).parts(), 1, "before version 14");
        let other = CatalogueTable { is_heap: false, ..table(131_072, 1 << 30) };
        assert_eq!(catalogue(true).divide(&other, 32 << 20).parts(), 1);
    }

    #[test]
    fn parts_follow_on_one_another_and_the_last_is_open() {
        let division = TableDivision { pages: 10, pages_a_part: 4 };
        let copy = CopyOut { table: "public.t", columns: "(a, \"b c\")" };
        let statements: Vec<String> = (0..division.parts()).map(|part| division.statement(&copy, part)).collect();
        let from = "COPY (SELECT a, \"b c\" FROM ONLY public.t WHERE ctid >= ";
        assert_eq!(
            statements[0],
            format!("{from}'(0,0)'::pg_catalog.tid AND ctid < '(4,0)'::pg_catalog.tid) TO STDOUT")
        );
        assert_eq!(statements[2], format!("{from}'(8,0)'::pg_catalog.tid) TO STDOUT"));
        assert_eq!(division.place(1), " from ctid (4,0) to (8,0)");
        assert_eq!(division.place(2), " from ctid (8,0) on");
        let whole = TableDivision { pages: 1, pages_a_part: 1 };
        assert_eq!(whole.place(0), "");
        assert_eq!(whole.statement(&copy, 0), "COPY public.t (a, \"b c\") TO STDOUT");
    }
}
