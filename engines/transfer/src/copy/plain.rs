//! The commonest entry by the shortest way: a regular file that gets its bytes, and its owner, mode and times where they are kept, in a directory
//! where nothing has its name. It has no attributes, and no other name where those are kept. Its calls are set in line into the loop over a list
//! (`files::straight` says why). Whatever is not so, or fails, is left as it was found, to `item`, which begins anew and says what there is to say.

use super::data::{STEP_BYTES, Way};
use super::item::Item;
use super::tree::Run;
use super::{Attribute, Keep, Make, Reflink, Sparse};
use crew::scatter::Branch;
use files::{FileType, how, straight};
use rustix::fs::OFlags;
use std::io;
use std::os::fd::AsFd;

/// A source is opened as `item` does where special files are not read.
const SOURCE: OFlags = how::through_links(how::FILE);

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// It is copied.
    Copied,
    /// It is not such a file, or could not be copied this way.
    No,
    /// Nor will its neighbours be: they have attributes as it has, have names that are taken, or get an owner that may not be given.
    NorOthers,
}

impl Run<'_> {
    /// Whether the manner of this run allows that way.
    pub fn may_be_plain(&self) -> bool {
        let manner = &self.copying.manner;
        let reads_special = manner.contents || !manner.recursive;
        let is_told = manner.tells_all || manner.pretends || self.copying.listener.watches() || manner.verify.is_some();
        let bytes_as_usual = manner.sparse == Sparse::Auto && manner.reflink == Reflink::Auto;
        let is_usual = bytes_as_usual && manner.make == Make::Copies && !reads_special && !is_told;
        // An owner without a mode comes to files that nobody else can open meanwhile; who asks for that has time.
        is_usual && (manner.keep.mode || !manner.keep.owner) && straight::is_free()
    }

    /// Copies an entry if it is such a file.
    #[inline(always)]
    pub fn copy_plain(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> Plain {
        let (keep, Some(directory)) = (&self.copying.manner.keep, item.place.directory()) else { return Plain::No };
        // The first file of a directory tells what owner new ones get; `item` asks for it.
        let newborn = directory.newborn.get();
        if keep.owner && newborn.is_none() {
            return Plain::No;
        }
        let flags = SOURCE | item.follow.open_flag();
        let Ok(source) = straight::open(item.source, item.name, flags, 0) else { return Plain::No };
        let Ok(status) = straight::status_of(source.as_fd()) else { return Plain::No };
        let is_one_step = (1..=STEP_BYTES as u64).contains(&status.bytes());
        let is_one_of_several = keep.links && status.links() > 1;
        let is_plain = status.file_type() == FileType::Regular && is_one_step && !is_one_of_several;
        if !is_plain || !self.ways.is_in_kernel(&status, directory.target_device) {
            return Plain::No;
        }
        if directory.inherits || (keeps_attributes(keep) && straight::has_attributes(source.as_fd())) {
            return Plain::NorOthers;
        }
        let is_owner_right = !keep.owner || newborn == Some(&(status.user(), status.group()));
        let mode = keep.mode_of(&status);
        // As `item` has it: nobody else opens it before it has its owner.
        let first_mode = if is_owner_right { mode & 0o777 } else { mode & 0o700 };
        let slot = &branch.scratch.slot;
        let parent = item.target.directory();
        let begun = slot
            .begin(item.target, item.target_name, || straight::open(parent, item.target_name, how::NEW, first_mode));
        let target = match begun {
            Ok((target, _)) => target,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Plain::NorOthers,
            Err(_) => return Plain::No,
        };
        let copied = rustix::fs::copy_file_range(&source, None, &target, None, STEP_BYTES);
        if copied.ok() != usize::try_from(status.bytes()).ok() {
            let _has_one_name = slot.give_up();
            return Plain::No;
        }
        if !is_owner_right && straight::set_owner(target.as_fd(), status.user(), status.group()).is_err() {
            let _has_one_name = slot.give_up();
            return Plain::NorOthers;
        }
        let has_mode = !keep.mode || (is_owner_right && mode == first_mode);
        let is_whole = (has_mode || straight::set_mode(target.as_fd(), mode).is_ok())
            && (!keep.times
                || straight::set_times(target.as_fd(), Some(status.read_at()), Some(status.changed_at())).is_ok())
            && straight::close(target).is_ok();
        if !is_whole {
            let _has_one_name = slot.give_up();
            return Plain::No;
        }
        // What was only read has nothing to tell.
        let _closed = straight::close(source);
        slot.end();
        let scratch = &mut branch.scratch;
        scratch.counts.entries += 1;
        scratch.counts.bytes += status.bytes();
        self.pass(status.bytes(), scratch);
        scratch.ways.count(Way::InKernel);
        Plain::Copied
    }
}

/// Whether `metadata` would ask for their names.
fn keeps_attributes(keep: &Keep) -> bool {
    keep.mode || keep.context || keep.attributes != Attribute::Leave
}
