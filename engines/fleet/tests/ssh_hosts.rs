//! Hosts over ssh, with a shell script in its place: samples, reasons, and children that end with their viewer.

use crate::stage::{connected, lost, turn, viewer_options};
use fleet::ssh::SshOptions;
use fleet::viewer::{FleetEvent, Viewer};
use std::time::Duration;

/// The host's name is `$1`.
fn viewer(script: &str, hosts: &[&str]) -> Viewer {
    let mut options = viewer_options(None, Vec::new());
    let words = ["sh", "-c", script, "ssh"];
    options.ssh = SshOptions { program: words.into_iter().map(Into::into).collect(), command: vec!["mh".into()] };
    options.ssh_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    Viewer::open(options).expect("it opens")
}

const SAMPLE: &str = r"printf 'mh\001\004\000\000\000............%s' ";

#[test]
fn every_host_has_its_child_and_its_rows() {
    let hosts: Vec<String> = (10..50).map(|number| format!("we{number}")).collect();
    let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let mut viewer = viewer(&format!("echo 'Last login: never'; {SAMPLE} \"$1\"; exec sleep 1000"), &names);
    let events = turn(&mut [], &mut viewer, |events| connected(events).len() == hosts.len());
    for event in &events {
        let FleetEvent::Envelope { host, bytes } = event else { continue };
        assert_eq!(&bytes[19..], hosts[host.0 as usize].as_bytes());
    }
    let mut seen: Vec<String> = connected(&events).into_iter().map(|(_, name)| name).collect();
    seen.sort();
    assert_eq!(seen, hosts);
}

#[test]
fn what_ssh_said_last_is_the_reason_and_it_is_tried_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let mark = directory.path().join("was-here");
    let script = format!(
        "if [ -e {0} ]; then {SAMPLE} \"$1\"; exec sleep 1000; fi; touch {0}; \
         printf 'Warning: added\\r\\nssh: connect to host web1 port 22: No route to host\\r\\n' >&2; exit 255",
        mark.display()
    );
    let mut viewer = viewer(&script, &["web1"]);
    let events = turn(&mut [], &mut viewer, |events| !connected(events).is_empty());
    assert_eq!(lost(&events), Some("ssh: connect to host web1 port 22: No route to host"));
}

#[test]
fn something_else_than_samples_ends_the_child() {
    let mut viewer = viewer("exec cat /dev/zero", &["web1"]);
    let events = turn(&mut [], &mut viewer, |events| lost(events).is_some());
    assert_eq!(lost(&events), Some("it sends something else than samples"));
    assert_eq!(connected(&events), []);
}

#[test]
fn children_end_with_the_viewer() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!("echo $$ > {}/$1; sleep 1000 & {SAMPLE} \"$1\"; wait", directory.path().display());
    let mut viewer = viewer(&script, &["web1", "web2"]);
    turn(&mut [], &mut viewer, |events| connected(events).len() == 2);
    drop(viewer);
    for host in ["web1", "web2"] {
        let pid = std::fs::read_to_string(directory.path().join(host)).expect("written before the sample");
        assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "{host} is reaped");
    }
}

#[test]
fn a_program_that_is_not_there_is_a_reason() {
    let mut options = viewer_options(None, Vec::new());
    options.ssh = SshOptions { program: vec!["/nonexistent/ssh".into()], command: Vec::new() };
    options.ssh_hosts = vec!["web1".to_owned()];
    let mut viewer = Viewer::open(options.clone()).expect("it opens");
    let events = turn(&mut [], &mut viewer, |events| lost(events).is_some());
    assert_eq!(lost(&events), Some("the program '/nonexistent/ssh' was not found"));
    options.ssh_hosts = vec!["-oProxyCommand=id".to_owned()];
    assert!(Viewer::open(options).is_err());
    assert!(viewer.wait(Duration::ZERO).is_ok());
}
