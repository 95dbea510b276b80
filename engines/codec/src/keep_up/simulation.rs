//! A pipe in simulated time: a producer, slots, hands, a sink. For the tests of the controller on machines that are not here.
//! Follows the pipeline's rules (slots given out in order, chunks placed in order), without its threads.

use super::{Arrival, ChunkDone, KeptUp, LevelController, LevelDecision};
use crew::pipeline::Fill;
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

pub const CHUNK_BYTES: usize = super::CHUNK_BYTES_MAX;

/// What the data are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataKind {
    Text,
    /// Three times as dear as text.
    Hard,
    /// Long repetitions: cheap, above all at high levels.
    Easy,
    /// Random bytes.
    Noise,
}

/// The producer gives `bytes` at `rate` (bytes a second), or pauses.
#[derive(Clone, Copy, Debug)]
pub enum ProducerStretch {
    Bytes { bytes: u64, rate: f64, kind: DataKind },
    Pause { seconds: f64 },
}

impl ProducerStretch {
    fn seconds(&self) -> f64 {
        match self {
            Self::Bytes { bytes, rate, .. } => *bytes as f64 / rate,
            Self::Pause { seconds } => *seconds,
        }
    }
}

pub fn for_seconds(seconds: f64, rate: f64, kind: DataKind) -> ProducerStretch {
    ProducerStretch::Bytes { bytes: (seconds * rate) as u64, rate, kind }
}

/// Nanoseconds a byte of text, level by level from 1 on.
pub const ZST_BYTE_NS: [f64; 19] =
    [2.5, 3.0, 4.2, 5.0, 9.0, 12.0, 14.0, 18.0, 21.0, 26.0, 35.0, 42.0, 90.0, 110.0, 150.0, 190.0, 250.0, 330.0, 420.0];
pub const GZ_BYTE_NS: [f64; 9] = [4.0, 6.5, 7.5, 8.5, 11.0, 14.0, 21.0, 38.0, 50.0];

/// A machine and a stream.
#[derive(Clone)]
pub struct World {
    pub byte_ns: &'static [f64],
    pub hands: usize,
    pub stretches: Vec<ProducerStretch>,
    /// Compressed bytes a second that the sink takes.
    pub sink_rate: f64,
    /// This chunk takes twenty times as long as it should: its worker was stopped.
    pub stopped_chunk: Option<u64>,
}

impl World {
    pub fn new(byte_ns: &'static [f64], hands: usize, stretches: Vec<ProducerStretch>) -> Self {
        Self { byte_ns, hands, stretches, sink_rate: 1e12, stopped_chunk: None }
    }

    pub fn levels(&self) -> RangeInclusive<i32> {
        1..=i32::try_from(self.byte_ns.len()).expect("few levels")
    }

    fn cost_ns(&self, level: i32, chunk: &Chunk) -> f64 {
        let text = self.byte_ns[usize::try_from(level - 1).expect("levels begin with 1")];
        let byte_ns = match chunk.kind {
            DataKind::Text => text,
            DataKind::Hard => 3.0 * text,
            DataKind::Easy => 0.3 * text.powf(0.7),
            DataKind::Noise => 1.0 + 0.2 * text,
        };
        let jitter = 0.85 + 0.3 * ((chunk.ticket.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1 << 24) as f64);
        byte_ns * chunk.bytes as f64 * jitter * if self.stopped_chunk == Some(chunk.ticket) { 20.0 } else { 1.0 }
    }

    fn packed_bytes(level: i32, chunk: &Chunk) -> f64 {
        let share = match chunk.kind {
            DataKind::Text | DataKind::Hard => 0.30 - 0.006 * f64::from(level),
            DataKind::Easy => 0.02,
            DataKind::Noise => 1.0,
        };
        share * chunk.bytes as f64
    }
}

/// Who chooses levels.
pub enum Policy {
    Constant(i32),
    Controlled(Box<LevelController>),
}

#[derive(Clone, Copy)]
struct Chunk {
    ticket: u64,
    kind: DataKind,
    bytes: u64,
}

/// One chunk's level, and when it began to be worked on.
#[derive(Clone, Copy, Debug)]
pub struct LevelStep {
    pub second: f64,
    pub level: i32,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct SimulationOutcome {
    pub seconds: f64,
    /// When the producer was blocked, and for how long each time, in seconds.
    pub blocked: Vec<(f64, f64)>,
    pub steps: Vec<LevelStep>,
    pub packed_bytes: f64,
    pub kept: KeptUp,
}

impl SimulationOutcome {
    /// Share of the time from `second` on for which the producer was blocked.
    pub fn blocked_share_from(&self, second: f64) -> f64 {
        let blocked: f64 = self.blocked.iter().filter(|(at, _)| *at >= second).map(|(_, lasted)| lasted).sum();
        blocked / (self.seconds - second).max(1e-9)
    }

    /// Mean level of the chunks that began in a span of time.
    pub fn mean_level(&self, span: std::ops::Range<f64>) -> f64 {
        let levels: Vec<f64> =
            self.steps.iter().filter(|step| span.contains(&step.second)).map(|step| f64::from(step.level)).collect();
        levels.iter().sum::<f64>() / (levels.len() as f64).max(1.0)
    }
}

enum Reader {
    Filling { since: f64, until: f64, waited_ns: f64, chunk: Chunk },
    Waiting { since: f64 },
    Ended,
}

struct Busy {
    until: f64,
    chunk: Chunk,
    level: i32,
    decision: Option<LevelDecision>,
    cpu_ns: f64,
}

struct Pipe<'a> {
    world: &'a World,
    policy: Policy,
    now: f64,
    slots: usize,
    free: usize,
    stretches: VecDeque<ProducerStretch>,
    next_ticket: u64,
    reader: Reader,
    ready: VecDeque<Chunk>,
    busy: Vec<Busy>,
    parked: BTreeMap<u64, f64>,
    next_to_place: u64,
    outbox: VecDeque<f64>,
    writing_until: Option<f64>,
    outcome: SimulationOutcome,
}

/// Runs a stream to its end.
pub fn simulate(world: &World, policy: Policy) -> SimulationOutcome {
    let slots = super::slots_wanted(world.hands, CHUNK_BYTES);
    let mut pipe = Pipe {
        world,
        policy,
        now: 0.0,
        slots,
        free: slots,
        stretches: world.stretches.iter().copied().collect(),
        next_ticket: 0,
        reader: Reader::Waiting { since: 0.0 },
        ready: VecDeque::new(),
        busy: Vec::new(),
        parked: BTreeMap::new(),
        next_to_place: 0,
        outbox: VecDeque::new(),
        writing_until: None,
        outcome: SimulationOutcome::default(),
    };
    while pipe.step() {}
    pipe.outcome.seconds = pipe.now / 1e9;
    if let Policy::Controlled(controller) = &pipe.policy {
        pipe.outcome.kept = controller.kept();
    }
    pipe.outcome
}

/// With the controller.
pub fn controlled(world: &World) -> SimulationOutcome {
    let controller =
        LevelController::new(world.levels(), CHUNK_BYTES, world.hands, super::slots_wanted(world.hands, CHUNK_BYTES));
    simulate(world, Policy::Controlled(Box::new(controller)))
}

/// The highest constant level that blocks the producer for at most 5 % from `second` on and is done soon after it.
pub fn best_constant(world: &World, second: f64) -> (i32, SimulationOutcome) {
    let tried = world.levels().rev().map(|level| (level, simulate(world, Policy::Constant(level))));
    let given: f64 = world.stretches.iter().map(ProducerStretch::seconds).sum();
    let fits =
        |outcome: &SimulationOutcome| outcome.blocked_share_from(second) <= 0.05 && outcome.seconds < given + 2.0;
    tried.into_iter().find(|(level, outcome)| *level == 1 || fits(outcome)).expect("level 1 is always taken")
}

impl Pipe<'_> {
    /// Goes on to the next event; false at the end.
    fn step(&mut self) -> bool {
        self.start_what_can_start();
        let filling = if let Reader::Filling { until, .. } = self.reader { until } else { f64::INFINITY };
        let hands = self.busy.iter().map(|busy| busy.until).fold(f64::INFINITY, f64::min);
        let sink = self.writing_until.unwrap_or(f64::INFINITY);
        let next = filling.min(hands).min(sink);
        if next.is_infinite() {
            assert_eq!(self.free, self.slots, "every slot comes back");
            return false;
        }
        self.now = next;
        if next == filling {
            self.chunk_arrived();
        } else if next == hands {
            let at = self.busy.iter().position(|busy| busy.until == next).expect("it is the earliest");
            let busy = self.busy.swap_remove(at);
            self.chunk_done(busy);
        } else {
            self.writing_until = None;
            self.free += 1;
        }
        true
    }

    fn start_what_can_start(&mut self) {
        if let Reader::Waiting { since } = self.reader
            && self.free > 0
        {
            self.read_on(since);
        }
        while self.busy.len() < self.world.hands
            && let Some(chunk) = self.ready.pop_front()
        {
            self.work_on(chunk);
        }
        if self.writing_until.is_none()
            && let Some(packed_bytes) = self.outbox.pop_front()
        {
            self.writing_until = Some(self.now + packed_bytes / self.world.sink_rate * 1e9);
        }
    }

    /// Begins the next chunk: how long the producer takes for it is in its stretches.
    fn read_on(&mut self, waiting_since: f64) {
        let waited_ns = self.now - waiting_since;
        if waited_ns > 0.0 {
            self.outcome.blocked.push((waiting_since / 1e9, waited_ns / 1e9));
        }
        let (mut takes_ns, mut bytes_left, mut chunk_kind) = (0.0, CHUNK_BYTES as u64, None);
        while bytes_left > 0
            && let Some(stretch) = self.stretches.front_mut()
        {
            match stretch {
                ProducerStretch::Pause { seconds } => takes_ns += *seconds * 1e9,
                ProducerStretch::Bytes { bytes, rate, kind } => {
                    let taken = bytes_left.min(*bytes);
                    takes_ns += taken as f64 / *rate * 1e9;
                    (*bytes, bytes_left) = (*bytes - taken, bytes_left - taken);
                    chunk_kind.get_or_insert(*kind);
                    if *bytes > 0 {
                        continue;
                    }
                }
            }
            self.stretches.pop_front();
        }
        let bytes = CHUNK_BYTES as u64 - bytes_left;
        let Some(kind) = chunk_kind else {
            self.reader = Reader::Ended;
            return;
        };
        self.free -= 1;
        let chunk = Chunk { ticket: self.next_ticket, kind, bytes };
        self.next_ticket += 1;
        self.reader = Reader::Filling { since: self.now, until: self.now + takes_ns, waited_ns, chunk };
    }

    fn chunk_arrived(&mut self) {
        let now = self.now;
        let Reader::Filling { since, waited_ns, chunk, .. } =
            std::mem::replace(&mut self.reader, Reader::Waiting { since: now })
        else {
            return;
        };
        if let Policy::Controlled(controller) = &mut self.policy {
            let arrival = Arrival { bytes: chunk.bytes, reading_ns: (now - since) as u64, waited_ns: waited_ns as u64 };
            controller.arrived(now as u64, arrival);
        }
        self.ready.push_back(chunk);
    }

    fn work_on(&mut self, chunk: Chunk) {
        let fill = Fill { slots: self.slots, free: self.free, waiting: self.ready.len(), to_write: self.outbox.len() };
        let (level, decision) = match &mut self.policy {
            Policy::Constant(level) => (*level, None),
            Policy::Controlled(controller) => {
                let decision = controller.decide(self.now as u64, &fill);
                (decision.level, Some(decision))
            }
        };
        self.outcome.steps.push(LevelStep { second: self.now / 1e9, level });
        let cpu_ns = self.world.cost_ns(level, &chunk);
        self.busy.push(Busy { until: self.now + cpu_ns, chunk, level, decision, cpu_ns });
    }

    fn chunk_done(&mut self, busy: Busy) {
        let packed_bytes = World::packed_bytes(busy.level, &busy.chunk);
        self.outcome.packed_bytes += packed_bytes;
        if let (Policy::Controlled(controller), Some(decision)) = (&mut self.policy, &busy.decision) {
            let done = ChunkDone {
                plain_bytes: busy.chunk.bytes,
                packed_bytes: packed_bytes as u64,
                cpu_ns: busy.cpu_ns as u64,
            };
            controller.done(self.now as u64, decision, done);
        }
        self.parked.insert(busy.chunk.ticket, packed_bytes);
        while let Some(packed_bytes) = self.parked.remove(&self.next_to_place) {
            self.next_to_place += 1;
            self.outbox.push_back(packed_bytes);
        }
    }
}
