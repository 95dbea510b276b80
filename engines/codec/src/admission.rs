//! What a decompression takes for compressed data, and what it does with the rest: the old tools differ in this.
//! Decides nothing by itself; `decompress` asks.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect, Unrecognised};
use crate::format::{CutError, Format, SegmentFill, StreamDecoder};
use crate::registry;
use crew::pipeline::CutTurn;

/// Which inputs are taken, and how strictly. The default takes every format that is known, and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct FormatAdmission {
    /// Names of the formats that are read; empty means all.
    pub formats: &'static [&'static str],
    /// Whether an input in no such format is passed on as it is, where otherwise it is refused.
    pub passes_on: bool,
    /// Whether units of another of these formats may follow the last of one.
    pub mixes: bool,
    /// What is done about what is odd and can be decoded all the same.
    pub oddities: Oddities,
    /// Whether an empty input is an empty uncompressed file.
    pub takes_empty: bool,
    /// What bytes behind the last unit are.
    pub behind_the_end: BehindTheEnd,
}

/// What is done about bytes behind the last unit that belong to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BehindTheEnd {
    /// They are an error: half a file must not pass for a whole one.
    #[default]
    Refused,
    /// The lane succeeds without them, and its outcome tells of them.
    Told,
    /// They are passed on as they are.
    PassedOn,
    /// Behind units of this format they are left unread without a word; elsewhere they are an error.
    LeftBehind(&'static str),
}

/// What is done about a [`Remark`](crate::format::Remark).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Oddities {
    /// It is an error.
    #[default]
    Refused,
    /// The lane's outcome tells of it.
    Told,
    /// Nothing.
    Ignored,
}

impl FormatAdmission {
    /// The format of what `input` gives, where it is one of those that are read; `None` where it is to be passed on.
    pub(crate) fn format(&self, input: &mut CompressedReader) -> Result<Option<&'static dyn Format>, CodecError> {
        match registry::recognise_among(input, self.formats) {
            Ok(format) if registry::is_among(format, self.formats) => Ok(Some(format)),
            Ok(_) | Err(CodecError::NotRecognised(_)) if self.passes_on => Ok(None),
            Err(CodecError::NotRecognised(Unrecognised::Empty)) if self.takes_empty => Ok(None),
            Ok(_) => Err(CodecError::NotRecognised(Unrecognised::Foreign)),
            Err(error) => Err(error),
        }
    }
}

impl FormatAdmission {
    /// The format of units that follow the last of another, where that is allowed.
    pub(crate) fn next_format(&self, input: &mut CompressedReader) -> Option<&'static dyn Format> {
        let found = if self.mixes { registry::recognise_among(input, self.formats).ok() } else { None };
        found.filter(|format| registry::is_among(*format, self.formats))
    }
}

/// LIMIT: how far behind what looks like garbage another unit is looked for; ours are 1 MiB of uncompressed data apart.
const BEHIND_BYTES: usize = 4 << 20;

/// What is wrong with garbage among units.
pub(crate) const AMONG_UNITS: UnitDefect = UnitDefect::Header("it does not begin as one, and more of them follow");

/// Whether units follow what looks like garbage behind the last one: then it is a unit whose first bytes are damaged.
pub(crate) fn is_among_units(format: &dyn Format, input: &mut CompressedReader) -> Result<bool, CodecError> {
    let offset = input.position();
    let behind = input.peek(BEHIND_BYTES, BEHIND_BYTES).map_err(|cause| CodecError::Read { offset, cause })?;
    Ok(format.begins_in(behind))
}

/// Passes an input on as it is.
pub(crate) struct AsItIs;

impl StreamDecoder for AsItIs {
    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        _turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        while uncompressed.len() < segment_bytes && (uncompressed.is_empty() || !input.would_wait()) {
            let ahead = input.peek(1, segment_bytes)?;
            if ahead.is_empty() {
                return Ok(SegmentFill::Last(None));
            }
            let count = ahead.len().min(segment_bytes - uncompressed.len());
            uncompressed.append(&ahead[..count]);
            input.consume(count);
        }
        Ok(SegmentFill::More)
    }
}
