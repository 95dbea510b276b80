//! `mh bakeoff` as it is shipped: commands in turns, servers that are started anew, proof of what was preloaded, results that go on, what is left behind.

use crate::place::{Place, binary, wait_until};
use serde_json::Value;
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn bakeoff(place: &Place, arguments: &[&str]) -> ProgramOutcome {
    let words = std::iter::once("bakeoff").chain(arguments.iter().copied());
    let program = TestProgram::at(binary()).in_directory(place.directory()).with_variable("TMPDIR", place.path("tmp"));
    std::fs::create_dir_all(place.path("tmp")).expect("a directory");
    program.run(words, b"").expect("the program starts")
}

fn report(outcome: &ProgramOutcome) -> Value {
    let text = String::from_utf8_lossy(&outcome.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {}", said(outcome)))
}

fn said(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

/// The values of an arm, of the first load.
fn values(report: &Value, key: &str, arm: usize) -> Vec<f64> {
    let measures = report["loads"][0]["measures"].as_array().expect("measures");
    let measure = measures.iter().find(|measure| measure["key"] == key).unwrap_or_else(|| panic!("{key} in {report}"));
    measure["arms"][arm]["values"]
        .as_array()
        .expect("values")
        .iter()
        .map(|value| value.as_f64().expect("a number"))
        .collect()
}

#[test]
fn commands_take_turns_forward_and_backward_and_what_they_used_is_theirs() {
    let place = Place::new();
    let words = ["--command", "printf a >>order", "printf b >>order; sleep 0.02", "-w", "0", "--at-least", "4"];
    let outcome = bakeoff(&place, &[&words[..], &["--at-most", "4", "--json"]].concat());
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(place.read("order"), b"abbaabba");
    let report = report(&outcome);
    assert_eq!((&report["starts"], &report["baseline"]), (&8.into(), &"printf a >>order".into()));
    let slow = values(&report, "wall_s", 1);
    assert!(slow.len() == 4 && slow.iter().all(|seconds| *seconds >= 0.02), "{slow:?}");
    assert!(
        report["loads"][0]["measures"][0]["arms"][1]["beside"]["ratio"]["value"]
            .as_f64()
            .is_some_and(|ratio| ratio > 0.0)
    );
}

#[test]
fn a_command_that_fails_is_no_measurement() {
    let place = Place::new();
    let outcome = bakeoff(&place, &["--command", "exit 7", "true", "--at-most", "2"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("could not measure 'exit 7': it ended with exit code 7"), "{}", said(&outcome));
    let words = ["--command", "-i", "-N", "false", "true", "--at-most", "2", "--at-least", "2", "--json"];
    assert_eq!(report(&bakeoff(&place, &words))["starts"], 4);
    let outcome = bakeoff(&place, &["--command", "-N", "/nowhere/program", "true"]);
    assert!(said(&outcome).contains("could not start '/nowhere/program': No such file"), "{}", said(&outcome));
    assert_eq!(bakeoff(&place, &["--command", "true"]).exit, Exit::Code(2), "one is no comparison");
    assert_eq!(bakeoff(&place, &["--command", "-N", "true", "a 'quote"]).exit, Exit::Code(2));
}

#[test]
fn before_each_run_the_preparation_is_carried_out_and_not_measured() {
    let place = Place::new();
    place.write("in", "12345");
    let words = [
        "--command",
        "test -e mark && rm mark && test $(wc -c) = 5",
        "test -e mark",
        "-p",
        "sleep 0.05; touch mark",
        "--input",
        "in",
    ];
    let outcome = bakeoff(&place, &[&words[..], &["--at-most", "2", "--at-least", "1", "--json"]].concat());
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let report = report(&outcome);
    let spent = report["spent_s"].as_f64().expect("seconds");
    let measured: f64 = [0, 1].iter().flat_map(|arm| values(&report, "wall_s", *arm)).sum();
    assert!(spent >= measured + 4.0 * 0.05, "{spent} of which {measured} were measured");
}

const ECHO: &str = "title = 'Echo'\n[[load]]\nname = 'some'\narguments = '-c 4 --events 400'\n\
                    [[arm]]\nname = 'each'\ntarget = 'echo'\n\
                    [[arm]]\nname = 'pool'\ntarget = 'echo'\nload = '--echo-scheduler pool:2'\n\
                    [repeat]\nat_least = 2\nat_most = 2\n";

#[test]
fn what_was_measured_is_kept_and_more_is_measured_behind_it() {
    let place = Place::new();
    place.write("echo.toml", ECHO);
    let first = bakeoff(&place, &["echo.toml", "--json"]);
    assert_eq!(first.exit, Exit::Code(0), "{}", said(&first));
    assert_eq!(place.names(), ["echo.results.jsonl", "echo.toml", "tmp"]);
    let kept = place.read("echo.results.jsonl");
    let again = bakeoff(&place, &["echo.toml"]);
    assert_eq!(
        (again.exit, place.read("echo.results.jsonl") == kept),
        (Exit::Code(2), true),
        "nothing is written over"
    );
    let more = bakeoff(
        &place,
        &["echo.toml", "--resume", "--at-most", "3", "--at-least", "3", "--json", "--html", "page.html"],
    );
    let (first, more) = (report(&first), report(&more));
    assert_eq!((&first["starts"], &more["starts"]), (&4.into(), &6.into()));
    assert!(place.read("echo.results.jsonl").starts_with(&kept));
    for arm in [0, 1] {
        let (before, now) = (values(&first, "transactions_per_s", arm), values(&more, "transactions_per_s", arm));
        assert_eq!((&now[..2], now.len()), (&before[..], 3));
    }
    let page = String::from_utf8(place.read("page.html")).expect("text");
    assert!(
        page.contains("aria-label=\"transactions a second")
            && page.contains("aria-label=\"server&#39;s memory over time")
    );
    // Of another comparison.
    place.write("echo.toml", ECHO.replace("--events 400", "--events 401"));
    assert_eq!(bakeoff(&place, &["echo.toml", "--resume"]).exit, Exit::Code(2));
}

#[test]
fn mistakes_of_loads_are_told_before_anything_is_started() {
    let place = Place::new();
    for (change, part) in [
        (("--events 400", "--evnts 400"), "load 'some' on arm 'each': unexpected argument '--evnts'"),
        (("-c 4", "yesmark prepare"), "tables are prepared by themselves"),
        (("-c 4 ", "-c \"4 "), "a quote is not closed"),
        (("-c 4 --events 400", "--find-max p99<1s"), "load 'some': it is one run, no search"),
        (("-c 4 --events 400", "--html page.html"), "load 'some': it has no report of its own"),
    ] {
        place.write("echo.toml", ECHO.replace(change.0, change.1));
        let outcome = bakeoff(&place, &["echo.toml", "--results", "none"]);
        assert_eq!(outcome.exit, Exit::Code(2), "{}", said(&outcome));
        assert!(said(&outcome).contains(part), "{}", said(&outcome));
        assert!(!place.has("none"), "nothing was measured");
    }
}

/// A server that is a shell script: it cannot be spoken to.
fn with_server(start: &str, ready_within: &str) -> String {
    let server = format!(
        "[server]\ntarget = 'postgres://nobody@127.0.0.1:{{port}}/x'\nstart = \"{start}\"\nready_within = '{ready_within}'\n"
    );
    ECHO.replace("target = 'echo'\n", "")
        .replace("load = '--echo-scheduler pool:2'\n", "")
        .replace("[[load]]", &format!("{server}[[load]]"))
}

#[test]
fn a_server_that_ends_or_never_answers_is_told_with_its_last_words_and_nothing_is_left() {
    let place = Place::new();
    place.write("echo.toml", with_server("sh -c 'echo the disk is gone >&2; exit 3'", "60s"));
    let outcome = bakeoff(&place, &["echo.toml"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("the server ended (exit status: 3): the disk is gone"), "{}", said(&outcome));
    place.write("echo.toml", with_server("sh -c 'echo $$; exec sleep 1000'", "200ms"));
    let outcome = bakeoff(&place, &["echo.toml", "--results", "other"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    let text = said(&outcome);
    assert!(text.contains("could not reach arm 'each' within 200 ms"), "{text}");
    let server = text.trim_end().rsplit("it said: ").next().expect("its number").to_owned();
    assert!(!std::path::Path::new(&format!("/proc/{server}")).exists(), "{text}");
    assert_eq!(crate::place::names_in(&place.path("tmp")), Vec::<String>::new());
}

#[test]
fn a_signal_ends_server_and_comparison() {
    let place = Place::new();
    place.write("echo.toml", with_server("sh -c 'echo $$ >{directory}/../server; exec sleep 1000'", "600s"));
    std::fs::create_dir_all(place.path("tmp")).expect("a directory");
    let mut command = Command::new(binary());
    command.args(["bakeoff", "echo.toml"]).current_dir(place.directory()).env("TMPDIR", place.path("tmp"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    wait_until("the server runs", || place.has("tmp/server") && !place.read("tmp/server").is_empty());
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let server = String::from_utf8(place.read("tmp/server")).expect("text").trim().to_owned();
    assert!(!std::path::Path::new(&format!("/proc/{server}")).exists());
    assert_eq!(crate::place::names_in(&place.path("tmp")), ["server"]);
}

/// The whole way with a real server: data made once and copied, tables filled, both arms loaded, an arm's option in force; and a library that is not
/// there is refused instead of measured.
#[test]
fn a_real_server_is_started_anew_with_its_data_and_a_library_that_is_not_mapped_is_refused() {
    let place = Place::new();
    if TestProgram::find("mariadb-install-db").is_none() || TestProgram::find("mariadbd").is_none() {
        return left_out("MariaDB is not installed");
    }
    let file = "title = 'MariaDB'\n[server]\ntarget = 'mysql://root@localhost/test?socket={socket}'\n\
                prepare = ['mariadb-install-db --no-defaults --datadir={data} --auth-root-authentication-method=normal USER']\n\
                start = 'mariadbd --no-defaults --datadir={data} --socket={socket} --skip-networking --pid-file={directory}/pid --tmpdir={directory} \
                --innodb-buffer-pool-size=16M --innodb-log-file-size=8M USER'\n\
                [[load]]\nname = 'writes'\narguments = 'delete --table-size 200 -c 2 --events 100'\n\
                [[arm]]\nname = 'usual'\n[[arm]]\nname = 'other'\nARM\n[repeat]\nat_least = 1\nat_most = 1\n";
    let user = if rustix::process::geteuid().is_root() { "--user=root" } else { "" };
    let file = file.replace("USER", user);
    place.write("ok.toml", file.replace("ARM", "options = '--thread-handling=pool-of-threads'"));
    let outcome = bakeoff(&place, &["ok.toml", "--json"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let report = report(&outcome);
    for arm in [0, 1] {
        assert!(values(&report, "transactions_per_s", arm)[0] > 0.0 && values(&report, "cpu_s", arm)[0] > 0.0);
        assert!(values(&report, "memory_peak_bytes", arm)[0] > 10e6, "{report}");
    }
    place.write("bad.toml", file.replace("ARM", "environment = { LD_PRELOAD = 'libnot-there.so.1' }"));
    let outcome = bakeoff(&place, &["bad.toml"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("'libnot-there.so.1' is in LD_PRELOAD and not mapped"), "{}", said(&outcome));
    assert_eq!(crate::place::names_in(&place.path("tmp")), Vec::<String>::new());
}
