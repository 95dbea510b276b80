//! What is wrong with an input, and why a load did not succeed.

use crate::chunks::RowPlace;
use crate::rows::RowDefect;
use std::io;
use wire::WireError;

/// What is wrong with an input at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputDefect {
    /// A quote that nothing closes.
    #[error("the quoted field that begins here does not end")]
    OpenQuote,
    /// A row that is longer than servers take.
    #[error(
        "{} is longer than {limit} bytes",
        if *is_quoted { "the quoted field that begins here" } else { "the row that begins here" }
    )]
    LongRow {
        /// The most.
        limit: usize,
        /// Whether a quoted field has not ended.
        is_quoted: bool,
    },
    /// A line that COPY takes for the end, with data behind it.
    #[error("the line '\\.' ends data of COPY, and more follows")]
    EndMarker,
    /// Two bytes a character.
    #[error("the file is UTF-16; iconv makes UTF-8 of it")]
    Utf16,
    /// Lines of old Macs.
    #[error("lines end with a carriage return alone; tr '\\r' '\\n' makes line feeds of them")]
    ReturnsAlone,
    /// A header that is not what was asked for.
    #[error("{0}")]
    Header(String),
    /// A row without values.
    #[error(transparent)]
    Row(#[from] RowDefect),
}

/// Why a load did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum LoadFailure {
    /// An input that is not what it should be.
    #[error("{defect}")]
    Input {
        /// Where.
        place: RowPlace,
        /// What.
        defect: InputDefect,
    },
    /// An input that cannot be opened or read on.
    #[error("{}", sys::error_text::message(cause))]
    Read {
        /// Which.
        input: usize,
        /// Why.
        cause: io::Error,
    },
    /// A row that the database refused, or that has not as many values as columns.
    #[error("{message}")]
    Row {
        /// Where.
        place: RowPlace,
        /// The database's words, or ours.
        message: String,
    },
    /// One of several rows, of which the database did not say which.
    #[error("{message}")]
    Rows {
        /// Where they begin.
        from: RowPlace,
        /// The line that they end on.
        last_line: u64,
        /// The database's words.
        message: String,
    },
    /// More rows were refused than allowed.
    #[error("more than {limit} rows were refused")]
    Rejects {
        /// The most.
        limit: u64,
    },
    /// What the database said of a statement.
    #[error("{0}")]
    Database(String),
    /// Two connections of the load wait for each other.
    #[error("two connections of this load wait for each other: {0}")]
    OwnLock(String),
    /// The connection broke, or the server ended it.
    #[error("{0}")]
    Connection(#[from] WireError),
    /// The refused rows could not be written.
    #[error("{}", sys::error_text::message(.0))]
    RejectFile(io::Error),
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
}
