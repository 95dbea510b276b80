//! What an agent is started with, and what it reports.

use crate::HostName;
use crate::keys::{FeedRole, HostState};
use std::net::SocketAddr;

/// The port of queries and connections. IANA has assigned 7748 to 7776 to nobody; 7777 is Oracle's HTTP server.
pub const DEFAULT_PORT: u16 = 7764;

/// How an agent runs.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The host's name, as it says itself.
    pub name: HostName,
    /// The program's version.
    pub program: HostName,
    /// Logical CPUs.
    pub cores: u32,
    /// The kernel's boot id.
    pub boot_id: [u8; 16],
    /// Keys, fleets and tickets.
    pub state: HostState,
    /// By TCP and UDP; 0 for any free one.
    pub port: u16,
    /// Names of interfaces whose networks may ask; all if there is none.
    pub interfaces: Vec<String>,
    /// Whether queries from other networks are answered, too.
    pub answers_routed: bool,
}

/// What happened, for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// A viewer has proven that it may look.
    Opened {
        /// Until it is closed.
        session: u64,
        /// Where it is.
        peer: SocketAddr,
        /// Whose key it has.
        fleet: HostName,
        /// What it may see.
        role: FeedRole,
    },
    /// A viewer is gone.
    Closed {
        /// As it was opened.
        session: u64,
        /// Where it was.
        peer: SocketAddr,
        /// Why.
        reason: String,
    },
    /// A viewer brought a new key of its fleet, signed by the old one.
    Rotated {
        /// Which viewer.
        session: u64,
    },
    /// A query was refused because the clocks differ. Reported once.
    ClockOff {
        /// Viewer's minus this host's.
        offset_ms: i64,
    },
}
