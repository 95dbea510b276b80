//! When the next sample is due: sleeps until then, or until a signal. Deadlines are counted from the start, so that lateness
//! does not add up. Nothing runs in between.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::io;
use std::time::{Duration, Instant};
use sys::signals::{ENDING, SignalQueue, number};

/// Why sleeping ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It is time.
    Due,
    /// The user has had enough: Ctrl-C.
    Interrupted,
    /// A signal that ends programs.
    Ended(i32),
    /// A child may have ended.
    Child,
}

/// Deadlines at equal distances, and the signals that end waiting for them.
pub struct Pace {
    interval: Duration,
    next: Instant,
    signals: SignalQueue,
}

impl Pace {
    /// The first deadline is one interval away.
    pub fn begin(interval: Duration) -> io::Result<Self> {
        let mut members = ENDING.to_vec();
        members.push(number::SIGCHLD);
        let signals = SignalQueue::open(&members)?;
        Ok(Self { interval, next: Instant::now() + interval, signals })
    }

    /// Sleeps until the next deadline or a signal. A deadline that has passed is made up for at once; deadlines that were
    /// missed altogether (the machine was suspended, the program stopped) are left out.
    pub fn sleep(&mut self) -> io::Result<Woken> {
        loop {
            let left = self.next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let now = Instant::now();
                while self.next <= now {
                    self.next += self.interval;
                }
                return Ok(Woken::Due);
            }
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut watched = [PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut watched, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(woken) = self.signalled()? {
                return Ok(woken);
            }
        }
    }

    fn signalled(&self) -> io::Result<Option<Woken>> {
        let arrived = self.signals.take()?;
        let ending = arrived.iter().map(|arrived| arrived.signal).find(|signal| *signal != number::SIGCHLD);
        Ok(match ending {
            Some(number::SIGINT) => Some(Woken::Interrupted),
            Some(signal) => Some(Woken::Ended(signal)),
            None => arrived.first().map(|_| Woken::Child),
        })
    }
}
