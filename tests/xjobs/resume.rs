//! What `--resume` leaves out: jobs are known by what they are, wherever they stand and whichever slot they had.

use super::ends::start;
use super::{stdout, xjobs};
use crate::place::{Place, child_of, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use testkit::program::Exit;

#[test]
fn the_slot_is_no_part_of_what_a_job_is() {
    let place = Place::new();
    let list: String = (0..40).map(|job| format!("{job}\n")).collect();
    let arguments =
        ["-j3", "--journal", "j", "--resume", "sh", "-c", "sleep 0.00$(($0 % 7)); echo $1 >> ran", "{}", "slot{%}"];
    for _ in 0..2 {
        assert_eq!(xjobs(&place, &arguments, &list).exit, Exit::Code(0));
        assert_eq!(place.read("ran").iter().filter(|&&byte| byte == b'\n').count(), 40);
    }
    assert!(place.read("ran").windows(5).any(|words| words == b"slot2"), "more than one slot was used");
    let joblog = xjobs(&place, &["--joblog", "l", "--resume", "echo", "{%}"], "1\n");
    assert_eq!(joblog.exit, Exit::Code(2), "{}", said(&joblog));
}

#[test]
fn the_directory_of_the_runner_is_part_of_what_a_job_is() {
    let place = Place::new();
    let run = |directory: &str, list: &str| {
        let script = format!(
            "mkdir -p {directory} && cd {directory} && printf '{list}' | \"$mh\" xjobs --journal ../j --resume"
        );
        let outcome = place.shell(&script);
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
        stdout(&outcome)
    };
    let there = place.path("there").to_string_lossy().into_owned();
    std::fs::create_dir(&there).expect("it is new");
    assert_eq!(run("a", "echo x\\n"), "x\n");
    assert_eq!(run("b", "echo x\\n"), "x\n");
    assert_eq!(run("a", "echo x\\n"), "");
    let elsewhere = format!("cd {there}; echo y\\n");
    assert_eq!((run("a", &elsewhere), run("b", &elsewhere)), ("y\n".to_owned(), String::new()));
}

#[test]
fn a_file_for_all_jobs_lies_where_the_runner_is_wherever_the_jobs_go() {
    let place = Place::new();
    let run = |directory: &str| {
        let script = format!(
            "mkdir -p {directory} && cd {directory} && printf 'cd /tmp; echo x\n' | \"$mh\" xjobs -j1 --journal ../j --resume '>' all"
        );
        let outcome = place.shell(&script);
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
        place.read(format!("{directory}/all"))
    };
    assert_eq!([run("a"), run("b"), run("a")], [b"x\n", b"x\n", b"x\n"]);
}

#[test]
fn a_job_twice_in_the_list_is_named_once_when_one_of_them_was_cut_off() {
    let place = Place::new();
    let script = "touch began; until [ -e go ]; do sleep 0.01; done; echo $1 >> ran";
    let arguments = ["-j1", "--journal", "j", "--resume", "sh", "-c", script, "sh"];
    for _ in 0..2 {
        let mut running = start(&place, &arguments, "1\n1\n");
        wait_until("the first runs", || place.has("began"));
        let runner = child_of(i32::try_from(running.child.id()).expect("a number")).and_then(Pid::from_raw);
        kill_process(runner.expect("it has a runner"), Signal::KILL).expect("it lives");
        running.end();
        std::fs::remove_file(place.path("began")).expect("a job made it");
    }
    place.write("go", "");
    let resumed = xjobs(&place, &arguments, "1\n1\n");
    assert_eq!((resumed.exit, place.read("ran")), (Exit::Code(0), b"1\n1\n".to_vec()));
    assert_eq!(said(&resumed).matches("had begun when an earlier run ended").count(), 1, "{}", said(&resumed));
}

#[test]
fn variables_of_a_record_are_part_of_what_a_job_is() {
    let place = Place::new();
    let run = |value: &str| {
        let list = format!("{{ \"shell\":\"echo $X\",\"env\":{{\"X\":\"{value}\"}}}}\n");
        stdout(&xjobs(&place, &["--journal", "j", "--resume"], list))
    };
    assert_eq!([run("1"), run("2"), run("1")], ["1\n", "2\n", ""]);
}

#[test]
fn a_second_run_with_the_same_journal_is_told_who_has_it() {
    let place = Place::new();
    let script = "touch began; until [ -e go ]; do sleep 0.01; done";
    for book in ["--journal", "--joblog"] {
        let arguments = [book, "j", "--resume", "sh", "-c", script, "sh"];
        let mut first = start(&place, &arguments, "1\n");
        wait_until("a job runs", || place.has("began"));
        let second = xjobs(&place, &arguments, "1\n2\n");
        let who = child_of(i32::try_from(first.child.id()).expect("a number")).expect("it has a runner");
        let told = said(&second);
        assert!(
            told.contains(&format!("'j': process {who} (")) || told.contains(&format!("j: process {who} (")),
            "{told}"
        );
        assert_eq!((second.exit, stdout(&second).as_str()), (Exit::Code(1), ""));
        place.write("go", "");
        assert!(first.end().success());
        assert_eq!(xjobs(&place, &arguments, "1\n").exit, Exit::Code(0), "it is free again");
        ["began", "go", "j"].iter().for_each(|name| std::fs::remove_file(place.path(name)).expect("it is there"));
    }
}

#[test]
fn a_journal_that_is_no_file_is_written_to_and_nothing_else() {
    let place = Place::new();
    let outcome = xjobs(&place, &["--journal", "/dev/null", "--joblog", "/dev/null", "echo"], "1\n");
    assert_eq!((outcome.exit, stdout(&outcome).as_str(), said(&outcome).as_str()), (Exit::Code(0), "1\n", ""));
}

#[test]
fn another_attempt_replaces_the_file_that_the_first_one_made() {
    let place = Place::new();
    let list = "sh -c 'test -e k && echo second && exit; touch k; echo first and longer; exit 1' > o.log\n";
    for books in [&["--retries", "3"][..], &["--retries", "3", "--journal", "j"]] {
        let outcome = xjobs(&place, books, list);
        assert_eq!((outcome.exit, place.read("o.log")), (Exit::Code(0), b"second\n".to_vec()), "{}", said(&outcome));
        let again = xjobs(&place, books, list);
        assert!(said(&again).contains("cannot open 'o.log': File exists"), "{}", said(&again));
        ["k", "o.log"].iter().for_each(|name| std::fs::remove_file(place.path(name)).expect("it is there"));
    }
}

/// The list that encodes a CD, with programs that wait for their sign; killed while the last one runs.
fn killed_in_the_last_job(place: &Place) {
    let list = "sh -c 'echo 1 >> done'\nsh -c 'echo 2 >> done'\n%%\n\
                sh -c 'echo some; touch runs; until [ -e go ]; do sleep 0.01; done; echo all' > gain.log\n";
    let mut first = start(place, &["--journal", "cd.log", "--resume"], list);
    wait_until("the last runs", || place.has("runs"));
    let runner = child_of(i32::try_from(first.child.id()).expect("a number")).and_then(Pid::from_raw);
    kill_process(runner.expect("it has a runner"), Signal::KILL).expect("it lives");
    first.end();
    place.write("go", "");
}

#[test]
fn a_job_that_was_cut_off_goes_on_with_its_own_file() {
    let place = Place::new();
    killed_in_the_last_job(&place);
    let list = place.read("list");
    let resumed = xjobs(&place, &["--journal", "cd.log", "--resume"], &list);
    assert_eq!(resumed.exit, Exit::Code(0), "{}", said(&resumed));
    assert!(said(&resumed).contains("job 3 had begun when an earlier run ended; it is run again"));
    assert_eq!(place.read("gain.log"), b"some\nall\n");
    assert_eq!(place.read("done").len(), 4, "the others were done");
    assert_eq!(xjobs(&place, &["--journal", "cd.log", "--resume"], &list).exit, Exit::Code(0));
}

#[test]
fn a_file_of_somebody_elses_under_that_name_is_refused() {
    let place = Place::new();
    killed_in_the_last_job(&place);
    place.write("mine", "mine");
    std::fs::rename(place.path("mine"), place.path("gain.log")).expect("it is ours");
    let resumed = xjobs(&place, &["--journal", "cd.log", "--resume"], place.read("list"));
    assert!(said(&resumed).contains("cannot open 'gain.log': File exists"), "{}", said(&resumed));
    assert_eq!((resumed.exit, place.read("gain.log")), (Exit::Code(1), b"mine".to_vec()));
}

#[test]
fn killed_at_any_line_of_the_journal_a_redirected_job_resumes() {
    for step in 1..=8 {
        let place = Place::new();
        let list: String = (1..=4).map(|job| format!("sh -c 'sleep 0.00{job}; echo {job}' > o{job}\n")).collect();
        let arguments = ["-j2", "--journal", "j", "--resume"];
        let mut running = start(&place, &arguments, &list);
        let lines = || if place.has("j") { place.read("j").iter().filter(|&&byte| byte == b'\n').count() } else { 0 };
        while lines() < step && running.child.try_wait().expect("it can be asked").is_none() {}
        if let Some(runner) = child_of(i32::try_from(running.child.id()).expect("a number")).and_then(Pid::from_raw) {
            let _it_may_have_ended = kill_process(runner, Signal::KILL);
        }
        running.end();
        let resumed = xjobs(&place, &arguments, &list);
        assert_eq!(resumed.exit, Exit::Code(0), "step {step}: {}", said(&resumed));
        (1..=4).for_each(|job| assert_eq!(place.read(format!("o{job}")), format!("{job}\n").as_bytes()));
    }
}

#[test]
fn the_file_of_all_jobs_is_added_to_by_the_run_that_resumes() {
    let place = Place::new();
    let run = |list: &str, more: &[&str]| {
        let arguments = [&["-j1", "--journal", "j"], more, &["echo", ">", "all"]].concat();
        xjobs(&place, &arguments, list)
    };
    assert_eq!(run("1\n2\n", &[]).exit, Exit::Code(0));
    assert_eq!(run("1\n2\n3\n", &["--resume"]).exit, Exit::Code(0));
    assert_eq!(place.read("all"), b"1\n2\n3\n");
    let anew = run("4\n", &[]);
    assert!(said(&anew).contains("cannot open 'all': File exists"), "{}", said(&anew));
}

#[test]
fn a_file_that_is_no_journal_is_kept_as_it_is() {
    let place = Place::new();
    let options = ["--journal mine", "--journal mine --resume", "--joblog +mine", "--joblog mine --resume"];
    let files = ["my data\n", "{\n  \"name\": 1\n}\n", "{\"name\":1}\n", "\nmy data\n", "S\nmy data\n"];
    for (option, file) in options.iter().flat_map(|option| files.map(|file| (option, file))) {
        place.write("mine", file.as_bytes());
        let outcome = place.shell(&format!("\"$mh\" xjobs {option} echo ::: 1"));
        assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(1), ""), "{option}: {}", said(&outcome));
        assert!(
            said(&outcome).contains("'mine': it holds something else, which is kept as it is"),
            "{}",
            said(&outcome)
        );
        assert_eq!(place.read("mine"), file.as_bytes());
    }
    // A journal whose first line was torn, and lines that were taken out of a log.
    let script = "printf '{' > j; \"$mh\" xjobs --journal j true ::: 1 && grep -v begin j > k && \"$mh\" xjobs --journal k true ::: 1 && \
                  printf '{\"beg' > t; \"$mh\" xjobs --journal t true ::: 1 && \"$mh\" xjobs --journal j --resume true ::: 1 && \
                  \"$mh\" xjobs --joblog l echo ::: 1 && grep 1 l > taken && \"$mh\" xjobs --joblog taken --resume echo ::: 1 2";
    let outcome = place.shell(script);
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), "1\n2\n"), "{}", said(&outcome));
}

#[test]
fn a_job_log_holds_no_job_that_was_not_started_but_for_want_of_its_program() {
    let place = Place::new();
    let run = "\"$mh\" xjobs -s list --joblog log";
    place.write("list", b"cd later; touch made\nnosuchprogram 1\ntrue 2\n");
    let outcome = place.shell(&format!("{run}; mkdir later; {run} --resume; cut -f 7,9 log; ls later"));
    assert_eq!(stdout(&outcome), "Exitval\tCommand\n127\tnosuchprogram 1\n0\ttrue 2\n0\ttouch made\nmade\n");
    assert!(said(&outcome).contains("cannot go to 'later': No such file or directory"), "{}", said(&outcome));
}

#[test]
fn what_waits_for_a_job_that_failed_before_does_not_run() {
    let list = "{\"argv\":[\"false\"],\"id\":\"a\"}\n{\"argv\":[\"touch\",\"ran\"],\"after\":[\"a\"]}\n\
                {\"argv\":[\"true\"],\"id\":\"b\"}\n{\"argv\":[\"echo\",\"b is done\"],\"after\":[\"b\"]}\n";
    for book in ["--journal", "--joblog"] {
        let place = Place::new();
        let first = xjobs(&place, &[book, "j", "-k"], list);
        assert_eq!((first.exit, stdout(&first).as_str()), (Exit::Code(1), "b is done\n"), "{}", said(&first));
        let more =
            format!("{list}{{\"argv\":[\"touch\",\"ran\"],\"cwd\":\".\",\"env\":{{\"X\":\"1\"}},\"after\":[\"a\"]}}\n");
        let resumed = xjobs(&place, &[book, "j", "--resume"], &more);
        let told = "could not start job 5: touch ran: 'a', which it waits for, failed";
        assert!(said(&resumed).contains(told) && resumed.exit == Exit::Code(1), "{}", said(&resumed));
        assert!(!place.has("ran"), "{book}");
    }
}

#[test]
fn a_job_that_the_run_ended_is_not_done_by_its_job_log() {
    let place = Place::new();
    let script = "echo $1 >> ran; until [ -e go ]; do sleep 0.01; done";
    let arguments = ["-j2", "--joblog", "l", "--resume", "sh", "-c", script, "sh"];
    let mut first = start(&place, &arguments, "1\n2\n3\n");
    wait_until("two run", || place.has("ran") && place.read("ran").len() == 4);
    kill_process(Pid::from_child(&first.child), Signal::TERM).expect("it lives");
    assert!(!first.end().success());
    place.write("go", "");
    assert_eq!(xjobs(&place, &arguments, "1\n2\n3\n").exit, Exit::Code(0));
    assert_eq!(place.read("ran").len(), 10, "both that were ended ran again, and the third");
    assert_eq!(place.read("l").iter().filter(|&&byte| byte == b'\n').count(), 4, "the heading and three ends");
}

#[test]
fn nothing_starts_that_the_journal_cannot_tell_of() {
    let place = Place::new();
    let outcome = xjobs(&place, &["--journal", "/dev/full", "-j1", "touch", ":::", "a", "b", "c"], "");
    let told = said(&outcome);
    assert_eq!(outcome.exit, Exit::Code(1), "{told}");
    assert!(told.contains("could not write the journal: No space left on device; no more jobs start"), "{told}");
    assert!(["a", "b", "c"].iter().all(|name| !place.has(name)), "{:?}", place.names());
}

#[test]
fn an_attempt_that_another_follows_is_no_end_and_is_told_as_it_was() {
    let place = Place::new();
    let list = "sh -c 'echo x >> ran; test $(wc -l < ran) = 3'\n";
    assert_eq!(xjobs(&place, &["--retries", "3", "--journal", "j"], list).exit, Exit::Code(0));
    let journal = String::from_utf8(place.read("j")).expect("text");
    assert_eq!(journal.matches("\"outcome\":\"failed\",\"tried_again\":true").count(), 2, "{journal}");
    assert_eq!(journal.matches("\"outcome\":\"ok\",\"class\"").count(), 1, "{journal}");
}

#[test]
fn jobs_that_had_failed_are_left_out_with_a_word() {
    let place = Place::new();
    let run = |option: &[&str]| {
        xjobs(&place, &[&["--journal", "j"][..], option, &["sh", "-c"]].concat(), "true\nfalse\n'exit 3'\n")
    };
    assert_eq!(run(&[]).exit, Exit::Code(1));
    let resumed = run(&["--resume"]);
    let words = "mh xjobs: 3 jobs left out, of which 2 failed before; --resume-failed runs failed jobs again\n";
    assert_eq!((said(&resumed).as_str(), resumed.exit), (words, Exit::Code(0)));
    let again = run(&["--resume-failed"]);
    assert!(!said(&again).contains("left out") && said(&again).contains("2 of 2 jobs failed"), "{}", said(&again));
    assert_eq!(again.exit, Exit::Code(1));
}
