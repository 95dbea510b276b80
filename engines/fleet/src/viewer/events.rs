//! What a viewer reports. Names and reasons are plain text: nothing in them comes from a host as it was sent.

use crate::HostName;
use crate::session::AgentFacts;
use std::time::{Duration, Instant};

/// A host of this viewer, as long as the viewer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetEvent {
    /// A host that this viewer will show. Nothing is known of it yet.
    Appeared {
        /// From now on.
        host: HostId,
        /// As it was given, as it is known, or as it calls itself.
        name: HostName,
        /// Where it is: an address, or what ssh is given.
        place: String,
    },
    /// A host without a ticket whose key nobody has accepted: no data before [`Viewer::accept`](super::Viewer::accept).
    Unconfirmed {
        /// Which one.
        host: HostId,
        /// As it calls itself.
        name: HostName,
        /// To be compared with what `key` prints on that host.
        code: String,
        /// The name is known with another key: the host was installed anew, or it is not the host.
        is_changed: bool,
    },
    /// Samples follow.
    Connected {
        /// Which one.
        host: HostId,
        /// Its name: of the ticket, as it was accepted, or as it was given.
        name: HostName,
        /// What its agent says; nothing over ssh.
        facts: Option<Box<AgentFacts>>,
        /// Host's clock minus ours, in milliseconds, with the way of one message in it.
        clock_offset_ms: Option<i64>,
    },
    /// One envelope, whole. Its checksum was not looked at.
    Envelope {
        /// Whose.
        host: HostId,
        /// Head and body.
        bytes: Vec<u8>,
    },
    /// A sample is overdue; the connection stands.
    Late {
        /// Whose.
        host: HostId,
        /// When the last one came.
        since: Instant,
    },
    /// Not connected any more, or not reached. Tried again without being asked.
    Lost {
        /// Which one.
        host: HostId,
        /// When the last sample came, if one ever did.
        since: Option<Instant>,
        /// Why.
        reason: String,
        /// When it is tried again.
        next_try: Duration,
    },
    /// Another key stands for this host's name now: the row goes.
    Gone {
        /// Which one.
        host: HostId,
    },
    /// The file of known hosts could not be written: hosts that were accepted must be accepted again next time.
    NotKept {
        /// Why.
        reason: String,
    },
}
