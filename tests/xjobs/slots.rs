//! Job slots that `mh xjobs` gives to make and its like inside its jobs: real makes, and programs that break the protocol.

use crate::place::{Place, Running, binary, said, wait_until};
use std::fs::File;
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn xjobs(place: &Place, arguments: &[&str]) -> ProgramOutcome {
    let program =
        TestProgram::at(binary()).in_directory(place.directory()).with_variable("MH_CREW_DIR", place.path("crew"));
    let program = program.with_variable("mh", binary()).with_variable("TMPDIR", place.directory());
    program.run([&["xjobs", "-j2"], arguments].concat(), b"").expect("the program starts")
}

/// Whether there is a second core to be given, and make to take it.
fn can_be_tried() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let can = cores > 1 && TestProgram::find("make").is_some();
    if !can {
        left_out("there is one core, or no make");
    }
    can
}

/// Two recipes that end only when both have begun.
const BOTH: &str = "all: a b\na b:\n\t@: > $@.begun; until [ -e a.begun ] && [ -e b.begun ]; do sleep 0.01; done\n";

#[test]
fn a_make_in_a_job_uses_the_cores_that_no_job_needs() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    place.write("Makefile", BOTH);
    xjobs(&place, &["make", ":::", "all"]).stdout_of_success();
    // The user's own flags stay: -k goes on after an error.
    place.write("Makefile", "all: bad good\nbad:\n\t@false\ngood:\n\t@echo went on\n");
    let program =
        TestProgram::at(binary()).in_directory(place.directory()).with_variable("MH_CREW_DIR", place.path("crew"));
    let outcome = program.with_variable("MAKEFLAGS", "k").run(["xjobs", "-j2", "make", ":::", "all"], b"");
    assert!(super::stdout(&outcome.expect("it starts")).contains("went on"));
}

#[test]
fn what_comes_back_and_what_does_not_is_counted() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    let fds = "set -- $(printf %s \"$MAKEFLAGS\" | sed 's/.*auth=\\([0-9]*\\),\\([0-9]*\\).*/\\1 \\2/'); ";
    let run = |script: &str| {
        let outcome = xjobs(&place, &["--report", "bash", "-c", &format!("{fds}{script}"), ":::", "x"]);
        let text = said(&outcome);
        outcome.stdout_of_success();
        text
    };
    assert!(!run(":").contains("slot"));
    assert!(run("head -c 1 <&$1 > /dev/null").contains("1 job slot never came back: "));
    assert!(run("head -c 1 <&$1 >&$2; printf ++ >&$2").contains("2 job slots came back that had never been given."));
    assert!(!run("exec 199<&$1; head -c 1 <&199 > /dev/null; printf + >&$2").contains("slot"));
}

#[test]
fn a_named_pool_works_as_well_and_is_removed() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    let script = "p=${MAKEFLAGS#*fifo:}; test -p \"$p\" && exec 9<>\"$p\" && head -c 1 <&9 >&9 && echo had one";
    let outcome = xjobs(&place, &["--jobserver", "fifo", "sh", "-c", script, ":::", "x"]);
    assert_eq!(outcome.stdout_of_success(), b"had one\n");
    assert!(place.names().iter().all(|name| !name.contains("slots")), "{:?}", place.names());
    let off = xjobs(&place, &["--jobserver=off", "sh", "-c", "echo \"<$MAKEFLAGS>\"", ":::", "x"]);
    assert_eq!(off.stdout_of_success(), b"<>\n");
}

#[test]
fn an_mh_below_a_make_in_a_job_works_with_the_jobs_hand() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    place.write("plain", testkit::data::mixed(8 << 20, 5));
    place.write("Makefile", "all:\n\t+@$$mh tamp -1 -c --report plain > packed\n");
    let outcome = xjobs(&place, &["make", ":::", "all"]);
    assert!(said(&outcome).contains("its hands were those of the runner above"), "{}", said(&outcome));
}

#[test]
fn slots_that_nobody_uses_go_to_whoever_is_hungry() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    File::create(place.path("endless")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file can be made");
    let start = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.args(arguments).current_dir(place.directory()).env("MH_CREW_DIR", place.path("crew"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Running { child: command.spawn().expect("the program starts") }
    };
    let run_of = |what: &str| {
        let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew"));
        let text = program.run(["crew", "--json"], b"").expect("it starts").stdout_of_success();
        let text = String::from_utf8(text).expect("JSON is text");
        text.split("{\"pid\":").find(|run| run.contains(what)).map(str::to_owned).unwrap_or_default()
    };
    let runner = start(&["xjobs", "-j2", "sleep", ":::", "1000"]);
    wait_until("the slots are offered", || run_of("slots for make").contains("\"holds\":1"));
    // What raises the run does not raise its slots: they are what nobody else wants.
    let raise =
        ["crew", "set", &runner.child.id().to_string(), "--priority", "high", "--weight", "900"].map(str::to_owned);
    let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew"));
    program.run(raise, b"").expect("it starts").stdout_of_success();
    assert!(run_of("slots for make").contains("\"class\":\"idle\",\"weight\":100"), "{}", run_of("slots for make"));
    assert!(run_of("run sleep").contains("\"class\":\"high\",\"weight\":900"), "{}", run_of("run sleep"));
    let _tamp = start(&["tamp", "-q", "-c", "-j", "1", "endless"]);
    wait_until("they went back", || run_of("slots for make").contains("\"holds\":0"));
    wait_until("to a core", || run_of("tamp: ").contains("\"holds\":1,\"above_capacity\":0"));
}

#[test]
fn a_run_that_has_ended_leaves_nothing_in_the_table() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    let crew = || {
        let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew"));
        String::from_utf8(program.run(["crew"], b"").expect("it starts").stdout_of_success()).expect("text")
    };
    xjobs(&place, &["true", ":::", "1", "2", "3"]).stdout_of_success();
    assert_eq!(crew(), "no run shares the cores now\n");
}

#[test]
fn slots_that_no_program_has_read_are_idle_cores() {
    if !can_be_tried() {
        return;
    }
    let place = Place::new();
    let fds = "set -- $(printf %s \"$MAKEFLAGS\" | sed 's/.*auth=\\([0-9]*\\),\\([0-9]*\\).*/\\1 \\2/'); ";
    place.shell("mkfifo go");
    let script = format!("{fds} read x < go; head -c 1 <&$1 > slot; touch taken; read x < go; cat slot >&$2");
    // Slots are of the lowest class, which leaves cores that other programs keep busy, other tests among them.
    place.write("config", "[crew]\ngives_way = \"none\"\n");
    let mut command = Command::new(binary());
    command.args(["xjobs", "-j2", "bash", "-c", &script, ":::", "x"]).current_dir(place.directory());
    command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", place.path("config")).stdin(Stdio::null());
    let mut runner = Running { child: command.spawn().expect("the program starts") };
    let idle = |timeout: &str| {
        let program = TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew"));
        program.run(["crew", "wait", "--idle", "--timeout", timeout], b"").expect("it starts").exit
    };
    assert_eq!(idle("30"), Exit::Code(0), "one core has no work");
    place.shell("echo > go");
    wait_until("it has taken the slot", || place.has("taken"));
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 2) {
        assert_eq!(idle("0.5"), Exit::Code(1), "both cores have work");
    }
    place.shell("echo > go");
    assert!(runner.child.wait().expect("it ends").success());
}

#[test]
fn under_the_old_name_jobs_are_told_of_no_slots() {
    let place = Place::new();
    place.shell("ln -s \"$mh\" xjobs");
    let program = |arguments: &[&str]| {
        let program = TestProgram::at(place.path("xjobs")).with_variable("MH_CREW_DIR", place.path("crew"));
        super::stdout(&program.run(arguments, b"env\n").expect("it starts"))
    };
    assert!(!program(&["-j2", "-v0"]).contains("MAKEFLAGS"));
    if can_be_tried() {
        assert!(program(&["-j2", "-v0", "--jobserver=fds"]).contains("MAKEFLAGS"), "unless asked for");
    }
}
