//! A job of a divided copy: copies the entries of one shard, whole files by the engine as any copy does, ranges into the file that was made for
//! them. Leaves a part behind, which says what was copied and what it holds; where there is one only what failed is tried again.

use super::super::words::Told;
use super::super::{NAME, bring_to_disk, copy_all};
use super::Work;
use super::plan::is_as_planned;
use super::records::{PartHead, PartLine, PlannedRange, RecordLines, ShardEntry, line, part};
use crate::trees::{cause, shown};
use files::{Directory, FileType, Status};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{environment, node_name};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use transfer::copy::{
    Complaint, FileRange, FollowLinks, Job, JobTargets, Listener, Make, MakeWhat, Manner, copy_range, digest_range,
};
use transfer::finding::Finding;

/// Copies the shard in the file `path`.
pub fn copy_shard(context: &Context, path: &Path) -> Result<Outcome, Failure> {
    let path = path.canonicalize().map_err(|error| environment(NAME, "find", path, &error))?;
    let (work, name) = Work::of_file(context, &path)?;
    let before = part(&work.place, &name)?;
    if before.as_ref().is_some_and(|(head, _)| head.failed == 0) {
        return Ok(Outcome::Done);
    }
    let entries: Vec<ShardEntry> = RecordLines::open(&path)?.rest()?;
    let mut lines: Vec<Option<PartLine>> = vec![None; entries.len()];
    if let Some((_, old)) = before {
        old.into_iter().zip(&mut lines).filter(|(old, _)| old.is_done).for_each(|(old, line)| *line = Some(old));
    }
    let copied = Shard { context, work: &work, entries: &entries }.copy(lines)?;
    let failed = copied.iter().filter(|line| !line.is_done).count() as u64;
    let head = PartHead { shard: name.clone(), node: node_name(), failed };
    let mut bytes = line(&head);
    for record in &copied {
        bytes.push(b'\n');
        bytes.extend(line(record));
    }
    bytes.push(b'\n');
    let part = format!("part/{name}");
    work.place.put(&part, &bytes).map_err(|error| environment(NAME, "write", &work.place.path(&part), &error))?;
    work.words.finish()?;
    Ok(if failed == 0 { Outcome::Done } else { Outcome::Partial })
}

/// A shard under way.
struct Shard<'a> {
    context: &'a Context,
    work: &'a Work,
    entries: &'a [ShardEntry],
}

impl Shard<'_> {
    /// Copies all that has no line yet.
    fn copy(&self, mut lines: Vec<Option<PartLine>>) -> Result<Vec<PartLine>, Failure> {
        let open: Vec<usize> = (0..lines.len()).filter(|index| lines[*index].is_none()).collect();
        for (follows, is_typed) in [(false, false), (false, true), (true, false), (true, true)] {
            let is_meant = |index: &usize| {
                let entry = &self.entries[*index];
                entry.range.is_none() && (entry.follows, entry.is_typed) == (follows, is_typed)
            };
            let indices: Vec<usize> = open.iter().copied().filter(is_meant).collect();
            let follow = if follows { FollowLinks::Always } else { FollowLinks::Never };
            let targets = if is_typed { JobTargets::Typed } else { JobTargets::Found };
            let manner = Manner { follow, targets, backup: None, ..self.work.manner };
            let copied = self.copy_whole(indices.iter().map(|index| &self.entries[*index]).collect(), &manner)?;
            indices.into_iter().zip(copied).for_each(|(index, line)| lines[index] = Some(line));
        }
        let lines = self.entries.iter().zip(lines).map(|(entry, line)| line.unwrap_or_else(|| self.copy_range(entry)));
        Ok(lines.collect())
    }

    /// Copies entries that are all treated alike, as a copy of as many arguments.
    fn copy_whole(&self, entries: Vec<&ShardEntry>, manner: &Manner) -> Result<Vec<PartLine>, Failure> {
        let are_same: Vec<bool> = entries.iter().map(|entry| self.is_same(entry, "was planned")).collect();
        let job = |entry: &ShardEntry| Job { source: entry.source.0.clone(), target: entry.target.0.clone() };
        let jobs: Vec<Job> =
            entries.iter().zip(&are_same).filter(|(_, is_same)| **is_same).map(|(entry, _)| job(entry)).collect();
        let mut is_complete = Vec::new();
        if !jobs.is_empty() {
            let what = format!("cp of {}", mh_kit::report::counted(jobs.len() as u64, "file"));
            let shared = &self.work.args.shared;
            let words = &self.work.words;
            let told = Told { words, pretends: manner.pretends, digests: &[] };
            let finished = copy_all(self.context, shared, &told, manner, &jobs, what, "copying")?;
            is_complete = finished.is_complete;
            if self.work.args.fsync && bring_to_disk(words, &finished.roots) > 0 {
                is_complete.fill(false);
            }
        }
        let mut is_complete = is_complete.into_iter();
        let lines = entries.iter().zip(are_same).map(|(entry, is_same)| {
            let is_copied = is_same && is_complete.next().unwrap_or(false) && self.is_same(entry, "was copied");
            self.line(entry, is_copied)
        });
        Ok(lines.collect())
    }

    /// Whether the source is what was planned; if not, that is reported.
    fn is_same(&self, entry: &ShardEntry, since: &str) -> bool {
        match Directory::here().status(entry.source.0.as_slice(), entry.follow()) {
            // What cannot be looked at, the copy reports.
            Err(_) if since == "was planned" => true,
            Err(error) => {
                self.work.words.say(&format!("cannot stat {}: {}", shown(&entry.source.0), cause(&error)));
                false
            }
            Ok(now) if is_as_planned(entry, &now) => true,
            Ok(now) => {
                self.report_changed(entry, &now, since);
                false
            }
        }
    }

    fn report_changed(&self, entry: &ShardEntry, now: &Status, since: &str) {
        let planned = entry.likeness;
        let how = match now.bytes() {
            _ if (now.file_type() == FileType::Regular) != entry.is_file => "it is something else now".to_owned(),
            bytes if bytes == planned.bytes => "its time is another".to_owned(),
            bytes => format!("it had {} bytes, and has {}", terminal::integer(planned.bytes), terminal::integer(bytes)),
        };
        self.work.words.say(&format!("{} has changed since it {since}: {how}", shown(&entry.source.0)));
    }

    /// The line of an entry, with the digest of what its source holds where copies are to be read back.
    fn line(&self, entry: &ShardEntry, is_copied: bool) -> PartLine {
        let (from, to) = entry.span();
        let mut record = PartLine {
            path: entry.target.clone(),
            is_done: is_copied,
            from,
            bytes: if entry.is_file { to - from } else { 0 },
            source: entry.likeness,
            blake3: None,
        };
        let is_read_back = self.work.manner.make == Make::Copies && !self.work.args.division.no_verify;
        if !is_copied || !entry.is_file || !is_read_back {
            return record;
        }
        let digest = open_source(entry).and_then(|file| digest_range(file.as_fd(), from, to));
        match digest {
            Ok(digest) if digest.bytes == to - from => record.blake3 = Some(hex(&digest.value)),
            Ok(digest) => {
                record.is_done = false;
                let text =
                    format!("{} ends {} bytes sooner than planned", shown(&entry.source.0), to - from - digest.bytes);
                self.work.words.say(&text);
            }
            Err(error) => {
                record.is_done = false;
                self.work.words.say(&format!("error reading {}: {}", shown(&entry.source.0), cause(&error)));
            }
        }
        record
    }

    /// Copies a range into the file that was made for it.
    fn copy_range(&self, entry: &ShardEntry) -> PartLine {
        let copied = self.is_same(entry, "was planned") && self.fill_range(entry);
        self.line(entry, copied && self.is_same(entry, "was copied"))
    }

    fn fill_range(&self, entry: &ShardEntry) -> bool {
        let Some(range) = &entry.range else { return false };
        let filled = (|| {
            let source = open_source(entry).map_err(Complaint::Open)?;
            let write_failed = |error: io::Error| Complaint::Write(entry.target.0.clone(), error);
            let target = open_hidden(range, entry.likeness.bytes)
                .map_err(|error| Complaint::Make(MakeWhat::File, entry.target.0.clone(), error))?;
            let end = copy_range(&FileRange {
                source: source.as_fd(),
                target: target.as_fd(),
                target_path: &entry.target.0,
                sparse: self.work.manner.sparse,
                from: range.from,
                to: range.to,
            })?;
            if end < range.to {
                return Err(Complaint::Read(io::Error::new(io::ErrorKind::UnexpectedEof, "it has become shorter")));
            }
            if self.work.args.fsync {
                rustix::fs::fsync(&target).map_err(|error| write_failed(error.into()))?;
            }
            // On a network file system some errors come no sooner.
            files::close(target).map_err(write_failed)
        })();
        let Err(complaint) = filled else { return true };
        let told = Told { words: &self.work.words, pretends: false, digests: &[] };
        told.complain(vec![Finding { operand: 0, path: entry.source.0.clone(), complaint }]);
        false
    }
}

/// The file that all ranges go to, as long as the source; the first that comes makes it.
fn open_hidden(range: &PlannedRange, bytes: u64) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(range.hidden.0.as_slice(), flags, Mode::from_raw_mode(range.mode))?;
    rustix::fs::ftruncate(&file, bytes)?;
    Ok(file)
}

fn open_source(entry: &ShardEntry) -> io::Result<OwnedFd> {
    let follow = if entry.follows { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC | follow;
    Ok(rustix::fs::open(entry.source.0.as_slice(), flags, Mode::empty())?)
}

/// A digest as text.
pub fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
