//! Timers that announce their end: setitimer(2), alarm(2), timer_settime(2), timerfd_settime(2); and the two interval timers that count
//! CPU time instead of time. All signals of theirs are held back and waited for, so that no handler ever runs.

use super::{Wait, another_end, seconds, timespec, timeval};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::time::Duration;

/// Holds the timers' signals back in the calling thread and those it starts from now on.
///
/// To be called while there is no other thread: the signal of an interval timer goes to the process, and a thread that does
/// not hold it back would end it.
pub fn hold_back_timer_signals() -> io::Result<()> {
    let signals = set_of(&[libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF, timer_signal()]);
    // SAFETY: the set lives through the call; the old one is not wanted.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &signals, null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What `timer_settime` sends. No C library uses it for itself.
fn timer_signal() -> i32 {
    libc::SIGRTMAX() - 1
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: an all-zero sigset_t is a valid object for sigemptyset to fill; the numbers are valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        signals.iter().for_each(|&signal| {
            libc::sigaddset(&mut set, signal);
        });
        set
    }
}

fn await_signal(set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set lives through the call; what else is known of the signal is not wanted.
    if unsafe { libc::sigwaitinfo(set, null_mut()) } > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn start(which: i32, time: Duration) -> io::Result<()> {
    let timer = libc::itimerval { it_interval: timeval(Duration::ZERO), it_value: timeval(time) };
    // SAFETY: the timer's times live through the call; the old ones are not wanted.
    if unsafe { libc::setitimer(which, &timer, null_mut()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(super) fn real_interval() -> io::Result<Wait> {
    let signals = set_of(&[libc::SIGALRM]);
    Ok(Box::new(move |time| {
        start(libc::ITIMER_REAL, time)?;
        await_signal(&signals)
    }))
}

pub(super) fn alarm() -> io::Result<Wait> {
    let signals = set_of(&[libc::SIGALRM]);
    Ok(Box::new(move |time| {
        // SAFETY: the call takes a number. The process has one such timer, and what it was set to before is not wanted.
        unsafe { libc::alarm(seconds(time)) };
        await_signal(&signals)
    }))
}

/// An interval timer that counts CPU time of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuTimer {
    /// Time in user mode: ITIMER_VIRTUAL.
    Virtual,
    /// Time in user mode and in the kernel: ITIMER_PROF.
    Profiling,
}

/// Spins until the timer, set to `time`, has gone off. The caller's signals must be held back.
pub fn spin_until_expiry(timer: CpuTimer, time: Duration) -> io::Result<()> {
    let (which, signal) = match timer {
        CpuTimer::Virtual => (libc::ITIMER_VIRTUAL, libc::SIGVTALRM),
        CpuTimer::Profiling => (libc::ITIMER_PROF, libc::SIGPROF),
    };
    let signals = set_of(&[signal]);
    let at_once = timespec(Duration::ZERO);
    start(which, time)?;
    loop {
        // Mostly in user mode, which is all that one of them counts.
        (0..20_000).for_each(|_| std::hint::spin_loop());
        // SAFETY: set and time live through the call; what else is known of the signal is not wanted.
        if unsafe { libc::sigtimedwait(&signals, null_mut(), &at_once) } == signal {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EAGAIN) {
            return Err(error);
        }
    }
}

/// A timer of this process, deleted when it is dropped.
struct Timer(libc::timer_t);

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: it was created and is not used again.
        unsafe { libc::timer_delete(self.0) };
    }
}

pub(super) fn per_process() -> io::Result<Wait> {
    // SAFETY: an all-zero sigevent is valid.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = timer_signal();
    event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
    let mut timer = MaybeUninit::<libc::timer_t>::uninit();
    // SAFETY: the event lives through the call, which fills the timer.
    if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was filled.
    let timer = Timer(unsafe { timer.assume_init() });
    let signals = set_of(&[timer_signal()]);
    Ok(Box::new(move |time| {
        // The whole of it: a closure that named its number alone would let it be deleted.
        let timer = &timer;
        let times = libc::itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(time) };
        // SAFETY: the timer exists; the times live through the call; the old ones are not wanted.
        if unsafe { libc::timer_settime(timer.0, 0, &times, null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        await_signal(&signals)
    }))
}

pub(super) fn descriptor() -> io::Result<Wait> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let once = |time: Duration| rustix::time::Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    Ok(Box::new(move |time| {
        let times = Itimerspec { it_interval: once(Duration::ZERO), it_value: once(time) };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
        let mut expirations = [0_u8; 8];
        match rustix::io::read(&timer, &mut expirations)? {
            8 => Ok(()),
            _ => Err(another_end()),
        }
    }))
}
