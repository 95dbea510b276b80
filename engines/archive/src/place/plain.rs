//! The commonest member by the shortest way: a regular file, all of its bytes at hand, whose directory gives it owner and mode from the beginning. Its
//! calls are set in line into the loop over a chunk (`files::straight` says why). Whatever is not so, or fails, is left as it was found to the usual
//! way, which begins anew and says what there is to say.

use super::{Existing, Manner, Placer, split};
use crate::member::Member;
use files::{how, straight};
use std::ffi::CStr;
use std::os::fd::AsFd;

/// Whether this manner allows that way.
pub fn may_be_plain(manner: &Manner) -> bool {
    !matches!(manner.existing, Existing::Unlink | Existing::Overwrite) && straight::is_free()
}

impl Placer<'_> {
    /// Makes `member` with `bytes` in it if it is such a file. Whether it did.
    #[inline(always)]
    pub fn plain_file(&mut self, member: &Member, bytes: &[u8]) -> bool {
        let restore = &self.manner.restore;
        if !self.may_be_plain || member.sparse.is_some() || restore.gives_more(member) {
            return false;
        }
        let (parent, last) = split(&member.path);
        let Ok(directory) = self.directories.directory(parent) else { return false };
        let mode = member.mode & 0o777 & !self.manner.umask;
        self.name.clear();
        self.name.extend_from_slice(last);
        self.name.push(0);
        let Ok(name) = CStr::from_bytes_with_nul(&self.name) else { return false };
        if !directory.settles(restore, member, mode) {
            return false;
        }
        let make = || straight::open(directory.directory(), name, how::NEW, mode);
        let Ok((file, entry)) = self.noted.begin(&directory, last, make) else { return false };
        let is_written = bytes.is_empty() || straight::write_at(file.as_fd(), bytes, 0).is_ok_and(|n| n == bytes.len());
        let is_timed =
            !restore.times.is_wanted() || straight::set_times(file.as_fd(), member.atime, Some(member.mtime)).is_ok();
        let is_closed = straight::close(file).is_ok();
        let is_made = is_written && is_timed && is_closed;
        if !is_made {
            let _nothing_more_to_be_done = directory.directory().remove(last);
        }
        entry.leave();
        is_made
    }
}
