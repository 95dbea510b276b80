//! What is done, in the database that is restored: a row for each piece of rows, written in the piece's transaction, and one for each stage. A restore that
//! was interrupted finds there where it was. The schema `mh_restore` is dropped when all is done.

use super::tables::{PIECE_BYTES, RowSource};
use super::{LookedArchive, RestoreError, RestoreFault, RestoreInto};
use crate::dump::archive::INDEX;
use crate::dump::text_of;
use crate::indexes::literal;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use wire::{Connection, WireError};
use xxhash_rust::xxh3::Xxh3;

/// Stages that are done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestoreStage {
    /// What is to be restored was dropped.
    Cleaned = 0,
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
    /// What it was to find in the database.
    into: Option<RestoreInto>,
    /// What the server refused before.
    refused: Vec<RestoreFault>,
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
/// Statements that the server refused, so that a restore that goes on reports them, too.
const REFUSED: &str = "mh_restore.refused";

/// The entry of rows about the restore itself: stages.
const STAGES: u64 = 0;
/// The same, with how it was begun.
const BEGUN: u64 = 1 << 40;

/// The server's name of the lock that one restore at a time has.
const LOCK: &str = "pg_catalog.hashtextextended('mh db restore', 0)";

/// LIMIT: for the session of a restore that has just ended to go.
const LOCK_WAIT: Duration = Duration::from_secs(5);

impl RestoreLedger {
    /// Takes the lock, waits for what an ended restore still commits, and looks.
    pub fn look(connection: &mut Connection, archive: &str) -> Result<LedgerState, RestoreError> {
        let failed = |cause| RestoreError::Server { what: "look for an interrupted restore".to_owned(), cause };
        let ask = format!("select pg_catalog.pg_try_advisory_lock({LOCK})");
        let end = Instant::now() + LOCK_WAIT;
        while text_of(&connection.query(&ask).map_err(failed)?, 0, 0).as_deref() != Some("t") {
            if Instant::now() > end {
                return Err(RestoreError::Busy);
            }
            std::thread::sleep(Duration::from_millis(50));
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
                STAGES => ledger.stages.push(number(2)),
                BEGUN => ledger.into = into_of(number(2)),
                entry => {
                    ledger.done.insert((entry, number(2)), number(3));
                    ledger.rows += number(4);
                }
            }
        }
        let rows = connection.query(&format!("select what, message from {REFUSED}")).map_err(failed)?;
        let text = |row, column| text_of(&rows, row, column).unwrap_or_default();
        ledger.refused =
            (0..rows.len()).map(|row| RestoreFault { what: text(row, 0), message: text(row, 1) }).collect();
        Ok(LedgerState::Ours(ledger))
    }

    /// Begins a new one.
    pub fn begin(connection: &mut Connection, archive: &str, into: RestoreInto) -> Result<Self, RestoreError> {
        let sql = format!(
            "create schema mh_restore; create table {TABLE} (archive text not null, entry bigint not null, \
             first_byte bigint not null, end_byte bigint not null, row_count bigint not null); \
             create table {REFUSED} (what text not null, message text not null)"
        );
        let ledger = Self { archive: archive.to_owned(), into: Some(into), ..Self::default() };
        let failed = |cause| RestoreError::Server { what: "note what is done".to_owned(), cause };
        let begun = ledger.statement(BEGUN, number_of(into), 0, 0);
        connection.execute(&format!("{sql}; {begun}")).map_err(failed)?;
        Ok(ledger)
    }

    /// The statement that notes a stage.
    pub fn note(&self, stage: RestoreStage) -> String {
        self.statement(STAGES, stage as u64, 0, 0)
    }

    /// The statements that note a stage, and what the server refused in it.
    pub fn note_with(&self, stage: RestoreStage, refused: &[RestoreFault]) -> String {
        let fault = |fault: &RestoreFault| {
            let values = [&fault.what, &fault.message].map(|text| literal(&text.replace('\0', " ")));
            format!("insert into {REFUSED} values ({}, {}); ", values[0], values[1])
        };
        refused.iter().map(fault).collect::<String>() + &self.note(stage)
    }

    /// The statement that forgets what is in of an entry.
    pub fn forget(&mut self, entry: u64) -> String {
        self.done.retain(|(of, _), _| *of != entry);
        format!("delete from {TABLE} where entry = {entry}")
    }

    /// Entries of which something is in.
    pub fn entries(&self) -> BTreeSet<u64> {
        self.done.keys().map(|(entry, _)| *entry).collect()
    }

    /// What the restore was to find when it was begun.
    pub fn begun_into(&self) -> RestoreInto {
        self.into.unwrap_or(RestoreInto::Empty)
    }

    /// What the server had refused before.
    pub fn refused(&self) -> &[RestoreFault] {
        &self.refused
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

fn number_of(into: RestoreInto) -> u64 {
    match into {
        RestoreInto::Empty | RestoreInto::Interrupted => 0,
        RestoreInto::Existing => 1,
        RestoreInto::Cleaned { if_exists: false } => 2,
        RestoreInto::Cleaned { if_exists: true } => 3,
    }
}

fn into_of(number: u64) -> Option<RestoreInto> {
    let all = [
        RestoreInto::Empty,
        RestoreInto::Existing,
        RestoreInto::Cleaned { if_exists: false },
        RestoreInto::Cleaned { if_exists: true },
    ];
    all.get(usize::try_from(number).ok()?).copied()
}

/// Removes what a restore has noted, of this archive or another.
pub fn remove(connection: &mut Connection) -> Result<(), WireError> {
    connection.execute("drop schema if exists mh_restore cascade").map(drop)
}

/// A name for an archive's selected contents, and for the meaning of its pieces: the same files and options, the same name.
pub fn archive_name(archive: &Path, looked: &LookedArchive) -> Result<String, RestoreError> {
    let mut hash = Xxh3::new();
    for name in ["toc.dat", INDEX] {
        let path = archive.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => hash.update(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound && name == INDEX => hash.update(b"none"),
            Err(error) => return Err(RestoreError::file("read", &path)(error)),
        }
    }
    for entry in &looked.contents.entries {
        hash.update(&entry.id.to_le_bytes());
    }
    for table in &looked.parts.tables {
        // What a piece is depends on it.
        hash.update(&[u8::from(table.source == RowSource::Stream)]);
        hash.update(&table.stored.to_le_bytes());
    }
    hash.update(&PIECE_BYTES.to_le_bytes());
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
        let refused = [RestoreFault { what: "it's".to_owned(), message: "no".to_owned() }];
        let noted = ledger.note_with(RestoreStage::Rows, &refused);
        assert!(noted.starts_with("insert into mh_restore.refused values ('it''s', 'no'); insert into"), "{noted}");
        ledger.forget(7);
        assert!(ledger.pieces_of(7).is_empty() && ledger.has_piece(8, 0, 5));
        for into in [RestoreInto::Empty, RestoreInto::Existing, RestoreInto::Cleaned { if_exists: true }] {
            assert_eq!(into_of(number_of(into)), Some(into));
        }
    }
}
