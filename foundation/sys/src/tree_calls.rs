//! The calls that look at, make and change what stands in an open directory: one function a call, and nothing above it; `files` gives them a
//! vocabulary. They go through the C library and not past it, so that what a program is run under (fakeroot) sees and may answer them.

use rustix::fs::{AtFlags, OFlags, RenameFlags};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

fn outcome(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn count(answer: isize) -> io::Result<usize> {
    usize::try_from(answer).ok().ok_or_else(io::Error::last_os_error)
}

fn number(flags: AtFlags) -> libc::c_int {
    flags.bits().cast_signed()
}

/// `openat(2)`; close-on-exec is added. Called again when a signal interrupts it.
pub fn open_at(directory: BorrowedFd<'_>, name: &CStr, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
    let flags = (flags | OFlags::CLOEXEC).bits().cast_signed();
    loop {
        // SAFETY: `name` ends in a zero byte; the mode is passed as the variadic argument that O_CREAT reads.
        let answer = unsafe { libc::openat(directory.as_raw_fd(), name.as_ptr(), flags, mode) };
        if answer >= 0 {
            // SAFETY: the kernel just gave this descriptor to us alone.
            return Ok(unsafe { OwnedFd::from_raw_fd(answer) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Closes a file that was written. The kernel reports some errors of earlier writes only now: NFS, FUSE and quotas do (`close(2)`).
pub fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: it was ours alone, and nobody has it any more, whatever the answer.
    match outcome(unsafe { libc::close(file.into_raw_fd()) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        closed => closed,
    }
}

/// `fstatat(2)` of `name`; `fstat(2)` of the open file without one.
pub fn status(file: BorrowedFd<'_>, name: Option<&CStr>, flags: AtFlags) -> io::Result<libc::stat> {
    // SAFETY: an all-zero stat is a valid object for the call to fill.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `name` ends in a zero byte, `status` is live and exclusively borrowed.
    outcome(unsafe {
        match name {
            Some(name) => libc::fstatat(file.as_raw_fd(), name.as_ptr(), &mut status, number(flags)),
            None => libc::fstat(file.as_raw_fd(), &mut status),
        }
    })?;
    Ok(status)
}

/// `mkdirat(2)`.
pub fn make_directory_at(directory: BorrowedFd<'_>, name: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::mkdirat(directory.as_raw_fd(), name.as_ptr(), mode) })
}

/// `mknodat(2)`.
pub fn make_node_at(directory: BorrowedFd<'_>, name: &CStr, mode: u32, device: u64) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::mknodat(directory.as_raw_fd(), name.as_ptr(), mode, device) })
}

/// `symlinkat(2)`.
pub fn symlink_at(target: &CStr, directory: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: both texts end in a zero byte.
    outcome(unsafe { libc::symlinkat(target.as_ptr(), directory.as_raw_fd(), name.as_ptr()) })
}

/// `readlinkat(2)`: how many bytes of `target` the link has.
pub fn read_link_at(directory: BorrowedFd<'_>, name: &CStr, target: &mut [u8]) -> io::Result<usize> {
    let (at, length) = (target.as_mut_ptr().cast(), target.len());
    // SAFETY: `name` ends in a zero byte; the buffer is live and `length` long.
    count(unsafe { libc::readlinkat(directory.as_raw_fd(), name.as_ptr(), at, length) })
}

/// `linkat(2)`.
pub fn link_at(from: BorrowedFd<'_>, name: &CStr, to: BorrowedFd<'_>, second: &CStr, flags: AtFlags) -> io::Result<()> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: both names end in a zero byte.
    outcome(unsafe { libc::linkat(from, name.as_ptr(), to, second.as_ptr(), number(flags)) })
}

/// `renameat(2)`; `renameat2(2)` where there are flags.
pub fn rename_at(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    new: &CStr,
    flags: RenameFlags,
) -> io::Result<()> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: both names end in a zero byte.
    outcome(unsafe {
        match flags.is_empty() {
            true => libc::renameat(from, name.as_ptr(), to, new.as_ptr()),
            false => libc::renameat2(from, name.as_ptr(), to, new.as_ptr(), flags.bits()),
        }
    })
}

/// `unlinkat(2)`.
pub fn unlink_at(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<()> {
    // SAFETY: `name` ends in a zero byte.
    outcome(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), number(flags)) })
}

/// `faccessat(2)`: whether the effective user may write to `name`.
pub fn is_writable_at(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    // SAFETY: `name` ends in a zero byte.
    unsafe { libc::faccessat(directory.as_raw_fd(), name.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
}

/// `fchownat(2)` of `name`, of a link the link's own; `fchown(2)` of the open file without one.
pub fn set_owner(file: BorrowedFd<'_>, name: Option<&CStr>, user: u32, group: u32) -> io::Result<()> {
    let nofollow = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the name, if any, ends in a zero byte.
    outcome(unsafe {
        match name {
            Some(name) => libc::fchownat(file.as_raw_fd(), name.as_ptr(), user, group, nofollow),
            None => libc::fchown(file.as_raw_fd(), user, group),
        }
    })
}

/// `fchmodat(2)` of `name` that follows no link; `fchmod(2)` of the open file without one.
pub fn set_mode(file: BorrowedFd<'_>, name: Option<&CStr>, mode: u32) -> io::Result<()> {
    // SAFETY: the name, if any, ends in a zero byte.
    outcome(unsafe {
        match name {
            Some(name) => libc::fchmodat(file.as_raw_fd(), name.as_ptr(), mode, libc::AT_SYMLINK_NOFOLLOW),
            None => libc::fchmod(file.as_raw_fd(), mode),
        }
    })
}

/// `chmod(2)`, which follows links.
pub fn set_mode_of_path(path: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte.
    outcome(unsafe { libc::chmod(path.as_ptr(), mode) })
}

/// Leaves a time as it is, in place of its nanoseconds.
pub const OMITTED: i64 = libc::UTIME_OMIT;

/// `utimensat(2)` of `name`, of a link the link's own; `futimens(3)` of the open file without one. Each time in seconds and nanoseconds.
pub fn set_times(file: BorrowedFd<'_>, name: Option<&CStr>, times: [(i64, i64); 2]) -> io::Result<()> {
    let times = times.map(|(tv_sec, tv_nsec)| libc::timespec { tv_sec, tv_nsec });
    let (at, nofollow) = (times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the name, if any, ends in a zero byte; the two times live through the call.
    outcome(unsafe {
        match name {
            Some(name) => libc::utimensat(file.as_raw_fd(), name.as_ptr(), at, nofollow),
            None => libc::futimens(file.as_raw_fd(), at),
        }
    })
}

/// What has extended attributes: an open file, or what stands at a path, of a link the link itself.
#[derive(Clone, Copy)]
pub enum Attributed<'a> {
    /// An open file.
    Open(BorrowedFd<'a>),
    /// At a path.
    At(&'a CStr),
}

/// `listxattr(2)`: how many bytes of `names` there are.
pub fn attribute_names(of: Attributed<'_>, names: &mut [u8]) -> io::Result<usize> {
    let (at, length) = (names.as_mut_ptr().cast(), names.len());
    // SAFETY: the buffer is live and `length` long; the path, if any, ends in a zero byte.
    count(unsafe {
        match of {
            Attributed::Open(file) => libc::flistxattr(file.as_raw_fd(), at, length),
            Attributed::At(path) => libc::llistxattr(path.as_ptr(), at, length),
        }
    })
}

/// `getxattr(2)`: how many bytes of `value` there are.
pub fn attribute(of: Attributed<'_>, name: &CStr, value: &mut [u8]) -> io::Result<usize> {
    let (at, length) = (value.as_mut_ptr().cast(), value.len());
    // SAFETY: the buffer is live and `length` long; the name and the path, if any, end in a zero byte.
    count(unsafe {
        match of {
            Attributed::Open(file) => libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), at, length),
            Attributed::At(path) => libc::lgetxattr(path.as_ptr(), name.as_ptr(), at, length),
        }
    })
}

/// `setxattr(2)`.
pub fn set_attribute(of: Attributed<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
    let (at, length) = (value.as_ptr().cast(), value.len());
    // SAFETY: the value is live and `length` long; the name and the path, if any, end in a zero byte.
    outcome(unsafe {
        match of {
            Attributed::Open(file) => libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), at, length, 0),
            Attributed::At(path) => libc::lsetxattr(path.as_ptr(), name.as_ptr(), at, length, 0),
        }
    })
}

/// `removexattr(2)`.
pub fn remove_attribute(of: Attributed<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: the name and the path, if any, end in a zero byte.
    outcome(unsafe {
        match of {
            Attributed::Open(file) => libc::fremovexattr(file.as_raw_fd(), name.as_ptr()),
            Attributed::At(path) => libc::lremovexattr(path.as_ptr(), name.as_ptr()),
        }
    })
}

/// `geteuid(2)`, which under fakeroot is root.
pub fn effective_user() -> u32 {
    // SAFETY: it cannot fail and touches no memory of ours.
    unsafe { libc::geteuid() }
}
