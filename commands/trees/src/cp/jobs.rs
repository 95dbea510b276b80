//! From what was typed to what is copied where: whether the last argument is a directory, and what each copy is called.
//! For `mh cp` and `mh mv`.

use crate::trees::{self, Words, shown};
use files::{Directory, FileType, Follow, Status};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use transfer::copy::Job;
use transfer::finding::joined;
use transfer::operand::{directory_of, last_part, trimmed};

/// What was typed.
pub struct Names {
    /// All arguments.
    pub files: Vec<Vec<u8>>,
    /// What `-t` named, each time that it was there.
    pub directories: Vec<Vec<u8>>,
    /// What the last argument is.
    pub target: TargetIs,
    /// What copies in a directory are called.
    pub layout: Layout,
    /// What becomes of a name that comes twice.
    pub repeats: Repeats,
}

/// What the last argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetIs {
    /// A directory to copy into, if it is one.
    AsFound,
    /// The copy's own name (`-T`).
    OwnName,
}

/// What copies in a directory are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As the last part of their source.
    LastParts,
    /// As their whole source (`--parents`).
    WholePaths,
}

/// What becomes of a source, or a target, that comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// It is told and left out.
    Refused,
    /// It is a job like others.
    Allowed,
}

/// What is to be copied.
pub struct Found {
    /// Jobs, in the order in which they were typed.
    pub jobs: Vec<Job>,
    /// Arguments that were refused; each has been told.
    pub refused: usize,
}

/// Finds the jobs.
pub fn find(context: &Context, words: &Words, names: &Names) -> Result<Found, Failure> {
    let mut files = names.files.clone();
    let directory = match names.directories.as_slice() {
        [_, _, ..] => return Err(refuse(words, "multiple target directories specified")),
        [directory] => {
            is_directory(directory).map_err(|error| {
                refuse(words, &format!("target directory {}: {}", shown(directory), trees::cause(&error)))
            })?;
            Some(directory.clone())
        }
        [] => last_as_directory(context, words, names, &mut files)?,
    };
    if files.is_empty() {
        return Err(trees::usage(context, "missing file operand"));
    }
    let Some(directory) = directory else {
        let target = files.pop().expect("two arguments are there");
        let source = files.pop().expect("two arguments are there");
        return Ok(Found { jobs: vec![Job { source, target }], refused: 0 });
    };
    let (mut jobs, mut refused, mut taken) = (Vec::new(), 0, HashMap::<Vec<u8>, Vec<u8>>::new());
    for source in files {
        let name = match names.layout {
            Layout::LastParts => last_part(&source).to_vec(),
            Layout::WholePaths => trimmed(&source).iter().copied().skip_while(|&byte| byte == b'/').collect(),
        };
        // COMPAT: what has no name of its own is copied onto the directory itself.
        let target =
            if name == b"." || name == b".." || name == b"/" { directory.clone() } else { joined(&directory, &name) };
        if names.repeats == Repeats::Refused && target != directory {
            match taken.get(&target) {
                Some(first) if is_there(first) => {
                    // What is not there is told when it is to be copied.
                    if is_there(&source) {
                        refused += tell_twice(words, first, &source, &target);
                        continue;
                    }
                }
                _ => _ = taken.insert(target.clone(), source.clone()),
            }
        }
        jobs.push(Job { source, target });
    }
    Ok(Found { jobs, refused })
}

/// COMPAT: the same source twice is a warning; another one is not written over what was just made. Refusals.
fn tell_twice(words: &Words, first: &[u8], source: &[u8], target: &[u8]) -> usize {
    // Both have the same last part.
    let above = |path| status_of(directory_of(path), Follow::Yes).ok().map(|found| found.identity());
    if first == source || above(first) == above(source) {
        let kind = if is_directory(source).is_ok() { "directory" } else { "file" };
        words.say(&format!("warning: source {kind} {} specified more than once", shown(source)));
        return 0;
    }
    words.say(&format!("will not overwrite just-created {} with {}", shown(target), shown(source)));
    1
}

/// The last argument, taken away, if copies go into it.
fn last_as_directory(
    context: &Context,
    words: &Words,
    names: &Names,
    files: &mut Vec<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Failure> {
    match files.as_slice() {
        [] => return Err(trees::usage(context, "missing file operand")),
        [one] => {
            return Err(trees::usage(context, &format!("missing destination file operand after {}", shown(one))));
        }
        [_, _, extra, ..] if names.target == TargetIs::OwnName => {
            return Err(trees::usage(context, &format!("extra operand {}", shown(extra))));
        }
        _ => {}
    }
    if names.target == TargetIs::OwnName && names.layout == Layout::WholePaths {
        return Err(no_directory_for_parents(context));
    }
    if names.target == TargetIs::OwnName {
        return Ok(None);
    }
    let last = files.last().expect("there are two").clone();
    match is_directory(&last) {
        Ok(()) => {
            files.pop();
            Ok(Some(last))
        }
        Err(error) if files.len() > 2 => {
            Err(refuse(words, &format!("target {}: {}", shown(&last), trees::cause(&error))))
        }
        Err(_) if names.layout == Layout::WholePaths => Err(no_directory_for_parents(context)),
        Err(_) => Ok(None),
    }
}

fn no_directory_for_parents(context: &Context) -> Failure {
    trees::usage(context, "with --parents, the destination must be a directory")
}

fn refuse(words: &Words, text: &str) -> Failure {
    Failure::InWordsOfOthers { text: format!("{}: {text}", words.program), code: 1 }
}

fn is_there(path: &[u8]) -> bool {
    status_of(path, Follow::No).is_ok()
}

fn status_of(path: &[u8], follow: Follow) -> io::Result<Status> {
    Directory::here().status(&CString::new(path).map_err(io::Error::from)?, follow)
}

fn is_directory(path: &[u8]) -> io::Result<()> {
    match status_of(path, Follow::Yes)?.file_type() {
        FileType::Directory => Ok(()),
        _ => Err(io::Error::from(rustix::io::Errno::NOTDIR)),
    }
}
