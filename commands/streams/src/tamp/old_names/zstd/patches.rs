//! `--patch-from=FILE`: the file is what matches may refer to before the content begins, both ways.
//! The window is as long as the new file, as zstd has it, so that real zstd reads our patches and we read its.

use super::super::Wish;
use super::{ERROR, say, shown_name};
use codec::zstd_tuning::ZstdSearch;
use mh_kit::failure::with_causes;
use std::path::Path;
use terminal::Verbosity;

/// LIMIT: the library's longest window.
const WINDOW_LOG_MAX: u32 = 31;

/// The largest window that needs no permission.
const USUAL_WINDOW_BYTES: u64 = 128 << 20;

/// Whether a patch can be made or applied at all.
pub(super) fn check(wish: &Wish) -> Result<(), String> {
    if wish.zstd.patch_from.is_none() {
        return Ok(());
    }
    if wish.args.dictionary.is_some() {
        return Err("error : can't use -D and --patch-from=# at the same time ".to_owned());
    }
    if wish.args.files.len() > 1 {
        return Err("error : can't use --patch-from=# on multiple files ".to_owned());
    }
    Ok(())
}

/// Reads the old file and sets the window.
pub(super) fn settle(wish: &mut Wish, level: i32) -> Result<(), String> {
    let Some(old) = wish.zstd.patch_from.clone() else { return Ok(()) };
    let old_bytes = size_of(&old)?;
    if wish.unpacks() {
        check_size(old_bytes)?;
        let usual = wish.zstd.memory.map_or(USUAL_WINDOW_BYTES, u64::from);
        let long = wish.args.long.map_or(0, |log| 1_u64 << log.min(WINDOW_LOG_MAX));
        wish.args.window_bytes = Some(usual.max(long).max(old_bytes));
    } else {
        let new_bytes =
            new_bytes(wish).ok_or(format!("{ERROR}42 : Using --patch-from with stdin requires --stream-size "))?;
        check_size(old_bytes.max(new_bytes))?;
        set_window(wish, level, old_bytes, new_bytes);
    }
    // LIMIT: checked above; kept for the whole run, so that every encoder and decoder can look at it.
    let bytes = std::fs::read(&old);
    let bytes = bytes.map_err(|error| {
        format!("{ERROR}33 : Couldn't open dictionary {}: {} ", shown_name(&old), with_causes(&error))
    })?;
    wish.args.zst.prefix = Some(bytes.leak());
    Ok(())
}

/// The size of what is compressed, where it is known.
fn new_bytes(wish: &Wish) -> Option<u64> {
    let file = wish.args.files.first().filter(|file| file.as_path() != Path::new("-"));
    let of_file = file.and_then(|file| std::fs::metadata(file).ok()).filter(std::fs::Metadata::is_file);
    wish.args.zst.stream_bytes.or(of_file.map(|metadata| metadata.len()))
}

fn size_of(old: &Path) -> Result<u64, String> {
    let name = shown_name(old);
    match std::fs::metadata(old) {
        Ok(there) if there.is_file() => Ok(there.len()),
        Ok(_) => Err(format!("{ERROR}32 : Dictionary {name} must be a regular file. ")),
        Err(error) => Err(format!("{ERROR}31 : Stat failed on dictionary file {name}: {} ", with_causes(&error))),
    }
}

fn check_size(bytes: u64) -> Result<(), String> {
    let fits = bytes <= 1 << WINDOW_LOG_MAX;
    if fits { Ok(()) } else { Err(format!("{ERROR}42 : Can't handle files larger than 2 GB")) }
}

/// A window that reaches from the end of the new file to its beginning, and long matches where the level's own tables would not.
fn set_window(wish: &mut Wish, level: i32, old_bytes: u64, new_bytes: u64) {
    let log = (new_bytes.max(1).ilog2() + 1).clamp(10, WINDOW_LOG_MAX);
    let of_level = ZstdSearch::of_level(level, Some(new_bytes), usize::try_from(old_bytes).unwrap_or(usize::MAX));
    // COMPAT: trees of zstd's strategies from 6 on take two entries a position.
    let reach_log = of_level.chain_log - u32::from(of_level.strategy >= 6);
    if new_bytes.max(1).ilog2() + 1 > reach_log && wish.args.long.is_none() {
        say(wish, Verbosity::Normal, "long mode automatically triggered");
        wish.args.long = Some(log);
    }
    wish.args.zst.search.window_log = log;
    // COMPAT: from 7 on.
    if of_level.strategy >= 7 {
        let notes = "[Optimal parser notes] Consider the following to improve patch size at the cost of speed:\n\
                     - Use --single-thread mode in the zstd cli\n\
                     - Set a larger targetLength (e.g. --zstd=targetLength=4096)\n\
                     - Set a larger chainLog (e.g. --zstd=chainLog=30)\n\
                     Also consider playing around with searchLog and hashLog";
        say(wish, Verbosity::Verbose, notes);
    }
}
