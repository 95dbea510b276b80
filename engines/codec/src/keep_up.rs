//! Chooses the level of each chunk so that the producer need not wait: as high as the hands can bear, as low as they must.
//! A pure function of what it is told (times included): it reads no clock and touches no thread; `compress` does.
//! Theory: "Keeping up" in `engines/codec/README.md`.

mod arrivals;
mod costs;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use arrivals::Arrival;

use crate::format::{EncodeOptions, Format};
use arrivals::Arrivals;
use costs::Costs;
use crew::pipeline::Fill;
use serde::Serialize;
use std::ops::RangeInclusive;

/// Largest chunk: what the level is chosen for. Larger packs smaller (each unit starts without history), but a level is held for
/// as long as a chunk takes, and a slot costs twice as much. Chosen in docs/journal/0002-keep-up.md.
const CHUNK_BYTES_MAX: usize = 2 << 20;

/// Uncompressed bytes that the slots hold: what a burst may bring before the level must fall to its speed.
const BUFFER_BYTES: u64 = 128 << 20;

/// LIMIT: levels that one run may use: 22 of zstd and as many fast ones as make a difference.
pub const LEVELS_MAX: usize = 128;

/// The hands must be this much faster than the producer.
const MARGIN: f64 = 1.05;

/// LIMIT: no chunk is planned to take longer. It is what the end of the stream may be late by.
const CHUNK_NS_MAX: f64 = 2e9;

/// A backlog that is too short is left to grow within three chunks' time, but never within less or more than this: longer,
/// and the end of the stream is late by more.
const GROWING_NS: RangeInclusive<f64> = 0.4e9..=3e9;

/// One that is too long is worked off within this time. Shorter: bursts are compressed larger. Longer: the next burst finds less room.
const SHRINKING_NS: f64 = 3e9;

/// The share of the free slots that may fill while hands are busy with long chunks; the rest is for what was estimated too low.
const ROOM_SHARE: f64 = 0.75;

/// So many times the expected time a chunk may be under way before the data count as harder: others use the cores, too.
const LATE: f64 = 3.0;

/// A chunk that is compressed to more than this share of its uncompressed size counts as incompressible.
const INCOMPRESSIBLE_SHARE: f64 = 0.98;

/// So many of them in a row, and effort is saved until one packs better again. At least one for each hand: those were under way together.
const INCOMPRESSIBLE_RUN: usize = 4;

/// Uncompressed bytes in one unit under keep-up.
pub fn chunk_bytes(format: &dyn Format, options: &EncodeOptions) -> usize {
    format.chunk_bytes(options).min(CHUNK_BYTES_MAX)
}

/// Slots that make a burst bearable: the buffer, and enough for hands that are busy with one long chunk each.
pub fn slots_wanted(hands: usize, chunk_bytes: usize) -> usize {
    let buffer = usize::try_from(BUFFER_BYTES).unwrap_or(usize::MAX) / chunk_bytes.max(1);
    buffer.max(6 * hands) + 2
}

/// What is decided about one chunk; goes back to [`LevelController::done`].
#[derive(Clone, Copy, Debug)]
pub struct LevelDecision {
    /// The level to use.
    pub level: i32,
    number: u64,
    began_ns: u64,
    /// How long it should take; 0 where nothing is known yet.
    expected_ns: f64,
    is_probe: bool,
}

/// What a chunk cost and gave.
#[derive(Clone, Copy, Debug)]
pub struct ChunkDone {
    /// Uncompressed bytes.
    pub plain_bytes: u64,
    /// Compressed bytes.
    pub packed_bytes: u64,
    /// Time on a CPU.
    pub cpu_ns: u64,
}

/// What came of a run, for its report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KeptUp {
    /// For so long the source was not read for want of a slot: the producer waited at most that long.
    pub waited_ns: u64,
    /// The lowest level used.
    pub level_lowest: i32,
    /// The highest.
    pub level_highest: i32,
    /// The mean over uncompressed bytes.
    pub level_mean: f64,
}

/// Chooses levels.
pub struct LevelController {
    levels: RangeInclusive<i32>,
    chunk_bytes: f64,
    hands: f64,
    costs: Costs,
    arrivals: Arrivals,
    /// CPU time a worker got for each nanosecond it wanted: below 1 where others use the cores.
    share: f64,
    under_way: Vec<LevelDecision>,
    next_number: u64,
    incompressible_in_a_row: usize,
    used: Option<RangeInclusive<i32>>,
    done_bytes: f64,
    level_times_bytes: f64,
}

/// What a level must be measured against, for one decision.
struct Demand {
    /// Bytes a nanosecond that the hands must do.
    rate: f64,
    /// Bytes a nanosecond that may come while a chunk is under way.
    peak: f64,
    /// Bytes of room that may fill meanwhile.
    room: f64,
    /// Bytes that wait for a hand.
    backlog: f64,
    /// Backlog that is left standing at most.
    backlog_max: f64,
}

impl LevelController {
    /// For chunks of `chunk_bytes`, this many hands and slots; `levels` must not be empty.
    pub fn new(levels: RangeInclusive<i32>, chunk_bytes: usize, hands: usize, slots: usize) -> Self {
        Self {
            costs: Costs::new(&levels),
            levels,
            chunk_bytes: chunk_bytes as f64,
            hands: hands.max(1) as f64,
            arrivals: Arrivals::new((slots * chunk_bytes) as f64),
            share: 1.0,
            under_way: Vec::new(),
            next_number: 0,
            incompressible_in_a_row: 0,
            used: None,
            done_bytes: 0.0,
            level_times_bytes: 0.0,
        }
    }

    /// The producer gave a chunk.
    pub fn arrived(&mut self, now_ns: u64, arrival: Arrival) {
        self.arrivals.arrived(now_ns, arrival);
    }

    /// A worker is about to encode a chunk: at which level?
    pub fn decide(&mut self, now_ns: u64, fill: &Fill) -> LevelDecision {
        let late = self.lateness(now_ns);
        let demand = self.demand(now_ns, fill);
        let lowest = *self.levels.start();
        let mut chosen = (lowest, self.expected_ns(lowest, late), false);
        if !self.saves_effort() {
            let probing = self.under_way.iter().any(|decision| decision.is_probe);
            for level in self.levels.clone().rev() {
                let Some(estimate) = self.costs.estimate(level) else { break };
                // LIE: between -1 and 1 libzstd has no level 0; the number means its default there.
                if level == 0 && lowest < 0 {
                    continue;
                }
                if estimate.is_guess && probing {
                    continue;
                }
                let takes_ns = self.expected_ns(level, late);
                if self.bears(&demand, takes_ns) {
                    chosen = (level, takes_ns, estimate.is_guess);
                    break;
                }
            }
        }
        let (level, expected_ns, is_probe) = chosen;
        let number = self.next_number;
        self.next_number += 1;
        let decision = LevelDecision { level, number, began_ns: now_ns, expected_ns, is_probe };
        self.under_way.push(decision);
        decision
    }

    /// The chunk is encoded.
    pub fn done(&mut self, now_ns: u64, decision: &LevelDecision, done: ChunkDone) {
        self.under_way.retain(|other| other.number != decision.number);
        let plain_bytes = done.plain_bytes.max(1) as f64;
        self.note_level(decision.level, plain_bytes);
        let took_ns = now_ns.saturating_sub(decision.began_ns).max(1) as f64;
        let share = (done.cpu_ns as f64 / took_ns).clamp(0.05, 1.0);
        self.share += 0.2 * (share - self.share);
        if done.packed_bytes as f64 > plain_bytes * INCOMPRESSIBLE_SHARE {
            // What such a chunk cost says nothing about those that can be compressed.
            self.incompressible_in_a_row += 1;
            return;
        }
        self.incompressible_in_a_row = 0;
        // The last chunk may be short: what an encoder does once a chunk would count as cost of its bytes.
        if plain_bytes * 4.0 > self.chunk_bytes || self.costs.estimate(decision.level).is_none() {
            self.costs.learn(now_ns, decision.level, done.cpu_ns as f64 / plain_bytes);
        }
    }

    /// What came of it so far.
    pub fn kept(&self) -> KeptUp {
        let used = self.used.clone().unwrap_or(0..=0);
        KeptUp {
            waited_ns: self.arrivals.waited_ns,
            level_lowest: *used.start(),
            level_highest: *used.end(),
            level_mean: self.level_times_bytes / self.done_bytes.max(1.0),
        }
    }

    fn note_level(&mut self, level: i32, plain_bytes: f64) {
        let used = self.used.take().unwrap_or(level..=level);
        self.used = Some(level.min(*used.start())..=level.max(*used.end()));
        self.done_bytes += plain_bytes;
        self.level_times_bytes += f64::from(level) * plain_bytes;
    }

    fn saves_effort(&self) -> bool {
        self.incompressible_in_a_row >= INCOMPRESSIBLE_RUN.max(self.hands as usize)
    }

    fn expected_ns(&self, level: i32, late: f64) -> f64 {
        let byte_ns = self.costs.estimate(level).map_or(0.0, |estimate| estimate.byte_ns);
        self.chunk_bytes * byte_ns * late / self.share
    }

    /// How many times longer than expected the slowest chunk has been under way: the data may have become harder, and the others
    /// need not wait for its end to know.
    fn lateness(&self, now_ns: u64) -> f64 {
        let lateness = |decision: &LevelDecision| {
            let elapsed_ns = now_ns.saturating_sub(decision.began_ns) as f64;
            if decision.expected_ns > 0.0 && !decision.is_probe { elapsed_ns / decision.expected_ns } else { 1.0 }
        };
        let latest = self.under_way.iter().map(lateness).fold(1.0, f64::max);
        (latest / LATE).clamp(1.0, 8.0)
    }

    fn demand(&self, now_ns: u64, fill: &Fill) -> Demand {
        let bytes = |slots: usize| slots as f64 * self.chunk_bytes;
        let (taken, backlog) = (fill.slots - fill.free.min(fill.slots), bytes(fill.waiting));
        let backlog_max = bytes(fill.slots) / 4.0;
        let sink_is_behind = fill.free * 2 < fill.slots && fill.to_write * 2 > taken;
        if sink_is_behind {
            // Speed is of no use: what we pack faster only waits longer. The sink lets through what it lets through, and more of
            // the producer's bytes the smaller they are compressed. While it writes, there is time.
            let rate = self.arrivals.admitted();
            return Demand { rate, peak: rate, room: bytes(fill.to_write) * ROOM_SHARE, backlog, backlog_max };
        }
        let room = bytes(fill.free) * ROOM_SHARE;
        Demand { rate: self.arrivals.rate(now_ns), peak: self.arrivals.peak(), room, backlog, backlog_max }
    }

    /// Whether chunks that take so long meet the demand: the hands keep pace and work off the backlog in time, and while each is
    /// busy with one of them, what comes finds room.
    fn bears(&self, demand: &Demand, takes_ns: f64) -> bool {
        let growing_ns = (3.0 * takes_ns).clamp(*GROWING_NS.start(), *GROWING_NS.end());
        let too_long = demand.backlog - demand.backlog_max.min(demand.rate * growing_ns / 2.0);
        let needed = demand.rate * MARGIN + too_long / if too_long > 0.0 { SHRINKING_NS } else { growing_ns };
        let given = self.hands * self.chunk_bytes / takes_ns.max(1.0);
        given >= needed && takes_ns * demand.peak <= demand.room && takes_ns <= CHUNK_NS_MAX
    }
}
