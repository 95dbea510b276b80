//! One argument of `mh mv`: whether it may have its new name, what becomes of what has that name, and the rename itself. Errors are sentences of
//! GNU's.

use super::MvArgs;
use crate::trees::{Words, cause, shown};
use files::{Directory, FileType, Follow, Replace, Status, how};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use transfer::copy::{Backup, BackupNames, Job, back_up};
use transfer::operand::{Operand, last_part, trimmed};

/// What became of an argument.
#[derive(Debug)]
pub enum Moved {
    Renamed,
    /// It stays, as was wished.
    Left,
    /// It lies on another file system. What had the target's name has become a backup.
    ToBeCopied(Option<Kept>),
}

/// A backup that was made of what had a target's name.
#[derive(Debug)]
pub struct Kept {
    target: Operand,
    name: CString,
}

impl Kept {
    /// Its path, as a person would type it who typed `target`.
    fn shown_beside(&self, target: &[u8]) -> String {
        let target = trimmed(target);
        let directory = &target[..target.len() - last_part(target).len()];
        shown(&[directory, self.name.as_bytes()].concat())
    }

    /// Gives it its old name back, if that is free.
    pub fn put_back(&self) {
        let directory = self.target.parent.directory();
        // What made the move fail was told; the backup, under its own name, is what is kept then.
        let _stays_a_backup = directory.rename(&self.name, directory, &self.target.name, Replace::Never);
    }
}

/// Renames arguments, one after the other.
pub struct Renaming<'a> {
    words: &'a Words,
    args: &'a MvArgs,
    backup: Option<Backup>,
    /// Names that were made.
    made: HashSet<Vec<u8>>,
}

/// An argument, looked at.
struct Found {
    source: Operand,
    status: Status,
    target: Operand,
    from: String,
    to: String,
}

impl<'a> Renaming<'a> {
    pub fn new(words: &'a Words, args: &'a MvArgs, backup: Option<Backup>) -> Self {
        Self { words, args, backup, made: HashSet::new() }
    }

    /// Renames one argument if it can be renamed.
    pub fn move_one(&mut self, job: &Job) -> Result<Moved, String> {
        let found = Found::look(job)?;
        let Found { source, target, from, to, .. } = &found;
        let there = target.parent.directory().status(&target.name, Follow::No).ok();
        if let Some(there) = &there {
            if target.has_slash && there.file_type() != FileType::Directory {
                return Err(format!("cannot stat {to}: {}", cause(&Errno::NOTDIR.into())));
            }
            if !self.may_replace(job, &found, there)? {
                return Ok(Moved::Left);
            }
        }
        if [c".", c".."].contains(&source.name.as_c_str()) {
            // COMPAT: the kernel refuses it in these words within one file system.
            return Err(format!("cannot move {from} to {to}: {}", cause(&Errno::BUSY.into())));
        }
        if self.args.dry_run {
            return self.pretend(job, &found);
        }
        let kept = if there.is_some() { self.back_up(&found)? } else { None };
        let shown_kept = kept.as_ref().map(|kept| kept.shown_beside(&job.target));
        let moved = self.rename(&found, kept)?;
        if matches!(moved, Moved::Left) {
            return Ok(moved);
        }
        self.made.insert(job.target.clone());
        if self.args.verbose && matches!(moved, Moved::Renamed) {
            let backup = shown_kept.map(|kept| format!(" (backup: {kept})")).unwrap_or_default();
            self.words.shows(&format!("renamed {from} -> {to}{backup}"));
        }
        Ok(moved)
    }

    /// Whether something that has the new name may be replaced.
    fn may_replace(&self, job: &Job, found: &Found, there: &Status) -> Result<bool, String> {
        let Found { status, from, to, .. } = found;
        if self.args.no_clobber {
            return Ok(false);
        }
        let is_lost = status.file_type() == FileType::SymbolicLink
            && there.file_type() != FileType::SymbolicLink
            && self.backup.is_none()
            && leads_there(job, there).unwrap_or(false);
        // COMPAT: a backup of one name of a file leaves the other to be moved.
        let is_same = there.identity() == status.identity() && (self.backup.is_none() || found.is_under_its_name());
        if is_same || is_lost {
            return Err(format!("{from} and {to} are the same file"));
        }
        let (kind, kind_there) = (status.file_type(), there.file_type());
        if self.args.update && kind != FileType::Directory && there.changed_at() >= status.changed_at() {
            return Ok(false);
        }
        if self.args.interactive && !self.words.asks(&format!("overwrite {to}")) {
            return Ok(false);
        }
        match (kind == FileType::Directory, kind_there == FileType::Directory) {
            (true, false) if self.backup.is_none() => {
                return Err(format!("cannot overwrite non-directory {to} with directory {from}"));
            }
            (false, true) if self.backup.is_none() => {
                return Err(format!("cannot overwrite directory {to} with non-directory"));
            }
            _ => {}
        }
        // COMPAT: one argument is not lost under another of the same name; a numbered backup of it is none lost.
        let is_kept = self.backup.as_ref().is_some_and(|backup| backup.names == BackupNames::Numbered);
        if kind_there != FileType::Directory && !is_kept && self.made.contains(&job.target) {
            return Err(just_created(found));
        }
        Ok(true)
    }

    /// Says what would become of it.
    fn pretend(&mut self, job: &Job, found: &Found) -> Result<Moved, String> {
        let Found { status, target, from, to, .. } = found;
        if !self.made.insert(job.target.clone()) {
            return Err(just_created(found));
        }
        if status.file_type() == FileType::Directory {
            refuse_into_itself(found)?;
        }
        // Mounts of one file system in two places are told as renames.
        let goal = target
            .parent
            .directory()
            .status(c".", Follow::No)
            .map_err(|error| format!("cannot stat {to}: {}", cause(&error)))?;
        let is_elsewhere = goal.identity().device != status.identity().device;
        let what = if is_elsewhere { "copy and remove" } else { "rename" };
        self.words.shows(&format!("would {what} {from} -> {to}"));
        Ok(if is_elsewhere { Moved::ToBeCopied(None) } else { Moved::Renamed })
    }

    /// Renames what has the target's name, if backups are wanted.
    fn back_up(&self, found: &Found) -> Result<Option<Kept>, String> {
        let Found { status, target, from, to, .. } = found;
        let Some(backup) = &self.backup else { return Ok(None) };
        if backup.is_in_place_of(target.parent.directory(), &target.name, status) {
            return Err(format!("backing up {to} might destroy source;  {from} not moved"));
        }
        let name = back_up(target.parent.directory(), &target.name, backup)
            .map_err(|error| format!("cannot backup {to}: {}", cause(&error)))?;
        Ok(Some(Kept { target: target.clone(), name }))
    }

    /// Renames; puts a backup back where that is not done.
    fn rename(&self, found: &Found, kept: Option<Kept>) -> Result<Moved, String> {
        let moved = self.rename_or_say(found);
        match (moved, kept) {
            (Ok(Moved::ToBeCopied(_)), kept) => Ok(Moved::ToBeCopied(kept)),
            (moved @ (Err(_) | Ok(Moved::Left)), Some(kept)) => {
                kept.put_back();
                moved
            }
            (moved, _) => moved,
        }
    }

    fn rename_or_say(&self, found: &Found) -> Result<Moved, String> {
        let Found { source, status, target, from, to } = found;
        let no_clobber = self.args.no_clobber;
        let replace = if no_clobber { Replace::Never } else { Replace::Yes };
        let (here, goal) = (source.parent.directory(), target.parent.directory());
        let mut renamed = here.rename(&source.name, goal, &target.name, replace);
        // LIE: NFS and some of FUSE cannot promise to replace nothing, and say that the call is wrong.
        if no_clobber
            && renamed.as_ref().is_err_and(|error| {
                [Errno::INVAL, Errno::NOSYS].iter().any(|no| error.raw_os_error() == Some(no.raw_os_error()))
            })
        {
            if goal.status(&target.name, Follow::No).is_ok() {
                return Ok(Moved::Left);
            }
            renamed = here.rename(&source.name, goal, &target.name, Replace::Yes);
        }
        let Err(error) = renamed else { return Ok(Moved::Renamed) };
        match Errno::from_raw_os_error(error.raw_os_error().unwrap_or_default()) {
            Errno::XDEV => make_room(found).map(|()| Moved::ToBeCopied(None)),
            Errno::EXIST if no_clobber => Ok(Moved::Left),
            Errno::INVAL if status.file_type() == FileType::Directory => Err(into_itself(found)),
            _ => Err(format!("cannot move {from} to {to}: {}", cause(&error))),
        }
    }
}

impl Found {
    fn look(job: &Job) -> Result<Self, String> {
        let (from, to) = (shown(&job.source), shown(&job.target));
        let not_found = |error: io::Error| format!("cannot stat {from}: {}", cause(&error));
        let source = Operand::open(&job.source).map_err(not_found)?;
        let status = source.parent.directory().status(&source.name, Follow::No).map_err(not_found)?;
        if source.has_slash && status.file_type() != FileType::Directory {
            return Err(not_found(Errno::NOTDIR.into()));
        }
        let target =
            Operand::open(&job.target).map_err(|error| format!("cannot move {from} to {to}: {}", cause(&error)))?;
        if target.has_slash && status.file_type() != FileType::Directory {
            return Err(format!("cannot move {from} to {to}: {}", cause(&Errno::NOTDIR.into())));
        }
        Ok(Self { source, status, target, from, to })
    }

    /// Whether source and target are one name in one directory.
    fn is_under_its_name(&self) -> bool {
        let directory = |operand: &Operand| operand.parent.directory().status(c".", Follow::No).ok();
        let directories = [&self.source, &self.target].map(|operand| directory(operand).map(|found| found.identity()));
        self.source.name == self.target.name && directories[0] == directories[1]
    }
}

fn just_created(Found { from, to, .. }: &Found) -> String {
    format!("will not overwrite just-created {to} with {from}")
}

fn into_itself(Found { from, to, .. }: &Found) -> String {
    format!("cannot move {from} to a subdirectory of itself, {to}")
}

/// COMPAT: a link is not put in the place of what it leads to: nothing would lead there any more. It is where that file has another name, by which the
/// link finds it.
fn leads_there(job: &Job, there: &Status) -> io::Result<bool> {
    let source = Operand::open(&job.source)?;
    let meant = source.parent.directory().status(&source.name, Follow::Yes)?;
    if meant.identity() != there.identity() {
        return Ok(false);
    }
    if there.links() < 2 {
        return Ok(true);
    }
    let found = std::fs::canonicalize(OsStr::from_bytes(&job.source))?.into_os_string().into_vec();
    let (found, target) = (Operand::open(&found)?, Operand::open(&job.target)?);
    let directory = |operand: &Operand| operand.parent.directory().status(c".", Follow::No);
    Ok(found.name == target.name && directory(&found)?.identity() == directory(&target)?.identity())
}

/// What a real run would refuse: a directory into itself. The error is its sentence.
fn refuse_into_itself(found: &Found) -> Result<(), String> {
    let mut at = found.target.parent.directory().open(c".", how::PLACE, 0).ok();
    let mut last = None;
    while let Some(directory) = at
        && let Ok(reached) = Status::of(&directory)
        && last != Some(reached.identity())
    {
        if reached.identity() == found.status.identity() {
            return Err(into_itself(found));
        }
        last = Some(reached.identity());
        at = Directory::of(&directory).open(c"..", how::PLACE, 0).ok();
    }
    Ok(())
}

/// COMPAT: a directory takes the place of an empty one alone, between file systems as within one: two are not merged. (Files go when their
/// copy is made.)
fn make_room(Found { status, target, from, to, .. }: &Found) -> Result<(), String> {
    if status.file_type() != FileType::Directory {
        return Ok(());
    }
    match target.parent.directory().remove_directory(&target.name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("inter-device move failed: {from} to {to}; unable to remove target: {}", cause(&error)))
        }
        _ => Ok(()),
    }
}
