//! A lane as a caller describes it (where bytes come from, where they go, what happens to the source) and what came of it.

use crate::error::CodecError;
use serde::Serialize;
use std::path::PathBuf;

/// Where a lane's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file, FIFO or device.
    Path(PathBuf),
}

/// Where a lane's bytes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A file that appears complete or not at all; a FIFO or device is written directly.
    Path {
        /// Its name.
        path: PathBuf,
        /// Whether an existing file may be replaced.
        replace: bool,
    },
    /// Nowhere: for testing.
    Discard,
}

/// What happens to the source once its output is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// It stays.
    #[default]
    Keep,
    /// It is removed.
    Remove,
}

/// One input, one output.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Where from.
    pub input: Input,
    /// Where to.
    pub output: Output,
    /// And then.
    pub source: Source,
}

/// What came of a lane.
#[derive(Debug)]
pub struct LaneOutcome {
    /// Bytes and units.
    pub totals: Totals,
    /// What could not be carried over from the source file besides its bytes.
    pub not_carried: Vec<sys::metadata::NotCarried>,
    /// Bytes behind the last unit that were left unread, where [`BehindTheEnd::Told`](crate::admission::BehindTheEnd) allows it.
    pub left_unread: Option<CodecError>,
    /// Whether it is complete.
    pub outcome: Result<(), CodecError>,
}

/// Bytes and units of a lane or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Members or frames.
    pub units: u64,
    /// Units of them that were decoded as a stream because they do not tell their length.
    pub streamed_units: u64,
}

impl Totals {
    /// Adds another lane's.
    pub fn add(&mut self, other: &Self) {
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.units += other.units;
        self.streamed_units += other.streamed_units;
    }
}
