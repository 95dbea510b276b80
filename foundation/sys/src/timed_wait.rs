//! Every way that Linux offers to wait for a given time, each made ready once and then waited on again and again.
//! Measures nothing: the laboratory takes the time before and after. What a kernel or a sandbox lacks is an error of
//! `prepare`, not of the wait.

mod descriptors;
mod locks;
mod messages;
mod ring;
mod sleeps;
mod timers;

pub use timers::{CpuTimer, hold_back_timer_signals, spin_until_expiry};

use std::io;
use std::time::Duration;

/// Waits once for the time it is given. An error says that something else ended the wait, so that it measured nothing.
pub type Wait = Box<dyn FnMut(Duration) -> io::Result<()>>;

/// What a call counts its time in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `unsigned` seconds.
    Seconds,
    /// `int` milliseconds.
    Milliseconds,
    /// `struct timeval`, or a number of microseconds.
    Microseconds,
    /// `struct timespec`.
    Nanoseconds,
}

/// What a call is told to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A time from now.
    Span,
    /// A point in time.
    Moment,
}

/// How much later than told its timer may go off, so that several are served together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// By the thread's timer slack, or not at all.
    OfThread,
    /// By a share of the time it is told, where that is more than the thread's: see [`share_of_time`].
    OfTime,
}

/// LIE: `poll` and its like take a thousandth of the time they are told for slack, a two-hundredth in a process that gave way by
/// its nice value, and 100 ms at most (`select_estimate_accuracy`, fs/select.c); no thread's slack makes it smaller.
pub fn share_of_time(told: Duration, nice: i32) -> Duration {
    const SLACK_MAX: Duration = Duration::from_millis(100);
    (told / if nice > 0 { 200 } else { 1000 }).min(SLACK_MAX)
}

/// One way to wait.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The call, as its manual page is named; after a blank, which of its forms.
    pub name: &'static str,
    /// What it counts in.
    pub unit: Unit,
    /// What it is told.
    pub until: Until,
    /// What its timer may be late by.
    pub slack: Slack,
    /// Makes it ready in the calling thread, which is the one that may wait.
    pub prepare: fn() -> io::Result<Wait>,
}

const fn span(name: &'static str, unit: Unit, prepare: fn() -> io::Result<Wait>) -> Method {
    Method { name, unit, until: Until::Span, slack: Slack::OfThread, prepare }
}

const fn watch(name: &'static str, unit: Unit, prepare: fn() -> io::Result<Wait>) -> Method {
    Method { name, unit, until: Until::Span, slack: Slack::OfTime, prepare }
}

const fn moment(name: &'static str, prepare: fn() -> io::Result<Wait>) -> Method {
    Method { name, unit: Unit::Nanoseconds, until: Until::Moment, slack: Slack::OfThread, prepare }
}

/// All of them: those of the list of 2012 that Linux has, then those that came since.
pub const METHODS: &[Method] = &[
    watch("poll", Unit::Milliseconds, descriptors::poll),
    watch("ppoll", Unit::Nanoseconds, descriptors::ppoll),
    watch("select", Unit::Microseconds, descriptors::select),
    watch("pselect", Unit::Nanoseconds, descriptors::pselect),
    span("nanosleep", Unit::Nanoseconds, sleeps::nanosleep),
    span("usleep", Unit::Microseconds, sleeps::usleep),
    span("sleep", Unit::Seconds, sleeps::sleep),
    span("clock_nanosleep", Unit::Nanoseconds, sleeps::clock_nanosleep),
    moment("clock_nanosleep abs", sleeps::clock_nanosleep_absolute),
    moment("cond_timedwait", locks::condition),
    moment("mutex_timedlock", locks::mutex),
    moment("rwlock_timedrdlock", locks::read_lock),
    moment("rwlock_timedwrlock", locks::write_lock),
    moment("sem_timedwait", locks::semaphore),
    span("semtimedop", Unit::Nanoseconds, messages::semaphore_set),
    moment("mq_timedreceive", messages::receive),
    moment("mq_timedsend", messages::send),
    span("sigtimedwait", Unit::Nanoseconds, messages::signal),
    span("aio_suspend", Unit::Nanoseconds, messages::asynchronous_read),
    span("setitimer real", Unit::Microseconds, timers::real_interval),
    span("alarm", Unit::Seconds, timers::alarm),
    span("timer_settime", Unit::Nanoseconds, timers::per_process),
    span("recv SO_RCVTIMEO", Unit::Microseconds, descriptors::receive),
    watch("epoll_wait", Unit::Milliseconds, descriptors::epoll_wait),
    watch("epoll_pwait2", Unit::Nanoseconds, descriptors::epoll_pwait2),
    span("timerfd", Unit::Nanoseconds, timers::descriptor),
    span("futex", Unit::Nanoseconds, locks::futex),
    moment("futex_waitv", locks::futex_vector),
    span("io_uring timeout", Unit::Nanoseconds, ring::timeout),
    span("io_uring_enter", Unit::Nanoseconds, ring::enter),
];

/// `time` for calls that take seconds and nanoseconds.
fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(time.subsec_nanos()),
    }
}

/// `time` for calls that take seconds and microseconds.
fn timeval(time: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: libc::suseconds_t::from(time.subsec_micros()),
    }
}

/// `time` for calls that take whole milliseconds: rounded up, as their callers do.
fn milliseconds(time: Duration) -> i32 {
    i32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
}

/// `time` for calls that take whole seconds: rounded up, as their callers do.
fn seconds(time: Duration) -> libc::c_uint {
    libc::c_uint::try_from(time.as_nanos().div_ceil(1_000_000_000)).unwrap_or(libc::c_uint::MAX)
}

/// The point in time that is `time` from now.
fn moment_after(clock: rustix::time::ClockId, time: Duration) -> libc::timespec {
    let now = rustix::time::clock_gettime(clock);
    let now = Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0));
    timespec(now.saturating_add(time))
}

/// For calls that return 0 or a number of descriptors when their time is over.
fn nothing_came(status: i32) -> io::Result<()> {
    match status {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        _ => Err(another_end()),
    }
}

/// For calls that fail with `expected` when their time is over, and say so in errno.
fn failed_with(expected: i32, status: i64) -> io::Result<()> {
    if status >= 0 { Err(another_end()) } else { is(expected, io::Error::last_os_error()) }
}

/// For calls that return their error.
fn returned(expected: i32, error: i32) -> io::Result<()> {
    if error == 0 { Err(another_end()) } else { is(expected, io::Error::from_raw_os_error(error)) }
}

fn is(expected: i32, error: io::Error) -> io::Result<()> {
    if error.raw_os_error() == Some(expected) { Ok(()) } else { Err(error) }
}

fn another_end() -> io::Error {
    io::Error::other("the wait ended before its time for another reason")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// No call may return before its time. How much later is what the laboratory is for.
    #[test]
    fn every_way_to_wait_waits() {
        hold_back_timer_signals().expect("a signal mask");
        let asked = Duration::from_millis(3);
        let mut missing = Vec::new();
        // Their signal goes to the process, whose first thread is not ours here: the program's own tests wait for these.
        for method in METHODS.iter().filter(|method| !["setitimer real", "alarm"].contains(&method.name)) {
            let Ok(mut wait) = (method.prepare)() else {
                missing.push(method.name);
                continue;
            };
            for _ in 0..2 {
                let begin = Instant::now();
                wait(asked).unwrap_or_else(|error| panic!("{}: {error}", method.name));
                // Clocks of the day may be corrected meanwhile, by half a thousandth at most.
                assert!(begin.elapsed() >= asked * 9 / 10, "{} came back early", method.name);
            }
        }
        // Sandboxes forbid some; the oldest are everywhere.
        let may_lack =
            ["mq_timedreceive", "mq_timedsend", "epoll_pwait2", "futex_waitv", "io_uring timeout", "io_uring_enter"];
        assert!(missing.iter().all(|name| may_lack.contains(name)), "{missing:?}");
    }

    #[test]
    fn the_own_slack_of_poll_is_a_share_of_its_time_up_to_a_limit() {
        let shares = [(1, 0), (1000, 0), (1000, 5), (200_000, -5)];
        let shares = shares.map(|(told_ms, nice)| share_of_time(Duration::from_millis(told_ms), nice));
        assert_eq!(shares.map(|share| share.as_micros()), [1, 1000, 5000, 100_000]);
        let own = METHODS.iter().filter(|method| method.slack == Slack::OfTime).map(|method| method.name);
        assert_eq!(own.collect::<Vec<_>>(), ["poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait2"]);
    }

    #[test]
    fn times_are_converted_upwards_and_never_overflow() {
        assert_eq!(milliseconds(Duration::from_micros(1001)), 2);
        assert_eq!(milliseconds(Duration::MAX), i32::MAX);
        assert_eq!(seconds(Duration::from_nanos(1_000_000_001)), 2);
        assert_eq!(seconds(Duration::MAX), u32::MAX);
        assert_eq!(timespec(Duration::MAX).tv_sec, i64::MAX);
        assert_eq!(timeval(Duration::from_nanos(1_999)).tv_usec, 1);
    }

    #[test]
    fn an_end_for_another_reason_is_an_error() {
        assert!(nothing_came(1).is_err() && failed_with(libc::EAGAIN, 3).is_err());
        assert!(returned(libc::ETIMEDOUT, 0).is_err() && returned(libc::ETIMEDOUT, libc::EINTR).is_err());
        assert!(returned(libc::ETIMEDOUT, libc::ETIMEDOUT).is_ok());
    }
}
