//! Many hosts: a row each, worst first. `fleet` (the engine) brings what arrives; here each host becomes a session like any other, so
//! Enter shows it with the same screen.

pub mod columns;
mod compare;
pub mod fold;
#[cfg(test)]
pub mod made_up;
pub mod rows;
mod screen;

use super::screen::SharedHost;
use super::session::HostSession;
use super::usual::Usual;
use ::fleet::viewer::{FleetEvent, HostId, Viewer};
use columns::FleetFigures;
use mh_kit::failure::Failure;
use mh_kit::instrument::failure;
use observe::host::recording::HostFacts;
use observe::host::verdict::{HostTrouble, verdicts};
use parking_lot::Mutex;
use rows::RowState;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::signals::{ENDING, SignalQueue};
use terminal::full_screen::Bell;

pub use rows::as_text;
#[cfg(test)]
pub use screen::screen_of;
pub use screen::show;

/// All hosts, as they are known.
pub struct SharedFleet {
    hosts: Mutex<BTreeMap<HostId, FleetRow>>,
    /// Hosts whose key the user has accepted, for the viewer to hear of.
    accepted: Mutex<Vec<HostId>>,
    interval: Duration,
    bell: Bell,
}

/// One host.
#[derive(Clone)]
pub struct FleetRow {
    /// As it was asked for, or as it calls itself. Text from outside: escaped wherever it is shown.
    pub name: String,
    /// How it stands.
    pub state: RowState,
    /// What is wrong with it, and how busy its CPUs are: made when a sample comes, not when rows are ordered.
    pub judged: JudgedHost,
    /// What its last minutes were like.
    usual: Arc<Mutex<Usual>>,
    /// What is known of it.
    pub host: Arc<SharedHost>,
}

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JudgedHost {
    /// The worst that is wrong.
    pub trouble: Option<HostTrouble>,
    /// The figures of its row.
    pub figures: FleetFigures,
}

impl JudgedHost {
    fn of(session: &HostSession, usual: &mut Usual) -> Self {
        let shown = session.latest();
        let interval = shown.interval();
        let trouble = verdicts(&interval).first().map(|verdict| verdict.trouble);
        let mut figures = FleetFigures::of(&interval);
        figures.judge(usual, shown.later.at.boot_ns);
        Self { trouble, figures }
    }
}

impl FleetRow {
    /// Whether samples come.
    pub fn is_up(&self) -> bool {
        matches!(self.state, RowState::Up { .. } | RowState::Late { .. })
    }

    /// Whether its clock is where ours is, as far as that is known.
    pub fn is_clock_right(&self) -> bool {
        self.state.clock_offset_ms().is_none_or(|offset| offset.abs() < rows::CLOCK_OFF_MS)
    }

    /// Whether its figures are known, or why they are not.
    pub fn is_settled(&self) -> bool {
        match self.state {
            RowState::Up { .. } | RowState::Late { .. } => self.host.session.lock().latest().earlier.is_some(),
            RowState::Lost { .. } | RowState::Unconfirmed { .. } => true,
            RowState::Reaching { .. } | RowState::Connected { .. } => false,
        }
    }
}

/// LIMIT: bytes of the past of all hosts together.
const HISTORY_BYTES: usize = 16 << 20;
/// LIMIT: bytes of the past of one host.
const HOST_HISTORY_BYTES: usize = 3 << 20;
/// How long nothing is looked at that came from outside: signals are.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl SharedFleet {
    /// Nobody is known yet.
    pub fn new(interval: Duration, bell: Bell) -> Arc<Self> {
        Arc::new(Self { hosts: Mutex::default(), accepted: Mutex::default(), interval, bell })
    }

    /// The hosts as they are now, in the order in which they appeared.
    pub fn rows(&self) -> Vec<(HostId, FleetRow)> {
        self.hosts.lock().iter().map(|(id, row)| (*id, row.clone())).collect()
    }

    /// The host is who it says it is: the user has compared the codes.
    pub fn accept(&self, host: HostId) {
        self.accepted.lock().push(host);
    }

    /// Takes what has happened.
    pub fn take(&self, event: FleetEvent) {
        let mut hosts = self.hosts.lock();
        match event {
            FleetEvent::Appeared { host, name, place } => {
                let facts = HostFacts { name: name.as_str().to_owned(), ..HostFacts::default() };
                let session = HostSession::remote(facts);
                let shared = SharedHost::new(session, self.interval, self.bell.clone());
                let state = RowState::Reaching { place };
                let (name, judged) = (name.as_str().to_owned(), JudgedHost::default());
                hosts.insert(host, FleetRow { name, state, judged, usual: Arc::default(), host: shared });
                let each = (HISTORY_BYTES / hosts.len().max(1)).min(HOST_HISTORY_BYTES);
                hosts.values().for_each(|row| row.host.session.lock().set_limit(each));
            }
            FleetEvent::Gone { host } => drop(hosts.remove(&host)),
            FleetEvent::NotKept { .. } => {}
            FleetEvent::Unconfirmed { host, code, is_changed, .. } => {
                set(&mut hosts, host, RowState::Unconfirmed { code, is_changed });
            }
            FleetEvent::Connected { host, clock_offset_ms, .. } => {
                set(&mut hosts, host, RowState::Connected { clock_offset_ms })
            }
            FleetEvent::Late { host, since } => set(&mut hosts, host, RowState::Late { since }),
            FleetEvent::Lost { host, since, reason, .. } => set(&mut hosts, host, RowState::Lost { since, reason }),
            FleetEvent::Envelope { host, bytes } => {
                let Some(row) = hosts.get_mut(&host) else { return };
                let is_understood = {
                    let mut session = row.host.session.lock();
                    let is_understood = session.push_envelope(bytes);
                    row.judged = JudgedHost::of(&session, &mut row.usual.lock());
                    is_understood
                };
                let clock_offset_ms = row.state.clock_offset_ms();
                if is_understood {
                    row.state = RowState::Up { at: Instant::now(), clock_offset_ms };
                    row.host.ring();
                }
            }
        }
    }
}

fn set(hosts: &mut BTreeMap<HostId, FleetRow>, host: HostId, state: RowState) {
    hosts.get_mut(&host).into_iter().for_each(|row| row.state = state.clone());
}

/// Takes what arrives until somebody interrupts; `is_enough` ends it earlier.
pub fn bring(
    command: &'static str,
    viewer: &mut Viewer,
    shared: &SharedFleet,
    mut is_enough: impl FnMut(&SharedFleet) -> bool,
) -> Result<(), Failure> {
    let signals = SignalQueue::open(ENDING).map_err(|error| failure(command, &error))?;
    loop {
        let events = viewer.wait(LOOK_EVERY).map_err(|error| failure(command, &error))?;
        let has_news = !events.is_empty();
        events.into_iter().for_each(|event| shared.take(event));
        std::mem::take(&mut *shared.accepted.lock()).into_iter().for_each(|host| viewer.accept(host));
        if has_news {
            shared.bell.ring();
        }
        if !signals.take().map_err(|error| failure(command, &error))?.is_empty() || is_enough(shared) {
            return Ok(());
        }
    }
}
