//! Workers that wait for other machines and hardly compute, several on one hand: a hand is the right to use a core, and they would leave it idle.
//! A thread that computes beside them takes its hands from the lease itself.

use super::{Hand, HandBooks, HandPlace, Lease};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait_for};
use std::time::Duration;

/// LIMIT: how long a hand that has come free elsewhere is not noticed. Nobody is told of it, since this lease does not count as hungry.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A lease whose hands are used by several workers each.
///
/// It waits for its first hand as every run does. While it has one, it takes others that are free and asks nobody to give one back: what its workers
/// wait for does not come sooner by a core.
pub struct Waiting<'a> {
    lease: Box<dyn Lease + 'a>,
    workers_a_hand: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By the number that is in the workers' hands.
    groups: Vec<Option<Group>>,
    /// A worker waits for a hand of the lease: one is enough, others find a place beside it.
    is_hungry: bool,
    books: HandBooks,
}

/// Workers on one hand.
struct Group {
    hand: Hand,
    workers: usize,
    /// The hand is somebody else's as soon as they have all come to a yield point.
    is_leaving: bool,
}

impl<'a> Waiting<'a> {
    /// Over `lease`.
    pub fn on(lease: Box<dyn Lease + 'a>, workers_a_hand: usize) -> Self {
        Self { lease, workers_a_hand: workers_a_hand.max(1), state: Mutex::default(), changed: Condvar::new() }
    }

    /// A place beside others.
    fn join(&self, state: &mut State) -> Option<Hand> {
        let groups = state.groups.iter_mut().enumerate();
        let has_room = |group: &&mut Group| self.has_room(group);
        let (number, group) =
            groups.filter_map(|(number, group)| Some((number, group.as_mut().filter(has_room)?))).next()?;
        group.workers += 1;
        state.books.taken += 1;
        Some(Hand { place: HandPlace::Beside { number } })
    }

    fn has_room(&self, group: &Group) -> bool {
        !group.is_leaving && group.workers < self.workers_a_hand
    }

    /// The first place on a hand of the lease.
    fn begin(state: &mut MutexGuard<'_, State>, hand: Hand) -> Hand {
        let group = Some(Group { hand, workers: 1, is_leaving: false });
        let number = state.groups.iter().position(Option::is_none).unwrap_or(state.groups.len());
        match state.groups.get_mut(number) {
            Some(free) => *free = group,
            None => state.groups.push(group),
        }
        state.books.taken += 1;
        Hand { place: HandPlace::Beside { number } }
    }
}

/// The number of a hand's group.
fn number_of(hand: &Hand) -> usize {
    match hand.place {
        HandPlace::Beside { number } => number,
        _ => unreachable!("a hand goes back to the lease it came from"),
    }
}

impl Lease for Waiting<'_> {
    fn take(&self) -> Hand {
        let mut state = lock(&self.state);
        loop {
            if let Some(hand) = self.join(&mut state) {
                return hand;
            }
            if !state.is_hungry && state.groups.iter().flatten().all(|group| group.is_leaving) {
                state.is_hungry = true;
                drop(state);
                let hand = self.lease.take();
                state = lock(&self.state);
                state.is_hungry = false;
                self.changed.notify_all();
                return Self::begin(&mut state, hand);
            }
            if let Some(hand) = self.lease.try_take() {
                return Self::begin(&mut state, hand);
            }
            state = wait_for(&self.changed, state, LOOK_AGAIN);
        }
    }

    fn try_take(&self) -> Option<Hand> {
        let mut state = lock(&self.state);
        if let Some(hand) = self.join(&mut state) {
            return Some(hand);
        }
        let hand = self.lease.try_take()?;
        Some(Self::begin(&mut state, hand))
    }

    fn give_back(&self, hand: Hand) {
        let mut state = lock(&self.state);
        state.books.returned += 1;
        let place = &mut state.groups[number_of(&hand)];
        let is_last = place.as_mut().is_some_and(|group| {
            group.workers -= 1;
            group.workers == 0
        });
        let empty = if is_last { place.take() } else { None };
        drop(state);
        if let Some(group) = empty {
            self.lease.give_back(group.hand);
        }
        self.changed.notify_one();
    }

    fn must_return(&self, hand: &Hand) -> bool {
        let mut state = lock(&self.state);
        let Some(group) = &mut state.groups[number_of(hand)] else { return true };
        group.is_leaving = group.is_leaving || self.lease.must_return(&group.hand);
        group.is_leaving
    }

    fn books(&self) -> HandBooks {
        HandBooks { lost: self.lease.books().lost, ..lock(&self.state).books }
    }

    fn inherited(&self) -> usize {
        self.lease.inherited()
    }

    fn set_useful_width(&self, width: usize) {
        self.lease.set_useful_width(width.div_ceil(self.workers_a_hand));
    }

    fn show_progress(&self, source: super::progress::ProgressSource) {
        self.lease.show_progress(source);
    }

    fn may_grow(&self) -> bool {
        // Beside others it needs no hand of its own.
        lock(&self.state).groups.iter().flatten().any(|group| self.has_room(group)) || self.lease.may_grow()
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;
    use crate::budget::{Budget, InProcess, Priority, Request, Weight};

    fn lease(budget: &InProcess) -> Box<dyn Lease> {
        let (priority, weight) = (Priority::Normal, Weight::default());
        budget.lease(Request { priority, weight, useful_width: 2, what: "a test".to_owned() })
    }

    #[test]
    fn several_workers_have_a_hand_and_the_last_one_gives_it_back() {
        let budget = InProcess::new(2);
        let (waiting, other) = (Waiting::on(lease(&budget), 3), lease(&budget));
        let mut hands: Vec<Hand> = (0..3).map(|_| waiting.take()).collect();
        let theirs = other.try_take().expect("three workers have one of two hands");
        assert!(waiting.try_take().is_none(), "a fourth worker needs another one");
        other.give_back(theirs);
        hands.push(waiting.take());
        assert!(other.try_take().is_none());
        hands.drain(..2).for_each(|hand| waiting.give_back(hand));
        assert!(other.try_take().is_none(), "both hands have somebody");
        hands.into_iter().for_each(|hand| waiting.give_back(hand));
        assert_eq!(waiting.books(), HandBooks { taken: 4, returned: 4, lost: 0 });
        assert_eq!(waiting.lease.books(), HandBooks { taken: 2, returned: 2, lost: 0 });
    }

    #[test]
    fn a_hand_that_others_wait_for_is_left_by_all_who_have_it() {
        let budget = InProcess::new(2);
        let (waiting, other) = (Waiting::on(lease(&budget), 2), lease(&budget));
        let hands: Vec<Hand> = (0..4).map(|_| waiting.take()).collect();
        std::thread::scope(|scope| {
            let hungry = scope.spawn(|| {
                let hand = other.take();
                other.give_back(hand);
            });
            while !waiting.must_return(&hands[0]) {
                std::thread::yield_now();
            }
            assert!(waiting.must_return(&hands[1]), "who shares it must, too");
            hands.into_iter().for_each(|hand| waiting.give_back(hand));
            hungry.join().expect("the hungry lease ends");
        });
        let again = waiting.take();
        waiting.give_back(again);
        assert_eq!(waiting.lease.books().taken, waiting.lease.books().returned);
    }

    #[test]
    fn who_waits_for_a_place_gets_the_one_that_comes_free() {
        let budget = InProcess::new(1);
        let waiting = Waiting::on(lease(&budget), 2);
        let (one, two) = (waiting.take(), waiting.take());
        std::thread::scope(|scope| {
            let third = scope.spawn(|| waiting.take());
            waiting.give_back(one);
            let third = third.join().expect("it gets a place while the other one is held");
            waiting.give_back(two);
            waiting.give_back(third);
        });
        assert_eq!(waiting.lease.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
    }
}
