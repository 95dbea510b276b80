//! Where a thread's time goes: one clock a stage, filled by each thread for itself and summed at the end.
//! Does not judge; `verdict` does.

use serde::Serialize;
use std::time::{Duration, Instant};

/// The time that one stage spent, summed over all threads that worked on it. Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageClock {
    /// On a CPU, doing the stage's work.
    pub busy_ns: u64,
    /// Waiting for input: a producer, a disk, an earlier stage.
    pub starved_ns: u64,
    /// Waiting for room: a consumer, a disk, a free slot.
    pub blocked_ns: u64,
    /// Ready to work but without a hand, or with a hand whose core somebody else used.
    pub unstaffed_ns: u64,
}

impl StageClock {
    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.busy_ns + self.starved_ns + self.blocked_ns + self.unstaffed_ns
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.starved_ns += other.starved_ns;
        self.blocked_ns += other.blocked_ns;
        self.unstaffed_ns += other.unstaffed_ns;
    }
}

/// What time off the CPU means in a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OffCpu {
    /// It waited for input (reading).
    Starved,
    /// It waited for room (writing).
    Blocked,
    /// Somebody else used its core (computing).
    Unstaffed,
}

/// The clocks of one thread, or of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clocks {
    /// Cutting and fetching chunks.
    pub read: StageClock,
    /// Of it, the cutting: a lane's chunks are cut one after another, whoever does it, and fetched by all.
    pub cut: StageClock,
    /// Working on them.
    pub work: StageClock,
    /// Writing them.
    pub write: StageClock,
    /// Opening and closing lanes.
    pub lanes: StageClock,
}

impl Clocks {
    /// Runs what cuts a chunk.
    pub(crate) fn cutting<T>(&mut self, cut: impl FnOnce() -> T) -> T {
        let mut clock = StageClock::default();
        let result = timed(&mut clock, OffCpu::Starved, cut);
        self.read.add(&clock);
        self.cut.add(&clock);
        result
    }

    /// Adds another thread's clocks.
    pub fn add(&mut self, other: &Self) {
        self.read.add(&other.read);
        self.cut.add(&other.cut);
        self.work.add(&other.work);
        self.write.add(&other.write);
        self.lanes.add(&other.lanes);
    }
}

/// Runs `stage` and adds its time to `clock`: CPU time is busy, the rest is what `off_cpu` says.
pub(crate) fn timed<T>(clock: &mut StageClock, off_cpu: OffCpu, stage: impl FnOnce() -> T) -> T {
    let (wall, cpu_before) = (Instant::now(), sys::cpu_clock::thread_cpu_ns());
    let result = stage();
    let wall_ns = nanoseconds(wall.elapsed());
    // The two clocks tick apart by less than a microsecond; a stage is never busier than it was long.
    let busy_ns = (sys::cpu_clock::thread_cpu_ns() - cpu_before).min(wall_ns);
    clock.busy_ns += busy_ns;
    let waited_ns = wall_ns - busy_ns;
    match off_cpu {
        OffCpu::Starved => clock.starved_ns += waited_ns,
        OffCpu::Blocked => clock.blocked_ns += waited_ns,
        OffCpu::Unstaffed => clock.unstaffed_ns += waited_ns,
    }
    result
}

/// A duration as the clocks count it.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    // LIMIT: u64 nanoseconds hold 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
