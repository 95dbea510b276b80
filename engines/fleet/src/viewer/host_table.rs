//! All hosts of a viewer: who they are, how they are reached, what they are doing, and when each must be looked at
//! again.

use super::agent_link::AgentLink;
use super::backoff::Backoff;
use super::events::HostId;
use crate::HostName;
use crate::keys::HostPublic;
use crate::session::AgentFacts;
use crate::ssh::SshLink;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

/// LIMIT: hosts of one viewer.
const HOSTS_MAX: usize = 4096;

/// LIMIT: addresses that are kept of one host, the last one first.
const ADDRESSES_MAX: usize = 4;

/// How a host is reached.
#[derive(Debug)]
pub(super) enum HostReach {
    Agent {
        key: HostPublic,
        addresses: Vec<SocketAddr>,
        /// Number of the fleet's pair that it was found with.
        pair: usize,
    },
    Ssh(String),
}

/// What connects a host now.
#[derive(Debug)]
pub(super) enum Link {
    /// Tried again then.
    None(Instant),
    /// Tried as soon as fewer are tried at once.
    Queued,
    Agent(Box<AgentLink>),
    Ssh(Box<SshLink>),
}

/// How far a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostStanding {
    /// Somebody said that there is such a host. It is shown once it has proven so.
    Rumoured,
    /// Shown, and not connected.
    Away,
    /// Connected, and not believed.
    Unconfirmed,
    /// Connected and believed.
    Here,
}

/// One host.
#[derive(Debug)]
pub(super) struct FleetHost {
    pub name: HostName,
    pub reach: HostReach,
    pub link: Link,
    pub standing: HostStanding,
    pub backoff: Backoff,
    /// When this connection was begun.
    pub begun: Instant,
    pub last_sample: Option<Instant>,
    pub is_late: bool,
    /// Why it was lost last, so that it is reported once.
    pub lost_for: Option<String>,
    pub facts: Option<Box<AgentFacts>>,
    /// For [`HostTable::look_at`].
    timer: Option<Instant>,
    pub watches_writes: bool,
}

impl FleetHost {
    pub fn new(name: HostName, reach: HostReach, standing: HostStanding, now: Instant) -> Self {
        Self {
            name,
            reach,
            link: Link::None(now),
            standing,
            backoff: Backoff::default(),
            begun: now,
            last_sample: None,
            is_late: false,
            lost_for: None,
            facts: None,
            timer: None,
            watches_writes: false,
        }
    }

    pub fn buffered(&self) -> usize {
        match &self.link {
            Link::Agent(link) => link.buffered(),
            Link::Ssh(link) => link.buffered(),
            Link::None(_) | Link::Queued => 0,
        }
    }

    /// Begun, and not known yet whether it works.
    pub fn is_connecting(&self) -> bool {
        let is_new = matches!(self.standing, HostStanding::Rumoured | HostStanding::Away);
        is_new && matches!(self.link, Link::Agent(_) | Link::Ssh(_))
    }

    /// What it is looked for at: an address, or what ssh is given.
    pub fn place(&self) -> String {
        match &self.reach {
            HostReach::Agent { addresses, .. } => addresses.first().map(ToString::to_string).unwrap_or_default(),
            HostReach::Ssh(destination) => destination.clone(),
        }
    }
}

/// All hosts, by their numbers.
#[derive(Debug, Default)]
pub(super) struct HostTable {
    hosts: BTreeMap<HostId, FleetHost>,
    by_key: HashMap<HostPublic, HostId>,
    timers: BTreeSet<(Instant, HostId)>,
    next: u32,
}

impl HostTable {
    /// None if there are too many.
    pub fn add(&mut self, host: FleetHost) -> Option<HostId> {
        if self.hosts.len() >= HOSTS_MAX {
            return None;
        }
        let id = HostId(self.next);
        self.next += 1;
        if let HostReach::Agent { key, .. } = &host.reach {
            self.by_key.insert(*key, id);
        }
        self.hosts.insert(id, host);
        Some(id)
    }

    pub fn remove(&mut self, id: HostId) {
        let Some(host) = self.hosts.remove(&id) else { return };
        if let HostReach::Agent { key, .. } = &host.reach {
            self.by_key.remove(key);
        }
        if let Some(timer) = host.timer {
            self.timers.remove(&(timer, id));
        }
    }

    pub fn get(&mut self, id: HostId) -> Option<&mut FleetHost> {
        self.hosts.get_mut(&id)
    }

    pub fn of_key(&self, key: &HostPublic) -> Option<HostId> {
        self.by_key.get(key).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (HostId, &FleetHost)> {
        self.hosts.iter().map(|(id, host)| (*id, host))
    }

    /// An address at which a host answered; the one that counts most.
    pub fn note_address(&mut self, id: HostId, address: SocketAddr) {
        let Some(FleetHost { reach: HostReach::Agent { addresses, .. }, .. }) = self.hosts.get_mut(&id) else { return };
        addresses.retain(|known| *known != address);
        addresses.insert(0, address);
        addresses.truncate(ADDRESSES_MAX);
    }

    /// Lets [`Self::due`] give this host then, unless it does so before anyway: whoever gets it finds out what is due.
    pub fn look_at(&mut self, id: HostId, at: Instant) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.timer.is_some_and(|timer| timer <= at) {
            return;
        }
        if let Some(timer) = host.timer.replace(at) {
            self.timers.remove(&(timer, id));
        }
        self.timers.insert((at, id));
    }

    /// When the first is to be looked at.
    pub fn first_due(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// A host that is to be looked at.
    pub fn due(&mut self, now: Instant) -> Option<HostId> {
        let (at, id) = *self.timers.first().filter(|(at, _)| *at <= now)?;
        self.timers.remove(&(at, id));
        if let Some(host) = self.hosts.get_mut(&id) {
            host.timer = None;
        }
        Some(id)
    }
}
