//! Signals in the middle of a run. A FIFO that is half fed, or an input that is endless for all purposes, keeps it running
//! for as long as the test needs; nothing depends on speed.

use crate::place::{Place, Running, names_in, programs, wait_until};
use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::data;

/// SIGINT, SIGTERM and SIGHUP: what ends a run that is to tidy up behind itself.
const ENDING: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

fn start(place: &Place, arguments: &[&str]) -> Running {
    // Whoever runs the tests in the background may have some of these ignored, and a child inherits that.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(crate::place::binary());
    command.arg("tamp").args(arguments).current_dir(place.directory());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running { child: command.spawn().expect("the program starts") }
}

fn send(running: &Running, signal: Signal) {
    kill_process(Pid::from_child(&running.child), signal).expect("the child has not been waited for");
}

fn has_temporary_file(directory: &Path) -> bool {
    names_in(directory).iter().any(|name| name.starts_with(".mh-"))
}

fn wait_for_temporary_file(place: &Place) {
    wait_until("a temporary file appears", || has_temporary_file(place.directory()));
}

/// A file of so many zeros that no run gets to its end; it takes no room on the disk.
fn endless(place: &Place, name: &str) {
    File::create(place.path(name)).and_then(|file| file.set_len(1 << 40)).expect("a sparse file can be made");
}

/// A FIFO, and what keeps it open once the program has opened the other end.
fn fifo(place: &Place, name: &str) {
    mknodat(CWD, place.path(name), FileType::Fifo, 0o600.into(), 0).expect("a FIFO can be made");
}

fn feed(place: &Place, name: &str, bytes: &[u8]) -> File {
    let mut end = File::options().write(true).open(place.path(name)).expect("the program opens the other end");
    end.write_all(bytes).expect("the program reads");
    end
}

#[test]
fn a_signal_during_compression_between_files_leaves_nothing() {
    for signal in ENDING {
        for arguments in [["-j", "1", "endless"], ["-j", "2", "endless"], ["-Fgz", "-j2", "endless"]] {
            let place = Place::new();
            endless(&place, "endless");
            let mut running = start(&place, &arguments);
            wait_for_temporary_file(&place);
            send(&running, signal);
            assert_eq!(running.end().signal(), Some(signal.as_raw()), "{arguments:?}");
            assert_eq!(place.names(), ["endless"], "{signal:?} {arguments:?}");
        }
    }
}

#[test]
fn a_signal_while_an_input_is_waited_for_leaves_nothing() {
    let plain = data::mixed(3 << 20, 1);
    let maker = Place::new();
    maker.write("plain", &plain);
    let packed = maker.tamp(["-c", "plain"]).stdout_of_success();
    for signal in ENDING {
        for (arguments, bytes) in [
            (&["-o", "out.zst", "fifo"][..], &plain),
            (&["-F", "gz", "-j", "1", "-o", "out.gz", "fifo"], &plain),
            (&["-d", "-o", "out", "fifo"], &packed),
            (&["-d", "-j", "1", "-o", "out", "fifo"], &packed),
        ] {
            let place = Place::new();
            fifo(&place, "fifo");
            let mut running = start(&place, arguments);
            let held = feed(&place, "fifo", &bytes[..bytes.len() / 2]);
            wait_for_temporary_file(&place);
            send(&running, signal);
            assert_eq!(running.end().signal(), Some(signal.as_raw()), "{arguments:?}");
            assert_eq!(place.names(), ["fifo"], "{signal:?} {arguments:?}");
            drop(held);
        }
    }
}

#[test]
fn a_signal_among_many_files_keeps_the_complete_ones_only() {
    let place = Place::new();
    fifo(&place, "fifo");
    let mut arguments = vec!["--rm".to_owned()];
    for number in 0..20 {
        let name = format!("file-{number:02}");
        place.write(&name, data::text(10_000, number));
        arguments.push(name);
    }
    // The last lane has no end; a lane before it can complete.
    endless(&place, "endless");
    arguments.push("endless".to_owned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut running = start(&place, &arguments);
    wait_until("the files before are done", || place.has("file-00.zst") && !place.has("file-00"));
    send(&running, Signal::TERM);
    assert_eq!(running.end().signal(), Some(Signal::TERM.as_raw()));
    assert!(!has_temporary_file(place.directory()), "{:?}", place.names());
    for number in 0..20 {
        let (source, packed) = (format!("file-{number:02}"), format!("file-{number:02}.zst"));
        assert!(place.has(&source) || place.has(&packed), "{source} is lost");
        if place.has(&packed) {
            let back = place.tamp(["-dc", &packed]).stdout_of_success();
            assert!(back == data::text(10_000, number), "{packed} is not complete");
        }
    }
}

#[test]
fn a_signal_while_the_output_is_blocked_ends_it() {
    let place = Place::new();
    endless(&place, "endless");
    // Random bytes: the pipe fills, and nobody reads it.
    place.write("noise", data::random(8 << 20, 2));
    for arguments in [&["-c", "noise"][..], &["-c", "-j", "1", "noise"], &["-Fgz", "-c", "noise"]] {
        let mut running = start(&place, arguments);
        wait_until("the pipe is full", || is_full(&running));
        send(&running, Signal::INT);
        assert_eq!(running.end().signal(), Some(Signal::INT.as_raw()), "{arguments:?}");
    }
}

/// Whether the pipe that is the child's standard output holds what a pipe holds at least.
fn is_full(running: &Running) -> bool {
    let stdout = running.child.stdout.as_ref().expect("it is piped");
    rustix::io::ioctl_fionread(stdout).expect("a pipe tells what it holds") >= 64 << 10
}

#[test]
fn a_kill_leaves_nothing_under_the_final_name() {
    let plain = data::mixed(3 << 20, 1);
    for arguments in [["-j1", "-o", "out.zst", "fifo"], ["-j2", "-o", "out.gz", "fifo"]] {
        let place = Place::new();
        fifo(&place, "fifo");
        let mut running = start(&place, &arguments);
        let held = feed(&place, "fifo", &plain);
        wait_for_temporary_file(&place);
        send(&running, Signal::KILL);
        assert_eq!(running.end().signal(), Some(Signal::KILL.as_raw()));
        drop(held);
        let left: Vec<String> = place.names().into_iter().filter(|name| !name.starts_with(".mh-")).collect();
        assert_eq!(left, ["fifo"]);
        // What the kill left behind is in nobody's way.
        place.write("plain", &plain);
        place.tamp([arguments[0], "-o", arguments[2], "plain"]).stdout_of_success();
        assert!(place.tamp(["-dc", arguments[2]]).stdout_of_success() == plain);
    }
}

#[test]
fn a_stopped_run_goes_on_when_it_is_continued() {
    let plain = data::text(2 << 20, 4);
    let place = Place::new();
    fifo(&place, "fifo");
    let mut running = start(&place, &["-o", "out.zst", "fifo"]);
    let mut held = feed(&place, "fifo", &plain[..1 << 20]);
    send(&running, Signal::STOP);
    send(&running, Signal::CONT);
    held.write_all(&plain[1 << 20..]).expect("the program reads again");
    drop(held);
    assert!(running.end().success());
    assert!(place.tamp(["-dc", "out.zst"]).stdout_of_success() == plain);
}

#[test]
fn a_signal_that_is_ignored_from_the_start_stays_ignored() {
    // As under nohup.
    let plain = data::text(2 << 20, 5);
    let place = Place::new();
    fifo(&place, "fifo");
    let programs = programs();
    let script = format!("trap '' HUP; exec '{}' tamp -o out.zst fifo", programs.path().join("mh").display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(place.directory()).stdin(Stdio::null());
    let mut running = Running { child: command.spawn().expect("sh starts") };
    let mut held = feed(&place, "fifo", &plain[..1 << 20]);
    wait_for_temporary_file(&place);
    send(&running, Signal::HUP);
    held.write_all(&plain[1 << 20..]).expect("the program goes on reading");
    drop(held);
    assert!(running.end().success(), "a hang-up that nohup ignores does not end the run");
    assert!(place.tamp(["-dc", "out.zst"]).stdout_of_success() == plain);
}
