//! A worker's process on this machine: its PID together with when it began, since a PID alone may be another process's by now.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::Timespec;
use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Written `PID@BEGIN`, the begin in clock ticks since the machine started, as `/proc/PID/stat` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerProcess {
    pub pid: i32,
    pub begin: u64,
}

impl WorkerProcess {
    /// The process that has this PID now, if it lives.
    pub(super) fn with_pid(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything and ends at the last parenthesis (proc(5)).
        let behind_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let fields = String::from_utf8_lossy(&stat[behind_name..]).into_owned();
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        // Column 22 of the file; the state is column 3.
        let begin = fields.nth(18)?.parse().ok()?;
        (state != "Z" && state != "X").then_some(Self { pid, begin })
    }

    pub(super) fn is_alive(self) -> bool {
        Self::with_pid(self.pid) == Some(self)
    }

    /// A descriptor of this very process; none once it has ended.
    fn open(self) -> Result<Option<OwnedFd>, Errno> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // Looked at behind the open: from here on the descriptor cannot come to mean another one.
            Ok(descriptor) => Ok(self.is_alive().then_some(descriptor)),
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for WorkerProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.pid, self.begin)
    }
}

impl FromStr for WorkerProcess {
    type Err = NoWorkerProcess;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pid, begin) = text.split_once('@').ok_or(NoWorkerProcess)?;
        let (pid, begin) = (pid.parse(), begin.parse());
        let (Ok(pid), Ok(begin)) = (pid, begin) else { return Err(NoWorkerProcess) };
        if pid > 0 { Ok(Self { pid, begin }) } else { Err(NoWorkerProcess) }
    }
}

/// A text that names no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it names no process")]
pub(super) struct NoWorkerProcess;

/// Asks processes to end (SIGTERM, and SIGCONT for those that are stopped) and waits for them. Those that go on, with the reason if
/// they may not be asked.
pub(super) fn end(processes: &[WorkerProcess], limit: Duration) -> Vec<(WorkerProcess, Option<Errno>)> {
    let deadline = Instant::now() + limit;
    let mut remaining = Vec::new();
    let mut asked = Vec::new();
    for &process in processes {
        let sent = process.open().and_then(|descriptor| {
            let Some(descriptor) = descriptor else { return Ok(None) };
            pidfd_send_signal(&descriptor, Signal::TERM)?;
            pidfd_send_signal(&descriptor, Signal::CONT)?;
            Ok(Some(descriptor))
        });
        match sent {
            Ok(descriptor) => asked.extend(descriptor.map(|descriptor| (process, descriptor))),
            Err(Errno::SRCH) => {}
            Err(error) => remaining.push((process, Some(error))),
        }
    }
    for (process, descriptor) in asked {
        if !ends_before(&descriptor, deadline) {
            remaining.push((process, None));
        }
    }
    remaining
}

fn ends_before(process: &OwnedFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            Ok(count) => return count > 0,
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_reused_pid_is_another_process() {
        let own = i32::try_from(std::process::id()).expect("PIDs are small");
        let this = WorkerProcess::with_pid(own).expect("it lives");
        assert!(this.is_alive() && this.open().expect("it may").is_some());
        let other = WorkerProcess { begin: this.begin + 1, ..this };
        assert!(!other.is_alive() && other.open().expect("it may").is_none());
        assert_eq!(end(&[other], Duration::ZERO), [], "nothing is sent to this process");
    }

    #[test]
    fn they_are_written_and_read() {
        let process = WorkerProcess { pid: 12, begin: 345 };
        assert_eq!(process.to_string(), "12@345");
        assert_eq!("12@345".parse(), Ok(process));
        for text in ["", "12", "12@", "@3", "0@3", "-4@3", "a@b", "12@3@4"] {
            assert_eq!(text.parse::<WorkerProcess>(), Err(NoWorkerProcess), "{text}");
        }
    }

    #[test]
    fn a_dead_process_that_is_not_reaped_is_not_alive() {
        let mut child = Command::new("sh").args(["-c", ":"]).spawn().expect("it starts");
        let pid = i32::try_from(child.id()).expect("PIDs are small");
        while WorkerProcess::with_pid(pid).is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait().expect("it is our child");
    }

    #[test]
    fn stopped_ones_end_and_those_that_go_on_are_named() {
        let start = |script: &str| {
            let mut command = Command::new("sh");
            let child = command.args(["-c", script]).process_group(0).stdout(std::process::Stdio::piped()).spawn();
            let mut child = child.expect("it starts");
            let mut line = [0; 1];
            std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut line).expect("it says so");
            let pid = i32::try_from(child.id()).expect("PIDs are small");
            (child, WorkerProcess::with_pid(pid).expect("it lives"))
        };
        let (mut stopped, first) = start("echo; exec sleep 1000");
        let (mut deaf, second) = start("trap '' TERM; echo; exec sleep 1000");
        rustix::process::kill_process(Pid::from_child(&stopped), Signal::STOP).expect("it lives");
        assert_eq!(end(&[first, second], Duration::from_millis(500)), [(second, None)]);
        deaf.kill().expect("it lives");
        for child in [&mut stopped, &mut deaf] {
            child.wait().expect("it is our child");
        }
    }
}
