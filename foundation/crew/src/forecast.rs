//! Expected time at other core counts, from the rates that a run measured. Pure data and arithmetic.
//!
//! Model: a run takes as long as its slowest serial part, or as all CPU work divided by the cores, whichever is longer, plus
//! what the model did not explain of the run that was measured. At the end of a pipe the work of other programs counts as
//! ours: the producer's and consumer's is needed for every byte. A serial part that more hands would divide counts as such from that number on. The model knows nothing of caches, memory bandwidth or
//! clock frequency, so each expectation is a range; `cargo xtask bench` holds it against real runs.
//! A run whose cores others took for a good part of the time gets no forecast.

use crate::clocks::StageClock;
use crate::measures::{Access, DividedTurns, Measures};
use serde::Serialize;
use std::cmp::Ordering;

/// Expected times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Rising core counts, up to [`Forecast::trusted_to_cores`].
    pub points: Vec<Point>,
    /// Beyond this count (four times what was measured) no claim is made.
    pub trusted_to_cores: usize,
    /// From this count on more cores gain nothing, because `then_bound_by` binds; `None` when that lies beyond what is trusted.
    pub pays_until_cores: Option<usize>,
    /// The serial part that binds in the end.
    pub then_bound_by: Option<&'static str>,
    /// By how much of its time one more core would shorten this run, 0 to 1.
    pub one_more_core_saves: f64,
}

/// The expectation for one core count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Cores, all of them for this run.
    pub cores: usize,
    /// Wall time.
    pub seconds: f64,
    /// The shortest that it may be.
    pub seconds_least: f64,
    /// The longest that it may be.
    pub seconds_most: f64,
    /// Whether this is the run itself rather than an expectation.
    pub measured: bool,
}

/// Why no forecast is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum NoForecast {
    /// Nothing went through.
    Nothing,
    /// Other programs and runs had the cores for too much of the time: what this run would do with them is not known.
    Contended {
        /// The share of the time in which it was ready to run and had no core, 0 to 1.
        share: f64,
    },
}

/// LIMIT: a run that had no core for a larger share of the time gets no forecast. Larger: the range would be wider than the difference
/// that one more core makes. Smaller: machines that are never quite idle would get none.
const CONTENDED_AT_MOST: f64 = 0.25;

/// How far the CPU time of a run may be off at the core count that was measured: runs repeat to about that.
const CPU_ERROR: f64 = 0.04;

/// What is added to it for each doubling or halving of the cores: caches, memory bandwidth, clock frequency, sibling threads.
const CPU_ERROR_A_DOUBLING: f64 = 0.06;

/// What is added to it for a run that waited for cores all the time: others have used its caches.
const CPU_ERROR_CONTENDED: f64 = 0.3;

/// Seconds of a run by what can and what cannot be divided among cores.
#[derive(Clone, Copy, Debug)]
struct Parts {
    cpu: f64,
    serial: f64,
    /// Lanes that can do their serial parts at the same time.
    serial_lanes: f64,
    serial_name: &'static str,
    /// The same where there are enough cores to divide what was done in turns.
    divided: Option<DividedParts>,
    chunks: f64,
    /// What the model does not explain, and how much of it was waiting for cores that others had.
    unexplained: f64,
    contended: f64,
    measured_cores: f64,
    /// The share of the time without a core.
    contended_share: f64,
}

/// CPU time and serial part of a run from so many cores on.
#[derive(Clone, Copy, Debug)]
struct DividedParts {
    from_cores: usize,
    cpu: f64,
    serial: f64,
    serial_name: &'static str,
}

/// Makes the forecast of a run. `others_cpu_ns` is the CPU time that other programs used meanwhile, as far as it is known.
pub fn forecast(measures: &Measures, others_cpu_ns: u64) -> Result<Forecast, NoForecast> {
    if measures.chunks == 0 || measures.wall_ns == 0 {
        return Err(NoForecast::Nothing);
    }
    let share = contended_share(measures);
    if share > CONTENDED_AT_MOST {
        return Err(NoForecast::Contended { share });
    }
    let wall = seconds(measures.wall_ns);
    // Threads that read and write pipes use cores, too.
    let used_cores = (seconds(measures.process_cpu_ns) / wall).round() as usize;
    let measured_cores = measures.workers.max(used_cores).max(1);
    let mut parts = parts_of(measures, others_cpu_ns);
    (parts.measured_cores, parts.contended_share) = (measured_cores as f64, share);
    parts.unexplained = (wall - parts.expected(measured_cores)).max(0.0);
    parts.contended = (share * wall).min(parts.unexplained);
    let trusted_to_cores = measured_cores * 4;
    let (ends, serial_name) = parts.ends(trusted_to_cores);
    let pays_until_cores = (ends <= trusted_to_cores as f64).then_some((ends as usize).max(1));
    let saved = 1.0 - parts.expected(measured_cores + 1) / wall;
    Ok(Forecast {
        points: points(&parts, measured_cores, wall, &core_counts(measured_cores, trusted_to_cores)),
        trusted_to_cores,
        pays_until_cores,
        then_bound_by: pays_until_cores.map(|_| serial_name),
        one_more_core_saves: saved.clamp(0.0, 1.0),
    })
}

/// Points for rising core counts. With more cores neither end of a range is later than with fewer, and the run itself is one of them.
fn points(parts: &Parts, measured_cores: usize, wall: f64, counts: &[usize]) -> Vec<Point> {
    let mut points: Vec<Point> = counts.iter().map(|&cores| parts.point(cores, measured_cores, wall)).collect();
    let (mut least, mut most) = (0.0, 0.0);
    for point in points.iter_mut().rev() {
        least = point.seconds_least.max(least);
        most = point.seconds_most.max(most).max(least);
        (point.seconds_least, point.seconds_most) = (least, most);
        point.seconds = point.seconds.clamp(least, most);
    }
    points
}

/// The share of the time in which the run was ready to run and had no core: that of its workers, or that of a thread at a pipe, if that is
/// larger. Such a thread also waits for the run's own hands, which is nobody else's doing; only a CPU that others have counts.
fn contended_share(measures: &Measures) -> f64 {
    let clocks = &measures.clocks;
    let (mut workers, mut largest) = (clocks.work, 0.0_f64);
    workers.add(&clocks.lanes);
    for (access, clock) in [(measures.reading, &clocks.read), (measures.writing, &clocks.write)] {
        match access {
            Access::OwnThread => largest = largest.max(without_cpu(clock)),
            Access::AtOffsets | Access::InTurns => workers.add(clock),
        }
    }
    largest.max(without_core(&workers))
}

fn without_core(clock: &StageClock) -> f64 {
    clock.unstaffed_ns as f64 / (clock.total_ns() as f64).max(1.0)
}

fn without_cpu(clock: &StageClock) -> f64 {
    clock.cpu_wait_ns as f64 / (clock.total_ns() as f64).max(1.0)
}

fn parts_of(measures: &Measures, others_cpu_ns: u64) -> Parts {
    let clocks = &measures.clocks;
    // Off-CPU time of reading at offsets is a disk's: it does not shrink with more cores as far as this run can tell, so it counts
    // as serial. CPU time there does shrink, but for that of cutting. A file has one writer at a time (`pipeline::scheduler`).
    let reading_ns = match measures.reading {
        Access::AtOffsets | Access::InTurns => clocks.cut.busy_ns + clocks.read.starved_ns,
        Access::OwnThread => clocks.read.busy_ns + clocks.read.starved_ns,
    };
    let is_piped = measures.reading == Access::OwnThread || measures.writing == Access::OwnThread;
    let partners_ns = if is_piped { others_cpu_ns } else { 0 };
    let serial_lanes = measures.parallel_lanes() as f64;
    let cpu = seconds(measures.process_cpu_ns + partners_ns);
    let (serial, serial_name) = serial_part(measures, reading_ns);
    // Where there are several lanes, they keep the hands busy that would divide one.
    let is_divided_later = |divided: &DividedTurns| measures.width < divided.from_hands && serial_lanes <= 1.0;
    let divided = measures.divided_turns.filter(is_divided_later).map(|divided| {
        let turns_ns = clocks.cut.busy_ns.min(reading_ns);
        let (serial, serial_name) = serial_part(measures, reading_ns - turns_ns);
        let cpu = cpu + seconds(turns_ns) * (divided.cpu_factor - 1.0);
        DividedParts { from_cores: divided.from_hands, cpu, serial, serial_name }
    });
    Parts {
        cpu,
        serial,
        serial_lanes,
        serial_name,
        divided,
        chunks: measures.chunks as f64,
        unexplained: 0.0,
        contended: 0.0,
        measured_cores: 1.0,
        contended_share: 0.0,
    }
}

/// The longer one of reading and writing, in seconds, and its name.
fn serial_part(measures: &Measures, reading_ns: u64) -> (f64, &'static str) {
    let [read_name, _, write_name] = measures.stage_names;
    let writing_ns = measures.clocks.write.busy_ns + measures.clocks.write.blocked_ns;
    let (ns, name) = if reading_ns >= writing_ns { (reading_ns, read_name) } else { (writing_ns, write_name) };
    // Several hands may wait for the same disk: that is one wait, and no part of a lane takes longer than the run.
    let serial = seconds(ns).min(seconds(measures.wall_ns) * measures.parallel_lanes() as f64);
    (serial.max(f64::MIN_POSITIVE), name)
}

impl Parts {
    /// CPU time, serial part and its name.
    fn on(&self, cores: usize) -> (f64, f64, &'static str) {
        match self.divided {
            Some(divided) if cores >= divided.from_cores => (divided.cpu, divided.serial, divided.serial_name),
            _ => (self.cpu, self.serial, self.serial_name),
        }
    }

    /// From how many cores on more gain nothing, and what binds there.
    fn ends(&self, trusted_to_cores: usize) -> (f64, &'static str) {
        if self.serial_lanes > 1.0 {
            return (f64::INFINITY, self.serial_name);
        }
        let undivided = (self.cpu / self.serial).ceil();
        match self.divided {
            // Where too few are trusted to divide it, or dividing it costs more than it saves, the turns bind.
            Some(divided)
                if (divided.from_cores..=trusted_to_cores)
                    .any(|cores| self.expected(cores) < self.expected(divided.from_cores - 1)) =>
            {
                ((divided.cpu / divided.serial).ceil().max(divided.from_cores as f64), divided.serial_name)
            }
            _ => (undivided, self.serial_name),
        }
    }

    /// Chunks are not divided: with few of them the last round leaves cores idle.
    fn expected(&self, cores: usize) -> f64 {
        let rounds = (self.chunks / cores as f64).ceil();
        let shared = self.on(cores).0 * rounds / self.chunks;
        // Half of what was lost to others, as long as nobody knows.
        shared.max(self.serial_on(cores)) + self.unexplained - self.contended / 2.0
    }

    fn serial_on(&self, cores: usize) -> f64 {
        self.on(cores).1 / self.serial_lanes.min(cores as f64)
    }

    /// How far CPU time may be off, as a share of it.
    fn error(&self, cores: usize) -> f64 {
        let doublings = libm::log2(cores as f64 / self.measured_cores).abs();
        CPU_ERROR + CPU_ERROR_A_DOUBLING * doublings + CPU_ERROR_CONTENDED * self.contended_share
    }

    /// The shortest: chunks of different lengths, well divided, and nothing lost to others.
    fn least(&self, cores: usize) -> f64 {
        let shared = self.on(cores).0 / (cores as f64).min(self.chunks);
        let shorter = (1.0 - self.error(cores)).max(0.0);
        shared.max(self.serial_on(cores)) * shorter + self.unexplained - self.contended
    }

    /// The longest: the last round leaves cores idle, and all was lost in the run's own way.
    fn most(&self, cores: usize) -> f64 {
        let shared = self.on(cores).0 * (self.chunks / cores as f64).ceil() / self.chunks;
        shared.max(self.serial_on(cores)) * (1.0 + self.error(cores)) + self.unexplained
    }

    /// Fewer cores are not expected to be faster than the run that was measured, nor more to be slower.
    fn point(&self, cores: usize, measured_cores: usize, wall: f64) -> Point {
        let (seconds, least, most) = (self.expected(cores), self.least(cores), self.most(cores));
        let (seconds, seconds_least, seconds_most) = match cores.cmp(&measured_cores) {
            Ordering::Less => (seconds, least.max(wall), most.max(wall)),
            Ordering::Equal => (wall, wall, wall),
            Ordering::Greater => (seconds, least.min(wall), most.min(wall)),
        };
        Point { cores, seconds, seconds_least, seconds_most, measured: cores == measured_cores }
    }
}

/// Powers of two, the measured count and the last trusted one.
fn core_counts(measured: usize, last: usize) -> Vec<usize> {
    let doublings = std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|count| *count <= last);
    let mut counts: Vec<usize> = doublings.chain([measured, last]).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::{Clocks, StageClock};
    use crate::measures::Slots;

    fn one_core_run(work_ms: u64, serial_read_ms: u64) -> Measures {
        let million = 1_000_000;
        let clock = |busy_ms: u64| StageClock { busy_ns: busy_ms * million, ..Default::default() };
        Measures {
            wall_ns: (work_ms + serial_read_ms) * million,
            reading: Access::OwnThread,
            writing: Access::AtOffsets,
            stage_names: ["read", "compress", "write"],
            width: 1,
            workers: 1,
            slots: Slots { given: 4, wanted: 4, hands_wanted: 1 },
            chunks: 1000,
            lanes: 1,
            bytes_in: 1 << 30,
            bytes_out: 1 << 28,
            clocks: Clocks { read: clock(serial_read_ms), work: clock(work_ms), ..Default::default() },
            process_cpu_ns: (work_ms + serial_read_ms) * million,
            divided_turns: None,
        }
    }

    #[test]
    fn time_falls_with_cores_until_the_serial_part_binds() {
        let forecast = forecast(&one_core_run(9_000, 3_000), 0).expect("a run with chunks");
        let at = |cores| forecast.points.iter().find(|point| point.cores == cores).expect("a point").seconds;
        assert!((at(1) - 12.0).abs() < 1e-9);
        assert!((at(2) - 6.0).abs() < 1e-9);
        assert!((at(4) - 3.0).abs() < 1e-9);
        assert_eq!(forecast.pays_until_cores, Some(4));
        assert_eq!(forecast.then_bound_by, Some("read"));
    }

    #[test]
    fn what_is_cut_one_after_another_binds_though_it_is_fetched_by_all() {
        let mut measures = one_core_run(9_000, 3_000);
        measures.reading = Access::AtOffsets;
        let pays_until = |measures: &Measures| forecast(measures, 0).expect("a run with chunks").pays_until_cores;
        assert_eq!(pays_until(&measures), None);
        measures.clocks.cut.busy_ns = measures.clocks.read.busy_ns;
        assert_eq!(pays_until(&measures), Some(4));
    }

    #[test]
    fn what_more_hands_would_divide_binds_below_their_number_only() {
        let mut measures = one_core_run(1_000, 9_000);
        measures.reading = Access::InTurns;
        measures.clocks.cut.busy_ns = measures.clocks.read.busy_ns;
        let of = |measures: &Measures| forecast(measures, 0).expect("a run with chunks");
        assert_eq!(of(&measures).pays_until_cores, Some(2));
        measures.divided_turns = Some(DividedTurns { from_hands: 4, cpu_factor: 2.0 });
        let divided = of(&measures);
        let at = |cores| divided.points.iter().find(|point| point.cores == cores).expect("a point").seconds;
        assert!((at(2) - 9.0).abs() < 1e-9, "two cores take turns");
        assert!((at(4) - 4.75).abs() < 1e-9, "four divide nine seconds that have become eighteen, and one");
        assert_eq!((divided.pays_until_cores, divided.then_bound_by), (None, None));
        // What is written in turns binds from two cores on, and dividing the rest gains nothing that four cores would show.
        measures.clocks.write.busy_ns = 9_500_000_000;
        assert_eq!((of(&measures).pays_until_cores, of(&measures).then_bound_by), (Some(2), Some("write")));
        measures.clocks.write.busy_ns = 0;
        // A run with so many hands has divided them already.
        (measures.width, measures.workers) = (4, 4);
        assert_eq!(of(&measures).pays_until_cores, Some(2));
    }

    #[test]
    fn hands_that_wait_for_the_same_disk_do_not_wait_one_after_another() {
        let mut measures = one_core_run(4_000, 0);
        measures.reading = Access::AtOffsets;
        (measures.width, measures.workers) = (8, 8);
        measures.clocks.read.starved_ns = 7 * measures.wall_ns;
        let forecast = forecast(&measures, 0).expect("a run with chunks");
        let longest = forecast.points.iter().map(|point| point.seconds).fold(0.0, f64::max);
        assert!(longest < 4.0 + 1e-9, "none is expected to take longer than the run did: {longest}");
    }

    #[test]
    fn a_file_is_written_by_one_at_a_time_and_many_files_by_many() {
        let mut measures = one_core_run(9_000, 0);
        measures.reading = Access::AtOffsets;
        measures.clocks.write.busy_ns = 3_000_000_000;
        let bound = |measures: &Measures| {
            let forecast = forecast(measures, 0).expect("a run with chunks");
            (forecast.pays_until_cores, forecast.then_bound_by)
        };
        assert_eq!(bound(&measures), (Some(3), Some("write")));
        measures.lanes = 8;
        assert_eq!(bound(&measures), (None, None));
    }

    #[test]
    fn the_producers_work_counts_at_the_end_of_a_pipe_only() {
        let two_cores = |measures: &Measures| {
            let forecast = forecast(measures, 2_000_000_000).expect("a run with chunks");
            forecast.points.iter().find(|point| point.cores == 2).expect("a point").seconds
        };
        let mut measures = one_core_run(8_000, 0);
        assert!((two_cores(&measures) - 5.0).abs() < 1e-9);
        measures.reading = Access::AtOffsets;
        assert!((two_cores(&measures) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_claimed_beyond_four_times_what_was_measured() {
        let forecast = forecast(&one_core_run(9_000, 1), 0).expect("a run with chunks");
        assert_eq!(forecast.points.last().expect("points").cores, 4);
        assert_eq!((forecast.pays_until_cores, forecast.then_bound_by), (None, None));
    }

    #[test]
    fn three_chunks_do_not_keep_four_cores_busy() {
        let mut measures = one_core_run(3_000, 0);
        measures.chunks = 3;
        let forecast = forecast(&measures, 0).expect("a run with chunks");
        let at = |cores| forecast.points.iter().find(|point| point.cores == cores).expect("a point").seconds;
        assert!((at(2) - 2.0).abs() < 1e-9, "two rounds");
        assert!((at(4) - 1.0).abs() < 1e-9, "one round, one core idle");
    }

    /// One core's work of 4 s by two hands, which had no core for this long in all.
    fn contended_run(without_core_ms: u64) -> Measures {
        let mut measures = one_core_run(4_000, 0);
        measures.reading = Access::AtOffsets;
        (measures.width, measures.workers) = (2, 2);
        measures.wall_ns = (4_000 + without_core_ms) * 1_000_000 / 2;
        measures.clocks.work.unstaffed_ns = without_core_ms * 1_000_000;
        measures
    }

    #[test]
    fn what_others_took_widens_the_range_and_refuses_it_beyond_the_limit() {
        let one_core = |without_core_ms| {
            let forecast = forecast(&contended_run(without_core_ms), 0).expect("below the limit");
            let one = forecast.points[0];
            assert_eq!((one.cores, one.measured), (1, false));
            assert!(one.seconds_least <= 4.0 && one.seconds_most >= 4.0, "it has 4 s of work: {one:?}");
            one.seconds_most - one.seconds_least
        };
        assert!(one_core(0) < one_core(400) && one_core(400) < one_core(1_300));
        // A quarter of 5,333 ms is 1,333 ms.
        assert!(forecast(&contended_run(1_330), 0).is_ok());
        let refused = forecast(&contended_run(1_340), 0).expect_err("above the limit");
        assert!(matches!(refused, NoForecast::Contended { share } if share > 0.25 && share < 0.26), "{refused:?}");
    }

    #[test]
    fn a_thread_at_a_pipe_that_had_no_core_refuses_it_too() {
        let mut measures = one_core_run(3_000, 1_000);
        measures.clocks.read.unstaffed_ns = 300_000_000;
        assert!(forecast(&measures, 0).is_ok());
        measures.clocks.read.unstaffed_ns = 400_000_000;
        assert!(forecast(&measures, 0).is_ok(), "it waited for a hand of its own run");
        measures.clocks.read.cpu_wait_ns = 400_000_000;
        let refused = forecast(&measures, 0).expect_err("it waited 0.4 of 1.4 s");
        assert!(matches!(refused, NoForecast::Contended { share } if (share - 0.4 / 1.4).abs() < 1e-9));
    }

    #[test]
    fn more_cores_are_never_expected_to_be_slower_whatever_was_measured() {
        for (chunks, workers, work_ms, serial_ms, without_core_ms) in [
            (1, 2, 1_750, 0, 0),
            (1, 8, 3_750, 10, 200),
            (3, 2, 3_750, 0, 900),
            (5, 3, 900, 2_000, 100),
            (1000, 2, 3_750, 40, 500),
            (1000, 16, 60_000, 3_000, 9_000),
        ] {
            let mut measures = one_core_run(work_ms, serial_ms);
            (measures.chunks, measures.width, measures.workers) = (chunks, workers, workers);
            measures.clocks.work.unstaffed_ns = without_core_ms * 1_000_000;
            let alone_ms = serial_ms.max((work_ms + without_core_ms).div_ceil(workers.min(chunks as usize) as u64));
            measures.wall_ns = alone_ms * 1_000_000;
            let forecast = forecast(&measures, 0).expect("below the limit");
            for pair in forecast.points.windows(2) {
                let [fewer, more] = [pair[0], pair[1]];
                let falls = fewer.seconds >= more.seconds
                    && fewer.seconds_least >= more.seconds_least
                    && fewer.seconds_most >= more.seconds_most;
                assert!(falls && fewer.cores < more.cores, "{fewer:?} {more:?}");
            }
            for point in &forecast.points {
                let is_inside = (point.seconds_least..=point.seconds_most).contains(&point.seconds);
                assert!(is_inside && (point.measured || point.seconds_least < point.seconds_most), "{point:?}");
            }
        }
    }
}
