//! Sleeping on words of shared memory until somebody changes them and says so (`futex(2)`, `futex_waitv(2)`).
//! Words may be shared between processes. A wake-up may be spurious: callers look at their words again.

use rustix::io::Errno;
use rustix::thread::futex::{self, ClockId, Flags, Timespec, Wait, WaitFlags, WaitPtr, WaitvFlags};
use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// LIMIT: the kernel watches 128 words at once (FUTEX_WAITV_MAX).
pub const WORDS_AT_ONCE: usize = 128;

/// A word and the value it must still have for the sleep to begin.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The word.
    pub word: &'a AtomicU32,
    /// What the caller saw in it.
    pub value: u32,
}

/// Wakes everybody who sleeps on `word`, in whatever process.
pub fn wake_all(word: &AtomicU32) {
    // The call fails for a misaligned or unmapped address only, which a reference is not.
    let _woken = futex::wake(word, Flags::empty(), i32::MAX.unsigned_abs());
}

/// Sleeps until a word no longer has its expected value and is woken, or until `timeout` is over.
///
/// Words beyond [`WORDS_AT_ONCE`] are not watched. Before Linux 5.16 only the first word is: the timeout covers the rest.
pub fn wait_any(words: &[Expected], timeout: Duration) -> io::Result<()> {
    let watched = &words[..words.len().min(WORDS_AT_ONCE)];
    let Some(first) = watched.first() else { return Ok(()) };
    let waits: Vec<Wait> = watched.iter().map(as_wait).collect();
    match futex::waitv(&waits, WaitvFlags::empty(), Some(&deadline(timeout)), ClockId::Monotonic) {
        Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
        // ENOSYS: an older kernel. EPERM: a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => wait_one(*first, timeout),
        Err(error) => Err(error.into()),
    }
}

fn wait_one(expected: Expected, timeout: Duration) -> io::Result<()> {
    match futex::wait(expected.word, Flags::empty(), expected.value, Some(&timespec(timeout))) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn as_wait(expected: &Expected) -> Wait {
    let mut wait = Wait::new();
    wait.val = u64::from(expected.value);
    wait.uaddr = WaitPtr::new(expected.word.as_ptr().cast());
    wait.flags = WaitFlags::SIZE_U32;
    wait
}

/// `futex_waitv` takes a point in time.
fn deadline(timeout: Duration) -> Timespec {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    timespec(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32).saturating_add(timeout))
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_changed_word_does_not_sleep_and_a_woken_one_wakes() {
        let (still, bell) = (AtomicU32::new(0), AtomicU32::new(0));
        let long = Duration::from_secs(3600);
        wait_any(&[Expected { word: &still, value: 0 }, Expected { word: &bell, value: 7 }], long).expect("no sleep");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bell.store(1, Ordering::SeqCst);
                wake_all(&bell);
            });
            while bell.load(Ordering::SeqCst) == 0 {
                let words = [Expected { word: &still, value: 0 }, Expected { word: &bell, value: 0 }];
                wait_any(&words, long).expect("a sleep");
            }
        });
    }

    #[test]
    fn one_word_alone_times_out_on_every_kernel() {
        let still = AtomicU32::new(0);
        wait_one(Expected { word: &still, value: 0 }, Duration::from_millis(1)).expect("a sleep");
        wait_any(&[Expected { word: &still, value: 0 }], Duration::from_millis(1)).expect("a sleep");
        wait_any(&[], Duration::from_secs(3600)).expect("nothing to sleep on");
    }
}
