//! The one epoll that a loop sleeps in. Each descriptor has a token; errors of a descriptor are reported as readable,
//! and reading says which.

use crate::Error;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// LIMIT: descriptors in one turn; the others come in the next.
const EVENTS_MAX: usize = 256;

/// A descriptor that can be read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
}

/// All descriptors of a loop.
#[derive(Debug)]
pub(crate) struct SleepList(OwnedFd);

impl SleepList {
    pub fn new() -> Result<Self, Error> {
        let made = epoll::create(CreateFlags::CLOEXEC);
        Ok(Self(made.map_err(|cause| Error::system("wait for events of", "epoll", cause))?))
    }

    /// Reports when `descriptor` can be read, and if `writable`, when it can be written.
    pub fn add(&self, descriptor: impl AsFd, token: u64, writable: bool) -> Result<(), rustix::io::Errno> {
        epoll::add(&self.0, descriptor, EventData::new_u64(token), flags(writable))
    }

    /// Changes whether it reports that `descriptor` can be written.
    pub fn set_writable(&self, descriptor: impl AsFd, token: u64, writable: bool) {
        let _was_removed = epoll::modify(&self.0, descriptor, EventData::new_u64(token), flags(writable));
    }

    /// Reports nothing of it any more; what is closed reports nothing anyway.
    pub fn remove(&self, descriptor: impl AsFd) {
        let _was_removed = epoll::delete(&self.0, descriptor);
    }

    /// Sleeps until something is ready, at most so long.
    pub fn sleep(&self, limit: Duration) -> Result<Vec<Ready>, Error> {
        let limit = Timespec { tv_sec: limit.as_secs().min(3600).cast_signed(), tv_nsec: limit.subsec_nanos().into() };
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        match epoll::wait(&self.0, rustix::buffer::spare_capacity(&mut events), Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(events.iter().map(ready).collect()),
            Err(cause) => Err(Error::system("wait for events of", "epoll", cause)),
        }
    }
}

impl AsFd for SleepList {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn flags(writable: bool) -> EventFlags {
    if writable { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN }
}

fn ready(event: &Event) -> Ready {
    let (data, flags) = (event.data, event.flags);
    let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP);
    Ready {
        token: data.u64(),
        readable: failed || flags.contains(EventFlags::IN),
        writable: failed || flags.contains(EventFlags::OUT),
    }
}
