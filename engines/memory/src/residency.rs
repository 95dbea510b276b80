//! The verdict on residency: whether all of the large mappings of some processes are in memory, and locked where that is asked for. Pure.

use crate::look::{LargeMapping, ProcessMappings};
use serde::Serialize;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResidencyVerdict {
    /// Large mappings.
    pub mappings: usize,
    /// Of these, not resident as a whole.
    pub incomplete: usize,
    /// Of these, not locked as a whole.
    pub unlocked: usize,
    /// Bytes of all.
    pub bytes: u64,
    /// Bytes that are not resident.
    pub missing_bytes: u64,
    /// Bytes of them in swap space.
    pub swapped_bytes: u64,
    /// Bytes that were not judged: smaller areas beside them with other flags.
    pub beside_bytes: u64,
    /// Processes without a large mapping.
    pub without_mappings: usize,
}

impl ResidencyVerdict {
    /// Judges all mappings of all processes together.
    pub fn on(processes: &[ProcessMappings]) -> Self {
        let without_mappings = processes.iter().filter(|process| process.mappings.is_empty()).count();
        let mut verdict = Self { without_mappings, ..Self::default() };
        processes.iter().flat_map(|process| &process.mappings).for_each(|mapping| verdict.add(mapping));
        verdict
    }

    fn add(&mut self, mapping: &LargeMapping) {
        self.mappings += 1;
        self.incomplete += usize::from(mapping.missing_bytes() > 0);
        self.unlocked += usize::from(mapping.locked_bytes < mapping.bytes);
        self.bytes = self.bytes.saturating_add(mapping.bytes);
        self.missing_bytes = self.missing_bytes.saturating_add(mapping.missing_bytes());
        self.swapped_bytes = self.swapped_bytes.saturating_add(mapping.swapped_bytes);
        self.beside_bytes = self.beside_bytes.saturating_add(mapping.beside_bytes);
    }

    /// Whether that proves what was asked for. Of a process without a mapping nothing is proved.
    pub fn is_proof(&self, wants_lock: bool) -> bool {
        self.mappings > 0 && self.without_mappings == 0 && self.incomplete == 0 && (!wants_lock || self.unlocked == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(bytes: u64, resident_bytes: u64, locked_bytes: u64) -> LargeMapping {
        LargeMapping { bytes, resident_bytes, locked_bytes, ..LargeMapping::default() }
    }

    fn verdict(mappings: Vec<LargeMapping>) -> ResidencyVerdict {
        ResidencyVerdict::on(&[ProcessMappings { pid: 1, command: String::new(), mappings }])
    }

    #[test]
    fn one_missing_page_is_no_proof() {
        let whole = verdict(vec![mapping(8192, 8192, 8192), mapping(4096, 4096, 0)]);
        assert!(whole.is_proof(false) && !whole.is_proof(true));
        assert_eq!((whole.unlocked, whole.bytes, whole.missing_bytes), (1, 12288, 0));
        let torn = verdict(vec![mapping(8192, 4096, 8192)]);
        assert!(!torn.is_proof(false) && !torn.is_proof(true));
        assert_eq!((torn.incomplete, torn.missing_bytes), (1, 4096));
        assert!(verdict(vec![mapping(8192, 8192, 8192)]).is_proof(true));
    }

    #[test]
    fn a_process_without_a_mapping_is_no_proof() {
        let of = |mappings| ProcessMappings { pid: 1, command: String::new(), mappings };
        let verdict = ResidencyVerdict::on(&[of(Vec::new()), of(vec![mapping(8192, 8192, 8192)])]);
        assert_eq!((verdict.without_mappings, verdict.incomplete, verdict.is_proof(false)), (1, 0, false));
    }

    #[test]
    fn of_nothing_nothing_is_proved() {
        assert!(!verdict(Vec::new()).is_proof(false) && !ResidencyVerdict::on(&[]).is_proof(true));
    }
}
