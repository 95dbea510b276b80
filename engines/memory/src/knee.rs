//! How many threads are worth their while here: beyond some number memory is set up more slowly, and that number differs by machine.

use crate::error::MemoryError;
use crate::limits::MemoryLimits;
use crate::pool::ThreadPool;
use crate::range::{MemoryRange, PageWish, RangeWish};
use serde::Serialize;
use std::time::{Duration, Instant};

/// What so many threads reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KneePoint {
    /// How many.
    pub threads: usize,
    /// What they reached together.
    pub bytes_per_second: f64,
}

/// LIMIT: what is nearer than this to the fastest is as fast: figures of one machine differ as much from one second to the next.
const AS_FAST: f64 = 0.97;

/// The fewest threads that are as fast as the fastest; 1 of no points.
pub fn knee(points: &[KneePoint]) -> usize {
    let fastest = points.iter().map(|point| point.bytes_per_second).fold(0.0, f64::max);
    let as_fast = points.iter().filter(|point| point.bytes_per_second >= fastest * AS_FAST);
    as_fast.map(|point| point.threads).min().unwrap_or(1)
}

/// 1, 2, 4 and so on, and `most` at last.
pub fn thread_counts(most: usize) -> Vec<usize> {
    let most = most.max(1);
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1_usize), |count| count.checked_mul(2)).take_while(|&count| count < most).collect();
    counts.push(most);
    counts
}

/// LIMIT: what is created for each number of threads: enough for four chunks each.
const PROBE_BYTES_A_THREAD: u64 = 32 << 20;
/// LIMIT: of all memory that is available, so much is used to find out.
const PROBE_PARTS: u64 = 8;

/// Finds the knee by creating small ranges for at most `time`. With many threads the time may be over before all numbers were tried; the
/// first ones are then judged.
pub fn calibrate(pool: &ThreadPool, limits: &MemoryLimits, time: Duration) -> Result<Vec<KneePoint>, MemoryError> {
    let begin = Instant::now();
    let bytes = |threads: usize| (PROBE_BYTES_A_THREAD * threads as u64).min(limits.available_bytes / PROBE_PARTS);
    let probe = |threads: usize| {
        let wish = RangeWish { pages: PageWish::Small, threads, ..RangeWish::anonymous(bytes(threads)) };
        let (range, report) = MemoryRange::create(pool, limits, wish)?;
        let rate = range.bytes() as f64 / report.wall.as_secs_f64().max(1e-9);
        range.destroy(pool)?;
        Ok(rate)
    };
    // A virtual machine's host may have to find the memory first.
    probe(pool.threads())?;
    let mut points = Vec::new();
    for threads in thread_counts(pool.threads()) {
        if begin.elapsed() > time && !points.is_empty() {
            break;
        }
        let rate: f64 = probe(threads)?;
        points.push(KneePoint { threads, bytes_per_second: rate.max(probe(threads)?) });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::allowed_nodes;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};
    use machine::Host;
    use std::sync::Arc;

    fn points(rates: &[(usize, f64)]) -> Vec<KneePoint> {
        rates.iter().map(|&(threads, bytes_per_second)| KneePoint { threads, bytes_per_second }).collect()
    }

    #[test]
    fn the_knee_is_the_fewest_threads_that_are_as_fast_as_any() {
        // pegaflow, 500 GB: 105.2, 7.9, 8.3, 4.3 and 6.0 s.
        let seen = [(1, 4.75), (16, 63.3), (64, 60.2), (128, 116.3), (240, 83.3)];
        assert_eq!(knee(&points(&seen)), 128);
        assert_eq!(knee(&points(&[(1, 10.0), (2, 19.0), (4, 19.1), (8, 18.0)])), 2);
        assert_eq!((knee(&points(&[(1, 5.0), (2, 4.0)])), knee(&[])), (1, 1));
    }

    #[test]
    fn finding_the_knee_takes_bounded_memory_and_ends_when_its_time_is_over() {
        let (priority, weight) = (Priority::Normal, Weight::default());
        let request = Request { priority, weight, useful_width: 4, what: "a test".to_owned() };
        let lease = Arc::from(InProcess::new(4).lease(request));
        let pool = ThreadPool::new(lease, allowed_nodes(&Host::real()), 4).expect("threads can be had");
        let limits = MemoryLimits { available_bytes: 64 << 20, ..MemoryLimits::default() };
        let threads = |time| -> Vec<usize> {
            let points = calibrate(&pool, &limits, time).expect("there is room");
            assert!(points.iter().all(|point| point.bytes_per_second > 0.0));
            points.iter().map(|point| point.threads).collect()
        };
        assert_eq!(threads(Duration::MAX), [1, 2, 4]);
        assert_eq!(threads(Duration::ZERO), [1], "the first number is always tried");
    }

    #[test]
    fn numbers_of_threads_double() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(
            (thread_counts(2), thread_counts(6), thread_counts(8)),
            (vec![1, 2], vec![1, 2, 4, 6], vec![1, 2, 4, 8])
        );
        assert_eq!(thread_counts(0), [1]);
    }
}
