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
    /// A part of the time has passed.
    Part,
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
    part: Duration,
    parts: u32,
    passed: u32,
    next: Instant,
    signals: SignalQueue,
}

impl Pace {
    /// The first deadline is one interval away; `parts` equal parts of each interval are told.
    pub fn begin(interval: Duration, parts: u32) -> io::Result<Self> {
        let part = interval / parts.max(1);
        let mut members = ENDING.to_vec();
        members.push(number::SIGCHLD);
        let signals = SignalQueue::open(&members)?;
        Ok(Self { interval, part, parts: parts.max(1), passed: 0, next: Instant::now() + part, signals })
    }

    /// The distance between two deadlines.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Counts from now on: what came before it, a first sample of ten thousand processes, takes its time.
    pub fn restart(&mut self) {
        self.passed = 0;
        self.next = Instant::now() + self.part;
    }

    /// Sleeps until the next deadline or a signal. A deadline that has passed is made up for at once; deadlines that were
    /// missed altogether (the machine was suspended, the program stopped) are left out.
    pub fn sleep(&mut self) -> io::Result<Woken> {
        self.sleep_for(Duration::ZERO)
    }

    /// The same, and parts that end before so much time has passed are not told: being woken costs more than most of what is done then.
    pub fn sleep_for(&mut self, least: Duration) -> io::Result<Woken> {
        let not_before = Instant::now() + least;
        while self.next < not_before && self.passed + 1 < self.parts {
            self.next += self.part;
            self.passed += 1;
        }
        loop {
            let left = self.next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let now = Instant::now();
                while self.next <= now {
                    self.next += self.part;
                    self.passed += 1;
                }
                if self.passed < self.parts {
                    return Ok(Woken::Part);
                }
                self.passed %= self.parts;
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
