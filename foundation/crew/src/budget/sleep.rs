//! Sleeping until the table changes: on a wake word, and on the death words of the runs in it, because nothing else announces a death.
//! Used by hungry runs, each of which has a wake word of its own, and by watchers, which sleep on the generation.

use super::layout::{ROWS, field, row_word};
use super::memory::Memory;
use super::row;
use super::table::MemoryTable;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use sys::futex::{Expected, WORDS_AT_ONCE, wait_any};
use sys::robust_mark::{OWNER_DIED, WAITERS};

/// A row that nobody has: for those who take no part.
pub(super) const NOBODY: usize = ROWS;

/// Whether the kernel has marked `row`'s owner as dead, and nobody has set it aside yet.
pub(super) fn is_newly_dead(table: &MemoryTable, row: usize) -> bool {
    // ORDER: SeqCst like all words.
    table.death_word(row).load(Ordering::SeqCst) & OWNER_DIED != 0 && !row::standing(table.words(), row).is_set_aside
}

/// A moment of the table's life: a sleep that begins with an older one ends at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepMoment(u32);

/// What wakes for row `own`, or for [`NOBODY`].
fn wake_word(table: &MemoryTable, own: usize) -> &AtomicU32 {
    if own == NOBODY { table.generation() } else { table.wake_word(own) }
}

/// The moment to begin a sleep with: to be asked before the words are looked at.
pub(super) fn moment(table: &MemoryTable, own: usize) -> SleepMoment {
    // ORDER: SeqCst: read before what the caller looks at, so that a change after it ends the sleep.
    SleepMoment(wake_word(table, own).load(Ordering::SeqCst))
}

/// Sleeps until the wake word of `own` changes after `since`, until a run other than `own` dies, or until `timeout` is over.
pub(super) fn sleep(table: &MemoryTable, own: usize, since: SleepMoment, timeout: Duration) {
    let mut watched = vec![Expected { word: wake_word(table, own), value: since.0 }];
    for row in row::present(table.words()).filter(|&row| row != own) {
        if is_newly_dead(table, row) {
            return;
        }
        let death_word = table.death_word(row);
        // ORDER: SeqCst like all words: the bit must be there before the kernel looks whether anybody waits.
        let seen = death_word.load(Ordering::SeqCst);
        if seen != 0
            && seen & OWNER_DIED == 0
            && watched.len() < WORDS_AT_ONCE
            && (seen & WAITERS != 0
                || death_word.compare_exchange(seen, seen | WAITERS, Ordering::SeqCst, Ordering::SeqCst).is_ok())
        {
            watched.push(Expected { word: death_word, value: seen | WAITERS });
        }
    }
    if wait_any(&watched, timeout).is_err() {
        // No futex at all (a sandbox): look again after a while.
        std::thread::sleep(timeout);
    }
}

/// How often a hungry run looks after the dead and the stopped at least, for what no futex tells. Shorter costs CPU time while
/// everything is well (0.1 to 0.4 ms a look, by the number of runs), longer leaves the hands of a stopped run unused.
pub(super) const ROUND: Duration = Duration::from_millis(160);
/// Between the turns of several: long enough for the one before to have come to a CPU, looked and fallen asleep again.
const SPACING_MS: u64 = 80;
/// LIMIT: a round of many. Longer lets a low run notice later that it has waited long enough.
const LONGEST_ROUND_MS: u64 = 1280;

/// How long the run at `place` of `count` sleeps until its turn to look, at `now_ms` of the clock that all share. Turns are spread
/// over the round: runs that became hungry together would all want a CPU at the same moments otherwise, for ever.
pub(super) fn until_turn(place: usize, count: usize, now_ms: u64) -> Duration {
    let count = count.max(1) as u64;
    let round_ms = (SPACING_MS * count).clamp(ROUND.as_millis() as u64, LONGEST_ROUND_MS);
    let turn_ms = round_ms * place as u64 / count;
    let wait_ms = (turn_ms + round_ms - now_ms % round_ms) % round_ms;
    Duration::from_millis(if wait_ms == 0 { round_ms } else { wait_ms })
}

/// Wakes for runs other than `own` that listen: they have no yield points, so nothing else tells them that somebody is hungry now.
pub(super) fn tell_listeners(table: &MemoryTable, own: usize) {
    let listens = |row: &usize| table.words().load(row_word(*row, field::LISTENS)) != 0;
    row::present(table.words()).filter(|&row| row != own).filter(listens).for_each(|row| table.wake(row));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_to_look_are_spread_over_the_round_and_come_once_in_it() {
        for (count, round_ms) in [(2, 160), (3, 240), (8, 640), (64, 1280)] {
            let turn = |place| until_turn(place, count, 1_600_001).as_millis() as u64;
            let mut turns: Vec<u64> = (0..count).map(turn).collect();
            turns.sort_unstable();
            assert!(turns[0] > 0 && turns[count - 1] <= round_ms, "{turns:?}");
            let spacing_ms = round_ms / count as u64;
            assert!(turns.windows(2).all(|two| two[1] - two[0] >= spacing_ms), "{turns:?}");
        }
        // 2500 rounds of 640 ms.
        assert_eq!(until_turn(3, 8, 1_600_000).as_millis(), 240);
        assert_eq!(until_turn(3, 8, 1_600_239).as_millis(), 1);
        assert_eq!(until_turn(3, 8, 1_600_240).as_millis(), 640, "after it a whole round");
    }
}
