//! A thousand agents of one process, looked at by a viewer in another: all of them arrive, and the viewer stays small.

use crate::stage::{address, agent, connected, envelopes_of, host_state_of, turn, viewer_options};
use fleet::viewer::{HostId, Viewer};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::collections::HashSet;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const AGENTS: usize = 1000;

/// LIMIT: of the viewer, of which this test program itself is a part.
const VIEWER_KIB_MAX: u64 = 64 << 10;

/// Where the other process finds the agents.
const PORTS: &str = "FLEET_TEST_PORTS";

/// LIMIT: a machine that is busy with other tests needs a while for 2,000 handshakes.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn a_thousand_agents_arrive_in_a_small_viewer() {
    if !may_open(8 * AGENTS as u64) {
        return testkit::program::left_out("a process may not open 8,000 files");
    }
    let mut agents: Vec<_> = (0..AGENTS)
        .map(|number| agent("host", host_state_of(1, number as u32 + 1, Some(&format!("host{number}")))))
        .collect();
    let ports: Vec<String> = agents.iter().map(|agent| address(agent).port().to_string()).collect();
    let mut viewer = viewer_process(&ports.join(","));
    let end = Instant::now() + PATIENCE;
    let status = loop {
        agents.iter_mut().for_each(|agent| drop(agent.wait(Duration::ZERO).expect("it runs")));
        std::thread::sleep(Duration::from_millis(2));
        if let Some(status) = viewer.try_wait().expect("it was started") {
            break status;
        }
        if Instant::now() > end {
            viewer.kill().expect("it was started");
            viewer.wait().expect("it was started");
            panic!("the viewer does not see all of them");
        }
    };
    assert!(status.success(), "the viewer failed: {status}");
}

fn viewer_process(ports: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let test = "thousand::the_viewer_of_the_test_above";
    let mut command = Command::new(program);
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(PORTS, ports);
    command.spawn().expect("this program starts")
}

#[test]
#[ignore = "a part of the test above, which starts it"]
fn the_viewer_of_the_test_above() {
    let Ok(ports) = std::env::var(PORTS) else { return };
    assert!(may_open(2 * AGENTS as u64));
    let addresses = ports.split(',').map(|port| ([127, 0, 0, 1], port.parse().expect("a port")).into()).collect();
    let mut options = viewer_options(Some(1), addresses);
    options.interval = Duration::from_secs(1);
    let mut viewer = Viewer::open(options).expect("it opens");
    let mut hosts: HashSet<HostId> = HashSet::new();
    let mut names: HashSet<String> = HashSet::new();
    let end = Instant::now() + PATIENCE;
    while hosts.len() < AGENTS {
        assert!(Instant::now() < end, "{} of {AGENTS} are here", hosts.len());
        let events = turn(&mut [], &mut viewer, |events| !events.is_empty());
        names.extend(connected(&events).into_iter().map(|(_, name)| name));
        hosts.extend((0..AGENTS as u32 * 2).map(HostId).filter(|host| envelopes_of(&events, *host) > 0));
    }
    assert_eq!(names.len(), AGENTS);
    let peak_kib = peak_kib();
    assert!(peak_kib < VIEWER_KIB_MAX, "{peak_kib} KiB");
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("every kernel has it");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

/// Raises the limit of open files, if that is allowed.
fn may_open(files: u64) -> bool {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return true;
    }
    limit.current = Some(files);
    limit.maximum.is_none_or(|maximum| maximum >= files) && setrlimit(Resource::Nofile, limit).is_ok()
}
