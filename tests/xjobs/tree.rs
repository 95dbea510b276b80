//! What is counted for a job: its whole process tree, as far as it can be told, and by name what goes on behind it.

use super::xjobs;
use crate::place::Place;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::program::Exit;

/// The journal's lines that have `field`.
fn lines(place: &Place, field: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path("journal")).expect("a journal was written");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("whole lines"));
    lines.filter(|line| line.get(field).is_some()).collect()
}

fn run(place: &Place, list: &str) {
    let outcome = xjobs(place, &["-j2", "--shell", "--journal", "journal"], list);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", String::from_utf8_lossy(&outcome.stderr));
}

#[test]
fn orphans_that_end_before_their_job_are_counted_for_it() {
    let place = Place::new();
    // The orphan is reaped by the runner, since its number is gone before its job ends.
    let orphan = "(sh -c 'echo $$ > pid; head -c 3000000 /dev/zero > /dev/null' &)";
    run(&place, &format!("{orphan}; until [ -s pid ]; do :; done; while kill -0 $(cat pid) 2>/dev/null; do :; done\n"));
    let ends = lines(&place, "outcome");
    assert_eq!(ends[0]["processes"], 2, "{}", ends[0]);
    assert_eq!(ends[0]["leaves_processes"], false);
    assert!(ends[0]["read_bytes"].as_u64().is_some_and(|bytes| bytes >= 3_000_000), "{}", ends[0]);
}

#[test]
fn what_goes_on_in_a_jobs_group_is_told_when_it_has_ended() {
    let place = Place::new();
    let waits = "until [ -e go ]; do sleep 0.01; done; head -c 3000000 /dev/zero > /dev/null; : > gone";
    // It goes on only when the runner has looked at its job's end.
    let other = "{ until grep -q outcome journal; do sleep 0.01; done; : > go; until [ -e gone ]; do sleep 0.01; done; sleep 0.3; }";
    run(&place, &format!("({waits}) &\n{other}\n"));
    let ends = lines(&place, "outcome");
    assert_eq!((&ends[0]["job"], &ends[0]["leaves_processes"]), (&Value::from(1), &Value::from(true)));
    let late = lines(&place, "late");
    assert_eq!((late.len(), &late[0]["job"], &late[0]["late"]), (1, &Value::from(1), &ends[0]["key"]));
    assert_eq!((&late[0]["processes"], &late[0]["still_run"]), (&Value::from(1), &Value::from(Vec::<Value>::new())));
    assert!(late[0]["read_bytes"].as_u64().is_some_and(|bytes| bytes >= 3_000_000), "{}", late[0]);
}

#[test]
fn daemons_that_outlive_the_run_are_named() {
    let place = Place::new();
    // Until both have become what they are named by.
    let become_it = |number: &str| format!("until [ \"$(cat /proc/{number}/comm)\" = sleep ]; do sleep 0.01; done");
    let first = format!("sleep 1000 & {}", become_it("$!"));
    let second =
        "setsid sh -c 'echo $$ > daemon; exec sleep 1000' > /dev/null 2>&1 & until [ -s daemon ]; do sleep 0.01; done";
    run(&place, &format!("{first}\n{second}; {}\n", become_it("$(cat daemon)")));
    let (late, strays) = (lines(&place, "late"), lines(&place, "strays"));
    for (line, job) in [(&late[0], Value::from(1)), (&strays[0], Value::Null)] {
        let survivor = &line["still_run"][0];
        assert_eq!((&survivor["name"], &survivor["job"]), (&Value::from("sleep"), &job), "{line}");
        let number = survivor["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        kill_process(number.expect("a process number"), Signal::KILL).expect("it goes on, and is ours");
    }
}
