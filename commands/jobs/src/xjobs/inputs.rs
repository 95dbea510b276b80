//! Where jobs come from: the command line's words divided into utility and values, and the list opened.
//! Does not read the list (engines/jobs).

use super::more_args::unescaped;
use super::plan::usage;
use super::{Called, NAME, XjobsArgs};
use crew::budget::lease_token;
use jobs::blocks::{BlockReader, BlockSyntax};
use jobs::fill::{self, ArgumentRoom};
use jobs::list::{Bundle, Combinations, JsonRecords, ListReader, Pairing, Syntax};
use jobs::record::Utility;
use jobs::run::JobSource;
use jobs::server::{ServeUntil, SocketServer};
use jobs::spec::More;
use jobs::template::{Repetition, Shell, Template};
use mh_kit::failure::{Failure, with_causes};
use rustix::fs::{FileType, Mode, OFlags};
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use terminal::quote;

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
    if args.parallel.pipe && (first_value.is_some() || all.is_empty()) {
        return Err(usage("--pipe needs a command, which reads its block, and no values"));
    }
    if args.parallel.pipe {
        refuse_lines(args)?;
    }
    if first_value.is_some() {
        refuse_second_list(args)?;
    }
    let (utility, values) = all.split_at(first_value.unwrap_or(all.len()));
    if called == Called::Mh && utility.iter().any(|word| holds_program(word)) {
        return Err(usage(
            "{= =} is not there: values are data and never programs; --shell lets a script work on them",
        ));
    }
    let (utility, defaults) =
        jobs::line::redirections(utility.iter().cloned()).map_err(|cause| usage(cause.to_string()))?;
    let shell = if args.shell { Shell::Sh } else { Shell::None };
    let whole = args.replace.as_ref().map_or(b"{}".to_vec(), |text| text.as_bytes().to_vec());
    if whole.is_empty() {
        return Err(usage("-I needs a text"));
    }
    let fills_in = called == Called::Mh || args.replace.is_some() || args.colsep.is_some() || args.fill;
    if fills_in {
        refuse_placeholders_in(&defaults, &whole)?;
    }
    let template = match fills_in {
        true => Template::with_placeholders(&utility, &whole, shell),
        false => Template::appending(&utility, shell),
    };
    let template = template.repeating(if args.fill { Repetition::Each } else { Repetition::Together });
    let values = first_value.map(|_| combinations(values, args, &template)).transpose()?;
    Ok(Words { template, defaults, values })
}

/// A redirection of the command line is one file for all jobs.
fn refuse_placeholders_in(defaults: &More, whole: &[u8]) -> Result<(), Failure> {
    let outputs = [&defaults.stdout, &defaults.stderr].into_iter().flatten().map(|target| &target.path);
    let is_filled_in =
        |path: &&Vec<u8>| Template::with_placeholders(&[path.to_vec()], whole, Shell::None).has_placeholders();
    match defaults.stdin.iter().chain(outputs).find(is_filled_in) {
        Some(path) => Err(usage(format!(
            "'{}' behind a redirection is one file for all jobs, so nothing is filled in; for one a job let a shell redirect: --shell 'gzip -c {{}} > {{}}.gz'",
            terminal::printable(&String::from_utf8_lossy(path))
        ))),
        None => Ok(()),
    }
}

/// Values are the list; what says where or how another one is read would be of no effect.
fn refuse_second_list(args: &XjobsArgs) -> Result<(), Failure> {
    let refused = |option: &str| Err(usage(format!("{option} does not go with values behind :::, which are the list")));
    match () {
        () if args.server.listen.is_some() => refused("--listen"),
        () if args.script.is_some() => refused("-s"),
        () => Ok(()),
    }
}

/// Blocks are not divided into lines; what says how lines are read would be of no effect.
fn refuse_lines(args: &XjobsArgs) -> Result<(), Failure> {
    let refused = |option: &str, instead: &str| {
        Err(usage(format!(
            "{option} does not go with --pipe, whose jobs get blocks of records and no arguments; {instead}"
        )))
    };
    match () {
        () if args.null => refused("-0", "--recend '\\0' makes records of what NUL bytes end"),
        () if args.raw => refused("-1", "-l 1 makes a block of one record, -N 1 too"),
        () if args.parallel.delimiter.is_some() => {
            refused("--delimiter", "--recend TEXT makes records of what TEXT ends")
        }
        () => Ok(()),
    }
}

/// COMPAT: what stands between {= and =} is a Perl program for GNU parallel.
fn holds_program(word: &[u8]) -> bool {
    let begin = word.windows(2).position(|pair| pair == b"{=");
    begin.is_some_and(|begin| word[begin..].windows(2).any(|pair| pair == b"=}"))
}

/// What values behind a separator are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Words,
    /// Names of files whose lines are the values.
    Files,
}

fn is_separator(word: &[u8]) -> Option<(Pairing, Values)> {
    match word {
        b":::" => Some((Pairing::Each, Values::Words)),
        b":::+" => Some((Pairing::SideBySide, Values::Words)),
        b"::::" => Some((Pairing::Each, Values::Files)),
        b"::::+" => Some((Pairing::SideBySide, Values::Files)),
        _ => None,
    }
}

fn combinations(words: &[Vec<u8>], args: &XjobsArgs, template: &Template) -> Result<Combinations, Failure> {
    let mut sources: Vec<(Pairing, Vec<Vec<u8>>)> = Vec::new();
    let (mut pairing, mut values_are) = (Pairing::Each, Values::Words);
    for word in words {
        match (is_separator(word), values_are, sources.last_mut()) {
            (Some((next, kind)), ..) => {
                pairing = if args.parallel.link { Pairing::Linked } else { next };
                values_are = kind;
                if kind == Values::Words {
                    sources.push((pairing, Vec::new()));
                }
            }
            // COMPAT: each file is a source of its own.
            (None, Values::Files, _) => sources.push((pairing, lines_of(word)?)),
            (None, Values::Words, Some((_, values))) => values.push(word.clone()),
            (None, Values::Words, None) => {}
        }
    }
    Ok(Combinations::new(sources, bundle(args, template)).divided_at(args.colsep.clone()))
}

/// LIMIT: lines that are combined with others are held in memory; a list alone (-s) is not.
const VALUES_BYTES_MAX: u64 = 256 << 20;

/// The lines of a file, of standard input for `-`.
fn lines_of(name: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    let failure = |error: &std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("read values from {}: {}", quote(path), with_causes(error)),
    };
    let input: Box<dyn Read> = match name {
        b"-" => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path).map_err(|error| failure(&error))?),
    };
    let mut bytes = Vec::new();
    input.take(VALUES_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| failure(&error))?;
    if bytes.len() as u64 > VALUES_BYTES_MAX {
        return Err(failure(&std::io::Error::other("values of :::: may have 256 MiB; -s reads a list of any length")));
    }
    if bytes.contains(&0) {
        return Err(failure(&std::io::Error::other("there is a NUL byte in a value")));
    }
    let lines = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let lines: Vec<Vec<u8>> = lines.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    Ok(if bytes.is_empty() { Vec::new() } else { lines })
}

/// How lines are read, and why.
pub fn syntax(args: &XjobsArgs, template: &Template, called: Called) -> (Syntax, &'static str) {
    let is_raw = args.raw || args.null || args.parallel.delimiter.is_some();
    let script_lines = args.shell && template.is_empty();
    let columns = args.colsep.clone();
    if is_raw || columns.is_some() || args.fill || template.has_placeholders() || script_lines {
        let Bundle { count: words_per_job, room } = bundle(args, template);
        let why = match () {
            () if args.null => "-0",
            () if args.raw => "-1",
            () if args.parallel.delimiter.is_some() => "--delimiter",
            () if columns.is_some() => "--colsep divides them",
            () if args.fill => "-X",
            () if script_lines => "--shell without a utility: each line is a script",
            () => "the command has placeholders",
        };
        let terminator = terminator(args);
        return (Syntax::Raw { terminator, words_per_job, columns, room }, why);
    }
    let records = if called == Called::Mh { JsonRecords::Read } else { JsonRecords::AreWords };
    (Syntax::Words { lines_per_job: lines_per_job(args).unwrap_or(1), records }, "the default")
}

/// How many lines or values make a job.
fn bundle(args: &XjobsArgs, template: &Template) -> Bundle {
    match args.fill {
        true => {
            let room = template.room(fill::allowed_bytes(&environment()));
            Bundle { count: lines_per_job(args).unwrap_or(usize::MAX), room }
        }
        false => Bundle { count: lines_per_job(args).unwrap_or(1), room: ArgumentRoom::default() },
    }
}

/// COMPAT: -L and -n of GNU parallel mean the same where lines are arguments.
fn lines_per_job(args: &XjobsArgs) -> Option<usize> {
    args.lines.or(args.parallel.max_lines)
}

fn terminator(args: &XjobsArgs) -> u8 {
    args.parallel.delimiter.unwrap_or(if args.null { 0 } else { b'\n' })
}

/// How blocks of `--pipe` are cut. COMPAT: records end at line ends unless either end is given.
fn blocks(args: &XjobsArgs) -> BlockReader {
    let options = &args.parallel;
    let usual_end = if options.recstart.is_some() { "" } else { "\\n" };
    BlockReader::new(BlockSyntax {
        block_bytes: usize::try_from(options.block).unwrap_or(usize::MAX).max(1),
        records: args.lines,
        record_start: unescaped(options.recstart.as_deref().unwrap_or_default()),
        record_end: unescaped(options.recend.as_deref().unwrap_or(usual_end)),
        ends_per_record: options.max_lines.unwrap_or(1),
        header_lines: options.header,
    })
}

/// A source that is ready, or a socket: that is made only when the run begins, as a plan changes nothing.
pub enum Input {
    Ready(JobSource),
    Socket { path: PathBuf, syntax: Syntax, utility: Utility, until: ServeUntil },
}

impl Input {
    /// Makes it ready.
    pub fn open(self) -> Result<JobSource, Failure> {
        match self {
            Self::Ready(source) => Ok(source),
            Self::Socket { path, syntax, utility, until } => match SocketServer::bind(&path, syntax, utility, until) {
                Ok(server) => Ok(JobSource::Fed(Box::new(server))),
                Err(error) => Err(Failure::Environment {
                    command: NAME,
                    message: format!("listen on {}: {}", quote(&path), with_causes(&error)),
                }),
            },
        }
    }
}

/// A list that is open.
pub struct List {
    /// To be read; none where jobs come in another way.
    pub source: Option<Input>,
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
        let total = values.total();
        let source = Input::Ready(JobSource::Made(values));
        return Ok(List { source: Some(source), name: "values of :::".to_owned(), is_server: false, total });
    }
    let utility = if words.template.is_empty() { Utility::InTheList } else { Utility::Given };
    if let Some(path) = socket(args) {
        let until = if args.server.until_idle { ServeUntil::Idle } else { ServeUntil::Told };
        let source = Input::Socket { path: path.to_path_buf(), syntax, utility, until };
        return Ok(List { source: Some(source), name: quote(path), is_server: true, total: None });
    }
    if args.server.until_idle {
        return Err(usage("--until-idle needs a server on a socket (--listen)"));
    }
    let (input, name, is_server) = match &args.script {
        Some(path) => {
            let (input, is_server) = open_script(path, args)?;
            (input, quote(path), is_server)
        }
        None => (standard_input()?, STANDARD_INPUT.to_owned(), false),
    };
    if args.parallel.pipe {
        let source = Input::Ready(JobSource::Blocks(blocks(args), input));
        return Ok(List { source: Some(source), name, is_server, total: None });
    }
    let total = if is_server { None } else { lines_in(&input, args) };
    let source = Input::Ready(JobSource::Stream(ListReader::new(syntax, utility), input));
    Ok(List { source: Some(source), name, is_server, total })
}

/// What a list without a name is called.
pub const STANDARD_INPUT: &str = "standard input";

/// One that was closed has no jobs, and that is no empty list.
fn standard_input() -> Result<OwnedFd, Failure> {
    let failure = |cause: &str| Failure::Environment {
        command: NAME,
        message: format!("read jobs from {STANDARD_INPUT}: {cause}"),
    };
    if sys::standard_streams::input_was_closed() {
        return Err(failure("it is closed; -s FILE reads a list, ::: takes values"));
    }
    rustix::io::fcntl_dupfd_cloexec(std::io::stdin().as_fd(), 3)
        .map_err(|error| failure(&with_causes(&std::io::Error::from(error))))
}

/// The socket to listen on: one that is given as a list is meant as one.
fn socket(args: &XjobsArgs) -> Option<&Path> {
    let is_socket = |path: &&PathBuf| {
        rustix::fs::stat(*path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
    };
    args.server.listen.as_deref().or_else(|| args.script.as_ref().filter(is_socket).map(PathBuf::as_path))
}

/// A named pipe is opened for both directions: with a writer of our own it never ends, so there is no moment in which it is
/// closed and opened again and a job could be lost. One without a name (`<(COMMAND)`, `/dev/stdin` in a pipeline) ends with who writes
/// into it, and so does one whose bytes are no job list.
fn open_script(path: &Path, args: &XjobsArgs) -> Result<(OwnedFd, bool), Failure> {
    let is_server = !args.parallel.pipe && is_named_pipe(path);
    let flags = match () {
        () if is_server => OFlags::RDWR | OFlags::NONBLOCK,
        // Nothing is read, so nobody is waited for.
        () if args.explain => OFlags::RDONLY | OFlags::NONBLOCK,
        () => OFlags::RDONLY,
    };
    let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
    opened.map(|input| (input, is_server)).map_err(|error| could_not_open(path, error))
}

/// Pipes without a name lie all in one file system, which nothing else is in.
fn is_named_pipe(path: &Path) -> bool {
    let without_name = || rustix::fs::fstat(rustix::pipe::pipe().ok()?.0).ok();
    rustix::fs::stat(path).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::Fifo
            && without_name().is_none_or(|pipe| pipe.st_dev != stat.st_dev)
    })
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
    let end = terminator(args);
    let (mut lines, mut at, mut buffer, mut last) = (0, begin, vec![0; 64 << 10], end);
    loop {
        let count = rustix::io::pread(input, &mut buffer, at).ok()?;
        let Some(&byte) = buffer[..count].last() else { break };
        lines += buffer[..count].iter().filter(|&&byte| byte == end).count() as u64;
        last = byte;
        at += count as u64;
    }
    Some((lines + u64::from(last != end)).div_ceil(lines_per_job(args).unwrap_or(1) as u64))
}

/// The runner's variables for its jobs.
pub fn environment() -> jobs::Variables {
    let mut words = jobs::Variables::default();
    // Each job is told which hands are its own; those of this process are not a job's.
    for (name, value) in mh_kit::context::variables().filter(|(name, _)| name != lease_token::VARIABLE) {
        let variable: OsString = [name, value].join("=".as_ref());
        // What came from the kernel has no NUL.
        let _never_refused = words.push(&variable.into_vec());
    }
    words
}
