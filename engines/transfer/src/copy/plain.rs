//! The commonest entry by the shortest way: a regular file that gets no more than its bytes and its mode, in a folder where nothing has its
//! name. Its calls are set in line into the loop over a list (`sys::straight` says why). Whatever is not so, or fails, is left as it was
//! found, to `item`, which begins anew and says what there is to say.

use super::data::{STEP_BYTES, Way};
use super::item::{Item, NEW};
use super::tree::Run;
use super::{Attribute, Make, Reflink, Sparse};
use crew::scatter::Branch;
use std::os::fd::AsFd;
use sys::entry::{Follow, Kind, flags};
use sys::straight;

/// A source is opened as `item` does where special files are not read.
const SOURCE: i32 = flags::O_RDONLY | flags::O_NOCTTY | flags::O_NONBLOCK;

impl Run<'_> {
    /// Whether the manner of this run allows that way.
    pub fn may_be_plain(&self) -> bool {
        let manner = &self.copying.manner;
        let keep = &manner.keep;
        let keeps = keep.mode || keep.owner || keep.times || keep.links || keep.context;
        let reads_special = manner.contents || !manner.recursive;
        let is_told = manner.tells_all || manner.pretends || manner.verify.is_some();
        let bytes_as_usual = manner.sparse == Sparse::Auto && manner.reflink == Reflink::Auto;
        let adds_nothing = !keeps && keep.attributes == Attribute::Leave && !reads_special && !is_told;
        adds_nothing && bytes_as_usual && manner.make == Make::Copies && straight::is_free()
    }

    /// Copies an entry if it is such a file. Whether it did.
    #[inline(always)]
    pub fn copy_plain(&self, item: &Item<'_>, branch: &mut Branch<'_, Self>) -> bool {
        let nofollow = if item.follow == Follow::No { flags::O_NOFOLLOW } else { 0 };
        let Ok(source) = straight::open_at(item.source, item.name, SOURCE | nofollow, 0) else { return false };
        let Ok(status) = straight::status_of(source.as_fd()) else { return false };
        let target_device = item.place.folder().map_or(0, |folder| folder.target_device);
        let is_one_step = (1..=STEP_BYTES as u64).contains(&status.bytes());
        if status.kind() != Kind::File || !is_one_step || !self.ways.is_in_kernel(&status, target_device) {
            return false;
        }
        let slot = &branch.scratch.slot;
        let mode = self.copying.manner.keep.mode_of(&status) & 0o777;
        let parent = item.target.as_fd();
        let begun =
            slot.begin(item.target, item.target_name, || straight::open_at(parent, item.target_name, NEW, mode));
        let Ok((target, _)) = begun else { return false };
        let copied = rustix::fs::copy_file_range(&source, None, &target, None, STEP_BYTES);
        if copied.ok() != usize::try_from(status.bytes()).ok() {
            slot.give_up();
            return false;
        }
        if straight::close(target).is_err() {
            slot.give_up();
            return false;
        }
        // What was only read has nothing to tell.
        let _closed = straight::close(source);
        slot.end();
        let scratch = &mut branch.scratch;
        scratch.counts.entries += 1;
        scratch.counts.bytes += status.bytes();
        scratch.ways.count(Way::InKernel);
        true
    }
}
