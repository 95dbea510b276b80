//! `mh load` as it is shipped: against its own echo server, whose times are scripted, and SQLite; counts, exit codes, signals, what is left behind.

use crate::place::{Place, binary, wait_until};
use serde_json::Value;
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn load(place: &Place, arguments: &[&str]) -> ProgramOutcome {
    let words = std::iter::once("load").chain(arguments.iter().copied());
    program(place).run(words, b"").expect("the program starts")
}

fn program(place: &Place) -> TestProgram {
    TestProgram::at(binary()).in_directory(place.directory()).with_variable("TMPDIR", place.directory())
}

/// All objects that a run printed.
fn objects(outcome: &ProgramOutcome) -> Vec<Value> {
    let text = String::from_utf8(outcome.stdout.clone()).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn end(outcome: &ProgramOutcome) -> Value {
    let end = objects(outcome).pop().expect("an object at the end");
    assert_eq!(end["kind"], "end");
    end
}

fn number(value: &Value, path: &[&str]) -> f64 {
    let found = path.iter().fold(value, |value, name| &value[*name]);
    found.as_f64().unwrap_or_else(|| panic!("no {path:?} in {value}"))
}

#[test]
fn alone_it_needs_nothing_and_leaves_nothing_behind() {
    let place = Place::new();
    let outcome = load(&place, &["-T", "0.5", "-c", "2", "--json"]);
    let end = end(&outcome);
    assert_eq!(end["sent"], end["succeeded"]);
    assert!(number(&end, &["sent"]) > 0.0);
    // Sixteen in each: BEGIN, ten by key, four ranges, COMMIT.
    assert_eq!(number(&end, &["statements"]), 16.0 * number(&end, &["sent"]));
    assert_eq!(end["server"], Value::Null, "it is in the process of the generator");
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn every_event_is_done_once_by_threads_and_connections_of_any_number() {
    let place = Place::new();
    for [connections, generators, scheduler] in [["1", "1", "each"], ["7", "3", "each"], ["40", "2", "pool:2"]] {
        let words =
            ["echo", "--events", "1003", "-c", connections, "-j", generators, "--echo-scheduler", scheduler, "--json"];
        let end = end(&load(&place, &words));
        assert_eq!((&end["succeeded"], &end["sent"], &end["unfinished"]), (&1003.into(), &1003.into(), &0.into()));
        assert!(number(&end, &["server", "processes"]) == 1.0, "{end}");
    }
}

/// One request of a hundred takes 400 ms, at 100 a second on one connection: those that were due meanwhile waited, and a clock that starts with the sending does not see it.
#[test]
fn a_server_that_stands_still_is_in_response_times_and_not_in_service_times() {
    let place = Place::new();
    let words = ["echo", "-c", "1", "-R", "100", "--arrivals", "fixed", "-T", "2", "--echo-service"];
    let outcome = load(&place, &[&words[..], &["99xwait:100us,wait:400ms", "--json"]].concat());
    let last = objects(&outcome).pop().expect("an object at the end");
    assert_eq!(last["succeeded"], 200);
    if last["late"]["who"] == "generator" {
        // On a machine without a free CPU that is the truth, and then nothing is claimed.
        assert_eq!((last["response"].clone(), outcome.exit), (Value::Null, Exit::Code(3)));
        return;
    }
    assert_eq!(outcome.exit, Exit::Code(0));
    // Two stalls, each of which some 40 of 200 were due in: a tenth waited 300 ms and more but for two that were served so long.
    assert!(number(&last, &["response", "percentiles_s", "90"]) > 0.15, "{last}");
    assert!(number(&last, &["service", "percentiles_s", "90"]) < 0.15, "{last}");
    assert_eq!(last["late"]["who"], "server");
}

#[test]
fn tables_are_made_loaded_and_removed() {
    let place = Place::new();
    let words = ["sqlite:base.db", "read-write", "prepare", "--tables", "2", "--table-size", "500"];
    assert_eq!(load(&place, &words).exit, Exit::Code(0));
    let words = ["sqlite:base.db", "read-write", "run", "--tables", "2", "--table-size", "500"];
    let ended = end(&load(&place, &[&words[..], &["--events", "40", "-c", "1", "--json"]].concat()));
    // Ten selects by key, four ranges, two updates, a delete and an insert, BEGIN and COMMIT.
    assert_eq!((&ended["succeeded"], &ended["statements"]), (&40.into(), &(40 * 20).into()));
    let again = load(&place, &["sqlite:base.db", "read-write", "prepare", "--tables", "2"]);
    assert_eq!(again.exit, Exit::Code(1), "they are there");
    assert_eq!(load(&place, &["sqlite:base.db", "read-write", "cleanup", "--tables", "2"]).exit, Exit::Code(0));
    assert_eq!(load(&place, &["sqlite:base.db", "read-write", "--events", "1"]).exit, Exit::Code(1), "they are gone");
}

#[test]
fn scripts_run_by_weight_and_their_mistakes_are_told_before_anything_is_sent() {
    let place = Place::new();
    place.write("one.sql", "\\set id random(1, 10)\nselect :id;\nselect 2;\n").write("two.sql", "select 3;\n");
    let words = ["sqlite:base.db", "-f", "one.sql@3", "-f", "two.sql@1", "--events", "400", "-c", "1", "--json"];
    let ended = end(&load(&place, &words));
    let scripts = ended["statements_by_script"].as_array().expect("a list");
    let counts: Vec<f64> = scripts.iter().map(|script| number(script, &["response", "count"])).collect();
    assert_eq!(counts.iter().sum::<f64>(), 400.0);
    assert!((250.0..350.0).contains(&counts[0]), "three of four: {counts:?}");
    place.write("wrong.sql", "select 1;\n\\set x 1 +\n");
    let outcome = load(&place, &["sqlite:other.db", "-f", "wrong.sql"]);
    assert_eq!(outcome.exit, Exit::Code(2));
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("wrong.sql:2"), "{said}");
}

#[test]
fn an_interrupted_run_says_what_it_has_measured() {
    let place = Place::new();
    let mut command = Command::new(binary());
    command.args(["load", "echo", "-T", "600", "-R", "200", "-P", "0.1", "--json"]).current_dir(place.directory());
    let output = std::fs::File::create(place.path("out")).expect("a file");
    let mut child = command.stdout(output).stderr(Stdio::null()).spawn().expect("the program starts");
    wait_until("an interval is printed", || !place.read("out").is_empty());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    let status = child.wait().expect("it ends");
    let text = String::from_utf8(place.read("out")).expect("text");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["kind"], &last["is_stopped"], &last["error"]), (&"end".into(), &true.into(), &Value::Null));
    assert!(matches!(status.code(), Some(0 | 3)), "{status}: by who was late");
}

/// The second of two signals ends the program at once, and its temporary database with it.
#[test]
fn a_second_signal_leaves_no_database_behind() {
    let place = Place::new();
    for words in [["load", "-c", "2"], ["load", "--table-size", "100000000"]] {
        let mut command = Command::new(binary());
        command.args(words).args(["-T", "600"]).current_dir(place.directory()).env("TMPDIR", place.directory());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        wait_until("there is a database", || {
            place.names().into_iter().any(|name| place.path(&name).join("database").exists())
        });
        let pid = rustix::process::Pid::from_child(&child);
        for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
            rustix::process::kill_process(pid, signal).expect("it runs");
        }
        let status = child.wait().expect("it ends");
        assert_eq!(place.names(), Vec::<String>::new(), "{words:?}: {status}");
    }
}

#[test]
fn a_statement_that_fails_ends_the_run_unless_it_is_to_go_on() {
    let place = Place::new();
    let words = ["sqlite:new.db", "select * from nowhere", "-c", "1", "--json"];
    let outcome = load(&place, &words);
    assert_eq!(outcome.exit, Exit::Code(1));
    let ended = objects(&outcome).pop().expect("an object");
    assert!(ended["error"].as_str().is_some_and(|error| error.contains("nowhere")), "{ended}");
    let going = load(&place, &[&words[..], &["--keep-going", "--events", "50"]].concat());
    let ended = objects(&going).pop().expect("an object");
    assert_eq!((&ended["failed"]["error"], &ended["error"]), (&50.into(), &Value::Null));
}

#[test]
fn percentiles_are_written_as_others_read_them() {
    let place = Place::new();
    let outcome = load(&place, &["echo", "--events", "500", "--hgrm", "times.hgrm"]);
    assert!(matches!(outcome.exit, Exit::Code(0 | 3)));
    let text = String::from_utf8(place.read("times.hgrm")).expect("text");
    assert!(text.trim_start().starts_with("Value"), "{text}");
    assert!(text.contains("Total count    =          500]"), "{text}");
    let quantiles: Vec<f64> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
        .collect();
    assert!(quantiles.len() > 5 && quantiles.is_sorted() && quantiles.last() == Some(&1.0), "{text}");
}

/// The text of a page's data, as a browser shows it.
fn data(page: &str) -> Value {
    let text = page.split("<pre>").nth(1).and_then(|rest| rest.split("</pre>").next()).expect("data");
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let text = entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_page_has_the_plots_and_the_numbers_of_its_run() {
    let place = Place::new();
    let words = ["echo", "-c", "4", "-R", "300", "--arrivals", "fixed", "-T", "1.5", "-P", "0.25", "--json"];
    let outcome = load(&place, &[&words[..], &["--html", "page.html"]].concat());
    let ended = objects(&outcome).pop().expect("an object at the end");
    assert_eq!(place.names(), ["page.html"], "nothing beside it");
    let page = String::from_utf8(place.read("page.html")).expect("text");
    assert_eq!(data(&page), ended);
    assert!(page.contains(&format!("{} transactions in", ended["succeeded"])), "{ended}");
    let mut plots =
        vec!["Transactions a second", "The generator's slip", "The server's CPU time", "The server's memory"];
    let of_times = ["Response time", "Distribution of times"];
    let refused = ended["late"]["who"] == "generator";
    if refused {
        assert!(
            of_times.iter().all(|title| !page.contains(&format!("aria-label=\"{title}"))),
            "no percentiles: {ended}"
        );
    } else {
        plots.extend(of_times);
    }
    for title in &plots {
        let label = format!("aria-label=\"{}\"", title.replace('\'', "&#39;"));
        assert!(page.contains(&label), "{title} in {}", page.len());
    }
    assert_eq!(page.matches("<svg").count(), plots.len());
    assert!(["<title>offered</title>", "<title>done</title>"].iter().all(|name| page.contains(name)));
    assert!(["<script", "http-equiv=\"refresh", "<img", "<link"].iter().all(|word| !page.contains(word)));
    assert_eq!(
        page.matches("http").count(),
        page.matches("http://www.w3.org/2000/svg").count() + 1,
        "only names, and the policy"
    );
}

#[test]
fn a_hostile_statement_is_text_on_its_page() {
    let place = Place::new();
    let statement = "select '<script>alert(1)</script>', '\u{202e}&amp;'";
    let outcome = load(&place, &["sqlite:base.db", statement, "--events", "40", "--html", "page.html"]);
    assert!(matches!(outcome.exit, Exit::Code(0 | 3)), "{:?}", outcome.exit);
    let page = String::from_utf8(place.read("page.html")).expect("text");
    assert!(!page.contains("<script") && !page.contains('\u{202e}'));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("&amp;amp;"));
}

#[test]
fn a_page_that_cannot_be_written_is_known_before_the_run_or_reported_behind_it() {
    let place = Place::new();
    let early = load(&place, &["echo", "--events", "10", "--html", "none/page.html"]);
    assert_eq!((early.exit, early.stdout.as_slice()), (Exit::Code(1), &b""[..]));
    let said = String::from_utf8_lossy(&early.stderr).into_owned();
    assert_eq!(said, "mh load: could not write 'none/page.html': No such file or directory\n");
    let late = load(&place, &["echo", "--events", "10", "--json", "--html", "/dev/full"]);
    assert_eq!((late.exit, objects(&late).len()), (Exit::Code(1), 1), "the report is there");
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(said.ends_with("mh load: could not write '/dev/full': No space left on device\n"), "{said}");
    assert_eq!(place.names(), Vec::<String>::new());
}

/// A server that takes 5 ms for each request does at most 400 a second on two connections; whatever a busy machine adds, no more holds, and a search that
/// finds the generator at fault says so.
#[test]
fn the_highest_rate_that_holds_a_goal_is_found_or_the_generator_is_blamed() {
    let place = Place::new();
    let words = ["echo", "-c", "2", "--echo-service", "wait:5ms", "--arrivals", "fixed", "--find-max", "p50<50ms"];
    let outcome = load(&place, &[&words[..], &["-T", "0.5", "--json"]].concat());
    let objects = objects(&outcome);
    assert_eq!(objects[0]["kind"], "flat-out");
    let (answer, trials) = (objects.last().expect("an answer"), &objects[1..objects.len() - 1]);
    assert_eq!((&answer["kind"], &answer["goal"]), (&"search".into(), &"p50 < 50 ms".into()));
    assert_eq!(number(answer, &["runs"]) as usize, trials.len());
    match answer["rate_per_s"].as_f64() {
        Some(rate) => {
            // In half a second 400 a second can be 0.11 s behind before that counts as a rate that was not kept.
            assert!(rate < 400.0 * (1.0 + 0.11 / 0.5) + 20.0, "two of 5 ms at once: {answer}");
            assert!(trials.iter().any(|trial| trial["rate_per_s"] == rate && trial["verdict"] == "holds"));
            let is_generator = answer["is_generator"] == true;
            assert_eq!(outcome.exit, Exit::Code(if is_generator { 3 } else { 0 }), "{answer}");
        }
        None => assert!(matches!(outcome.exit, Exit::Code(1 | 3)), "{answer}"),
    }
}

#[test]
fn a_live_run_is_refused_where_there_is_no_screen() {
    let place = Place::new();
    let outcome = load(&place, &["echo", "--events", "10", "--live"]);
    assert_eq!((outcome.exit, outcome.stdout.as_slice()), (Exit::Code(2), &b""[..]));
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("--live needs a terminal"), "{said}");
}

#[test]
fn a_live_run_has_a_screen_and_its_key_ends_it_with_the_report() {
    let place = Place::new();
    if TestProgram::find("script").is_none() {
        return left_out("there is no script(1)");
    }
    let line = "timeout --foreground 60 $mh load echo -T 600 -P 0.2 --live --html page.html; echo rc $?";
    place.write("on-terminal", line);
    let outcome = place.shell("printf q | TERM=xterm script -qec 'sh on-terminal' /dev/null");
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let (shown, left) = text.split_once("\u{1b}[?1049l").expect("the screen was left");
    assert!(shown.contains("\u{1b}[?1049h"), "{shown}");
    assert!(left.contains("transactions in ") && !left.contains("rc 124") && !left.contains("rc 1\r"), "{left}");
    assert_eq!(place.names(), ["on-terminal", "page.html"]);
}

/// 1, 2 and 4 connections to a server that takes 5 ms for each request: twice as many do twice as much, if the machine lets them.
#[test]
fn a_sweep_has_a_point_for_each_value_and_rounds_go_over_all() {
    let place = Place::new();
    let words =
        ["echo", "--sweep", "connections=1..4", "--rounds", "2", "--echo-service", "wait:5ms", "-T", "0.3", "--json"];
    let outcome = load(&place, &[&words[..], &["--html", "sweep.html"]].concat());
    let objects = objects(&outcome);
    let (report, runs) = (objects.last().expect("a report"), &objects[..objects.len() - 1]);
    let values: Vec<f64> = runs.iter().map(|run| number(run, &["value"])).collect();
    assert_eq!(values, [1.0, 2.0, 4.0, 4.0, 2.0, 1.0], "forward and backward");
    assert_eq!(
        (&report["kind"], &report["axis"], &report["rounds"]),
        (&"sweep".into(), &"connections".into(), &2.into())
    );
    let points = report["points"].as_array().expect("a list");
    assert_eq!((points.len(), points[2]["runs"].as_u64()), (3, Some(2)));
    for (point, connections) in points.iter().zip([1.0, 2.0, 4.0]) {
        assert!(number(point, &["transactions_per_s", "value"]) <= connections * 220.0, "{point}");
        assert!(number(point, &["server_cpu_s"]) > 0.0, "{point}");
    }
    assert_eq!(report["law"]["law"], "none", "three loads are too few");
    let page = String::from_utf8(place.read("sweep.html")).expect("text");
    assert_eq!(data(&page), *report);
    let plots = ["Throughput", "Response time", "CPU time", "Context switches"];
    let has = |title: &&str| page.contains(&format!("aria-label=\"{title}"));
    assert!(plots.iter().filter(|title| **title != "Response time").all(has), "{}", page.len());
    let is_told = points.iter().any(|point| !point["p99_s"].is_null());
    assert_eq!(has(&"Response time"), is_told, "percentiles are there if the report has them");
}

#[test]
fn a_sweep_that_ends_with_an_error_tells_what_it_has() {
    let place = Place::new();
    let words = ["sqlite:new.db", "select * from nowhere", "--sweep", "connections=1,2", "-T", "0.2"];
    let outcome = load(&place, &words);
    assert_eq!(outcome.exit, Exit::Code(1));
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("at 1: no such table: nowhere"), "{said}");
}
