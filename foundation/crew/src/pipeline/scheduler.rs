//! The pipeline's scheduler: which worker may do what next, as a state machine without threads, clocks or I/O.
//!
//! `threaded` holds it under one lock and carries out the tasks. Every rule that keeps the run bounded, ordered and free
//! of deadlock is in this file; `foundation/crew/README.md` argues why they suffice.

use super::{By, Cut, Fill, OpenLane, SharedSink, Staffing, Stages};
use crate::sync::Arc;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Workers that write one file at the same time. The kernel holds a file's inode lock exclusively while it copies a buffered
/// write, so a second writer spins on it instead of working: 5 % of all CPU time on tmpfs (docs/journal/0001-tamp-first-slice.md).
const WRITERS_A_FILE: usize = 1;

/// A chunk's order number in its lane.
pub(super) type Ticket = u64;

/// A chunk on its way, with what is needed to go on with it.
pub(super) struct Segment<S: Stages> {
    pub lane: usize,
    pub ticket: Ticket,
    pub chunk: S::Chunk,
    /// Source bytes of the chunk, once it is cut.
    pub bytes: u64,
    pub sink: SharedSink<S>,
}

/// Something a worker can do now.
pub(super) enum Task<S: Stages> {
    Open { lane: usize },
    Cut { source: S::Source, segment: Segment<S> },
    Work(Segment<S>),
    Write(Segment<S>),
    LookAhead,
    Close { lane: usize, source: S::Source, sink: SharedSink<S>, outcome: Result<(), S::Error> },
}

/// Why a worker has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// There is nothing to work on yet.
    Starved,
    /// There is no free slot: later stages hold them all.
    Blocked,
    /// There is a paused chunk, which comes first.
    Paused,
}

struct Lane<S: Stages> {
    /// At home between cuts; a worker or the lane's own thread has it otherwise.
    source: Option<S::Source>,
    sink: SharedSink<S>,
    reading: By,
    writing: By,
    /// Nothing more will be cut.
    cut_to_end: bool,
    next_ticket: Ticket,
    next_to_place: Ticket,
    /// Workers that are writing it right now.
    writers: usize,
    /// Worked on, waiting for earlier tickets.
    parked: BTreeMap<Ticket, S::Chunk>,
    /// Placed, waiting for the lane's writing thread.
    outbox: VecDeque<(Ticket, S::Chunk)>,
    /// Slots that this lane holds.
    held: usize,
    /// The error of the lowest ticket so far.
    failure: Option<(Ticket, S::Error)>,
}

/// All state of a threaded run.
pub(super) struct Scheduler<S: Stages> {
    free: Vec<S::Chunk>,
    slots: usize,
    lanes: BTreeMap<usize, Lane<S>>,
    next_lane: usize,
    lane_count: usize,
    /// Lanes that a worker is opening right now.
    opening: usize,
    /// Lanes that a worker is closing right now.
    closing: usize,
    in_order: bool,
    open_lanes_max: usize,
    ready: VecDeque<Segment<S>>,
    writable: VecDeque<Segment<S>>,
    /// Chunks in all lanes' outboxes.
    in_outboxes: usize,
    /// Lane and ticket of chunks whose work stands still for want of a hand.
    paused: BTreeSet<(usize, Ticket)>,
    /// One of them waits for a hand of the lease.
    is_resuming: bool,
    /// A thread panicked: everybody goes home.
    alarm: bool,
}

impl<S: Stages> Scheduler<S> {
    pub fn new(stages: &S, staffing: &Staffing) -> Self {
        let slots = staffing.slots.given.max(1);
        Self {
            free: (0..slots).map(|_| stages.new_chunk()).collect(),
            slots,
            lanes: BTreeMap::new(),
            next_lane: 0,
            lane_count: stages.lanes(),
            opening: 0,
            closing: 0,
            in_order: stages.lanes_share_one_sink(),
            // LIMIT: open files. One more than the workers lets the next file open while each has one; never more than
            // the slots, so that a lane that waits for a producer cannot hold the only one.
            open_lanes_max: (staffing.width + 1).min(slots).min(staffing.lanes_at_once).max(1),
            ready: VecDeque::new(),
            writable: VecDeque::new(),
            in_outboxes: 0,
            paused: BTreeSet::new(),
            is_resuming: false,
            alarm: false,
        }
    }

    /// The next task for a worker. `cutting` is the lane whose source this worker has just used: a source that computes
    /// stays with its worker (its state is in that core's cache) as long as slots are free.
    pub fn take_task(&mut self, stages: &S, cutting: Option<usize>) -> Option<Task<S>> {
        if let Some(at) = self.writable_now() {
            let segment = self.writable.remove(at).expect("found just now");
            self.lane_of(&segment).writers += 1;
            return Some(Task::Write(segment));
        }
        if let Some(lane) = self.closable() {
            return Some(self.take_close(lane));
        }
        if !self.paused.is_empty() {
            return None;
        }
        if let Some(lane) = cutting.filter(|lane| self.can_cut(*lane)) {
            return Some(self.take_cut(lane));
        }
        if let Some(segment) = self.ready.pop_front() {
            return Some(Task::Work(segment));
        }
        // Lanes that take turns are opened while there are slots for all of them.
        let all_have_chunks = || self.lanes.values().all(|lane| lane.held > 0);
        if stages.lanes_take_turns() && self.can_open() && all_have_chunks() {
            return Some(self.take_open());
        }
        if let Some(lane) = self.cuttable(stages) {
            return Some(self.take_cut(lane));
        }
        if self.can_open() {
            return Some(self.take_open());
        }
        stages.can_look_ahead().then_some(Task::LookAhead)
    }

    /// Whether [`Scheduler::take_task`] would find something.
    pub fn has_task(&self, stages: &S) -> bool {
        self.writable_now().is_some()
            || self.closable().is_some()
            || (self.paused.is_empty()
                && (!self.ready.is_empty()
                    || self.can_open()
                    || self.cuttable(stages).is_some()
                    || stages.can_look_ahead()))
    }

    /// Whether the work on a chunk may stand still, and if so notes that it does. The ticket that the sink waits for is never paused: the
    /// first open lane's next one. Until all paused chunks have gone on, nothing else is begun.
    pub fn pause(&mut self, lane: usize, ticket: Ticket) -> bool {
        let first = self.lanes.first_key_value().map(|(&number, lane)| (number, lane.next_to_place));
        let may_pause = !self.alarm && first != Some((lane, ticket));
        may_pause && self.paused.insert((lane, ticket))
    }

    /// Whether a paused chunk's worker is to wait for a hand now: one at a time, the lowest ticket first.
    pub fn may_seek(&mut self, lane: usize, ticket: Ticket) -> bool {
        let is_next = !self.is_resuming && self.paused.first() == Some(&(lane, ticket));
        self.is_resuming |= is_next;
        is_next || self.alarm
    }

    /// A paused chunk has a hand again.
    pub fn resume(&mut self, lane: usize, ticket: Ticket) {
        self.paused.remove(&(lane, ticket));
        self.is_resuming = false;
    }

    /// Chunks whose work stands still.
    pub fn paused(&self) -> usize {
        self.paused.len()
    }

    pub fn is_finished(&self) -> bool {
        let nothing_open = self.lanes.is_empty() && self.opening == 0 && self.closing == 0;
        self.alarm || (self.next_lane == self.lane_count && nothing_open)
    }

    pub fn why_idle(&self) -> Idle {
        match (self.paused.is_empty(), self.free.is_empty()) {
            (false, _) => Idle::Paused,
            (true, true) => Idle::Blocked,
            (true, false) => Idle::Starved,
        }
    }

    /// How full it is.
    pub fn fill(&self) -> Fill {
        let to_write = self.in_outboxes + self.writable.len();
        Fill { slots: self.slots, free: self.free.len(), waiting: self.ready.len(), to_write }
    }

    /// Sends everybody home after a panic: nothing is waited for any more.
    pub fn raise_alarm(&mut self, stages: &S) {
        self.alarm = true;
        self.lanes.values().for_each(|lane| stages.interrupt(&lane.sink));
    }

    /// At the end every slot must be home.
    pub fn assert_balanced(&self) {
        if self.alarm {
            return;
        }
        assert_eq!(self.free.len(), self.slots, "every slot must have come back");
        assert!(self.paused.is_empty() && !self.is_resuming, "every paused chunk must have gone on");
    }

    /// The first segment whose file has a writer to spare.
    fn writable_now(&self) -> Option<usize> {
        self.writable.iter().position(|segment| self.lanes[&segment.lane].writers < WRITERS_A_FILE)
    }

    fn lane_of(&mut self, segment: &Segment<S>) -> &mut Lane<S> {
        self.lanes.get_mut(&segment.lane).expect("a lane stays open while it holds a slot")
    }

    fn can_open(&self) -> bool {
        let open = self.lanes.len() + self.opening + self.closing;
        let room = self.next_lane < self.lane_count && open < self.open_lanes_max;
        if !self.in_order {
            return room && !self.free.is_empty();
        }
        let previous_is_cut = self.lanes.values().next_back().is_none_or(|lane| lane.cut_to_end);
        room && previous_is_cut && self.opening == 0
    }

    fn can_cut(&self, lane: usize) -> bool {
        let reading_in_workers = |lane: &Lane<S>| lane.reading == By::Workers && lane.source.is_some();
        !self.free.is_empty() && self.lanes.get(&lane).is_some_and(|lane| reading_in_workers(lane) && !lane.cut_to_end)
    }

    fn cuttable(&self, stages: &S) -> Option<usize> {
        if self.free.is_empty() {
            return None;
        }
        let mut open = self.lanes.keys().copied().filter(|&lane| self.can_cut(lane));
        if stages.lanes_take_turns() { open.min_by_key(|lane| self.lanes[lane].held) } else { open.next() }
    }

    fn closable(&self) -> Option<usize> {
        let is_closable = |lane: &Lane<S>| lane.cut_to_end && lane.source.is_some() && lane.held == 0;
        let mut open = self.lanes.iter();
        if self.in_order {
            let in_line = (self.closing == 0).then(|| open.next()).flatten();
            return in_line.filter(|(_, lane)| is_closable(lane)).map(|(&number, _)| number);
        }
        open.find(|(_, lane)| is_closable(lane)).map(|(&number, _)| number)
    }

    fn take_open(&mut self) -> Task<S> {
        self.opening += 1;
        self.next_lane += 1;
        Task::Open { lane: self.next_lane - 1 }
    }

    fn take_cut(&mut self, number: usize) -> Task<S> {
        let chunk = self.free.pop().expect("a cut is offered only while a slot is free");
        let lane = self.lanes.get_mut(&number).expect("a cut is offered only for an open lane");
        let source = lane.source.take().expect("a cut is offered only while the source is home");
        Task::Cut { source, segment: lane.issue(number, chunk) }
    }

    fn take_close(&mut self, number: usize) -> Task<S> {
        self.closing += 1;
        let lane = self.lanes.remove(&number).expect("a close is offered only for an open lane");
        let source = lane.source.expect("a close is offered only while the source is home");
        let outcome = lane.failure.map_or(Ok(()), |(_, error)| Err(error));
        Task::Close { lane: number, source, sink: lane.sink, outcome }
    }

    /// A slot for the thread that reads lane `number`, or why not.
    pub fn take_slot(&mut self, number: usize) -> SlotAnswer<S> {
        let lane = self.lanes.get_mut(&number).filter(|lane| !lane.cut_to_end && !self.alarm);
        let Some(lane) = lane else { return SlotAnswer::Stop };
        match self.free.pop() {
            Some(chunk) => SlotAnswer::Slot(lane.issue(number, chunk)),
            None => SlotAnswer::Wait,
        }
    }

    /// Takes the source of a lane that reads in its own thread; `None` where the lane has ended already.
    pub fn take_source(&mut self, number: usize) -> Option<S::Source> {
        self.lanes.get_mut(&number).filter(|lane| !lane.cut_to_end)?.source.take()
    }

    /// Brings it back, with nothing more to cut.
    pub fn return_source(&mut self, number: usize, source: S::Source) {
        let lane = self.lanes.get_mut(&number).expect("a lane stays open while its source is away");
        lane.source = Some(source);
        lane.cut_to_end = true;
    }

    /// There is no thread to write this lane's pipe: workers do, one at a time and in the order of placing.
    pub fn workers_write(&mut self, number: usize) {
        self.lanes.get_mut(&number).expect("a lane just opened is open").writing = By::Workers;
    }

    /// There is no thread to read this lane's pipe: workers do, in turns.
    pub fn workers_read(&mut self, number: usize) {
        self.lanes.get_mut(&number).expect("a lane just opened is open").reading = By::Workers;
    }

    pub fn opened(&mut self, number: usize, open: OpenLane<S>) {
        self.opening -= 1;
        self.lanes.insert(
            number,
            Lane {
                source: Some(open.source),
                sink: Arc::new(open.sink),
                reading: open.reading,
                writing: open.writing,
                cut_to_end: false,
                next_ticket: 0,
                next_to_place: 0,
                writers: 0,
                parked: BTreeMap::new(),
                outbox: VecDeque::new(),
                held: 0,
                failure: None,
            },
        );
    }

    /// A lane could not be opened; its failure has been reported.
    pub fn open_failed(&mut self) {
        self.opening -= 1;
    }

    /// A lane was closed. The next one in line may be placed now.
    pub fn closed(&mut self, stages: &S) {
        self.closing -= 1;
        if self.in_order
            && let Some(&oldest) = self.lanes.keys().next()
        {
            self.place_what_is_in_order(stages, oldest);
        }
    }

    /// What came of a cut, without its source. Gives the segment back to be worked on at once, when there is one.
    pub fn after_cut(&mut self, stages: &S, segment: Segment<S>, outcome: Result<Cut, S::Error>) -> Option<Segment<S>> {
        match outcome {
            Ok(Cut::Noted(_) | Cut::Taken(_)) if self.is_wanted(&segment) => return Some(segment),
            Ok(Cut::Noted(_) | Cut::Taken(_)) => self.release(segment),
            Ok(Cut::End) => {
                self.lane_of(&segment).cut_to_end = true;
                self.release(segment);
            }
            Err(error) => self.fail(stages, segment, error),
        }
        None
    }

    /// Brings a source back after a cut by a worker.
    pub fn source_is_home(&mut self, lane: usize, source: S::Source) {
        self.lanes.get_mut(&lane).expect("a lane stays open while its source is away").source = Some(source);
    }

    /// Queues a segment for any worker.
    pub fn queue(&mut self, segment: Segment<S>) {
        self.ready.push_back(segment);
    }

    pub fn worked(&mut self, stages: &S, segment: Segment<S>, outcome: Result<(), S::Error>) {
        match outcome {
            Ok(()) if self.is_wanted(&segment) => {
                let (number, ticket) = (segment.lane, segment.ticket);
                let lane = self.lanes.get_mut(&number).expect("a lane stays open while it holds a slot");
                lane.parked.insert(ticket, segment.chunk);
                self.place_what_is_in_order(stages, number);
            }
            Ok(()) => self.release(segment),
            Err(error) => self.fail(stages, segment, error),
        }
    }

    /// A worker has written a segment.
    pub fn written_by_worker(&mut self, stages: &S, segment: Segment<S>, outcome: Result<u64, S::Error>) {
        self.lane_of(&segment).writers -= 1;
        self.written(stages, segment, outcome);
    }

    pub fn written(&mut self, stages: &S, segment: Segment<S>, outcome: Result<u64, S::Error>) {
        match outcome {
            Ok(_) => self.release(segment),
            Err(error) => self.fail(stages, segment, error),
        }
    }

    /// Whether a thread that reads a lane would get something other than [`SlotAnswer::Wait`].
    pub fn has_answer_for_readers(&self) -> bool {
        !self.free.is_empty() || self.lanes.values().any(|lane| lane.reading == By::OwnThread && lane.cut_to_end)
    }

    /// Whether a thread that writes a lane would get something other than [`OutboxAnswer::Wait`].
    pub fn has_answer_for_writers(&self) -> bool {
        let has_ended = |lane: &Lane<S>| lane.writing == By::OwnThread && lane.cut_to_end && lane.held == 0;
        self.in_outboxes > 0 || self.lanes.values().any(has_ended)
    }

    /// The next segment for the thread that writes lane `number`.
    pub fn take_outbox(&mut self, number: usize) -> OutboxAnswer<S> {
        let lane = self.lanes.get_mut(&number).filter(|_| !self.alarm);
        let Some(lane) = lane else { return OutboxAnswer::Stop };
        match lane.outbox.pop_front() {
            Some((ticket, chunk)) => {
                self.in_outboxes -= 1;
                OutboxAnswer::Segment(Segment { lane: number, ticket, chunk, bytes: 0, sink: Arc::clone(&lane.sink) })
            }
            None if lane.cut_to_end && lane.held == 0 => OutboxAnswer::Stop,
            None => OutboxAnswer::Wait,
        }
    }

    /// Moves parked chunks whose turn has come on to their writer.
    fn place_what_is_in_order(&mut self, stages: &S, number: usize) {
        let in_line = self.closing == 0 && self.lanes.keys().next() == Some(&number);
        if self.in_order && !in_line {
            return;
        }
        loop {
            let Some(lane) = self.lanes.get_mut(&number) else { return };
            let ticket = lane.next_to_place;
            let Some(mut chunk) = lane.parked.remove(&ticket) else { return };
            match stages.place(&lane.sink, &mut chunk) {
                Ok(()) => {
                    lane.next_to_place += 1;
                    if lane.writing == By::OwnThread {
                        lane.outbox.push_back((ticket, chunk));
                        self.in_outboxes += 1;
                    } else {
                        let sink = Arc::clone(&lane.sink);
                        self.writable.push_back(Segment { lane: number, ticket, chunk, bytes: 0, sink });
                    }
                }
                Err(error) => {
                    let sink = Arc::clone(&lane.sink);
                    self.fail(stages, Segment { lane: number, ticket, chunk, bytes: 0, sink }, error);
                }
            }
        }
    }

    /// Whether a segment comes before its lane's failure, if there is one.
    fn is_wanted(&self, segment: &Segment<S>) -> bool {
        let lane = self.lanes.get(&segment.lane).expect("a lane stays open while it holds a slot");
        lane.failure.as_ref().is_none_or(|(ticket, _)| segment.ticket < *ticket)
    }

    /// Notes the failure of a segment, unless an earlier ticket has failed, and frees everything that came after it.
    fn fail(&mut self, stages: &S, segment: Segment<S>, error: S::Error) {
        let (number, ticket) = (segment.lane, segment.ticket);
        self.release(segment);
        let lane = self.lanes.get_mut(&number).expect("a lane stays open until all its slots are home");
        if lane.failure.as_ref().is_some_and(|(earlier, _)| *earlier <= ticket) {
            return;
        }
        lane.failure = Some((ticket, error));
        lane.cut_to_end = true;
        stages.interrupt(&lane.sink);
        let mut freed: Vec<S::Chunk> = lane.parked.split_off(&ticket).into_values().collect();
        let (kept, unwanted): (VecDeque<_>, VecDeque<_>) =
            lane.outbox.drain(..).partition(|(queued, _)| *queued < ticket);
        lane.outbox = kept;
        self.in_outboxes -= unwanted.len();
        freed.extend(unwanted.into_iter().map(|(_, chunk)| chunk));
        let comes_after = |segment: &Segment<S>| segment.lane == number && segment.ticket > ticket;
        for queue in [&mut self.ready, &mut self.writable] {
            let (unwanted, kept): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(comes_after);
            *queue = kept;
            freed.extend(unwanted.into_iter().map(|segment| segment.chunk));
        }
        lane.held -= freed.len();
        self.free.append(&mut freed);
    }

    /// Brings a segment's slot home.
    fn release(&mut self, segment: Segment<S>) {
        self.lane_of(&segment).held -= 1;
        self.free.push(segment.chunk);
    }
}

/// What the scheduler tells a reading thread.
pub(super) enum SlotAnswer<S: Stages> {
    Slot(Segment<S>),
    Wait,
    Stop,
}

/// What the scheduler tells a writing thread.
pub(super) enum OutboxAnswer<S: Stages> {
    Segment(Segment<S>),
    Wait,
    Stop,
}

impl<S: Stages> Lane<S> {
    /// Gives out the next ticket together with the slot that carries it, so that tickets are never without one.
    fn issue(&mut self, number: usize, chunk: S::Chunk) -> Segment<S> {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.held += 1;
        Segment { lane: number, ticket, chunk, bytes: 0, sink: Arc::clone(&self.sink) }
    }
}

#[cfg(all(test, not(feature = "model")))]
#[path = "scheduler/tests.rs"]
mod tests;
