//! Signals as a thread sees them: hold them back, wait for them, die by one.
//! Decides nothing about what is to be cleaned up; `commands` does.

use std::io;

/// A set of signals that this process handles in one thread.
#[derive(Clone, Copy)]
pub struct SignalSet {
    set: libc::sigset_t,
}

/// Interrupt, terminate, hang-up and quit: what a person or a system sends to end a program.
pub const ENDING: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The signal of a write to a pipe that nobody reads.
pub const BROKEN_PIPE: i32 = libc::SIGPIPE;

impl SignalSet {
    /// Holds `members` back in the calling thread and every thread it starts from now on.
    ///
    /// A signal that the process was started with as ignored (`nohup`, a shell's background job) stays ignored and is
    /// left out of the set.
    pub fn hold_back(members: &'static [i32]) -> io::Result<Self> {
        // SAFETY: an all-zero sigset_t is a valid object for sigemptyset to fill.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is a live, exclusively borrowed sigset_t; the signal numbers are valid constants.
        unsafe {
            libc::sigemptyset(&mut set);
            for &signal in members {
                if !is_ignored(signal) {
                    libc::sigaddset(&mut set, signal);
                }
            }
        }
        // SAFETY: both pointers are valid for the call; a null old set is allowed.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
        match status {
            0 => Ok(Self { set }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
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
    fn a_held_back_signal_is_waited_for() {
        static ONLY_USR1: &[i32] = &[libc::SIGUSR1];
        let set = SignalSet::hold_back(ONLY_USR1).expect("a valid set");
        // SAFETY: sends a signal that is held back to the calling thread only.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR1) };
        assert_eq!(set.wait().expect("sigwait"), libc::SIGUSR1);
    }
}
