//! A lane as a caller describes it (where bytes come from, where they go, what happens to the source) and what came of it.

use crate::byte_buffer::ByteBuffer;
use crate::error::CodecError;
use crate::format::Remark;
use serde::Serialize;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

/// Where a lane's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneInput {
    /// Standard input.
    Stdin,
    /// A file, FIFO or device.
    Path(PathBuf),
}

/// Where a lane's bytes go.
#[derive(Clone, Debug)]
pub enum LaneOutput {
    /// Standard output.
    Stdout,
    /// A file that appears complete or not at all; a FIFO or device that may be replaced is written directly instead.
    Path {
        /// Its name.
        path: PathBuf,
        /// Whether an existing file may be replaced.
        replace: bool,
    },
    /// A file that the caller has opened and names, behind what stands there; several lanes may share it, one after another.
    Open(Arc<File>),
    /// Nowhere: for testing.
    Discard,
    /// To the caller.
    Handed(OutputTaker),
}

impl PartialEq for LaneOutput {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdout, Self::Stdout) | (Self::Discard, Self::Discard) => true,
            (Self::Path { path, replace }, Self::Path { path: other, replace: also }) => {
                path == other && replace == also
            }
            (Self::Open(file), Self::Open(other)) => Arc::ptr_eq(file, other),
            (Self::Handed(taker), Self::Handed(other)) => taker == other,
            _ => false,
        }
    }
}

impl Eq for LaneOutput {}

/// Takes the bytes of an output, in order, called from one thread at a time that holds no hand. Its error ends the lane.
/// It may leave any other buffer in place of the one it is given.
#[derive(Clone)]
pub struct OutputTaker(pub Arc<Take>);

/// What a [`OutputTaker`] does with some bytes.
pub type Take = dyn Fn(&mut ByteBuffer) -> io::Result<()> + Send + Sync;

impl fmt::Debug for OutputTaker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Taker")
    }
}

impl PartialEq for OutputTaker {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OutputTaker {}

/// What happens to the source once its output is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceFate {
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
    pub input: LaneInput,
    /// Where to.
    pub output: LaneOutput,
    /// And then.
    pub source: SourceFate,
    /// How carefully the output is written.
    pub care: OutputCare,
}

/// How carefully an output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCare {
    /// Where long runs of zeros become holes.
    pub holes: Holes,
    /// Whether the output, and its name, are on the disk before the lane is done.
    pub syncs: bool,
    /// Whether the sound part of a damaged input gets the output's name. Decompression only.
    pub keeps_good: bool,
}

/// Where long runs of zeros become holes in a sparse file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holes {
    /// Nowhere.
    #[default]
    Never,
    /// In files that get their name here.
    InNamedFiles,
    /// In standard output too, where it is a regular file that ends where we begin.
    Everywhere,
}

/// What came of a lane.
#[derive(Debug)]
pub struct LaneOutcome {
    /// Bytes and units.
    pub totals: Totals,
    /// What could not be carried over from the source file besides its bytes.
    pub not_carried: Vec<files::carry::NotCarried>,
    /// Bytes of a damaged input's sound part that got the output's name: see [`OutputCare::keeps_good`].
    pub kept_bytes: Option<u64>,
    /// Bytes behind the last unit that were left unread, where [`BehindTheEnd::Told`](crate::admission::BehindTheEnd) allows it.
    pub left_unread: Option<CodecError>,
    /// Something odd about the input, which was worked on all the same.
    pub remark: Option<Remark>,
    /// Whether it is complete.
    pub outcome: Result<(), CodecError>,
}

impl LaneOutcome {
    /// Of a lane of which nothing else is known yet.
    pub(crate) fn new(outcome: Result<(), CodecError>) -> Self {
        Self {
            totals: Totals::default(),
            not_carried: Vec::new(),
            kept_bytes: None,
            left_unread: None,
            remark: None,
            outcome,
        }
    }
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
