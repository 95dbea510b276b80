//! `--verify`: what was restored is read again, and compared with what was dumped.

use super::board::RestoreBoard;
use super::tables::{RestoreTable, RowSource};
use super::{RestoreError, RestoreFault, RestoreRequest};
use crate::verify::{ArchiveDigests, PostgresReading, TableState, TableVerdict, WantedTables, compare};
use crew::budget::Lease;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of the server's storage that a connection reads at a time.
const PART_BYTES: u64 = 32 << 20;

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
    let is_read = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_read.load(Ordering::Acquire) {
                if board.is_over() {
                    reading.stop();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let found = reading.read(request.connections, lease);
        is_read.store(true, Ordering::Release);
        found
    })?;
    let expected = archive.tables.iter().map(|(table, digest)| (table.name.clone(), TableState::Read(*digest)));
    let differs = compare(expected, found).into_iter().filter(|table| table.verdict() != TableVerdict::Same);
    Ok(differs.map(|table| RestoreFault { message: difference(&table.found), what: table.name }).collect())
}

fn difference(found: &TableState) -> String {
    match found {
        TableState::Read(digest) => {
            format!("read again, its {} rows are not those that were dumped, as mh.index has them", digest.rows)
        }
        TableState::Missing | TableState::Unread => "there is no such table any more".to_owned(),
        TableState::Refused(error) => format!("could not be read again: {error}"),
    }
}
