//! `mh tamp` under the names of the tools before it: gzip, pigz, zstd, lz4, bzip2, lbzip2, xz and their relatives. Their
//! options become `TampArgs`, their ways `Manners`; then everything goes through the same plan and run.
//! What each option means stands in one file a family; what differs on purpose in docs/commands/old-names.md.

mod bzip2;
mod deflate_lists;
mod gzip;
mod introduction;
mod lz4;
mod lz4_benchmark;
mod options;
mod pigz;
mod xz;
mod zstd;

use super::manners::Manners;
use super::{TampArgs, command, run_args};
use clap::FromArgMatches;
use codec::lane::{LaneInput, LaneOutput};
use mh_kit::context::{Context, variable};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use options::{Allowed, Complaint, Table, read};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use terminal::{Messages, Verbosity, printable};

/// What the tools of one family have in common.
struct Family {
    table: &'static Table,
    /// Environment variables that hold options.
    variables: &'static [&'static str],
    /// What may stand in one of those, where not everything may.
    allowed: Option<Allowed>,
    /// Sets the defaults.
    begin: fn(&mut Wish),
    /// Makes of what was read what `mh tamp` understands.
    finish: fn(&mut Wish, &Context) -> Result<(), String>,
    /// What is said about a wrong command line, and its exit code.
    complain: fn(&Wish, &Complaint) -> (String, u8),
    /// The options, for `--help`.
    help: &'static str,
}

/// An old name: its family, and the options that it stands for.
pub struct OldName {
    /// The name.
    pub name: &'static str,
    family: &'static Family,
    means: &'static [&'static str],
}

const fn name(name: &'static str, family: &'static Family, means: &'static [&'static str]) -> OldName {
    OldName { name, family, means }
}

/// All old names.
pub const OLD_NAMES: &[OldName] = &[
    name("gzip", &gzip::FAMILY, &[]),
    name("gunzip", &gzip::FAMILY, &["-d"]),
    name("zcat", &gzip::FAMILY, &["-dc"]),
    name("pigz", &pigz::FAMILY, &[]),
    name("unpigz", &pigz::FAMILY, &["-d"]),
    name("zstd", &zstd::FAMILY, &[]),
    name("unzstd", &zstd::FAMILY, &["-d"]),
    name("zstdcat", &zstd::FAMILY, &["-dcfq"]),
    name("zstdmt", &zstd::FAMILY, &["-T0"]),
    name("lz4", &lz4::FAMILY, &[]),
    name("unlz4", &lz4::FAMILY, &["-d"]),
    name("lz4cat", &lz4::FAMILY, &["-dcfm"]),
    name("bzip2", &bzip2::FAMILY, &[]),
    name("bunzip2", &bzip2::FAMILY, &["-d"]),
    name("bzcat", &bzip2::FAMILY, &["-dc"]),
    name("lbzip2", &bzip2::LBZIP2, &[]),
    name("xz", &xz::FAMILY, &[]),
    name("unxz", &xz::FAMILY, &["-d"]),
    name("xzcat", &xz::FAMILY, &["-dc"]),
    name("lzma", &xz::FAMILY, &["--format=lzma"]),
    name("unlzma", &xz::FAMILY, &["-d", "--format=lzma"]),
    name("lzcat", &xz::FAMILY, &["-dc", "--format=lzma"]),
];

/// The same for the table of commands.
pub const OLD: mh_kit::entry::OldNames = mh_kit::entry::OldNames { names: &NAMES, run };

const NAMES: [&str; OLD_NAMES.len()] = {
    let mut names = [""; OLD_NAMES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = OLD_NAMES[at].name;
        at += 1;
    }
    names
};

/// What a command line asks for, while it is read.
pub struct Wish {
    /// What `mh tamp` will be asked.
    pub args: TampArgs,
    /// The name that the program was called by.
    pub called: String,
    /// Level, as typed.
    level: Option<i32>,
    /// Something to print instead of working.
    shows: Option<Shows>,
    /// What happens to sources, where it was said.
    keep: Option<bool>,
    /// Whether name and time are told or restored, where it was said.
    origin: Option<bool>,
    /// Whether the time is told, where it was said apart from the name.
    time: Option<bool>,
    /// Whether what is not compressed is passed on, where it was said.
    passes_on: Option<bool>,
    /// Whether a list named the files: then there being none does not mean standard input.
    names_files: bool,
    /// Whether a direction was typed.
    direction_is_given: bool,
    /// Whether all files are inputs, where the tool would take the second for the output.
    many: bool,
    /// The format, as typed.
    format: Option<String>,
    /// What is to be told before the run.
    notes: Vec<String>,
    /// Wishes that only zstd has options for.
    zstd: zstd::ZstdWish,
    /// Wishes that only bzip2 and lz4 have options for.
    rare: RareWish,
}

/// See [`Wish::rare`].
#[derive(Default)]
struct RareWish {
    /// Whether little memory is to do.
    small: bool,
    /// Levels and time of a benchmark.
    benchmark: lz4_benchmark::Benchmark,
}

/// What is printed instead of working.
#[derive(Clone, Copy, Debug)]
enum Shows {
    Help,
    Version,
    Licence,
    Benchmark,
    /// The text that a function makes of the wish.
    Text(fn(&Wish, &Context) -> String),
}

impl Wish {
    fn new(called: &str) -> Self {
        let nothing_typed = command().try_get_matches_from(["tamp"]);
        let args = nothing_typed.and_then(|matches| TampArgs::from_arg_matches(&matches));
        Self {
            args: args.expect("no argument is needed"),
            called: called.to_owned(),
            level: None,
            shows: None,
            keep: None,
            origin: None,
            time: None,
            passes_on: None,
            names_files: false,
            direction_is_given: false,
            many: false,
            format: None,
            notes: Vec::new(),
            zstd: zstd::ZstdWish::default(),
            rare: RareWish::default(),
        }
    }

    /// Takes the direction that was typed last.
    fn goes(&mut self, decompress: bool, test: bool, list: bool) {
        (self.args.decompress, self.args.test, self.args.list) = (decompress, test, list);
        self.direction_is_given = true;
    }

    fn unpacks(&self) -> bool {
        self.args.decompress || self.args.test || self.args.list
    }

    /// Whether files are put in the place of others, not only read.
    fn replaces_files(&self) -> bool {
        !self.args.stdout && !self.args.test && !self.args.list
    }

    /// `-k`, `--rm` and the tool's own default, in this order.
    fn settle_sources(&mut self, keeps_by_default: bool) {
        let keeps = self.keep.unwrap_or(keeps_by_default);
        self.args.remove = !keeps && self.replaces_files();
    }
}

/// Runs under an old name.
fn run(name: &'static str, words: Vec<OsString>) -> Result<Outcome, Failure> {
    let old = OLD_NAMES.iter().find(|old| old.name == name).expect("the table has these names alone");
    let mut context = Context::new()?;
    let family = old.family;
    let mut wish = Wish::new(old.name);
    (family.begin)(&mut wish);
    let read = read_all(old, &mut wish, words);
    read.map_err(|complaint| told((family.complain)(&wish, &complaint)))?;
    if let Some(version) = zstd::version_of(&wish) {
        print(version)?;
        return Ok(Outcome::Done);
    }
    if matches!(wish.shows, Some(Shows::Benchmark)) {
        return lz4_benchmark::run(&wish, &context);
    }
    if let Some(shows) = wish.shows {
        let text = shown(old, shows, &wish, &context);
        if introduction::goes_to_stderr(old.name) {
            context.messages.report(&text);
        } else {
            print(&text)?;
        }
        return Ok(Outcome::Done);
    }
    let finished = (family.finish)(&mut wish, &context);
    let messages = Messages::standard_error(super::verbosity(&wish.args));
    wish.notes.iter().for_each(|note| messages.in_words_of_others(Verbosity::Normal, note));
    wish.args.xz.errors.iter().for_each(|error| messages.in_words_of_others(Verbosity::Quiet, error));
    finished.map_err(|message| told((family.complain)(&wish, &Complaint::Uncompressed(message))))?;
    if wish.names_files && wish.args.files.is_empty() {
        return Ok(Outcome::Code(wish.args.manners.codes.worst()));
    }
    if let Some(outcome) = zstd::run_instead(&mut wish, &mut context) {
        return outcome;
    }
    run_args(&mut context, &mut wish.args).map_err(|failure| match failure {
        Failure::Usage { message, .. } => told((family.complain)(&wish, &Complaint::Uncompressed(message))),
        other => other,
    })
}

fn told((text, code): (String, u8)) -> Failure {
    Failure::InWordsOfOthers { text, code }
}

fn read_all(old: &OldName, wish: &mut Wish, words: Vec<OsString>) -> Result<(), Complaint> {
    let table = old.family.table;
    read(table, wish, old.means.iter().map(OsString::from).collect(), None)?;
    let is_pigz = matches!(old.name, "pigz" | "unpigz");
    for name in old.family.variables {
        let Some(value) = variable(name).filter(|value| !value.is_empty()) else { continue };
        let words = value.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let allowed = old.family.allowed.filter(|allowed| allowed.variable == *name);
        read(table, wish, words.map(|word| OsString::from_vec(word.to_vec())).collect(), allowed)?;
        // COMPAT: bzip2 takes files from there too.
        if name.ends_with("BZIP2") || *name == "BZIP" {
            continue;
        }
        // Options only: what else stands there is no file, and gzip says so.
        let others = std::mem::take(&mut wish.args.files);
        if let (Some(other), true) = (others.first(), *name == "GZIP" && !is_pigz) {
            let other = name_of(other);
            return Err(Complaint::Uncompressed(format!("{other}: non-option in GZIP environment variable")));
        }
        if !others.is_empty() && is_pigz {
            return Err(Complaint::Uncompressed(format!("cannot provide files in {name} environment variable")));
        }
    }
    read(table, wish, words, None)
}

fn shown(old: &OldName, shows: Shows, wish: &Wish, context: &Context) -> String {
    let line = introduction::version_line(old.name);
    match shows {
        Shows::Version => format!("{line}\n"),
        Shows::Licence => format!("{line}\nlicensed under MIT or Apache-2.0, as you choose\n"),
        Shows::Benchmark => String::new(),
        Shows::Text(make) => make(wish, context),
        Shows::Help => {
            let (begin, help) = (introduction::help_begins(old.name), old.family.help.trim_start_matches('\n'));
            format!(
                "{begin}\n{help}\n\
                 --explain prints the plan and does nothing, --report what bound the run. More: mh tamp --help\n"
            )
        }
    }
}

/// Complaints in the words of GNU getopt, which gzip and xz use.
fn in_getopt_words(complaint: &Complaint) -> String {
    match complaint {
        Complaint::Unknown(option) if option.starts_with("--") => format!("unrecognized option '{option}'"),
        Complaint::Unknown(option) => format!("invalid option -- '{}'", option.trim_start_matches('-')),
        Complaint::Ambiguous(option, meant) => {
            let meant: Vec<String> = meant.iter().map(|option| format!("'{option}'")).collect();
            format!("option '{option}' is ambiguous; possibilities: {}", meant.join(" "))
        }
        Complaint::NoValue(option) if option.starts_with("--") => format!("option '{option}' requires an argument"),
        Complaint::NoValue(option) => format!("option requires an argument -- '{}'", option.trim_start_matches('-')),
        Complaint::UnwantedValue(option) => format!("option '{option}' doesn't allow an argument"),
        Complaint::Uncompressed(message) => message.clone(),
    }
}

/// A name as messages show it: without quotes, and unable to steer a terminal.
fn name_of(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

/// An input as messages show it; `stdin` is what the tool calls standard input.
fn input_of(input: &LaneInput, stdin: &str) -> String {
    match input {
        LaneInput::Stdin => stdin.to_owned(),
        LaneInput::Path(path) => name_of(path),
    }
}

/// An output as messages show it; `stdout` is what the tool calls standard output.
fn output_of(output: &LaneOutput, stdout: &str) -> String {
    match output {
        LaneOutput::Path { path, .. } => name_of(path),
        LaneOutput::Stdout | LaneOutput::Discard | LaneOutput::Open(_) | LaneOutput::Handed(_) => stdout.to_owned(),
    }
}

/// The kernel's words for an error, without Rust's number.
fn kernel_words(error: &std::io::Error) -> String {
    mh_kit::failure::with_causes(error)
}

/// A value that is a path.
fn path(value: &OsStr) -> PathBuf {
    PathBuf::from(value)
}

/// A format to write, by its name in the registry.
fn take_format(wish: &mut Wish, name: &str) -> Result<(), String> {
    if codec::registry::by_name(name).is_none() {
        return Err(format!("{name} files are not written here yet"));
    }
    wish.args.format = Some(name.to_owned());
    Ok(())
}

/// A level, taken to the nearest that the format has.
fn clamp_level(wish: &mut Wish, level: Option<i32>) {
    let Some(format) = wish.args.format.as_deref().and_then(codec::registry::by_name) else { return };
    let facts = format.facts();
    wish.args.level = level.map(|level| level.clamp(*facts.levels.start(), facts.level_before_ultra));
}

/// Adds the files that `list` names, each ended by `end`; an empty list is as none.
fn add_files_of(wish: &mut Wish, list: &OsStr, end: u8) -> Result<(), String> {
    let read = if list == "-" { read_stdin() } else { std::fs::read(list) };
    let bytes = read.map_err(|error| format!("{}: {}", name_of(list.as_ref()), kernel_words(&error)))?;
    let names = bytes.split(|&byte| byte == end).filter(|name| !name.is_empty());
    wish.args.files.extend(names.map(|name| path(OsStr::from_bytes(name))));
    wish.names_files = true;
    Ok(())
}

fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
}

/// A count of cores: 0 is all.
fn hands(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    // COMPAT: xz's +N asks for threaded mode even where N is 1.
    let digits = value.to_str().map_or(value, |text| OsStr::new(text.strip_prefix('+').unwrap_or(text)));
    let count = options::number(digits).and_then(|count| usize::try_from(count).ok());
    let count =
        count.ok_or_else(|| format!("{}: Value is not a non-negative decimal integer", name_of(value.as_ref())))?;
    wish.args.shared.hands = Some(count);
    Ok(())
}

/// An ending to add or to take away; `before` and `behind` are what is said around a wrong one.
fn take_ending(wish: &mut Wish, ending: &OsStr, before: &str, behind: &str) -> Result<(), String> {
    let ending = ending.to_string_lossy().into_owned();
    if ending.is_empty() || ending.contains('/') {
        let ending = if behind.is_empty() { "" } else { &*ending };
        return Err(format!("{before}{ending}{behind}"));
    }
    wish.args.suffix = Some(ending);
    Ok(())
}

/// The manners that `wish` will have.
fn manners(wish: &mut Wish) -> &mut Manners {
    &mut wish.args.manners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_means_what_its_table_knows() {
        for old in OLD_NAMES {
            assert_eq!(OLD_NAMES.iter().filter(|other| other.name == old.name).count(), 1, "{}", old.name);
            let mut wish = Wish::new(old.name);
            (old.family.begin)(&mut wish);
            assert_eq!(read_all(old, &mut wish, Vec::new()), Ok(()), "{}", old.name);
        }
    }

    #[test]
    fn no_option_has_two_meanings() {
        for old in OLD_NAMES {
            let table = old.family.table;
            let mut names: Vec<&str> =
                table.options.iter().chain(table.also).flat_map(|option| option.names.split(' ')).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", old.name);
        }
    }
}
