//! `--parents`: the directories above a copy are made as those above its source are, and get their metadata when all is copied.

use super::words::not_kept;
use crate::trees::{Words, cause, shown};
use files::{Directory, FileReference, FileType, Follow, how};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use transfer::copy::{Attribute, AttributeBuffers, Carried, Job, Keep, Manner, NotKept, carry};

/// A directory above a copy, and the one that it is made after.
pub struct Above {
    source: CString,
    target: CString,
    /// It was not there before.
    is_new: bool,
}

/// Makes the directories above every target, and tells which of them get metadata; jobs for which that fails are left out, told and counted.
pub fn make(words: &Words, jobs: &mut Vec<Job>, manner: &Manner, refused: &mut usize) -> Vec<Above> {
    let mut above = Vec::new();
    jobs.retain(|job| match make_above(words, job, manner, &mut above) {
        Ok(()) => true,
        Err((path, error)) => {
            words.say(&format!("cannot make directory {}: {}", shown(&path), cause(&error)));
            *refused += 1;
            false
        }
    });
    above
}

fn make_above(words: &Words, job: &Job, manner: &Manner, above: &mut Vec<Above>) -> Result<(), (Vec<u8>, io::Error)> {
    let start = job.source.iter().position(|&byte| byte != b'/').unwrap_or(0);
    let relative = transfer::operand::trimmed(&job.source[start..]);
    let base = &job.target[..job.target.len() - relative.len()];
    // COMPAT: where one is missing all get what is kept, also those that are there; else none.
    let lowest = relative.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let lowest = CString::new([base, &relative[..lowest]].concat());
    let is_there = lowest.is_ok_and(|path| Directory::here().status(&path, Follow::Yes).is_ok());
    let keeps_some = manner.keep.owner || manner.keep.mode || manner.keep.times;
    for (slash, _) in relative.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let path = [base, &relative[..slash]].concat();
        let failed = |error: io::Error| (path.clone(), error);
        let target = CString::new(path.clone()).map_err(|error| failed(error.into()))?;
        let source = CString::new(&job.source[..start + slash]).map_err(|error| failed(error.into()))?;
        let status = Directory::here().status(&source, Follow::Yes).map_err(failed)?;
        let mode = if manner.keep.mode { 0o700 } else { manner.keep.mode_of(&status) & 0o1777 | 0o700 };
        if manner.pretends && above.iter().any(|made| made.target == target) {
            continue;
        }
        let made = match manner.pretends {
            true => would_be_made(&target),
            false => Directory::here().make_directory(&target, mode),
        };
        match made {
            Ok(()) => {
                if manner.tells_all {
                    let source = String::from_utf8_lossy(source.as_bytes()).into_owned();
                    let would = if manner.pretends { "would copy " } else { "" };
                    words.shows(&format!("{would}{source} -> {}", String::from_utf8_lossy(target.as_bytes())));
                }
                above.push(Above { source, target, is_new: true });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = Directory::here().status(&target, Follow::Yes).map_err(failed)?;
                if there.file_type() != FileType::Directory {
                    return Err(failed(rustix::io::Errno::NOTDIR.into()));
                }
                if keeps_some && !is_there {
                    above.push(Above { source, target, is_new: false });
                }
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// What making a directory would come to, while nothing is to be made.
fn would_be_made(path: &CString) -> io::Result<()> {
    match Directory::here().status(path, Follow::No) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Gives the directories their metadata, the deepest first. Failures.
pub fn finish(words: &Words, above: &[Above], manner: &Manner) -> usize {
    let mut failed = 0;
    for directory in above.iter().rev().filter(|_| !manner.pretends) {
        let path = directory.target.as_bytes();
        match finish_one(directory, manner) {
            Ok(refused) => {
                failed += refused.len();
                let source = shown(directory.source.as_bytes());
                refused.iter().for_each(|refused| words.say(&not_kept(refused.what, &source, path, &refused.cause)));
            }
            Err(error) => {
                words.say(&format!("failed to preserve attributes for {}: {}", shown(path), cause(&error)));
                failed += 1;
            }
        }
    }
    failed
}

/// What could not be kept of one.
fn finish_one(Above { source, target, is_new }: &Above, manner: &Manner) -> io::Result<Vec<NotKept>> {
    let status = Directory::here().status(source, Follow::Yes)?;
    let open = |path, flags| Directory::here().open(path, flags, 0);
    let followed = how::through_links(how::DIRECTORY);
    let (open_source, open_target) =
        (open(source, followed), open(target, if *is_new { how::DIRECTORY } else { followed }));
    let now = Directory::here().status(target, Follow::Yes)?.mode();
    let mode = if manner.keep.mode {
        Some(status.mode())
    } else if *is_new {
        // Without the rights of its owner that it had to have while it was filled.
        let lent = 0o700 & !manner.keep.mode_of(&status);
        (lent != 0).then_some(now & !lent)
    } else {
        None
    };
    let carried = Carried {
        from: open_or_named(&open_source, source),
        to: open_or_named(&open_target, target),
        status: &status,
        owner_now: None,
        mode_now: None,
        mode,
        // COMPAT: those above a copy keep what they inherited.
        has_lists: manner.keep.mode,
        special: now & 0o7000,
        is_link: false,
    };
    // COMPAT: access lists, and no other attributes.
    let keep = Keep { attributes: Attribute::Leave, ..manner.keep };
    Ok(carry(&carried, &keep, &mut AttributeBuffers::default()))
}

/// A directory that may be passed through but not be listed is meant by its path.
fn open_or_named<'a>(open: &'a io::Result<OwnedFd>, path: &'a CString) -> FileReference<'a> {
    open.as_ref().map_or(FileReference::Named(Directory::here(), path), |open| FileReference::Open(open.as_fd()))
}
