//! xz's messages about files, and the exit code of each.

use super::limits::needed;
use crate::tamp::manners::{Event, Manners, Said, Way};
use crate::tamp::names::{LeftAlone, SpecialMode};
use crate::tamp::old_names::{input_of, kernel_words, name_of, output_of};
use codec::error::{CodecError, UnitDefect};
use codec::format::Remark;
use codec::lane::LaneInput;
use mh_kit::failure::with_causes;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use terminal::Verbosity;

/// Bytes of a stream's header: fewer behind a stream are one that breaks off.
const STREAM_HEADER_BYTES: u64 = 12;

pub fn voice(manners: &Manners, event: &Event<'_>) -> Said {
    let name = &manners.name;
    match event {
        Event::LeftAlone { path, why } => left_alone(manners, path, why),
        Event::Failed { input, output, error, .. } => {
            let shown = input_of(input, "(stdin)");
            match error {
                CodecError::Directory => Said::odd(2, format!("{name}: {shown}: Is a directory, skipping")),
                CodecError::Exists { path } => Said::wrong(1, format!("{name}: {}: File exists", name_of(path))),
                CodecError::Damaged { defect: UnitDefect::Memory { need_bytes, allowed_bytes }, .. } => {
                    let need = needed(*need_bytes, *allowed_bytes);
                    Said::wrong(1, format!("{name}: {shown}: Memory usage limit reached\n{name}: {need}"))
                }
                CodecError::Write { cause, .. } => {
                    let output = output_of(output, "(stdout)");
                    Said::wrong(1, format!("{name}: {output}: Write error: {}", kernel_words(cause)))
                }
                CodecError::Create { path, cause } => {
                    Said::wrong(1, format!("{name}: {}: {}", name_of(path), kernel_words(cause)))
                }
                error => Said::wrong(1, format!("{name}: {shown}: {}", failed(input, error))),
            }
        }
        Event::Done { input, totals, way, .. } => {
            let (compressed, uncompressed) = match way {
                Way::Compress => (totals.bytes_out, totals.bytes_in),
                Way::Decompress | Way::Test => (totals.bytes_in, totals.bytes_out),
            };
            let (input, ratio) = (input_of(input, "(stdin)"), ratio(compressed, uncompressed));
            let [compressed, uncompressed] = [compressed, uncompressed].map(size);
            Said::aloud(Verbosity::Verbose, format!("{input}: {compressed} / {uncompressed} = {ratio}"))
        }
        Event::Odd { input, remark: Remark::UnknownCheck } => {
            let input = input_of(input, "(stdin)");
            let text = "Unsupported type of integrity check; not verifying file integrity";
            Said::odd(2, format!("{name}: {input}: {text}"))
        }
        Event::LeftUnread { .. } | Event::Odd { .. } | Event::End { .. } => Said::nothing(),
        Event::TerminalOut => Said::wrong(1, terminal_words(name, "Compressed data cannot be written to a terminal")),
        Event::TerminalIn => Said::wrong(1, terminal_words(name, "Compressed data cannot be read from a terminal")),
    }
}

fn terminal_words(name: &str, text: &str) -> String {
    format!("{name}: {text}\n{name}: Try `{name} --help' for more information.")
}

fn left_alone(manners: &Manners, path: &Path, why: &LeftAlone) -> Said {
    let (name, shown) = (&manners.name, name_of(path));
    let is_raw = manners.admission.formats == ["raw"];
    let text = match why {
        // COMPAT: xz looks into a file before it looks at its name.
        LeftAlone::UnknownEnding if !is_raw && !looks_compressed(path) => {
            return Said::wrong(1, format!("{name}: {shown}: File format not recognized"));
        }
        LeftAlone::UnknownEnding => "Filename has an unknown suffix, skipping".to_owned(),
        LeftAlone::CompressedAlready { ending } => format!("File already has `{ending}' suffix, skipping"),
        LeftAlone::Directory => "Is a directory, skipping".to_owned(),
        LeftAlone::NotAFile => "Not a regular file, skipping".to_owned(),
        LeftAlone::SymbolicLink => "Is a symbolic link, skipping".to_owned(),
        LeftAlone::OtherNames(_) => "Input file has more than one hard link, skipping".to_owned(),
        LeftAlone::SpecialMode(SpecialMode::Sticky) => "File has sticky bit set, skipping".to_owned(),
        LeftAlone::SpecialMode(_) => "File has setuid or setgid bit set, skipping".to_owned(),
        LeftAlone::SameOutput { other } => format!("{} gets the same name, skipping", name_of(other)),
        LeftAlone::AboveMirror { directory, .. } => format!("No place in {}, skipping", name_of(directory)),
        LeftAlone::Unreadable(error) => return Said::wrong(1, format!("{name}: {shown}: {error}")),
    };
    Said::odd(2, format!("{name}: {shown}: {text}"))
}

/// Whether a file begins as an xz, lzma or lzip file does.
fn looks_compressed(path: &Path) -> bool {
    let mut head = [0; 6];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && (head == *b"\xfd7zXZ\0" || head[..3] == [0x5d, 0, 0] || head[..4] == *b"LZIP")
}

const CORRUPT: &str = "Compressed data is corrupt";

fn failed(input: &LaneInput, error: &CodecError) -> String {
    match error {
        CodecError::Open(cause) => kernel_words(cause),
        CodecError::Read { cause, .. } => format!("Read error: {}", kernel_words(cause)),
        CodecError::NotRecognised(_) => "File format not recognized".to_owned(),
        CodecError::Damaged { defect, .. } => defect_words(defect).to_owned(),
        CodecError::TrailingGarbage { unit_name: "stream", .. } => CORRUPT.to_owned(),
        CodecError::TrailingGarbage { offset, .. } if has_a_header_behind(input, *offset) => CORRUPT.to_owned(),
        CodecError::TrailingGarbage { .. } => "Unexpected end of input".to_owned(),
        other => with_causes(other),
    }
}

/// A defect of compressed data in xz's words.
pub fn defect_words(defect: &UnitDefect) -> &'static str {
    match defect {
        UnitDefect::Truncated => "Unexpected end of input",
        UnitDefect::Memory { .. } | UnitDefect::Window { .. } => "Memory usage limit reached",
        UnitDefect::Unsupported(_) => "Unsupported options",
        _ => CORRUPT,
    }
}

/// Whether what stands behind the last stream of a file is long enough to have been looked at. A pipe is not known.
fn has_a_header_behind(input: &LaneInput, offset: u64) -> bool {
    let LaneInput::Path(path) = input else { return false };
    std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= offset + STREAM_HEADER_BYTES)
}

/// The compressed share.
pub fn ratio(compressed: u64, uncompressed: u64) -> String {
    let ratio = compressed as f64 / uncompressed as f64;
    if uncompressed == 0 || ratio > 9.999 { "---".to_owned() } else { format!("{ratio:.3}") }
}

/// A size with a unit, in bytes below 10,000.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 10_000 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value > 9999.9 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ratios_are_short() {
        assert_eq!(
            [0, 9999, 10_000, 3_000_000, 12_000_000].map(size),
            ["0 B", "9999 B", "9.8 KiB", "2929.7 KiB", "11.4 MiB"]
        );
        assert_eq!([(1, 3), (10, 1), (1, 0)].map(|(part, whole)| ratio(part, whole)), ["0.333", "---", "---"]);
    }
}
