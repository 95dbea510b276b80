//! `mh locks` as it is shipped: every lock has its rows, every row is of a lock that kept threads apart, and a signal ends it with what was
//! measured. Nothing depends on speed: no figure is compared with a time.

use crate::place::{Place, binary, wait_until};
use serde_json::Value;
use std::process::{Command, Stdio};
use testkit::program::{ProgramOutcome, TestProgram};

fn run(arguments: &[&str]) -> ProgramOutcome {
    let place = Place::new();
    TestProgram::at(binary()).in_directory(place.directory()).run(arguments, b"").expect("the program starts")
}

fn stdout(outcome: ProgramOutcome) -> String {
    String::from_utf8(outcome.stdout_of_success()).expect("text")
}

/// Rows of `--csv` by name of their columns.
fn rows(arguments: &[&str]) -> Vec<Vec<(String, String)>> {
    let text = stdout(run(&[&["locks", "--csv"], arguments].concat()));
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().expect("a line of names").split(',').map(str::to_owned).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        names.iter().cloned().zip(cells.into_iter().map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

fn cell<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    row.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).expect("a column")
}

#[test]
fn every_situation_has_rows_whose_figures_hang_together() {
    let rows = rows(&["-n", "2", "--seconds", "3"]);
    for scenario in ["uncontended", "short", "long", "burst", "hog", "oversubscribed", "herd", "preempted", "readers"] {
        let of_it: Vec<_> = rows.iter().filter(|row| cell(row, "scenario") == scenario).collect();
        assert!(of_it.len() >= 6, "{scenario}: {}", of_it.len());
        for row in of_it {
            let number = |name| cell(row, name).parse::<f64>().ok();
            assert!(number("per_s_low") <= number("per_s") && number("per_s") <= number("per_s_high"), "{row:?}");
            assert!(number("p50_ns") <= number("p99_ns") && number("p50_ns") <= number("longest_ns"), "{row:?}");
            assert!(number("fairness").is_none_or(|share| share > 0.0 && share <= 1.0 + 1e-9), "{row:?}");
        }
    }
    let alone = |name: &str| rows.iter().any(|row| cell(row, "scenario") == "uncontended" && cell(row, "lock") == name);
    assert!(["none", "tas", "mcs", "clh", "futex-all", "pthread-spin", "std", "parking_lot"].into_iter().all(alone));
}

#[test]
fn waiters_of_all_three_kinds_count_their_wasted_wake_ups_and_a_hand_off_wastes_none() {
    let rows = rows(&["--waiters", "one,all,handoff", "-s", "herd", "-t", "6", "-n", "1", "--seconds", "5"]);
    let locks: Vec<&str> = rows.iter().map(|row| cell(row, "lock")).collect();
    assert_eq!(locks, ["futex", "futex-all", "handoff"]);
    let wasted = |lock: usize| cell(&rows[lock], "wasted_wakes").parse::<f64>().expect("it counts them");
    // The holder sleeps, and so do all others: of several that are woken one gets it. Who is handed it has it.
    assert!(wasted(1) > 0.0 && wasted(2) < 0.01, "{rows:?}");
}

#[test]
fn text_ends_in_settings_and_what_is_not_known() {
    let text = stdout(run(&["locks", "--locks", "futex,innodb", "-s", "short", "-n", "2", "--seconds", "1"]));
    assert!(text.starts_with("spin at most "), "{text}");
    for expected in [
        "innodb_spin_wait_pause_multiplier = ",
        "innodb_spin_wait_delay = ",
        "spins_per_delay begins at 100",
        "spin_tries = ",
        "\nnot known\n",
        "innodb x50",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn json_has_the_calibration_rows_and_advice() {
    let text =
        stdout(run(&["locks", "--locks", "mcs", "-s", "short", "-t", "2,3", "-n", "1", "--seconds", "1", "--json"]));
    for expected in ["\"pause_ns\":", "\"wake_latency_ns\":", "\"threads\":3", "\"spin_tries\":", "\"ended\":\""] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(text.matches("\"lock\":\"mcs\"").count(), 2, "{text}");
}

#[test]
fn a_signal_ends_the_rounds_and_what_was_measured_is_shown() {
    let place = Place::new();
    let mut command = Command::new(binary());
    let words = ["locks", "--json", "--locks", "mcs", "-s", "short", "-n", "1000", "--seconds", "600"];
    let output = std::fs::File::create(place.path("out")).expect("a file");
    let mut child = command.args(words).stdout(output).stderr(Stdio::null()).spawn().expect("the program starts");
    let tasks = format!("/proc/{}/task", child.id());
    let is_under_way = || {
        let mut names = std::fs::read_dir(&tasks)
            .expect("it lives")
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.any(|name| name.trim_end() == "locks")
    };
    wait_until("a round has begun", is_under_way);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let report: Value = serde_json::from_slice(&place.read("out")).expect("JSON");
    let rounds = report["rows"][0]["rounds"].as_u64();
    assert_eq!(report["ended"], "signal");
    assert!(rounds.is_some_and(|rounds| (1..1000).contains(&rounds)), "{report}");
}
