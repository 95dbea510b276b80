//! What the user may do, read from SHOW GRANTS: an object that may not be seen is absent from a dump without an error.

use super::MySqlSelection;
use super::catalogue::{MySqlCatalogue, MySqlTableKind, text};
use super::fault::MySqlDumpFault;
use super::session::{DumpLock, MySqlServer};
use crate::dump::DumpError;
use std::collections::BTreeSet;
use wire::Connection;

/// Rights on all databases, and on the one that is dumped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MySqlRights {
    everywhere: BTreeSet<String>,
    here: BTreeSet<String>,
    /// Rights on mysql.proc, where MariaDB has its routines.
    on_routines: bool,
}

const ALL: &str = "ALL PRIVILEGES";

impl MySqlRights {
    /// Asks for those of the user and of its active roles.
    pub fn read(connection: &mut Connection, database: &str) -> Result<Self, DumpError> {
        let rows = connection.query("show grants").map_err(DumpError::server("read the user's rights"))?;
        Ok(Self::of(rows.iter().map(|row| text(row, 0)), database))
    }

    fn of(grants: impl Iterator<Item = String>, database: &str) -> Self {
        let mut rights = Self::default();
        for grant in grants {
            let Some((privileges, object)) = parts(&grant) else { continue };
            // Rights on columns have parentheses, and do not count.
            let words =
                privileges.split(", ").map(|word| word.trim().to_uppercase()).filter(|word| !word.contains('('));
            match object {
                "*.*" => rights.everywhere.extend(words),
                "`mysql`.*" | "`mysql`.`proc`" => {
                    rights.on_routines |= words.into_iter().any(|word| word == "SELECT" || word == ALL)
                }
                object if object.strip_suffix(".*").is_some_and(|name| matches(name, database)) => {
                    rights.here.extend(words)
                }
                _ => {}
            }
        }
        rights
    }

    fn has_everywhere(&self, right: &str) -> bool {
        self.everywhere.contains(right) || self.everywhere.contains(ALL)
    }

    fn has_here(&self, right: &str) -> bool {
        self.has_everywhere(right) || self.here.contains(right) || self.here.contains(ALL)
    }

    /// Whether all tables of the database can be seen and read.
    pub fn has_all_rows(&self) -> bool {
        self.has_here("SELECT")
    }

    /// Whether the server can be locked.
    pub fn may_lock(&self) -> bool {
        self.has_everywhere("RELOAD")
    }

    /// Whether everything that is selected can be seen and be read at one moment.
    pub fn check(
        &self,
        server: &MySqlServer,
        database: &str,
        selection: &MySqlSelection,
        catalogue: &MySqlCatalogue,
        lock: DumpLock,
    ) -> Result<(), MySqlDumpFault> {
        let on = format!("{}.*", crate::target::quoted(database, '`'));
        let missing =
            |right, on: &str, without, what| Err(MySqlDumpFault::Right { right, on: on.to_owned(), without, what });
        let has_views = || catalogue.tables.iter().any(|table| table.kind == MySqlTableKind::View);
        if selection.tables.is_empty() && !self.has_all_rows() {
            return missing("SELECT", &on, "-t TABLE", "the others");
        }
        if selection.has_schema && has_views() && !self.has_here("SHOW VIEW") {
            return missing("SHOW VIEW", &on, "-T VIEW", "views");
        }
        if selection.takes_triggers() && !self.has_here("TRIGGER") {
            return missing("TRIGGER", &on, "--skip-triggers", "triggers");
        }
        if selection.takes_events() && !self.has_here("EVENT") {
            return missing("EVENT", &on, "--skip-events", "events");
        }
        let sees_routines = self.has_everywhere("SELECT")
            || self.on_routines
            || self.has_everywhere("SHOW_ROUTINE")
            || self.has_here("SHOW CREATE ROUTINE");
        if selection.takes_routines() && !sees_routines {
            let (right, on) = if server.is_mariadb { ("SELECT", "mysql.proc") } else { ("SHOW_ROUTINE", "*.*") };
            return missing(right, on, "--skip-routines", "procedures and functions");
        }
        if selection.has_rows && lock != DumpLock::None && !self.may_lock() {
            return missing("RELOAD", "*.*", "--lock none", "the lock (one connection then reads one moment)");
        }
        Ok(())
    }
}

/// `GRANT SELECT, INSERT ON object TO user`: what, on what.
fn parts(grant: &str) -> Option<(&str, &str)> {
    let (privileges, rest) = grant.strip_prefix("GRANT ")?.split_once(" ON ")?;
    let rest = rest.strip_prefix("TABLE ").unwrap_or(rest);
    Some((privileges, rest.split_once(" TO ")?.0))
}

/// A database's name in a grant is a pattern with `%` and `_`, which a backslash makes letters.
fn matches(quoted: &str, database: &str) -> bool {
    let Some(pattern) = quoted.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { return false };
    like(&pattern.replace("``", "`").chars().collect::<Vec<_>>(), &database.chars().collect::<Vec<_>>())
}

fn like(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['%', rest @ ..], _) => (0..=name.len()).any(|skipped| like(rest, &name[skipped..])),
        (['\\', letter, pattern @ ..], [first, name @ ..]) => letter == first && like(pattern, name),
        (['_', pattern @ ..], [_, name @ ..]) => like(pattern, name),
        ([letter, pattern @ ..], [first, name @ ..]) => letter == first && like(pattern, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(grants: &[&str]) -> MySqlRights {
        MySqlRights::of(grants.iter().map(|grant| (*grant).to_owned()), "my_shop")
    }

    fn missing(grants: &[&str], selection: &MySqlSelection, lock: DumpLock) -> Option<&'static str> {
        let server = MySqlServer::of("10.11.19-MariaDB");
        let checked = rights(grants).check(&server, "my_shop", selection, &MySqlCatalogue::default(), lock);
        checked.err().and_then(|fault| match fault {
            MySqlDumpFault::Right { right, .. } => Some(right),
            _ => None,
        })
    }

    #[test]
    fn rights_hold_on_the_database_or_everywhere() {
        let all = MySqlSelection::everything();
        assert_eq!(
            missing(&["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], &all, DumpLock::Auto),
            None
        );
        let usage = "GRANT USAGE ON *.* TO `u`@`%`";
        assert_eq!(missing(&[usage], &all, DumpLock::None), Some("SELECT"));
        let own = "GRANT SELECT, SHOW VIEW, EVENT, TRIGGER ON `my\\_shop`.* TO `u`@`%`";
        assert_eq!(missing(&[usage, own], &all, DumpLock::None), Some("SELECT"), "of mysql.proc");
        let proc = "GRANT SELECT ON `mysql`.`proc` TO `u`@`%`";
        assert_eq!(missing(&[usage, own, proc], &all, DumpLock::None), None);
        assert_eq!(missing(&[usage, own, proc], &all, DumpLock::Auto), Some("RELOAD"));
        let reload = "GRANT RELOAD ON *.* TO `u`@`%`";
        assert_eq!(missing(&[reload, own, proc], &all, DumpLock::Auto), None);
        let no_trigger = "GRANT SELECT, SHOW VIEW, EVENT ON `my%`.* TO `u`@`%`";
        assert_eq!(missing(&[no_trigger, proc], &all, DumpLock::None), Some("TRIGGER"));
        let without = MySqlSelection { has_triggers: false, ..MySqlSelection::everything() };
        assert_eq!(missing(&[no_trigger, proc], &without, DumpLock::None), None);
    }

    #[test]
    fn names_in_grants_are_patterns() {
        for (pattern, is_same) in [
            ("`my_shop`", true),
            ("`my\\_shop`", true),
            ("`m%p`", true),
            ("`%`", true),
            ("`my-shop`", false),
            ("`my_sho`", false),
        ] {
            assert_eq!(matches(pattern, "my_shop"), is_same, "{pattern}");
        }
        assert!(!matches("`my\\_shop`", "myxshop") && matches("`my_shop`", "myxshop"));
        assert_eq!(parts("GRANT `role` TO `u`@`%`"), None);
    }
}
