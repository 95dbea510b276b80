//! Which objects of a database are dumped.

use super::catalogue::{MySqlCatalogue, MySqlTable};
use super::fault::MySqlDumpFault;

/// What is selected. Patterns match whole names; `*` and `?` stand for letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MySqlSelection {
    /// These tables and views only; none: all, with routines and events.
    pub tables: Vec<String>,
    /// Not these.
    pub exclude_tables: Vec<String>,
    /// Not the rows of these.
    pub exclude_rows: Vec<String>,
    /// Statements that make objects.
    pub has_schema: bool,
    /// Rows.
    pub has_rows: bool,
    /// Triggers.
    pub has_triggers: bool,
    /// Procedures, functions and packages.
    pub has_routines: bool,
    /// Events.
    pub has_events: bool,
    /// Whether views, routines, triggers and events belong to whom they belong in the source.
    pub keeps_definers: bool,
}

impl MySqlSelection {
    /// All of a database.
    pub fn everything() -> Self {
        Self {
            has_schema: true,
            has_rows: true,
            has_triggers: true,
            has_routines: true,
            has_events: true,
            keeps_definers: true,
            ..Self::default()
        }
    }

    /// Leaves in the catalogue what is selected. A pattern of `tables` that matches nothing is a fault.
    pub fn apply(&self, catalogue: &mut MySqlCatalogue) -> Result<(), MySqlDumpFault> {
        for pattern in &self.tables {
            if !catalogue.tables.iter().any(|table| matches(pattern, &table.name)) {
                return Err(MySqlDumpFault::NoTable(pattern.clone()));
            }
        }
        catalogue.tables.retain(|table| self.takes(&table.name));
        Ok(())
    }

    /// Whether a table or view of this name is dumped.
    pub fn takes(&self, name: &str) -> bool {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.tables.is_empty() || is_in(&self.tables)) && !is_in(&self.exclude_tables)
    }

    /// Whether its rows are dumped.
    pub fn takes_rows_of(&self, table: &MySqlTable) -> bool {
        self.has_rows
            && table.kind == super::catalogue::MySqlTableKind::Table
            && !self.exclude_rows.iter().any(|pattern| matches(pattern, &table.name))
    }
}

/// Whether a pattern with `*` and `?` is of this whole name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    fn of(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', rest @ ..], _) => (0..=name.len()).any(|skipped| of(rest, &name[skipped..])),
            (['?', pattern @ ..], [_, name @ ..]) => of(pattern, name),
            ([letter, pattern @ ..], [first, name @ ..]) => letter == first && of(pattern, name),
            _ => false,
        }
    }
    of(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is_match) in
            [("a*", "abc", true), ("a?", "abc", false), ("*c", "abc", true), ("abc", "ab", false), ("*", "", true)]
        {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_without_a_match_is_a_fault() {
        let table = |name: &str| MySqlTable { name: name.to_owned(), ..MySqlTable::default() };
        let mut catalogue =
            MySqlCatalogue { tables: vec![table("orders"), table("people")], ..MySqlCatalogue::default() };
        let mut selection = MySqlSelection { tables: vec!["order?".to_owned()], ..MySqlSelection::everything() };
        selection.apply(&mut catalogue).expect("it matches");
        assert_eq!(catalogue.tables, [table("orders")]);
        selection.tables.push("nothing".to_owned());
        assert_eq!(selection.apply(&mut catalogue), Err(MySqlDumpFault::NoTable("nothing".to_owned())));
        selection.exclude_rows.push("*".to_owned());
        assert!(!selection.takes_rows_of(&table("orders")));
    }
}
