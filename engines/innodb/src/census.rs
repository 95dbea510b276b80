//! What the pages of a file are: how many of each type, and how full its indexes are. Counts; judges nothing.

use crate::layout::PageFormat;
use crate::page::{
    CHECKSUM, COMPRESSED_MARK, DATA, FLUSH_LSN, INDEX_GARBAGE, INDEX_HEAP_RECORDS, INDEX_HEAP_TOP, INDEX_ID,
    INDEX_LEVEL, INDEX_RECORDS, PageType, u16_at, u32_at, u64_at,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// LIMIT: indexes of a file that are counted one by one. A table has 65 at most; a system tablespace of an old server may have every table's.
const INDEXES_MAX: usize = 100_000;

/// Pages of a file by type, and its indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageCensus {
    /// Pages by what their type is called.
    pub types: BTreeMap<&'static str, u64>,
    /// Index pages that can be read, by index.
    pub indexes: BTreeMap<u64, IndexTally>,
    /// Index pages whose header is compressed or encrypted, or that belong to an index beyond the limit.
    pub indexes_unknown: u64,
}

/// Pages of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexTally {
    /// All of them.
    pub pages: u64,
    /// Pages at the bottom.
    pub leaves: u64,
    /// Levels, as far as pages were met.
    pub levels: u32,
    /// Records, those that lead to other pages included.
    pub records: u64,
    /// Bytes of records, without what deleted ones left behind.
    pub data_bytes: u64,
}

impl PageCensus {
    /// Counts a page that is in use.
    pub fn count(&mut self, page: &[u8], format: PageFormat) {
        let page_type = PageType::of(page);
        let is_compressed = format == PageFormat::FullCrc32 && page_type.0 & COMPRESSED_MARK != 0;
        let name = if is_compressed { PageType(COMPRESSED_MARK).name() } else { page_type.name() };
        *self.types.entry(name).or_default() += 1;
        let is_index = page_type == PageType::INDEX || page_type.name() == "spatial index";
        if !is_index {
            return;
        }
        let key_version = if format == PageFormat::FullCrc32 { CHECKSUM } else { FLUSH_LSN };
        let id = u64_at(page, INDEX_ID);
        let is_new = !self.indexes.contains_key(&id);
        if u32_at(page, key_version) != 0 || (is_new && self.indexes.len() >= INDEXES_MAX) {
            self.indexes_unknown += 1;
            return;
        }
        self.indexes.entry(id).or_default().count(page);
    }

    /// Adds what another part of the file has.
    pub fn add(&mut self, other: &Self) {
        for (name, pages) in &other.types {
            *self.types.entry(name).or_default() += pages;
        }
        for (id, tally) in &other.indexes {
            if self.indexes.len() >= INDEXES_MAX && !self.indexes.contains_key(id) {
                self.indexes_unknown += tally.pages;
            } else {
                self.indexes.entry(*id).or_default().add(tally);
            }
        }
        self.indexes_unknown += other.indexes_unknown;
    }
}

impl IndexTally {
    fn count(&mut self, page: &[u8]) {
        let level = u32::from(u16_at(page, INDEX_LEVEL));
        self.pages += 1;
        self.leaves += u64::from(level == 0);
        self.levels = self.levels.max(level + 1);
        self.records += u64::from(u16_at(page, INDEX_RECORDS));
        // Behind both headers of segments and the two records that every page has: 5 or 6 bytes and 8 or 9 each.
        let is_compact = u16_at(page, INDEX_HEAP_RECORDS) & 0x8000 != 0;
        let begin = if is_compact { DATA + 56 + 2 * 5 + 2 * 8 } else { DATA + 56 + 2 + 2 * 6 + 8 + 9 };
        let used = usize::from(u16_at(page, INDEX_HEAP_TOP)).saturating_sub(begin);
        self.data_bytes += used.saturating_sub(usize::from(u16_at(page, INDEX_GARBAGE))) as u64;
    }

    fn add(&mut self, other: &Self) {
        self.pages += other.pages;
        self.leaves += other.leaves;
        self.levels = self.levels.max(other.levels);
        self.records += other.records;
        self.data_bytes += other.data_bytes;
    }
}
