//! Small files: one worker opens, reads and hashes a file as a whole, a batch of files a task. What turns out to be large, or to be no file, is left
//! for the pipeline (`divided`). Theory: `engines/digest/README.md`.

use crate::emitter::Done;
use crate::error::DigestError;
use crate::reading::{InMemory, ask_for, open, read_at, read_what_is_there};
use crate::run::{DigestItem, DigestSource, Digested};
use crate::stream::stream_hash;
use crate::tally::DigestTally;
use crew::scatter::{Begun, Branch, Expanded, Tree, TreeNode};
use files::{FileType, Status};
use parking_lot::Mutex;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use sys::at_offset::read_full_at;

/// LIMIT: files of a task. Each may be open at the same time, so that the storage has as many requests; more would leave other workers without a task
/// at the end of a window.
pub(crate) const BATCH_FILES: usize = 16;

/// Bytes that a worker reads at once. More leaves its cache before it is hashed, less costs system calls.
pub(crate) const READ_BYTES: usize = 256 << 10;

/// A window of items of which the small ones are hashed.
pub(crate) struct Whole<'a> {
    pub items: &'a [DigestItem],
    pub done: &'a Done<'a>,
    pub tally: &'a DigestTally,
    /// Files of at least so many bytes are left for the pipeline.
    pub large_bytes: u64,
    /// What is left for it.
    pub left: Mutex<Vec<LeftItem>>,
    /// Finds the items of the next window, meanwhile.
    pub look_ahead: &'a (dyn Fn() + Sync),
}

/// An item that is left for the pipeline.
pub(crate) struct LeftItem {
    pub number: usize,
    /// A stream that has been opened: whoever writes to a FIFO would lose its reader if it was closed now.
    pub open: Mutex<Option<File>>,
}

/// A task.
pub(crate) enum WholeTask {
    LookAhead,
    Batch(Range<usize>),
}

impl Tree for Whole<'_> {
    type Task = WholeTask;
    type Node = ();
    type Expansion = ();
    type Scratch = Vec<u8>;
    type Report = ();

    fn scratch(&self, _worker: usize) -> Vec<u8> {
        vec![0; READ_BYTES]
    }

    fn begin(
        &self,
        task: WholeTask,
        _above: Option<&Arc<TreeNode<()>>>,
        branch: &mut Branch<'_, Self>,
    ) -> Begun<(), ()> {
        match task {
            WholeTask::LookAhead => (self.look_ahead)(),
            WholeTask::Batch(batch) => self.batch(batch, branch),
        }
        Begun::Done
    }

    fn expand(&self, _: &Arc<TreeNode<()>>, _: &mut (), _: &mut Branch<'_, Self>) -> Expanded {
        Expanded::Done
    }

    fn leave(&self, _: &TreeNode<()>, _: Option<&Arc<TreeNode<()>>>, _: &mut Branch<'_, Self>) {}

    fn tell(&self, _: Vec<()>) {}
}

impl Whole<'_> {
    /// First what is in memory; meanwhile the storage brings the rest.
    fn batch(&self, batch: Range<usize>, branch: &mut Branch<'_, Self>) {
        let mut waited_for = Vec::new();
        for number in batch {
            match self.look_at(number, branch) {
                Ok(Some(file)) => waited_for.push((number, file)),
                Ok(None) => {}
                Err(error) => self.done(number, Err(error)),
            }
            branch.yield_point();
        }
        for (number, file) in waited_for {
            let digested = self.read_on(number, &file, branch);
            self.done(number, digested);
        }
    }

    /// Opens a file, and hashes it if all of it is in memory and fits. A file that has to be waited for is returned.
    fn look_at(&self, number: usize, branch: &mut Branch<'_, Self>) -> Result<Option<File>, DigestError> {
        let item = &self.items[number];
        let leave = |open| {
            self.left.lock().push(LeftItem { number, open: Mutex::new(open) });
            Ok(None)
        };
        if item.source == DigestSource::Stdin {
            return leave(None);
        }
        let begin = Instant::now();
        let file = open(item)?;
        let status = Status::of(&file).map_err(DigestError::Open)?;
        match status.file_type() {
            FileType::Directory => return Err(DigestError::Directory),
            FileType::Regular if status.bytes() < self.large_bytes => {}
            FileType::Regular => return leave(None),
            _ => return leave(Some(file)),
        }
        let bytes = status.bytes() as usize;
        // LIE: files of /proc have no size and some contents.
        if bytes == 0 || bytes > branch.scratch.len() {
            return Ok(Some(file));
        }
        let room = &mut branch.scratch[..bytes];
        let count = match read_what_is_there(&file, room, 0) {
            InMemory::Read(count) => count,
            InMemory::Unknown => {
                read_full_at(&file, room, 0).map_err(|cause| DigestError::Read { offset: 0, cause })?
            }
            InMemory::NotYet => 0,
        };
        if count != bytes {
            ask_for(&file, 0, status.bytes());
            return Ok(Some(file));
        }
        let read = Instant::now();
        let values = item.algorithms.iter().map(|algorithm| {
            let mut hash = stream_hash(*algorithm);
            hash.update(room);
            hash.finish()
        });
        let digested = Digested { values: values.collect(), bytes: bytes as u64 };
        self.tally.spent(begin, read, Instant::now());
        self.done(number, Ok(digested));
        Ok(None)
    }

    /// Reads a file to its end, part by part.
    fn read_on(&self, number: usize, file: &File, branch: &mut Branch<'_, Self>) -> Result<Digested, DigestError> {
        let algorithms = &self.items[number].algorithms;
        let mut hashes: Vec<_> = algorithms.iter().map(|algorithm| stream_hash(*algorithm)).collect();
        let mut offset = 0;
        loop {
            let begin = Instant::now();
            let count = read_at(file, &mut branch.scratch, offset, self.large_bytes)?;
            let read = Instant::now();
            hashes.iter_mut().for_each(|hash| hash.update(&branch.scratch[..count]));
            self.tally.spent(begin, read, Instant::now());
            offset += count as u64;
            if count < branch.scratch.len() {
                break;
            }
            branch.yield_point();
        }
        Ok(Digested { values: hashes.into_iter().map(|hash| hash.finish()).collect(), bytes: offset })
    }

    fn done(&self, number: usize, result: Result<Digested, DigestError>) {
        self.tally.file_is_done();
        self.tally.took_whole(result.as_ref().map_or(0, |digested| digested.bytes));
        (self.done)(number, result);
    }
}
