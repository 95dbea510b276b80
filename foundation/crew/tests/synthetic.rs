//! Stages without files or formats, for the tests: each lane is a vector of numbers, the work is arithmetic.
//! Every stage can be made slow or made to fail at one chunk.

use crew::measures::Access;
use crew::pipeline::{By, Cut, CutTurn, OpenLane, Pause, Stages};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where a lane is told to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Open,
    Cut(u64),
    Fetch(u64),
    Work(u64),
    Place(u64),
    Write(u64),
}

/// What a shared sink saw of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Value(u64),
    Closed,
}

/// One lane's plan.
#[derive(Clone, Debug)]
pub struct LanePlan {
    pub chunks: u64,
    pub reading: Access,
    pub writing: Access,
    pub faults: Vec<Fault>,
}

/// What each stage costs in sleep (waiting) or spin (CPU).
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    pub read_sleep: Duration,
    pub work_spin: Duration,
    pub write_sleep: Duration,
}

/// The stages and what came out of them.
pub struct Synthetic {
    pub lanes: Vec<LanePlan>,
    pub one_sink: bool,
    pub costs: Costs,
    /// What each cut leaves to be prepared.
    pub ahead_a_cut: u64,
    /// What nobody has prepared so far, and what was.
    pub ahead: AtomicU64,
    pub prepared: AtomicU64,
    /// Yield points in each chunk's work, and how many of them paused it.
    pub points: u64,
    pub pauses: AtomicU64,
    /// Chunks of each lane that are in their place.
    placed: Vec<AtomicU64>,
    /// Lane -> what was written at which place.
    pub written: Mutex<BTreeMap<usize, BTreeMap<u64, u64>>>,
    /// What a shared sink saw, in order: values of lanes, and lanes being closed.
    pub stream: Mutex<Vec<(usize, Seen)>>,
    pub closed: Mutex<BTreeMap<usize, Result<(), Fault>>>,
}

pub struct Source {
    lane: usize,
    next: u64,
}

pub struct Sink {
    lane: usize,
    placed: Mutex<u64>,
}

#[derive(Default)]
pub struct Chunk {
    lane: usize,
    number: u64,
    value: u64,
    place: u64,
}

/// What the work makes of a chunk's number.
pub fn product_of(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
}

impl Synthetic {
    pub fn new(lanes: Vec<LanePlan>, one_sink: bool, costs: Costs) -> Self {
        Self {
            points: 0,
            pauses: AtomicU64::default(),
            placed: lanes.iter().map(|_| AtomicU64::default()).collect(),
            lanes,
            one_sink,
            costs,
            ahead_a_cut: 0,
            ahead: AtomicU64::default(),
            prepared: AtomicU64::default(),
            written: Mutex::default(),
            stream: Mutex::default(),
            closed: Mutex::default(),
        }
    }

    /// Whether all before this chunk is in its place. Once it is so it stays so, until the chunk is there too.
    fn is_waited_for(&self, chunk: &Chunk) -> bool {
        let is_first_lane = self.closed.lock().expect("no panic under this lock").len() == chunk.lane;
        is_first_lane && self.placed[chunk.lane].load(Ordering::SeqCst) == chunk.number
    }

    fn fails(&self, lane: usize, fault: Fault) -> Result<(), Fault> {
        if self.lanes[lane].faults.contains(&fault) { Err(fault) } else { Ok(()) }
    }
}

impl Stages for Synthetic {
    type Source = Source;
    type Sink = Sink;
    type Chunk = Chunk;
    type Scratch = u64;
    type Error = Fault;

    fn new_chunk(&self) -> Chunk {
        Chunk::default()
    }

    fn new_scratch(&self) -> u64 {
        0
    }

    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn lanes_share_one_sink(&self) -> bool {
        self.one_sink
    }

    fn open(&self, lane: usize) -> Result<OpenLane<Self>, Fault> {
        self.fails(lane, Fault::Open)?;
        Ok(OpenLane {
            source: Source { lane, next: 0 },
            sink: Sink { lane, placed: Mutex::new(0) },
            reading: by(self.lanes[lane].reading),
            writing: by(self.lanes[lane].writing),
        })
    }

    fn cut(&self, source: &mut Source, chunk: &mut Chunk, turn: &mut CutTurn<'_>) -> Result<Cut, Fault> {
        self.fails(source.lane, Fault::Cut(source.next))?;
        if source.next == self.lanes[source.lane].chunks {
            return Ok(Cut::End);
        }
        if self.lanes[source.lane].reading != Access::AtOffsets {
            sleep(self.costs.read_sleep);
        }
        *chunk = turn.with_hand(|| Chunk { lane: source.lane, number: source.next, value: 0, place: 0 });
        source.next += 1;
        self.ahead.fetch_add(self.ahead_a_cut, Ordering::Relaxed);
        Ok(match self.lanes[source.lane].reading {
            Access::AtOffsets => Cut::Noted(8),
            Access::InTurns | Access::OwnThread => Cut::Taken(8),
        })
    }

    fn can_look_ahead(&self) -> bool {
        self.ahead.load(Ordering::Relaxed) > 0
    }

    fn look_ahead(&self) {
        switch_point();
        let taken = self.ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ahead| ahead.checked_sub(1));
        self.prepared.fetch_add(u64::from(taken.is_ok()), Ordering::Relaxed);
    }

    fn fetch(&self, chunk: &mut Chunk) -> Result<(), Fault> {
        if self.lanes[chunk.lane].reading == Access::AtOffsets {
            sleep(self.costs.read_sleep);
        }
        self.fails(chunk.lane, Fault::Fetch(chunk.number))
    }

    fn work(&self, scratch: &mut u64, chunk: &mut Chunk, pause: &mut Pause<'_>) -> Result<(), Fault> {
        *scratch += 1;
        switch_point();
        for _ in 0..self.points {
            let is_waited_for = self.is_waited_for(chunk);
            if pause.point() {
                assert!(!is_waited_for, "the sink waits for chunk {} of lane {}", chunk.number, chunk.lane);
                self.pauses.fetch_add(1, Ordering::Relaxed);
            }
        }
        spin(self.costs.work_spin);
        chunk.value = product_of(chunk.number);
        self.fails(chunk.lane, Fault::Work(chunk.number))
    }

    fn place(&self, sink: &Sink, chunk: &mut Chunk) -> Result<(), Fault> {
        let mut placed = sink.placed.lock().expect("no panic under this lock");
        assert_eq!(chunk.number, *placed, "chunks must be placed in order");
        self.fails(chunk.lane, Fault::Place(chunk.number))?;
        chunk.place = *placed;
        *placed += 1;
        self.placed[chunk.lane].store(*placed, Ordering::SeqCst);
        Ok(())
    }

    fn write(&self, sink: &Sink, chunk: &mut Chunk) -> Result<u64, Fault> {
        assert_eq!(sink.lane, chunk.lane, "a chunk must reach its own lane's sink");
        switch_point();
        sleep(self.costs.write_sleep);
        self.fails(chunk.lane, Fault::Write(chunk.number))?;
        let mut written = self.written.lock().expect("no panic under this lock");
        let earlier = written.entry(chunk.lane).or_default().insert(chunk.place, chunk.value);
        assert_eq!(earlier, None, "nothing may be written twice");
        self.stream.lock().expect("no panic under this lock").push((chunk.lane, Seen::Value(chunk.value)));
        Ok(8)
    }

    fn interrupt(&self, _sink: &Sink) {}

    fn close(&self, lane: usize, _ends: Option<(Source, Sink)>, outcome: Result<(), Fault>) {
        switch_point();
        self.stream.lock().expect("no panic under this lock").push((lane, Seen::Closed));
        let earlier = self.closed.lock().expect("no panic under this lock").insert(lane, outcome);
        assert_eq!(earlier, None, "a lane must be closed once");
    }

    fn stage_names(&self) -> [&'static str; 3] {
        ["read", "work", "write"]
    }
}

/// A place where the model may switch threads: between the locks there is none otherwise.
fn switch_point() {
    #[cfg(feature = "model")]
    shuttle::thread::yield_now();
}

fn by(access: Access) -> By {
    if access == Access::OwnThread { By::OwnThread } else { By::Workers }
}

fn sleep(duration: Duration) {
    if !duration.is_zero() {
        std::thread::sleep(duration);
    }
}

fn spin(duration: Duration) {
    let begin = std::time::Instant::now();
    while begin.elapsed() < duration {
        std::hint::spin_loop();
    }
}
