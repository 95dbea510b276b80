//! gzip, gunzip, zcat: GNU gzip's options, words and exit codes (1 an error, 2 a warning); sources are removed.
//! Its manual is the specification; pigz has a file of its own.

use super::options::{Allowed, Digits, Table, accepted, accepted_value, flag, refused, value};
use super::{Family, Shows, Wish, deflate_lists, in_getopt_words, input_of, kernel_words, manners, name_of, output_of};
use crate::tamp::manners::{Codes, Event, Manners, Refused, Said, Way};
use crate::tamp::names::{LeftAlone, OthersInside, SpecialMode};
use crate::tamp::question::OverwriteQuestion;
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::error::{CodecError, UnitDefect, Unrecognised};
use codec::format::Remark;
use codec::lane::Totals;
use codec::origin::Tells;
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use terminal::{Verbosity, printable};

pub(super) static FAMILY: Family = Family {
    table: &TABLE,
    variables: &["GZIP"],
    allowed: Some(ALLOWED),
    begin,
    finish,
    complain: |_, complaint| {
        let hint = "Try `gzip --help' for more information.";
        (format!("gzip: {}\n{hint}", in_getopt_words(complaint)), 1)
    },
    help: HELP,
};

/// What may stand in `GZIP`, besides levels.
const ALLOWED: Allowed = Allowed { variable: "GZIP", options: &["best", "fast", "n", "N", "q", "rsyncable", "v"] };

const HELP: &str = "
  -c, --stdout      write to standard output, keep the files
  -d, --decompress  decompress
  -f, --force       replace files that exist, follow links; with -dc pass on what is not packed
  -h, --help        print this text
  -k, --keep        keep the files
  -l, --list        list sizes; with -v also method, CRC-32 and time
  -L, --license     print the licence
  -n, --no-name     leave name and time out
  -N, --name        restore name and time (default: stored, not restored)
  -q, --quiet       print errors only
  -r, --recursive   descend into directories
      --rsyncable   end members where the content says so, for rsync
  -S, --suffix=SUF  suffix to add or to remove
      --synchronous wait until the output is on the disk
  -t, --test        verify
  -v, --verbose     print names and ratios
  -V, --version     print the version
  -1, --fast        compress fast; -9, --best: small (default -6)

With no FILE, or when FILE is -, read standard input.
";

const TABLE: Table = Table {
    options: &[
        accepted("a ascii"),
        flag("c stdout to-stdout", |wish| wish.args.stdout = true),
        flag("d decompress uncompress", |wish| wish.goes(true, false, false)),
        flag("f force", |wish| wish.args.force = true),
        flag("h H ? help", |wish| wish.shows = Some(Shows::Help)),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("l list", |wish| wish.goes(true, false, true)),
        flag("L license", |wish| wish.shows = Some(Shows::Licence)),
        flag("m no-time", |wish| wish.time = Some(false)),
        flag("M time", |wish| (wish.origin, wish.time) = (Some(true), Some(true))),
        flag("n no-name", |wish| (wish.origin, wish.time) = (Some(false), Some(false))),
        flag("N name", |wish| (wish.origin, wish.time) = (Some(true), Some(true))),
        flag("q quiet silent", |wish| (wish.args.quiet, wish.args.verbose) = (1, 0)),
        flag("r recursive", |wish| wish.args.recursive = true),
        flag("rsyncable", |wish| wish.args.rsyncable = true),
        flag("synchronous", |wish| wish.args.fsync = true),
        value("S suffix", |wish, ending| super::take_ending(wish, ending, "invalid suffix '", "'")),
        flag("t test", |wish| wish.goes(true, true, false)),
        flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
        flag("V version", |wish| wish.shows = Some(Shows::Version)),
        flag("fast", |wish| wish.level = Some(1)),
        flag("best", |wish| wish.level = Some(9)),
        accepted_value("b bits"),
        refused("Z lzw", "-Z not supported in this version"),
    ],
    also: &[],
    digits: Digits::Single(|digit| digit != b'0'),
    abbreviates: true,
};

/// Endings of compressed files, each with what replaces it.
pub(super) const ENDINGS: &[(&str, &str)] = &[
    (".gz", ""),
    (".Z", ""),
    (".tgz", ".tar"),
    (".taz", ".tar"),
    ("-gz", ""),
    (".z", ""),
    ("-z", ""),
    ("_z", ""),
    (".svgz", ".svg"),
];

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: "gzip".to_owned(),
        voice: Some(voice),
        admission: FormatAdmission {
            formats: &["gz", "Z", "z"],
            passes_on: false,
            mixes: true,
            oddities: Oddities::Told,
            takes_empty: false,
            behind_the_end: BehindTheEnd::Told,
        },
        endings: ENDINGS,
        endings_in_any_case: true,
        compressed_endings: Some(&[".gz", ".tgz", ".taz", "-gz", ".z", "-z", "_z"]),
        tried_endings: &["", ".gz", ".Z", ".z", "-z", "_z"],
        lists: Some(deflate_lists::gzip),
        shows_progress: false,
        codes: Codes::with_warning(2),
        ..Manners::default()
    };
    wish.args.format = Some("gz".to_owned());
    wish.args.question = Some(QUESTION);
}

pub(super) fn finish(wish: &mut Wish, _context: &Context) -> Result<(), String> {
    wish.args.level = wish.level;
    wish.settle_sources(false);
    let (force, to_stdout) = (wish.args.force, wish.args.stdout);
    let unpacks = wish.unpacks();
    let (origin, time) = (wish.origin, wish.time);
    wish.args.lists_stdin = true;
    let (list, quiet, verbose) = (wish.args.list, wish.args.quiet > 0, wish.args.verbose > 0);
    wish.args.lists_checks = list && verbose;
    let refuses_links = !force && wish.replaces_files();
    let manners = manners(wish);
    if list && verbose {
        manners.lists = Some(deflate_lists::gzip_at_length);
    } else if quiet {
        manners.lists = Some(deflate_lists::gzip_quiet);
    }
    let tells = !unpacks && origin.unwrap_or(true);
    manners.tells_origin = Tells { name: tells, time: !unpacks && time.unwrap_or(tells) };
    manners.restores_origin = unpacks && origin.unwrap_or(false);
    // COMPAT: with -f and -c gzip and pigz are cat for what they do not know.
    manners.admission.passes_on = force && to_stdout && unpacks;
    if manners.admission.passes_on {
        manners.admission.behind_the_end = BehindTheEnd::PassedOn;
    }
    // COMPAT: with -f links are followed, so that none of them is reported.
    let inside = if refuses_links { OthersInside::LeftAlone } else { OthersInside::PassedOver };
    manners.refuses = Refused { symbolic: refuses_links, hard: refuses_links, special_modes: refuses_links, inside };
    Ok(())
}

const QUESTION: OverwriteQuestion = OverwriteQuestion {
    asked: |manners, output| format!("{}: {output} already exists; do you wish to overwrite (y or n)? ", manners.name),
    refused: |_, _| "\tnot overwritten\n".to_owned(),
    code: 2,
    needs_terminal: true,
};

fn voice(manners: &Manners, event: &Event<'_>) -> Said {
    let name = &manners.name;
    match event {
        Event::LeftAlone { path, why } => left_alone(name, path, why),
        Event::Failed { input, error, .. } => failed(name, &input_of(input, "stdin"), error),
        Event::LeftUnread { input, .. } => {
            let input = input_of(input, "stdin");
            Said::odd(2, format!("{name}: {input}: decompression OK, trailing garbage ignored"))
        }
        Event::Odd { input, remark } => odd(name, &input_of(input, "stdin"), *remark),
        Event::Done { input, output, totals, keeps, way, .. } => {
            let input = input_of(input, "stdin");
            let text = match (way, keeps, output_of(output, "stdout")) {
                (Way::Test, _, _) => format!("{input}:\t OK"),
                (_, true, output) if output != "stdout" => {
                    format!("{input}:\t{} -- created {output}", share(totals, *way))
                }
                (_, _, output) => format!("{input}:\t{} -- replaced with {output}", share(totals, *way)),
            };
            Said::aloud(Verbosity::Verbose, text)
        }
        Event::End { .. } => Said::nothing(),
        Event::TerminalOut => Said::wrong(
            1,
            format!(
                "{name}: compressed data not written to a terminal. Use -f to force compression.\n\
                 For help, type: {name} -h"
            ),
        ),
        Event::TerminalIn => Said::wrong(
            1,
            format!(
                "{name}: compressed data not read from a terminal. Use -f to force decompression.\n\
                 For help, type: {name} -h"
            ),
        ),
    }
}

fn odd(name: &str, input: &str, remark: Remark) -> Said {
    match remark {
        Remark::TimeOutOfRange => {
            Said::odd(2, format!("{name}: {input}: warning: file timestamp out of range for gzip format"))
        }
        Remark::UnknownFlags(flags) => Said::odd(2, format!("{name}: {input}: warning, unknown flags 0x{flags:x}")),
        // COMPAT: told, and no reason to end with anything but 0.
        Remark::EndsEarly => Said::odd(0, format!("{name}: {input}: file size changed while zipping")),
        Remark::UnknownCheck => Said::nothing(),
    }
}

fn left_alone(name: &str, path: &Path, why: &LeftAlone) -> Said {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    let path = name_of(path);
    match why {
        LeftAlone::CompressedAlready { ending } => {
            Said::odd(0, format!("{name}: {path} already has {ending} suffix -- unchanged"))
        }
        LeftAlone::UnknownEnding => Said::odd(2, format!("{name}: {path}: unknown suffix -- ignored")),
        LeftAlone::Directory => Said::odd(2, format!("{name}: {path} is a directory -- ignored")),
        // COMPAT: what opening it gives.
        LeftAlone::NotAFile if is_socket => Said::wrong(1, format!("{name}: {path}: No such device or address")),
        LeftAlone::NotAFile => Said::odd(2, format!("{name}: {path} is not a directory or a regular file - ignored")),
        LeftAlone::SameOutput { other } => {
            Said::wrong(2, format!("{name}: {path}: {} gets the same name; ignored", name_of(other)))
        }
        LeftAlone::AboveMirror { directory, .. } => {
            Said::wrong(1, format!("{name}: {path}: no place in {}", name_of(directory)))
        }
        LeftAlone::Unreadable(error) => Said::wrong(1, format!("{name}: {path}: {error}")),
        LeftAlone::SymbolicLink => Said::wrong(1, format!("{name}: {path}: Too many levels of symbolic links")),
        LeftAlone::OtherNames(others) => {
            let plural = if *others == 1 { "" } else { "s" };
            Said::odd(2, format!("{name}: {path} has {others} other link{plural} -- file ignored"))
        }
        LeftAlone::SpecialMode(special) => {
            let why = match special {
                SpecialMode::SetUserId => "is set-user-ID on execution - ignored",
                SpecialMode::SetGroupId => "is set-group-ID on execution - ignored",
                SpecialMode::Sticky => "has the sticky bit set - file ignored",
            };
            Said::odd(2, format!("{name}: {path} {why}"))
        }
    }
}

fn failed(name: &str, input: &str, error: &CodecError) -> Said {
    let why = match error {
        CodecError::Exists { path } => {
            return Said::wrong(2, format!("{name}: {} already exists;\tnot overwritten", name_of(path)));
        }
        CodecError::Directory => return Said::odd(2, format!("{name}: {input} is a directory -- ignored")),
        CodecError::Open(cause) => kernel_words(cause),
        CodecError::NotRecognised(Unrecognised::Empty) => "unexpected end of file".to_owned(),
        CodecError::NotRecognised(_) => "not in gzip format".to_owned(),
        CodecError::Write { path, cause, .. } => {
            return Said::wrong(1, format!("{name}: {}: {}", written(path, "stdout"), kernel_words(cause)));
        }
        CodecError::Damaged { defect, .. } => damage(defect),
        other => with_causes(other),
    };
    Said::wrong(1, format!("{name}: {input}: {why}"))
}

/// An output as messages about writing show it; `stdout` is what the tool calls standard output.
pub(super) fn written(path: &Path, stdout: &str) -> String {
    if path == Path::new("standard output") { stdout.to_owned() } else { name_of(path) }
}

fn damage(defect: &UnitDefect) -> String {
    match defect {
        UnitDefect::Truncated => "unexpected end of file".to_owned(),
        UnitDefect::Checksum { .. } => "invalid compressed data--crc error".to_owned(),
        UnitDefect::Length { .. } => "invalid compressed data--length error".to_owned(),
        UnitDefect::Deflate(_) => "invalid compressed data--format violated".to_owned(),
        other => other.to_string(),
    }
}

/// The name without its ending, for a list.
pub(super) fn uncompressed_name(name: &str) -> String {
    let uncompressed =
        ENDINGS.iter().find_map(|(ending, other)| Some(format!("{}{other}", name.strip_suffix(ending)?)));
    printable(uncompressed.as_deref().unwrap_or(name)).into_owned()
}

/// The share saved.
fn share(totals: &Totals, way: Way) -> String {
    let (compressed, uncompressed) = match way {
        Way::Compress => (totals.bytes_out, totals.bytes_in),
        Way::Decompress | Way::Test => (totals.bytes_in, totals.bytes_out),
    };
    deflate_lists::saved_by_gz(compressed, uncompressed)
}

#[cfg(test)]
mod tests {
    use super::super::options::Complaint;
    use super::*;

    #[test]
    fn words_are_those_of_gzip() {
        let text = |why| left_alone("gzip", Path::new("a"), &why).text;
        assert_eq!(text(LeftAlone::UnknownEnding), "gzip: a: unknown suffix -- ignored");
        assert_eq!(text(LeftAlone::OtherNames(1)), "gzip: a has 1 other link -- file ignored");
        let exists = CodecError::Exists { path: "a.gz".into() };
        let said = failed("gzip", "a", &exists);
        assert_eq!((said.text.as_str(), said.code), ("gzip: a.gz already exists;\tnot overwritten", 2));
        assert_eq!(damage(&UnitDefect::Truncated), "unexpected end of file");
    }

    #[test]
    fn a_complaint_ends_in_the_hint() {
        let (text, code) = (FAMILY.complain)(&Wish::new("gzip"), &Complaint::Unknown("-o".to_owned()));
        assert_eq!((text.as_str(), code), ("gzip: invalid option -- 'o'\nTry `gzip --help' for more information.", 1));
    }
}
