//! The whole table at one look, and what the entitlement makes of it.
//! Not a consistent cut, since others go on meanwhile: the words decide, this only says what is worth trying.

use super::Priority;
use super::cpu_set::CpuSet;
use super::entitlement::{Claim, Entitled, entitlements};
use super::layout::{HandWord, ROWS, hand_word};
use super::memory::Memory;
use super::row::{self, RowSeen};

/// After so long without a hand a `low` run gets one for a slice, whoever else is there. Larger starves it longer; smaller
/// takes more from the classes above: a slice in ten seconds is one hundredth of a core.
pub const AGING_LOW_MS: u64 = 10_000;
/// The same for `idle` runs.
pub const AGING_IDLE_MS: u64 = 60_000;
/// How long the hand that was got by waiting may be kept; in any case until the next yield point.
pub const SLICE_MS: u64 = 100;

/// A look at the table.
pub struct View {
    /// When, in milliseconds of CLOCK_MONOTONIC.
    pub now_ms: u64,
    /// Rows in use, ascending.
    pub rows: Vec<RowSeen>,
    /// CPUs that some row may use.
    pub cpus: CpuSet,
    /// Those of them that nobody has.
    pub free: CpuSet,
    words_of_row: Box<[u32; ROWS]>,
}

impl View {
    /// Looks at all rows, then at all words that they may take.
    pub fn look<M: Memory + ?Sized>(memory: &M, now_ms: u64) -> Self {
        let rows: Vec<RowSeen> = row::present(memory).filter_map(|row| row::read(memory, row)).collect();
        let cpus = rows.iter().fold(CpuSet::default(), |all, row| all.or(&row.cpus));
        let mut free = CpuSet::default();
        let mut words_of_row = Box::new([0; ROWS]);
        for cpu in cpus.iter() {
            let word = HandWord(memory.load(hand_word(cpu)));
            match word.row() {
                Some(row) => words_of_row[row] += 1,
                None if word.is_free() => free.insert(cpu),
                None => {}
            }
        }
        Self { now_ms, rows, cpus, free, words_of_row }
    }

    /// Where `row` stands among [`View::rows`].
    pub fn position(&self, row: usize) -> Option<usize> {
        self.rows.binary_search_by_key(&row, |seen| seen.row).ok()
    }

    /// Hands that `seen` holds, one above capacity included.
    pub fn held(&self, seen: &RowSeen) -> u32 {
        self.words_of_row[seen.row] + u32::from(seen.is_above)
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
            seen.waiting > 0 && self.now_ms.saturating_sub(seen.hungry_since_ms) >= patience_ms
        }
    }

    /// The rows as the entitlement wants them.
    pub fn claims(&self) -> Vec<Claim> {
        self.rows.iter().map(|seen| self.claim(seen)).collect()
    }

    /// What each row may do, in the order of [`View::rows`].
    pub fn entitled(&self, capacity: u32) -> Vec<Entitled> {
        entitlements(capacity, &self.claims())
    }

    /// What each row could hold if everybody wanted as much as would make them faster: what is held beyond that is lent.
    pub fn entitled_if_all_wanted(&self, capacity: u32) -> Vec<Entitled> {
        let greedy = |claim: Claim| Claim { waiting: claim.useful_width, ..claim };
        let claims: Vec<Claim> = self.claims().into_iter().map(greedy).collect();
        entitlements(capacity, &claims)
    }

    fn claim(&self, seen: &RowSeen) -> Claim {
        Claim {
            class: seen.standing.class,
            weight: u32::from(seen.standing.weight.get()),
            cpus: seen.cpus,
            quota: seen.quota,
            useful_width: seen.useful_width,
            held: self.held(seen),
            waiting: seen.waiting,
            rests: !seen.standing.is_active(),
            is_aged: self.is_aged(seen),
        }
    }
}
