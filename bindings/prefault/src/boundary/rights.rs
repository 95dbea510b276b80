//! Calls by which a process becomes another user's. libc makes them for all threads that it knows of; the thread of `ahead` is none of these, and would
//! keep the rights that the program gives up. It ends before.
#![expect(unsafe_code, reason = "a boundary: calls libc's function of the same name")]

use crate::ahead;
use core::sync::atomic::{AtomicPtr, Ordering};
use libc::{c_int, c_void, gid_t, size_t, uid_t};

/// The function that would have been called without us.
fn next(known: &AtomicPtr<c_void>, name: &core::ffi::CStr) -> *mut c_void {
    let address = known.load(Ordering::Relaxed);
    if !address.is_null() {
        return address;
    }
    // SAFETY: the name ends with a zero.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    known.store(address, Ordering::Relaxed);
    address
}

macro_rules! before {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        /// # Safety
        /// As the function of this name says.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
            const NAME: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero in it"),
            };
            ahead::end();
            let address = next(&NEXT, NAME);
            if address.is_null() {
                // SAFETY: the thread's own errno.
                unsafe { *libc::__errno_location() = libc::ENOSYS };
                return -1;
            }
            // SAFETY: a function of this name has this signature, whichever library it comes from.
            let function: unsafe extern "C" fn($($type),*) -> c_int = unsafe { core::mem::transmute(address) };
            // SAFETY: the caller's arguments, for which it has promised what the function asks.
            unsafe { function($($argument),*) }
        }
    )*};
}

before! {
    setuid(user: uid_t);
    seteuid(user: uid_t);
    setreuid(real: uid_t, effective: uid_t);
    setresuid(real: uid_t, effective: uid_t, saved: uid_t);
    setgid(group: gid_t);
    setegid(group: gid_t);
    setregid(real: gid_t, effective: gid_t);
    setresgid(real: gid_t, effective: gid_t, saved: gid_t);
    setgroups(count: size_t, groups: *const gid_t);
    capset(header: *mut c_void, data: *const c_void);
    unshare(flags: c_int);
    setns(file: c_int, kind: c_int);
}
