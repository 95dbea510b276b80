//! Where a reader of archives takes bytes from: a regular file by offset, or blocks that arrive in order.
//! Headers are read here; the data of members are left to whoever extracts.

use crate::member::BLOCK_BYTES;
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::at_offset::read_full_at;

/// Bytes in order.
pub trait Source {
    /// Where the next byte stands in the archive.
    fn position(&self) -> u64;
    /// Fills `target`; fewer bytes only where the archive ends.
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize>;
    /// Moves on by `bytes`; by fewer only where the archive ends.
    fn skip(&mut self, bytes: u64) -> io::Result<u64>;
}

/// Bytes in memory: tests, fuzzing.
#[derive(Debug)]
pub struct MemorySource<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> MemorySource<'a> {
    /// From the first byte on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }
}

impl Source for MemorySource<'_> {
    fn position(&self) -> u64 {
        self.position as u64
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let left = &self.bytes[self.position..];
        let count = left.len().min(target.len());
        target[..count].copy_from_slice(&left[..count]);
        self.position += count;
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let left = (self.bytes.len() - self.position) as u64;
        let count = bytes.min(left);
        self.position += count as usize;
        Ok(count)
    }
}

/// Bytes of a file that are read at a time: one header, or the two headers and one block of records of a pax member.
const WINDOW_BYTES: usize = 3 * BLOCK_BYTES;

/// A regular file. Only what is asked for is read, so that a reader hops from header to header.
#[derive(Debug)]
pub struct FileSource {
    file: Arc<File>,
    /// Bytes of the file when it was opened.
    end: u64,
    position: u64,
    window: Box<[u8; WINDOW_BYTES]>,
    window_from: u64,
    window_bytes: usize,
}

impl FileSource {
    /// Reads `file` from `position` on.
    pub fn new(file: Arc<File>, position: u64) -> io::Result<Self> {
        let end = file.metadata()?.len();
        Ok(Self { file, end, position, window: Box::new([0; WINDOW_BYTES]), window_from: 0, window_bytes: 0 })
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Whether the file has bytes up to `end`.
    pub fn reaches(&mut self, end: u64) -> io::Result<bool> {
        if self.end < end {
            self.end = self.file.metadata()?.len();
        }
        Ok(self.end >= end)
    }

    fn in_window(&self) -> &[u8] {
        let Some(from) = self.position.checked_sub(self.window_from) else { return &[] };
        usize::try_from(from).ok().and_then(|from| self.window[..self.window_bytes].get(from..)).unwrap_or_default()
    }
}

impl Source for FileSource {
    fn position(&self) -> u64 {
        self.position
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if target.len() > WINDOW_BYTES {
            let count = read_full_at(&self.file, target, self.position)?;
            self.position += count as u64;
            return Ok(count);
        }
        if self.in_window().len() < target.len() {
            self.window_bytes = read_full_at(&self.file, self.window.as_mut_slice(), self.position)?;
            self.window_from = self.position;
        }
        let ahead = self.in_window();
        let count = ahead.len().min(target.len());
        target[..count].copy_from_slice(&ahead[..count]);
        self.position += count as u64;
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        if self.end.saturating_sub(self.position) < bytes {
            self.end = self.file.metadata()?.len();
        }
        let count = bytes.min(self.end.saturating_sub(self.position));
        self.position += count;
        Ok(count)
    }
}
