//! Data of files that are archived: opened before they are laid out, read by workers, looked at again when they have been read. Lays nothing out.

use super::Event;
use crate::member::Extent;
use files::{Moment, Status};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sys::at_offset::read_full_at;

/// A file whose data are archived, over one chunk or several.
pub struct Source {
    pub(super) file: File,
    pub(super) extents: Option<Vec<Extent>>,
    pub(super) path: Vec<u8>,
    pub(super) ctime: Moment,
    pub(super) size: u64,
    /// Whether it was told that it cannot be read.
    pub(super) failed: AtomicBool,
    /// Whether it was told that it ends before its size.
    pub(super) shrank: AtomicBool,
    open: Counted,
}

/// Some of what is held of a kind, counted while it is.
pub(super) struct Counted {
    all: Arc<AtomicUsize>,
    these: usize,
}

impl Counted {
    pub(super) fn among(all: &Arc<AtomicUsize>, these: usize) -> Self {
        // ORDER: a count of its own; a moment's error costs one descriptor, or one name.
        all.fetch_add(these, Ordering::Relaxed);
        Self { all: Arc::clone(all), these }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.all.fetch_sub(self.these, Ordering::Relaxed);
    }
}

impl Source {
    pub(super) fn new(file: File, extents: Option<Vec<Extent>>, path: Vec<u8>, status: &Status, open: Counted) -> Self {
        let (failed, shrank) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { file, extents, path, ctime: status.status_changed_at(), size: status.bytes(), failed, shrank, open }
    }

    /// Files that are open.
    pub(super) fn open_now(&self) -> usize {
        self.open.all.load(Ordering::Relaxed)
    }

    /// Fills `target` with its stored bytes from `from` on. Zeros stand for what is missing; returns how many bytes the file lacks if it
    /// ended there.
    pub(super) fn read(&self, from: u64, target: &mut [u8]) -> io::Result<Option<u64>> {
        let Some(extents) = &self.extents else {
            return self.read_stretch(from, target);
        };
        let (mut stored, mut at, mut missing) = (0, 0, None);
        for extent in extents {
            let begin = (from + at as u64).max(stored);
            let end = stored + extent.bytes;
            if at < target.len() && begin < end {
                let count = (end - begin).min((target.len() - at) as u64) as usize;
                let lacks = self.read_stretch(extent.offset + (begin - stored), &mut target[at..at + count])?;
                missing = missing.or(lacks);
                at += count;
            }
            stored = end;
        }
        Ok(missing)
    }

    fn read_stretch(&self, offset: u64, target: &mut [u8]) -> io::Result<Option<u64>> {
        let read = read_full_at(&self.file, target, offset)?;
        if read == target.len() {
            return Ok(None);
        }
        target[read..].fill(0);
        self.missing(offset, read)
    }

    /// How much of its size it lacks, having ended `read` bytes behind `offset`; none if it ended before `offset`, which the stretch in
    /// front of that reports.
    fn missing(&self, offset: u64, read: usize) -> io::Result<Option<u64>> {
        let now = Status::of(&self.file)?.bytes();
        // LIE: in /sys the size is a page, whatever there is to read.
        let is_said = now < self.size;
        let ends_here = || Ok::<_, io::Error>(offset == 0 || read_full_at(&self.file, &mut [0], offset - 1)? == 1);
        Ok(match (read, is_said) {
            (1.., _) => Some(self.size - (offset + read as u64)),
            (0, true) => Some(self.size - now),
            (0, false) => ends_here()?.then(|| self.size - offset),
        })
    }

    /// Whether it became another since it was looked at. COMPAT: as GNU tar has it, a name more or less is a change.
    pub(super) fn change(&self) -> Option<Event> {
        let now = Status::of(&self.file).ok()?;
        (now.status_changed_at() != self.ctime || now.bytes() != self.size)
            .then(|| Event::Changed { path: self.path.clone() })
    }
}
