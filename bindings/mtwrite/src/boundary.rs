//! Where this library touches what is not safe Rust: descriptors that are only numbers, what libc would have called, threads of a foreign
//! process. The functions that the program calls instead of libc's are in the files beside; what they do is in `shim`.
#![expect(
    unsafe_code,
    reason = "a boundary: numbers of a foreign program's descriptors, and names that its linker finds"
)]

pub mod descriptors;
pub mod ending;
mod memory;
pub mod next;
pub mod paths;
pub mod signals;
pub mod start;

use crate::end;
use crate::numbers::{self, Meaning};
use crate::statistics::Line;
use rustix::fd::BorrowedFd;
use rustix::fs::{Mode, OFlags, Stat, Timestamps, XattrFlags};
use rustix::io::Errno;
use rustix::process::{Gid, Resource, Uid, getrlimit};
use std::ffi::CStr;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;

/// LIMIT: our descriptors have numbers from here, or from the half of what the process may have. A program with more files open
/// gets numbers beyond ours.
const FIRST_PRIVATE: i32 = 1024;

/// So many numbers, beyond those that the program has open now, are its own to take at any time: no further file is queued where there would be fewer.
const LEFT_TO_PROGRAM: i32 = 16;

/// Most numbers that this process may have, when it was first asked.
static MOST: OnceLock<i32> = OnceLock::new();
/// Numbers that are ours at present.
static OURS: AtomicI32 = AtomicI32::new(0);

/// Our number of standard error as it was when the first file was queued: programs close its stream at their end, to hear of errors.
static STANDARD_ERROR: AtomicI32 = AtomicI32::new(NOT_KEPT);
const NOT_KEPT: i32 = -1;
/// The program has closed the number: it may be any file's now, and who waited for the end of it must see it.
const IS_CLOSED: i32 = -2;

/// A descriptor's number. All calls go to the kernel, past the functions of any library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(i32);

impl Descriptor {
    /// One of the program's.
    pub fn of_program(number: i32) -> Self {
        Self(number)
    }

    fn with<Outcome>(
        self,
        act: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<Outcome>,
    ) -> rustix::io::Result<Outcome> {
        if self.0 < 0 {
            return Err(Errno::BADF);
        }
        // SAFETY: it is not -1. Whether it is open is the kernel's to say, as for any number that a program hands to libc; those
        // that are ours are open until `close`, which only their file's last act calls.
        act(unsafe { BorrowedFd::borrow_raw(self.0) })
    }

    /// What it leads to.
    pub fn status(self) -> rustix::io::Result<Stat> {
        self.with(|descriptor| rustix::fs::fstat(descriptor))
    }

    /// What kind of file system it is on, and how many blocks that has in all.
    pub fn room(self) -> rustix::io::Result<(u64, u64)> {
        self.with(|descriptor| rustix::fs::fstatfs(descriptor)).map(|room| (room.f_type.cast_unsigned(), room.f_blocks))
    }

    /// How it was opened.
    pub fn flags(self) -> rustix::io::Result<OFlags> {
        self.with(|descriptor| rustix::fs::fcntl_getfl(descriptor))
    }

    /// A second descriptor of the same, with a number that is out of the program's way.
    pub fn keep(self) -> Option<Self> {
        let from = FIRST_PRIVATE.min(most_numbers() / 2);
        let kept = self.with(|descriptor| rustix::io::fcntl_dupfd_cloexec(descriptor, from)).ok()?;
        let kept = Self(std::os::fd::IntoRawFd::into_raw_fd(kept));
        OURS.fetch_add(1, Ordering::Relaxed);
        if numbers::set(kept.0, Meaning::Private) {
            return Some(kept);
        }
        let _closed = kept.close();
        None
    }

    /// Closes one that was kept.
    pub fn close(self) -> rustix::io::Result<()> {
        numbers::set(self.0, Meaning::Unknown);
        OURS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: it came from `keep`, and who kept it has given it up. LIE: EINTR of close(2) does not mean that it is open.
        unsafe { rustix::io::try_close(self.0) }.or_else(|error| if error == Errno::INTR { Ok(()) } else { Err(error) })
    }

    /// Where it leads, for people.
    pub fn path(self) -> Vec<u8> {
        let link = format!("/proc/self/fd/{}", self.0);
        rustix::fs::readlink(link, Vec::new()).map_or_else(|_unknown| b"a file".to_vec(), std::ffi::CString::into_bytes)
    }

    /// As fchown(2).
    pub fn change_owner(self, user: u32, group: u32) -> rustix::io::Result<()> {
        let user = (user != u32::MAX).then(|| Uid::from_raw(user));
        let group = (group != u32::MAX).then(|| Gid::from_raw(group));
        self.with(|descriptor| rustix::fs::fchown(descriptor, user, group))
    }

    /// As fchmod(2).
    pub fn change_mode(self, mode: u32) -> rustix::io::Result<()> {
        self.with(|descriptor| rustix::fs::fchmod(descriptor, Mode::from_raw_mode(mode & 0o7777)))
    }

    /// As futimens(3).
    pub fn change_times(self, times: &Timestamps) -> rustix::io::Result<()> {
        self.with(|descriptor| rustix::fs::futimens(descriptor, times))
    }

    /// As fsetxattr(2).
    pub fn set_attribute(self, name: &CStr, value: &[u8], flags: i32) -> rustix::io::Result<()> {
        let flags = XattrFlags::from_bits_retain(flags.cast_unsigned());
        self.with(|descriptor| rustix::fs::fsetxattr(descriptor, name, value, flags))
    }
}

fn most_numbers() -> i32 {
    *MOST.get_or_init(|| {
        getrlimit(Resource::Nofile).current.map_or(i32::MAX, |most| i32::try_from(most).unwrap_or(i32::MAX))
    })
}

/// Whether the program, whose lowest free number was `number` a moment ago, would soon miss those that are ours.
pub fn are_numbers_scarce(number: i32) -> bool {
    most_numbers() - LEFT_TO_PROGRAM <= number.saturating_add(OURS.load(Ordering::Relaxed))
}

/// Gives up all numbers that are ours: the program has found none. Whether there were any.
pub fn leave_numbers() -> bool {
    let are_any = OURS.load(Ordering::Relaxed) > 0;
    end::release_all();
    standard_error_ends(true);
    are_any
}

/// Writes all of it, at the file's offset or at a place.
pub fn write_all(descriptor: Descriptor, mut bytes: &[u8], mut offset: Option<u64>) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let written = descriptor.with(|descriptor| match offset {
            None => rustix::io::write(descriptor, bytes),
            Some(offset) => rustix::io::pwrite(descriptor, bytes, offset),
        });
        match written {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => {
                bytes = &bytes[count..];
                offset = offset.map(|offset| offset + count as u64);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Starts a thread that no signal of the program's reaches.
pub fn start_thread(work: fn()) -> io::Result<JoinHandle<()>> {
    let mut all = std::mem::MaybeUninit::uninit();
    let mut before = std::mem::MaybeUninit::uninit();
    // SAFETY: both are places for a signal set; the second is filled by the call that is given the first, which sigfillset fills.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    signals::hold();
    let started = std::thread::Builder::new().name("mtwrite".to_owned()).stack_size(STACK_BYTES).spawn(work);
    // SAFETY: filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    started
}

/// LIMIT: a worker's calls are few and shallow.
const STACK_BYTES: usize = 128 << 10;

/// Something may have to be said later.
pub fn keep_standard_error() {
    if STANDARD_ERROR.load(Ordering::Acquire) == NOT_KEPT
        && let Some(kept) = Descriptor(libc::STDERR_FILENO).keep()
        && STANDARD_ERROR.compare_exchange(NOT_KEPT, kept.0, Ordering::AcqRel, Ordering::Acquire).is_err()
    {
        let _another_thread_did = kept.close();
    }
}

/// The program closes standard error's number, or sets something else in its place: what is to be said is said before, and nobody else
/// keeps the old one open.
pub fn standard_error_ends(is_replaced: bool) {
    end::say_faults();
    let next = if is_replaced { NOT_KEPT } else { IS_CLOSED };
    let kept = STANDARD_ERROR.swap(next, Ordering::AcqRel);
    if numbers::meaning(kept) == Meaning::Private {
        let _nobody_listens = Descriptor(kept).close();
    }
}

/// Says something on standard error.
pub fn say(text: &str) {
    let kept = STANDARD_ERROR.load(Ordering::Acquire);
    let number = if numbers::meaning(kept) == Meaning::Private { kept } else { libc::STDERR_FILENO };
    if kept != IS_CLOSED {
        let _nobody_listens = write_all(Descriptor(number), text.as_bytes(), None);
    }
}

/// Tells whoever asked at the start what was done. Takes no lock and no memory.
pub fn report(done: &Line) {
    start::tell(done.as_str());
}
