//! `--keep-up[=MIN..MAX]`: what may be asked for, and what it cannot be asked together with. The levels themselves are chosen in
//! `engines/codec/src/keep_up.rs`.

use super::TampArgs;
use super::plan::{decompresses, stdin_metadata, usage};
use codec::format::FormatFacts;
use codec::keep_up::LEVELS_MAX;
use codec::lane::{Lane, LaneInput};
use mh_kit::failure::Failure;
use std::ops::RangeInclusive;

/// Bounds as typed: each may be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub lowest: Option<i32>,
    pub highest: Option<i32>,
}

/// Whether standard input is a regular file, which never makes anybody wait.
pub fn stdin_is_a_file() -> bool {
    stdin_metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Reads `MIN..MAX`, `MIN..`, `..MAX` or `..`.
pub fn parse(text: &str) -> Result<Bounds, String> {
    let (lowest, highest) = text.split_once("..").ok_or("it has the form MIN..MAX")?;
    let level = |digits: &str| match digits {
        "" => Ok(None),
        digits => digits.parse::<i32>().map(Some).map_err(|error| format!("'{digits}' is no level: {error}")),
    };
    Ok(Bounds { lowest: level(lowest)?, highest: level(highest)? })
}

/// The levels to choose from: by default all that need neither --ultra nor a minus sign, nor store only.
pub fn levels(args: &TampArgs, facts: &FormatFacts) -> Result<Option<RangeInclusive<i32>>, Failure> {
    let Some(bounds) = args.keep_up else { return Ok(None) };
    if facts.unit_name == "stream" {
        return Err(usage(format!("--keep-up changes the level from unit to unit; {} is one stream", facts.name)));
    }
    let most = if args.ultra { *facts.levels.end() } else { facts.level_before_ultra };
    let levels = bounds.lowest.unwrap_or((*facts.levels.start()).max(1))..=bounds.highest.unwrap_or(most);
    let (low, high) = (*facts.levels.start(), *facts.levels.end());
    if levels.is_empty() {
        return Err(usage(format!("--keep-up={}..{}: MIN is above MAX", levels.start(), levels.end())));
    }
    if !facts.levels.contains(levels.start()) || !facts.levels.contains(levels.end()) {
        return Err(usage(format!("{} has levels {low} to {high}", facts.name)));
    }
    if *levels.end() > most {
        let name = facts.name;
        return Err(usage(format!("{name} levels above {most} need much time and memory; --ultra allows them")));
    }
    if levels.clone().count() > LEVELS_MAX {
        return Err(usage(format!("--keep-up takes at most {LEVELS_MAX} levels")));
    }
    Ok(Some(levels))
}

/// Options that leave nothing to choose.
pub fn check_combinations(args: &TampArgs) -> Result<(), Failure> {
    if args.keep_up.is_none() {
        return Ok(());
    }
    if decompresses(args) {
        return Err(usage("--keep-up is for compressing"));
    }
    if args.single_frame || args.long.is_some() {
        return Err(usage("--keep-up changes the level from frame to frame; --single-frame and --long write one"));
    }
    Ok(())
}

/// One stream. A regular file waits for nobody: there is nothing to keep up with, and no level would be better than another.
pub fn check_sources(lanes: &[Lane]) -> Result<(), Failure> {
    let is_file = |lane: &Lane| match &lane.input {
        LaneInput::Path(path) => std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()),
        LaneInput::Stdin => stdin_is_a_file(),
    };
    if lanes.len() > 1 {
        return Err(usage("--keep-up takes one stream; it has one producer to keep up with"));
    }
    if lanes.iter().any(is_file) {
        return Err(usage("--keep-up is for pipes; a file has no producer that would wait, so give a level instead"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_may_be_left_out() {
        let bounds = |lowest, highest| Ok(Bounds { lowest, highest });
        assert_eq!(parse(".."), bounds(None, None));
        assert_eq!(parse("-5..19"), bounds(Some(-5), Some(19)));
        assert_eq!(parse("3.."), bounds(Some(3), None));
        assert_eq!(parse("..9"), bounds(None, Some(9)));
        assert!(parse("9").is_err());
        assert!(parse("a..b").is_err());
    }
}
