//! The job behind all shards of a divided copy: gives large files their names, makes other names of files, gives directories their metadata,
//! the deepest first, and counts whether all that was planned is there. It may be done again.

use super::super::copy_all;
use super::super::words::{Told, not_kept};
use super::Work;
use super::records::{
    CopyFinished, DIRECTORIES, FINISHED, LARGE, LINKS, LargeFile, OtherName, PlannedDirectory, RecordLines, ShardEntry,
    part, put_one, shard_name,
};
use crate::trees::{cause, shown};
use files::{Directory, FileReference, Follow};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use transfer::copy::{
    AttributeBuffers, Complaint, FollowLinks, Job, JobTargets, Listener, MadeDirectory, Make, Manner, finish_made,
};
use transfer::finding::Finding;

/// Finishes the copy that was planned in `root`.
pub fn finish(context: &Context, root: &Path) -> Result<Outcome, Failure> {
    let work = Work::open(context, root)?;
    let mut finish = Finish { context, work: &work, finished: CopyFinished::default(), incomplete: HashSet::new() };
    finish.count()?;
    finish.name_large_files()?;
    finish.make_other_names()?;
    finish.finish_directories()?;
    let finished = finish.finished;
    put_one(&work.place, FINISHED, &finished)?;
    work.words.finish()?;
    Ok(if finished.missing + finished.failed == 0 { Outcome::Done } else { Outcome::Partial })
}

struct Finish<'a> {
    context: &'a Context,
    work: &'a Work,
    finished: CopyFinished,
    /// Targets of large files that have not all their ranges.
    incomplete: HashSet<Vec<u8>>,
}

impl Finish<'_> {
    /// The plan against the results. Shards that nobody has copied are reported here; failures in others were reported there.
    fn count(&mut self) -> Result<(), Failure> {
        for number in 0..self.work.plan.shards {
            let name = shard_name(number);
            let mut entries = RecordLines::open(&self.work.place.path(format!("shard/{name}")))?;
            let part = part(&self.work.place, &name)?;
            let mut lines = part.iter().flat_map(|(_, lines)| lines);
            while let Some(entry) = entries.next::<ShardEntry>()? {
                let line = lines.next();
                if line.is_some_and(|line| line.is_done) {
                    continue;
                }
                let is_another_range = entry.range.is_some() && !self.incomplete.insert(entry.target.0.clone());
                if !is_another_range {
                    self.finished.missing += 1;
                }
                if part.is_none() && !is_another_range {
                    self.work.words.say(&format!("not copied: {}", shown(&entry.source.0)));
                }
            }
        }
        Ok(())
    }

    fn complain(&mut self, path: &[u8], complaint: Complaint) {
        self.finished.failed += 1;
        let told = Told { words: &self.work.words, pretends: false, digests: &[] };
        told.complain(vec![Finding { operand: 0, path: path.to_vec(), complaint }]);
    }

    /// Large files that have all their ranges get their names, and their metadata.
    fn name_large_files(&mut self) -> Result<(), Failure> {
        let large: Vec<LargeFile> = RecordLines::open(&self.work.place.path(LARGE))?.rest()?;
        let mut named = [Vec::new(), Vec::new()];
        for file in large {
            if self.incomplete.contains(&file.target.0) {
                continue;
            }
            match rename(&file) {
                Ok(()) => named[usize::from(file.follows)].push(file),
                Err(error) => {
                    let target = file.target.0.clone();
                    self.complain(&file.source.0, Complaint::Write(target, error));
                }
            }
        }
        for (files, follow) in named.iter().zip([FollowLinks::Never, FollowLinks::Always]) {
            let job = |file: &LargeFile| Job { source: file.source.0.clone(), target: file.target.0.clone() };
            let jobs: Vec<Job> = files.iter().map(job).collect();
            self.copy(&jobs, &Manner { follow, make: Make::Attributes, tells_all: false, ..self.manner() })?;
            for file in files {
                if let Err(error) = self.set_mode(file) {
                    let target = file.target.0.clone();
                    self.complain(&file.source.0, Complaint::Keep(transfer::copy::What::Mode, target, error));
                }
            }
        }
        Ok(())
    }

    /// The mode of a large file, where that is not kept: without the rights that its owner had to have.
    fn set_mode(&self, file: &LargeFile) -> io::Result<()> {
        let keep = &self.work.manner.keep;
        if keep.mode {
            return Ok(());
        }
        let path = CString::new(file.target.0.clone())?;
        let now = Directory::here().status(&path, Follow::No)?.mode() & 0o7777;
        let mode = match keep.owner {
            true => file.mode & 0o777 & !self.work.plan.umask,
            false => now & !(0o600 & !file.mode),
        };
        if mode == now { Ok(()) } else { FileReference::Named(Directory::here(), &path).set_mode(mode) }
    }

    fn manner(&self) -> Manner {
        Manner { backup: None, verify: None, skip_same: None, targets: JobTargets::Found, ..self.work.manner }
    }

    fn copy(&mut self, jobs: &[Job], manner: &Manner) -> Result<(), Failure> {
        if jobs.is_empty() {
            return Ok(());
        }
        let what = "cp: the finish of a divided copy".to_owned();
        let told = Told { words: &self.work.words, pretends: manner.pretends, digests: &[] };
        let copied = copy_all(self.context, &self.work.args.shared, &told, manner, jobs, what, "copying")?;
        self.finished.failed += copied.is_complete.iter().filter(|is_complete| !**is_complete).count() as u64;
        Ok(())
    }

    /// Copies get the other names that their sources have.
    fn make_other_names(&mut self) -> Result<(), Failure> {
        let mut names = RecordLines::open(&self.work.place.path(LINKS))?;
        let mut jobs = Vec::new();
        while let Some(OtherName { first, source, target }) = names.next()? {
            match is_one_file(&first.0, &target.0) {
                Ok(true) => {}
                Ok(false) => jobs.push(Job { source: first.0, target: target.0 }),
                Err(error) => self.complain(&source.0, Complaint::Link(target.0, first.0, error)),
            }
        }
        let manner = self.manner();
        let keep = transfer::copy::Keep { links: false, ..manner.keep };
        let manner = Manner { make: Make::HardLinks, follow: FollowLinks::Never, keep, remove_first: true, ..manner };
        self.copy(&jobs, &manner)
    }

    fn finish_directories(&mut self) -> Result<(), Failure> {
        let mut directories: Vec<PlannedDirectory> = RecordLines::open(&self.work.place.path(DIRECTORIES))?.rest()?;
        // The deepest first: a directory's time changes with what is put into it.
        directories.sort_by_key(|directory| {
            std::cmp::Reverse(directory.target.0.iter().filter(|byte| **byte == b'/').count())
        });
        let mut buffers = AttributeBuffers::default();
        for PlannedDirectory { source, target, is_new, made_mode, inherits } in directories {
            let made = MadeDirectory { source: source.0, target: target.0, is_new, made_mode, inherits };
            match finish_made(&made, &self.work.manner.keep, self.work.plan.umask, &mut buffers) {
                Ok(refused) => {
                    self.finished.failed += refused.len() as u64;
                    let source = shown(&made.source);
                    let text = |refused: &transfer::copy::NotKept| {
                        not_kept(refused.what, &source, &made.target, &refused.cause)
                    };
                    refused.iter().for_each(|refused| self.work.words.say(&text(refused)));
                }
                Err(error) => {
                    let text = format!("failed to preserve attributes for {}: {}", shown(&made.target), cause(&error));
                    self.work.words.say(&text);
                    self.finished.failed += 1;
                }
            }
        }
        Ok(())
    }
}

/// Gives a file its name, unless that was done before.
fn rename(file: &LargeFile) -> io::Result<()> {
    let [hidden, target] = [&file.hidden.0, &file.target.0].map(|path| Path::new(OsStr::from_bytes(path)));
    match std::fs::rename(hidden, target) {
        Err(error) if error.kind() == ErrorKind::NotFound && target.symlink_metadata().is_ok() => Ok(()),
        renamed => renamed,
    }
}

fn is_one_file(first: &[u8], other: &[u8]) -> io::Result<bool> {
    let status = |path| Directory::here().status(path, Follow::No);
    let first = status(first)?;
    Ok(status(other).is_ok_and(|other| other.identity() == first.identity()))
}
