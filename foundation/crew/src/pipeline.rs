//! Streams on many cores: source -> workers -> ordered sink, any number of lanes sharing hands and slots.
//!
//! Engines implement [`Stages`]; [`run`] drives them, threaded or on a single core with the same results byte for byte.
//! Theory (states, protocol, why nothing deadlocks or gets lost): `foundation/crew/README.md`.

mod demand;
mod pause;
mod scheduler;
mod single_core;
mod threaded;

use crate::budget::{Hand, Lease};
use crate::clocks::{Clocks, OffCpu, StageClock, timed};
use crate::measures::{Access, DividedTurns, Measures, Slots};
use crate::sync::Arc;
use crate::tally::Tally;
pub use pause::Pause;
use std::time::{Duration, Instant};

/// What an engine brings: how a lane is opened, cut into chunks, worked on, put in order, written and closed.
///
/// A *lane* is one ordered stream from one source to one sink. Calls for one lane's [`cut`](Stages::cut) and
/// [`place`](Stages::place) come one at a time and in order; everything else may run in many threads at once.
pub trait Stages: Sync {
    /// The serial front end of a lane: what comes next.
    type Source: Send;
    /// The far end of a lane.
    type Sink: Send + Sync;
    /// A chunk with its buffers. Made once a slot and used again and again.
    type Chunk: Send;
    /// What a worker keeps between chunks: codec contexts.
    type Scratch: Send;
    /// Why a lane failed.
    type Error: Send;

    /// Makes the chunk that a slot holds, with empty buffers.
    fn new_chunk(&self) -> Self::Chunk;
    /// Makes what one worker keeps between chunks.
    fn new_scratch(&self) -> Self::Scratch;
    /// The number of lanes, known before the run.
    fn lanes(&self) -> usize;
    /// Whether all lanes write to one place, one after another. Then a lane is opened only when the one before it has
    /// been cut to its end, and written only when the one before it has been closed.
    fn lanes_share_one_sink(&self) -> bool;
    /// Opens lane `lane`. Called once each, in order, by one thread at a time or several.
    fn open(&self, lane: usize) -> Result<OpenLane<Self>, Self::Error>;
    /// Takes the next chunk off the source. Serial in its lane: what can be done in parallel belongs to `fetch`.
    fn cut(
        &self,
        source: &mut Self::Source,
        chunk: &mut Self::Chunk,
        turn: &mut CutTurn<'_>,
    ) -> Result<Cut, Self::Error>;
    /// Reads the chunk's bytes, where `cut` only noted where they are.
    fn fetch(&self, chunk: &mut Self::Chunk) -> Result<(), Self::Error>;
    /// Whether a chunk's work takes milliseconds. Then who would only wait for a hand is hired in turn; where it takes seconds a hand that comes
    /// free meanwhile would wait for the end of it.
    fn tasks_are_brief(&self) -> bool {
        false
    }
    /// Whether open lanes are cut in turns, the one with the fewest chunks under way first. Otherwise the first one that can be cut is: it ends sooner. Where
    /// a lane's chunks are written more slowly than they are cut, it would hold all slots, and the others nothing.
    fn lanes_take_turns(&self) -> bool {
        false
    }
    /// Whether [`Stages::look_ahead`] would find something to do. Asked under the pipeline's lock: quick.
    fn can_look_ahead(&self) -> bool {
        false
    }
    /// Prepares a part of what `cut` will come to, in a worker without a more urgent task. `cut` does what nobody has prepared.
    fn look_ahead(&self) {}
    /// Told right before [`Stages::work`] how full the pipeline is, for work that can be done faster or better.
    fn about_to_work(&self, _chunk: &mut Self::Chunk, _fill: &Fill) {}
    /// Does the work. If it may last longer than 50 ms, it calls [`Pause::point`] at least that often.
    fn work(
        &self,
        scratch: &mut Self::Scratch,
        chunk: &mut Self::Chunk,
        pause: &mut Pause<'_>,
    ) -> Result<(), Self::Error>;
    /// Puts a finished chunk in its place in the output: offsets, running checks. In order, quick, must not sleep.
    fn place(&self, sink: &Self::Sink, chunk: &mut Self::Chunk) -> Result<(), Self::Error>;
    /// Writes the chunk and returns its bytes: at its offset and in parallel, or in order from one thread, as the lane's
    /// [`OpenLane::writing`] says.
    fn write(&self, sink: &Self::Sink, chunk: &mut Self::Chunk) -> Result<u64, Self::Error>;
    /// Ends a waiting `cut` of this lane soon, because the lane has failed elsewhere.
    fn interrupt(&self, sink: &Self::Sink);
    /// Finishes a lane: commits its output, or discards it. `ends` is `None` when the lane could not be opened.
    fn close(&self, lane: usize, ends: Option<(Self::Source, Self::Sink)>, outcome: Result<(), Self::Error>);
    /// What the three stages are called in the report, once the run has shown what they did.
    fn stage_names(&self) -> [&'static str; 3];
    /// How most of what `cut` has done would be divided among more hands, where it is known.
    fn divided_turns(&self) -> Option<DividedTurns> {
        None
    }
}

/// A lane just opened.
pub struct OpenLane<S: Stages + ?Sized> {
    /// Its front end.
    pub source: S::Source,
    /// Its far end.
    pub sink: S::Sink,
    /// Who calls `cut`.
    pub reading: By,
    /// Who calls `write`: workers in parallel, or one thread in order.
    pub writing: By,
}

/// Who reads or writes a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The workers: regular files.
    Workers,
    /// A thread of its own, which may sleep as long as it likes: pipes, sockets, terminals.
    OwnThread,
}

/// How full the pipeline is, in chunks: what stands behind a worker that is too slow, and what stands in front of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// All slots.
    pub slots: usize,
    /// Slots without a chunk. None: whoever reads a source waits, and so does its producer soon.
    pub free: usize,
    /// Chunks that wait for a worker, the one about to be worked on not counted.
    pub waiting: usize,
    /// Chunks that wait to be written.
    pub to_write: usize,
}

/// What [`Stages::cut`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where a chunk is, to be fetched by its worker; the number of source bytes it takes.
    Noted(u64),
    /// A chunk, read or computed by the source itself; the number of source bytes it took.
    Taken(u64),
    /// The end of the source; the chunk was not used.
    End,
}

/// What a source may ask for while it cuts.
pub struct CutTurn<'a> {
    lease: Option<&'a dyn Lease>,
    waited: StageClock,
    /// Spent on what others could have prepared.
    preparing: Duration,
}

impl<'a> CutTurn<'a> {
    /// The turn of a caller that holds a hand already, or needs none: a worker, a test.
    pub fn with_a_hand() -> Self {
        CutTurn { lease: None, waited: StageClock::default(), preparing: Duration::ZERO }
    }

    /// The turn of a thread that holds none.
    fn without_a_hand(lease: &'a dyn Lease) -> Self {
        CutTurn { lease: Some(lease), ..Self::with_a_hand() }
    }

    /// Does what [`Stages::look_ahead`] could have done before, with a hand: it is no part of what one alone can do at a time.
    pub fn prepare<T>(&mut self, look: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = self.with_hand(look);
        self.preparing += begin.elapsed();
        result
    }

    /// Runs something that computes rather than waits, with a hand. A worker's turn has one already; a thread that reads
    /// from a pipe takes one for as long as `compute` runs.
    pub fn with_hand<T>(&mut self, compute: impl FnOnce() -> T) -> T {
        let Some(lease) = self.lease else { return compute() };
        let _held = timed(&mut self.waited, OffCpu::NoHand, || Held::take(lease, None));
        compute()
    }
}

/// How many threads, how much room, and whether threads at all.
#[derive(Clone, Copy, Debug)]
pub struct Staffing {
    /// The most workers.
    pub width: usize,
    /// Room for chunks. One is enough for any run; fewer than the workers need costs speed, never the run.
    pub slots: Slots,
    /// The most lanes open at the same time: each takes file descriptors.
    pub lanes_at_once: usize,
    /// With threads or without.
    pub mode: Executor,
}

/// Which of the two executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// Everything in the calling thread: the reference for what the threads must produce.
    SingleCore,
    /// Workers on demand, threads of their own for pipes.
    Threaded,
}

/// Runs all lanes to their end and returns what was measured. Failures of lanes go to [`Stages::close`].
///
/// # Panics
/// When a stage panics, and when the books do not balance at the end (a slot or a hand is missing): both are bugs.
pub fn run<S: Stages>(stages: &S, staffing: &Staffing, lease: &dyn Lease, tally: &Tally) -> Measures {
    let (begin, cpu_before) = (Instant::now(), sys::cpu_clock::process_cpu_ns());
    let staffing = Staffing { width: staffing.width.max(1), ..*staffing };
    let ran = match staffing.mode {
        Executor::SingleCore => single_core::run(stages, lease, tally),
        Executor::Threaded => threaded::run(stages, &staffing, lease, tally),
    };
    let books = lease.books();
    assert_eq!(books.taken, books.returned, "every hand taken must have been given back");
    Measures {
        wall_ns: crate::clocks::nanoseconds(begin.elapsed()),
        reading: ran.access.reading(),
        writing: ran.access.writing(),
        stage_names: stages.stage_names(),
        width: staffing.width,
        workers: ran.workers,
        slots: staffing.slots,
        chunks: tally.chunks(),
        lanes: stages.lanes(),
        bytes_in: tally.bytes_in(),
        bytes_out: tally.bytes_out(),
        clocks: ran.clocks,
        process_cpu_ns: sys::cpu_clock::process_cpu_ns() - cpu_before,
        divided_turns: stages.divided_turns(),
    }
}

/// A cut by a worker, in its clocks.
fn cut<S: Stages>(
    stages: &S,
    source: &mut S::Source,
    chunk: &mut S::Chunk,
    clocks: &mut Clocks,
) -> Result<Cut, S::Error> {
    let (mut turn, mut clock) = (CutTurn::with_a_hand(), StageClock::default());
    let outcome = timed(&mut clock, OffCpu::Starved, || stages.cut(source, chunk, &mut turn));
    clocks.cut_took(&clock, turn.preparing);
    outcome
}

/// What an executor knows at its end.
struct Ran {
    clocks: Clocks,
    workers: usize,
    access: AccessCounts,
}

/// How the chunks of a run were read and written: the report names what held for most of them.
#[derive(Clone, Copy, Default)]
struct AccessCounts {
    noted: u64,
    taken: u64,
    lanes: u64,
    read_by_own_thread: u64,
    written_by_own_thread: u64,
}

impl AccessCounts {
    fn lane(&mut self, reading: By, writing: By) {
        self.lanes += 1;
        self.read_by_own_thread += u64::from(reading == By::OwnThread);
        self.written_by_own_thread += u64::from(writing == By::OwnThread);
    }

    fn cut(&mut self, cut: Cut) {
        match cut {
            Cut::Noted(_) => self.noted += 1,
            Cut::Taken(_) => self.taken += 1,
            Cut::End => {}
        }
    }

    fn reading(&self) -> Access {
        match (self.read_by_own_thread * 2 > self.lanes, self.noted >= self.taken) {
            (true, _) => Access::OwnThread,
            (false, true) => Access::AtOffsets,
            (false, false) => Access::InTurns,
        }
    }

    fn writing(&self) -> Access {
        if self.written_by_own_thread * 2 > self.lanes { Access::OwnThread } else { Access::AtOffsets }
    }
}

impl Cut {
    /// Source bytes of the chunk, if there is one.
    fn bytes(self) -> Option<u64> {
        match self {
            Self::Noted(bytes) | Self::Taken(bytes) => Some(bytes),
            Self::End => None,
        }
    }
}

/// A hand, shown in the tally; goes back when dropped, also while a panic unwinds.
struct Held<'a> {
    lease: &'a dyn Lease,
    tally: Option<&'a Tally>,
    hand: Option<Hand>,
}

impl<'a> Held<'a> {
    fn take(lease: &'a dyn Lease, tally: Option<&'a Tally>) -> Self {
        let hand = Some(lease.take());
        tally.inspect(|tally| tally.hand_taken());
        Self { lease, tally, hand }
    }

    /// Whether it should go back at this yield point.
    fn must_return(&self) -> bool {
        self.hand.as_ref().is_some_and(|hand| self.lease.must_return(hand))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.tally.inspect(|tally| tally.hand_given_back());
        self.hand.take().into_iter().for_each(|hand| self.lease.give_back(hand));
    }
}

/// The far end of a lane as several threads hold it.
type SharedSink<S> = Arc<<S as Stages>::Sink>;
