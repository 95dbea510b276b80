//! Hands that runners hold for their jobs: a job finds its runner's hand, nobody has it twice, and none is lost when either is
//! killed or stopped.

use super::{CPUS, INHERITED_LEASE, MEMBER, RUNNER, free, kill, lease, open, place, request, signal, until};
use crew::budget::census::census;
use crew::budget::orders::{PauseOrder, RunOrder, give};
use crew::budget::{Budget, CrewDirectory, Hand, HandBooks, Lease, LeaseToken, MachineWide, Priority};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn lease_token(lease: &dyn Lease, hands: &[&Hand]) -> LeaseToken {
    lease.lease_token(hands).expect("hands of a table")
}

fn inherited_lease(directory: &CrewDirectory, lease_token: &LeaseToken, width: usize) -> Box<dyn Lease> {
    open(directory).with_inheritance(lease_token.clone()).lease(request(Priority::Normal, width))
}

/// Takes its runner's hand or one of its own and gives it back, until it is killed.
pub fn live_as_inherited_lease(budget: MachineWide, lease_token: &str) {
    let lease =
        budget.with_inheritance(lease_token.parse().expect("the parent made it")).lease(request(Priority::Low, 2));
    loop {
        let hand = lease.take();
        std::thread::sleep(Duration::from_micros(300));
        let _looked = lease.must_return(&hand);
        lease.give_back(hand);
    }
}

pub fn live_as_runner(lease: &dyn Lease) {
    let hand = lease.take();
    let line = format!("\npassport {}\n", lease_token(lease, &[&hand]));
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).expect("the parent reads it");
    loop {
        std::thread::park();
    }
}

fn start_inherited_lease(directory: &CrewDirectory, lease_token: &LeaseToken) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["member", "--exact", "--nocapture", "--test-threads=1"]).env(MEMBER, directory.path());
    command
        .env(INHERITED_LEASE, lease_token.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("a child")
}

fn start_runner(directory: &CrewDirectory) -> (Child, LeaseToken) {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["member", "--exact", "--nocapture", "--test-threads=1"]).env(MEMBER, directory.path());
    let mut child = command.env(RUNNER, "1").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a child");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut lease_tokens = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("passport ")?.parse().ok());
    let lease_token = lease_tokens.next().expect("it prints one");
    (child, lease_token)
}

fn all_inherited(directory: &CrewDirectory) -> u32 {
    census(directory).expect("a table").runs.iter().map(|run| run.inherited).sum()
}

#[test]
fn a_job_uses_its_runners_hand_and_takes_only_what_it_wants_beyond() {
    let (_parent, directory) = place();
    let runner = lease(&directory, Priority::Normal, CPUS);
    let hand = runner.take();
    let lease_token = lease_token(runner.as_ref(), &[&hand]);
    let job = inherited_lease(&directory, &lease_token, 2);
    let hands = [job.take(), job.take()];
    assert!(job.try_take().is_none(), "two are all it has a use for");
    assert_eq!((job.inherited(), free(&directory)), (1, CPUS - 2), "the runner's counts once");
    assert!(hands.iter().all(|hand| !job.must_return(hand)));
    let other = inherited_lease(&directory, &lease_token, 2);
    assert_eq!((other.inherited(), all_inherited(&directory)), (0, 1), "each hand once");
    drop(other);
    hands.into_iter().for_each(|hand| job.give_back(hand));
    assert_eq!((free(&directory), all_inherited(&directory)), (CPUS - 1, 1), "the claim lasts as long as the run");
    drop(job);
    assert_eq!(
        (all_inherited(&directory), inherited_lease(&directory, &lease_token, 1).inherited()),
        (0, 1),
        "the next in the same job"
    );
    runner.give_back(hand);
    assert_eq!(free(&directory), CPUS);
}

#[test]
fn a_run_with_its_runners_hand_is_guaranteed_no_other() {
    let (_parent, directory) = place();
    let (runner, high) = (lease(&directory, Priority::Normal, 1), lease(&directory, Priority::High, CPUS));
    let hand = runner.take();
    let hands: Vec<_> = (1..CPUS).map(|_| high.take()).collect();
    let job = inherited_lease(&directory, &lease_token(runner.as_ref(), &[&hand]), 2);
    let own = job.take();
    assert!(job.try_take().is_none() && !job.must_return(&own));
    let seen = census(&directory).expect("a table");
    assert_eq!((seen.above_capacity, seen.free), (0, 0));
    job.give_back(own);
    runner.give_back(hand);
    hands.into_iter().for_each(|hand| high.give_back(hand));
}

#[test]
fn a_first_hand_above_capacity_is_handed_on_too() {
    let (_parent, directory) = place();
    let (high, runner) = (lease(&directory, Priority::High, CPUS), lease(&directory, Priority::Normal, 1));
    let hands: Vec<_> = (0..CPUS).map(|_| high.take()).collect();
    let hand = runner.take();
    let job = inherited_lease(&directory, &lease_token(runner.as_ref(), &[&hand]), 4);
    let own = job.take();
    assert_eq!((job.inherited(), census(&directory).expect("a table").above_capacity), (1, 1), "one job, one hand");
    assert!(!job.must_return(&own));
    runner.give_back(hand);
    assert!(job.must_return(&own), "the runner needs it no more, or has found a CPU");
    job.give_back(own);
    hands.into_iter().for_each(|hand| high.give_back(hand));
}

#[test]
fn a_job_that_is_a_runner_itself_hands_the_hand_on_and_has_it_back() {
    let (_parent, directory) = place();
    let outer = lease(&directory, Priority::Normal, 1);
    let hand = outer.take();
    let middle = inherited_lease(&directory, &lease_token(outer.as_ref(), &[&hand]), 1);
    let own = middle.take();
    let inner = inherited_lease(&directory, &lease_token(middle.as_ref(), &[&own]), 1);
    let innermost = inner.take();
    assert_eq!((inner.inherited(), all_inherited(&directory), free(&directory)), (1, 1, CPUS - 1));
    assert!(!inner.must_return(&innermost) && middle.must_return(&own), "one uses it at a time");
    inner.give_back(innermost);
    drop(inner);
    assert!(!middle.must_return(&own), "it is the middle one's again");
    middle.give_back(own);
    assert_eq!(middle.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
    outer.give_back(hand);
}

#[test]
fn what_is_no_lease_token_of_this_table_is_worth_nothing() {
    let (_parent, directory) = place();
    let (_other_parent, elsewhere) = place();
    let runner = lease(&elsewhere, Priority::Normal, 1);
    let hand = runner.take();
    let foreign = lease_token(runner.as_ref(), &[&hand]);
    assert_eq!(inherited_lease(&directory, &foreign, 1).inherited(), 0, "of another table");
    let table = foreign.to_string().split_once(' ').expect("a table and a hand").0.to_owned();
    let forged = ["0:1000000000001", "0:ffff000000000001", "4ff:1000000000001", "3:2000000000001:2000000000001"];
    for hand in forged {
        let lease_token: Option<LeaseToken> = format!("{table} {hand}").parse().ok();
        let inherited = lease_token.map_or(0, |lease_token| inherited_lease(&elsewhere, &lease_token, 1).inherited());
        assert_eq!(inherited, usize::from(hand == "0:1000000000001" && foreign.to_string().ends_with(hand)), "{hand}");
    }
    runner.give_back(hand);
}

#[test]
fn a_paused_job_rests_and_goes_on_with_its_runners_hand() {
    let (_parent, directory) = place();
    let runner = lease(&directory, Priority::Normal, 1);
    let hand = runner.take();
    let job = inherited_lease(&directory, &lease_token(runner.as_ref(), &[&hand]), 1);
    let own = job.take();
    let pause = |pause| RunOrder { pause: Some(pause), ..RunOrder::default() };
    give(&directory, std::process::id(), pause(PauseOrder::Rest)).expect("a table");
    assert!(job.must_return(&own));
    job.give_back(own);
    assert!(job.try_take().is_none());
    std::thread::scope(|scope| {
        let resting = scope.spawn(|| job.take());
        give(&directory, std::process::id(), pause(PauseOrder::GoOn)).expect("a table");
        job.give_back(resting.join().expect("it goes on"));
    });
    runner.give_back(hand);
    assert_eq!((job.books().lost, free(&directory)), (0, CPUS));
}

#[test]
fn of_many_jobs_with_one_lease_token_one_has_the_hand_whoever_is_killed() {
    let (_parent, directory) = place();
    let runner = lease(&directory, Priority::High, 1);
    let hand = runner.take();
    let lease_token = lease_token(runner.as_ref(), &[&hand]);
    let mut jobs: Vec<Child> = (0..3).map(|_| start_inherited_lease(&directory, &lease_token)).collect();
    for _round in 0..24 {
        until(|| all_inherited(&directory) == 1);
        // A job claims once, when it comes: what the dead one claimed must be there to be taken over.
        kill(jobs.remove(0));
        jobs.push(start_inherited_lease(&directory, &lease_token));
        let seen = census(&directory).expect("a table");
        let inherited: u32 = seen.runs.iter().map(|run| run.inherited).sum();
        let held: u32 = seen.runs.iter().map(|run| run.holds - run.above_capacity).sum();
        assert!(inherited <= 1 && held as usize <= CPUS, "{seen:?}");
    }
    jobs.into_iter().for_each(kill);
    assert_eq!(inherited_lease(&directory, &lease_token, 1).inherited(), 1, "the dead one's claim is taken over");
    assert!(!runner.must_return(&hand));
    runner.give_back(hand);
    assert_eq!(runner.books(), HandBooks { taken: 1, returned: 1, lost: 0 });
}

#[test]
fn when_the_runner_is_killed_or_stopped_its_jobs_hand_is_free_too() {
    for stops in [true, false] {
        let (_parent, directory) = place();
        let (mut runner, lease_token) = start_runner(&directory);
        let job = inherited_lease(&directory, &lease_token, 1);
        let own = job.take();
        assert!(job.inherited() == 1 && !job.must_return(&own));
        if stops {
            signal(&runner, rustix::process::Signal::STOP);
        } else {
            runner.kill().expect("it is ours");
        }
        let hungry = lease(&directory, Priority::High, CPUS);
        let hands: Vec<_> = (0..CPUS).map(|_| hungry.take()).collect();
        until(|| job.must_return(&own));
        job.give_back(own);
        assert_eq!((job.books().lost, all_inherited(&directory)), (1, 0));
        let first = job.take();
        assert_eq!(census(&directory).expect("a table").above_capacity, 1, "it queues as everybody else");
        job.give_back(first);
        hands.into_iter().for_each(|hand| hungry.give_back(hand));
        runner.kill().expect("it is ours");
        runner.wait().expect("it ends");
    }
}
