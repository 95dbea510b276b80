//! Which of the three standard streams were closed when the process began.
//!
//! LIE: Rust's runtime opens the null device in place of a closed one before `main`, so that no file of ours gets its number.
//! From then on it looks like any other null device, and what is written there would be lost without a word.

use rustix::fs::{Mode, OFlags};
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// A bit a stream, set by [`note`].
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Called by the C runtime before Rust's begins (System V ABI, "Initialization and Termination Functions").
// SAFETY: the section holds pointers to functions without arguments, and `note` is one. It touches nothing that has to be set
// up before: one system call a stream, and an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    for stream in 0..3 {
        // SAFETY: fcntl(2) with F_GETFD takes any number and changes nothing.
        let is_closed = unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1;
        // ORDER: Relaxed: no other thread exists yet.
        CLOSED.fetch_or(u8::from(is_closed) << stream, Ordering::Relaxed);
    }
}

/// Makes a standard output that was closed one that cannot be written to, for this process and those it starts, as it would be without Rust's
/// runtime.
pub fn bar_closed_output() -> io::Result<()> {
    if CLOSED.load(Ordering::Relaxed) & 2 == 0 {
        return Ok(());
    }
    let unwritable = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::stdio::dup2_stdout(unwritable)?)
}

/// Whether standard input was closed.
pub fn input_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) & 1 != 0
}
