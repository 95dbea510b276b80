//! A PostgreSQL connection for another program, which speaks the protocol itself: it has logged in here, and the messages of the program go
//! through as bytes. The simple and the extended protocol are request and answer: it ends with ReadyForQuery, or where the server asks for data of a COPY.

use super::{Connection, Session};
use crate::error::{ServerError, WireError};
use crate::postgres::{frame, server_error};
use crate::socket::{SocketMoved, WaitLimit};
use std::io;

/// An answer that was passed on.
#[derive(Debug, PartialEq, Eq)]
pub struct RelayedAnswer {
    /// How it ends.
    pub end: AnswerEnd,
    /// What the server refused.
    pub refused: Vec<ServerError>,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// ReadyForQuery.
    Ready,
    /// CopyInResponse: the server wants data, and answers when they end.
    CopyIn,
}

/// LIMIT: an error that is looked into.
const ERROR_BYTES_MAX: usize = 1 << 20;

/// The server's side of a relay.
#[derive(Debug)]
pub struct PostgresRelay {
    connection: Connection,
}

impl Connection {
    /// Turns a connection without replies to come into the server's side of a relay.
    pub fn into_postgres_relay(mut self) -> Result<PostgresRelay, WireError> {
        self.check_open()?;
        if !matches!(self.session, Session::Postgres(_)) || self.waiting > 0 {
            return Err(WireError::Request("a relay begins with an idle connection to PostgreSQL"));
        }
        self.set_nonblocking(false)?;
        self.channel.set_wait_limit(WaitLimit::Forever);
        Ok(PostgresRelay { connection: self })
    }
}

impl PostgresRelay {
    /// What the server reported of its settings at the login, in its order.
    pub fn parameters(&self) -> &[(String, String)] {
        match &self.connection.session {
            Session::Postgres(session) => &session.settings,
            Session::MySql(_) => &[],
        }
    }

    /// The PID of the server's process, and the secret that a cancel request shows.
    pub fn cancel_key(&self) -> (i32, i32) {
        match &self.connection.session {
            Session::Postgres(session) => session.cancel_key(),
            Session::MySql(_) => (0, 0),
        }
    }

    /// Sends bytes of the program on.
    pub fn forward(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        while !bytes.is_empty() {
            match self.connection.channel.write_past(bytes)? {
                SocketMoved::Bytes(0) => return Err(WireError::Closed),
                SocketMoved::Bytes(count) => bytes = &bytes[count..],
                SocketMoved::WouldBlock => self.connection.channel.wait(WaitLimit::Forever)?,
            }
        }
        while !self.connection.channel.send()? {
            self.connection.channel.wait(WaitLimit::Forever)?;
        }
        Ok(())
    }

    /// Passes the server's answer on, in slices that end anywhere, up to and with the message that ends it.
    pub fn answer(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> Result<RelayedAnswer, WireError> {
        let mut refused = Vec::new();
        loop {
            let Some((tag, bytes)) = frame(self.connection.channel.input.data())? else {
                self.connection.channel.fill()?;
                continue;
            };
            let mut error = Vec::new();
            let is_error = tag == b'E' && bytes <= ERROR_BYTES_MAX;
            self.connection.pass_on(bytes, &mut |slice| {
                if is_error {
                    error.extend_from_slice(slice);
                }
                take(slice)
            })?;
            match tag {
                b'Z' => return Ok(RelayedAnswer { end: AnswerEnd::Ready, refused }),
                b'G' => return Ok(RelayedAnswer { end: AnswerEnd::CopyIn, refused }),
                _ if is_error => refused.push(server_error(&error)?),
                _ => {}
            }
        }
    }
}
