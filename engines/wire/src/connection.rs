//! A connection to either kind of server: requests in, replies out, in order. It blocks, or a loop over many drives it.
//! Messages are made and read by the protocols (postgres.rs, mysql.rs).

mod bulk;
mod canceller;
mod relay;

pub use bulk::CopyIn;
pub use canceller::Canceller;
pub use relay::{AnswerEnd, PostgresRelay, RelayedAnswer};

use crate::address::{Protocol, ServerAddress, TlsMode};
use crate::channel::WireChannel;
use crate::error::{ServerError, WireError};
use crate::mysql::MySqlSession;
use crate::postgres::{PostgresSession, ReplyEnd};
use crate::reply::{Keeping, Reply, ReplyTally, TextRows};
use crate::socket::{Socket, WaitLimit};
use crate::statement::{Statement, Value};
use canceller::CancelTarget;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// A connection that has logged in.
#[derive(Debug)]
pub struct Connection {
    channel: WireChannel,
    session: Session,
    tally: ReplyTally,
    waiting: usize,
    is_nonblocking: bool,
    keeps_last_row: bool,
    /// An error has made what follows meaningless.
    is_over: bool,
    /// The error after which the server ended it.
    last_error: Option<ServerError>,
    address: Box<ServerAddress>,
}

#[derive(Debug)]
enum Session {
    Postgres(PostgresSession),
    MySql(MySqlSession),
}

/// What a statement did that was waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Rows returned.
    pub rows: u64,
    /// Rows inserted, updated, deleted or merged.
    pub affected: u64,
}

/// What looking at the input brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyStep {
    /// A message was taken; there may be another one.
    Taken,
    /// No whole message is there.
    NeedsInput,
    /// The reply is complete.
    ReplyEnds,
    /// A COPY that was asked for takes data, or sends them.
    CopyBegins,
}

impl Connection {
    /// Resolves, connects, encrypts and logs in before `timeout` is over.
    /// The resolver of names has limits of its own.
    pub fn connect(address: &ServerAddress, timeout: Duration) -> Result<Self, WireError> {
        let deadline = Instant::now() + timeout;
        let mode = address.tls_mode();
        match Self::attempt(address, mode, deadline) {
            // COMPAT: what is only preferred is done without, as libpq does.
            Err(WireError::Tls(_)) if mode == TlsMode::Prefer => Self::attempt(address, TlsMode::Disable, deadline),
            outcome => outcome,
        }
    }

    fn attempt(address: &ServerAddress, tls: TlsMode, deadline: Instant) -> Result<Self, WireError> {
        Self::log_in(WireChannel::new(address.open(deadline)?), address, tls)
    }

    /// Logs in on a socket that is connected already, one end of a tunnel say; where `address` leads is not looked at.
    pub fn on_socket(
        socket: impl Into<OwnedFd>,
        address: &ServerAddress,
        timeout: Duration,
    ) -> Result<Self, WireError> {
        let socket = Socket::connected(socket.into(), Instant::now() + timeout);
        Self::log_in(WireChannel::new(socket), address, address.tls_mode())
    }

    fn log_in(mut channel: WireChannel, address: &ServerAddress, tls: TlsMode) -> Result<Self, WireError> {
        let session = match address.protocol() {
            Protocol::Postgres => Session::Postgres(PostgresSession::log_in(&mut channel, address, tls)?),
            Protocol::MySql => Session::MySql(MySqlSession::log_in(&mut channel, address, tls)?),
        };
        channel.set_wait_limit(WaitLimit::Forever);
        Ok(Self {
            channel,
            session,
            tally: ReplyTally::default(),
            waiting: 0,
            is_nonblocking: false,
            keeps_last_row: false,
            is_over: false,
            last_error: None,
            address: Box::new(address.clone()),
        })
    }

    /// Whether TLS encrypts it.
    pub fn is_encrypted(&self) -> bool {
        self.channel.is_encrypted()
    }

    /// Which protocol it speaks.
    pub fn protocol(&self) -> Protocol {
        self.address.protocol()
    }

    /// The server's version as it calls it.
    pub fn server_version(&self) -> &str {
        match &self.session {
            Session::Postgres(session) => session.version(),
            Session::MySql(session) => session.version(),
        }
    }

    /// The PID of PostgreSQL's process, the number of MySQL's connection.
    pub fn server_pid(&self) -> u32 {
        match &self.session {
            Session::Postgres(session) => session.pid(),
            Session::MySql(session) => session.id(),
        }
    }

    /// Whether `send` and `next_reply` return at once in place of waiting.
    pub fn set_nonblocking(&mut self, is_nonblocking: bool) -> Result<(), WireError> {
        self.is_nonblocking = is_nonblocking;
        self.channel.set_wait_limit(if is_nonblocking { WaitLimit::Never } else { WaitLimit::Forever });
        Ok(())
    }

    /// Until when blocking calls wait, on a connection that blocks; none: as long as it takes. A call that runs out of time ends with
    /// `WireError::TimedOut`, and its reply is still to come.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        if !self.is_nonblocking {
            self.channel.set_wait_limit(deadline.map_or(WaitLimit::Forever, WaitLimit::Until));
        }
    }

    /// Whether a reply carries its last row.
    pub fn keep_last_row(&mut self, keeps: bool) {
        self.keeps_last_row = keeps;
        self.tally.keeping = self.usual_keeping();
    }

    fn usual_keeping(&self) -> Keeping {
        if self.keeps_last_row { Keeping::LastRow } else { Keeping::Nothing }
    }

    /// How many requests have no reply yet.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Appends statements as text; several have one reply.
    pub fn queue_text(&mut self, sql: &str) -> Result<(), WireError> {
        self.check_open()?;
        match &mut self.session {
            Session::Postgres(session) => session.queue_text(&mut self.channel, sql)?,
            Session::MySql(session) => session.queue_text(&mut self.channel, sql)?,
        }
        self.waiting += 1;
        Ok(())
    }

    /// Appends statements of MySQL in any character set.
    fn queue_bytes(&mut self, sql: &[u8]) -> Result<(), WireError> {
        self.check_open()?;
        match &mut self.session {
            Session::MySql(session) => session.queue_bytes(&mut self.channel, sql)?,
            Session::Postgres(_) => return Err(WireError::Request("statements of PostgreSQL are text")),
        }
        self.waiting += 1;
        Ok(())
    }

    /// Appends the execution of a prepared statement.
    pub fn queue_prepared(&mut self, statement: &Statement, values: &[Value]) -> Result<(), WireError> {
        self.queue_execution(statement, values, ReplyEnd::OfSync)
    }

    fn queue_execution(&mut self, statement: &Statement, values: &[Value], end: ReplyEnd) -> Result<(), WireError> {
        self.check_open()?;
        if statement.parameters() != values.len() {
            return Err(WireError::Request("a statement was given another number of values than it has parameters"));
        }
        match &mut self.session {
            Session::Postgres(session) => session.queue_execution(&mut self.channel, statement, values, end)?,
            Session::MySql(session) => session.queue_prepared(&mut self.channel, statement, values)?,
        }
        self.waiting += 1;
        Ok(())
    }

    /// Appends the execution of a prepared statement that is one of a pipeline: PostgreSQL makes one transaction of all up to the next
    /// `queue_sync`, and after an error passes over the others (`Reply::Skipped`). To MySQL it is a request as any other.
    pub fn queue_pipelined(&mut self, statement: &Statement, values: &[Value]) -> Result<(), WireError> {
        self.queue_execution(statement, values, ReplyEnd::OfStatement)
    }

    /// Ends what `queue_pipelined` began. True if a reply of its own comes, as PostgreSQL's does.
    pub fn queue_sync(&mut self) -> Result<bool, WireError> {
        self.check_open()?;
        let Session::Postgres(session) = &mut self.session else { return Ok(false) };
        session.queue_sync(&mut self.channel)?;
        self.waiting += 1;
        Ok(true)
    }

    /// Writes what was appended; true if all of it is written. A connection that blocks and has more requests to write than sockets hold
    /// may wait for a server that waits for it to read: many requests at once are for one that does not block.
    pub fn send(&mut self) -> Result<bool, WireError> {
        let outcome = self.channel.send();
        self.ends_if_wrong(outcome)
    }

    /// The next reply; none if it is not whole yet. After none, wait until the descriptor is readable.
    pub fn next_reply(&mut self) -> Result<Option<Reply>, WireError> {
        let outcome = self.read_reply();
        self.ends_if_wrong(outcome)
    }

    fn read_reply(&mut self) -> Result<Option<Reply>, WireError> {
        loop {
            match self.step()? {
                ReplyStep::Taken => {}
                ReplyStep::ReplyEnds => return Ok(Some(self.take_reply())),
                ReplyStep::CopyBegins => return Err(WireError::protocol("a COPY that was not asked for")),
                ReplyStep::NeedsInput => {
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn take_reply(&mut self) -> Reply {
        self.waiting -= 1;
        let reply = self.tally.finish();
        if let Reply::Refused(error) = &reply
            && error.is_fatal
        {
            self.last_error = Some(error.clone());
        }
        reply
    }

    fn step(&mut self) -> Result<ReplyStep, WireError> {
        let is_awaited = self.waiting > 0;
        match &mut self.session {
            Session::Postgres(session) => session.step(&mut self.channel, &mut self.tally, is_awaited),
            Session::MySql(session) => session.step(&mut self.channel, &mut self.tally),
        }
    }

    fn step_or_end(&mut self) -> Result<ReplyStep, WireError> {
        let outcome = self.step();
        self.ends_if_wrong(outcome)
    }

    /// Waits for more; that nothing comes in time is an error.
    fn fill_or_end(&mut self) -> Result<(), WireError> {
        let outcome = self.fill();
        self.ends_if_wrong(outcome)?.then_some(()).ok_or(WireError::TimedOut)
    }

    fn check_open(&mut self) -> Result<(), WireError> {
        if self.is_over { Err(self.closed()) } else { Ok(()) }
    }

    /// After an error, nobody knows what the next bytes are; only a caller who ran out of time may go on.
    fn ends_if_wrong<T>(&mut self, outcome: Result<T, WireError>) -> Result<T, WireError> {
        match outcome {
            Err(WireError::TimedOut) | Ok(_) => outcome,
            Err(error) => Err(self.end_with(error)),
        }
    }

    /// Ends it after an error; if the server has closed its side, with the error that it sent before.
    fn end_with(&mut self, error: WireError) -> WireError {
        let error = if matches!(error, WireError::Closed) { self.reason_of_end() } else { error };
        if let WireError::Server(last) = &error {
            self.last_error = Some(last.clone());
        }
        self.end();
        error
    }

    /// Shuts the socket, so that the server drops what it was given, too.
    fn end(&mut self) {
        self.is_over = true;
        self.channel.shut_down();
    }

    /// The server has closed its side: its last error may still be unread.
    fn reason_of_end(&mut self) -> WireError {
        self.channel.set_wait_limit(WaitLimit::Never);
        loop {
            match self.read_reply() {
                Ok(Some(Reply::Refused(error))) => self.last_error = Some(error),
                Ok(Some(Reply::Done { .. } | Reply::Skipped)) => {}
                Err(WireError::Server(error)) => return WireError::Server(error),
                Ok(None) | Err(_) => return self.closed(),
            }
        }
    }

    /// The error of a connection that the server has closed: the last one that it sent, if it did.
    fn closed(&mut self) -> WireError {
        match self.tally.refused.take().or_else(|| self.last_error.clone()) {
            Some(error) => WireError::Server(ServerError { is_fatal: true, ..error }),
            None => WireError::Closed,
        }
    }

    fn fill(&mut self) -> Result<bool, WireError> {
        match self.channel.fill() {
            Err(WireError::Closed) => Err(self.closed()),
            outcome => outcome,
        }
    }

    /// What ends the statement that this connection runs.
    pub fn canceller(&self) -> Canceller {
        let target = match &self.session {
            Session::Postgres(session) => {
                let (pid, secret) = session.cancel_key();
                CancelTarget::Postgres { pid, secret }
            }
            Session::MySql(session) => CancelTarget::MySql { id: session.id() },
        };
        Canceller { address: (*self.address).clone(), target }
    }

    /// Runs statements and waits for their end. Rows are counted and skipped.
    pub fn execute(&mut self, sql: &str) -> Result<Executed, WireError> {
        self.blocking(|connection| {
            connection.queue_text(sql)?;
            connection.reply_of_one()
        })
    }

    /// Runs statements of MySQL as bytes: those of older dumps may be in the character set of whoever wrote them.
    pub fn execute_bytes(&mut self, sql: &[u8]) -> Result<Executed, WireError> {
        self.blocking(|connection| {
            connection.queue_bytes(sql)?;
            connection.reply_of_one()
        })
    }

    /// Runs statements and returns the rows of all of them as text: for questions with small answers.
    pub fn query(&mut self, sql: &str) -> Result<TextRows, WireError> {
        self.tally.keeping = Keeping::AllRows(Vec::new(), 0);
        let outcome = self.execute(sql);
        let usual = self.usual_keeping();
        let kept = std::mem::replace(&mut self.tally.keeping, usual);
        outcome?;
        match kept {
            Keeping::AllRows(rows, _) => Ok(rows),
            _ => Ok(Vec::new()),
        }
    }

    /// Has the server parse a statement, with `$1` for PostgreSQL and `?` for MySQL in place of values.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, WireError> {
        self.blocking(|connection| {
            connection.check_open()?;
            match &mut connection.session {
                Session::Postgres(session) => session.queue_prepare(&mut connection.channel, sql)?,
                Session::MySql(session) => session.queue_prepare(&mut connection.channel, sql)?,
            }
            connection.waiting += 1;
            connection.reply_of_one()?;
            match &mut connection.session {
                Session::Postgres(session) => session.prepared(),
                Session::MySql(session) => session.prepared(),
            }
        })
    }

    /// Runs one request on a connection that waits for none, blocking whatever its mode is.
    fn blocking<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, WireError>) -> Result<T, WireError> {
        self.check_open()?;
        if self.waiting > 0 {
            return Err(WireError::Request("a request that blocks must wait until all replies of others have come"));
        }
        let wait_limit = self.channel.wait_limit();
        if wait_limit == WaitLimit::Never {
            self.channel.set_wait_limit(WaitLimit::Forever);
        }
        let outcome = work(self);
        self.channel.set_wait_limit(wait_limit);
        outcome
    }

    fn reply_of_one(&mut self) -> Result<Executed, WireError> {
        self.send()?;
        match self.next_reply()? {
            Some(Reply::Done { rows, affected, .. }) => Ok(Executed { rows, affected }),
            Some(Reply::Refused(error)) => Err(WireError::Server(error)),
            Some(Reply::Skipped) => Err(WireError::Request("a request that blocks is none of a pipeline")),
            None => Err(WireError::TimedOut),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
