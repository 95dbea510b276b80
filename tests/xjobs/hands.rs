//! Hands of `mh xjobs`: from the same budget as everybody's, one a job, handed on to an `mh` in the job, so that nothing counts twice.

use crate::place::{Place, Running, binary, said, wait_until};
use std::fs::File;
use std::process::{Command, Stdio};
use testkit::program::{ProgramOutcome, TestProgram};

/// A place with a table of its own.
fn run(place: &Place, arguments: &[&str], list: &str) -> ProgramOutcome {
    let program =
        TestProgram::at(binary()).in_directory(place.directory()).with_variable("MH_CREW_DIR", place.path("crew"));
    program.with_variable("mh", binary()).run(arguments, list.as_bytes()).expect("the program starts")
}

fn census(place: &Place) -> String {
    String::from_utf8(run(place, &["crew", "--json"], "").stdout_of_success()).expect("JSON is text")
}

fn runs_of(place: &Place, what: &str) -> Vec<String> {
    census(place).split("{\"pid\":").filter(|run| run.contains(what)).map(str::to_owned).collect()
}

#[test]
fn a_job_works_with_the_hand_that_its_runner_holds_for_it() {
    works_with_its_runners_hand("$mh tamp -q -j 1 -c {}", "tamp: ");
}

#[test]
fn an_outside_program_in_a_job_does_too() {
    works_with_its_runners_hand("$mh crew run -j 1 --what 'outside: ' -- sha256sum {}", "\"what\":\"outside: ");
}

fn works_with_its_runners_hand(job: &str, what: &str) {
    let place = Place::new();
    File::create(place.path("endless")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file can be made");
    let mut command = Command::new(binary());
    command.args(["xjobs", "-j1", "-n", "--shell", job, ":::", "endless"]);
    command.env("mh", binary()).env("MH_CREW_DIR", place.path("crew")).current_dir(place.directory());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let runner = Running { child: command.spawn().expect("the program starts") };
    wait_until("the job is there", || runs_of(&place, what).len() == 1);
    let (jobs, runners) = (runs_of(&place, what), runs_of(&place, "xjobs: "));
    assert!(jobs[0].contains("\"holds\":0") && jobs[0].contains("\"inherited\":1"), "{jobs:?}");
    assert!(runners[0].contains("\"holds\":1") && runners[0].contains("\"inherited\":0"), "{runners:?}");
    drop(runner);
    let is_dead = |run: &String| run.contains("\"state\":\"dead\"");
    wait_until("the killed runner's job ends too", || runs_of(&place, what).iter().all(is_dead));
}

#[test]
fn who_waits_for_places_of_its_own_jobs_holds_no_hand_meanwhile() {
    let place = Place::new();
    let list = "sleep 777\n{\"argv\":[\"true\"],\"cores\":2}\n";
    place.write("list", list);
    let mut command = Command::new(binary());
    command.args(["xjobs", "-j2", "-s", "list"]).env("MH_CREW_DIR", place.path("crew")).current_dir(place.directory());
    let runner = Running { child: command.stdin(Stdio::null()).spawn().expect("the program starts") };
    wait_until("the wide job waits", || {
        let runs = runs_of(&place, "xjobs: run the jobs");
        runs.len() == 1 && runs[0].contains("\"holds\":1,")
    });
    drop(runner);
}

#[test]
fn each_job_is_told_of_its_own_hands_and_of_no_others() {
    let place = Place::new();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(2));
    let list = format!("{{\"argv\":[\"sh\",\"-c\",\"echo $MH_LEASE | wc -w\"],\"cores\":{cores}}}\n");
    let words = run(&place, &["xjobs", "-j2"], &list).stdout_of_success();
    assert_eq!(String::from_utf8(words).expect("text").trim(), (1 + cores).to_string(), "a table and its hands");
    // `{}` is the inner one's.
    let outer = "$mh xjobs -j1 --shell 'echo {} $MH_LEASE' ::: @";
    let words = ["xjobs", "-j1", "-I", "@", "--shell", outer, ":::", "outer"];
    let nested = run(&place, &words, "").stdout_of_success();
    let nested = String::from_utf8(nested).expect("text");
    assert_eq!(nested.trim().rsplit(' ').next().map(|hand| hand.split(':').count()), Some(3), "with a claim: {nested}");
    let alone =
        TestProgram::at(binary()).with_variable("MH_CREW_DIR", "").with_variable("MH_LEASE", "1:2 0:1000000000001");
    let alone = alone.run(["xjobs", "--shell", "echo {}$MH_LEASE", ":::", "none"], b"").expect("it starts");
    assert_eq!(alone.stdout_of_success(), b"none\n");
}

#[test]
fn a_job_has_its_runners_class_unless_it_is_given_one() {
    let place = Place::new();
    std::fs::write(place.path("a"), b"a").expect("a file");
    let class_of = |runner: &[&str], job: &str| {
        let words = [&["xjobs"], runner, &["--shell", job, ":::", "a"]].concat();
        let plan = String::from_utf8(run(&place, &words, "").stdout_of_success()).expect("text");
        plan.lines().find(|line| line.trim_start().starts_with("priority")).map(|line| line.contains(" low"))
    };
    assert_eq!(class_of(&["--priority", "low"], "$mh tamp --explain {}"), Some(true));
    assert_eq!(class_of(&["--priority", "low"], "$mh xjobs --shell '$mh tamp --explain' ::: {}"), Some(true));
    assert_eq!(class_of(&["--priority", "low"], "$mh tamp --priority idle --explain {}"), Some(false));
    assert_eq!(class_of(&[], "$mh tamp --explain {}"), None, "a normal run says nothing of it");
}

#[test]
fn jobs_beyond_the_cores_run_without_hands_and_several_cores_are_waited_for() {
    let place = Place::new();
    // Each waits until all have begun: they must run at the same time.
    let script = "touch begun.{}; while test $(ls begun.* | wc -l) -lt 40; do sleep 0.01; done";
    let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let arguments: Vec<&str> =
        ["xjobs", "-j40", "--shell", script, ":::"].into_iter().chain(many.iter().map(String::as_str)).collect();
    run(&place, &arguments, "").stdout_of_success();
    let list = "{\"argv\":[\"echo\",\"alone\"],\"cores\":2}\n";
    assert_eq!(run(&place, &["xjobs", "-j2"], list).stdout_of_success(), b"alone\n");
}

#[test]
fn a_run_is_known_by_the_number_that_its_shell_knows() {
    let place = Place::new();
    let mut command = Command::new(binary());
    command.args(["xjobs", "-j2", "sleep", ":::", "1000"]).env("MH_CREW_DIR", place.path("crew")).stdin(Stdio::null());
    let runner = Running { child: command.spawn().expect("the program starts") };
    wait_until("it is there", || runs_of(&place, "xjobs: run sleep").len() == 1);
    run(&place, &["crew", "pause", &runner.child.id().to_string()], "").stdout_of_success();
    assert!(
        runs_of(&place, "xjobs: run sleep").iter().all(|run| run.contains("\"state\":\"paused\"")),
        "{}",
        census(&place)
    );
}

#[test]
fn a_table_that_was_asked_for_and_cannot_be_had_is_told() {
    let place = Place::new();
    place.write("file", "");
    let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("file"));
    let outcome = program.run(["xjobs", "echo", ":::", "a"], b"").expect("it starts");
    assert!(said(&outcome).contains("this run shares its cores with no other run"), "{}", said(&outcome));
    assert_eq!(outcome.stdout_of_success(), b"a\n");
}
