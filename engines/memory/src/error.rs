//! Why memory could not be had. Texts read after "could not"; numbers are in bytes.

use crate::limits::Shortage;
use crate::pool::RangeFault;
use std::io;

/// Why memory could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// No thread can be created.
    #[error("start a thread")]
    Thread(#[source] io::Error),
    /// A limit is too low: nothing was tried.
    #[error("{0}")]
    Short(Shortage),
    /// The kernel refused a step on the whole range.
    #[error("{step}")]
    Refused {
        /// What was tried: "reserve 4294967296 bytes".
        step: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// The kernel refused a part of the range.
    #[error("populate bytes {} to {} of the range ({faults} parts refused)", first.part.start, first.part.end)]
    Parts {
        /// The first part.
        #[source]
        first: PartFault,
        /// How many were refused, as far as they were counted.
        faults: usize,
    },
    /// All calls succeeded, and pages are missing all the same.
    #[error(
        "populate the range: {missing_bytes} of {bytes} bytes are not resident although the kernel reported no error"
    )]
    Missing {
        /// Not resident.
        missing_bytes: u64,
        /// All.
        bytes: u64,
    },
}

/// A part of a range and the kernel's reason.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct PartFault {
    /// From the range's beginning.
    pub part: std::ops::Range<usize>,
    /// The kernel's reason.
    #[source]
    pub cause: io::Error,
}

impl From<RangeFault> for PartFault {
    fn from(fault: RangeFault) -> Self {
        Self { part: fault.part, cause: fault.cause }
    }
}

impl MemoryError {
    /// A step that failed on the whole range.
    pub(crate) fn refused(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |cause| Self::Refused { step, cause }
    }
}
