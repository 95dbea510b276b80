//! What a compressed file holds, from its headers alone: for `--list`.
//! Decodes nothing; where a unit does not tell its size the survey says so, and the caller may decode to find out.

use crate::compressed_reader::CompressedReader;
use crate::ends::InputEnd;
use crate::error::{CodecError, UnitDefect, Unrecognised};
use crate::format::{CutError, DecodeLimits, Detail, NextUnit, UncompressedSize};
use crate::lane::LaneInput;
use crate::registry;
use serde::Serialize;
use std::sync::Arc;

/// What the headers of a compressed file tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderSurvey {
    /// Name of the format.
    pub format: &'static str,
    /// Name of the check that its units carry.
    pub check: &'static str,
    /// Size of the compressed file.
    pub packed_bytes: u64,
    /// Uncompressed size, where every unit tells its own.
    pub plain_bytes: Option<u64>,
    /// Members or frames; where some do not tell their length, those before the first such.
    pub units: u64,
    /// Skippable frames beside those.
    pub skipped: u64,
    /// The largest unit that tells its uncompressed size.
    pub largest_unit_bytes: u64,
    /// Whether only decoding finds the end of a unit.
    pub is_streamed: bool,
    /// What the headers of the last unit tell.
    pub detail: Detail,
}

impl HeaderSurvey {
    /// Whether more than one core can decode the file: it has several units, the ends of all can be found, and they are
    /// small enough to be held.
    pub fn is_parallel(&self, limits: &DecodeLimits) -> bool {
        !self.is_streamed && self.units > 1 && self.largest_unit_bytes <= limits.unit_uncompressed_bytes
    }
}

/// Surveys one input, in one of the formats called `names`; of none called means in any.
pub fn survey(input: &LaneInput, names: &[&str]) -> Result<HeaderSurvey, CodecError> {
    let end = InputEnd::open(input)?;
    let extent = end.extent.ok_or(CodecError::NotAFile)?;
    survey_among(&mut CompressedReader::file(Arc::clone(&end.file), extent.from), names)
}

/// Surveys what a reader gives, from its position to its end or to the first unit that does not tell its length.
pub fn survey_reader(reader: &mut CompressedReader) -> Result<HeaderSurvey, CodecError> {
    survey_among(reader, &[])
}

fn survey_among(reader: &mut CompressedReader, names: &[&str]) -> Result<HeaderSurvey, CodecError> {
    let read_error = |offset| move |cause| CodecError::Read { offset, cause };
    let format = registry::recognise_among(reader, names)?;
    if !registry::is_among(format, names) {
        return Err(CodecError::NotRecognised(Unrecognised::Foreign));
    }
    let facts = format.facts();
    // No limit: nothing is held, only headers are looked at.
    let limits = DecodeLimits {
        unit_uncompressed_bytes: u64::from(u32::MAX) << 16,
        unit_held_bytes: u64::MAX,
        window_bytes: u64::MAX,
        // Which one is needed does not matter here.
        dictionary: Some(&[]),
        prefix: None,
        stream_bytes: u64::MAX,
        ahead_bytes: 0,
        streams_lone_unit: false,
    };
    let mut cutter = format.cutter(&limits);
    let mut survey = HeaderSurvey {
        format: facts.name,
        check: facts.check,
        packed_bytes: 0,
        plain_bytes: Some(0),
        units: 0,
        skipped: 0,
        largest_unit_bytes: 0,
        is_streamed: false,
        detail: Detail::default(),
    };
    loop {
        let offset = reader.position();
        let damaged = |unit, defect| CodecError::Damaged { unit_name: facts.unit_name, unit, offset, defect };
        let bytes = match cutter.next(reader) {
            Ok(NextUnit::End) => break,
            Ok(NextUnit::Unit(place)) => {
                survey.units += 1;
                let uncompressed = place.uncompressed.bound().unwrap_or(0);
                survey.largest_unit_bytes = survey.largest_unit_bytes.max(uncompressed);
                let known = matches!(place.uncompressed, UncompressedSize::Known(_)).then_some(uncompressed);
                survey.plain_bytes =
                    survey.plain_bytes.zip(known).map(|(sum, uncompressed)| sum.saturating_add(uncompressed));
                place.packed_bytes
            }
            Ok(NextUnit::Padding { bytes } | NextUnit::Zeros { bytes } | NextUnit::Check { bytes, .. }) => bytes,
            Ok(NextUnit::Stream(_)) => {
                survey.plain_bytes = None;
                survey.is_streamed = true;
                reader.skip(u64::MAX).map_err(read_error(offset))?;
                break;
            }
            Err(CutError::Read(cause)) => return Err(CodecError::Read { offset, cause }),
            Err(CutError::Defect(defect)) => return Err(damaged(survey.units + 1, defect)),
            Err(CutError::FurtherEntries) => return Err(CodecError::FurtherEntries { offset }),
            Err(CutError::Garbage) => {
                let (unit_name, unit) = (facts.unit_name, survey.units);
                return Err(CodecError::TrailingGarbage { unit_name, unit, offset });
            }
        };
        let skipped = reader.skip(bytes).map_err(read_error(offset))?;
        if skipped < bytes {
            return Err(damaged(survey.units.max(1), UnitDefect::Truncated));
        }
    }
    survey.packed_bytes = reader.position();
    survey.skipped = cutter.skipped();
    survey.detail = cutter.detail();
    survey.check = cutter.check().unwrap_or(facts.check);
    Ok(survey)
}
