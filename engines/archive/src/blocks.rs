//! Archives that arrive in order: from pipes, out of decoders. The bytes come in blocks; whoever extracts takes a block as it is,
//! so that data are not copied on their way.

use crate::read::begins_with_a_whole_header;
use crate::source::Source;
use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::wake::{is_readable, is_readable_within};

/// Bytes of a block that is read from a pipe. Smaller costs hand-overs, larger leaves the second-level cache.
pub const BLOCK_TARGET_BYTES: usize = 1 << 20;

/// Bytes of an archive, alone in their memory or beside the blocks before and after them.
#[derive(Debug, Default)]
pub struct Block {
    memory: Option<Arc<Vec<u8>>>,
    range: Range<usize>,
}

impl Block {
    /// All of `bytes` as blocks of at most `most`, each a part of the same memory.
    pub fn parts(bytes: Vec<u8>, most: usize) -> impl Iterator<Item = Self> {
        let (end, memory) = (bytes.len(), Arc::new(bytes));
        (0..end).step_by(most).map(move |from| {
            let range = from..end.min(from + most);
            Self { memory: Some(Arc::clone(&memory)), range }
        })
    }

    /// Keeps what stands before `at`, and returns the rest.
    fn split_off(&mut self, at: usize) -> Self {
        let middle = self.range.start + at;
        let rest = Self { memory: self.memory.clone(), range: middle..self.range.end };
        self.range.end = middle;
        rest
    }

    /// Its memory, to be used again; none where other blocks are in it still.
    pub fn emptied(self) -> Vec<u8> {
        self.memory.and_then(Arc::into_inner).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), memory: Some(Arc::new(bytes)) }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |bytes| &bytes[self.range.clone()])
    }
}

/// Where blocks come from.
pub trait BlockFeed: Send {
    /// The next block, in `emptied` if it likes; an empty one at the end.
    fn next_block(&mut self, emptied: Vec<u8>) -> io::Result<Block>;

    /// Whether nothing is there yet that the next block could begin with.
    fn is_waiting(&mut self) -> bool {
        false
    }
}

/// A block in memory: tests.
impl BlockFeed for std::vec::IntoIter<Vec<u8>> {
    fn next_block(&mut self, _emptied: Vec<u8>) -> io::Result<Block> {
        Ok(self.find(|block| !block.is_empty()).unwrap_or_default().into())
    }
}

/// A pipe, or anything that is read.
pub struct Piped {
    /// What was read of it before.
    head: Vec<u8>,
    file: File,
}

/// A writer that rests for so long is slow: a block is handed on with what there is. Those that are not fill a block in less.
const REST: Duration = Duration::from_millis(20);

/// What a block that has `begun` may still be waited for. From then on it takes only what is there already.
fn left_of_rest(begun: Option<Instant>) -> Duration {
    begun.map_or(REST, |begun| REST.saturating_sub(begun.elapsed()))
}

impl Piped {
    /// A pipe of which `head` was read.
    pub fn new(head: Vec<u8>, file: File) -> Self {
        Self { head, file }
    }
}

impl BlockFeed for Piped {
    fn next_block(&mut self, mut emptied: Vec<u8>) -> io::Result<Block> {
        let mut filled = self.head.len();
        emptied.resize(BLOCK_TARGET_BYTES.max(filled), 0);
        emptied[..filled].copy_from_slice(&std::mem::take(&mut self.head));
        let mut begun = None;
        while filled < emptied.len() && (filled == 0 || is_readable_within(&self.file, left_of_rest(begun))) {
            match self.file.read(&mut emptied[filled..]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    begun.get_or_insert_with(Instant::now);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        emptied.truncate(filled);
        Ok(emptied.into())
    }

    fn is_waiting(&mut self) -> bool {
        self.head.is_empty() && !is_readable(&self.file)
    }
}

/// Reads headers out of blocks, and hands on what lies between.
pub struct BlockSource {
    feed: Box<dyn BlockFeed>,
    block: Block,
    at: usize,
    /// Where `block` begins in the archive.
    block_from: u64,
    /// The block that was left last, until somebody takes it.
    left: Option<Block>,
    /// Memory of blocks that were read, for later ones: no more than was ever in use at once.
    spare: Vec<Vec<u8>>,
    ended: bool,
    is_endless: bool,
}

impl BlockSource {
    /// Over all blocks of `feed`.
    pub fn new(feed: Box<dyn BlockFeed>) -> Self {
        let (block, spare) = (Block::default(), Vec::new());
        Self { feed, block, at: 0, block_from: 0, left: None, spare, ended: false, is_endless: false }
    }

    /// Over a device: what stands behind the archive is not the archive's, and may have no end.
    pub fn endless(self) -> Self {
        Self { is_endless: true, ..self }
    }

    /// Bytes of the block that are still ahead.
    pub fn ahead(&self) -> &[u8] {
        &self.block[self.at..]
    }

    /// Where in its block the next byte stands.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether a block was left behind that nobody has taken.
    pub fn has_left(&self) -> bool {
        self.left.is_some()
    }

    /// The block that was left behind, else what was read of the one at hand. `spare` is used for a later one.
    pub fn take_block(&mut self, spare: Block) -> Block {
        self.is_read(spare);
        if let Some(left) = self.left.take() {
            return left;
        }
        let rest = self.block.split_off(self.at);
        self.block_from += self.at as u64;
        self.at = 0;
        std::mem::replace(&mut self.block, rest)
    }

    /// Whether the next header is still to come, in whole or in part: who waits for it holds up what stands before it.
    pub fn must_wait_for_a_header(&mut self) -> bool {
        !begins_with_a_whole_header(self.ahead()) && self.feed.is_waiting()
    }

    /// Takes a block back that nobody needs: it is used for a later one.
    pub fn is_read(&mut self, block: Block) {
        let memory = block.emptied();
        if memory.capacity() > 0 {
            self.spare.push(memory);
        }
    }

    /// Moves on inside the block.
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        assert!(self.at <= self.block.len(), "only bytes of the block at hand");
    }

    /// Makes sure that a byte is ahead; false at the end.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.at < self.block.len() {
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        let next = self.feed.next_block(self.spare.pop().unwrap_or_default())?;
        self.ended = next.is_empty();
        let old = std::mem::replace(&mut self.block, next);
        self.block_from += old.len() as u64;
        self.at = 0;
        // Only the first of several has anything besides headers that somebody may still need.
        if self.left.is_none() && !old.is_empty() {
            self.left = Some(old);
        } else {
            self.is_read(old);
        }
        Ok(!self.ended)
    }

    /// Reads to the end, a block that was left behind stays: what a decoder finds there, it must be asked for.
    pub fn drain(&mut self) -> io::Result<()> {
        while !self.is_endless && self.fill()? {
            self.at = self.block.len();
        }
        Ok(())
    }
}

impl Source for BlockSource {
    fn position(&self) -> u64 {
        self.block_from + self.at as u64
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < target.len() && self.fill()? {
            let count = self.ahead().len().min(target.len() - filled);
            target[filled..filled + count].copy_from_slice(&self.block[self.at..self.at + count]);
            self.at += count;
            filled += count;
        }
        Ok(filled)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let mut skipped = 0;
        while skipped < bytes && self.fill()? {
            let count = (self.ahead().len() as u64).min(bytes - skipped);
            self.at += count as usize;
            skipped += count;
        }
        Ok(skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    /// Blocks of ten bytes, and what came back for each.
    struct Counted(Arc<Mutex<Vec<bool>>>);

    impl BlockFeed for Counted {
        fn next_block(&mut self, emptied: Vec<u8>) -> io::Result<Block> {
            self.0.lock().push(emptied.capacity() > 0);
            Ok(vec![7; 10].into())
        }
    }

    #[test]
    fn memory_of_every_block_comes_back_whether_or_not_headers_cross_their_borders() {
        let came_back = Arc::new(Mutex::new(Vec::new()));
        let mut source = BlockSource::new(Box::new(Counted(Arc::clone(&came_back))));
        let mut chunk = Block::default();
        for turn in 0..20 {
            // What is read of every third block reaches into the next one.
            let bytes = if turn % 3 == 0 { 15 } else { 5 };
            assert_eq!(source.skip(bytes).expect("blocks without end"), bytes);
            let rest = source.ahead().len();
            if !source.has_left() {
                source.advance(rest);
            }
            chunk = source.take_block(chunk);
        }
        let lent = came_back.lock().iter().filter(|&&is_memory| !is_memory).count();
        assert!(lent <= 3, "{lent} new blocks, where three are in use at once");
    }
}
