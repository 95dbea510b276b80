//! Which files or members are meant, in the order in which it was typed: names, the directories that they stand in, what is left out, and the options
//! between them that count for what follows. Reads lists (`-T`, `-X`); looks at no file and no archive.

mod split;

use super::args::{SelectionArgs, SelectionIds};
use super::{could_not, read_list, usage};
use archive::pattern::Manner;
use clap::{ArgMatches, Args, Command};
use mh_kit::failure::Failure;
pub use split::{unquoted, words as words_of};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// All that was typed about names.
#[derive(Debug, Default)]
pub struct TypedSelection {
    /// Names and directories, in order.
    pub steps: Vec<SelectionStep>,
    /// What is left out. Each name knows how many of these stand in front of it.
    pub excluded: Vec<(Vec<u8>, Manner)>,
    /// Options behind the last name, which count for nothing when files are archived.
    pub idle: Vec<String>,
    /// Whether any list was named, if only an empty one.
    pub has_list: bool,
    /// Lists with NUL bytes in them that were not said to have them.
    pub lists_with_nul: Vec<PathBuf>,
    /// Lists that are named while they are read, and the list that names each.
    pub lists_again: Vec<(PathBuf, PathBuf)>,
}

/// A step on the way through it.
#[derive(Debug)]
pub enum SelectionStep {
    /// What follows stands in this directory.
    Enter(PathBuf),
    /// A name.
    Name(SelectedName),
}

/// A name, and what counts for it.
#[derive(Debug)]
pub struct SelectedName {
    /// It.
    pub name: Vec<u8>,
    /// How it is compared with members.
    pub manner: Manner,
    /// How many patterns in [`TypedSelection::excluded`] are meant for it.
    pub excluded: usize,
}

/// A word that was typed, in order with others.
#[derive(Clone, Debug)]
enum Word {
    Name(Vec<u8>),
    Directory(PathBuf),
    List(PathBuf),
    Exclude(Vec<u8>),
    ExcludeList(PathBuf),
    ExcludeKnown(&'static [&'static str], bool),
    Recursion(bool),
    Wildcards(bool),
    Anchored(bool),
    IgnoreCase(bool),
    MatchSlash(bool),
    EndsInNul(bool),
    Verbatim(bool),
    Unquote(bool),
    /// What is chosen elsewhere, wherever it stands.
    Elsewhere,
}

/// COMPAT: directories and files of version control, as GNU tar knows them.
const VERSION_CONTROL: &[&str] = &[
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    ".hgtags",
    "_darcs",
];
/// COMPAT: the same for backups and locks of editors.
const BACKUPS: &[&str] = &[".#*", "*~", "#*#"];

/// LIMIT: lists that name lists.
const DEPTH_MAX: usize = 16;

/// What options between names have come to.
#[derive(Clone, Debug)]
struct State {
    wildcards: Option<bool>,
    is_anchored: bool,
    names_are_anchored: bool,
    ignore_case: bool,
    match_slash: bool,
    recursion: bool,
    ends_in_nul: bool,
    verbatim: bool,
    unquote: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            wildcards: None,
            is_anchored: false,
            names_are_anchored: true,
            ignore_case: false,
            match_slash: true,
            recursion: true,
            ends_in_nul: false,
            verbatim: false,
            unquote: true,
        }
    }
}

impl State {
    /// COMPAT: whether `*` means something differs between what is taken and what is left out, until an option says it.
    fn manner(&self, usual: Manner) -> Manner {
        let is_for_names = usual == Manner::MEMBERS;
        Manner {
            wildcards: self.wildcards.unwrap_or(usual.wildcards),
            anchored: self.is_anchored || is_for_names && self.names_are_anchored,
            match_slash: self.match_slash,
            ignore_case: self.ignore_case,
            beneath: self.recursion,
        }
    }
}

/// Goes through the words.
#[derive(Default)]
struct Reading {
    state: State,
    selection: TypedSelection,
    /// The lists that are being read.
    lists: Vec<PathBuf>,
}

impl TypedSelection {
    /// Of a command line.
    pub fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let mut reading = Reading::default();
        let words = words_in(matches);
        let last_name = words.iter().rposition(|(_, word)| matches!(word, Word::Name(_) | Word::List(_)));
        for (at, (shown, word)) in words.iter().enumerate() {
            reading.take(word)?;
            if last_name.is_none_or(|last| at > last) {
                reading.selection.idle.push(shown.clone());
            }
        }
        Ok(reading.selection)
    }

    /// The names, as members are looked for by them.
    pub fn names(&self) -> Vec<Vec<u8>> {
        self.named().map(|named| named.name.clone()).collect()
    }

    /// The names, with what counts for each.
    pub fn named(&self) -> impl Iterator<Item = &SelectedName> {
        self.steps.iter().filter_map(|step| match step {
            SelectionStep::Name(named) => Some(named),
            SelectionStep::Enter(_) => None,
        })
    }
}

impl Reading {
    fn take(&mut self, word: &Word) -> Result<(), Failure> {
        let state = &mut self.state;
        match word {
            Word::Name(name) => {
                let name = if state.unquote { unquoted(name) } else { name.clone() };
                self.name(name);
            }
            Word::Directory(path) => self.selection.steps.push(SelectionStep::Enter(path.clone())),
            Word::List(path) => self.list(path)?,
            Word::Exclude(text) => self.exclude(text.clone(), state_manner(&self.state)),
            Word::ExcludeList(path) => {
                let manner = state_manner(&self.state);
                let bytes = read_list(path)?;
                let lines = bytes.split(|&byte| byte == b'\n').filter_map(without_blanks);
                lines.for_each(|line| self.exclude(line.to_vec(), manner));
            }
            Word::ExcludeKnown(texts, wildcards) => {
                let manner = Manner { wildcards: *wildcards, ..Manner::EXCLUDED };
                texts.iter().for_each(|text| self.exclude(text.as_bytes().to_vec(), manner));
            }
            Word::Recursion(is_on) => state.recursion = *is_on,
            Word::Wildcards(is_on) => state.wildcards = Some(*is_on),
            Word::Anchored(is_on) => {
                state.is_anchored = *is_on;
                state.names_are_anchored &= *is_on;
            }
            Word::IgnoreCase(is_on) => state.ignore_case = *is_on,
            Word::MatchSlash(is_on) => state.match_slash = *is_on,
            Word::EndsInNul(is_on) => {
                state.ends_in_nul = *is_on;
                state.verbatim = *is_on;
            }
            Word::Verbatim(is_on) => state.verbatim = *is_on,
            Word::Unquote(is_on) => state.unquote = *is_on,
            Word::Elsewhere => {}
        }
        Ok(())
    }

    fn name(&mut self, name: Vec<u8>) {
        let (manner, excluded) = (self.state.manner(Manner::MEMBERS), self.selection.excluded.len());
        self.selection.steps.push(SelectionStep::Name(SelectedName { name, manner, excluded }));
    }

    fn exclude(&mut self, text: Vec<u8>, manner: Manner) {
        self.selection.excluded.push((text, manner));
    }

    /// The names, and options, in a list.
    fn list(&mut self, path: &Path) -> Result<(), Failure> {
        self.selection.has_list = true;
        if let Some(by) = self.lists.last().filter(|_| self.lists.iter().any(|list| list == path)) {
            // COMPAT: it is an error, and the rest goes on.
            self.selection.lists_again.push((path.to_owned(), by.clone()));
            return Ok(());
        }
        if self.lists.len() >= DEPTH_MAX {
            return Err(usage(format!("-T {}: lists name lists, {DEPTH_MAX} deep", terminal::quote(path))));
        }
        self.lists.push(path.to_owned());
        let bytes = read_list(path)?;
        // No name has such a byte in it: where one is, they all end in it.
        let has_nul = bytes.contains(&0);
        if has_nul && !self.state.ends_in_nul {
            self.selection.lists_with_nul.push(path.to_owned());
        }
        let border = if self.state.ends_in_nul || has_nul { 0 } else { b'\n' };
        for (number, line) in bytes.split(|&byte| byte == border).enumerate().filter(|(_, line)| !line.is_empty()) {
            let is_option = !self.state.verbatim && border != 0 && line.trim_ascii_start().starts_with(b"-");
            match is_option {
                true => self.options(path, number + 1, line)?,
                false if self.state.unquote && !self.state.verbatim => self.name(unquoted(line)),
                false => self.name(line.to_vec()),
            }
        }
        self.lists.pop();
        Ok(())
    }

    /// A line of a list that is options.
    fn options(&mut self, list: &Path, number: usize, line: &[u8]) -> Result<(), Failure> {
        let wrong = |why: String| usage(format!("{}:{number}: {why}", list.display()));
        let words = split::words(line).ok_or_else(|| wrong("a quote is not closed".to_owned()))?;
        let words: Vec<OsString> = words.into_iter().map(attached).collect();
        let command = SelectionArgs::augment_args(Command::new("list").no_binary_name(true).infer_long_args(true));
        let command = command.disable_help_flag(true).disable_version_flag(true);
        let matches = command.try_get_matches_from(words).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            wrong(first.strip_prefix("error: ").unwrap_or(first).to_owned())
        })?;
        words_in(&matches).iter().try_for_each(|(_, word)| self.take(word))
    }
}

fn state_manner(state: &State) -> Manner {
    state.manner(Manner::EXCLUDED)
}

/// COMPAT: blanks in front of an attached value of `-C` are nobody's directory.
fn attached(word: OsString) -> OsString {
    match word.as_bytes().strip_prefix(b"-C") {
        Some(rest) if rest.starts_with(b" ") => OsString::from_vec([b"-C", rest.trim_ascii_start()].concat()),
        _ => word,
    }
}

/// A line of a list of patterns. COMPAT: blanks at its end say nothing, also the carriage returns of lists from Windows; nor does a line of blanks.
fn without_blanks(line: &[u8]) -> Option<&[u8]> {
    let last = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'..=b'\r'))?;
    Some(&line[..=last])
}

/// What was typed, in order, and how each is shown.
fn words_in(matches: &ArgMatches) -> Vec<(String, Word)> {
    let mut words: Vec<(usize, String, Word)> = Vec::new();
    for id in SelectionIds::ALL {
        // Of a list's line there are no names.
        let Ok(Some(indices)) = matches.try_contains_id(id).map(|_| matches.indices_of(id)) else { continue };
        let texts: Vec<OsString> = match matches.try_get_raw(id) {
            Ok(Some(values)) => values.map(OsStr::to_owned).collect(),
            _ => continue,
        };
        if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        words.extend(indices.zip(texts).map(|(at, text)| (at, shown(id, &text), word(id, text))));
    }
    words.sort_by_key(|(at, ..)| *at);
    words.into_iter().map(|(_, shown, word)| (shown, word)).collect()
}

fn shown(id: &str, text: &OsStr) -> String {
    match id {
        "directory" => format!("-C {}", terminal::quote(text)),
        "exclude"
        | "exclude_from"
        | "exclude_tag"
        | "exclude_tag_under"
        | "exclude_tag_all"
        | "exclude_ignore"
        | "exclude_ignore_recursive" => format!("--{} {}", id.replace('_', "-"), terminal::quote(text)),
        _ => format!("--{}", id.replace('_', "-")),
    }
}

fn word(id: &str, text: OsString) -> Word {
    let path = || PathBuf::from(&text);
    match id {
        "names" | "add_file" => Word::Name(text.into_vec()),
        "directory" => Word::Directory(path()),
        "files_from" => Word::List(path()),
        "exclude" => Word::Exclude(text.into_vec()),
        "exclude_from" => Word::ExcludeList(path()),
        "exclude_vcs" => Word::ExcludeKnown(VERSION_CONTROL, false),
        "exclude_backups" => Word::ExcludeKnown(BACKUPS, true),
        "recursion" | "no_recursion" => Word::Recursion(id == "recursion"),
        "wildcards" | "no_wildcards" => Word::Wildcards(id == "wildcards"),
        "anchored" | "no_anchored" => Word::Anchored(id == "anchored"),
        "ignore_case" | "no_ignore_case" => Word::IgnoreCase(id == "ignore_case"),
        "wildcards_match_slash" | "no_wildcards_match_slash" => Word::MatchSlash(id == "wildcards_match_slash"),
        "null" | "no_null" => Word::EndsInNul(id == "null"),
        "verbatim_files_from" | "no_verbatim_files_from" => Word::Verbatim(id == "verbatim_files_from"),
        "unquote" | "no_unquote" => Word::Unquote(id == "unquote"),
        _ => Word::Elsewhere,
    }
}

/// Goes where `-C` says, directory after directory, as `cd` would.
pub fn enter(directory: &Path) -> Result<(), Failure> {
    rustix::process::chdir(directory)
        .map_err(|error| could_not("enter", directory.as_os_str(), &std::io::Error::from(error)))
}

#[cfg(test)]
mod tests;
