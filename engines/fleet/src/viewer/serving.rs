//! What connections bring: facts, upon which a host is believed or not, and samples.

use super::connecting::token;
use super::host_table::{HostReach, HostStanding, Link};
use super::trust::Belief;
use super::{BUFFERED_MAX, FleetEvent, HOSTS, HostId, SCRATCH_BYTES, Viewer};
use crate::network::Ready;
use crate::session::{AgentFacts, SessionEnd, VERSION};
use crate::wall_ms;
use std::time::Instant;

/// LIMIT: hosts that are shown without being believed. Somebody with the public line can make as many as he likes.
const UNCONFIRMED_MAX: usize = 64;

impl Viewer {
    pub(super) fn serve(&mut self, token: u64, ready: Ready, now: Instant) {
        let number = token.saturating_sub(HOSTS);
        let Ok(host) = u32::try_from(number / 2) else { return };
        let id = HostId(host);
        if let Err(end) = self.serve_host(id, number % 2 == 1, ready, now) {
            self.lose(id, &end, now);
        } else {
            self.watch_writes(id);
        }
    }

    fn serve_host(&mut self, id: HostId, is_stderr: bool, ready: Ready, now: Instant) -> Result<(), SessionEnd> {
        let (scratch, demand) = (&mut self.scratch[..SCRATCH_BYTES], self.demand);
        let Some(host) = self.hosts.get(id) else { return Ok(()) };
        let before = host.buffered();
        let mut envelopes = Vec::new();
        let each = |envelope| envelopes.push(envelope);
        let served = match &mut host.link {
            Link::Agent(link) => link.serve(ready, scratch, demand, each),
            Link::Ssh(link) if is_stderr => {
                if !link.take_errors(scratch) {
                    self.sleep.remove(&link.stderr);
                }
                Ok(None)
            }
            Link::Ssh(link) => link.take_output(ready, scratch, each).map(|()| None),
            Link::None(_) | Link::Queued => Ok(None),
        };
        let after = host.buffered();
        self.buffered = (self.buffered + after).saturating_sub(before);
        self.take_envelopes(id, envelopes, now);
        if let Some(facts) = served? {
            self.greet(id, facts, now)?;
        }
        // Whoever holds much of what is too much goes first.
        let is_too_much = self.buffered > BUFFERED_MAX && after > SCRATCH_BYTES;
        if is_too_much { Err(SessionEnd::Memory) } else { Ok(()) }
    }

    fn take_envelopes(&mut self, id: HostId, envelopes: Vec<Vec<u8>>, now: Instant) {
        if envelopes.is_empty() {
            return;
        }
        let Some(host) = self.hosts.get(id) else { return };
        (host.last_sample, host.lost_for) = (Some(now), None);
        let was_late = std::mem::take(&mut host.is_late);
        if let (HostReach::Ssh(_), HostStanding::Away) = (&host.reach, host.standing) {
            host.standing = HostStanding::Here;
            let name = host.name.clone();
            self.events.push(FleetEvent::Connected { host: id, name, facts: None, clock_offset_ms: None });
        } else if let HostReach::Agent { .. } = host.reach {
            host.backoff.reset();
        }
        if was_late {
            self.hosts.look_at(id, now);
        }
        self.events.extend(envelopes.into_iter().map(|bytes| FleetEvent::Envelope { host: id, bytes }));
    }

    /// The handshake has shown that the host holds its key: is that key to be believed?
    fn greet(&mut self, id: HostId, facts: Box<AgentFacts>, now: Instant) -> Result<(), SessionEnd> {
        if facts.versions.0 > VERSION {
            return Err(SessionEnd::Version(facts.versions.0));
        }
        let unconfirmed = self.hosts.iter().filter(|(_, host)| host.standing == HostStanding::Unconfirmed).count();
        let Some(host) = self.hosts.get(id) else { return Ok(()) };
        let HostReach::Agent { key, .. } = &host.reach else { return Ok(()) };
        let (key, belief) = (*key, self.trust.judge(key, &facts));
        let is_new = host.standing == HostStanding::Rumoured;
        let name = match &belief {
            Belief::Trusted(name) => name.clone(),
            Belief::Unconfirmed | Belief::Changed => facts.name.clone(),
        };
        host.name = name.clone();
        host.facts = Some(facts);
        let place = host.place();
        let is_believed = matches!(belief, Belief::Trusted(_));
        if !is_believed && unconfirmed >= UNCONFIRMED_MAX {
            return Err(SessionEnd::Memory);
        }
        host.standing = HostStanding::Unconfirmed;
        if is_new {
            self.events.push(FleetEvent::Appeared { host: id, name: name.clone(), place });
        }
        if is_believed {
            self.believe(id, now);
        } else {
            let (code, is_changed) = (key.short_code(), belief == Belief::Changed);
            self.events.push(FleetEvent::Unconfirmed { host: id, name, code, is_changed });
        }
        Ok(())
    }

    /// Gives credit to a host that has shown its key.
    pub(super) fn believe(&mut self, id: HostId, now: Instant) {
        let demand = self.demand;
        let Some(host) = self.hosts.get(id).filter(|host| host.standing == HostStanding::Unconfirmed) else { return };
        let (Link::Agent(link), HostReach::Agent { key, addresses, pair }) = (&mut host.link, &host.reach) else {
            return;
        };
        let Some(facts) = host.facts.clone() else { return };
        self.trust.note(&host.name, *key, addresses.first().copied());
        let rotations = self.trust.rotations_from(*pair);
        let ticket = self.trust.ticket_for(*key, &host.name, &facts);
        // The ticket is of the current pair, which the host learns of by the rotations before.
        let begun = link.rotate(rotations).and_then(|()| ticket.map_or(Ok(()), |ticket| link.give_ticket(ticket)));
        let begun = begun.and_then(|()| link.begin(demand));
        (host.standing, host.begun) = (HostStanding::Here, now);
        let clock_offset_ms = Some(facts.wall_ms.wrapping_sub(wall_ms()).cast_signed());
        let name = host.name.clone();
        self.events.push(FleetEvent::Connected { host: id, name, facts: Some(facts), clock_offset_ms });
        match begun {
            Ok(()) => {
                self.watch_writes(id);
                self.hosts.look_at(id, now);
            }
            Err(end) => self.lose(id, &end, now),
        }
        self.drop_namesakes(id);
    }

    /// Hosts that were known by this one's name under another key.
    fn drop_namesakes(&mut self, id: HostId) {
        let Some(name) = self.hosts.get(id).map(|host| host.name.clone()) else { return };
        let is_old = |(other, host): &(HostId, &super::FleetHost)| {
            let is_away = host.standing == HostStanding::Away && matches!(host.reach, HostReach::Agent { .. });
            *other != id && is_away && host.name == name
        };
        let old: Vec<HostId> = self.hosts.iter().filter(is_old).map(|(other, _)| other).collect();
        for other in old {
            self.hosts.remove(other);
            self.events.push(FleetEvent::Gone { host: other });
        }
    }

    /// Tells all agents the pace.
    pub(super) fn renew_demand(&mut self, now: Instant) {
        let ids: Vec<HostId> =
            self.hosts.iter().filter(|(_, host)| host.standing == HostStanding::Here).map(|(id, _)| id).collect();
        for id in ids {
            let demand = self.demand;
            let Some(Link::Agent(link)) = self.hosts.get(id).map(|host| &mut host.link) else { continue };
            match link.grant(0, demand) {
                Ok(()) => {
                    self.watch_writes(id);
                    self.hosts.look_at(id, now);
                }
                Err(end) => self.lose(id, &end, now),
            }
        }
    }

    fn watch_writes(&mut self, id: HostId) {
        let Some(host) = self.hosts.get(id) else { return };
        let Link::Agent(link) = &host.link else { return };
        let wants = link.wants_writes();
        if host.watches_writes != wants {
            host.watches_writes = wants;
            self.sleep.set_writable(&**link, token(id, false), wants);
        }
    }
}
