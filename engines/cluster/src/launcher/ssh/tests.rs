//! Against an ssh of our own that runs the command here. The real one is in this crate's tests of launchers.

use super::*;
use crate::launcher::command::tests::fakes;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use testkit::tree::TempTree;

/// `dead` refuses, `mute` hangs; a login shell that greets, as many do.
const FAKE: &str = "for word; do host=$line; line=$word; done\n\
    echo \"$host\" >> \"${0%/*}/hosts\"\n\
    case $host in dead) echo 'ssh: connect to host dead port 22: Connection refused' >&2; exit 255;; mute) sleep 1000;; esac\n\
    echo Welcome; exec sh -c \"$line\"";

/// A program that says who it is and stays, in a directory with an odd name.
fn worker(place: &TempTree) -> PathBuf {
    let path = "it's a \"dir\"\nof two lines/$(mh)";
    place.file(path, "#!/bin/sh\nprintf '%s|' \"$@\"\necho\nexec sleep 1000\n").mode(path, 0o755);
    place.path().join(path)
}

fn request(place: &TempTree, workers: u32) -> WorkerRequest {
    place.directory("spool 'x'\n;y/log");
    WorkerRequest {
        program: worker(place),
        spool: place.path().join("spool 'x'\n;y"),
        run_id: "r1".to_owned(),
        first: 0,
        workers,
        cores: None,
        time: None,
        engine_args: Vec::new(),
        name: "mh".to_owned(),
    }
}

fn launcher(hosts: &str, environment: EngineEnvironment) -> SshLauncher {
    SshLauncher::new(SshHost::list(hosts).expect("hosts"), Vec::new(), environment)
}

fn read_when_it_is_there(path: &Path) -> String {
    let begin = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            return text;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing in {path:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn workers_start_with_odd_paths_outlive_the_connection_and_end_when_asked() {
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    let mut ssh = launcher("a,b", environment);
    let request = request(&place, 2);
    let started = ssh.start(&request).expect("both start");
    assert_eq!((started.workers, started.refused), (2, None));
    for number in [0, 1] {
        let said = read_when_it_is_there(&request.spool.join(format!("log/{number}")));
        let expected =
            ["xjobs", "--worker", request.spool.to_str().expect("text"), "--worker-run", "r1", "--worker-number"];
        assert_eq!(said, format!("{}|{number}|\n", expected.join("|")));
    }
    let alive: Vec<WorkerProcess> = processes(&started.id).into_values().flatten().collect();
    assert!(alive.len() == 2 && alive.iter().all(|process| process.is_alive()), "{}", started.id);
    for process in &alive {
        let pid = rustix::process::Pid::from_raw(process.pid);
        assert_eq!(sys::session::session_of(pid), pid, "it leads a session");
    }
    assert_eq!(ssh.look(&started.id).expect("nobody is asked").running, 2);
    ssh.end(&started.id).expect("both end");
    assert!(!alive.iter().any(|process| process.is_alive()));
    ssh.end(&started.id).expect("those that have gone are no error");
}

#[test]
fn a_host_that_refuses_is_named_and_the_others_go_on() {
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    let mut ssh = launcher("dead,a", environment);
    let started = ssh.start(&request(&place, 9)).expect("one starts");
    assert_eq!(started.workers, 1);
    let refused = "ssh dead: ssh: connect to host dead port 22: Connection refused; there are 2 hosts";
    assert_eq!(started.refused.as_deref(), Some(refused));
    ssh.end(&started.id).expect("it ends");
    let limits = ssh.limits().expect("one answers");
    assert_eq!((limits.workers_max, limits.nodes, limits.cores.is_some()), (Some(2), Some(1), true));
    let fault = launcher("dead", ssh.environment.clone()).start(&request(&place, 1)).expect_err("none starts");
    assert_eq!(fault.to_string(), "ssh dead: ssh: connect to host dead port 22: Connection refused");
    assert!(launcher("dead", ssh.environment.clone()).limits().is_err());
}

#[test]
fn a_host_that_hangs_is_asked_once() {
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    let fault = launcher("mute", environment.within(Duration::from_secs(1))).start(&request(&place, 1));
    assert!(matches!(fault, Err(LauncherFault::Silent { .. })), "{fault:?}");
    assert_eq!(fs::read_to_string(place.path().join("hosts")).expect("it was asked"), "mute\n");
}

#[test]
fn a_host_without_the_program_or_the_spool_says_so() {
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    let mut ssh = launcher("a", environment);
    let without_program = WorkerRequest { program: "/nowhere/mh".into(), ..request(&place, 1) };
    let said = ssh.start(&without_program).expect_err("not there").to_string();
    assert_eq!(said, "ssh a: there is no program '/nowhere/mh'");
    let without_spool = WorkerRequest { spool: "/nowhere".into(), ..request(&place, 1) };
    let said = ssh.start(&without_spool).expect_err("not there").to_string();
    assert!(said.starts_with("ssh a: ") && said.contains("/nowhere/log/0"), "{said}");
}

#[test]
fn later_workers_go_to_the_hosts_behind() {
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    let ssh = launcher("a,b,c", environment);
    let of = |first, workers| {
        let request = WorkerRequest { first, ..request(&place, workers) };
        ssh.hosts_of(&request).iter().map(|(number, host)| format!("{number}{host}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((of(0, 2), of(4, 1), of(5, 9)), ("0a 1b".into(), "4b".into(), "5c 6a 7b".into()));
}

#[test]
fn an_id_with_an_option_in_it_starts_no_program() {
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    launcher("a", environment).end("-oProxyCommand=x:1@2").expect("there is nobody");
    assert!(!place.path().join("hosts").exists());
}

#[test]
fn a_process_that_goes_on_is_named() {
    let deaf = "#!/bin/sh\ntrap '' TERM\necho\nwhile :; do sleep 1; done\n";
    let (place, environment) = fakes(&[("ssh", FAKE)]);
    place.file("deaf", deaf).mode("deaf", 0o755);
    let mut ssh = launcher("a", environment);
    let request = WorkerRequest { program: place.path().join("deaf"), ..request(&place, 1) };
    let started = ssh.start(&request).expect("it starts");
    read_when_it_is_there(&request.spool.join("log/0"));
    let process = processes(&started.id).into_values().flatten().next().expect("one");
    let fault = ssh.end(&started.id).expect_err("it goes on").to_string();
    assert_eq!(fault, format!("ssh a: PID {} goes on after SIGTERM", process.pid));
    let pid = rustix::process::Pid::from_raw(process.pid).expect("above 0");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives");
}
