//! Sleeping on a word of this process (`futex(2)`, private), as locks do it: without a limit of time, and with a count of those to be woken.

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use std::sync::atomic::AtomicU32;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepEnd {
    /// Somebody woke this thread, or it was woken for nothing.
    Woken,
    /// The word had another value already.
    NotNeeded,
}

/// Sleeps while `word` is `value`.
pub(super) fn sleep_while(word: &AtomicU32, value: u32) -> SleepEnd {
    match futex::wait(word, Flags::PRIVATE, value, None) {
        Ok(()) => SleepEnd::Woken,
        Err(Errno::AGAIN) => SleepEnd::NotNeeded,
        // A signal. Other errors are of wrong addresses, which a reference is not.
        Err(_) => SleepEnd::NotNeeded,
    }
}

/// Wakes at most `count` of those who sleep on `word`.
pub(super) fn wake(word: &AtomicU32, count: u32) {
    // It fails for wrong addresses only.
    let _woken = futex::wake(word, Flags::PRIVATE, count);
}
