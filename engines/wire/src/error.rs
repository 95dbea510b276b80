//! What goes wrong with a server: its own errors, by code and kind, and those of the way to it.
//! An error of the server leaves the connection usable unless it is fatal; every other one ends it.

use std::fmt;
use std::io;
use sys::error_text::message;

/// Why a connection could not be made, or a request not be answered.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// No connection to the server's address.
    #[error("could not connect to '{place}': {}", message(source))]
    Connect {
        /// The address, without a password.
        place: String,
        /// Why not.
        source: io::Error,
    },
    /// The server ended the connection without a reason.
    #[error("the server closed the connection")]
    Closed,
    /// Nothing came within the time that the caller gave.
    #[error("no answer within the time allowed")]
    TimedOut,
    /// No encrypted connection, or not to the server that was meant.
    #[error("TLS: {0}")]
    Tls(String),
    /// A way of authentication that fails before the server judges it, or that is not spoken.
    #[error("authentication: {0}")]
    Authentication(String),
    /// The server sent what the protocol does not allow.
    #[error("protocol error: the server sent {0}")]
    Protocol(String),
    /// The server refused.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Something is larger than the protocol or a limit of this client allows.
    #[error("{what} has {bytes} bytes, {limit} are the most")]
    TooLarge {
        /// A message, a row, a request.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A request that is never sent: zero bytes in a statement, the wrong number of values.
    #[error("{0}")]
    Request(&'static str),
    /// The server asked for a file of this host, which nothing offered. The connection is ended.
    #[error("the server asked for the local file '{0}', which was not offered")]
    LocalFile(String),
    /// Reading or writing failed.
    #[error("could not talk to the server: {}", message(.0))]
    Io(#[from] io::Error),
}

impl WireError {
    /// What a caller may decide by.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Server(error) => error.kind(),
            Self::Authentication(_) => ErrorKind::Authentication,
            Self::TimedOut => ErrorKind::Timeout,
            _ => ErrorKind::Other,
        }
    }

    pub(crate) fn protocol(what: impl Into<String>) -> Self {
        Self::Protocol(what.into())
    }

    pub(crate) fn unreadable(cause: &io::Error) -> Self {
        Self::Protocol(format!("an unreadable message: {cause}"))
    }
}

/// An error that the server reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// Five letters and digits; zeros if the server sent none.
    pub sqlstate: [u8; 5],
    /// MySQL's number of the error.
    pub number: Option<u16>,
    /// The message.
    pub message: Box<str>,
    /// PostgreSQL's further facts.
    pub detail: Option<Box<str>>,
    /// Where in the statement it happened, by PostgreSQL: `COPY t, line 3, column a`.
    pub context: Option<Box<str>>,
    /// PostgreSQL's advice.
    pub hint: Option<Box<str>>,
    /// The server ends the connection after it.
    pub is_fatal: bool,
}

/// Errors by what a caller does about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The transaction was chosen as a deadlock's victim: it may be tried again.
    Deadlock,
    /// The transaction conflicts with another one: it may be tried again.
    Serialization,
    /// A lock or a statement took longer than allowed.
    Timeout,
    /// The server accepts no more connections.
    TooManyConnections,
    /// The server stops or starts.
    ShuttingDown,
    /// The server does not believe the user.
    Authentication,
    /// A disk of the server is full: the same succeeds when there is room.
    DiskFull,
    /// Anything else.
    Other,
}

impl ServerError {
    /// The code as the protocol's users know it: PostgreSQL's SQLSTATE, MySQL's number with its SQLSTATE.
    pub fn code(&self) -> String {
        match self.number {
            Some(number) => format!("{number} ({})", self.sqlstate()),
            None => self.sqlstate().to_owned(),
        }
    }

    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        str::from_utf8(&self.sqlstate).unwrap_or("?????")
    }

    /// What a caller may decide by.
    pub fn kind(&self) -> ErrorKind {
        match self.number {
            None => kind_of_sqlstate(&self.sqlstate),
            // Many errors of MySQL have the system's in their text.
            Some(_) if self.message.contains("No space left on device") => ErrorKind::DiskFull,
            Some(number) => kind_of_number(number),
        }
    }
}

fn kind_of_sqlstate(sqlstate: &[u8; 5]) -> ErrorKind {
    match sqlstate {
        b"40P01" => ErrorKind::Deadlock,
        b"40001" => ErrorKind::Serialization,
        b"55P03" | b"57014" | b"25P03" | b"25P04" | b"57P05" => ErrorKind::Timeout,
        b"53300" => ErrorKind::TooManyConnections,
        b"53100" => ErrorKind::DiskFull,
        b"57P01" | b"57P02" | b"57P03" => ErrorKind::ShuttingDown,
        [b'2', b'8', ..] => ErrorKind::Authentication,
        _ => ErrorKind::Other,
    }
}

fn kind_of_number(number: u16) -> ErrorKind {
    match number {
        1213 | 1614 => ErrorKind::Deadlock,
        1020 => ErrorKind::Serialization,
        1205 | 1969 | 3024 => ErrorKind::Timeout,
        1040 | 1203 | 1226 => ErrorKind::TooManyConnections,
        1021 | 1114 => ErrorKind::DiskFull,
        1053 | 1077 | 1079 | 3168 | 3169 => ErrorKind::ShuttingDown,
        1044 | 1045 | 1130 | 1251 | 1698 | 1862 | 3118 | 4151 => ErrorKind::Authentication,
        _ => ErrorKind::Other,
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.code(), self.message)?;
        if let Some(detail) = &self.detail {
            write!(formatter, " ({detail})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(sqlstate: &[u8; 5], number: Option<u16>) -> ServerError {
        let message = "no".into();
        ServerError { sqlstate: *sqlstate, number, message, detail: None, context: None, hint: None, is_fatal: false }
    }

    #[test]
    fn kinds_come_from_codes() {
        assert_eq!(error(b"40P01", None).kind(), ErrorKind::Deadlock);
        assert_eq!(error(b"40001", None).kind(), ErrorKind::Serialization);
        assert_eq!(error(b"28P01", None).kind(), ErrorKind::Authentication);
        // MySQL's deadlock has the SQLSTATE of a conflict.
        assert_eq!(error(b"40001", Some(1213)).kind(), ErrorKind::Deadlock);
        assert_eq!(error(b"HY000", Some(1205)).kind(), ErrorKind::Timeout);
        assert_eq!(error(b"22012", None).kind(), ErrorKind::Other);
        assert_eq!(error(b"53100", None).kind(), ErrorKind::DiskFull);
        assert_eq!(error(b"HY000", Some(1114)).kind(), ErrorKind::DiskFull);
        let full = "Got error 28 \"No space left on device\" from storage engine InnoDB".into();
        assert_eq!(ServerError { message: full, ..error(b"HY000", Some(1030)) }.kind(), ErrorKind::DiskFull);
    }

    #[test]
    fn a_message_begins_with_the_code() {
        assert_eq!(error(b"22012", None).to_string(), "22012 no");
        assert_eq!(error(b"40001", Some(1213)).to_string(), "1213 (40001) no");
    }
}
