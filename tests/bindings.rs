//! A program in C that takes part in the budget, built as its first lines say and run beside `mh`.

use crate::place::{Place, Running, binary, wait_until};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::program::TestProgram;

/// A file of the binding for C.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/c").join(name)
}

/// The example, built into `place`.
fn build(place: &Place) -> PathBuf {
    build_of(place, &source("examples/share.c"))
}

fn build_of(place: &Place, text: &Path) -> PathBuf {
    let library = binary().with_file_name("libmanyhands.a");
    assert!(library.exists(), "there is no {library:?}: run `cargo build --release --package manyhands-c`");
    let program = place.path("share");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(source("include"));
    compiler.arg("-o").arg(&program).arg(text).arg(library).args(["-lpthread", "-ldl", "-lm"]);
    assert!(compiler.status().expect("a C compiler is needed to build anyway").success());
    program
}

/// Process number, number of hands and doing of each run in `mh crew --json`. What a dead one held is there for whoever is hungry, who
/// need not come: it counts as gone.
fn runs(place: &Place) -> Vec<(u32, u32, String)> {
    let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew"));
    let outcome = program.run(["crew", "--json"], b"").expect("the program starts");
    let text = String::from_utf8(outcome.stdout_of_success()).expect("JSON is text");
    let value = |run: &str, name: &str| {
        let (_, value) = run.split_once(&format!("\"{name}\":")).expect("it has the field");
        value.split([',', '}']).next().expect("a value").trim_matches('"').to_owned()
    };
    let number = |run: &str, name: &str| value(run, name).parse().expect("a number");
    let runs = text.split("{\"pid\"").skip(1).map(|rest| format!("{{\"pid\"{rest}"));
    runs.map(|run| (number(&run, "pid"), number(&run, "holds"), value(&run, "what"))).collect()
}

fn start(place: &Place, program: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place.directory()).env("MH_CREW_DIR", place.path("crew"));
    Running { child: command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the program starts") }
}

#[test]
fn a_program_in_c_shares_with_mh() {
    let place = Place::new();
    let share = build(&place);
    let crew = place.path("crew");
    let outcome = TestProgram::at(&share).with_variable("MH_CREW_DIR", &crew).run(["20"], b"").expect("it starts");
    assert_eq!(outcome.stderr, b"", "it is not alone");
    assert_eq!(outcome.stdout_of_success(), b"17984 primes below 200000\n");
    assert!(runs(&place).is_empty(), "it has left the table");

    File::create(place.path("endless")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file can be made");
    let tamp = start(&place, &binary(), &["tamp", "-q", "-c", "endless"]);
    let counting = start(&place, &share, &["100000000"]);
    let (tamp, counting_id) = (tamp.child.id(), counting.child.id());
    let has = |id: u32, what: &str| runs(&place).iter().any(|run| run.0 == id && run.1 > 0 && run.2.starts_with(what));
    wait_until("mh and the program in C have hands at once", || {
        let seen = runs(&place);
        let holds = |id: u32| seen.iter().any(|run| run.0 == id && run.1 > 0);
        holds(tamp) && holds(counting_id)
    });
    assert!(runs(&place).iter().any(|run| run.0 == counting_id && run.2 == "share: count primes"));
    let mh = |arguments: &[&str]| {
        let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", &crew);
        program.run(["crew"].iter().chain(arguments), b"").expect("the program starts").stdout_of_success()
    };
    mh(&["pause", &counting_id.to_string()]);
    wait_until("it obeys and gives its hands back", || !has(counting_id, "share"));
    mh(&["resume", &counting_id.to_string()]);
    wait_until("it goes on", || has(counting_id, "share"));
    drop(counting);
    wait_until("it is gone once it was killed, and mh works on", || !has(counting_id, "share") && has(tamp, "tamp"));
}

#[test]
fn a_program_in_c_creates_memory_that_is_resident() {
    let place = Place::new();
    let program = build_of(&place, &source("examples/memory.c"));
    let run = |megabytes: &str| {
        let program = TestProgram::at(&program).with_variable("MH_CREW_DIR", place.path("crew"));
        program.run([megabytes], b"").expect("it starts")
    };
    assert_eq!(run("70").stdout_of_success(), b"73400320 of 73400320 bytes are resident\n");
    let refused = run("99999999");
    assert!(
        String::from_utf8_lossy(&refused.stderr)
            .starts_with("create: could not get 104857598951424 bytes: MemAvailable")
    );
    assert!(runs(&place).is_empty(), "it has left the table");
}

#[test]
fn a_lease_may_be_closed_while_the_program_exits() {
    let place = Place::new();
    let text = "#include <manyhands.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
        static mh_crew *crew; static mh_lease *lease;\n\
        static void leave(void) { mh_lease_close(lease); mh_crew_close(crew); puts(\"left\"); }\n\
        int main(void) {\n\
            if (mh_crew_open(NULL, &crew) || mh_lease_open(crew, MH_NORMAL, 100, 2, \"a test\", &lease)) return 1;\n\
            return atexit(leave);\n\
        }\n";
    place.write("leave.c", text);
    let program = build_of(&place, &place.path("leave.c"));
    let outcome = TestProgram::at(&program).with_variable("MH_CREW_DIR", place.path("crew")).run([""; 0], b"");
    assert_eq!(outcome.expect("it starts").stdout_of_success(), b"left\n");
    assert!(runs(&place).is_empty(), "it has left the table");
}

#[test]
fn without_a_table_it_works_alone_and_says_why() {
    let place = Place::new();
    let share = build(&place);
    for (directory, why) in [("", "share a table: MH_CREW_DIR is empty"), ("/proc/no", "make '/proc/no': ")] {
        let outcome =
            TestProgram::at(&share).with_variable("MH_CREW_DIR", directory).run(["10"], b"").expect("it starts");
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(said.starts_with(&format!("alone: could not {why}")), "{said}");
        assert_eq!(outcome.stdout_of_success(), b"9592 primes below 100000\n");
    }
}
