//! The one epoll that the loop sleeps in, and whose each event is. Owners watch their own descriptors with it; it decides nothing.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Result;
use rustix::time::Timespec;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Whose event it is.
pub(crate) mod token {
    pub const SIGNALS: u64 = 0;
    pub const INPUT: u64 = 1;
    pub const HANDS: u64 = 2;
    pub const OUTLETS: u64 = 3;
    /// Behind both outlets.
    pub const ANSWER: u64 = 5;
    /// Above: slot + 1 in the upper half, below it a generation and the stream.
    pub const JOBS: u64 = 1 << 32;
}

/// Watches descriptors; copies watch with the same epoll.
#[derive(Clone, Debug)]
pub(crate) struct Poll(Arc<OwnedFd>);

impl Poll {
    pub fn new() -> Result<Self> {
        Ok(Self(Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?)))
    }

    /// Reports with `token` what `wanted` names, until [`Self::forget`].
    pub fn watch(&self, descriptor: impl AsFd, token: u64, wanted: EventFlags) -> Result<()> {
        epoll::add(&self.0, descriptor, EventData::new_u64(token), wanted)
    }

    /// Reports once more what is watched with ONESHOT.
    pub fn rearm(&self, descriptor: impl AsFd, token: u64, wanted: EventFlags) -> Result<()> {
        epoll::modify(&self.0, descriptor, EventData::new_u64(token), wanted)
    }

    /// Reports nothing of it any more. Returns whether it was watched.
    pub fn forget(&self, descriptor: impl AsFd) -> bool {
        epoll::delete(&self.0, descriptor).is_ok()
    }

    /// Sleeps until something happens, at most for `limit`.
    pub fn wait(&self, events: &mut Vec<epoll::Event>, limit: Option<&Timespec>) -> Result<usize> {
        events.clear();
        epoll::wait(&self.0, rustix::buffer::spare_capacity(events), limit)
    }
}
