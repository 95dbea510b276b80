//! Hands a frame's options to libzstd: level, window, checks, and the single parameters of `ZstdTuning`.
//! Chooses nothing but the windows of independent frames and the effort of level 9.

use super::encode::frame_bytes;
use super::kernel::library_parameters;
use crate::error::CodecError;
use crate::format::{EncodeOptions, UnitLayout};
use crate::zstd_tuning::{ZstdLongSearch, ZstdSearch, ZstdTuning};
use zstd_safe::{CCtx, CParameter, ErrorCode, ParamSwitch, Strategy, get_error_name};

pub(super) fn library_error(code: ErrorCode) -> CodecError {
    CodecError::Library { library: "zstd", message: get_error_name(code).to_owned() }
}

/// A context for frames as `options` say.
pub(super) fn context(options: &EncodeOptions) -> Result<CCtx<'static>, CodecError> {
    let mut context = CCtx::create();
    set_parameters(&mut context, options)?;
    Ok(context)
}

/// Sets all of them again.
pub(super) fn set_parameters(context: &mut CCtx<'static>, options: &EncodeOptions) -> Result<(), CodecError> {
    let tuning = &options.zst;
    set(context, CParameter::CompressionLevel(options.level))?;
    set(context, CParameter::ChecksumFlag(!tuning.leaves_out_checksum))?;
    set(context, CParameter::ContentSizeFlag(!tuning.leaves_out_size))?;
    set(context, CParameter::DictIdFlag(!options.hides_dictionary))?;
    if let Some(dictionary) = options.dictionary {
        context.load_dictionary(dictionary).map_err(library_error)?;
    }
    set_search(context, options)?;
    set_long_search(context, &tuning.long)?;
    set_content(context, tuning)
}

/// Whether the library takes all of them.
///
/// # Errors
///
/// Its words about the first that it does not take.
pub(crate) fn check(options: &EncodeOptions) -> Result<(), CodecError> {
    context(options).and_then(|mut context| set_jobs(&mut context, &options.zst))
}

/// The parameters of a level for content of so many bytes, with a dictionary of so many.
pub(crate) fn of_level(level: i32, content_bytes: Option<u64>, dictionary_bytes: usize) -> ZstdSearch {
    let found = library_parameters(level, content_bytes, dictionary_bytes);
    ZstdSearch {
        window_log: found.windowLog,
        chain_log: found.chainLog,
        hash_log: found.hashLog,
        search_log: found.searchLog,
        min_match: found.minMatch,
        target_length: found.targetLength,
        strategy: found.strategy as u32,
        overlap_log: None,
    }
}

/// How the library's threads divide a frame.
pub(super) fn set_jobs(context: &mut CCtx<'static>, tuning: &ZstdTuning) -> Result<(), CodecError> {
    set(context, CParameter::JobSize(tuning.job_bytes))?;
    tuning.search.overlap_log.map_or(Ok(()), |log| set(context, CParameter::OverlapSizeLog(log)))
}

fn set(context: &mut CCtx<'static>, parameter: CParameter) -> Result<(), CodecError> {
    context.set_parameter(parameter).map(drop).map_err(library_error)
}

fn set_search(context: &mut CCtx<'static>, options: &EncodeOptions) -> Result<(), CodecError> {
    let search = &options.zst.search;
    let usual_log = match (options.window_log, options.layout) {
        (Some(log), _) => log,
        (None, UnitLayout::ParallelUnits) => frame_bytes(options.level).ilog2(),
        (None, _) => 0,
    };
    set(context, CParameter::WindowLog(if search.window_log > 0 { search.window_log } else { usual_log }))?;
    set(context, CParameter::EnableLongDistanceMatching(options.window_log.is_some()))?;
    set(context, CParameter::ChainLog(search.chain_log))?;
    set(context, CParameter::HashLog(search.hash_log))?;
    set(context, CParameter::SearchLog(if search.search_log > 0 { search.search_log } else { search_log(options) }))?;
    set(context, CParameter::MinMatch(search.min_match))?;
    set(context, CParameter::TargetLength(search.target_length))?;
    strategy(search.strategy)?.map_or(Ok(()), |strategy| set(context, CParameter::Strategy(strategy)))
}

/// At -9 our frames with their long windows come out 3 % smaller than what libzstd's threads write. Half as many candidates for
/// each match give 2 % of that back for 14 % of the time (docs/journal/0003-five-formats.md). 0: as the level has it.
fn search_log(options: &EncodeOptions) -> u32 {
    if options.level == 9 && options.layout == UnitLayout::ParallelUnits { 3 } else { 0 }
}

/// None where the level chooses.
fn strategy(number: u32) -> Result<Option<Strategy>, CodecError> {
    Ok(Some(match number {
        0 => return Ok(None),
        1 => Strategy::ZSTD_fast,
        2 => Strategy::ZSTD_dfast,
        3 => Strategy::ZSTD_greedy,
        4 => Strategy::ZSTD_lazy,
        5 => Strategy::ZSTD_lazy2,
        6 => Strategy::ZSTD_btlazy2,
        7 => Strategy::ZSTD_btopt,
        8 => Strategy::ZSTD_btultra,
        9 => Strategy::ZSTD_btultra2,
        _ => return Err(CodecError::Library { library: "zstd", message: "Parameter is out of bound".to_owned() }),
    }))
}

fn set_long_search(context: &mut CCtx<'static>, long: &ZstdLongSearch) -> Result<(), CodecError> {
    set(context, CParameter::LdmHashLog(long.hash_log))?;
    set(context, CParameter::LdmMinMatch(long.min_match))?;
    if let Some(log) = long.bucket_log {
        set(context, CParameter::LdmBucketSizeLog(log))?;
    }
    long.hash_rate_log.map_or(Ok(()), |log| set(context, CParameter::LdmHashRateLog(log)))
}

fn set_content(context: &mut CCtx<'static>, tuning: &ZstdTuning) -> Result<(), CodecError> {
    let switch = |wanted: Option<bool>| match wanted {
        None => ParamSwitch::Auto,
        Some(true) => ParamSwitch::Enable,
        Some(false) => ParamSwitch::Disable,
    };
    set(context, CParameter::TargetCBlockSize(tuning.block_bytes))?;
    set(context, CParameter::SrcSizeHint(tuning.hinted_bytes))?;
    set(context, CParameter::LiteralCompressionMode(switch(tuning.compresses_literals)))?;
    set(context, CParameter::UseRowMatchFinder(switch(tuning.searches_rows)))
}
