//! A PostgreSQL connection for another program, which speaks the protocol itself: it has logged in here, and the messages of the program go
//! through as bytes. The simple and the extended protocol are request and answer: it ends with ReadyForQuery, or where the server asks for data of a COPY.

use super::{Connection, Session};
use crate::error::{ServerError, WireError};
use crate::postgres::{frame, server_error};
use crate::socket::{SocketMoved, WaitLimit};
use std::io;
use std::time::{Duration, Instant};

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

/// LIMIT: an error that is looked into, and an end: of these all must have come.
const WHOLE_BYTES_MAX: usize = 1 << 20;

/// How long the last error of a server that has closed its side is looked for: it is there already.
const LAST_ERROR: Duration = Duration::from_secs(1);

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

    /// Sends bytes of the program on. If the server has closed its side, the error is the one that it sent before.
    pub fn forward(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let outcome = self.write(bytes);
        if !matches!(outcome, Err(WireError::Closed)) {
            return outcome;
        }
        self.connection.channel.set_wait_limit(WaitLimit::Until(Instant::now() + LAST_ERROR));
        match self.answer(|_| Ok(())) {
            Err(WireError::Server(error)) => Err(WireError::Server(error)),
            Ok(_) | Err(_) => Err(WireError::Closed),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
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

    /// Passes the server's answer on, in slices that end anywhere, up to and with the message that ends it. All that has come is passed on at once: an answer of
    /// many small rows is not as many slices.
    pub fn answer(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> Result<RelayedAnswer, WireError> {
        let mut refused = Vec::new();
        loop {
            let (bytes, end) = whole_messages(self.connection.channel.input.data(), &mut refused)?;
            self.connection.pass_on(bytes, &mut take)?;
            if let Some(end) = end {
                return Ok(RelayedAnswer { end, refused });
            }
            match frame(self.connection.channel.input.data())? {
                Some((b'Z' | b'G', bytes)) if bytes > WHOLE_BYTES_MAX => {
                    return Err(WireError::protocol(format!("an answer's end of {bytes} bytes")));
                }
                Some((tag, bytes)) if !matches!(tag, b'Z' | b'G' | b'E') || bytes > WHOLE_BYTES_MAX => {
                    self.connection.pass_on(bytes, &mut take)?;
                }
                _ => match self.connection.channel.fill() {
                    Err(WireError::Closed) => {
                        self.connection.tally.refused = refused.pop();
                        return Err(self.connection.closed());
                    }
                    outcome => drop(outcome?),
                },
            }
        }
    }
}

/// The length of the messages at the begin of `data` that are whole, up to and with the one that ends the answer; what the server refused is noted.
fn whole_messages(data: &[u8], refused: &mut Vec<ServerError>) -> Result<(usize, Option<AnswerEnd>), WireError> {
    let mut at = 0;
    while let Some((tag, bytes)) = frame(&data[at..])? {
        let Some(message) = data[at..].get(..bytes) else { break };
        at += bytes;
        match tag {
            b'Z' => return Ok((at, Some(AnswerEnd::Ready))),
            b'G' => return Ok((at, Some(AnswerEnd::CopyIn))),
            b'E' if bytes <= WHOLE_BYTES_MAX => refused.push(server_error(message)?),
            _ => {}
        }
    }
    Ok((at, None))
}
