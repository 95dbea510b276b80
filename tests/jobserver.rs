//! `mh` below a `make -j`, and below programs that hand out job slots as cargo and newer makes do: it uses their slots, and gives
//! each one back. Make counts them itself at its end and complains when one is missing.

use crate::place::{Place, said};
use std::path::Path;
use testkit::program::{ProgramOutcome, TestProgram};

fn place() -> Place {
    let place = Place::new();
    place.write("plain", testkit::data::mixed(24 << 20, 5));
    place
}

/// `make` as make gives a recipe's line its slots: with a + before it.
fn make(place: &Place, makefile: &str) -> Option<ProgramOutcome> {
    let Some(make) = TestProgram::find("make") else {
        testkit::program::left_out("make is not there");
        return None;
    };
    place.write("Makefile", makefile);
    let make = make.in_directory(place.directory()).with_variable("mh", crate::place::binary());
    let make = make.with_variable("MH_CREW_DIR", place.path("crew")).with_variable("LC_ALL", "C");
    Some(make.run(["-j3", "all"], b"").expect("make starts"))
}

fn assert_pool_is_whole(outcome: &ProgramOutcome) {
    assert!(!said(outcome).contains("jobserver"), "{}", said(outcome));
}

#[test]
fn under_make_its_hands_are_makes_slots_and_all_go_back() {
    let place = place();
    let line = "\t+@$$mh tamp -j 4 -1 -c --report plain > $@ 2> $@.report\n";
    let Some(outcome) = make(&place, &format!("all: a b c\na b c:\n{line}")) else { return };
    let outcome_said = said(&outcome);
    outcome.stdout_of_success();
    assert!(!outcome_said.contains("jobserver"), "{outcome_said}");
    for name in ["a", "b", "c"] {
        let report = String::from_utf8(place.read(format!("{name}.report"))).expect("text");
        assert!(report.contains("its hands were the one it was started with, then job slots."), "{report}");
        assert!(place.read(name) == place.read("a"), "the bytes do not depend on the company");
    }
}

#[test]
fn a_signal_puts_its_slots_back_before_it_dies() {
    let place = place();
    std::fs::File::create(place.path("endless")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    // It has slots when the table shows three hands from elsewhere.
    let recipe = "all:\n\t+@$$mh tamp -q -j 4 -c endless > /dev/null & pid=$$!; \
         until $$mh crew --json | grep -q '\"external\":3'; do sleep 0.01; done; kill -TERM $$pid; ! wait $$pid\n";
    let Some(outcome) = make(&place, recipe) else { return };
    assert_pool_is_whole(&outcome);
    outcome.stdout_of_success();
}

#[test]
fn a_make_that_crew_runs_has_a_job_for_each_core() {
    let place = place();
    // Each waits for the other: with one job at a time this would not end.
    let recipe = "\t@touch begun.$@; until test -e begun.a -a -e begun.b; do sleep 0.01; done\n";
    place.write("Makefile", format!("all: a b\na b:\n{recipe}"));
    let run = |words: &[&str]| {
        let program = TestProgram::at(crate::place::binary()).in_directory(place.directory());
        let program = program.with_variable("MH_CREW_DIR", place.path("crew")).with_variable("LC_ALL", "C");
        program.run([&["crew", "run"], words].concat().iter(), b"").expect("the program starts")
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if TestProgram::find("make").is_none() || cores < 2 {
        return testkit::program::left_out("make is not there, or one core is all there is");
    }
    for style in ["--jobserver=fds", "--jobserver=fifo"] {
        let outcome = run(&[style, "--", "make", "all"]);
        let said = said(&outcome);
        if style.ends_with("fifo") && said.contains("fifo") {
            // COMPAT: make before 4.4 knows no named pipes, and says so.
            testkit::program::left_out("a make that is older than named job slots");
            continue;
        }
        assert_pool_is_whole(&outcome);
        outcome.stdout_of_success();
        assert_eq!(["begun.a", "begun.b"].map(|name| std::fs::remove_file(place.path(name)).is_ok()), [true; 2]);
    }
    let flags = run(&["--jobserver=off", "--", "sh", "-c", "echo flags: $MAKEFLAGS"]).stdout_of_success();
    assert_eq!(flags, b"flags:\n");
    let flags = run(&["-j1", "--", "sh", "-c", "echo flags: $MAKEFLAGS"]).stdout_of_success();
    assert_eq!(flags, b"flags:\n", "nothing to divide");
}

#[test]
fn a_line_that_make_keeps_its_slots_from_says_so() {
    let place = place();
    let Some(outcome) = make(&place, "all:\n\t@$$mh tamp --explain -c plain\n") else { return };
    let text = String::from_utf8(outcome.stdout_of_success()).expect("text");
    assert!(text.contains("a + before the line"), "{text}");
}

#[test]
fn by_name_and_as_cargo_hands_them_out() {
    let place = place();
    let pool = |flags: &str, variable: &str| {
        let script = format!(
            "mkfifo pool; exec 8<>pool; printf '+ab' >&8; \
             {variable}='-j4 --jobserver-auth={flags}' $mh tamp -j 4 -1 -c --report plain 2> report > packed || exit 1; \
             head -c 3 <&8 | od -An -c; rm pool; cat report"
        );
        let text = String::from_utf8(place.shell(&script).stdout_of_success()).expect("text");
        assert!(text.contains("then job slots."), "{text}");
        let mut slots: Vec<&str> = text.lines().next().expect("od prints them").split_whitespace().collect();
        slots.sort_unstable();
        assert_eq!(slots, ["+", "a", "b"]);
    };
    let path = place.path("pool");
    pool(&format!("fifo:{}", Path::display(&path)), "MAKEFLAGS");
    pool("8,8", "CARGO_MAKEFLAGS");
}
