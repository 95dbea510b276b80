//! Children that have ended, with what they used (`wait4(2)`), and ending them by their group (`kill(2)`).
//! Asks and does not sleep, but for [`wait_for_change`]; SIGCHLD through [`crate::signals::SignalQueue`] tells when to ask.

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
    /// The largest resident size of any one of them, in bytes; none where that is not known.
    // LIE: a spawned child begins with the mark of the process that spawned it (exec keeps it), so this is never below that one's peak.
    pub rss_peak_bytes: Option<u64>,
    /// Blocks of 512 bytes read from a device.
    pub blocks_in: u64,
    /// Blocks of 512 bytes that were to be written to a device.
    pub blocks_out: u64,
    /// Times it slept.
    pub switches_voluntary: u64,
    /// Times it was pushed off its CPU.
    pub switches_forced: u64,
}

/// A child that a signal has stopped; told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Which one.
    pub pid: Pid,
    /// The signal.
    pub signal: i32,
}

/// What has become of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed<End> {
    /// It has ended.
    Ended(End),
    /// It rests.
    Stopped(Stopped),
}

/// The calling thread's children: those that it started. Orphans come to the first thread of the nearest subreaper.
const OF_THIS_THREAD: i32 = libc::__WNOTHREAD;

/// The next child of this thread that has ended and has not been reaped, so that it can still be looked at and its number is not free;
/// or one that was stopped. None where children live and none has changed. An error, `ECHILD`, where there are none.
pub fn next_to_reap() -> io::Result<Option<Changed<Pid>>> {
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::WNOHANG | OF_THIS_THREAD;
    look(libc::P_ALL, 0, flags)?.map(told_once).transpose()
}

/// Sleeps until a child has ended, which is not reaped by it, or was stopped.
pub fn wait_for_change(child: Pid) -> io::Result<Changed<Pid>> {
    loop {
        match look(libc::P_PID, number_of(child), libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT) {
            Ok(Some(change)) => return told_once(change),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn told_once((pid, stopped): (Pid, Option<i32>)) -> io::Result<Changed<Pid>> {
    let Some(signal) = stopped else { return Ok(Changed::Ended(pid)) };
    let _taken = look(libc::P_PID, number_of(pid), libc::WSTOPPED | libc::WNOHANG)?;
    Ok(Changed::Stopped(Stopped { pid, signal }))
}

fn number_of(process: Pid) -> libc::id_t {
    process.as_raw_nonzero().get().cast_unsigned()
}

/// `waitid(2)`: which child has changed, and by which signal it was stopped, if it was.
fn look(kind: libc::idtype_t, whom: libc::id_t, flags: i32) -> io::Result<Option<(Pid, Option<i32>)>> {
    // SAFETY: an all-zero siginfo is a valid object to be overwritten; where no child has changed it stays as it is.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live object of the right type.
    if unsafe { libc::waitid(kind, whom, &mut info, flags) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: waitid fills the fields of SIGCHLD, or leaves zeros.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    // Who asks to be traced by us stops before it hears a signal.
    let is_stopped = matches!(info.si_code, libc::CLD_STOPPED | libc::CLD_TRAPPED);
    Ok(Pid::from_raw(pid).map(|pid| (pid, is_stopped.then_some(status))))
}

/// Whether a child has ended and is not reaped yet; false for what is no child of ours.
pub fn has_ended(child: Pid) -> bool {
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    matches!(look(libc::P_PID, number_of(child), flags), Ok(Some(_)))
}

/// The next child of this thread that has ended, reaped, or was stopped; as [`next_to_reap`] otherwise.
pub fn next_changed() -> io::Result<Option<Changed<Ended>>> {
    wait(-1, libc::WUNTRACED | OF_THIS_THREAD)
}

/// Reaps a child that has ended.
pub fn reap(child: Pid) -> io::Result<Option<Ended>> {
    wait_for_end(child.as_raw_nonzero().get())
}

/// The next member of the group of `leader` that has ended, reaped. An error, `ECHILD`, where none of it is our child.
pub fn next_ended_of_group(leader: Pid) -> io::Result<Option<Ended>> {
    wait_for_end(-leader.as_raw_nonzero().get())
}

/// Whether any process of the group is there, ended and not reaped ones included. While one is, its number stays taken.
pub fn is_group_there(leader: Pid) -> bool {
    // SAFETY: a plain system call; signal 0 only asks.
    let asked = unsafe { libc::kill(-leader.as_raw_nonzero().get(), 0) };
    // Without the right to signal them they are there all the same.
    asked == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// The next child that has ended; none where children live but none has ended. An error, `ECHILD`, where there are none.
pub fn next_ended() -> io::Result<Option<Ended>> {
    wait_for_end(-1)
}

fn wait_for_end(whom: libc::pid_t) -> io::Result<Option<Ended>> {
    Ok(match wait(whom, 0)? {
        Some(Changed::Ended(ended)) => Some(ended),
        Some(Changed::Stopped(_)) | None => None,
    })
}

/// `wait4(2)`: a process, all of ours (-1), or with a minus before it a group.
fn wait(whom: libc::pid_t, flags: i32) -> io::Result<Option<Changed<Ended>>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid object to be overwritten.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live objects of the right type.
    let pid = unsafe { libc::wait4(whom, &mut status, libc::WNOHANG | flags, &mut usage) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let Some(pid) = Pid::from_raw(pid) else { return Ok(None) };
    if libc::WIFSTOPPED(status) {
        return Ok(Some(Changed::Stopped(Stopped { pid, signal: libc::WSTOPSIG(status) })));
    }
    let how = match libc::WIFSIGNALED(status) {
        true => How::Signal(libc::WTERMSIG(status)),
        false => How::Exit(libc::WEXITSTATUS(status)),
    };
    Ok(Some(Changed::Ended(Ended { pid, how, usage: usage_of(&usage) })))
}

impl Usage {
    /// Both together; of sizes the larger one, as they need not have been there at the same time.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            rss_peak_bytes: self.rss_peak_bytes.max(other.rss_peak_bytes),
            blocks_in: self.blocks_in + other.blocks_in,
            blocks_out: self.blocks_out + other.blocks_out,
            switches_voluntary: self.switches_voluntary + other.switches_voluntary,
            switches_forced: self.switches_forced + other.switches_forced,
        }
    }

    /// CPU time in all.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Blocks read and written in all.
    pub fn blocks(&self) -> u64 {
        self.blocks_in + self.blocks_out
    }
}

fn usage_of(usage: &libc::rusage) -> Usage {
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let nanoseconds =
        |time: libc::timeval| count(time.tv_sec) * 1_000_000_000 + u64::try_from(time.tv_usec).unwrap_or(0) * 1000;
    Usage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        rss_peak_bytes: Some(count(usage.ru_maxrss) * 1024),
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

/// Sets this process's peak to what is resident now (`clear_refs` in `proc_pid_clear_refs(5)`), and with it what children begin with.
pub fn forget_own_peak() -> io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_add_times_and_keep_the_larger_size() {
        let one = Usage { user_ns: 1, system_ns: 2, rss_peak_bytes: Some(30), blocks_in: 4, ..Usage::default() };
        let other =
            Usage { user_ns: 10, system_ns: 20, rss_peak_bytes: Some(20), switches_forced: 5, ..Usage::default() };
        let both = one.with(other);
        assert_eq!((both.user_ns, both.system_ns, both.cpu_ns(), both.rss_peak_bytes), (11, 22, 33, Some(30)));
        assert_eq!((both.blocks_in, both.switches_forced), (4, 5));
    }

    #[test]
    fn own_group_is_there() {
        let own = rustix::process::getpid();
        assert!(crate::session::group_of(own).is_none_or(is_group_there), "or its leader is outside of this container");
    }
}
