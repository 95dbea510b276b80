//! Whole runs by simulated time: admission with the queue's rule for passing. What must hold for any list: every job runs, the
//! expected sum stays within the cap, and where memory is no question nobody waits for it.

use super::{MemoryAdmission, Need};
use crate::classes::Classes;
use crate::queue::{NextJob, Queue};
use crate::spec::Spec;
use proptest::prelude::*;

/// A job with what it really needs.
#[derive(Clone, Copy, Debug)]
struct Job {
    kind: usize,
    peak: u64,
    time: u64,
}

struct Outcome {
    makespan: u64,
    /// The largest sum of real peaks of jobs that ran at once.
    peak: u64,
    starts: Vec<usize>,
}

/// Runs a list; panics where nothing can go on.
fn run(jobs: &[Job], cap: u64, width: usize) -> Outcome {
    let (mut classes, mut admission, mut queue) =
        (Classes::default(), MemoryAdmission::new(cap, width), Queue::default());
    let kinds = ["a", "b", "c", "d"].map(|name| classes.class(name));
    for number in 0..jobs.len() {
        queue.push(Spec { number: number as u64, ..Spec::default() }, 0);
    }
    let need = |number: u64| Need::Learnt(kinds[jobs[number as usize].kind]);
    let (mut now, mut peak, mut running, mut starts) = (0, 0, Vec::<(u64, usize)>::new(), Vec::new());
    while starts.len() < jobs.len() || !running.is_empty() {
        while running.len() < width {
            let is_fitting = |number: u64| admission.judge(need(number), &classes).is_ok();
            let aside = queue.take_aside();
            let pending = match aside {
                Some(pending) if is_fitting(pending.spec.number) => pending,
                other => {
                    other.into_iter().for_each(|pending| queue.keep_aside(pending));
                    match queue.next(running.len()) {
                        NextJob::Job(pending) if is_fitting(pending.spec.number) => pending,
                        NextJob::Job(pending) => match queue.set_aside(pending) {
                            Ok(()) => continue,
                            Err(pending) => {
                                queue.put_back(pending);
                                break;
                            }
                        },
                        _ => break,
                    }
                }
            };
            let number = pending.spec.number;
            admission.begin(need(number));
            assert!(running.is_empty() || admission.held_bytes(&classes) <= cap, "the expected sum is above the cap");
            starts.push(number as usize);
            running.push((now + jobs[number as usize].time, number as usize));
        }
        peak = peak.max(running.iter().map(|(_, number)| jobs[*number].peak).sum());
        running.sort_unstable();
        assert!(!running.is_empty(), "jobs wait and none runs");
        let (ends, number) = running.remove(0);
        now = ends;
        admission.end(need(number as u64));
        classes.note(kinds[jobs[number].kind], Some(jobs[number].peak), jobs[number].time as f64);
    }
    Outcome { makespan: now, peak, starts }
}

fn list_scheduled(jobs: &[Job], width: usize) -> u64 {
    let mut free_at = vec![0; width];
    for job in jobs {
        *free_at.iter_mut().min().expect("a width") += job.time;
    }
    free_at.into_iter().max().unwrap_or(0)
}

fn jobs(peaks: std::ops::Range<u64>) -> impl Strategy<Value = Vec<Job>> {
    let job = (0..4_usize, peaks, 1..100_u64).prop_map(|(kind, peak, time)| Job { kind, peak, time });
    proptest::collection::vec(job, 1..60)
}

proptest! {
    #[test]
    fn every_job_runs_whatever_it_needs(jobs in jobs(0..5000), width in 1..9_usize) {
        let outcome = run(&jobs, 1000, width);
        let mut starts = outcome.starts.clone();
        starts.sort_unstable();
        prop_assert_eq!(starts, (0..jobs.len()).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_where_all_fit(jobs in jobs(0..125), width in 1..9_usize) {
        let outcome = run(&jobs, 1000, width);
        prop_assert_eq!(outcome.makespan, list_scheduled(&jobs, width));
        prop_assert_eq!(outcome.starts, (0..jobs.len()).collect::<Vec<_>>());
    }

    #[test]
    fn a_job_is_passed_by_a_bounded_number(jobs in jobs(0..2000), width in 1..9_usize) {
        let outcome = run(&jobs, 1000, width);
        for (at, number) in outcome.starts.iter().enumerate() {
            let passed_by = outcome.starts[..at].iter().filter(|other| *other > number).count();
            prop_assert!(passed_by <= crate::queue::PASSED_MAX, "{} by {}", number, passed_by);
        }
    }
}

#[test]
fn a_learnt_class_stays_within_the_cap_after_its_first_wave() {
    let jobs = vec![Job { kind: 0, peak: 400, time: 10 }; 40];
    let outcome = run(&jobs, 1000, 8);
    assert_eq!(outcome.peak, 3200, "the first wave is as wide as it would be without admission");
    let after: Vec<Job> = jobs[..2].to_vec();
    assert_eq!(run(&after, 1000, 2).peak, 800);
    // 8 in the first wave, then two at once: 32 jobs in 16 waves.
    assert_eq!(outcome.makespan, 10 + 160);
}

#[test]
fn small_jobs_pass_a_large_one_that_does_not_fit_yet() {
    let small = |time| Job { kind: 0, peak: 100, time };
    let large = Job { kind: 1, peak: 950, time: 10 };
    // Both kinds become known; then the large one waits for the long small one, beside which other small ones go on.
    let outcome = run(&[small(10), large, small(30), small(10), large, small(10), small(10)], 1000, 2);
    assert_eq!((outcome.makespan, outcome.starts), (50, vec![0, 1, 2, 3, 5, 6, 4]));
}
