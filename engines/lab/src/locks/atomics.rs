//! Atomic operations of the locks under test: the standard library's, or shuttle's in the model tests, which steer every one of them.

#[cfg(feature = "model")]
pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(feature = "model"))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Between two looks at a word: PAUSE (`isb` on ARM).
#[inline]
pub(super) fn pause() {
    #[cfg(not(feature = "model"))]
    std::hint::spin_loop();
    #[cfg(feature = "model")]
    shuttle::thread::yield_now();
}
