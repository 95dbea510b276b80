//! Why a file has no digest.

use std::io;
use thiserror::Error;

/// Why a file has no digest. Its text reads after "could not".
#[derive(Debug, Error)]
pub enum DigestError {
    /// It could not be opened.
    #[error("open it")]
    Open(#[source] io::Error),
    /// It is a directory.
    #[error("read it: it is a directory")]
    Directory,
    /// Reading failed.
    #[error("read it at byte {offset}")]
    Read {
        /// Where.
        offset: u64,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl DigestError {
    /// The kernel's reason.
    pub fn cause(&self) -> io::Error {
        match self {
            Self::Open(cause) | Self::Read { cause, .. } => {
                cause.raw_os_error().map_or_else(|| io::Error::other(cause.to_string()), io::Error::from_raw_os_error)
            }
            Self::Directory => rustix::io::Errno::ISDIR.into(),
        }
    }

    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Open(cause) if cause.kind() == io::ErrorKind::NotFound)
    }
}
