//! Watching the table without taking part: what stands in it now, and sleeping until that may have changed.
//! Holds no row and takes no hand. Looks after the dead, since the kernel tells a death to one sleeper alone: that may be us.

use super::census::{Census, census};
use super::hands;
use super::row;
use super::seat::KernelWitness;
pub use super::sleep::Moment;
use super::sleep::{self, NOBODY, is_newly_dead};
use super::table::{CrewFolder, Table, TableError};
use machine::Host;
use std::fs::File;
use std::time::Duration;

/// A table under watch.
pub struct Watch {
    folder: CrewFolder,
    table: Table,
    locks: File,
    namespace: Option<u64>,
}

impl Watch {
    /// Watches the folder's table; makes it if there is none, so that there is something to sleep on.
    pub fn open(folder: &CrewFolder) -> Result<Self, TableError> {
        let table = Table::open(folder)?;
        let locks = table.open_for_locks()?;
        Ok(Self { folder: folder.clone(), table, locks, namespace: machine::own_pid_namespace(&Host::real()).ok() })
    }

    /// Who holds what now. Follows to a new table when this one was removed.
    pub fn census(&mut self) -> Result<Census, TableError> {
        if !self.table.is_still_there() {
            *self = Self::open(&self.folder)?;
        }
        self.tend_the_dead();
        census(&self.folder)
    }

    /// The moment to begin a sleep with: to be asked before [`Watch::census`].
    pub fn moment(&self) -> Moment {
        sleep::moment(&self.table, NOBODY)
    }

    /// Sleeps until a run comes, leaves, dies or is given an order, or until `timeout` is over. Hands move in silence.
    pub fn sleep(&self, since: Moment, timeout: Duration) {
        sleep::sleep(&self.table, NOBODY, since, timeout);
    }

    /// Frees what those hold that the kernel has marked as dead, and passes the news on to who sleeps in the queue.
    fn tend_the_dead(&self) {
        let dead: Vec<usize> =
            row::present(self.table.words()).filter(|&row| is_newly_dead(&self.table, row)).collect();
        let witness = KernelWitness::new(&self.table, &self.locks, self.namespace);
        for &row in &dead {
            hands::tend(self.table.words(), &witness, row);
        }
        if !dead.is_empty() {
            self.table.ring_all();
        }
    }
}
