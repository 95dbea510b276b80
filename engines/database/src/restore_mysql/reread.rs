//! `--verify`: what was restored is read again, and compared with what was dumped.

use super::MySqlRestoreRequest;
use super::board::MySqlRestoreBoard;
use crate::dump_mysql::{DumpLock, MySqlArchiveTable, MySqlDumpFault};
use crate::restore::reread::{PART_BYTES, faults};
use crate::restore::{RestoreError, RestoreFault};
use crate::verify::{ArchiveDigests, MySqlReadOptions, MySqlReading, WantedTables, read_unless};
use crew::budget::Lease;

/// Reads tables again; those that differ. Nobody is locked out: what somebody else has written meanwhile is not what was dumped.
pub fn differences(
    request: &MySqlRestoreRequest,
    tables: &[MySqlArchiveTable],
    board: &MySqlRestoreBoard,
    lease: &dyn Lease,
) -> Result<Vec<RestoreFault>, RestoreError> {
    let without = || {
        let what = "a table has no digest".to_owned();
        MySqlDumpFault::Archive { file: request.archive.display().to_string(), what }
    };
    let archive = ArchiveDigests::of_mysql(tables.iter()).ok_or_else(without)?;
    let wanted = WantedTables::These(archive.tables.iter().map(|(table, _)| table.clone()).collect());
    let options = MySqlReadOptions { lock: DumpLock::None, lock_wait: super::LOCK_WAIT, part_bytes: PART_BYTES };
    let reading = MySqlReading::look(&request.address, &wanted, options)?;
    let found = read_unless(&reading, request.connections, lease, || board.is_over())?;
    Ok(faults(&archive, found))
}
