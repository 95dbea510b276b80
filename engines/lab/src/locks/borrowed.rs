//! Locks that others have written: the C library's, Rust's, parking_lot's. They count no wake-ups.

use super::kernel::{CMutex, CReadWriteLock};
use super::lock::{Lock, LockAccess};
use super::seat::LockSeat;
use std::io;
use std::sync::PoisonError;

/// `pthread_mutex_t`.
pub(super) struct CMutexUnderTest(CMutex);

impl CMutexUnderTest {
    pub(super) fn normal() -> io::Result<Self> {
        CMutex::normal().map(Self)
    }

    pub(super) fn adaptive() -> io::Result<Self> {
        CMutex::adaptive().map(Self)
    }
}

impl Lock for CMutexUnderTest {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        self.0.hold(critical);
    }
}

/// `pthread_rwlock_t`.
pub(super) struct CReadWriteUnderTest(CReadWriteLock);

impl CReadWriteUnderTest {
    pub(super) fn readers_first() -> io::Result<Self> {
        CReadWriteLock::readers_first().map(Self)
    }

    pub(super) fn writers_first() -> io::Result<Self> {
        CReadWriteLock::writers_first().map(Self)
    }
}

impl Lock for CReadWriteUnderTest {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, access: LockAccess, critical: impl FnOnce()) {
        match access {
            LockAccess::Read => self.0.read(critical),
            LockAccess::Write => self.0.write(critical),
        }
    }
}

/// `std::sync::Mutex`.
#[derive(Default)]
pub(super) struct StdMutex(std::sync::Mutex<()>);

impl Lock for StdMutex {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        let _held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        critical();
    }
}

/// `std::sync::RwLock`.
#[derive(Default)]
pub(super) struct StdReadWrite(std::sync::RwLock<()>);

impl Lock for StdReadWrite {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, access: LockAccess, critical: impl FnOnce()) {
        match access {
            LockAccess::Read => {
                let _held = self.0.read().unwrap_or_else(PoisonError::into_inner);
                critical();
            }
            LockAccess::Write => {
                let _held = self.0.write().unwrap_or_else(PoisonError::into_inner);
                critical();
            }
        }
    }
}

/// `parking_lot::Mutex`.
#[derive(Default)]
pub(super) struct ParkingLot(parking_lot::Mutex<()>);

impl Lock for ParkingLot {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, _access: LockAccess, critical: impl FnOnce()) {
        let _held = self.0.lock();
        critical();
    }
}

/// `parking_lot::RwLock`.
#[derive(Default)]
pub(super) struct ParkingLotReadWrite(parking_lot::RwLock<()>);

impl Lock for ParkingLotReadWrite {
    #[inline]
    fn hold(&self, _seat: &mut LockSeat, access: LockAccess, critical: impl FnOnce()) {
        match access {
            LockAccess::Read => {
                let _held = self.0.read();
                critical();
            }
            LockAccess::Write => {
                let _held = self.0.write();
                critical();
            }
        }
    }
}
