//! Objects of the archive in the database: those that were there before a restore are refused, and never dropped unless that is asked for; those that it
//! makes are noted before, so that one that goes on knows which it may drop.

use super::bare;
use super::ledger::MySqlLedger;
use super::statements::MadeKind;
use crate::dump_mysql::MySqlDumpFault;
use crate::dump_mysql::catalogue::text;
use crate::restore::RestoreError;
use crate::target::literal;
use std::collections::HashMap;
use wire::{Connection, WireError};

/// An object by its kind and its quoted name.
pub type MadeObject = (MadeKind, String);

/// COMPAT: there is no such table; a table of MERGE whose parts are not there.
const NOTHING_TO_READ: [u16; 2] = [1146, 1168];

/// Its entry in the ledger.
pub fn entry_of((kind, name): &MadeObject) -> String {
    format!("{} {name}", kind.word())
}

/// Refuses a restore that would meet an object of the same name.
pub fn refuse_present(leader: &mut Connection, database: &str, made: &[MadeObject]) -> Result<(), RestoreError> {
    let there = Objects::read(leader, database)?;
    match made.iter().find(|object| there.has(object)) {
        None => Ok(()),
        Some((kind, name)) => {
            Err(MySqlDumpFault::Present { kind: kind.word().to_ascii_lowercase(), name: bare(name) }.into())
        }
    }
}

/// Drops what is to be restored, whoever made it.
pub fn clean(leader: &mut Connection, made: &[MadeObject]) -> Result<(), RestoreError> {
    made.iter().try_for_each(|object| drop_one(leader, object))
}

/// Views whose names are those of tables or sequences of the archive: they are dropped, too. A table or a sequence in the place of another object may have
/// rows, and is refused before anything is dropped.
pub fn views_in_the_way(
    leader: &mut Connection,
    database: &str,
    made: &[MadeObject],
) -> Result<Vec<MadeObject>, RestoreError> {
    let there = Objects::read(leader, database)?;
    let mut views = Vec::new();
    for (kind, name) in made {
        match there.other_kind(*kind, name) {
            None => {}
            Some(MadeKind::View) => views.push((MadeKind::View, name.clone())),
            Some(there) => {
                let (there, made) = (there.word().to_ascii_lowercase(), kind.word().to_ascii_lowercase());
                return Err(MySqlDumpFault::OtherKind { name: bare(name), there, made }.into());
            }
        }
    }
    Ok(views)
}

/// Drops what an interrupted restore has made, before it loaded anything. Rows are somebody else's.
pub fn drop_own(leader: &mut Connection, ledger: &mut MySqlLedger, made: &[MadeObject]) -> Result<(), RestoreError> {
    let own: Vec<&MadeObject> = made.iter().filter(|object| ledger.has(&entry_of(object))).collect();
    for object in &own {
        if object.0 != MadeKind::Table || !has_rows(leader, &object.1)? {
            drop_one(leader, object)?;
        }
    }
    let entries: Vec<String> = own.into_iter().map(entry_of).collect();
    ledger.forget(leader, &entries.iter().map(String::as_str).collect::<Vec<_>>())
}

fn has_rows(leader: &mut Connection, name: &str) -> Result<bool, RestoreError> {
    match leader.query(&format!("select 1 from {name} limit 1")) {
        Ok(rows) => Ok(!rows.is_empty()),
        Err(WireError::Server(error)) if error.number.is_some_and(|number| NOTHING_TO_READ.contains(&number)) => {
            Ok(false)
        }
        Err(cause) => Err(RestoreError::server(format!("look for rows in {name}"))(cause)),
    }
}

fn drop_one(leader: &mut Connection, (kind, name): &MadeObject) -> Result<(), RestoreError> {
    let sql = format!("DROP {} IF EXISTS {name}", kind.word());
    match leader.execute(&sql) {
        // A table where a view or a sequence was, or the other way round: the CREATE reports what is left.
        Err(WireError::Server(error)) if matches!(error.number, Some(1051 | 1347 | 4089 | 4090)) => Ok(()),
        outcome => outcome.map(drop).map_err(RestoreError::server(sql)),
    }
}

/// Names in a database, without their quotes.
struct Objects {
    /// Tables, views and sequences have their names in common.
    names: HashMap<(&'static str, String), MadeKind>,
    /// Whether the server tells `T` from `t` in names of tables.
    has_cases: bool,
}

const ROUTINES: [(MadeKind, &str); 4] = [
    (MadeKind::Procedure, "PROCEDURE"),
    (MadeKind::Function, "FUNCTION"),
    (MadeKind::Package, "PACKAGE"),
    (MadeKind::Event, "EVENT"),
];

/// The kinds that share their names.
const TABLE: &str = "TABLE";

fn space(kind: MadeKind) -> &'static str {
    ROUTINES.iter().find(|(routine, _)| *routine == kind).map_or(TABLE, |(_, word)| word)
}

impl Objects {
    fn read(leader: &mut Connection, database: &str) -> Result<Self, RestoreError> {
        let database = literal(database);
        let sql = format!(
            "select 'TABLE', table_name, @@lower_case_table_names, table_type from information_schema.tables where table_schema = {database} \
             union all select routine_type, routine_name, 0, '' from information_schema.routines where routine_schema = {database} \
             union all select 'EVENT', event_name, 0, '' from information_schema.events where event_schema = {database}"
        );
        let rows = leader.query(&sql).map_err(RestoreError::server("look what is in the database"))?;
        let mut objects = Self { names: HashMap::new(), has_cases: !rows.iter().any(|row| text(row, 2) != "0") };
        for row in &rows {
            let kind = text(row, 0);
            let routine = ROUTINES.iter().find(|(_, word)| *word == kind);
            let space = routine.map_or(TABLE, |(_, word)| word);
            let of_table = match text(row, 3).as_str() {
                "VIEW" => MadeKind::View,
                "SEQUENCE" => MadeKind::Sequence,
                _ => MadeKind::Table,
            };
            // The body of a package goes with it.
            if routine.is_some() || kind == TABLE {
                let name = objects.folded(space, &text(row, 1));
                objects.names.insert((space, name), routine.map_or(of_table, |(kind, _)| *kind));
            }
        }
        Ok(objects)
    }

    fn folded(&self, space: &str, name: &str) -> String {
        if space == TABLE && self.has_cases { name.to_owned() } else { name.to_lowercase() }
    }

    fn has(&self, (kind, name): &MadeObject) -> bool {
        let space = space(*kind);
        self.names.contains_key(&(space, self.folded(space, &bare(name))))
    }

    /// The kind of an object of a name, if it is another one.
    fn other_kind(&self, kind: MadeKind, name: &str) -> Option<MadeKind> {
        let space = space(kind);
        self.names.get(&(space, self.folded(space, &bare(name)))).copied().filter(|there| *there != kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_the_server_does() {
        let names = [((TABLE, "T".to_owned()), MadeKind::View), (("PROCEDURE", "p".to_owned()), MadeKind::Procedure)];
        let objects = Objects { names: names.into(), has_cases: true };
        let has = |kind, name: &str| objects.has(&(kind, name.to_owned()));
        assert!(has(MadeKind::View, "`T`") && has(MadeKind::Sequence, "`T`") && !has(MadeKind::Table, "`t`"));
        assert!(has(MadeKind::Procedure, "`P`") && !has(MadeKind::Function, "`p`") && !has(MadeKind::Event, "`p`"));
        assert_eq!(objects.other_kind(MadeKind::Table, "`T`"), Some(MadeKind::View));
        assert_eq!([MadeKind::View, MadeKind::Procedure].map(|kind| objects.other_kind(kind, "`T`")), [None, None]);
        assert_eq!(entry_of(&(MadeKind::Table, "`a``b`".to_owned())), "TABLE `a``b`");
    }
}
