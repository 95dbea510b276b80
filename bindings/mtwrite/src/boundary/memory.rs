//! Whether the program's memory can be read. The kernel answers a bad pointer with `EFAULT`; reading it here would end the process
//! by a signal. What cannot be read is left to the kernel, which then answers as it does without this library.
#![expect(unsafe_code, reason = "a boundary: pointers of the program, looked at before they are believed")]

use crate::boundary::next::NextFunction;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// The smallest page that any Linux has: memory is readable or not by pages of this size or larger ones.
const PAGE_BYTES: usize = 4096;
/// What one probe reads: the kernel's set of signals.
const PROBE_BYTES: usize = 8;
/// No order to `rt_sigprocmask(2)`, so that nothing is changed.
const NO_ORDER: c_int = -1;

/// Whether `count` bytes from `start` on can be read now.
// LIMIT: another thread that takes the memory away in the next moment is not seen; without us, it would be a race as well.
pub fn is_readable(start: *const c_void, count: usize) -> bool {
    let first = start.addr();
    let Some(last) = first.checked_add(count.saturating_sub(1)) else { return false };
    count == 0 || (page_of(first)..=page_of(last)).step_by(PAGE_BYTES).all(is_page_readable)
}

/// The values that `start` leads to; none where they cannot be read, or lie where no value of the type does.
///
/// # Safety
/// Every pattern of bits is a value of the type, and the program leaves them as they are for as long as they are looked at.
pub unsafe fn values<'program, Value>(start: *const Value, count: usize) -> Option<&'program [Value]> {
    let bytes = count.checked_mul(size_of::<Value>()).filter(|bytes| *bytes <= isize::MAX as usize)?;
    let may_be_read = !start.is_null() && start.is_aligned() && is_readable(start.cast(), bytes);
    // SAFETY: not null, aligned, and readable, as was asked right now; the caller promises the rest.
    may_be_read.then(|| unsafe { std::slice::from_raw_parts(start, count) })
}

/// The string that `start` leads to; none where there is no end of it that can be read, and for a null pointer.
///
/// # Safety
/// The program leaves the string as it is for as long as it is looked at.
pub unsafe fn string<'program>(start: *const c_char) -> Option<&'program CStr> {
    let mut at = start.addr();
    loop {
        if !is_page_readable(page_of(at)) {
            return None;
        }
        let next_page = page_of(at) + PAGE_BYTES;
        for place in at..next_page {
            // SAFETY: in a page that can be read, as was asked right now.
            if unsafe { *start.with_addr(place) } == 0 {
                // SAFETY: it ends here, and all of it could be read.
                return Some(unsafe { CStr::from_ptr(start) });
            }
        }
        at = next_page;
    }
}

fn page_of(address: usize) -> usize {
    address & !(PAGE_BYTES - 1)
}

/// One call of the kernel that reads 8 bytes and then refuses what is asked. It is allowed wherever libc works, which cannot be said of
/// `process_vm_readv(2)`, and costs a tenth of that.
fn is_page_readable(page: usize) -> bool {
    if page == 0 {
        // To the kernel, a set that was not given.
        return false;
    }
    static SYSCALL: NextFunction = NextFunction::new(c"syscall");
    // SAFETY: every libc has it, with this signature.
    let call: unsafe extern "C" fn(c_long, ...) -> c_long =
        unsafe { std::mem::transmute::<*mut c_void, _>(SYSCALL.address()) };
    // SAFETY: the thread's own errno, which the program's call may leave as it was.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: an order that there is not changes nothing; whether the kernel may read the set is the question.
    let answer = unsafe { call(libc::SYS_rt_sigprocmask, NO_ORDER, page, std::ptr::null_mut::<c_void>(), PROBE_BYTES) };
    // SAFETY: as above.
    let is_fault = answer < 0 && unsafe { *errno } == libc::EFAULT;
    // SAFETY: as above.
    unsafe { *errno = before };
    !is_fault
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    /// Two pages, of which the second cannot be read.
    fn half_readable() -> *mut c_void {
        // SAFETY: a new mapping of two pages, half of it closed.
        unsafe {
            let both = libc::mmap(
                std::ptr::null_mut(),
                2 * PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(both, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(both.byte_add(PAGE_BYTES), PAGE_BYTES, libc::PROT_NONE), 0);
            both
        }
    }

    #[test]
    fn memory_is_readable_up_to_its_last_byte() {
        let both = half_readable();
        let last = both.wrapping_byte_add(PAGE_BYTES - 1);
        assert!(is_readable(both, PAGE_BYTES) && is_readable(last, 1));
        assert!(!is_readable(both, PAGE_BYTES + 1) && !is_readable(last, 2));
        assert!(!is_readable(null(), 1) && !is_readable(both, usize::MAX) && is_readable(null(), 0));
        assert!(!is_readable(std::ptr::without_provenance(usize::MAX - 2), 1));
    }

    #[test]
    fn strings_and_values_are_those_that_end_before_a_hole() {
        let both = half_readable();
        let end: *mut c_char = both.wrapping_byte_add(PAGE_BYTES - 3).cast();
        // SAFETY: three bytes that can be written; they are left alone while they are looked at.
        unsafe {
            end.copy_from(c"ab".as_ptr(), 3);
            assert_eq!(string(end), Some(c"ab"));
            assert_eq!(values::<u8>(end.cast(), 3), Some(&b"ab\0"[..]));
            *end.add(2) = b'c' as c_char;
            assert_eq!(string(end), None);
            assert_eq!((string(null()), values::<u64>(both.cast(), 513)), (None, None));
        }
    }
}
