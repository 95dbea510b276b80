//! Words of this process to sleep on (`futex(2)`, private), as locks do it: without a limit of time, and with a count of those to be woken.
//! In the model tests a condition variable takes the kernel's place.

use super::atomics::AtomicU32;
use std::ops::Deref;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepEnd {
    /// Somebody woke this thread, or it was woken for nothing.
    Woken,
    /// The word had another value already.
    NotNeeded,
}

/// All who sleep.
pub(super) const EVERYBODY: u32 = i32::MAX.unsigned_abs();

/// A word, and those who sleep on it.
#[derive(Default)]
pub(super) struct FutexWord {
    word: AtomicU32,
    #[cfg(feature = "model")]
    bed: model::Bed,
}

impl FutexWord {
    pub(super) fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
            #[cfg(feature = "model")]
            bed: model::Bed::default(),
        }
    }
}

impl Deref for FutexWord {
    type Target = AtomicU32;

    #[inline]
    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}

#[cfg(not(feature = "model"))]
impl FutexWord {
    /// Sleeps while it is `value`.
    pub(super) fn sleep_while(&self, value: u32) -> SleepEnd {
        match rustix::thread::futex::wait(&self.word, rustix::thread::futex::Flags::PRIVATE, value, None) {
            Ok(()) => SleepEnd::Woken,
            // Another value, or a signal. Other errors are of wrong addresses, which a reference is not.
            Err(_) => SleepEnd::NotNeeded,
        }
    }

    /// Wakes at most `count` of those who sleep.
    pub(super) fn wake(&self, count: u32) {
        // It fails for wrong addresses only.
        let _woken = rustix::thread::futex::wake(&self.word, rustix::thread::futex::Flags::PRIVATE, count);
    }
}

#[cfg(feature = "model")]
mod model {
    use super::super::atomics::Ordering;
    use super::{FutexWord, SleepEnd};
    use shuttle::sync::{Condvar, Mutex};

    /// How many may wake up, and how many sleep.
    #[derive(Default)]
    pub(super) struct Bed {
        state: Mutex<(u32, u32)>,
        changed: Condvar,
    }

    impl FutexWord {
        /// As the kernel: the word is compared and the sleep begun in one step.
        pub(in super::super) fn sleep_while(&self, value: u32) -> SleepEnd {
            let mut state = self.bed.state.lock().expect("no panic");
            if self.word.load(Ordering::SeqCst) != value {
                return SleepEnd::NotNeeded;
            }
            state.1 += 1;
            while state.0 == 0 {
                state = self.bed.changed.wait(state).expect("no panic");
            }
            state.0 -= 1;
            state.1 -= 1;
            SleepEnd::Woken
        }

        pub(in super::super) fn wake(&self, count: u32) {
            let mut state = self.bed.state.lock().expect("no panic");
            // Nobody who falls asleep later is woken by it.
            state.0 = state.0.saturating_add(count).min(state.1);
            self.bed.changed.notify_all();
        }
    }
}
