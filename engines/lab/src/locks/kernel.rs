//! The C library's own locks (`pthread_mutex_lock(3)`, `pthread_rwlock_rdlock(3)`) and how often this process gave up its CPU
//! (`getrusage(2)`). Leaf module: nothing here knows what is measured.

#![expect(unsafe_code, reason = "locks that C has, and a call that rustix lacks")]

use std::cell::UnsafeCell;
use std::io;

/// What the C library knows by its address: it is boxed, and never moves.
struct Fixed<T>(Box<UnsafeCell<T>>);

// SAFETY: only used for the C library's locks, which any thread may use.
unsafe impl<T> Send for Fixed<T> {}
// SAFETY: the same.
unsafe impl<T> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    fn new(value: T) -> Self {
        Self(Box::new(UnsafeCell::new(value)))
    }

    fn at(&self) -> *mut T {
        self.0.get()
    }
}

fn checked(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// A `pthread_mutex_t`.
pub(super) struct CMutex(Fixed<libc::pthread_mutex_t>);

impl CMutex {
    /// One of this type, `PTHREAD_MUTEX_NORMAL` or `PTHREAD_MUTEX_ADAPTIVE_NP`.
    fn of_type(kind: i32) -> io::Result<Self> {
        let lock = Fixed::new(libc::PTHREAD_MUTEX_INITIALIZER);
        // SAFETY: an all-zero attribute is what init fills; attribute and lock live through the calls. The lock is the static initial
        // value, which owns nothing that init could leak.
        unsafe {
            let mut attribute: libc::pthread_mutexattr_t = std::mem::zeroed();
            checked(libc::pthread_mutexattr_init(&mut attribute))?;
            checked(libc::pthread_mutexattr_settype(&mut attribute, kind))?;
            checked(libc::pthread_mutex_init(lock.at(), &attribute))?;
        }
        Ok(Self(lock))
    }

    /// The usual one.
    pub(super) fn normal() -> io::Result<Self> {
        Self::of_type(libc::PTHREAD_MUTEX_NORMAL)
    }

    /// The one that spins before it sleeps: glibc's.
    #[cfg(target_env = "gnu")]
    pub(super) fn adaptive() -> io::Result<Self> {
        Self::of_type(libc::PTHREAD_MUTEX_ADAPTIVE_NP)
    }

    /// Only glibc has it.
    #[cfg(not(target_env = "gnu"))]
    pub(super) fn adaptive() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Runs `critical` while the calling thread holds the lock.
    #[inline]
    pub(super) fn hold(&self, critical: impl FnOnce()) {
        // SAFETY: it is initialised and stays where it is.
        unsafe { libc::pthread_mutex_lock(self.0.at()) };
        let _unlocks = UnlockAtEnd(|| {
            // SAFETY: this thread has locked it above.
            unsafe { libc::pthread_mutex_unlock(self.0.at()) };
        });
        critical();
    }
}

/// A `pthread_rwlock_t`.
pub(super) struct CReadWriteLock(Fixed<libc::pthread_rwlock_t>);

impl CReadWriteLock {
    /// The usual one, which lets readers pass a waiting writer.
    pub(super) fn readers_first() -> io::Result<Self> {
        Ok(Self(Fixed::new(libc::PTHREAD_RWLOCK_INITIALIZER)))
    }

    /// The one whose readers wait behind a waiting writer: glibc's.
    #[cfg(target_env = "gnu")]
    pub(super) fn writers_first() -> io::Result<Self> {
        /// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` of glibc's `pthread.h`.
        const WRITERS_FIRST: i32 = 2;
        let lock = Fixed::new(libc::PTHREAD_RWLOCK_INITIALIZER);
        // SAFETY: as for the mutex.
        unsafe {
            let mut attribute: libc::pthread_rwlockattr_t = std::mem::zeroed();
            checked(libc::pthread_rwlockattr_init(&mut attribute))?;
            checked(libc::pthread_rwlockattr_setkind_np(&mut attribute, WRITERS_FIRST))?;
            checked(libc::pthread_rwlock_init(lock.at(), &attribute))?;
        }
        Ok(Self(lock))
    }

    /// Only glibc has it.
    #[cfg(not(target_env = "gnu"))]
    pub(super) fn writers_first() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Runs `critical` while the calling thread reads.
    #[inline]
    pub(super) fn read(&self, critical: impl FnOnce()) {
        // SAFETY: it is initialised and stays where it is.
        unsafe { libc::pthread_rwlock_rdlock(self.0.at()) };
        let _unlocks = self.unlock_at_end();
        critical();
    }

    /// Runs `critical` while the calling thread writes.
    #[inline]
    pub(super) fn write(&self, critical: impl FnOnce()) {
        // SAFETY: it is initialised and stays where it is.
        unsafe { libc::pthread_rwlock_wrlock(self.0.at()) };
        let _unlocks = self.unlock_at_end();
        critical();
    }

    #[inline]
    fn unlock_at_end(&self) -> UnlockAtEnd<impl Fn()> {
        UnlockAtEnd(|| {
            // SAFETY: this thread has locked it.
            unsafe { libc::pthread_rwlock_unlock(self.0.at()) };
        })
    }
}

/// Unlocks even if what is held meanwhile panics.
struct UnlockAtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for UnlockAtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// How often threads of this process have left their CPUs so far: because they waited, and because others wanted to run.
pub(super) fn switches() -> (u64, u64) {
    // SAFETY: an all-zero rusage is what the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        // It fails for a wrong address or a wrong first argument only.
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    (usage.ru_nvcsw.unsigned_abs(), usage.ru_nivcsw.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_held_and_given_back() {
        for lock in [CMutex::normal(), CMutex::adaptive()] {
            let lock = lock.expect("the C library has it");
            let mut held = 0;
            (0..3).for_each(|_| lock.hold(|| held += 1));
            assert_eq!(held, 3);
        }
        for lock in [CReadWriteLock::readers_first(), CReadWriteLock::writers_first()] {
            let lock = lock.expect("the C library has it");
            let mut held = 0;
            lock.write(|| held += 1);
            lock.read(|| held += 1);
            lock.write(|| held += 1);
            assert_eq!(held, 3);
        }
    }

    #[test]
    fn a_thread_that_sleeps_has_left_its_cpu() {
        let before = switches().0;
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(switches().0 > before);
    }
}
