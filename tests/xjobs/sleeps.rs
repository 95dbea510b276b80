//! A run that has nothing to do sleeps, whatever it waits for, and goes on as soon as it can.

use super::{stdout, xjobs};
use crate::place::{Place, Running, binary, child_of, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::program::{Exit, TestProgram};

/// How often threads of the process have gone to sleep or been pushed off a CPU.
fn switches(process: i32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it lives");
    let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
    let count = |line: &str| line.split_once("_ctxt_switches:").and_then(|(_, count)| count.trim().parse::<u64>().ok());
    tasks.flatten().map(|task| status(task).lines().filter_map(count).sum::<u64>()).sum()
}

#[test]
fn a_run_whose_jobs_just_run_is_never_awake() {
    // With jobs of its own, of spawners, behind a delay that has passed, and for a job that cannot have its cores; with a budget of its
    // own, and as part of a machine's.
    let long = "sleep 777\nsleep 777\nsleep 777\n";
    for (arguments, list, crew) in [
        (&["-j1"][..], "sleep 777\nsleep 777\n", ""),
        (&["-j2"], long, ""),
        (&["-j2"], long, "crew"),
        (&["-j4"], "sleep 777\nsleep 777\nsleep 777\nsleep 777\nsleep 777\n", ""),
        (&["-j2", "--delay", "0.05"], long, ""),
        (&["-j2"], "{\"argv\":[\"sleep\",\"777\"]}\n{\"argv\":[\"sleep\",\"777\"],\"cores\":2}\n", ""),
    ] {
        let place = Place::new();
        place.write("list", list);
        let mut command = Command::new(binary());
        command.args(["xjobs", "-s", "list"]).args(arguments).current_dir(place.directory());
        command.env("MH_CREW_DIR", if crew.is_empty() { crew.into() } else { place.path(crew) });
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the program starts");
        let mut running = Running { child };
        let guard = i32::try_from(running.child.id()).expect("a number");
        let mut runner = 0;
        wait_until("a job runs", || {
            runner = child_of(guard).unwrap_or(0);
            runner != 0 && child_of(runner).is_some()
        });
        // What begins and settles is over within a second; on a machine that is busy it is tried again.
        let mut seen = Vec::new();
        wait_until("the run sleeps", || {
            std::thread::sleep(Duration::from_millis(700));
            let before = switches(runner);
            // Longer than who is part of a machine's budget and watchful sleeps.
            std::thread::sleep(Duration::from_millis(if crew.is_empty() { 1000 } else { 2500 }));
            seen.push(switches(runner) - before);
            seen.last() == Some(&0)
        });
        kill_process(Pid::from_raw(guard).expect("above 0"), Signal::TERM).expect("it lives");
        running.end();
    }
}

#[test]
fn a_backlog_that_goes_at_once_lets_the_rest_of_the_list_go_on() {
    // One job that is the loop's holds up the outputs of hundreds, too many to go on; then all of them go in one turn, or those
    // behind a job that is refused in that turn.
    let refused = r#"{"id":"a","argv":["sh","-c","sleep 2; echo x; exit 1"]}
{"after":["a"],"argv":["true"]}
"#;
    for (first, exit, own) in [("sleep 2\n", 0, 0), (refused, 1, 2)] {
        let place = Place::new();
        let mut list = format!("true\ntrue\n{first}");
        (0..400).for_each(|_| list.push_str("head -c 70000 /dev/zero\n"));
        place.write("list", &list);
        let output = File::create(place.path("out")).expect("ours");
        let program = TestProgram::find("sh").expect("there is a shell").in_directory(place.directory());
        let script = format!("MH_CREW_DIR= {} xjobs -k -j3 -s list > out", binary().display());
        let outcome = program.run(["-c", &script], b"").expect("it starts");
        assert_eq!((outcome.exit, &outcome.stdout[..]), (Exit::Code(exit), &b""[..]), "{first}");
        assert_eq!(output.metadata().expect("it is there").len(), 400 * 70_000 + own, "{first}");
    }
}

#[test]
fn a_job_begins_while_the_next_one_is_asked_about() {
    let place = Place::new();
    let script = "(echo y; for i in $(seq 100); do test -s log && touch seen && break; sleep 0.1; done; echo n) | \
                  script -qec \"$mh xjobs -p -j2 sh -c 'echo \\$1 >> log' sh ::: a b\" /dev/null";
    let outcome = place.shell(script);
    assert_eq!((outcome.exit, place.has("seen")), (Exit::Code(0), true), "{}", stdout(&outcome));
    assert_eq!(place.read("log"), b"a\n");
}

/// CPU time of the process, in hundredths of a second.
fn cpu(process: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
    let fields = stat.rsplit(") ").next().expect("a name in brackets").split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[test]
fn whoever_is_held_back_sleeps() {
    // With places for two and nothing at work, hands that came were given back, came again, and so on; and with more output than is
    // kept, for an earlier job or for a reader that does not read.
    let printers = "head -c 70000 /dev/zero\n".repeat(400);
    let behind_a_job = format!("sleep 777\n{printers}");
    let short = "true\ntrue\ntrue\n";
    for (option, list) in [
        (&["--delay", "2"][..], short),
        (&["--memfree", "1000T"], short),
        (&["-k"], &behind_a_job),
        (&["-q", "1000"], &printers),
    ] {
        let place = Place::new();
        place.write("list", list);
        let mut command = Command::new(binary());
        command.args(["xjobs", "-j2", "-s", "list"]).args(option).current_dir(place.directory()).env("MH_CREW_DIR", "");
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Running { child: command.spawn().expect("the program starts") };
        let guard = i32::try_from(running.child.id()).expect("a number");
        wait_until("there is a runner", || child_of(guard).is_some());
        wait_until("it sleeps", || {
            std::thread::sleep(Duration::from_millis(500));
            let Some(runner) = child_of(guard) else { panic!("{option:?}: it is over") };
            let before = (switches(runner), cpu(runner));
            std::thread::sleep(Duration::from_secs(1));
            switches(runner) - before.0 < 100 && cpu(runner) - before.1 < 10
        });
        kill_process(Pid::from_raw(guard).expect("above 0"), Signal::TERM).expect("it lives");
        drop(running.child.stdout.take());
        running.end();
    }
}

#[test]
fn a_script_without_a_shell_in_its_first_line_is_run_by_one() {
    let place = Place::new();
    place.write("script", "echo \"$1\"\n");
    Command::new("chmod").arg("+x").arg(place.path("script")).status().expect("chmod");
    let outcome = xjobs(&place, &["./script"], "one\n");
    assert_eq!((outcome.exit, stdout(&outcome)), (Exit::Code(0), "one\n".to_owned()));
}
