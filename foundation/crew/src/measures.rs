//! What a finished run measured, as pure data: the input of verdict and forecast.

use crate::clocks::Clocks;
use serde::Serialize;

/// How bytes come in or go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Each worker at its own offset: grows with the hands.
    AtOffsets,
    /// One after another, in the workers' time: the source computes what comes next (a decoder that cannot be split).
    InTurns,
    /// One after another in a thread of its own: a pipe, a socket, a terminal.
    OwnThread,
}

/// What a run measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measures {
    /// From the first open to the last close.
    pub wall_ns: u64,
    /// How input was taken, in most lanes.
    pub reading: Access,
    /// How output was given, in most lanes.
    pub writing: Access,
    /// Names of the three stages as the report shows them.
    pub stage_names: [&'static str; 3],
    /// The most hands that this run could have used.
    pub width: usize,
    /// The most threads that worked at the same time.
    pub workers: usize,
    /// Slots there were, and how many `width` would have had without a memory cap.
    pub slots: Slots,
    /// Chunks that went through.
    pub chunks: u64,
    /// Lanes that went through.
    pub lanes: usize,
    /// Bytes taken from sources and given to sinks.
    pub bytes_in: u64,
    /// See `bytes_in`.
    pub bytes_out: u64,
    /// Time by stage, summed over threads.
    pub clocks: Clocks,
    /// CPU time of this process, all threads.
    pub process_cpu_ns: u64,
    /// How the parts that are cut in turns are divided where there are more hands; none where they are not.
    #[serde(skip)]
    pub divided_turns: Option<DividedTurns>,
}

/// Turns that are divided among hands from some number of them on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DividedTurns {
    /// So many hands.
    pub from_hands: usize,
    /// CPU time that they take then, as a multiple of what it was in turns.
    pub cpu_factor: f64,
}

impl Measures {
    /// Lanes whose serial parts can run at the same time: all of them where workers read files in turns, one where a pipe
    /// is at either end.
    pub fn parallel_lanes(&self) -> usize {
        let is_piped = self.reading == Access::OwnThread || self.writing == Access::OwnThread;
        if is_piped { 1 } else { self.lanes.max(1) }
    }
}

/// Room for chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slots {
    /// As planned.
    pub given: usize,
    /// As many as the hands could have used.
    pub wanted: usize,
    /// Hands there would have been without a memory cap; the run's width where the cap cost none.
    pub hands_wanted: usize,
}
