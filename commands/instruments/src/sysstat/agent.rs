//! The agent of this host: silent until a viewer of a fleet whose public line it carries asks; then one sampler serves all viewers, each with
//! frames of its own. It runs by itself (`-d`), or beside a screen for as long as that is open.

use super::hosts::{FleetPlaces, make_directory};
use super::keep::PROCESSES;
use super::local::{LocalHost, standing_facts};
use ::fleet::HostName;
use ::fleet::agent::{Agent, AgentEvent, AgentOptions, SampleRequest, SampleSource};
use ::fleet::keys::{FeedRole, HostState};
use machine::Host;
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::instrument::failure;
use observe::host::envelope::{EnvelopeKind, Sealer};
use observe::host::frame::SnapshotEncoder;
use observe::host::snapshot::Snapshot;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use sys::signals::{ENDING, SignalQueue};

/// Runs until somebody interrupts.
pub fn run(
    command: &'static str,
    context: &Context,
    places: &FleetPlaces,
    port: u16,
    interfaces: Vec<String>,
) -> Result<(), Failure> {
    make_directory(command, places.agent.parent())?;
    let state = HostState::open(&places.agent).map_err(|error| failure(command, &error))?;
    if state.lines.is_empty() {
        let message = "find a fleet that may look at this host: mh sysstat key --trust LINE adds one".to_owned();
        return Err(Failure::Environment { command, message });
    }
    let mut source = AgentSource::new(command, &context.host);
    // A service that cannot look at its host fails at once, and not when somebody asks.
    source.host()?;
    let options = options(&context.host, state, port, interfaces);
    let mut agent = Agent::start(options, source).map_err(|error| failure(command, &error))?;
    context.messages.note(command, &format!("answers viewers of its fleets on port {}", agent.port()));
    let signals = SignalQueue::open(ENDING).map_err(|error| failure(command, &error))?;
    loop {
        for event in agent.wait(Duration::from_millis(500)).map_err(|error| failure(command, &error))? {
            told(&event).into_iter().for_each(|text| context.messages.note(command, &text));
        }
        if !signals.take().map_err(|error| failure(command, &error))?.is_empty() {
            return Ok(());
        }
    }
}

fn options(host: &Host, state: HostState, port: u16, interfaces: Vec<String>) -> AgentOptions {
    let facts = standing_facts();
    AgentOptions {
        name: HostName::new(facts.name.as_bytes()),
        program: HostName::new(facts.version.as_bytes()),
        cores: u32::try_from(machine::online_cpus(host).unwrap_or(1)).unwrap_or(u32::MAX),
        boot_id: boot_id(&facts.boot),
        state,
        port,
        interfaces,
        answers_routed: false,
    }
}

/// Answers viewers of this user's fleets beside a screen, until the process ends. Returns what the user should know of it; nothing if this host
/// trusts no fleet, or an agent has the port and answers already.
pub fn answer_beside_screen(
    command: &'static str,
    context: &Context,
    places: &FleetPlaces,
    port: u16,
    interfaces: Vec<String>,
) -> Option<String> {
    // Nobody has been trusted: nothing is created for it.
    let state = places.agent.exists().then(|| HostState::open(&places.agent).ok()).flatten()?;
    let fleets: Vec<String> =
        state.lines_in_force(::fleet::wall_ms() / 1000).iter().map(|line| line.name.as_str().to_owned()).collect();
    if fleets.is_empty() {
        return None;
    }
    let host = context.host.clone();
    let (started, start) = sync_channel(1);
    let answering = std::thread::Builder::new().name("answers".to_owned()).spawn(move || {
        let source = AgentSource::new(command, &host);
        let Ok(mut agent) = Agent::start(options(&host, state, port, interfaces), source) else { return };
        let _the_screen_waits_for_it = started.send(agent.port());
        // It sleeps in the kernel until somebody asks; what it cannot do costs the viewers, not the screen.
        while agent.wait(Duration::from_secs(3600)).is_ok() {}
    });
    answering.ok()?;
    let port = start.recv().ok()?;
    Some(format!("answers viewers of {} on port {port}, as -d does; --no-answer: not", fleets.join(", ")))
}

/// What is said of an event; a service's log has it.
fn told(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::Opened { peer, fleet, role, .. } => format!("viewer {peer} of fleet {fleet} looks, role {role}"),
        AgentEvent::Closed { peer, reason, .. } => format!("viewer {peer} is gone: {reason}"),
        AgentEvent::Rotated { .. } => "a fleet has a new key, signed by the old one".to_owned(),
        AgentEvent::ClockOff { offset_ms } => {
            format!("a viewer's clock is {} s off this one: its query was not answered", offset_ms / 1000)
        }
    })
}

/// The 16 bytes of the kernel's boot id.
fn boot_id(text: &str) -> [u8; 16] {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (pair[0] * 16 + pair[1]) as u8;
    }
    bytes
}

/// Snapshots for viewers.
struct AgentSource {
    command: &'static str,
    wanted: Host,
    /// Opened when it is looked at first: a screen's answers cost nothing before.
    host: Option<LocalHost>,
    sealer: Sealer,
    /// What each viewer has.
    sessions: HashMap<u64, SnapshotEncoder>,
    last: Option<(Instant, Arc<Snapshot>)>,
}

/// A snapshot that is younger than this part of the interval serves another viewer, too.
const SHARED_PART: u32 = 2;

impl AgentSource {
    fn new(command: &'static str, host: &Host) -> Self {
        let (wanted, sealer) = (host.clone(), Sealer::default());
        Self { command, wanted, host: None, sealer, sessions: HashMap::new(), last: None }
    }

    fn host(&mut self) -> Result<&mut LocalHost, Failure> {
        match &mut self.host {
            Some(host) => Ok(host),
            host => Ok(host.insert(LocalHost::open(self.command, &self.wanted, Duration::from_secs(1))?)),
        }
    }
}

impl SampleSource for AgentSource {
    fn next(&mut self, request: &SampleRequest) -> io::Result<Arc<[u8]>> {
        let now = Instant::now();
        let is_young = |taken: &Instant| now.saturating_duration_since(*taken) < request.interval / SHARED_PART;
        let snapshot = match &self.last {
            Some((taken, snapshot)) if is_young(taken) => Arc::clone(snapshot),
            _ => {
                let taken = self.host().and_then(|host| host.take_now(request.interval));
                let snapshot = taken.map_err(|failed| io::Error::other(reason(failed)))?;
                let snapshot = Arc::new(snapshot);
                self.last = Some((now, Arc::clone(&snapshot)));
                snapshot
            }
        };
        let mut bytes = Vec::new();
        let wall_ns = snapshot.at.wall_ns;
        if request.is_first {
            self.sessions.remove(&request.session);
            let mut facts = self.host().map_err(|failed| io::Error::other(reason(failed)))?.facts();
            if request.role == FeedRole::Numbers {
                facts.users.clear();
            }
            bytes.extend(self.sealer.seal(EnvelopeKind::Host, wall_ns, &serde_json::to_vec(&facts)?));
        }
        let encoder = self.sessions.entry(request.session).or_default();
        let seen = for_role(&snapshot, request.role);
        let (kind, frame) = encoder.encode(seen, PROCESSES);
        bytes.extend(self.sealer.seal(EnvelopeKind::Frame(kind), wall_ns, &frame));
        Ok(bytes.into())
    }

    fn ended(&mut self, session: u64) {
        self.sessions.remove(&session);
    }
}

/// Why no sample could be taken.
fn reason(failed: Failure) -> String {
    match failed {
        Failure::Environment { message, .. } | Failure::Usage { message, .. } => format!("could not {message}"),
        _ => "no sample could be taken".to_owned(),
    }
}

/// What a role may see: whose processes run, and for how long, is nobody's business but the administrator's.
fn for_role(snapshot: &Snapshot, role: FeedRole) -> Snapshot {
    let mut seen = snapshot.clone();
    if role == FeedRole::Numbers {
        seen.processes.clear();
        seen.rest.ended_names.clear();
        seen.oom_victims.clear();
        for finding in &mut seen.findings {
            (finding.process, finding.thread, finding.group) =
                ("a process".to_owned(), "a process".to_owned(), String::new());
            (finding.pid, finding.tid) = (0, 0);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::ceiling::Limit;
    use observe::host::snapshot::{ProcessLine, ThreadFinding};

    #[test]
    fn numbers_have_no_names_in_them() {
        let finding = ThreadFinding {
            limit: Limit::Ceiling,
            pid: 7,
            tid: 8,
            process: "secret".into(),
            thread: "secret".into(),
            share: 1,
            since_boot_ns: 1,
            group: "/secret".into(),
        };
        let mut snapshot =
            Snapshot { processes: vec![ProcessLine::default()], findings: vec![finding], ..Snapshot::default() };
        snapshot.rest.ended_names = vec!["secret".into()];
        snapshot.oom_victims = vec!["secret/7".into()];
        assert_eq!(for_role(&snapshot, FeedRole::Full), snapshot);
        let numbers = for_role(&snapshot, FeedRole::Numbers);
        assert!(
            !format!("{numbers:?}").contains("secret") && numbers.processes.is_empty() && numbers.findings.len() == 1
        );
    }

    #[test]
    fn a_boot_id_is_its_digits() {
        assert_eq!(boot_id("01020304-0506-0708-090a-0b0c0d0e0fff")[..3], [1, 2, 3]);
        assert_eq!(boot_id("nothing"), [0; 16]);
    }
}
