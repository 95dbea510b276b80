//! The protocol of the hand words: take, give back, and reap the hands of runs that died or were stopped.
//! Does not decide which run is entitled, never waits, and holds no lock of its own. Theory: `foundation/crew/BUDGET.md`.
//!
//! The one rule behind every repair: read the word, *then* ask whether its owner is gone, then compare and swap that very
//! word. Each taking is one of its kind ([`HandWord`]), so what is freed is a hand of the one who was asked about, or nothing.

use super::cpu_set::CpuSet;
use super::layout::{CPU_SLOTS, CPUS, ClaimWord, HandWord, ROWS, claim_word, cpu_slot_above, hand_word};
use super::memory::Memory;
use super::row;

/// A hand that was taken: its CPU slot and the CPU slot's word since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The CPU, or the CPU slot above capacity; below [`CPU_SLOTS`].
    pub cpu_slot: usize,
    /// What its word must still be.
    pub word: HandWord,
}

/// What is known about a row's owner without its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Nothing speaks against its running.
    Runs,
    /// It is stopped (SIGSTOP, a debugger) and can use no hand.
    Stopped,
    /// It is dead, though its lock may still be held: its memory is being taken down, or a stray child keeps the lock.
    Gone,
}

/// Who knows about the owners of rows: the kernel, or a model of it.
pub trait Witness {
    /// Takes `row`'s lock if nobody holds it. Never called for a row of the caller's own.
    fn try_lock(&self, row: usize) -> bool;
    /// Lets it go.
    fn unlock(&self, row: usize);
    /// What can be seen of `row`'s owner.
    fn life(&self, row: usize) -> Life;
}

/// Takes a free CPU of `cpus` for `row`, trying `start` first.
pub fn take<M: Memory + ?Sized>(memory: &M, row: usize, cpus: &CpuSet, start: usize) -> Option<Taken> {
    let start = start % CPUS;
    if cpus.contains(start)
        && let Some(taken) = take_at(memory, row, start)
    {
        return Some(taken);
    }
    cpus.iter().find_map(|cpu| take_at(memory, row, cpu))
}

/// Takes the first hand of `row` above capacity. The caller has found that it may.
pub fn take_above<M: Memory + ?Sized>(memory: &M, row: usize) -> Option<Taken> {
    take_at(memory, row, cpu_slot_above(row))
}

fn take_at<M: Memory + ?Sized>(memory: &M, row: usize, cpu_slot: usize) -> Option<Taken> {
    let at = hand_word(cpu_slot);
    let old = HandWord(memory.load(at));
    let word = old.taken_by(row);
    (old.is_free() && memory.exchange(at, old.0, word.0)).then_some(Taken { cpu_slot, word })
}

/// Gives a hand back; false when it had been taken away meanwhile.
pub fn give_back<M: Memory + ?Sized>(memory: &M, taken: Taken) -> bool {
    memory.exchange(hand_word(taken.cpu_slot), taken.word.0, taken.word.freed().0)
}

/// Whether the hand is still its taker's.
pub fn is_held<M: Memory + ?Sized>(memory: &M, taken: Taken) -> bool {
    memory.load(hand_word(taken.cpu_slot)) == taken.word.0
}

/// The hands of `row` now that are CPUs.
pub fn hands_of<M: Memory + ?Sized>(memory: &M, row: usize) -> Vec<Taken> {
    let taken = |cpu_slot| Taken { cpu_slot, word: HandWord(memory.load(hand_word(cpu_slot))) };
    (0..CPUS).map(taken).filter(|taken| taken.word.row() == Some(row)).collect()
}

/// What `row` claims now, and the CPU slots.
pub fn claims_of<M: Memory + ?Sized>(memory: &M, row: usize) -> Vec<(usize, ClaimWord)> {
    let claim = |cpu_slot| (cpu_slot, ClaimWord(memory.load(claim_word(cpu_slot))));
    (0..CPU_SLOTS).map(claim).filter(|(_, claim)| claim.row() == Some(row)).collect()
}

/// Claims for `row` the hand that a runner holds as `taken`, unless another run that lives has claimed it. `lent` is the claim of
/// a run between the two, which was itself given the hand and gives it on.
pub fn claim<M: Memory + ?Sized>(
    memory: &M,
    witness: &impl Witness,
    row: usize,
    taken: Taken,
    lent: Option<ClaimWord>,
) -> Option<ClaimWord> {
    let at = claim_word(taken.cpu_slot);
    let mut old = ClaimWord(memory.load(at));
    if Some(old) != lent && old.is_of(taken.word) {
        // Nobody asks for the lock of a row of its own, and what says so there is forged: a row is emptied when it is claimed.
        let other = old.row().filter(|&other| other != row);
        other.inspect(|&other| {
            reap(memory, witness, other);
        });
        old = ClaimWord(memory.load(at));
        if other.is_some() && old.is_of(taken.word) {
            return None;
        }
    }
    // ORDER: the hand is looked at behind the old claim: then that is one of this taking or of an earlier one. Otherwise it could be
    // that of a later one, and be lost by what follows.
    let new = old.claimed_by(row, taken.word);
    if !is_held(memory, taken) || !memory.exchange(at, old.0, new.0) {
        return None;
    }
    // ORDER: the hand is looked at again behind the claim: whoever frees it after this look is noticed at a yield point.
    if is_held(memory, taken) {
        return Some(new);
    }
    give_up(memory, taken.cpu_slot, new);
    None
}

/// Gives a claim up; false when it had been taken over meanwhile.
pub fn give_up<M: Memory + ?Sized>(memory: &M, cpu_slot: usize, claim: ClaimWord) -> bool {
    memory.exchange(claim_word(cpu_slot), claim.0, claim.freed().0)
}

/// Whether the claim is still its claimer's, and of a hand that its runner still holds.
pub fn is_claimed<M: Memory + ?Sized>(memory: &M, taken: Taken, claim: ClaimWord) -> bool {
    memory.load(claim_word(taken.cpu_slot)) == claim.0 && is_held(memory, taken)
}

/// Claims a row for its caller, who holds its lock from then on. Rows that look unused come first; when there are none, rows of
/// the dead that nobody has reaped yet. None when all belong to the living.
pub fn claim_row<M: Memory + ?Sized>(memory: &M, witness: &impl Witness) -> Option<usize> {
    let in_use: Vec<usize> = row::present(memory).collect();
    let unused = (0..ROWS).filter(|row| in_use.binary_search(row).is_err());
    let row = unused.chain(in_use.iter().copied()).find(|&row| witness.try_lock(row))?;
    empty(memory, row);
    Some(row)
}

/// Leaves nothing of `row`'s last owner. The caller holds its lock, so no new owner can come meanwhile; if the caller dies on
/// the way, the next one who gets the lock begins anew.
pub fn empty<M: Memory + ?Sized>(memory: &M, row: usize) -> usize {
    row::clear(memory, row);
    claims_of(memory, row).into_iter().for_each(|(cpu_slot, claim)| {
        give_up(memory, cpu_slot, claim);
    });
    hands_of(memory, row).into_iter().filter(|&taken| give_back(memory, taken)).count()
}

/// Looks after `row`, which is not the caller's: frees what a dead or stopped owner holds. Returns how many hands.
pub fn reap<M: Memory + ?Sized>(memory: &M, witness: &impl Witness, row: usize) -> usize {
    // Before the question whether it lives: see the rule above.
    let (hands, claims) = (hands_of(memory, row), claims_of(memory, row));
    if witness.try_lock(row) {
        let freed = empty(memory, row);
        witness.unlock(row);
        return freed;
    }
    if witness.life(row) == Life::Runs {
        return 0;
    }
    // From here on it may come to life again, or be replaced: it will find itself set aside, and says that it is there.
    row::change_standing(memory, row, |standing| row::Standing { is_set_aside: true, ..standing });
    row::unmark_hungry(memory, row);
    claims.into_iter().for_each(|(cpu_slot, claim)| {
        give_up(memory, cpu_slot, claim);
    });
    hands.into_iter().filter(|&taken| give_back(memory, taken)).count()
}

/// Reaps every row in use and every row that a word or a claim names, except `own`; frees words that name no row at all. Returns how many
/// hands came free.
pub fn reap_all<M: Memory + ?Sized>(memory: &M, witness: &impl Witness, own: usize) -> usize {
    let mut named = [false; ROWS];
    let mut freed = 0;
    row::present(memory).for_each(|row| named[row] = true);
    let claim = |cpu_slot| ClaimWord(memory.load(claim_word(cpu_slot)));
    (0..CPU_SLOTS).filter_map(|cpu_slot| claim(cpu_slot).row()).for_each(|row| named[row] = true);
    for cpu_slot in 0..CPUS {
        let word = HandWord(memory.load(hand_word(cpu_slot)));
        match word.row() {
            Some(row) => named[row] = true,
            None if word.is_free() => {}
            None => freed += usize::from(give_back(memory, Taken { cpu_slot, word })),
        }
    }
    let others = (0..ROWS).filter(|&row| named[row] && row != own);
    freed + others.map(|row| reap(memory, witness, row)).sum::<usize>()
}
