//! Laws that hold in every simulated run, scaling to 1,024 workers, and the runs that the model was measured on.

use super::super::chunks::{ListToCut, ListedJobs, chunks};
use super::super::tests::unlucky_list;
use super::*;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

/// Workers that all start at once, and a list that is cut as it would be for them.
fn cluster<'a>(
    seconds: &'a [f64],
    chunks: &'a [JobRange],
    workers: &'a [SimulatedWorker],
    width: usize,
) -> SimulatedCluster<'a> {
    SimulatedCluster { seconds, cores: &[], chunks, workers, width, claim_s: 0.0, lease_s: 60.0, successor_s: 1.0 }
}

/// Chunks of so many jobs each, in the list's order.
fn equal_chunks(jobs: usize, jobs_each: usize) -> Vec<JobRange> {
    let firsts = (0..jobs).step_by(jobs_each);
    let range = |first| JobRange { generation: 0, first, jobs: jobs_each.min(jobs - first), expected_s: None };
    firsts.map(range).collect()
}

fn at_once(workers: usize) -> Vec<SimulatedWorker> {
    vec![SimulatedWorker::starting(0.0); workers]
}

fn watched(cluster: &SimulatedCluster<'_>) -> (SimulatedEnd, Vec<SimulatedJob>) {
    let mut jobs = Vec::new();
    let end = simulate(cluster, |job| jobs.push(*job));
    (end, jobs)
}

#[test]
fn a_place_waits_for_each_claim_and_the_others_work_meanwhile() {
    let (seconds, chunks) = ([1.0; 8], equal_chunks(8, 2));
    let one = at_once(1);
    let costly = SimulatedCluster { claim_s: 0.5, ..cluster(&seconds, &chunks, &one, 1) };
    assert_eq!(simulate(&costly, |_| {}).ended_ns, 10 * SECOND_NS, "four claims and eight jobs");
    let (end, jobs) = watched(&SimulatedCluster { width: 3, ..costly });
    let begins: Vec<u64> = jobs.iter().map(|job| job.began_ns / (SECOND_NS / 2)).collect();
    assert_eq!(begins, [1, 1, 2, 3, 4, 4, 6, 6], "in half seconds: the third place has the next chunk read at once");
    assert_eq!((end.ended_ns, end.claims), (4 * SECOND_NS, 4));
}

#[test]
fn a_job_that_takes_several_places_waits_for_them() {
    let (seconds, cores, chunks) = ([1.0, 3.0, 1.0, 1.0], [1, 9, 1], equal_chunks(4, 4));
    let one = at_once(1);
    let (end, jobs) = watched(&SimulatedCluster { cores: &cores, ..cluster(&seconds, &chunks, &one, 2) });
    let begins: Vec<(usize, u64)> = jobs.iter().map(|job| (job.job, job.began_ns / SECOND_NS)).collect();
    assert_eq!(begins, [(0, 0), (1, 1), (2, 4), (3, 4)], "it asks for more than there are, and gets both");
    assert_eq!(end.ended_ns, 5 * SECOND_NS);
}

#[test]
fn a_worker_that_starts_late_takes_what_is_left() {
    let (seconds, chunks) = ([1.0; 6], equal_chunks(6, 1));
    let workers = [SimulatedWorker::starting(0.0), SimulatedWorker::starting(3.5)];
    let (end, jobs) = watched(&cluster(&seconds, &chunks, &workers, 1));
    assert_eq!(jobs.iter().map(|job| job.worker).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 0]);
    assert_eq!(end.ended_ns, 5 * SECOND_NS);
}

#[test]
fn a_dead_workers_chunk_is_done_again_when_its_lease_is_over_and_nothing_else_is_left() {
    let (seconds, chunks) = ([1.0; 10], equal_chunks(10, 2));
    let dying = SimulatedWorker { dies_s: Some(1.5), ..SimulatedWorker::starting(0.0) };
    let (end, jobs) = watched(&cluster(&seconds, &chunks, &[SimulatedWorker::starting(0.0), dying], 1));
    let by_dead: Vec<usize> = jobs.iter().filter(|job| job.worker == 1).map(|job| job.job).collect();
    assert_eq!(by_dead, [2], "its second job died with it");
    let again: Vec<u64> = jobs.iter().filter(|job| (2..4).contains(&job.job)).map(|job| job.began_ns).collect();
    assert_eq!(again, [0, 61_500_000_000, 62_500_000_000]);
    assert_eq!((end.ended_ns, end.claims, end.chunks_left), (63_500_000_000, 6, 0));
    let all_die = [dying; 3];
    let left = simulate(&cluster(&seconds, &chunks, &all_die, 1), |_| {});
    assert_eq!(left.chunks_left, 5, "nobody is there to do it");
    let never_starts = SimulatedWorker { starts_s: 2.0, ..dying };
    assert_eq!(simulate(&cluster(&seconds, &chunks, &[never_starts], 1), |_| {}).claims, 0);
}

#[test]
fn a_worker_that_goes_on_too_late_has_done_what_another_did_first() {
    let (seconds, chunks) = ([1.0; 10], equal_chunks(10, 2));
    let stopped_for = |for_s| SimulatedWorker { stops_s: Some((0.5, for_s)), ..SimulatedWorker::starting(0.0) };
    let played = |for_s| {
        let workers = [SimulatedWorker::starting(0.0), stopped_for(for_s)];
        let end = simulate(&cluster(&seconds, &chunks, &workers, 1), |_| {});
        (end.ended_ns as f64 / 1e9, end.claims, end.discarded, end.chunks_left)
    };
    assert_eq!(played(2.0), (6.0, 5, 0, 0), "its first job had ended while it was stopped");
    assert_eq!(played(59.0), (60.5, 5, 0, 0), "nobody takes a chunk before its lease is over");
    assert_eq!(played(61.0), (62.5, 6, 0, 0), "the other one is as fast, and later in noticing");
    let behind = JobRange { generation: 1, ..chunks[4] };
    let two_generations = [&chunks[..4], &[behind]].concat();
    let workers = [SimulatedWorker::starting(0.0), stopped_for(61.8)];
    let end = simulate(&cluster(&seconds, &two_generations, &workers, 1), |_| {});
    assert_eq!((end.ended_ns as f64 / 1e9, end.discarded), (64.5, 1), "the run went on behind the barrier meanwhile");
}

#[test]
fn a_worker_whose_time_is_nearly_up_claims_what_fits_and_has_a_successor() {
    let seconds = [4.0, 4.0, 4.0, 1.0];
    let chunks = equal_chunks(4, 1);
    let short = [SimulatedWorker { time_s: Some(9.0), ..SimulatedWorker::starting(0.0) }];
    let (end, jobs) = watched(&cluster(&seconds, &chunks, &short, 1));
    let course: Vec<(usize, usize, u64)> =
        jobs.iter().map(|job| (job.job, job.worker, job.ended_ns / SECOND_NS)).collect();
    assert_eq!(course, [(0, 0, 4), (1, 0, 8), (3, 0, 9), (2, 1, 14)], "the third job waits for the successor");
    assert_eq!((end.successors, end.chunks_left), (1, 0));
    let shorter = [SimulatedWorker { time_s: Some(3.0), ..short[0] }];
    let left = simulate(&cluster(&seconds, &chunks, &shorter, 1), |_| {});
    assert_eq!((left.successors, left.chunks_left), (0, 3), "no successor could do more");
}

#[test]
fn sixty_four_to_1_024_workers_scale_until_the_longest_job_binds() {
    let seconds_on = |seconds: &[f64], workers: usize| {
        let jobs = ListedJobs::Timed(seconds);
        let chunks = chunks(&ListToCut { jobs, barriers: &[], workers, width: 1 });
        simulate(&cluster(seconds, &chunks, &at_once(workers), 1), |_| {}).ended_ns as f64 / 1e9
    };
    let is_divided = |played_s: f64, by_count_s: f64| (1.0..1.01).contains(&(played_s / by_count_s));
    let equal = vec![0.5; 1 << 16];
    for (workers, divided_s) in [(1, 32_768.0), (64, 512.0), (256, 128.0), (1024, 32.0)] {
        let played_s = seconds_on(&equal, workers);
        assert!(is_divided(played_s, divided_s), "{workers}: {played_s} s");
    }
    // One job that takes as long as 513 others: 129 workers are enough, and none of the others is in its way.
    let mut with_a_long_one = equal.clone();
    with_a_long_one[60_000] = 256.5;
    assert!(is_divided(seconds_on(&with_a_long_one, 64), 516.0));
    assert_eq!([256, 1024].map(|workers| seconds_on(&with_a_long_one, workers)), [256.5, 256.5]);
}

/// A list as it was run: so many seconds, cut in this way.
fn measured(seconds: &[f64], chunks: &[JobRange], nodes: usize, [start_s, claim_s]: [f64; 2]) -> f64 {
    let workers = vec![SimulatedWorker::starting(start_s); nodes];
    let run = SimulatedCluster { claim_s, ..cluster(seconds, chunks, &workers, 1) };
    simulate(&run, |_| {}).ended_ns as f64 / 1e9
}

/// The longest job to whom has least so far: each worker's jobs side by side, and the ranges of them.
fn longest_first_split(seconds: &[f64], nodes: usize) -> (Vec<f64>, Vec<JobRange>) {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    let mut shares = vec![Vec::<f64>::new(); nodes];
    for time in sorted {
        let least = shares.iter_mut().min_by(|one, other| one.iter().sum::<f64>().total_cmp(&other.iter().sum()));
        least.expect("there are nodes").push(time);
    }
    let mut first = 0;
    let range = |share: &Vec<f64>| {
        let range = JobRange { generation: 0, first, jobs: share.len(), expected_s: None };
        first += share.len();
        range
    };
    let ranges = shares.iter().map(range).collect();
    (shares.concat(), ranges)
}

/// The table of twelve runs on 1, 2 and 4 virtual nodes of sleeping jobs, each within a tenth.
#[test]
fn runs_that_were_measured_come_out_as_they_did() {
    const WORKER: [f64; 2] = [0.65, 0.02];
    // Each chunk is an element of Slurm's, whose start is its cost.
    const ELEMENT: [f64; 2] = [0.0, 0.3];
    let list = unlucky_list();
    let close = |name: &str, nodes: usize, played_s: f64, measured_s: f64| {
        let off = played_s / measured_s - 1.0;
        assert!(off.abs() < 0.1, "{name} on {nodes}: {played_s} s, measured {measured_s} s");
    };
    for (nodes, by_count_s, pulled_s) in [(1, 18.14, 17.51), (2, 13.80, 9.13), (4, 9.59, 5.09)] {
        close("by count", nodes, measured(&list, &equal_chunks(96, 96 / nodes), nodes, WORKER), by_count_s);
        let mut longest_first = equal_chunks(96, 96 / nodes / 8);
        let chunk_s = |chunk: &JobRange| list[chunk.positions()].iter().sum::<f64>();
        longest_first.sort_by(|one, other| chunk_s(other).total_cmp(&chunk_s(one)));
        close("pulled", nodes, measured(&list, &longest_first, nodes, WORKER), pulled_s);
    }
    for (nodes, split_s, single_s, balanced_s) in [(2, 8.27, 10.10, 10.34), (4, 4.43, 5.44, 6.91)] {
        let (sorted, ranges) = longest_first_split(&list, nodes);
        close("by known times", nodes, measured(&sorted, &ranges, nodes, WORKER), split_s);
        close("pulled one by one", nodes, measured(&list, &equal_chunks(96, 1), nodes, WORKER), single_s);
        let elements = equal_chunks(96, 96 / nodes / 8);
        close("balanced by Slurm", nodes, measured(&list, &elements, nodes, ELEMENT), balanced_s);
    }
}

/// Times, sizes of chunks and barriers: whether one stands before a chunk.
fn any_list() -> impl Strategy<Value = (Vec<f64>, Vec<JobRange>)> {
    let chunk = (prop::collection::vec(prop_oneof![0.0..0.1, 0.0..20.0_f64], 1..6), prop::bool::weighted(0.1));
    prop::collection::vec(chunk, 0..60).prop_map(|chunks| {
        let (mut seconds, mut ranges, mut generation) = (Vec::new(), Vec::<JobRange>::new(), 0);
        for (times, is_behind_barrier) in chunks {
            generation += usize::from(is_behind_barrier && !ranges.is_empty());
            ranges.push(JobRange { generation, first: seconds.len(), jobs: times.len(), expected_s: None });
            seconds.extend(times);
        }
        (seconds, ranges)
    })
}

fn any_workers() -> impl Strategy<Value = Vec<SimulatedWorker>> {
    let dies = prop::option::of(0.0..200.0_f64);
    let stops = prop::option::of((0.0..200.0_f64, 0.0..200.0_f64));
    let worker = (0.0..50.0, dies, stops).prop_map(|(starts_s, dies_s, stops_s)| SimulatedWorker {
        starts_s,
        dies_s,
        stops_s,
        time_s: None,
    });
    prop::collection::vec(worker, 0..40)
}

/// When each claim of a chunk was complete, by chunk, the first one first.
fn complete_claims(jobs: &[SimulatedJob], chunks: &[JobRange]) -> Vec<Vec<u64>> {
    let mut ended = std::collections::BTreeMap::<usize, Vec<(usize, u64)>>::new();
    jobs.iter().for_each(|job| ended.entry(job.claim).or_default().push((job.job, job.ended_ns)));
    let mut complete = vec![Vec::new(); chunks.len()];
    for of_claim in ended.values_mut() {
        of_claim.sort_unstable();
        let chunk = chunk_of(chunks, of_claim[0].0);
        if of_claim.iter().map(|(job, _)| *job).eq(chunks[chunk].positions()) {
            complete[chunk].extend(of_claim.iter().map(|(_, ended_ns)| *ended_ns).max());
        }
    }
    complete.iter_mut().for_each(|ends| ends.sort_unstable());
    complete
}

fn chunk_of(chunks: &[JobRange], job: usize) -> usize {
    chunks.iter().position(|chunk| chunk.positions().contains(&job)).expect("every job is in a chunk")
}

/// The most places that a worker's jobs took at the same time.
fn most_at_once(jobs: &[SimulatedJob], worker: usize, places: impl Fn(usize) -> i32) -> i32 {
    let of_worker = || jobs.iter().filter(|job| job.worker == worker && job.ended_ns > job.began_ns);
    let mut changes: Vec<(u64, i32)> =
        of_worker().flat_map(|job| [(job.began_ns, places(job.job)), (job.ended_ns, -places(job.job))]).collect();
    changes.sort_unstable();
    let (mut running, mut most) = (0, 0);
    for (_, change) in changes {
        running += change;
        most = most.max(running);
    }
    most
}

proptest! {
    #[test]
    fn no_schedule_is_worse_than_list_scheduling_may_be(
        seconds in prop::collection::vec(0.0..100.0_f64, 1..200),
        (workers, width) in (1..20_usize, 1..8_usize),
    ) {
        // Chunks of one job on many places, and chunks of some jobs on workers of one place, which does a chunk as if it were one job.
        for (jobs_each, width) in [(1, width), (7, 1)] {
            let chunks = equal_chunks(seconds.len(), jobs_each);
            let end = simulate(&cluster(&seconds, &chunks, &at_once(workers), width), |_| {});
            let of_chunk = |chunk: &JobRange| seconds[chunk.positions()].iter().map(|time| nanoseconds(*time)).sum::<u64>();
            let longest_ns = chunks.iter().map(of_chunk).max().unwrap_or(0) as f64;
            let work_ns = chunks.iter().map(of_chunk).sum::<u64>() as f64;
            let places = (workers * width) as f64;
            let (ended_ns, least_ns) = (end.ended_ns as f64, longest_ns.max(work_ns / places));
            prop_assert!(ended_ns + 1.0 >= least_ns && ended_ns <= (2.0 - 1.0 / places) * least_ns + 1.0);
            prop_assert!(ended_ns <= work_ns / places + (1.0 - 1.0 / places) * longest_ns + 1.0, "Graham 1966");
        }
    }

    #[test]
    fn every_job_counts_once_whatever_dies_and_barriers_hold(
        (seconds, chunks) in any_list(),
        mortals in any_workers(),
        (width, claim_s, lease_s) in (1..5_usize, 0.0..1.0_f64, 0.0..90.0_f64),
        wide in prop::collection::vec(0..9_usize, 0..40),
    ) {
        let workers: Vec<SimulatedWorker> = mortals.into_iter().chain([SimulatedWorker::starting(5.0)]).collect();
        let run = SimulatedCluster { claim_s, lease_s, cores: &wide, ..cluster(&seconds, &chunks, &workers, width) };
        let (end, jobs) = watched(&run);
        prop_assert_eq!(end.chunks_left, 0);
        let complete = complete_claims(&jobs, &chunks);
        prop_assert!(complete.iter().all(|ends| !ends.is_empty()));
        prop_assert_eq!(complete.iter().map(Vec::len).sum::<usize>(), chunks.len() + end.discarded);
        let places = |job: usize| wide.get(job).map_or(1, |cores| (*cores).clamp(1, width) as i32);
        for (number, worker) in workers.iter().enumerate() {
            let died_ns = worker.dies_s.map_or(u64::MAX, nanoseconds);
            let mut own = jobs.iter().filter(|job| job.worker == number);
            prop_assert!(own.all(|job| job.ended_ns <= died_ns && job.began_ns >= nanoseconds(worker.starts_s)));
            prop_assert!(most_at_once(&jobs, number, places) <= width as i32);
        }
        for (at, chunk) in chunks.iter().enumerate() {
            let is_behind = |job: &&SimulatedJob| chunks[chunk_of(&chunks, job.job)].generation > chunk.generation;
            prop_assert!(jobs.iter().filter(is_behind).all(|job| job.began_ns >= complete[at][0]));
        }
        prop_assert_eq!(simulate(&run, |_| {}), end, "the same every time");
    }

    #[test]
    fn no_job_outlives_its_worker_and_what_fits_is_done(
        (seconds, chunks) in any_list(),
        count in 1..6_usize,
        (width, time_s) in (1..5_usize, 1.0..60.0_f64),
        wide in prop::collection::vec(0..9_usize, 0..40),
    ) {
        let workers = vec![SimulatedWorker { time_s: Some(time_s), ..SimulatedWorker::starting(0.0) }; count];
        let run = SimulatedCluster { claim_s: 0.1, cores: &wide, ..cluster(&seconds, &chunks, &workers, width) };
        let (end, jobs) = watched(&run);
        let longest_ns = jobs.iter().map(|job| job.ended_ns - job.began_ns).max().unwrap_or(0);
        prop_assert!(longest_ns <= nanoseconds(time_s));
        prop_assert!(jobs.iter().filter(|job| job.worker < count).all(|job| job.ended_ns <= nanoseconds(time_s)));
        prop_assert!(complete_claims(&jobs, &chunks).into_iter().all(|ends| ends.len() <= 1));
        // Whatever the order, a chunk takes no longer than its jobs one after another.
        let fits = |chunk: &JobRange| seconds[chunk.positions()].iter().sum::<f64>() + 0.2 < time_s;
        if chunks.iter().all(fits) {
            prop_assert_eq!(end.chunks_left, 0);
        }
    }
}
