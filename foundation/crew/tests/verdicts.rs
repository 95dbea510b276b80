//! Verdicts on real runs of synthetic stages, each made slow in one place: the books must show where.

#[path = "synthetic.rs"]
mod synthetic;

use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::clocks::{Clocks, StageClock};
use crew::measures::{Access, Measures, Slots};
use crew::pipeline::{Executor, Staffing, run};
use crew::tally::Tally;
use crew::verdict::{Bound, Circumstances, Doubt, NextStep, Verdict, verdict};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use synthetic::{Costs, LanePlan, Synthetic};

struct Scene {
    chunks: u64,
    reading: Access,
    writing: Access,
    costs: Costs,
    width: usize,
    hands: usize,
    slots: Slots,
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn scene() -> Scene {
    Scene {
        chunks: 60,
        reading: Access::OwnThread,
        writing: Access::OwnThread,
        costs: Costs::default(),
        width: 2,
        hands: 2,
        slots: Slots { given: 8, wanted: 8, hands_wanted: 2 },
    }
}

/// One scene at a time: the books have the CPU time of the whole process.
static STAGE: Mutex<()> = Mutex::new(());

fn play(scene: &Scene, circumstances: &Circumstances) -> Verdict {
    let _alone = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let lane = LanePlan { chunks: scene.chunks, reading: scene.reading, writing: scene.writing, faults: Vec::new() };
    let stages = Synthetic::new(vec![lane], false, scene.costs);
    let budget = InProcess::new(scene.hands);
    let what = "a verdict".to_owned();
    let lease = budget.lease(Request {
        priority: Priority::Normal,
        weight: Weight::default(),
        useful_width: scene.width,
        what,
    });
    let staffing = Staffing { width: scene.width, slots: scene.slots, lanes_at_once: 64, mode: Executor::Threaded };
    verdict(&run(&stages, &staffing, lease.as_ref(), &Tally::default()), circumstances)
}

/// LIMIT: runs of a scene that other programs may disturb.
const TRIES: usize = 10;

/// A run of a scene in which other programs did not have the CPU for a good part of the time: the verdict would name that and the forecast
/// be refused, and rightly.
fn undisturbed(scene: &Scene) -> Verdict {
    let runs = (0..TRIES).map(|_| play(scene, &Circumstances::default()));
    let mut undisturbed =
        runs.filter(|verdict| !matches!(verdict.bound, Bound::Cpu { .. }) && verdict.no_forecast.is_none());
    undisturbed.next().expect("a CPU is there in one of several runs")
}

#[test]
fn a_slow_source_is_named() {
    let costs = Costs { read_sleep: ms(5), ..Costs::default() };
    let verdict = undisturbed(&Scene { costs, ..scene() });
    match verdict.bound {
        Bound::Source { stage: "read", occupied, waiting } => assert!(occupied > 0.85 && waiting > 0.9),
        other => panic!("not source-bound: {other:?}"),
    }
    assert_eq!(verdict.next_step, None, "the producer is the limit: no flag helps");
    let forecast = verdict.forecast.expect("long enough");
    assert_eq!(forecast.pays_until_cores, Some(1), "more cores gain nothing: {forecast:?}");
}

#[test]
fn slow_reads_at_offsets_are_the_sources_fault_too() {
    let costs = Costs { read_sleep: ms(5), ..Costs::default() };
    let verdict = undisturbed(&Scene { costs, reading: Access::AtOffsets, ..scene() });
    assert!(matches!(verdict.bound, Bound::Source { waiting, .. } if waiting > 0.9), "{:?}", verdict.bound);
}

/// Measures of a run by two hands, but for where its time went.
fn a_second_of_two() -> Measures {
    Measures {
        wall_ns: 1_000_000_000,
        reading: Access::AtOffsets,
        writing: Access::AtOffsets,
        stage_names: ["walk and read", "pack", "write"],
        width: 2,
        workers: 2,
        slots: Slots { given: 8, wanted: 8, hands_wanted: 2 },
        chunks: 100,
        lanes: 1,
        bytes_in: 1 << 30,
        bytes_out: 1 << 28,
        clocks: Clocks::default(),
        process_cpu_ns: 1_900_000_000,
        divided_turns: None,
    }
}

#[test]
fn cutting_that_takes_all_the_time_is_the_source_though_files_are_read_by_all() {
    let clock = |ms: u64| StageClock { busy_ns: ms * 1_000_000, ..StageClock::default() };
    let clocks = Clocks { read: clock(1_500), cut: clock(500), work: clock(400), ..Clocks::default() };
    let mut measures = Measures { clocks, ..a_second_of_two() };
    let bound = |measures: &Measures| verdict(measures, &Circumstances::default()).bound;
    assert!(matches!(bound(&measures), Bound::Work { stage: "walk and read", .. }));
    measures.clocks.cut = clock(950);
    assert!(matches!(bound(&measures), Bound::Source { stage: "walk and read", occupied, .. } if occupied > 0.9));
}

#[test]
fn hands_that_had_nothing_to_do_are_not_the_sources_fault_nor_those_that_cannot_be_lost() {
    let second = 1_000_000_000;
    let work = StageClock { busy_ns: second * 98 / 100, starved_ns: second, ..StageClock::default() };
    let mut measures = Measures { clocks: Clocks { work, ..Clocks::default() }, ..a_second_of_two() };
    let bound = |measures: &Measures, hands_allowed| {
        verdict(measures, &Circumstances { hands_allowed, ..Circumstances::default() }).bound
    };
    assert!(matches!(bound(&measures, 2), Bound::Work { stage: "pack", hands: 1, busy, .. } if busy > 0.9));
    measures.reading = Access::OwnThread;
    measures.clocks.read = StageClock { busy_ns: second / 2, ..StageClock::default() };
    assert!(matches!(bound(&measures, 2), Bound::Source { .. }), "it was what the others waited for, perhaps");
    // 64 hands of a machine of two cores.
    measures.reading = Access::AtOffsets;
    let unstaffed_ns = 62 * second;
    measures.clocks = Clocks { work: StageClock { busy_ns: 2 * second, unstaffed_ns, ..work }, ..Clocks::default() };
    measures.clocks.work.starved_ns = 0;
    (measures.width, measures.workers) = (64, 64);
    assert!(matches!(bound(&measures, 2), Bound::Work { hands: 2, busy, .. } if busy > 0.9));
    assert!(matches!(bound(&measures, 64), Bound::Unstaffed { .. }), "there are cores, and others have them");
}

#[test]
fn who_waits_for_a_cpu_is_not_kept_by_the_source_nor_by_the_sink() {
    let ms = |ms: u64| ms * 1_000_000;
    let waits = StageClock { busy_ns: ms(50), starved_ns: ms(150), ..StageClock::default() };
    let waits = StageClock { unstaffed_ns: ms(800), cpu_wait_ns: ms(800), ..waits };
    let work = StageClock { busy_ns: ms(200), starved_ns: ms(1_700), ..StageClock::default() };
    let at_the_source = Clocks { read: waits, work, ..Clocks::default() };
    let mut measures = Measures { reading: Access::OwnThread, clocks: at_the_source, ..a_second_of_two() };
    let lowered = Circumstances { priority_is_lowered: true, ..Circumstances::default() };
    let source = verdict(&measures, &lowered);
    assert_eq!(source.bound, Bound::Cpu { stage: "walk and read", share: 0.8 });
    assert_eq!(source.next_step, Some(NextStep::RaisePriority));
    // A producer that is slow all the same.
    measures.clocks.read = StageClock { starved_ns: ms(600), unstaffed_ns: ms(350), cpu_wait_ns: ms(350), ..waits };
    assert!(matches!(verdict(&measures, &lowered).bound, Bound::Source { waiting, .. } if waiting > 0.9));
    // The same at the other end.
    (measures.reading, measures.writing) = (Access::AtOffsets, Access::OwnThread);
    let waits = StageClock { starved_ns: 0, blocked_ns: waits.starved_ns, ..waits };
    measures.clocks = Clocks { write: waits, work, ..Clocks::default() };
    assert_eq!(verdict(&measures, &lowered).bound, Bound::Cpu { stage: "write", share: 0.8 });
    // In the workers' own time.
    measures.writing = Access::AtOffsets;
    let work = StageClock { busy_ns: ms(1_000), ..StageClock::default() };
    let read = StageClock { unstaffed_ns: ms(1_500), cpu_wait_ns: ms(1_500), ..StageClock::default() };
    measures.clocks = Clocks { read, work, ..Clocks::default() };
    assert_eq!(verdict(&measures, &lowered).bound, Bound::Cpu { stage: "walk and read", share: 0.6 });
}

#[test]
fn work_that_sleeps_is_bound_by_what_it_waits_for() {
    let work = StageClock { busy_ns: 500_000_000, blocked_ns: 1_500_000_000, ..StageClock::default() };
    let mut measures = a_second_of_two();
    measures.clocks = Clocks { work: StageClock { asleep_ns: 1_400_000_000, ..work }, ..Clocks::default() };
    let bound = |measures: &Measures| verdict(measures, &Circumstances::default()).bound;
    assert_eq!(bound(&measures), Bound::Asleep { stage: "pack", share: 0.7 });
    // That is no waiting for a slot.
    measures.slots.given = 1;
    assert_eq!(bound(&measures), Bound::Asleep { stage: "pack", share: 0.7 });
    measures.clocks = Clocks { work, ..Clocks::default() };
    assert!(matches!(bound(&measures), Bound::Memory { .. }));
}

#[test]
fn slow_work_is_named_and_more_hands_offered_when_the_user_held_them_back() {
    let costs = Costs { work_spin: ms(6), ..Costs::default() };
    let held_back = Circumstances { hands_allowed: 8, hands_asked: Some(1), ..Circumstances::default() };
    let is_named =
        |verdict: &Verdict| matches!(verdict.bound, Bound::Work { stage: "work", hands: 1, busy, .. } if busy > 0.85);
    // Where other programs have the CPU for most of the time, that is what the verdict names, and rightly; for a quarter, nothing is foretold.
    let is_foretold = |verdict: &Verdict| is_named(verdict) && verdict.forecast.is_some();
    let verdict =
        (0..TRIES).map(|_| play(&Scene { costs, width: 1, hands: 1, ..scene() }, &held_back)).find(is_foretold);
    let verdict = verdict.expect("the work is named, and more hands are foretold, in one of several runs");
    assert_eq!(verdict.next_step, Some(NextStep::AllowMoreHands { asked: 1, allowed: 8 }));
    assert!(verdict.forecast.expect("long enough").one_more_core_saves > 0.4);
}

#[test]
fn a_slow_sink_is_named() {
    let costs = Costs { write_sleep: ms(5), ..Costs::default() };
    let verdict = undisturbed(&Scene { costs, ..scene() });
    assert!(
        matches!(verdict.bound, Bound::Sink { stage: "write", occupied, .. } if occupied > 0.85),
        "{:?}",
        verdict.bound
    );
}

#[test]
fn too_few_hands_are_named() {
    let costs = Costs { work_spin: ms(6), ..Costs::default() };
    let lowered = Circumstances { priority_is_lowered: true, ..Circumstances::default() };
    let verdict = play(&Scene { costs, width: 4, hands: 1, ..scene() }, &lowered);
    assert!(matches!(verdict.bound, Bound::Unstaffed { share } if share > 0.5), "{:?}", verdict.bound);
    assert_eq!(verdict.next_step, Some(NextStep::RaisePriority));
}

#[test]
fn tiny_memory_is_named() {
    let costs = Costs { work_spin: ms(2), read_sleep: ms(2), write_sleep: ms(2) };
    let slots = Slots { given: 1, wanted: 8, hands_wanted: 2 };
    let verdict = undisturbed(&Scene { costs, slots, ..scene() });
    assert!(matches!(verdict.bound, Bound::Memory { slots: 1, slots_wanted: 8, .. }), "{:?}", verdict.bound);
    assert_eq!(
        verdict.next_step,
        Some(NextStep::AllowMoreMemory { slots: 1, slots_wanted: 8, hands: 2, hands_wanted: 2 })
    );
}

#[test]
fn hands_that_a_memory_cap_kept_away_are_named() {
    let second = 1_000_000_000;
    let work = StageClock { busy_ns: 2 * second * 95 / 100, starved_ns: second / 10, ..StageClock::default() };
    let clocks = Clocks { work, ..Clocks::default() };
    let bound = |hands_wanted, hands_allowed| {
        let slots = Slots { given: 3, wanted: 2 * hands_wanted + 2, hands_wanted };
        let measures = Measures { slots, clocks, ..a_second_of_two() };
        let verdict = verdict(&measures, &Circumstances { hands_allowed, ..Circumstances::default() });
        (verdict.bound, verdict.next_step)
    };
    let (by, step) = bound(8, 8);
    assert!(matches!(by, Bound::Memory { hands: 2, hands_wanted: 8, share, .. } if share > 0.7), "{by:?}");
    assert_eq!(step, Some(NextStep::AllowMoreMemory { slots: 3, slots_wanted: 18, hands: 2, hands_wanted: 8 }));
    assert!(matches!(bound(2, 8), (Bound::Work { .. }, None)), "all hands fitted");
    assert!(matches!(bound(8, 2), (Bound::Work { .. }, None)), "there are no CPUs for more");
}

#[test]
fn a_run_too_short_to_measure_gets_no_verdict() {
    let verdict = play(&Scene { chunks: 2, ..scene() }, &Circumstances::default());
    assert!(matches!(verdict.bound, Bound::CannotTell { reason: Doubt::TooShort { .. } }), "{:?}", verdict.bound);
    assert_eq!(verdict.forecast, None);
}
