//! The standard library's locks without their poison. A preloaded library must go on after a panic of one thread: the
//! program's bytes are queued behind these locks.

use std::sync::{LockResult, PoisonError};

/// What a lock or a wait returns, also if another thread panicked while it held the lock.
pub fn held<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
