//! Where jobs come from: the command line's words divided into utility and values, and the list opened.
//! Does not read the list (engines/jobs).

use super::plan::usage;
use super::{Called, NAME, XjobsArgs};
use crate::failure::{Failure, with_causes};
use crew::budget::passport;
use jobs::list::{Combinations, ListReader, Pairing, Records, Syntax};
use jobs::record::Utility;
use jobs::run::Source;
use jobs::spec::More;
use jobs::template::{Shell, Template};
use rustix::fs::{FileType, Mode, OFlags};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use terminal::quote;

/// Bytes of words in one job of `-X`: the least that a system must allow (POSIX), and what xargs takes.
const FILLED_BYTES: usize = 128 << 10;

/// The command line's words, divided.
pub struct Words {
    /// Utility and arguments, redirections taken out.
    pub template: Template,
    /// The redirections.
    pub defaults: More,
    /// Values behind `:::`.
    pub values: Option<Combinations>,
}

/// Divides the words.
pub fn words(args: &XjobsArgs, called: Called) -> Result<Words, Failure> {
    let all: Vec<Vec<u8>> = args.utility.iter().map(|word| word.as_bytes().to_vec()).collect();
    let first_value = match called {
        Called::Mh => all.iter().position(|word| is_separator(word).is_some()),
        // COMPAT: for xjobs ::: is a word like others.
        Called::OldName => None,
    };
    let (utility, values) = all.split_at(first_value.unwrap_or(all.len()));
    let (utility, defaults) =
        jobs::line::redirections(utility.iter().cloned()).map_err(|cause| usage(cause.to_string()))?;
    let shell = if args.shell { Shell::Sh } else { Shell::None };
    let whole = args.replace.as_ref().map_or(b"{}".to_vec(), |text| text.as_bytes().to_vec());
    if whole.is_empty() {
        return Err(usage("-I needs a text"));
    }
    let fills_in = called == Called::Mh || args.replace.is_some() || args.colsep.is_some() || args.fill;
    let template = match fills_in {
        true => Template::with_placeholders(&utility, &whole, shell),
        false => Template::appending(&utility, shell),
    };
    let values = first_value.map(|_| combinations(values));
    Ok(Words { template, defaults, values })
}

fn is_separator(word: &[u8]) -> Option<Pairing> {
    match word {
        b":::" => Some(Pairing::Each),
        b":::+" => Some(Pairing::SideBySide),
        _ => None,
    }
}

fn combinations(words: &[Vec<u8>]) -> Combinations {
    let mut sources: Vec<(Pairing, Vec<Vec<u8>>)> = Vec::new();
    for word in words {
        match (is_separator(word), sources.last_mut()) {
            (Some(pairing), _) => sources.push((pairing, Vec::new())),
            (None, Some((_, values))) => values.push(word.clone()),
            (None, None) => {}
        }
    }
    Combinations::new(sources)
}

/// How lines are read, and why.
pub fn syntax(args: &XjobsArgs, template: &Template, called: Called) -> (Syntax, &'static str) {
    let is_raw = args.raw || args.null;
    let script_lines = args.shell && template.is_empty();
    let columns = args.colsep.as_ref().map(|text| match text.as_str() {
        "\\t" => b"\t".to_vec(),
        other => other.as_bytes().to_vec(),
    });
    if is_raw || columns.is_some() || args.fill || template.has_placeholders() || script_lines {
        let (words_per_job, bytes_per_job) = if args.fill { (usize::MAX, FILLED_BYTES) } else { (args.lines, 0) };
        let why = match () {
            () if args.null => "-0",
            () if args.raw => "-1",
            () if columns.is_some() => "--colsep divides them",
            () if args.fill => "-X",
            () if script_lines => "--shell without a utility: each line is a script",
            () => "the command has placeholders",
        };
        let terminator = if args.null { 0 } else { b'\n' };
        return (Syntax::Raw { terminator, words_per_job, columns, bytes_per_job }, why);
    }
    let records = if called == Called::Mh { Records::Read } else { Records::AreWords };
    (Syntax::Words { lines_per_job: args.lines, records }, "the default")
}

/// A list that is open.
pub struct List {
    /// To be read.
    pub source: Source,
    /// What the plan calls it.
    pub name: String,
    /// Whether it never ends: a named pipe.
    pub is_server: bool,
    /// Jobs in it, where counting them is cheap.
    pub total: Option<u64>,
}

/// Opens the list, or takes the values.
pub fn open(args: &XjobsArgs, words: &mut Words, syntax: Syntax) -> Result<List, Failure> {
    if let Some(values) = words.values.take() {
        let total = Some(values.total());
        return Ok(List { source: Source::Made(values), name: "values of :::".to_owned(), is_server: false, total });
    }
    let utility = if words.template.is_empty() { Utility::InTheList } else { Utility::Given };
    let reader = ListReader::new(syntax, utility);
    let Some(path) = &args.script else {
        let input = rustix::io::fcntl_dupfd_cloexec(std::io::stdin().as_fd(), 3);
        let input = input.map_err(|error| could_not_open(Path::new("standard input"), error))?;
        let total = lines_in(&input, args);
        return Ok(List {
            source: Source::Stream(reader, input),
            name: "standard input".to_owned(),
            is_server: false,
            total,
        });
    };
    let (input, is_server) = open_script(path)?;
    let total = if is_server { None } else { lines_in(&input, args) };
    Ok(List { source: Source::Stream(reader, input), name: quote(path), is_server, total })
}

/// A named pipe is opened for both directions: with a writer of our own it never ends, so there is no moment in which it is
/// closed and opened again and a job could be lost.
fn open_script(path: &Path) -> Result<(OwnedFd, bool), Failure> {
    let is_pipe = rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    let flags = if is_pipe { OFlags::RDWR | OFlags::NONBLOCK } else { OFlags::RDONLY };
    let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
    opened.map(|input| (input, is_pipe)).map_err(|error| could_not_open(path, error))
}

fn could_not_open(path: &Path, error: rustix::io::Errno) -> Failure {
    let words = with_causes(&std::io::Error::from(error));
    Failure::Environment { command: NAME, message: format!("open {}: {words}", quote(path)) }
}

/// LIMIT: counting lines of a file this large takes about 30 ms.
const COUNTED_BYTES_MAX: u64 = 64 << 20;

/// Lines of a regular file, for shares and the time left; an estimate, as comments and barriers count.
fn lines_in(input: &OwnedFd, args: &XjobsArgs) -> Option<u64> {
    let stat = rustix::fs::fstat(input).ok()?;
    let size = u64::try_from(stat.st_size).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || size > COUNTED_BYTES_MAX || args.fill {
        return None;
    }
    let begin = rustix::fs::tell(input).ok()?;
    let end = if args.null { 0 } else { b'\n' };
    let (mut lines, mut at, mut buffer, mut last) = (0, begin, vec![0; 64 << 10], end);
    loop {
        let count = rustix::io::pread(input, &mut buffer, at).ok()?;
        let Some(&byte) = buffer[..count].last() else { break };
        lines += buffer[..count].iter().filter(|&&byte| byte == end).count() as u64;
        last = byte;
        at += count as u64;
    }
    Some((lines + u64::from(last != end)).div_ceil(args.lines as u64))
}

/// The runner's variables for its jobs.
pub fn environment() -> jobs::Variables {
    let mut words = jobs::Variables::default();
    // Each job is told which hands are its own; those of this process are not a job's.
    for (name, value) in crate::context::variables().filter(|(name, _)| name != passport::VARIABLE) {
        let variable: OsString = [name, value].join("=".as_ref());
        // What came from the kernel has no NUL.
        let _never_refused = words.push(&variable.into_vec());
    }
    words
}
