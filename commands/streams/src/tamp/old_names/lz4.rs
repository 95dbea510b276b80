//! lz4, unlz4, lz4cat: lz4's options, words and exit codes; sources are kept.
//! Its second file is the output, unless -m says that all are inputs.

use super::options::{Complaint, Digits, Does, Opt, Table, Takes, accepted, flag, is_of_number, number};
use super::{Family, Shows, Wish, hands, input_of, kernel_words, lz4_benchmark, manners, name_of, path};
use crate::tamp::manners::{Event, Manners, Said, Way};
use crate::tamp::names::LeftAlone;
use crate::tamp::question::OverwriteQuestion;
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::{CodecError, UnitDefect, Unrecognised};
use codec::lane::{LaneInput, LaneOutput};
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use std::ffi::OsStr;
use std::path::Path;
use terminal::Verbosity;

pub(super) static FAMILY: Family =
    Family { table: &TABLE, variables: &[], allowed: None, begin, finish, complain, help: HELP };

const HELP: &str = "
  lz4 INPUT [OUTPUT]: the second name is the output; -m takes all names as inputs
  -1 to -12      fast and large to slow and small; --fast[=N]
  -c             write to standard output
  -d             decompress; -t verify; --list list
  -f             replace files that exist; with -dc pass on what is not packed
  -k, --rm       keep the files (default), or remove them
  -m             several inputs, each with its output beside it
  -q, -v         say less, say more
  -r             go through directories (with -m)
  -l             write legacy frames, as Linux kernels read them
  -D FILE        use FILE as a dictionary
  -b N, -e N     measure levels N to N in memory, -i N seconds each
  -T N           use at most N cores (default: all)
";

const TABLE: Table = Table {
    options: &[
        // COMPAT: the letter alone lets -f pass on what is not lz4.
        flag("c", |wish| (wish.args.stdout, wish.passes_on) = (true, Some(true))),
        flag("stdout to-stdout", |wish| wish.args.stdout = true),
        flag("d decompress uncompress", |wish| wish.goes(true, false, false)),
        flag("z compress", |wish| wish.goes(false, false, false)),
        flag("t test", |wish| wish.goes(true, true, false)),
        flag("list", |wish| (wish.many = true, wish.goes(true, false, true)).1),
        flag("f force", |wish| wish.args.force = true),
        flag("no-force", |wish| wish.args.force = false),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("rm", |wish| wish.keep = Some(false)),
        flag("m multiple", |wish| wish.many = true),
        flag("r", |wish| (wish.many, wish.args.recursive) = (true, true)),
        flag("h help H", |wish| wish.shows = Some(Shows::Help)),
        flag("V version", |wish| wish.shows = Some(Shows::Version)),
        flag("q quiet", |wish| (wish.args.quiet, wish.args.verbose) = (wish.args.quiet + 1, 0)),
        flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
        flag("best", |wish| wish.level = Some(12)),
        Opt { names: "fast", takes: Takes::Run(is_of_number), does: Does::Take(fast) },
        Opt { names: "T threads", takes: Takes::Run(is_of_number), does: Does::Take(hands) },
        Opt { names: "B", takes: Takes::Run(is_of_block), does: Does::Take(block) },
        Opt {
            names: "D",
            takes: Takes::NextWord,
            does: Does::Take(|wish, file| {
                wish.args.dictionary = Some(path(file));
                Ok(())
            }),
        },
        accepted("no-crc"),
        accepted("no-frame-crc"),
        accepted("frame-crc"),
        accepted("content-size"),
        accepted("no-content-size"),
        flag("sparse", |wish| wish.args.sparse = true),
        flag("no-sparse", |wish| wish.args.no_sparse = true),
        accepted("favor-decSpeed"),
        accepted("s"),
        flag("l", |wish| wish.args.legacy_blocks = true),
        Opt { names: "b", takes: Takes::Run(IS_DIGIT), does: Does::Take(lz4_benchmark::first) },
        Opt { names: "e", takes: Takes::Run(IS_DIGIT), does: Does::Take(lz4_benchmark::last) },
        Opt { names: "i", takes: Takes::Run(IS_DIGIT), does: Does::Take(lz4_benchmark::seconds) },
    ],
    also: &[],
    digits: Digits::Number,
    abbreviates: false,
};

/// Letters of the number behind a letter that others may follow.
const IS_DIGIT: fn(u8) -> bool = |letter| letter.is_ascii_digit();

pub(super) const INCORRECT: &str = "Incorrect parameters";

fn is_of_block(letter: u8) -> bool {
    letter.is_ascii_digit() || b"DXI".contains(&letter)
}

/// The shape of blocks: ours are what they are, but it has to be a shape.
fn block(_wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let text = value.to_str().unwrap_or_default().trim_end_matches(['D', 'X', 'I']);
    let is_shape = matches!(text, "" | "4" | "5" | "6" | "7") || text.parse().is_ok_and(|bytes: u64| bytes >= 32);
    if is_shape { Ok(()) } else { Err(INCORRECT.to_owned()) }
}

fn fast(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let step = if value.is_empty() { Some(1) } else { number(value) };
    let step = step.and_then(|step| i32::try_from(step).ok()).filter(|&step| step > 0);
    wish.level = Some(-step.ok_or(INCORRECT)?);
    Ok(())
}

const NO_DICTIONARY: &str = "Error 27 : Dictionary error : could not open dictionary file ";

const QUESTION: OverwriteQuestion = OverwriteQuestion {
    asked: |_, output| format!("{output} already exists; do you want to overwrite (y/N) ? "),
    refused: |_, _| "    not overwritten  \n".to_owned(),
    code: 1,
    needs_terminal: false,
};

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: "lz4".to_owned(),
        voice: Some(voice_of_one),
        admission: FormatAdmission {
            formats: &["lz4"],
            passes_on: false,
            mixes: false,
            oddities: Oddities::Refused,
            takes_empty: true,
            behind_the_end: BehindTheEnd::Told,
        },
        endings: &[(".lz4", ""), (".tlz4", ".tar")],
        compressed_endings: Some(&[]),
        shows_progress: false,
        ..Manners::default()
    };
}

fn finish(wish: &mut Wish, context: &Context) -> Result<(), String> {
    super::take_format(wish, "lz4")?;
    super::clamp_level(wish, wish.level);
    wish.args.lists_stdin = true;
    if let Some(file) = &wish.args.dictionary {
        std::fs::File::open(file)
            .map_err(|error| format!("{}: {} \n{NO_DICTIONARY}", name_of(file), kernel_words(&error)))?;
    }
    if wish.args.list {
        manners(wish).voice = Some(voice_of_list);
    } else if wish.many {
        manners(wish).voice = Some(voice_of_many);
    } else {
        place_one(wish, context)?;
        wish.args.question = Some(QUESTION).filter(|_| wish.args.quiet == 0);
    }
    wish.settle_sources(true);
    let passes_on = wish.args.force && wish.passes_on == Some(true) && wish.unpacks() && !wish.args.test;
    manners(wish).admission.passes_on = passes_on;
    Ok(())
}

/// `lz4 INPUT OUTPUT`; and `lz4 INPUT`, whose output is standard output, unless that is a terminal.
fn place_one(wish: &mut Wish, context: &Context) -> Result<(), String> {
    let files = std::mem::take(&mut wish.args.files);
    if let Some(third) = files.get(2) {
        return Err(format!("Error : {} won't be used ! Do you want multiple input files (-m) ? ", name_of(third)));
    }
    let mut files = files.into_iter();
    let Some(input) = files.next() else { return Ok(()) };
    if !wish.direction_is_given && input.to_string_lossy().ends_with(".lz4") {
        wish.goes(true, false, false);
    }
    let is_stdin = input == Path::new("stdin") || input == Path::new("-");
    wish.args.files = vec![if is_stdin { path(OsStr::new("-")) } else { input }];
    if wish.args.test || wish.args.stdout {
        return Ok(());
    }
    match files.next() {
        Some(output) if output == Path::new("-") || output == Path::new("stdout") => wish.args.stdout = true,
        Some(output) if output == Path::new("null") => wish.args.output = Some(path(OsStr::new("/dev/null"))),
        Some(output) => wish.args.output = Some(output),
        None if is_stdin => {}
        None if !context.terminals.stdout => {
            wish.args.stdout = true;
            let text =
                "Warning : using stdout as default output. Do not rely on this behavior: use explicit `-c` instead ! ";
            wish.notes.push(text.to_owned());
        }
        None => {}
    }
    Ok(())
}

fn complain(_wish: &Wish, complaint: &Complaint) -> (String, u8) {
    let hint = "(lz4 -h shows the options)";
    let text = match complaint {
        Complaint::Unknown(option)
        | Complaint::Ambiguous(option, _)
        | Complaint::UnwantedValue(option)
        | Complaint::NoValue(option) => format!("{INCORRECT}\n{} {hint}", name_of(option.as_ref())),
        Complaint::Uncompressed(message) if message == INCORRECT => format!("{INCORRECT}\n{hint}"),
        Complaint::Uncompressed(message) => message.clone(),
    };
    let code = if text.ends_with(NO_DICTIONARY) { 27 } else { 1 };
    (text, code)
}

/// With one input the exit code tells what went wrong.
fn voice_of_one(_manners: &Manners, event: &Event<'_>) -> Said {
    match event {
        Event::Done { input, output, totals, way, .. } => {
            let is_told = *way == Way::Test || matches!(output, LaneOutput::Path { .. });
            let (before, after) = (totals.bytes_in, totals.bytes_out);
            let text = match way {
                Way::Compress => {
                    let share = if before == 0 { 100.0 } else { 100.0 * after as f64 / before as f64 };
                    format!("Compressed {before} bytes into {after} bytes ==> {share:.2}%")
                }
                Way::Decompress | Way::Test => format!("{:<21}: decoded {after} bytes ", input_of(input, "stdin")),
            };
            Said::aloud(if is_told { Verbosity::Normal } else { Verbosity::Verbose }, text)
        }
        other => said(other),
    }
}

/// With several, results are not printed.
fn voice_of_many(_manners: &Manners, event: &Event<'_>) -> Said {
    said(event)
}

/// Lists have messages of their own.
fn voice_of_list(manners: &Manners, event: &Event<'_>) -> Said {
    let why = |input: &LaneInput, why: &str| Said::wrong(1, format!("lz4: {}{why} ", input_of(input, "stdin")));
    match event {
        Event::Failed { input, error: CodecError::NotRecognised(_), .. } => why(input, ": File format not recognized"),
        Event::Failed { input, error: CodecError::Open(_) | CodecError::Directory, .. } => {
            why(input, " is not a regular file")
        }
        other => voice_of_many(manners, other),
    }
}

fn said(event: &Event<'_>) -> Said {
    match event {
        Event::LeftAlone { path, why: LeftAlone::Directory } => {
            Said::wrong(40, format!("Error 40 : Error reading {}  ", name_of(path)))
        }
        Event::LeftAlone { path, why } => Said::wrong(1, left_alone(&name_of(path), why)),
        Event::Failed { input, error, .. } => failed(&input_of(input, "stdin"), error),
        Event::LeftUnread { error, .. } => {
            let at = if let CodecError::TrailingGarbage { offset, .. } = error { *offset } else { 0 };
            Said::wrong(1, format!("Stream followed by undecodable data at position {at} "))
        }
        Event::Odd { .. } | Event::Done { .. } | Event::End { .. } => Said::nothing(),
        Event::TerminalOut => Said::wrong(1, "refusing to write to console without -c".to_owned()),
        Event::TerminalIn => Said::wrong(1, "refusing to read from a console".to_owned()),
    }
}

fn left_alone(path: &str, why: &LeftAlone) -> String {
    match why {
        LeftAlone::CompressedAlready { ending } => format!("{path} ends in {ending} already"),
        LeftAlone::UnknownEnding => {
            format!("File extension doesn't match expected LZ4_EXTENSION (.lz4); will not process file: {path}")
        }
        LeftAlone::Directory => format!("{path} is a directory "),
        LeftAlone::NotAFile => format!("{path} is not a regular file "),
        LeftAlone::SpecialMode(_) => format!("{path} has a mode that would be lost "),
        LeftAlone::AboveMirror { directory, .. } => format!("{path} has no place in {} ", name_of(directory)),
        LeftAlone::SymbolicLink | LeftAlone::OtherNames(_) => format!("{path} is a link "),
        LeftAlone::SameOutput { other } => format!("{path}: {} gets the same name ", name_of(other)),
        LeftAlone::Unreadable(error) => format!("{path}: {error} "),
    }
}

fn failed(input: &str, error: &CodecError) -> Said {
    let (code, text) = match error {
        CodecError::Exists { path } => (1, format!("{} already exists; not overwritten  ", name_of(path))),
        CodecError::Open(cause) => (1, format!("{input}: {} ", kernel_words(cause))),
        CodecError::Directory => (40, format!("Error 40 : Error reading {input}  ")),
        // COMPAT: an empty input is nothing to decode, and no error.
        CodecError::NotRecognised(Unrecognised::Empty) => return Said::nothing(),
        CodecError::NotRecognised(_) => (44, "Error 44 : Unrecognized header : file cannot be decoded ".to_owned()),
        CodecError::Damaged { defect: UnitDefect::Truncated, .. } => (68, "Error 68 : Unfinished stream ".to_owned()),
        CodecError::Damaged { defect, .. } => {
            let defect = match defect {
                UnitDefect::Checksum { .. } => "ERROR_contentChecksum_invalid".to_owned(),
                UnitDefect::Lz4 => "ERROR_decompressionFailed".to_owned(),
                other => other.to_string(),
            };
            (66, format!("Error 66 : Decompression error : {defect} "))
        }
        other => (1, format!("{input}: {} ", with_causes(other))),
    };
    Said::wrong(code, text)
}
