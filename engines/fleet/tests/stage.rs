//! What tests of whole fleets share: agents with a source that counts, viewers, and turning both until something has
//! happened.

use fleet::HostName;
use fleet::agent::{Agent, AgentOptions, SampleRequest, SampleSource};
use fleet::keys::{FeedRole, FleetKeyFile, FleetPair, HostPair, HostState, HostTicket, PublicLine};
use fleet::ssh::SshOptions;
use fleet::viewer::{FleetEvent, HostId, KnownHosts, Viewer, ViewerOptions};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// LIMIT: a test that waits longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const INTERVAL: Duration = Duration::from_millis(100);

/// A sample of one envelope that says which one it is.
#[derive(Debug, Default)]
pub struct CountingSource {
    pub taken: u32,
    pub body_bytes: usize,
    /// Leaves out the end of each sample.
    pub is_cut: bool,
    pub last: Option<SampleRequest>,
}

impl SampleSource for CountingSource {
    fn next(&mut self, request: &SampleRequest) -> io::Result<Arc<[u8]>> {
        self.taken += 1;
        self.last = Some(*request);
        let mut body = self.taken.to_le_bytes().to_vec();
        body.resize(self.body_bytes.max(4), 7);
        let mut envelope = envelope(&body);
        envelope.truncate(envelope.len() - usize::from(self.is_cut));
        Ok(envelope.into())
    }
}

pub fn envelope(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_le_bytes();
    [b"mh\x01", &length[..], &[0; 12], body].concat()
}

pub fn fleet(byte: u8) -> FleetPair {
    FleetPair::of_seed([byte; 32], HostName::new(b"home"))
}

pub fn line(byte: u8) -> PublicLine {
    fleet(byte).public_line(FeedRole::Full)
}

/// A host of the fleet, with a ticket or without.
pub fn host_state(fleet_byte: u8, host_byte: u8, ticket_name: Option<&str>) -> HostState {
    let pair = HostPair::of_secret([host_byte; 32]);
    state_of(fleet_byte, pair, ticket_name)
}

/// The same, of more hosts than a byte can name.
pub fn host_state_of(fleet_byte: u8, host: u32, ticket_name: Option<&str>) -> HostState {
    let mut secret = [9; 32];
    // The curve ignores some bits of the first byte.
    secret[8..12].copy_from_slice(&host.to_le_bytes());
    state_of(fleet_byte, HostPair::of_secret(secret), ticket_name)
}

fn state_of(fleet_byte: u8, pair: HostPair, ticket_name: Option<&str>) -> HostState {
    let mut state = HostState::in_memory(pair, vec![line(fleet_byte)]);
    if let Some(name) = ticket_name {
        let ticket = HostTicket::sign(&fleet(fleet_byte), state.pair.public(), HostName::new(name.as_bytes()), 1);
        state.add_ticket(ticket).expect("it is for this host");
    }
    state
}

pub fn agent_options(name: &str, state: HostState, port: u16) -> AgentOptions {
    AgentOptions {
        name: HostName::new(name.as_bytes()),
        program: HostName::new(b"0.1.0"),
        cores: 8,
        boot_id: [1; 16],
        state,
        port,
        interfaces: Vec::new(),
        answers_routed: false,
    }
}

pub fn agent(name: &str, state: HostState) -> Agent<CountingSource> {
    Agent::start(agent_options(name, state, 0), CountingSource::default()).expect("it listens")
}

pub fn viewer_options(fleet_byte: Option<u8>, addresses: Vec<SocketAddr>) -> ViewerOptions {
    ViewerOptions {
        keys: fleet_byte.map(|byte| FleetKeyFile::of(fleet(byte))),
        known: KnownHosts::default(),
        port: fleet::agent::DEFAULT_PORT,
        multicast: false,
        interfaces: Vec::new(),
        addresses,
        ssh_hosts: Vec::new(),
        ssh: SshOptions::usual(["true"]),
        interval: INTERVAL,
        role: FeedRole::Full,
    }
}

pub fn viewer_of(fleet_byte: u8, agents: &[&Agent<CountingSource>]) -> Viewer {
    let addresses = agents.iter().map(|agent| address(agent)).collect();
    Viewer::open(viewer_options(Some(fleet_byte), addresses)).expect("it opens")
}

pub fn address<S: SampleSource>(agent: &Agent<S>) -> SocketAddr {
    ([127, 0, 0, 1], agent.port()).into()
}

/// Turns everything until `is_done` of all events so far, and gives them.
pub fn turn(
    agents: &mut [&mut Agent<CountingSource>],
    viewer: &mut Viewer,
    mut is_done: impl FnMut(&[FleetEvent]) -> bool,
) -> Vec<FleetEvent> {
    let (mut events, end) = (Vec::new(), Instant::now() + PATIENCE);
    while !is_done(&events) {
        assert!(Instant::now() < end, "it does not happen: {events:?}");
        for agent in &mut *agents {
            agent.wait(Duration::ZERO).expect("it runs");
        }
        events.extend(viewer.wait(Duration::from_millis(2)).expect("it runs"));
    }
    events
}

/// Turns everything for so long.
pub fn turn_for(agents: &mut [&mut Agent<CountingSource>], viewer: &mut Viewer, time: Duration) -> Vec<FleetEvent> {
    let end = Instant::now() + time;
    turn(agents, viewer, |_| Instant::now() >= end)
}

pub fn envelopes_of(events: &[FleetEvent], of: HostId) -> usize {
    events.iter().filter(|event| matches!(event, FleetEvent::Envelope { host, .. } if *host == of)).count()
}

pub fn has_envelope(events: &[FleetEvent]) -> bool {
    events.iter().any(|event| matches!(event, FleetEvent::Envelope { .. }))
}

pub fn connected(events: &[FleetEvent]) -> Vec<(HostId, String)> {
    let named = |event: &FleetEvent| match event {
        FleetEvent::Connected { host, name, .. } => Some((*host, name.to_string())),
        _ => None,
    };
    events.iter().filter_map(named).collect()
}

pub fn unconfirmed(events: &[FleetEvent]) -> Option<(HostId, bool)> {
    events.iter().find_map(|event| match event {
        FleetEvent::Unconfirmed { host, is_changed, .. } => Some((*host, *is_changed)),
        _ => None,
    })
}

pub fn lost(events: &[FleetEvent]) -> Option<&str> {
    events.iter().find_map(|event| match event {
        FleetEvent::Lost { reason, .. } => Some(reason.as_str()),
        _ => None,
    })
}
