//! What the journal says of a job's output: "ok" when it has been passed on whole, never before. Killed, or with a full disk, and resumed,
//! each output is there at least once, and twice only where its job is named.

use super::{stdout, xjobs};
use crate::place::{Place, Running, binary, child_of, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use testkit::program::Exit;

fn start(place: &Place, arguments: &[&str], list: &str, output: impl Into<Stdio>) -> Running {
    place.write("list", list);
    let mut command = Command::new(binary());
    command.args(["xjobs", "-s", "list", "--journal", "j", "--resume"]).args(arguments);
    command.current_dir(place.directory()).env("MH_CREW_DIR", "").stdin(Stdio::null()).stdout(output);
    let said = File::options().create(true).append(true).open(place.path("said")).expect("it is ours");
    Running { child: command.stderr(said).spawn().expect("the program starts") }
}

fn output_file(place: &Place) -> File {
    File::options().create(true).append(true).open(place.path("o")).expect("it is ours")
}

fn kill_the_runner(running: &mut Running) {
    let guard = i32::try_from(running.child.id()).expect("a number");
    let runner = child_of(guard).and_then(Pid::from_raw).expect("the guard has a runner");
    kill_process(runner, Signal::KILL).expect("it lives");
    running.end();
}

fn text(place: &Place, name: &str) -> String {
    if place.has(name) { String::from_utf8(place.read(name)).expect("text") } else { String::new() }
}

fn ok_lines(place: &Place) -> usize {
    text(place, "j").lines().filter(|line| line.contains("\"outcome\":\"ok\"")).count()
}

/// Jobs by the line that each prints, and how often each was printed.
fn printed(place: &Place, jobs: usize) -> Vec<usize> {
    let output = text(place, "o");
    (1..=jobs).map(|job| output.lines().filter(|line| *line == format!("out {job}")).count()).collect()
}

#[test]
fn outputs_that_wait_for_an_earlier_job_are_made_again_after_a_kill() {
    let place = Place::new();
    let list: String = (1..=20).map(|job| format!("{job}\n")).collect();
    let script = "test $1 -gt 1 || until [ -e go ]; do sleep 0.01; done; echo out $1; echo $1 >> log";
    let arguments = ["-k", "-j2", "sh", "-c", script, "sh"];
    let mut running = start(&place, &arguments, &list, output_file(&place));
    wait_until("all others have ended", || text(&place, "log").lines().count() == 19);
    kill_the_runner(&mut running);
    assert_eq!((ok_lines(&place), text(&place, "o").as_str()), (0, ""), "nothing was delivered");
    place.write("go", "");
    let mut resumed = start(&place, &arguments, &list, output_file(&place));
    assert!(resumed.end().success());
    let all: String = (1..=20).map(|job| format!("out {job}\n")).collect();
    assert_eq!((text(&place, "o"), ok_lines(&place)), (all, 20));
    assert_eq!(text(&place, "said").matches("had begun when an earlier run ended").count(), 20);
}

#[test]
fn outputs_that_a_slow_reader_never_got_are_made_again_after_a_kill() {
    // Below 64 KiB they wait in memory, above in a file.
    for bytes in [20_000, 100_000] {
        let place = Place::new();
        let list: String = (1..=12).map(|job| format!("{job}\n")).collect();
        let script = format!("head -c {bytes} /dev/zero | tr '\\0' x; echo; echo out $1; echo $1 >> log");
        let arguments = ["-j2", "sh", "-c", &script, "sh"];
        let mut running = start(&place, &arguments, &list, Stdio::piped());
        let mut reader = running.child.stdout.take().expect("it is piped");
        wait_until("all have ended", || text(&place, "log").lines().count() == 12);
        kill_the_runner(&mut running);
        let mut got = Vec::new();
        reader.read_to_end(&mut got).expect("readable");
        place.write("o", &got);
        let delivered = printed(&place, 12).iter().sum::<usize>();
        assert!(delivered < 12 && ok_lines(&place) <= delivered, "{} of {delivered}", ok_lines(&place));
        assert!(start(&place, &arguments, &list, output_file(&place)).end().success());
        let (printed, named) = (printed(&place, 12), text(&place, "said").matches("it is run again").count());
        assert!(printed.iter().all(|&times| times >= 1), "{printed:?}");
        assert!(printed.iter().sum::<usize>() <= 12 + named, "{printed:?}, {named} named");
    }
}

#[test]
fn killed_after_any_line_of_the_journal_no_output_is_missing() {
    for step in 1..=16 {
        let place = Place::new();
        let list: String = (1..=8).map(|job| format!("{job}\n")).collect();
        let arguments = ["-j2", "sh", "-c", "echo out $1", "sh"];
        let mut running = start(&place, &arguments, &list, output_file(&place));
        while text(&place, "j").lines().count() < step && running.child.try_wait().expect("it can be asked").is_none() {
        }
        let guard = i32::try_from(running.child.id()).expect("a number");
        if let Some(runner) = child_of(guard).and_then(Pid::from_raw) {
            let _it_may_have_ended = kill_process(runner, Signal::KILL);
        }
        running.end();
        assert!(start(&place, &arguments, &list, output_file(&place)).end().success());
        let (printed, named) = (printed(&place, 8), text(&place, "said").matches("it is run again").count());
        assert!(printed.iter().all(|&times| times >= 1), "step {step}: {printed:?}");
        assert!(printed.iter().sum::<usize>() <= 8 + named, "step {step}: {printed:?}, {named} named");
    }
}

#[test]
fn what_a_full_disk_swallowed_is_named_fails_and_is_run_again() {
    let place = Place::new();
    let script = "head -c 20000 /dev/zero | tr '\\0' x; echo; echo out $1";
    // A file may not grow beyond 80 KiB, and the signal that would tell so is ignored: then a write fails as on a full disk.
    let limited = "trap '' XFSZ; ulimit -f 160; seq 20 | \"$mh\" xjobs --journal j -j2 sh -c \"$(cat script)\" sh > o";
    place.write("script", script);
    let outcome = place.shell(limited);
    assert_eq!(outcome.exit, Exit::Code(1));
    let delivered = printed(&place, 20);
    let (ok, lost) = (ok_lines(&place), text(&place, "j").matches("\"outcome\":\"output_lost\"").count());
    assert!(ok >= 1 && ok == delivered.iter().sum::<usize>(), "{ok} ok, {delivered:?}");
    let told = said(&outcome);
    assert!(lost >= 1 && told.matches("could not write all output of job ").count() == lost, "{lost} lost\n{told}");
    let resumed = place.shell("seq 20 | \"$mh\" xjobs --journal j --resume -j2 sh -c \"$(cat script)\" sh >> o");
    assert_eq!((resumed.exit, said(&resumed).as_str()), (Exit::Code(0), ""));
    assert_eq!(printed(&place, 20), [1; 20]);
    assert_eq!(ok_lines(&place), 20);
}

#[test]
fn an_end_without_an_output_to_deliver_is_written_at_once() {
    let place = Place::new();
    let list = "sh -c 'until grep -q outcome j; do sleep 0.01; done; echo out 1'\ntrue\n";
    let outcome = xjobs(&place, &["-k", "-j2", "--journal", "j"], list);
    assert_eq!((outcome.exit, stdout(&outcome).as_str(), ok_lines(&place)), (Exit::Code(0), "out 1\n", 2));
}

#[test]
fn many_small_outputs_wait_for_an_earlier_job_and_nobody_stalls() {
    let place = Place::new();
    let first = "sh -c 'until [ -e go ]; do sleep 0.01; done; echo first'\n";
    let list = first.to_owned() + &"true\necho x\n".repeat(400) + "touch go\n";
    let outcome = xjobs(&place, &["-k", "-j2"], list);
    assert_eq!((outcome.exit, stdout(&outcome)), (Exit::Code(0), "first\n".to_owned() + &"x\n".repeat(400)));
}

#[test]
fn outputs_in_files_leave_descriptors_for_the_jobs_to_come() {
    let place = Place::new();
    let script =
        "ulimit -n 28; \"$mh\" xjobs -j2 --shell 'head -c 70000 /dev/zero; : {}' ::: $(seq 100) | { sleep 2; wc -c; }";
    let outcome = place.shell(script);
    assert_eq!((String::from_utf8_lossy(&outcome.stdout).trim(), said(&outcome).as_str()), ("7000000", ""));
}
