//! `mh timers` as it is shipped: every call has its figures, and a program runs with the slack it was given and is otherwise
//! left alone. Nothing depends on speed: no figure is compared with a time.

use crate::place::{Place, binary, said};
use std::path::Path;
use testkit::program::{ProgramOutcome, TestProgram, left_out};

fn run(arguments: &[&str]) -> ProgramOutcome {
    let place = Place::new();
    TestProgram::at(binary()).in_directory(place.directory()).run(arguments, b"").expect("the program starts")
}

fn stdout(outcome: ProgramOutcome) -> String {
    String::from_utf8(outcome.stdout_of_success()).expect("text")
}

#[test]
fn every_call_has_figures_and_none_comes_back_early() {
    let text = stdout(run(&["timers", "-n", "3", "--csv"]));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a line of names").split(',').collect();
    let at = |name: &str| names.iter().position(|known| *known == name).expect("a column");
    let (call, early, rounds, missing) = (at("call"), at("early"), at("rounds"), at("missing"));
    let mut calls = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        calls.push(cells[call].to_owned());
        if cells[missing].is_empty() {
            assert_ne!(cells[rounds], "0", "{line}");
            assert_eq!(cells[early], "0", "{line}");
        }
    }
    // Two slacks each.
    for expected in
        ["poll", "select", "sleep", "setitimer real", "alarm", "timerfd", "semtimedop", "aio_suspend", "futex"]
    {
        assert_eq!(calls.iter().filter(|call| *call == expected).count(), 2, "{expected}: {text}");
    }
}

#[test]
fn text_names_the_clock_source_and_the_calls_that_keep_a_coarser_clock() {
    let text = stdout(run(&["timers", "-n", "2", "-c", "poll", "-c", "recv SO_RCVTIMEO", "--load"]));
    assert!(text.starts_with("poll told 1 ms takes "), "{text}");
    for expected in
        ["clock source", "a spinning thread on every CPU", "setitimer profiling", "MONOTONIC_COARSE", "time stamp"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn each_cpu_has_its_rows() {
    let text = stdout(run(&["timers", "-n", "2", "-c", "nanosleep", "--per-cpu", "--csv"]));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(text.lines().count() > cpus, "{text}");
    assert!(text.lines().skip(1).all(|line| line.split(',').nth(2).is_some_and(|cpu| !cpu.is_empty())), "{text}");
}

#[test]
fn a_program_that_is_run_inherits_nothing_but_the_slack() {
    let script = "grep -E 'SigIgn|SigBlk' /proc/self/status";
    let with = stdout(run(&["timers", "run", "--", "sh", "-c", script]));
    let place = Place::new();
    let shell = TestProgram::at(Path::new("/bin/sh")).in_directory(place.directory()).run(["-c", script], b"");
    let without = stdout(shell.expect("sh starts"));
    assert_eq!(signals(&with), signals(&without), "{with}{without}");
}

/// The sets of signals in lines of `status`, without the two that the C library keeps to itself (32 and 33).
fn signals(status: &str) -> Vec<u64> {
    const OWN: u64 = 0b11 << 31;
    let sets = status.lines().filter_map(|line| line.split_whitespace().nth(1));
    sets.map(|set| u64::from_str_radix(set, 16).expect("hexadecimal") & !OWN).collect()
}

#[test]
fn a_program_that_sets_its_scheduling_anew_keeps_the_slack() {
    let Some(chrt) = TestProgram::find("chrt") else { return left_out("chrt is not installed") };
    let chrt = chrt.path().to_str().expect("a path of letters");
    let arguments =
        ["timers", "run", "--slack", "1234ns", "--", chrt, "--other", "0", "cat", "/proc/self/timerslack_ns"];
    assert_eq!(stdout(run(&arguments)), "1234\n");
}

#[test]
fn the_log_writer_is_seen_by_pollers_and_by_those_who_are_woken() {
    let arguments = ["timers", "log-writer", "--waiters", "4", "--every", "2ms", "--time", "100ms", "--json"];
    let text = stdout(run(&arguments));
    assert_eq!(text.matches("\"events\":").count(), 4, "{text}");
    assert!(!text.contains("\"events\":0,") && !text.contains("\"late\":null"), "{text}");
}

#[test]
fn alarm_and_sleep_are_told_a_second_and_waited_for_once() {
    let text = stdout(run(&["timers", "-c", "alarm", "-c", "sleep", "--csv"]));
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let seen: Vec<[&str; 4]> = rows.iter().map(|row| [row[0], row[3], row[5], row[10]]).collect();
    let expected = |call| [call, "1000000000", "1", "0"];
    assert_eq!(seen, [expected("sleep"), expected("sleep"), expected("alarm"), expected("alarm")], "{text}");
}

/// Between which lateness most waits ended.
#[derive(Debug)]
struct Late {
    min_us: f64,
    p99_us: f64,
}

/// Both wait by one call under one slack. How near they come is for the bench, on a machine that does nothing else; here the spreads
/// must touch when each is widened tenfold: no load keeps the quickest of a hundred waits ten times as late as nearly all of another's.
#[test]
fn cyclictest_sees_waits_of_the_same_order() {
    const OFF_US: f64 = 100.0;
    let Some(cyclictest) = TestProgram::find("cyclictest") else { return left_out("cyclictest is not installed") };
    let ours = ["timers", "-c", "clock_nanosleep abs", "--wait", "1ms", "--slack", "1ns", "-n", "100", "--csv"];
    let ours = stdout(run(&ours));
    let row: Vec<&str> = ours.lines().nth(2).expect("a row with the slack that was asked for").split(',').collect();
    let us = |cell: &str| cell.parse::<f64>().expect("a number") / 1000.0;
    let ours = Late { min_us: us(row[6]), p99_us: us(row[8]) };
    let path = cyclictest.path().to_str().expect("a path of letters");
    let arguments = ["timers", "run", "--slack", "1ns", "--", path, "--default-system", "--policy=other"];
    let arguments = [&arguments[..], &["-q", "-t1", "-i1000", "-l", "100", "-h", "20000"]].concat();
    let outcome = run(&arguments);
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let Some(theirs) = late_of_histogram(&text) else {
        return left_out(&format!("cyclictest cannot measure here: {}", said(&outcome).trim_end()));
    };
    assert!(ours.min_us <= 10.0 * theirs.p99_us + OFF_US, "{ours:?} {theirs:?}");
    assert!(theirs.min_us <= 10.0 * ours.p99_us + OFF_US, "{ours:?} {theirs:?}");
}

/// Of lines of `MICROSECONDS COUNT`; none where nothing was counted.
fn late_of_histogram(text: &str) -> Option<Late> {
    let numbers = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace().map(str::parse::<f64>);
        Some((words.next()?.ok()?, words.next()?.ok()?)).filter(|(_, count)| *count > 0.0)
    });
    let counts: Vec<(f64, f64)> = numbers.collect();
    let rank = counts.iter().map(|(_, count)| count).sum::<f64>() * 0.99;
    let mut seen = 0.0;
    let p99_us = counts.iter().find_map(|(us, count)| {
        seen += count;
        (seen >= rank).then_some(*us)
    });
    Some(Late { min_us: counts.first()?.0, p99_us: p99_us? })
}
