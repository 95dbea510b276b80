//! Queries in, answers out: after a delay by chance, so that a thousand hosts do not answer at once, and only to
//! networks of this host.

use super::{AgentCore, AgentEvent, AgentOptions};
use crate::answer::{FleetAnswer, seal_answer};
use crate::keys::PublicLine;
use crate::network::{NetworkView, QuerySocket, SleepList};
use crate::query::{PACKET_BYTES, QueryCounts, QueryFilter, QueryRefusal};
use crate::{Error, wall_ms};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Answers are delayed by less than this.
const DELAY_MAX_MS: u64 = 200;

/// LIMIT: answers that wait. 20 queries a second and 0.2 s are 4, and 20 at the beginning.
const WAITING_MAX: usize = 64;

/// LIMIT: queries that are looked at in one turn, 0.2 us each: sessions do not wait for a flood.
const QUERIES_MAX: usize = 256;

/// An answer with the time when it leaves.
#[derive(Debug)]
struct WaitingAnswer {
    due: Instant,
    target: SocketAddr,
    packet: [u8; PACKET_BYTES],
}

/// Both families' sockets and what passes through them.
#[derive(Debug)]
pub(super) struct Answers {
    sockets: [Option<QuerySocket>; 2],
    view: NetworkView,
    interfaces: Vec<String>,
    filter: QueryFilter,
    waiting: Vec<WaitingAnswer>,
    has_reported_clock: bool,
}

impl Answers {
    /// Opens the sockets that the kernel has; fails if it has none.
    pub fn open(options: &AgentOptions, port: u16, now: Instant) -> Result<Self, Error> {
        let [v4, v6] = [false, true].map(|is_v6| QuerySocket::open(is_v6, port));
        let sockets = match (v4, v6) {
            (Err(cause), Err(_)) => return Err(Error::system("listen for queries on port", port.to_string(), cause)),
            (v4, v6) => [v4.ok(), v6.ok()],
        };
        let mut answers = Self {
            sockets,
            view: NetworkView::look(&options.interfaces)?,
            interfaces: options.interfaces.clone(),
            filter: QueryFilter::new(now),
            waiting: Vec::new(),
            has_reported_clock: false,
        };
        answers.join();
        Ok(answers)
    }

    pub fn add_to(&self, sleep: &SleepList, v4: u64, v6: u64) -> Result<(), rustix::io::Errno> {
        for (socket, token) in self.sockets.iter().zip([v4, v6]) {
            socket.as_ref().map_or(Ok(()), |socket| sleep.add(socket, token, false))?;
        }
        Ok(())
    }

    pub fn set_lines(&mut self, lines: &[PublicLine]) {
        self.filter.set_lines(lines);
    }

    pub fn counts(&self) -> QueryCounts {
        self.filter.counts()
    }

    /// Interfaces have changed.
    pub fn look_again(&mut self) {
        if let Ok(view) = NetworkView::look(&self.interfaces) {
            self.view = view;
            self.join();
        }
    }

    /// Whether somebody may connect: from everywhere, or from the networks of the interfaces that were named.
    pub fn may_connect(&self, peer: &SocketAddr) -> bool {
        // The socket of both families shows IPv4 addresses as mapped ones.
        let mapped = if let SocketAddr::V6(six) = peer { six.ip().to_ipv4_mapped() } else { None };
        let peer = mapped.map_or(*peer, |four| SocketAddr::new(four.into(), peer.port()));
        self.interfaces.is_empty() || self.view.is_near(&peer)
    }

    fn join(&mut self) {
        for index in self.view.multicast_indexes() {
            for socket in self.sockets.iter().flatten() {
                // An interface without this family, or more than the kernel joins: unicast and the other family remain.
                let _is_found_otherwise = socket.join(index);
            }
        }
    }

    pub fn due(&self) -> Option<Instant> {
        self.waiting.iter().map(|answer| answer.due).min()
    }

    /// Looks at what has arrived by one family.
    pub fn take_queries(&mut self, is_v6: bool, core: &AgentCore, now: Instant) -> Option<AgentEvent> {
        let mut event = None;
        for _ in 0..QUERIES_MAX {
            let socket = self.sockets[usize::from(is_v6)].as_ref()?;
            let Some((packet, source)) = socket.receive() else { break };
            if !core.options.answers_routed && !self.view.is_near(&source) {
                continue;
            }
            match self.filter.check(&packet, wall_ms(), now) {
                Ok((fleet, nonce)) => {
                    let (options, port) = (&core.options, core.port);
                    let answer = FleetAnswer { host: options.state.pair.public(), port, name: options.name.clone() };
                    let sealed = seal_answer(&answer, &fleet, &nonce);
                    if let Some(packet) = sealed.filter(|_| self.waiting.len() < WAITING_MAX) {
                        self.waiting.push(WaitingAnswer { due: now + delay(), target: source, packet });
                    }
                }
                Err(QueryRefusal::Clock(offset_ms)) if !self.has_reported_clock => {
                    self.has_reported_clock = true;
                    event = Some(AgentEvent::ClockOff { offset_ms });
                }
                Err(_) => {}
            }
        }
        event
    }

    pub fn send_due(&mut self, now: Instant) {
        for answer in self.waiting.extract_if(.., |answer| answer.due <= now) {
            if let Some(socket) = &self.sockets[usize::from(answer.target.is_ipv6())] {
                // The viewer asks again.
                let _may_be_lost = socket.send(&answer.packet, &answer.target);
            }
        }
    }
}

fn delay() -> Duration {
    Duration::from_millis(getrandom::u64().unwrap_or_default() % DELAY_MAX_MS)
}
