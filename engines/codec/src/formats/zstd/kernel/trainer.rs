//! libzstd's dictionary builder: from samples that stand one behind another to a dictionary, by one of its three algorithms.
//! It reads no files and chooses no sizes; the safe binding offers only the default algorithm.
#![expect(unsafe_code, reason = "the safe binding hides the builder's parameters")]
// Invariants all blocks below rest on:
//  1. the sizes add up to the length of the samples, which is checked before;
//  2. the dictionary's buffer has the length that the library gets, and nobody else has a reference to either.

use crate::error::CodecError;
use crate::zstd_training::{DictionaryAim, SegmentSearch, TrainingWay};
use std::ffi::CStr;
use zstd_safe::zstd_sys::{
    ZDICT_cover_params_t, ZDICT_fastCover_params_t, ZDICT_getErrorName, ZDICT_isError, ZDICT_legacy_params_t,
    ZDICT_optimizeTrainFromBuffer_cover, ZDICT_optimizeTrainFromBuffer_fastCover, ZDICT_params_t,
    ZDICT_trainFromBuffer_cover, ZDICT_trainFromBuffer_fastCover, ZDICT_trainFromBuffer_legacy,
};

/// Trains a dictionary. Parameters that were left to the library are noted in `way`.
///
/// # Panics
///
/// If the sizes do not add up to the samples.
///
/// # Errors
///
/// The library's: too few samples, too short ones, no memory.
pub fn train(
    samples: &[u8],
    sizes: &[usize],
    way: &mut TrainingWay,
    aim: &DictionaryAim,
) -> Result<Vec<u8>, CodecError> {
    let all = sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size));
    assert_eq!(all, Some(samples.len()), "the sizes add up to the samples");
    let mut dictionary = vec![0; aim.bytes];
    let count = u32::try_from(sizes.len()).unwrap_or(u32::MAX);
    let (out, room) = (dictionary.as_mut_ptr().cast(), dictionary.len());
    let (from, lengths) = (samples.as_ptr().cast(), sizes.as_ptr());
    let common = ZDICT_params_t { compressionLevel: aim.level, notificationLevel: 0, dictID: aim.dictionary_id };
    let code = match way {
        TrainingWay::Cover(search) => {
            let mut parameters = cover(search, aim, common);
            let code = match search.is_complete() {
                // SAFETY: invariants 1 and 2.
                true => unsafe { ZDICT_trainFromBuffer_cover(out, room, from, lengths, count, parameters) },
                // SAFETY: the same; the parameters are ours alone.
                false => unsafe {
                    ZDICT_optimizeTrainFromBuffer_cover(out, room, from, lengths, count, &raw mut parameters)
                },
            };
            (search.k, search.d, search.steps) = (parameters.k, parameters.d, parameters.steps);
            search.split_percent = (parameters.splitPoint * 100.0) as u32;
            code
        }
        TrainingWay::FastCover(search) => {
            let mut parameters = fast_cover(search, aim, common);
            let code = match search.is_complete() {
                // SAFETY: invariants 1 and 2.
                true => unsafe { ZDICT_trainFromBuffer_fastCover(out, room, from, lengths, count, parameters) },
                // SAFETY: the same; the parameters are ours alone.
                false => unsafe {
                    ZDICT_optimizeTrainFromBuffer_fastCover(out, room, from, lengths, count, &raw mut parameters)
                },
            };
            (search.k, search.d, search.steps) = (parameters.k, parameters.d, parameters.steps);
            (search.f, search.accel) = (parameters.f, parameters.accel);
            search.split_percent = (parameters.splitPoint * 100.0) as u32;
            code
        }
        TrainingWay::Legacy { selectivity } => {
            let parameters = ZDICT_legacy_params_t { selectivityLevel: *selectivity, zParams: common };
            // SAFETY: invariants 1 and 2.
            unsafe { ZDICT_trainFromBuffer_legacy(out, room, from, lengths, count, parameters) }
        }
    };
    // SAFETY: no conditions.
    if unsafe { ZDICT_isError(code) } != 0 {
        // SAFETY: the library returns a text of its own that ends in a zero byte and never changes.
        let words = unsafe { CStr::from_ptr(ZDICT_getErrorName(code)) };
        return Err(CodecError::Library { library: "zstd", message: words.to_string_lossy().into_owned() });
    }
    dictionary.truncate(code);
    Ok(dictionary)
}

fn cover(search: &SegmentSearch, aim: &DictionaryAim, common: ZDICT_params_t) -> ZDICT_cover_params_t {
    ZDICT_cover_params_t {
        k: search.k,
        d: search.d,
        steps: search.steps,
        nbThreads: aim.threads,
        splitPoint: f64::from(search.split_percent) / 100.0,
        shrinkDict: u32::from(search.shrinks_within_percent.is_some()),
        shrinkDictMaxRegression: search.shrinks_within_percent.unwrap_or(1),
        zParams: common,
    }
}

fn fast_cover(search: &SegmentSearch, aim: &DictionaryAim, common: ZDICT_params_t) -> ZDICT_fastCover_params_t {
    ZDICT_fastCover_params_t {
        k: search.k,
        d: search.d,
        f: search.f,
        steps: search.steps,
        nbThreads: aim.threads,
        splitPoint: f64::from(search.split_percent) / 100.0,
        accel: search.accel,
        shrinkDict: u32::from(search.shrinks_within_percent.is_some()),
        shrinkDictMaxRegression: search.shrinks_within_percent.unwrap_or(1),
        zParams: common,
    }
}
