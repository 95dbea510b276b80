//! The real Slurm: these are left out where it is not installed.

use super::*;
use crate::program::left_out;

fn started(options: &SlurmOptions) -> Option<Slurm> {
    Slurm::start(options).map_err(|reason| left_out(&reason)).ok()
}

/// LIMIT: for anything that Slurm does in a second when the machine is idle.
const PATIENCE: Duration = Duration::from_secs(120);

fn until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "in vain");
        std::thread::sleep(LOOK);
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn a_setting_takes_the_place_of_the_line_with_its_key() {
    let settings = ["MaxArraySize=5".to_owned(), "Epilog=/x".to_owned()];
    assert_eq!(with_settings("A=1\nMaxArraySize=10001\nB=2\n", &settings), "A=1\nB=2\nMaxArraySize=5\nEpilog=/x\n");
}

#[test]
fn ports_differ() {
    let mut ports = free_ports(20).expect("there are ports");
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 20);
}

#[test]
fn jobs_run_on_both_nodes_and_share_no_table_of_cores() {
    let Some(slurm) = started(&SlurmOptions::default()) else { return };
    let file = |number| slurm.directory().join(format!("out-{number}"));
    let out = slurm.directory().join("out-%a");
    let script = "echo $SLURMD_NODENAME $MH_CREW_DIR; while test ! -e go; do sleep 0.02; done";
    let place = slurm.directory().display().to_string();
    slurm.output("sbatch", &["--array=0-1", "-D", &place, "-o", &out.display().to_string(), "--wrap", script]);
    let said = |number| fs::read_to_string(file(number)).unwrap_or_default();
    until(|| [0, 1].iter().all(|number| said(*number).ends_with('\n')));
    let mut both = [said(0), said(1)];
    both.sort();
    let expected = [1, 2].map(|node| format!("n{node} {}\n", slurm.crew_directory(node).display()));
    assert_eq!(both, expected, "neither waits for the other");
    fs::write(slurm.directory().join("go"), "").expect("written");
    until(|| slurm.output("squeue", &["-h"]).is_empty());
}

#[test]
fn a_killed_node_takes_its_jobs_with_it_and_may_come_back() {
    let Some(mut slurm) = started(&SlurmOptions::default()) else { return };
    let place = slurm.directory().display().to_string();
    let script = "(setsid sleep 1000 & echo $! > daemon.part); echo $$ > job; mv daemon.part daemon; sleep 1000";
    let out = ["-D", &place, "-o", "/dev/null", "-w", "n2", "--no-requeue"];
    let id = slurm.output("sbatch", &[&out[..], &["--parsable", "--wrap", script]].concat());
    let read = |name: &str| fs::read_to_string(slurm.directory().join(name)).unwrap_or_default();
    until(|| !read("daemon").is_empty());
    let (job, daemon, node) = (read("job"), read("daemon"), slurm.node_pid(2).expect("it runs").to_string());
    assert!(is_alive(&job) && is_alive(&daemon) && is_alive(&node));
    slurm.kill_node(2);
    assert!(!is_alive(&job) && !is_alive(&daemon) && !is_alive(&node));
    assert_eq!((slurm.node_pid(2), slurm.node_pid(1).is_some()), (None, true));
    slurm.start_node(2).expect("it starts");
    slurm.output("scancel", &[id.trim()]);
    until(|| slurm.idle_nodes() == 2);
}

#[test]
fn nothing_is_left_when_it_is_dropped() {
    let Some(slurm) = started(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let place = slurm.directory().to_owned();
    let script = "echo $$ > job; sleep 1000";
    slurm.output("sbatch", &["-D", &place.display().to_string(), "-o", "/dev/null", "--wrap", script]);
    until(|| place.join("job").exists());
    let job = fs::read_to_string(place.join("job")).expect("it is there");
    let node = slurm.node_pid(1).expect("it runs").to_string();
    drop(slurm);
    assert!(!place.exists() && !is_alive(&job) && !is_alive(&node));
}

#[test]
fn the_controller_can_be_stopped_and_keeps_its_jobs() {
    let Some(mut slurm) = started(&SlurmOptions { nodes: 1, ..SlurmOptions::default() }) else { return };
    let id = slurm.output("sbatch", &["--parsable", "-o", "/dev/null", "--wrap", "sleep 1000"]);
    until(|| slurm.output("squeue", &["-h", "-o", "%T"]) == "RUNNING\n");
    slurm.stop_controller();
    slurm.start_controller().expect("it starts");
    assert_eq!(slurm.output("squeue", &["-h", "-o", "%i"]), id);
    slurm.suspend_controller();
    let mut asking = slurm.command("squeue").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    // Not a deadline: an answer within this time would be one from a controller that goes on.
    std::thread::sleep(Duration::from_millis(300));
    assert!(asking.try_wait().expect("it is our child").is_none());
    slurm.resume_controller();
    assert!(asking.wait().expect("it is our child").success());
}

#[test]
fn a_node_may_see_another_directory() {
    if !rustix::process::geteuid().is_root() {
        return left_out("only root may hide a directory from a node");
    }
    let shared = crate::tree::TempTree::new();
    shared.file("seen", "");
    let hidden = Some((2, shared.path().to_owned()));
    let Some(slurm) = started(&SlurmOptions { hidden, ..SlurmOptions::default() }) else { return };
    let script = format!("ls '{}' > out-$SLURMD_NODENAME", shared.path().display());
    let place = slurm.directory().display().to_string();
    for node in ["n1", "n2"] {
        slurm.output("sbatch", &["-w", node, "-D", &place, "-o", "/dev/null", "--wrap", &script]);
    }
    until(|| slurm.output("squeue", &["-h"]).is_empty());
    let said = |node: &str| fs::read_to_string(slurm.directory().join(format!("out-{node}"))).expect("it ran");
    assert_eq!((said("n1").as_str(), said("n2").as_str()), ("seen\n", ""));
}
