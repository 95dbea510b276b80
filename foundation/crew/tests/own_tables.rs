//! Workers with tables of descriptors of their own: the numbers of what a lease has open are other files there.

use crew::budget::census::{RunState, census};
use crew::budget::cpu_set::CpuSet;
use crew::budget::{Budget, CrewDirectory, HandBooks, MachineWide, Priority, Request, Surroundings, Weight};
use crew::jobserver::{Auth, Jobserver};
use machine::Host;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::own_table::{Kept, OwnTable};

/// What is open so far, without which there are no such tables here.
fn kept() -> Option<Kept> {
    Kept::now().inspect_err(|_refused| testkit::program::left_out("descriptors cannot be handed on here")).ok()
}

/// Begins a table of its own, in which every number that anything else has lies open as an empty file.
fn begin_own(kept: &Kept) -> (Vec<File>, OwnTable) {
    let own = kept.begin_own();
    // The files come first, so that they are closed before the table ends.
    ((0..64).map(|_| tempfile::tempfile().expect("a file")).collect(), own)
}

fn request(useful_width: usize) -> Request {
    Request { priority: Priority::Normal, weight: Weight::default(), useful_width, what: "a test".to_owned() }
}

fn budget(directory: &CrewDirectory) -> MachineWide {
    let real = Surroundings::look(&Host::real()).expect("a readable /proc");
    let budget = MachineWide::open(directory.clone(), Surroundings { cpus: CpuSet::of(0..2), quota: None, ..real });
    assert_eq!(budget.why_alone(), None);
    budget
}

/// Whether any of `files` is locked by whoever opened it.
fn is_any_locked(files: &[File]) -> bool {
    files.iter().any(|file| {
        let again = File::open(format!("/proc/thread-self/fd/{}", file.as_raw_fd())).expect("another description");
        (0..1024).any(|at| sys::byte_lock::is_locked(&again, at).expect("asked"))
    })
}

#[test]
fn who_waits_for_a_hand_asks_after_the_others_and_harms_none() {
    let Some(kept) = kept() else { return };
    let parent = tempfile::tempdir().expect("a directory");
    let directory = CrewDirectory::of_user_in(parent.path());
    let (ours, theirs) = (budget(&directory).lease(request(2)), budget(&directory).lease(request(2)));
    // Both CPUs are taken.
    let (first, other) = (ours.take(), theirs.take());
    let is_given_back = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let own = begin_own(&kept);
            let files = &own.0;
            let hand = ours.take();
            assert!(is_given_back.load(Ordering::Acquire), "it took what another run holds");
            assert!(!is_any_locked(files));
            ours.give_back(hand);
        });
        // It looks after the others after ten milliseconds, and then less and less often.
        std::thread::sleep(Duration::from_millis(300));
        is_given_back.store(true, Ordering::Release);
        theirs.give_back(other);
        waiter.join().expect("no panic");
    });
    ours.give_back(first);
    assert_eq!(theirs.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
    assert_eq!(ours.books(), HandBooks { taken: 2, returned: 2, lost: 0 });
}

#[test]
fn a_removed_table_is_left_for_the_next_and_the_row_there_outlives_who_took_it() {
    let Some(kept) = kept() else { return };
    let parent = tempfile::tempdir().expect("a directory");
    let directory = CrewDirectory::of_user_in(parent.path());
    let lease = budget(&directory).lease(request(2));
    let hand = lease.take();
    std::fs::remove_dir_all(directory.path()).expect("removed");
    // Longer than it takes until somebody looks whether it is there still.
    std::thread::sleep(Duration::from_millis(1100));
    std::thread::scope(|scope| {
        let mover = || {
            let _own = begin_own(&kept);
            assert!(lease.must_return(&hand), "the hand is one of the table before");
        };
        scope.spawn(mover).join().expect("no panic");
    });
    lease.give_back(hand);
    let next = lease.take();
    let others = budget(&directory).lease(request(2));
    let runs = || census(&directory).expect("the next one").runs;
    assert_eq!(runs().iter().filter(|run| run.state != RunState::Dead).count(), 2);
    // Whoever waits looks after the others, and would free what the dead hold.
    let (theirs, is_given_back) = (others.take(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let hand = others.take();
            assert!(is_given_back.load(Ordering::Acquire), "it took what another run holds");
            others.give_back(hand);
        });
        std::thread::sleep(Duration::from_millis(300));
        is_given_back.store(true, Ordering::Release);
        lease.give_back(next);
        waiter.join().expect("no panic");
    });
    others.give_back(theirs);
    drop(lease);
    assert_eq!(runs().len(), 1, "the row is free at the end");
}

#[test]
fn slots_of_make_are_taken_and_come_back() {
    let (read, write) = rustix::pipe::pipe().expect("a pipe");
    let Some(kept) = kept() else { return };
    assert_eq!(rustix::io::write(&write, b"abc"), Ok(3));
    let flags = OsString::from(format!(" -j4 --jobserver-auth={},{}", read.as_raw_fd(), write.as_raw_fd()));
    let auth = Auth::from_flags(&flags).expect("slots are named").expect("of make's kind");
    let pool = Jobserver::join(&auth, 4, None).expect("joined");
    let lease = pool.lease(request(4));
    // The first is no byte.
    let first = lease.take();
    std::thread::scope(|scope| {
        let other = || {
            let own = begin_own(&kept);
            let files = &own.0;
            let hands = [(); 3].map(|()| lease.try_take().expect("a slot"));
            assert_eq!(rustix::io::ioctl_fionread(&read), Ok(0), "they are the pool's");
            hands.into_iter().for_each(|hand| lease.give_back(hand));
            let lengths = files.iter().map(|file| file.metadata().expect("a status").len());
            assert_eq!(lengths.sum::<u64>(), 0, "no slot went into a file");
        };
        scope.spawn(other).join().expect("no panic");
    });
    lease.give_back(first);
    drop((lease, pool));
    let mut back = [0; 8];
    let count = rustix::io::read(&read, &mut back).expect("they are there");
    back[..count].sort_unstable();
    assert_eq!(&back[..count], b"abc");
}
