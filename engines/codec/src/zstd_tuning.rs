//! How zst frames are made beyond their level, and what may be asked of the library about that.
//! The names and values are those of `zstd --zstd=...` and its relatives; 0 and `None` leave a choice to the level.
//! Encodes nothing: `formats::zstd` obeys it.

use crate::error::CodecError;
use crate::format::{EncodeOptions, UnitLayout};
use crate::formats::zstd::parameters;

/// How a frame is made, beyond its level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZstdTuning {
    /// How matches are searched.
    pub search: ZstdSearch,
    /// How far-away matches are searched, with [`EncodeOptions::window_log`].
    pub long: ZstdLongSearch,
    /// Whether the checksum behind the content is left out.
    pub leaves_out_checksum: bool,
    /// Whether the header leaves out the size of the content.
    pub leaves_out_size: bool,
    /// Whether one frame of a regular file states the file's size.
    pub states_file_size: bool,
    /// The size that a stream has to have: it is stated, and anything else is an error.
    pub stream_bytes: Option<u64>,
    /// About how large a stream is going to be.
    pub hinted_bytes: u32,
    /// About how large a compressed block may become.
    pub block_bytes: u32,
    /// Bytes that one of the library's threads takes at a time.
    pub job_bytes: u32,
    /// Whether literals are compressed always or never.
    pub compresses_literals: Option<bool>,
    /// Whether matches are searched in rows.
    pub searches_rows: Option<bool>,
    /// Bytes before the frame that its matches may refer to; the same must be given when decoding.
    pub prefix: Option<&'static [u8]>,
}

/// How matches are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZstdSearch {
    /// Binary logarithm of the farthest distance.
    pub window_log: u32,
    /// Of the entries of the second table.
    pub chain_log: u32,
    /// Of the entries of the hash table.
    pub hash_log: u32,
    /// Of the candidates for each match.
    pub search_log: u32,
    /// The shortest match.
    pub min_match: u32,
    /// A match that is long enough to be taken at once; for fast levels the step.
    pub target_length: u32,
    /// 1, fast, to 9, thorough.
    pub strategy: u32,
    /// How much of the window threads share with the one before: 1, nothing, to 9, all.
    pub overlap_log: Option<u32>,
}

/// How far-away matches are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZstdLongSearch {
    /// Binary logarithm of the entries of their table.
    pub hash_log: u32,
    /// The shortest match.
    pub min_match: u32,
    /// Binary logarithm of the entries with one hash.
    pub bucket_log: Option<u32>,
    /// Of the positions of which one is entered.
    pub hash_rate_log: Option<u32>,
}

impl ZstdTuning {
    /// Whether it says something that holds for a frame of the whole input only: about its window, its size, or how threads divide it.
    pub fn needs_one_frame(&self) -> bool {
        let of_each = Self {
            leaves_out_checksum: self.leaves_out_checksum,
            compresses_literals: self.compresses_literals,
            searches_rows: self.searches_rows,
            states_file_size: self.states_file_size,
            hinted_bytes: self.hinted_bytes,
            ..Self::default()
        };
        *self != of_each
    }

    /// Whether any encoder can make such frames: with a checksum or without.
    pub(crate) fn is_usual(&self) -> bool {
        let usual = Self {
            leaves_out_checksum: self.leaves_out_checksum,
            states_file_size: self.states_file_size,
            hinted_bytes: self.hinted_bytes,
            ..Self::default()
        };
        *self == usual
    }

    /// Whether the library takes these values.
    ///
    /// # Errors
    ///
    /// The library's words about the first value that it does not take.
    pub fn check(&self, level: i32, window_log: Option<u32>) -> Result<(), CodecError> {
        let options = EncodeOptions { window_log, zst: *self, ..EncodeOptions::new(level, UnitLayout::SingleUnit) };
        parameters::check(&options)
    }
}

impl ZstdSearch {
    /// The parameters of a level for content of so many bytes, with a dictionary of so many.
    pub fn of_level(level: i32, content_bytes: Option<u64>, dictionary_bytes: usize) -> Self {
        parameters::of_level(level, content_bytes, dictionary_bytes)
    }

    /// The name of its strategy.
    pub fn strategy_name(&self) -> &'static str {
        const NAMES: [&str; 10] =
            ["", "fast", "dfast", "greedy", "lazy", "lazy2", "btlazy2", "btopt", "btultra", "btultra2"];
        NAMES[(self.strategy as usize).min(NAMES.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_for_each_frame_needs_no_single_one() {
        let plain = ZstdTuning::default();
        assert!(!plain.needs_one_frame() && plain.is_usual());
        let without = ZstdTuning { leaves_out_checksum: true, hinted_bytes: 9, ..plain };
        assert!(!without.needs_one_frame() && without.is_usual());
        let literals = ZstdTuning { compresses_literals: Some(false), ..plain };
        assert!(!literals.needs_one_frame() && !literals.is_usual());
        let windowed = ZstdTuning { search: ZstdSearch { window_log: 20, ..ZstdSearch::default() }, ..plain };
        assert!(windowed.needs_one_frame() && !windowed.is_usual());
    }

    #[test]
    fn values_out_of_bounds_are_refused_in_the_librarys_words() {
        let with = |search| ZstdTuning { search, ..ZstdTuning::default() };
        let search = ZstdSearch::default();
        assert!(with(ZstdSearch { window_log: 23, strategy: 9, ..search }).check(3, None).is_ok());
        for wrong in [ZstdSearch { window_log: 40, ..search }, ZstdSearch { strategy: 12, ..search }] {
            let error = with(wrong).check(3, None).expect_err("out of bounds");
            assert!(error.to_string().contains("Parameter is out of bound"), "{error}");
        }
        assert!(ZstdTuning::default().check(3, Some(5)).is_err());
    }

    #[test]
    fn a_level_has_its_parameters() {
        let search = ZstdSearch::of_level(19, None, 0);
        assert_eq!((search.window_log, search.strategy_name()), (23, "btultra2"));
        assert!(ZstdSearch::of_level(19, Some(1000), 0).window_log < 12);
    }
}
