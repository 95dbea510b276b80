//! Makes zst dictionaries of samples, by the algorithms of libzstd.
//! Reads no files: samples stand one behind another in memory. Who says how much memory that may be is the caller.

use crate::error::CodecError;
use crate::formats::zstd::train_dictionary;

/// An algorithm, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingWay {
    /// Segments that cover the most frequent parts of samples; slow, 9 bytes of memory a byte of samples.
    Cover(SegmentSearch),
    /// The same by an approximation; the usual way.
    FastCover(SegmentSearch),
    /// Repeated parts of samples, found by sorting suffixes.
    Legacy {
        /// How often a part must occur to be taken; larger takes more parts.
        selectivity: u32,
    },
}

/// How segments are searched. 0 leaves a number to the library, which then tries several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentSearch {
    /// Bytes of a segment.
    pub k: u32,
    /// Bytes of a part that is counted: 6 or 8.
    pub d: u32,
    /// Segment sizes that are tried.
    pub steps: u32,
    /// The share of samples that the dictionary is made of; it is judged by the others.
    pub split_percent: u32,
    /// Whether a smaller dictionary is taken, as long as it is not worse by more than this.
    pub shrinks_within_percent: Option<u32>,
    /// Binary logarithm of the counters; only for the approximation.
    pub f: u32,
    /// How many positions are left out, 1 to 10; only for the approximation.
    pub accel: u32,
}

impl SegmentSearch {
    /// Whether there is nothing left to try.
    pub fn is_complete(&self) -> bool {
        self.k > 0 && self.d > 0
    }
}

/// The dictionary that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct DictionaryAim {
    /// The most that it may have.
    pub bytes: usize,
    /// The level that it will be used with; 0 is the library's usual one.
    pub level: i32,
    /// Its number; 0 makes one of its content.
    pub dictionary_id: u32,
    /// Threads that the library may start.
    pub threads: u32,
}

/// Trains a dictionary of `samples`, each as long as `sizes` says. Parameters that were left to the library are noted in `way`.
///
/// # Panics
///
/// If the sizes do not add up to the samples.
///
/// # Errors
///
/// The library's words: too few samples, samples that are too short, no memory.
pub fn train(
    samples: &[u8],
    sizes: &[usize],
    way: &mut TrainingWay,
    aim: &DictionaryAim,
) -> Result<Vec<u8>, CodecError> {
    train_dictionary(samples, sizes, way, aim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> (Vec<u8>, Vec<usize>) {
        let each: Vec<Vec<u8>> = (0..200).map(|number| testkit::data::log_lines(1500, number)).collect();
        (each.concat(), each.iter().map(Vec::len).collect())
    }

    #[test]
    fn every_way_makes_a_dictionary_that_helps() {
        let (samples, sizes) = samples();
        let aim = DictionaryAim { bytes: 8 << 10, level: 3, dictionary_id: 4711, threads: 2 };
        let some = SegmentSearch { d: 8, steps: 2, split_percent: 75, f: 16, accel: 4, ..SegmentSearch::default() };
        let ways = [
            TrainingWay::FastCover(some),
            TrainingWay::FastCover(SegmentSearch { k: 200, ..some }),
            TrainingWay::Cover(SegmentSearch { k: 200, split_percent: 100, ..some }),
            TrainingWay::Legacy { selectivity: 9 },
        ];
        let fresh = testkit::data::log_lines(1500, 999);
        let without = zstd_safe::compress_bound(fresh.len());
        let without = zstd_safe::compress(&mut vec![0; without][..], &fresh, 3).expect("any bytes can be packed");
        for mut way in ways {
            let dictionary = train(&samples, &sizes, &mut way, &aim).expect("enough samples");
            assert!(dictionary.len() <= aim.bytes && dictionary.starts_with(&0xEC30_A437_u32.to_le_bytes()));
            assert_eq!(dictionary[4..8], 4711_u32.to_le_bytes(), "its number");
            let mut context = zstd_safe::CCtx::create();
            let room = &mut vec![0; 4000][..];
            let with = context.compress_using_dict(room, &fresh, &dictionary, 3).expect("a good dictionary");
            assert!(with < without, "{way:?}: {with} of {without}");
            if let TrainingWay::FastCover(found) = way {
                assert!(found.is_complete(), "every trial is reported: {found:?}");
            }
        }
    }

    #[test]
    fn too_little_is_refused_in_the_librarys_words() {
        let mut way =
            TrainingWay::FastCover(SegmentSearch { k: 50, d: 8, f: 10, accel: 1, ..SegmentSearch::default() });
        let aim = DictionaryAim { bytes: 1000, level: 0, dictionary_id: 0, threads: 1 };
        assert!(train(b"ab", &[1, 1], &mut way, &aim).is_err());
    }
}
