//! The functions that stand before libc's: they make the program's call as it was made, by the kernel and past every library, and have a
//! large mapping populated before they return. No function here takes memory, a lock or libc's errno, but for a call that fails.
#![expect(unsafe_code, reason = "a boundary: names that the program's linker finds, and pointers of its calls")]

pub mod calls;
pub mod shared;
pub mod start;
pub mod thread;

use crate::ahead;
use crate::kinds::{FileFacts, MapCall};
use crate::ledger::Kind;
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
    }
}

/// Hands an outcome of the kernel's to the program as libc would.
fn as_libc(outcome: Result<usize, Errno>) -> *mut c_void {
    outcome.map_or_else(fail, std::ptr::with_exposed_provenance_mut)
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
        if flags & libc::MAP_ANONYMOUS == 0 {
            forget(at, bytes);
        }
    }
    let map = |flags: c_int| calls::map(at, bytes, protection, flags, file, offset);
    if bytes < shared::min_bytes() {
        return as_libc(map(flags));
    }
    let call = MapCall { bytes, protection, flags };
    let kind = call.kind(|| calls::file_facts(file));
    let Some(kind) = kind else {
        let mapped = map(flags);
        match mapped {
            Ok(start) if call.is_reservation() => RESERVED.add(start, bytes),
            Ok(start) if flags & libc::MAP_ANONYMOUS != 0 => IN_MEMORY.add(start, bytes),
            _ => {}
        }
        return as_libc(mapped);
    };
    let page = operation::page_bytes(flags, || calls::block_bytes(file));
    let mapped = map(flags & !POPULATES).and_then(|start| {
        IN_MEMORY.add(start, bytes);
        let outcome = operation::improve(Mapping { start, bytes, kind, page });
        match outcome {
            // What mmap(2) answers for a mapping that does not fit.
            operation::Improved::Refused => {
                IN_MEMORY.forget(start, bytes);
                calls::unmap(start, bytes)?;
                return Err(libc::ENOMEM);
            }
            operation::Improved::No if flags & POPULATES != 0 => calls::populate(start, bytes).unwrap_or_default(),
            operation::Improved::No | operation::Improved::Yes => {}
        }
        Ok(start)
    });
    as_libc(mapped)
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
        let _best_effort = operation::improve(Mapping { start, bytes, kind: Kind::Committed, page: operation::PAGE });
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
    forget(from, bytes);
    if flags & libc::MREMAP_FIXED != 0 {
        ahead::forget(to, new_bytes);
        forget(to, new_bytes);
    }
    as_libc(calls::call(Sysno::mremap, [from, bytes, new_bytes, flags.cast_unsigned() as usize, to, 0]))
}

/// # Safety
/// As shmat(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn shmat(segment: c_int, address: *const c_void, flags: c_int) -> *mut c_void {
    let at = address.expose_provenance();
    let arguments = [segment.cast_unsigned() as usize, at, flags.cast_unsigned() as usize, 0, 0, 0];
    let attached = calls::call(Sysno::shmat, arguments);
    if let Ok(start) = attached
        && flags & libc::SHM_RDONLY == 0
        && let Some(bytes) = calls::new_segment_bytes(segment)
        && bytes >= shared::min_bytes()
    {
        IN_MEMORY.add(start, bytes);
        let _best_effort = operation::improve(Mapping { start, bytes, kind: Kind::Segment, page: operation::PAGE });
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
    // SAFETY: the caller's promise is the same.
    unsafe { mlock2(address, bytes, 0) }
}

/// # Safety
/// As mlock2(2).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mlock2(address: *const c_void, bytes: size_t, flags: libc::c_uint) -> c_int {
    let start = address.expose_provenance();
    let is_first_touch = flags == 0 && bytes >= shared::min_bytes() && start.is_multiple_of(operation::PAGE);
    // Pages that are locked as they come need no second walk; only then is it known that this may be locked at all.
    if is_first_touch && calls::lock_on_fault(start, bytes).is_ok() {
        let is_in_memory = IN_MEMORY.covers(start, bytes) || RESERVED.covers(start, bytes);
        let kind = if is_in_memory { Kind::Locked } else { Kind::LockedFile };
        let _the_kernel_does_the_rest = operation::improve(Mapping { start, bytes, kind, page: operation::PAGE });
    }
    as_status(calls::call(Sysno::mlock2, [start, bytes, flags as usize, 0, 0, 0]))
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
        }
    }
}
