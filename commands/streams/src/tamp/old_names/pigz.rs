//! pigz, unpigz: gzip's ways with pigz's options and words; every failure is exit code 1, a wrong option 22.
//! It writes and reads zlib streams and zip archives of one entry too.

use super::options::{self, Complaint, Digits, Table, accepted, accepted_value, flag, value};
use super::{Family, Shows, Wish, deflate_lists, gzip, input_of, kernel_words, manners, name_of, output_of};
use crate::tamp::manners::{Event, Manners, PacksTwice, Refused, Said, Way};
use crate::tamp::names::{LeftAlone, OthersInside};
use crate::tamp::question::OverwriteQuestion;
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::{CodecError, UnitDefect, Unrecognised};
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use std::ffi::OsStr;
use terminal::Verbosity;

pub(super) static FAMILY: Family = Family {
    table: &TABLE,
    variables: &["GZIP", "PIGZ"],
    allowed: None,
    begin,
    finish,
    complain: |wish, complaint| {
        let name = &wish.called;
        let text = match complaint {
            Complaint::Unknown(option) | Complaint::Ambiguous(option, _) | Complaint::UnwantedValue(option) => {
                format!("invalid option: {option}")
            }
            Complaint::NoValue(option) => format!("missing parameter after {option}"),
            Complaint::Uncompressed(message) => message.clone(),
        };
        (format!("{name}: abort: {text}"), 22)
    },
    help: HELP,
};

const HELP: &str = "
  -p N           use at most N cores (default: all)
  -c             write to standard output, keep the files
  -d             decompress
  -f             replace files that exist, follow links; with -dc pass on what is not packed
  -k             keep the files
  -l             list sizes
  -n, -N         leave the name and time out, or restore them (default: told, not restored)
  -q, -v         say less, say more
  -r             go through directories
  -S ENDING      ending to add or to take away
  -t             verify
  -z, -K         write zlib's format (.zz), or a zip archive of one entry (.zip)
  -0 to -9, -11  large and fast to small and slow (default -6)
";

const TABLE: Table = Table {
    options: &[
        value("p processes", |wish, value| {
            let count = options::number(value).and_then(|count| usize::try_from(count).ok());
            let count = count.ok_or_else(|| wrong_number(value))?;
            if count == 0 {
                return Err("invalid number of processes: 0".to_owned());
            }
            wish.args.shared.hands = Some(count);
            Ok(())
        }),
        value("b blocksize", |_, value| {
            let kibibytes = options::number(value).ok_or_else(|| wrong_number(value))?;
            if kibibytes < 32 { Err("block size too small (must be >= 32K)".to_owned()) } else { Ok(()) }
        }),
        value("I iterations", checked),
        value("J maxsplits", checked),
        accepted("i independent"),
        flag("R rsyncable", |wish| wish.args.rsyncable = true),
        accepted("F first"),
        accepted("O oneblock"),
        accepted("H huffman"),
        accepted("U rle"),
        flag("Y synchronous", |wish| wish.args.fsync = true),
        accepted("m no-time"),
        accepted("M time"),
        accepted("T no-name-or-time"),
        accepted_value("A alias"),
        accepted_value("C comment"),
        flag("c stdout to-stdout", |wish| wish.args.stdout = true),
        flag("d decompress uncompress", |wish| wish.goes(true, false, false)),
        flag("f force", |wish| wish.args.force = true),
        flag("h help", |wish| wish.shows = Some(Shows::Help)),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("l list", |wish| wish.goes(true, false, true)),
        flag("L license", |wish| wish.shows = Some(Shows::Licence)),
        flag("n no-name", |wish| wish.origin = Some(false)),
        flag("N name", |wish| wish.origin = Some(true)),
        flag("q quiet silent", |wish| (wish.args.quiet, wish.args.verbose) = (1, 0)),
        flag("r recursive", |wish| wish.args.recursive = true),
        value("S suffix", |wish, ending| super::take_ending(wish, ending, "suffix cannot be empty", "")),
        flag("t test", |wish| wish.goes(true, true, false)),
        flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
        flag("V version", |wish| wish.shows = Some(Shows::Version)),
        flag("fast", |wish| wish.level = Some(1)),
        flag("best", |wish| wish.level = Some(9)),
        flag("z zlib", |wish| wish.args.format = Some("zlib".to_owned())),
        flag("K zip", |wish| wish.args.format = Some("zip".to_owned())),
    ],
    also: &[],
    digits: Digits::Number,
    abbreviates: false,
};

/// Endings of compressed files, each with what replaces it.
const ENDINGS: &[(&str, &str)] = &[
    (".gz", ""),
    (".zz", ""),
    (".zip", ""),
    (".Z", ""),
    (".tgz", ".tar"),
    (".taz", ".tar"),
    ("-gz", ""),
    ("-zz", ""),
    (".z", ""),
    ("-z", ""),
    ("_z", ""),
];

/// A number that has no meaning here, but has to be one.
fn checked(_wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    options::number(value).map(|_| ()).ok_or_else(|| wrong_number(value))
}

fn wrong_number(value: &OsStr) -> String {
    format!("invalid numeric parameter: {}", name_of(value.as_ref()))
}

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: wish.called.clone(),
        voice: Some(voice),
        admission: FormatAdmission {
            formats: &["gz", "Z", "zlib", "zip"],
            passes_on: false,
            mixes: false,
            oddities: Oddities::Ignored,
            takes_empty: false,
            behind_the_end: BehindTheEnd::Told,
        },
        endings: ENDINGS,
        lists: Some(deflate_lists::pigz),
        compressed_endings: Some(&[".gz"]),
        packs_twice: PacksTwice { by_force: true, to_stdout: false },
        tried_endings: &[".gz", ".zz", ".zip", ".z", "-gz", "-z", "_z"],
        shows_progress: false,
        ..Manners::default()
    };
    wish.args.format = Some("gz".to_owned());
}

fn finish(wish: &mut Wish, context: &Context) -> Result<(), String> {
    match wish.level {
        // pigz's 11 is zopfli: as small as it gets. So is ours.
        Some(11) => (wish.level, wish.args.ultra) = (Some(12), true),
        Some(10 | 12..) => return Err("only levels 0..9 and 11 are allowed".to_owned()),
        _ => {}
    }
    let at_length = wish.args.list && wish.args.verbose > 0;
    wish.args.question = Some(QUESTION).filter(|_| wish.args.quiet == 0);
    gzip::finish(wish, context)?;
    manners(wish).lists = Some(if at_length { deflate_lists::pigz_at_length } else { deflate_lists::pigz });
    // COMPAT: only its own suffix keeps a file from being compressed.
    manners(wish).compressed_endings = Some(match wish.args.format.as_deref() {
        Some("zlib") => &[".zz"],
        Some("zip") => &[".zip"],
        _ => &[".gz"],
    });
    // COMPAT: pigz passes over links for -t and -l as well.
    let symbolic = !wish.args.force && !wish.args.stdout;
    let inside = if symbolic { OthersInside::LeftAlone } else { OthersInside::PassedOver };
    manners(wish).refuses = Refused { symbolic, inside, ..Refused::default() };
    Ok(())
}

const QUESTION: OverwriteQuestion = OverwriteQuestion {
    asked: |_, output| format!("{output} exists -- overwrite (y/n)? "),
    refused: |manners, output| format!("{}: skipping: {output} exists\n", manners.name),
    code: 1,
    needs_terminal: true,
};

fn voice(manners: &Manners, event: &Event<'_>) -> Said {
    let name = &manners.name;
    let skipping = |text: String| Said::odd(1, format!("{name}: skipping: {text}"));
    match event {
        Event::LeftAlone { path, why } => skipping(left_alone(&name_of(path), why)),
        // COMPAT: the error's own number is the exit code.
        Event::Failed { error: CodecError::Write { path, cause, .. }, .. } => Said::wrong(
            cause.raw_os_error().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
            format!("{name}: abort: write error on {} ({})", gzip::written(path, "<stdout>"), kernel_words(cause)),
        ),
        Event::Failed { input, error, .. } => skipping(failed(&input_of(input, "<stdin>"), error)),
        Event::Done { input, output, way, .. } => {
            let input = input_of(input, "<stdin>");
            let text = match way {
                Way::Test => format!("{input} OK "),
                _ => format!("{input} to {} ", output_of(output, "<stdout>")),
            };
            Said::aloud(Verbosity::Verbose, text)
        }
        Event::LeftUnread { input, error: CodecError::FurtherEntries { .. } } => {
            let input = input_of(input, "<stdin>");
            Said::odd(1, format!("{name}: warning: {input}: entries after the first were ignored"))
        }
        Event::LeftUnread { .. } | Event::Odd { .. } | Event::End { .. } => Said::nothing(),
        Event::TerminalOut => {
            Said::wrong(22, format!("{name}: abort: refusing to write compressed data to a terminal without -f"))
        }
        Event::TerminalIn => {
            Said::wrong(22, format!("{name}: abort: refusing to read compressed data from a terminal without -f"))
        }
    }
}

fn left_alone(path: &str, why: &LeftAlone) -> String {
    match why {
        LeftAlone::CompressedAlready { ending } => format!("{path} ends with {ending}"),
        LeftAlone::UnknownEnding => format!("{path} does not have compressed suffix"),
        LeftAlone::Directory => format!("{path} is a directory"),
        LeftAlone::NotAFile => format!("{path} is a special file or device"),
        LeftAlone::SymbolicLink => format!("{path} is a symbolic link"),
        LeftAlone::SameOutput { other } => format!("{path} has the same output as {}", name_of(other)),
        LeftAlone::OtherNames(others) => format!("{path} has {others} other names"),
        LeftAlone::AboveMirror { directory, .. } => format!("{path} has no place in {}", name_of(directory)),
        LeftAlone::SpecialMode(_) => format!("{path} has a mode that would be lost"),
        LeftAlone::Unreadable(error) => format!("{path}: {error}"),
    }
}

fn failed(input: &str, error: &CodecError) -> String {
    match error {
        CodecError::Exists { path } => format!("{} exists", name_of(path)),
        CodecError::Open(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            format!("{} does not exist", input.strip_suffix(".gz").unwrap_or(input))
        }
        CodecError::Open(cause) => format!("{input} cannot be opened: {}", kernel_words(cause)),
        CodecError::NotRecognised(Unrecognised::Empty) => format!("{input} empty"),
        CodecError::NotRecognised(_) => format!("{input} unrecognized format"),
        CodecError::Damaged { defect, .. } => match defect {
            UnitDefect::Truncated => format!("{input}: corrupted -- incomplete deflate data"),
            UnitDefect::Checksum { .. } => format!("{input}: corrupted -- crc32 mismatch"),
            UnitDefect::Length { .. } => format!("{input}: corrupted -- length mismatch"),
            UnitDefect::Deflate(_) => format!("{input}: corrupted -- invalid deflate data"),
            other => format!("{input}: corrupted -- {other}"),
        },
        other => format!("{input}: {}", with_causes(other)),
    }
}
