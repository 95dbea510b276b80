//! The machine-wide budget with real processes: this binary runs itself as members that take and give back, and kills and
//! stops them meanwhile. At the end no hand may be missing, and at no time may there be more than there are.

mod inherited;

use crew::budget::census::{RunState, census};
use crew::budget::cpu_set::CpuSet;
use crew::budget::entitlement::Quota;
use crew::budget::orders::{PauseOrder, RunOrder, give};
use crew::budget::progress::{ProgressUnit, WorkDone};
use crew::budget::{
    Attention, Brief, Budget, Company, CrewDirectory, HandBooks, Joined, Lease, MachineWide, Priority, Request,
    Surroundings, Waiting, Weight,
};
use machine::Host;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// CPUs in the tests' tables, whatever the machine has: words are numbers, nobody is bound to them.
const CPUS: usize = 4;

fn place() -> (TempDir, CrewDirectory) {
    let parent =
        tempfile::tempdir_in("/dev/shm").or_else(|_no_shared_memory| tempfile::tempdir()).expect("a directory");
    let directory = CrewDirectory::of_user_in(parent.path());
    (parent, directory)
}

fn surroundings() -> Surroundings {
    let real = Surroundings::look(&Host::real()).expect("a readable /proc");
    Surroundings { cpus: CpuSet::of(0..CPUS), quota: None, ..real }
}

fn open(directory: &CrewDirectory) -> MachineWide {
    let budget = MachineWide::open(directory.clone(), surroundings());
    assert_eq!(budget.why_alone(), None);
    budget
}

fn request(priority: Priority, useful_width: usize) -> Request {
    Request { priority, weight: Weight::default(), useful_width, what: format!("a test of {useful_width}") }
}

fn lease(directory: &CrewDirectory, priority: Priority, width: usize) -> Box<dyn Lease> {
    open(directory).lease(request(priority, width))
}

/// Waits for what other threads or processes are about to do. LIMIT: a test that fails says more than one that hangs.
fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed().as_secs() < 120, "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn free(directory: &CrewDirectory) -> usize {
    census(directory).expect("a table").free
}

#[test]
fn a_lone_run_takes_all_and_gives_all_back() {
    let (_parent, directory) = place();
    let lease = lease(&directory, Priority::Normal, CPUS);
    let hands: Vec<_> = (0..CPUS).map(|_| lease.take()).collect();
    assert!(lease.try_take().is_none());
    assert!(hands.iter().all(|hand| !lease.must_return(hand)));
    let seen = census(&directory).expect("a table");
    let run = &seen.runs[0];
    assert_eq!((run.pid, run.holds, run.useful, run.state), (std::process::id(), 4, 4, RunState::Working));
    assert_eq!((run.what.as_str(), run.class, seen.free, seen.cpus), ("a test of 4", Priority::Normal, 0, 4));
    hands.into_iter().for_each(|hand| lease.give_back(hand));
    assert_eq!(lease.books(), HandBooks { taken: 4, returned: 4, lost: 0 });
    assert_eq!(free(&directory), 4);
    drop(lease);
    assert!(census(&directory).expect("a table").runs.is_empty());
}

#[test]
fn the_second_run_gets_its_first_hand_at_once_and_its_share_as_the_other_returns() {
    let (_parent, directory) = place();
    let (first, second) = (lease(&directory, Priority::Normal, CPUS), lease(&directory, Priority::Normal, CPUS));
    let mut hands: Vec<_> = (0..CPUS).map(|_| first.take()).collect();
    let own = second.take();
    assert_eq!(census(&directory).expect("a table").above_capacity, 1);
    assert!(hands.iter().any(|hand| first.must_return(hand)));
    let last = hands.pop().expect("four hands");
    assert!(first.must_return(&last), "somebody runs above capacity");
    first.give_back(last);
    let seen = census(&directory).expect("a table");
    assert_eq!(
        (seen.above_capacity, seen.free),
        (0, 0),
        "it is about to take that CPU, and nobody else may count on it"
    );
    assert!(!second.must_return(&own));
    assert_eq!(census(&directory).expect("a table").above_capacity, 0, "it has found a CPU");
    assert!(!first.must_return(&hands[0]), "nobody waits any more");
    std::thread::scope(|scope| {
        let hungry = scope.spawn(|| second.take());
        until(|| first.must_return(&hands[0]));
        first.give_back(hands.remove(0));
        second.give_back(hungry.join().expect("it gets its hand"));
    });
    second.give_back(own);
    hands.into_iter().for_each(|hand| first.give_back(hand));
    assert_eq!(free(&directory), CPUS);
}

#[test]
fn a_low_run_waits_for_a_normal_one_and_gets_what_it_leaves() {
    let (_parent, directory) = place();
    let (normal, low) = (lease(&directory, Priority::Normal, CPUS), lease(&directory, Priority::Low, CPUS));
    let mut hands: Vec<_> = (0..CPUS).map(|_| normal.take()).collect();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| low.take());
        until(|| census(&directory).expect("a table").runs.iter().any(|run| run.state == RunState::Waiting));
        assert!(!normal.must_return(&hands[0]), "not for a lower class");
        normal.set_useful_width(2);
        assert!(normal.must_return(&hands[0]), "it has become narrower");
        normal.give_back(hands.pop().expect("a hand"));
        low.give_back(waiting.join().expect("it gets its hand"));
    });
    hands.into_iter().for_each(|hand| normal.give_back(hand));
}

#[test]
fn runs_of_one_group_never_hold_more_than_its_quota() {
    let (_parent, directory) = place();
    let bound = Surroundings { quota: Some(Quota { group: 9, millicores: 1500 }), ..surroundings() };
    let budget = MachineWide::open(directory.clone(), bound);
    assert_eq!(budget.capacity(), 2);
    let (one, two) = (budget.lease(request(Priority::Low, 4)), budget.lease(request(Priority::Low, 4)));
    let hands = [one.take(), one.take()];
    assert!(one.try_take().is_none() && two.try_take().is_none());
    assert_eq!(free(&directory), 2, "CPUs that the quota does not reach");
    std::thread::scope(|scope| {
        let hungry = scope.spawn(|| two.take());
        until(|| one.must_return(&hands[0]));
        let [first, second] = hands;
        one.give_back(first);
        let theirs = hungry.join().expect("it gets its half");
        assert!(!one.must_return(&second) && !two.must_return(&theirs));
        one.give_back(second);
        two.give_back(theirs);
    });
}

#[test]
fn a_run_obeys_orders_from_outside() {
    let (_parent, directory) = place();
    let (one, two) = (lease(&directory, Priority::Normal, CPUS), lease(&directory, Priority::Normal, CPUS));
    let hand = one.take();
    let pause = |pause| RunOrder { pause: Some(pause), ..RunOrder::default() };
    assert_eq!(give(&directory, std::process::id(), pause(PauseOrder::Rest)).expect("a table"), 2);
    assert!(one.must_return(&hand));
    let why =
        |holds| census(&directory).expect("a table").runs.into_iter().find(|run| run.holds == holds).map(|run| run.why);
    assert_eq!(why(1).as_deref(), Some("by its user; gives 1 core back within moments"));
    one.give_back(hand);
    assert_eq!(why(0).as_deref(), Some("by its user, until mh crew resume"));
    assert!(two.try_take().is_none());
    std::thread::scope(|scope| {
        let resting = scope.spawn(|| one.take());
        assert_eq!(give(&directory, std::process::id(), pause(PauseOrder::GoOn)).expect("a table"), 2);
        one.give_back(resting.join().expect("it goes on"));
    });
    let order = RunOrder { class: Some(Priority::Idle), weight: Some(Weight::new(7)), ..RunOrder::default() };
    assert_eq!(give(&directory, std::process::id(), order).expect("a table"), 2);
    let runs = census(&directory).expect("a table").runs;
    assert!(runs.iter().all(|run| run.class == Priority::Idle && run.weight == Weight::new(7)));
    assert_eq!(give(&directory, 1, order).expect("a table"), 0, "no run of that process");
}

#[test]
fn a_run_shows_how_far_it_is_also_when_it_joins_later() {
    let (_parent, directory) = place();
    let unit = ProgressUnit::Entries;
    let source = |done| Arc::new(move || WorkDone { unit, done, total: Some(40) });
    let shown = || {
        let runs = census(&directory).expect("a table").runs;
        runs.first().and_then(|run| run.detail.progress).map(|progress| (progress.unit, progress.done, progress.total))
    };
    let early = lease(&directory, Priority::Normal, 1);
    assert_eq!(shown(), None, "nothing is said");
    early.show_progress(source(30));
    assert_eq!(shown(), Some((unit, 30, Some(40))));
    drop(early);
    let join = || Joined { lease: lease(&directory, Priority::Normal, 1), may_grow: false };
    let brief = Brief::new(join);
    brief.show_progress(source(7));
    assert_eq!(shown(), None, "a brief run has no row");
    brief.join_now();
    assert_eq!(shown(), Some((unit, 7, Some(40))));
    let waiting = Waiting::on(lease(&directory, Priority::Normal, 1), 2);
    drop(brief);
    waiting.show_progress(source(9));
    assert_eq!(shown(), Some((unit, 9, Some(40))));
}

#[test]
fn threads_of_a_run_that_wants_more_than_there_is_take_turns() {
    let (_parent, directory) = place();
    let (lease, held) = (lease(&directory, Priority::Normal, 2), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let hand = lease.take();
                    assert!(held.fetch_add(1, Ordering::AcqRel) < 2 && held.fetch_sub(1, Ordering::AcqRel) > 0);
                    lease.give_back(hand);
                }
            });
        }
    });
    assert_eq!(lease.books(), HandBooks { taken: 3000, returned: 3000, lost: 0 });
    assert_eq!(free(&directory), CPUS);
}

#[test]
fn runs_of_one_process_share_under_changing_widths() {
    let (_parent, directory) = place();
    let leases: Vec<_> = (0..4).map(|_| lease(&directory, Priority::Low, CPUS)).collect();
    std::thread::scope(|scope| {
        for lease in &leases {
            for thread in 0..3 {
                scope.spawn(move || {
                    for round in 0..200 {
                        let hand = lease.take();
                        if round % 16 == thread {
                            lease.set_useful_width(1 + round % 5);
                        }
                        let _looked = lease.must_return(&hand);
                        lease.give_back(hand);
                    }
                });
            }
        }
    });
    assert!(leases.iter().all(|lease| lease.books() == HandBooks { taken: 600, returned: 600, lost: 0 }));
    assert_eq!(free(&directory), CPUS);
}

#[test]
fn without_a_table_a_run_is_alone_and_says_why() {
    let (parent, directory) = place();
    std::fs::write(directory.path(), "a file in its place").expect("written");
    let budget = MachineWide::open(directory, surroundings());
    let why = budget.why_alone().expect("a reason");
    assert!(why.starts_with("open '") && why.contains("Not a directory"), "{why}");
    let lease = budget.lease(request(Priority::Normal, CPUS));
    let hand = lease.take();
    lease.give_back(hand);
    assert_eq!(lease.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
    let missing = CrewDirectory::at(parent.path().join("no/such/directory"));
    assert!(MachineWide::open(missing, surroundings()).why_alone().expect("a reason").starts_with("make '"));
}

#[test]
fn a_full_table_leaves_the_next_run_alone() {
    let (_parent, directory) = place();
    let budget = open(&directory);
    let leases: Vec<_> = (0..256).map(|_| budget.lease(request(Priority::Low, 1))).collect();
    assert_eq!((census(&directory).expect("a table").runs.len(), budget.why_alone()), (256, None));
    let alone = budget.lease(request(Priority::Low, 1));
    let hand = alone.take();
    alone.give_back(hand);
    assert!(budget.why_alone().expect("a reason").starts_with("find a free row in '"));
    drop(leases);
    assert!(census(&directory).expect("a table").runs.is_empty());
}

#[test]
fn a_removed_table_is_left_for_its_successor() {
    let (_parent, directory) = place();
    let lease = lease(&directory, Priority::Normal, CPUS);
    let old = lease.take();
    let order = RunOrder { class: Some(Priority::Low), ..RunOrder::default() };
    assert_eq!(give(&directory, std::process::id(), order).expect("a table"), 1);
    std::fs::remove_file(directory.table()).expect("removed");
    until(|| lease.must_return(&old));
    lease.give_back(old);
    let new = lease.take();
    let run = &census(&directory).expect("a new table").runs[0];
    assert_eq!((run.holds, run.class), (1, Priority::Low), "its orders go with it");
    assert!(!lease.must_return(&new));
    lease.give_back(new);
    assert_eq!(lease.books(), HandBooks { taken: 2, returned: 2, lost: 0 });
}

/// Whatever a table says, reading it ends, and ends in bounds; runs that use it go on.
#[test]
fn a_forged_table_harms_nobody() {
    for seed in 0..40_u64 {
        let (_parent, directory) = place();
        drop(open(&directory));
        scribble(&directory.table(), seed);
        let seen = census(&directory).expect("a table");
        serde_json::to_string(&seen).expect("plain data");
        let lease = lease(&directory, Priority::High, 2);
        let (one, two) = (lease.take(), lease.try_take());
        let _looked = lease.must_return(&one);
        lease.give_back(one);
        two.into_iter().for_each(|hand| lease.give_back(hand));
    }
}

/// Overwrites all but the header with noise: xorshift, every third word small, every fifth all ones.
fn scribble(table: &Path, seed: u64) {
    let mut bytes = std::fs::read(table).expect("a table");
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64 ^ seed << 32 | seed;
    for (index, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate().skip(2) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        *word = match index % 15 {
            0 | 3 | 6 | 9 | 12 => noise % 1025,
            5 | 10 => u64::MAX,
            _ => noise,
        }
        .to_ne_bytes();
    }
    use std::os::unix::fs::FileExt;
    // In place: a table is never made shorter.
    std::fs::File::options().write(true).open(table).expect("open").write_all_at(&bytes, 0).expect("written");
}

// ---- Processes -----------------------------------------------------------------------------------------------------------

/// Set for a child: the directory of its table. The test below then is the child's life.
const MEMBER: &str = "CREW_TEST_MEMBER";

/// Set for a child that is never stopped: it ends with a failure when a hand of its was taken away.
const NEVER_STOPPED: &str = "CREW_TEST_NEVER_STOPPED";

/// Set for a child that is a job: the lease token of its runner's hand.
const INHERITED_LEASE: &str = "CREW_TEST_HEIR";

/// Set for a child that is a runner: it takes a hand, prints its lease token and sleeps.
const RUNNER: &str = "CREW_TEST_RUNNER";

/// What may happen to a child before its death.
#[derive(Clone, Copy, PartialEq, Eq)]
enum May {
    BeStopped,
    NeverBeStopped,
}

/// Not a test of its own: what a child process does until it is killed. It takes and gives back with three threads.
#[test]
#[expect(clippy::exit, reason = "its other threads go on for ever; a panic would wait for them")]
fn member() {
    let Ok(path) = std::env::var(MEMBER) else { return };
    let never_stopped = std::env::var(NEVER_STOPPED).is_ok();
    let budget = MachineWide::open(CrewDirectory::at(path), surroundings());
    assert_eq!(budget.why_alone(), None);
    let class = [Priority::Low, Priority::Normal, Priority::High, Priority::Normal][std::process::id() as usize % 4];
    if let Ok(lease_token) = std::env::var(INHERITED_LEASE) {
        return inherited::live_as_inherited_lease(budget, &lease_token);
    }
    let lease = budget.lease(request(class, 3));
    if std::env::var(RUNNER).is_ok() {
        return inherited::live_as_runner(lease.as_ref());
    }
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let hand = lease.take();
                    std::thread::sleep(Duration::from_micros(300));
                    let _looked = lease.must_return(&hand);
                    lease.give_back(hand);
                    if never_stopped && lease.books().lost > 0 {
                        std::process::exit(1);
                    }
                }
            });
        }
    });
}

fn start_member(directory: &CrewDirectory, may: May) -> Child {
    let itself = std::env::current_exe().expect("this binary");
    let mut command = Command::new(itself);
    command.args(["member", "--exact", "--nocapture", "--test-threads=1"]).env(MEMBER, directory.path());
    if may == May::NeverBeStopped {
        command.env(NEVER_STOPPED, "1");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("a child")
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("it is ours and not yet waited for");
}

fn kill(mut child: Child) {
    child.kill().expect("it is ours");
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(9), "nothing but the kill ended it");
}

/// Its row is marked by a thread that nobody waits for, which then sleeps. Whoever dies before is noticed by those who sleep on the table alone.
fn keeps_its_mark(child: &Child) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("it lives").flatten();
    let mut stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.any(|stat| stat.contains("(mark) S "))
}

fn holds(directory: &CrewDirectory, child: &Child) -> u32 {
    let runs = census(directory).expect("a table").runs;
    runs.iter().filter(|run| run.pid == child.id()).map(|run| run.holds).sum()
}

/// Kills and stops members at random moments while a run of this process goes on; then counts.
fn storm(kills: usize) {
    let (_parent, directory) = place();
    let lease = lease(&directory, Priority::Normal, CPUS);
    let (is_over, mut noise) = (AtomicBool::new(false), 0x2545_f491_4f6c_dd1d_u64);
    let mut random = move |below: u64| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise % below
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let hand = lease.take();
                let _looked = lease.must_return(&hand);
                std::thread::sleep(Duration::from_micros(200));
                lease.give_back(hand);
            }
        });
        // Those at even places are never stopped.
        let may = |index: usize| if index.is_multiple_of(2) { May::NeverBeStopped } else { May::BeStopped };
        let mut members: Vec<Child> = (0..4).map(|index| start_member(&directory, may(index))).collect();
        for _ in 0..kills {
            std::thread::sleep(Duration::from_micros(500 + random(12_000)));
            let index = 1 + 2 * random(2) as usize;
            match random(4) {
                0 => signal(&members[index], rustix::process::Signal::STOP),
                1 => signal(&members[index], rustix::process::Signal::CONT),
                _ => {}
            }
            let index = random(members.len() as u64) as usize;
            kill(std::mem::replace(&mut members[index], start_member(&directory, may(index))));
            let seen = census(&directory).expect("a table");
            let held: u32 = seen.runs.iter().map(|run| run.holds - run.above_capacity).sum();
            assert!(held as usize <= CPUS, "more hands than there are: {seen:?}");
        }
        members.into_iter().for_each(kill);
        is_over.store(true, Ordering::SeqCst);
    });
    let books = lease.books();
    assert_eq!((books.taken, books.lost), (books.returned, 0), "only the stopped lose hands");
    // Everybody else is dead: all hands can be had, those of the dead by reaping them. The class is theirs or above, and all
    // that the dead said about themselves counts for nothing.
    let hands: Vec<_> = (0..CPUS).map(|_| lease.take()).collect();
    let seen = census(&directory).expect("a table");
    let own: u32 = seen.runs.iter().filter(|run| run.pid == std::process::id()).map(|run| run.holds).sum();
    let all: u32 = seen.runs.iter().map(|run| run.holds).sum();
    assert_eq!((own, all, seen.free), (CPUS as u32, CPUS as u32, 0), "{seen:?}");
    hands.into_iter().for_each(|hand| lease.give_back(hand));
    assert_eq!(free(&directory), CPUS);
}

#[test]
fn no_hand_is_lost_or_minted_by_kills_and_stops() {
    storm(150);
}

#[test]
#[ignore = "minutes: the long tier"]
fn no_hand_is_lost_or_minted_by_very_many_kills_and_stops() {
    storm(10_000);
}

#[test]
fn a_stopped_holder_loses_its_hands_to_the_hungry_and_comes_back() {
    let (_parent, directory) = place();
    let child = start_member(&directory, May::BeStopped);
    let mut stopped = false;
    while !stopped {
        until(|| holds(&directory, &child) > 0);
        signal(&child, rustix::process::Signal::STOP);
        until(|| census(&directory).expect("a table").runs.iter().any(|run| run.state == RunState::Stopped));
        stopped = holds(&directory, &child) > 0;
        if !stopped {
            signal(&child, rustix::process::Signal::CONT);
        }
    }
    let lease = lease(&directory, Priority::Low, CPUS);
    let hands: Vec<_> = (0..CPUS).map(|_| lease.take()).collect();
    assert_eq!(holds(&directory, &child), 0);
    signal(&child, rustix::process::Signal::CONT);
    until(|| lease.must_return(&hands[0]) || holds(&directory, &child) > 0);
    hands.into_iter().for_each(|hand| lease.give_back(hand));
    until(|| holds(&directory, &child) > 0);
    kill(child);
}

#[test]
fn the_wishes_of_the_dead_do_not_count() {
    let (_parent, directory) = place();
    let first = lease(&directory, Priority::High, CPUS);
    let hands: Vec<_> = (0..CPUS).map(|_| first.take()).collect();
    // It gets its first hand above capacity, and waits for more: hungry for ever, as far as its row says.
    let child = start_member(&directory, May::BeStopped);
    until(|| census(&directory).expect("a table").runs.iter().any(|run| run.pid == child.id() && run.wants > 1));
    until(|| keeps_its_mark(&child));
    let pid = child.id();
    kill(child);
    until(|| !first.must_return(&hands[0]));
    assert!(census(&directory).expect("a table").runs.iter().all(|run| run.pid != pid), "its row is empty");
    hands.into_iter().for_each(|hand| first.give_back(hand));
    assert_eq!(free(&directory), CPUS);
}

/// Otherwise a program without yield points keeps its cores for as long as it sleeps.
#[test]
fn who_goes_on_after_a_pause_is_heard_by_who_listens() {
    let (_parent, directory) = place();
    let proxy = |class| open(&directory).proxy(request(class, 1)).expect("a table");
    let (listener, resting) = (proxy(Priority::Low), proxy(Priority::High));
    resting.wish_for(1);
    for pause in [PauseOrder::Rest, PauseOrder::GoOn] {
        let order = RunOrder { pause: Some(pause), ..RunOrder::default() };
        assert_eq!(give(&directory, std::process::id(), order).expect("a table"), 2);
        // The listener has seen the order before the other run has acted on it.
        let seen = listener.moment();
        resting.wish_for(1);
        assert_eq!(listener.moment() == seen, pause == PauseOrder::Rest, "{pause:?}");
    }
}

/// Whatever it says that it can use: else who has shrunk could never learn that there is more to be had.
#[test]
fn a_proxy_knows_what_it_could_hold_and_who_waits_for_the_rest() {
    let (_parent, directory) = place();
    let proxy = || open(&directory).proxy(request(Priority::Normal, CPUS)).expect("a table");
    let narrow = proxy();
    narrow.set_useful_width(1);
    assert_eq!((narrow.company(), narrow.may_hold()), (Company::Nobody, CPUS));
    let other = proxy();
    assert_eq!((narrow.company(), narrow.may_hold()), (Company::Content, CPUS));
    other.wish_for(CPUS);
    assert_eq!((narrow.company(), narrow.may_hold()), (Company::Hungry, CPUS / 2));
    assert_eq!(other.may_hold(), CPUS, "this one holds none and waits for none");
    narrow.wish_for(1);
    assert_eq!((other.company(), other.may_hold()), (Company::Hungry, CPUS - 1));
}

/// Otherwise its row would end every sleep of the proxy at once.
#[test]
fn a_proxy_that_nobody_disturbs_looks_after_the_dead_too() {
    let (_parent, directory) = place();
    let child = start_member(&directory, May::NeverBeStopped);
    until(|| holds(&directory, &child) > 0);
    let pid = child.id();
    kill(child);
    let proxy = open(&directory).proxy(request(Priority::Idle, 1)).expect("a table");
    proxy.sleep(proxy.moment(), Attention::Program);
    assert!(census(&directory).expect("a table").runs.iter().all(|run| run.pid != pid));
}
