//! Options of `mh xjobs` that few need: GNU parallel's spellings, and the server. What GNU parallel has and we refuse, with what
//! to do instead. Decides nothing else.

use super::plan::usage;
use clap::{Arg, ArgMatches, Args, Command};
use mh_kit::failure::Failure;
use std::ffi::OsString;
use std::path::PathBuf;

/// GNU parallel's spellings.
#[derive(Args, Debug)]
pub struct ParallelArgs {
    /// Cut standard input, or -s FILE, into blocks at line ends; each is the standard input of a job. -l N: N records a block
    #[arg(long, visible_aliases = ["pipepart", "pipe-part", "spreadstdin"], hide_short_help = true)]
    pub pipe: bool,

    /// With --pipe: bytes of a block
    #[arg(long, visible_alias = "block-size", value_name = "SIZE", value_parser = mh_kit::shared_args::parse_size, requires = "pipe", default_value = "1M", hide_short_help = true)]
    pub block: u64,

    /// N lines make one job; with --pipe, one record
    #[arg(short = 'L', long, value_name = "N", value_parser = super::parse_count, hide_short_help = true)]
    pub max_lines: Option<usize>,

    /// With --pipe: start of a record
    #[arg(long, value_name = "TEXT", requires = "pipe", allow_hyphen_values = true, hide_short_help = true)]
    pub recstart: Option<String>,

    /// With --pipe: end of a record (default: a line end; empty and without --recstart: cut anywhere)
    #[arg(long, value_name = "TEXT", requires = "pipe", allow_hyphen_values = true, hide_short_help = true)]
    pub recend: Option<String>,

    /// With --pipe: lines at the beginning that each block gets (: is 1)
    #[arg(long, value_name = "LINES", requires = "pipe", value_parser = parse_header, default_value = "0", hide_default_value = true, hide_short_help = true)]
    pub header: usize,

    /// Write GNU parallel's job log to FILE, a line with tabs a job; anew, unless +FILE or --resume adds to it
    #[arg(long, visible_alias = "jl", value_name = "FILE", hide_short_help = true)]
    pub joblog: Option<OsString>,

    /// Put TEXT, filled in, before each line of output
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["tag", "ungroup", "results"], hide_short_help = true)]
    pub tagstring: Option<OsString>,

    /// Pair the values of several ::: lists, as :::+ does
    #[arg(long, visible_alias = "xapply", hide_short_help = true)]
    pub link: bool,

    /// Lines end with TEXT, one byte
    #[arg(long, value_name = "TEXT", value_parser = parse_delimiter, conflicts_with = "null", hide_short_help = true)]
    pub delimiter: Option<u8>,

    /// Lower the priority of all jobs by N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=19), default_value_t = 0, hide_default_value = true, hide_short_help = true)]
    pub nice: u8,

    // COMPAT: habits that ask for what is so anyway.
    #[arg(long, hide = true, aliases = ["group", "quote", "no-run-if-empty", "no-notice", "gnu", "silent"], action = clap::ArgAction::Count)]
    will_cite: u8,

    // What `-n1` and `-N1` become (`pipe_words`).
    #[arg(long, hide = true)]
    number_typed: Option<String>,
}

/// The server, and sending to it.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Be a server: accept jobs from clients of the Unix socket PATH
    #[arg(long, value_name = "PATH", conflicts_with_all = ["script", "send", "pipe", "dry_run"], hide_short_help = true)]
    pub listen: Option<PathBuf>,

    /// With --listen: end when no job is left after the first one and no client is connected
    #[arg(long, hide_short_help = true)]
    pub until_idle: bool,

    /// Send UTILITY, or the lines of standard input, to the server at PATH, a socket or a named pipe
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub send: Option<PathBuf>,

    /// With --send: wait until the jobs have ended; exit code 1 when any failed
    #[arg(long, requires = "send", hide_short_help = true)]
    pub wait: bool,

    /// With --send: the server takes no more jobs and ends with those it has
    #[arg(long, requires = "send", conflicts_with_all = ["wait", "utility"], hide_short_help = true)]
    pub finish: bool,
}

fn parse_header(text: &str) -> Result<usize, String> {
    if text == ":" {
        return Ok(1);
    }
    text.parse().ok().ok_or_else(|| "a number of lines is needed, or : for one".to_owned())
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match unescaped(text).as_slice() {
        &[byte] => Ok(byte),
        _ => Err("one byte is needed: a letter, \\t, \\n, \\r, \\0".to_owned()),
    }
}

/// A text in which `\n`, `\t`, `\r`, `\0` and `\\` may stand for bytes.
pub fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut letters) = (Vec::new(), text.as_bytes().iter());
    while let Some(&letter) = letters.next() {
        match (letter, letters.as_slice().first()) {
            (b'\\', Some(b'n')) => bytes.push(b'\n'),
            (b'\\', Some(b't')) => bytes.push(b'\t'),
            (b'\\', Some(b'r')) => bytes.push(b'\r'),
            (b'\\', Some(b'0')) => bytes.push(0),
            (b'\\', Some(b'\\')) => bytes.push(b'\\'),
            _ => {
                bytes.push(letter);
                continue;
            }
        }
        letters.next();
    }
    bytes
}

/// What GNU parallel has and we have not, and what to do instead.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &[
            "sshlogin",
            "sshloginfile",
            "slf",
            "transfer",
            "transferfile",
            "tf",
            "return",
            "trc",
            "basefile",
            "onall",
            "nonall",
        ],
        "--on ssh:HOST,HOST runs the list on other machines",
    ),
    (
        &["rpl", "filter", "shard", "bin", "group-by"],
        "values are data and never programs; --shell lets a script work on them",
    ),
    (&["round-robin", "round"], "each block is a job of its own; a larger --block makes fewer"),
    (&["cat", "fifo", "tee"], "a block is its job's standard input, and /dev/stdin is a name for it"),
    (&["regexp"], "--recstart and --recend are texts"),
    (&["shuf"], "put shuf(1) before it"),
    (&["csv"], "--colsep , divides values without quotes"),
    (&["trim"], "without -1, blanks around the arguments of a line are lost"),
    (&["workdir", "wd"], "go there first, or begin lines with cd DIR;"),
    (&["retry-failed"], "give the command again with --resume-failed"),
    (&["memsuspend"], "--memfree holds starts back; a record's memory does so for one job"),
    (&["limit"], "--load, --memfree and --delay hold starts back"),
    (
        &["semaphore", "sem", "semaphore-name", "semaphore-timeout"],
        "flock(1) does that, and a server (--listen) runs jobs one by one",
    ),
    (&["tmux", "tmuxpane", "latest-line"], "--line-buffer --tag shows outputs while jobs run"),
    (&["compress"], "outputs above 64 KiB wait in unlinked files in TMPDIR"),
    (&["files", "output-as-files"], "--results keeps outputs in files of known names"),
    (&["sql", "sql-master", "sql-worker", "sql-and-worker"], "--journal writes JSON lines that databases read"),
    (&["process-slot-var"], "{%} is the slot's number"),
];

/// Adds the options that are known in order to be refused: a reason helps more than "unexpected argument".
pub fn with_refused(command: Command) -> Command {
    let names = REFUSED.iter().flat_map(|(names, _)| names.iter());
    let option = |name| Arg::new(name).long(name).hide(true).num_args(0..=1).allow_hyphen_values(true);
    let options = names.map(|name| match *name {
        "sshlogin" => option("sshlogin").short('S'),
        name => option(name),
    });
    command.args(options)
}

/// Refuses them.
pub fn refuse(matches: &ArgMatches) -> Result<(), Failure> {
    if let Some(typed) = matches.get_one::<String>("number_typed") {
        return Err(usage(format!(
            "{typed}: -n and -N throw outputs away and take no number; -l N makes a job of N lines (-1 -l N of N that are one argument each), and -n -1 are xjobs' two letters"
        )));
    }
    for (names, instead) in REFUSED {
        let typed =
            names.iter().find(|name| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine));
        if let Some(name) = typed {
            return Err(usage(format!("--{name} is not there: {instead}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_may_stand_for_bytes() {
        assert_eq!(unescaped(r"a\n\t\0\\x\q\"), b"a\n\t\0\\x\\q\\");
        assert_eq!((parse_delimiter("\\0"), parse_header(":")), (Ok(0), Ok(1)));
        assert!(parse_delimiter("ab").is_err() && parse_header("x").is_err());
    }
}
