//! Ends of jobs and of runs: exit codes, retries, timeouts, signals, kills, and going on after them.

use super::{stdout, xjobs};
use crate::place::{Place, Running, binary, child_of, said, wait_until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use testkit::program::{Exit, TestProgram, left_out};

pub(super) fn start(place: &Place, arguments: &[&str], list: &str) -> Running {
    place.write("list", list);
    // Whoever runs the tests in the background may have some of these ignored, and a child inherits that.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(binary());
    command.args(["xjobs", "-s", "list"]).args(arguments).current_dir(place.directory()).env("MH_CREW_DIR", "");
    let said = std::fs::File::options().create(true).append(true).open(place.path("said")).expect("it is ours");
    Running { child: command.stdin(Stdio::null()).stderr(said).spawn().expect("the program starts") }
}

fn send(running: &Running, signal: Signal) {
    kill_process(Pid::from_child(&running.child), signal).expect("it has not been waited for");
}

/// Processes with `mark` in their command line.
pub(super) fn marked(mark: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("Linux has it");
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let has_mark = |number: &i32| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    numbers.filter(has_mark).collect()
}

#[test]
fn exit_codes_say_whether_all_went_well() {
    let place = Place::new();
    assert_eq!(xjobs(&place, &["true"], "1\n2\n").exit, Exit::Code(0));
    assert_eq!(xjobs(&place, &["-j1", "sh", "-c", "exit $1", "sh"], "0\n3\n").exit, Exit::Code(1));
    assert_eq!(xjobs(&place, &["no-such-program"], "1\n").exit, Exit::Code(1));
    assert_eq!(xjobs(&place, &["-j", "many", "true"], "").exit, Exit::Code(2));
    assert_eq!(xjobs::<&str>(&place, &[], "").exit, Exit::Code(0));
}

#[test]
fn halt_stops_soon_or_now() {
    let place = Place::new();
    let soon = xjobs(&place, &["-j1", "--halt", "soon,fail=1", "sh", "-c", "echo $1; exit $1", "sh"], "0\n1\n0\n");
    assert_eq!((stdout(&soon).as_str(), soon.exit), ("0\n1\n", Exit::Code(1)));
    let now = xjobs(&place, &["-j2", "--halt", "now,fail=1", "sh", "-c", "sleep $1; exit 1", "sh"], "0.1\n1000\n");
    assert_eq!(now.exit, Exit::Code(1));
    assert!(said(&now).contains("--halt now,fail=1 is met; ending 1 job\n"), "{}", said(&now));
}

#[test]
fn what_runs_on_after_a_halt_is_still_told_in_the_lists_order() {
    let place = Place::new();
    let script = "test $1 = 1 && sleep 0.5; echo $1; test $1 != 2";
    let soon = xjobs(&place, &["-k", "-j2", "--halt", "soon,fail=1", "sh", "-c", script, "sh"], "1\n2\n3\n4\n");
    assert_eq!((stdout(&soon).as_str(), soon.exit), ("1\n2\n", Exit::Code(1)), "{}", said(&soon));
}

#[test]
fn what_halt_waited_for_is_no_failure() {
    let place = Place::new();
    for rule in ["now,success=1", "now,done=1"] {
        let now = xjobs(&place, &["-j2", "--halt", rule, "sleep"], "0.1\n1000\n");
        assert_eq!(now.exit, Exit::Code(0), "{rule}: {}", said(&now));
        assert!(
            said(&now).contains("job 2 was stopped: sleep 1000") && !said(&now).contains("failed"),
            "{}",
            said(&now)
        );
    }
    let exits =
        |rule: &str, list: &str| xjobs(&place, &["-j1", "--halt", rule, "sh", "-c", "exit $1", "sh"], list).exit;
    assert_eq!(exits("now,success=1", "3\n0\n0\n"), Exit::Code(0), "one has succeeded");
    assert_eq!(exits("soon,success=2", "3\n0\n3\n"), Exit::Code(1), "never met");
    assert_eq!(exits("now,done=1", "3\n0\n"), Exit::Code(1), "what has ended has failed");
}

#[test]
fn a_job_that_takes_too_long_is_ended_with_all_of_its_group() {
    let place = Place::new();
    let mark = format!("1234.{}", std::process::id());
    let outcome = xjobs(
        &place,
        &["--timeout", "0.2", "--shell", "(trap '' TERM; sleep {} & wait; sleep {}); true"],
        format!("{mark}\n"),
    );
    assert_eq!(outcome.exit, Exit::Code(1));
    wait_until("the sleepers are gone", || marked(&mark).is_empty());
}

#[test]
fn what_left_the_group_of_a_job_that_takes_too_long_is_ended_too() {
    let place = Place::new();
    let mark = |number: u32| format!("{number}234.{}", std::process::id());
    // One in a session of its own; one that hears no TERM; one that its parent has left alone; and a daemon of an earlier job.
    let jobs = format!(
        "(setsid sleep {} > /dev/null 2>&1 &)\n\
         setsid sleep {} & setsid sh -c \"trap '' TERM; sleep {}; sleep {}\" & (setsid sleep {} &) ; sleep 60\n",
        mark(5),
        mark(6),
        mark(7),
        mark(7),
        mark(8)
    );
    let program =
        TestProgram::at(binary()).in_directory(place.directory()).with_variable("MH_CREW_DIR", place.path("crew"));
    let arguments = ["xjobs", "-j1", "--timeout", "1", "--shell"];
    let outcome = program.run(arguments, jobs.as_bytes()).expect("the program starts");
    assert_eq!(outcome.exit, Exit::Code(1));
    for number in [6, 7, 8] {
        wait_until("the sleepers are gone", || marked(&mark(number)).is_empty());
    }
    let daemons = marked(&mark(5));
    assert_eq!(daemons.len(), 1, "another job's daemon goes on");
    let daemon = Pid::from_raw(daemons[0]).expect("above 0");
    kill_process(daemon, Signal::KILL).expect("it is ours");
}

#[test]
fn failures_are_tried_again_as_often_as_asked() {
    let place = Place::new();
    let script = "echo x >> tries; test $(wc -l < tries) -ge 3 && echo done";
    let outcome = xjobs(&place, &["--retries", "4", "sh", "-c", script], "x\n");
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), "done\n"));
    assert_eq!(place.read("tries"), b"x\nx\nx\n");
}

#[test]
fn retries_are_runs_in_all_and_in_a_record_those_after_the_first() {
    let place = Place::new();
    let runs = |arguments: &[&str], list: &str| {
        let outcome = xjobs(&place, arguments, list);
        let runs = place.read("tries").len() / 2;
        std::fs::remove_file(place.path("tries")).expect("it is there");
        (outcome.exit, runs)
    };
    let list = "sh -c 'echo x >> tries; exit 1'\n";
    for (retries, expected) in [("1", 1), ("2", 2), ("3", 3)] {
        assert_eq!(runs(&["--retries", retries], list), (Exit::Code(1), expected), "--retries {retries}");
    }
    let until_it_succeeds = "sh -c 'echo x >> tries; test $(wc -l < tries) = 5'\n";
    assert_eq!(runs(&["--retries", "0"], until_it_succeeds), (Exit::Code(0), 5));
    let record = "{\"shell\":\"echo x >> tries; exit 1\",\"retries\":2}\n";
    assert_eq!(runs(&["--retries", "7"], record), (Exit::Code(1), 3));
    let plan = stdout(&xjobs(&place, &["--retries", "3", "--explain", "true"], ""));
    assert!(plan.contains("run 3 times at most where they fail"), "{plan}");
}

#[test]
fn a_signal_that_means_nothing_to_the_run_ends_it_in_order() {
    let place = Place::new();
    let script = "trap 'echo ended >> log; exit' TERM; echo begun >> log; while :; do sleep 0.05; done";
    let mut running = start(&place, &["-j1", "--journal", "j", "sh", "-c", script, "sh"], "1\n2\n");
    wait_until("the job has begun", || place.has("log"));
    send(&running, Signal::ALARM);
    running.end();
    // The guard has gone by it; the runner hears of that.
    wait_until("the job's end is noted", || {
        String::from_utf8_lossy(&place.read("j")).contains("\"outcome\":\"stopped\"")
    });
    assert_eq!(place.read("log"), b"begun\nended\n");
}

#[test]
fn order_among_jobs_is_kept() {
    let place = Place::new();
    let list = "{\"argv\":[\"sh\",\"-c\",\"sleep 0.2; echo a\"],\"id\":\"a\"}\n\
                { \"argv\" : [\"echo\",\"b\"],\"after\":[\"a\"]}\necho c\n%%\necho d\n";
    let outcome = xjobs::<&str>(&place, &["-j3"], list);
    assert_eq!(stdout(&outcome), "c\na\nb\nd\n");
    let failed = "{\"argv\":[\"false\"],\"id\":1}\n{\"argv\":[\"echo\",\"never\"],\"after\":[1]}\n";
    let outcome = xjobs::<&str>(&place, &["-j3"], failed);
    assert!(said(&outcome).contains("'1', which it waits for, failed"), "{}", said(&outcome));
    assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(1), ""));
}

#[test]
fn a_circle_is_an_error_that_names_it_whatever_is_read_ahead() {
    let place = Place::new();
    let list = [
        "{\"argv\":[\"echo\",\"1\"],\"id\":\"a\",\"after\":[\"b\"]}",
        "{\"argv\":[\"echo\",\"2\"],\"id\":\"b\",\"after\":[\"a\"]}",
    ];
    let at_once = xjobs::<&str>(&place, &["-j2"], list.join("\n"));
    place.write("first", list[0].to_owned() + "\n").write("second", list[1].to_owned() + "\n%%\necho 3\n");
    let slowly = place.shell("{ cat first; sleep 0.3; cat second; } | \"$mh\" xjobs -j2");
    for (outcome, output) in [(at_once, ""), (slowly, "3\n")] {
        assert!(
            said(&outcome).contains("start job 1: echo 1: 'b' in its after is no earlier job"),
            "{}",
            said(&outcome)
        );
        assert!(said(&outcome).contains("start job 2: echo 2: 'a', which it waits for, failed"), "{}", said(&outcome));
        assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(1), output));
    }
    let itself = xjobs::<&str>(&place, &[], "{\"argv\":[\"true\"],\"id\":7,\"after\":[7]}\n");
    assert!(said(&itself).contains("'7' in its after is the job itself"), "{}", said(&itself));
}

#[test]
fn a_barrier_that_nothing_follows_keeps_nobody_waiting() {
    let place = Place::new();
    let many = format!("{}echo b\n", "%%\n".repeat(3000));
    let lists = [("%%\n", ""), ("echo a\n%%\n", "a\n"), ("%%\n%%\necho a\n%%", "a\n"), (many.as_str(), "b\n")];
    for (list, printed) in lists {
        for read_ahead in ["1", "1000"] {
            place.write("list", list);
            let outcome = place.shell(&format!("timeout 60 \"$mh\" xjobs -q {read_ahead} -s list"));
            assert_eq!((outcome.exit, stdout(&outcome).as_str()), (Exit::Code(0), printed), "-q {read_ahead}");
        }
    }
    let failed = place.shell("printf 'no-such-program\n%%%%\n' | timeout 60 \"$mh\" xjobs");
    assert_eq!(failed.exit, Exit::Code(1), "{}", said(&failed));
}

#[test]
fn once_interrupted_no_job_starts_twice_they_end() {
    let place = Place::new();
    let mark = format!("1235.{}", std::process::id());
    let mut running = start(&place, &["-j1", "sh", "-c", "echo $1 >> log; sleep 0.5", "sh"], "1\n2\n3\n");
    wait_until("a job runs", || place.has("log"));
    send(&running, Signal::INT);
    assert_eq!(running.end().signal(), Some(2));
    assert_eq!(place.read("log"), b"1\n", "the first ended by itself, no other started");
    let mut running = start(&place, &["sleep"], &format!("{mark}\n"));
    wait_until("a job runs", || !marked(&mark).is_empty());
    send(&running, Signal::INT);
    send(&running, Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(50));
    send(&running, Signal::INT);
    assert_eq!(running.end().signal(), Some(2));
    assert!(marked(&mark).is_empty());
}

#[test]
fn no_job_outlives_a_killed_runner() {
    for kills_guard in [true, false] {
        let place = Place::new();
        let mark = format!("1236{}.{}", u8::from(kills_guard), std::process::id());
        let mut running =
            start(&place, &["-j2", "--shell", "setsid sleep {} & sleep {}; true"], &format!("{mark}\n{mark}\n"));
        wait_until("the jobs run", || marked(&mark).len() >= 4);
        let guard = i32::try_from(running.child.id()).expect("a number");
        let victim = if kills_guard { guard } else { child_of(guard).expect("the guard has a runner") };
        kill_process(Pid::from_raw(victim).expect("a number"), Signal::KILL).expect("it lives");
        assert_eq!(running.end().signal(), Some(9));
        wait_until("all jobs are gone, also those in sessions of their own", || marked(&mark).is_empty());
    }
}

#[test]
fn a_job_that_leaves_a_daemon_behind_is_over_when_it_ends() {
    let place = Place::new();
    let mark = format!("1237.{}", std::process::id());
    let outcome = xjobs(&place, &["--shell", "setsid sleep {} & echo {#}"], format!("{mark}\n{mark}\n"));
    assert_eq!((outcome.exit, stdout(&outcome).lines().count()), (Exit::Code(0), 2));
    for daemon in marked(&mark) {
        kill_process(Pid::from_raw(daemon).expect("a number"), Signal::KILL).expect("it outlived the run, as it may");
    }
}

#[test]
fn killed_anywhere_and_resumed_each_job_runs_once_or_is_named() {
    let place = Place::new();
    let list: String = (0..60).map(|number| format!("job{number}\n")).collect();
    let arguments = ["-j3", "--journal", "j", "--resume", "sh", "-c", "echo $1 >> log; sleep 0.01", "sh"];
    let mut reported = Vec::new();
    for round in 1..=4_usize {
        let mut running = start(&place, &arguments, &list);
        let so_far =
            || place.has("log") && place.read("log").iter().filter(|&&byte| byte == b'\n').count() >= round * 10;
        wait_until("some jobs have run", so_far);
        let guard = i32::try_from(running.child.id()).expect("a number");
        let victim = if round % 2 == 0 { Some(guard) } else { child_of(guard) };
        if let Some(victim) = victim.and_then(Pid::from_raw) {
            kill_process(victim, Signal::KILL).expect("it lives");
        }
        running.end();
    }
    let outcome = xjobs(&place, &arguments, &list);
    reported.extend(said(&outcome).lines().filter(|line| line.contains("had begun")).map(str::to_owned));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    let log = String::from_utf8(place.read("log")).expect("text");
    let journal = String::from_utf8_lossy(&place.read("j")).into_owned();
    for number in 0..60 {
        let name = format!("job{number}");
        let runs = log.lines().filter(|line| *line == name).count();
        let begun = journal
            .lines()
            .filter(|line| line.contains("\"begin\"") && line.ends_with(&format!("\"job\":{}}}", number + 1)))
            .count();
        assert!(runs >= 1 && runs <= begun, "{name} ran {runs} times, begun {begun}");
        let ok =
            journal.lines().filter(|line| line.contains(&format!("\"{name}\"")) && line.contains("\"ok\"")).count();
        assert_eq!(ok, 1, "{name} has one good end");
    }
    assert_eq!(stdout(&xjobs(&place, &arguments, &list)), "", "nothing is left to do");
    assert_eq!(String::from_utf8(place.read("log")).expect("text"), log);
}

#[test]
fn a_width_is_changed_while_it_runs() {
    let place = Place::new();
    let mark = format!("1238.{}", std::process::id());
    let mut running = start(&place, &["-j1", "sleep"], &format!("{mark}\n{mark}\n{mark}\n"));
    wait_until("one runs", || marked(&mark).len() == 1);
    send(&running, Signal::USR1);
    wait_until("two run", || marked(&mark).len() == 2);
    send(&running, Signal::TERM);
    assert_eq!(running.end().signal(), Some(15));
    assert!(marked(&mark).is_empty());
}

#[test]
fn a_job_wider_than_the_width_has_become_still_starts() {
    let place = Place::new();
    let list = "{\"shell\":\"touch began; until [ -e go ]; do sleep 0.02; done\"}\n\
                {\"argv\":[\"touch\",\"wide\"],\"cores\":2}\n";
    let mut running = start(&place, &["-j2"], list);
    wait_until("the first runs", || place.has("began"));
    send(&running, Signal::USR2);
    std::thread::sleep(std::time::Duration::from_millis(100));
    place.write("go", "");
    assert!(running.end().success() && place.has("wide"));
}

fn takes_more(pipe: &impl AsFd) -> bool {
    let mut watched = [PollFd::new(pipe, PollFlags::OUT)];
    poll(&mut watched, Some(&Timespec::default())).expect("it can be asked") > 0
}

#[test]
fn outputs_for_a_reader_that_never_reads_are_given_up_when_asked_again() {
    let place = Place::new();
    let signals = [Signal::INT, Signal::TERM];
    let output = "head -c 1000000 /dev/zero\nfalse\n".to_owned();
    let fills_pipe = "head -c 65536 /dev/zero\nfalse\n".to_owned();
    let errors = "sh -c 'head -c 1000000 /dev/zero >&2'\nfalse\n".to_owned();
    let messages = "false\n".repeat(2500);
    // Which of both streams nobody reads; the run's last messages may go the same way.
    let cases = [
        (&output, [true, false]),
        (&output, [true, true]),
        (&fills_pipe, [true, true]),
        (&errors, [false, true]),
        (&messages, [false, true]),
    ];
    for ((list, is_piped), signal) in cases.into_iter().flat_map(|case| signals.map(|signal| (case, signal))) {
        place.write("list", list);
        let (_never_read, writer) = std::io::pipe().expect("a pipe");
        let stream = |is_piped: bool| match is_piped {
            true => writer.try_clone().expect("a descriptor").into(),
            false => Stdio::null(),
        };
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,TERM").arg(binary()).args(["xjobs", "-j1", "-s", "list"]);
        command
            .current_dir(place.directory())
            .env("MH_CREW_DIR", "")
            .stdout(stream(is_piped[0]))
            .stderr(stream(is_piped[1]));
        let mut running = Running { child: command.stdin(Stdio::null()).spawn().expect("the program starts") };
        wait_until("the pipe is full", || !takes_more(&writer));
        let is_over = |running: &mut Running| running.child.try_wait().expect("it can be asked").is_some();
        wait_until("it has ended", || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            is_over(&mut running) || kill_process(Pid::from_child(&running.child), signal).is_err()
        });
        assert_eq!(running.end().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn messages_that_nobody_reads_hold_up_no_timeout() {
    let place = Place::new();
    let mark = format!("1240.{}", std::process::id());
    place.write("list", format!("sleep {mark}\n{}", format!("false {}\n", "a".repeat(80)).repeat(800)));
    let (_never_read, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(binary());
    command
        .args(["xjobs", "-j2", "--timeout", "3", "-s", "list"])
        .current_dir(place.directory())
        .env("MH_CREW_DIR", "");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer.try_clone().expect("a descriptor"));
    let _running = Running { child: command.spawn().expect("the program starts") };
    wait_until("nobody could be told more", || !takes_more(&writer));
    wait_until("the job was ended in time", || marked(&mark).is_empty());
}

#[test]
fn stopped_and_continued_its_jobs_are_too() {
    let place = Place::new();
    let mark = format!("1239.{}", std::process::id());
    let mut running = start(&place, &["-j1", "sleep"], &format!("{mark}\n"));
    wait_until("it runs", || marked(&mark).len() == 1);
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", marked(&mark)[0])).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    send(&running, Signal::TSTP);
    wait_until("the job is stopped", || state() == Some('T'));
    send(&running, Signal::CONT);
    wait_until("the job goes on", || state() == Some('S'));
    send(&running, Signal::TERM);
    assert_eq!(running.end().signal(), Some(15));
}

/// A script on a terminal of its own, with `input` typed at once.
fn on_terminal(place: &Place, script: &str, input: &str) -> Option<String> {
    let terminal = TestProgram::find("script").filter(|_| TestProgram::find("bash").is_some())?;
    place.write("on-terminal", script);
    let terminal =
        terminal.in_directory(place.directory()).with_variable("mh", binary()).with_variable("MH_CREW_DIR", "");
    let outcome = terminal.run(["-qec", "bash on-terminal", "/dev/null"], input.as_bytes()).expect("it starts");
    Some(stdout(&outcome).replace('\r', ""))
}

#[test]
fn jobs_that_read_the_terminal_have_it_one_after_another() {
    let place = Place::new();
    let script = "exec 2>&1; \"$mh\" xjobs -j2 --plain --shell 'read x < /dev/tty; echo {} got $x' ::: job job; echo then $?; \
                  read y < /dev/tty; echo own $y";
    let Some(text) = on_terminal(&place, script, "one\ntwo\nthree\n") else { return left_out("there is no script(1)") };
    assert!(text.contains("job got one\n") && text.contains("job got two\n"), "{text}");
    assert!(text.contains("then 0\nown three\n"), "the terminal is the shell's again: {text}");
    assert!(text.contains(" has the terminal until it ends: "), "{text}");
}

#[test]
fn jobs_typed_at_the_terminal_are_asked_about_there() {
    let place = Place::new();
    // Each line is typed when the one before it has been taken; what answers a question is no job.
    let typist = "typed() { printf '%s\n' \"$1\"; until grep -q \"$2\" shown; do sleep 0.02; done; }; \
                  touch shown; typed 'echo one' 'one? '; typed y '^one'; typed 'echo two' 'two? '; typed n '? n'; \
                  typed 'echo three' 'three? '; typed y '^three'; printf '\\004'";
    let script = format!("({typist}) | script -qefc \"$mh xjobs -p --plain\" shown > /dev/null");
    let outcome = place.shell(&script);
    let shown = String::from_utf8_lossy(&place.read("shown")).replace('\r', "");
    assert_eq!(outcome.exit, Exit::Code(0), "{shown}");
    let printed: Vec<&str> = shown.lines().filter(|line| matches!(*line, "one" | "two" | "three")).collect();
    assert_eq!(printed, ["one", "three"], "{shown}");
}

#[test]
fn a_job_that_wants_the_terminal_of_a_run_in_the_background_is_told() {
    let place = Place::new();
    let script = "set -m; exec 2>&1; \"$mh\" xjobs --shell 'read x < /dev/tty; echo got $x' ::: 1 > told 2>&1 & \
                  until grep -q 'job 1 waits for the terminal' told; do sleep 0.02; done; fg; cat told";
    let Some(text) = on_terminal(&place, script, "one\n") else { return left_out("there is no script(1)") };
    assert!(text.contains("fg brings it here") && text.contains("got one 1\n"), "{text}");
}
