//! The hands that a run has from the runner that started it: claimed once when it comes, used before any of its own, kept
//! until it ends. Knows which of them are in use; the table knows whose they are.

use super::hands::Taken;
use super::layout::ClaimWord;
use super::lease_token::{LeaseToken, PassedHand};
use super::seat::Seat;
use crate::sync::{Mutex, lock};

/// A run's inherited hands; most runs have none.
#[derive(Default)]
pub(super) struct Inheritance {
    hands: Mutex<Vec<Inherited>>,
    /// How many there were to begin with: what the quick path asks.
    count: usize,
}

struct Inherited {
    taken: Taken,
    claim: ClaimWord,
    is_out: bool,
}

impl Inheritance {
    /// Claims what `lease_token` names, as far as nobody else has. Nothing of it when it is of another table.
    pub(super) fn claim(seat: &Seat, lease_token: &LeaseToken) -> Self {
        if lease_token.table != seat.table_number() {
            return Self::default();
        }
        let claimed = |passed: &PassedHand| {
            let claim = seat.claim_hand(passed.taken, passed.lent)?;
            Some(Inherited { taken: passed.taken, claim, is_out: false })
        };
        let hands: Vec<Inherited> = lease_token.hands.iter().filter_map(claimed).collect();
        Self { count: hands.len(), hands: Mutex::new(hands) }
    }

    /// How many there were to begin with.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether one is there that is not in use.
    pub(super) fn has_idle(&self, seat: &Seat) -> bool {
        !self.is_empty() && lock(&self.hands).iter_mut().any(|hand| !hand.is_out && hand.is_ours(seat))
    }

    /// Takes one into use; its number.
    pub(super) fn take(&self, seat: &Seat) -> Option<usize> {
        let mut hands = lock(&self.hands);
        let number = hands.iter_mut().position(|hand| !hand.is_out && hand.is_ours(seat))?;
        hands[number].is_out = true;
        Some(number)
    }

    /// Whether the hand is still this run's to use.
    pub(super) fn is_ours(&self, seat: &Seat, number: usize) -> bool {
        lock(&self.hands)[number].is_ours(seat)
    }

    /// Takes one out of use; whether it was still ours. The claim stays, for the next who takes.
    pub(super) fn give_back(&self, seat: &Seat, number: usize) -> bool {
        let hand = &mut lock(&self.hands)[number];
        hand.is_out = false;
        hand.is_ours(seat)
    }

    /// The hand, to be handed on.
    pub(super) fn passed(&self, number: usize) -> PassedHand {
        let hand = &lock(&self.hands)[number];
        PassedHand { taken: hand.taken, lent: Some(hand.claim) }
    }
}

impl Inherited {
    /// Whether this run has the claim. Who was handed it on took it over, and gave it up at its end: then it is ours again.
    fn is_ours(&mut self, seat: &Seat) -> bool {
        if seat.is_claimed(self.taken, self.claim) {
            return true;
        }
        match seat.claim_hand(self.taken, None) {
            Some(claim) => {
                self.claim = claim;
                true
            }
            None => false,
        }
    }
}
