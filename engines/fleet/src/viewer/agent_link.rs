//! A connection to one agent: connecting, handshake, samples against credit. Knows nothing of trust: its owner gives
//! credit or does not.

use crate::envelope::EnvelopeSplitter;
use crate::keys::{FeedRole, FleetPair, HostPublic, HostTicket, Rotation};
use crate::network::Ready;
use crate::session::{
    AgentFacts, Channel, Credit, FrameSocket, MESSAGE_2_MAX, Message, Opening, PendingHandshake, SessionEnd, VERSION,
};
use crate::wall_ms;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Connecting and handshake together.
pub(super) const REACH: Duration = Duration::from_secs(4);

/// Samples that an agent may send before it hears of us again: a viewer that hangs costs no more.
const CREDIT: u32 = 60;

#[derive(Debug)]
enum LinkStage {
    Connecting {
        handshake: PendingHandshake,
        message: Vec<u8>,
    },
    Handshake(PendingHandshake),
    Open(Channel),
    /// Between two of the others, and after an error.
    Void,
}

/// What a viewer wants of every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FeedDemand {
    pub interval: Duration,
    pub role: FeedRole,
}

/// One connection.
#[derive(Debug)]
pub(super) struct AgentLink {
    socket: FrameSocket,
    stage: LinkStage,
    splitter: EnvelopeSplitter,
    credit: u32,
    is_believed: bool,
}

impl AgentLink {
    /// Begins to connect.
    pub fn connect(address: &SocketAddr, host: &HostPublic, fleet: &FleetPair) -> Result<Self, SessionEnd> {
        let opening = Opening { versions: (VERSION, VERSION), wall_ms: wall_ms() };
        let (handshake, message) = PendingHandshake::begin(fleet, host, opening).ok_or(SessionEnd::Handshake)?;
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        match connect(&socket, address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(cause) => return Err(cause.into()),
        }
        let socket = FrameSocket::new(TcpStream::from(socket), MESSAGE_2_MAX)?;
        let stage = LinkStage::Connecting { handshake, message };
        Ok(Self { socket, stage, splitter: EnvelopeSplitter::new(0), credit: 0, is_believed: false })
    }

    pub fn buffered(&self) -> usize {
        self.socket.buffered() + self.splitter.buffered()
    }

    pub fn wants_writes(&self) -> bool {
        matches!(self.stage, LinkStage::Connecting { .. }) || !self.socket.is_drained()
    }

    /// Does what the socket is ready for. Returns what the agent said of itself, once.
    pub fn serve(
        &mut self,
        ready: Ready,
        scratch: &mut [u8],
        demand: FeedDemand,
        mut each: impl FnMut(Vec<u8>),
    ) -> Result<Option<Box<AgentFacts>>, SessionEnd> {
        if let LinkStage::Connecting { .. } = self.stage {
            return self.begin_handshake().map(|()| None);
        }
        if ready.writable {
            self.socket.flush()?;
        }
        if ready.readable {
            self.socket.read_some(scratch)?;
        }
        let mut facts = None;
        if let LinkStage::Handshake(_) = self.stage {
            let Some(message) = self.socket.next_frame()? else { return Ok(None) };
            facts = Some(self.finish_handshake(&message)?);
        }
        self.take_messages(&mut each)?;
        self.renew_credit(demand)?;
        Ok(facts)
    }

    fn begin_handshake(&mut self) -> Result<(), SessionEnd> {
        sockopt::socket_error(&self.socket)??;
        if let LinkStage::Connecting { handshake, message } = std::mem::replace(&mut self.stage, LinkStage::Void) {
            self.stage = LinkStage::Handshake(handshake);
            self.socket.queue(&message);
        }
        self.socket.flush()
    }

    fn finish_handshake(&mut self, message: &[u8]) -> Result<Box<AgentFacts>, SessionEnd> {
        let LinkStage::Handshake(handshake) = std::mem::replace(&mut self.stage, LinkStage::Void) else {
            return Err(SessionEnd::Handshake);
        };
        let (transport, facts) = handshake.finish(message).ok_or(SessionEnd::Handshake)?;
        self.stage = LinkStage::Open(Channel::new(&mut self.socket, transport));
        Ok(Box::new(facts))
    }

    fn take_messages(&mut self, each: &mut impl FnMut(Vec<u8>)) -> Result<(), SessionEnd> {
        let LinkStage::Open(channel) = &mut self.stage else { return Ok(()) };
        while let Some(message) = channel.next_message(&mut self.socket)? {
            let Message::Data { bytes, is_last } = Message::read(&message).ok_or(SessionEnd::Damaged)? else {
                continue;
            };
            if self.credit == 0 {
                return Err(SessionEnd::Unasked);
            }
            self.splitter.push(bytes, &mut *each)?;
            self.credit -= u32::from(is_last);
        }
        Ok(())
    }

    fn renew_credit(&mut self, demand: FeedDemand) -> Result<(), SessionEnd> {
        let is_low = self.is_believed && self.credit <= CREDIT / 2;
        if is_low { self.grant(CREDIT - self.credit, demand) } else { Ok(()) }
    }

    /// The host is believed: samples may come.
    pub fn begin(&mut self, demand: FeedDemand) -> Result<(), SessionEnd> {
        self.is_believed = true;
        self.grant(CREDIT.saturating_sub(self.credit), demand)
    }

    /// Gives more credit, or none and another pace.
    pub fn grant(&mut self, samples: u32, demand: FeedDemand) -> Result<(), SessionEnd> {
        let interval_ms = u32::try_from(demand.interval.as_millis()).unwrap_or(u32::MAX);
        self.credit += samples;
        self.send(&Message::Credit(Credit { samples, interval_ms, role: demand.role }))
    }

    pub fn rotate(&mut self, rotations: Vec<Rotation>) -> Result<(), SessionEnd> {
        rotations.into_iter().try_for_each(|rotation| self.send(&Message::Rotate(Box::new(rotation))))
    }

    pub fn give_ticket(&mut self, ticket: HostTicket) -> Result<(), SessionEnd> {
        self.send(&Message::Ticket(Box::new(ticket)))
    }

    fn send(&mut self, message: &Message<'_>) -> Result<(), SessionEnd> {
        match &mut self.stage {
            LinkStage::Open(channel) => channel.send(&mut self.socket, message),
            _ => Ok(()),
        }
    }
}

impl AsFd for AgentLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
