//! Threads, locks and condition variables: the standard library's, or shuttle's in the model tests.
//! Nothing in this crate may use `std::sync` locks or `std::thread` past this file.

use std::time::Duration;

#[cfg(not(feature = "model"))]
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "model"))]
pub(crate) use std::thread::{Scope, panicking, scope};

/// Starts a thread in `scope`; the system may refuse.
#[cfg(not(feature = "model"))]
pub(crate) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() + Send + 'scope,
) -> std::io::Result<()> {
    std::thread::Builder::new().spawn_scoped(scope, body).map(drop)
}

#[cfg(feature = "model")]
pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
#[cfg(feature = "model")]
pub(crate) use shuttle::thread::{Scope, panicking, scope};

/// Starts a thread in `scope`; the model never refuses.
#[cfg(feature = "model")]
pub(crate) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() + Send + 'scope,
) -> std::io::Result<()> {
    scope.spawn(body);
    Ok(())
}

/// Locks, also where another thread panicked while it held the lock: the pipeline's own alarm ends the run then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits no longer than this, also where another thread panicked while it held the lock.
pub(crate) fn wait_for<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, most: Duration) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, most).unwrap_or_else(|poisoned| poisoned.into_inner()).0
}

/// Waits, also where another thread panicked while it held the lock.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}
