//! The budget of one process: a counter, fair between its leases. It knows no priorities between programs: nothing outside
//! this process sees it. Stands in where there is no table.

use super::{Budget, Hand, HandBooks, HandPlace, Lease, Request};
use crate::sync::{Arc, Condvar, Mutex, lock, wait};

/// A counter of free hands.
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

impl InProcessLease {
    fn taken(&self) -> Hand {
        lock(&self.books).taken += 1;
        Hand { place: HandPlace::Counted }
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
        self.taken()
    }

    fn try_take(&self) -> Option<Hand> {
        let mut state = lock(&self.shared.state);
        state.free = state.free.checked_sub(1)?;
        drop(state);
        Some(self.taken())
    }

    fn give_back(&self, hand: Hand) {
        debug_assert_eq!(hand.place, HandPlace::Counted, "a hand goes back to the lease it came from");
        lock(&self.books).returned += 1;
        lock(&self.shared.state).free += 1;
        self.shared.freed.notify_one();
    }

    fn must_return(&self, _hand: &Hand) -> bool {
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
    use crate::budget::{Priority, Weight};

    fn request() -> Request {
        let (priority, weight) = (Priority::Normal, Weight::default());
        Request { priority, weight, useful_width: 4, what: "a test".to_owned() }
    }

    #[test]
    fn a_hungry_lease_gets_what_another_holds_above_its_share() {
        let budget = InProcess::new(2);
        let (first, second) = (budget.lease(request()), budget.lease(request()));
        let (one, two) = (first.take(), first.take());
        assert!(!first.must_return(&one), "nobody waits yet");
        assert!(second.try_take().is_none(), "nothing is free");
        std::thread::scope(|scope| {
            let hungry = scope.spawn(|| {
                let hand = second.take();
                second.give_back(hand);
            });
            while !first.must_return(&one) {
                std::thread::yield_now();
            }
            first.give_back(one);
            hungry.join().expect("the hungry lease ends");
        });
        first.give_back(two);
        assert_eq!(first.books(), HandBooks { taken: 2, returned: 2, lost: 0 });
        assert_eq!(second.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
    }
}
