//! Signals as a thread sees them: hold them back, wait for them (or read them from a descriptor), die by one.
//! Decides nothing about what is to be cleaned up; `commands` does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

/// What was held back when this process began, once something is held back by us.
static HELD_BACK_AT_START: OnceLock<libc::sigset_t> = OnceLock::new();

/// A set of signals that this process handles in one thread.
#[derive(Clone, Copy)]
pub struct SignalSet {
    set: libc::sigset_t,
}

/// Interrupt, terminate, hang-up and quit: what a person or a system sends to end a program.
pub const ENDING: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// What a runner of jobs listens to besides the end of its children: the ending signals, job control, and the two that users
/// may give a meaning.
pub const JOB_CONTROL: &[i32] = &[
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    // Never sent to who holds it back: such a one may write to the terminal, and take it, from the background too.
    libc::SIGTTOU,
];

/// What a process that stands for another listens to besides [`JOB_CONTROL`], only to pass it on: it may mean something to that one.
pub const FOR_ANOTHER: &[i32] =
    &[libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF, libc::SIGWINCH, libc::SIGURG, libc::SIGIO, libc::SIGPWR];

/// Numbers that callers compare with.
pub mod number {
    pub use libc::{
        SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU,
        SIGUSR1, SIGUSR2,
    };
}

/// The signal of a write to a pipe that nobody reads.
pub const BROKEN_PIPE: i32 = libc::SIGPIPE;

impl SignalSet {
    /// Holds `members` back in the calling thread and every thread it starts from now on.
    ///
    /// A signal that the process was started with as ignored (`nohup`, a shell's background job) stays ignored and is
    /// left out of the set.
    pub fn hold_back(members: &'static [i32]) -> io::Result<Self> {
        let set = set_of_heeded(members);
        // SAFETY: an all-zero sigset_t is a valid object to be overwritten.
        let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live objects.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        HELD_BACK_AT_START.get_or_init(|| before);
        Ok(Self { set })
    }

    /// Holds them back no more in the calling thread: one that has arrived meanwhile has its way now.
    pub fn let_go(&self) {
        // SAFETY: `set` was filled by hold_back.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &self.set, std::ptr::null_mut()) };
    }

    /// Sleeps until one of the signals arrives and returns its number.
    pub fn wait(&self) -> io::Result<i32> {
        let mut arrived = 0;
        // SAFETY: `set` was filled by hold_back and `arrived` is a live integer.
        match unsafe { libc::sigwait(&self.set, &mut arrived) } {
            0 => Ok(arrived),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Signals that arrive at a descriptor (`signalfd(2)`), for programs with one event loop.
pub struct SignalQueue {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

/// A signal that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Which one.
    pub signal: i32,
    /// Whether a process sent it; otherwise the kernel did, for a key at the terminal or a child, and then it sent it to
    /// every process of the group.
    pub is_sent_by_process: bool,
}

impl SignalQueue {
    /// Holds `members` back in the calling thread and every thread it starts from now on, and queues them.
    ///
    /// Signals that the process was started with as ignored stay ignored and are left out, but SIGCHLD never: children
    /// could not be waited for. Children that stop or go on do not announce it.
    pub fn open(members: &[i32]) -> io::Result<Self> {
        // SAFETY: all-zero sigset_t and sigaction are valid objects; all pointers are to live objects; the action is the
        // default one, so no code of ours ever runs in a signal's context.
        unsafe {
            if members.contains(&libc::SIGCHLD) {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = libc::SIG_DFL;
                action.sa_flags = libc::SA_NOCLDSTOP;
                libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
            }
            let set = set_of_heeded(members);
            let mut before: libc::sigset_t = std::mem::zeroed();
            let status = libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
            if status != 0 {
                return Err(io::Error::from_raw_os_error(status));
            }
            HELD_BACK_AT_START.get_or_init(|| before);
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor), before })
        }
    }

    /// The signals that have arrived, at most eight at once; none when none has. Does not wait.
    pub fn take(&self) -> io::Result<Vec<Arrived>> {
        const RECORD_BYTES: usize = size_of::<libc::signalfd_siginfo>();
        let mut records = [0_u8; 8 * RECORD_BYTES];
        let count = match rustix::io::read(&self.descriptor, &mut records) {
            Ok(count) => count,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let arrived = records[..count].chunks_exact(RECORD_BYTES).map(|record| {
            // SAFETY: the kernel filled the whole record, which is plain integers.
            let info: libc::signalfd_siginfo = unsafe { std::ptr::read_unaligned(record.as_ptr().cast()) };
            Arrived { signal: info.ssi_signo.cast_signed(), is_sent_by_process: info.ssi_code <= 0 }
        });
        Ok(arrived.collect())
    }

    /// Holds `members` back no more in the calling thread. Those that have arrived by now count as taken: what they were to end has ended.
    pub fn let_go(&self, members: &[i32]) {
        while self.take().is_ok_and(|arrived| !arrived.is_empty()) {}
        // SAFETY: the set is filled; a null old set is allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set_of_heeded(members), std::ptr::null_mut()) };
    }

    /// Lets the signals through again.
    pub fn close(self) {
        // SAFETY: the mask was filled when the queue was opened; a null old set is allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }

    pub(crate) fn mask_before(&self) -> &libc::sigset_t {
        &self.before
    }
}

impl AsFd for SignalQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Has signals that this process was started with as ignored end it again, as they end any program: a shell's background jobs ignore
/// SIGINT and SIGQUIT.
pub fn heed(members: &[i32]) {
    for &signal in members {
        // SAFETY: the default action runs no code of ours; the number is one of a signal, or the call does nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// From now on children that stop and go on announce it as well.
pub fn children_announce_stops() {
    // SAFETY: an all-zero sigaction is the default action without flags; a null old action is allowed.
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
    }
}

/// Stops this process as Ctrl-Z does, though it holds that signal back, and SIGCONT too; returns when it has been continued. Where no shell
/// could (its process group is an orphan) the kernel ignores that signal, so it is stopped by SIGSTOP.
pub fn stop_here() {
    // SAFETY: all sets are live and filled; raising a signal is a plain system call on this thread, whose action is the default one.
    unsafe {
        let (mut only, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, &mut before);
        libc::raise(libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        // Who was stopped and goes on has been sent SIGCONT; one from before was discarded by the stop.
        libc::sigpending(&mut pending);
        if libc::sigismember(&pending, libc::SIGCONT) == 0 {
            libc::raise(libc::SIGSTOP);
        }
    }
}

/// Those of `members` that this process does not ignore.
fn set_of_heeded(members: &[i32]) -> libc::sigset_t {
    // SAFETY: an all-zero sigset_t is a valid object for sigemptyset to fill; the numbers are valid constants.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in members.iter().filter(|signal| !is_ignored(**signal)) {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is a valid object to be overwritten; a null new action only asks.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) an error like others instead of the end of the program.
pub fn file_size_limit_is_an_error() {
    // SAFETY: setting a disposition to ignore is a plain system call on this process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Undoes this before the process becomes another program, which would inherit it.
pub fn file_size_limit_ends_the_program() {
    // SAFETY: setting a disposition to its default is a plain system call on this process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
}

/// Has `command` begin with the signals as this process began: what we hold back, or ignore, is nothing of the program's.
pub fn as_at_start(command: &mut Command) -> &mut Command {
    let mask = HELD_BACK_AT_START.get().copied();
    let begin = move || {
        // SAFETY: both are plain system calls on the new process, allowed between fork and exec; a null old set is allowed.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            if let Some(mask) = mask {
                libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            }
        }
        Ok(())
    };
    // SAFETY: what runs there allocates nothing and takes no lock.
    unsafe { command.pre_exec(begin) }
}

/// Has `command` be asked to end (SIGTERM) when the thread that starts it has ended, as it does when we are killed.
pub fn ends_with_us(command: &mut Command) -> &mut Command {
    let ask = || {
        // SAFETY: a plain system call on the new process, allowed between fork and exec.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: what runs there allocates nothing and takes no lock. It runs behind the change of user, which would undo it.
    unsafe { command.pre_exec(ask) }
}

/// Ends this process by `signal` as if it had never been caught, so that the parent sees the true cause.
pub fn die_by(signal: i32) -> ! {
    // SAFETY: resetting a disposition, unblocking and raising are plain system calls on this process; nothing of Rust's
    // runs afterwards unless the signal does not kill, in which case the exit below does.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_begins_with_the_signals_that_we_began_with() {
        let status = || std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
        let of = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| line.starts_with("SigBlk") || line.starts_with("SigIgn"))
                .map(str::to_owned)
                .collect()
        };
        let before = of(&status());
        file_size_limit_is_an_error();
        let _held = SignalSet::hold_back(ENDING).expect("a valid set");
        assert_ne!(of(&status()), before);
        let mut command = Command::new("cat");
        let output = as_at_start(command.arg("/proc/self/status")).output().expect("there is a cat");
        file_size_limit_ends_the_program();
        let theirs = of(&String::from_utf8_lossy(&output.stdout));
        // A Rust program ignores SIGPIPE, and lets what it starts have it.
        let pipe = |line: &String| {
            u64::from_str_radix(line.rsplit('\t').next().unwrap_or(""), 16).expect("hexadecimal") & !0x1000
        };
        assert_eq!(theirs.iter().map(pipe).collect::<Vec<_>>(), before.iter().map(pipe).collect::<Vec<_>>());
    }

    #[test]
    fn what_has_arrived_when_signals_are_let_go_ends_nobody() {
        let queue = SignalQueue::open(&[libc::SIGVTALRM]).expect("a valid set");
        // SAFETY: the signal is held back in this thread, to which alone it is sent.
        unsafe { libc::raise(libc::SIGVTALRM) };
        queue.let_go(&[libc::SIGVTALRM]);
        assert!(queue.take().expect("it can be read").is_empty());
    }

    #[test]
    fn a_held_back_signal_is_waited_for() {
        static ONLY_USR1: &[i32] = &[libc::SIGUSR1];
        let set = SignalSet::hold_back(ONLY_USR1).expect("a valid set");
        // SAFETY: sends a signal that is held back to the calling thread only.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR1) };
        assert_eq!(set.wait().expect("sigwait"), libc::SIGUSR1);
    }
}
