//! One entry that is no directory: a file with its bytes, a link, a special file, or another name for a file that is copied already.
//! What becomes of a file that has the name is `existing`'s part.

use super::data::Way;
use super::existing::{Decision, Over};
use super::filling::fill;
use super::half::{Linked, Slot};
use super::large::{Divide, Large};
use super::links::{First, Made};
use super::metadata::{Carried, carry};
use super::tree::{Place, Run, named, named_in};
use super::{Complaint, Existing, Keep, Make, MakeWhat};
use crate::finding::{Finding, joined};
use crate::operand::{Parent, last_part, trimmed};
use crew::scatter::Branch;
use files::{Directory, FileReference, FileType, Follow, Status, how};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// An entry, and where its copy goes.
pub struct Item<'a> {
    pub source: Directory<'a>,
    pub name: &'a CStr,
    pub target: &'a Parent,
    pub target_name: &'a CStr,
    pub place: &'a Place<'a>,
    /// Whether a link's target is meant.
    pub follow: Follow,
    /// What the list said.
    pub listed: Option<FileType>,
    /// Whether a large file may be divided.
    pub divide: Divide,
}

/// What became of an entry.
pub enum Dealt {
    /// It is copied, skipped, or was complained about.
    Done,
    IsDirectory,
    /// It is large, and is to be a task of its own.
    IsLarge,
    /// It is large: its copy has been made, its bytes are still to come.
    Node(Box<Large>),
}

/// A file that was made, or opened to be written over.
pub struct New {
    pub file: OwnedFd,
    /// Its number in its slot.
    number: u64,
    pub is_new: bool,
    /// Whether it is a regular file: what else was written through may have no places to write at.
    pub is_file: bool,
    pub mode_now: Option<u32>,
    pub owner_now: Option<(u32, u32)>,
    /// The mode that it gets with its owner, where modes are not kept: it was made for nobody else to open, or may have inherited another.
    pub mode_later: Option<u32>,
    pub backup: Option<Vec<u8>>,
}

/// LIMIT: somebody who makes the name again and again loses after so many tries.
const TRIES: usize = 4;

impl Item<'_> {
    pub fn source_path(&self, run: &Run<'_>) -> Vec<u8> {
        run.source_path(self.place, self.name)
    }

    pub fn target_path(&self, run: &Run<'_>) -> Vec<u8> {
        run.target_path(self.place, self.target_name)
    }

    /// Whether a new file may get access lists from the directory that it is made in.
    fn may_inherit_lists(&self) -> bool {
        self.place.directory().is_none_or(|directory| directory.inherits)
    }

    /// Whether the target is a directory to copy into, not the copy's own name.
    pub fn is_into_target(&self, run: &Run<'_>) -> bool {
        let job = &run.copying.jobs[self.place.job()];
        job.target.ends_with(b"/") || [b".".as_slice(), b"..", b"/"].contains(&last_part(&job.source))
    }
}

impl Run<'_> {
    /// Copies an entry that is no directory.
    pub fn deal(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> Dealt {
        branch.scratch.backup = None;
        match self.try_deal(item, branch) {
            Ok(dealt) => dealt,
            Err(complaint) => {
                if let Some(backup) = branch.scratch.backup.take() {
                    backup.put_back();
                }
                self.complain(item.place, item.name, complaint, branch);
                Dealt::Done
            }
        }
    }

    fn try_deal(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> Result<Dealt, Complaint> {
        let copies = self.copying.manner.make == Make::Copies && !self.copying.manner.pretends;
        if copies && item.listed == Some(FileType::Regular) {
            return self.open_and_copy(item, branch);
        }
        let status = item.source.status(item.name, item.follow).map_err(Complaint::Stat)?;
        if status.file_type() == FileType::Directory {
            return Ok(Dealt::IsDirectory);
        }
        branch.scratch.counts.entries += 1;
        if self.copying.manner.pretends {
            self.tell(item, None);
            return Ok(Dealt::Done);
        }
        match (self.copying.manner.make, status.file_type()) {
            (Make::Directories, _) => self.leave_to_others(item, status, branch),
            (Make::HardLinks, _) => self.link_to_source(item, &status, branch)?,
            (Make::SymbolicLinks, _) => self.make_symbolic_link(item, &status, branch)?,
            (_, FileType::SymbolicLink) => self.copy_by_name(item, &status, branch)?,
            (Make::Attributes, FileType::Regular) => self.copy_attributes(item, &status, branch)?,
            (Make::Copies, FileType::Regular) => {
                branch.scratch.counts.entries -= 1;
                return self.open_and_copy(item, branch);
            }
            // COMPAT: without -r what a FIFO or a device gives is copied.
            _ if self.copying.manner.contents || !self.copying.manner.recursive => {
                branch.scratch.counts.entries -= 1;
                // To open it could wait for ever.
                if !self.may_wait_for(item, &status)? {
                    branch.scratch.counts.left += 1;
                    return Ok(Dealt::Done);
                }
                return self.open_and_copy(item, branch);
            }
            _ => self.copy_by_name(item, &status, branch)?,
        }
        Ok(Dealt::Done)
    }

    /// Whether what a special file gives may replace what is there.
    fn may_wait_for(&self, item: &Item<'_>, status: &Status) -> Result<bool, Complaint> {
        let there = match item.target.directory().status(item.target_name, Follow::Yes) {
            Ok(there) if there.identity() == status.identity() => {
                return Err(Complaint::SameFile(item.target_path(self)));
            }
            Ok(there) => there,
            Err(_) => return Ok(true),
        };
        Ok(self.copying.manner.existing != Existing::Stays && !self.is_up_to_date(status, &there))
    }

    fn open_and_copy(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> Result<Dealt, Complaint> {
        let reads_special = self.copying.manner.contents || !self.copying.manner.recursive;
        let mut how = OFlags::RDONLY | OFlags::NOCTTY | item.follow.open_flag();
        if !reads_special {
            // What was swapped for a FIFO does not make us wait.
            how |= OFlags::NONBLOCK;
        }
        let file = match item.source.open(item.name, how, 0) {
            Ok(file) => file,
            Err(error)
                if crate::finding::number(&error) == Errno::LOOP.raw_os_error()
                    && item.listed == Some(FileType::Regular) =>
            {
                return self.try_deal(&Item { listed: None, ..*item }, branch);
            }
            Err(error) => return Err(Complaint::Open(error)),
        };
        let status = Status::of(&file).map_err(Complaint::Stat)?;
        match status.file_type() {
            FileType::Directory => return Ok(Dealt::IsDirectory),
            FileType::Regular => {}
            _ if reads_special => {}
            _ => return self.try_deal(&Item { listed: None, ..*item }, branch),
        }
        let divides = item.divide != Divide::Never && self.is_large(item, &status) && branch.has_other_hands();
        if divides && item.divide == Divide::Later {
            return Ok(Dealt::IsLarge);
        }
        branch.scratch.counts.entries += 1;
        if divides {
            return self.divide(item, file, status, branch);
        }
        let slot = Arc::clone(&branch.scratch.slot);
        let Some(new) = self.make_file(item, Some(file.as_fd()), &status, &slot, branch)? else {
            return Ok(Dealt::Done);
        };
        if !self.copying.manner.tells_ways {
            self.tell(item, new.backup.as_deref());
        }
        let outcome = fill(self, item, &file, &status, &new, branch).and_then(|watch| {
            files::close(new.file).map_err(|error| {
                self.give_up(&slot, branch);
                Complaint::Write(item.target_path(self), error)
            })?;
            Ok(watch)
        });
        slot.end();
        if let Some(watch) = outcome? {
            watch.is_whole(&item.target_path(self));
        }
        Ok(Dealt::Done)
    }

    /// Makes the copy of a large file, whose bytes are still to come unless they can be shared.
    fn divide(
        &self,
        item: &Item<'_>,
        file: OwnedFd,
        status: Status,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Dealt, Complaint> {
        let slot = self.copying.half_done.slot();
        let Some(new) = self.make_file(item, Some(file.as_fd()), &status, &slot, branch)? else {
            return Ok(Dealt::Done);
        };
        let tells_ways = self.copying.manner.tells_ways;
        let backup = new.backup.clone();
        if !tells_ways {
            self.tell(item, backup.as_deref());
        }
        let large = Box::new(Large::new(self, item, file, status, new, slot, branch.scratch.backup.take()));
        let is_over = large.share(self, branch);
        if !large.has_failed() {
            let way = if is_over { Way::Shared } else { Way::Ranges };
            branch.scratch.ways.count(way);
            if tells_ways {
                self.tell_way(item, backup.as_deref(), Some(way));
            }
        }
        if is_over {
            large.finish(self, branch);
            return Ok(Dealt::Done);
        }
        Ok(Dealt::Node(large))
    }

    /// Makes the target of a file, or links it to a copy of the same file. None where nothing is left to do.
    fn make_file(
        &self,
        item: &Item<'_>,
        source: Option<BorrowedFd<'_>>,
        status: &Status,
        slot: &Arc<Slot>,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Option<New>, Complaint> {
        if !self.copying.manner.keep.links || status.links() < 2 {
            return self.create(item, source, status, slot, branch);
        }
        let first = self.links.make_or_link(
            status.identity(),
            branch,
            |made| self.is_still_there(made),
            |branch| {
                let new = self.create(item, source, status, slot, branch)?;
                // COMPAT: what is left since it is the same, or newer, stands for the copy.
                let manner = self.copying.manner;
                let stands_for_it =
                    manner.existing == Existing::Replace && (manner.update || manner.skip_same.is_some());
                let number = new.as_ref().map(|new| new.number).or(stands_for_it.then_some(COMPLETE));
                let made = number.map(|number| self.made(item, slot, number));
                Ok((new, made))
            },
            |branch, made| self.link_to_copy(item, status, made, branch),
        )?;
        Ok(self.made_or_told(item, first).flatten())
    }

    /// What others who link to a copy need to know of it.
    fn made(&self, item: &Item<'_>, slot: &Arc<Slot>, number: u64) -> Made {
        let job = item.place.job();
        if let Place::Top(_) = item.place {
            self.directories[job].get_or_init(|| item.target.clone());
        }
        let (directory, name) = (Run::target_below_copy(item.place), item.target_name.to_owned());
        let status = || item.target.directory().status(item.target_name, Follow::No).ok();
        let file = self.turns.are_several.then(status).flatten().map(|made| made.identity());
        Made { job, directory, name, slot: Arc::clone(slot), number, file }
    }

    /// Whether no job of a later turn has put something else in a copy's place.
    fn is_still_there(&self, made: &Made) -> bool {
        let Some(file) = made.file else { return true };
        let found =
            self.directory_of_copy(made).and_then(|directory| Directory::of(&directory).status(&made.name, Follow::No));
        found.is_ok_and(|found| found.identity() == file)
    }

    fn directory_of_copy(&self, made: &Made) -> io::Result<OwnedFd> {
        let directory = self.directories[made.job].get().expect("a job that has made a file has its directory");
        open_beneath(directory.directory(), made.directory.as_deref().unwrap_or_default(), Follow::No)
    }

    /// What was made, if the entry was not linked; a link is told of.
    fn made_or_told<T>(&self, item: &Item<'_>, first: First<T, Option<Option<Vec<u8>>>>) -> Option<T> {
        match first {
            First::Made(made) => return Some(made),
            First::Other(Some(backup)) => self.tell(item, backup.as_deref()),
            First::Other(None) => {}
        }
        None
    }

    /// Gives a copy another name. Where something has that name, it goes if it may. None where it stays; else the backup, if any.
    fn link_to_copy(
        &self,
        item: &Item<'_>,
        status: &Status,
        made: &Made,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Option<Option<Vec<u8>>>, Complaint> {
        let refused = |error| Complaint::Link(item.target_path(self), self.path_of_copy(made), error);
        let other;
        let from = if made.job == item.place.job() && made.directory == Self::target_below_copy(item.place) {
            item.target.directory()
        } else {
            other = self.directory_of_copy(made).map_err(refused)?;
            Directory::of(&other)
        };
        let linked =
            || Linked { job: item.place.job(), source: item.source_path(self), target: item.target_path(self) };
        let mut backup = None;
        let link = || {
            let to = item.target.directory();
            from.link(&made.name, to, item.target_name, Follow::No)
        };
        for _ in 0..TRIES {
            match made.slot.link(made.number, item.target, item.target_name, link, linked) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let is_same = matches!(
                        (from.status(&made.name, Follow::No), item.target.directory().status(item.target_name, Follow::No)),
                        (Ok(one), Ok(other)) if one.identity() == other.identity()
                    );
                    if is_same && self.copying.manner.skip_same.is_some() {
                        branch.scratch.counts.left += 1;
                        return Ok(None);
                    }
                    if is_same {
                        return Ok(Some(None));
                    }
                    // COMPAT: what an update would leave goes all the same, since its name must be one of the copy's.
                    let manner = self.copying.manner;
                    let decision = if manner.update && manner.existing == Existing::Replace {
                        Decision::WriteOver(Over::File)
                    } else {
                        self.decide(item, None, status, branch)?
                    };
                    match decision {
                        Decision::Skip => {
                            branch.scratch.counts.left += 1;
                            return Ok(None);
                        }
                        Decision::IsGone(path) => backup = path,
                        Decision::WriteOver(_) => self.displace(item)?,
                    }
                }
                other => return other.map(|()| Some(backup)).map_err(refused),
            }
        }
        Err(refused(io::ErrorKind::AlreadyExists.into()))
    }

    /// As a person would name it.
    fn path_of_copy(&self, made: &Made) -> Vec<u8> {
        let target = trimmed(&self.copying.jobs[made.job].target);
        match &made.directory {
            None => target.to_vec(),
            Some(directory) if directory.is_empty() => joined(target, made.name.to_bytes()),
            Some(directory) => joined(&joined(target, directory), made.name.to_bytes()),
        }
    }

    /// Removes a copy that will not be complete, and complains for each entry that was to be another name of it.
    pub fn give_up(&self, slot: &Slot, branch: &mut Branch<'_, Self>) {
        for Linked { job, source, target } in slot.give_up() {
            let error = io::Error::other("the copy that it was linked to is incomplete");
            let complaint = Complaint::Link(target, source.clone(), error);
            self.keep_finding(Finding { operand: job, path: source, complaint }, branch);
        }
    }

    /// Makes a new file, or opens the one that is there if it is to be written over.
    fn create(
        &self,
        item: &Item<'_>,
        source: Option<BorrowedFd<'_>>,
        status: &Status,
        slot: &Slot,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Option<New>, Complaint> {
        let refused = |error| Complaint::Make(MakeWhat::File, item.target_path(self), error);
        let (keep, parent) = (&self.copying.manner.keep, item.target.directory());
        let newborn = item.place.directory().and_then(|directory| directory.newborn.get().copied());
        let is_owner_right = !keep.owner || newborn == Some((status.user(), status.group()));
        // Before it has its owner nobody else may open it.
        let mode = keep.mode_of(status);
        let first_mode = if is_owner_right { mode & 0o777 } else { mode & 0o700 };
        let may_lose_lists = keep.forgets_mode && item.may_inherit_lists();
        let has_mode_later = !keep.mode && (!is_owner_right || may_lose_lists);
        let mut backup = None;
        for _ in 0..TRIES {
            match slot.begin(item.target, item.target_name, || parent.open(item.target_name, how::NEW, first_mode)) {
                Ok((file, number)) => {
                    let owner_now = if keep.owner { owner_of_new(item, file.as_fd(), newborn) } else { None };
                    let mode_now = keep.mode.then_some(first_mode);
                    let mode_later = has_mode_later.then_some(mode & 0o777 & !self.copying.umask);
                    let (is_new, is_file) = (true, true);
                    return Ok(Some(New { file, number, is_new, is_file, mode_now, owner_now, mode_later, backup }));
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(refused(error)),
                Err(_) => {}
            }
            if self.has_to_wait(item, status, branch) {
                return Ok(None);
            }
            match self.decide(item, source, status, branch)? {
                Decision::Skip => {
                    branch.scratch.counts.left += 1;
                    return Ok(None);
                }
                Decision::IsGone(path) => backup = path,
                Decision::WriteOver(how) => match self.open_over(item, how, slot) {
                    Ok((file, number)) => {
                        let (mode_now, owner_now, mode_later) = (None, None, None);
                        let is_file = how == Over::File || self.note_written_through(file.as_fd());
                        let is_new = false;
                        return Ok(Some(New {
                            file,
                            number,
                            is_new,
                            is_file,
                            mode_now,
                            owner_now,
                            mode_later,
                            backup,
                        }));
                    }
                    Err(_) if self.copying.manner.force => {
                        self.displace(item)?;
                        self.tell_removed(item);
                    }
                    Err(error) => return Err(refused(error)),
                },
            }
        }
        Err(refused(io::ErrorKind::AlreadyExists.into()))
    }

    fn open_over(&self, item: &Item<'_>, how: Over, slot: &Slot) -> io::Result<(OwnedFd, u64)> {
        let flags = OFlags::WRONLY | OFlags::NOCTTY;
        let truncates = if self.copying.manner.make == Make::Attributes { OFlags::empty() } else { OFlags::TRUNC };
        let open = |more| item.target.directory().open(item.target_name, flags | truncates | more, 0);
        match how {
            // Its bytes stay: whatever comes, it is whole.
            Over::File if truncates.is_empty() => open(OFlags::NOFOLLOW).map(|file| (file, 0)),
            Over::File => slot.begin(item.target, item.target_name, || open(OFlags::NOFOLLOW)),
            // What a link leads to, and a device, is not ours to remove when a signal comes.
            Over::Through => open(OFlags::empty()).map(|file| (file, 0)),
        }
    }

    pub fn carry_to_file(
        &self,
        item: &Item<'_>,
        source: BorrowedFd<'_>,
        status: &Status,
        new: &New,
        branch: &mut Branch<'_, Self>,
    ) {
        let carried = Carried {
            from: FileReference::Open(source),
            to: FileReference::Open(new.file.as_fd()),
            status,
            owner_now: new.owner_now,
            mode_now: new.mode_now,
            mode: self.copying.manner.keep.mode.then_some(status.mode()).or(new.mode_later),
            has_lists: !new.is_new || item.may_inherit_lists(),
            special: 0,
            is_link: false,
        };
        self.carry_all(item, &carried, &self.copying.manner.keep, branch);
    }

    pub fn carry_all(&self, item: &Item<'_>, carried: &Carried<'_>, keep: &Keep, branch: &mut Branch<'_, Self>) {
        for refused in carry(carried, keep, &mut branch.scratch.attributes) {
            let complaint = Complaint::Keep(refused.what, item.target_path(self), refused.cause);
            self.complain(item.place, item.name, complaint, branch);
        }
    }

    /// A link or a special file: what has no bytes is made by name.
    fn copy_by_name(&self, item: &Item<'_>, status: &Status, branch: &mut Branch<'_, Self>) -> Result<(), Complaint> {
        if !self.copying.manner.keep.links || status.links() < 2 {
            return self.make_by_name(item, status, branch).map(drop);
        }
        let slot = Arc::clone(&branch.scratch.slot);
        let first = self.links.make_or_link(
            status.identity(),
            branch,
            |made| self.is_still_there(made),
            |branch| {
                let is_made = self.make_by_name(item, status, branch)?;
                Ok((is_made, is_made.then(|| self.made(item, &slot, COMPLETE))))
            },
            |branch, made| self.link_to_copy(item, status, made, branch),
        )?;
        self.made_or_told(item, first);
        Ok(())
    }

    fn make_by_name(&self, item: &Item<'_>, status: &Status, branch: &mut Branch<'_, Self>) -> Result<bool, Complaint> {
        let (parent, keep) = (item.target.directory(), &self.copying.manner.keep);
        let is_link = status.file_type() == FileType::SymbolicLink;
        let leads_to = if is_link { Some(item.source.read_link(item.name).map_err(Complaint::Read)?) } else { None };
        if let Some(there) = self.same_by_name(item, status, leads_to.as_deref()) {
            self.leave_by_name(item, status, &there, branch);
            return Ok(true);
        }
        let make: Box<dyn Fn() -> io::Result<()>> = match leads_to {
            Some(leads_to) => Box::new(move || parent.symlink(&leads_to, item.target_name)),
            None => {
                // Before it has its owner nobody else may open it.
                let rights = if keep.owner || keep.mode { 0o700 } else { 0o7777 };
                let mode = keep.mode_of(status) & rights;
                let device = status.special_device();
                Box::new(move || parent.make_node(item.target_name, status.file_type(), mode, device))
            }
        };
        let what = MakeWhat::by_name(status.file_type());
        let Some(backup) = self.make_over(item, status, what, &make, branch)? else { return Ok(false) };
        self.tell(item, backup.as_deref());
        let carried = Carried {
            from: named_in(item.source, item.name),
            to: named(item.target, item.target_name),
            status,
            owner_now: None,
            mode_now: None,
            mode: match status.file_type() {
                FileType::SymbolicLink => None,
                _ if keep.mode => Some(status.mode()),
                // As it was made: the mask, or the default list of its directory, has ruled.
                _ if !keep.owner && !keep.forgets_mode => None,
                _ => Some(keep.mode_of(status) & !self.copying.umask),
            },
            has_lists: item.may_inherit_lists(),
            special: 0,
            is_link,
        };
        self.carry_all(item, &carried, keep, branch);
        Ok(true)
    }

    /// The link or special file that is there stays. Its metadata follow the source's, since nothing else tells whether they are the same.
    fn leave_by_name(&self, item: &Item<'_>, status: &Status, there: &Status, branch: &mut Branch<'_, Self>) {
        branch.scratch.counts.left += 1;
        let keep = &self.copying.manner.keep;
        let keep = Keep { times: keep.times && there.changed_at() != status.changed_at(), ..*keep };
        let carried = Carried {
            from: named_in(item.source, item.name),
            to: named(item.target, item.target_name),
            status,
            owner_now: Some((there.user(), there.group())),
            mode_now: Some(there.mode()),
            mode: keep.mode.then_some(status.mode()),
            has_lists: true,
            special: 0,
            is_link: status.file_type() == FileType::SymbolicLink,
        };
        self.carry_all(item, &carried, &keep, branch);
    }

    /// Makes something by name; where something has that name, it goes if it may. None where it stays; else the backup, if any.
    pub fn make_over(
        &self,
        item: &Item<'_>,
        status: &Status,
        what: MakeWhat,
        make: &dyn Fn() -> io::Result<()>,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Option<Option<Vec<u8>>>, Complaint> {
        let mut backup = None;
        for _ in 0..TRIES {
            match make() {
                Ok(()) => return Ok(Some(backup)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Complaint::Make(what, item.target_path(self), error)),
            }
            match self.decide(item, None, status, branch)? {
                Decision::Skip => {
                    branch.scratch.counts.left += 1;
                    return Ok(None);
                }
                Decision::IsGone(path) => backup = path,
                Decision::WriteOver(_) => self.displace(item)?,
            }
        }
        Err(Complaint::Make(what, item.target_path(self), io::ErrorKind::AlreadyExists.into()))
    }

    fn copy_attributes(
        &self,
        item: &Item<'_>,
        status: &Status,
        branch: &mut Branch<'_, Self>,
    ) -> Result<(), Complaint> {
        let slot = Arc::clone(&branch.scratch.slot);
        let Some(new) = self.make_file(item, None, status, &slot, branch)? else { return Ok(()) };
        self.tell(item, new.backup.as_deref());
        let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        match item.source.open(item.name, how, 0) {
            Ok(source) => self.carry_to_file(item, source.as_fd(), status, &new, branch),
            Err(error) => self.complain(item.place, item.name, Complaint::Open(error), branch),
        }
        slot.end();
        Ok(())
    }

    pub fn tell(&self, item: &Item<'_>, backup: Option<&[u8]>) {
        self.tell_way(item, backup, None);
    }

    pub fn tell_way(&self, item: &Item<'_>, backup: Option<&[u8]>, way: Option<Way>) {
        if self.copying.manner.tells_all {
            let way = way.map(Way::name);
            self.copying.listener.copied(&item.source_path(self), &item.target_path(self), backup, way);
        }
    }
}

/// A number that no file under way has.
const COMPLETE: u64 = 0;

/// Owner and group that a new file has: asked once a directory, since all new files in it get the same.
fn owner_of_new(item: &Item<'_>, file: BorrowedFd<'_>, newborn: Option<(u32, u32)>) -> Option<(u32, u32)> {
    if newborn.is_some() {
        return newborn;
    }
    let owner = Status::of(file).ok().map(|status| (status.user(), status.group()))?;
    item.place.directory().inspect(|directory| _ = directory.newborn.get_or_init(|| owner));
    Some(owner)
}

/// Opens a directory some levels below another, through no link unless they are followed.
pub fn open_beneath(top: Directory<'_>, path: &[u8], follow: Follow) -> io::Result<OwnedFd> {
    let resolve = match follow {
        Follow::Yes => ResolveFlags::empty(),
        Follow::No => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    };
    let whole = if path.is_empty() { b".".as_slice() } else { path };
    if let Ok(found) = rustix::fs::openat2(top, whole, how::PLACE | OFlags::CLOEXEC, Mode::empty(), resolve) {
        return Ok(found);
    }
    // Paths beyond the kernel's limit, a renaming next to us, sandboxes that know no openat2: one name at a time.
    let mut at = top.open(c".", how::PLACE, 0)?;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        at = Directory::of(&at).open(name, how::PLACE | follow.open_flag(), 0)?;
    }
    Ok(at)
}
