//! Which files, and what their outputs are called.
//! Opens nothing: an unreadable file is the lane's own failure, told when its turn comes.

use super::manners::Manners;
use codec::format::FormatFacts;
use codec::registry::uncompressed_name;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why a file gets no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// Compressing: it ends like a compressed file already.
    CompressedAlready {
        /// The ending.
        ending: String,
    },
    /// Decompressing: its name does not tell what the uncompressed file is called.
    UnknownEnding,
    /// A symbolic link, where the tool's ways are not to follow it.
    SymbolicLink,
    /// So many other names mean the same file, where the tool's ways are to leave such files alone.
    OtherNames(u64),
    /// It has a mode that packing would lose, where the tool's ways are to leave such files alone.
    SpecialMode(SpecialMode),
    /// A directory, without `-r`.
    Directory,
    /// A FIFO, socket or device, whose output would get a name of its own beside it.
    NotAFile,
    /// Another file's output has the name that its own would get.
    SameOutput {
        /// The other file.
        other: PathBuf,
    },
    /// Its path leads upwards, and outputs go into a directory as their sources lie.
    AboveMirror {
        /// The directory.
        directory: PathBuf,
        /// What was to be done with the file.
        verb: &'static str,
    },
    /// A directory that could not be read.
    Unreadable(String),
}

/// A bit of a file's mode that is no right to read, write or execute (inode(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialMode {
    /// Runs with its owner's rights.
    SetUserId,
    /// Runs with its group's rights.
    SetGroupId,
    /// Sticky.
    Sticky,
}

impl SpecialMode {
    /// The first of those that `mode` has.
    pub fn of(mode: u32) -> Option<Self> {
        let bits = [(0o4000, Self::SetUserId), (0o2000, Self::SetGroupId), (0o1000, Self::Sticky)];
        bits.into_iter().find(|(bit, _)| mode & bit != 0).map(|(_, special)| special)
    }
}

/// A file to work on, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Found inside a directory rather than named.
    pub by_walking: bool,
}

/// Symbolic links, FIFOs, sockets and devices in directories, none of which is worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OthersInside {
    /// Silently.
    #[default]
    PassedOver,
    /// As if they had been named.
    LeftAlone,
}

/// All files under `paths`, directories gone through in name order when `recursive`.
pub fn expand(
    paths: &[PathBuf],
    recursive: bool,
    others: OthersInside,
    left_alone: &mut Vec<(PathBuf, LeftAlone)>,
) -> Vec<Found> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(Found { path: path.clone(), by_walking: false });
        } else if recursive {
            walk(path, others, &mut found, left_alone);
        } else {
            left_alone.push((path.clone(), LeftAlone::Directory));
        }
    }
    found
}

fn walk(directory: &Path, others: OthersInside, found: &mut Vec<Found>, left_alone: &mut Vec<(PathBuf, LeftAlone)>) {
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let read = std::fs::read_dir(&directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match read {
            Ok(entries) => entries,
            Err(error) => {
                left_alone.push((directory, LeftAlone::Unreadable(error.to_string())));
                continue;
            }
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in &entries {
            let name = entry.file_name();
            let is_ours = name.as_bytes().starts_with(b".mh-") && name.as_bytes().ends_with(b".tmp");
            let Ok(kind) = entry.file_type() else { continue };
            match others {
                _ if is_ours || kind.is_dir() => {}
                _ if kind.is_file() => found.push(Found { path: entry.path(), by_walking: true }),
                OthersInside::LeftAlone if kind.is_symlink() => {
                    left_alone.push((entry.path(), LeftAlone::SymbolicLink));
                }
                OthersInside::LeftAlone => left_alone.push((entry.path(), LeftAlone::NotAFile)),
                OthersInside::PassedOver => {}
            }
        }
        // The stack is popped from its end: directories come out in name order.
        let directories = entries.iter().rev().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(directories.map(std::fs::DirEntry::path));
    }
}

/// Whether a name means a FIFO or device: written through, not replaced.
pub fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// The name of the compressed file: the uncompressed one's with an ending more.
pub fn compressed(path: &Path, facts: &FormatFacts, suffix: Option<&str>) -> PathBuf {
    let mut longer = path.file_name().unwrap_or_default().to_owned();
    longer.push(suffix.unwrap_or(facts.suffixes[0].0));
    path.with_file_name(longer)
}

/// The ending that tells a file to be compressed already, as it stands in its name.
pub fn compressed_ending(path: &Path, facts: &FormatFacts, suffix: Option<&str>, manners: &Manners) -> Option<String> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let ends = |ending: &&str| manners.without_ending(name, ending).is_some();
    let found = match (suffix, manners.compressed_endings) {
        (Some(suffix), _) => Some(suffix).filter(ends),
        (None, Some(endings)) => endings.iter().copied().find(ends),
        (None, None) => facts.suffixes.iter().map(|(ending, _)| *ending).find(ends),
    }?;
    Some(String::from_utf8_lossy(&name[name.len() - found.len()..]).into_owned())
}

/// The name of the uncompressed file: the compressed one's without its ending.
pub fn uncompressed(path: &Path, suffix: Option<&str>, manners: &Manners) -> Result<PathBuf, LeftAlone> {
    let name = path.file_name().unwrap_or_default();
    let by_suffix = suffix
        .and_then(|suffix| manners.without_ending(name.as_bytes(), suffix))
        .filter(|shorter| !shorter.is_empty())
        .map(|shorter| OsStr::from_bytes(shorter).to_owned());
    let by_own_ending = || {
        let cut = |(ending, other): &(&str, &str)| {
            let shorter = manners.without_ending(name.as_bytes(), ending);
            let mut shorter = shorter.filter(|name| !name.is_empty())?.to_vec();
            shorter.extend_from_slice(other.as_bytes());
            Some(OsStr::from_bytes(&shorter).to_owned())
        };
        manners.endings.iter().find_map(cut)
    };
    // A name that is not UTF-8 still ends in plain ASCII: the part before is put back byte for byte.
    let by_ending = || {
        let text = name.to_string_lossy();
        let shorter = uncompressed_name(&text)?;
        if let Some(name) = name.to_str() {
            return uncompressed_name(name).map(OsString::from);
        }
        let cut = text.len() - shorter.len();
        let kept = name.as_bytes().len().checked_sub(cut)?;
        text.starts_with(&shorter).then(|| OsStr::from_bytes(&name.as_bytes()[..kept]).to_owned())
    };
    let guessed = || {
        let mut longer = name.to_owned();
        longer.push(manners.guessed_ending?);
        Some(longer)
    };
    let known = match (manners.endings.is_empty(), suffix) {
        (true, _) => by_suffix.or_else(by_ending),
        // COMPAT: many known endings end in it.
        (false, Some("z")) => by_own_ending().or(by_suffix),
        (false, _) => by_suffix.or_else(by_own_ending),
    };
    known.or_else(guessed).map(|name| path.with_file_name(name)).ok_or(LeftAlone::UnknownEnding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codec::registry::by_name;

    fn facts(name: &str) -> &'static FormatFacts {
        by_name(name).expect("a format").facts()
    }

    #[test]
    fn endings_are_added_and_known_again() {
        assert_eq!(compressed(Path::new("dir/a"), facts("gz"), None), PathBuf::from("dir/a.gz"));
        assert_eq!(compressed(Path::new("dir/a"), facts("zst"), Some(".z")), PathBuf::from("dir/a.z"));
        let ending =
            |path, format, suffix| compressed_ending(Path::new(path), facts(format), suffix, &Manners::default());
        assert_eq!(ending("a.tgz", "gz", None).as_deref(), Some(".tgz"));
        assert_eq!(ending("a.gz", "zst", None), None);
        assert_eq!(ending("a.gz", "gz", Some(".z")), None);
        assert_eq!(ending("a.z", "gz", Some(".z")).as_deref(), Some(".z"));
    }

    #[test]
    fn endings_are_taken_away_byte_for_byte() {
        let ours = Manners::default();
        assert_eq!(uncompressed(Path::new("d/a.tgz"), None, &ours), Ok("d/a.tar".into()));
        assert_eq!(uncompressed(Path::new("a.x"), None, &ours), Err(LeftAlone::UnknownEnding));
        assert_eq!(uncompressed(Path::new("a.x"), Some(".x"), &ours), Ok("a".into()));
        let strange = Path::new(OsStr::from_bytes(b"\xff\xfe.gz"));
        assert_eq!(uncompressed(strange, None, &ours), Ok(PathBuf::from(OsStr::from_bytes(b"\xff\xfe"))));
    }
}
