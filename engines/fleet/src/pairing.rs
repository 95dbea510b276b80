//! Pairing by a spoken code, where there is no ssh: the viewer shows a code, a person types it at the host, and the host gets the public line
//! and a ticket. SPAKE2 makes a key of the code, and Noise NNpsk0 with that key is confirmation and cover for what is exchanged. Threats:
//! `README.md`. Reading order: PairingCode -> PairingOffer (viewer) -> join (host).

mod code;
mod frames;
#[doc(hidden)]
pub mod payloads;
mod words;

pub use code::PairingCode;

use crate::keys::{FeedRole, FleetPair, HostPublic, HostState, HostTicket, PublicLine};
use crate::wire::{WireReader, put_short};
use crate::{Error, HostName};
use frames::{FRAME_MAX, PairingStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use snow::{Builder, HandshakeState};
use spake2::{Ed25519Group, Identity, Password, Spake2};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Where a viewer listens if nothing else is said: beside the agents' port.
pub const PAIRING_PORT: u16 = crate::agent::DEFAULT_PORT + 1;

const HELLO: &[u8] = b"mhpair1";
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const KEPT: &[u8] = b"kept";
/// LIMIT: how long a conversation may take.
const TALK: Duration = Duration::from_secs(10);
/// LIMIT: how long one who connects has to say what for; meanwhile nobody else is heard.
const GREETING: Duration = Duration::from_secs(3);

/// What came of a code.
#[derive(Debug)]
pub enum PairingEnd {
    /// A host has the line and its ticket.
    Paired {
        /// As it calls itself.
        name: HostName,
        /// Its key.
        host: HostPublic,
    },
    /// A host proved the code and was sent the line; it did not say that it kept it.
    Unsure {
        /// As it calls itself.
        name: HostName,
        /// Its key.
        host: HostPublic,
    },
    /// A host proved the code, and its name stands for another key: it was sent nothing.
    OtherKey {
        /// As it calls itself.
        name: HostName,
        /// Its key.
        host: HostPublic,
    },
    /// Somebody had another code, or stood between: the code is used up.
    Wrong {
        /// From which address.
        peer: String,
    },
    /// Nobody came in time.
    Expired,
}

/// A code that is good for one try.
pub struct PairingOffer {
    listener: TcpListener,
    code: PairingCode,
}

impl PairingOffer {
    /// Listens on all addresses.
    pub fn open(port: u16, code: PairingCode) -> Result<Self, Error> {
        let failed = |cause: io::Error| Error::system("listen for a host at port", port.to_string(), cause);
        let listener =
            TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port))).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, code })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.listener.local_addr().map_or(0, |address| address.port())
    }

    /// Waits for a host for so long. Who connects and does not speak of pairing, or is gone again, is no try; whoever has got an answer is one.
    /// A host whose name is `taken` for another key gets nothing.
    pub fn wait(
        self,
        fleet: &FleetPair,
        line: &PublicLine,
        within: Duration,
        now_s: u64,
        taken: &dyn Fn(&HostName, &HostPublic) -> bool,
    ) -> Result<PairingEnd, Error> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(PairingEnd::Expired);
            }
            let stream = match self.accept(left) {
                Ok(Some(stream)) => stream,
                Ok(None) => continue,
                Err(cause) => return Err(Error::system("wait for a host at port", self.port().to_string(), cause)),
            };
            let deadline = (Instant::now() + GREETING).min(until);
            let Ok((stream, theirs)) = greeted(stream, deadline) else { continue };
            let peer = stream.peer();
            let enrolment = |host: HostPublic, name: &HostName| {
                (!taken(name, &host)).then(|| (line, HostTicket::sign(fleet, host, name.clone(), now_s)))
            };
            let end = self.talk(stream, &theirs, &enrolment);
            return Ok(end.unwrap_or(PairingEnd::Wrong { peer }));
        }
    }

    fn accept(&self, left: Duration) -> io::Result<Option<TcpStream>> {
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        // One who is gone again is nobody.
        Ok(self.listener.accept().ok().map(|(stream, _)| stream))
    }

    fn talk(&self, mut stream: PairingStream, theirs: &[u8], enrolment: &Enrolment<'_>) -> io::Result<PairingEnd> {
        let (exchange, ours) =
            Spake2::<Ed25519Group>::start_b(&Password::new(self.code.bytes()), &host_id(), &viewer_id());
        stream.send(&ours)?;
        let key = exchange.finish(theirs).ok().ok_or_else(wrong)?;
        let mut noise = noise(&key, theirs, &ours, false).ok_or_else(wrong)?;
        // Reading it proves that the host has the same key: nothing has been sent until then that depends on the code.
        let told = open(&mut noise, &stream.receive()?)?;
        let (name, host) = host_of(&told).ok_or_else(wrong)?;
        let Some((line, ticket)) = enrolment(host, &name) else { return Ok(PairingEnd::OtherKey { name, host }) };
        stream.send(&seal(&mut noise, &bytes_of_enrolment(line, &ticket))?)?;
        let mut transport = noise.into_transport_mode().map_err(io::Error::other)?;
        // From here on it may know the fleet.
        let mut kept = vec![0; FRAME_MAX];
        let read = stream.receive().ok().and_then(|frame| transport.read_message(&frame, &mut kept).ok());
        match read.is_some_and(|read| &kept[..read] == KEPT) {
            true => Ok(PairingEnd::Paired { name, host }),
            false => Ok(PairingEnd::Unsure { name, host }),
        }
    }
}

/// The line and the ticket for a host; none for one whose name stands for another key.
type Enrolment<'a> = dyn Fn(HostPublic, &HostName) -> Option<(&'a PublicLine, HostTicket)> + 'a;

/// Reads a host's first frame.
fn greeted(stream: TcpStream, deadline: Instant) -> io::Result<(PairingStream, Vec<u8>)> {
    let mut greeting = PairingStream::new(stream.try_clone()?, deadline)?;
    let first = greeting.receive()?;
    let theirs = first.strip_prefix(HELLO).ok_or_else(wrong)?.to_vec();
    // One who has given up meanwhile is no try.
    let mut gone = [PollFd::new(&stream, PollFlags::RDHUP)];
    let has_gone = poll(&mut gone, Some(&Timespec::default())).is_ok_and(|count| count > 0);
    if has_gone {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((PairingStream::new(stream, Instant::now() + TALK)?, theirs))
}

/// The host's side: learns from the viewer at one of `addresses` whose fleet it is, and keeps the line and the ticket.
pub fn join(
    addresses: &[SocketAddr],
    shown: &str,
    code: &PairingCode,
    name: &HostName,
    state: &mut HostState,
    most: FeedRole,
) -> Result<PublicLine, Error> {
    let failed = |cause: io::Error| match cause.kind() {
        io::ErrorKind::ConnectionRefused => Error::refused(
            "pair with",
            shown,
            "nobody offers a code there: it was used or has expired, or the port is another one",
        ),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::InvalidData => Error::refused(
            "pair with",
            shown,
            "the code is not that of the viewer, or somebody stands between: nothing was kept",
        ),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Error::refused("pair with", shown, "the viewer did not answer in time: it may be talking to somebody else")
        }
        _ => Error::system("pair with", shown, cause),
    };
    let stream = connect(addresses).map_err(failed)?;
    let mut stream = PairingStream::new(stream, Instant::now() + TALK).map_err(failed)?;
    let (line, ticket, mut transport) = ask(&mut stream, code, name, state.pair.public()).map_err(failed)?;
    let line = PublicLine { role: state.role_allowed(&line, most), ..line };
    state.add_line(line.clone())?;
    state.add_ticket(ticket)?;
    let mut frame = vec![0; FRAME_MAX];
    let written = transport.write_message(KEPT, &mut frame).map_err(|error| failed(io::Error::other(error)))?;
    let unheard = |_gone: io::Error| {
        Error::refused("pair with", shown, "the viewer was gone before it heard of it; the fleet's line is kept here")
    };
    stream.send(&frame[..written]).map_err(unheard)?;
    Ok(line)
}

fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::ErrorKind::AddrNotAvailable.into();
    for address in addresses {
        match TcpStream::connect_timeout(address, GREETING) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

type Enrolled = (PublicLine, HostTicket, snow::TransportState);

fn ask(stream: &mut PairingStream, code: &PairingCode, name: &HostName, host: HostPublic) -> io::Result<Enrolled> {
    let (exchange, ours) = Spake2::<Ed25519Group>::start_a(&Password::new(code.bytes()), &host_id(), &viewer_id());
    stream.send(&[HELLO, &ours].concat())?;
    let theirs = stream.receive()?;
    let key = exchange.finish(&theirs).ok().ok_or_else(wrong)?;
    let mut noise = noise(&key, &ours, &theirs, true).ok_or_else(wrong)?;
    stream.send(&seal(&mut noise, &bytes_of_host(name, host))?)?;
    let answer = open(&mut noise, &stream.receive()?)?;
    let (line, ticket) = enrolment_of(&answer).ok_or_else(wrong)?;
    Ok((line, ticket, noise.into_transport_mode().map_err(io::Error::other)?))
}

fn host_id() -> Identity {
    Identity::new(b"manyhands host")
}

fn viewer_id() -> Identity {
    Identity::new(b"manyhands viewer")
}

/// The handshake under a key of both; it is bound to what was sent before.
fn noise(key: &[u8], of_host: &[u8], of_viewer: &[u8], is_host: bool) -> Option<HandshakeState> {
    let prologue = [b"manyhands pairing 1\0", of_host, of_viewer].concat();
    let key: &[u8; 32] = key.try_into().ok()?;
    let builder = Builder::new(PATTERN.parse().ok()?).psk(0, key).ok()?.prologue(&prologue).ok()?;
    if is_host { builder.build_initiator().ok() } else { builder.build_responder().ok() }
}

fn seal(noise: &mut HandshakeState, payload: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; FRAME_MAX];
    let written = noise.write_message(payload, &mut frame).map_err(io::Error::other)?;
    frame.truncate(written);
    Ok(frame)
}

fn open(noise: &mut HandshakeState, frame: &[u8]) -> io::Result<Vec<u8>> {
    let mut payload = vec![0; FRAME_MAX];
    let read = noise.read_message(frame, &mut payload).ok().ok_or_else(wrong)?;
    payload.truncate(read);
    Ok(payload)
}

/// Bytes that the right peer does not send.
fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

fn bytes_of_host(name: &HostName, host: HostPublic) -> Vec<u8> {
    let mut bytes = host.0.to_vec();
    put_short(&mut bytes, name.as_str().as_bytes());
    bytes
}

fn host_of(bytes: &[u8]) -> Option<(HostName, HostPublic)> {
    let mut reader = WireReader::new(bytes);
    let host = HostPublic(reader.array()?);
    Some((HostName::new(reader.short()?), host))
}

fn bytes_of_enrolment(line: &PublicLine, ticket: &HostTicket) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_short(&mut bytes, line.to_string().as_bytes());
    put_short(&mut bytes, &ticket.to_bytes());
    bytes
}

fn enrolment_of(bytes: &[u8]) -> Option<(PublicLine, HostTicket)> {
    let mut reader = WireReader::new(bytes);
    let line = PublicLine::read(std::str::from_utf8(reader.short()?).ok()?).ok()?;
    let ticket = HostTicket::from_bytes(reader.short()?)?;
    Some((line, ticket))
}

#[cfg(test)]
mod tests;
