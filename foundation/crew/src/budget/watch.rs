//! Watching the table without taking part: what stands in it now, and sleeping until that may have changed.
//! Holds no row and takes no hand.

use super::census::{Census, census};
pub use super::sleep::SleepMoment;
use super::sleep::{self, NOBODY};
use super::table::{CrewDirectory, MemoryTable, TableError};
use std::time::Duration;

/// A table under watch.
pub struct Watch {
    directory: CrewDirectory,
    table: MemoryTable,
}

impl Watch {
    /// Watches the directory's table; makes it if there is none, so that there is something to sleep on.
    pub fn open(directory: &CrewDirectory) -> Result<Self, TableError> {
        Ok(Self { directory: directory.clone(), table: MemoryTable::open(directory)? })
    }

    /// Who holds what now. Follows to a new table when this one was removed.
    pub fn census(&mut self) -> Result<Census, TableError> {
        if !self.table.is_still_there() {
            *self = Self::open(&self.directory)?;
        }
        census(&self.directory)
    }

    /// The moment to begin a sleep with: to be asked before [`Watch::census`].
    pub fn moment(&self) -> SleepMoment {
        sleep::moment(&self.table, NOBODY)
    }

    /// Sleeps until a run comes, leaves, dies or is given an order, or until `timeout` is over. Hands move in silence.
    pub fn sleep(&self, since: SleepMoment, timeout: Duration) {
        sleep::sleep(&self.table, NOBODY, since, timeout);
    }
}
