//! What `--resume` leaves out: jobs are known by what they are, wherever they stand and whichever slot they had.

use super::ends::start;
use super::{stdout, xjobs};
use crate::place::{Place, said, wait_until};
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
fn the_folder_of_the_runner_is_part_of_what_a_job_is() {
    let place = Place::new();
    let run = |folder: &str, list: &str| {
        let script =
            format!("mkdir -p {folder} && cd {folder} && printf '{list}' | \"$mh\" xjobs --journal ../j --resume");
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
        let who = super::ends::child_of(i32::try_from(first.child.id()).expect("a number")).expect("it has a runner");
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
