//! The way to a server: a socket, with or without TLS, that waits never, until a deadline or as long as it takes.
//! One call reads or writes once. Knows no protocol above TLS.

use crate::error::WireError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    shutdown, socket_with,
};
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a read or a write may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitLimit {
    /// Not at all.
    Never,
    /// Until then.
    Until(Instant),
    /// As long as it takes.
    Forever,
}

/// What a read or a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketMoved {
    /// So many bytes; none read means that the server has closed its side.
    Bytes(usize),
    /// Nothing without waiting.
    WouldBlock,
}

/// A socket, with TLS once it has begun.
#[derive(Debug)]
pub(crate) struct Socket {
    plain: PlainSocket,
    tls: Option<Box<ClientConnection>>,
}

impl Socket {
    pub fn new(plain: PlainSocket) -> Self {
        Self { plain, tls: None }
    }

    /// One that is connected already.
    pub fn connected(descriptor: OwnedFd, deadline: Instant) -> Self {
        Self::new(PlainSocket { descriptor, wait_limit: WaitLimit::Until(deadline) })
    }

    /// The handshake, to its end.
    pub fn start_tls(&mut self, mut tls: ClientConnection) -> Result<(), WireError> {
        while tls.is_handshaking() {
            tls.complete_io(&mut &self.plain).map_err(tls_error)?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The server's certificate as it came.
    pub fn server_certificate(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.peer_certificates()?.first().map(|certificate| &**certificate)
    }

    pub fn wait_limit(&self) -> WaitLimit {
        self.plain.wait_limit
    }

    pub fn set_wait_limit(&mut self, limit: WaitLimit) {
        self.plain.wait_limit = limit;
    }

    pub fn read(&mut self, bytes: &mut [u8]) -> Result<SocketMoved, WireError> {
        let Some(tls) = &mut self.tls else { return self.plain.read(bytes) };
        loop {
            match tls.reader().read(bytes) {
                Ok(count) => return Ok(SocketMoved::Bytes(count)),
                // The connection was cut: to the caller, the server has gone.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(SocketMoved::Bytes(0)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(WireError::Io(error)),
            }
            match tls.read_tls(&mut &self.plain) {
                Ok(_) => tls.process_new_packets().map(drop).map_err(|error| WireError::Tls(error.to_string()))?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(SocketMoved::WouldBlock),
                Err(error) => return Err(tls_error(error)),
            }
        }
    }

    /// What is taken may still wait to be written; `flush` says so.
    pub fn write(&mut self, bytes: &[u8]) -> Result<SocketMoved, WireError> {
        if !self.flush()? {
            return Ok(SocketMoved::WouldBlock);
        }
        let Some(tls) = &mut self.tls else { return self.plain.write(bytes) };
        let count = tls.writer().write(bytes)?;
        self.flush()?;
        Ok(SocketMoved::Bytes(count))
    }

    /// Waits until it can be read or written.
    pub fn wait(&self, limit: WaitLimit) -> Result<(), WireError> {
        self.plain.wait(PollFlags::IN | PollFlags::OUT, limit)
    }

    /// Ends the connection for both sides; what was not sent is not.
    pub fn shut_down(&self) {
        let _gone_already = shutdown(&self.plain.descriptor, Shutdown::Both);
    }

    /// Writes what TLS has taken; false if some of it is left.
    pub fn flush(&mut self) -> Result<bool, WireError> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        while tls.wants_write() {
            match tls.write_tls(&mut &self.plain) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(tls_error(error)),
            }
        }
        Ok(true)
    }
}

/// Out of the errors of TLS and of the socket below it.
fn tls_error(error: io::Error) -> WireError {
    match error.kind() {
        io::ErrorKind::TimedOut => WireError::TimedOut,
        io::ErrorKind::UnexpectedEof => WireError::Closed,
        io::ErrorKind::InvalidData => WireError::Tls(error.to_string()),
        _ => WireError::Io(error),
    }
}

#[derive(Debug)]
pub(crate) struct PlainSocket {
    descriptor: OwnedFd,
    wait_limit: WaitLimit,
}

impl PlainSocket {
    /// Connects to the first address of `host` that answers before the deadline.
    pub fn tcp(host: &str, port: u16, deadline: Instant) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => {
                    let descriptor = OwnedFd::from(stream);
                    set_tcp_nodelay(&descriptor, true)?;
                    set_socket_keepalive(&descriptor, true)?;
                    return Ok(Self { descriptor, wait_limit: WaitLimit::Until(deadline) });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to a socket in the file system; `@name` is one without a file.
    pub fn unix(path: &Path, deadline: Instant) -> io::Result<Self> {
        let address = match path.to_str().and_then(|path| path.strip_prefix('@')) {
            Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
            None => SocketAddrUnix::new(path)?,
        };
        let descriptor = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // A server that accepts nothing lets its clients wait in connect(2), whose limit is the one for sending.
        set_socket_timeout(&descriptor, Timeout::Send, Some(left(deadline)?))?;
        connect(&descriptor, &address)?;
        set_socket_timeout(&descriptor, Timeout::Send, None)?;
        Ok(Self { descriptor, wait_limit: WaitLimit::Until(deadline) })
    }

    pub fn read(&self, bytes: &mut [u8]) -> Result<SocketMoved, WireError> {
        self.check_deadline()?;
        loop {
            let flags = if self.wait_limit == WaitLimit::Forever { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
            match recv(&self.descriptor, &mut *bytes, flags) {
                Ok((count, _)) => return Ok(SocketMoved::Bytes(count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => match self.wait_limit {
                    WaitLimit::Never => return Ok(SocketMoved::WouldBlock),
                    WaitLimit::Until(_) => self.wait(PollFlags::IN, self.wait_limit)?,
                    WaitLimit::Forever => {}
                },
                // A server that is killed resets the connection: to the caller, it has gone as well. EPIPE: it had closed its side before.
                Err(Errno::CONNRESET | Errno::PIPE) => return Ok(SocketMoved::Bytes(0)),
                Err(error) => return Err(WireError::Io(error.into())),
            }
        }
    }

    pub fn write(&self, bytes: &[u8]) -> Result<SocketMoved, WireError> {
        loop {
            let waits = if self.wait_limit == WaitLimit::Forever { SendFlags::empty() } else { SendFlags::DONTWAIT };
            match send(&self.descriptor, bytes, waits | SendFlags::NOSIGNAL) {
                Ok(count) => return Ok(SocketMoved::Bytes(count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => match self.wait_limit {
                    WaitLimit::Never => return Ok(SocketMoved::WouldBlock),
                    WaitLimit::Until(_) => self.wait(PollFlags::OUT, self.wait_limit)?,
                    WaitLimit::Forever => {}
                },
                Err(Errno::CONNRESET | Errno::PIPE) => return Err(WireError::Closed),
                Err(error) => return Err(WireError::Io(error.into())),
            }
        }
    }

    /// A server that always has something more to say must not hold a login up.
    fn check_deadline(&self) -> Result<(), WireError> {
        match self.wait_limit {
            WaitLimit::Until(deadline) => left(deadline).map(drop).ok().ok_or(WireError::TimedOut),
            WaitLimit::Never | WaitLimit::Forever => Ok(()),
        }
    }

    fn wait(&self, events: PollFlags, limit: WaitLimit) -> Result<(), WireError> {
        let left = match limit {
            WaitLimit::Until(deadline) => Some(left(deadline).ok().ok_or(WireError::TimedOut)?),
            WaitLimit::Never => Some(Duration::ZERO),
            WaitLimit::Forever => None,
        };
        let seconds = |left: Duration| left.as_secs().min(1 << 30) as i64;
        let left = left.map(|left| Timespec { tv_sec: seconds(left), tv_nsec: left.subsec_nanos().into() });
        match poll(&mut [PollFd::new(&self.descriptor, events)], left.as_ref()) {
            Ok(0) => Err(WireError::TimedOut),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(WireError::Io(error.into())),
        }
    }
}

/// The time until then; an error once it is over.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.plain.descriptor.as_fd()
    }
}

/// As TLS reads and writes: "would block" and the end of time as errors.
impl Read for &PlainSocket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        moved(PlainSocket::read(self, bytes))
    }
}

impl Write for &PlainSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        moved(PlainSocket::write(self, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn moved(outcome: Result<SocketMoved, WireError>) -> io::Result<usize> {
    match outcome {
        Ok(SocketMoved::Bytes(count)) => Ok(count),
        Ok(SocketMoved::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(WireError::TimedOut) => Err(io::ErrorKind::TimedOut.into()),
        Err(WireError::Closed) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(WireError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    }
}
