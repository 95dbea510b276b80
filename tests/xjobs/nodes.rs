//! `--on`: the same list through a spool and workers, here on this machine (`local:N`). Workers and submitters are killed, stopped and
//! asked to end; every job is done once for whoever counts, and what is printed is what one machine prints.

use super::ends::marked;
use super::{stdout, xjobs};
use crate::place::{Place, Running, binary, is_long, names_in, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use testkit::program::Exit;
use testkit::random::Random;

/// A job leaves a line with its number and takes a moment.
pub(super) const MARKED: &str = "echo $1 >> log; sleep 0.0$(($1 % 4)); echo out $1";

/// The same, slow enough to be interrupted.
pub(super) const SLOW: &str = "echo $1 >> log; sleep 0.1; echo out $1";

pub(super) fn numbers(count: usize) -> String {
    (1..=count).map(|number| format!("{number}\n")).collect()
}

/// Starts a submitter; it prints into a file.
fn start(place: &Place, arguments: &[&str], list: &str) -> Running {
    let child = submission(place, arguments, list).spawn().expect("the program starts");
    Running { child }
}

/// The same, not yet started.
pub(super) fn submission(place: &Place, arguments: &[&str], list: &str) -> Command {
    place.write("list", list);
    // Whoever runs the tests in the background may have some of these ignored, and a child inherits that.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(binary()).args(["xjobs", "-s", "list"]).args(arguments);
    let file = |name| std::fs::File::options().create(true).append(true).open(place.path(name)).expect("it is ours");
    command.current_dir(place.directory()).env("MH_CREW_DIR", "").stdin(Stdio::null());
    command.stdout(file("printed")).stderr(file("said"));
    command
}

/// Processes of workers of this spool: the runners, not their guards.
fn workers(place: &Place) -> Vec<Pid> {
    let spool = place.path("s").to_string_lossy().into_owned();
    let runners = marked(&spool).into_iter().filter(|process| {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let parent = status.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<i32>().ok());
        let line = |process: i32| std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let is_worker = |line: Vec<u8>| String::from_utf8_lossy(&line).contains("--worker-run");
        is_worker(line(*process)) && parent.is_some_and(|parent| is_worker(line(parent)))
    });
    runners.filter_map(Pid::from_raw).collect()
}

/// How often each job left its line.
pub(super) fn runs(place: &Place) -> BTreeMap<u64, usize> {
    let mut runs = BTreeMap::new();
    for line in String::from_utf8(place.read("log")).expect("numbers").lines() {
        *runs.entry(line.parse().expect("a number")).or_default() += 1;
    }
    runs
}

pub(super) fn done(place: &Place) -> usize {
    if place.has("s/done") { names_in(&place.path("s/done")).len() } else { 0 }
}

pub(super) fn no_spool_is_left(place: &Place) -> bool {
    !place.names().iter().any(|name| name.starts_with(".mh-xjobs"))
}

#[test]
fn outputs_messages_and_exit_codes_are_those_of_one_machine() {
    let place = Place::new();
    let script = "echo out $1; echo err $1 >&2; exit $(($1 % 3 == 0))";
    let arguments = ["-k", "--tag", "sh", "-c", script, "sh"];
    let here = xjobs(&place, &arguments, numbers(30));
    let there = xjobs(&place, &[&["--on", "local:3"], &arguments[..]].concat(), numbers(30));
    assert_eq!((stdout(&there), there.exit), (stdout(&here), Exit::Code(1)));
    let sorted = |text: String| {
        let mut lines: Vec<String> =
            text.lines().map(|line| line.split(" (on ").next().expect("one").to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(said(&there)), sorted(said(&here)));
    assert!(no_spool_is_left(&place), "{:?}", place.names());
    let nothing = xjobs(&place, &["--on", "local:2", "true"], "");
    assert_eq!((stdout(&nothing).as_str(), nothing.exit), ("", Exit::Code(0)));
}

#[test]
fn words_are_the_same_whatever_bytes_they_hold() {
    let place = Place::new();
    let list = b"a b\0c\nd\0it's $x\0\xff\xfe\0%%\0{\"argv\":[]}\0";
    let arguments = ["-0", "-k", "printf", "[%s]"];
    let here = xjobs(&place, &arguments, list);
    let there = xjobs(&place, &[&["--on", "local:2"], &arguments[..]].concat(), list);
    assert_eq!((there.stdout, there.exit), (here.stdout, Exit::Code(0)));
    let list = "{\"argv\":[\"sh\",\"-c\",\"echo $X; cat; pwd >&2\"],\"env\":{\"X\":\"y\"},\"stdin\":\"list\",\"cwd\":\"/\",\"stdout\":\"DIR/o\"}\n";
    let list =
        list.replace("list", &place.path("in").to_string_lossy()).replace("DIR", &place.directory().to_string_lossy());
    place.write("in", "text\n");
    let record = xjobs(&place, &["--on", "local:1"], list);
    assert_eq!((record.exit, place.read("o"), said(&record)), (Exit::Code(0), b"y\ntext\n".to_vec(), "/\n".to_owned()));
}

#[test]
fn barriers_and_after_hold_among_workers() {
    let place = Place::new();
    let list = "sh -c 'sleep 0.3; echo a >> log'\nsh -c 'echo a >> log'\n%%\nsh -c 'echo b >> log'\nsh -c 'echo b >> log'\n%%\nsh -c 'echo c >> log'\n";
    assert_eq!(xjobs(&place, &["--on", "local:3"], list).exit, Exit::Code(0));
    assert_eq!(place.read("log"), b"a\na\nb\nb\nc\n");
    let list = "{\"id\":\"x\",\"argv\":[\"sh\",\"-c\",\"sleep 0.3; echo x >> log2\"]}\n\
        {\"argv\":[\"sh\",\"-c\",\"echo z >> log2\"],\"after\":[\"x\"]}\n{\"id\":\"f\",\"argv\":[\"false\"]}\n\
        {\"argv\":[\"touch\",\"never\"],\"after\":[\"f\"]}\n";
    let outcome = xjobs(&place, &["--on", "local:3"], list);
    assert_eq!((place.read("log2"), place.has("never"), outcome.exit), (b"x\nz\n".to_vec(), false, Exit::Code(1)));
    assert!(said(&outcome).contains("could not start job 4"), "{}", said(&outcome));
}

#[test]
fn the_journal_is_that_of_one_machine_and_either_goes_on_from_it() {
    let place = Place::new();
    place.write("ok", "");
    let script = "echo $1 >> log; test -e ok || exit $(($1 % 2))";
    std::fs::remove_file(place.path("ok")).expect("ours");
    let common = ["--journal", "j", "sh", "-c", script, "sh"];
    let on = |more: &[&'static str]| [&["--on", "local:2"], more, &common[..]].concat();
    let first = xjobs(&place, &on(&[]), numbers(8));
    assert_eq!((first.exit, runs(&place).len()), (Exit::Code(1), 8));
    let ends =
        String::from_utf8(place.read("j")).expect("text").lines().filter(|line| line.contains("\"outcome\"")).count();
    assert_eq!(ends, 8);
    place.write("ok", "");
    assert_eq!(xjobs(&place, &[&["--resume-failed"], &common[..]].concat(), numbers(8)).exit, Exit::Code(0));
    assert_eq!(runs(&place).values().sum::<usize>(), 12, "half of them failed");
    assert_eq!(xjobs(&place, &on(&["--resume"]), numbers(10)).exit, Exit::Code(0));
    assert_eq!((runs(&place).values().sum::<usize>(), runs(&place)[&10]), (14, 1));
}

#[test]
fn killed_workers_cost_time_and_no_job() {
    let place = Place::new();
    let count = if is_long() { 400 } else { 60 };
    let mut running = start(
        &place,
        &["-k", "--on", "local:3", "--spool", "s", "--lease", "1", "sh", "-c", MARKED, "sh"],
        &numbers(count),
    );
    let mut random = Random::seeded(11);
    let mut killed = 0;
    while killed < if is_long() { 20 } else { 4 } && running.child.try_wait().expect("ours").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(30 + random.below(300) as u64));
        let workers = workers(&place);
        if let Some(worker) = workers.get(random.below(workers.len().max(1))) {
            let _it_may_have_ended = kill_process(*worker, Signal::KILL);
            killed += 1;
        }
    }
    assert_eq!(running.end().code(), Some(0), "{}", String::from_utf8_lossy(&place.read("said")));
    let runs = runs(&place);
    assert_eq!(runs.len(), count, "none is lost");
    let again = runs.values().filter(|count| **count > 1).count();
    assert!(again <= killed * 8, "only what was under way is run again: {again}");
}

#[test]
fn a_stopped_worker_is_taken_for_dead_and_does_no_harm_when_it_goes_on() {
    let place = Place::new();
    let arguments = ["--on", "local:2", "--spool", "s", "--lease", "0.5", "sh", "-c", MARKED, "sh"];
    let mut running = start(&place, &arguments, &numbers(40));
    wait_until("some are done", || done(&place) > 3);
    let stopped = *workers(&place).first().expect("two work");
    kill_process(stopped, Signal::STOP).expect("it works");
    wait_until("the other one does all", || done(&place) == 40 || running.child.try_wait().expect("ours").is_some());
    let _it_may_have_been_ended = kill_process(stopped, Signal::CONT);
    assert_eq!(running.end().code(), Some(0));
    assert_eq!((runs(&place).len(), done(&place)), (40, 40));
    wait_until("it ends", || workers(&place).is_empty());
    assert_eq!(names_in(&place.path("s/part")), Vec::<String>::new());
}

#[test]
fn a_submitter_that_is_gone_is_replaced_by_one_that_attaches() {
    let place = Place::new();
    let arguments = ["--on", "local:2", "--spool", "s", "--journal", "j", "sh", "-c", MARKED, "sh"];
    let mut running = start(&place, &arguments, &numbers(50));
    wait_until("some are done", || done(&place) > 5);
    kill_process(Pid::from_child(&running.child), Signal::KILL).expect("it runs");
    running.end();
    let attached = xjobs(&place, &["--attach", "s", "-k"], "");
    let expected: String = (1..=50).map(|number| format!("out {number}\n")).collect();
    assert_eq!((stdout(&attached), attached.exit), (expected, Exit::Code(0)), "{}", said(&attached));
    assert!(runs(&place).values().all(|count| *count == 1) && runs(&place).len() == 50);
    let ends =
        String::from_utf8(place.read("j")).expect("text").lines().filter(|line| line.contains("\"outcome\"")).count();
    assert_eq!(ends, 50);
    assert!(said(&xjobs(&place, &["--attach", "nothing"], "")).contains("it has no run.json"));
}

#[test]
fn the_first_interrupt_drains_and_the_same_command_does_the_rest() {
    let place = Place::new();
    let arguments = ["--on", "local:2", "--spool", "s", "sh", "-c", SLOW, "sh"];
    let mut running = start(&place, &arguments, &numbers(60));
    wait_until("some are done", || done(&place) > 5);
    kill_process(Pid::from_child(&running.child), Signal::INT).expect("it runs");
    running.end();
    let told = String::from_utf8(place.read("said")).expect("text");
    assert!(told.contains("no more jobs start") && told.contains("with --spool"), "{told}");
    let before = runs(&place);
    assert!(before.len() < 60 && before.values().all(|count| *count == 1), "{before:?}");
    assert!(workers(&place).is_empty());
    let other = xjobs(&place, &["--on", "local:2", "--spool", "s", "sh", "-c", SLOW, "sh"], numbers(61));
    assert!(said(&other).contains("it has another list or command"), "{}", said(&other));
    let rest = xjobs(&place, &arguments, numbers(60));
    assert_eq!(rest.exit, Exit::Code(0), "{}", said(&rest));
    let after = runs(&place);
    assert!(after.len() == 60 && after.values().all(|count| *count == 1), "{after:?}");
    let printed = stdout(&rest).lines().count();
    assert!(printed >= 60 - before.len() && printed < 60, "what was printed before is not printed again: {printed}");
    let third = xjobs(&place, &arguments, numbers(60));
    assert_eq!((stdout(&third).as_str(), third.exit, runs(&place)), ("", Exit::Code(0), after));
}

#[test]
fn the_second_interrupt_ends_the_jobs() {
    let place = Place::new();
    let arguments = ["--on", "local:2", "--spool", "s", "sleep"];
    let mut running = start(&place, &arguments, "1000\n1001\n1002\n");
    wait_until("jobs run", || !marked("1000").is_empty() && workers(&place).len() == 2);
    let submitter = Pid::from_child(&running.child);
    kill_process(submitter, Signal::INT).expect("it runs");
    wait_until("it drains", || place.has("s/stop"));
    kill_process(submitter, Signal::INT).expect("it runs");
    running.end();
    wait_until("workers end", || workers(&place).is_empty());
    wait_until("jobs end", || marked("1001").iter().all(|process| *process == std::process::id().cast_signed()));
}

#[test]
fn two_submitters_of_one_spool_do_the_list_once() {
    let place = Place::new();
    let arguments = ["--on", "local:2", "--spool", "s", "sh", "-c", MARKED, "sh"];
    let mut first = start(&place, &arguments, &numbers(40));
    let mut second = start(&place, &arguments, &numbers(40));
    assert_eq!((first.end().code(), second.end().code()), (Some(0), Some(0)));
    assert!(runs(&place).len() == 40 && runs(&place).values().all(|count| *count == 1));
}

#[test]
fn a_rule_of_halt_holds_for_all_workers() {
    let place = Place::new();
    let script = "echo $1 >> log; sleep 0.2; test $1 != 2";
    let soon = xjobs(&place, &["--on", "local:2", "--halt", "soon,fail=1", "sh", "-c", script, "sh"], numbers(200));
    assert_eq!(soon.exit, Exit::Code(1));
    assert!(runs(&place).len() < 100 && said(&soon).contains("--halt soon,fail=1 is met"), "{}", said(&soon));
    let well = xjobs(&place, &["--on", "local:2", "--halt", "now,success=3", "sleep"], "0.1\n0.1\n0.1\n1000\n1000\n");
    assert_eq!(well.exit, Exit::Code(0), "{}", said(&well));
}

#[test]
fn workers_whose_time_is_over_are_followed_by_others() {
    let place = Place::new();
    let script = "echo $1 >> log; sleep 0.2";
    let arguments = ["--on", "local:2", "--time", "2", "--spool", "s", "sh", "-c", script, "sh"];
    let outcome = xjobs(&place, &arguments, numbers(30));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert!(runs(&place).len() == 30 && runs(&place).values().all(|count| *count == 1), "{:?}", runs(&place));
    assert!(names_in(&place.path("s/log")).len() > 2, "others followed");
}

#[test]
fn a_full_disk_below_the_spool_is_an_error_and_what_is_left_can_be_done() {
    let place = Place::new();
    let script = "mkdir disk && mount -t tmpfs -o size=400k none disk || exit 77\n\
        seq 1 40 | \"$mh\" xjobs --on local:2 --spool disk/s sh -c 'head -c 30000 /dev/zero' > out 2> said\n\
        code=$?; pgrep -f disk/s > left; umount disk; exit $code";
    let outcome = place.shell(&format!("unshare -m sh -c '{}'", script.replace('\'', "'\\''")));
    if outcome.exit == Exit::Code(77) {
        return testkit::program::left_out("a full disk below a spool: only root may mount one");
    }
    assert_eq!(outcome.exit, Exit::Code(1), "{}", String::from_utf8_lossy(&place.read("said")));
    assert!(place.read("out").len() < 40 * 30000);
    let said = String::from_utf8(place.read("said")).expect("text");
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn a_worker_of_another_run_or_without_its_directory_refuses() {
    let place = Place::new();
    let arguments = ["--on", "local:1", "--spool", "s", "true"];
    assert_eq!(xjobs(&place, &arguments, "1\n").exit, Exit::Code(0));
    let worker = |spool: &str, run: &str| xjobs(&place, &["--worker", spool, "--worker-run", run], "");
    let other = worker("s", "other");
    assert_eq!(other.exit, Exit::Code(1));
    assert!(said(&other).contains("this node sees another directory by that name"), "{}", said(&other));
    assert!(said(&worker("nowhere", "x")).contains("could not use nowhere as a spool"));
}

#[test]
fn what_means_nothing_on_other_machines_is_refused_before_anything_is_made() {
    let place = Place::new();
    for (arguments, words) in [
        (&["--on", "pbs", "true"][..], "slurm, slurm:PARTITION, ssh:HOST,HOST, local:N and auto are known"),
        (&["--on", "local:0", "true"], "a number from 1 to 256"),
        (&["--on", "local:2", "-u", "true"], "-u does not go with --on"),
        (&["--on", "local:2", "--joblog", "l", "true"], "--journal has all workers' jobs"),
        (&["--on", "local:2", "true", ">", "o"], "does not go with --on"),
        (&["--nodes", "2", "true"], "--on"),
    ] {
        let outcome = xjobs(&place, arguments, "1\n");
        assert_eq!(outcome.exit, Exit::Code(2), "{arguments:?}");
        assert!(said(&outcome).contains(words), "{arguments:?}: {}", said(&outcome));
    }
    let bad = xjobs(&place, &["--on", "local:2", "true"], "a\n\"b\n");
    assert!(said(&bad).contains("line 2") && said(&bad).contains("nothing was run"), "{}", said(&bad));
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn a_plan_says_chunks_workers_and_time() {
    let place = Place::new();
    assert_eq!(xjobs(&place, &["--journal", "j", "sleep"], "0.02\n0.02\n").exit, Exit::Code(0));
    let explained =
        xjobs(&place, &["--on", "local:2", "--journal", "j", "--explain", "sleep"], "0.02\n0.02\n%%\n0.02\n");
    let text = stdout(&explained) + &said(&explained);
    for words in ["2 by local", "3 chunks, 2 stages by %%", "1 node 0.1 s of work", "by the journal's times"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(no_spool_is_left(&place));
}

#[test]
fn after_reaches_over_a_barrier() {
    let place = Place::new();
    let list = "{\"id\":\"a\",\"argv\":[\"true\"]}\n{\"id\":\"f\",\"argv\":[\"false\"]}\n%%\n\
        {\"argv\":[\"touch\",\"ran\"],\"after\":[\"a\"]}\n{\"argv\":[\"touch\",\"never\"],\"after\":[\"f\"]}\n\
        {\"argv\":[\"touch\",\"neither\"],\"after\":[\"nobody\"]}\n";
    let here = xjobs(&place, &[] as &[&str], list);
    assert!(place.has("ran"));
    std::fs::remove_file(place.path("ran")).expect("ours");
    let there = xjobs(&place, &["--on", "local:2"], list);
    assert_eq!((place.has("ran"), place.has("never"), place.has("neither")), (true, false, false), "{}", said(&there));
    assert_eq!(there.exit, here.exit);
    for words in ["'f', which it waits for, failed", "'nobody' in its after is no earlier job"] {
        assert!(said(&there).contains(words) && said(&here).contains(words), "{}", said(&there));
    }
}

#[test]
fn what_was_not_printed_in_its_turn_is_printed_by_who_goes_on() {
    let place = Place::new();
    let script = "test $1 = 1 && sleep 2; echo out $1";
    let arguments = ["-k", "--on", "local:2", "--spool", "s", "sh", "-c", script, "sh"];
    let mut running = start(&place, &arguments, &numbers(8));
    wait_until("all but the first are done", || done(&place) >= 7);
    kill_process(Pid::from_child(&running.child), Signal::KILL).expect("it runs");
    running.end();
    let rest = xjobs(&place, &arguments, numbers(8));
    let expected: String = (1..=8).map(|number| format!("out {number}\n")).collect();
    let printed = String::from_utf8(place.read("printed")).expect("text") + &stdout(&rest);
    assert_eq!((printed, rest.exit), (expected, Exit::Code(0)), "{}", said(&rest));
}

#[test]
fn a_result_that_meets_a_rule_is_printed_and_counts() {
    let place = Place::new();
    let arguments = ["--on", "local:1", "--halt", "now,success=1", "sh", "-c", "echo ok $1; sleep 0.05", "sh"];
    let well = xjobs(&place, &arguments, numbers(200));
    assert!(stdout(&well).starts_with("ok ") && well.exit == Exit::Code(0), "{}{}", stdout(&well), said(&well));
    let arguments = ["--on", "local:1", "--halt", "now,fail=1", "sh", "-c", "echo err >&2; sleep 0.05; exit 7", "sh"];
    let failed = xjobs(&place, &arguments, numbers(200));
    assert!(said(&failed).contains("exit code 7") && said(&failed).contains("err\n"), "{}", said(&failed));
    assert_eq!(failed.exit, Exit::Code(1));
}

#[test]
fn failures_before_are_not_forgotten_by_who_goes_on() {
    let place = Place::new();
    let arguments = ["--on", "local:1", "--spool", "s", "false"];
    assert_eq!(xjobs(&place, &arguments, "1\n2\n").exit, Exit::Code(1));
    let again = xjobs(&place, &arguments, "1\n2\n");
    assert_eq!(again.exit, Exit::Code(1));
    assert!(said(&again).contains("2 jobs failed before this submission"), "{}", said(&again));
    let other = xjobs(&place, &["--on", "local:1", "--spool", "s", "--shell", "false"], "1\n2\n");
    assert!(said(&other).contains("it has another list or command"), "{}", said(&other));
    place.write("full/of", "things");
    let occupied = xjobs(&place, &["--on", "local:1", "--spool", "full", "true"], "1\n");
    assert!(said(&occupied).contains("it has other files, such as of"), "{}", said(&occupied));
    assert_eq!(names_in(&place.path("full")), ["of"]);
}

#[test]
fn who_attaches_elsewhere_finishes_the_run_and_its_journal() {
    let place = Place::new();
    std::fs::create_dir(place.path("elsewhere")).expect("ours");
    let arguments = ["--on", "local:2", "--lease", "1", "--journal", "j", "sh", "-c", SLOW, "sh"];
    let mut running = start(&place, &arguments, &numbers(30));
    let spool = || place.names().into_iter().find(|name| name.starts_with(".mh-xjobs"));
    wait_until("some are done", || {
        spool().is_some_and(|spool| {
            place.has(format!("{spool}/done")) && names_in(&place.path(format!("{spool}/done"))).len() > 3
        })
    });
    kill_process(Pid::from_child(&running.child), Signal::KILL).expect("it runs");
    running.end();
    let spool = spool().expect("it is there");
    let mark = place.path(&spool).to_string_lossy().into_owned();
    // All workers are gone: who attaches has others started.
    for process in marked(&mark) {
        let _guard_or_worker = Pid::from_raw(process).map(|process| kill_process(process, Signal::KILL));
    }
    let program = testkit::program::TestProgram::at(binary()).in_directory(place.path("elsewhere"));
    let attached = program.with_variable("MH_CREW_DIR", "").run(["xjobs", "--attach", &mark], b"").expect("it starts");
    assert_eq!((attached.exit, stdout(&attached).lines().count()), (Exit::Code(0), 30), "{}", said(&attached));
    let ends =
        String::from_utf8(place.read("j")).expect("text").lines().filter(|line| line.contains("\"outcome\"")).count();
    assert_eq!((ends, place.has("elsewhere/j"), no_spool_is_left(&place)), (30, false, true));
}

#[test]
fn a_reader_that_leaves_ends_the_run_and_its_spool() {
    let place = Place::new();
    let script =
        "seq 400 | \"$mh\" xjobs --on local:2 sh -c 'echo $1 >> log; sleep 0.1; echo $1' sh | head -n 1 > first";
    assert_eq!(said(&place.shell(script)), "");
    assert_eq!(place.read("first").iter().filter(|&&byte| byte == b'\n').count(), 1);
    assert!(no_spool_is_left(&place) && runs(&place).len() < 400, "{:?}", place.names());
}

#[test]
fn a_spool_of_somebody_else_is_not_used() {
    let place = Place::new();
    let arguments = ["--on", "local:1", "--spool", "s", "true"];
    assert_eq!(xjobs(&place, &arguments, "1\n").exit, Exit::Code(0));
    std::fs::set_permissions(place.path("s"), std::fs::Permissions::from_mode(0o777)).expect("ours");
    let refused = xjobs(&place, &arguments, "1\n");
    assert!(said(&refused).contains("others may write to it") && refused.exit == Exit::Code(1), "{}", said(&refused));
    assert!(said(&xjobs(&place, &["--attach", "s"], "")).contains("others may write to it"));
}
