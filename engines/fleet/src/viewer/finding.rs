//! From answers to hosts: who answered is a rumour until the handshake has proven it.

use super::asking::Asker;
use super::host_table::{FleetHost, HostReach, HostStanding, HostTable, Link};
use super::trust::FleetTrust;
use crate::Error;
use crate::answer::{FleetAnswer, open_answer};
use crate::keys::FleetPair;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Instant;

/// The asker with the addresses that it was given.
#[derive(Debug)]
pub(super) struct HostFinder {
    pub asker: Asker,
    pub places: Vec<SocketAddr>,
}

impl HostFinder {
    /// Asks the network, if it is time: groups, given addresses, and hosts that were somewhere and are away.
    pub fn ask(&mut self, trust: &FleetTrust, hosts: &HostTable, now: Instant) -> Result<(), Error> {
        if self.asker.due() > now {
            return Ok(());
        }
        let here = addresses_of(hosts, |standing| standing == HostStanding::Here);
        let away = addresses_of(hosts, |standing| standing == HostStanding::Away);
        let given = self.places.iter().copied().filter(|place| !here.contains(place));
        let places: HashSet<SocketAddr> = given.chain(away).collect();
        let places: Vec<SocketAddr> = places.into_iter().collect();
        self.asker.ask(&trust.pairs(), &places, now)
    }

    /// Opens what has arrived by one family. Those that are connected have nothing new to say.
    pub fn take_answers(&mut self, trust: &FleetTrust, hosts: &mut HostTable, is_v6: bool, now: Instant) {
        let connected = addresses_of(hosts, |standing| standing != HostStanding::Away);
        for sealed in self.asker.answers(is_v6, now, |source| !connected.contains(source)) {
            let pair: Option<FleetPair> = trust.pairs().get(sealed.pair).map(|pair| (*pair).clone());
            let opened = pair.and_then(|pair| open_answer(&sealed.packet, &pair));
            if let Some(answer) = opened {
                let mut address = sealed.source;
                address.set_port(answer.port);
                take_answer(hosts, &answer, address, sealed.pair, now);
            }
        }
    }
}

fn take_answer(hosts: &mut HostTable, answer: &FleetAnswer, address: SocketAddr, pair: usize, now: Instant) {
    let id = hosts.of_key(&answer.host).or_else(|| {
        let reach = HostReach::Agent { key: answer.host, addresses: Vec::new(), pair };
        hosts.add(FleetHost::new(answer.name.clone(), reach, HostStanding::Rumoured, now))
    });
    let Some(id) = id else { return };
    hosts.note_address(id, address);
    let Some(host) = hosts.get(id) else { return };
    if let (Link::None(retry), HostReach::Agent { pair: found, .. }) = (&mut host.link, &mut host.reach) {
        // It is there: nothing is gained by waiting.
        (*retry, *found) = (now, pair);
        hosts.look_at(id, now);
    }
}

fn addresses_of(hosts: &HostTable, wanted: impl Fn(HostStanding) -> bool) -> HashSet<SocketAddr> {
    let wanted = hosts.iter().filter(|(_, host)| wanted(host.standing));
    let addresses = wanted.filter_map(|(_, host)| match &host.reach {
        HostReach::Agent { addresses, .. } => Some(addresses.iter().copied()),
        HostReach::Ssh(_) => None,
    });
    addresses.flatten().collect()
}
