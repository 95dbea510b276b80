//! Why a restore failed.

use crate::dump::DumpError;
use crate::dump_mysql::MySqlDumpFault;
use std::io;
use std::path::Path;
use wire::WireError;

/// Why a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A connection to the server, or a statement.
    #[error("{what}")]
    Server {
        /// What was attempted.
        what: String,
        /// Why it failed.
        #[source]
        cause: WireError,
    },
    /// A file of the archive, or of ours.
    #[error("{what} '{path}'")]
    File {
        /// What was attempted.
        what: &'static str,
        /// With which file.
        path: String,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// pg_restore.
    #[error("{program} {message}")]
    Program {
        /// Which program.
        program: &'static str,
        /// How it ended, and what it wrote on standard error.
        message: String,
    },
    /// Rows of the archive cannot be read.
    #[error("read '{file}', byte {offset}: {what}")]
    Damaged {
        /// Which file.
        file: String,
        /// Where; of the uncompressed bytes, if it is one stream.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The server has taken another number of rows.
    #[error("restore rows of {table}: {expected} were sent, and the server has taken {taken}")]
    Rows {
        /// Of which table.
        table: String,
        /// Rows that were sent.
        expected: u64,
        /// Rows that it counted.
        taken: u64,
    },
    /// The server refused a statement, and the first one ends the restore.
    #[error("{what}: {message}")]
    Refused {
        /// What was attempted.
        what: String,
        /// The server's words.
        message: String,
    },
    /// Something is there already.
    #[error("the database is not empty: it has {0} tables, views and sequences")]
    NotEmpty(u64),
    /// An interrupted restore has left something.
    #[error("a restore of {} was interrupted in this database", if *.is_ours { "this archive" } else { "another archive" })]
    Unfinished {
        /// Whether it was of this archive.
        is_ours: bool,
    },
    /// There is nothing that could go on, and something is there.
    #[error("no interrupted restore of this archive is noted in this database, which is not empty")]
    NothingInterrupted,
    /// What a restore of MariaDB or MySQL demands is not so.
    #[error(transparent)]
    MySql(#[from] MySqlDumpFault),
    /// Another restore works in this database.
    #[error("another restore into this database is under way")]
    Busy,
    /// It was ended from outside.
    #[error("interrupted")]
    Interrupted,
}

impl RestoreError {
    pub(crate) fn server(what: impl Into<String>) -> impl FnOnce(WireError) -> Self {
        let what = what.into();
        |cause| Self::Server { what, cause }
    }

    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |cause| Self::File { what, path, cause }
    }
}

impl From<DumpError> for RestoreError {
    fn from(error: DumpError) -> Self {
        match error {
            DumpError::Server { what, cause } => Self::Server { what, cause },
            DumpError::File { what, path, cause } => Self::File { what, path, cause },
            DumpError::Interrupted => Self::Interrupted,
            DumpError::MySql(fault) => Self::MySql(fault),
            other => Self::Program { program: "pg_restore", message: other.to_string() },
        }
    }
}
