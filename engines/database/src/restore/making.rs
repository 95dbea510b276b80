//! Indexes and keys of tables whose rows are in: on lanes of their own, beside the rows of other tables.

use super::tables::RestoreTable;
use super::{RestoreError, RestoreFault, RestoreRequest};
use crate::indexes::{self, AfterFailure, BuildEnd, IndexLanes, LaneLimits, LaneRule, Present};
use std::sync::Arc;
use std::time::Duration;
use wire::{Connection, ErrorKind, WireError};

/// Cores for which lanes are planned, for each that there is: builds wait for WAL and for the disk, and so do rows. Measured with two cores: four lanes with a
/// worker each, 0.94 of the time of one lane.
const HANDS_A_CORE: usize = 4;

/// What makes indexes.
pub struct IndexMaking<'a> {
    pub tables: &'a [RestoreTable],
    pub lanes: Arc<IndexLanes>,
    /// Whether an interrupted restore may have made them.
    pub goes_on: bool,
}

/// What came of all.
#[derive(Debug, Default)]
pub struct MadeIndexes {
    /// Those that the server refused.
    pub faults: Vec<RestoreFault>,
    /// All that have ended.
    pub ended: u64,
    /// The time of all builds, added up.
    pub time: Duration,
}

impl<'a> IndexMaking<'a> {
    /// Lanes for the indexes of these tables.
    pub fn new(
        request: &RestoreRequest,
        tables: &'a [RestoreTable],
        leader: &mut Connection,
        goes_on: bool,
    ) -> Result<Self, RestoreError> {
        let server_workers = indexes::server_workers(leader)
            .map_err(|cause| RestoreError::Server { what: "read the server's settings".to_owned(), cause })?;
        let builds: usize = tables.iter().map(|table| table.indexes.len()).sum();
        let limits =
            LaneLimits { hands: HANDS_A_CORE * request.cores, server_workers, memory_bytes: request.index_memory };
        let mut rule = LaneRule::choose(limits, builds);
        rule.lanes = rule.lanes.min(request.connections);
        let after_failure = if request.exits_on_error { AfterFailure::Stop } else { AfterFailure::GoOn };
        Ok(Self { tables, lanes: Arc::new(IndexLanes::new(rule, after_failure)), goes_on })
    }

    /// A table's rows are in.
    pub fn begin(&self, connection: &mut Connection, table: usize) -> Result<(), RestoreError> {
        let table = &self.tables[table];
        let present = if self.goes_on { Present::PassedOver } else { Present::Refused };
        let work = indexes::plan(connection, &table.indexes, present)
            .map_err(|cause| RestoreError::Server { what: format!("look at {}", table.name), cause })?;
        self.lanes.add(work.jobs);
        Ok(())
    }

    /// The outcome of all builds, when lanes have ended. The error is a lost connection, or a full disk: the restore can go on when there is room.
    pub fn end(&self) -> Result<MadeIndexes, RestoreError> {
        let mut made = MadeIndexes::default();
        for outcome in self.lanes.take_outcomes() {
            made.ended += u64::from(!matches!(outcome.end, BuildEnd::NotMade { .. }));
            match outcome.end {
                BuildEnd::Made { took, .. } => made.time += took,
                BuildEnd::Present => {}
                BuildEnd::Failed(WireError::Server(error)) | BuildEnd::OnlyIndex(WireError::Server(error))
                    if !error.is_fatal && error.kind() != ErrorKind::DiskFull =>
                {
                    made.faults.push(RestoreFault { what: outcome.name, message: error.to_string() });
                }
                BuildEnd::Failed(cause) | BuildEnd::OnlyIndex(cause) => {
                    return Err(RestoreError::Server { what: format!("make {}", outcome.name), cause });
                }
                BuildEnd::NotMade { .. } => {
                    let message = "not begun, after another failure".to_owned();
                    made.faults.push(RestoreFault { what: outcome.name, message });
                }
            }
        }
        Ok(made)
    }
}
