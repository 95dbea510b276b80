//! Archives that arrive in order: from pipes, out of decoders. The bytes come in blocks; whoever extracts takes a block as it is,
//! so that data are not copied on their way.

use crate::source::Source;
use std::io;

/// Bytes of a block that is read from a pipe. Smaller costs hand-overs, larger leaves the second-level cache.
pub const BLOCK_TARGET_BYTES: usize = 1 << 20;

/// Where blocks come from.
pub trait BlockFeed: Send {
    /// The next block, in `emptied` if it likes; an empty one at the end.
    fn next_block(&mut self, emptied: Vec<u8>) -> io::Result<Vec<u8>>;
}

/// A block in memory: tests.
impl BlockFeed for std::vec::IntoIter<Vec<u8>> {
    fn next_block(&mut self, _emptied: Vec<u8>) -> io::Result<Vec<u8>> {
        Ok(self.find(|block| !block.is_empty()).unwrap_or_default())
    }
}

/// A pipe, or anything that is read.
pub struct Piped<R>(pub R);

impl<R: io::Read + Send> BlockFeed for Piped<R> {
    fn next_block(&mut self, mut emptied: Vec<u8>) -> io::Result<Vec<u8>> {
        emptied.resize(BLOCK_TARGET_BYTES, 0);
        let mut filled = 0;
        while filled < emptied.len() {
            match self.0.read(&mut emptied[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        emptied.truncate(filled);
        Ok(emptied)
    }
}

/// Reads headers out of blocks, and hands on what lies between.
pub struct BlockSource {
    feed: Box<dyn BlockFeed>,
    block: Vec<u8>,
    at: usize,
    /// Where `block` begins in the archive.
    block_from: u64,
    /// The block that was left last, until somebody takes it.
    left: Option<Vec<u8>>,
    spare: Vec<u8>,
    ended: bool,
}

impl BlockSource {
    /// Over all blocks of `feed`.
    pub fn new(feed: Box<dyn BlockFeed>) -> Self {
        let (block, spare) = (Vec::new(), Vec::new());
        Self { feed, block, at: 0, block_from: 0, left: None, spare, ended: false }
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

    /// The block that was left behind, else the one at hand, which then counts as read. `spare` is used for a later one.
    pub fn take_block(&mut self, spare: Vec<u8>) -> Vec<u8> {
        self.spare = spare;
        if let Some(left) = self.left.take() {
            return left;
        }
        self.block_from += self.block.len() as u64;
        self.at = 0;
        std::mem::take(&mut self.block)
    }

    /// Takes a block back that nobody needs: it is used for a later one.
    pub fn is_read(&mut self, block: Vec<u8>) {
        self.spare = block;
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
        let next = self.feed.next_block(std::mem::take(&mut self.spare))?;
        self.ended = next.is_empty();
        let old = std::mem::replace(&mut self.block, next);
        self.block_from += old.len() as u64;
        self.at = 0;
        // Only the first of several has anything besides headers that somebody may still need.
        if self.left.is_none() && !old.is_empty() {
            self.left = Some(old);
        } else {
            self.spare = old;
        }
        Ok(!self.ended)
    }

    /// Reads to the end, a block that was left behind stays: what a decoder finds there, it must be asked for.
    pub fn drain(&mut self) -> io::Result<()> {
        while self.fill()? {
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
