//! Small units of one format that stand side by side: a chunk for one worker.
//! Reads nothing; the source fills it.

use super::{GroupedUnit, UnitNumber};
use crate::compressed_reader::CompressedReader;
use crate::format::{DecodeLimits, Format, UnitPlace};

/// Bytes of small units (BGZF blocks) that are handed to a worker together, uncompressed or compressed: a block alone is too little
/// work. Larger groups cost memory and divide less evenly.
const GROUP_BYTES: u64 = 1 << 20;

/// LIMIT: units in a group; a file of empty ones would otherwise be one group.
const GROUP_UNITS: usize = 1024;

/// Neighbouring units that go to a worker together.
pub(super) struct UnitGroup {
    pub from: u64,
    pub format: Option<&'static dyn Format>,
    pub units: Vec<GroupedUnit>,
    pub plain_bytes: u64,
    pub packed_bytes: u64,
}

impl UnitGroup {
    pub fn begin(from: u64) -> Self {
        Self { from, format: None, units: Vec::new(), plain_bytes: 0, packed_bytes: 0 }
    }

    /// Whether another unit may be looked for. A pipe that has nothing at hand is not waited for with units gathered.
    pub fn has_room(&self, reader: &CompressedReader) -> bool {
        let is_full =
            self.plain_bytes >= GROUP_BYTES || self.packed_bytes >= GROUP_BYTES || self.units.len() >= GROUP_UNITS;
        self.units.is_empty() || !(is_full || reader.would_wait())
    }

    /// Whether one more unit belongs into it.
    pub fn takes(&self, place: &UnitPlace, format: Option<&'static dyn Format>, limits: &DecodeLimits) -> bool {
        let name = |format: Option<&dyn Format>| format.map(|format| format.facts().name);
        let plain_bytes = place.uncompressed.bound().unwrap_or(limits.unit_uncompressed_bytes);
        self.units.last().is_none_or(|last| {
            last.is_checked_later == place.is_checked_later
                && name(self.format) == name(format)
                && self.plain_bytes + plain_bytes <= GROUP_BYTES
                && self.packed_bytes + place.packed_bytes <= GROUP_BYTES
        })
    }

    /// Adds one of `packed_bytes`.
    pub fn add(&mut self, number: UnitNumber, place: &UnitPlace, packed_bytes: usize, limits: &DecodeLimits) {
        self.plain_bytes += place.uncompressed.bound().unwrap_or(limits.unit_uncompressed_bytes);
        self.packed_bytes += place.packed_bytes;
        self.units.push(GroupedUnit {
            number,
            packed_bytes,
            shared_bytes: place.shared_bytes,
            parameters: place.parameters,
            is_checked_later: place.is_checked_later,
        });
    }
}
