//! When the library is loaded: what the environment asks, who else wants to hear of calls, and who is told at the end.
#![expect(unsafe_code, reason = "a boundary: runs before the program, and is called by libc at its end")]

use crate::boundary::next::{NextFunction, inside};
use crate::boundary::{Descriptor, ending, keep_standard_error, say, write_all};
use crate::file::BUFFERS;
use crate::statistics::Line;
use crate::{end, shim, workers};
use dlmalloc::GlobalDlmalloc;
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsString, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

/// How many threads work, the program's own among them.
const HANDS: &str = "MH_MTWRITE_HANDS";
/// How many bytes may wait.
const MEMORY: &str = "MH_MTWRITE_MEMORY";
/// A file that is told that we are here, and at the end what was done; `-` is standard error, for the latter alone.
const TELL: &str = "MH_MTWRITE_TELL";

const STANDARD_ERROR: &str = "-";

/// Our memory does not come from the program's allocator: a signal may end the program in the midst of that, while its end waits for our
/// threads, which would wait for the allocator's lock.
#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

static TOLD: OnceLock<OsString> = OnceLock::new();

// SAFETY: glibc has them, with these signatures (on_exit(3)); the libc crate has not.
unsafe extern "C" {
    fn on_exit(act: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    // What at_quick_exit(3) calls, which is in no shared library.
    fn __cxa_at_quick_exit(act: extern "C" fn(*mut c_void), object: *mut c_void) -> c_int;
}

/// SAFETY: the loader calls it, as it calls every function in this section; it has the section's signature.
#[cfg_attr(not(test), used, unsafe(link_section = ".init_array"))]
pub static START: extern "C" fn() = start;

extern "C" fn start() {
    inside((), || {
        // SAFETY: nothing of ours has run before. Our own acts at a fork are registered behind it, and so come before it.
        unsafe { dlmalloc::enable_alloc_after_fork() };
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
        let hands = number(HANDS).or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
        workers::lock().limit_to(hands.saturating_sub(1));
        if let Some(bytes) = number(MEMORY) {
            BUFFERS.lock().limit_to(bytes);
        }
        if let Some(told) = std::env::var_os(TELL) {
            // It is the first to be told, and the memory for it was had: whatever allocates memory here has its own acts at a
            // fork in place before ours, which therefore come first.
            let _set_once = TOLD.set(told);
            keep_standard_error();
        }
        // SAFETY: functions of the signatures that they ask for, which live as long as the process: we are never unloaded.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork_in_child));
            on_exit(at_exit, std::ptr::null_mut());
            __cxa_at_quick_exit(at_quick_exit, std::ptr::null_mut());
        }
        ending::know_failure();
        if is_libcs_own(c"write") && is_libcs_own(c"close") {
            shim::begin(is_libcs_own(c"fchown") && is_libcs_own(c"fchmod"));
        }
        if TOLD.get().is_some_and(|told| told != STANDARD_ERROR) {
            tell("loaded\n");
        }
    });
}

/// Whether the next function of that name is libc's: another library in between wants to hear of calls when the program makes them.
fn is_libcs_own(name: &'static std::ffi::CStr) -> bool {
    let object = |name| {
        let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: an address, and a place for the answer, which zeroes are one of.
        unsafe {
            libc::dladdr(NextFunction::new(name).address(), found.as_mut_ptr());
            found.assume_init().dli_fbase
        }
    };
    object(name) == object(c"gnu_get_libc_version")
}

/// Tells whoever asked. Takes no lock and no memory.
pub fn tell(text: &str) {
    let Some(told) = TOLD.get() else { return };
    if told == STANDARD_ERROR {
        let mut line = Line::new();
        line.add(format_args!("mh mtwrite: {text}"));
        say(line.as_str());
    } else if let Ok(file) = rustix::fs::open(told, OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC, Mode::empty()) {
        let _nobody_listens = write_all(Descriptor::of_program(file.as_raw_fd()), text.as_bytes(), None);
    }
}

extern "C" fn before_fork() {
    inside((), end::freeze);
}

extern "C" fn after_fork() {
    inside((), end::thaw);
}

extern "C" fn after_fork_in_child() {
    inside((), end::thaw_in_child);
}

/// After all that the program wanted to do at its end.
extern "C" fn at_exit(status: c_int, _argument: *mut c_void) {
    let wanted = inside(status, || {
        let wanted = end::finish(status);
        shim::cease();
        wanted
    });
    if wanted != status {
        // SAFETY: what streams hold is written out, as exit(3) would; all of them are meant by null.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(wanted);
        }
    }
}

/// The same at a quick end: streams are not written out there.
extern "C" fn at_quick_exit(_argument: *mut c_void) {
    ending::end_quickly();
}
