//! Ending a job means all that it has started: its group, what left the group, and what left its parent as well and so came to
//! this process, the nearest subreaper. Looks at `/proc`, so only where something is ended.

use super::EndStep;
use super::running::{Jobs, Running};
use crew::budget::lease_token;
use machine::Host;
use rustix::process::{Pid, getpid};
use std::num::NonZeroI32;
use sys::process_tree::{self, Processes};
use sys::reap::{signal_group, signal_process};
use sys::session::group_of;
use sys::signals::number;

/// What is known of an orphan that is this process's child now.
struct Orphan {
    pid: Pid,
    group: Option<Pid>,
    start_ticks: u64,
    /// The hands that it was told of.
    lease_token: Option<String>,
}

/// All processes, and the orphans among them.
pub(super) struct OrphanSurvey {
    processes: Processes,
    orphans: Vec<Orphan>,
}

/// Ends what jobs have left behind, wherever it is: it came to us as the nearest subreaper.
pub(super) fn end_strays() {
    process_tree::end(&sys::guard::children_of(getpid()));
}

/// Ends the processes of a job that has been ended and has left these behind, outside its group.
pub(super) fn end_outsiders(outsiders: &[Pid]) {
    if outsiders.is_empty() {
        return;
    }
    // A number that is free and somebody else's by now is not below us.
    let ours: Vec<Pid> = process_tree::descendants(getpid()).into_iter().map(|process| process.pid).collect();
    let left: Vec<Pid> = outsiders.iter().copied().filter(|process| ours.contains(process)).collect();
    process_tree::end(&left);
}

impl Orphan {
    fn begun(&self) -> (u64, NonZeroI32) {
        (self.start_ticks, self.pid.as_raw_nonzero())
    }
}

impl OrphanSurvey {
    pub fn look(jobs: &Jobs, host: &Host) -> Self {
        let processes = Processes::look();
        let children = processes.children(getpid()).iter().map(|child| child.pid);
        let orphans = children.filter(|child| jobs.of(*child).is_none()).filter_map(|pid| {
            let number = pid.as_raw_nonzero().get().cast_unsigned();
            let facts = machine::process_facts(host, number).ok()??;
            let lease_token = machine::process_variable(host, number, lease_token::VARIABLE);
            Some(Orphan { pid, group: group_of(pid), start_ticks: facts.start_ticks, lease_token })
        });
        let orphans = orphans.collect();
        Self { processes, orphans }
    }

    /// Sends a step of ending to all that the job has started, and notes who is outside its group.
    pub(super) fn end(&self, running: &mut Running, step: &EndStep, host: &Host) {
        let Some(pid) = running.pid else { return };
        running.below.outsiders = self.outsiders(running, pid, host);
        // A stopped job would never hear it.
        for signal in [step.signal, number::SIGCONT] {
            let _not_ours_any_more = signal_group(pid, signal);
            for &process in [pid].iter().chain(&running.below.outsiders) {
                let _not_ours_any_more = signal_process(process, signal);
            }
        }
    }

    fn outsiders(&self, running: &Running, pid: Pid, host: &Host) -> Vec<Pid> {
        let number = pid.as_raw_nonzero().get().cast_unsigned();
        let begun = machine::process_facts(host, number).ok().flatten().map(|facts| facts.start_ticks);
        let is_of_job = |orphan: &&Orphan| {
            orphan.group == Some(pid)
                // Two jobs may have had the same hand, but one after the other. Inside a tick, numbers tell who came later.
                || (orphan.lease_token.is_some()
                    && orphan.lease_token == running.below.lease_token
                    && begun.is_some_and(|begun| (begun, pid.as_raw_nonzero()) < orphan.begun()))
        };
        let orphans: Vec<Pid> = self.orphans.iter().filter(is_of_job).map(|orphan| orphan.pid).collect();
        let roots: Vec<Pid> = [pid].into_iter().chain(orphans.iter().copied()).collect();
        let below = self.processes.below(&roots).into_iter().map(|process| process.pid);
        orphans.into_iter().chain(below).filter(|&process| group_of(process) != Some(pid)).collect()
    }
}
