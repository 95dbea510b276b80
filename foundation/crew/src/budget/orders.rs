//! Orders from outside to a running run: class, weight, pause, resume. They go into the row's standing, from which every run
//! computes what it and others may hold; the run itself obeys at its next yield point.

use super::row::{self, Standing};
use super::table::{CrewFolder, MemoryTable, TableError};
use super::{Priority, Weight};

/// What a run is told. Fields that are none stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOrder {
    /// Its new class.
    pub class: Option<Priority>,
    /// Its new weight.
    pub weight: Option<Weight>,
    /// Whether it rests from now on, without a hand, or goes on.
    pub pause: Option<PauseOrder>,
    /// What runs say they do that keep their class and weight all the same: a runner's job slots, which are what nobody else wants.
    pub spares: Option<&'static str>,
}

/// Rest or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseOrder {
    /// Give back all hands at the next yield points and take none.
    Rest,
    /// Go on.
    GoOn,
}

/// Gives `order` to all runs of process `process` in the folder's table; says how many there are. A paused run keeps what it
/// has in memory and its open files.
pub fn give(folder: &CrewFolder, process: u32, order: RunOrder) -> Result<usize, TableError> {
    let Some(table) = MemoryTable::open_existing(folder)? else { return Ok(0) };
    let is_meant = |row: &usize| row::read(table.words(), *row).is_some_and(|seen| seen.identity.process == process);
    let rows: Vec<usize> = row::present(table.words()).filter(is_meant).collect();
    for &row in &rows {
        let is_spared = order.spares.is_some_and(|what| row::read_what(table.words(), row) == what);
        row::change_standing(table.words(), row, |standing| Standing {
            class: order.class.filter(|_| !is_spared).unwrap_or(standing.class),
            weight: order.weight.filter(|_| !is_spared).unwrap_or(standing.weight),
            is_paused: order.pause.map_or(standing.is_paused, |pause| pause == PauseOrder::Rest),
            ..standing
        });
        if order.pause == Some(PauseOrder::Rest) {
            // It waits for its user now, not for a hand: nobody has to give way to it.
            row::unmark_hungry(table.words(), row);
        }
    }
    table.ring_all();
    // Those that rested are not hungry yet.
    rows.iter().for_each(|&row| table.ring(row));
    Ok(rows.len())
}
