//! A server whose truth is known: it answers each request after a scripted time. With a thread for each connection, or a pool of threads for all.

mod server;

pub use server::{EchoScheduler, EchoServer, EchoStep, Service};

use crate::session::{Session, SessionLost, SessionReply, SessionRequest, SqlDialect, Target};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use sys::error_text::message;

/// Bytes of a request and of its reply: a number, which comes back.
const FRAME: usize = 8;

/// An echo server's address.
#[derive(Clone, Copy, Debug)]
pub struct Echo(pub SocketAddr);

impl Target for Echo {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Echo
    }

    fn connect(&self, within: Duration) -> Result<Box<dyn Session>, SessionLost> {
        let lost = |error: std::io::Error| SessionLost(format!("could not connect to {}: {}", self.0, message(&error)));
        let stream = TcpStream::connect_timeout(&self.0, within).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        stream.set_nonblocking(true).map_err(lost)?;
        Ok(Box::new(EchoSession { stream, sent: 0, answered: 0, received: 0, frame: [0; FRAME] }))
    }
}

struct EchoSession {
    stream: TcpStream,
    /// Requests so far, and replies.
    sent: u64,
    answered: u64,
    received: usize,
    frame: [u8; FRAME],
}

impl Session for EchoSession {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }

    fn begin(&mut self, _request: &SessionRequest<'_>) -> Result<(), SessionLost> {
        self.sent += 1;
        // Eight bytes for each of the few requests under way always have room.
        self.stream.write_all(&self.sent.to_le_bytes()).map_err(|error| SessionLost(message(&error)))
    }

    fn append(&mut self, request: &SessionRequest<'_>) -> Result<(), SessionLost> {
        self.begin(request)
    }

    fn reply(&mut self) -> Result<Option<SessionReply>, SessionLost> {
        match self.stream.read(&mut self.frame[self.received..]) {
            Ok(0) => return Err(SessionLost("the server closed the connection".to_owned())),
            Ok(count) => self.received += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(None),
            Err(error) => return Err(SessionLost(message(&error))),
        }
        if self.received < FRAME {
            return Ok(None);
        }
        self.received = 0;
        self.answered += 1;
        if u64::from_le_bytes(self.frame) != self.answered {
            return Err(SessionLost("the reply is to another request".to_owned()));
        }
        Ok(Some(SessionReply::Done { rows: 0, last_row: None }))
    }
}
