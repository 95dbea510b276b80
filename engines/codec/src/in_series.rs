//! Decoding on in series, where cutting was misled: data that look like the border of a unit.
//!
//! The unit in front of a false border cannot end there, so its worker reports it, and everything before is sound and
//! written. What follows is decoded once more from the file, in order, with no help from borders. A damaged file takes the
//! same way: then the series finds the damage itself, and its place. A pipe's bytes are gone: there the report stands.

use crate::admission::{AMONG_UNITS, is_among_units};
use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::decompress::SEGMENT_BYTES;
use crate::ends::OutputEnd;
use crate::error::CodecError;
use crate::format::{CutError, Format, SegmentFill};
use crew::pipeline::CutTurn;
use std::fs::File;
use std::sync::Arc;

/// Where to go on.
#[derive(Clone, Copy)]
pub(crate) struct SeriesStart {
    pub format: &'static dyn Format,
    /// The unit's number in the file, its parameters, and where it begins.
    pub unit: u64,
    pub parameters: u64,
    pub offset: u64,
    /// Whether its uncompressed bytes are in the output already.
    pub is_handed_on: bool,
    /// Where the next uncompressed byte belongs.
    pub uncompressed_offset: u64,
}

/// Decodes everything from `start` to the end of `input` into `output`; returns where the input ended. `None` where the
/// format's cutting cannot be misled.
pub(crate) fn decode_on(
    start: &SeriesStart,
    input: &Arc<File>,
    output: &OutputEnd,
    passing: &dyn Fn(&[u8]),
) -> Option<Result<u64, CodecError>> {
    let mut series = start.format.in_series(start.parameters, start.is_handed_on)?;
    let mut reader = CompressedReader::file(Arc::clone(input), start.offset);
    let mut uncompressed = ByteBuffer::default();
    let mut offset = start.uncompressed_offset;
    loop {
        let filled = series.fill(&mut reader, &mut uncompressed, SEGMENT_BYTES, &mut CutTurn::with_a_hand());
        // What came out before a defect is sound.
        let placed = output.place(offset, uncompressed.len());
        if let Err(error) = placed.and_then(|spot| output.write(uncompressed.content(), spot)) {
            return Some(Err(error));
        }
        passing(uncompressed.content());
        offset += uncompressed.len() as u64;
        let (unit_name, unit) = (start.format.facts().unit_name, start.unit + series.units_behind());
        let position = reader.position();
        match filled {
            Ok(SegmentFill::More) => {}
            Ok(SegmentFill::Last(_)) => return Some(Ok(position)),
            Err(CutError::Read(cause)) => return Some(Err(CodecError::Read { offset: position, cause })),
            Err(CutError::Defect(defect)) => {
                return Some(Err(CodecError::Damaged { unit_name, unit, offset: position, defect }));
            }
            Err(CutError::Garbage) if is_among_units(start.format, &mut reader).unwrap_or(false) => {
                return Some(Err(CodecError::Damaged { unit_name, unit, offset: position, defect: AMONG_UNITS }));
            }
            Err(CutError::Garbage | CutError::FurtherEntries) => {
                let unit = unit - 1;
                return Some(Err(CodecError::TrailingGarbage { unit_name, unit, offset: position }));
            }
        }
    }
}
