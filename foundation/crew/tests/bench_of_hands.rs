//! What a hand costs, alone and with others at the same words, and how soon the hands of a killed run are in use again.
//! Measures and prints; judges nothing. `cargo xtask bench crew` runs it and reads the lines that begin with `figure`.
//!
//! `cargo test --release --package manyhands-crew --test bench_of_hands -- --ignored --nocapture --test-threads=1`

#![expect(clippy::print_stdout, reason = "it measures for people")]

use crew::budget::cpu_set::CpuSet;
use crew::budget::entitlement::{RunClaim, entitlements};
use crew::budget::{Budget, CrewDirectory, Lease, MachineWide, Priority, Request, Surroundings, Weight};
use machine::Host;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn directory() -> (tempfile::TempDir, CrewDirectory) {
    let parent = tempfile::tempdir_in("/dev/shm").expect("shared memory");
    let directory = CrewDirectory::of_user_in(parent.path());
    (parent, directory)
}

fn lease(directory: &CrewDirectory, cpus: usize) -> Box<dyn Lease> {
    let real = Surroundings::look(&Host::real()).expect("a readable /proc");
    let budget = MachineWide::open(directory.clone(), Surroundings { cpus: CpuSet::of(0..cpus), quota: None, ..real });
    assert_eq!(budget.why_alone(), None);
    let (priority, weight) = (Priority::Normal, Weight::default());
    budget.lease(Request { priority, weight, useful_width: cpus, what: "a measurement".to_owned() })
}

/// A line for people and for `cargo xtask bench crew`.
fn figure(name: &str, value: f64, unit: &str) {
    // On a line of its own: the test runner has begun one.
    println!("\nfigure {name}: {value:.1} {unit}");
}

/// The least of many batches, in nanoseconds a round.
fn least_ns(mut round: impl FnMut()) -> f64 {
    let batches = (0..300).map(|_| {
        let begin = Instant::now();
        (0..1000).for_each(|_| round());
        begin.elapsed().as_nanos() as f64 / 1000.0
    });
    batches.fold(f64::MAX, f64::min)
}

#[test]
#[ignore = "measures"]
fn take_and_give_back() {
    for cpus in [2, 64, 1024] {
        let (_parent, directory) = directory();
        let lease = lease(&directory, cpus);
        let alone = least_ns(|| {
            let hand = lease.take();
            lease.give_back(hand);
        });
        let hand = lease.take();
        let looked = least_ns(|| {
            std::hint::black_box(lease.must_return(&hand));
        });
        lease.give_back(hand);
        figure(&format!("take and give back, {cpus} CPUs, nobody hungry"), alone, "ns");
        figure(&format!("yield point, {cpus} CPUs, nobody hungry"), looked, "ns");
    }
}

#[test]
#[ignore = "measures"]
fn a_yield_point_while_others_are_hungry() {
    for others in [1, 7, 63] {
        let (_parent, directory) = directory();
        let lease = lease(&directory, 64);
        let crowd: Vec<_> = (0..others).map(|_| self::lease(&directory, 64)).collect();
        // One hand each, the last ones above capacity: somebody is hungry all the time.
        let hands: Vec<_> = (0..64).map(|_| lease.take()).collect();
        let theirs: Vec<_> = crowd.iter().map(|lease| lease.take()).collect();
        let looked = least_ns(|| {
            std::hint::black_box(lease.must_return(&hands[0]));
        });
        figure(&format!("yield point, 64 CPUs, {others} other runs, somebody hungry"), looked, "ns");
        crowd.iter().zip(theirs).for_each(|(lease, hand)| lease.give_back(hand));
        hands.into_iter().for_each(|hand| lease.give_back(hand));
    }
}

/// Runs that want more than there is of 256 CPUs; those of the second crowd each have CPUs of their own choice.
fn crowd(runs: usize, class: Priority, masks_differ: bool) -> Vec<RunClaim> {
    let claim = |run: usize| {
        let begin = run * 37 % 224;
        let cpus = if masks_differ { CpuSet::of(begin..begin + 2 + run * 11 % 30) } else { CpuSet::of(0..256) };
        let (weight, useful_width, held, waiting) = (50 + run as u32, 64, 1, 8);
        let (quota, inherited, rests, is_aged) = (None, 0, false, false);
        RunClaim { class, weight, cpus, quota, useful_width, held, inherited, waiting, rests, is_aged }
    };
    (0..runs).map(claim).collect()
}

#[test]
#[ignore = "measures"]
fn entitlements_of_a_crowd() {
    for runs in [2, 64, 250] {
        for (class, masks_differ) in
            [Priority::Normal, Priority::Low].into_iter().flat_map(|class| [(class, false), (class, true)])
        {
            let claims = crowd(runs, class, masks_differ);
            let once = |turn| {
                let begin = Instant::now();
                std::hint::black_box(entitlements(u32::MAX, turn, &claims));
                begin.elapsed().as_nanos() as f64 / 1000.0
            };
            let least = (0..100).map(once).fold(f64::MAX, f64::min);
            let masks = if masks_differ { "each with a mask of its own" } else { "of one mask" };
            figure(&format!("entitlements of {runs} {class:?} runs {masks}, 256 CPUs"), least, "us");
        }
    }
}

/// Threads that take and give back as fast as they can, all at the same 64 words: those of one run, and each a run of its own.
#[test]
#[ignore = "measures"]
fn contention() {
    const ROUNDS: u32 = 50_000;
    for threads in [1, 2, 4, 8, 16, 32, 64] {
        for (kind, runs) in [("of one run", 1), ("each a run", threads)] {
            let (_parent, directory) = directory();
            let leases: Vec<_> = (0..runs).map(|_| lease(&directory, 64)).collect();
            let once = || {
                let begin = Instant::now();
                std::thread::scope(|scope| {
                    for thread in 0..threads {
                        let lease = &leases[thread % runs];
                        scope.spawn(move || (0..ROUNDS).for_each(|_| lease.give_back(lease.take())));
                    }
                });
                begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS) / threads as f64
            };
            let least = (0..5).map(|_| once()).fold(f64::MAX, f64::min);
            figure(&format!("wall time a taking, {threads} threads {kind}, 64 CPUs"), least, "ns");
        }
    }
}

const HOLDER: &str = "CREW_BENCH_HOLDER";

/// Not a measurement: what the killed process does.
#[test]
#[ignore = "a part of the next one"]
fn holder() {
    let Ok(path) = std::env::var(HOLDER) else { return };
    let lease = lease(&CrewDirectory::at(path), 2);
    let _hands = [lease.take(), lease.take()];
    // Memory to be torn down.
    let room = vec![1_u8; 64 << 20];
    println!("\nholds {}", room.len());
    std::thread::sleep(Duration::from_secs(3600));
}

#[test]
#[ignore = "measures"]
fn from_a_kill_to_the_next_use() {
    let (_parent, directory) = directory();
    let mut latencies: Vec<Duration> = (0..100).map(|_| one_kill(&directory)).collect();
    latencies.sort();
    for (name, index) in [("median of 100", 50), ("90th of 100", 90), ("most of 100", 99)] {
        figure(&format!("kill to next use, 64 MB in memory, {name}"), latencies[index].as_secs_f64() * 1e6, "us");
    }
}

fn one_kill(directory: &CrewDirectory) -> Duration {
    let itself = std::env::current_exe().expect("this binary");
    let mut command = Command::new(itself);
    command.args(["holder", "--exact", "--ignored", "--nocapture"]).env(HOLDER, directory.path());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    while !lines.next().expect("it speaks").expect("text").starts_with("holds") {}
    let lease = lease(directory, 2);
    // The first may run above capacity; the second needs a CPU of the dead.
    let first = lease.take();
    let taken = std::thread::scope(|scope| {
        let hungry = scope.spawn(|| {
            let hand = lease.take();
            (Instant::now(), hand)
        });
        std::thread::sleep(Duration::from_millis(100));
        let killed = Instant::now();
        child.kill().expect("it is ours");
        let (at, hand) = hungry.join().expect("it gets its hand");
        lease.give_back(hand);
        at - killed
    });
    lease.give_back(first);
    child.wait().expect("it ends");
    taken
}
