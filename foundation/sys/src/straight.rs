//! The calls of which trees are made, straight to the kernel and set in line into the loop that makes them, where no library stands between.
//! On processors that guard their return stack in software (AMD's, for SRSO) a function that returns behind a system call lets all that the
//! kernel does next go slower, by a tenth where files are small: docs/journal/0013-return-stack.md. What is set in line returns from nothing.

use crate::entry::Status;
use crate::tree_calls::{self, SetTime};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;
use std::ffi::{CStr, c_void};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::LazyLock;

/// Whether these calls do what the C library's would: no other library (fakeroot's, a tracer's: `ld.so(8)`, `LD_PRELOAD`) has functions of the
/// same names, which would want to see them.
pub fn is_free() -> bool {
    static IS_FREE: LazyLock<bool> = LazyLock::new(|| {
        let calls = [
            libc::openat as *const c_void,
            libc::fstat as _,
            libc::unlinkat as _,
            libc::close as _,
            libc::futimens as _,
            libc::fchown as _,
            libc::fchmod as _,
            libc::flistxattr as _,
            libc::pread64 as _,
            libc::pwrite64 as _,
        ];
        let library = object_of(libc::__errno_location as _);
        library.is_some() && calls.into_iter().all(|call| object_of(call) == library)
    });
    *IS_FREE
}

/// Which of the loaded objects an address belongs to.
fn object_of(address: *const c_void) -> Option<usize> {
    struct Search {
        address: usize,
        number: usize,
        found: Option<usize>,
    }
    /// # Safety
    /// Called by the loader, with an object of its own and the `Search` that was lent to it.
    unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _bytes: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: both are live, as above; nobody else has the `Search` meanwhile.
        let (object, search) = unsafe { (&*object, &mut *search.cast::<Search>()) };
        // SAFETY: an object has as many program headers as it says; they stay mapped while it is looked at.
        let parts = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
        let is_in = |part: &libc::Elf64_Phdr| {
            let offset = (search.address as u64).wrapping_sub(object.dlpi_addr + part.p_vaddr);
            part.p_type == libc::PT_LOAD && offset < part.p_memsz
        };
        if parts.iter().any(is_in) {
            search.found = Some(search.number);
        }
        search.number += 1;
        search.found.is_some().into()
    }
    let mut search = Search { address: address.addr(), number: 0, found: None };
    // SAFETY: `look` takes what is given here, and nothing keeps it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// [`crate::entry::open_at`].
#[inline(always)]
pub fn open_at(folder: BorrowedFd<'_>, name: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::from_bits_retain(flags.cast_unsigned()) | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::from_bits_retain(mode))?)
}

/// [`crate::entry::status_of`].
#[inline(always)]
pub fn status_of(file: BorrowedFd<'_>) -> io::Result<Status> {
    Ok(Status::from_kernel(&rustix::fs::fstat(file)?))
}

/// [`tree_calls::status_of`].
#[inline(always)]
pub fn whole_status_of(file: BorrowedFd<'_>) -> io::Result<tree_calls::Status> {
    Ok(tree_calls::Status::from_kernel(&rustix::fs::fstat(file)?))
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

/// [`tree_calls::set_times`].
#[inline(always)]
pub fn set_times(file: BorrowedFd<'_>, read: SetTime, changed: SetTime) -> io::Result<()> {
    let of = |time: SetTime| match time {
        Some((tv_sec, nanoseconds)) => Timespec { tv_sec, tv_nsec: nanoseconds.into() },
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    };
    let times = Timestamps { last_access: of(read), last_modification: of(changed) };
    Ok(rustix::fs::futimens(file, &times)?)
}

/// [`crate::entry::set_owner`] of an open file.
#[inline(always)]
pub fn set_owner(file: BorrowedFd<'_>, user: u32, group: u32) -> io::Result<()> {
    Ok(rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?)
}

/// [`crate::entry::set_mode`] of an open file.
#[inline(always)]
pub fn set_mode(file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_bits_retain(mode))?)
}

/// Whether an open file may have extended attributes, or access lists, whose names [`crate::entry::attribute_names`] would tell: also where that
/// fails, unless the file system knows none.
#[inline(always)]
pub fn has_attributes(file: BorrowedFd<'_>) -> bool {
    match rustix::fs::flistxattr_query(file) {
        Ok(bytes) => bytes > 0,
        Err(error) => error != Errno::OPNOTSUPP,
    }
}

/// [`crate::entry::unlink_at`].
#[inline(always)]
pub fn unlink_at(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

/// [`crate::entry::close`].
#[inline(always)]
pub fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: it was ours alone, and nobody has it any more, whatever the answer.
    match unsafe { rustix::io::try_close(file.into_raw_fd()) } {
        Ok(()) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{self, flags};
    use std::os::fd::AsFd;

    #[test]
    fn addresses_are_found_in_their_objects() {
        let (ours, theirs) = (object_of(object_of as _), object_of(libc::getpid as _));
        assert!(ours.is_some() && theirs.is_some() && ours != theirs, "{ours:?} {theirs:?}");
        assert_eq!(object_of(std::ptr::without_provenance(1)), None);
    }

    #[test]
    fn they_do_what_the_c_library_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = std::fs::File::open(folder.path()).expect("open");
        let new = flags::O_CREAT | flags::O_EXCL | flags::O_WRONLY;
        let file = open_at(at.as_fd(), c"x", new, 0o640).expect("made");
        assert!(rustix::io::fcntl_getfd(&file).expect("flags").contains(rustix::io::FdFlags::CLOEXEC));
        std::fs::write(folder.path().join("x"), "12345").expect("written");
        let (one, other) = (status_of(file.as_fd()).expect("status"), entry::status_of(file.as_fd()).expect("status"));
        let all = |status: &Status| {
            let lengths = (status.bytes(), status.allocated_bytes(), status.links());
            let owner = (status.whole_mode(), status.user(), status.group(), status.special_device());
            (status.identity(), lengths, owner, status.read_at(), status.changed_at())
        };
        assert_eq!(all(&one), all(&other));
        let past = Some((1_000_000_000, 5));
        set_times(file.as_fd(), None, past).expect("times");
        assert_eq!(write_at(file.as_fd(), b"67", 5).expect("written"), 2);
        set_times(file.as_fd(), past, None).expect("times");
        let again = std::fs::File::open(folder.path().join("x")).expect("open");
        let (one, other) = (whole_status_of(again.as_fd()), tree_calls::status_of(again.as_fd()));
        let (one, other) = (one.expect("status"), other.expect("status"));
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        assert_eq!((one.size, one.atime, Some(one.mtime) == past), (7, (1_000_000_000, 5), false));
        assert!(!has_attributes(again.as_fd()));
        set_owner(again.as_fd(), one.uid, one.gid).expect("owner");
        set_mode(again.as_fd(), 0o604).expect("mode");
        let told = whole_status_of(again.as_fd()).expect("status");
        assert_eq!((told.mode & 0o7777, told.uid, told.gid), (0o604, one.uid, one.gid));
        let is_set = entry::set_attribute(entry::Target::Open(again.as_fd()), c"user.a", b"blue").is_ok();
        assert_eq!(has_attributes(again.as_fd()), is_set);
        // Reading may change when it was read.
        let mut read = [0; 9];
        assert_eq!((read_at(again.as_fd(), &mut read, 3).expect("read"), &read[..4]), (4, b"4567".as_slice()));
        close(file).expect("closed");
        assert_eq!(open_at(at.as_fd(), c"x", new, 0).expect_err("it is there").kind(), io::ErrorKind::AlreadyExists);
        unlink_at(at.as_fd(), c"x").expect("removed");
        assert_eq!(unlink_at(at.as_fd(), c"x").expect_err("it is gone").kind(), io::ErrorKind::NotFound);
    }
}
