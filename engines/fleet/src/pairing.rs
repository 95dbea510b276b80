//! Pairing by a spoken code, where there is no ssh: the viewer shows a code, a person types it at the host, and the host gets the public line
//! and a ticket. SPAKE2 makes a key of the code, and Noise NNpsk0 with that key is confirmation and cover for what is exchanged. Threats:
//! `README.md`. Reading order: PairingCode -> PairingOffer (viewer) -> join (host).

mod code;
mod frames;
mod words;

pub use code::PairingCode;

use crate::keys::{FleetPair, HostPublic, HostState, HostTicket, PublicLine};
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

    /// Waits for a host for so long. Who connects and does not speak of pairing is no try; whoever has got an answer is one.
    pub fn wait(self, fleet: &FleetPair, line: &PublicLine, within: Duration, now_s: u64) -> Result<PairingEnd, Error> {
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
            return Ok(match self.talk(stream, &theirs, fleet, line, now_s) {
                Ok((name, host)) => PairingEnd::Paired { name, host },
                Err(_wrong_or_gone) => PairingEnd::Wrong { peer },
            });
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

    fn talk(
        &self,
        mut stream: PairingStream,
        theirs: &[u8],
        fleet: &FleetPair,
        line: &PublicLine,
        now_s: u64,
    ) -> io::Result<(HostName, HostPublic)> {
        let (exchange, ours) =
            Spake2::<Ed25519Group>::start_b(&Password::new(self.code.bytes()), &host_id(), &viewer_id());
        stream.send(&ours)?;
        let key = exchange.finish(theirs).ok().ok_or_else(wrong)?;
        let mut noise = noise(&key, theirs, &ours, false).ok_or_else(wrong)?;
        // Reading it proves that the host has the same key: nothing has been sent until then that depends on the code.
        let told = open(&mut noise, &stream.receive()?)?;
        let (name, host) = host_of(&told).ok_or_else(wrong)?;
        let ticket = HostTicket::sign(fleet, host, name.clone(), now_s);
        let mut answer = Vec::new();
        put_short(&mut answer, line.to_string().as_bytes());
        put_short(&mut answer, &ticket.to_bytes());
        stream.send(&seal(&mut noise, &answer)?)?;
        let mut transport = noise.into_transport_mode().map_err(io::Error::other)?;
        let mut kept = vec![0; FRAME_MAX];
        let read = transport.read_message(&stream.receive()?, &mut kept).map_err(io::Error::other)?;
        if &kept[..read] == KEPT { Ok((name, host)) } else { Err(wrong()) }
    }
}

/// Reads a host's first frame.
fn greeted(stream: TcpStream, deadline: Instant) -> io::Result<(PairingStream, Vec<u8>)> {
    let mut greeting = PairingStream::new(stream.try_clone()?, deadline)?;
    let first = greeting.receive()?;
    let theirs = first.strip_prefix(HELLO).ok_or_else(wrong)?.to_vec();
    Ok((PairingStream::new(stream, Instant::now() + TALK)?, theirs))
}

/// The host's side: learns from the viewer at one of `addresses` whose fleet it is, and keeps the line and the ticket.
pub fn join(
    addresses: &[SocketAddr],
    shown: &str,
    code: &PairingCode,
    name: &HostName,
    state: &mut HostState,
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
        _ => Error::system("pair with", shown, cause),
    };
    let stream = connect(addresses).map_err(failed)?;
    let mut stream = PairingStream::new(stream, Instant::now() + TALK).map_err(failed)?;
    let (line, ticket, mut transport) = ask(&mut stream, code, name, state.pair.public()).map_err(failed)?;
    state.add_line(line.clone())?;
    state.add_ticket(ticket)?;
    let mut frame = vec![0; FRAME_MAX];
    let written = transport.write_message(KEPT, &mut frame).map_err(|error| failed(io::Error::other(error)))?;
    stream.send(&frame[..written]).map_err(failed)?;
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
    let mut told = host.0.to_vec();
    put_short(&mut told, name.as_str().as_bytes());
    stream.send(&seal(&mut noise, &told)?)?;
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

fn host_of(bytes: &[u8]) -> Option<(HostName, HostPublic)> {
    let mut reader = WireReader::new(bytes);
    let host = HostPublic(reader.array()?);
    Some((HostName::new(reader.short()?), host))
}

fn enrolment_of(bytes: &[u8]) -> Option<(PublicLine, HostTicket)> {
    let mut reader = WireReader::new(bytes);
    let line = PublicLine::read(std::str::from_utf8(reader.short()?).ok()?).ok()?;
    let ticket = HostTicket::from_bytes(reader.short()?)?;
    Some((line, ticket))
}

#[cfg(test)]
mod tests;
