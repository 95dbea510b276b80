//! How a run behaves where tools differ: what it calls itself, which names and inputs it takes, how it words what happened
//! and which exit code that is. `mh tamp` has the default manners; each old name brings its own (`old_names`).
//! Does no work and chooses nothing: plan and run ask.

use super::TampArgs;
use super::list::Row;
use super::names::{LeftAlone, OthersInside, SpecialMode};
use codec::admission::FormatAdmission;
use codec::error::CodecError;
use codec::format::Remark;
use codec::lane::{LaneInput, LaneOutput, Totals};
use codec::origin::Tells;
use mh_kit::context::Context;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use terminal::Verbosity;

/// How a run behaves where tools differ.
#[derive(Clone, Debug)]
pub struct Manners {
    /// What messages begin with.
    pub name: String,
    /// The words of another tool; none for our own.
    pub voice: Option<Voice>,
    /// What is taken for compressed data.
    pub admission: FormatAdmission,
    /// Endings that decompression takes away, each with what replaces it; empty means those of all formats.
    pub endings: &'static [(&'static str, &'static str)],
    /// Whether those are known in capitals too.
    pub endings_in_any_case: bool,
    /// Endings that keep a file from being compressed once more; none means those of the format.
    pub compressed_endings: Option<&'static [&'static str]>,
    /// What packs such a file once more all the same.
    pub packs_twice: PacksTwice,
    /// Endings that are tried behind a name that does not exist, decompressing; an empty one stands for that of `-S`.
    pub tried_endings: &'static [&'static str],
    /// What an uncompressed file is called whose compressed name has no known ending: this is appended.
    pub guessed_ending: Option<&'static str>,
    /// Which links are refused.
    pub refuses: Refused,
    /// What gz files tell of the uncompressed file.
    pub tells_origin: Tells,
    /// Whether an uncompressed file gets the name and time that its gz file tells.
    pub restores_origin: bool,
    /// Where outputs go instead of beside their sources.
    pub directory: Option<OutputDirectory>,
    /// How a list is laid out of its rows and the number of files that were asked for; none for our own.
    pub lists: Option<fn(&[Row], usize) -> String>,
    /// Whether the progress line is shown.
    pub shows_progress: bool,
    /// The exit codes of what went wrong.
    pub codes: Codes,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            name: super::NAME.to_owned(),
            voice: None,
            admission: FormatAdmission::default(),
            endings: &[],
            endings_in_any_case: false,
            compressed_endings: None,
            packs_twice: PacksTwice { by_force: true, to_stdout: true },
            tried_endings: &[],
            guessed_ending: None,
            refuses: Refused::default(),
            tells_origin: Tells::default(),
            restores_origin: false,
            directory: None,
            lists: None,
            shows_progress: true,
            codes: Codes::default(),
        }
    }
}

/// What packs a file once more whose name tells that it is compressed.
#[derive(Clone, Copy, Debug)]
pub struct PacksTwice {
    /// `-f` does.
    pub by_force: bool,
    /// `-c` does.
    pub to_stdout: bool,
}

/// Files that are not worked on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refused {
    /// Symbolic links.
    pub symbolic: bool,
    /// Files with more names than one.
    pub hard: bool,
    /// Files that run with their owner's or group's rights, or are sticky: packing would lose that.
    pub special_modes: bool,
    /// Others in directories that are gone through.
    pub inside: OthersInside,
}

/// Another directory for outputs.
#[derive(Clone, Debug)]
pub enum OutputDirectory {
    /// All of them beside one another.
    Flat(PathBuf),
    /// Below it as their sources lie.
    Mirror(PathBuf),
}

/// The worst exit code so far. A warning is less than any error, whatever the numbers.
#[derive(Clone, Debug, Default)]
pub struct Codes {
    warning: Option<u8>,
    /// Whether warnings do not count.
    is_calm: bool,
    worst: Arc<AtomicU8>,
}

impl Codes {
    /// Of a tool whose warnings end it with `warning`.
    pub fn with_warning(warning: u8) -> Self {
        Self { warning: Some(warning), ..Self::default() }
    }

    /// The same, where warnings do not count.
    #[must_use]
    pub fn without_warnings(self) -> Self {
        Self { is_calm: true, ..self }
    }

    /// Notes one.
    pub fn note(&self, code: u8) {
        if self.is_calm && Some(code) == self.warning {
            return;
        }
        let rank = |code: u8| if Some(code) == self.warning { 1 } else { u16::from(code) * 2 };
        // ORDER: a maximum that is read when all lanes are closed, behind the pipeline's lock.
        let _kept_where_it_is_no_worse = self
            .worst
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |worst| (rank(code) > rank(worst)).then_some(code));
    }

    /// The worst of all that were noted.
    pub fn worst(&self) -> u8 {
        self.worst.load(Ordering::Relaxed)
    }
}

/// Puts what happened into a tool's words.
pub type Voice = fn(&Manners, &Event<'_>) -> Said;

/// What happened.
pub enum Event<'a> {
    /// A file is not worked on.
    LeftAlone { path: &'a Path, why: &'a LeftAlone },
    /// A file failed.
    Failed { input: &'a LaneInput, output: &'a LaneOutput, error: &'a CodecError, way: Way },
    /// What follows the last unit of a file was left unread.
    LeftUnread { input: &'a LaneInput, error: &'a CodecError },
    /// A file is odd, and was worked on all the same.
    Odd { input: &'a LaneInput, remark: Remark },
    /// A file is done.
    Done { input: &'a LaneInput, output: &'a LaneOutput, totals: &'a Totals, keeps: bool, way: Way, alone: bool },
    /// All files are.
    End { totals: &'a Totals, done: usize, asked: usize, way: Way, to_stdout: bool },
    /// Compressed data would go to a terminal.
    TerminalOut,
    /// Compressed data would come from one.
    TerminalIn,
}

/// What a run does with its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Compress,
    Decompress,
    Test,
}

impl Way {
    /// That of a command line.
    pub fn of(args: &TampArgs) -> Self {
        match (args.test, args.decompress || args.list) {
            (true, _) => Self::Test,
            (_, true) => Self::Decompress,
            _ => Self::Compress,
        }
    }
}

/// What is said about it, and the exit code that it means.
#[derive(Debug)]
pub struct Said {
    /// One line or several; empty for nothing.
    pub text: String,
    /// The quietest run that says it.
    pub at: Verbosity,
    /// 0 where nothing is wrong.
    pub code: u8,
}

impl Said {
    /// Nothing, and all is well.
    pub fn nothing() -> Self {
        Self::aloud(Verbosity::Verbose, String::new())
    }

    /// Something is wrong: said unless the run is silent.
    pub fn wrong(code: u8, text: String) -> Self {
        Self { text, at: Verbosity::Quiet, code }
    }

    /// Something is odd: said unless the run is quiet.
    pub fn odd(code: u8, text: String) -> Self {
        Self { text, at: Verbosity::Normal, code }
    }

    /// All is well: said from this verbosity on.
    pub fn aloud(at: Verbosity, text: String) -> Self {
        Self { text, at, code: 0 }
    }
}

impl Manners {
    /// Says it in the tool's words, if there are any: returns whether it was said.
    pub fn say(&self, context: &Context, event: &Event<'_>) -> bool {
        let Some(voice) = self.voice else { return false };
        let said = voice(self, event);
        self.codes.note(said.code);
        if !said.text.is_empty() {
            context.messages.in_words_of_others(said.at, &said.text);
        }
        true
    }

    /// The file that is meant where `path` does not exist, decompressing: gunzip takes `a` for `a.gz`.
    pub fn meant(&self, path: &Path, suffix: Option<&str>) -> PathBuf {
        let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
        if self.tried_endings.is_empty() || path == Path::new("-") || is_there(path) {
            return path.to_owned();
        }
        let name = path.as_os_str().as_encoded_bytes();
        let known = self.endings.iter().map(|(ending, _)| *ending).chain(suffix);
        if known.into_iter().any(|ending| self.without_ending(name, ending).is_some()) {
            return path.to_owned();
        }
        let longer = |ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let endings =
            self.tried_endings.iter().map(|ending| if ending.is_empty() { suffix.unwrap_or("") } else { ending });
        let tried: Vec<PathBuf> = endings.filter(|ending| !ending.is_empty()).map(longer).collect();
        // COMPAT: where none is there, gzip tells of the name that it tried first.
        let found = tried.iter().find(|path| is_there(path)).or(tried.first());
        found.map_or(path.to_owned(), PathBuf::clone)
    }

    /// A name without an ending, if it has that.
    pub fn without_ending<'a>(&self, name: &'a [u8], ending: &str) -> Option<&'a [u8]> {
        let (shorter, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
        let is_it = if self.endings_in_any_case {
            end.eq_ignore_ascii_case(ending.as_bytes())
        } else {
            end == ending.as_bytes()
        };
        is_it.then_some(shorter)
    }

    /// Why a file of a kind that others do not have to think of is not worked on.
    pub fn refused(&self, path: &Path) -> Option<LeftAlone> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::symlink_metadata(path).ok()?;
        if self.refuses.symbolic && metadata.is_symlink() {
            return Some(LeftAlone::SymbolicLink);
        }
        let special = SpecialMode::of(metadata.mode());
        if let (true, true, Some(special)) = (self.refuses.special_modes, metadata.is_file(), special) {
            return Some(LeftAlone::SpecialMode(special));
        }
        let names = metadata.nlink();
        (self.refuses.hard && metadata.is_file() && names > 1).then_some(LeftAlone::OtherNames(names - 1))
    }

    /// Where an output goes whose place would be `path`; the directory as an error where it cannot go there.
    pub fn place(&self, path: PathBuf) -> Result<PathBuf, PathBuf> {
        match &self.directory {
            None => Ok(path),
            Some(OutputDirectory::Flat(directory)) => {
                Ok(path.file_name().map_or(path.clone(), |name| directory.join(name)))
            }
            // COMPAT: what leads upwards has no place in a mirror.
            Some(OutputDirectory::Mirror(directory)) if path.components().any(|part| part == Component::ParentDir) => {
                Err(directory.clone())
            }
            Some(OutputDirectory::Mirror(directory)) => {
                let inside = path.components().filter(|part| matches!(part, Component::Normal(_)));
                Ok(directory.join(inside.collect::<PathBuf>()))
            }
        }
    }

    /// Whether outputs stand in directories of their own that are named as the inputs' are.
    pub fn mirrors_directories(&self) -> bool {
        matches!(self.directory, Some(OutputDirectory::Mirror(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_worse_than_a_warning() {
        let codes = Codes::with_warning(2);
        codes.note(2);
        assert_eq!(codes.worst(), 2);
        codes.note(1);
        codes.note(2);
        assert_eq!(codes.worst(), 1, "gzip's 1 is the error");
        let codes = Codes::default();
        codes.note(1);
        codes.note(2);
        codes.note(0);
        assert_eq!(codes.worst(), 2);
    }

    #[test]
    fn outputs_stay_below_their_directory() {
        let manners = |directory| Manners { directory: Some(directory), ..Manners::default() };
        let place = |manners: Manners, path: &str| manners.place(PathBuf::from(path));
        let (there, refused) = (|path: &str| Ok(PathBuf::from(path)), Err(PathBuf::from("out")));
        assert_eq!(place(manners(OutputDirectory::Flat("out".into())), "a/b.zst"), there("out/b.zst"));
        assert_eq!(place(manners(OutputDirectory::Mirror("out".into())), "/a/./b.zst"), there("out/a/b.zst"));
        assert_eq!(place(manners(OutputDirectory::Mirror("out".into())), "x..y/b.zst"), there("out/x..y/b.zst"));
        assert_eq!(place(manners(OutputDirectory::Mirror("out".into())), "../../b.zst"), refused);
        assert_eq!(place(manners(OutputDirectory::Mirror("out".into())), "a/../b.zst"), refused);
        assert_eq!(place(Manners::default(), "a/../b.zst"), there("a/../b.zst"));
    }
}
