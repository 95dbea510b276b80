//! Waits for nothing but time: nanosleep(2), usleep(3), sleep(3), clock_nanosleep(2).

use super::{Wait, another_end, moment_after, nothing_came, seconds, timespec};
use rustix::time::ClockId;
use std::io;
use std::ptr::null_mut;

pub(super) fn nanosleep() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        let time = timespec(time);
        // SAFETY: the time lives through the call; the remainder is not wanted.
        nothing_came(unsafe { libc::nanosleep(&time, null_mut()) })
    }))
}

pub(super) fn usleep() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        let microseconds = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        // SAFETY: the call takes a number.
        nothing_came(unsafe { libc::usleep(microseconds) })
    }))
}

pub(super) fn sleep() -> io::Result<Wait> {
    Ok(Box::new(|time| {
        // SAFETY: the call takes a number; it returns what was left of it.
        if unsafe { libc::sleep(seconds(time)) } == 0 { Ok(()) } else { Err(another_end()) }
    }))
}

pub(super) fn clock_nanosleep() -> io::Result<Wait> {
    Ok(Box::new(|time| sleep_by_clock(0, &timespec(time))))
}

pub(super) fn clock_nanosleep_absolute() -> io::Result<Wait> {
    Ok(Box::new(|time| sleep_by_clock(libc::TIMER_ABSTIME, &moment_after(ClockId::Monotonic, time))))
}

fn sleep_by_clock(flags: i32, time: &libc::timespec) -> io::Result<()> {
    // SAFETY: the time lives through the call; the remainder is not wanted.
    match unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, flags, time, null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
