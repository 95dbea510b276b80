//! Where a list is cut into chunks, and the order in which workers claim them. Large chunks cost idle workers at the end, small ones cost a
//! claim each; both are balanced where the jobs' times are known. Pure: the same list is cut alike everywhere.

use std::cmp::Ordering;
use std::ops::Range;

/// LIMIT: each chunk is some files on a shared file system. Only a list with more generations has more chunks.
pub const CHUNKS_MAX: usize = 100_000;

/// Seconds that a chunk is to keep all places of a worker busy, if there is enough work for that. A shorter one costs more than 2 %
/// for its claim, a longer one is lost for too long with its worker.
const CHUNK_S: Range<f64> = 1.0..5.0;

/// Chunks for each worker: at least so many, if there are as many jobs and they take longer than their claims, so that a worker with long
/// ones takes fewer; and at most so many of jobs whose times are not known.
const FOR_EACH_WORKER: Range<usize> = 8..32;

/// A job takes at least this: even one that does nothing has to be started.
const JOB_S_MIN: f64 = 0.001;

/// And at most this, 30 years: sums of such times stay numbers.
const JOB_S_MAX: f64 = 1e9;

/// A claim, as it is weighed against chunks.
const CLAIM_S: f64 = 0.02;

/// Jobs, and how long each takes, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub enum ListedJobs<'a> {
    /// So many jobs.
    Untimed(usize),
    /// Jobs that take so many seconds each, times the cores that they take.
    Timed(&'a [f64]),
}

impl ListedJobs<'_> {
    fn count(self) -> usize {
        match self {
            Self::Untimed(jobs) => jobs,
            Self::Timed(seconds) => seconds.len(),
        }
    }
}

/// A list that is to be cut.
#[derive(Clone, Copy, Debug)]
pub struct ListToCut<'a> {
    /// Its jobs.
    pub jobs: ListedJobs<'a>,
    /// Positions of the first job behind each barrier, from 0, rising. A barrier without jobs before or behind it is none.
    pub barriers: &'a [usize],
    /// Workers that will claim chunks.
    pub workers: usize,
    /// Jobs that each of them runs at once.
    pub width: usize,
}

/// Jobs that are claimed together: a range of positions of the list, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobRange {
    /// How many barriers with jobs before and behind them stand before it.
    pub generation: usize,
    /// The first of its jobs.
    pub first: usize,
    /// How many there are.
    pub jobs: usize,
    /// Seconds of all of them together, times the cores that each takes, if known.
    pub expected_s: Option<f64>,
}

impl JobRange {
    /// Its positions.
    pub fn positions(&self) -> Range<usize> {
        self.first..self.first + self.jobs
    }
}

/// Cuts a list. Chunks come in the order in which they are to be claimed: generation by generation, in each the one that takes longest
/// first, or as listed where times are not known.
pub fn chunks(list: &ListToCut<'_>) -> Vec<JobRange> {
    let generations = generations(list);
    let (workers, width) = (list.workers.max(1), list.width.max(1));
    // A cut before a long job leaves a short chunk behind it, so there may be twice as many as aimed at.
    let most = (CHUNKS_MAX.saturating_sub(generations.len()) / 2).max(1);
    let mut chunks: Vec<JobRange> = match list.jobs {
        ListedJobs::Untimed(jobs) => {
            let [few, many] = [FOR_EACH_WORKER.start, FOR_EACH_WORKER.end].map(|each| workers.saturating_mul(each));
            let jobs_each = jobs.div_ceil(jobs.div_ceil(width).clamp(few, many).min(most)).max(1);
            generations.iter().flat_map(|range| by_count(range, jobs_each)).collect()
        }
        ListedJobs::Timed(seconds) => {
            let work_s = seconds.iter().copied().map(job_s).sum();
            let chunk_s = work_s / chunks_aimed_at(work_s, workers, width).min(most as f64);
            generations.iter().flat_map(|range| by_time(range, seconds, chunk_s)).collect()
        }
    };
    // Stable: chunks that take as long stay as listed, and so do all of which nothing is known.
    chunks.sort_by(|one, other| one.generation.cmp(&other.generation).then_with(|| longest_first(one, other)));
    chunks
}

/// A time that can be reckoned with.
fn job_s(seconds: f64) -> f64 {
    if seconds.is_nan() { JOB_S_MIN } else { seconds.clamp(JOB_S_MIN, JOB_S_MAX) }
}

fn longest_first(one: &JobRange, other: &JobRange) -> Ordering {
    let seconds = |range: &JobRange| range.expected_s.unwrap_or(0.0);
    seconds(other).total_cmp(&seconds(one))
}

/// With k chunks for each worker k claims are paid, and up to one chunk's time is lost at the end: least in all where the two are equal.
fn chunks_aimed_at(work_s: f64, workers: usize, width: usize) -> f64 {
    let place_s = work_s / workers as f64 / width as f64;
    let least_lost_s = (place_s * CLAIM_S).sqrt();
    let fewest_each = FOR_EACH_WORKER.start as f64;
    let chunk_s = least_lost_s.clamp(CHUNK_S.start, CHUNK_S.end).min(least_lost_s.max(place_s / fewest_each));
    work_s / (chunk_s * width as f64)
}

/// Ranges of positions between barriers, as one chunk each.
pub(super) fn generations(list: &ListToCut<'_>) -> Vec<JobRange> {
    let jobs = list.jobs.count();
    let mut ends: Vec<usize> = list.barriers.iter().copied().filter(|at| (1..jobs).contains(at)).collect();
    ends.push(jobs);
    ends.sort_unstable();
    ends.dedup();
    let mut first = 0;
    let mut range = |(generation, end): (usize, usize)| {
        let range = JobRange { generation, first, jobs: end - first, expected_s: None };
        first = end;
        range
    };
    ends.into_iter().enumerate().map(&mut range).filter(|range| range.jobs > 0).collect()
}

fn by_count(of: &JobRange, jobs_each: usize) -> Vec<JobRange> {
    let firsts = of.positions().step_by(jobs_each);
    firsts.map(|first| JobRange { first, jobs: jobs_each.min(of.first + of.jobs - first), ..*of }).collect()
}

/// Ranges of about so many seconds; one longer job is a range alone.
fn by_time(of: &JobRange, seconds: &[f64], chunk_s: f64) -> Vec<JobRange> {
    let mut ranges = Vec::new();
    let mut open = JobRange { jobs: 0, expected_s: Some(0.0), ..*of };
    let mut sum_s = 0.0;
    for at in of.positions() {
        let job_s = job_s(seconds[at]);
        // Closer to what is aimed at without this job than with it.
        if open.jobs > 0 && sum_s + job_s / 2.0 > chunk_s {
            ranges.push(JobRange { expected_s: Some(sum_s), ..open });
            (open.first, open.jobs, sum_s) = (at, 0, 0.0);
        }
        open.jobs += 1;
        sum_s += job_s;
    }
    ranges.push(JobRange { expected_s: Some(sum_s), ..open });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut<'a>(jobs: ListedJobs<'a>, barriers: &'a [usize], workers: usize, width: usize) -> Vec<JobRange> {
        chunks(&ListToCut { jobs, barriers, workers, width })
    }

    /// Jobs of each chunk.
    fn sizes(chunks: &[JobRange]) -> Vec<usize> {
        chunks.iter().map(|chunk| chunk.jobs).collect()
    }

    #[test]
    fn jobs_of_unknown_times_make_8_to_32_chunks_for_each_worker_in_the_lists_order() {
        let count = |jobs, workers, width| cut(ListedJobs::Untimed(jobs), &[], workers, width).len();
        assert_eq!(count(100_000, 2, 1), 64);
        assert_eq!(count(1_000, 4, 16), 63, "with sixteen jobs each, none for some places otherwise");
        assert_eq!(count(1_000, 4, 1_000), 32);
        assert_eq!(count(10, 4, 1), 10, "a job each");
        assert_eq!((count(1, 4, 1), count(0, 4, 1)), (1, 0));
        assert_eq!(count(10_000_000, 20_000, 1), 49_752, "few enough for a file system");
        let firsts: Vec<usize> = cut(ListedJobs::Untimed(100), &[], 1, 10).iter().map(|chunk| chunk.first).collect();
        assert_eq!(firsts, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    }

    #[test]
    fn chunks_of_known_times_last_one_to_five_seconds_on_all_places() {
        let longest = |jobs: usize, seconds: f64, workers, width| {
            let seconds = vec![seconds; jobs];
            let chunks = cut(ListedJobs::Timed(&seconds), &[], workers, width);
            chunks[0].expected_s.expect("known") / width as f64
        };
        assert!((longest(1_000, 0.1, 2, 1) - 1.0).abs() < 1e-9, "100 s are cut fine");
        assert!((longest(100_000, 0.1, 2, 1) - 5.0).abs() < 1e-9, "10,000 s coarsely");
        assert!(
            (longest(100_000, 0.1, 2, 16) - 2.5).abs() < 0.1,
            "in between: the root of 312 s a place times a claim"
        );
        assert!((longest(100, 0.04, 1, 1) - 0.5).abs() < 0.03, "4 s among 8 chunks at least");
        assert!((longest(100, 60.0, 2, 1) - 60.0).abs() < 1e-9, "a job each");
        assert!((longest(1_000, 0.001, 10, 1) - 0.045).abs() < 0.001, "two chunks of 0.1 s: eight claims took longer");
    }

    #[test]
    fn the_chunk_that_takes_longest_comes_first_and_a_long_job_is_alone() {
        let seconds = [0.1, 0.1, 0.1, 50.0, 0.1, 0.1, 2.0];
        let chunks = cut(ListedJobs::Timed(&seconds), &[], 1, 1);
        assert_eq!(chunks[0], JobRange { generation: 0, first: 3, jobs: 1, expected_s: Some(50.0) });
        assert_eq!(sizes(&chunks), [1, 1, 3, 2], "{chunks:?}");
        let equal = cut(ListedJobs::Timed(&[1.0; 8]), &[], 1, 1);
        assert!(equal.is_sorted_by_key(|chunk| chunk.first), "as listed where it does not matter");
    }

    #[test]
    fn barriers_without_jobs_are_none() {
        let of = |barriers: &[usize]| {
            let chunks = cut(ListedJobs::Untimed(4), barriers, 1, 4);
            chunks.iter().map(|chunk| (chunk.generation, chunk.first)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0, 2, 2, 4, 9]), [(0, 0), (0, 1), (1, 2), (1, 3)]);
    }

    #[test]
    fn times_that_are_none_are_cut_too() {
        let seconds = [f64::NAN, -1.0, 0.0, f64::INFINITY];
        let chunks = cut(ListedJobs::Timed(&seconds), &[], 2, 1);
        assert_eq!(chunks.iter().map(|chunk| chunk.jobs).sum::<usize>(), 4);
        assert_eq!(chunks[0].expected_s, Some(JOB_S_MAX));
    }

    #[test]
    fn more_generations_than_chunks_are_a_chunk_each() {
        let barriers: Vec<usize> = (1..CHUNKS_MAX + 5).collect();
        assert_eq!(cut(ListedJobs::Untimed(CHUNKS_MAX + 5), &barriers, 8, 1).len(), CHUNKS_MAX + 5);
    }

    proptest! {
        #[test]
        fn every_job_is_in_one_chunk_and_no_chunk_crosses_a_barrier(
            times in prop::collection::vec(prop_oneof![0.0..0.01, 0.0..1.0, 0.0..100.0_f64], 0..400),
            barriers in prop::collection::btree_set(0..450_usize, 0..6),
            (workers, width) in (0..70_usize, 0..70_usize),
            is_timed in any::<bool>(),
        ) {
            let barriers: Vec<usize> = barriers.into_iter().collect();
            let jobs = if is_timed { ListedJobs::Timed(&times) } else { ListedJobs::Untimed(times.len()) };
            let chunks = cut(jobs, &barriers, workers, width);
            let mut generation_of = vec![None; times.len()];
            for chunk in &chunks {
                prop_assert!(chunk.jobs > 0);
                for at in chunk.positions() {
                    prop_assert_eq!(generation_of[at], None, "job {} is in two chunks", at);
                    generation_of[at] = Some(chunk.generation);
                }
            }
            for (at, generation) in generation_of.iter().enumerate() {
                let passed = barriers.iter().filter(|barrier| **barrier > 0 && **barrier <= at).count();
                prop_assert_eq!(*generation, Some(passed));
            }
            prop_assert!(chunks.is_sorted_by(|one, next| one.generation <= next.generation));
            prop_assert!(chunks.is_sorted_by(|one, next| one.generation < next.generation
                || longest_first(one, next) != Ordering::Greater));
        }

        #[test]
        fn there_are_never_too_many_chunks(
            (short, long) in (0.001..0.1_f64, 0.1..1000.0_f64),
            every in 1..40_usize,
            workers in 1..30_000_usize,
        ) {
            let times: Vec<f64> = (0..150_000).map(|at| if at % every == 0 { long } else { short }).collect();
            prop_assert!(cut(ListedJobs::Timed(&times), &[], workers, 1).len() <= CHUNKS_MAX);
        }
    }
}
