//! What `--resume` leaves out: jobs are known by what they are, wherever they stand and whichever slot they had.

use super::{stdout, xjobs};
use crate::place::{Place, said};
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
