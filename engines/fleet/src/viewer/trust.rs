//! Whether a host is believed: a ticket of the fleet, or a key that a person accepted. A key that neither has is shown
//! with its code, and its data are not read.

use super::KnownHosts;
use crate::keys::{FleetKeyFile, FleetPair, HostPublic, HostTicket, Rotation};
use crate::session::AgentFacts;
use crate::{Error, HostName, wall_ms};
use std::net::SocketAddr;

/// What is thought of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// Under this name.
    Trusted(HostName),
    Unconfirmed,
    /// Another key than its name stands for.
    Changed,
}

/// Keys and what was accepted.
#[derive(Debug)]
pub(super) struct FleetTrust {
    keys: Option<FleetKeyFile>,
    known: KnownHosts,
}

impl FleetTrust {
    pub fn new(keys: Option<FleetKeyFile>, known: KnownHosts) -> Self {
        Self { keys, known }
    }

    pub fn known(&self) -> &KnownHosts {
        &self.known
    }

    /// The pairs that agents may still know, the current one first.
    pub fn pairs(&self) -> Vec<&FleetPair> {
        let now_s = wall_ms() / 1000;
        let pairs = self.keys.iter().flat_map(FleetKeyFile::pairs);
        pairs.take_while(|(_, until_s)| until_s.is_none_or(|until_s| now_s < until_s)).map(|(pair, _)| pair).collect()
    }

    /// What is to be thought of the host that has proven to hold `key`.
    pub fn judge(&self, key: &HostPublic, facts: &AgentFacts) -> Belief {
        if let Some(ticket) = &facts.ticket
            && ticket.host == *key
            && self.pairs().iter().any(|pair| ticket.is_of(&pair.public()))
        {
            return Belief::Trusted(ticket.name.clone());
        }
        match self.known.name_of(key) {
            Some(name) => Belief::Trusted(name.clone()),
            None if self.known.has_another_key(&facts.name, key) => Belief::Changed,
            None => Belief::Unconfirmed,
        }
    }

    /// A host is believed under this name.
    pub fn note(&mut self, name: &HostName, key: HostPublic, address: Option<SocketAddr>) {
        self.known.put(name, key, address);
    }

    /// Writes what has changed.
    pub fn keep(&mut self) -> Result<(), Error> {
        self.known.keep()
    }

    /// A ticket of the current pair, for a host that has none of it.
    pub fn ticket_for(&self, key: HostPublic, name: &HostName, facts: &AgentFacts) -> Option<HostTicket> {
        let pair = &self.keys.as_ref()?.current;
        let has_one = facts.ticket.as_ref().is_some_and(|ticket| ticket.host == key && ticket.is_of(&pair.public()));
        (!has_one).then(|| HostTicket::sign(pair, key, name.clone(), wall_ms() / 1000))
    }

    /// What leads a host from the pair of that number to the current one, in order.
    pub fn rotations_from(&self, pair: usize) -> Vec<Rotation> {
        let Some(keys) = &self.keys else { return Vec::new() };
        let pairs: Vec<_> = keys.pairs().take(pair + 1).collect();
        let step =
            |two: &[(&FleetPair, Option<u64>)]| Rotation::sign(two[1].0, two[0].0.public(), two[1].1.unwrap_or(0));
        pairs.windows(2).rev().map(step).collect()
    }
}
