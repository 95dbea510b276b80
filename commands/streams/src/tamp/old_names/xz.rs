//! xz, unxz, xzcat, lzma, unlzma, lzcat: xz's options, words and exit codes (1 an error, 2 a warning); sources are removed.
//! Filter chains are refused: what is written follows from the level alone.

use super::options::{Complaint, Digits, Does, Opt, Table, Takes, accepted, accepted_value, flag, value};
use super::{Family, Shows, Wish, hands, in_getopt_words, input_of, kernel_words, manners, name_of};
use crate::tamp::list::Row;
use crate::tamp::manners::{Codes, Event, Manners, PacksTwice, Refused, Said, Way};
use crate::tamp::names::{LeftAlone, SpecialMode};
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::{CodecError, UnitDefect};
use codec::format::{CheckName, Remark};
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use terminal::{Verbosity, printable};

pub(super) static FAMILY: Family = Family {
    table: &TABLE,
    variables: &["XZ_DEFAULTS", "XZ_OPT"],
    allowed: None,
    begin,
    finish,
    complain: |wish, complaint| {
        let name = &wish.called;
        let hint = match complaint {
            Complaint::Uncompressed(_) => String::new(),
            _ => format!("\n{name}: Try `{name} --help' for more information."),
        };
        (format!("{name}: {}{hint}", in_getopt_words(complaint)), 1)
    },
    help: HELP,
};

const HELP: &str = "
  -0 to -9       fast and large to slow and small (default -6)
  -c             write to standard output, keep the files
  -d             decompress; -z compress; -t verify; -l list (--robot for scripts)
  -f             replace files that exist, follow links; with -dc pass on what is not packed
  -F FORMAT      auto, xz or lzma; decompressing lzip too
  -k             keep the files
  -q, -v         say less, say more; -Q ends without an error where there are only warnings
  -S ENDING      ending to add or to take away
  -T N           use at most N cores (default, and 0: all)
  --files[=FILE], --files0[=FILE]    the files are named there
";

const TABLE: Table = Table {
    options: &[
        flag("c stdout to-stdout", |wish| wish.args.stdout = true),
        flag("d decompress uncompress", |wish| wish.goes(true, false, false)),
        flag("z compress", |wish| wish.goes(false, false, false)),
        flag("t test", |wish| wish.goes(true, true, false)),
        flag("l list", |wish| wish.goes(true, false, true)),
        flag("f force", |wish| wish.args.force = true),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("h help H long-help", |wish| wish.shows = Some(Shows::Help)),
        flag("V version", |wish| wish.shows = Some(Shows::Version)),
        flag("q quiet", |wish| (wish.args.quiet, wish.args.verbose) = (wish.args.quiet + 1, 0)),
        flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
        flag("Q no-warn", |wish| manners(wish).codes = Codes::with_warning(2).without_warnings()),
        flag("robot", |wish| manners(wish).lists = Some(list_for_scripts)),
        flag("fast", |wish| wish.level = Some(0)),
        flag("best", |wish| wish.level = Some(9)),
        value("F format", |wish, name| {
            wish.format = Some(name.to_string_lossy().into_owned());
            Ok(())
        }),
        value("C check", check),
        value("S suffix", |wish, ending| super::take_ending(wish, ending, "", ": Invalid filename suffix")),
        value("T threads", hands),
        value("M memory memlimit memlimit-compress memlimit-decompress memlimit-mt-decompress", limit),
        accepted_value("block-size block-list flush-timeout"),
        Opt { names: "files", takes: Takes::Run(|_| false), does: Does::Take(|wish, list| files(wish, list, b'\n')) },
        Opt { names: "files0", takes: Takes::Run(|_| false), does: Does::Take(|wish, list| files(wish, list, 0)) },
        Opt { names: "lzma2", takes: Takes::Run(|_| false), does: Does::Take(lzma2) },
        Opt {
            names: "lzma1 x86 bcj powerpc ia64 arm armthumb arm64 sparc riscv delta filters",
            takes: Takes::Run(|_| false),
            does: Does::Refuse("filter chains are not taken here; levels are"),
        },
        flag("e extreme", |wish| wish.args.extreme = true),
        accepted("single-stream"),
        flag("no-sparse", |wish| wish.args.no_sparse = true),
        flag("ignore-check", |wish| manners(wish).admission.oddities = Oddities::Ignored),
        accepted("no-adjust"),
        accepted("no-sync"),
        flag("info-memory", |wish| wish.shows = Some(Shows::Memory)),
    ],
    also: &[],
    digits: Digits::Single(|_| true),
    abbreviates: true,
};

fn check(wish: &mut Wish, name: &OsStr) -> Result<(), String> {
    wish.args.check = Some(match name.to_str() {
        Some("crc32") => CheckName::Crc32,
        Some("crc64") => CheckName::Crc64,
        Some("sha256") => CheckName::Sha256,
        Some("none") => return Err("files without a check are not written here".to_owned()),
        _ => return Err(format!("{}: Unsupported integrity check type", name_of(name.as_ref()))),
    });
    Ok(())
}

/// A size or a share of the memory, which have no meaning here: `mh tamp --memory` bounds the buffers.
fn limit(_wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let text = value.to_string_lossy();
    let is_limit = text == "max" || text.starts_with(|first: char| first.is_ascii_digit());
    if is_limit { Ok(()) } else { Err(format!("{}: Value is not a non-negative decimal integer", printable(&text))) }
}

fn files(wish: &mut Wish, list: &OsStr, end: u8) -> Result<(), String> {
    super::add_files_of(wish, if list.is_empty() { OsStr::new("-") } else { list }, end)
}

/// A preset is a level; anything else in it would be a chain of one's own.
fn lzma2(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let text = value.to_str().unwrap_or_default();
    if text.is_empty() {
        return Ok(());
    }
    wish.args.extreme |= text.ends_with('e');
    let level = text.strip_prefix("preset=").map(|level| level.trim_end_matches('e'));
    wish.level = Some(
        level
            .and_then(|level| level.parse().ok())
            .filter(|level| (0..=9).contains(level))
            .ok_or("of --lzma2 only preset= is taken here")?,
    );
    Ok(())
}

const ENDINGS: &[(&str, &str)] = &[(".xz", ""), (".txz", ".tar"), (".lzma", ""), (".tlz", ".tar"), (".lz", "")];

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: wish.called.clone(),
        voice: Some(voice),
        endings: ENDINGS,
        packs_twice: PacksTwice { by_force: false, to_stdout: true },
        lists: Some(list),
        shows_progress: false,
        codes: Codes::with_warning(2),
        ..Manners::default()
    };
}

fn finish(wish: &mut Wish, _context: &Context) -> Result<(), String> {
    let unpacks = wish.unpacks();
    let wanted = wish.format.clone().unwrap_or_else(|| "auto".to_owned());
    let (writes, reads, compressed): (_, &'static [&'static str], &'static [&'static str]) = match wanted.as_str() {
        "auto" => ("xz", &["xz", "lzma", "lz"], &[".xz", ".txz"]),
        "xz" => ("xz", &["xz"], &[".xz", ".txz"]),
        "lzma" | "alone" => ("lzma", &["lzma"], &[".lzma", ".tlz"]),
        "lzip" if unpacks => ("xz", &["lz"], &[]),
        "lzip" => return Err("Compression of lzip files (.lz) is not supported".to_owned()),
        "raw" => return Err("raw streams are not read or written here".to_owned()),
        other => return Err(format!("{}: Unknown file format type", printable(other))),
    };
    if !unpacks {
        super::take_format(wish, writes)?;
    }
    super::clamp_level(wish, wish.level);
    wish.settle_sources(false);
    let (force, to_stdout) = (wish.args.force, wish.args.stdout);
    let keeps = wish.keep == Some(true);
    let refuses = !force && wish.replaces_files() && !keeps;
    let manners = manners(wish);
    let passes_on = force && to_stdout && unpacks;
    let oddities = match manners.admission.oddities {
        Oddities::Ignored => Oddities::Ignored,
        Oddities::Refused | Oddities::Told => Oddities::Told,
    };
    // COMPAT: what is no member behind one of lzip is nobody's business, as lzip's manual has it.
    let behind_the_end = BehindTheEnd::LeftBehind("lz");
    manners.admission =
        FormatAdmission { formats: reads, passes_on, mixes: false, oddities, takes_empty: false, behind_the_end };
    manners.compressed_endings = Some(compressed);
    manners.refuses = Refused { symbolic: refuses, hard: refuses, special_modes: refuses };
    Ok(())
}

fn voice(manners: &Manners, event: &Event<'_>) -> Said {
    let name = &manners.name;
    match event {
        Event::LeftAlone { path, why } => left_alone(name, path, why),
        Event::Failed { input, error, .. } => {
            let input = input_of(input, "(stdin)");
            if matches!(error, CodecError::Directory) {
                return Said::odd(2, format!("{name}: {input}: Is a directory, skipping"));
            }
            if let CodecError::Exists { path } = error {
                return Said::wrong(1, format!("{name}: {}: File exists", name_of(path)));
            }
            Said::wrong(1, format!("{name}: {input}: {}", failed(error)))
        }
        Event::Done { input, totals, way, .. } => {
            let (compressed, uncompressed) = match way {
                Way::Compress => (totals.bytes_out, totals.bytes_in),
                Way::Decompress | Way::Test => (totals.bytes_in, totals.bytes_out),
            };
            let (input, ratio) = (input_of(input, "(stdin)"), ratio(compressed, uncompressed));
            Said::aloud(Verbosity::Verbose, format!("{input}: {compressed} B / {uncompressed} B = {ratio}"))
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

fn left_alone(name: &str, path: &Path, why: &LeftAlone) -> Said {
    let shown = name_of(path);
    let text = match why {
        // COMPAT: xz looks into a file before it looks at its name.
        LeftAlone::UnknownEnding if !looks_compressed(path) => {
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

fn failed(error: &CodecError) -> String {
    match error {
        CodecError::Open(cause) => kernel_words(cause),
        CodecError::NotRecognised(_) => "File format not recognized".to_owned(),
        CodecError::Damaged { defect: UnitDefect::Truncated, .. } => "Unexpected end of input".to_owned(),
        CodecError::Damaged { defect: UnitDefect::Window { .. }, .. } => "Memory usage limit reached".to_owned(),
        CodecError::Damaged { .. } => "Compressed data is corrupt".to_owned(),
        CodecError::TrailingGarbage { .. } => "Unexpected end of input".to_owned(),
        other => with_causes(other),
    }
}

/// The same in a list, which has no room for more.
fn listed_ratio(compressed: u64, uncompressed: u64) -> String {
    if compressed as f64 / uncompressed as f64 > 9.999 { "---".to_owned() } else { ratio(compressed, uncompressed) }
}

fn ratio(compressed: u64, uncompressed: u64) -> String {
    if uncompressed == 0 { "---".to_owned() } else { format!("{:.3}", compressed as f64 / uncompressed as f64) }
}

/// Xz's blocks tell their sizes, or are decoded for them.
fn plain_bytes(row: &Row) -> u64 {
    row.plain_bytes.unwrap_or(0)
}

/// The check's name as xz writes it.
fn check_of(row: &Row) -> String {
    match row.check {
        "sha256" => "SHA-256".to_owned(),
        other if other.starts_with("unknown") => other.replacen('u', "U", 1),
        other => other.to_uppercase(),
    }
}

fn list(rows: &[Row], _asked: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from("Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename\n");
    for row in rows {
        let ratio = listed_ratio(row.packed_bytes, plain_bytes(row));
        let (compressed, uncompressed) = (format!("{} B", row.packed_bytes), format!("{} B", plain_bytes(row)));
        let (check, name, streams) = (check_of(row), printable(&row.name), 1);
        text.push_str(&format!(
            "{streams:>5} {:>7} {compressed:>12} {uncompressed:>12} {ratio:>6}  {check:<7} {name}\n",
            row.units
        ));
    }
    text
}

/// Fields apart by tabs, as xz --robot writes them.
fn list_for_scripts(rows: &[Row], _asked: usize) -> String {
    let mut text = String::new();
    let (mut compressed, mut uncompressed, mut blocks) = (0, 0, 0);
    for row in rows {
        (compressed, uncompressed, blocks) =
            (compressed + row.packed_bytes, uncompressed + plain_bytes(row), blocks + row.units);
        let (ratio, check) = (listed_ratio(row.packed_bytes, plain_bytes(row)), check_of(row));
        text.push_str(&format!("name\t{}\n", row.name));
        let (compressed, uncompressed) = (row.packed_bytes, plain_bytes(row));
        text.push_str(&format!("file\t1\t{}\t{compressed}\t{uncompressed}\t{ratio}\t{check}\t0\n", row.units));
    }
    if let Some(first) = rows.first() {
        let (ratio, check, count) = (listed_ratio(compressed, uncompressed), check_of(first), rows.len());
        text.push_str(&format!(
            "totals\t{count}\t{blocks}\t{compressed}\t{uncompressed}\t{ratio}\t{check}\t0\t{count}\n"
        ));
    }
    text
}
