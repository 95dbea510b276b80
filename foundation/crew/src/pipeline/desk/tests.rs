//! Decisions about paused chunks, without threads.

use super::*;
use crate::measures::Slots;
use crate::pipeline::{CutTurn, Executor, Pause};

/// Lanes of two chunks each.
struct Plain {
    lanes: usize,
    one_sink: bool,
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

fn desk(stages: &Plain) -> Desk<Plain> {
    let slots = Slots { given: 4, wanted: 4, hands_wanted: 3 };
    Desk::new(stages, &Staffing { width: 3, slots, lanes_at_once: 4, mode: Executor::Threaded })
}

/// Opens the next lane.
fn open(desk: &mut Desk<Plain>, stages: &Plain) {
    let Some(Task::Open { lane }) = desk.take_task(stages, None) else { panic!("a lane is to be opened") };
    desk.opened(lane, stages.open(lane).expect("it never fails"));
}

/// The next chunk of whichever lane has one.
fn cut(desk: &mut Desk<Plain>, stages: &Plain) -> Option<Piece<Plain>> {
    let Some(Task::Cut { mut source, piece }) = desk.take_task(stages, None) else { panic!("there is one to cut") };
    let (lane, outcome) = (piece.lane, stages.cut(&mut source, &mut (), &mut CutTurn::with_a_hand()));
    desk.source_is_home(lane, source);
    desk.after_cut(stages, piece, outcome)
}

fn write(desk: &mut Desk<Plain>, stages: &Plain) {
    let Some(Task::Write(piece)) = desk.take_task(stages, None) else { panic!("a chunk is to be written") };
    desk.written_by_worker(stages, piece, Ok(1));
}

#[test]
fn the_ticket_that_the_sink_waits_for_is_never_paused() {
    let stages = Plain { lanes: 1, one_sink: false };
    let mut desk = desk(&stages);
    open(&mut desk, &stages);
    let (first, second) = (cut(&mut desk, &stages).expect("one"), cut(&mut desk, &stages).expect("two"));
    assert!(!desk.pause(first.lane, first.ticket));
    assert!(desk.pause(second.lane, second.ticket), "nothing waits for it yet");
    assert!(desk.may_seek(second.lane, second.ticket));
    desk.resume(second.lane, second.ticket);
    desk.worked(&stages, first, Ok(()));
    assert!(!desk.pause(second.lane, second.ticket), "now it is the next one");
}

#[test]
fn of_several_lanes_the_first_ones_next_ticket_goes_on() {
    let stages = Plain { lanes: 2, one_sink: false };
    let mut desk = desk(&stages);
    open(&mut desk, &stages);
    let first = cut(&mut desk, &stages).expect("one");
    let last = cut(&mut desk, &stages).expect("two");
    assert!(cut(&mut desk, &stages).is_none(), "the end");
    open(&mut desk, &stages);
    let other = cut(&mut desk, &stages).expect("of the other lane");
    assert!(desk.pause(other.lane, other.ticket));
    desk.resume(other.lane, other.ticket);
    desk.worked(&stages, last, Ok(()));
    desk.worked(&stages, first, Ok(()));
    write(&mut desk, &stages);
    write(&mut desk, &stages);
    let Some(Task::Close { .. }) = desk.take_task(&stages, None) else { panic!("the first lane is over") };
    assert!(!desk.pause(other.lane, other.ticket));
}

#[test]
fn while_a_chunk_is_paused_others_are_written_and_nothing_is_begun() {
    let stages = Plain { lanes: 2, one_sink: false };
    let mut desk = desk(&stages);
    open(&mut desk, &stages);
    let (first, second) = (cut(&mut desk, &stages).expect("one"), cut(&mut desk, &stages).expect("two"));
    assert!(desk.pause(second.lane, second.ticket));
    assert!(!desk.has_task(&stages) && desk.take_task(&stages, Some(0)).is_none(), "neither a cut nor a lane");
    assert_eq!(desk.why_idle(), Idle::Paused);
    desk.worked(&stages, first, Ok(()));
    assert!(desk.has_task(&stages));
    write(&mut desk, &stages);
    assert!(!desk.has_task(&stages));
    assert!(desk.may_seek(second.lane, second.ticket));
    desk.resume(second.lane, second.ticket);
    assert!(desk.has_task(&stages) && desk.paused() == 0);
}

#[test]
fn paused_chunks_go_on_one_at_a_time_from_the_lowest_ticket() {
    let stages = Plain { lanes: 2, one_sink: false };
    let mut desk = desk(&stages);
    open(&mut desk, &stages);
    let pieces = [cut(&mut desk, &stages), cut(&mut desk, &stages)].map(|piece| piece.expect("two a lane"));
    assert!(cut(&mut desk, &stages).is_none());
    open(&mut desk, &stages);
    let other = cut(&mut desk, &stages).expect("of the other lane");
    let (low, high) = ((pieces[1].lane, pieces[1].ticket), (other.lane, other.ticket));
    assert!(desk.pause(high.0, high.1) && desk.pause(low.0, low.1));
    assert!(!desk.may_seek(high.0, high.1), "a lower one is paused");
    assert!(desk.may_seek(low.0, low.1));
    assert!(!desk.may_seek(low.0, low.1), "one does already");
    desk.resume(low.0, low.1);
    assert!(desk.may_seek(high.0, high.1));
    desk.raise_alarm(&stages);
    assert!(desk.may_seek(low.0, low.1), "everybody goes home");
    assert!(!desk.pause(low.0, low.1));
}
