//! Divided copies in which something goes wrong: a worker dies, a signal comes, a source changes, a disk is full, a copy is not what was read.

use super::{succeeds, tree};
use crate::place::{Place, Running, binary, is_long, names_in, said, wait_until};
use crate::trees::described::assert_same;
use crate::trees::is_root;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::SystemTime;
use testkit::program::{Exit, left_out};

/// A copy of `src` to `there` under way, with its plan in `plan`.
fn begin(place: &Place) -> Running {
    let mut command = Command::new(binary());
    command.args(["cp", "-a", "--on", "local:2", "--spool-lease", "1", "--spool", "plan", "src", "there"]);
    command.current_dir(place.directory()).env("MH_CREW_DIR", "").env("MH_CONFIG", "").stdin(Stdio::null());
    Running { child: command.stderr(Stdio::null()).spawn().expect("the program starts") }
}

/// The parts that are whole, with when they were written.
fn parts(place: &Place) -> BTreeMap<String, SystemTime> {
    let names = fs::read_dir(place.path("plan/part")).map(|_| names_in(&place.path("plan/part"))).unwrap_or_default();
    let is_whole = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let written = |name: &String| fs::metadata(place.path("plan/part").join(name)).and_then(|part| part.modified());
    names.into_iter().filter(is_whole).map(|name| (name.clone(), written(&name).expect("there"))).collect()
}

/// Processes of workers that give signs of life.
fn workers(place: &Place) -> Vec<Pid> {
    let pid = |name: &String| name.rsplit('-').nth(1)?.parse().ok().and_then(Pid::from_raw);
    let alive = place.path("plan/run/alive");
    if alive.is_dir() { names_in(&alive).iter().filter_map(pid).collect() } else { Vec::new() }
}

#[test]
fn a_worker_that_is_killed_costs_nothing_but_time() {
    let place = Place::new();
    tree(&place, if is_long() { 250 } else { 24 });
    let mut running = begin(&place);
    wait_until("something is copied by two workers", || !parts(&place).is_empty() && workers(&place).len() == 2);
    for worker in workers(&place) {
        kill_process(worker, Signal::STOP).expect("it is there");
    }
    let [killed, other] = workers(&place)[..] else { panic!("two workers") };
    kill_process(killed, Signal::KILL).expect("it is there");
    kill_process(other, Signal::CONT).expect("it is there");
    assert_eq!(running.end().code(), Some(0));
    assert_same(&place.path("src"), &place.path("there"), "with one worker");
}

#[test]
fn what_a_signal_ended_goes_on_where_it_was() {
    let place = Place::new();
    tree(&place, 24);
    let mut running = begin(&place);
    wait_until("something is copied", || !parts(&place).is_empty());
    kill_process(Pid::from_child(&running.child), Signal::TERM).expect("it is there");
    assert_eq!(running.end().signal(), Some(Signal::TERM.as_raw()));
    let before = parts(&place);
    let planned = names_in(&place.path("plan/shard")).len();
    assert!(before.len() < planned, "{} of {planned} shards were copied", before.len());
    succeeds(&place, "$mh cp -a --on local:2 --spool-lease 1 --spool plan src there");
    let after = parts(&place);
    assert_eq!(after.len(), planned);
    assert!(before.iter().all(|(part, written)| after[part] == *written), "what was copied is not copied again");
    assert_same(&place.path("src"), &place.path("there"), "in two runs");
    let outcome = place.shell("$mh cp -r --on local:2 --spool plan src there");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).ends_with("as the spool: it has the plan of another command\n"), "{}", said(&outcome));
}

#[test]
fn a_source_that_changes_is_reported_by_name() {
    let place = Place::new();
    place.write("src/same", "same").write("src/short", "longer before").write("src/long", "short");
    place.write("src/gone", "gone").write("src/dated", "dated").write("src/swapped", "a file");
    fs::write(place.path("src/ranged"), vec![5; 3 << 20]).expect("written");
    let change = "cd src; echo no > short; echo longer than before > long; rm gone; touch -d 2001-01-01 dated; rm swapped; \
        mkfifo swapped; truncate -s 2100000 ranged";
    let outcome = place.shell(&format!(
        "$mh cp -r --plan-only --range 1M --spool plan src there > jobs; ({change}); sh jobs; echo $?; ls there"
    ));
    // The last job reads back what was copied.
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "0\nsame\n", "a file that was divided has no name yet");
    let said = said(&outcome);
    for line in [
        "'src/short' has changed since it was planned: it had 13 bytes, and has 3",
        "'src/long' has changed since it was planned: it had 5 bytes, and has 19",
        "cannot stat 'src/gone': No such file or directory",
        "'src/dated' has changed since it was planned: its time is another",
        "'src/swapped' has changed since it was planned: it is something else now",
        "'src/ranged' has changed since it was planned: it had 3,145,728 bytes, and has 2,100,000",
    ] {
        assert!(said.contains(&format!("mh cp: {line}\n")), "{line}: {said}");
    }
    let finished = String::from_utf8(place.read("plan/finished.json")).expect("text");
    assert_eq!(finished, "{\"missing\":6,\"failed\":0}\n");
}

#[test]
fn a_copy_that_is_not_what_was_read_is_found() {
    let place = Place::new();
    place.write("src/a", "as it is").write("src/b", "b");
    let script = "$mh cp -r --plan-only --spool plan src there > jobs; grep -v verify jobs > copy; grep verify jobs > verify; \
        SLURMD_NODENAME=one sh copy || exit 9; SLURMD_NODENAME=two sh verify || exit 8; cat plan/verified/*; printf 'as it if' > there/a; : > there/b; sh verify";
    let outcome = place.shell(script);
    let expected =
        "mh cp: 'there/a' is not what was read from 'src/a'\nmh cp: 'there/b' is not what was read from 'src/b'\n";
    assert_eq!((outcome.exit, sorted(&said(&outcome))), (Exit::Code(1), sorted(expected)));
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_full_target_is_an_error_of_the_files_that_it_has_no_room_for() {
    if !is_root() {
        return left_out("only root mounts a small disk");
    }
    let place = Place::new();
    for file in 0..40 {
        fs::write(place.path(format!("file{file}")), vec![1; 50_000]).expect("written");
    }
    let script = "mkdir disk && mount -t tmpfs -o size=1m none disk || exit 77\n\
        $mh cp --on local:2 --spool plan file* disk; echo $?; ls disk | wc -l; rm file2* file3*; rm disk/*;\n\
        $mh cp --on local:2 --spool plan2 file* disk; echo $?";
    let outcome = place.shell(&format!("unshare -m sh -c '{script}'"));
    if outcome.exit == Exit::Code(77) {
        return left_out("nothing can be mounted here");
    }
    let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2]), ("1", "0"), "{printed} {}", said(&outcome));
    assert!(said(&outcome).contains("No space left on device"), "{}", said(&outcome));
    assert!((1..40).contains(&lines[1].trim().parse::<u32>().expect("a number")), "{printed}");
}
