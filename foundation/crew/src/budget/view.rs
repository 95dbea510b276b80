//! The whole table at one look, and what the entitlement makes of it.
//! Not a consistent cut, since others go on meanwhile: the words decide, this only says what is worth trying.

use super::Priority;
use super::cpu_set::CpuSet;
use super::entitlement::{Entitled, RunClaim, entitlements};
use super::layout::{ClaimWord, HandWord, ROWS, claim_word, cpu_slot_above, hand_word};
use super::memory::Memory;
use super::row::{self, RowSeen};
use std::cmp::Reverse;

/// After so long without a hand a `low` run gets one for a slice, whoever else is there. Larger starves it longer; smaller
/// takes more from the classes above: a slice in ten seconds is one hundredth of a core.
pub const AGING_LOW_MS: u64 = 10_000;
/// The same for `idle` runs.
pub const AGING_IDLE_MS: u64 = 60_000;
/// How long the hand that was got by waiting may be kept; in any case until the next yield point.
pub const SLICE_MS: u64 = 100;

/// How long a turn lasts among runs of class `low` or `idle` that are more than the hands left for them. Larger: who waits waits
/// longer; smaller: hands, and what caches hold, move more often.
pub const TURN_MS: u64 = 500;

/// A look at the table.
pub struct TableView {
    /// When, in milliseconds of CLOCK_MONOTONIC.
    pub now_ms: u64,
    /// Rows in use, ascending.
    pub rows: Vec<RowSeen>,
    /// CPUs that some row may use.
    pub cpus: CpuSet,
    /// Those of them that nobody has.
    pub free: CpuSet,
    words_of_row: Box<[u32; ROWS]>,
    claims_of_row: Box<[u32; ROWS]>,
}

impl TableView {
    /// Looks at all rows, then at all words that they may take.
    pub fn look<M: Memory + ?Sized>(memory: &M, now_ms: u64) -> Self {
        let rows: Vec<RowSeen> = row::present(memory).filter_map(|row| row::read(memory, row)).collect();
        let cpus = rows.iter().fold(CpuSet::default(), |all, row| all.or(&row.cpus));
        let mut free = CpuSet::default();
        let (mut words_of_row, mut claims_of_row) = (Box::new([0; ROWS]), Box::new([0; ROWS]));
        let mut count_claim = |cpu_slot: usize, word: HandWord| {
            let claim = ClaimWord(memory.load(claim_word(cpu_slot)));
            if let Some(row) = claim.row().filter(|_| !word.is_free() && claim.is_of(word)) {
                claims_of_row[row] += 1;
            }
        };
        for cpu in cpus.iter() {
            let word = HandWord(memory.load(hand_word(cpu)));
            count_claim(cpu, word);
            match word.row() {
                Some(row) => words_of_row[row] += 1,
                None if word.is_free() => free.insert(cpu),
                None => {}
            }
        }
        for cpu_slot in rows.iter().filter(|seen| seen.is_above).map(|seen| cpu_slot_above(seen.row)) {
            count_claim(cpu_slot, HandWord(memory.load(hand_word(cpu_slot))));
        }
        Self { now_ms, rows, cpus, free, words_of_row, claims_of_row }
    }

    /// Where `row` stands among [`TableView::rows`].
    pub fn position(&self, row: usize) -> Option<usize> {
        self.rows.binary_search_by_key(&row, |seen| seen.row).ok()
    }

    /// Hands that `seen` holds, one above capacity included.
    pub fn held(&self, seen: &RowSeen) -> u32 {
        self.words_of_row[seen.row] + u32::from(seen.is_above)
    }

    /// Hands that `seen` has from the runner that started it: the runner holds them, so they count there.
    pub fn inherited(&self, seen: &RowSeen) -> u32 {
        self.claims_of_row[seen.row]
    }

    /// Hands held by all runs that share `group`'s quota.
    pub fn held_in_group(&self, group: u64) -> u64 {
        let sharers = self.rows.iter().filter(|seen| seen.quota.is_some_and(|quota| quota.group == group));
        sharers.map(|seen| u64::from(self.held(seen))).sum()
    }

    /// Whether `seen` has waited so long for its first hand that it gets one, or still has its slice of time.
    pub fn is_aged(&self, seen: &RowSeen) -> bool {
        let patience_ms = match seen.standing.class {
            Priority::Low => AGING_LOW_MS,
            Priority::Idle => AGING_IDLE_MS,
            Priority::Normal | Priority::High => return false,
        };
        let slice_left_ms = seen.slice_until_ms.saturating_sub(self.now_ms);
        if self.held(seen) > 0 {
            // LIMIT: a slice that claims to be longer than any is forged.
            slice_left_ms > 0 && slice_left_ms <= SLICE_MS
        } else {
            self.inherited(seen) == 0
                && seen.waiting > 0
                && self.now_ms.saturating_sub(seen.hungry_since_ms) >= patience_ms
        }
    }

    /// The row to be woken for what is free: it waits, may hold more, and can use one of the free words. Of several the one of
    /// the highest class, there the one with the fewest CPUs to choose from, then the one that lacks most, then the one that
    /// has waited longest.
    pub fn next_in_turn(&self) -> Option<usize> {
        if self.free.is_empty() {
            return None;
        }
        let entitled = self.entitled(u32::MAX);
        let can_take = |(seen, entitled): &(&RowSeen, &Entitled)| {
            let is_used_up = seen.quota.is_some_and(|quota| self.held_in_group(quota.group) >= quota.hands());
            seen.waiting > 0
                && entitled.may_hold > self.held(seen)
                && !seen.cpus.and(&self.free).is_empty()
                && !is_used_up
        };
        let turn = |(seen, entitled): &(&RowSeen, &Entitled)| {
            let lacks = entitled.may_hold - self.held(seen);
            (seen.standing.class, Reverse(seen.cpus.count()), lacks, Reverse(seen.hungry_since_ms))
        };
        self.rows.iter().zip(&entitled).filter(can_take).max_by_key(turn).map(|(seen, _)| seen.row)
    }

    /// The rows as the entitlement wants them.
    pub fn claims(&self) -> Vec<RunClaim> {
        self.rows.iter().map(|seen| self.claim(seen)).collect()
    }

    /// What each row may do, in the order of [`TableView::rows`].
    pub fn entitled(&self, capacity: u32) -> Vec<Entitled> {
        entitlements(capacity, self.turn(), &self.claims())
    }

    /// Whether the row at `position` would get a hand more if it waited for one more.
    pub fn may_hold_one_more(&self, position: usize) -> bool {
        let mut claims = self.claims();
        claims[position].waiting += 1;
        entitlements(u32::MAX, self.turn(), &claims)[position].may_hold > self.held(&self.rows[position])
    }

    /// Hands that the row at `position` could come to have if `width` were of use to it and it waited for them, those of its runner included.
    pub fn may_hold(&self, position: usize, width: u32) -> u32 {
        let mut claims = self.claims();
        claims[position] = RunClaim { useful_width: width, waiting: width, ..claims[position] };
        entitlements(u32::MAX, self.turn(), &claims)[position].may_hold + claims[position].inherited
    }

    /// What each row could hold if everybody wanted as much as would make them faster: what is held beyond that is lent.
    pub fn entitled_if_all_wanted(&self, capacity: u32) -> Vec<Entitled> {
        let greedy = |claim: RunClaim| RunClaim { waiting: claim.useful_width, ..claim };
        let claims: Vec<RunClaim> = self.claims().into_iter().map(greedy).collect();
        entitlements(capacity, self.turn(), &claims)
    }

    fn turn(&self) -> u64 {
        self.now_ms / TURN_MS
    }

    fn claim(&self, seen: &RowSeen) -> RunClaim {
        RunClaim {
            class: seen.standing.class,
            weight: u32::from(seen.standing.weight.get()),
            cpus: seen.cpus,
            quota: seen.quota,
            useful_width: seen.useful_width,
            held: self.held(seen),
            inherited: self.inherited(seen),
            waiting: seen.waiting,
            rests: !seen.standing.is_active(),
            is_aged: self.is_aged(seen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{WORDS, field, row_word};
    use super::super::row::{RowEntry, RowIdentity, Standing};
    use super::super::{Weight, hands};
    use super::*;
    use std::sync::atomic::AtomicU64;

    const NOW_MS: u64 = 1_000_000;

    fn table_with(classes: &[Priority]) -> Vec<AtomicU64> {
        let memory: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        for (row, &class) in classes.iter().enumerate() {
            let standing = Standing {
                class,
                weight: Weight::default(),
                is_paused: false,
                is_set_aside: false,
                is_job_slots: false,
            };
            let entry = RowEntry {
                identity: RowIdentity { process: 7 + row as u32, start_ticks: 1, namespace: 1 },
                standing,
                useful_width: 8,
                cpus: CpuSet::of(0..4),
                quota: None,
                what: String::new(),
                now_ms: NOW_MS,
            };
            row::write(&memory[..], row, &entry);
        }
        memory
    }

    #[test]
    fn low_runs_that_are_more_than_the_hands_take_turns_by_weight() {
        let memory = &table_with(&[Priority::Low; 6])[..];
        for row in 0..6 {
            memory.store(row_word(row, field::WAITING), 8);
            // Nobody is owed a slice for having waited long.
            memory.store(row_word(row, field::HUNGRY_SINCE_MS), u64::MAX);
        }
        row::change_standing(memory, 5, |standing| Standing { weight: Weight::new(300), ..standing });
        let turns = 1000;
        let mut hands = [0; 6];
        for turn in 0..turns {
            let entitled = TableView::look(memory, NOW_MS + turn * TURN_MS).entitled(u32::MAX);
            assert_eq!(entitled.iter().map(|entitled| entitled.may_hold).sum::<u32>(), 4);
            hands.iter_mut().zip(entitled).for_each(|(hands, entitled)| *hands += entitled.may_hold);
        }
        // Four CPUs among five parts of one and one of three.
        for (row, &hands) in hands.iter().enumerate() {
            let share = f64::from(hands) / turns as f64;
            let expected = if row == 5 { 1.5 } else { 0.5 };
            assert!((share / expected - 1.0).abs() < 0.02, "row {row}: {share} of {expected}");
        }
    }

    #[test]
    fn a_low_run_that_waited_long_gets_its_slice_and_no_more() {
        let memory = &table_with(&[Priority::Normal, Priority::Low])[..];
        let put = |field, value| memory.store(row_word(1, field), value);
        (0..4).for_each(|cpu| assert!(hands::take(memory, 0, &CpuSet::of(0..4), cpu).is_some()));
        put(field::WAITING, 2);
        put(field::HUNGRY_SINCE_MS, NOW_MS);
        let may_hold = |now_ms| TableView::look(memory, now_ms).entitled(u32::MAX)[1].may_hold;
        assert_eq!((may_hold(NOW_MS + AGING_LOW_MS - 1), may_hold(NOW_MS + AGING_LOW_MS)), (0, 1));
        let now_ms = NOW_MS + AGING_LOW_MS;
        assert_eq!(TableView::look(memory, now_ms).entitled(u32::MAX)[0].must_return, 1);
        // It has its hand now, above capacity, and a slice that ends.
        assert!(hands::take_above(memory, 1).is_some());
        put(field::SLICE_UNTIL_MS, now_ms + SLICE_MS);
        assert_eq!((may_hold(now_ms + SLICE_MS - 1), may_hold(now_ms + SLICE_MS)), (1, 0));
        put(field::SLICE_UNTIL_MS, u64::MAX);
        assert_eq!(may_hold(now_ms), 0, "a forged slice is none");
    }

    #[test]
    fn what_is_free_is_woken_for_in_turn() {
        let memory = &table_with(&[Priority::Normal, Priority::Low, Priority::High, Priority::High])[..];
        let put = |row, field, value| memory.store(row_word(row, field), value);
        let next = || TableView::look(memory, NOW_MS).next_in_turn();
        assert_eq!(next(), None, "nobody waits");
        (0..3).for_each(|row| put(row, field::WAITING, 1));
        put(3, field::WAITING, 2);
        assert_eq!(next(), Some(3), "of the highest class the one that lacks most");
        let both = [0, 1].map(|cpu| hands::take(memory, 3, &CpuSet::of([cpu]), cpu).expect("it is free"));
        put(3, field::WAITING, 0);
        assert_eq!(next(), Some(2));
        row::write_mask(memory, 2, &CpuSet::of([0]));
        assert_eq!(next(), Some(0), "none of the higher one's CPUs is free");
        assert!(hands::give_back(memory, both[0]));
        assert_eq!(next(), Some(2));
        put(2, field::WAITING, 0);
        put(0, field::WAITING, 0);
        assert_eq!(next(), Some(1), "the rest is for those below");
        assert!((2..4).all(|cpu| hands::take(memory, 3, &CpuSet::of([cpu]), cpu).is_some()));
        assert!(hands::take(memory, 3, &CpuSet::of([0]), 0).is_some());
        assert_eq!(next(), None, "nothing is free");
    }

    #[test]
    fn words_and_rows_make_one_picture() {
        let memory = &table_with(&[Priority::Normal, Priority::High])[..];
        assert!(hands::take(memory, 0, &CpuSet::of([2]), 2).is_some());
        memory.store(hand_word(3), u64::MAX);
        assert!(hands::take_above(memory, 1).is_some());
        let view = TableView::look(memory, NOW_MS);
        assert_eq!((view.held(&view.rows[0]), view.held(&view.rows[1])), (1, 1));
        assert_eq!((view.free, view.cpus), (CpuSet::of([0, 1]), CpuSet::of(0..4)), "a forged word is not free");
        assert_eq!((view.position(1), view.position(2)), (Some(1), None));
    }

    #[test]
    fn a_claim_counts_while_the_hand_is_the_runners() {
        struct Everybody;
        impl hands::Witness for Everybody {
            fn try_lock(&self, _row: usize) -> bool {
                false
            }
            fn unlock(&self, _row: usize) {}
            fn life(&self, _row: usize) -> hands::Life {
                hands::Life::Runs
            }
        }
        let memory = &table_with(&[Priority::Normal, Priority::Normal, Priority::Low])[..];
        let cpu = hands::take(memory, 0, &CpuSet::of([2]), 2).expect("it is free");
        let above = hands::take_above(memory, 0).expect("it is free");
        let claim = |row, taken| hands::claim(memory, &Everybody, row, taken, None);
        let first = claim(1, cpu).expect("nobody has it");
        assert!(claim(1, above).is_some() && claim(2, cpu).is_none(), "each once");
        let view = TableView::look(memory, NOW_MS);
        assert_eq!((view.held(&view.rows[0]), view.held(&view.rows[1])), (2, 0), "the runner holds them");
        assert_eq!((view.inherited(&view.rows[0]), view.inherited(&view.rows[1])), (0, 2));
        let handed_on = hands::claim(memory, &Everybody, 2, cpu, Some(first));
        assert!(handed_on.is_some() && !hands::is_claimed(memory, cpu, first), "by whom it was lent");
        assert!(hands::give_back(memory, cpu) && !hands::is_claimed(memory, cpu, handed_on.expect("claimed")));
        let view = TableView::look(memory, NOW_MS);
        assert_eq!((view.inherited(&view.rows[1]), view.inherited(&view.rows[2])), (1, 0));
        assert!(claim(1, cpu).is_none(), "the hand went back");
    }
}
