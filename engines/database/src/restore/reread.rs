//! `--verify`: what was restored is read again, and compared with what was dumped.

use super::board::RestoreBoard;
use super::tables::{RestoreTable, RowSource};
use super::{RestoreError, RestoreFault, RestoreRequest};
use crate::verify::{ArchiveDigests, PostgresReading, TableState, TableVerdict, WantedTables, compare, read_unless};
use crew::budget::Lease;
use std::collections::HashSet;
use std::io;

/// Bytes of the server's storage that a connection reads at a time.
pub const PART_BYTES: u64 = 32 << 20;

/// Reads all tables again that `mh.index` has; those that differ.
pub fn differences(
    request: &RestoreRequest,
    tables: &[RestoreTable],
    board: &RestoreBoard,
    lease: &dyn Lease,
) -> Result<Vec<RestoreFault>, RestoreError> {
    let unreadable = |error| RestoreError::file("read the index of", &request.archive)(io::Error::other(error));
    let mut archive = ArchiveDigests::read(&request.archive).map_err(unreadable)?;
    let is_ours = |table: &&RestoreTable| matches!(table.source, RowSource::Frames(_));
    let restored: HashSet<&str> = tables.iter().filter(is_ours).map(|table| table.name.as_str()).collect();
    archive.tables.retain(|(table, _)| restored.contains(table.name.as_str()));
    let wanted = WantedTables::These(archive.tables.iter().map(|(table, _)| table.clone()).collect());
    let reading = PostgresReading::look(&request.address, &wanted, archive.encoding.as_deref(), PART_BYTES)?;
    let found = read_unless(&reading, request.connections, lease, || board.is_over())?;
    Ok(faults(&archive, found))
}

/// Tables that are not what the archive says.
pub fn faults(archive: &ArchiveDigests, found: Vec<(String, TableState)>) -> Vec<RestoreFault> {
    let differs = compare(archive.states(), found).into_iter().filter(|table| table.verdict() != TableVerdict::Same);
    let what = |name: &str| format!("verify rows of {name}");
    differs.map(|table| RestoreFault { message: difference(&table.found), what: what(&table.name) }).collect()
}

fn difference(found: &TableState) -> String {
    match found {
        TableState::Read(digest) => {
            format!("its {} rows, read again, are not those that were dumped, as mh.index has them", digest.rows)
        }
        TableState::Missing | TableState::Unread => "there is no such table any more".to_owned(),
        TableState::Refused(error) => format!("it cannot be read again: {error}"),
    }
}
