//! Data in bulk, on a connection that blocks: COPY of PostgreSQL in both directions, LOAD DATA LOCAL INFILE and rows of MySQL. Data pass in
//! slices; only a row of MySQL that needs several packets is held whole. While data go out, what the server says is read, so that neither side waits for the other for ever.

use super::{Connection, Executed, ReplyStep, Session};
use crate::error::WireError;
use crate::mysql::{RowPart, WHOLE_BYTES_MAX};
use crate::postgres::{CopyDirection, frame};
use crate::reply::{Keeping, Reply};
use crate::socket::{SocketMoved, WaitLimit};
use bytes::BufMut;
use std::io::{self, Read};

/// Smaller slices are gathered into one write; larger ones are written from where they are.
const GATHERED_BYTES: usize = 32 << 10;

/// LIMIT: one message of data. PostgreSQL reads a message whole before it looks into it, so a large one leaves its caches, and nothing is sent meanwhile.
const MESSAGE_BYTES: usize = 64 << 10;

/// What reading a local file takes at once.
const FILE_BYTES: usize = 256 << 10;

/// LIMIT: a row of MySQL that is passed on: the largest packet that a server can send.
const ROW_BYTES_MAX: usize = 1 << 30;

/// A COPY FROM STDIN that takes its data. Dropped without an end, it ends the connection, and with it the statement.
#[derive(Debug)]
pub struct CopyIn<'a> {
    connection: &'a mut Connection,
    usual_limit: WaitLimit,
    is_open: bool,
}

impl Connection {
    /// Begins a COPY ... FROM STDIN.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, WireError> {
        self.blocking(|connection| connection.begin_copy(sql, CopyDirection::In))?;
        let usual_limit = self.channel.wait_limit();
        if usual_limit == WaitLimit::Never {
            self.channel.set_wait_limit(WaitLimit::Forever);
        }
        Ok(CopyIn { connection: self, usual_limit, is_open: true })
    }

    /// Runs a COPY ... TO STDOUT; `take` gets the data in slices that end anywhere. An error of `take` ends the connection.
    pub fn copy_out(
        &mut self,
        sql: &str,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Executed, WireError> {
        self.blocking(|connection| {
            connection.begin_copy(sql, CopyDirection::Out)?;
            loop {
                let Some(head) = frame(connection.channel.input.data())? else {
                    connection.fill_or_end()?;
                    continue;
                };
                let (b'd', bytes) = head else { return connection.reply_of_one() };
                connection.channel.input.consume(5);
                let taken = connection.pass_on(bytes - 5, &mut take);
                if taken.is_err() {
                    connection.end();
                }
                taken?;
            }
        })
    }

    /// Runs a SELECT of MySQL; `take` gets value after value, as text, and the end of each row. An error of `take` ends the connection.
    pub fn rows_out(
        &mut self,
        sql: &str,
        mut take: impl FnMut(RowPart<'_>) -> io::Result<()>,
    ) -> Result<Executed, WireError> {
        self.blocking(|connection| {
            let Session::MySql(session) = &mut connection.session else {
                return Err(WireError::Request("rows are passed on from servers of MySQL"));
            };
            session.whole_bytes_max = ROW_BYTES_MAX;
            connection.tally.keeping = Keeping::LastRow;
            let outcome = connection.pass_rows(sql, &mut take);
            connection.tally.keeping = connection.usual_keeping();
            if let Session::MySql(session) = &mut connection.session {
                session.whole_bytes_max = WHOLE_BYTES_MAX;
            }
            connection.ends_if_wrong_of_rows(outcome)
        })
    }

    fn pass_rows(
        &mut self,
        sql: &str,
        take: &mut impl FnMut(RowPart<'_>) -> io::Result<()>,
    ) -> Result<Executed, WireError> {
        self.queue_text(sql)?;
        self.send()?;
        loop {
            if let Session::MySql(session) = &mut self.session {
                session.pass_rows(&mut self.channel, &mut self.tally, take)?;
            }
            match self.step()? {
                ReplyStep::NeedsInput => self.fill_or_end()?,
                ReplyStep::CopyBegins => return Err(WireError::protocol("a COPY that was not asked for")),
                ReplyStep::Taken if self.tally.has_row => {
                    // It came in several packets. Its memory is given back.
                    self.tally.has_row = false;
                    let row = std::mem::take(&mut self.tally.row);
                    row.values().try_for_each(|value| take(RowPart::Value(value)))?;
                    take(RowPart::End)?;
                }
                ReplyStep::Taken => {}
                ReplyStep::ReplyEnds => {
                    return match self.take_reply() {
                        Reply::Refused(error) => Err(WireError::Server(error)),
                        Reply::Done { rows, affected, .. } => Ok(Executed { rows, affected }),
                        Reply::Skipped => Err(WireError::protocol("a pipeline's reply to a request that is in none")),
                    };
                }
            }
        }
    }

    /// An error of the server is the end of its reply; after any other one, nobody knows where the next reply begins.
    fn ends_if_wrong_of_rows(&mut self, outcome: Result<Executed, WireError>) -> Result<Executed, WireError> {
        if outcome.as_ref().is_err_and(|error| !matches!(error, WireError::Server(_))) {
            self.end();
        }
        outcome
    }

    /// Runs a LOAD DATA LOCAL INFILE; `open` gets the name that the server asks for, which is the statement's if the server is honest.
    /// A file that cannot be opened is an error of the statement alone; one that cannot be read to its end ends the connection, since
    /// the server would keep what it has.
    pub fn load_local<File: Read>(
        &mut self,
        sql: &str,
        mut open: impl FnMut(&str) -> io::Result<File>,
    ) -> Result<Executed, WireError> {
        self.blocking(|connection| {
            let Session::MySql(session) = &mut connection.session else {
                return Err(WireError::Request("LOAD DATA LOCAL INFILE is a statement of MySQL"));
            };
            session.offers_files = true;
            let outcome = connection.load_files(sql, &mut open);
            if let Session::MySql(session) = &mut connection.session {
                session.offers_files = false;
            }
            outcome
        })
    }

    fn begin_copy(&mut self, sql: &str, direction: CopyDirection) -> Result<(), WireError> {
        let Session::Postgres(session) = &mut self.session else {
            return Err(WireError::Request("COPY with data of the client is a statement of PostgreSQL"));
        };
        session.copy = Some(direction);
        let outcome = self.copy_begins(sql);
        if let Session::Postgres(session) = &mut self.session {
            session.copy = None;
        }
        outcome
    }

    fn copy_begins(&mut self, sql: &str) -> Result<(), WireError> {
        self.queue_text(sql)?;
        self.send()?;
        loop {
            match self.step_or_end()? {
                ReplyStep::Taken => {}
                ReplyStep::NeedsInput => self.fill_or_end()?,
                ReplyStep::CopyBegins => return Ok(()),
                ReplyStep::ReplyEnds => {
                    return match self.take_reply() {
                        Reply::Refused(error) => Err(WireError::Server(error)),
                        Reply::Done { .. } | Reply::Skipped => {
                            Err(WireError::Request("the statement was no COPY in this direction"))
                        }
                    };
                }
            }
        }
    }

    /// Passes on so many bytes as they come.
    pub(super) fn pass_on(
        &mut self,
        mut left: usize,
        take: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), WireError> {
        while left > 0 {
            let data = self.channel.input.data();
            if data.is_empty() {
                self.fill_or_end()?;
                continue;
            }
            let count = data.len().min(left);
            take(&data[..count])?;
            self.channel.input.consume(count);
            left -= count;
        }
        Ok(())
    }

    fn load_files<File: Read>(
        &mut self,
        sql: &str,
        open: &mut impl FnMut(&str) -> io::Result<File>,
    ) -> Result<Executed, WireError> {
        self.queue_text(sql)?;
        self.send()?;
        let mut not_opened = None;
        loop {
            let name = match self.read_reply() {
                Ok(Some(Reply::Done { rows, affected, .. })) => {
                    return match not_opened {
                        Some(error) => Err(WireError::Io(error)),
                        None => Ok(Executed { rows, affected }),
                    };
                }
                Ok(Some(Reply::Refused(error))) => {
                    return Err(not_opened.map_or(WireError::Server(error), WireError::Io));
                }
                Ok(Some(Reply::Skipped)) => {
                    return Err(WireError::protocol("a pipeline's reply to a request that is in none"));
                }
                Ok(None) => return Err(WireError::TimedOut),
                Err(WireError::LocalFile(name)) => name,
                Err(error) => return Err(self.end_with(error)),
            };
            match open(&name) {
                Ok(file) => self.send_file(file)?,
                Err(error) => not_opened = Some(error),
            }
            self.send_file_packet(&[])?;
            self.send()?;
        }
    }

    fn send_file(&mut self, mut file: impl Read) -> Result<(), WireError> {
        let mut bytes = vec![0; FILE_BYTES];
        loop {
            match file.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => self.send_file_packet(&bytes[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.end();
                    return Err(WireError::Io(error));
                }
            }
        }
    }

    fn send_file_packet(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if let Session::MySql(session) = &mut self.session {
            let sequence = session.next_sequence();
            self.channel.output.put_u32_le(bytes.len() as u32 | u32::from(sequence) << 24);
        }
        self.push(bytes)
    }

    /// Appends data; what has gathered, or is large, is written.
    fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.channel.output.len() + bytes.len() <= GATHERED_BYTES {
            self.channel.output.put_slice(bytes);
            return Ok(());
        }
        let limit = self.channel.wait_limit();
        self.channel.set_wait_limit(WaitLimit::Never);
        let outcome = self.write_and_read(bytes, limit);
        self.channel.set_wait_limit(limit);
        outcome.map_err(|error| self.end_with(error))
    }

    fn write_and_read(&mut self, mut bytes: &[u8], limit: WaitLimit) -> Result<(), WireError> {
        while !self.channel.send()? {
            self.channel.wait(limit)?;
            self.take_arrived()?;
        }
        while !bytes.is_empty() {
            match self.channel.write_past(bytes)? {
                SocketMoved::Bytes(count) => bytes = &bytes[count..],
                SocketMoved::WouldBlock => self.channel.wait(limit)?,
            }
            self.take_arrived()?;
        }
        Ok(())
    }

    /// Takes notices while data go out. The end of the reply is left for who waits for it.
    fn take_arrived(&mut self) -> Result<(), WireError> {
        while self.tally.refused.is_none() {
            let Session::Postgres(_) = &self.session else { return Ok(()) };
            if self.step()? == ReplyStep::NeedsInput && !self.fill()? {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl CopyIn<'_> {
    /// Takes data. An error of the server in the midst of them is returned by the next call, and the COPY is over.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        for part in bytes.chunks(MESSAGE_BYTES) {
            self.check()?;
            let output = &mut self.connection.channel.output;
            output.put_u8(b'd');
            output.put_u32(part.len() as u32 + 4);
            self.connection.push(part)?;
        }
        self.check()
    }

    /// The end of the data: the server's word on all of them.
    pub fn finish(mut self) -> Result<Executed, WireError> {
        self.check()?;
        self.is_open = false;
        postgres_protocol::message::frontend::copy_done(&mut self.connection.channel.output);
        self.connection.reply_of_one()
    }

    /// Gives up: the server drops what it has, and the connection goes on.
    pub fn abort(mut self, why: &str) -> Result<(), WireError> {
        self.check()?;
        self.is_open = false;
        let why = why.replace('\0', " ");
        postgres_protocol::message::frontend::copy_fail(&why, &mut self.connection.channel.output)?;
        match self.connection.reply_of_one() {
            Ok(_) | Err(WireError::Server(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn check(&mut self) -> Result<(), WireError> {
        if !self.is_open {
            return Err(WireError::Request("the COPY is over"));
        }
        if self.connection.tally.refused.is_none() {
            return Ok(());
        }
        // The server has refused, and drops what it still gets.
        self.is_open = false;
        self.connection.reply_of_one().map(drop)
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.connection.end();
        }
        self.connection.channel.set_wait_limit(self.usual_limit);
    }
}
