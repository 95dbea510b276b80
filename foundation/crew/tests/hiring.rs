//! When a run of the machine-wide budget hires a worker more.

use crew::budget::cpu_set::CpuSet;
use crew::budget::{Budget, CrewDirectory, Lease, MachineWide, Priority, Request, Surroundings, Weight};
use machine::Host;
use std::time::{Duration, Instant};

/// CPUs in the table, whatever the machine has: words are numbers, nobody is bound to them.
const CPUS: usize = 4;

fn lease(directory: &CrewDirectory) -> Box<dyn Lease> {
    let real = Surroundings::look(&Host::real()).expect("a readable /proc");
    let budget = MachineWide::open(directory.clone(), Surroundings { cpus: CpuSet::of(0..CPUS), quota: None, ..real });
    let (priority, weight, what) = (Priority::Normal, Weight::default(), String::new());
    budget.lease(Request { priority, weight, useful_width: CPUS, what })
}

/// LIMIT: a test that fails says more than one that hangs.
fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed().as_secs() < 120, "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_worker_who_would_only_wait_is_hired_in_turn() {
    let parent = tempfile::tempdir().expect("a directory");
    let directory = CrewDirectory::of_user_in(parent.path());
    let first = lease(&directory);
    assert!(first.may_grow(), "nobody is hungry");
    let hands: Vec<_> = (0..CPUS).map(|_| first.take()).collect();
    let mut others: Vec<_> = (1..CPUS).map(|_| lease(&directory)).collect();
    let mut theirs: Vec<_> = others.iter().map(|other| other.take()).collect();
    // Four runs, four CPUs: nobody is entitled to a second hand. Turns come once in 320 ms.
    let mut refused = 0;
    until(|| {
        let may = others[0].may_grow();
        refused += u32::from(!may);
        may
    });
    assert!(refused > 0, "not at once, since others compute");
    while others.len() > 1 {
        others.pop().zip(theirs.pop()).into_iter().for_each(|(other, hand)| other.give_back(hand));
    }
    assert!(others[0].may_grow(), "of two runs each is entitled to two hands");
    theirs.into_iter().for_each(|hand| others[0].give_back(hand));
    hands.into_iter().for_each(|hand| first.give_back(hand));
    assert!(others[0].may_grow(), "nobody is hungry any more");
}
