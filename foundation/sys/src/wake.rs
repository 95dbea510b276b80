//! Waiting for a descriptor in a way that another thread can end: `poll(2)` on the descriptor and an `eventfd(2)`.
//! Used where a thread would otherwise sleep in `read` on a pipe while the rest of the run has already failed.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// A bell that ends every present and future [`Wake::readable`] on it.
#[derive(Debug)]
pub struct Wake {
    event: OwnedFd,
}

/// Why [`Wake::readable`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The descriptor has bytes, its end, or an error to report: a read will not sleep.
    Readable,
    /// [`Wake::ring`] was called.
    Rung,
}

impl Wake {
    /// A bell that has not been rung. Fails only when the process is out of descriptors.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { event })
    }

    /// Ends all waiting, now and later. Ringing twice is ringing once.
    pub fn ring(&self) {
        // A full counter (the only failure of this write) means that the bell is ringing already.
        let _already_ringing = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Sleeps until `descriptor` can be read without sleeping, or until the bell rings.
    pub fn readable(&self, descriptor: impl AsFd) -> io::Result<Waited> {
        loop {
            if let Some(waited) = self.poll(&descriptor, None)? {
                return Ok(waited);
            }
        }
    }

    /// The same, for at most `limit`; none if neither happened.
    pub fn readable_within(&self, descriptor: impl AsFd, limit: Duration) -> io::Result<Option<Waited>> {
        self.poll(&descriptor, Some(limit))
    }

    fn poll(&self, descriptor: &impl AsFd, limit: Option<Duration>) -> io::Result<Option<Waited>> {
        let begun = Instant::now();
        let mut watched = [PollFd::new(descriptor, PollFlags::IN), PollFd::new(&self.event, PollFlags::IN)];
        loop {
            let left = limit.map(|limit| timespec(limit.saturating_sub(begun.elapsed())));
            match poll(&mut watched, left.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) if !watched[1].revents().is_empty() => return Ok(Some(Waited::Rung)),
                Ok(_) => return Ok(Some(Waited::Readable)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether a read of `descriptor` would not sleep, asked without waiting. A failed question counts as yes: the read tells.
pub fn is_readable(descriptor: impl AsFd) -> bool {
    is_readable_within(descriptor, Duration::ZERO)
}

/// The same, after a wait of at most `limit`.
pub fn is_readable_within(descriptor: impl AsFd, limit: Duration) -> bool {
    let mut watched = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut watched, Some(&timespec(limit))).map_or(true, |count| count > 0)
}

fn timespec(duration: Duration) -> rustix::time::Timespec {
    rustix::time::Timespec { tv_sec: duration.as_secs().cast_signed(), tv_nsec: duration.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_pipe_waits_until_the_bell_rings() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let wake = Wake::new().expect("an eventfd");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| wake.readable(&reader));
            wake.ring();
            assert_eq!(waiting.join().expect("no panic").expect("poll"), Waited::Rung);
        });
        drop(writer);
    }

    #[test]
    fn a_limited_wait_ends_by_the_bell_and_by_its_limit() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let wake = Wake::new().expect("an eventfd");
        let within = |limit| wake.readable_within(&reader, limit).expect("poll");
        assert_eq!(within(Duration::from_millis(1)), None);
        std::thread::scope(|scope| {
            // Longer than any test: only the bell ends it.
            let waiting = scope.spawn(|| within(Duration::from_secs(1 << 40)));
            wake.ring();
            assert_eq!(waiting.join().expect("no panic"), Some(Waited::Rung));
        });
        drop(writer);
    }

    #[test]
    fn bytes_and_the_end_of_a_pipe_are_readable() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let wake = Wake::new().expect("an eventfd");
        rustix::io::write(&writer, b"x").expect("write");
        assert_eq!(wake.readable(&reader).expect("poll"), Waited::Readable);
        rustix::io::read(&reader, &mut [0_u8; 8]).expect("read");
        drop(writer);
        assert_eq!(wake.readable(&reader).expect("poll"), Waited::Readable);
    }
}
