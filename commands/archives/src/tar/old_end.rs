//! Where an archive in a file ended before something was put behind it: where that fails, or a signal ends it, the file is again what it was.

use ::archive::write::end_archive;
use mh_kit::context::Context;
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// The end of what was there.
#[derive(Clone)]
pub struct OldEnd {
    file: Arc<File>,
    /// Behind the last member.
    pub base: u64,
    /// A file without a byte is no archive, but others can be added to it.
    was_empty: bool,
    /// Whether it is the archive's end no more. Held by whoever decides that.
    is_left: Arc<Mutex<bool>>,
}

impl OldEnd {
    /// `file` ends at `base` as an archive. From here on a signal puts that back.
    pub fn note(context: &Context, file: Arc<File>, base: u64) -> io::Result<Self> {
        let was_empty = file.metadata()?.len() == 0;
        let noted = Self { file, base, was_empty, is_left: Arc::default() };
        let at_signals = noted.clone();
        context.last_acts.add(move || at_signals.put_back_for_good());
        Ok(noted)
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What was written behind it goes.
    pub fn put_back(&self) {
        self.cut(*self.is_left());
    }

    /// As above, for a process that ends: what other threads still write comes no more, and none of them goes on from here. The kernel looks at the
    /// limit with the file's lock held, which cutting it off takes as well.
    fn put_back_for_good(&self) {
        let is_left = self.is_left();
        let limit = getrlimit(Resource::Fsize);
        let end = self.base + self.end_mark().len() as u64;
        if !*is_left && limit.current.is_none_or(|current| current > end) {
            let _else_they_go_on = setrlimit(Resource::Fsize, Rlimit { current: Some(end), ..limit });
        }
        self.cut(*is_left);
        std::mem::forget(is_left);
    }

    fn cut(&self, is_left: bool) {
        if is_left {
            return;
        }
        let cut = self.file.set_len(self.base);
        let _told_by_the_failure =
            cut.and_then(|()| sys::at_offset::write_all_at(&self.file, &self.end_mark(), self.base));
    }

    fn is_left(&self) -> MutexGuard<'_, bool> {
        self.is_left.lock()
    }

    fn end_mark(&self) -> Vec<u8> {
        let mut mark = Vec::new();
        if !self.was_empty {
            end_archive(self.base, &mut mark);
        }
        mark
    }

    /// The archive is complete with `bytes` behind the old end, and ends there.
    pub fn leave(&self, bytes: u64) -> io::Result<()> {
        let mut is_left = self.is_left();
        // What stood behind the old end mark is no part of it.
        let ended = self.file.set_len(self.base + bytes).and_then(|()| sys::at_offset::report_late_errors(&*self.file));
        *is_left = ended.is_ok();
        self.cut(*is_left);
        ended
    }
}
