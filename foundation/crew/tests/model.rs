//! Model tests: shuttle steers every lock, wait and thread start of the pipeline through random schedules and reports a
//! deadlock, a lost slot, a lost hand or a broken order with the schedule that showed it.
//!
//! `MH_MODEL_ITERATIONS` sets the schedules per case (default 2,000; 10,000 of the table's protocol). Run by `cargo xtask test`.

#[path = "model_of_hands.rs"]
mod hands;
#[path = "synthetic.rs"]
mod synthetic;

use crew::budget::{Budget, Hand, HandBooks, InProcess, Lease, Priority, Request, Weight};
use crew::measures::{Access, Slots};
use crew::pipeline::{Executor, Staffing, run};
use crew::tally::Tally;
use std::sync::atomic::{AtomicU64, Ordering};
use synthetic::{Costs, Fault, LanePlan, Synthetic, product_of};

#[derive(Clone)]
struct Case {
    lanes: Vec<LanePlan>,
    one_sink: bool,
    width: usize,
    slots: usize,
    hands: usize,
    ahead_a_cut: u64,
}

fn schedules(usual: usize) -> usize {
    std::env::var("MH_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn lane(chunks: u64, reading: Access, writing: Access, faults: &[Fault]) -> LanePlan {
    LanePlan { chunks, reading, writing, faults: faults.to_vec() }
}

/// Runs a case under many schedules: half of them uniformly random, half with few preemptions in unlikely places.
fn explore(case: Case, check: fn(&Synthetic)) {
    let body = move || {
        let mut stages = Synthetic::new(case.lanes.clone(), case.one_sink, Costs::default());
        stages.ahead_a_cut = case.ahead_a_cut;
        let budget = InProcess::new(case.hands);
        let what = "a model".to_owned();
        let lease = budget.lease(Request {
            priority: Priority::Normal,
            weight: Weight::default(),
            useful_width: case.width,
            what,
        });
        let slots = Slots { given: case.slots, wanted: case.slots, hands_wanted: case.width };
        let staffing = Staffing { width: case.width, slots, lanes_at_once: 64, mode: Executor::Threaded };
        run(&stages, &staffing, lease.as_ref(), &Tally::default());
        assert_eq!(stages.closed.lock().expect("over").len(), stages.lanes.len());
        check(&stages);
    };
    shuttle::check_random(body.clone(), schedules(2_000) / 2);
    shuttle::check_pct(body, schedules(2_000) / 2, 3);
}

fn everything_arrived(stages: &Synthetic) {
    let written = stages.written.lock().expect("over");
    for (number, plan) in stages.lanes.iter().enumerate() {
        let expected: Vec<u64> = (0..plan.chunks).map(product_of).collect();
        let values: Vec<u64> = written.get(&number).map(|lane| lane.values().copied().collect()).unwrap_or_default();
        assert_eq!(values, expected, "lane {number}");
    }
}

#[test]
fn files_to_files_with_two_slots_for_three_workers() {
    let file = lane(5, Access::AtOffsets, Access::AtOffsets, &[]);
    explore(
        Case { lanes: vec![file.clone(), file], one_sink: false, width: 3, slots: 2, hands: 3, ahead_a_cut: 0 },
        everything_arrived,
    );
}

#[test]
fn what_is_prepared_ahead_holds_nobody_up() {
    static PREPARED: AtomicU64 = AtomicU64::new(0);
    let file = lane(4, Access::AtOffsets, Access::AtOffsets, &[]);
    explore(Case { lanes: vec![file], one_sink: false, width: 3, slots: 2, hands: 2, ahead_a_cut: 2 }, |stages| {
        everything_arrived(stages);
        let (ahead, prepared) = (&stages.ahead, &stages.prepared);
        assert_eq!(ahead.load(Ordering::Relaxed) + prepared.load(Ordering::Relaxed), 8);
        PREPARED.fetch_add(prepared.load(Ordering::Relaxed), Ordering::Relaxed);
    });
    assert!(PREPARED.load(Ordering::Relaxed) > 0, "in some of the schedules");
}

#[test]
fn a_pipe_to_a_pipe_with_one_slot() {
    let pipe = lane(4, Access::OwnThread, Access::OwnThread, &[]);
    explore(
        Case { lanes: vec![pipe], one_sink: true, width: 2, slots: 1, hands: 2, ahead_a_cut: 0 },
        everything_arrived,
    );
}

#[test]
fn a_computing_source_keeps_its_worker_and_loses_nothing() {
    let stream = lane(5, Access::InTurns, Access::AtOffsets, &[]);
    explore(
        Case { lanes: vec![stream], one_sink: false, width: 2, slots: 3, hands: 2, ahead_a_cut: 0 },
        everything_arrived,
    );
}

#[test]
fn many_lanes_into_one_sink_stay_in_line() {
    let lanes = vec![
        lane(2, Access::AtOffsets, Access::OwnThread, &[]),
        lane(0, Access::AtOffsets, Access::OwnThread, &[]),
        lane(3, Access::InTurns, Access::OwnThread, &[]),
    ];
    explore(Case { lanes, one_sink: true, width: 2, slots: 2, hands: 2, ahead_a_cut: 0 }, |stages| {
        everything_arrived(stages);
        let stream = stages.stream.lock().expect("over");
        assert!(stream.is_sorted_by_key(|(lane, _)| *lane), "a lane is closed before the next one writes: {stream:?}");
    });
}

#[test]
fn a_greedy_reader_of_the_next_lane_cannot_take_the_slots_of_the_one_before() {
    let lanes = vec![
        lane(4, Access::AtOffsets, Access::OwnThread, &[]),
        lane(4, Access::OwnThread, Access::AtOffsets, &[]),
        lane(2, Access::OwnThread, Access::OwnThread, &[]),
    ];
    explore(Case { lanes, one_sink: true, width: 2, slots: 2, hands: 2, ahead_a_cut: 0 }, everything_arrived);
}

#[test]
fn the_failure_of_the_lowest_ticket_wins_in_every_schedule() {
    let faults = [Fault::Work(1), Fault::Work(2), Fault::Write(3)];
    let lanes = vec![lane(5, Access::AtOffsets, Access::AtOffsets, &faults)];
    explore(Case { lanes, one_sink: false, width: 3, slots: 4, hands: 3, ahead_a_cut: 0 }, |stages| {
        assert_eq!(stages.closed.lock().expect("over")[&0], Err(Fault::Work(1)));
    });
}

#[test]
fn one_hand_for_two_workers_is_enough() {
    let pipe = lane(3, Access::OwnThread, Access::AtOffsets, &[]);
    explore(
        Case { lanes: vec![pipe], one_sink: false, width: 2, slots: 3, hands: 1, ahead_a_cut: 0 },
        everything_arrived,
    );
}

/// A lease whose every second look at a yield point finds that the hand must go back.
struct Restless {
    lease: Box<dyn Lease>,
    looks: AtomicU64,
}

impl Lease for Restless {
    fn take(&self) -> Hand {
        self.lease.take()
    }

    fn try_take(&self) -> Option<Hand> {
        self.lease.try_take()
    }

    fn give_back(&self, hand: Hand) {
        self.lease.give_back(hand);
    }

    fn must_return(&self, _hand: &Hand) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) % 2 == 0
    }

    fn books(&self) -> HandBooks {
        self.lease.books()
    }
}

fn a_lease(budget: &InProcess, useful_width: usize) -> Box<dyn Lease> {
    let (priority, weight) = (Priority::Normal, Weight::default());
    budget.lease(Request { priority, weight, useful_width, what: "a model".to_owned() })
}

/// Chunks with yield points in their work, beside another run that takes a hand again and again. The stages themselves see to it that the ticket
/// that the sink waits for is never paused, the pipeline that no slot, no hand and no paused chunk is left.
fn explore_pauses(case: Case, check: fn(&Synthetic)) -> u64 {
    let pauses = std::sync::Arc::new(AtomicU64::new(0));
    let told = std::sync::Arc::clone(&pauses);
    let body = move || {
        let mut stages = Synthetic::new(case.lanes.clone(), case.one_sink, Costs::default());
        stages.points = 2;
        let budget = InProcess::new(case.hands);
        let lease = Restless { lease: a_lease(&budget, case.width), looks: AtomicU64::new(0) };
        // LIMIT: shuttle cannot have the run's first thread wait for a thread that is not of its scope, as it would for the only hand.
        let beside = (case.hands > 1).then(|| {
            let other = a_lease(&budget, 1);
            shuttle::thread::spawn(move || {
                for _ in 0..3 {
                    let hand = other.take();
                    shuttle::thread::yield_now();
                    other.give_back(hand);
                }
            })
        });
        let slots = Slots { given: case.slots, wanted: case.slots, hands_wanted: case.width };
        let staffing = Staffing { width: case.width, slots, lanes_at_once: 64, mode: Executor::Threaded };
        run(&stages, &staffing, &lease, &Tally::default());
        beside.into_iter().for_each(|beside| beside.join().expect("it gets its hands"));
        check(&stages);
        told.fetch_add(stages.pauses.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    shuttle::check_random(body.clone(), schedules(2_000) / 2);
    shuttle::check_pct(body, schedules(2_000) / 2, 3);
    pauses.load(Ordering::Relaxed)
}

#[test]
fn paused_chunks_of_a_file_lose_nothing() {
    let file = lane(5, Access::AtOffsets, Access::AtOffsets, &[]);
    for (hands, slots) in [(1, 2), (2, 3), (3, 4)] {
        let lanes = vec![file.clone()];
        let case = Case { lanes, one_sink: false, width: 3, slots, hands, ahead_a_cut: 0 };
        // With one hand the chunk that the sink waits for is the only one under way.
        assert_eq!(explore_pauses(case, everything_arrived) > 0, hands > 1);
    }
}

#[test]
fn paused_chunks_of_pipes_into_one_sink_lose_nothing() {
    let lanes = vec![
        lane(3, Access::OwnThread, Access::OwnThread, &[]),
        lane(2, Access::InTurns, Access::OwnThread, &[]),
        lane(2, Access::AtOffsets, Access::AtOffsets, &[]),
    ];
    let case = Case { lanes, one_sink: true, width: 2, slots: 3, hands: 2, ahead_a_cut: 0 };
    assert!(explore_pauses(case, everything_arrived) > 0);
}

#[test]
fn paused_chunks_of_several_files_lose_nothing() {
    let lanes = vec![lane(2, Access::AtOffsets, Access::AtOffsets, &[]); 3];
    let case = Case { lanes, one_sink: false, width: 3, slots: 4, hands: 2, ahead_a_cut: 0 };
    assert!(explore_pauses(case, everything_arrived) > 0);
}

#[test]
fn a_lane_that_fails_beside_a_paused_chunk_ends() {
    let faults = [Fault::Work(1), Fault::Write(2)];
    let lanes = vec![
        lane(5, Access::AtOffsets, Access::AtOffsets, &faults),
        lane(3, Access::AtOffsets, Access::OwnThread, &[]),
    ];
    let case = Case { lanes, one_sink: false, width: 3, slots: 4, hands: 2, ahead_a_cut: 0 };
    let paused = explore_pauses(case, |stages| {
        let closed = stages.closed.lock().expect("over");
        assert_eq!((closed[&0], closed[&1]), (Err(Fault::Work(1)), Ok(())));
    });
    assert!(paused > 0);
}

#[test]
fn a_failure_anywhere_ends_its_lane_and_no_other() {
    for fault in [Fault::Open, Fault::Cut(2), Fault::Fetch(1), Fault::Work(1), Fault::Place(2), Fault::Write(1)] {
        for reading in [Access::AtOffsets, Access::InTurns, Access::OwnThread] {
            let lanes = vec![lane(4, reading, Access::OwnThread, &[fault]), lane(3, reading, Access::AtOffsets, &[])];
            let mut case = Case { lanes, one_sink: false, width: 2, slots: 3, hands: 2, ahead_a_cut: 0 };
            explore_quickly(&mut case);
        }
    }
}

/// A tenth of the schedules: for tests that loop over many cases.
fn explore_quickly(case: &mut Case) {
    let case = case.clone();
    let body = move || {
        let mut stages = Synthetic::new(case.lanes.clone(), case.one_sink, Costs::default());
        stages.ahead_a_cut = case.ahead_a_cut;
        let budget = InProcess::new(case.hands);
        let what = "a model".to_owned();
        let lease = budget.lease(Request {
            priority: Priority::Normal,
            weight: Weight::default(),
            useful_width: case.width,
            what,
        });
        let slots = Slots { given: case.slots, wanted: case.slots, hands_wanted: case.width };
        run(
            &stages,
            &Staffing { width: case.width, slots, lanes_at_once: 64, mode: Executor::Threaded },
            lease.as_ref(),
            &Tally::default(),
        );
        let closed = stages.closed.lock().expect("over");
        assert!(closed[&0].is_err());
        assert_eq!(closed[&1], Ok(()));
        let written = stages.written.lock().expect("over");
        assert_eq!(written[&1].values().copied().collect::<Vec<_>>(), (0..3).map(product_of).collect::<Vec<_>>());
    };
    shuttle::check_random(body, schedules(2_000) / 10);
}
