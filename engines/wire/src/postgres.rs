//! PostgreSQL's protocol 3.0: requests written, replies read. Rows are skipped by their length unless they are kept.
//! Frames are read here, as the hot path allocates nothing; what is in rare ones, and every request, is postgres-protocol's.

mod login;
mod server_messages;
mod values;

use crate::address::{ServerAddress, TlsMode};
use crate::channel::WireChannel;
use crate::connection::ReplyStep;
use crate::error::WireError;
use crate::reply::ReplyTally;
use crate::statement::{Statement, StatementName, Value};
use postgres_protocol::message::{backend, frontend};
pub(crate) use server_messages::server_error;
use server_messages::{affected_rows, oids, put_row};
use std::collections::VecDeque;
use std::time::Instant;

/// LIMIT: PostgreSQL's own for a message of its client.
const REQUEST_BYTES_MAX: usize = (1 << 30) - 64;

/// LIMIT: a message of the server, which is never held whole if it is that large.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// LIMIT: a message that must be held whole: an error, a row that is kept.
const WHOLE_BYTES_MAX: usize = 64 << 20;

/// What a logged-in connection knows.
#[derive(Debug)]
pub(crate) struct PostgresSession {
    version: String,
    pid: i32,
    secret: i32,
    /// What the server reported of its settings at the login.
    pub settings: Box<[(String, String)]>,
    statements: u32,
    /// Types of the parameters of the statement that is being prepared.
    parameters: Box<[u32]>,
    /// The COPY that is asked for.
    pub copy: Option<CopyDirection>,
    /// Where each reply that is to come ends.
    ends: VecDeque<ReplyEnd>,
    /// A statement of the pipeline was refused: the server passes over the others up to the next Sync.
    passes_over: bool,
}

/// Where a reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyEnd {
    /// With ReadyForQuery.
    OfSync,
    /// With the statement, as its Sync is still to come.
    OfStatement,
}

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyDirection {
    In,
    Out,
}

impl PostgresSession {
    /// Logs in, with this much of TLS.
    pub fn log_in(channel: &mut WireChannel, address: &ServerAddress, tls: TlsMode) -> Result<Self, WireError> {
        if tls > TlsMode::Disable {
            login::ask_for_tls(channel, address, tls)?;
        }
        let login::PostgresGreeting { version, pid, secret, parameters } = login::login(channel, address)?;
        Ok(Self {
            version,
            pid,
            secret,
            settings: parameters.into(),
            statements: 0,
            parameters: Box::default(),
            copy: None,
            ends: VecDeque::new(),
            passes_over: false,
        })
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// What the server wants to see before it ends a statement of this session.
    pub fn cancel_key(&self) -> (i32, i32) {
        (self.pid, self.secret)
    }

    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    pub fn queue_text(&mut self, channel: &mut WireChannel, sql: &str) -> Result<(), WireError> {
        queue(channel, sql.len(), |output| frontend::query(sql, output))?;
        self.ends.push_back(ReplyEnd::OfSync);
        Ok(())
    }

    /// Sync alone, behind statements that have none.
    pub fn queue_sync(&mut self, channel: &mut WireChannel) -> Result<(), WireError> {
        queue(channel, 0, |output| {
            frontend::sync(output);
            Ok(())
        })?;
        self.ends.push_back(ReplyEnd::OfSync);
        Ok(())
    }

    /// Parse, Describe and Sync: the reply says the parameters' types.
    pub fn queue_prepare(&mut self, channel: &mut WireChannel, sql: &str) -> Result<(), WireError> {
        self.statements += 1;
        self.parameters = Box::default();
        let name = statement_name(self.statements);
        queue(channel, sql.len(), |output| {
            frontend::parse(&name, sql, [], output)?;
            frontend::describe(b'S', &name, output)?;
            frontend::sync(output);
            Ok(())
        })?;
        self.ends.push_back(ReplyEnd::OfSync);
        Ok(())
    }

    /// The statement whose preparation has just succeeded.
    pub fn prepared(&mut self) -> Result<Statement, WireError> {
        let name = StatementName::Postgres(statement_name(self.statements).into());
        Ok(Statement { name, parameters: std::mem::take(&mut self.parameters) })
    }

    /// Bind, Execute and, if the reply is to end with it, Sync.
    pub fn queue_execution(
        &mut self,
        channel: &mut WireChannel,
        statement: &Statement,
        values: &[Value],
        end: ReplyEnd,
    ) -> Result<(), WireError> {
        let StatementName::Postgres(name) = &statement.name else {
            return Err(WireError::Request("a statement of MySQL was given to a connection to PostgreSQL"));
        };
        queue(channel, values::estimate(values), |output| {
            values::bind(name, &statement.parameters, values, output)?;
            frontend::execute("", 0, output)?;
            if end == ReplyEnd::OfSync {
                frontend::sync(output);
            }
            Ok(())
        })?;
        self.ends.push_back(end);
        Ok(())
    }

    /// Takes one message.
    pub fn step(
        &mut self,
        channel: &mut WireChannel,
        tally: &mut ReplyTally,
        is_awaited: bool,
    ) -> Result<ReplyStep, WireError> {
        let ends_with_statement = self.ends.front() == Some(&ReplyEnd::OfStatement);
        if self.passes_over && ends_with_statement {
            tally.is_skipped = true;
            return Ok(self.reply_ends());
        }
        let data = channel.input.data();
        let Some((tag, bytes)) = frame(data)? else { return Ok(ReplyStep::NeedsInput) };
        let begins = match tag {
            backend::COPY_IN_RESPONSE_TAG => self.copy == Some(CopyDirection::In),
            backend::COPY_OUT_RESPONSE_TAG => self.copy == Some(CopyDirection::Out),
            _ => false,
        };
        if begins {
            channel.input.skip(bytes as u64);
            return Ok(ReplyStep::CopyBegins);
        }
        if is_skipped(tag, tally) {
            tally.rows += u64::from(tag == backend::DATA_ROW_TAG);
            channel.input.skip(bytes as u64);
            let is_end = tag == backend::EMPTY_QUERY_RESPONSE_TAG && ends_with_statement;
            return Ok(if is_end { self.reply_ends() } else { ReplyStep::Taken });
        }
        if bytes > WHOLE_BYTES_MAX {
            return Err(WireError::TooLarge { what: "a message", bytes: bytes as u64, limit: WHOLE_BYTES_MAX as u64 });
        }
        let Some(message) = data.get(..bytes) else { return Ok(ReplyStep::NeedsInput) };
        let mut step = ReplyStep::Taken;
        match tag {
            backend::ERROR_RESPONSE_TAG => {
                tally.refused = Some(server_error(message)?);
                if ends_with_statement {
                    self.passes_over = true;
                    step = self.reply_ends();
                }
            }
            _ if !is_awaited => return Err(unexpected(tag, "without a request")),
            backend::DATA_ROW_TAG => {
                tally.rows += 1;
                put_row(&message[5..], &mut tally.row)?;
                tally.take_row()?;
            }
            backend::COMMAND_COMPLETE_TAG => {
                tally.affected = tally.affected.saturating_add(affected_rows(&message[5..]));
                if ends_with_statement {
                    step = self.reply_ends();
                }
            }
            backend::PARAMETER_DESCRIPTION_TAG => self.parameters = oids(message)?,
            backend::READY_FOR_QUERY_TAG if ends_with_statement => return Err(unexpected(tag, "inside a pipeline")),
            backend::READY_FOR_QUERY_TAG => {
                self.passes_over = false;
                step = self.reply_ends();
            }
            backend::COPY_IN_RESPONSE_TAG => {
                return Err(WireError::Request("COPY FROM STDIN waits for data, which a plain request has none of"));
            }
            _ => return Err(unexpected(tag, "in a reply")),
        }
        channel.input.consume(bytes);
        Ok(step)
    }

    fn reply_ends(&mut self) -> ReplyStep {
        self.ends.pop_front();
        ReplyStep::ReplyEnds
    }
}

/// Asks the server, by a connection of its own, to end the statement of the session with this key. It answers by closing.
pub(crate) fn cancel(address: &ServerAddress, pid: i32, secret: i32, deadline: Instant) -> Result<(), WireError> {
    let mut channel = WireChannel::new(address.open(deadline)?);
    if address.tls_mode() > TlsMode::Prefer {
        login::ask_for_tls(&mut channel, address, address.tls_mode())?;
    }
    frontend::cancel_request(pid, secret, &mut channel.output);
    channel.send()?;
    match channel.fill() {
        Ok(_) | Err(WireError::Closed) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The next message's tag and whole length, once its head is there.
pub(crate) fn frame(data: &[u8]) -> Result<Option<(u8, usize)>, WireError> {
    let header = backend::Header::parse(data).map_err(|error| WireError::unreadable(&error))?;
    let Some(header) = header else { return Ok(None) };
    let bytes = header.len() as usize + 1;
    if bytes > MESSAGE_BYTES_MAX {
        return Err(WireError::protocol(format!("a message of {bytes} bytes")));
    }
    Ok(Some((header.tag(), bytes)))
}

/// What is not looked at: confirmations, notices, and rows that nobody keeps.
fn is_skipped(tag: u8, tally: &ReplyTally) -> bool {
    match tag {
        backend::DATA_ROW_TAG => !tally.keeps_rows(),
        backend::BIND_COMPLETE_TAG
        | backend::PARSE_COMPLETE_TAG
        | backend::CLOSE_COMPLETE_TAG
        | backend::ROW_DESCRIPTION_TAG
        | backend::NO_DATA_TAG
        | backend::EMPTY_QUERY_RESPONSE_TAG
        | backend::NOTICE_RESPONSE_TAG
        | backend::NOTIFICATION_RESPONSE_TAG
        | backend::PARAMETER_STATUS_TAG
        | backend::COPY_OUT_RESPONSE_TAG
        | backend::COPY_DATA_TAG
        | backend::COPY_DONE_TAG => true,
        _ => false,
    }
}

pub(crate) fn unexpected(tag: u8, place: &str) -> WireError {
    WireError::protocol(format!("a message of type '{}' {place}", tag.escape_ascii()))
}

fn statement_name(number: u32) -> String {
    format!("mh{number}")
}

/// Appends a request as a whole or not at all.
fn queue(
    channel: &mut WireChannel,
    bytes: usize,
    write: impl FnOnce(&mut bytes::BytesMut) -> Result<(), std::io::Error>,
) -> Result<(), WireError> {
    if bytes > REQUEST_BYTES_MAX {
        let (bytes, limit) = (bytes as u64, REQUEST_BYTES_MAX as u64);
        return Err(WireError::TooLarge { what: "a request", bytes, limit });
    }
    channel.may_queue(bytes)?;
    let before = channel.output.len();
    let outcome = write(&mut channel.output);
    if outcome.is_err() {
        channel.output.truncate(before);
    }
    // Lengths are checked above; what is left is a zero byte.
    outcome.ok().ok_or(WireError::Request("a statement may hold no zero byte, and has 65535 values at most"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_known_by_its_head() {
        assert_eq!(frame(b"Z\0\0\0").expect("short"), None);
        assert_eq!(frame(b"Z\0\0\0\x05I").expect("whole"), Some((b'Z', 6)));
        assert!(frame(b"Z\0\0\0\x03").is_err(), "a length below its own");
        assert!(frame(b"Z\xff\xff\xff\xff").is_err());
        assert!(frame(b"D\x7f\xff\xff\xff").is_err());
    }
}
