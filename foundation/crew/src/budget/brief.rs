//! The lease of a run that may be over before anybody could notice it. It begins with one hand of its own, and takes part in
//! the budget when it has lasted: to read what the machine is, open the table and claim a row costs more than copying ten files.

use super::progress::ProgressSource;
use super::{Hand, HandBooks, HandPlace, Lease, LeaseToken};
use crate::sync::{Mutex, lock};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a run counts as brief. Longer leaves other cores idle, and other runs uninformed, for longer; shorter, and runs that are
/// nearly over pay for a share they do not use.
const BRIEF: Duration = Duration::from_millis(1);

/// What a run takes part with once it has lasted.
pub struct Joined {
    /// In the budget.
    pub lease: Box<dyn Lease>,
    /// Whether more than one hand would make it faster.
    pub may_grow: bool,
}

/// Begins alone, and becomes what `join` gives when the run has lasted.
pub struct Brief<Join> {
    join: Join,
    began: Instant,
    joined: OnceLock<Joined>,
    /// How far it is, until it takes part.
    progress: Mutex<Option<ProgressSource>>,
    /// Of the hand that it begins with.
    books: Mutex<HandBooks>,
}

impl<Join: Fn() -> Joined + Send + Sync> Brief<Join> {
    /// From now on.
    pub fn new(join: Join) -> Self {
        Self {
            join,
            began: Instant::now(),
            joined: OnceLock::new(),
            progress: Mutex::default(),
            books: Mutex::default(),
        }
    }

    /// Takes part now, if it does not yet.
    pub fn join_now(&self) -> &dyn Lease {
        self.take_part().lease.as_ref()
    }

    fn take_part(&self) -> &Joined {
        let joined = self.joined.get_or_init(&self.join);
        if let Some(source) = lock(&self.progress).take() {
            joined.lease.show_progress(source);
        }
        joined
    }

    fn joined(&self) -> Option<&dyn Lease> {
        self.joined.get().map(|joined| joined.lease.as_ref())
    }

    fn is_over(&self) -> bool {
        self.joined.get().is_some() || self.began.elapsed() >= BRIEF
    }

    /// The hand that the run begins with, while the run is brief and nobody has it.
    fn first_hand(&self) -> Option<Hand> {
        if self.is_over() {
            return None;
        }
        let mut books = lock(&self.books);
        (books.taken == books.returned).then(|| {
            books.taken += 1;
            Hand { place: HandPlace::Outset }
        })
    }
}

impl<Join: Fn() -> Joined + Send + Sync> Lease for Brief<Join> {
    fn take(&self) -> Hand {
        self.first_hand().unwrap_or_else(|| self.join_now().take())
    }

    fn try_take(&self) -> Option<Hand> {
        self.first_hand().or_else(|| self.is_over().then(|| self.join_now().try_take())?)
    }

    fn give_back(&self, hand: Hand) {
        match hand.place {
            HandPlace::Outset => lock(&self.books).returned += 1,
            _ => self.join_now().give_back(hand),
        }
    }

    /// The first hand goes back once: for one of the budget's.
    fn must_return(&self, hand: &Hand) -> bool {
        match hand.place {
            HandPlace::Outset => self.is_over(),
            _ => self.join_now().must_return(hand),
        }
    }

    fn books(&self) -> HandBooks {
        let (own, joined) = (*lock(&self.books), self.joined().map(Lease::books).unwrap_or_default());
        HandBooks { taken: own.taken + joined.taken, returned: own.returned + joined.returned, lost: joined.lost }
    }

    fn lease_token(&self, hands: &[&Hand]) -> Option<LeaseToken> {
        if hands.iter().any(|hand| hand.place == HandPlace::Outset) {
            return None;
        }
        self.joined()?.lease_token(hands)
    }

    fn inherited(&self) -> usize {
        self.joined().map_or(0, Lease::inherited)
    }

    fn set_useful_width(&self, width: usize) {
        self.join_now().set_useful_width(width);
    }

    fn show_progress(&self, source: ProgressSource) {
        match self.joined() {
            Some(lease) => lease.show_progress(source),
            None => *lock(&self.progress) = Some(source),
        }
    }

    fn may_grow(&self) -> bool {
        self.is_over() && {
            let joined = self.take_part();
            joined.may_grow && joined.lease.may_grow()
        }
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;
    use crate::budget::{Budget, InProcess, Priority, Request, Weight};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn of_two_hands() -> Joined {
        let (priority, weight) = (Priority::Normal, Weight::default());
        let request = Request { priority, weight, useful_width: 2, what: "a test".to_owned() };
        Joined { lease: InProcess::new(2).lease(request), may_grow: true }
    }

    fn last(brief: &Brief<impl Fn() -> Joined + Send + Sync>) {
        while !brief.is_over() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_run_that_is_over_at_once_joins_nothing() {
        let joins = AtomicUsize::new(0);
        let brief = Brief::new(|| {
            joins.fetch_add(1, Ordering::Relaxed);
            of_two_hands()
        });
        // A test machine may be slow: what counts is what it says before it has lasted.
        if let Some(hand) = brief.first_hand() {
            assert!(brief.first_hand().is_none(), "there is one");
            assert_eq!(brief.inherited(), 0);
            brief.give_back(hand);
            assert_eq!(brief.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
        }
        assert_eq!(joins.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_run_that_lasts_changes_its_hand_for_one_of_the_budget() {
        let brief = Brief::new(of_two_hands);
        let first = brief.take();
        last(&brief);
        let was_first = first.place == HandPlace::Outset;
        assert!(brief.may_grow());
        assert_eq!(brief.must_return(&first), was_first);
        let second = brief.take();
        assert_eq!(second.place, HandPlace::Counted);
        brief.give_back(first);
        let third = brief.try_take().expect("the budget has two");
        assert!(brief.try_take().is_none());
        brief.give_back(second);
        brief.give_back(third);
        let books = brief.books();
        assert_eq!((books.taken, books.returned), (3, 3));
    }

    #[test]
    fn one_that_is_told_to_join_is_no_longer_brief() {
        let brief = Brief::new(|| Joined { may_grow: false, ..of_two_hands() });
        assert_eq!(brief.join_now().books(), HandBooks::default());
        assert!(brief.first_hand().is_none());
        assert!(!brief.may_grow(), "as it was said");
    }
}
