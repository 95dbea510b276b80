//! What a load talks to: a target makes sessions, a session takes one statement and has one reply. A session either is driven by a loop, or
//! answers at once.

use crate::ledger::Failing;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A parameter of a prepared statement. It owns its text, whose memory the next transaction uses again.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A binary fraction.
    Real(f64),
    /// Text.
    Text(String),
}

/// LIMIT: parameters of a statement, for which a session has room without asking for memory.
pub const PARAMETERS_MAX: usize = 64;

/// A statement to send.
#[derive(Clone, Copy, Debug)]
pub struct SessionRequest<'a> {
    /// Which statement of the workload it is, if it is to be prepared once and then known by this number.
    pub prepared: Option<usize>,
    /// Its text, in the target's dialect.
    pub text: &'a str,
    /// Values for its places.
    pub parameters: &'a [Parameter],
}

impl<'a> SessionRequest<'a> {
    /// A text as it is.
    pub fn plain(text: &'a str) -> Self {
        Self { prepared: None, text, parameters: &[] }
    }
}

/// A statement of a pipeline, which is prepared before the pipeline begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedText {
    /// The number by which requests know it.
    pub number: usize,
    /// Its text, in the target's dialect.
    pub text: String,
}

/// What came of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionReply {
    /// It was carried out.
    Done {
        /// Rows that came back.
        rows: u64,
        /// Its last row, where the session was asked to keep it.
        last_row: Option<Vec<Option<String>>>,
    },
    /// The server refused it; the session can go on.
    Refused(StatementRefusal),
    /// The server passed it over, because it had refused one before it in the same pipeline.
    Skipped,
}

/// Why a server refused a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRefusal {
    /// What it counts as.
    pub failing: Failing,
    /// The server's words, with its code.
    pub message: String,
}

/// A session is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SessionLost(pub String);

/// A connection to a target.
pub trait Session: Send {
    /// What becomes readable when there is something to read; none if a statement is answered before `begin` returns.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Whether something waits until the descriptor can be written to.
    fn has_unsent(&self) -> bool {
        false
    }

    /// Sends a statement, as far as that goes without waiting.
    fn begin(&mut self, request: &SessionRequest<'_>) -> Result<(), SessionLost>;

    /// Whether there is a reply though the descriptor has nothing to read.
    fn answers_at_once(&self) -> bool {
        self.descriptor().is_none()
    }

    /// The reply, once it is whole. Sends what is unsent.
    fn reply(&mut self) -> Result<Option<SessionReply>, SessionLost>;

    /// Prepares statements that are to be in a pipeline, and waits for that; takes nothing if they are prepared. A refusal is the server's.
    fn prepare(&mut self, _statements: &[PreparedText]) -> Result<Result<(), StatementRefusal>, SessionLost> {
        Ok(Ok(()))
    }

    /// Appends a statement to a pipeline. It is sent with the others; each has its reply, in their order.
    fn append(&mut self, _request: &SessionRequest<'_>) -> Result<(), SessionLost> {
        Err(SessionLost("it takes one statement at a time".to_owned()))
    }

    /// Ends what the server takes as one transaction if nothing else begins one. True if that has a reply of its own.
    fn synchronize(&mut self) -> Result<bool, SessionLost> {
        Ok(false)
    }

    /// Sends what was appended, as far as that goes without waiting.
    fn send_appended(&mut self) -> Result<(), SessionLost> {
        Ok(())
    }

    /// Whether the last row of each reply is kept.
    fn keep_last_row(&mut self, _is_kept: bool) {}
}

/// How a target's statements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlDialect {
    /// PostgreSQL's.
    Postgres,
    /// MySQL's and MariaDB's.
    MySql,
    /// SQLite's.
    Sqlite,
    /// No SQL at all.
    Echo,
}

/// Something to load.
pub trait Target: Send + Sync {
    /// How its statements are written.
    fn dialect(&self) -> SqlDialect;

    /// Makes a session, within the time.
    fn connect(&self, within: Duration) -> Result<Box<dyn Session>, SessionLost>;
}

/// Carries out a statement and waits for its reply: for preparing data, and for questions.
pub fn ask(session: &mut dyn Session, request: &SessionRequest<'_>) -> Result<SessionReply, SessionLost> {
    session.begin(request)?;
    loop {
        if let Some(reply) = session.reply()? {
            return Ok(reply);
        }
        wait(session)?;
    }
}

fn wait(session: &dyn Session) -> Result<(), SessionLost> {
    use rustix::event::{PollFd, PollFlags, poll};
    let Some(descriptor) = session.descriptor() else {
        return Err(SessionLost("it neither answers nor can be waited for".to_owned()));
    };
    let flags = if session.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    match poll(&mut [PollFd::from_borrowed_fd(descriptor, flags)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(SessionLost(format!("could not wait for it: {error}"))),
    }
}
