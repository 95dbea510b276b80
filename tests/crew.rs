//! `mh crew`: runs of a user show in one table, wait for each other by class, and obey orders. Every test has a table of its own.

use crate::place::{Place, Running, binary, said, wait_until};
use std::fs::File;
use std::process::{Command, Stdio};
use testkit::program::{Exit, Outcome, Program};

/// A place with an input that no run gets to the end of, and a folder for the table.
fn place() -> Place {
    let place = Place::new();
    File::create(place.path("endless")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file can be made");
    place
}

fn start(place: &Place, arguments: &[&str]) -> Running {
    let mut command = Command::new(binary());
    command.args(["tamp", "-q", "-c", "endless"]).args(arguments).current_dir(place.folder());
    command.env("MH_CREW_DIR", place.path("crew")).stdin(Stdio::null()).stdout(Stdio::null());
    Running { child: command.spawn().expect("the program starts") }
}

fn crew(place: &Place, arguments: &[&str]) -> Outcome {
    let program = Program::at(binary()).with_variable("MH_CREW_DIR", place.path("crew"));
    program.run(["crew"].iter().chain(arguments), b"").expect("the program starts")
}

/// A field of the run of a process, as `--json` has it.
fn field(place: &Place, running: &Running, name: &str) -> Option<String> {
    let text = String::from_utf8(crew(place, &["--json"]).stdout_of_success()).expect("JSON is text");
    let run = text.split("{\"pid\":").find(|run| run.starts_with(&format!("{},", running.child.id())))?;
    let (_, value) = run.split_once(&format!("\"{name}\":"))?;
    Some(value.split([',', '}']).next()?.trim_matches('"').to_owned())
}

fn holds(place: &Place, running: &Running) -> u32 {
    field(place, running, "holds").and_then(|holds| holds.parse().ok()).unwrap_or(0)
}

#[test]
fn nobody_there_is_no_error() {
    let place = Place::new();
    assert_eq!(crew(&place, &[]).stdout_of_success(), b"no run shares the cores now\n");
    let outcome = crew(&place, &["pause", "1"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).starts_with("mh crew: could not find a run of process 1: there is none\n"));
}

#[test]
fn a_higher_class_gets_the_cores_and_orders_turn_that_round() {
    let place = place();
    let low = start(&place, &["--priority", "low"]);
    wait_until("the low run has a hand", || holds(&place, &low) > 0);
    let high = start(&place, &["--priority", "high"]);
    wait_until("the high run has all", || holds(&place, &high) > 0 && holds(&place, &low) == 0);
    wait_until("the table says why the low run waits", || {
        let text = String::from_utf8(crew(&place, &[]).stdout_of_success()).expect("text");
        text.contains("waiting: runs of a higher class have the CPUs")
    });
    let (low_pid, high_pid) = (low.child.id().to_string(), high.child.id().to_string());
    crew(&place, &["set", &high_pid, "--priority", "idle"]).stdout_of_success();
    wait_until("the low run has all", || holds(&place, &low) > 0 && holds(&place, &high) == 0);
    crew(&place, &["pause", &low_pid]).stdout_of_success();
    wait_until("the paused run has none", || holds(&place, &low) == 0 && holds(&place, &high) > 0);
    assert_eq!(field(&place, &low, "state").as_deref(), Some("paused"));
    crew(&place, &["resume", &low_pid]).stdout_of_success();
    wait_until("it goes on", || holds(&place, &low) > 0 && holds(&place, &high) == 0);
}

#[test]
fn hands_of_a_killed_run_go_to_the_next() {
    let place = place();
    let mut first = start(&place, &["--priority", "high"]);
    wait_until("the first has a hand", || holds(&place, &first) > 0);
    let second = start(&place, &["--priority", "low"]);
    wait_until("the second is there", || field(&place, &second, "wants").is_some());
    first.child.kill().expect("it runs");
    wait_until("the second has a hand", || holds(&place, &second) > 0);
    first.child.wait().expect("it was killed");
    wait_until("the first is gone", || field(&place, &first, "pid").is_none());
}

#[test]
fn what_is_packed_does_not_depend_on_the_company() {
    let place = Place::new();
    let plain = testkit::data::mixed(20 << 20, 3);
    place.write("plain", &plain);
    let alone = place.tamp(["-c", "plain"]).stdout_of_success();
    let packed: Vec<_> = ["high", "normal", "low"]
        .map(|class| {
            let program =
                Program::at(binary()).in_folder(place.folder()).with_variable("MH_CREW_DIR", place.path("crew"));
            std::thread::spawn(move || program.run(["tamp", "-c", "--priority", class, "plain"], b""))
        })
        .into_iter()
        .map(|thread| thread.join().expect("no panic").expect("it starts").stdout_of_success())
        .collect();
    assert!(packed.iter().all(|packed| *packed == alone));
}
