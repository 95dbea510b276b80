//! The processes of a virtual node, found in `/proc`: supervisors of jobs by their working directory, jobs by their environment and by
//! their parents. slurmd itself is a child of the test.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// LIMIT: what was killed has gone after this, or does not go.
const GONE_AFTER: Duration = Duration::from_secs(60);

/// How the processes of one node are recognised.
#[derive(Debug)]
pub(super) struct NodeProcesses {
    /// The working directory of supervisors.
    spool: PathBuf,
    /// Two variables that all jobs of the node have.
    marks: [Vec<u8>; 2],
}

impl NodeProcesses {
    pub(super) fn new(spool: PathBuf, configuration: &Path, node: &str) -> Self {
        let configuration = format!("SLURM_CONF={}", configuration.display());
        Self { spool, marks: [configuration.into_bytes(), format!("SLURMD_NODENAME={node}").into_bytes()] }
    }

    /// Kills them until there are none, those included that are born meanwhile.
    pub(super) fn kill_all(&self) {
        let begin = Instant::now();
        loop {
            let found = self.find();
            if found.is_empty() {
                return;
            }
            assert!(begin.elapsed() < GONE_AFTER, "processes {found:?} of a node are killed and do not end");
            for pid in found {
                let _gone_meanwhile = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// All that live; those that are dead and wait for a parent to ask do not.
    fn find(&self) -> Vec<i32> {
        let alive: Vec<(i32, i32)> = pids().filter_map(|pid| Some((pid, live_parent(pid)?))).collect();
        let mut found: HashSet<i32> = alive.iter().map(|(pid, _)| *pid).filter(|pid| self.is_marked(*pid)).collect();
        loop {
            let children: Vec<i32> = alive
                .iter()
                .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
                .map(|(pid, _)| *pid)
                .collect();
            if children.is_empty() {
                return found.into_iter().collect();
            }
            found.extend(children);
        }
    }

    fn is_marked(&self, pid: i32) -> bool {
        if fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory == self.spool) {
            return true;
        }
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |mark: &Vec<u8>| environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_slice());
        self.marks.iter().all(has)
    }
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process that is not dead: what stands behind the name, which may hold anything, in its last parenthesis.
fn live_parent(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    (!["Z", "X"].contains(&state)).then(|| fields.next()?.parse().ok())?
}
