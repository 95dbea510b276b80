//! bzip2, bunzip2, bzcat, lbzip2: bzip2's options and words; sources are removed. Exit codes: 1 for files and options, 2 for
//! damaged data; lbzip2's are 1 for errors and 4 for files that are skipped.

use super::options::{Complaint, Digits, Opt, Table, accepted, flag, number, value};
use super::{Family, Shows, Wish, input_of, kernel_words, manners, name_of, output_of};
use crate::tamp::manners::{Codes, Event, Manners, PacksTwice, Refused, Said, Way};
use crate::tamp::names::LeftAlone;
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::{CodecError, UnitDefect, Unrecognised};
use codec::lane::Totals;
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use std::path::Path;
use terminal::Verbosity;

pub(super) static FAMILY: Family = Family {
    table: &Table { options: OPTIONS, also: &[], digits: LEVELS, abbreviates: false },
    variables: &["BZIP2", "BZIP"],
    allowed: None,
    begin,
    finish,
    complain,
    help: HELP,
};

pub(super) static LBZIP2: Family = Family {
    table: &Table { options: OPTIONS, also: OF_LBZIP2, digits: LEVELS, abbreviates: false },
    variables: &["LBZIP2", "BZIP2", "BZIP"],
    allowed: None,
    begin: |wish| {
        begin(wish);
        manners(wish).voice = Some(voice_of_lbzip2);
        manners(wish).codes = Codes::with_warning(4);
    },
    finish,
    complain: complain_as_lbzip2,
    help: HELP,
};

const HELP: &str = "
  -c             write to standard output, keep the files
  -d             decompress; -t verify; -z compress
  -f             replace files that exist, follow links; with -dc pass on what is not packed
  -k             keep the files
  -n N           lbzip2: use at most N cores (default: all)
  -q, -v         say less, say more
  -s             use little memory: one core, blocks of 200 kB at most
  -1 to -9       blocks of 100 to 900 kB (default -9)
";

const LEVELS: Digits = Digits::Single(|digit| digit != b'0');

const OPTIONS: &[Opt] = &[
    flag("c stdout", |wish| wish.args.stdout = true),
    flag("d decompress", |wish| wish.goes(true, false, false)),
    flag("z compress", |wish| wish.goes(false, false, false)),
    flag("t test", |wish| wish.goes(true, true, false)),
    flag("f force", |wish| wish.args.force = true),
    flag("k keep", |wish| wish.keep = Some(true)),
    flag("h help", |wish| wish.shows = Some(Shows::Help)),
    flag("V version", |wish| wish.shows = Some(Shows::Version)),
    flag("L license", |wish| wish.shows = Some(Shows::Licence)),
    flag("q quiet", |wish| (wish.args.quiet, wish.args.verbose) = (1, 0)),
    flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
    flag("fast", |wish| wish.level = Some(1)),
    flag("best", |wish| wish.level = Some(9)),
    flag("s small", |wish| wish.rare.small = true),
    accepted("repetitive-fast"),
    accepted("repetitive-best"),
];

const OF_LBZIP2: &[Opt] = &[
    value("n", |wish, value| {
        let count = number(value).and_then(|count| usize::try_from(count).ok()).filter(|&count| count > 0);
        wish.args.shared.hands = Some(count.ok_or_else(|| {
            format!("failed to parse \"{}\" from \"-n\" as an integer in [1..4294967295]", name_of(value.as_ref()))
        })?);
        Ok(())
    }),
    accepted("u sequential"),
    accepted("S"),
    accepted("exponential"),
];

const ENDINGS: &[(&str, &str)] = &[(".bz2", ""), (".bz", ""), (".tbz2", ".tar"), (".tbz", ".tar"), (".tz2", ".tar")];

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: wish.called.clone(),
        voice: Some(voice),
        admission: FormatAdmission {
            formats: &["bz2"],
            passes_on: false,
            mixes: false,
            oddities: Oddities::Refused,
            takes_empty: false,
            behind_the_end: BehindTheEnd::Told,
        },
        endings: ENDINGS,
        compressed_endings: Some(&[".bz2", ".bz", ".tbz2", ".tbz"]),
        packs_twice: PacksTwice { by_force: false, to_stdout: false },
        guessed_ending: Some(".out"),
        shows_progress: false,
        ..Manners::default()
    };
}

fn finish(wish: &mut Wish, _context: &Context) -> Result<(), String> {
    super::take_format(wish, "bz2")?;
    if wish.rare.small {
        wish.args.shared.hands = Some(1);
        // COMPAT: blocks of 200 kB at most; lbzip2 takes them as they are.
        let least = if wish.called == "lbzip2" { 9 } else { 2 };
        wish.level = Some(wish.level.unwrap_or(9).min(least));
    }
    super::clamp_level(wish, wish.level);
    wish.settle_sources(false);
    let (force, to_stdout, unpacks) = (wish.args.force, wish.args.stdout, wish.unpacks());
    if unpacks && !to_stdout && !wish.args.test && wish.called != "lbzip2" {
        note_guesses(wish);
    }
    let refuses = !force && wish.replaces_files();
    let manners = manners(wish);
    manners.admission.passes_on = force && to_stdout && unpacks;
    manners.refuses = Refused { symbolic: refuses, hard: refuses, ..Refused::default() };
    Ok(())
}

/// Says which uncompressed files get a made-up name.
fn note_guesses(wish: &mut Wish) {
    let is_known = |name: &str| name == "-" || ENDINGS.iter().any(|(ending, _)| name.ends_with(ending));
    for file in &wish.args.files {
        let name = name_of(file);
        if !is_known(&name) && file.is_file() {
            let called = &wish.called;
            wish.notes.push(format!("{called}: Can't guess original name for {name} -- using {name}.out"));
        }
    }
}

fn complain(wish: &Wish, complaint: &Complaint) -> (String, u8) {
    let name = &wish.called;
    let text = match complaint {
        Complaint::Unknown(option)
        | Complaint::Ambiguous(option, _)
        | Complaint::NoValue(option)
        | Complaint::UnwantedValue(option) => format!("{name}: Bad flag `{option}'\n({name} -h shows the options)"),
        Complaint::Uncompressed(message) => format!("{name}: {message}"),
    };
    (text, 1)
}

fn complain_as_lbzip2(_wish: &Wish, complaint: &Complaint) -> (String, u8) {
    let text = match complaint {
        Complaint::Unknown(option) | Complaint::Ambiguous(option, _) | Complaint::UnwantedValue(option) => {
            format!("unknown option \"{option}\"")
        }
        Complaint::NoValue(option) => format!("option \"{option}\" requires an argument"),
        Complaint::Uncompressed(message) => message.clone(),
    };
    (format!("lbzip2: {text}, specify \"-h\" for help"), 1)
}

fn voice(manners: &Manners, event: &Event<'_>) -> Said {
    let name = &manners.name;
    match event {
        Event::LeftAlone { path, why } => Said::wrong(1, format!("{name}: {}", left_alone(&name_of(path), why))),
        Event::Failed { input, output, error, way } => {
            let (code, text) = failed(&input_of(input, "(stdin)"), &output_of(output, "(stdout)"), error, *way);
            let text = text.replace("{name}", name);
            Said::wrong(code, if text.starts_with('\n') { format!("{text}\n") } else { format!("{name}: {text}") })
        }
        Event::LeftUnread { input, .. } => {
            let input = input_of(input, "(stdin)");
            Said::odd(0, format!("{name}: {input}: trailing garbage after EOF ignored"))
        }
        Event::Odd { .. } | Event::End { .. } => Said::nothing(),
        Event::Done { input, totals, way, .. } => {
            let input = input_of(input, "(stdin)");
            // COMPAT: as wide as the name of standard input at least.
            let pad = "(stdin)".len().saturating_sub(input.len());
            let text = match way {
                Way::Compress => format!("  {input}: {:pad$}{}", "", ratio(totals)),
                Way::Decompress => format!("  {input}: {:pad$}done", ""),
                Way::Test => format!("  {input}: {:pad$}ok", ""),
            };
            Said::aloud(Verbosity::Verbose, text)
        }
        Event::TerminalOut => {
            let text = "I won't write compressed data to a terminal.";
            Said::wrong(1, format!("{name}: {text}\n{name}: For help, type: `{name} --help'."))
        }
        Event::TerminalIn => {
            let text = "I won't read compressed data from a terminal.";
            Said::wrong(1, format!("{name}: {text}\n{name}: For help, type: `{name} --help'."))
        }
    }
}

fn left_alone(path: &str, why: &LeftAlone) -> String {
    match why {
        LeftAlone::CompressedAlready { ending } => format!("Input file {path} already has {ending} suffix."),
        LeftAlone::UnknownEnding => format!("Can't guess original name for {path}."),
        LeftAlone::Directory => format!("Input file {path} is a directory."),
        LeftAlone::NotAFile | LeftAlone::SymbolicLink => format!("Input file {path} is not a normal file."),
        LeftAlone::SpecialMode(_) => format!("Input file {path} has a mode that would be lost."),
        LeftAlone::AboveMirror { directory, .. } => {
            format!("Input file {path} has no place in {}.", name_of(directory))
        }
        LeftAlone::OtherNames(others) => {
            let plural = if *others == 1 { "" } else { "s" };
            format!("Input file {path} has {others} other link{plural}.")
        }
        LeftAlone::SameOutput { other } => format!("Output file of {path} is that of {} too.", name_of(other)),
        LeftAlone::Unreadable(error) => format!("Can't open input file {path}: {error}."),
    }
}

fn failed(input: &str, output: &str, error: &CodecError, way: Way) -> (u8, String) {
    match error {
        CodecError::Exists { path } => (1, format!("Output file {} already exists.", name_of(path))),
        CodecError::Open(cause) if way == Way::Test => {
            (1, format!("Can't open input {input}: {}.", kernel_words(cause)))
        }
        CodecError::Open(cause) => (1, format!("Can't open input file {input}: {}.", kernel_words(cause))),
        CodecError::Directory => (1, format!("Input file {input} is a directory.")),
        CodecError::Write { cause, .. } => {
            let reason = format!("{{name}}: {}\n{}", kernel_words(cause), files(input, output));
            (1, format!("\n{{name}}: I/O or other error, bailing out.  Possible reason follows.\n{reason}"))
        }
        CodecError::NotRecognised(Unrecognised::Foreign) if way == Way::Test => {
            (2, format!("{input}: bad magic number (file not created by bzip2)"))
        }
        CodecError::NotRecognised(Unrecognised::Foreign) => (2, format!("{input} is not a bzip2 file.")),
        CodecError::NotRecognised(_) | CodecError::Damaged { defect: UnitDefect::Truncated, .. } => match way {
            Way::Test => (2, format!("{input}: file ends unexpectedly")),
            _ => (2, format!("\n{{name}}: Compressed file ends unexpectedly;\n{}", files(input, output))),
        },
        CodecError::Damaged { .. } => match way {
            Way::Test => (2, format!("{input}: data integrity (CRC) error in data")),
            _ => (2, format!("\n{{name}}: Data integrity error when decompressing.\n{}", files(input, output))),
        },
        other => (1, format!("{input}: {}.", with_causes(other))),
    }
}

fn files(input: &str, output: &str) -> String {
    format!("\tInput file = {input}, output file = {output}")
}

fn ratio(totals: &Totals) -> String {
    let (before, after) = (totals.bytes_in as f64, totals.bytes_out.max(1) as f64);
    if totals.bytes_in == 0 {
        return "no data compressed.".to_owned();
    }
    format!(
        "{:6.3}:1, {:6.3} bits/byte, {:5.2}% saved, {} in, {} out.",
        before / after,
        8.0 * after / before,
        100.0 * (1.0 - after / before),
        totals.bytes_in,
        totals.bytes_out
    )
}

fn voice_of_lbzip2(_manners: &Manners, event: &Event<'_>) -> Said {
    let skipping = |name: String, why: String| Said::odd(4, format!("lbzip2: skipping \"{name}\": {why}"));
    match event {
        Event::LeftAlone { path, why } => skipping(name_of(path), skipped(path, why)),
        Event::Failed { input, error, .. } => {
            let input = input_of(input, "stdin");
            let why = match error {
                CodecError::Exists { path } => format!("open(\"{}\"): File exists", name_of(path)),
                CodecError::Open(cause) => format!("lstat(): {}", kernel_words(cause)),
                CodecError::Write { path, cause, .. } => {
                    let output = super::gzip::written(path, "stdout");
                    return Said::wrong(1, format!("lbzip2: {output}: write(): {}", kernel_words(cause)));
                }
                CodecError::NotRecognised(_) => {
                    return Said::wrong(1, format!("lbzip2: \"{input}\": not a valid bzip2 file"));
                }
                CodecError::Damaged { defect, .. } => {
                    return Said::wrong(1, format!("lbzip2: \"{input}\": compressed data error: {defect}"));
                }
                other => return Said::wrong(1, format!("lbzip2: \"{input}\": {}", with_causes(*other))),
            };
            skipping(input, why)
        }
        Event::Done { input, totals, way: Way::Compress, .. } => {
            let input = input_of(input, "stdin");
            Said::aloud(Verbosity::Verbose, format!("lbzip2: \"{input}\": {}", ratio(totals)))
        }
        Event::LeftUnread { .. } | Event::Odd { .. } | Event::Done { .. } | Event::End { .. } => Said::nothing(),
        Event::TerminalOut => Said::wrong(1, "lbzip2: won't write compressed data to a terminal".to_owned()),
        Event::TerminalIn => Said::wrong(1, "lbzip2: won't read compressed data from a terminal".to_owned()),
    }
}

fn skipped(_path: &Path, why: &LeftAlone) -> String {
    match why {
        LeftAlone::CompressedAlready { .. } => "compressed suffix".to_owned(),
        LeftAlone::UnknownEnding => "unknown suffix".to_owned(),
        LeftAlone::Directory | LeftAlone::NotAFile | LeftAlone::SymbolicLink => "not a regular file".to_owned(),
        LeftAlone::OtherNames(_) => "more than one links".to_owned(),
        LeftAlone::SpecialMode(_) => "a mode that would be lost".to_owned(),
        LeftAlone::AboveMirror { directory, .. } => format!("no place in \"{}\"", name_of(directory)),
        LeftAlone::SameOutput { other } => format!("the same output as \"{}\"", name_of(other)),
        LeftAlone::Unreadable(error) => error.clone(),
    }
}
