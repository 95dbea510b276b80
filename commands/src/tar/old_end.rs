//! Where an archive in a file ended before something was put behind it: where that fails, or a signal ends it, the file is again what it was.

use crate::context::Context;
use ::archive::write::end_archive;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The end of what was there.
#[derive(Clone)]
pub struct OldEnd {
    file: Arc<File>,
    /// Behind the last member.
    pub base: u64,
    /// A file without a byte is no archive, but others can be added to it.
    was_empty: bool,
    is_left: Arc<AtomicBool>,
}

impl OldEnd {
    /// `file` ends at `base` as an archive. From here on a signal puts that back.
    pub fn note(context: &Context, file: Arc<File>, base: u64) -> io::Result<Self> {
        let was_empty = file.metadata()?.len() == 0;
        let noted = Self { file, base, was_empty, is_left: Arc::default() };
        let at_signals = noted.clone();
        context.last_acts.add(move || at_signals.put_back());
        Ok(noted)
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What was written behind it goes.
    pub fn put_back(&self) {
        if self.is_left.load(Ordering::Acquire) {
            return;
        }
        let mut mark = Vec::new();
        if !self.was_empty {
            end_archive(self.base, &mut mark);
        }
        let cut = self.file.set_len(self.base);
        let _told_by_the_failure = cut.and_then(|()| sys::at_offset::write_all_at(&self.file, &mark, self.base));
    }

    /// The archive is complete with `bytes` behind the old end, and ends there.
    pub fn leave(&self, bytes: u64) -> io::Result<()> {
        // What stood behind the old end mark is no part of it.
        let ended = self.file.set_len(self.base + bytes).and_then(|()| sys::at_offset::report_late_errors(&*self.file));
        match &ended {
            Ok(()) => self.is_left.store(true, Ordering::Release),
            Err(_) => self.put_back(),
        }
        ended
    }
}
