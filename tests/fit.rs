//! `mh fit` as it is shipped: its price of one more against what a control group counts when more are really started, for Python
//! interpreters and for backends of a throw-away PostgreSQL. The bounds are generous, since a few processes on a busy
//! machine are not many on a quiet one; `cargo xtask bench fit` is strict.

mod counted;
mod postgres;

use crate::place::{Place, binary, said};
use counted::{Counted, Worker};
use std::process::Command;
use testkit::program::{ProgramOutcome, TestProgram, left_out};

fn fit(arguments: &[&str]) -> ProgramOutcome {
    let words = std::iter::once("fit").chain(arguments.iter().copied());
    TestProgram::at(binary()).run(words, b"").expect("the program starts")
}

/// A number in one line of JSON that has `"key":` once before it.
fn number_after(text: &str, path: &[&str]) -> f64 {
    let mut rest = text;
    for key in path {
        let quoted = format!("\"{key}\":");
        let at = rest.find(&quoted).unwrap_or_else(|| panic!("no {key} in {text}"));
        rest = &rest[at + quoted.len()..];
    }
    let end = rest.find([',', '}', ']']).expect("a number ends");
    rest[..end].parse().unwrap_or_else(|error| panic!("{path:?}: {error} in {text}"))
}

fn each_bytes(arguments: &[&str]) -> f64 {
    let words: Vec<&str> = arguments.iter().copied().chain(["--json", "--time", "0.5"]).collect();
    let text = String::from_utf8(fit(&words).stdout_of_success()).expect("JSON is text");
    number_after(&text, &["each_bytes", "middle"])
}

/// LIMIT: how far price and truth may be apart here; the bench asks for a tenth.
const OFF_MAX: f64 = 0.35;

fn assert_near(price: f64, truth: f64, what: &str) {
    assert!((price / truth - 1.0).abs() < OFF_MAX, "{what}: {price} bytes each, {truth} when more were started");
}

#[test]
fn one_more_python_costs_what_it_says() {
    let Some(python) = TestProgram::find("python3") else { return left_out("python3 is not installed") };
    let Some(group) = Counted::new("python") else { return left_out("no memory control group can be made") };
    let mark = format!("#fit-test-{}", std::process::id());
    let script = format!("import json,sys; print('ready',flush=True); sys.stdin.read() {mark}");
    let start = || Worker::start(group.command(python.path()).args(["-c", &script]));
    let workers: Vec<Worker> = (0..4).map(|_| start()).collect();
    let price = each_bytes(&["--comm", &workers[0].name(), "--args", &mark]);
    let before = group.bytes();
    let more: Vec<Worker> = (0..8).map(|_| start()).collect();
    let truth = (group.bytes() - before) / more.len() as f64;
    assert_near(price, truth, "a Python interpreter");
}

#[test]
fn one_more_postgres_backend_costs_what_it_says() {
    let Some(group) = Counted::new("postgres") else { return left_out("no memory control group can be made") };
    let server = match postgres::Server::start(&group) {
        Ok(server) => server,
        Err(reason) => return left_out(&reason),
    };
    let sessions: Vec<Worker> = (0..6).map(|_| server.session()).collect();
    let price = each_bytes(&["--comm", "postgres", "--args", server.mark()]);
    let before = group.bytes();
    let more: Vec<Worker> = (0..12).map(|_| server.session()).collect();
    let truth = (group.bytes() - before) / more.len() as f64;
    assert_near(price, truth, "a backend of PostgreSQL");
    drop((sessions, more));
}

#[test]
fn shared_memory_that_each_makes_for_itself_is_said_to_be_left_out() {
    let Some(python) = TestProgram::find("python3") else { return left_out("python3 is not installed") };
    let mark = format!("#fit-shared-{}", std::process::id());
    let made =
        "import mmap,sys; m=mmap.mmap(-1,64<<20); m.write(b'x'*(64<<20)); print('ready',flush=True); sys.stdin.read()";
    let script = format!("{made} {mark}");
    let workers: Vec<Worker> =
        (0..3).map(|_| Worker::start(Command::new(python.path()).args(["-c", &script]))).collect();
    let outcome = fit(&["--comm", &workers[0].name(), "--args", &mark, "--time", "0.5"]);
    let text = String::from_utf8(outcome.stdout_of_success()).expect("text");
    assert!(text.contains("left out: 67.1 MB of shared memory that the middle one has alone;"), "{text}");
}

#[test]
fn what_is_not_there_cannot_be_reckoned() {
    let outcome = fit(&["--comm", "no-such-program", "--time", "0.1"]);
    assert_eq!(outcome.exit, testkit::program::Exit::Code(1));
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.starts_with("mh fit: could not find a process called 'no-such-program' to learn from"), "{said}");
}

#[test]
fn more_than_fit_have_an_exit_code_of_their_own() {
    let own = std::fs::read_to_string("/proc/self/comm").expect("Linux tells");
    let comm = own.trim_end();
    let refused = fit(&["--comm", comm, "--time", "0.1", "--with", "1M", "--add", "1000000"]);
    assert_eq!(refused.exit, testkit::program::Exit::Code(3), "{refused:?}");
    let text = fit(&["--comm", comm, "--time", "0.1"]).stdout_of_success();
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains("more '") && text.contains("LIMIT") && text.contains("PS RSS"), "{text}");
}

/// Without processes, and without memory, there is nothing to reckon with: that must not look like an answer.
#[test]
fn where_proc_cannot_be_read_it_says_so() {
    let place = Place::new();
    if place.shell("unshare -m mount -t tmpfs x /proc").exit != testkit::program::Exit::Code(0) {
        return left_out("needs the right to mount (unshare -m)");
    }
    for (without, expected) in [
        ("mount -t tmpfs x /proc", "mh fit: could not read '/proc': no process is in it: it is not mounted here\n"),
        ("umount -l /proc", "mh fit: could not read '/proc': no process is in it: it is not mounted here\n"),
        (
            "mount --bind /dev/null /proc/meminfo",
            "mh fit: could not find how much memory there is: it is not in '/proc/meminfo'\n",
        ),
    ] {
        for form in ["", "--csv", "--json"] {
            let outcome = place.shell(&format!("unshare -m sh -c '{without} && exec \"$mh\" fit --time 0.1 {form}'"));
            assert_eq!(outcome.exit, testkit::program::Exit::Code(1), "{without}");
            assert_eq!((said(&outcome).as_str(), outcome.stdout.as_slice()), (expected, &b""[..]), "{without}");
        }
    }
    let crowded = place.shell("ulimit -n 4 && exec \"$mh\" fit --time 0.1");
    assert!(said(&crowded).contains("/status': Too many open files"), "{}", said(&crowded));
}
