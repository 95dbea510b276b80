//! A command line that clap refuses, in our dialect: one line with the cause, and hints that name the option that was meant.
//! Prints nothing. Knows options by the command's own table, and what they are called elsewhere by `SYNONYMS`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::error::Error as _;
use std::ffi::OsString;
use terminal::{quote, quote_text};

/// A refused command line: the reason, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedLine {
    /// The cause.
    pub message: String,
    /// Remedies, the best first; none if nobody knows one.
    pub hints: Vec<String>,
}

/// Long names of an option in other tools, and its IDs here; the first that the command has is meant.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (
        &["threads", "cores", "cpus", "nproc", "parallel", "procs", "processes", "workers", "max-procs", "jobs"],
        &["hands", "jobs"],
    ),
    (&["compression-level", "compress-level", "compression", "complevel", "levels", "quality"], &["level"]),
    (&["algorithm", "method", "type", "codec", "gzip", "zstd", "bzip2", "lz4", "xz", "lzma"], &["format"]),
    (&["memlimit", "mem-limit", "memory-limit", "maxmem", "mem", "memlimit-compress"], &["memory"]),
    (&["dryrun", "dry", "simulate", "pretend", "just-print", "no-act", "whatif"], &["dry_run", "explain"]),
    (&["outfile", "output-file", "out", "to"], &["output", "file"]),
    (&["std-out", "to-stdout", "stdout"], &["stdout", "to_stdout"]),
    (&["delete", "remove", "remove-source", "remove-source-files", "delete-source"], &["remove"]),
    (&["extract", "unpack", "expand"], &["decompress", "extract"]),
    (&["overwrite", "replace", "yes"], &["force"]),
    (&["chdir", "cd", "target", "dest", "destination"], &["directory", "target_directory"]),
    (&["checksum", "check", "integrity"], &["verify", "test"]),
    (&["stats", "statistics", "summary", "bottleneck"], &["report"]),
    (&["plan", "why"], &["explain"]),
    (&["nice", "ionice"], &["priority"]),
    (&["silent"], &["quiet", "discard_output"]),
];

/// Options of commands that stand for GNU's tools, which those have not.
const OURS: &[&str] = &[
    "hands",
    "priority",
    "weight",
    "memory",
    "explain",
    "report",
    "dry_run",
    "verify",
    "skip_same",
    "resume",
    "fsync",
    "untrusted",
    "no_index",
];

/// COMPAT: completes long options that are cut short where all but one of those that are meant are ours: `rm --re` is --recursive, though there is
/// --report. Other words stay, and what stands behind `--`.
pub fn complete(command: &Command, words: &mut [OsString]) {
    for word in words.iter_mut().take_while(|word| *word != "--") {
        let Some(typed) = word.to_str().and_then(|word| word.strip_prefix("--")) else { continue };
        let (name, value) = typed.split_once('=').map_or((typed, None), |(name, value)| (name, Some(value)));
        if name.is_empty() || ["help", "version"].iter().any(|whole| whole.starts_with(name)) {
            continue;
        }
        let begun = |option: &&Arg| all_longs(option).any(|long| long.starts_with(name));
        let is_whole = |option: &Arg| all_longs(option).any(|long| long == name);
        let found: Vec<&Arg> = command.get_arguments().filter(begun).collect();
        let mut theirs = found.iter().filter(|option| !OURS.contains(&option.get_id().as_str()));
        let (Some(only), None) = (theirs.next(), theirs.next()) else { continue };
        if found.len() < 2 || found.iter().any(|option| is_whole(option)) {
            continue;
        }
        let long = only.get_long().unwrap_or(name);
        *word = value.map_or(format!("--{long}"), |value| format!("--{long}={value}")).into();
    }
}

fn all_longs(option: &Arg) -> impl Iterator<Item = &str> {
    option.get_long().into_iter().chain(option.get_all_aliases().unwrap_or_default())
}

/// `error`, which `command`, called `program`, has found in `words`.
pub fn refused(command: &Command, program: &str, words: &[OsString], error: &clap::Error) -> RefusedLine {
    let (command, program) = innermost(command, program, words);
    let mut refused = cause_of(command, words, error);
    if refused.hints.is_empty() {
        refused.hints.push(shows_options(&program));
    }
    refused
}

/// `--report json`, whose second word would be a file: what is meant takes its value behind =.
pub fn report_apart(command: &Command, words: &[OsString]) -> Option<RefusedLine> {
    let mut all = std::iter::once(command).chain(command.get_subcommands());
    let takes_program = all.any(|command| command.get_positionals().any(Arg::is_trailing_var_arg_set));
    let is_apart =
        words.windows(2).take_while(|pair| pair[0] != "--").any(|pair| pair[0] == "--report" && pair[1] == "json");
    (is_apart && !takes_program && !std::path::Path::new("json").exists()).then(|| RefusedLine {
        message: "--report takes its format behind =".to_owned(),
        hints: vec!["--report=json".to_owned()],
    })
}

/// Where to look.
pub fn shows_options(program: &str) -> String {
    format!("{program} -h shows the options")
}

/// The subcommand that the words name, if they name one.
fn innermost<'command>(command: &'command Command, program: &str, words: &[OsString]) -> (&'command Command, String) {
    let named = words.iter().find_map(|word| command.find_subcommand(word));
    named.map_or((command, program.to_owned()), |below| (below, format!("{program} {}", below.get_name())))
}

fn cause_of(command: &Command, words: &[OsString], error: &clap::Error) -> RefusedLine {
    let arguments = texts(error, ContextKind::InvalidArg);
    let argument = arguments.first().map(String::as_str).unwrap_or_default();
    let value = texts(error, ContextKind::InvalidValue).pop().unwrap_or_default();
    let name = bare(argument);
    let message = match error.kind() {
        ErrorKind::UnknownArgument => return unknown(command, words, argument),
        ErrorKind::InvalidSubcommand => return unknown_subcommand(command, error),
        ErrorKind::MissingRequiredArgument => missing(command, &arguments),
        ErrorKind::ArgumentConflict => conflict(name, &texts(error, ContextKind::PriorArg)),
        ErrorKind::InvalidValue if value.is_empty() => format!("{name} needs {}", placeholder(argument)),
        ErrorKind::InvalidValue => format!("invalid value {} for {name}", quote_text(&value)),
        ErrorKind::ValueValidation => format!("invalid value {} for {name}: {}", quote_text(&value), reason(error)),
        ErrorKind::NoEquals => format!("{name} takes its value behind =: {argument}"),
        ErrorKind::TooManyValues => format!("{name} takes no value, and {} is one", quote_text(&value)),
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        _ => first_line(error),
    };
    let choices = texts(error, ContextKind::ValidValue);
    let hints = if choices.is_empty() { Vec::new() } else { vec![format!("{name} is one of {}", choices.join(", "))] };
    RefusedLine { message, hints }
}

/// An option, or a word too many.
fn unknown(command: &Command, words: &[OsString], argument: &str) -> RefusedLine {
    let Some(long) = argument.strip_prefix("--").filter(|long| !long.is_empty()) else {
        let message = if argument.starts_with('-') { "unexpected argument" } else { "unexpected word" };
        let hints = file_named_like(words, argument).into_iter().collect();
        return RefusedLine { message: format!("{message} {}", quote_text(argument)), hints };
    };
    let begun: Vec<String> = shown_options(command)
        .flat_map(|option| longs(option).find(|name| name.starts_with(long)))
        .map(|name| format!("--{name}"))
        .collect();
    if begun.len() > 1 {
        let message = format!("{} is ambiguous: {}", quote_text(argument), begun.join(", "));
        return RefusedLine { message, hints: Vec::new() };
    }
    let meant = by_synonym(command, long).or_else(|| by_spelling(command, long));
    let hints = match meant {
        Some(option) => vec![line_of(option)],
        None => file_named_like(words, argument).into_iter().collect(),
    };
    RefusedLine { message: format!("unexpected argument {}", quote_text(argument)), hints }
}

fn unknown_subcommand(command: &Command, error: &clap::Error) -> RefusedLine {
    let typed = texts(error, ContextKind::InvalidSubcommand).pop().unwrap_or_default();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let hints = vec![format!("there are {}", names.join(", "))];
    RefusedLine { message: format!("there is no {}", quote_text(&typed)), hints }
}

/// COMPAT: as GNU's tools remind of files whose names begin with a dash.
fn file_named_like(words: &[OsString], argument: &str) -> Option<String> {
    let letters = argument.trim_start_matches('-');
    let word = words.iter().find(|word| {
        let text = word.to_string_lossy();
        text.starts_with('-') && text.contains(letters) && std::fs::symlink_metadata(word).is_ok()
    })?;
    Some(format!("{} names the file", quote(OsString::from_iter(["./".as_ref(), word.as_os_str()]))))
}

fn by_synonym<'command>(command: &'command Command, long: &str) -> Option<&'command Arg> {
    let ids = SYNONYMS.iter().filter(|(names, _)| names.contains(&long)).flat_map(|(_, ids)| *ids);
    ids.into_iter().find_map(|id| shown_options(command).find(|option| option.get_id() == id))
}

/// The option whose name is typed with a slip: one in about four letters.
fn by_spelling<'command>(command: &'command Command, long: &str) -> Option<&'command Arg> {
    let slips = |option: &Arg| longs(option).map(|name| strsim::damerau_levenshtein(name, long)).min();
    let nearest =
        shown_options(command).filter_map(|option| Some((slips(option)?, option))).min_by_key(|found| found.0);
    nearest.filter(|(slips, _)| slips * 4 <= long.chars().count() + 1).map(|(_, option)| option)
}

/// A name that is nearly `typed`, among `names`.
pub fn nearest<'names>(typed: &str, names: impl Iterator<Item = &'names str>) -> Option<&'names str> {
    let found = names.map(|name| (strsim::damerau_levenshtein(name, typed), name)).min();
    found.filter(|(slips, _)| slips * 4 <= typed.chars().count() + 1).map(|(_, name)| name)
}

fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|option| !option.is_hide_set() && option.get_long().is_some())
}

fn longs(option: &Arg) -> impl Iterator<Item = &str> {
    option.get_long().into_iter().chain(option.get_visible_aliases().unwrap_or_default())
}

/// An option with its names and what it does: `-j, --hands N: Use at most N cores`.
fn line_of(option: &Arg) -> String {
    let short = option.get_short().map(|letter| format!("-{letter}, ")).unwrap_or_default();
    let long = option.get_long().unwrap_or_default();
    let value = option.get_value_names().filter(|_| option.get_action().takes_values()).unwrap_or_default();
    let gap = if option.is_require_equals_set() { "=" } else { " " };
    let value = value.first().map(|name| format!("{gap}{name}")).unwrap_or_default();
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.split(" (").next().unwrap_or_default();
    format!("{short}--{long}{value}: {help}")
}

/// What is needed: an argument, or one of several.
fn missing(command: &Command, arguments: &[String]) -> String {
    let needed: Vec<String> = arguments.iter().map(|argument| one_of(command, argument)).collect();
    let are = if needed.len() > 1 { "are" } else { "is" };
    format!("{} {are} needed", needed.join(" and "))
}

/// `one of -c, -x, --delete` for `<--create|--extract|--delete>`, `FILE` for `<FILE>...`.
fn one_of(command: &Command, argument: &str) -> String {
    let short = |long: &str| {
        let name = bare(long);
        let option = command.get_arguments().find(|option| option.get_long() == name.strip_prefix("--"));
        option.and_then(Arg::get_short).map_or(name.to_owned(), |letter| format!("-{letter}"))
    };
    match argument.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).filter(|rest| rest.starts_with('-')) {
        Some(names) => format!("one of {}", names.split('|').map(short).collect::<Vec<_>>().join(", ")),
        None => bare(argument).to_owned(),
    }
}

fn conflict(name: &str, others: &[String]) -> String {
    let others: Vec<&str> = others.iter().map(|other| bare(other)).collect();
    match others.as_slice() {
        [] => format!("{name} goes with no other option"),
        [other] if *other == name => format!("{name} is given twice"),
        others => format!("{name} does not go with {}", others.join(", ")),
    }
}

/// An argument's name as it is typed: `--format` of `--format <FORMAT>`, `FILE` of `<FILE>...`.
fn bare(argument: &str) -> &str {
    match argument.starts_with('-') {
        true => argument.split([' ', '[', '=']).next().unwrap_or_default(),
        false => argument.trim_end_matches('.').trim_matches(['<', '>', '[', ']']),
    }
}

/// What stands for an option's value in its help.
fn placeholder(argument: &str) -> &str {
    argument.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("a value", |(name, _)| name)
}

/// Why a value is refused. Rust's own words for numbers are no help: `0 is not in 1..10001`.
fn reason(error: &clap::Error) -> String {
    let text = error.source().map(ToString::to_string).unwrap_or_default();
    let range = text.split_once(" is not in ").and_then(|(_, range)| range.split_once(".."));
    match range.map(|(low, high)| (low, high.strip_prefix('='), high.parse::<i64>())) {
        _ if text.starts_with("invalid digit found") => "a number is needed".to_owned(),
        Some((low, Some(high), _)) => format!("a number from {low} to {high} is needed"),
        Some((low, None, Ok(behind))) => format!("a number from {low} to {} is needed", behind - 1),
        _ => text,
    }
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{ArgAction, ArgGroup};

    fn command() -> Command {
        let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
        Command::new("x")
            .infer_long_args(true)
            .args([flag("create").short('c'), flag("extract").short('x'), flag("delete"), flag("decompress")])
            .arg(Arg::new("hands").short('j').long("hands").value_name("N").help("Use at most N cores (default: all)"))
            .arg(Arg::new("exclude").long("exclude").value_name("PATTERN"))
            .arg(Arg::new("exclude_from").long("exclude-from").value_name("FILE"))
            .arg(Arg::new("size").long("size").value_name("SIZE").value_parser(clap::value_parser!(u8)))
            .arg(Arg::new("weight").long("weight").value_parser(clap::value_parser!(u16).range(1..11)))
            .arg(Arg::new("how").long("how").value_name("HOW").value_parser(["a", "b"]).conflicts_with("size"))
            .group(ArgGroup::new("operation").required(true).args(["create", "extract", "delete"]))
    }

    /// Message and hints, with a slash between them.
    fn said(typed: &str) -> String {
        let words: Vec<OsString> = typed.split_whitespace().map(OsString::from).collect();
        let mut command = command();
        let error = command
            .try_get_matches_from_mut(["x".into()].into_iter().chain(words.iter().cloned()))
            .expect_err("a wrong line");
        let RefusedLine { message, hints } = refused(&command, "mh x", &words, &error);
        std::iter::once(message).chain(hints).collect::<Vec<_>>().join(" / ")
    }

    #[test]
    fn other_tools_names_and_slips_lead_to_the_option() {
        assert_eq!(said("-c --threads 2"), "unexpected argument '--threads' / -j, --hands N: Use at most N cores");
        assert_eq!(said("-c --hnads=2"), "unexpected argument '--hnads' / -j, --hands N: Use at most N cores");
        assert_eq!(said("-c --frobnicate"), "unexpected argument '--frobnicate' / mh x -h shows the options");
        assert_eq!(said("-c -q"), "unexpected argument '-q' / mh x -h shows the options");
        assert_eq!(said("-c word"), "unexpected word 'word' / mh x -h shows the options");
    }

    #[test]
    fn an_abbreviation_that_means_two_options_names_them() {
        assert_eq!(
            said("-c --ex"),
            "'--ex' is ambiguous: --extract, --exclude, --exclude-from / mh x -h shows the options"
        );
        assert_eq!(said("-c --exclude-f"), "--exclude-from needs FILE / mh x -h shows the options");
    }

    #[test]
    fn what_is_missing_or_does_not_go_together_is_one_line() {
        assert_eq!(said(""), "one of -c, -x, --delete is needed / mh x -h shows the options");
        assert_eq!(said("-c --how a --size 2"), "--how does not go with --size / mh x -h shows the options");
        assert_eq!(said("-c --how z"), "invalid value 'z' for --how / --how is one of a, b");
        assert_eq!(said("-c --size z"), "invalid value 'z' for --size: a number is needed / mh x -h shows the options");
        let outside = "invalid value '0' for --weight: a number from 1 to 10 is needed / mh x -h shows the options";
        assert_eq!(said("-c --weight 0"), outside);
        assert_eq!(said("-c --delete=z"), "--delete takes no value, and 'z' is one / mh x -h shows the options");
    }

    #[test]
    fn a_format_that_stands_apart_is_no_file() {
        let words = |typed: &str| typed.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(report_apart(&command(), &words("--report json a")).is_some());
        assert!(report_apart(&command(), &words("--report=json a")).is_none());
        assert!(report_apart(&command(), &words("-- --report json")).is_none());
        let runs_programs = command().arg(Arg::new("program").num_args(1..).trailing_var_arg(true));
        assert!(report_apart(&runs_programs, &words("echo --report json")).is_none());
        let runs_them_below = command().subcommand(runs_programs.name("run"));
        assert!(report_apart(&runs_them_below, &words("run echo --report json")).is_none());
    }

    #[test]
    fn what_is_cut_short_is_gnu_s_option_before_ours() {
        let command = command().arg(Arg::new("dry_run").long("dry-run")).arg(Arg::new("dirs").long("dirs"));
        let completed = |typed: &str| {
            let mut words: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            complete(&command, &mut words);
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(completed("--h=3 a"), "--h=3 a", "that may be --help");
        assert_eq!(completed("--d -- --d"), "--d -- --d", "three of theirs begin so");
        assert_eq!(completed("--dr --exclude x"), "--dr --exclude x", "one option alone: clap knows it");
        let few = Command::new("x").arg(Arg::new("report").long("report")).arg(Arg::new("recursive").long("recursive"));
        let mut words = ["--re=x", "--report", "--", "--re"].map(OsString::from);
        complete(&few, &mut words);
        assert_eq!(words, ["--recursive=x", "--report", "--", "--re"]);
    }
}
