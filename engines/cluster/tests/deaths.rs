//! A model of a run: threads are workers that die, pause and come back at random moments between two steps of a chunk. Whatever happens, each
//! chunk has one result, and no job of it is missing.

use cluster::alive::AliveSign;
use cluster::claims::{Claims, NextChunk};
use cluster::gather::Gatherer;
use cluster::part::{ChunkPart, JobResult};
use cluster::spool::{MadeSpool, Spool, SpoolHeader, SpoolLimits};
use cluster::text::ByteText;
use jobs::journal::JobOutcome;
use jobs::spec::Spec;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use testkit::random::Random;

/// What a worker does at a step.
enum Step {
    GoesOn,
    /// It is never heard of again.
    Dies,
    /// Others take it for dead, and it goes on later.
    Pauses,
    /// It is asked to end, and gives up what it has.
    Drains,
}

fn step(random: &mut Random, one_of: usize) -> Step {
    match random.below(one_of) {
        0..=2 => Step::Dies,
        3..=5 => Step::Pauses,
        6..=8 => Step::Drains,
        _ => Step::GoesOn,
    }
}

fn make(root: &Path, chunks: u32, workers: u32) -> Spool {
    let header = SpoolHeader {
        format: SpoolHeader::FORMAT,
        id: "model".to_owned(),
        host: "here".to_owned(),
        submitted: 0.0,
        directory: ByteText(b"/".to_vec()),
        argv: Vec::new(),
        environment: Vec::new(),
        digest: "d".to_owned(),
        jobs: 0,
        chunks: 0,
        generations: vec![chunks / 3, chunks / 2, chunks],
        needs: std::collections::BTreeMap::new(),
        limits: SpoolLimits { workers, cores: None, time_s: None, lease_s: 600.0 },
    };
    let jobs = (0..u64::from(chunks)).map(|chunk| [2 * chunk + 1, 2 * chunk + 2]);
    let specs = jobs.map(|numbers| numbers.map(|number| Spec { number, ..Spec::default() }).to_vec());
    match Spool::make(root, header, specs).expect("a spool") {
        MadeSpool::New(spool) | MadeSpool::Old(spool) => spool,
    }
}

/// One worker until it dies, drains or finds everything done. Returns whether all is done.
fn work(spool: &Arc<Spool>, number: u32, name: &str, random: &mut Random, one_of: usize) -> bool {
    let sign = Arc::new(AliveSign::make(spool, name).expect("made"));
    let mut claims = Claims::new(Arc::clone(spool), name, number, Arc::clone(&sign));
    let silence = || {
        let file = std::fs::File::open(spool.path("alive", name)).expect("it has one");
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("set");
    };
    loop {
        let (chunk, attempt, behind) = match claims.next_chunk().expect("a sound spool") {
            NextChunk::Claimed { chunk, attempt, behind } => (chunk, attempt, behind),
            // In this model chunks are not what workers die of.
            NextChunk::Hopeless { chunk, attempt, behind } => (chunk, attempt, behind),
            NextChunk::Wait { .. } => {
                std::thread::sleep(Duration::from_micros(200));
                continue;
            }
            NextChunk::Finished => return true,
        };
        let mut results = match behind {
            Some(before) => ChunkPart::freed(spool, chunk, before).expect("sound").expect("it was freed").results,
            None => Vec::new(),
        };
        for spec in spool.chunk(chunk).expect("sound") {
            match step(random, one_of) {
                Step::Dies => {
                    silence();
                    return false;
                }
                Step::Pauses => {
                    silence();
                    std::thread::sleep(Duration::from_micros(random.below(2000) as u64));
                    sign.touch().expect("it is back");
                }
                Step::Drains => {
                    ChunkPart { chunk, attempt, worker: name.to_owned(), results }.free(spool).expect("written");
                    silence();
                    return false;
                }
                Step::GoesOn => {}
            }
            if results.iter().all(|result| result.job != spec.number) {
                let outcome = JobOutcome::Ok;
                let worker = name.to_owned();
                results.push(JobResult { outcome, worker, said: Vec::new(), ..JobResult::lost(spec.number, 0) });
            }
        }
        let _another_was_faster =
            ChunkPart { chunk, attempt, worker: name.to_owned(), results }.finish(spool).expect("written");
    }
}

/// Of so many steps nine are no plain ones.
fn every_chunk_has_one_whole_result(chunks: u32, seed: u64, one_of: usize) {
    let place = tempfile::tempdir().expect("a directory");
    let spool = Arc::new(make(place.path(), chunks, 8));
    let names = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (spool, names) = (Arc::clone(&spool), &names);
            scope.spawn(move || {
                let mut random = Random::seeded(seed + u64::from(number));
                // Each that is gone is followed by another.
                while !work(&spool, number, &format!("w{}", names.fetch_add(1, Ordering::Relaxed)), &mut random, one_of)
                {
                }
            });
        }
    });
    let mut gatherer = Gatherer::new(Arc::clone(&spool));
    let mut parts = Vec::new();
    gatherer.sweep(&mut parts).expect("sound");
    assert!(gatherer.is_complete() && parts.len() == chunks as usize);
    let mut jobs: Vec<u64> = parts.iter().flat_map(|part| &part.results).map(|result| result.job).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, (1..=2 * u64::from(chunks)).collect::<Vec<_>>());
    assert!(names.into_inner() > 8, "some have died");
}

#[test]
fn whoever_dies_every_chunk_has_one_whole_result() {
    (0..4).for_each(|seed| every_chunk_has_one_whole_result(300, 100 * seed, 100));
}

#[test]
#[ignore = "takes minutes: the long tier"]
fn of_a_hundred_thousand_chunks_none_is_lost_or_doubled() {
    every_chunk_has_one_whole_result(100_000, 7, 10_000);
}
