//! zstd's messages about a file, and the sum of all; every failure of a file is exit code 1.
//! Says nothing about wrong command lines: `super::complain` does.

use super::super::{input_of, kernel_words, name_of, output_of};
use super::{ENDINGS, ERROR, LIBRARY_ERROR, UNTOLD_ENDING};
use crate::tamp::manners::{Event, Manners, Said, Way};
use crate::tamp::names::LeftAlone;
use codec::error::{CodecError, UnitDefect, Unrecognised};
use mh_kit::failure::with_causes;
use std::path::Path;
use terminal::Verbosity;

pub(super) fn voice(_manners: &Manners, event: &Event<'_>) -> Said {
    match event {
        Event::LeftAlone { path, why } => left_alone(path, why),
        Event::Failed { input, error, .. } => failed(&input_of(input, "/*stdin*\\"), error),
        Event::Done { input, output, totals, way, alone, .. } => {
            let name = input_of(input, "/*stdin*\\");
            let (before, after) = (totals.bytes_in, totals.bytes_out);
            let text = match way {
                Way::Compress => {
                    let share = percentage(after, before);
                    let output = output_of(output, "/*stdout*\\");
                    // COMPAT: units have four places in sums alone.
                    let [before, after] = [before, after].map(|bytes| {
                        let (number, unit) = scaled(bytes);
                        format!("{number:>6}{unit}")
                    });
                    format!("{name:<20} :{share}   ({before} => {after}, {output}) ")
                }
                Way::Decompress | Way::Test => format!("{name:<20}: {after} bytes "),
            };
            let is_summed_up = *alone && is_file(output, *way);
            Said::aloud(if is_summed_up { Verbosity::Normal } else { Verbosity::Verbose }, text)
        }
        Event::End { totals, done, asked, way, to_stdout: false } if *asked > 1 && *done > 0 => {
            let (before, after) = (totals.bytes_in, totals.bytes_out);
            let text = match way {
                Way::Compress => {
                    let share = percentage(after, before);
                    let share = share.trim_start();
                    format!("{done:>3} files compressed : {share} ({} => {})", human(before), human(after))
                }
                Way::Decompress | Way::Test => format!("{done} files decompressed : {after:>6} bytes total "),
            };
            Said::aloud(Verbosity::Normal, text)
        }
        Event::End { .. } | Event::Odd { .. } | Event::LeftUnread { .. } => Said::nothing(),
        Event::TerminalOut => Said::wrong(1, "stdout is a console, aborting".to_owned()),
        Event::TerminalIn => Said::wrong(1, "stdin is a console, aborting".to_owned()),
    }
}

/// Files that go to standard output are not summed up unless asked for.
fn is_file(output: &codec::lane::LaneOutput, way: Way) -> bool {
    way == Way::Test || matches!(output, codec::lane::LaneOutput::Path { .. })
}

fn left_alone(path: &Path, why: &LeftAlone) -> Said {
    let path = name_of(path);
    match why {
        LeftAlone::UnknownEnding => {
            let known = ENDINGS.iter().map(|(ending, _)| *ending).filter(|ending| *ending != UNTOLD_ENDING);
            let known: Vec<&str> = known.collect();
            Said::wrong(
                1,
                format!(
                    "zstd: {path}: unknown suffix ({} expected). Can't derive the output file name. \
                     Specify it with -o dstFileName. Ignoring.",
                    known.join("/")
                ),
            )
        }
        // Only with --exclude-compressed, which wants it so.
        LeftAlone::CompressedAlready { .. } => Said::nothing(),
        LeftAlone::Directory => Said::wrong(1, format!("zstd: {path} is a directory -- ignored ")),
        LeftAlone::NotAFile => Said::wrong(1, format!("zstd: {path} is not a regular file -- ignored ")),
        LeftAlone::SymbolicLink => Said::wrong(1, format!("Warning : {path} is a symbolic link, ignoring ")),
        LeftAlone::OtherNames(others) => Said::wrong(1, format!("zstd: {path} has {others} other names ")),
        LeftAlone::SpecialMode(_) => Said::wrong(1, format!("zstd: {path} has a mode that would be lost ")),
        LeftAlone::AboveMirror { directory, verb } => {
            Said::odd(1, format!("zstd: --output-dir-mirror cannot {verb} '{path}' into '{}' ", name_of(directory)))
        }
        LeftAlone::SameOutput { other } => {
            Said::wrong(1, format!("zstd: {path}: {} gets the same name -- ignored ", name_of(other)))
        }
        LeftAlone::Unreadable(error) => Said::wrong(1, format!("zstd: {path}: {error} ")),
    }
}

fn failed(input: &str, error: &CodecError) -> Said {
    let text = match error {
        CodecError::Exists { path } => format!("zstd: {} already exists; not overwritten  ", name_of(path)),
        CodecError::Open(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied => {
            format!("zstd: {input}: {} ", kernel_words(cause))
        }
        CodecError::Open(cause) => format!("zstd: can't stat {input} : {} -- ignored ", kernel_words(cause)),
        CodecError::OutputIsInput => {
            "zstd: Refusing to open an output file which will overwrite the input file ".to_owned()
        }
        CodecError::Create { path, cause } => format!("zstd: {}: {}", name_of(path), kernel_words(cause)),
        CodecError::Write { cause, .. } => {
            let words = kernel_words(cause);
            return Said::wrong(70, format!("{ERROR}70 : Write error : cannot write block : {words} "));
        }
        CodecError::Read { .. } => return Said::wrong(37, format!("{ERROR}37 : Read error ")),
        CodecError::Directory => format!("zstd: {input} is a directory -- ignored "),
        CodecError::NotRecognised(Unrecognised::Empty) => format!("zstd: {input}: unexpected end of file "),
        CodecError::NotRecognised(_) | CodecError::TrailingGarbage { .. } => {
            format!("zstd: {input}: unsupported format ")
        }
        CodecError::Damaged { defect: UnitDefect::Truncated, .. } => {
            format!("{input} : Read error (39) : premature end ")
        }
        CodecError::Damaged { defect: UnitDefect::Checksum { .. }, .. } => {
            format!("{input} : Decoding error (36) : Restored data doesn't match checksum ")
        }
        CodecError::Damaged { defect: UnitDefect::Window { need_bytes, allowed_bytes, log }, .. } => {
            let remedy = match log {
                // LIMIT: no decoder takes windows above 2 GiB.
                ..=31 => format!("Use --long={log} or --memory={}MB ", need_bytes.div_ceil(1 << 20)),
                _ => "Window log larger than ZSTD_WINDOWLOG_MAX=31; not supported ".to_owned(),
            };
            format!(
                "{input} : Decoding error (36) : Frame requires too much memory for decoding \n\
                 {input} : Window size larger than maximum : {need_bytes} > {allowed_bytes} \n{input} : {remedy}"
            )
        }
        CodecError::Damaged { defect: UnitDefect::Dictionary(_), .. } => {
            format!("{input} : Decoding error (36) : Dictionary mismatch ")
        }
        CodecError::Library { message, .. } => {
            return Said::wrong(LIBRARY_ERROR, format!("{ERROR}{LIBRARY_ERROR} : {message} "));
        }
        CodecError::Damaged { .. } => format!("{input} : Decoding error (36) : Data corruption detected "),
        other => format!("zstd: {input}: {} ", with_causes(other)),
    };
    Said::wrong(1, text)
}

fn percentage(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    format!("{share:6.2}%")
}

/// A size in binary units, with three digits, and its unit.
fn scaled(bytes: u64) -> (String, &'static str) {
    let units = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        100.0.. => 0,
        10.0.. => 1,
        _ if value > 1.0 => 2,
        _ => 3,
    };
    (format!("{value:.digits$}"), units[unit])
}

/// The same in a column whose number has so many places.
pub(super) fn fixed(bytes: u64, places: usize) -> String {
    let (number, unit) = scaled(bytes);
    format!("{number:>places$}{unit:>4}")
}

/// The same as short as it can be.
pub(super) fn short(bytes: u64) -> String {
    let (number, unit) = scaled(bytes);
    format!("{number}{unit}")
}

fn human(bytes: u64) -> String {
    fixed(bytes, 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        assert_eq!((human(21).as_str(), short(21).as_str()), ("    21   B", "21 B"));
        assert_eq!((short(1 << 10).as_str(), short(1 << 40).as_str()), ("1.000 KiB", "1.000 TiB"));
        assert_eq!(human(13_893), "  13.6 KiB");
        assert_eq!(human(2_715), "  2.65 KiB");
        assert_eq!(percentage(2_715, 13_893), " 19.54%");
    }
}
