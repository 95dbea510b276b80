//! What is done, in the database that is restored: a row for each piece of rows, written in the piece's transaction, and one for each stage. A restore that
//! was interrupted finds there where it was. The schema `mh_restore` is dropped when all is done.

use super::RestoreError;
use super::contents::ArchiveContents;
use std::collections::BTreeMap;
use std::path::Path;
use wire::{Connection, WireError};
use xxhash_rust::xxh3::Xxh3;

/// Stages that are done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestoreStage {
    /// It has begun.
    Begun = 0,
    /// pg_restore has made schemas and tables.
    Before = 1,
    /// pg_restore has restored large objects and sequences.
    Meanwhile = 2,
    /// Rows and indexes are in.
    Rows = 3,
}

/// The ledger of one archive.
#[derive(Clone, Debug, Default)]
pub struct RestoreLedger {
    /// Which archive it is.
    archive: String,
    /// Entry and first byte of pieces that are in, with the byte behind the last one.
    done: BTreeMap<(u64, u64), u64>,
    stages: Vec<u64>,
    rows: u64,
}

/// What was found.
#[derive(Debug)]
pub enum LedgerState {
    /// No restore has begun.
    None,
    /// One of this archive was interrupted.
    Ours(RestoreLedger),
    /// One of another archive.
    Others,
}

const TABLE: &str = "mh_restore.done";

/// The server's name of the lock that one restore at a time has.
const LOCK: &str = "pg_catalog.hashtextextended('mh db restore', 0)";

impl RestoreLedger {
    /// Takes the lock, waits for what an ended restore still commits, and looks.
    pub fn look(connection: &mut Connection, archive: &str) -> Result<LedgerState, RestoreError> {
        let failed = |cause| RestoreError::Server { what: "look for an interrupted restore".to_owned(), cause };
        let locked = connection.query(&format!("select pg_catalog.pg_try_advisory_lock({LOCK})")).map_err(failed)?;
        if locked.first().and_then(|row| row.first()?.as_deref()) != Some(b"t") {
            return Err(RestoreError::Busy);
        }
        let found = connection.query(&format!("select pg_catalog.to_regclass('{TABLE}') is null")).map_err(failed)?;
        if found.first().and_then(|row| row.first()?.as_deref()) != Some(b"f") {
            return Ok(LedgerState::None);
        }
        connection.execute(&format!("begin; lock table {TABLE} in share mode; commit")).map_err(failed)?;
        let rows = connection
            .query(&format!("select archive, entry, first_byte, end_byte, row_count from {TABLE}"))
            .map_err(failed)?;
        let mut ledger = Self { archive: archive.to_owned(), ..Self::default() };
        for row in rows {
            let text = |at: usize| row.get(at).and_then(|value| str::from_utf8(value.as_deref()?).ok());
            let number = |at| text(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            if text(0) != Some(archive) {
                return Ok(LedgerState::Others);
            }
            match number(1) {
                0 => ledger.stages.push(number(2)),
                entry => {
                    ledger.done.insert((entry, number(2)), number(3));
                    ledger.rows += number(4);
                }
            }
        }
        Ok(LedgerState::Ours(ledger))
    }

    /// Begins a new one.
    pub fn begin(connection: &mut Connection, archive: &str) -> Result<Self, RestoreError> {
        let sql = format!(
            "create schema mh_restore; create table {TABLE} (archive text not null, entry bigint not null, \
             first_byte bigint not null, end_byte bigint not null, row_count bigint not null)"
        );
        let ledger = Self { archive: archive.to_owned(), ..Self::default() };
        let failed = |cause| RestoreError::Server { what: "note what is done".to_owned(), cause };
        connection.execute(&format!("{sql}; {}", ledger.note(RestoreStage::Begun))).map_err(failed)?;
        Ok(ledger)
    }

    /// The statement that notes a stage.
    pub fn note(&self, stage: RestoreStage) -> String {
        self.statement(0, stage as u64, 0, 0)
    }

    /// The statement that notes a piece of rows.
    pub fn note_piece(&self, entry: u64, begin: u64, end: u64, rows: u64) -> String {
        self.statement(entry, begin, end, rows)
    }

    fn statement(&self, entry: u64, begin: u64, end: u64, rows: u64) -> String {
        format!("insert into {TABLE} values ('{}', {entry}, {begin}, {end}, {rows})", self.archive)
    }

    /// Whether a stage is done.
    pub fn has(&self, stage: RestoreStage) -> bool {
        self.stages.contains(&(stage as u64))
    }

    /// Whether a piece is in.
    pub fn has_piece(&self, entry: u64, begin: u64, end: u64) -> bool {
        self.done.get(&(entry, begin)) == Some(&end)
    }

    /// What is in of an entry: first bytes and those behind the last ones.
    pub fn pieces_of(&self, entry: u64) -> Vec<(u64, u64)> {
        self.done.range((entry, 0)..=(entry, u64::MAX)).map(|(&(_, begin), &end)| (begin, end)).collect()
    }

    /// Rows that were in before.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// Removes what a restore has noted, of this archive or another.
pub fn remove(connection: &mut Connection) -> Result<(), WireError> {
    connection.execute("drop schema if exists mh_restore cascade").map(drop)
}

/// A name for an archive's selected contents: the same files and options, the same name.
pub fn archive_name(archive: &Path, contents: &ArchiveContents) -> Result<String, RestoreError> {
    let mut hash = Xxh3::new();
    let path = archive.join("toc.dat");
    hash.update(&std::fs::read(&path).map_err(RestoreError::file("read", &path))?);
    for entry in &contents.entries {
        hash.update(&entry.id.to_le_bytes());
    }
    Ok(format!("{:032x}", hash.digest128()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_knows_pieces_by_their_borders() {
        let mut ledger = RestoreLedger { archive: "a".to_owned(), ..RestoreLedger::default() };
        ledger.done.extend([((7, 0), 10), ((7, 20), 30), ((8, 0), 5)]);
        ledger.stages.push(1);
        assert!(ledger.has_piece(7, 0, 10) && !ledger.has_piece(7, 0, 11) && !ledger.has_piece(9, 0, 10));
        assert_eq!(ledger.pieces_of(7), [(0, 10), (20, 30)]);
        assert!(ledger.has(RestoreStage::Before) && !ledger.has(RestoreStage::Rows));
        assert_eq!(ledger.note_piece(7, 0, 10, 3), "insert into mh_restore.done values ('a', 7, 0, 10, 3)");
    }
}
