//! Properties of the pipeline over random lanes, faults, widths and slots: order kept, nothing lost, nothing twice, the
//! first failure by ticket wins, and the threads agree with the single core.

#[path = "synthetic.rs"]
mod synthetic;

use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::measures::{Access, Slots};
use crew::pipeline::{Executor, Staffing, run};
use crew::tally::Tally;
use proptest::prelude::*;
use synthetic::{Costs, Fault, LanePlan, Seen, Synthetic, product_of};

fn drive(stages: &Synthetic, width: usize, slots: usize, mode: Executor) {
    let budget = InProcess::new(width);
    let lease = budget.lease(Request {
        priority: Priority::Normal,
        weight: Weight::default(),
        useful_width: width,
        what: "a test".to_owned(),
    });
    let staffing =
        Staffing { width, slots: Slots { given: slots, wanted: slots, hands_wanted: width }, lanes_at_once: 64, mode };
    run(stages, &staffing, lease.as_ref(), &Tally::default());
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::AtOffsets), Just(Access::InTurns), Just(Access::OwnThread)]
}

fn writing() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::AtOffsets), Just(Access::OwnThread)]
}

fn fault() -> impl Strategy<Value = Fault> {
    let chunk = 0..24_u64;
    prop_oneof![
        Just(Fault::Open),
        chunk.clone().prop_map(Fault::Cut),
        chunk.clone().prop_map(Fault::Fetch),
        chunk.clone().prop_map(Fault::Work),
        chunk.clone().prop_map(Fault::Place),
        chunk.prop_map(Fault::Write),
    ]
}

fn lane() -> impl Strategy<Value = LanePlan> {
    let faults = prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec(fault(), 1..3)];
    (0..24_u64, access(), writing(), faults).prop_map(|(chunks, reading, writing, faults)| LanePlan {
        chunks,
        reading,
        writing,
        faults,
    })
}

/// Where a fault strikes: at which chunk, and at which of its stages. Faults behind the end never do.
fn strikes(plan: &LanePlan, fault: Fault) -> Option<(u64, u8)> {
    let (chunk, stage) = match fault {
        Fault::Open => (0, 0),
        Fault::Cut(chunk) => (chunk, 1),
        Fault::Fetch(chunk) => (chunk, 2),
        Fault::Work(chunk) => (chunk, 3),
        Fault::Place(chunk) => (chunk, 4),
        Fault::Write(chunk) => (chunk, 5),
    };
    // The end of the source is a cut, too, and opening comes before all.
    let reached = chunk < plan.chunks || (stage == 1 && chunk == plan.chunks) || stage == 0;
    reached.then_some((chunk, stage))
}

/// The fault that a lane must fail with: that of the lowest ticket, and of its earliest stage.
fn first_fault(plan: &LanePlan) -> Option<Fault> {
    plan.faults
        .iter()
        .copied()
        .filter(|&fault| strikes(plan, fault).is_some())
        .min_by_key(|&fault| strikes(plan, fault))
}

/// The chunk at which a lane must fail.
fn first_failing_chunk(plan: &LanePlan) -> Option<u64> {
    first_fault(plan).and_then(|fault| strikes(plan, fault)).map(|(chunk, _)| chunk)
}

fn check(stages: &Synthetic) -> Result<(), TestCaseError> {
    let closed = stages.closed.lock().expect("the run is over");
    let written = stages.written.lock().expect("the run is over");
    prop_assert_eq!(closed.len(), stages.lanes.len(), "every lane is closed");
    for (number, plan) in stages.lanes.iter().enumerate() {
        let empty = Default::default();
        let values = written.get(&number).unwrap_or(&empty);
        match first_failing_chunk(plan) {
            None => {
                prop_assert_eq!(&closed[&number], &Ok(()));
                let expected: Vec<u64> = (0..plan.chunks).map(product_of).collect();
                prop_assert_eq!(values.values().copied().collect::<Vec<_>>(), expected);
            }
            Some(failing) => {
                prop_assert_eq!(&closed[&number], &Err(first_fault(plan).expect("it fails")));
                // What comes before the failing chunk is written and whole; what is written is right.
                for chunk in 0..failing {
                    prop_assert_eq!(values.get(&chunk).copied(), Some(product_of(chunk)));
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_is_kept_and_the_first_failure_by_ticket_wins(
        lanes in prop::collection::vec(lane(), 0..6),
        one_sink in any::<bool>(),
        width in prop_oneof![Just(1_usize), Just(2), Just(3), Just(64)],
        slots in 1..9_usize,
        ahead_a_cut in 0..3_u64,
    ) {
        let mut threaded = Synthetic::new(lanes.clone(), one_sink, Costs::default());
        threaded.ahead_a_cut = ahead_a_cut;
        drive(&threaded, width, slots, Executor::Threaded);
        check(&threaded)?;
        let single = Synthetic::new(lanes, one_sink, Costs::default());
        drive(&single, 1, 1, Executor::SingleCore);
        check(&single)?;
        if single.lanes.iter().all(|plan| first_failing_chunk(plan).is_none()) {
            prop_assert_eq!(&*threaded.written.lock().expect("over"), &*single.written.lock().expect("over"));
        }
    }

    #[test]
    fn lanes_with_one_sink_are_written_one_after_another(
        chunks in prop::collection::vec(0..12_u64, 1..6),
        width in 1..5_usize,
        slots in 1..7_usize,
        reading in access(),
    ) {
        let plan = |chunks: &u64| LanePlan { chunks: *chunks, reading, writing: Access::OwnThread, faults: Vec::new() };
        let stages = Synthetic::new(chunks.iter().map(plan).collect(), true, Costs::default());
        drive(&stages, width, slots, Executor::Threaded);
        let lane_seen = |(lane, chunks): (usize, &u64)| {
            let values = (0..*chunks).map(move |chunk| (lane, Seen::Value(product_of(chunk))));
            values.chain([(lane, Seen::Closed)])
        };
        let expected: Vec<(usize, Seen)> = chunks.iter().enumerate().flat_map(lane_seen).collect();
        prop_assert_eq!(&*stages.stream.lock().expect("over"), &expected);
    }
}

#[test]
fn sixty_four_threads_and_a_thousand_chunks_lose_nothing() {
    for round in 0..20 {
        let plan = |lane: u64| LanePlan {
            chunks: 150 + lane,
            reading: [Access::AtOffsets, Access::InTurns, Access::OwnThread][lane as usize % 3],
            writing: [Access::AtOffsets, Access::OwnThread][lane as usize % 2],
            faults: if lane == round % 7 { vec![Fault::Work(90), Fault::Write(33)] } else { Vec::new() },
        };
        let stages = Synthetic::new((0..7).map(plan).collect(), false, Costs::default());
        drive(&stages, 64, 80, Executor::Threaded);
        check(&stages).expect("the properties hold");
    }
}
