//! zstd, unzstd, zstdcat, zstdmt: zstd's options and words; sources are kept, every failure is exit code 1.
//! What it reads and writes besides zst goes by the names of the registry's formats.

use super::options::{Complaint, Digits, Does, Opt, Table, Takes, accepted, flag, is_of_number, number, refused};
use super::{Family, Shows, Wish, input_of, kernel_words, manners, name_of, output_of, path};
use crate::tamp::keep_up;
use crate::tamp::list::Row;
use crate::tamp::manners::{Event, Manners, OutputDirectory, Refused, Said, Way};
use crate::tamp::names::LeftAlone;
use crate::tamp::remedy;
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::{CodecError, UnitDefect, Unrecognised};
use mh_kit::context::{Context, variable};
use mh_kit::failure::with_causes;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use terminal::{Verbosity, printable};

pub(super) static FAMILY: Family =
    Family { table: &TABLE, variables: &[], allowed: None, begin, finish, complain, help: HELP };

const HELP: &str = "
  -1 to -19      fast and large to slow and small (default -3); --fast[=N], --ultra to -22
  -c             write to standard output
  -d             decompress; -t verify; -l list
  -f             replace files that exist, follow links; with -dc pass on what is not packed
  -k, --rm       keep the files (default), or remove them
  -o FILE        write to FILE
  -q, -v         say less, say more
  -r             go through directories; --filelist FILE names the files
  -T N           use at most N cores (default: all); --single-thread uses one
  --format=FMT   zstd, gzip, xz, lzma or lz4
  --long[=LOG]   look for matches far back
  --output-dir-flat DIR, --output-dir-mirror DIR    where outputs go
";

const TABLE: Table = Table {
    options: &[
        flag("c stdout", |wish| wish.args.stdout = true),
        flag("d decompress uncompress", |wish| wish.goes(true, false, false)),
        flag("z compress", |wish| wish.goes(false, false, false)),
        flag("f force", |wish| wish.args.force = true),
        flag("h help H", |wish| wish.shows = Some(Shows::Help)),
        flag("V version", |wish| wish.shows = Some(Shows::Version)),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("rm", |wish| wish.keep = Some(false)),
        flag("l list", |wish| wish.goes(true, false, true)),
        flag("t test", |wish| wish.goes(true, true, false)),
        flag("q quiet", |wish| (wish.args.quiet, wish.args.verbose) = (wish.args.quiet + 1, 0)),
        flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
        flag("r", |wish| wish.args.recursive = true),
        flag("ultra", |wish| wish.args.ultra = true),
        flag("max", |wish| (wish.level, wish.args.ultra) = (Some(22), true)),
        flag("single-thread", |wish| wish.args.shared.hands = Some(1)),
        flag("exclude-compressed", |wish| manners(wish).compressed_endings = Some(COMPRESSED_ENDINGS)),
        next("o", |wish, file| {
            wish.args.output = Some(path(file));
            Ok(())
        }),
        next("D", |wish, file| {
            wish.args.dictionary = Some(path(file));
            Ok(())
        }),
        next("output-dir-flat", |wish, directory| {
            manners(wish).directory = Some(OutputDirectory::Flat(output_directory(directory)?));
            Ok(())
        }),
        next("output-dir-mirror", |wish, directory| {
            manners(wish).directory = Some(OutputDirectory::Mirror(output_directory(directory)?));
            Ok(())
        }),
        next("filelist", |wish, file| {
            let before = wish.args.files.len();
            let read = super::add_files_of(wish, file, b'\n');
            // COMPAT: an empty list is an error too.
            let any = read.is_ok() && wish.args.files.len() > before;
            if any { Ok(()) } else { Err(format!("error reading {} ", name_of(file.as_ref()))) }
        }),
        next("format", format),
        next("stream-size", size),
        next("size-hint", size),
        next("memlimit memory memlimit-decompress", size32),
        next("target-compressed-block-size", size),
        next("jobsize block-size", size32),
        attached("B", size32),
        next("auto-threads", |_, _| Ok(())),
        next("trace", |_, _| Ok(())),
        attached("T", threads),
        next("threads", threads),
        attached("M", size32),
        attached("fast", fast),
        attached("long", long),
        adapt(),
        accepted("C check"),
        flag("rsyncable", |wish| wish.args.rsyncable = true),
        flag("sparse", |wish| wish.args.sparse = true),
        flag("no-sparse", |wish| wish.args.no_sparse = true),
        accepted("progress"),
        flag("no-progress", |wish| manners(wish).shows_progress = false),
        accepted("content-size"),
        accepted("no-content-size"),
        accepted("asyncio"),
        accepted("no-asyncio"),
        accepted("row-match-finder"),
        accepted("no-row-match-finder"),
        accepted("compress-literals"),
        accepted("no-compress-literals"),
        flag("pass-through", |wish| wish.passes_on = Some(true)),
        flag("no-pass-through", |wish| wish.passes_on = Some(false)),
        accepted("mmap-dict"),
        accepted("no-mmap-dict"),
        refused("no-check", "frames without a checksum are not written here"),
        flag("no-dictID", |wish| wish.args.hides_dictionary = true),
        Opt {
            names: "train train-cover train-fastcover train-legacy",
            takes: Takes::Run(|_| false),
            does: Does::Refuse(NO_TRAINING),
        },
        Opt { names: "maxdict dictID", takes: Takes::Run(|_| false), does: Does::Refuse(NO_TRAINING) },
        Opt { names: "patch-from", takes: Takes::NextWord, does: Does::Refuse("patches are not made here") },
        Opt {
            names: "zstd",
            takes: Takes::NextWord,
            does: Does::Refuse("single compression parameters are not taken here; levels are"),
        },
        Opt { names: "b", takes: Takes::Run(is_of_number), does: Does::Refuse(NO_BENCHMARK) },
        Opt { names: "e i", takes: Takes::Run(is_of_number), does: Does::Refuse(NO_BENCHMARK) },
        refused("S", NO_BENCHMARK),
    ],
    also: &[],
    digits: Digits::Word(OVERFLOWS),
    abbreviates: false,
};

const NO_BENCHMARK: &str = "there is no benchmark here; --report tells the speed of a run";

/// Endings of compressed files, each with what replaces it.
const ENDINGS: &[(&str, &str)] = &[
    (".zst", ""),
    (".tzst", ".tar"),
    (UNTOLD_ENDING, ""),
    (".gz", ""),
    (".tgz", ".tar"),
    (".lzma", ""),
    (".xz", ""),
    (".txz", ".tar"),
    (".lz4", ""),
    (".tlz4", ".tar"),
];

/// An ending that zstd takes, and leaves out of its list.
const UNTOLD_ENDING: &str = ".zstd";

const COMPRESSED_ENDINGS: &[&str] = &[
    ".zst", ".tzst", ".gz", ".tgz", ".lzma", ".xz", ".txz", ".lz4", ".tlz4", ".bz2", ".tbz2", ".zip", ".7z", ".rar",
    ".jpg", ".jpeg", ".png", ".mp3", ".mp4", ".mkv", ".webm", ".webp",
];

/// The lowest level has this number below 0.
const FASTEST: i32 = 131_072;

/// The level of zstd itself, where neither the command line nor the environment tells one.
const DEFAULT_LEVEL: i32 = 3;

/// A value behind `=`, or the next word.
const fn next(names: &'static str, take: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::NextWord, does: Does::Take(take) }
}

/// A number in the same word, or none.
const fn attached(names: &'static str, take: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::Run(is_of_number), does: Does::Take(take) }
}

/// Takes `min=N,max=N`.
const fn adapt() -> Opt {
    Opt { names: "adapt", takes: Takes::Run(|_| false), does: Does::Take(keep_up_between) }
}

fn keep_up_between(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let mut bounds = keep_up::Bounds::default();
    for part in value.to_str().ok_or(INCORRECT)?.split(',').filter(|part| !part.is_empty()) {
        let (bound, level) = part.split_once('=').ok_or(INCORRECT)?;
        let digits = level.strip_prefix('-').unwrap_or(level);
        let is_number = !digits.is_empty() && digits.bytes().all(|letter| letter.is_ascii_digit());
        let wrong = if is_number { "error: numeric value overflows 32-bit int" } else { INCORRECT };
        let level = Some(level.parse().ok().ok_or(wrong)?);
        match bound {
            "min" => bounds.lowest = level,
            "max" => bounds.highest = level,
            _ => return Err(INCORRECT.to_owned()),
        }
    }
    wish.args.keep_up = Some(bounds);
    Ok(())
}

fn threads(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let count = if value.is_empty() { 0 } else { number32(value)? };
    wish.args.shared.hands = usize::try_from(count).ok();
    Ok(())
}

/// Dictionaries are used here, not made.
const NO_TRAINING: &str = "dictionaries are not made here; the zstd tool does that";

/// What zstd says about everything that it does not understand.
const INCORRECT: &str = "Incorrect parameters";

/// What it says about numbers of more than 32 bits. Words that begin so have no name before them.
const OVERFLOWS: &str = "error: numeric value overflows 32-bit unsigned int";
const IN_OWN_WORDS: &str = "error: ";

/// A number of 32 bits, with a binary unit where there is one.
fn number32(value: &OsStr) -> Result<u32, String> {
    let text = value.to_str().ok_or(INCORRECT)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let shift = match &text[digits..] {
        _ if digits == 0 => return Err(INCORRECT.to_owned()),
        "" => 0,
        "K" | "KB" | "KiB" | "Ki" => 10,
        "M" | "MB" | "MiB" | "Mi" => 20,
        _ => return Err(INCORRECT.to_owned()),
    };
    let number = text[..digits].parse::<u32>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| OVERFLOWS.to_owned())
}

fn size32(_wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    if value.is_empty() { Ok(()) } else { number32(value).map(|_| ()) }
}

fn output_directory(directory: &OsStr) -> Result<PathBuf, String> {
    if directory.is_empty() {
        return Err("error: output dir cannot be empty string (did you mean to pass '.' instead?)".to_owned());
    }
    Ok(path(directory))
}

/// A size without meaning here, but it has to be one.
fn size(_wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let is_size = value.is_empty() || number(value).is_some();
    if is_size { Ok(()) } else { Err(INCORRECT.to_owned()) }
}

fn fast(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let step = if value.is_empty() { 1 } else { number32(value)? };
    let step = i32::try_from(step).unwrap_or(i32::MAX).min(FASTEST);
    wish.level = Some(-step).filter(|level| *level < 0);
    wish.level.map(|_| ()).ok_or_else(|| INCORRECT.to_owned())
}

fn long(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let log = if value.is_empty() { 27 } else { number32(value)? };
    wish.args.long =
        Some(Some(log).filter(|log| (10..=31).contains(log)).ok_or("--long takes a window from 10 to 31")?);
    Ok(())
}

fn format(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let name = match value.to_str() {
        Some("zstd") => "zst",
        Some("gzip") => "gz",
        Some(name @ ("xz" | "lzma" | "lz4")) => name,
        _ => return Err(INCORRECT.to_owned()),
    };
    super::take_format(wish, name)
}

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: "zstd".to_owned(),
        voice: Some(voice),
        admission: FormatAdmission {
            formats: &["zst", "gz", "xz", "lzma", "lz4"],
            passes_on: false,
            mixes: true,
            oddities: Oddities::Refused,
            takes_empty: false,
            behind_the_end: BehindTheEnd::Refused,
        },
        endings: ENDINGS,
        compressed_endings: Some(&[]),
        lists: Some(list),
        ..Manners::default()
    };
    wish.args.format = Some("zst".to_owned());
}

/// A variable's number; anything else is told and passed over, as zstd does.
fn number_of(wish: &mut Wish, name: &str, kind: &str) -> Option<i32> {
    let value = variable(name).filter(|value| !value.is_empty())?;
    let text = value.to_string_lossy();
    let (is_negative, digits) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(digits), _) if kind == INTEGER => (true, digits),
        (_, Some(digits)) if kind == INTEGER => (false, digits),
        _ => (false, &*text),
    };
    match number32(OsStr::new(digits)) {
        Ok(number) => {
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            Some(if is_negative { -number } else { number })
        }
        Err(why) => {
            let why = if why == OVERFLOWS {
                "numeric value too large".to_owned()
            } else {
                format!("not a valid {kind} value")
            };
            let value = name_of(value.as_ref());
            wish.notes.push(format!("Ignore environment variable setting {name}={value}: {why} "));
            None
        }
    }
}

/// A kind of number that may be negative.
const INTEGER: &str = "integer";

fn finish(wish: &mut Wish, _context: &Context) -> Result<(), String> {
    let from_environment = number_of(wish, "ZSTD_CLEVEL", INTEGER);
    if let Some(count) = number_of(wish, "ZSTD_NBTHREADS", "unsigned")
        && wish.args.shared.hands.is_none()
    {
        wish.args.shared.hands = usize::try_from(count).ok();
    }
    let is_zst = wish.args.format.as_deref() == Some("zst");
    let level = wish.level.or(from_environment);
    if is_zst {
        set_level(wish, level.filter(|&level| level != 0).unwrap_or(DEFAULT_LEVEL));
    } else {
        super::clamp_level(wish, level);
    }
    if wish.args.stdout {
        wish.args.output = None;
    }
    // A file has no producer that would wait, and one long frame has one level: then the level typed is used.
    let has_producer = wish.args.files.iter().all(|file| file == Path::new("-")) && !keep_up::stdin_is_a_file();
    if !has_producer || !is_zst || wish.args.long.is_some() || wish.unpacks() {
        wish.args.keep_up = None;
    }
    wish.settle_sources(true);
    if wish.args.files.len() > 1 && wish.args.output.is_some() {
        return Err("several files into one output are not put together here; -c does it".to_owned());
    }
    let (force, to_stdout) = (wish.args.force, wish.args.stdout);
    let to_stdout = to_stdout || wish.args.files.is_empty();
    let unpacks = wish.unpacks();
    let passes_on = wish.passes_on.unwrap_or(force && to_stdout && !wish.args.test) && unpacks && !wish.args.list;
    let is_verbose = wish.args.verbose > 0;
    let manners = manners(wish);
    manners.admission.passes_on = passes_on;
    if passes_on {
        manners.admission.behind_the_end = BehindTheEnd::PassedOn;
    }
    if is_verbose {
        manners.lists = Some(list_at_length);
    }
    manners.refuses = Refused { symbolic: !force, ..Refused::default() };
    Ok(())
}

/// Levels that are too high become the highest that is allowed, and negative ones are `--fast`.
fn set_level(wish: &mut Wish, level: i32) {
    let highest = if wish.args.ultra { 22 } else { 19 };
    if level > highest {
        wish.notes.push(format!("Warning : compression level higher than max, reduced to {highest} "));
    }
    match level {
        ..0 => wish.args.fast = Some(level.saturating_neg().min(FASTEST)),
        _ => wish.args.level = Some(level.min(highest)),
    }
}

fn complain(_wish: &Wish, complaint: &Complaint) -> (String, u8) {
    let text = match complaint {
        Complaint::Uncompressed(message) if message.starts_with(IN_OWN_WORDS) => message.clone(),
        Complaint::Uncompressed(message) if message != INCORRECT => format!("zstd: {message}"),
        Complaint::NoValue(_) => "error: missing command argument ".to_owned(),
        Complaint::Unknown(option) | Complaint::Ambiguous(option, _) | Complaint::UnwantedValue(option) => {
            format!("{INCORRECT} : {option}\n(zstd -h shows the options)")
        }
        Complaint::Uncompressed(_) => format!("{INCORRECT} \n(zstd -h shows the options)"),
    };
    (text, 1)
}

fn voice(_manners: &Manners, event: &Event<'_>) -> Said {
    match event {
        Event::LeftAlone { path, why } => left_alone(path, why),
        Event::Failed { input, error, way, .. } => failed(&input_of(input, "/*stdin*\\"), error, *way),
        Event::Done { input, output, totals, way, alone, .. } => {
            let name = input_of(input, "/*stdin*\\");
            let (before, after) = (totals.bytes_in, totals.bytes_out);
            let text = match way {
                Way::Compress => {
                    let share = percentage(after, before);
                    let output = output_of(output, "/*stdout*\\");
                    format!("{name:<20} :{share}   ({} => {}, {output}) ", human(before), human(after))
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
                    format!("{done:>3} files compressed :{share} ({} => {})", human(before), human(after))
                }
                Way::Decompress | Way::Test => format!("{done} files decompressed : {after:>6} bytes total "),
            };
            Said::aloud(Verbosity::Normal, text)
        }
        Event::End { .. } | Event::Odd { .. } | Event::LeftUnread { .. } => Said::nothing(),
        Event::TerminalOut => Said::wrong(1, "zstd: stdout is a terminal, aborting ".to_owned()),
        Event::TerminalIn => Said::wrong(1, "zstd: stdin is a terminal, aborting ".to_owned()),
    }
}

/// What goes to standard output is not summed up unless asked for.
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

fn failed(input: &str, error: &CodecError, way: Way) -> Said {
    let text = match error {
        CodecError::Exists { path } => format!("zstd: {} already exists; not overwritten  ", name_of(path)),
        CodecError::Open(cause) if way == Way::Compress => {
            format!("zstd: can't stat {input} : {} -- ignored ", kernel_words(cause))
        }
        CodecError::Open(cause) => format!("zstd: can't stat {input} : {} -- ignored ", kernel_words(cause)),
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
        CodecError::Damaged { defect: defect @ (UnitDefect::Window { .. } | UnitDefect::Dictionary(_)), .. } => {
            format!("{input} : Decoding error (36) : {defect}{} ", remedy(error))
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

/// A size in binary units, with three digits.
fn human(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match (unit, value) {
        (0, _) | (_, 100.0..) => 0,
        (_, 10.0..) => 1,
        _ => 2,
    };
    format!("{value:6.digits$} {}", units[unit])
}

fn list(rows: &[Row], asked: usize) -> String {
    let mut text = String::from("Frames  Skips  Compressed  Uncompressed  Ratio  Check  Filename\n");
    for row in rows {
        let (frames, name) = (row.units + row.skipped, printable(&row.name));
        text.push_str(&line([frames, row.skipped, row.packed_bytes], row.plain_bytes, check_of(row), &name));
    }
    if asked > 1 {
        let sum = |value: fn(&Row) -> u64| rows.iter().map(value).sum();
        let all_have_one = rows.iter().all(|row| check_of(row) != NO_CHECK);
        let check = if all_have_one { "XXH64" } else { NO_CHECK };
        let sums = [sum(|row| row.units + row.skipped), sum(|row| row.skipped), sum(|row| row.packed_bytes)];
        // COMPAT: one that is not known makes the sum unknown.
        let plain_bytes = rows.iter().map(|row| row.plain_bytes).sum();
        text.push_str("----------------------------------------------------------------- \n");
        text.push_str(&line(sums, plain_bytes, check, &format!("{} files", rows.len())));
    }
    text
}

/// Frames, skippable ones among them, and both sizes. COMPAT: blank where the uncompressed one is not known.
fn line([frames, skips, compressed]: [u64; 3], uncompressed: Option<u64>, check: &str, name: &str) -> String {
    let ratio = uncompressed
        .map_or(String::new(), |uncompressed| format!("{:.3}", uncompressed as f64 / compressed.max(1) as f64));
    let (compressed, uncompressed) = (human(compressed), uncompressed.map_or(String::new(), human));
    format!("{frames:>6}  {skips:>5}  {compressed:>10}  {uncompressed:>12}  {ratio:>5}  {check:>5}  {name}\n")
}

/// What stands where not all frames have a checksum.
const NO_CHECK: &str = "None";

fn check_of(row: &Row) -> &'static str {
    if row.check == "xxh64" { "XXH64" } else { NO_CHECK }
}

/// `-lv`: a paragraph a file.
fn list_at_length(rows: &[Row], _asked: usize) -> String {
    let mut text = String::new();
    let size = |bytes: u64| format!("{} ({bytes} B)", human(bytes).trim_start());
    for row in rows {
        text.push_str(&format!("{} \n# Zstandard Frames: {}\n", printable(&row.name), row.units));
        if row.skipped > 0 {
            text.push_str(&format!("# Skippable Frames: {}\n", row.skipped));
        }
        let check = match row.detail.checksum {
            Some(stored) if row.units == 1 => format!("XXH64 {:08x}", u32::from_le_bytes(stored)),
            _ => check_of(row).to_owned(),
        };
        let (dictionary, window) = (row.detail.dictionary, size(row.detail.window_bytes));
        let compressed = size(row.packed_bytes);
        text.push_str(&format!("DictID: {dictionary}\nWindow Size: {window}\nCompressed Size: {compressed}\n"));
        if let Some(plain_bytes) = row.plain_bytes {
            let ratio = plain_bytes as f64 / row.packed_bytes.max(1) as f64;
            text.push_str(&format!("Decompressed Size: {}\nRatio: {ratio:.4}\n", size(plain_bytes)));
        }
        text.push_str(&format!("Check: {check}\n\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        assert_eq!(human(21), "    21 B");
        assert_eq!(human(13_893), "  13.6 KiB");
        assert_eq!(human(2_715), "  2.65 KiB");
        assert_eq!(percentage(2_715, 13_893), " 19.54%");
    }
}
