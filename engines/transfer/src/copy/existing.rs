//! What becomes of something that has the target's name already: it stays, it is written over, or it goes.

use super::comparing::is_same;
use super::item::Item;
use super::tree::{Place, Run};
use super::{Backup, BackupNames, Complaint, Existing, FollowLinks, JobTargets, Make, MakeWhat, Same};
use crate::finding::number;
use crate::operand::Parent;
use crew::scatter::Branch;
use files::{Directory, FileType, Follow, Replace, Status, list_buffer, list_some};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What is to be done.
pub enum Decision {
    /// Nothing.
    Skip,
    /// The name is free now; the backup's path, if there is one.
    IsGone(Option<Vec<u8>>),
    /// The file is written over.
    WriteOver(Over),
}

/// What is written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// A regular file under its own name.
    File,
    /// What a link leads to, or a device: only where a person named it.
    Through,
}

/// A backup that was made, and the name that it gets back if nothing takes its place.
pub struct PutBack {
    directory: Parent,
    kept: CString,
    name: CString,
}

impl PutBack {
    /// COMPAT: what could not be copied leaves what was there.
    pub fn put_back(&self) {
        let directory = self.directory.directory();
        // What made the copy fail is told; the backup is there under its own name.
        let _stays_a_backup = directory.rename(&self.kept, directory, &self.name, Replace::Never);
    }
}

impl Run<'_> {
    /// Decides about what is there; removes or renames it where that is what is to be done.
    pub fn decide(
        &self,
        item: &Item<'_>,
        source: Option<BorrowedFd<'_>>,
        status: &Status,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Decision, Complaint> {
        let parent = item.target.directory();
        let there = match parent.status(item.target_name, Follow::No) {
            Ok(there) => there,
            // Somebody else removed it: try again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Decision::IsGone(None)),
            Err(error) => return Err(Complaint::Stat(error)),
        };
        let path = || item.target_path(self);
        let manner = self.copying.manner;
        let is_named = matches!(item.place, Place::Top(_)) && manner.targets != JobTargets::Found;
        let has_bytes =
            source.is_some() || (manner.make == Make::Attributes && status.file_type() == FileType::Regular);
        let meant = if there.file_type() == FileType::SymbolicLink && is_named && has_bytes && !manner.remove_first {
            match self.leads_to(item, &there)? {
                Some(meant) => meant,
                None => return Ok(Decision::IsGone(None)),
            }
        } else {
            there
        };
        if manner.existing == Existing::Stays {
            return Ok(Decision::Skip);
        }
        if there.file_type() == FileType::Directory {
            if self.is_up_to_date(status, &there) {
                return Ok(Decision::Skip);
            }
            return Err(Complaint::OtherOverDirectory(path()));
        }
        if self.is_itself(item, status, [&there, &meant]) {
            return Err(Complaint::SameFile(path()));
        }
        if self.is_up_to_date(status, &meant) {
            return Ok(Decision::Skip);
        }
        if self.leads_there(item, status, &there) {
            return Err(Complaint::SameFile(path()));
        }
        if !self.is_wanted(item, source, status, &meant, branch)? {
            return Ok(Decision::Skip);
        }
        if let Some(backup) = &manner.backup {
            return self.make_way(item, status, backup, branch);
        }
        if meant.file_type() == FileType::Directory {
            return Err(Complaint::OtherOverDirectory(path()));
        }
        let is_renewed = manner.remove_first || self.must_go(status, &meant);
        if manner.make != Make::Copies && !has_bytes && !is_renewed && !manner.force {
            // COMPAT: where no bytes are copied, nothing takes the place of something else unless that was asked for.
            let what = MakeWhat::by_name(status.file_type());
            return Err(Complaint::Make(what, path(), Errno::EXIST.into()));
        }
        let is_plain = there.file_type() == FileType::Regular && has_bytes;
        let is_through = is_named
            && has_bytes
            && matches!(
                meant.file_type(),
                FileType::Regular | FileType::CharacterDevice | FileType::BlockDevice | FileType::Fifo
            );
        if is_renewed || !(is_plain || is_through) {
            self.displace(item)?;
            // COMPAT: a link that is forced to be there takes its place in one step, and that is not told.
            if is_renewed || manner.make == Make::Copies {
                self.tell_removed(item);
            }
            return Ok(Decision::IsGone(None));
        }
        Ok(Decision::WriteOver(if is_plain { Over::File } else { Over::Through }))
    }

    /// Whether the target is the source itself, or another name of it that may not go.
    fn is_itself(&self, item: &Item<'_>, status: &Status, [there, meant]: [&Status; 2]) -> bool {
        let manner = self.copying.manner;
        let is_same_file = [there, meant].iter().any(|found| found.identity() == status.identity());
        if manner.make == Make::HardLinks {
            // COMPAT: a file's name is not made a name of that file again, whatever would become of the old one. Nor may the link go by which
            // the source is found.
            return is_same_file || is_same_name(item);
        }
        // COMPAT: another name of the same file may go, where the target's name is to be made anew.
        let is_renewed = manner.remove_first || manner.backup.is_some();
        is_same_file && (!is_renewed || is_same_name(item))
    }

    /// COMPAT: a target that was typed is followed, unless it leads nowhere; then it may become a backup. None where it had to go.
    fn leads_to(&self, item: &Item<'_>, link: &Status) -> Result<Option<Status>, Complaint> {
        let manner = self.copying.manner;
        let error = match item.target.directory().status(item.target_name, Follow::Yes) {
            Ok(meant) => return Ok(Some(meant)),
            Err(error) => error,
        };
        let is_dangling = error.kind() == io::ErrorKind::NotFound;
        if manner.backup.is_some() || (is_dangling && manner.existing == Existing::Stays) {
            return Ok(Some(*link));
        }
        if is_dangling {
            return Err(Complaint::Dangling(item.target_path(self)));
        }
        // COMPAT: a link that leads round in a circle goes if it may, whatever else is asked for.
        if !manner.force || number(&error) != Errno::LOOP.raw_os_error() {
            return Err(Complaint::StatTarget(item.target_path(self), error));
        }
        self.displace(item)?;
        self.tell_removed(item);
        Ok(None)
    }

    /// Removes what has the copy's name.
    pub fn displace(&self, item: &Item<'_>) -> Result<(), Complaint> {
        item.target
            .directory()
            .unlink(item.target_name)
            .map_err(|error| Complaint::Remove(item.target_path(self), error))
    }

    pub fn tell_removed(&self, item: &Item<'_>) {
        if self.copying.manner.tells_removed {
            self.copying.listener.removed(&item.target_path(self));
        }
    }

    /// Gives what is there its backup's name.
    fn make_way(
        &self,
        item: &Item<'_>,
        status: &Status,
        backup: &Backup,
        branch: &mut Branch<'_, Self>,
    ) -> Result<Decision, Complaint> {
        let (parent, path) = (item.target.directory(), item.target_path(self));
        if backup.is_in_place_of(parent, item.target_name, status) {
            return Err(Complaint::BackupIsSource(path));
        }
        let kept = match back_up(parent, item.target_name, backup) {
            Ok(kept) => kept,
            Err(error) => return Err(Complaint::BackUp(path, error)),
        };
        let above = &path[..path.len() - crate::operand::last_part(&path).len()];
        let shown = [above, kept.as_bytes()].concat();
        let name = item.target_name.to_owned();
        branch.scratch.backup = Some(PutBack { directory: item.target.clone(), kept, name });
        Ok(Decision::IsGone(Some(shown)))
    }

    /// Whether an update leaves it.
    pub fn is_up_to_date(&self, status: &Status, there: &Status) -> bool {
        self.copying.manner.update && there.changed_at() >= status.changed_at()
    }

    /// COMPAT: what is removed before anything is made, unless metadata alone are copied: a file with other names, where names of one file stay
    /// together, since those must not become names of the new one; and what is in the place of a link or a special file, where links stay links.
    fn must_go(&self, status: &Status, there: &Status) -> bool {
        let manner = self.copying.manner;
        let is_shared = manner.keep.links
            && (there.links() > 1 || (self.turns.are_several && self.links.is_copy(there.identity())));
        let is_special = manner.follow == FollowLinks::Never && status.file_type() != FileType::Regular;
        manner.make != Make::Attributes && (is_shared || is_special)
    }

    /// COMPAT: a link is not put in the place of what it leads to: nothing would lead there any more. With a backup it is still there.
    fn leads_there(&self, item: &Item<'_>, status: &Status, there: &Status) -> bool {
        let may_replace = self.copying.manner.make == Make::Copies && self.copying.manner.backup.is_none();
        may_replace
            && status.file_type() == FileType::SymbolicLink
            && there.file_type() != FileType::SymbolicLink
            && item.source.status(item.name, Follow::Yes).is_ok_and(|meant| meant.identity() == there.identity())
    }

    /// The link or special file that is there already, if it is the one that would be made and may stay.
    pub fn same_by_name(&self, item: &Item<'_>, status: &Status, leads_to: Option<&[u8]>) -> Option<Status> {
        let (manner, parent) = (self.copying.manner, item.target.directory());
        if manner.skip_same.is_none() || manner.make != Make::Copies || manner.existing != Existing::Replace {
            return None;
        }
        let there = parent.status(item.target_name, Follow::No).ok()?;
        // Its other names must not become names of this copy.
        let is_shared = manner.keep.links
            && ((status.links() < 2 && there.links() > 1)
                || (self.turns.are_several && self.links.is_copy(there.identity())));
        let is_itself = there.identity() == status.identity();
        if is_itself || is_shared || self.is_up_to_date(status, &there) {
            return None;
        }
        let is_same = there.file_type() == status.file_type()
            && match leads_to {
                Some(leads_to) => parent.read_link(item.target_name).is_ok_and(|found| found == leads_to),
                None => there.special_device() == status.special_device(),
            };
        is_same.then_some(there)
    }

    fn is_wanted(
        &self,
        item: &Item<'_>,
        source: Option<BorrowedFd<'_>>,
        status: &Status,
        there: &Status,
        branch: &mut Branch<'_, Self>,
    ) -> Result<bool, Complaint> {
        let manner = self.copying.manner;
        if manner.existing == Existing::Ask && !self.copying.listener.agrees(&item.target_path(self)) {
            return Ok(false);
        }
        let (Some(how), Some(source)) = (manner.skip_same, source) else { return Ok(true) };
        if there.file_type() != FileType::Regular || there.bytes() != status.bytes() {
            return Ok(true);
        }
        if how == Same::Usual {
            return Ok(there.changed_at() != status.changed_at());
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        // What cannot be read cannot be the same.
        let Ok(other) = item.target.directory().open(item.target_name, flags, 0) else { return Ok(true) };
        let mut buffer = std::mem::take(&mut branch.scratch.buffer);
        let same = is_same(source, other.as_fd(), how, buffer.bytes(), || branch.yield_point());
        branch.scratch.buffer = buffer;
        same.map(|same| !same).map_err(Complaint::Read)
    }
}

/// Whether source and target are one name in one directory.
fn is_same_name(item: &Item<'_>) -> bool {
    let directories = [item.source, item.target.directory()].map(|directory| directory.status(c".", Follow::No));
    match directories {
        [Ok(source), Ok(target)] => item.name == item.target_name && source.identity() == target.identity(),
        _ => true,
    }
}

impl Backup {
    /// Whether the backup of `name` would take the place of `source`. COMPAT: asked of the plain backup's name, whatever names there are.
    pub fn is_in_place_of(&self, directory: Directory<'_>, name: &CStr, source: &Status) -> bool {
        let kept = CString::new([name.to_bytes(), &self.suffix].concat());
        self.names != BackupNames::Numbered
            && kept.is_ok_and(|kept| {
                directory.status(&kept, Follow::Yes).is_ok_and(|kept| kept.identity() == source.identity())
            })
    }
}

/// Renames `name` to its backup's name, which is returned.
pub fn back_up(directory: Directory<'_>, name: &CStr, backup: &Backup) -> io::Result<CString> {
    let (kept, replace) = backup_name(directory, name, backup)?;
    directory.rename(name, directory, &kept, replace)?;
    Ok(kept)
}

/// The name of the next backup of `name`, and whether it may be taken from a backup that has it.
pub fn backup_name(directory: Directory<'_>, name: &CStr, backup: &Backup) -> io::Result<(CString, Replace)> {
    let name = name.to_bytes();
    let highest = match backup.names {
        BackupNames::Simple => None,
        BackupNames::Numbered | BackupNames::AsBefore => highest_number(directory, name)?,
    };
    let number = match (backup.names, highest) {
        (BackupNames::Numbered, None) => Some(1),
        (_, highest) => highest.map(|highest| highest + 1),
    };
    let mut kept = match number {
        Some(number) => [name, format!(".~{number}~").as_bytes()].concat(),
        None => [name, &backup.suffix].concat(),
    };
    let is_as_long_as_the_last = highest.is_some_and(|highest| digits(highest) == digits(highest + 1));
    let mut replace = Replace::Yes;
    if backup.names != BackupNames::Simple && !is_as_long_as_the_last && kept.len() > longest_backup(directory) {
        kept = shortened(name, longest_backup(directory));
        if number.is_some() {
            // No numbered backup is lost under another.
            replace = Replace::Never;
        }
    }
    Ok((CString::new(kept).map_err(io::Error::from)?, replace))
}

/// COMPAT: cp leaves one byte of what a name may have, and puts a lone tilde behind what is left of the name.
fn shortened(name: &[u8], longest: usize) -> Vec<u8> {
    let left = if name.len() >= longest { longest - 1 } else { name.len() };
    [&name[..left], b"~"].concat()
}

fn longest_backup(directory: Directory<'_>) -> usize {
    let longest = rustix::fs::fstatfs(directory).ok().and_then(|found| usize::try_from(found.f_namelen).ok());
    longest.filter(|&longest| longest > 2).unwrap_or(255) - 1
}

fn digits(number: u64) -> u32 {
    number.checked_ilog10().unwrap_or(0)
}

/// The highest number among `name.~N~`.
fn highest_number(directory: Directory<'_>, name: &[u8]) -> io::Result<Option<u64>> {
    let list = directory.open(c".", OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
    let (mut buffer, mut highest) = (list_buffer(), None);
    let number = |found: &CStr| -> Option<u64> {
        let rest = found.to_bytes().strip_prefix(name)?.strip_prefix(b".~")?.strip_suffix(b"~")?;
        std::str::from_utf8(rest).ok()?.parse().ok()
    };
    let mut look = |found: &CStr, _: Option<FileType>| highest = highest.max(number(found));
    while !list_some(Directory::of(&list), &mut buffer, &mut look)? {}
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_are_numbered_where_they_were_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = std::fs::File::open(directory.path()).expect("open");
        let keep = |names| {
            std::fs::write(directory.path().join("f"), "x").expect("write");
            let backup = Backup { names, suffix: b"~".to_vec() };
            back_up(Directory::of(&open), c"f", &backup).expect("renamed").into_string().expect("text")
        };
        assert_eq!(keep(BackupNames::AsBefore), "f~");
        assert_eq!(keep(BackupNames::Numbered), "f.~1~");
        assert_eq!(keep(BackupNames::AsBefore), "f.~2~");
        assert_eq!(keep(BackupNames::Simple), "f~");
    }

    #[test]
    fn backups_of_long_names_are_called_as_cp_calls_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = std::fs::File::open(directory.path()).expect("open");
        // What cp 9.1 made on a file system with names of 255 bytes: bytes of the name that are left, and what follows them.
        for (length, names, last, left, behind) in [
            (254, BackupNames::Simple, None, 254, "~"),
            (255, BackupNames::Simple, None, 255, "~"),
            (250, BackupNames::Numbered, None, 250, ".~1~"),
            (251, BackupNames::Numbered, None, 251, "~"),
            (252, BackupNames::Numbered, None, 252, "~"),
            (254, BackupNames::Numbered, None, 253, "~"),
            (255, BackupNames::Numbered, None, 253, "~"),
            (253, BackupNames::AsBefore, None, 253, "~"),
            (254, BackupNames::AsBefore, None, 253, "~"),
            (255, BackupNames::AsBefore, None, 253, "~"),
            (251, BackupNames::AsBefore, Some(3), 251, ".~4~"),
            (251, BackupNames::AsBefore, Some(9), 251, "~"),
            (250, BackupNames::AsBefore, Some(9), 250, "~"),
        ] {
            let name = "n".repeat(length);
            let before = last.map(|last| directory.path().join(format!("{name}.~{last}~")));
            before.iter().for_each(|before| std::fs::write(before, "").expect("written"));
            let backup = Backup { names, suffix: b"~".to_vec() };
            let c_name = CString::new(name.clone()).expect("no zero byte");
            let (kept, _) = backup_name(Directory::of(&open), &c_name, &backup).expect("a name");
            assert_eq!(kept.to_bytes(), format!("{}{behind}", &name[..left]).as_bytes(), "{length} {names:?} {last:?}");
            before.iter().for_each(|before| std::fs::remove_file(before).expect("removed"));
        }
    }
}
