//! Which unit of a file a message is about.

use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::CutError;

/// A unit, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitNumber {
    pub unit_name: &'static str,
    pub unit: u64,
    pub offset: u64,
}

impl UnitNumber {
    pub fn damaged(self, defect: UnitDefect) -> CodecError {
        CodecError::Damaged { unit_name: self.unit_name, unit: self.unit, offset: self.offset, defect }
    }

    pub fn at(self, error: CutError, reader: &CompressedReader) -> CodecError {
        match error {
            CutError::Read(cause) => CodecError::Read { offset: reader.position(), cause },
            CutError::Defect(defect) => self.damaged(defect),
            CutError::Garbage => self.damaged(UnitDefect::Header("it does not begin as one")),
            CutError::FurtherEntries => CodecError::FurtherEntries { offset: reader.position() },
        }
    }
}
