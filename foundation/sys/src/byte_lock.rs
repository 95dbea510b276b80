//! Locks on single bytes of a file that belong to an open file description and vanish with it (`fcntl_locking(2)`, open
//! file description locks, Linux 3.15). Never waits.
//!
//! LIE: the lock does not end with the process that took it but with the last copy of the descriptor, or of a mapping made
//! through it, in any process. Open a file for locks alone, with O_CLOEXEC, and map it through another, unless the lock is to last as long as a
//! mapping does.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Locks byte `at` of `file`; false when another description holds it.
pub fn try_lock(file: impl AsFd, at: u64) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, libc::F_WRLCK, at) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lets byte `at` of `file` go. A byte that was not locked is no error.
pub fn unlock(file: impl AsFd, at: u64) -> io::Result<()> {
    control(file, libc::F_OFD_SETLK, libc::F_UNLCK, at).map(drop)
}

/// Whether a description other than `file`'s own holds byte `at`. Reading rights suffice to ask.
pub fn is_locked(file: impl AsFd, at: u64) -> io::Result<bool> {
    control(file, libc::F_OFD_GETLK, libc::F_WRLCK, at).map(|found| i32::from(found) != libc::F_UNLCK)
}

/// One call about one byte; returns the kind of lock that the kernel left in the request.
fn control(file: impl AsFd, command: i32, kind: i32, at: u64) -> io::Result<i16> {
    // SAFETY: an all-zero flock is a valid object; l_pid must be 0 for these commands.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = i64::try_from(at).map_err(io::Error::other)?;
    lock.l_len = 1;
    // SAFETY: the descriptor is open for the call and `lock` is a live, exclusively borrowed flock.
    match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), command, &mut lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(lock.l_type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_byte_is_held_by_one_description_and_freed_by_its_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("table");
        let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path).expect("open");
        let (first, second) = (open(), open());
        assert!(try_lock(&first, 7).expect("lock"));
        assert!(!try_lock(&second, 7).expect("lock"), "held");
        assert!(try_lock(&second, 8).expect("lock"), "its neighbour is not");
        assert!(
            is_locked(&second, 7).expect("ask") && !is_locked(&first, 7).expect("ask"),
            "never asked through itself"
        );
        drop(first);
        assert!(!is_locked(&second, 7).expect("ask"));
        assert!(try_lock(&second, 7).expect("lock"));
        unlock(&second, 7).expect("unlock");
        assert!(try_lock(open(), 7).expect("lock"));
    }
}
