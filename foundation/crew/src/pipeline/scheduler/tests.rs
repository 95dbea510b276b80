//! Decisions about paused chunks, without threads.

use super::*;
use crate::measures::Slots;
use crate::pipeline::{CutTurn, Executor, Pause};

/// Lanes of two chunks each.
struct Plain {
    lanes: usize,
    one_sink: bool,
    takes_turns: bool,
}

impl Stages for Plain {
    type Source = u64;
    type Sink = ();
    type Chunk = ();
    type Scratch = ();
    type Error = ();

    fn new_chunk(&self) {}
    fn new_scratch(&self) {}
    fn lanes(&self) -> usize {
        self.lanes
    }
    fn lanes_share_one_sink(&self) -> bool {
        self.one_sink
    }
    fn lanes_take_turns(&self) -> bool {
        self.takes_turns
    }
    fn open(&self, _: usize) -> Result<OpenLane<Self>, ()> {
        Ok(OpenLane { source: 0, sink: (), reading: By::Workers, writing: By::Workers })
    }
    fn cut(&self, source: &mut u64, (): &mut (), _: &mut CutTurn<'_>) -> Result<Cut, ()> {
        *source += 1;
        Ok(if *source > 2 { Cut::End } else { Cut::Noted(1) })
    }
    fn fetch(&self, (): &mut ()) -> Result<(), ()> {
        Ok(())
    }
    fn work(&self, (): &mut (), (): &mut (), _: &mut Pause<'_>) -> Result<(), ()> {
        Ok(())
    }
    fn place(&self, (): &(), (): &mut ()) -> Result<(), ()> {
        Ok(())
    }
    fn write(&self, (): &(), (): &mut ()) -> Result<u64, ()> {
        Ok(1)
    }
    fn interrupt(&self, (): &()) {}
    fn close(&self, _: usize, _: Option<(u64, ())>, _: Result<(), ()>) {}
    fn stage_names(&self) -> [&'static str; 3] {
        ["read", "work", "write"]
    }
}

fn scheduler(stages: &Plain) -> Scheduler<Plain> {
    let slots = Slots { given: 4, wanted: 4, hands_wanted: 3 };
    Scheduler::new(stages, &Staffing { width: 3, slots, lanes_at_once: 4, mode: Executor::Threaded })
}

/// Opens the next lane.
fn open(scheduler: &mut Scheduler<Plain>, stages: &Plain) {
    let Some(Task::Open { lane }) = scheduler.take_task(stages, None) else { panic!("a lane is to be opened") };
    scheduler.opened(lane, stages.open(lane).expect("it never fails"));
}

/// The next chunk of whichever lane has one.
fn cut(scheduler: &mut Scheduler<Plain>, stages: &Plain) -> Option<Segment<Plain>> {
    let Some(Task::Cut { mut source, segment }) = scheduler.take_task(stages, None) else {
        panic!("there is one to cut")
    };
    let (lane, outcome) = (segment.lane, stages.cut(&mut source, &mut (), &mut CutTurn::with_a_hand()));
    scheduler.source_is_home(lane, source);
    scheduler.after_cut(stages, segment, outcome)
}

fn write(scheduler: &mut Scheduler<Plain>, stages: &Plain) {
    let Some(Task::Write(segment)) = scheduler.take_task(stages, None) else { panic!("a chunk is to be written") };
    scheduler.written_by_worker(stages, segment, Ok(1));
}

#[test]
fn the_ticket_that_the_sink_waits_for_is_never_paused() {
    let stages = Plain { lanes: 1, one_sink: false, takes_turns: false };
    let mut scheduler = scheduler(&stages);
    open(&mut scheduler, &stages);
    let (first, second) = (cut(&mut scheduler, &stages).expect("one"), cut(&mut scheduler, &stages).expect("two"));
    assert!(!scheduler.pause(first.lane, first.ticket));
    assert!(scheduler.pause(second.lane, second.ticket), "nothing waits for it yet");
    assert!(scheduler.may_seek(second.lane, second.ticket));
    scheduler.resume(second.lane, second.ticket);
    scheduler.worked(&stages, first, Ok(()));
    assert!(!scheduler.pause(second.lane, second.ticket), "now it is the next one");
}

#[test]
fn of_several_lanes_the_first_ones_next_ticket_goes_on() {
    let stages = Plain { lanes: 2, one_sink: false, takes_turns: false };
    let mut scheduler = scheduler(&stages);
    open(&mut scheduler, &stages);
    let first = cut(&mut scheduler, &stages).expect("one");
    let last = cut(&mut scheduler, &stages).expect("two");
    assert!(cut(&mut scheduler, &stages).is_none(), "the end");
    open(&mut scheduler, &stages);
    let other = cut(&mut scheduler, &stages).expect("of the other lane");
    assert!(scheduler.pause(other.lane, other.ticket));
    scheduler.resume(other.lane, other.ticket);
    scheduler.worked(&stages, last, Ok(()));
    scheduler.worked(&stages, first, Ok(()));
    write(&mut scheduler, &stages);
    write(&mut scheduler, &stages);
    let Some(Task::Close { .. }) = scheduler.take_task(&stages, None) else { panic!("the first lane is over") };
    assert!(!scheduler.pause(other.lane, other.ticket));
}

#[test]
fn while_a_chunk_is_paused_others_are_written_and_nothing_is_begun() {
    let stages = Plain { lanes: 2, one_sink: false, takes_turns: false };
    let mut scheduler = scheduler(&stages);
    open(&mut scheduler, &stages);
    let (first, second) = (cut(&mut scheduler, &stages).expect("one"), cut(&mut scheduler, &stages).expect("two"));
    assert!(scheduler.pause(second.lane, second.ticket));
    assert!(
        !scheduler.has_task(&stages) && scheduler.take_task(&stages, Some(0)).is_none(),
        "neither a cut nor a lane"
    );
    assert_eq!(scheduler.why_idle(), Idle::Paused);
    scheduler.worked(&stages, first, Ok(()));
    assert!(scheduler.has_task(&stages));
    write(&mut scheduler, &stages);
    assert!(!scheduler.has_task(&stages));
    assert!(scheduler.may_seek(second.lane, second.ticket));
    scheduler.resume(second.lane, second.ticket);
    assert!(scheduler.has_task(&stages) && scheduler.paused() == 0);
}

#[test]
fn paused_chunks_go_on_one_at_a_time_from_the_lowest_ticket() {
    let stages = Plain { lanes: 2, one_sink: false, takes_turns: false };
    let mut scheduler = scheduler(&stages);
    open(&mut scheduler, &stages);
    let segments =
        [cut(&mut scheduler, &stages), cut(&mut scheduler, &stages)].map(|segment| segment.expect("two a lane"));
    assert!(cut(&mut scheduler, &stages).is_none());
    open(&mut scheduler, &stages);
    let other = cut(&mut scheduler, &stages).expect("of the other lane");
    let (low, high) = ((segments[1].lane, segments[1].ticket), (other.lane, other.ticket));
    assert!(scheduler.pause(high.0, high.1) && scheduler.pause(low.0, low.1));
    assert!(!scheduler.may_seek(high.0, high.1), "a lower one is paused");
    assert!(scheduler.may_seek(low.0, low.1));
    assert!(!scheduler.may_seek(low.0, low.1), "one does already");
    scheduler.resume(low.0, low.1);
    assert!(scheduler.may_seek(high.0, high.1));
    scheduler.raise_alarm(&stages);
    assert!(scheduler.may_seek(low.0, low.1), "everybody goes home");
    assert!(!scheduler.pause(low.0, low.1));
}

#[test]
fn lanes_that_take_turns_are_opened_early_and_share_the_slots() {
    let stages = Plain { lanes: 2, one_sink: false, takes_turns: true };
    let mut scheduler = scheduler(&stages);
    open(&mut scheduler, &stages);
    let mut lanes = vec![cut(&mut scheduler, &stages).expect("one").lane];
    open(&mut scheduler, &stages);
    lanes.extend((0..3).map(|_| cut(&mut scheduler, &stages).expect("two a lane").lane));
    assert_eq!(lanes, [0, 1, 0, 1]);
    assert!(scheduler.take_task(&stages, None).is_none(), "no slot is left");
}
