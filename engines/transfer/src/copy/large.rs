//! A file that is large enough to be copied in pieces by several hands: each reads while another writes, since the kernel lets only one
//! at a time write to a file.

use super::comparing::is_same;
use super::data::{Bytes, Failed};
use super::existing::PutBack;
use super::half::Slot;
use super::item::{Item, New};
use super::metadata::{Carried, carry};
use super::tree::{Run, Seed};
use super::{Complaint, Make, Sparse};
use crate::finding::Finding;
use crew::scatter::{Branch, Expanded};
use files::{Directory, FileReference, FileType, Follow, HandedFd, Status, own_path};
use rustix::fs::OFlags;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sys::at_offset::report_late_errors;

/// LIMIT: shorter files are not divided: the pieces of less than a few milliseconds each would not meet.
const LARGE_BYTES: u64 = 64 << 20;

/// LIMIT: a piece: some milliseconds of copying, so that the last ones end together.
const PIECE_BYTES: u64 = 4 << 20;

/// LIMIT: pieces that are planted in one step.
const PIECES_PLANTED: u64 = 256;

/// A large file under way.
pub struct Large {
    source: HandedFd,
    target: HandedFd,
    status: Status,
    job: usize,
    source_path: Vec<u8>,
    target_path: Vec<u8>,
    target_device: u64,
    has_lists: bool,
    owner_now: Option<(u32, u32)>,
    mode_now: Option<u32>,
    /// The mode that it gets at the end.
    mode: Option<u32>,
    slot: Arc<Slot>,
    backup: Option<PutBack>,
    has_failed: AtomicBool,
    /// Where the source ended, if that was before it was to: somebody has made it shorter meanwhile.
    ended_at: AtomicU64,
}

/// Whether a file may be copied in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divide {
    /// Here and now.
    Now,
    /// As a task of its own.
    Later,
    /// No: it is part of a task that cannot have parts.
    Never,
}

impl Run<'_> {
    /// Whether a file is to be divided. Not within one file system: there `copy_file_range` moves the bytes once instead of twice, and the
    /// target's lock lets one hand write at a time, so that two took half as much CPU again and no less time.
    pub fn is_large(&self, item: &Item<'_>, status: &Status) -> bool {
        let is_dense = status.allocated_bytes() >= status.bytes() && self.copying.manner.sparse != Sparse::Always;
        let manner = self.copying.manner;
        let is_long = manner.make == Make::Copies && is_dense && status.bytes() >= LARGE_BYTES;
        // Who sees the bytes sees them in order.
        is_long && !self.copying.listener.watches() && leaves_its_file_system(item, status) && !leads_to_special(item)
    }
}

/// LIMIT: devices are compared: parts of one file system that have numbers of their own count as two.
fn leaves_its_file_system(item: &Item<'_>, status: &Status) -> bool {
    let target = item.target.directory().status(c".", Follow::No);
    target.is_ok_and(|target| target.identity().device != status.identity().device)
}

/// Whether something that is no regular file is to be written to: a pipe, a device.
fn leads_to_special(item: &Item<'_>) -> bool {
    let there = item.target.directory().status(item.target_name, Follow::Yes);
    there.is_ok_and(|there| there.file_type() != FileType::Regular)
}

impl Large {
    /// A file whose copy has been made.
    pub fn new(
        run: &Run<'_>,
        item: &Item<'_>,
        source: OwnedFd,
        status: Status,
        new: New,
        slot: Arc<Slot>,
        backup: Option<PutBack>,
    ) -> Self {
        let directory = item.place.directory();
        Self {
            source: source.into(),
            target: new.file.into(),
            job: item.place.job(),
            source_path: item.source_path(run),
            target_path: item.target_path(run),
            target_device: directory.map_or(0, |directory| directory.target_device),
            has_lists: !new.is_new || directory.is_none_or(|directory| directory.inherits),
            owner_now: new.owner_now,
            mode_now: new.mode_now,
            mode: run.copying.manner.keep.mode.then_some(status.mode()).or(new.mode_later),
            status,
            slot,
            backup,
            has_failed: AtomicBool::new(false),
            ended_at: AtomicU64::new(u64::MAX),
        }
    }

    fn bytes<'a>(&'a self, run: &Run<'_>) -> Bytes<'a> {
        Bytes {
            source: self.source.as_fd(),
            target: self.target.as_fd(),
            status: &self.status,
            target_device: self.target_device,
            // Nothing else is divided.
            is_file: true,
            sparse: run.copying.manner.sparse,
            reflink: run.copying.manner.reflink,
        }
    }

    /// Shares all blocks, if that can be done; then there are no pieces.
    pub fn share<'r>(&self, run: &Run<'r>, branch: &mut Branch<'_, Run<'r>>) -> bool {
        match run.ways.share(&self.bytes(run)) {
            Ok(is_shared) => is_shared,
            Err(failed) => {
                self.fail(run, failed, branch);
                true
            }
        }
    }

    /// Plants the next pieces.
    pub fn spawn_pieces(&self, next: &mut u64, branch: &mut Branch<'_, Run<'_>>) -> Expanded {
        let pieces = self.status.bytes().div_ceil(PIECE_BYTES);
        let end = (*next + PIECES_PLANTED).min(pieces);
        (*next..end).for_each(|number| branch.spawn(Seed::Piece(number)));
        *next = end;
        if end < pieces { Expanded::More } else { Expanded::Done }
    }

    /// Copies one piece.
    pub fn copy_piece<'r>(&self, number: u64, run: &Run<'r>, branch: &mut Branch<'_, Run<'r>>) {
        if self.has_failed() {
            return;
        }
        if let Err(failed) = self.reach() {
            return self.fail(run, failed, branch);
        }
        let from = number * PIECE_BYTES;
        let to = (from + PIECE_BYTES).min(self.status.bytes());
        let mut buffer = std::mem::take(&mut branch.scratch.buffer);
        let copied = run.ways.copy_range(&self.bytes(run), buffer.bytes(), from, to, |_| branch.yield_point());
        branch.scratch.buffer = buffer;
        match copied {
            Ok(end) => {
                branch.scratch.counts.bytes += end - from;
                if end < to {
                    self.ended_at.fetch_min(end, Ordering::AcqRel);
                }
            }
            Err(failed) => self.fail(run, failed, branch),
        }
    }

    /// Makes sure that this thread has both files.
    fn reach(&self) -> Result<(), Failed> {
        self.source.reach().map_err(Failed::Reading)?;
        self.target.reach().map(drop).map_err(Failed::Writing)
    }

    /// COMPAT: what was cut off while it was copied is copied up to there, as by one hand that comes to the end.
    fn end_where_the_source_ended(&self) -> Result<(), Failed> {
        match self.ended_at.load(Ordering::Acquire) {
            u64::MAX => Ok(()),
            end => rustix::fs::ftruncate(&self.target, end).map_err(|error| Failed::Writing(error.into())),
        }
    }

    /// Whether anything went wrong with its bytes.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    fn fail<'r>(&self, run: &Run<'r>, failed: Failed, branch: &mut Branch<'_, Run<'r>>) {
        // One piece's failure tells of the file.
        if self.has_failed.swap(true, Ordering::AcqRel) {
            return;
        }
        let complaint = match failed {
            Failed::Reading(error) => Complaint::Read(error),
            Failed::Writing(error) => Complaint::Write(self.target_path.clone(), error),
            Failed::Sharing(error) => Complaint::Share(self.target_path.clone(), error),
        };
        self.complain(run, complaint, branch);
    }

    fn complain<'r>(&self, run: &Run<'r>, complaint: Complaint, branch: &mut Branch<'_, Run<'r>>) {
        run.keep_finding(Finding { operand: self.job, path: self.source_path.clone(), complaint }, branch);
    }

    fn give_up<'r>(&self, run: &Run<'r>, branch: &mut Branch<'_, Run<'r>>) {
        run.give_up(&self.slot, branch);
        if let Some(backup) = &self.backup {
            backup.put_back();
        }
    }

    /// All pieces are there.
    pub fn finish<'r>(&self, run: &Run<'r>, branch: &mut Branch<'_, Run<'r>>) {
        if let Err(failed) = self.reach().and_then(|()| self.end_where_the_source_ended()) {
            self.fail(run, failed, branch);
        }
        if self.has_failed() {
            self.give_up(run, branch);
        } else {
            // What is read back is read before its times are set.
            if let Err(complaint) = self.verify(run, branch) {
                self.give_up(run, branch);
                self.complain(run, complaint, branch);
            }
            let carried = Carried {
                from: FileReference::Open(self.source.as_fd()),
                to: FileReference::Open(self.target.as_fd()),
                status: &self.status,
                owner_now: self.owner_now,
                mode_now: self.mode_now,
                mode: self.mode,
                has_lists: self.has_lists,
                special: 0,
                is_link: false,
            };
            for refused in carry(&carried, &run.copying.manner.keep, &mut branch.scratch.attributes) {
                let complaint = Complaint::Keep(refused.what, self.target_path.clone(), refused.cause);
                self.complain(run, complaint, branch);
            }
            if let Err(error) = report_late_errors(&self.target) {
                self.give_up(run, branch);
                self.complain(run, Complaint::Write(self.target_path.clone(), error), branch);
            }
        }
        self.slot.end();
    }

    fn verify<'r>(&self, run: &Run<'r>, branch: &mut Branch<'_, Run<'r>>) -> Result<(), Complaint> {
        let Some(how) = run.copying.manner.verify else { return Ok(()) };
        // Through `/proc` the very file that was written is opened for reading, whatever has its name by now.
        let mut buffer = std::mem::take(&mut branch.scratch.buffer);
        let same = Directory::here().open(&own_path(&self.target), OFlags::RDONLY, 0).and_then(|target| {
            is_same(self.source.as_fd(), target.as_fd(), how, buffer.bytes(), || branch.yield_point())
        });
        branch.scratch.buffer = buffer;
        match same {
            Ok(true) => Ok(()),
            Ok(false) => Err(Complaint::Differs(self.target_path.clone())),
            Err(error) => Err(Complaint::Verify(self.target_path.clone(), error)),
        }
    }
}
