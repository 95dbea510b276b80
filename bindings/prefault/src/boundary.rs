//! The functions that stand before libc's: they make the program's call as it was made, by the kernel and past every library, and have a
//! large mapping populated before they return. No function here takes memory, a lock or libc's errno, but for a call that fails.
#![expect(unsafe_code, reason = "a boundary: names that the program's linker finds, and pointers of its calls")]

pub mod calls;
pub mod rights;
pub mod shared;
pub mod start;
pub mod thread;

use crate::ahead;
use crate::kinds::{FileFacts, MapCall};
use crate::ledger::{self, Kind};
use crate::operation::{self, Mapping};
use crate::ranges::Ranges;
use calls::Errno;
use libc::{c_int, c_void, off_t, size_t};
use syscalls::Sysno;

/// What the program has set aside.
static RESERVED: Ranges = Ranges::new();
/// What is memory, and no file on a disk.
static IN_MEMORY: Ranges = Ranges::new();

/// Flags by which the kernel would populate by itself, with one thread.
const POPULATES: c_int = libc::MAP_POPULATE;

/// A range is unmapped, or another mapping comes in its place.
fn forget(start: usize, bytes: usize) {
    if shared::min_bytes() < usize::MAX {
        RESERVED.forget(start, bytes);
        IN_MEMORY.forget(start, bytes);
        operation::LOCKED.forget(start, bytes);
    }
}

/// Hands an outcome of the kernel's to the program as libc would.
fn as_libc(outcome: Result<usize, Errno>) -> *mut c_void {
    outcome.map_or_else(fail, core::ptr::with_exposed_provenance_mut)
}

fn as_status(outcome: Result<usize, Errno>) -> c_int {
    if let Err(errno) = outcome {
        let _failed = fail(errno);
        return -1;
    }
    0
}

/// Sets errno; MAP_FAILED.
fn fail(errno: Errno) -> *mut c_void {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    libc::MAP_FAILED
}

/// # Safety
/// As mmap(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let at = address.expose_provenance();
    if flags & libc::MAP_FIXED != 0 {
        ahead::forget(at, bytes);
    }
    let map = |flags: c_int| calls::map(at, bytes, protection, flags, file, offset);
    let call = MapCall { bytes, protection, flags };
    let is_large = bytes >= shared::min_bytes();
    let Some(kind) = is_large.then(|| call.kind(|| calls::file_facts(file))).flatten() else {
        let mapped = map(flags);
        if let Ok(start) = mapped {
            remember(start, call, is_large);
        }
        return as_libc(mapped);
    };
    let page = operation::page_bytes(flags, || calls::block_bytes(file));
    let is_demanded = flags & POPULATES != 0;
    let mapped = map(flags & !POPULATES).and_then(|start| {
        forget(start, bytes);
        IN_MEMORY.add(start, bytes);
        match operation::improve(Mapping { start, bytes, kind, page, is_demanded }) {
            // What mmap(2) answers for a mapping that does not fit; not where another one has been replaced already.
            operation::Improved::Refused if flags & libc::MAP_FIXED == 0 => {
                forget(start, bytes);
                calls::unmap(start, bytes)?;
                return Err(libc::ENOMEM);
            }
            operation::Improved::Whole => {}
            _ if is_demanded => calls::populate(start, bytes).unwrap_or_default(),
            _ => {}
        }
        Ok(start)
    });
    as_libc(mapped)
}

/// What a mapping means for later calls that is not populated itself.
fn remember(start: usize, call: MapCall, is_large: bool) {
    let is_anonymous = call.flags & libc::MAP_ANONYMOUS != 0;
    if is_large || !is_anonymous {
        forget(start, call.bytes);
    }
    match is_large {
        true if call.is_reservation() => RESERVED.add(start, call.bytes),
        true if is_anonymous => IN_MEMORY.add(start, call.bytes),
        _ => {}
    }
    if is_large && call.protection & libc::PROT_WRITE != 0 {
        shared::count(ledger::LEFT_ALONE);
    }
}

/// # Safety
/// As mmap(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's promise is the same.
    unsafe { mmap(address, bytes, protection, flags, file, offset) }
}

/// # Safety
/// As munmap(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    let start = address.expose_provenance();
    ahead::forget(start, bytes);
    forget(start, bytes);
    as_status(calls::unmap(start, bytes).map(|()| 0))
}

/// # Safety
/// As mprotect(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mprotect(address: *mut c_void, bytes: size_t, protection: c_int) -> c_int {
    let start = address.expose_provenance();
    if protection & libc::PROT_WRITE == 0 {
        ahead::forget(start, bytes);
    }
    let outcome = calls::call(Sysno::mprotect, [start, bytes, protection.cast_unsigned() as usize, 0, 0, 0]);
    let is_commit = outcome.is_ok() && protection & libc::PROT_WRITE != 0 && bytes >= shared::min_bytes();
    if is_commit && RESERVED.covers(start, bytes) {
        let _best_effort = operation::improve(Mapping {
            start,
            bytes,
            kind: Kind::Committed,
            page: operation::PAGE,
            is_demanded: false,
        });
    }
    as_status(outcome)
}

/// # Safety
/// As mremap(2), whose fifth argument is there with MREMAP_FIXED only, and passed on whatever it is.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mremap(
    address: *mut c_void,
    bytes: size_t,
    new_bytes: size_t,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    let (from, to) = (address.expose_provenance(), new_address.expose_provenance());
    ahead::forget(from, bytes);
    if flags & libc::MREMAP_FIXED != 0 {
        ahead::forget(to, new_bytes);
        forget(to, new_bytes);
    }
    let is_locked = operation::LOCKED.overlaps(from, bytes);
    forget(from, bytes);
    let remap = || calls::call(Sysno::mremap, [from, bytes, new_bytes, flags.cast_unsigned() as usize, to, 0]);
    let outcome = remap();
    // Locked by us, it may not grow; the program knows nothing of that.
    let outcome = match outcome {
        Err(_) if is_locked && calls::unlock(from, bytes).is_ok() => remap(),
        outcome => outcome,
    };
    as_libc(outcome)
}

/// # Safety
/// As madvise(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn madvise(address: *mut c_void, bytes: size_t, advice: c_int) -> c_int {
    let start = address.expose_provenance();
    let advise = || calls::call(Sysno::madvise, [start, bytes, advice.cast_unsigned() as usize, 0, 0, 0]);
    // Memory that we have locked is not given back by these.
    let gives_back = matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE);
    as_status(match advise() {
        Err(libc::EINVAL)
            if gives_back && operation::LOCKED.overlaps(start, bytes) && calls::unlock(start, bytes).is_ok() =>
        {
            advise()
        }
        outcome => outcome,
    })
}

/// # Safety
/// As shmat(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn shmat(segment: c_int, address: *const c_void, flags: c_int) -> *mut c_void {
    let at = address.expose_provenance();
    let arguments = [segment.cast_unsigned() as usize, at, flags.cast_unsigned() as usize, 0, 0, 0];
    let attached = calls::call(Sysno::shmat, arguments);
    if let Ok(start) = attached {
        forget(start, 1);
    }
    if let Ok(start) = attached
        && flags & libc::SHM_RDONLY == 0
        && let Some(bytes) = calls::new_segment_bytes(segment)
        && bytes >= shared::min_bytes()
    {
        IN_MEMORY.add(start, bytes);
        let _best_effort = operation::improve(Mapping {
            start,
            bytes,
            kind: Kind::Segment,
            page: operation::PAGE,
            is_demanded: false,
        });
    }
    as_libc(attached)
}

/// # Safety
/// As shmdt(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn shmdt(address: *const c_void) -> c_int {
    let start = address.expose_provenance();
    ahead::forget(start, 1);
    forget(start, 1);
    as_status(calls::call(Sysno::shmdt, [start, 0, 0, 0, 0, 0]))
}

/// # Safety
/// As mlock(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mlock(address: *const c_void, bytes: size_t) -> c_int {
    let start = address.expose_provenance();
    populate_locked(start, bytes);
    as_status(calls::call(Sysno::mlock, [start, bytes, 0, 0, 0, 0]))
}

/// # Safety
/// As mlock2(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mlock2(address: *const c_void, bytes: size_t, flags: libc::c_uint) -> c_int {
    let start = address.expose_provenance();
    if flags == 0 {
        populate_locked(start, bytes);
    }
    as_status(calls::call(Sysno::mlock2, [start, bytes, flags as usize, 0, 0, 0]))
}

/// What the program is about to lock. Pages that are locked as they come need no second walk; only then is it known that they may be locked.
fn populate_locked(start: usize, bytes: usize) {
    if bytes >= shared::min_bytes()
        && start.is_multiple_of(operation::PAGE)
        && calls::lock_on_fault(start, bytes).is_ok()
    {
        operation::LOCKED.forget(start, bytes);
        let is_in_memory = IN_MEMORY.covers(start, bytes) || RESERVED.covers(start, bytes);
        let kind = if is_in_memory { Kind::Locked } else { Kind::LockedFile };
        let mapping = Mapping { start, bytes, kind, page: operation::PAGE, is_demanded: true };
        let _the_kernel_does_the_rest = operation::improve(mapping);
    }
}

/// Registering memory for the program to serve its faults: memory that is populated has none (userfaultfd(2)).
///
/// # Safety
/// As ioctl(2), whose argument is passed on whatever it is.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn ioctl(file: c_int, request: libc::c_ulong, argument: usize) -> c_int {
    const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
    if request == UFFDIO_API {
        shared::leave();
    }
    match calls::call(Sysno::ioctl, [file.cast_unsigned() as usize, request as usize, argument, 0, 0, 0]) {
        Ok(answer) => answer as c_int,
        failed => as_status(failed),
    }
}

/// A filter of system calls that the program gives itself may end it for calls that it never made itself (seccomp(2)): from here on,
/// or from what comes before such a filter, mappings are left alone.
///
/// # Safety
/// As prctl(2), whose arguments are passed on whatever they are.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn prctl(operation: c_int, b: usize, c: usize, d: usize, e: usize) -> c_int {
    if matches!(operation, libc::PR_SET_NO_NEW_PRIVS | libc::PR_SET_SECCOMP) {
        shared::leave();
    }
    match calls::call(Sysno::prctl, [operation.cast_unsigned() as usize, b, c, d, e, 0]) {
        Ok(answer) => answer as c_int,
        failed => as_status(failed),
    }
}

impl FileFacts {
    /// Of a descriptor of the program's.
    fn of(status: &libc::stat, system: &libc::statfs) -> Self {
        Self {
            magic: system.f_type.cast_unsigned(),
            present_bytes: u64::try_from(status.st_blocks).unwrap_or(0).saturating_mul(512),
            room: (system.f_blocks > 0).then(|| system.f_bavail.saturating_mul(system.f_bsize.cast_unsigned())),
            is_named: status.st_nlink > 0,
        }
    }
}
