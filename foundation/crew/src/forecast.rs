//! Expected time at other core counts, from the rates that a run measured. Pure data and arithmetic.
//!
//! Model: a run takes as long as its slowest serial part, or as all CPU work divided by the cores, whichever is longer, plus
//! what the model did not explain of the run that was measured. At the end of a pipe the work of other programs counts as
//! ours: the producer's and consumer's is needed for every byte. The model knows nothing of caches, memory bandwidth or
//! clock frequency; `cargo xtask bench` holds it against real runs.

use crate::measures::{Access, Measures};
use serde::Serialize;

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
    /// Whether this is the run itself rather than an expectation.
    pub measured: bool,
}

/// Seconds of a run by what can and what cannot be divided among cores.
#[derive(Clone, Copy, Debug)]
struct Parts {
    cpu: f64,
    serial: f64,
    /// Lanes that can do their serial parts at the same time.
    serial_lanes: f64,
    serial_name: &'static str,
    chunks: f64,
    unexplained: f64,
}

/// Makes the forecast of a run. `others_cpu_ns` is the CPU time that other programs used meanwhile, as far as it is known.
/// `None` when nothing went through.
pub fn forecast(measures: &Measures, others_cpu_ns: u64) -> Option<Forecast> {
    if measures.chunks == 0 || measures.wall_ns == 0 {
        return None;
    }
    let wall = seconds(measures.wall_ns);
    // Threads that read and write pipes use cores, too.
    let used_cores = (seconds(measures.process_cpu_ns) / wall).round() as usize;
    let measured_cores = measures.workers.max(used_cores).max(1);
    let mut parts = parts_of(measures, others_cpu_ns);
    parts.unexplained = (wall - parts.expected(measured_cores)).max(0.0);
    let trusted_to_cores = measured_cores * 4;
    let at = |cores: usize| Point {
        cores,
        seconds: if cores == measured_cores { wall } else { parts.expected(cores) },
        measured: cores == measured_cores,
    };
    let ends = if parts.serial_lanes > 1.0 { f64::INFINITY } else { (parts.cpu / parts.serial).ceil() };
    let pays_until_cores = (ends <= trusted_to_cores as f64).then_some((ends as usize).max(1));
    let saved = 1.0 - parts.expected(measured_cores + 1) / wall;
    Some(Forecast {
        points: core_counts(measured_cores, trusted_to_cores).into_iter().map(at).collect(),
        trusted_to_cores,
        pays_until_cores,
        then_bound_by: pays_until_cores.map(|_| parts.serial_name),
        one_more_core_saves: saved.clamp(0.0, 1.0),
    })
}

fn parts_of(measures: &Measures, others_cpu_ns: u64) -> Parts {
    let clocks = &measures.clocks;
    let [read_name, _, write_name] = measures.stage_names;
    // Off-CPU time of reading at offsets is a disk's: it does not shrink with more cores as far as this run can tell, so it counts
    // as serial. CPU time there does shrink, but for that of cutting. A file has one writer at a time (`pipeline::scheduler`).
    let reading = match measures.reading {
        Access::AtOffsets => clocks.cut.busy_ns + clocks.read.starved_ns,
        Access::InTurns | Access::OwnThread => clocks.read.busy_ns + clocks.read.starved_ns,
    };
    let writing = clocks.write.busy_ns + clocks.write.blocked_ns;
    let (serial_ns, serial_name) = if reading >= writing { (reading, read_name) } else { (writing, write_name) };
    let is_piped = measures.reading == Access::OwnThread || measures.writing == Access::OwnThread;
    let partners_ns = if is_piped { others_cpu_ns } else { 0 };
    let serial_lanes = measures.parallel_lanes() as f64;
    // Several hands may wait for the same disk: that is one wait, and no part of a lane takes longer than the run.
    let serial = seconds(serial_ns).min(seconds(measures.wall_ns) * serial_lanes);
    Parts {
        cpu: seconds(measures.process_cpu_ns + partners_ns),
        serial: serial.max(f64::MIN_POSITIVE),
        serial_lanes,
        serial_name,
        chunks: measures.chunks as f64,
        unexplained: 0.0,
    }
}

impl Parts {
    /// Chunks are not divided: with few of them the last round leaves cores idle.
    fn expected(&self, cores: usize) -> f64 {
        let rounds = (self.chunks / cores as f64).ceil();
        let shared = self.cpu * rounds / self.chunks;
        let serial = self.serial / self.serial_lanes.min(cores as f64);
        shared.max(serial) + self.unexplained
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
}
