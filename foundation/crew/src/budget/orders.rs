//! Orders from outside to a running run: class, weight, pause, resume. They go into the row's standing, from which every run
//! computes what it and others may hold; the run itself obeys at its next yield point.

use super::row::{self, Standing};
use super::table::{CrewDirectory, MemoryTable, TableError};
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
}

/// Rest or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseOrder {
    /// Give back all hands at the next yield points and take none.
    Rest,
    /// Go on.
    GoOn,
}

/// Gives `order` to all runs of process `process` in the directory's table; says how many there are. A paused run keeps what it
/// has in memory and its open files. Job slots keep their class and weight: they are what nobody else wants.
pub fn give(directory: &CrewDirectory, process: u32, order: RunOrder) -> Result<usize, TableError> {
    let Some(table) = MemoryTable::open_existing(directory)? else { return Ok(0) };
    let is_meant = |row: &usize| row::read(table.words(), *row).is_some_and(|seen| seen.identity.process == process);
    let rows: Vec<usize> = row::present(table.words()).filter(is_meant).collect();
    for &row in &rows {
        row::change_standing(table.words(), row, |standing| Standing {
            class: order.class.filter(|_| !standing.is_job_slots).unwrap_or(standing.class),
            weight: order.weight.filter(|_| !standing.is_job_slots).unwrap_or(standing.weight),
            is_paused: order.pause.map_or(standing.is_paused, |pause| pause == PauseOrder::Rest),
            ..standing
        });
        if order.pause == Some(PauseOrder::Rest) {
            // It waits for its user now, not for a hand: nobody has to give way to it.
            row::unmark_hungry(table.words(), row);
        }
    }
    table.wake_all();
    // Those that rested are not hungry yet.
    rows.iter().for_each(|&row| table.wake(row));
    Ok(rows.len())
}
