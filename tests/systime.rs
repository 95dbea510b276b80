//! `mh systime` on programs whose calls are known. Where this process may put no programs into the kernel, the tests that need
//! them are named as left out.

use crate::place::{Place, Running, binary, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn systime(place: &Place, arguments: &[&str]) -> ProgramOutcome {
    let program = TestProgram::at(binary()).in_directory(place.directory());
    program.run(["systime"].iter().chain(arguments), b"").expect("the program starts")
}

/// Whether exact measuring is possible; a test that needs it says so when it is not.
fn may_measure(place: &Place) -> bool {
    let outcome = systime(place, &["--exact", "--", "true"]);
    if outcome.exit == Exit::Code(0) {
        return true;
    }
    assert!(said(&outcome).starts_with("mh systime: could not "), "{}", said(&outcome));
    left_out(&format!("exact measuring is not possible: {}", said(&outcome).trim_end()));
    false
}

/// A column of the first row of a call, as `--csv` has it.
fn column(csv: &str, call: &str, name: &str) -> Option<u64> {
    let mut lines = csv.lines();
    let index = lines.next()?.split(',').position(|heading| heading == name)?;
    let row = lines.find(|line| line.split(',').nth(1) == Some(call))?;
    row.split(',').nth(index)?.parse().ok()
}

/// The finding of 2006: a runner of jobs spent its time closing descriptors that were not open. Watched as then: the instrument
/// first, the program in another terminal, Ctrl-C.
#[test]
fn descriptors_closed_one_by_one_are_found() {
    const CHILDREN: u64 = 3;
    let place = Place::new();
    if !may_measure(&place) {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/systime/closer.c");
    let Some(compiler) = TestProgram::find("cc") else { return left_out("needs a C compiler (cc)") };
    let compiled =
        compiler.in_directory(place.directory()).run(["-O2", "-o", "mh-closer", source], b"").expect("cc starts");
    compiled.stdout_of_success();
    // Whoever runs the tests in the background may have it ignored, and a child inherits that.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(binary());
    command.args(["systime", "--exact", "--csv", "-o", "result", "mh-closer"]).current_dir(place.directory());
    let errors = fs::File::create(place.path("said")).expect("a file");
    let mut watcher = Running { child: command.stdin(Stdio::null()).stderr(errors).spawn().expect("it starts") };
    wait_until("it follows", || {
        place.read("said").starts_with(b"mh systime: following every process named 'mh-closer'")
    });
    let closer = TestProgram::at(place.path("mh-closer"));
    closer.run([CHILDREN.to_string()], b"").expect("it starts").stdout_of_success();
    let pid = Pid::from_raw(watcher.child.id().cast_signed()).expect("a process");
    kill_process(pid, Signal::INT).expect("it can be interrupted");
    assert_eq!(watcher.end().code(), Some(0));
    let csv = String::from_utf8(place.read("result")).expect("text");
    let calls = column(&csv, "close", "calls").expect("it was called");
    let failed = column(&csv, "close", "errors").expect("it failed");
    assert!((CHILDREN * 65_533..CHILDREN * 65_533 + 100).contains(&calls), "{csv}");
    assert!(failed >= CHILDREN * 65_500 && failed <= calls, "{csv}");
    // Work, not time: on a busy machine every call waits. What measuring added is no call.
    let work_ns = |row: &str| {
        let mut cells = row.split(',').skip(1);
        let call = cells.next().filter(|call| *call != "(measuring)")?;
        let [total_ns, waiting_ns] = [cells.next()?, cells.next()?].map(|cell| cell.parse::<u64>().unwrap_or(0));
        Some((total_ns - waiting_ns, call.to_owned()))
    };
    let most = csv.lines().skip(1).filter_map(work_ns).max().map(|(_, call)| call);
    assert_eq!(most.as_deref(), Some("close"), "nothing works longer: {csv}");
}

#[test]
fn a_command_keeps_its_exit_code_and_every_call_is_counted() {
    let place = Place::new();
    if !may_measure(&place) {
        return;
    }
    let script = "dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null; exit 7";
    let outcome = systime(&place, &["--exact", "--csv", "-e", "read,write", "--", "sh", "-c", script]);
    assert_eq!(outcome.exit, Exit::Code(7));
    let csv = String::from_utf8(outcome.stdout).expect("text");
    for call in ["read", "write"] {
        let calls = column(&csv, call, "calls").unwrap_or_else(|| panic!("no {call}: {csv}"));
        assert!((20_000..20_200).contains(&calls), "{call}: {csv}");
    }
    assert_eq!(column(&csv, "openat", "calls"), None, "only what was chosen: {csv}");
}

#[test]
fn the_table_sums_to_the_threads_whole_time_and_says_what_it_cost() {
    let place = Place::new();
    if !may_measure(&place) {
        return;
    }
    for method in [&["--exact"][..], &[]] {
        let arguments = [method, &["--", "sh", "-c", "sleep 0.1; read nothing < /nowhere"]].concat();
        let text = String::from_utf8(systime(&place, &arguments).stdout).expect("text");
        assert!(text.starts_with("the command and its descendants: "), "{text}");
        assert!(text.contains("100.0") && text.contains("sum: the threads' whole time"), "{text}");
        // Threads that leave their CPU behind the tracepoint's back are the kernel's to have or not.
        let is_whole =
            text.contains("Nothing was lost.") || text.contains(" returns of threads to a CPU were not seen");
        assert!(text.contains("Cost, measured here: ") && is_whole && !text.contains("NOT in the table"), "{text}");
        assert!(text.contains("wait4") && text.contains("clock_nanosleep"), "{text}");
    }
}

#[test]
fn without_rights_threads_are_looked_at_from_outside_and_exact_says_what_is_lacking() {
    let place = Place::new();
    let script = |line: &str| format!("cp \"$mh\" ./mh && setpriv --reuid=65534 --clear-groups ./mh systime {line}");
    if place.shell("setpriv --reuid=65534 --clear-groups true").exit != Exit::Code(0) {
        return left_out("needs a way to give up root's rights (setpriv)");
    }
    let refused = place.shell(&script("--exact -- true"));
    assert_eq!(refused.exit, Exit::Code(1));
    assert!(said(&refused).starts_with("mh systime: could not put programs into the kernel: this process lacks CAP_"));
    let outcome = place.shell(&script("--by pid -- sleep 1"));
    assert!(said(&outcome).contains("warning: looking from outside"), "{}", said(&outcome));
    let text = String::from_utf8(outcome.stdout_of_success()).expect("text");
    assert!(text.contains("looked at from outside, no rights") && text.contains("clock_nanosleep"), "{text}");
}

/// The header and the row of a call of a short program.
#[test]
fn a_command_has_its_own_calls_alone_and_its_own_time() {
    let place = Place::new();
    if !may_measure(&place) {
        return;
    }
    let outcome = systime(&place, &["--exact", "--json", "--", "true"]);
    let result: serde_json::Value = serde_json::from_slice(&outcome.stdout_of_success()).expect("one object");
    let calls = result["owners"][0]["calls"].as_array().expect("calls");
    for ours in ["execve", "rt_sigaction"] {
        assert!(calls.iter().all(|call| call["call"] != ours), "{ours} is our own preparing: {calls:?}");
    }
    // The life of its one thread, and no quarter of a second until somebody looks; nothing here is timed by the test itself.
    let (elapsed_ns, life_ns) = (result["elapsed_ns"].as_u64(), result["owners"][0]["life_ns"].as_u64());
    assert!(elapsed_ns >= life_ns && life_ns > Some(0), "{elapsed_ns:?} {life_ns:?}");
}

#[test]
fn sampled_calls_are_not_counted_and_say_how_sure_they_are() {
    let place = Place::new();
    if !may_measure(&place) {
        return;
    }
    let line = ["--csv", "--", "sleep", "0.05"];
    let csv = String::from_utf8(systime(&place, &line).stdout_of_success()).expect("text");
    let row = csv.lines().find(|line| line.contains(",clock_nanosleep,")).expect("it sleeps");
    let cells: Vec<&str> = row.split(',').collect();
    let at =
        |name| csv.lines().next().and_then(|heading| heading.split(',').position(|cell| cell == name)).expect("there");
    assert_eq!((cells[at("calls")], cells[at("errors")]), ("", ""), "{csv}");
    assert!(column(&csv, "clock_nanosleep", "plus_minus_ns").is_some(), "{csv}");
    assert!(csv.lines().all(|line| line.split(',').count() == cells.len()), "{csv}");
    let text = String::from_utf8(systime(&place, &["--", "true"]).stdout_of_success()).expect("text");
    assert!(text.contains(" +- ") && text.contains("too few samples"), "{text}");
}

#[test]
fn a_result_that_cannot_be_written_is_told_before_the_command_runs() {
    let place = Place::new();
    let outcome = systime(&place, &["--trace", "-o", "/nowhere/x", "--", "touch", "ran"]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("could not write '/nowhere/x'"), "{}", said(&outcome));
    assert!(!place.path("ran").exists());
}

#[test]
fn a_threads_number_is_no_process() {
    let place = Place::new();
    let (told, number) = std::sync::mpsc::sync_channel(1);
    let (end, wait) = std::sync::mpsc::sync_channel::<()>(1);
    let thread = std::thread::spawn(move || {
        told.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("somebody asks");
        let _no_message_but_the_end = wait.recv();
    });
    let number = number.recv().expect("a number").to_string();
    let outcome = systime(&place, &["-p", &number, "--for", "0.05"]);
    drop(end);
    thread.join().expect("no panic");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(
        said(&outcome).contains(&format!("it is a thread of process {}", std::process::id())),
        "{}",
        said(&outcome)
    );
}

#[test]
fn without_rights_running_is_no_call_and_others_threads_are_counted() {
    let place = Place::new();
    if place.shell("setpriv --reuid=65534 --clear-groups true").exit != Exit::Code(0) {
        return left_out("needs a way to give up root's rights (setpriv)");
    }
    let script = |line: &str| format!("cp \"$mh\" ./mh && setpriv --reuid=65534 --clear-groups ./mh systime {line}");
    let spinner = "--for 0.5 --json -- sh -c 'while :; do :; done & sleep 1; kill $!'";
    let result: serde_json::Value = serde_json::from_slice(&place.shell(&script(spinner)).stdout).expect("one object");
    let owner = &result["owners"][0];
    let [in_calls, running, life] =
        ["in_calls_ns", "running_ns", "life_ns"].map(|name| owner[name].as_u64().expect("there"));
    assert!(running > 0 && in_calls + running <= life, "{owner}");
    let of_root = Running { child: Command::new("sleep").arg("30").spawn().expect("there is a sleep") };
    let refused = place.shell(&script(&format!("-p {} --for 0.1", of_root.child.id())));
    drop(of_root);
    assert_eq!(refused.exit, Exit::Code(1), "{}", said(&refused));
    assert!(said(&refused).contains("threads belong to others"), "{}", said(&refused));
    // One of its own to follow, beside all those of others.
    let own = "setpriv --reuid=65534 --clear-groups sleep 5 > own 2>&1 &";
    let all = place.shell(&format!("{own} {}", script("0.5"))).stdout_of_success();
    let all = String::from_utf8(all).expect("text");
    assert!(all.contains(" threads of other users could not be looked at."), "{all}");
}

/// The thread that traces must not be the one that the signal ends.
#[test]
fn a_traced_command_that_is_interrupted_has_its_table() {
    let place = Place::new();
    // Whoever runs the tests in the background ignores it, and so would the program.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(binary());
    command.args(["systime", "--trace", "-o", "result", "--", "sh", "-c", "touch begun; sleep 60; exit 7"]);
    command.current_dir(place.directory()).stdin(Stdio::null()).stderr(Stdio::null());
    let mut watcher = Running { child: command.spawn().expect("it starts") };
    wait_until("the command runs", || place.path("begun").exists());
    let pid = Pid::from_raw(watcher.child.id().cast_signed()).expect("a process");
    // The command would get it too at a terminal: here the second one says that its end is not worth waiting for.
    while place.read("result").is_empty() && watcher.child.try_wait().expect("asked").is_none() {
        kill_process(pid, Signal::INT).ok();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(watcher.end().code(), Some(0));
    let text = String::from_utf8(place.read("result")).expect("text");
    assert!(text.contains("counted by stopping at every call"), "{text}");
}

#[test]
fn a_signal_that_ends_a_trace_ends_its_command() {
    let place = Place::new();
    let script = "$mh systime --trace -o result -- sh -c 'echo $$ > pid; exec sleep 60' & while ! test -s pid; do sleep 0.05; done; kill -TERM $!; wait $!; \
        code=$?; kill -0 $(cat pid) 2>/dev/null && exit 77; exit $code";
    let outcome = place.shell(script);
    assert_eq!(outcome.exit, Exit::Code(143), "{}", said(&outcome));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_32_bit_programs_stand_in_one_row_of_a_trace() {
    let place = Place::new();
    let source = "int main(void) { for (int i = 0; i < 50; i++) { int pid; __asm__ volatile(\"int $0x80\" : \"=a\"(pid) : \"a\"(20) : \"memory\"); } }";
    place.write("calls.c", source.as_bytes());
    let outcome = place.shell("cc -o calls calls.c && $mh systime --trace --json -- ./calls");
    let text = String::from_utf8(outcome.stdout_of_success()).expect("text");
    assert!(text.contains("(32-bit calls)") && !text.contains("\"writev\""), "{text}");
}

/// Another thread than the first executes a program: while the first one waits for it, or has ended before.
const EXECUTES: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *execute(void *nothing) {
    usleep(50000);
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)0);
    abort();
}
int main(int count, char **words) {
    pthread_t thread;
    pthread_create(&thread, 0, execute, 0);
    if (count > 1) pthread_exit(0);
    pthread_join(thread, 0);
    return 3;
}
"#;

#[test]
fn a_program_executed_by_another_thread_than_the_first_ends_its_call() {
    let place = Place::new();
    place.write("executes.c", EXECUTES);
    for words in ["", "ended"] {
        let script = format!("cc -pthread -o executes executes.c && $mh systime --trace --csv -- ./executes {words}");
        let outcome = place.shell(&script);
        assert_eq!(outcome.exit, Exit::Code(7), "{}", said(&outcome));
        let csv = String::from_utf8(outcome.stdout).expect("text");
        let executed = ["calls", "under_way"].map(|heading| column(&csv, "execve", heading));
        assert_eq!(executed, [Some(1), Some(0)], "{words} {csv}");
    }
}

/// A process whose parent never asks how it ended stays listed: waiting for it to go would be for ever.
#[test]
fn a_process_that_nobody_waits_for_has_ended_all_the_same() {
    let place = Place::new();
    let start =
        |script: &str| Running { child: Command::new("sh").args(["-c", script]).spawn().expect("there is a shell") };
    // It ends once it is followed, and is not waited for before the end of this test.
    let followed = start("exec sleep 60");
    let pid = followed.child.id().to_string();
    let mut command = Command::new(binary());
    command.args(["systime", "-p", &pid, "-o", "result"]).current_dir(place.directory()).stdin(Stdio::null());
    let mut watcher = Running {
        child: command.stderr(fs::File::create(place.path("said")).expect("a file")).spawn().expect("it starts"),
    };
    wait_until("it follows", || String::from_utf8_lossy(&place.read("said")).contains("mh systime: following process"));
    let process = Pid::from_raw(followed.child.id().cast_signed()).expect("a process");
    kill_process(process, Signal::KILL).expect("it can be ended");
    assert_eq!(watcher.end().code(), Some(0));
    let outcome = systime(&place, &["-p", &pid]);
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("it has ended, and its parent has not asked how"), "{}", said(&outcome));
}
