//! Children that have ended, with what they used (`wait4(2)`), and ending them by their group (`kill(2)`).
//! Asks and never sleeps; SIGCHLD through [`crate::signals::SignalQueue`] tells when to ask.

use rustix::process::Pid;
use std::io;

/// A child that has ended. Its number is free from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which one.
    pub pid: Pid,
    /// How.
    pub how: How,
    /// What it and those it waited for have used.
    pub usage: Usage,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// What a child and its own waited-for children used (`getrusage(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in the program, in nanoseconds (the kernel counts microseconds).
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// The largest resident size of any one of them, in bytes.
    // LIE: a spawned child begins with the mark of the process that spawned it, so this is never below that one's size.
    pub rss_peak_bytes: u64,
    /// Blocks of 512 bytes read from a device.
    pub blocks_in: u64,
    /// Blocks of 512 bytes that were to be written to a device.
    pub blocks_out: u64,
    /// Times it slept.
    pub switches_voluntary: u64,
    /// Times it was pushed off its CPU.
    pub switches_forced: u64,
}

/// The next child that has ended; none where children live but none has ended. An error, `ECHILD`, where there are none.
pub fn next_ended() -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid object to be overwritten.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live objects of the right type.
    let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let how = match libc::WIFSIGNALED(status) {
        true => How::Signal(libc::WTERMSIG(status)),
        false => How::Exit(libc::WEXITSTATUS(status)),
    };
    Ok(Pid::from_raw(pid).map(|pid| Ended { pid, how, usage: usage_of(&usage) }))
}

/// Whether `error` says that there is no child.
pub fn is_childless(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECHILD)
}

fn usage_of(usage: &libc::rusage) -> Usage {
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let nanoseconds =
        |time: libc::timeval| count(time.tv_sec) * 1_000_000_000 + u64::try_from(time.tv_usec).unwrap_or(0) * 1000;
    Usage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        rss_peak_bytes: count(usage.ru_maxrss) * 1024,
        blocks_in: count(usage.ru_inblock),
        blocks_out: count(usage.ru_oublock),
        switches_voluntary: count(usage.ru_nvcsw),
        switches_forced: count(usage.ru_nivcsw),
    }
}

/// What this process itself has used so far.
pub fn own_usage() -> Usage {
    // SAFETY: an all-zero rusage is a valid object to be overwritten, and the call cannot fail for RUSAGE_SELF.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage_of(&usage)
}

/// Sends `signal` to all of a process group. A group that is gone is not an error: it has what it was to get.
pub fn signal_group(leader: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: a plain system call; a negative number names the group.
    if unsafe { libc::kill(-leader.as_raw_nonzero().get(), signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Sends `signal` to one process; one that is gone is not an error.
pub fn signal_process(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: a plain system call.
    if unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}
