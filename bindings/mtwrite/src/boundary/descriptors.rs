//! The functions with a descriptor: those that are queued, and those that wait until its file is as the program believes it to be.
#![expect(unsafe_code, reason = "a boundary: functions that the program calls instead of libc's, with its pointers")]

use crate::boundary;
use crate::boundary::memory::{self, is_readable};
use crate::boundary::next::{fail, hook, inside, making_number};
use crate::file::Call;
use crate::shim::{self, Answer};
use crate::{end, numbers};
use libc::{iovec, mode_t, off_t, off64_t, size_t, ssize_t, timespec, timeval};
use rustix::fs::Timestamps;
use rustix::time::Timespec;
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// What the program hears of bytes.
fn bytes_told(answer: Answer, count: usize, next: impl FnOnce() -> ssize_t) -> ssize_t {
    match answer {
        Answer::Queued => count.cast_signed(),
        Answer::Failed(errno) => fail(errno) as ssize_t,
        Answer::Pass => next(),
    }
}

/// What it hears of other calls.
fn told(answer: Answer, next: impl FnOnce() -> c_int) -> c_int {
    match answer {
        Answer::Queued => 0,
        Answer::Failed(errno) => fail(errno),
        Answer::Pass => next(),
    }
}

/// Queues bytes; those at an impossible place, or of memory that cannot be read, are the kernel's to refuse.
fn queue(number: c_int, start: *const c_void, count: size_t, offset: Option<off64_t>) -> Answer {
    let place = offset.map(u64::try_from).transpose();
    let (false, true, Ok(place)) = (start.is_null(), count <= isize::MAX as usize, place) else { return Answer::Pass };
    if shim::may_read_bytes_for(number) && !is_readable(start, count) {
        // A part of them may be readable, and is written behind what waits.
        return before_passing(number);
    }
    // SAFETY: not null, and no longer than an object can be; readable, as was asked right now, or not looked at.
    unsafe { queue_readable(number, start, count, place) }
}

/// # Safety
/// `start` leads to `count` bytes that can be read, unless nobody may read bytes for this number.
unsafe fn queue_readable(number: c_int, start: *const c_void, count: size_t, place: Option<u64>) -> Answer {
    // SAFETY: the caller promises it; bytes have no other demands.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), count) };
    inside(Answer::Pass, || shim::write(number, bytes, place))
}

/// The pieces of a vector, if they and all that they lead to can be read. Too many, or too large ones, are the kernel's to refuse.
fn readable_pieces<'program>(pieces: *const iovec, count: c_int) -> Option<&'program [iovec]> {
    let count = usize::try_from(count).ok().filter(|count| (1..=libc::UIO_MAXIOV as usize).contains(count))?;
    // SAFETY: pointers and numbers, which may be any; the program leaves them as they are during its call.
    let pieces = unsafe { memory::values(pieces, count) }?;
    let sum = pieces.iter().try_fold(0_usize, |sum, piece| sum.checked_add(piece.iov_len))?;
    let are_readable = || pieces.iter().all(|piece| is_readable(piece.iov_base, piece.iov_len));
    (sum <= isize::MAX as usize && are_readable()).then_some(pieces)
}

hook! {
    fn write(number: c_int, start: *const c_void, count: size_t) -> ssize_t, next => {
        bytes_told(queue(number, start, count, None), count, next)
    };
    fn pwrite(number: c_int, start: *const c_void, count: size_t, offset: off_t) -> ssize_t, next => {
        bytes_told(queue(number, start, count, Some(offset)), count, next)
    };
    fn pwrite64(number: c_int, start: *const c_void, count: size_t, offset: off64_t) -> ssize_t, next => {
        bytes_told(queue(number, start, count, Some(offset)), count, next)
    };
    fn writev(number: c_int, pieces: *const iovec, count: c_int) -> ssize_t, next => {
        let may_read = shim::may_read_bytes_for(number);
        let Some(pieces) = may_read.then(|| readable_pieces(pieces, count)).flatten() else { return passed(number, next) };
        let mut written = 0;
        for piece in pieces.iter().filter(|piece| piece.iov_len > 0) {
            // SAFETY: all of them can be read, as was asked right now.
            match unsafe { queue_readable(number, piece.iov_base, piece.iov_len, None) } {
                Answer::Queued => written += piece.iov_len,
                // It fails for good: what was queued of it before counts for nothing.
                Answer::Failed(errno) => return fail(errno) as ssize_t,
                // What was queued before is in order; the program learns that it was less, and asks again.
                Answer::Pass if written > 0 => return written.cast_signed(),
                Answer::Pass => return next(),
            }
        }
        if written > 0 { written.cast_signed() } else { next() }
    };
    fn close(number: c_int) -> c_int, next => {
        if shim::is_private(number) {
            return fail(libc::EBADF);
        }
        if number == libc::STDERR_FILENO {
            inside((), || {
                end::drain_all();
                boundary::standard_error_ends(false);
            });
        }
        match inside(Answer::Pass, || shim::close(number)) {
            Answer::Failed(errno) => {
                next();
                fail(errno)
            }
            _ => next(),
        }
    };
    fn fchown(number: c_int, user: libc::uid_t, group: libc::gid_t) -> c_int, next => {
        let answer = inside(Answer::Pass, || {
            let is_certain = shim::may_change_owner(number, user, group);
            shim::furnish(number, is_certain, || Call::Owner(user, group))
        });
        let outcome = told(answer, next);
        if outcome == 0 && answer == Answer::Pass {
            inside((), || shim::owner_was_changed(number, user, group));
        }
        outcome
    };
    fn fchmod(number: c_int, mode: mode_t) -> c_int, next => {
        told(inside(Answer::Pass, || shim::furnish(number, true, || Call::Mode(mode))), next)
    };
    fn futimens(number: c_int, times: *const timespec) -> c_int, next => {
        told(set_times(number, times), next)
    };
    fn utimensat(directory: c_int, path: *const c_char, times: *const timespec, flags: c_int) -> c_int, next => {
        if path.is_null() {
            // Without a path it is about the descriptor.
            return told(set_times(directory, times), next);
        }
        super::paths::before_path(directory, path, flags, shim::FileCare::Now);
        next()
    };
    fn fsetxattr(number: c_int, name: *const c_char, value: *const c_void, count: size_t, flags: c_int) -> c_int, next => {
        let may_queue = shim::is_queued(number) && count <= ATTRIBUTE_BYTES_MAX;
        // SAFETY: the program leaves both as they are during its call.
        let both = may_queue.then(|| unsafe { memory::string(name).zip(bytes(value, count)) }).flatten();
        let Some((name, value)) = both else { return settled(number, next) };
        let call = || Call::Attribute(name.to_owned(), value.to_vec(), flags);
        let answer = inside(Answer::Pass, || {
            let works = shim::may_set_attribute(number, name.to_bytes());
            shim::furnish(number, works, call)
        });
        let outcome = told(answer, next);
        if outcome == 0 && answer == Answer::Pass {
            inside((), || shim::attribute_was_set(number, name.to_bytes()));
        }
        outcome
    };
}

/// LIMIT: the kernel takes no longer value of an attribute.
const ATTRIBUTE_BYTES_MAX: usize = 65_536;

/// # Safety
/// The program leaves them as they are for as long as they are looked at.
unsafe fn bytes<'program>(start: *const c_void, count: usize) -> Option<&'program [u8]> {
    // SAFETY: bytes may be any; the caller promises the rest.
    if count == 0 { Some(&[]) } else { unsafe { memory::values(start.cast(), count) } }
}

fn set_times(number: c_int, times: *const timespec) -> Answer {
    // SAFETY: numbers, which may be any; the program leaves them as they are during its call.
    let pair = if shim::is_queued(number) { unsafe { memory::values(times, 2) } } else { None };
    let Some([access, change]) = pair else {
        // Now, if there are none: not when a worker comes to it.
        return inside(Answer::Pass, || shim::settle(number));
    };
    let is_now = [access, change].iter().any(|time| time.tv_nsec == libc::UTIME_NOW);
    let is_valid = [access, change]
        .iter()
        .all(|time| (0..1_000_000_000).contains(&time.tv_nsec) || time.tv_nsec == libc::UTIME_OMIT);
    let known = |time: &timespec| Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec };
    let times = Timestamps { last_access: known(access), last_modification: known(change) };
    inside(Answer::Pass, || {
        if is_now || !is_valid { shim::settle(number) } else { shim::furnish(number, true, || Call::Times(times)) }
    })
}

pub(super) fn settled(number: c_int, next: impl FnOnce() -> c_int) -> c_int {
    told(inside(Answer::Pass, || shim::settle(number)), next)
}

fn settled_for_good(number: c_int, next: impl FnOnce() -> c_int) -> c_int {
    told(inside(Answer::Pass, || shim::settle_for_good(number)), next)
}

/// A number that the program chooses becomes another file.
fn replaced(number: c_int) {
    inside((), || {
        if shim::is_private(number) {
            end::release_all();
        }
        shim::before_end(number);
        shim::release(number);
        numbers::set(number, numbers::Meaning::Unknown);
        if number == libc::STDERR_FILENO {
            boundary::standard_error_ends(true);
        }
    });
}

/// A second number for the same.
fn doubled(number: c_int, next: impl Fn() -> c_int) -> c_int {
    settled_for_good(number, || {
        let double = making_number(next);
        if double >= 0 && double != number {
            inside((), || shim::doubled(number, double));
        }
        double
    })
}

fn doubled_onto(number: c_int, wanted: c_int, next: impl Fn() -> c_int) -> c_int {
    doubled(number, || {
        if wanted != number {
            replaced(wanted);
        }
        next()
    })
}

fn locked(number: c_int, next: impl FnOnce() -> c_int) -> c_int {
    told(inside(Answer::Pass, || shim::before_lock(number)), next)
}

fn flushed(number: c_int, next: impl FnOnce() -> c_int) -> c_int {
    told(inside(Answer::Pass, || shim::flush(number)), next)
}

hook! {
    fn fsync(number: c_int) -> c_int, next => flushed(number, next);
    fn fdatasync(number: c_int) -> c_int, next => flushed(number, next);
    fn ftruncate(number: c_int, length: off_t) -> c_int, next => settled(number, next);
    fn ftruncate64(number: c_int, length: off64_t) -> c_int, next => settled(number, next);
    fn fallocate(number: c_int, mode: c_int, begin: off_t, length: off_t) -> c_int, next => settled(number, next);
    fn fallocate64(number: c_int, mode: c_int, begin: off64_t, length: off64_t) -> c_int, next => settled(number, next);
    fn posix_fallocate(number: c_int, begin: off_t, length: off_t) -> c_int, next => settled_with_number(number, next);
    fn posix_fallocate64(number: c_int, begin: off64_t, length: off64_t) -> c_int, next => settled_with_number(number, next);
    fn posix_fadvise(number: c_int, begin: off_t, length: off_t, advice: c_int) -> c_int, next => settled_with_number(number, next);
    fn posix_fadvise64(number: c_int, begin: off64_t, length: off64_t, advice: c_int) -> c_int, next => settled_with_number(number, next);
    fn sync_file_range(number: c_int, begin: off64_t, length: off64_t, flags: c_uint) -> c_int, next => flushed(number, next);
    fn flock(number: c_int, operation: c_int) -> c_int, next => locked(number, next);
    fn lockf(number: c_int, command: c_int, length: off_t) -> c_int, next => locked(number, next);
    fn lockf64(number: c_int, command: c_int, length: off64_t) -> c_int, next => locked(number, next);
    fn fremovexattr(number: c_int, name: *const c_char) -> c_int, next => settled(number, next);
    fn futimes(number: c_int, times: *const timeval) -> c_int, next => settled(number, next);
    fn fgetxattr(number: c_int, name: *const c_char, value: *mut c_void, count: size_t) -> ssize_t, next => {
        inside((), || shim::before_look(number));
        next()
    };
    fn flistxattr(number: c_int, names: *mut c_char, count: size_t) -> ssize_t, next => {
        inside((), || shim::before_look(number));
        next()
    };
    fn lseek(number: c_int, offset: off_t, whence: c_int) -> off_t, next => {
        inside((), || shim::before_look(number));
        next()
    };
    fn lseek64(number: c_int, offset: off64_t, whence: c_int) -> off64_t, next => {
        inside((), || shim::before_look(number));
        next()
    };
    fn dup(number: c_int) -> c_int, next => doubled(number, next);
    fn dup2(number: c_int, wanted: c_int) -> c_int, next => doubled_onto(number, wanted, next);
    fn dup3(number: c_int, wanted: c_int, flags: c_int) -> c_int, next => doubled_onto(number, wanted, next);
    // The third argument may be a pointer or absent: it is passed on as the register that it would be in.
    fn fcntl(number: c_int, command: c_int, argument: c_ulong) -> c_int, next => control(number, command, next);
    fn fcntl64(number: c_int, command: c_int, argument: c_ulong) -> c_int, next => control(number, command, next);
    fn ioctl(number: c_int, request: c_ulong, argument: c_ulong) -> c_int, next => settled_for_good(number, next);
    fn pwritev(number: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> ssize_t, next => passed(number, next);
    fn pwritev64(number: c_int, pieces: *const iovec, count: c_int, offset: off64_t) -> ssize_t, next => passed(number, next);
    fn pwritev2(number: c_int, pieces: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t, next => passed(number, next);
    fn pwritev64v2(number: c_int, pieces: *const iovec, count: c_int, offset: off64_t, flags: c_int) -> ssize_t, next => passed(number, next);
    fn sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t, next => passed(to, next);
    fn sendfile64(to: c_int, from: c_int, offset: *mut off64_t, count: size_t) -> ssize_t, next => passed(to, next);
    fn copy_file_range(from: c_int, begin: *mut off64_t, to: c_int, place: *mut off64_t, count: size_t, flags: c_uint) -> ssize_t, next => passed(to, next);
    fn splice(from: c_int, begin: *mut off64_t, to: c_int, place: *mut off64_t, count: size_t, flags: c_uint) -> ssize_t, next => passed(to, next);
    fn vmsplice(to: c_int, pieces: *const iovec, count: size_t, flags: c_uint) -> ssize_t, next => passed(to, next);
    fn send(number: c_int, start: *const c_void, count: size_t, flags: c_int) -> ssize_t, next => told_by_socket(next);
    fn sendto(number: c_int, start: *const c_void, count: size_t, flags: c_int, to: *const libc::sockaddr, length: libc::socklen_t) -> ssize_t, next => told_by_socket(next);
    fn shutdown(number: c_int, how: c_int) -> c_int, next => settled(number, || told_by_socket(|| next() as ssize_t) as c_int);
    fn sendmsg(number: c_int, message: *const libc::msghdr, flags: c_int) -> ssize_t, next => {
        // A descriptor may be in it.
        inside((), end::release_all);
        next()
    };
    fn sendmmsg(number: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int, next => {
        inside((), end::release_all);
        next()
    };
    fn pipe(both: *mut c_int) -> c_int, next => making_number(next);
    fn pipe2(both: *mut c_int, flags: c_int) -> c_int, next => making_number(next);
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int, next => making_number(next);
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, both: *mut c_int) -> c_int, next => making_number(next);
    fn accept(number: c_int, from: *mut libc::sockaddr, length: *mut libc::socklen_t) -> c_int, next => making_number(next);
    fn accept4(number: c_int, from: *mut libc::sockaddr, length: *mut libc::socklen_t, flags: c_int) -> c_int, next => making_number(next);
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int, next => making_number(next);
    fn epoll_create(count: c_int) -> c_int, next => making_number(next);
    fn epoll_create1(flags: c_int) -> c_int, next => making_number(next);
    fn eventfd(count: c_uint, flags: c_int) -> c_int, next => making_number(next);
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int, next => {
        inside((), || forget_from(first));
        next()
    };
    fn closefrom(first: c_int) -> (), next => {
        inside((), || forget_from(first.cast_unsigned()));
        next();
    };
    fn sync() -> (), next => {
        inside((), end::drain_all);
        next();
    };
    fn syncfs(number: c_int) -> c_int, next => {
        inside((), end::drain_all);
        next()
    };
}

/// All numbers from here on may lead elsewhere soon, those that are ours too.
fn forget_from(first: c_uint) {
    end::release_all();
    if first <= libc::STDERR_FILENO.cast_unsigned() {
        boundary::standard_error_ends(false);
    }
    for number in i32::try_from(first).unwrap_or(i32::MAX)..numbers::COUNT {
        numbers::set(number, numbers::Meaning::Unknown);
    }
}

/// These give the error's number instead of -1.
fn settled_with_number(number: c_int, next: impl FnOnce() -> c_int) -> c_int {
    match inside(Answer::Pass, || shim::settle(number)) {
        Answer::Failed(errno) => errno,
        _ => next(),
    }
}

/// Bytes that the kernel moves by itself.
fn passed(number: c_int, next: impl FnOnce() -> ssize_t) -> ssize_t {
    bytes_told(before_passing(number), 0, next)
}

/// What waits comes first.
fn before_passing(number: c_int) -> Answer {
    inside(Answer::Pass, || {
        shim::before_telling(number);
        shim::settle_and_tell(number)
    })
}

fn told_by_socket(next: impl FnOnce() -> ssize_t) -> ssize_t {
    inside((), end::drain_all);
    next()
}

/// What only looks at the number itself is no business of the file's.
fn control(number: c_int, command: c_int, next: impl Fn() -> c_int) -> c_int {
    match command {
        libc::F_GETFD | libc::F_SETFD | libc::F_GETFL => next(),
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => doubled(number, next),
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => locked(number, next),
        _ => settled_for_good(number, next),
    }
}
