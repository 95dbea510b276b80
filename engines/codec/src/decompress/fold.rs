//! What a lane's chunks come to as they are placed: offsets, checks, totals.

use super::number::UnitNumber;
use super::{Content, DecompressChunk, Failure};
use crate::ends::OutputEnd;
use crate::error::{CodecError, UnitDefect};
use crate::format::SegmentFill;
use crate::in_series::SeriesStart;
use crate::lane::Totals;
use crate::running_check::{CheckSoFar, RunningCheck, SegmentCheck};

/// The chunks so far.
#[derive(Default)]
pub struct Fold {
    pub offset: u64,
    /// Uncompressed bytes that every check so far confirms.
    pub confirmed: u64,
    pub totals: Totals,
    pub check: CheckSoFar,
    /// A unit before was found damaged: nothing after it is placed.
    pub broken_in: Option<UnitNumber>,
    /// Where decoding may go on in series after that.
    pub series: Option<SeriesStart>,
}

/// How many written bytes are sound: those that checks confirm, or, of a file that breaks off, all, since no check failed.
pub fn sound_bytes(error: &CodecError, fold: &Fold, output: &OutputEnd) -> u64 {
    match error {
        CodecError::Damaged { defect: UnitDefect::Truncated, .. } => output.written(),
        error if error.is_damage() => fold.confirmed.min(output.written()),
        _ => 0,
    }
}

impl Fold {
    /// Counts a chunk's units and continues their check. True if it confirms all sound bytes so far; a wrong check fails the chunk.
    pub fn check(&mut self, chunk: &mut DecompressChunk) -> bool {
        let (unit, claim) = match &chunk.content {
            Content::Nothing => return false,
            Content::Units { units, .. } => {
                self.totals.units += units.len() as u64;
                if units.first().is_some_and(|unit| unit.is_checked_later) {
                    self.check.add(SegmentCheck::begin(RunningCheck::Xxh32), chunk.uncompressed.content());
                    return false;
                }
                return true;
            }
            Content::Segment { unit, filled, check, .. } => {
                self.check.add(*check, chunk.uncompressed.content());
                let SegmentFill::Last(claim) = filled else { return false };
                self.totals.units += 1;
                self.totals.streamed_units += 1;
                (unit, claim)
            }
            Content::Check { unit, claim } => (unit, claim),
        };
        let compared = self.check.compare(*claim);
        let is_confirmed = compared.is_ok();
        if let Err(defect) = compared {
            chunk.failure = Some(Failure { cause: unit.damaged(defect), sound_bytes: 0, series: None });
        }
        is_confirmed
    }
}
