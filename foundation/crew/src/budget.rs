//! Hands: the right to use one core now. Who may take one, who must return one.
//!
//! [`Budget`] and [`Lease`] are the interface that the machine-wide table will have; [`InProcess`] is the budget of one
//! process. It knows no priorities between programs: nothing outside this process sees it.

use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use serde::Serialize;

/// How important a run is among the runs that share the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Gets what nobody else wants.
    Idle,
    /// Gives way to normal work.
    Low,
    /// Everyday work.
    #[default]
    Normal,
    /// Served first.
    High,
}

/// What a run asks of the budget.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its class.
    pub priority: Priority,
    /// The number of hands beyond which it would not get faster.
    pub useful_width: usize,
    /// What it is doing, for people: `tamp -9 db.export`.
    pub what: String,
}

/// One hand. Comes from a lease and must go back to the same lease.
#[derive(Debug)]
#[must_use = "a hand that is dropped is lost to everybody; give it back"]
pub struct Hand {
    _only_a_lease_makes_one: (),
}

/// Hands for all runs that share it.
pub trait Budget: Send + Sync {
    /// How many hands there are.
    fn capacity(&self) -> usize;
    /// Signs a run up.
    fn lease(&self, request: Request) -> Box<dyn Lease>;
}

/// One run's share of a budget.
pub trait Lease: Send + Sync {
    /// Takes a hand; sleeps until one can be had.
    fn take(&self) -> Hand;
    /// Gives a hand back.
    fn give_back(&self, hand: Hand);
    /// Whether a hand should go back at this yield point because somebody else is entitled to it.
    fn must_return(&self) -> bool;
    /// Hands taken and given back since the lease began: equal when the run's books balance.
    fn books(&self) -> HandBooks;
}

/// Counts of hands over a lease's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandBooks {
    /// Hands ever taken.
    pub taken: u64,
    /// Hands ever given back.
    pub returned: u64,
}

/// The budget of one process: a counter, fair between its leases.
pub struct InProcess {
    shared: Arc<Shared>,
}

struct Shared {
    capacity: usize,
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    free: usize,
    waiting: usize,
    leases: usize,
}

struct InProcessLease {
    shared: Arc<Shared>,
    books: Mutex<HandBooks>,
}

impl InProcess {
    /// A budget of `capacity` hands, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let state = State { free: capacity, waiting: 0, leases: 0 };
        let shared = Shared { capacity, state: Mutex::new(state), freed: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }
}

impl Budget for InProcess {
    fn capacity(&self) -> usize {
        self.shared.capacity
    }

    fn lease(&self, _request: Request) -> Box<dyn Lease> {
        lock(&self.shared.state).leases += 1;
        Box::new(InProcessLease { shared: Arc::clone(&self.shared), books: Mutex::new(HandBooks::default()) })
    }
}

impl Lease for InProcessLease {
    fn take(&self) -> Hand {
        let mut state = lock(&self.shared.state);
        state.waiting += 1;
        while state.free == 0 {
            state = wait(&self.shared.freed, state);
        }
        state.waiting -= 1;
        state.free -= 1;
        drop(state);
        lock(&self.books).taken += 1;
        Hand { _only_a_lease_makes_one: () }
    }

    fn give_back(&self, hand: Hand) {
        let Hand { _only_a_lease_makes_one: () } = hand;
        lock(&self.books).returned += 1;
        lock(&self.shared.state).free += 1;
        self.shared.freed.notify_one();
    }

    fn must_return(&self) -> bool {
        let held = {
            let books = lock(&self.books);
            (books.taken - books.returned) as usize
        };
        let state = lock(&self.shared.state);
        let fair_share = self.shared.capacity.div_ceil(state.leases.max(1));
        state.waiting > 0 && state.free == 0 && held > fair_share
    }

    fn books(&self) -> HandBooks {
        *lock(&self.books)
    }
}

impl Drop for InProcessLease {
    fn drop(&mut self) {
        lock(&self.shared.state).leases -= 1;
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;

    fn request() -> Request {
        Request { priority: Priority::Normal, useful_width: 4, what: "a test".to_owned() }
    }

    #[test]
    fn a_hungry_lease_gets_what_another_holds_above_its_share() {
        let budget = InProcess::new(2);
        let (first, second) = (budget.lease(request()), budget.lease(request()));
        let (one, two) = (first.take(), first.take());
        assert!(!first.must_return(), "nobody waits yet");
        std::thread::scope(|scope| {
            let hungry = scope.spawn(|| {
                let hand = second.take();
                second.give_back(hand);
            });
            while !first.must_return() {
                std::thread::yield_now();
            }
            first.give_back(one);
            hungry.join().expect("the hungry lease ends");
        });
        first.give_back(two);
        assert_eq!(first.books(), HandBooks { taken: 2, returned: 2 });
        assert_eq!(second.books(), HandBooks { taken: 1, returned: 1 });
    }
}
