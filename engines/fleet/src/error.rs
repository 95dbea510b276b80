//! What can fail, in words that read after "could not".

use std::io;
use std::path::Path;

/// An operation that failed, on which object, and why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused.
    #[error("{operation} '{object}': {}", sys::error_text::message(cause))]
    System {
        /// Such as `read host key`.
        operation: &'static str,
        /// A path, an address or a host.
        object: String,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// A rule of this engine refused.
    #[error("{operation} '{object}': {reason}")]
    Refused {
        /// Such as `read fleet key`.
        operation: &'static str,
        /// A path, an address or a text.
        object: String,
        /// Which rule.
        reason: String,
    },
}

impl Error {
    pub(crate) fn system(operation: &'static str, object: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self::System { operation, object: object.into(), cause: cause.into() }
    }

    pub(crate) fn at(operation: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        Self::system(operation, path.display().to_string(), cause)
    }

    pub(crate) fn refused(operation: &'static str, object: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused { operation, object: object.into(), reason: reason.into() }
    }
}
