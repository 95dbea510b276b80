//! Where an agent gets samples from.

use crate::keys::FeedRole;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Which sample is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRequest {
    /// For whom: a source that sends differences keeps what this session has.
    pub session: u64,
    /// Nothing was sent to this session before: the sample must be readable alone.
    pub is_first: bool,
    /// What it may contain.
    pub role: FeedRole,
    /// Time between samples of this session.
    pub interval: Duration,
}

/// Takes samples.
pub trait SampleSource {
    /// One or more whole envelopes. An error ends the session, and its text is the reason.
    fn next(&mut self, request: &SampleRequest) -> io::Result<Arc<[u8]>>;

    /// The session is gone.
    fn ended(&mut self, _session: u64) {}
}
