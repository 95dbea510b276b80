//! Process groups and sessions (`credentials(7)`). In a container their leader may be a process outside of it, which has no number
//! inside: the kernel then answers 0, as `pid_namespaces(7)` says, and here it is none.

use rustix::process::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has `command` lead a session of its own, without a terminal: it outlives this one, and no key reaches it.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    // SAFETY: a plain system call on the new process, allowed between fork and exec.
    let lead = || match unsafe { libc::setsid() } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: what runs there allocates nothing and takes no lock.
    unsafe { command.pre_exec(lead) }
}

/// The session of a process, or of this one; none where its leader is outside, or the process is not there.
pub fn session_of(process: Option<Pid>) -> Option<Pid> {
    // SAFETY: a plain system call, which touches no memory.
    known(unsafe { libc::getsid(number_of(process)) })
}

/// The process group of a process, also of one that has ended and is not reaped; none where its leader is outside, or it is not there.
pub fn group_of(process: Pid) -> Option<Pid> {
    // SAFETY: as above.
    known(unsafe { libc::getpgid(number_of(Some(process))) })
}

/// This process's own group; none where its leader is outside.
pub fn own_group() -> Option<Pid> {
    // SAFETY: as above.
    known(unsafe { libc::getpgrp() })
}

fn number_of(process: Option<Pid>) -> libc::pid_t {
    process.map_or(0, |process| process.as_raw_nonzero().get())
}

/// -1 is an error, and 0 a leader without a number.
fn known(answer: libc::pid_t) -> Option<Pid> {
    // rustix takes no negative number.
    (answer > 0).then(|| Pid::from_raw(answer)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_without_a_number_is_none() {
        assert_eq!(known(0), None);
        assert_eq!(known(-1), None);
        assert_eq!(known(7), Pid::from_raw(7));
    }

    #[test]
    fn a_program_may_lead_its_own_session() {
        let mut child = in_own_session(Command::new("sleep").arg("1000")).spawn().expect("it starts");
        let pid = Pid::from_child(&child);
        assert_eq!((session_of(Some(pid)), group_of(pid)), (Some(pid), Some(pid)));
        child.kill().expect("it lives");
        child.wait().expect("it is our child");
    }

    #[test]
    fn nobody_has_no_group_and_no_session() {
        let nobody = Pid::from_raw(i32::MAX).expect("above 0");
        assert_eq!((group_of(nobody), session_of(Some(nobody))), (None, None));
        let own = rustix::process::getpid();
        assert_eq!((group_of(own), session_of(Some(own))), (own_group(), session_of(None)));
    }
}
