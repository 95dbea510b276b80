//! Job slots of `mh xjobs` that lie in their pipe: cores that nobody has taken yet, and that whoever is hungry gets at once.
//! Looks only, from outside: at the pipe that the runner's jobs were told of.

use crew::budget::census::{Census, CensusRun, RunState};
use crew::jobserver::Auth;
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use sys::process_tree::Processes;

/// Cores that stand in the table as held, for slots that no program has read.
pub fn unread_slots(census: &Census) -> usize {
    let pools = census.runs.iter().filter(|run| run.detail.is_job_slots && run.state != RunState::Dead);
    pools.map(|run| unread_of(run).unwrap_or(0).min(run.holds as usize)).sum()
}

/// All jobs of a runner know the same pipe; one that lives is enough. A make below a job may have another one for its own.
fn unread_of(run: &CensusRun) -> Option<usize> {
    let guard = Pid::from_raw(i32::try_from(run.pid).ok()?)?;
    let processes = Processes::look();
    // Below the guard is the runner, below that its jobs.
    let jobs = processes.children(guard).iter().flat_map(|runner| processes.children(runner.pid));
    jobs.filter_map(|job| pipe_of(job.pid)).find_map(|pipe| {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(pipe, flags, Mode::empty()).ok()?;
        usize::try_from(rustix::io::ioctl_fionread(pipe).ok()?).ok()
    })
}

fn pipe_of(job: Pid) -> Option<PathBuf> {
    let job = format!("/proc/{}", job.as_raw_nonzero());
    let variables = std::fs::read(format!("{job}/environ")).ok()?;
    let flags = variables.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(b"MAKEFLAGS="))?;
    match Auth::from_flags(OsStr::from_bytes(flags))?.ok()? {
        Auth::Descriptors { read, .. } => Some(PathBuf::from(format!("{job}/fd/{read}"))),
        Auth::Fifo(path) => Some(path),
    }
}
