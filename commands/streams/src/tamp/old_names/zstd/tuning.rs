//! zstd's options about frames: single parameters, checks, sizes, windows and limits, into a `ZstdTuning`.
//! Numbers are read as zstd reads them; whether the library takes their values is asked in `super::finish`.

use super::super::Wish;
use super::super::options::{Opt, Takes, flag, is_of_number};
use super::{attached, incorrect, next, with_equals};
use codec::zstd_tuning::{ZstdSearch, ZstdTuning};
use std::ffi::OsStr;

/// The options.
pub(super) const OPTIONS: &[Opt] = &[
    with_equals("zstd", parameters),
    flag("C check", |wish| wish.args.zst.leaves_out_checksum = false),
    flag("no-check", |wish| wish.args.zst.leaves_out_checksum = true),
    flag("content-size", |wish| wish.args.zst.leaves_out_size = false),
    flag("no-content-size", |wish| wish.args.zst.leaves_out_size = true),
    flag("compress-literals", |wish| wish.args.zst.compresses_literals = Some(true)),
    flag("no-compress-literals", |wish| wish.args.zst.compresses_literals = Some(false)),
    flag("row-match-finder", |wish| wish.args.zst.searches_rows = Some(true)),
    flag("no-row-match-finder", |wish| wish.args.zst.searches_rows = Some(false)),
    next("stream-size", |wish, value| {
        wish.args.zst.stream_bytes = Some(size(value)?).filter(|&bytes| bytes > 0);
        Ok(())
    }),
    next("size-hint", |wish, value| {
        wish.args.zst.hinted_bytes = clamped(size(value)?);
        Ok(())
    }),
    next("target-compressed-block-size", |wish, value| {
        wish.args.zst.block_bytes = clamped(size(value)?);
        Ok(())
    }),
    next("block-size", |wish, value| {
        wish.args.zst.job_bytes = clamped(size(value)?);
        Ok(())
    }),
    attached("B", |wish, value| {
        wish.args.zst.job_bytes = number32(value)?;
        Ok(())
    }),
    attached("M", memory),
    next("memlimit memory memlimit-decompress", memory),
    attached("T", |wish, value| threads(wish, number32(value)?)),
    next("threads", |wish, value| threads(wish, number32(value)?)),
    flag("single-thread", |wish| {
        wish.zstd.is_single_threaded = true;
        wish.args.shared.hands = Some(1);
    }),
    next("auto-threads", |_, _| Ok(())),
    Opt { names: "long", takes: Takes::Run(is_of_number), does: super::Does::Take(long) },
    flag("ultra", |wish| wish.args.ultra = true),
    flag("max", |wish| (wish.level, wish.args.ultra) = (Some(22), true)),
    Opt { names: "fast", takes: Takes::Run(is_of_number), does: super::Does::Take(fast) },
    flag("show-default-cparams", |wish| wish.zstd.shows_parameters = true),
    flag("rsyncable", |wish| wish.args.rsyncable = true),
];

/// zstd's message about numbers of more than 32 bits.
pub(super) const OVERFLOWS: &str = "error: numeric value overflows 32-bit unsigned int";
/// About numbers of more bits than a size has.
const OVERFLOWS_SIZE: &str = "error: numeric value overflows size_t";
/// About anything behind a number.
const NO_NUMBER: &str = "error: only numeric values with optional suffixes K, KB, KiB, M, MB, MiB are allowed";

/// The lowest level has this number below 0.
pub(super) const FASTEST: i32 = 131_072;

/// A number that `text` begins with, with its binary unit, and what follows it; without a digit it is 0. None where it is too large.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = if digits == 0 { 0 } else { text[..digits].parse::<u64>().ok()? };
    let rest = &text[digits..];
    let shift = match rest.as_bytes().first() {
        Some(b'K') => 10,
        Some(b'M') => 20,
        _ => return Some((number, rest)),
    };
    let rest = &rest[1..];
    let rest = rest.strip_prefix('i').unwrap_or(rest);
    Some((number.checked_mul(1 << shift)?, rest.strip_prefix('B').unwrap_or(rest)))
}

pub(super) fn leading_number32(text: &str) -> Result<(u32, &str), String> {
    let (number, rest) = leading_number(text).ok_or(OVERFLOWS)?;
    Ok((u32::try_from(number).ok().ok_or(OVERFLOWS)?, rest))
}

/// A number of 32 bits and nothing else.
pub(super) fn number32(value: &OsStr) -> Result<u32, String> {
    let (number, rest) = leading_number32(value.to_str().ok_or(NO_NUMBER)?)?;
    if rest.is_empty() { Ok(number) } else { Err(NO_NUMBER.to_owned()) }
}

/// A size and nothing else.
fn size(value: &OsStr) -> Result<u64, String> {
    let (number, rest) = leading_number(value.to_str().ok_or(NO_NUMBER)?).ok_or(OVERFLOWS_SIZE)?;
    if rest.is_empty() { Ok(number) } else { Err(NO_NUMBER.to_owned()) }
}

/// The value that the library takes for the largest of all is out of its bounds, too.
fn clamped(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(i32::MAX as u32)
}

fn memory(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    wish.zstd.memory = Some(number32(value)?).filter(|&bytes| bytes > 0);
    Ok(())
}

fn threads(wish: &mut Wish, count: u32) -> Result<(), String> {
    wish.args.shared.hands = usize::try_from(count).ok();
    Ok(())
}

fn fast(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let step =
        if value.is_empty() { 1 } else { number32(value).map_err(|why| unless_overflowing(why, "--fast", value))? };
    let step = i32::try_from(step).unwrap_or(i32::MAX).min(FASTEST);
    wish.level = Some(-step).filter(|level| *level < 0);
    wish.level.map(|_| ()).ok_or_else(|| incorrect("--fast", value))
}

fn long(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let log =
        if value.is_empty() { 27 } else { number32(value).map_err(|why| unless_overflowing(why, "--long", value))? };
    wish.args.long = Some(log);
    Ok(())
}

fn unless_overflowing(why: String, option: &str, value: &OsStr) -> String {
    if why == OVERFLOWS { why } else { incorrect(option, value) }
}

/// `wlog=23,strategy=9`; several options add up.
fn parameters(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let text = value.to_str().ok_or_else(|| incorrect("--zstd", value))?;
    for part in text.split(',') {
        let (name, number) = part.split_once('=').ok_or_else(|| incorrect("--zstd", value))?;
        let (number, rest) = leading_number32(number)?;
        if !rest.is_empty() || !set_parameter(&mut wish.args.zst, name, number) {
            return Err(incorrect("--zstd", value));
        }
    }
    super::super::take_format(wish, "zst")
}

/// Whether there is such a parameter.
fn set_parameter(tuning: &mut ZstdTuning, name: &str, value: u32) -> bool {
    let ZstdTuning { search, long, .. } = tuning;
    let ZstdSearch { window_log, chain_log, hash_log, search_log, min_match, target_length, strategy, overlap_log } =
        search;
    match name {
        "wlog" | "windowLog" => *window_log = value,
        "clog" | "chainLog" => *chain_log = value,
        "hlog" | "hashLog" => *hash_log = value,
        "slog" | "searchLog" => *search_log = value,
        "mml" | "minMatch" => *min_match = value,
        "tlen" | "targetLength" => *target_length = value,
        "strat" | "strategy" => *strategy = value,
        "ovlog" | "overlapLog" => *overlap_log = Some(value),
        "lhlog" | "ldmHashLog" => long.hash_log = value,
        "lmml" | "ldmMinMatch" => long.min_match = value,
        "lblog" | "ldmBucketSizeLog" => long.bucket_log = Some(value),
        "lhrlog" | "ldmHashRateLog" => long.hash_rate_log = Some(value),
        _ => return false,
    }
    true
}

/// `--show-default-cparams`: what the level means for each file, as zstd shows it before it compresses.
pub(super) fn shown_parameters(wish: &Wish, level: i32) -> String {
    let length = |path: &std::path::Path| std::fs::metadata(path).ok().map(|metadata| metadata.len());
    let dictionary = wish.args.dictionary.as_deref().and_then(length).unwrap_or(0);
    let mut text = String::new();
    let names = wish.args.files.iter().map(|path| (super::name_of(path), length(path)));
    let stdin = wish.args.files.is_empty().then(|| ("/*stdin*\\".to_owned(), None));
    for (name, bytes) in names.chain(stdin) {
        let search = ZstdSearch::of_level(level, bytes, usize::try_from(dictionary).unwrap_or(usize::MAX));
        let size = bytes.map_or("src size unknown".to_owned(), |bytes| format!("{bytes} bytes"));
        text.push_str(&format!(
            "{name} ({size})\n - windowLog     : {}\n - chainLog      : {}\n - hashLog       : {}\n \
             - searchLog     : {}\n - minMatch      : {}\n - targetLength  : {}\n - strategy      : ZSTD_{} ({})\n",
            search.window_log,
            search.chain_log,
            search.hash_log,
            search.search_log,
            search.min_match,
            search.target_length,
            search.strategy_name(),
            search.strategy,
        ));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::INCORRECT;
    use super::*;

    #[test]
    fn numbers_are_read_as_zstd_reads_them() {
        let read = |text: &str| number32(OsStr::new(text));
        assert_eq!((read("23"), read("4K"), read("4KiB"), read("1M")), (Ok(23), Ok(4096), Ok(4096), Ok(1 << 20)));
        assert_eq!((read(""), read("K")), (Ok(0), Ok(0)));
        assert_eq!(read("4096M"), Err(OVERFLOWS.to_owned()));
        assert_eq!(read("3x"), Err(NO_NUMBER.to_owned()));
        assert_eq!(size(OsStr::new("4096M")), Ok(4 << 30));
    }

    #[test]
    fn parameters_have_two_names_each_and_add_up() {
        let mut wish = Wish::new("zstd");
        for value in ["wlog=20,ovlog=3", "hashLog=17", "lblog=4"] {
            assert_eq!(parameters(&mut wish, OsStr::new(value)), Ok(()));
        }
        let tuning = wish.args.zst;
        assert_eq!((tuning.search.window_log, tuning.search.overlap_log, tuning.search.hash_log), (20, Some(3), 17));
        assert_eq!(tuning.long.bucket_log, Some(4));
        for wrong in ["", "wlog", "wlog=2x", "foo=3", "wlog=20,"] {
            assert!(parameters(&mut wish, OsStr::new(wrong)).is_err_and(|why| why.starts_with(INCORRECT)), "{wrong}");
        }
    }
}
