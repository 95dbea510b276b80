//! Sleeping until the table changes: on a bell, and on the marks of the runs in it, whose death announces itself by nothing else.
//! Used by whoever is hungry, who has a bell of its own, and by those who only watch: theirs is the generation.

use super::layout::{ROWS, field, row_word};
use super::memory::Memory;
use super::row;
use super::table::Table;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use sys::futex::{Expected, WORDS_AT_ONCE, wait_any};
use sys::robust_mark::{OWNER_DIED, WAITERS};

/// A row that nobody has: for those who take no part.
pub(super) const NOBODY: usize = ROWS;

/// Whether the kernel has marked `row`'s owner as dead, and nobody has set it aside yet.
pub(super) fn is_newly_dead(table: &Table, row: usize) -> bool {
    // ORDER: SeqCst like all words.
    table.mark(row).load(Ordering::SeqCst) & OWNER_DIED != 0 && !row::standing(table.words(), row).is_set_aside
}

/// A moment of the table's life: a sleep that begins with an older one ends at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment(u32);

/// What rings for row `own`, or for [`NOBODY`].
fn bell(table: &Table, own: usize) -> &AtomicU32 {
    if own == NOBODY { table.generation() } else { table.bell(own) }
}

/// The moment to begin a sleep with: to be asked before the words are looked at.
pub(super) fn moment(table: &Table, own: usize) -> Moment {
    // ORDER: SeqCst: read before what the caller looks at, so that a change after it ends the sleep.
    Moment(bell(table, own).load(Ordering::SeqCst))
}

/// Sleeps until the bell of `own` rings after `since`, until a run other than `own` dies, or until `timeout` is over.
pub(super) fn sleep(table: &Table, own: usize, since: Moment, timeout: Duration) {
    let mut watched = vec![Expected { word: bell(table, own), value: since.0 }];
    for row in row::present(table.words()).filter(|&row| row != own) {
        if is_newly_dead(table, row) {
            return;
        }
        let mark = table.mark(row);
        // ORDER: SeqCst like all words: the bit must be there before the kernel looks whether anybody waits.
        let seen = mark.load(Ordering::SeqCst);
        if seen != 0
            && seen & OWNER_DIED == 0
            && watched.len() < WORDS_AT_ONCE
            && (seen & WAITERS != 0
                || mark.compare_exchange(seen, seen | WAITERS, Ordering::SeqCst, Ordering::SeqCst).is_ok())
        {
            watched.push(Expected { word: mark, value: seen | WAITERS });
        }
    }
    if wait_any(&watched, timeout).is_err() {
        // No futex at all (a sandbox): look again after a while.
        std::thread::sleep(timeout);
    }
}

/// Rings for runs other than `own` that listen: they have no yield points, so nothing else tells them that somebody is hungry now.
pub(super) fn tell_listeners(table: &Table, own: usize) {
    let listens = |row: &usize| table.words().load(row_word(*row, field::LISTENS)) != 0;
    row::present(table.words()).filter(|&row| row != own).filter(listens).for_each(|row| table.ring(row));
}
