//! Eight hosts on a bridge, each a network namespace, made as root with ip(8): multicast by both families, hosts
//! without one of them, forgers, floods, cables that are pulled, and silence. Left out where namespaces cannot be made.

mod network;

use crate::stage::{
    PATIENCE, agent_options, connected, has_envelope, host_state, lost, turn, turn_for, unconfirmed, viewer_options,
};
use fleet::HostName;
use fleet::agent::DEFAULT_PORT;
use fleet::viewer::{FleetEvent, Viewer, ViewerOptions};
use network::{Families, TestNetwork};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Hosts are 1 to 8; the viewer is on the first.
const AGENTS: std::ops::RangeInclusive<usize> = 2..=8;

fn asking(fleet_byte: u8) -> ViewerOptions {
    ViewerOptions { multicast: true, ..viewer_options(Some(fleet_byte), Vec::new()) }
}

fn name(host: usize) -> String {
    format!("host{host}")
}

fn start_agents(network: &mut TestNetwork) {
    for host in AGENTS {
        network
            .start_agent(host, agent_options(&name(host), host_state(1, host as u8, Some(&name(host))), DEFAULT_PORT));
    }
}

fn names_of(events: &[FleetEvent]) -> HashSet<String> {
    connected(events).into_iter().map(|(_, name)| name).collect()
}

/// All seven are found by a viewer on the first host.
fn all_are_found(network: &TestNetwork) {
    let events = network.on_host(1, || {
        let mut viewer = Viewer::open(asking(1)).expect("it opens");
        turn(&mut [], &mut viewer, |events| names_of(events).len() == AGENTS.count())
    });
    assert_eq!(names_of(&events), AGENTS.map(name).collect());
}

#[test]
fn seven_hosts_are_found_by_both_families() {
    let Some(mut network) = TestNetwork::make("both", Families::Both) else { return };
    start_agents(&mut network);
    all_are_found(&network);
    assert!(AGENTS.into_iter().all(|host| network.packets_sent(host) > 0), "packets are counted");
    let accepted: u64 = network.stop_agents().into_values().map(|counts| counts.accepted).sum();
    assert!(accepted >= 2 * AGENTS.count() as u64, "each is asked by both: {accepted}");
}

#[test]
fn hosts_without_an_address_of_ipv4_are_found() {
    let Some(mut network) = TestNetwork::make("six", Families::Ipv6) else { return };
    start_agents(&mut network);
    all_are_found(&network);
}

#[test]
fn hosts_without_ipv6_are_found() {
    let Some(mut network) = TestNetwork::make("four", Families::Ipv4) else { return };
    start_agents(&mut network);
    all_are_found(&network);
}

#[test]
fn an_agent_on_the_viewers_own_host_is_found_even_without_a_network() {
    let Some(mut network) = TestNetwork::make("own", Families::Both) else { return };
    for host in [1, 2] {
        let options = agent_options(&name(host), host_state(1, host as u8, Some(&name(host))), DEFAULT_PORT);
        network.start_agent(host, options);
    }
    network.ip(&format!("-n {} link set eth0 down", network.host(2)));
    for host in [1, 2] {
        let events = network.on_host(host, || {
            let mut viewer = Viewer::open(asking(1)).expect("it opens");
            turn(&mut [], &mut viewer, |events| names_of(events).contains(&name(host)))
        });
        assert_eq!(names_of(&events), HashSet::from([name(host)]));
    }
}

#[test]
fn another_key_sees_nobody_and_without_a_viewer_nobody_sends() {
    let Some(mut network) = TestNetwork::make("mute", Families::Both) else { return };
    start_agents(&mut network);
    std::thread::sleep(Duration::from_secs(2));
    for host in AGENTS {
        assert_eq!(network.packets_sent(host), 0, "host {host}, before any viewer");
    }
    let events = network.on_host(1, || {
        let mut viewer = Viewer::open(asking(2)).expect("it opens");
        turn_for(&mut [], &mut viewer, Duration::from_secs(2))
    });
    assert_eq!(events, []);
    for host in AGENTS {
        assert_eq!(network.packets_sent(host), 0, "host {host}, with a viewer of another fleet");
    }
    for (host, counts) in network.stop_agents() {
        assert!(counts.filter > 0 && counts.signatures_checked == 0, "host {host}: {counts:?}");
    }
}

#[test]
fn a_forged_host_never_shows_data_and_a_flood_hides_nobody() {
    let Some(mut network) = TestNetwork::make("forge", Families::Both) else { return };
    for host in 2..=6 {
        network
            .start_agent(host, agent_options(&name(host), host_state(1, host as u8, Some(&name(host))), DEFAULT_PORT));
    }
    // It knows the public line, and says that it is another host.
    network.start_agent(7, agent_options("host2", host_state(1, 77, None), DEFAULT_PORT));
    let flood = network.flood_from(8);
    let (events, forged) = network.on_host(1, || {
        let mut viewer = Viewer::open(asking(1)).expect("it opens");
        let is_done = |events: &[FleetEvent]| names_of(events).len() == 5 && unconfirmed(events).is_some();
        let mut events = turn(&mut [], &mut viewer, is_done);
        events.extend(turn_for(&mut [], &mut viewer, Duration::from_secs(1)));
        let forged = unconfirmed(&events).expect("just seen").0;
        (events, forged)
    });
    assert_eq!(names_of(&events), (2..=6).map(name).collect());
    let is_forged = |event: &&FleetEvent| match event {
        FleetEvent::Envelope { host, .. } | FleetEvent::Connected { host, .. } => *host == forged,
        _ => false,
    };
    assert_eq!(events.iter().find(is_forged), None);
    flood.join().expect("it ends");
    for (host, counts) in network.stop_agents() {
        assert!(counts.filter >= 100, "the flood has arrived at host {host}: {counts:?}");
        assert!(counts.signatures_checked <= counts.accepted, "host {host}: {counts:?}");
    }
}

#[test]
fn replayed_and_old_queries_are_not_answered() {
    let Some(mut network) = TestNetwork::make("replay", Families::Both) else { return };
    start_agents(&mut network);
    let answers = network.replay_from(1, 200, 10);
    assert_eq!(answers, AGENTS.count(), "one of each host");
    for (host, counts) in network.stop_agents() {
        // A busy machine may drop some.
        let some_arrived = (1..=199).contains(&counts.seen) && (1..=10).contains(&counts.clock);
        assert!(counts.accepted == 1 && some_arrived, "host {host}: {counts:?}");
    }
}

#[test]
fn a_query_from_another_network_is_not_answered() {
    let Some(mut network) = TestNetwork::make("routed", Families::Ipv4) else { return };
    for (host, interface) in [(2, "eth0"), (3, "lo")] {
        let mut options = agent_options(&name(host), host_state(1, host as u8, Some(&name(host))), DEFAULT_PORT);
        options.interfaces = vec![interface.to_owned()];
        network.start_agent(host, options);
    }
    network.ip(&format!("-n {} address add 10.8.8.1/24 dev eth0", network.host(1)));
    network.ip(&format!("-n {} route add 10.8.8.0/24 via 10.9.9.1", network.host(2)));
    assert_eq!(network.ask_host_from(1, "10.8.8.1", "10.9.9.2"), 0);
    assert_eq!(network.ask_host_from(1, "10.9.9.1", "10.9.9.2"), 1, "and from its own it is");
    assert_eq!(network.ask_host_from(1, "10.9.9.1", "10.9.9.3"), 0, "but not by an interface that was not named");
    let known = network.on_host(1, || {
        let mut options = ViewerOptions { multicast: false, ..asking(1) };
        for host in [2, 3] {
            let key = host_state(1, host as u8, None).pair.public();
            let place = format!("10.9.9.{host}:{DEFAULT_PORT}").parse().expect("an address");
            options.known.put(&HostName::new(name(host).as_bytes()), key, Some(place));
        }
        let mut viewer = Viewer::open(options).expect("it opens");
        turn(&mut [], &mut viewer, |events| has_envelope(events) && lost(events).is_some())
    });
    assert_eq!(names_of(&known), HashSet::from([name(2)]));
}

#[test]
fn a_cable_that_is_pulled_and_put_back_and_one_that_comes_late() {
    let Some(mut network) = TestNetwork::make("cable", Families::Both) else { return };
    let late = network.host(3);
    network.ip(&format!("-n {late} link set eth0 down"));
    for host in [2, 3] {
        network
            .start_agent(host, agent_options(&name(host), host_state(1, host as u8, Some(&name(host))), DEFAULT_PORT));
    }
    network.on_host(1, || {
        let mut viewer = Viewer::open(asking(1)).expect("it opens");
        turn(&mut [], &mut viewer, has_envelope);
        network.ip(&format!("-n {late} link set eth0 up"));
        let events = turn(&mut [], &mut viewer, |events| !connected(events).is_empty());
        assert_eq!(connected(&events)[0].1, name(3), "it has joined the group on an interface that came later");
        network.ip(&format!("-n {} link set p2 down", network.switch()));
        let events = turn(&mut [], &mut viewer, |events| lost(events).is_some());
        assert!(events.iter().any(|event| matches!(event, FleetEvent::Late { .. })), "first it is late");
        network.ip(&format!("-n {} link set p2 up", network.switch()));
        let end = Instant::now() + PATIENCE;
        let events = turn(&mut [], &mut viewer, |events| !connected(events).is_empty() || Instant::now() > end);
        assert_eq!(connected(&events)[0].1, name(2));
    });
}
