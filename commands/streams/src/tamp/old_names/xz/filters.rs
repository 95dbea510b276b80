//! Filters on xz's command line: one option each (`--lzma2=dict=1MiB`), or a whole chain as a string (`--filters='x86 lzma2:dict=1MiB'`);
//! and how lists and messages show chains.

use super::numbers::number;
use codec::filter_chain::{
    BranchKind, ChainFilter, DICTIONARY_BYTES, FILTERS_MAX, FilterChain, LzmaSettings, MatchFinderKind,
};
use std::ops::RangeInclusive;
use terminal::printable;

const LCLP_MESSAGE: &str = "The sum of lc and lp must not exceed 4";
const CLASSES: RangeInclusive<u64> = 0..=4;
const NICE: RangeInclusive<u64> = 2..=273;
const DISTANCES: RangeInclusive<u64> = 1..=256;
const NUMBERS: RangeInclusive<u64> = 0..=u32::MAX as u64;

fn dictionaries() -> RangeInclusive<u64> {
    u64::from(*DICTIONARY_BYTES.start())..=u64::from(*DICTIONARY_BYTES.end())
}

/// The filter that an option is, without its settings.
fn by_name(name: &str) -> Option<ChainFilter> {
    let usual = LzmaSettings::preset(6, false);
    match name {
        "lzma1" => Some(ChainFilter::Lzma1(usual)),
        "lzma2" => Some(ChainFilter::Lzma2(usual)),
        "delta" => Some(ChainFilter::Delta(1)),
        _ => {
            let kind = BranchKind::ALL.into_iter().find(|kind| kind.name() == name)?;
            Some(ChainFilter::Branch(kind, 0))
        }
    }
}

/// The values that a setting may have.
enum Setting {
    Preset,
    Number(RangeInclusive<u64>),
    Name(&'static [&'static str]),
    None,
}

/// The setting called `name` of a filter.
fn setting(filter: &ChainFilter, name: &str) -> Setting {
    match (filter, name) {
        (ChainFilter::Branch(..), "start") => Setting::Number(NUMBERS),
        (ChainFilter::Delta(_), "dist") => Setting::Number(DISTANCES),
        (ChainFilter::Branch(..) | ChainFilter::Delta(_), _) => Setting::None,
        (_, "preset") => Setting::Preset,
        (_, "dict") => Setting::Number(dictionaries()),
        (_, "lc" | "lp" | "pb") => Setting::Number(CLASSES),
        (_, "mode") => Setting::Name(&["fast", "normal"]),
        (_, "nice") => Setting::Number(NICE),
        (_, "mf") => Setting::Name(&["hc3", "hc4", "bt2", "bt3", "bt4"]),
        (_, "depth") => Setting::Number(NUMBERS),
        _ => Setting::None,
    }
}

/// Changes one; a name is its place in the list of names. The value is in the setting's range, at most 32 bits.
fn set(filter: &mut ChainFilter, name: &str, value: u64) {
    let number = u32::try_from(value).unwrap_or(u32::MAX);
    match filter {
        ChainFilter::Branch(_, start) => *start = number,
        ChainFilter::Delta(distance) => *distance = number as u16,
        ChainFilter::Lzma1(settings) | ChainFilter::Lzma2(settings) => match name {
            "dict" => settings.dictionary_bytes = number,
            "lc" => settings.literal_context_bits = number,
            "lp" => settings.literal_position_bits = number,
            "pb" => settings.position_bits = number,
            "mode" => settings.is_fast = number == 0,
            "nice" => settings.nice_length = number,
            "mf" => settings.finder = MatchFinderKind::ALL[number as usize],
            _ => settings.depth = number,
        },
    }
}

fn set_preset(filter: &mut ChainFilter, preset: LzmaSettings) {
    if let ChainFilter::Lzma1(settings) | ChainFilter::Lzma2(settings) = filter {
        *settings = preset;
    }
}

/// Whether lc and lp may stand together.
fn fits(filter: &ChainFilter) -> bool {
    match filter {
        ChainFilter::Branch(..) | ChainFilter::Delta(_) => true,
        ChainFilter::Lzma1(settings) | ChainFilter::Lzma2(settings) => {
            settings.literal_context_bits + settings.literal_position_bits <= 4
        }
    }
}

/// A filter as an option of its own.
pub fn of_option(name: &str, options: &str) -> Result<ChainFilter, String> {
    let mut filter = by_name(name).expect("the table has filters alone");
    for pair in options.split(',').filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=').filter(|(_, value)| !value.is_empty()) else {
            let pair = printable(pair);
            return Err(format!("{pair}: Options must be `name=value' pairs separated with commas"));
        };
        match setting(&filter, key) {
            Setting::None => return Err(format!("{}: Invalid option name", printable(key))),
            Setting::Preset => {
                let wrong = || format!("Unsupported LZMA1/LZMA2 preset: {}", printable(value));
                let level = value.as_bytes()[0];
                if !level.is_ascii_digit() || !matches!(&value[1..], "" | "e") {
                    return Err(wrong());
                }
                set_preset(&mut filter, LzmaSettings::preset(u32::from(level - b'0'), value.len() == 2));
            }
            Setting::Name(names) => {
                let at = names.iter().position(|name| *name == value);
                let at = at.ok_or_else(|| format!("{}: Invalid option value", printable(value)))?;
                set(&mut filter, key, at as u64);
            }
            Setting::Number(range) => {
                let value = number(key, value, range)?;
                set(&mut filter, key, value);
            }
        }
    }
    if fits(&filter) { Ok(filter) } else { Err(LCLP_MESSAGE.to_owned()) }
}

/// An error in a chain that is a string, with the byte it is at.
#[derive(Debug, PartialEq, Eq)]
pub struct StringError {
    pub at: usize,
    pub message: &'static str,
}

/// The filters of `--filters`; those of `--filters1` to 9 are for blocks alone.
pub fn of_string(text: &str, is_for_blocks: bool) -> Result<Vec<ChainFilter>, StringError> {
    let begin = text.len() - text.trim_start_matches(' ').len();
    let wrong = |at, message| Err(StringError { at, message });
    let rest = &text[begin..];
    if rest.is_empty() {
        return wrong(begin, "Empty string is not allowed, try '6' if a default value is needed");
    }
    let level = rest.strip_prefix('-').unwrap_or(rest);
    if level.starts_with(|first: char| first.is_ascii_digit()) {
        return of_preset(level, begin + rest.len() - level.len());
    }
    let mut filters = Vec::new();
    let mut at = begin;
    while at < text.len() {
        if filters.len() == FILTERS_MAX {
            return wrong(at, "The maximum number of filters is four");
        }
        at += if text[at..].starts_with("--") { 2 } else { 0 };
        let end =
            text[at..].find("--").into_iter().chain(text[at..].find(' ')).min().map_or(text.len(), |end| at + end);
        if end == at {
            return wrong(at, "Filter name is missing");
        }
        filters.push(of_part(text, at, end, is_for_blocks)?);
        at = text.len() - text[end..].trim_start_matches(' ').len();
    }
    match FilterChain::new(&filters) {
        Some(_) => Ok(filters),
        None => wrong(text.len(), "Invalid filter chain ('lzma2' missing at the end?)"),
    }
}

fn of_preset(level: &str, at: usize) -> Result<Vec<ChainFilter>, StringError> {
    let word = level.trim_end_matches(' ');
    let flags = &word[1..];
    if word.contains(' ') {
        return Err(StringError { at, message: "Unsupported preset" });
    }
    if let Some(other) = flags.find(|flag| flag != 'e') {
        return Err(StringError { at: at + 1 + other, message: "Unsupported flag in the preset" });
    }
    let settings = LzmaSettings::preset(u32::from(word.as_bytes()[0] - b'0'), !flags.is_empty());
    Ok(vec![ChainFilter::Lzma2(settings)])
}

/// The filter in `text[begin..end]`.
fn of_part(text: &str, begin: usize, end: usize, is_for_blocks: bool) -> Result<ChainFilter, StringError> {
    let part = &text[begin..end];
    let name = &part[..part.find([':', '=']).unwrap_or(part.len())];
    let wrong = |at, message| StringError { at, message };
    let mut filter = by_name(name).ok_or(wrong(begin, "Unknown filter name"))?;
    if is_for_blocks && matches!(filter, ChainFilter::Lzma1(_)) {
        return Err(wrong(begin, "This filter cannot be used in the .xz format"));
    }
    let mut at = begin + name.len() + usize::from(name.len() < part.len());
    while at < end {
        let pair_end = text[at..end].find(',').map_or(end, |comma| at + comma);
        if pair_end == at {
            at += 1;
            continue;
        }
        let Some((key, value)) = text[at..pair_end].split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(wrong(at, "Options must be 'name=value' pairs separated with commas"));
        };
        let value_at = at + key.len() + 1;
        let kind = setting(&filter, key);
        if matches!(kind, Setting::None) {
            return Err(wrong(at, "Unknown option name"));
        }
        if value.is_empty() {
            return Err(wrong(value_at, "Option value cannot be empty"));
        }
        match kind {
            Setting::None => {}
            Setting::Preset if !value.starts_with(|first: char| first.is_ascii_digit()) => {
                return Err(wrong(value_at, "Unsupported preset"));
            }
            Setting::Preset => match of_preset(value, value_at)?[..] {
                [ChainFilter::Lzma2(settings)] => set_preset(&mut filter, settings),
                _ => unreachable!("a preset is LZMA2"),
            },
            Setting::Name(names) => {
                let place = names.iter().position(|name| *name == value);
                set(&mut filter, key, place.ok_or(wrong(value_at, "Invalid option value"))? as u64);
            }
            Setting::Number(range) => {
                let number = of_number(key, value, range).map_err(|(behind, text)| wrong(value_at + behind, text))?;
                set(&mut filter, key, number);
            }
        }
        at = pair_end;
    }
    if fits(&filter) { Ok(filter) } else { Err(wrong(end, LCLP_MESSAGE)) }
}

/// A number in a string; an error with where it is in the value.
fn of_number(key: &str, value: &str, range: RangeInclusive<u64>) -> Result<u64, (usize, &'static str)> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    match (digits, &value[digits..]) {
        (0, _) => Err((0, "Value is not a non-negative decimal integer")),
        (_, unit) if !unit.is_empty() && !matches!(key, "dict" | "start") => {
            Err((digits, "This option does not support any multiplier suffixes"))
        }
        _ => number(key, value, range).map_err(|message| match message.contains("multiplier") {
            true => (digits, "Invalid multiplier suffix (KiB, MiB, or GiB)"),
            false => (0, "Value out of range"),
        }),
    }
}

/// A size with the largest unit that it is a multiple of.
fn with_unit(bytes: u32) -> String {
    let shift = [30, 20, 10].into_iter().find(|shift| bytes != 0 && bytes.trailing_zeros() >= *shift).unwrap_or(0);
    format!("{}{}", bytes >> shift, ["", "KiB", "MiB", "GiB"][shift as usize / 10])
}

/// A chain as options; of LZMA either what its encoder or what its decoder needs.
pub fn shown(chain: &FilterChain, is_for_encoder: bool) -> String {
    let of_lzma = |name, settings: LzmaSettings, is_whole: bool| {
        let dictionary = with_unit(settings.dictionary_bytes);
        let (lc, lp, pb) = (settings.literal_context_bits, settings.literal_position_bits, settings.position_bits);
        let mut text = format!("--{name}=dict={dictionary}");
        if is_whole {
            text.push_str(&format!(",lc={lc},lp={lp},pb={pb}"));
        }
        if is_for_encoder {
            let mode = if settings.is_fast { "fast" } else { "normal" };
            let (nice, finder, depth) = (settings.nice_length, settings.finder.name(), settings.depth);
            text.push_str(&format!(",mode={mode},nice={nice},mf={finder},depth={depth}"));
        }
        text
    };
    let filters = chain.filters().map(|filter| match filter {
        ChainFilter::Branch(kind, 0) => format!("--{}", kind.name()),
        ChainFilter::Branch(kind, start) => format!("--{}=start={}", kind.name(), with_unit(start)),
        ChainFilter::Delta(distance) => format!("--delta=dist={distance}"),
        ChainFilter::Lzma1(settings) => of_lzma("lzma1", settings, true),
        ChainFilter::Lzma2(settings) => of_lzma("lzma2", settings, is_for_encoder),
    });
    filters.collect::<Vec<_>>().join(" ")
}

/// The filters of blocks with all that may be set.
pub fn help(is_for_scripts: bool) -> String {
    let range = |range: RangeInclusive<u64>| format!("<{}-{}>", range.start(), range.end());
    let bytes = |range: RangeInclusive<u64>| {
        let [least, most] =
            [range.start(), range.end()].map(|bytes| with_unit(u32::try_from(*bytes).unwrap_or(u32::MAX)));
        format!("<{least}-{most}>")
    };
    let (classes, nice, depth) = (range(CLASSES), range(NICE), range(NUMBERS));
    let mut lines = vec![format!(
        "lzma2:preset=<0-9[e]>,dict={},lc={classes},lp={classes},pb={classes},mode=<fast|normal>,nice={nice},\
         mf=<hc3|hc4|bt2|bt3|bt4>,depth={depth}",
        bytes(dictionaries())
    )];
    lines.extend(BranchKind::ALL.map(|kind| format!("{}:start={}", kind.name(), bytes(NUMBERS))));
    lines.push(format!("delta:dist={}", range(DISTANCES)));
    let head = "--filters=CHAIN sets the filters of all blocks, --filters1=CHAIN to --filters9=CHAIN those that \
                --block-list\nnames by number. A chain is filters with spaces or -- between them, or a preset, \
                <0-9>[e]. Filters and settings:\n\n";
    format!("{}{}\n", if is_for_scripts { "" } else { head }, lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(text: &str) -> String {
        let filters = of_string(text, false).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        shown(&FilterChain::new(&filters).expect("checked"), true)
    }

    #[test]
    fn strings_and_options_mean_the_same() {
        let usual = ",lc=3,lp=0,pb=2,mode=normal,nice=64,mf=bt4,depth=0";
        assert_eq!(chain("6"), format!("--lzma2=dict=8MiB{usual}"));
        assert_eq!(chain(" -6 "), chain("6"));
        assert_eq!(chain("9e"), "--lzma2=dict=64MiB,lc=3,lp=0,pb=2,mode=normal,nice=273,mf=bt4,depth=512");
        let long = format!("--x86=start=4KiB --delta=dist=4 --lzma2=dict=1MiB{usual}");
        assert_eq!(chain("x86:start=4KiB delta:dist=4 lzma2:dict=1MiB"), long);
        assert_eq!(chain("--x86=start=4096--delta=dist=4--lzma2=dict=1M"), long);
        let filters = [("x86", "start=4096"), ("delta", "dist=4"), ("lzma2", "preset=6,dict=1MiB")];
        let filters = filters.map(|(name, options)| of_option(name, options).expect("fine"));
        assert_eq!(shown(&FilterChain::new(&filters).expect("a chain"), true), long);
        assert_eq!(
            shown(&FilterChain::new(&filters).expect("a chain"), false).rsplit(' ').next(),
            Some("--lzma2=dict=1MiB")
        );
    }

    #[test]
    fn errors_in_strings_tell_their_place() {
        let error = |text| of_string(text, true).map(|_| ()).expect_err(text).at;
        let at = [
            ("", 0),
            ("  ", 2),
            ("6x", 1),
            ("foo", 0),
            ("x86", 3),
            ("x86 foo", 4),
            ("lzma1", 0),
            ("lzma2:foo=1", 6),
            ("lzma2:dict", 6),
            ("lzma2:dict=", 11),
            ("lzma2:dict=1", 11),
            ("lzma2:dict=1x", 12),
            ("lzma2:lc=1k", 10),
            ("lzma2:mode=x", 11),
            ("lzma2:preset=x", 13),
            ("lzma2:preset=6x", 14),
            ("lzma2:lc=4,lp=1", 15),
            ("x86 x86 x86 x86 lzma2", 16),
            ("x86-- lzma2", 5),
        ];
        for (text, place) in at {
            assert_eq!(error(text), place, "{text:?}");
        }
    }

    #[test]
    fn the_help_has_each_filter() {
        let text = help(true);
        assert_eq!(text.lines().count(), 10);
        assert!(text.contains("dict=<4KiB-1536MiB>,lc=<0-4>") && text.contains("\ndelta:dist=<1-256>\n"));
    }
}
