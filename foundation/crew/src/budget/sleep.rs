//! Sleeping until the table changes: on its generation, and on the marks of the runs in it, whose death announces itself by
//! nothing else. Used by whoever is hungry, and by those who only watch.

use super::layout::{ROWS, field, row_word};
use super::memory::Memory;
use super::row;
use super::table::Table;
use std::sync::atomic::Ordering;
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

/// Sleeps until the generation is no longer `generation`, until a run other than `own` dies, or until `timeout` is over.
pub(super) fn sleep(table: &Table, own: usize, generation: u32, timeout: Duration) {
    let mut watched = vec![Expected { word: table.generation(), value: generation }];
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

/// Rings if a run other than `own` listens: it has no yield points, so nothing else tells it that somebody is hungry now.
pub(super) fn tell_listeners(table: &Table, own: usize) {
    let listens = |row: usize| table.words().load(row_word(row, field::LISTENS)) != 0;
    if row::present(table.words()).any(|row| row != own && listens(row)) {
        table.ring();
    }
}
