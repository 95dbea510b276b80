//! What bound a run, with the evidence and the next step that is not already taken. Pure data; text and JSON render it.
//! The verdict is "cannot tell" if the measurements do not allow a claim.

use crate::clocks::StageClock;
use crate::forecast::{Forecast, NoForecast, forecast};
use crate::measures::{Access, Measures};
use serde::Serialize;
use std::time::Duration;

/// The verdict on a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What bound it.
    pub bound: Bound,
    /// What to do about it, if something is left to do.
    pub next_step: Option<NextStep>,
    /// Expected times at other core counts; none when the run was too short, or was disturbed.
    pub forecast: Option<Forecast>,
    /// Why a run that was long enough has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_forecast: Option<NoForecast>,
}

/// What a run was bound by. Shares are of the time of those who waited or worked, 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Bound {
    /// Input did not come faster: the named stage was occupied or waiting for this share of the wall time.
    Source {
        /// The reading stage.
        stage: &'static str,
        /// Share of the wall time that it was occupied.
        occupied: f64,
        /// Share of that occupation, but for waiting for a CPU, in which it waited for its own input: a producer, a disk.
        waiting: f64,
    },
    /// The hands were busy.
    Work {
        /// The stage that took most of their busy time.
        stage: &'static str,
        /// How many worked at most.
        hands: usize,
        /// Share of their time that they were busy.
        busy: f64,
        /// Share of their busy time that `stage` took.
        of_busy: f64,
    },
    /// Output was not taken faster.
    Sink {
        /// The writing stage.
        stage: &'static str,
        /// Share of the wall time that it was occupied.
        occupied: f64,
        /// Share of that occupation, but for waiting for a CPU, in which it waited for room: a consumer, a disk, a file's lock.
        waiting: f64,
    },
    /// There was work, but no hand for it.
    Unstaffed {
        /// Share of the workers' time without a core.
        share: f64,
    },
    /// Who had the work was ready to run, and others were on the CPUs: other programs, or more threads of this run than there are CPUs.
    Cpu {
        /// The stage that waited.
        stage: &'static str,
        /// Share of the time that it was occupied, or of the workers' time.
        share: f64,
    },
    /// The hands were in the middle of work, off the CPU, and not waiting for one: a disk, a lock, memory, or a host that took the CPU.
    Asleep {
        /// What the work is called.
        stage: &'static str,
        /// Share of the workers' time.
        share: f64,
    },
    /// The memory cap left too few slots, or too few hands.
    Memory {
        /// Share of the time of all hands there could have been that they waited for a slot, or were not there.
        share: f64,
        /// Hands there was room for.
        hands: usize,
        /// Hands there would have been.
        hands_wanted: usize,
        /// Slots there were.
        slots: usize,
        /// Slots there would have been.
        slots_wanted: usize,
    },
    /// The books do not allow a claim.
    CannotTell {
        /// Why.
        reason: Doubt,
    },
}

/// Why no verdict is given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Doubt {
    /// Too short to measure.
    TooShort {
        /// How long it took.
        wall_ns: u64,
    },
    /// A library divided the work among threads of its own, which the clocks do not see.
    LibraryThreads,
    /// No stage stands out.
    NothingStandsOut {
        /// Share of the workers' time that they were busy.
        busy: f64,
        /// Share of the workers' time that they waited for input.
        starved: f64,
        /// Share of the workers' time that they waited for room.
        blocked: f64,
        /// Share of the workers' time that they had no core.
        unstaffed: f64,
    },
}

/// An action, offered only when it is not already in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum NextStep {
    /// `-j` held it to fewer hands than the machine allows.
    AllowMoreHands {
        /// As asked for.
        asked: usize,
        /// As the machine allows.
        allowed: usize,
    },
    /// Give it more memory.
    AllowMoreMemory {
        /// Hands there would have been.
        hands_wanted: usize,
        /// Hands there was room for.
        hands: usize,
        /// Slots there would have been.
        slots_wanted: usize,
        /// Slots there were.
        slots: usize,
    },
    /// Other programs held the cores: a higher priority, or another hour.
    RaisePriority,
    /// The input comes through a pipe; a file would be read in parallel.
    ReadFromFile,
    /// The output goes through a pipe; a file would be written in parallel.
    WriteToFile,
}

/// What the user asked for and the machine allows: it decides which next step is still open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances {
    /// Hands that the machine allows this process; 0 where that is not known.
    pub hands_allowed: usize,
    /// Hands that the user asked for (`-j`).
    pub hands_asked: Option<usize>,
    /// Whether the user lowered the priority, so that raising it again would help.
    pub priority_is_lowered: bool,
    /// Whether a library divided the work among threads of its own.
    pub library_threads: bool,
    /// CPU time that other programs used during the run, as far as it is known: for the forecast.
    pub others_cpu_ns: u64,
}

/// LIMIT: below this wall time start-up, clock steps and scheduling outweigh the stages.
pub(crate) const SHORTEST_JUDGED: Duration = Duration::from_millis(100);

/// A serial stage that is occupied for this share of the wall time is what everybody waits for. Larger would miss stages
/// that the scheduler disturbed, smaller would blame a stage that merely runs along.
const OCCUPIED: f64 = 0.85;

/// Workers that spend this share of their time in one way are described by it.
const STANDS_OUT: f64 = 0.5;

/// A serial stage that is occupied for less of the wall time keeps nobody waiting.
const NEXT_TO_NOTHING: f64 = 0.25;

/// Judges a run.
pub fn verdict(measures: &Measures, circumstances: &Circumstances) -> Verdict {
    if Duration::from_nanos(measures.wall_ns) < SHORTEST_JUDGED || measures.chunks == 0 {
        let bound = Bound::CannotTell { reason: Doubt::TooShort { wall_ns: measures.wall_ns } };
        return Verdict { bound, next_step: None, forecast: None, no_forecast: None };
    }
    if circumstances.library_threads {
        let bound = Bound::CannotTell { reason: Doubt::LibraryThreads };
        return Verdict { bound, next_step: None, forecast: None, no_forecast: None };
    }
    let measures = &without_hands_that_cannot_be(measures, circumstances.hands_allowed);
    let bound = bound_of(measures);
    let next_step = next_step(&bound, measures, circumstances);
    let (forecast, no_forecast) = match forecast(measures, circumstances.others_cpu_ns) {
        Ok(forecast) => (Some(forecast), None),
        Err(refused) => (None, Some(refused)),
    };
    Verdict { bound, next_step, forecast, no_forecast }
}

/// More hands than the machine allows have no core whatever others do: theirs is no time that was lost.
fn without_hands_that_cannot_be(measures: &Measures, hands_allowed: usize) -> Measures {
    let mut measures = measures.clone();
    if hands_allowed > 0 {
        measures.slots.hands_wanted = measures.slots.hands_wanted.min(hands_allowed);
    }
    let beyond = measures.width.saturating_sub(hands_allowed) as u64;
    if hands_allowed > 0 && beyond > 0 {
        let work = &mut measures.clocks.work;
        work.unstaffed_ns = work.unstaffed_ns.saturating_sub(beyond.saturating_mul(measures.wall_ns));
        work.cpu_wait_ns = work.cpu_wait_ns.min(work.unstaffed_ns);
        measures.workers = measures.workers.min(hands_allowed);
        measures.width = hands_allowed;
    }
    measures
}

/// The workers' time by kind: the work stage, and reading and writing where they happen in the workers' time.
struct Workers {
    total_ns: f64,
    waited_for_cpu: f64,
    asleep: f64,
    busy: f64,
    starved: f64,
    blocked: f64,
    unstaffed: f64,
}

fn bound_of(measures: &Measures) -> Bound {
    let [read_name, work_name, write_name] = measures.stage_names;
    let clocks = &measures.clocks;
    let workers = workers_time(measures);
    let lanes_at_once = measures.parallel_lanes().min(measures.workers).max(1) as u64;
    let reading = Occupation::of(&clocks.read, clocks.read.starved_ns, measures.wall_ns * lanes_at_once);
    let cutting = Occupation::of(&clocks.cut, clocks.cut.starved_ns, measures.wall_ns * lanes_at_once);
    let writing = Occupation::of(&clocks.write, clocks.write.blocked_ns, measures.wall_ns);
    let short_of_slots = measures.slots.given < measures.slots.wanted;

    // What others did ahead of a chunk's turn is reading, and no part of what one alone can do at a time.
    let is_all_there_is = measures.workers > 1 || workers.busy < OCCUPIED;
    if measures.reading == Access::OwnThread && reading.share >= OCCUPIED && is_all_there_is {
        return reading.source(read_name);
    }
    if measures.workers > 1 && cutting.share >= OCCUPIED {
        return cutting.source(read_name);
    }
    if measures.writing == Access::OwnThread && writing.share >= OCCUPIED && workers.busy < OCCUPIED {
        return writing.sink(write_name);
    }
    if workers.unstaffed >= STANDS_OUT && workers.waited_for_cpu * 2.0 >= workers.unstaffed {
        return Bound::Cpu { stage: longest_without_cpu(measures), share: workers.waited_for_cpu };
    }
    if workers.unstaffed >= STANDS_OUT {
        return Bound::Unstaffed { share: workers.unstaffed };
    }
    if short_of_slots && slot_wait_share(measures, &workers) >= 0.25 {
        return Bound::Memory {
            share: slot_wait_share(measures, &workers),
            hands: measures.width,
            hands_wanted: measures.width + hands_kept_away(measures, &workers),
            slots: measures.slots.given,
            slots_wanted: measures.slots.wanted,
        };
    }
    if workers.asleep >= STANDS_OUT {
        return Bound::Asleep { stage: work_name, share: workers.asleep };
    }
    if workers.starved >= STANDS_OUT && reading.share < NEXT_TO_NOTHING && cutting.share < NEXT_TO_NOTHING {
        // It is not the source that they waited for: there was less to do at once than there were hands.
        let hands_busy = workers.busy * workers.total_ns / measures.wall_ns as f64;
        let hands = hands_busy.ceil().max(1.0);
        if hands_busy / hands >= STANDS_OUT {
            let (stage, of_busy) = busiest_stage(measures);
            return Bound::Work { stage, hands: hands as usize, busy: hands_busy / hands, of_busy };
        }
    }
    if workers.starved >= STANDS_OUT {
        return reading.source(read_name);
    }
    if workers.blocked >= STANDS_OUT {
        return writing.sink(write_name);
    }
    if workers.busy >= STANDS_OUT {
        let (stage, of_busy) = busiest_stage(measures);
        return Bound::Work { stage, hands: measures.workers, busy: workers.busy, of_busy };
    }
    Bound::CannotTell {
        reason: Doubt::NothingStandsOut {
            busy: workers.busy,
            starved: workers.starved,
            blocked: workers.blocked,
            unstaffed: workers.unstaffed,
        },
    }
}

/// The stage that the workers were busiest with, and its share of their busy time.
fn busiest_stage(measures: &Measures) -> (&'static str, f64) {
    let clocks = &measures.clocks;
    let [read_name, work_name, write_name] = measures.stage_names;
    let in_workers = |access: Access, clock: &StageClock| if access == Access::OwnThread { 0 } else { clock.busy_ns };
    let stages = [
        (read_name, in_workers(measures.reading, &clocks.read)),
        (work_name, clocks.work.busy_ns),
        (write_name, in_workers(measures.writing, &clocks.write)),
        ("opening and closing files", clocks.lanes.busy_ns),
    ];
    let whole: u64 = stages.iter().map(|(_, busy_ns)| busy_ns).sum();
    let (name, busy_ns) = stages.into_iter().max_by_key(|(_, busy_ns)| *busy_ns).expect("there are stages");
    (name, busy_ns as f64 / whole.max(1) as f64)
}

/// The stage in which the workers waited longest for a CPU.
fn longest_without_cpu(measures: &Measures) -> &'static str {
    let clocks = &measures.clocks;
    let [read_name, work_name, write_name] = measures.stage_names;
    let stages = [
        (read_name, if measures.reading == Access::OwnThread { 0 } else { clocks.read.cpu_wait_ns }),
        (write_name, if measures.writing == Access::OwnThread { 0 } else { clocks.write.cpu_wait_ns }),
        ("opening and closing files", clocks.lanes.cpu_wait_ns),
        (work_name, clocks.work.cpu_wait_ns),
    ];
    stages.into_iter().max_by_key(|(_, waited_ns)| *waited_ns).expect("there are stages").0
}

/// How long a serial stage was at its own work, ready for it, or waiting for its own outside, as a share of the wall time: others wait
/// for it in all three.
struct Occupation {
    share: f64,
    /// Of it, without the waiting for a CPU.
    waiting: f64,
    /// Of it.
    without_cpu: f64,
}

impl Occupation {
    fn of(clock: &StageClock, outside_ns: u64, wall_ns: u64) -> Self {
        let with_cpu = (clock.busy_ns + outside_ns) as f64;
        let occupied = with_cpu + clock.cpu_wait_ns as f64;
        Self {
            share: occupied / wall_ns as f64,
            waiting: outside_ns as f64 / with_cpu.max(1.0),
            without_cpu: clock.cpu_wait_ns as f64 / occupied.max(1.0),
        }
    }

    fn source(&self, stage: &'static str) -> Bound {
        let bound = Bound::Source { stage, occupied: self.share.min(1.0), waiting: self.waiting };
        self.unless_without_cpu(stage, bound)
    }

    fn sink(&self, stage: &'static str) -> Bound {
        let bound = Bound::Sink { stage, occupied: self.share.min(1.0), waiting: self.waiting };
        self.unless_without_cpu(stage, bound)
    }

    /// It is not for the stage's own sake that it was occupied, where it was ready to run for most of that time.
    fn unless_without_cpu(&self, stage: &'static str, bound: Bound) -> Bound {
        if self.without_cpu >= STANDS_OUT { Bound::Cpu { stage, share: self.without_cpu } } else { bound }
    }
}

fn workers_time(measures: &Measures) -> Workers {
    let clocks = &measures.clocks;
    let mut stages = vec![clocks.work, clocks.lanes];
    if measures.reading != Access::OwnThread {
        stages.push(clocks.read);
    }
    if measures.writing != Access::OwnThread {
        stages.push(clocks.write);
    }
    let total_ns = (stages.iter().map(StageClock::total_ns).sum::<u64>() as f64).max(1.0);
    let share = |of: fn(&StageClock) -> u64| stages.iter().map(of).sum::<u64>() as f64 / total_ns;
    Workers {
        total_ns,
        waited_for_cpu: share(|clock| clock.cpu_wait_ns),
        asleep: share(|clock| clock.asleep_ns),
        busy: share(|clock| clock.busy_ns),
        starved: share(|clock| clock.starved_ns),
        blocked: share(|clock| clock.blocked_ns),
        unstaffed: share(|clock| clock.unstaffed_ns),
    }
}

/// Hands that the memory cap kept away and that there was work for: all that fitted were at work, and busy.
fn hands_kept_away(measures: &Measures, workers: &Workers) -> usize {
    if measures.workers < measures.width || workers.busy < STANDS_OUT {
        return 0;
    }
    let of_use = usize::try_from(measures.chunks).unwrap_or(usize::MAX).min(measures.slots.hands_wanted);
    of_use.saturating_sub(measures.width)
}

/// Share of the time of the hands there could have been that went by waiting for a slot.
fn slot_wait_share(measures: &Measures, workers: &Workers) -> f64 {
    let not_there = measures.width.saturating_sub(measures.workers) + hands_kept_away(measures, workers);
    let never_hired = not_there as f64 * measures.wall_ns as f64;
    let work = &measures.clocks.work;
    ((work.blocked_ns - work.asleep_ns) as f64 + never_hired) / (workers.total_ns + never_hired)
}

fn next_step(bound: &Bound, measures: &Measures, circumstances: &Circumstances) -> Option<NextStep> {
    match bound {
        // Fewer hands than there were had something to do.
        Bound::Work { hands, .. } if *hands < measures.workers => None,
        Bound::Work { .. } => {
            let asked = circumstances.hands_asked.filter(|&asked| asked < circumstances.hands_allowed)?;
            Some(NextStep::AllowMoreHands { asked, allowed: circumstances.hands_allowed })
        }
        Bound::Memory { slots, slots_wanted, hands, hands_wanted, .. } => Some(NextStep::AllowMoreMemory {
            slots: *slots,
            slots_wanted: *slots_wanted,
            hands: *hands,
            hands_wanted: *hands_wanted,
        }),
        Bound::Unstaffed { .. } | Bound::Cpu { .. } => {
            circumstances.priority_is_lowered.then_some(NextStep::RaisePriority)
        }
        // A producer that is itself the limit would not be faster as a file; one that is merely copied through a pipe would.
        Bound::Source { waiting, .. } => {
            (measures.reading == Access::OwnThread && *waiting < 0.5).then_some(NextStep::ReadFromFile)
        }
        Bound::Sink { waiting, .. } => {
            (measures.writing == Access::OwnThread && *waiting < 0.5).then_some(NextStep::WriteToFile)
        }
        Bound::CannotTell { .. } | Bound::Asleep { .. } => None,
    }
}
