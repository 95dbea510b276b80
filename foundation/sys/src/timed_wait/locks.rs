//! Waits for locks that nobody gives back: futex(2) and what the C library builds of it (pthread_cond_timedwait(3),
//! pthread_mutex_timedlock(3), pthread_rwlock_timedrdlock(3), sem_timedwait(3)).

use super::{Wait, failed_with, moment_after, returned, timespec};
use rustix::time::ClockId;
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::AtomicU32;

// SAFETY: as the C library declares them. LIMIT: these names take 64-bit times on 64-bit systems only.
unsafe extern "C" {
    fn pthread_mutex_timedlock(lock: *mut libc::pthread_mutex_t, deadline: *const libc::timespec) -> i32;
    fn pthread_rwlock_timedrdlock(lock: *mut libc::pthread_rwlock_t, deadline: *const libc::timespec) -> i32;
    fn pthread_rwlock_timedwrlock(lock: *mut libc::pthread_rwlock_t, deadline: *const libc::timespec) -> i32;
}

/// What stays where it is, since the C library knows it by its address.
struct Fixed<T>(Box<UnsafeCell<T>>);

// SAFETY: only used for the C library's locks, which any thread may use.
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

pub(super) fn condition() -> io::Result<Wait> {
    let lock = Fixed::new(libc::PTHREAD_MUTEX_INITIALIZER);
    let condition = Fixed::new(libc::PTHREAD_COND_INITIALIZER);
    // SAFETY: an all-zero object is what init fills; the attribute lives through both calls. The condition is the static
    // initial value, which owns nothing that init could leak.
    unsafe {
        let mut attribute: libc::pthread_condattr_t = std::mem::zeroed();
        checked(libc::pthread_condattr_init(&mut attribute))?;
        checked(libc::pthread_condattr_setclock(&mut attribute, libc::CLOCK_MONOTONIC))?;
        checked(libc::pthread_cond_init(condition.at(), &attribute))?;
        checked(libc::pthread_mutex_lock(lock.at()))?;
    }
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Monotonic, time);
        // SAFETY: both are initialised, stay where they are, and this thread holds the lock.
        returned(libc::ETIMEDOUT, unsafe { libc::pthread_cond_timedwait(condition.at(), lock.at(), &deadline) })
    }))
}

pub(super) fn mutex() -> io::Result<Wait> {
    let lock = Fixed::new(libc::PTHREAD_MUTEX_INITIALIZER);
    // SAFETY: it is initialised. A plain lock does not know its owner: who asks for it again waits.
    checked(unsafe { libc::pthread_mutex_lock(lock.at()) })?;
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Realtime, time);
        // SAFETY: it is initialised and stays where it is.
        returned(libc::ETIMEDOUT, unsafe { pthread_mutex_timedlock(lock.at(), &deadline) })
    }))
}

pub(super) fn read_lock() -> io::Result<Wait> {
    let lock = Fixed::new(libc::PTHREAD_RWLOCK_INITIALIZER);
    // A writer that asks for its own lock is told that this is a deadlock; of another thread, even of one that has ended,
    // it stays held.
    std::thread::scope(|scope| {
        // SAFETY: it is initialised and outlives the thread.
        let write = || checked(unsafe { libc::pthread_rwlock_wrlock(lock.at()) });
        scope.spawn(write).join().unwrap_or_else(|_panicked| Err(super::another_end()))
    })?;
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Realtime, time);
        // SAFETY: it is initialised and stays where it is.
        returned(libc::ETIMEDOUT, unsafe { pthread_rwlock_timedrdlock(lock.at(), &deadline) })
    }))
}

pub(super) fn write_lock() -> io::Result<Wait> {
    let lock = Fixed::new(libc::PTHREAD_RWLOCK_INITIALIZER);
    // SAFETY: it is initialised. Readers are counted, not known.
    checked(unsafe { libc::pthread_rwlock_rdlock(lock.at()) })?;
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Realtime, time);
        // SAFETY: it is initialised and stays where it is.
        returned(libc::ETIMEDOUT, unsafe { pthread_rwlock_timedwrlock(lock.at(), &deadline) })
    }))
}

pub(super) fn semaphore() -> io::Result<Wait> {
    // SAFETY: an all-zero object is what init fills.
    let semaphore = Fixed::new(unsafe { std::mem::zeroed::<libc::sem_t>() });
    // SAFETY: it stays where it is, is not shared with other processes, and is empty.
    if unsafe { libc::sem_init(semaphore.at(), 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Box::new(move |time| {
        let deadline = moment_after(ClockId::Realtime, time);
        // SAFETY: it is initialised and stays where it is.
        failed_with(libc::ETIMEDOUT, unsafe { libc::sem_timedwait(semaphore.at(), &deadline) }.into())
    }))
}

pub(super) fn futex() -> io::Result<Wait> {
    let word = Box::new(AtomicU32::new(0));
    Ok(Box::new(move |time| {
        let time = timespec(time);
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: word and time live through the call.
        let status = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 0, &raw const time, 0, 0) };
        failed_with(libc::ETIMEDOUT, status)
    }))
}

/// What futex_waitv(2) takes (include/uapi/linux/futex.h).
#[repr(C)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// FUTEX_32 | FUTEX_PRIVATE_FLAG
const PRIVATE_WORD: u32 = 2 | 128;

/// Linux 5.16.
pub(super) fn futex_vector() -> io::Result<Wait> {
    let word = Box::new(AtomicU32::new(0));
    let wait = move |time| {
        let deadline = moment_after(ClockId::Monotonic, time);
        let waiter = Waiter { value: 0, address: word.as_ptr() as u64, flags: PRIVATE_WORD, reserved: 0 };
        // SAFETY: waiter, word and deadline live through the call.
        let status = unsafe {
            let (waiters, deadline) = (&raw const waiter, &raw const deadline);
            libc::syscall(libc::SYS_futex_waitv, waiters, 1, 0, deadline, libc::CLOCK_MONOTONIC)
        };
        failed_with(libc::ETIMEDOUT, status)
    };
    wait(std::time::Duration::ZERO)?;
    Ok(Box::new(wait))
}
