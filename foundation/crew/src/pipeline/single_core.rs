//! The pipeline without threads: one lane after another, one chunk at a time, in the calling thread.
//! The reference that every threaded run must equal byte for byte, and the executor for work too small to share.

use super::{AccessCounts, Cut, Fill, Held, Pause, Ran, Stages, cut};
use crate::budget::Lease;
use crate::clocks::{Clocks, OffCpu, RunDelay, StageClock, timed};
use crate::tally::Tally;
use crate::verdict::SHORTEST_JUDGED;
use std::time::Instant;

/// The one hand of a run, which goes back when others are entitled to it.
struct OnlyHand<'a> {
    held: Option<Held<'a>>,
    lease: &'a dyn Lease,
    tally: &'a Tally,
}

impl<'a> OnlyHand<'a> {
    fn take(lease: &'a dyn Lease, tally: &'a Tally) -> Self {
        Self { held: Some(Held::take(lease, Some(tally))), lease, tally }
    }

    /// A yield point: gives the hand back and waits for one, if it must. Whether that was so.
    fn give_way(&mut self) -> bool {
        if !self.held.as_ref().is_some_and(Held::must_return) {
            return false;
        }
        drop(self.held.take());
        self.held = Some(Held::take(self.lease, Some(self.tally)));
        true
    }

    /// The same in the middle of work, whose time without a hand is booked in `away`.
    fn give_way_within(&mut self, away: &mut StageClock) -> bool {
        let mut clock = StageClock::default();
        let has_waited = timed(&mut clock, OffCpu::NoHand, || self.give_way());
        if has_waited {
            away.add(&clock);
        }
        has_waited
    }
}

/// Runs all lanes to their end.
pub(super) fn run<S: Stages>(stages: &S, lease: &dyn Lease, tally: &Tally) -> Ran {
    let begin = Instant::now();
    let mut ran = Ran { clocks: Clocks::default(), workers: 1, access: AccessCounts::default() };
    let mut chunk = stages.new_chunk();
    let mut scratch = stages.new_scratch();
    let mut hand = OnlyHand::take(lease, tally);
    for lane in 0..stages.lanes() {
        match timed(&mut ran.clocks.lanes, OffCpu::Blocked, || stages.open(lane)) {
            Err(error) => stages.close(lane, None, Err(error)),
            Ok(open) => {
                ran.access.lane(open.reading, open.writing);
                let (mut source, sink) = (open.source, open.sink);
                let outcome = loop {
                    match one_chunk(stages, &mut source, &sink, &mut chunk, &mut scratch, &mut ran.clocks, &mut hand) {
                        Ok(Cut::End) => break Ok(()),
                        Ok(cut) => ran.access.cut(cut),
                        Err(error) => break Err(error),
                    }
                    hand.give_way();
                };
                timed(&mut ran.clocks.lanes, OffCpu::Blocked, || stages.close(lane, Some((source, sink)), outcome));
            }
        }
    }
    drop(hand);
    // LIMIT: small work is over sooner than the file could be read, and gets no verdict. That of longer runs has what the thread
    // waited before this run too: the start of a program.
    if begin.elapsed() >= SHORTEST_JUDGED {
        ran.clocks.tell_cpu_waits(RunDelay::since_its_begin().so_far_ns());
    }
    ran
}

fn one_chunk<S: Stages>(
    stages: &S,
    source: &mut S::Source,
    sink: &S::Sink,
    chunk: &mut S::Chunk,
    scratch: &mut S::Scratch,
    clocks: &mut Clocks,
    hand: &mut OnlyHand<'_>,
) -> Result<Cut, S::Error> {
    let tally = hand.tally;
    let cut = cut(stages, source, chunk, clocks)?;
    let Some(bytes) = cut.bytes() else { return Ok(cut) };
    tally.took(bytes);
    timed(&mut clocks.read, OffCpu::Starved, || stages.fetch(chunk))?;
    stages.about_to_work(chunk, &Fill { slots: 1, free: 0, waiting: 0, to_write: 0 });
    // While the hand is away the chunk keeps its buffers: there is no other that could go on.
    let mut away = StageClock::default();
    let mut look = || hand.give_way_within(&mut away);
    let mut pause = Pause::now_and_then(&mut look).counting(tally, bytes);
    let worked = timed(&mut clocks.work, OffCpu::NoCpu, || stages.work(scratch, chunk, &mut pause));
    let counted = pause.counted();
    clocks.work.had_no_hand(&away);
    worked?;
    tally.did(bytes - counted);
    timed(&mut clocks.write, OffCpu::Blocked, || {
        stages.place(sink, chunk)?;
        tally.gave(stages.write(sink, chunk)?);
        Ok(())
    })?;
    Ok(cut)
}
