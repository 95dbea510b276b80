//! Where a program begins, in place of Rust's own beginning (`std::rt`), which costs each start 0.1 ms: that one reads
//! `/proc/self/maps` and makes a second stack, so that it can say in words that the first has overflowed. Here such a program ends by SIGSEGV,
//! and the first thread has no name in what is said of a panic.

use crate::standard_streams;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::panic::catch_unwind;

/// What a program ends with that has panicked, as `std::rt` has it.
const PANICKED: c_int = 101;

/// Has the C runtime begin with `$body`, a `fn(Vec<OsString>) -> !` that gets the arguments, the program's name first. Once in a program, which is
/// `#![no_main]`.
#[macro_export]
macro_rules! begin_with {
    ($body:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main(count: ::std::ffi::c_int, words: *const *const ::std::ffi::c_char) -> ::std::ffi::c_int {
            // SAFETY: what the C runtime calls `main` with (C17, 5.1.2.2.1).
            unsafe { $crate::start::run(count, words, $body) }
        }
    };
}

/// Does what is left of Rust's beginning, then `body`. Comes back only from a panic.
///
/// # Safety
///
/// `words` points to `count` strings that end in zero bytes and stay as they are.
pub unsafe fn run(count: c_int, words: *const *const c_char, body: fn(Vec<OsString>) -> !) -> c_int {
    standard_streams::open_closed();
    // SAFETY: no handler is set. Whoever writes to a pipe that nobody reads is told so by the call.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    // SAFETY: the caller's promise.
    let word = |at: usize| unsafe { CStr::from_ptr(*words.add(at)) };
    let arguments = (0..usize::try_from(count).unwrap_or(0)).map(|at| OsString::from_vec(word(at).to_bytes().to_vec()));
    let arguments = arguments.collect();
    let _told_by_its_hook = catch_unwind(|| -> () { body(arguments) });
    let _nobody_to_tell = io::stdout().flush();
    PANICKED
}
