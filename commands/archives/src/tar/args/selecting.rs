//! Options about which files or members are meant. What they come to in their order: `super::super::selection`.

use clap::{ArgAction, Args};
use std::ffi::OsString;
use std::path::PathBuf;

/// Options that count for the names behind them: on a command line, and in lists of names.
#[derive(Args, Debug)]
pub struct SelectionArgs {
    /// What is archived or extracted, besides names.
    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// The same, but what says it of itself.
    #[command(flatten)]
    pub signs: SignArgs,

    /// How names match.
    #[command(flatten)]
    pub matching: MatchingArgs,

    /// How lists of names are read.
    #[command(flatten)]
    pub reading: ListReadingArgs,
}

/// Their names.
pub struct SelectionIds;

impl SelectionIds {
    /// All of them, and the names.
    pub const ALL: [&str; 33] = [
        "names",
        "add_file",
        "directory",
        "files_from",
        "exclude",
        "exclude_from",
        "exclude_vcs",
        "exclude_backups",
        "exclude_vcs_ignores",
        "exclude_ignore",
        "exclude_ignore_recursive",
        "exclude_caches",
        "exclude_caches_under",
        "exclude_caches_all",
        "exclude_tag",
        "exclude_tag_under",
        "exclude_tag_all",
        "recursion",
        "no_recursion",
        "wildcards",
        "no_wildcards",
        "anchored",
        "no_anchored",
        "ignore_case",
        "no_ignore_case",
        "wildcards_match_slash",
        "no_wildcards_match_slash",
        "null",
        "no_null",
        "verbatim_files_from",
        "no_verbatim_files_from",
        "unquote",
        "no_unquote",
    ];
}

/// What is archived or extracted, besides names.
#[derive(Args, Debug)]
#[group(skip)]
pub struct ChoiceArgs {
    /// Work in DIR; what follows is there
    #[arg(short = 'C', long, value_name = "DIR", action = ArgAction::Append)]
    pub directory: Vec<PathBuf>,

    /// Archive FILE, even if its name begins with a dash
    #[arg(long, value_name = "FILE", action = ArgAction::Append, allow_hyphen_values = true, hide_short_help = true)]
    pub add_file: Vec<OsString>,

    /// Take names from FILE, one a line, and options from lines that begin with a dash; - is standard input
    #[arg(short = 'T', long, value_name = "FILE", action = ArgAction::Append, hide_short_help = true)]
    pub files_from: Vec<PathBuf>,

    /// Leave out names that match PATTERN
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append)]
    pub exclude: Vec<OsString>,

    /// Leave out names that match a line of FILE
    #[arg(short = 'X', long, value_name = "FILE", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_from: Vec<PathBuf>,

    /// Leave out directories of version control systems
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_vcs: Vec<bool>,

    /// Leave out backups and locks of editors: .#*, *~ and #*#
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_backups: Vec<bool>,

    /// Only files that have changed since TIME, or since FILE, in any way
    #[arg(
        short = 'N',
        long,
        visible_alias = "after-date",
        value_name = "TIME",
        conflicts_with = "newer_mtime",
        hide_short_help = true
    )]
    pub newer: Option<OsString>,

    /// Only files whose bytes have changed since TIME, or since FILE
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub newer_mtime: Option<OsString>,

    /// Descend into directories that are named behind it: the default
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub recursion: Vec<bool>,

    /// Do not descend into directories that are named behind it
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_recursion: Vec<bool>,
}

/// Files that say what is not to be archived of the directories that they stand in.
#[derive(Args, Debug)]
#[group(skip)]
pub struct SignArgs {
    /// Leave out the contents of directories with a CACHEDIR.TAG, but keep the tag
    #[arg(long, hide_short_help = true)]
    pub exclude_caches: bool,

    /// The same, but leave out the tag too
    #[arg(long, hide_short_help = true)]
    pub exclude_caches_under: bool,

    /// The same, but leave out tag and directory too
    #[arg(long, hide_short_help = true)]
    pub exclude_caches_all: bool,

    /// Leave out the contents of directories with a file called NAME, but keep that file
    #[arg(long, value_name = "NAME", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_tag: Vec<OsString>,

    /// The same with that file
    #[arg(long, value_name = "NAME", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_tag_under: Vec<OsString>,

    /// The same, but leave out file and directory too
    #[arg(long, value_name = "NAME", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_tag_all: Vec<OsString>,

    /// Leave out what matches a line of the file called NAME in its directory
    #[arg(long, value_name = "NAME", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_ignore: Vec<OsString>,

    /// The same in all directories beneath
    #[arg(long, value_name = "NAME", action = ArgAction::Append, hide_short_help = true)]
    pub exclude_ignore_recursive: Vec<OsString>,

    /// Leave out what .gitignore, .cvsignore, .bzrignore and .hgignore say
    #[arg(long, hide_short_help = true)]
    pub exclude_vcs_ignores: bool,
}

/// How names match.
#[derive(Args, Debug)]
#[group(skip)]
pub struct MatchingArgs {
    /// Treat members' names behind it as patterns
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub wildcards: Vec<bool>,

    /// Treat patterns behind it as plain names
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_wildcards: Vec<bool>,

    /// Patterns behind it match from the front
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub anchored: Vec<bool>,

    /// Patterns behind it match behind any slash
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_anchored: Vec<bool>,

    /// Patterns behind it ignore case
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub ignore_case: Vec<bool>,

    /// Patterns behind it do not ignore case: the default
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_ignore_case: Vec<bool>,

    /// Wildcards behind it match slashes: the default
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub wildcards_match_slash: Vec<bool>,

    /// Wildcards behind it stop at slashes
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_wildcards_match_slash: Vec<bool>,
}

/// How names and lists of them are read.
#[derive(Args, Debug)]
#[group(skip)]
pub struct ListReadingArgs {
    /// Names of -T end in NUL bytes, and are names whatever they begin with
    #[arg(short = '0', long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub null: Vec<bool>,

    /// Names of -T are lines: the default
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_null: Vec<bool>,

    /// Lines of -T are names, whatever they begin with
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub verbatim_files_from: Vec<bool>,

    /// Lines of -T that begin with a dash are options: the default
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_verbatim_files_from: Vec<bool>,

    /// Read escapes in names, such as \n and \303: the default
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub unquote: Vec<bool>,

    /// Backslashes in names are backslashes
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append, hide_short_help = true)]
    pub no_unquote: Vec<bool>,
}
