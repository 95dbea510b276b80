//! Which of the three standard streams were closed when the process began. In place of those the null device is opened, so that no
//! file of ours gets their numbers; from then on they look like any other null device.

use std::process::abort;
use std::sync::atomic::{AtomicBool, Ordering};

static INPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Opens the null device in place of each stream that is closed. Standard output cannot be written to then, by this process and those it
/// starts: what goes to a null device would be lost without a word. Ends the process where there is none. Before any other file is opened.
pub(crate) fn open_closed() {
    for stream in 0..3 {
        // SAFETY: fcntl(2) with F_GETFD takes any number and changes nothing.
        let is_open = unsafe { libc::fcntl(stream, libc::F_GETFD) } != -1;
        if is_open {
            continue;
        }
        if stream == libc::STDIN_FILENO {
            // ORDER: Relaxed: no other thread exists yet.
            INPUT_WAS_CLOSED.store(true, Ordering::Relaxed);
        }
        let flags = if stream == libc::STDOUT_FILENO { libc::O_RDONLY } else { libc::O_RDWR };
        // SAFETY: a path that ends in a zero byte. The lowest number that is free is this stream's.
        if unsafe { libc::open(c"/dev/null".as_ptr(), flags) } != stream {
            abort();
        }
    }
}

/// Whether standard input was closed.
pub fn input_was_closed() -> bool {
    INPUT_WAS_CLOSED.load(Ordering::Relaxed)
}
