//! zstd, unzstd, zstdcat, zstdmt: zstd's options and words; sources are kept, every failure is exit code 1.
//! What it reads and writes besides zst goes by the names of the registry's formats.

mod benchmark;
mod files;
mod introduction;
mod lists;
mod messages;
mod patches;
mod training;
mod tuning;

use super::options::{Complaint, Digits, Does, Opt, Table, Takes, accepted, flag, is_of_number};
use super::{Family, Shows, Wish, manners, name_of, path};
use crate::tamp::keep_up;
use crate::tamp::manners::{Manners, OutputDirectory};
use crate::tamp::question::OverwriteQuestion;
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::CodecError;
use codec::zstd_training::TrainingWay;
use codec::zstd_tuning::ZstdTuning;
use crew::budget::Request;
use mh_kit::context::{Context, variable};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::sharing;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use terminal::{Messages, Verbosity, printable};
use tuning::{FASTEST, OVERFLOWS, number32};

pub(super) static FAMILY: Family =
    Family { table: &TABLE, variables: &[], allowed: None, begin, finish, complain, help: HELP };

const HELP: &str = "
  -1 to -19      fast and large to slow and small (default -3); --fast[=N], --ultra to -22
  -c             write to standard output
  -d             decompress; -t verify
  -f             replace files that exist, follow links; with -dc pass on what is not packed
  -k, --rm       keep the files (default), or remove them
  -o FILE        write to FILE
  -D FILE        use FILE as a dictionary; --train FILE... makes one, --maxdict=N bounds it
  -l, -lv        list frames, sizes and checks
  -b[N] -eN -iN  measure levels on files
  -q, -v         say less, say more
  -r             go through directories; --filelist FILE names the files
  -T N           use at most N cores (default: all); --single-thread uses one
  --format=FMT   zstd, gzip, xz, lzma or lz4
  --long[=LOG]   look for matches far back; -M N bounds the window that is decompressed
  --patch-from=FILE    compress, or decompress, what changed since FILE
  --zstd=wlog=N,...    single parameters; --no-check, --no-content-size leave out parts of frames
  --output-dir-flat DIR, --output-dir-mirror DIR    where outputs go
";

const TABLE: Table = Table {
    options: &[
        flag("c stdout", |wish| wish.args.stdout = true),
        flag("d decompress uncompress", |wish| match wish.zstd.mode {
            Mode::Benchmark => wish.zstd.only_decodes = true,
            _ => goes(wish, true, false, false),
        }),
        flag("z compress", |wish| goes(wish, false, false, false)),
        flag("f force", |wish| wish.args.force = true),
        flag("h help H", |wish| wish.shows = Some(Shows::Help)),
        flag("V version", |wish| wish.zstd.version = wish.zstd.version.take().or(Some(introduction::version(wish)))),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("rm", |wish| wish.keep = Some(false)),
        flag("l list", |wish| goes(wish, true, false, true)),
        flag("t test", |wish| goes(wish, true, true, false)),
        flag("q quiet", quieter),
        flag("v verbose", louder),
        flag("r", |wish| wish.args.recursive = true),
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
            wish.zstd.lists.push(path(file));
            Ok(())
        }),
        with_equals("format", format),
        next("trace", |_, _| Err("--trace is refused: the library that is linked here keeps no traces".to_owned())),
        Opt { names: "adapt", takes: Takes::Run(|_| false), does: Does::Take(keep_up_between) },
        flag("sparse", |wish| wish.args.sparse = true),
        flag("no-sparse", |wish| wish.args.no_sparse = true),
        // COMPAT: gzip's.
        accepted("n"),
        accepted("progress"),
        flag("no-progress", |wish| manners(wish).shows_progress = false),
        accepted("asyncio"),
        accepted("no-asyncio"),
        flag("pass-through", |wish| wish.passes_on = Some(true)),
        flag("no-pass-through", |wish| wish.passes_on = Some(false)),
        accepted("mmap-dict"),
        accepted("no-mmap-dict"),
        flag("no-dictID", |wish| wish.args.hides_dictionary = true),
        next("patch-from", |wish, file| {
            wish.zstd.patch_from = Some(path(file));
            Ok(())
        }),
        flag("train", training::usual),
        with_equals("train-cover", training::cover),
        with_equals("train-fastcover", training::fast_cover),
        with_equals("train-legacy", training::legacy),
        next("maxdict", |wish, value| {
            wish.zstd.dictionary_bytes = Some(number32(value)?);
            Ok(())
        }),
        next("dictID", |wish, value| {
            wish.zstd.dictionary_id = number32(value)?;
            Ok(())
        }),
        attached("s", |wish, value| {
            wish.zstd.selectivity = Some(number32(value)?);
            Ok(())
        }),
        flag("b", |wish| wish.zstd.mode = Mode::Benchmark),
        attached("e", |wish, value| {
            wish.zstd.last_level = Some(i32::try_from(number32(value)?).unwrap_or(i32::MAX));
            Ok(())
        }),
        attached("i", |wish, value| {
            wish.zstd.seconds = Some(number32(value)?);
            Ok(())
        }),
        flag("S", |wish| wish.zstd.is_each_alone = true),
        with_equals("priority", |wish, value| {
            wish.zstd.is_real_time = value == "rt";
            if wish.zstd.is_real_time { Ok(()) } else { Err(incorrect("--priority", value)) }
        }),
    ],
    also: tuning::OPTIONS,
    digits: Digits::Word(OVERFLOWS),
    abbreviates: false,
};

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

/// Suffixes that `--exclude-compressed` passes over.
// COMPAT: the list of zstd 1.5.7; 1.5.4 had only the first nine.
const COMPRESSED_ENDINGS: &[&str] = &[
    ".zst", ".tzst", ".gz", ".tgz", ".lzma", ".xz", ".txz", ".lz4", ".tlz4", ".7z", ".aa3", ".aac", ".aar", ".ace",
    ".alac", ".ape", ".apk", ".apng", ".arc", ".archive", ".arj", ".ark", ".asf", ".avi", ".avif", ".ba", ".br",
    ".bz2", ".cab", ".cdx", ".chm", ".cr2", ".divx", ".dmg", ".dng", ".docm", ".docx", ".dotm", ".dotx", ".dsft",
    ".ear", ".eftx", ".emz", ".eot", ".epub", ".f4v", ".flac", ".flv", ".gho", ".gif", ".gifv", ".gnp", ".iso", ".jar",
    ".jpeg", ".jpg", ".jxl", ".lz", ".lzh", ".m4a", ".m4v", ".mkv", ".mov", ".mp2", ".mp3", ".mp4", ".mpa", ".mpc",
    ".mpe", ".mpeg", ".mpg", ".mpl", ".mpv", ".msi", ".odp", ".ods", ".odt", ".ogg", ".ogv", ".otp", ".ots", ".ott",
    ".pea", ".png", ".pptx", ".qt", ".rar", ".s7z", ".sfx", ".sit", ".sitx", ".sqx", ".svgz", ".swf", ".tbz2", ".tib",
    ".tlz", ".vob", ".war", ".webm", ".webp", ".wma", ".wmv", ".woff", ".woff2", ".wvl", ".xlsx", ".xpi", ".xps",
    ".zip", ".zipx", ".zoo", ".zpaq",
];

/// The level of zstd itself, where neither the command line nor the environment tells one.
const DEFAULT_LEVEL: i32 = 3;

/// zstd's message for an option in place of a value.
const APART: &str = "error: command cannot be separated from its argument by another command";

/// A value behind `=`, or the next word.
const fn next(names: &'static str, take: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::NextWordUnless(APART), does: Does::Take(take) }
}

/// A number in the same word, or none.
const fn attached(names: &'static str, take: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::Run(is_of_number), does: Does::Take(take) }
}

/// A value behind `=` alone; without it the value is empty.
const fn with_equals(names: &'static str, take: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::Run(|_| false), does: Does::Take(take) }
}

/// Wishes that only zstd has options for.
#[derive(Debug, Default)]
pub struct ZstdWish {
    /// The work instead of compressing or decompressing.
    mode: Mode,
    /// One thread for everything.
    is_single_threaded: bool,
    /// Print the parameters of the level.
    shows_parameters: bool,
    /// The version was asked for: what is printed.
    version: Option<String>,
    /// The most that a window, or samples, may take, in bytes.
    memory: Option<u32>,
    /// Files that name files.
    lists: Vec<PathBuf>,
    /// The old file that a patch begins with.
    patch_from: Option<PathBuf>,
    /// Of a dictionary to be made: its size at most, its number, and how often parts of it occur.
    dictionary_bytes: Option<u32>,
    dictionary_id: u32,
    selectivity: Option<u32>,
    /// Of a benchmark: the last level, the seconds for each, whether each file has a line of its own, whether nobody else is to have the cores,
    /// and whether compressed files are only decompressed.
    last_level: Option<i32>,
    seconds: Option<u32>,
    is_each_alone: bool,
    is_real_time: bool,
    only_decodes: bool,
}

/// The work instead of compressing or decompressing.
#[derive(Clone, Copy, Debug, Default)]
enum Mode {
    /// Nothing: files are compressed or decompressed, or listed.
    #[default]
    Usual,
    /// A dictionary is made.
    Train(TrainingWay),
    /// Levels are measured.
    Benchmark,
}

fn goes(wish: &mut Wish, decompress: bool, test: bool, list: bool) {
    wish.goes(decompress, test, list);
    wish.zstd.mode = Mode::Usual;
}

fn quieter(wish: &mut Wish) {
    if wish.args.verbose > 0 {
        wish.args.verbose -= 1;
    } else {
        wish.args.quiet += 1;
    }
}

fn louder(wish: &mut Wish) {
    if wish.args.quiet > 0 {
        wish.args.quiet -= 1;
    } else {
        wish.args.verbose += 1;
    }
}

fn keep_up_between(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let wrong = || incorrect("--adapt", value);
    let mut bounds = keep_up::Bounds::default();
    for part in value.to_str().ok_or_else(wrong)?.split(',').filter(|part| !part.is_empty()) {
        let (bound, level) = part.split_once('=').ok_or_else(wrong)?;
        let digits = level.strip_prefix('-').unwrap_or(level);
        let is_number = !digits.is_empty() && digits.bytes().all(|letter| letter.is_ascii_digit());
        let overflows = "error: numeric value overflows 32-bit int";
        let level = level.parse().ok().ok_or_else(|| if is_number { overflows.to_owned() } else { wrong() })?;
        match bound {
            "min" => bounds.lowest = Some(level),
            "max" => bounds.highest = Some(level),
            _ => return Err(wrong()),
        }
    }
    wish.args.keep_up = Some(bounds);
    Ok(())
}

/// zstd's message about everything that it does not understand.
const INCORRECT: &str = "Incorrect parameter: ";

/// That about an option with its value.
fn incorrect(option: &str, value: &OsStr) -> String {
    let value = value.to_string_lossy();
    let equals = if value.is_empty() { "" } else { "=" };
    format!("{INCORRECT}{} ", printable(&format!("{option}{equals}{value}")))
}

/// How its own errors begin: the number is the exit code.
const ERROR: &str = "zstd: error ";

/// How its warnings begin.
const WARNING: &str = "Warning : ";

/// The name that messages begin with.
const NAME: &str = "zstd";

/// The exit code of what the library refuses.
const LIBRARY_ERROR: u8 = 11;

fn output_directory(directory: &OsStr) -> Result<PathBuf, String> {
    if directory.is_empty() {
        return Err("error: output dir cannot be empty string (did you mean to pass '.' instead?)".to_owned());
    }
    Ok(path(directory))
}

fn format(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let name = match value.to_str() {
        Some("zstd") => "zst",
        Some("gzip") => "gz",
        Some(name @ ("xz" | "lzma" | "lz4")) => name,
        _ => return Err(incorrect("--format", value)),
    };
    super::take_format(wish, name)
}

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: NAME.to_owned(),
        voice: Some(messages::voice),
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
    let is_number = digits.starts_with(|letter: char| letter.is_ascii_digit());
    let why = match number32(OsStr::new(digits)) {
        Ok(number) if is_number => {
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            return Some(if is_negative { -number } else { number });
        }
        Err(why) if is_number && why == OVERFLOWS => "numeric value too large".to_owned(),
        _ => format!("not a valid {kind} value"),
    };
    let value = name_of(value.as_ref());
    wish.notes.push(format!("Ignore environment variable setting {name}={value}: {why} "));
    None
}

/// A kind of number that may be negative.
const INTEGER: &str = "integer";

fn finish(wish: &mut Wish, _context: &Context) -> Result<(), String> {
    prepare(wish).inspect_err(|_| say_notes(wish))
}

fn prepare(wish: &mut Wish) -> Result<(), String> {
    let from_environment = number_of(wish, "ZSTD_CLEVEL", INTEGER);
    if let Some(count) = number_of(wish, "ZSTD_NBTHREADS", "unsigned")
        && wish.args.shared.hands.is_none()
    {
        wish.args.shared.hands = usize::try_from(count).ok();
    }
    if wish.args.verbose > 0 {
        wish.notes.push(introduction::welcome());
    }
    files::settle(wish)?;
    if instead_of_usual(wish).is_some() {
        let is_measured = matches!(wish.zstd.mode, Mode::Benchmark);
        wish.level = wish.level.or(from_environment.filter(|_| is_measured));
        return Ok(());
    }
    check_modes(wish)?;
    let is_zst = wish.args.format.as_deref() == Some("zst");
    let level = wish.level.or(from_environment).filter(|&level| level != 0);
    if is_zst || wish.unpacks() {
        set_level(wish, level.unwrap_or(DEFAULT_LEVEL));
        files::check_dictionary(wish)?;
        check_tuning(wish)?;
    } else {
        super::clamp_level(wish, level);
        (wish.args.zst, wish.args.long, wish.args.rsyncable) = (ZstdTuning::default(), None, false);
        wish.args.dictionary = None;
    }
    if wish.args.stdout {
        wish.args.output = None;
    }
    // A file has no producer that would wait, and one long frame has one level: then the level typed is used.
    let has_producer = wish.args.files.iter().all(|file| file == Path::new("-")) && !keep_up::stdin_is_a_file();
    let is_one_frame = wish.args.long.is_some() || wish.args.zst.needs_one_frame();
    if !has_producer || !is_zst || is_one_frame || wish.unpacks() {
        wish.args.keep_up = None;
    }
    files::settle_output(wish)?;
    wish.settle_sources(true);
    settle_manners(wish);
    Ok(())
}

/// Does other work than compressing or decompressing, if any was asked for.
fn instead_of_usual(wish: &Wish) -> Option<Instead> {
    match wish.zstd.mode {
        Mode::Train(_) => Some(training::run),
        Mode::Benchmark => Some(benchmark::run),
        Mode::Usual if wish.args.list => Some(lists::list),
        Mode::Usual => None,
    }
}

type Instead = fn(&mut Wish, &mut Context) -> Result<Outcome, Failure>;

/// Does that. None where files are to be compressed or decompressed.
pub(super) fn run_instead(wish: &mut Wish, context: &mut Context) -> Option<Result<Outcome, Failure>> {
    if wish.args.manners.name != NAME {
        return None;
    }
    instead_of_usual(wish).map(|instead| instead(wish, context))
}

/// The output of `-V`, if it was asked for.
pub(super) fn version_of(wish: &Wish) -> Option<&str> {
    wish.zstd.version.as_deref()
}

/// Says it in zstd's words, behind what is still to be said; unless the run is quieter than `least`.
fn say(wish: &mut Wish, least: Verbosity, words: &str) {
    say_notes(wish);
    Messages::standard_error(crate::tamp::verbosity(&wish.args)).in_words_of_others(least, words);
}

/// Says now what would be said before the run.
fn say_notes(wish: &mut Wish) {
    let messages = Messages::standard_error(crate::tamp::verbosity(&wish.args));
    for note in std::mem::take(&mut wish.notes) {
        messages.in_words_of_others(Verbosity::Normal, &note);
    }
}

/// 0 as usual, below it quiet, above it verbose.
fn loudness(wish: &Wish) -> i32 {
    i32::from(wish.args.verbose) - i32::from(wish.args.quiet)
}

/// A name as zstd's messages show it.
fn shown_name(name: impl AsRef<Path>) -> String {
    name_of(name.as_ref())
}

/// Does `work` on as many cores as the run is granted and `-T` allows, one at least, which it holds meanwhile.
fn on_hands<Made>(wish: &Wish, context: &Context, what: &str, work: impl FnOnce(u32) -> Made) -> Made {
    let shared = &wish.args.shared;
    let width = shared.hands_asked().unwrap_or(context.machine.hands_allowed()).max(1);
    let budget = sharing::budget(context, width, shared.priority().class());
    let (priority, weight) = (shared.priority().class(), shared.weight());
    let lease = budget.budget.lease(Request { priority, weight, useful_width: width, what: what.to_owned() });
    let mut hands = vec![lease.take()];
    hands.extend(std::iter::repeat_with(|| lease.try_take()).take(width - 1).map_while(|hand| hand));
    let made = work(u32::try_from(hands.len()).unwrap_or(u32::MAX));
    hands.into_iter().for_each(|hand| lease.give_back(hand));
    made
}

/// Whether what was asked for goes together.
fn check_modes(wish: &Wish) -> Result<(), String> {
    patches::check(wish)?;
    let incompatible = |mode| format!("{ERROR}1 : {mode} mode is not compatible with single thread mode ");
    if wish.unpacks() {
        let cannot_show = "error : can't use --show-default-cparams in decompression mode ";
        return if wish.zstd.shows_parameters { Err(cannot_show.to_owned()) } else { Ok(()) };
    }
    match wish.zstd.is_single_threaded {
        true if wish.args.keep_up.is_some() => Err(incompatible("Adaptive")),
        true if wish.args.rsyncable => Err(incompatible("Rsyncable")),
        _ => Ok(()),
    }
}

/// Whether the library takes the values of single parameters, and what follows from them.
fn check_tuning(wish: &mut Wish) -> Result<(), String> {
    let out_of_bound = format!("{ERROR}{LIBRARY_ERROR} : Parameter is out of bound ");
    if wish.unpacks() {
        // LIMIT: no frame has a smaller window (RFC 8878).
        let is_window = |bytes: u32| bytes >= 1 << 10;
        wish.args.window_bytes = wish.zstd.memory.map(u64::from);
        let is_fine = wish.zstd.memory.is_none_or(is_window) && wish.args.long.is_none_or(|log| log <= 31);
        return if is_fine { patches::settle(wish, DEFAULT_LEVEL) } else { Err(out_of_bound) };
    }
    wish.args.zst.states_file_size = true;
    let level = wish.args.level.or(wish.args.fast.map(|fast| -fast)).unwrap_or(DEFAULT_LEVEL);
    if wish.zstd.shows_parameters {
        wish.notes.push(tuning::shown_parameters(wish, level));
    }
    patches::settle(wish, level)?;
    wish.args.zst.check(level, wish.args.long).map_err(|error| match error {
        CodecError::Library { message, .. } => format!("{ERROR}{LIBRARY_ERROR} : {message} "),
        other => format!("{ERROR}{LIBRARY_ERROR} : {other} "),
    })
}

/// How it asks before a file is replaced.
const QUESTION: OverwriteQuestion = OverwriteQuestion {
    asked: |_, name| format!("zstd: {name} already exists; overwrite (y/n) ? "),
    refused: |_, _| "Not overwritten  \n".to_owned(),
    code: 1,
    // COMPAT: `yes | zstd` answers, too.
    needs_terminal: false,
};

/// How the run is to behave.
fn settle_manners(wish: &mut Wish) {
    wish.args.question = Some(QUESTION).filter(|_| wish.args.quiet == 0);
    let (force, to_stdout) = (wish.args.force, wish.args.stdout);
    let to_stdout = to_stdout || wish.args.files.is_empty();
    let unpacks = wish.unpacks();
    let passes_on = wish.passes_on.unwrap_or(force && to_stdout && !wish.args.test) && unpacks && !wish.args.list;
    let manners = manners(wish);
    manners.admission.passes_on = passes_on;
    if passes_on {
        manners.admission.behind_the_end = BehindTheEnd::PassedOn;
    }
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

fn complain(wish: &Wish, complaint: &Complaint) -> (String, u8) {
    let incorrect = |option: &str| format!("{INCORRECT}{option} ");
    let text = match complaint {
        Complaint::Uncompressed(message) if is_in_own_words(message) => message.clone(),
        Complaint::Uncompressed(message) => format!("zstd: {message}"),
        Complaint::NoValue(_) => "error: missing command argument ".to_owned(),
        Complaint::Unknown(option) | Complaint::Ambiguous(option, _) | Complaint::UnwantedValue(option) => {
            incorrect(option)
        }
    };
    let code = text.strip_prefix(ERROR).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(1);
    let is_warning = text.starts_with(WARNING);
    match loudness(wish) {
        ..=-2 => (String::new(), code),
        -1 if is_warning => (String::new(), code),
        0.. if text.starts_with(INCORRECT) => (format!("{text}\n(zstd -h shows the options)"), code),
        _ => (text, code),
    }
}

/// Whether zstd puts no name before it.
fn is_in_own_words(message: &str) -> bool {
    [INCORRECT, ERROR, WARNING, "error: ", "error : ", "stdin is", "Aborting", "Concatenating"]
        .iter()
        .any(|begin| message.starts_with(begin))
}
