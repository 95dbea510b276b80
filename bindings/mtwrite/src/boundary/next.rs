//! The functions that would have been called without us, and the macros that make those that are called instead.
#![expect(unsafe_code, reason = "a boundary: looks functions up by name and calls them")]

use crate::boundary::{self, signals};
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the next library that has one of this name.
pub struct NextFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl NextFunction {
    /// Looked up at its first use.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(null_mut()) }
    }

    /// Where it is; null where no library has it.
    pub fn address(&self) -> *mut c_void {
        // ORDER: relaxed; whoever looks finds the same.
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

thread_local! {
    /// How deep this thread is in functions of ours: a signal that ends the process waits until it is out.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// This thread is in a function of ours.
pub struct InOwnFunction;

impl InOwnFunction {
    /// Enters one; none where the thread is in one already: a handler of a signal has interrupted it, or we call ourselves.
    pub fn enter() -> Option<Self> {
        DEPTH.with(|depth| (depth.get() == 0).then(|| depth.set(1))).map(|()| Self)
    }

    /// Whether this thread is in one.
    pub fn is_inside() -> bool {
        DEPTH.with(|depth| depth.get() > 0)
    }
}

impl Drop for InOwnFunction {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(0));
        signals::act_on_pending();
    }
}

/// Runs what a call means to us, unless this thread is doing that already.
pub fn inside<Outcome>(otherwise: Outcome, act: impl FnOnce() -> Outcome) -> Outcome {
    match InOwnFunction::enter() {
        Some(_inside) => act(),
        None => otherwise,
    }
}

/// A call that makes a descriptor: where there is no number for one, ours are given up, and it is made once more.
pub fn making<Outcome>(has_failed: impl FnOnce(&Outcome) -> bool, next: impl Fn() -> Outcome) -> Outcome {
    let outcome = next();
    // SAFETY: the thread's own errno.
    let is_short = has_failed(&outcome) && unsafe { *libc::__errno_location() } == libc::EMFILE;
    if is_short && inside(false, boundary::leave_numbers) { next() } else { outcome }
}

/// The same, for one that answers with the number.
pub fn making_number(next: impl Fn() -> c_int) -> c_int {
    making(|number| *number < 0, next)
}

/// Sets errno.
pub fn fail(errno: i32) -> c_int {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// `hook! { fn name(argument: type, ...) -> type, next => body }`: the program's call of `name` runs `body`, in which `next()` calls
/// the function that would have been called without us.
macro_rules! hook {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $answer:ty, $next:ident => $body:expr;)*) => {$(
        /// # Safety
        /// As the function of this name says.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $answer {
            static NEXT: $crate::boundary::next::NextFunction = {
                const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no zero in it"),
                };
                $crate::boundary::next::NextFunction::new(NAME)
            };
            let $next = || -> $answer {
                let address = NEXT.address();
                if address.is_null() {
                    return $crate::boundary::next::MissingAnswer::missing();
                }
                // SAFETY: a function of this name has this signature, whichever library it comes from.
                let function: unsafe extern "C" fn($($type),*) -> $answer = unsafe { std::mem::transmute(address) };
                // SAFETY: the caller's arguments, for which it has promised what the function asks.
                unsafe { function($($argument),*) }
            };
            $body
        }
    )*};
}
pub(super) use hook;

/// What a function answers that no library has.
pub trait MissingAnswer {
    /// Not here.
    fn missing() -> Self;
}

impl MissingAnswer for c_int {
    fn missing() -> Self {
        fail(libc::ENOSYS)
    }
}

impl MissingAnswer for isize {
    fn missing() -> Self {
        fail(libc::ENOSYS) as Self
    }
}

impl MissingAnswer for i64 {
    fn missing() -> Self {
        Self::from(fail(libc::ENOSYS))
    }
}

/// What signal(2) answers.
impl MissingAnswer for libc::sighandler_t {
    fn missing() -> Self {
        fail(libc::ENOSYS);
        libc::SIG_ERR
    }
}

impl MissingAnswer for () {
    fn missing() {}
}

impl<Pointed> MissingAnswer for *mut Pointed {
    fn missing() -> Self {
        fail(libc::ENOSYS);
        null_mut()
    }
}
