//! One viewer: its handshake, its credit, and the sample on its way. Without credit, and while the last sample has not
//! left, none is taken: a viewer that hangs costs nothing.

use super::{AgentCore, SampleRequest, SampleSource};
use crate::keys::{FeedRole, HostTicket, PublicLine, Rotation};
use crate::network::Ready;
use crate::session::{AgentFacts, Channel, Credit, FrameSocket, Message, SessionEnd};
use crate::session::{MESSAGE_1_MAX, PIECE_BYTES, VERSION, answer_handshake, seen_before_key};
use crate::wall_ms;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A handshake takes no longer.
const HANDSHAKE: Duration = Duration::from_secs(2);

/// LIMIT: of what a viewer may ask.
const INTERVAL_MS_MIN: u32 = 100;
const INTERVAL_MS_MAX: u32 = 3_600_000;
const CREDIT_MAX: u32 = 3600;

/// Where a session is.
#[derive(Debug)]
enum Stage {
    /// The first message has not come yet.
    Handshake {
        until: Instant,
    },
    Open(Box<OpenSession>),
}

/// After the handshake.
#[derive(Debug)]
struct OpenSession {
    channel: Channel,
    line: PublicLine,
    credit: Credit,
    next: Instant,
    is_first: bool,
    /// A sample, and how much of it was sealed.
    sending: Option<(Arc<[u8]>, usize)>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct AgentSession {
    pub peer: SocketAddr,
    pub watches_writes: bool,
    socket: FrameSocket,
    stage: Stage,
}

impl AgentSession {
    pub fn accepted(stream: TcpStream, peer: SocketAddr, now: Instant) -> Result<Self, SessionEnd> {
        stream.set_nonblocking(true)?;
        let socket = FrameSocket::new(stream, MESSAGE_1_MAX)?;
        Ok(Self { peer, watches_writes: false, socket, stage: Stage::Handshake { until: now + HANDSHAKE } })
    }

    /// The fleet of the viewer, once it is known.
    pub fn line(&self) -> Option<&PublicLine> {
        match &self.stage {
            Stage::Open(open) => Some(&open.line),
            Stage::Handshake { .. } => None,
        }
    }

    /// When the handshake must be done, or the next sample is due.
    pub fn due(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Handshake { until } => Some(*until),
            Stage::Open(open) => {
                let may_sample = open.credit.samples > 0 && open.sending.is_none() && self.socket.is_drained();
                may_sample.then_some(open.next)
            }
        }
    }

    /// Whether something is on its way.
    pub fn wants_writes(&self) -> bool {
        let is_sending = matches!(&self.stage, Stage::Open(open) if open.sending.is_some());
        is_sending || !self.socket.is_drained()
    }

    /// Does what the socket is ready for. Returns whether a rotation was taken.
    pub fn serve(
        &mut self,
        ready: Ready,
        core: &mut AgentCore,
        scratch: &mut [u8],
        now: Instant,
    ) -> Result<bool, SessionEnd> {
        if ready.readable {
            self.socket.read_some(scratch)?;
        }
        if let Stage::Handshake { .. } = &self.stage {
            let Some(message) = self.socket.next_frame()? else { return Ok(false) };
            self.stage = Stage::Open(Box::new(self.answer(&message, core, now)?));
        }
        let Stage::Open(open) = &mut self.stage else { return Ok(false) };
        if ready.writable {
            self.socket.flush()?;
            open.pump(&mut self.socket)?;
        }
        let mut has_rotated = false;
        while let Some(message) = open.channel.next_message(&mut self.socket)? {
            match Message::read(&message).ok_or(SessionEnd::Damaged)? {
                Message::Credit(credit) => open.take_credit(credit, now),
                Message::Rotate(rotation) => has_rotated |= take_rotation(core, *rotation),
                Message::Ticket(ticket) => {
                    // One that cannot be kept is brought again at the next contact.
                    let _kept = core.options.state.add_ticket(*ticket);
                }
                Message::Data { .. } | Message::Unknown => {}
            }
        }
        Ok(has_rotated)
    }

    /// Opens the session, if the first message is of a viewer that may look, and was not seen before.
    fn answer(&mut self, message: &[u8], core: &mut AgentCore, now: Instant) -> Result<OpenSession, SessionEnd> {
        let key = seen_before_key(message).filter(|key| !core.messages.has(key)).ok_or(SessionEnd::Handshake)?;
        let lines = core.options.state.lines_in_force(wall_ms() / 1000);
        let authorise = |key: &[u8; 32]| lines.into_iter().find(|line| line.public.exchange == *key);
        let answered = answer_handshake(&core.options.state.pair, message, authorise, |line| facts(core, line));
        let answered = answered.filter(|answered| answered.opening.versions.0 <= VERSION);
        let answered = answered.ok_or(SessionEnd::Handshake)?;
        core.messages.note(key);
        core.known.note(self.peer.ip().to_canonical());
        self.socket.queue(&answered.message);
        self.socket.flush()?;
        Ok(OpenSession {
            channel: Channel::new(&mut self.socket, answered.transport),
            line: answered.viewer,
            credit: Credit { samples: 0, interval_ms: INTERVAL_MS_MAX, role: FeedRole::Numbers },
            next: now,
            is_first: true,
            sending: None,
        })
    }

    /// Takes the sample that is due, or ends a handshake that takes too long.
    pub fn feed(&mut self, session: u64, source: &mut impl SampleSource, now: Instant) -> Result<(), SessionEnd> {
        let Stage::Open(open) = &mut self.stage else { return Err(SessionEnd::NoAnswer(HANDSHAKE.as_secs())) };
        let interval = Duration::from_millis(open.credit.interval_ms.into());
        let role = open.credit.role.min(open.line.role);
        let request = SampleRequest { session, is_first: open.is_first, role, interval };
        let sample = source.next(&request).map_err(|error| SessionEnd::Source(error.to_string()))?;
        open.is_first = false;
        open.credit.samples -= 1;
        // What was missed is not made up for.
        open.next = (open.next + interval).max(now + interval / 2);
        open.sending = Some((sample, 0));
        open.pump(&mut self.socket)
    }
}

impl OpenSession {
    /// Samples and their pace; a new pace counts from now on.
    fn take_credit(&mut self, credit: Credit, now: Instant) {
        let interval_ms = credit.interval_ms.clamp(INTERVAL_MS_MIN, INTERVAL_MS_MAX);
        if interval_ms != self.credit.interval_ms {
            self.next = now;
        }
        let samples = self.credit.samples.saturating_add(credit.samples).min(CREDIT_MAX);
        self.credit = Credit { samples, interval_ms, role: credit.role };
        self.next = self.next.max(now);
    }

    /// Seals the next piece once the last has left, so that a session never holds more than one beside the sample
    /// itself.
    fn pump(&mut self, socket: &mut FrameSocket) -> Result<(), SessionEnd> {
        while let Some((sample, at)) = self.sending.take_if(|_| socket.is_drained()) {
            let end = sample.len().min(at + PIECE_BYTES);
            let is_last = end == sample.len();
            self.channel.send(socket, &Message::Data { bytes: &sample[at..end], is_last })?;
            if !is_last {
                self.sending = Some((sample, end));
            }
        }
        Ok(())
    }
}

impl AsFd for AgentSession {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn facts(core: &AgentCore, line: &PublicLine) -> AgentFacts {
    let options = &core.options;
    let ticket = options.state.tickets.iter().find(|ticket: &&HostTicket| ticket.is_of(&line.public));
    AgentFacts {
        name: options.name.clone(),
        boot_id: options.boot_id,
        cores: options.cores,
        wall_ms: wall_ms(),
        versions: (VERSION, VERSION),
        program: options.program.clone(),
        ticket: ticket.cloned(),
    }
}

/// A rotation that cannot be kept is brought again at the next contact.
fn take_rotation(core: &mut AgentCore, rotation: Rotation) -> bool {
    core.options.state.add_rotation(rotation, wall_ms() / 1000).unwrap_or(false)
}
