//! Stopping other threads at each of their system calls (`ptrace(2)`): needs no rights over one's own processes, and makes
//! every call many times slower. Follows what the traced start. Passes signals on; does not change anything else.
//!
//! LIE: a traced program that is stopped by job control (SIGSTOP, Ctrl-Z) goes on at once.

use crate::reap::How;
use std::collections::HashSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// What a traced thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was born, or was found: it is traced from now on.
    Begun,
    /// A call begins.
    Entered {
        /// Its number; None where it is one of another architecture's, as 32-bit programs have them.
        call: Option<u64>,
        /// Its first argument.
        first_argument: u64,
    },
    /// The call is over.
    Left {
        /// Its result; below zero the negative number of an error.
        result: i64,
    },
    /// It has executed another program, which no other thread of its process outlives, and was not its process's first thread: it has
    /// that one's number from now on.
    Became {
        /// Its number up to now; that thread does not end under it.
        former: u32,
    },
    /// It has ended.
    Ended(How),
}

/// A thread and what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its number.
    pub thread: u32,
    /// What.
    pub event: Event,
}

/// Threads under trace, by the calling thread alone. Dropped, it lets those go that it has not started itself.
#[derive(Debug, Default)]
pub struct Tracer {
    known: HashSet<i32>,
}

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC;
/// What marks a stop at a call among other stops by this signal.
const CALL_STOP: libc::c_int = libc::SIGTRAP | 0x80;

/// `struct ptrace_syscall_info`.
#[repr(C)]
#[derive(Default)]
struct CallInformation {
    kind: u8,
    padding: [u8; 3],
    architecture: u32,
    instruction: u64,
    stack: u64,
    /// At the beginning: number and arguments. At the end: the result.
    words: [u64; 8],
}

const GET_CALL_INFORMATION: libc::c_uint = 0x420e;
const KIND_ENTRY: u8 = 1;

/// The architecture whose numbers of calls this program has itself, where it is known (linux/audit.h).
const NATIVE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};
const KIND_EXIT: u8 = 2;

impl Tracer {
    /// Starts `command`, traced from its first instruction; it waits for the first [`Tracer::wait`].
    pub fn spawn(command: &mut Command) -> io::Result<(Self, Child)> {
        // SAFETY: the hook makes one system call between fork and exec, and touches no memory.
        unsafe {
            command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0, 0).map(|_| ()));
        }
        let child = command.spawn()?;
        Ok((Self::default(), child))
    }

    /// Sleeps until a traced thread does something, and lets it go on. An error, `ECHILD`, when nobody is traced any more.
    // LIE: no signal tells of these stops where children that stop are not to be told, so that nothing but waiting helps.
    pub fn wait(&mut self) -> io::Result<Seen> {
        loop {
            let mut status = 0;
            // Of this thread alone: other threads of this process have children of their own.
            // SAFETY: the status is a live integer.
            let thread = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if thread < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error);
            }
            if let Some(event) = self.take(thread, status) {
                return Ok(Seen { thread: thread.unsigned_abs(), event });
            }
        }
    }

    fn take(&mut self, thread: i32, status: i32) -> Option<Event> {
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            self.known.remove(&thread);
            return Some(Event::Ended(match libc::WIFSIGNALED(status) {
                true => How::Signal(libc::WTERMSIG(status)),
                false => How::Exit(libc::WEXITSTATUS(status)),
            }));
        }
        let (signal, is_event) = (libc::WSTOPSIG(status), status >> 16 != 0);
        if self.known.insert(thread) {
            // Its first stop: that of a new thread, or of a new program. Neither signal is meant for it.
            let _gone = request(libc::PTRACE_SETOPTIONS, thread, 0, OPTIONS as usize);
            go_on(thread, 0);
            return Some(Event::Begun);
        }
        let event = match signal {
            CALL_STOP => at_call(thread),
            libc::SIGTRAP if status >> 16 == libc::PTRACE_EVENT_EXEC => self.at_execution(thread),
            _ => None,
        };
        go_on(thread, if signal == CALL_STOP || is_event { 0 } else { signal });
        event
    }

    /// LIE: a thread that executes a program takes the number of its process's first one, whatever its own was, and nobody ends under either.
    fn at_execution(&mut self, thread: i32) -> Option<Event> {
        let mut message: libc::c_ulong = 0;
        let address: *mut libc::c_ulong = &mut message;
        request(libc::PTRACE_GETEVENTMSG, thread, 0, address as usize).ok()?;
        let former = u32::try_from(message).ok().filter(|former| *former != thread.unsigned_abs())?;
        // Somebody else may get the number.
        self.known.remove(&former.cast_signed());
        Some(Event::Became { former })
    }
}

/// A thread that was killed in the meantime is reported as ended next; there is nothing to do about it here.
fn go_on(thread: i32, signal: i32) {
    let _gone = request(libc::PTRACE_SYSCALL, thread, 0, signal as usize);
}

fn at_call(thread: i32) -> Option<Event> {
    let mut information = CallInformation::default();
    let address: *mut CallInformation = &mut information;
    request(GET_CALL_INFORMATION, thread, size_of::<CallInformation>(), address as usize).ok()?;
    match information.kind {
        KIND_ENTRY => {
            let call = NATIVE.is_none_or(|native| native == information.architecture).then_some(information.words[0]);
            Some(Event::Entered { call, first_argument: information.words[1] })
        }
        KIND_EXIT => Some(Event::Left { result: information.words[0].cast_signed() }),
        _ => None,
    }
}

fn request(what: libc::c_uint, thread: i32, address: usize, data: usize) -> io::Result<libc::c_long> {
    // SAFETY: the requests that take pointers get them, and room enough, from callers in this file; the others take numbers.
    let result = unsafe { libc::ptrace(what, thread, address, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_information_is_as_long_as_the_kernels() {
        assert_eq!(size_of::<CallInformation>(), 88);
    }
}
