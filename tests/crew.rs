//! `mh crew`: runs of a user show in one table, wait for each other by class, and obey orders. Every test has a table of its own.

use crate::place::{Place, Running, binary, child_of, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram};

/// A place with an input that no run gets to the end of, and a directory for the table.
fn place() -> Place {
    let place = Place::new();
    File::create(place.path("endless")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file can be made");
    place
}

fn start(place: &Place, arguments: &[&str]) -> Running {
    let mut command = Command::new(binary());
    command.args(["tamp", "-q", "-c", "endless"]).args(arguments).current_dir(place.directory());
    command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::null());
    Running { child: command.spawn().expect("the program starts") }
}

fn crew(place: &Place, arguments: &[&str]) -> ProgramOutcome {
    let program =
        TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew")).with_variable("MH_CONFIG", "");
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

/// In a container, the leaders of the session and of the process group are often processes outside, which have no number inside.
#[test]
fn a_session_that_began_outside_of_the_container_is_no_error() {
    let outside = |arguments: &[&str]| {
        let unshare = TestProgram::find("unshare")?;
        unshare.run(["--pid", "--fork", "--mount-proc"].iter().chain(arguments), b"").ok()
    };
    if !outside(&["true"]).is_some_and(|outcome| outcome.exit == Exit::Code(0)) {
        return testkit::program::left_out("no namespace of process numbers can be made");
    }
    let place = place();
    let table = format!("MH_CREW_DIR={}", place.path("crew").display());
    let script = "\"$0\" tamp -q -c \"$1\" >/dev/null & until \"$0\" crew --once | grep -q tamp; do :; done; \"$0\" crew --once; \
                  \"$0\" xjobs echo ::: ready; kill -9 $!";
    let (program, endless) = (binary(), place.path("endless"));
    let arguments = ["env", "MH_CONFIG=", &table, "sh", "-c", script];
    let (program, endless) = (program.to_string_lossy(), endless.to_string_lossy());
    let outcome = outside(&[&arguments[..], &[&program, &endless]].concat()).expect("it was there");
    let text = String::from_utf8(outcome.stdout_of_success()).expect("text");
    assert!(text.contains("tamp") && text.ends_with("ready\n"), "{text}");
}

#[test]
fn a_program_that_sleeps_keeps_no_core_while_others_are_there() {
    let place = place();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.args(["crew", "run"]).args(arguments).current_dir(place.directory());
        command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null());
        Running { child: command.spawn().expect("the program starts") }
    };
    let sleeper = run(&["--", "sleep", "777"]);
    wait_until("it has its hands", || holds(&place, &sleeper) > 0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let low = run(&["--priority", "low", "--", "sh", "-c", "while :; do :; done"]);
    let width = |running| field(&place, running, "useful").and_then(|useful| useful.parse::<usize>().ok());
    wait_until("the sleeper is known for one", || width(&sleeper) == Some(1));
    wait_until("what nobody wants is the low one's", || {
        holds(&place, &sleeper) == 0 && holds(&place, &low) as usize == cores
    });
    drop(low);
    wait_until("the sleeper has all again", || holds(&place, &sleeper) as usize == cores);
}

#[test]
fn the_table_has_how_far_a_run_is() {
    let place = place();
    let mut command = Command::new(binary());
    command.args(["xjobs", "-j1", "sleep", ":::", "0", "0", "600"]).current_dir(place.directory());
    command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null());
    let jobs = Running { child: command.spawn().expect("the program starts") };
    let of = |running: &Running, name| field(&place, running, name);
    wait_until("two of three jobs have ended", || {
        of(&jobs, "done").as_deref() == Some("2") && of(&jobs, "total").as_deref() == Some("3")
    });
    let tamp = start(&place, &[]);
    wait_until("a compressor says how much it has read, of how much", || {
        of(&tamp, "done").and_then(|done| done.parse::<u64>().ok()) > Some(0)
            && of(&tamp, "total").as_deref() == Some("1099511627776")
    });
    let text = String::from_utf8(crew(&place, &[]).stdout_of_success()).expect("text");
    assert!(text.contains(" 66 % ") && text.contains("%CPU"), "{text}");
    assert_eq!(text.contains("started in this terminal"), is_own_session_known(), "{text}");
}

/// A run that has read its only chunk is not done with it, and gives its core back before it is.
#[test]
fn a_long_chunk_counts_as_far_as_it_is_done() {
    let place = place();
    assert_eq!(place.shell("head -c 20000000 /dev/urandom > data").exit, Exit::Code(0));
    let mut command = Command::new(binary());
    command.args(["tamp", "--format", "xz", "-9", "-c", "data"]).current_dir(place.directory());
    command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::null());
    let tamp = Running { child: command.spawn().expect("the program starts") };
    let mut done = 0;
    wait_until("some of it is done", || {
        done = field(&place, &tamp, "done").and_then(|done| done.parse().ok()).unwrap_or(0);
        done > 0
    });
    assert!(done < 20_000_000, "{done}");
    let pid = tamp.child.id().to_string();
    crew(&place, &["pause", &pid]).stdout_of_success();
    wait_until("its core is given back in the middle of the chunk", || holds(&place, &tamp) == 0);
    crew(&place, &["resume", &pid]).stdout_of_success();
    wait_until("it goes on", || holds(&place, &tamp) > 0);
}

/// Whether the leader of this test's session has a number here; in a container it may be outside (`pid_namespaces(7)`).
fn is_own_session_known() -> bool {
    let status = std::fs::read_to_string("/proc/self/stat").expect("it is read");
    let (_, behind_name) = status.rsplit_once(") ").expect("the name stands in brackets");
    behind_name.split(' ').nth(3).is_some_and(|session| session != "0")
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
        text.contains("waits: high runs want every core")
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
            let program = TestProgram::at(binary())
                .in_directory(place.directory())
                .with_variable("MH_CREW_DIR", place.path("crew"));
            std::thread::spawn(move || program.run(["tamp", "-c", "--priority", class, "plain"], b""))
        })
        .into_iter()
        .map(|thread| thread.join().expect("no panic").expect("it starts").stdout_of_success())
        .collect();
    assert!(packed.iter().all(|packed| *packed == alone));
}

#[test]
fn what_is_packed_does_not_depend_on_pauses_within_a_chunk() {
    let place = Place::new();
    let plain = testkit::data::mixed(17 << 20, 5);
    for (format, level, bytes) in [("xz", "-1", 7 << 20), ("zst", "-13", plain.len()), ("bz2", "-9", 5 << 20)] {
        place.write("plain", &plain[..bytes]);
        let how = ["--format", format, level, "plain"];
        let alone = place.tamp([&["-c", "-j1"][..], &how].concat()).stdout_of_success();
        let mut command = Command::new(binary());
        command.args(["tamp", "-q", "-c", "-j2"]).args(how).current_dir(place.directory());
        command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null());
        let packed = File::create(place.path("packed")).expect("a file can be made");
        let mut running = Running { child: command.stdout(packed).spawn().expect("the program starts") };
        let process = running.child.id().to_string();
        let status = loop {
            // It may not be there yet, or no longer.
            crew(&place, &["pause", &process]);
            crew(&place, &["resume", &process]);
            if let Some(status) = running.child.try_wait().expect("it can be waited for") {
                break status;
            }
        };
        assert!(status.success() && std::fs::read(place.path("packed")).expect("written") == alone, "{format} {level}");
    }
}

/// `mh crew run` of a script, in its own process group as a shell's job is.
fn run_outside(place: &Place, options: &[&str], script: &str) -> Running {
    let mut command = Command::new(binary());
    command.args(["crew", "run"]).args(options).args(["--", "sh", "-c", script]).current_dir(place.directory());
    command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::null());
    Running { child: command.process_group(0).spawn().expect("the program starts") }
}

/// A program beside one of a higher class that keeps all cores busy, until the table says that it can use one alone; then the other is paused.
fn narrowed(place: &Place, words: &[&str]) -> (Running, Running) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let spin = "while :; do :; done";
    let high =
        run_outside(place, &["--priority", "high"], &format!("for each in $(seq {cores}); do {spin} & done; wait"));
    wait_until("the high run has all", || holds(place, &high) as usize == cores);
    let mut command = Command::new(binary());
    command.args(["crew", "run", "-j2", "--"]).args(words).current_dir(place.directory()).env("LC_ALL", "C");
    command.env("MH_CREW_DIR", place.path("crew")).env("MH_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::null());
    let narrow = Running { child: command.process_group(0).spawn().expect("the program starts") };
    wait_until("it is known to use one core", || field(place, &narrow, "useful").as_deref() == Some("1"));
    crew(place, &["pause", &high.child.id().to_string()]).stdout_of_success();
    (high, narrow)
}

#[test]
fn an_outside_program_grows_beside_a_run_that_wants_nothing() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return testkit::program::left_out("one core is all there is");
    }
    let place = place();
    // As wide as its CPUs are at the moment.
    let spin = "timeout 0.3 sh -c 'while :; do :; done' &";
    let script = format!("while :; do for each in $(seq $(nproc)); do {spin} done; wait; done");
    let (high, narrow) = narrowed(&place, &["sh", "-c", &script]);
    wait_until("it has both", || holds(&place, &narrow) == 2);
    assert_eq!(field(&place, &high, "state").as_deref(), Some("paused"), "it is there all the time");
}

#[test]
fn make_gets_a_job_more_beside_a_run_that_wants_nothing() {
    if TestProgram::find("make").is_none() || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return testkit::program::left_out("make is not there, or one core is all there is");
    }
    let place = place();
    // Each waits for the other: with one job at a time this would not end.
    let recipe = "\t@touch begun.$@; until test -e begun.a -a -e begun.b; do :; done\n";
    place.write("Makefile", format!("all: a b\na b:\n{recipe}"));
    let (_high, mut narrow) = narrowed(&place, &["make", "all"]);
    assert_eq!(narrow.end().code(), Some(0));
}

/// The process whose number a script wrote into a file.
fn told(place: &Place, name: &str) -> String {
    wait_until("the script has told its number", || place.has(name) && place.read(name).ends_with(b"\n"));
    String::from_utf8(place.read(name)).expect("a number").trim().to_owned()
}

/// A line of a process's status, without its name; none when it is gone.
fn status(process: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t")).map(str::to_owned)
}

fn is_state(process: &str, state: char) -> bool {
    status(process, "State").is_some_and(|text| text.starts_with(state))
}

/// Or waits for a child that is, on its way from vfork to exec.
fn is_stopped(process: &str) -> bool {
    let child = || child_of(process.parse().expect("a number")).is_some_and(|child| is_state(&child.to_string(), 'T'));
    is_state(process, 'T') || is_state(process, 'D') && child()
}

const SPIN: &str = "echo $$ > pid; while :; do :; done";

#[test]
fn nothing_that_an_outside_program_started_outlives_a_killed_run() {
    for kills_guard in [true, false] {
        let place = Place::new();
        let script =
            "sh -c 'trap \"\" TERM; echo $$ > deaf; while :; do sleep 0.05; done' & sleep 99 & echo $! > sleeper; wait";
        let mut running = run_outside(&place, &[], script);
        let left = [told(&place, "deaf"), told(&place, "sleeper")];
        let guard = i32::try_from(running.child.id()).expect("a number");
        let victim = if kills_guard { guard } else { child_of(guard).expect("the guard has a worker") };
        kill_process(Pid::from_raw(victim).expect("a number"), Signal::KILL).expect("it lives");
        assert_eq!(running.end().signal(), Some(9));
        wait_until("all is gone", || left.iter().all(|process| status(process, "State").is_none()));
    }
}

#[test]
fn an_outside_program_ends_as_it_does_without_us() {
    let place = Place::new();
    let exit = |script: &str| crew(&place, &["run", "--", "sh", "-c", script]).exit;
    assert_eq!(exit("exit 7"), Exit::Code(7));
    assert_eq!(exit("kill -9 $$"), Exit::Code(137));
    assert_eq!(crew(&place, &["run", "--", "no-such-program"]).exit, Exit::Code(127));
    assert_eq!(crew(&place, &["run", "--", "/etc/passwd"]).exit, Exit::Code(126));
    assert_eq!(crew(&place, &["run", "--", "cat"]).exit, Exit::Code(0), "standard input is passed on");
    let said = crew(&place, &["run", "-j1", "--", "grep", "Cpus_allowed_list", "/proc/self/status"]);
    let said = String::from_utf8(said.stdout_of_success()).expect("text");
    assert!(!said.contains(['-', ',']), "one hand is one CPU: {said}");
}

#[test]
fn an_outside_program_shares_and_rests_and_goes_on() {
    let place = place();
    let outside = run_outside(&place, &["--priority", "low"], SPIN);
    let spinner = told(&place, "pid");
    wait_until("it has a hand", || holds(&place, &outside) > 0);
    let all = status(&spinner, "Cpus_allowed_list");
    let high = start(&place, &["--priority", "high"]);
    wait_until("the higher class has all", || holds(&place, &high) > 0 && holds(&place, &outside) == 0);
    wait_until("without a hand it is stopped", || is_state(&spinner, 'T'));
    drop(high);
    wait_until("it goes on with all", || is_state(&spinner, 'R') && status(&spinner, "Cpus_allowed_list") == all);
    let pid = outside.child.id().to_string();
    crew(&place, &["pause", &pid]).stdout_of_success();
    wait_until("paused, it is stopped", || is_state(&spinner, 'T'));
    crew(&place, &["resume", &pid]).stdout_of_success();
    wait_until("resumed, it runs", || is_state(&spinner, 'R'));
}

#[test]
fn signals_reach_an_outside_program_though_it_rests_and_nothing_outlives_its_runner() {
    let place = place();
    let mut outside = run_outside(&place, &[], "trap 'exit 9' TERM; echo $$ > pid; while :; do sleep 1; done");
    let waiting = told(&place, "pid");
    let pid = outside.child.id().to_string();
    crew(&place, &["pause", &pid]).stdout_of_success();
    wait_until("it is stopped", || is_stopped(&waiting));
    assert_eq!(
        TestProgram::find("sh").expect("sh").run(["-c", &format!("kill -TERM {pid}")], b"").expect("sh").exit,
        Exit::Code(0)
    );
    assert_eq!(outside.end().code(), Some(9));

    std::fs::remove_file(place.path("pid")).expect("it was told");
    let mut outside = run_outside(&place, &[], SPIN);
    let spinner = told(&place, "pid");
    outside.child.kill().expect("it runs");
    outside.child.wait().expect("it was killed");
    wait_until("the program is gone too", || status(&spinner, "State").is_none());
    wait_until("and its row", || {
        crew(&place, &[]).stdout.starts_with(b"no run") || field(&place, &outside, "state").as_deref() == Some("dead")
    });
}

#[test]
fn waiting_ends_with_the_runs_and_with_the_time() {
    let place = place();
    assert_eq!(crew(&place, &["wait"]).exit, Exit::Code(0), "nobody is there");
    assert_eq!(crew(&place, &["wait", "--idle"]).exit, Exit::Code(0));
    assert_eq!(crew(&place, &["wait", "4000000"]).exit, Exit::Code(0), "it has ended");
    let mut unburied = Command::new("true").spawn().expect("there is a true");
    let pid = unburied.id().to_string();
    assert_eq!(
        crew(&place, &["wait", "--timeout", "20", &pid]).exit,
        Exit::Code(0),
        "it has ended, asked after or not"
    );
    unburied.wait().expect("it was there until now");
    let nobody = "setpriv --reuid=65534 --clear-groups";
    let script = "mkdir own; chmod 711 .; export MH_CREW_DIR=$PWD/own; [ $(id -u) != 0 ] || ! $as test -x $mh || { run=$as; chown 65534 own; }
        $run $mh crew wait --timeout 0.1 1";
    let of_another = place.shell(&format!("as='{nobody}'; {script}"));
    assert_eq!(of_another.exit, Exit::Code(1), "it lives: {of_another:?}");
    let mut endless = start(&place, &[]);
    wait_until("it is there", || holds(&place, &endless) > 0);
    let pid = endless.child.id().to_string();
    for arguments in [&["wait", "--timeout", "0.1"][..], &["wait", &pid, "--timeout", "0.1"]] {
        let outcome = crew(&place, arguments);
        assert_eq!(outcome.exit, Exit::Code(1));
        assert_eq!(said(&outcome), "mh crew: 1 run was still there when the time was over\n");
    }
    let waiting = ["wait", pid.as_str()].map(str::to_owned);
    let program =
        TestProgram::at(binary()).with_variable("MH_CREW_DIR", place.path("crew")).with_variable("MH_CONFIG", "");
    let waiter =
        std::thread::spawn(move || program.run(["crew"].into_iter().chain(waiting.iter().map(String::as_str)), b""));
    endless.child.kill().expect("it runs");
    endless.child.wait().expect("it was killed");
    assert_eq!(waiter.join().expect("no panic").expect("it starts").exit, Exit::Code(0));
}
