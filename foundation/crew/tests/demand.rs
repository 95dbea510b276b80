//! A run whose source has become slow gives its hands away while it goes, and has them again when work waits.

#[path = "synthetic.rs"]
mod synthetic;

use crew::budget::{Budget, Hand, HandBooks, InProcess, Lease, Priority, Request, Weight};
use crew::measures::{Access, Slots};
use crew::pipeline::{Executor, Staffing, run};
use crew::tally::Tally;
use std::sync::Mutex;
use std::time::Duration;
use synthetic::{Costs, LanePlan, Synthetic};

const WIDTH: usize = 8;

/// A lease that remembers what it was told.
struct Listening {
    inner: Box<dyn Lease>,
    told: Mutex<Vec<usize>>,
}

impl Lease for Listening {
    fn take(&self) -> Hand {
        self.inner.take()
    }

    fn try_take(&self) -> Option<Hand> {
        self.inner.try_take()
    }

    fn give_back(&self, hand: Hand) {
        self.inner.give_back(hand);
    }

    fn must_return(&self, hand: &Hand) -> bool {
        self.inner.must_return(hand)
    }

    fn books(&self) -> HandBooks {
        self.inner.books()
    }

    fn set_useful_width(&self, width: usize) {
        self.told.lock().expect("no panic").push(width);
    }
}

fn told_by(lanes: Vec<LanePlan>, costs: Costs) -> Vec<usize> {
    let stages = Synthetic::new(lanes, true, costs);
    let (priority, weight, what) = (Priority::Normal, Weight::default(), String::new());
    let inner = InProcess::new(WIDTH).lease(Request { priority, weight, useful_width: WIDTH, what });
    let lease = Listening { inner, told: Mutex::default() };
    let slots = Slots { given: 2 * WIDTH, wanted: 2 * WIDTH, hands_wanted: WIDTH };
    let staffing = Staffing { width: WIDTH, slots, lanes_at_once: 64, mode: Executor::Threaded };
    run(&stages, &staffing, &lease, &Tally::default());
    lease.told.into_inner().expect("no panic")
}

fn lane(reading: Access, chunks: u64) -> LanePlan {
    LanePlan { chunks, reading, writing: Access::OwnThread, faults: Vec::new() }
}

#[test]
fn a_slow_source_gives_hands_away_and_a_flood_takes_them_back() {
    // A pipe that trickles for longer than the window of a second, then chunks that are there at once.
    let costs = Costs { read_sleep: Duration::from_millis(8), work_spin: Duration::from_millis(1), ..Costs::default() };
    let told = told_by(vec![lane(Access::OwnThread, 300), lane(Access::AtOffsets, 200)], costs);
    let first = *told.first().expect("it said that fewer do");
    assert!(first < WIDTH, "{told:?}");
    assert!(told.iter().any(|&width| width > first), "it grew again: {told:?}");
    assert_eq!(told.iter().max(), Some(&WIDTH), "{told:?}");
}

#[test]
fn a_run_that_has_work_for_all_says_nothing() {
    let told =
        told_by(vec![lane(Access::AtOffsets, 50)], Costs { work_spin: Duration::from_millis(1), ..Costs::default() });
    assert_eq!(told, Vec::<usize>::new(), "it was over within a window, or busy");
}
