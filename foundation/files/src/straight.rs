//! The calls of which trees are made, straight to the kernel and set in line into the loop that makes them, for runs in which no library stands
//! between. On processors that guard their return stack in software (AMD's, for SRSO) a function that returns behind a system call slows down
//! all that the kernel does next, by a tenth for small files: docs/journal/0013-return-stack.md. A call that is set in line returns from nothing.

use crate::directory::Directory;
use crate::status::{Moment, Status};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
pub use sys::interposed::{close, is_free};

/// [`Directory::open`].
#[inline(always)]
pub fn open(directory: Directory<'_>, name: &CStr, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(directory.descriptor(), name, flags | OFlags::CLOEXEC, Mode::from_bits_retain(mode))?)
}

/// [`Status::of`].
#[inline(always)]
pub fn status_of(file: BorrowedFd<'_>) -> io::Result<Status> {
    Ok(Status::from_kernel(&rustix::fs::fstat(file)?))
}

/// One `pread(2)`.
#[inline(always)]
pub fn read_at(file: BorrowedFd<'_>, target: &mut [u8], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pread(file, target, offset)?)
}

/// One `pwrite(2)`.
#[inline(always)]
pub fn write_at(file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pwrite(file, bytes, offset)?)
}

/// [`crate::attributes::FileReference::set_times`] of an open file.
#[inline(always)]
pub fn set_times(file: BorrowedFd<'_>, read: Option<Moment>, changed: Option<Moment>) -> io::Result<()> {
    let of = |time: Option<Moment>| match time {
        Some(moment) => Timespec { tv_sec: moment.seconds, tv_nsec: moment.nanoseconds.into() },
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    };
    let times = Timestamps { last_access: of(read), last_modification: of(changed) };
    Ok(rustix::fs::futimens(file, &times)?)
}

/// [`crate::attributes::FileReference::set_owner`] of an open file.
#[inline(always)]
pub fn set_owner(file: BorrowedFd<'_>, user: u32, group: u32) -> io::Result<()> {
    Ok(rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?)
}

/// [`crate::attributes::FileReference::set_mode`] of an open file.
#[inline(always)]
pub fn set_mode(file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_bits_retain(mode))?)
}

/// Whether an open file may have extended attributes, or access lists: also if that cannot be found out, unless the file system knows none.
#[inline(always)]
pub fn has_attributes(file: BorrowedFd<'_>) -> bool {
    match rustix::fs::flistxattr_query(file) {
        Ok(bytes) => bytes > 0,
        Err(error) => error != Errno::OPNOTSUPP,
    }
}

/// [`Directory::unlink`].
#[inline(always)]
pub fn unlink(directory: Directory<'_>, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(directory.descriptor(), name, AtFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::FileReference;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn they_do_what_the_c_library_does() {
        let directory = tempfile::tempdir().expect("a directory");
        let open_directory = File::open(directory.path()).expect("open");
        let at = Directory::of(&open_directory);
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let file = open(at, c"x", new, 0o640).expect("made");
        assert!(rustix::io::fcntl_getfd(&file).expect("flags").contains(rustix::io::FdFlags::CLOEXEC));
        std::fs::write(directory.path().join("x"), "12345").expect("written");
        assert_eq!(status_of(file.as_fd()).expect("status"), Status::of(&file).expect("status"));
        let past = Some(Moment { seconds: 1_000_000_000, nanoseconds: 5 });
        set_times(file.as_fd(), None, past).expect("times");
        assert_eq!(write_at(file.as_fd(), b"67", 5).expect("written"), 2);
        set_times(file.as_fd(), past, None).expect("times");
        let again = File::open(directory.path().join("x")).expect("open");
        let one = status_of(again.as_fd()).expect("status");
        assert_eq!(one, Status::of(&again).expect("status"));
        assert_eq!((one.bytes(), Some(one.read_at()), Some(one.changed_at()) == past), (7, past, false));
        assert!(!has_attributes(again.as_fd()));
        set_owner(again.as_fd(), one.user(), one.group()).expect("owner");
        set_mode(again.as_fd(), 0o604).expect("mode");
        let found = status_of(again.as_fd()).expect("status");
        assert_eq!((found.mode(), found.user(), found.group()), (0o604, one.user(), one.group()));
        let is_set = FileReference::Open(again.as_fd()).set_attribute(c"user.a", b"blue").is_ok();
        assert_eq!(has_attributes(again.as_fd()), is_set);
        // Reading may change when it was read.
        let mut read = [0; 9];
        assert_eq!((read_at(again.as_fd(), &mut read, 3).expect("read"), &read[..4]), (4, b"4567".as_slice()));
        close(file).expect("closed");
        assert_eq!(open(at, c"x", new, 0).expect_err("it is there").kind(), io::ErrorKind::AlreadyExists);
        unlink(at, c"x").expect("removed");
        assert_eq!(unlink(at, c"x").expect_err("it is gone").kind(), io::ErrorKind::NotFound);
    }
}
