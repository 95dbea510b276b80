//! Compressed bytes in order: look ahead, look further ahead, move on. From a regular file by offset, or from a pipe.
//! A file is read only where somebody looks, so that a cutter can hop from header to header; a pipe is read as it comes.

use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::at_offset::read_full_at;
use sys::wake::{Waited, Wake};

/// A reader over one compressed input.
pub struct CompressedReader {
    backing: Backing,
    /// Bytes from `position - consumed` on; the first `consumed` are done with.
    buffer: Vec<u8>,
    consumed: usize,
    position: u64,
    at_end: bool,
}

enum Backing {
    /// A regular file, and the wanted end of it.
    File { file: Arc<File> },
    /// Anything else, and the bell that ends a wait.
    Stream { file: Arc<File>, wake: Arc<Wake> },
    /// Bytes in memory: tests and fuzzing.
    Memory,
}

/// Bytes asked of a pipe at a time. Smaller costs system calls; a pipe holds 64 KiB to 1 MiB.
const STREAM_READ_BYTES: usize = 256 << 10;

impl CompressedReader {
    /// Reads a regular file from `offset` on.
    pub fn file(file: Arc<File>, offset: u64) -> Self {
        Self::new(Backing::File { file }, Vec::new(), offset, false)
    }

    /// Reads a pipe, socket or device; `wake` ends a wait for more.
    pub fn stream(file: Arc<File>, wake: Arc<Wake>) -> Self {
        Self::new(Backing::Stream { file, wake }, Vec::new(), 0, false)
    }

    /// Reads bytes that are in memory.
    pub fn memory(bytes: Vec<u8>) -> Self {
        Self::new(Backing::Memory, bytes, 0, true)
    }

    fn new(backing: Backing, buffer: Vec<u8>, position: u64, at_end: bool) -> Self {
        Self { backing, buffer, consumed: 0, position, at_end }
    }

    /// Offset of the next byte in the input.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The file behind it, if it is a regular one and can be read at offsets by others.
    pub fn regular_file(&self) -> Option<&Arc<File>> {
        match &self.backing {
            Backing::File { file } => Some(file),
            Backing::Stream { .. } | Backing::Memory => None,
        }
    }

    /// Whether it comes as it comes, and is not there as a whole.
    pub fn is_stream(&self) -> bool {
        matches!(self.backing, Backing::Stream { .. })
    }

    /// The next bytes: at least `at_least` of them unless the input ends before, and whatever else is at hand.
    /// `block` is how much a file is asked for when more must be read.
    pub fn peek(&mut self, at_least: usize, block: usize) -> io::Result<&[u8]> {
        while self.buffered() < at_least && !self.at_end {
            self.read_more(at_least.max(block))?;
        }
        Ok(&self.buffer[self.consumed..])
    }

    /// As [`CompressedReader::peek`], with whether the input ends behind what is shown, as far as reading has told.
    pub fn ahead(&mut self, at_least: usize, block: usize) -> io::Result<(&[u8], bool)> {
        self.peek(at_least, block)?;
        Ok((&self.buffer[self.consumed..], self.at_end))
    }

    /// Copies into `target` what stands `distance` bytes ahead, and returns how much there was: less only where the input
    /// ends. From a file nothing between is read.
    pub fn peek_at(&mut self, distance: u64, target: &mut [u8]) -> io::Result<usize> {
        let beyond_the_buffer = distance + target.len() as u64 > self.buffered() as u64;
        if let (Backing::File { file }, true) = (&self.backing, beyond_the_buffer) {
            return read_full_at(file, target, self.position + distance);
        }
        let distance = usize::try_from(distance).map_err(io::Error::other)?;
        let ahead = self.peek(distance + target.len(), STREAM_READ_BYTES)?.get(distance..).unwrap_or_default();
        let count = ahead.len().min(target.len());
        target[..count].copy_from_slice(&ahead[..count]);
        Ok(count)
    }

    /// Whether nothing is left.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.peek(1, 512)?.is_empty())
    }

    /// The number of zero bytes up to the end of the input; 0 where something else comes.
    pub fn zeros_to_the_end(&mut self) -> io::Result<u64> {
        let mut seen: u64 = 0;
        let mut block = [0; 512];
        loop {
            let count = self.peek_at(seen, &mut block)?;
            if block[..count].iter().any(|&byte| byte != 0) {
                return Ok(0);
            }
            seen += count as u64;
            if count < block.len() {
                return Ok(seen);
            }
            // LIMIT: from a pipe, padding is kept in memory while it is looked at; no tape block is longer.
            if self.regular_file().is_none() && seen > 16 << 20 {
                return Ok(0);
            }
        }
    }

    /// Whether the next read would sleep: nothing is buffered and the pipe is empty.
    pub fn would_wait(&self) -> bool {
        match &self.backing {
            Backing::Stream { file, .. } if self.buffered() == 0 && !self.at_end => !sys::wake::is_readable(file),
            _ => false,
        }
    }

    /// Moves on by `count` bytes; a file is not read for it, a pipe is. Returns how many there were: fewer at the end.
    pub fn skip(&mut self, count: u64) -> io::Result<u64> {
        if let (Backing::File { file }, true) = (&self.backing, count > self.buffered() as u64) {
            let skipped = if is_there(file, self.position, count)? {
                count
            } else {
                file.metadata()?
                    .len()
                    .max(self.position + self.buffered() as u64)
                    .saturating_sub(self.position)
                    .min(count - 1)
            };
            self.buffer.clear();
            self.consumed = 0;
            self.position += skipped;
            return Ok(skipped);
        }
        let mut skipped = 0;
        while skipped < count {
            let wanted = usize::try_from(count - skipped).unwrap_or(usize::MAX).min(STREAM_READ_BYTES);
            let step = self.peek(wanted, STREAM_READ_BYTES)?.len().min(wanted);
            if step == 0 {
                break;
            }
            self.consume(step);
            skipped += step as u64;
        }
        Ok(skipped)
    }

    /// Moves on by bytes that [`CompressedReader::peek`] has shown.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.buffered(), "only bytes that were shown can be consumed");
        self.consumed += count;
        self.position += count as u64;
        if self.consumed == self.buffer.len() {
            self.buffer.clear();
            self.consumed = 0;
        }
    }

    /// Moves the next `count` bytes into `target`; fewer only where the input ends.
    pub fn take_into(&mut self, count: usize, target: &mut Vec<u8>) -> io::Result<usize> {
        let buffered = self.buffered().min(count);
        target.extend_from_slice(&self.buffer[self.consumed..self.consumed + buffered]);
        self.consume(buffered);
        let mut taken = buffered;
        if let (Backing::File { file }, true) = (&self.backing, taken < count) {
            let from = target.len();
            target.resize(from + count - taken, 0);
            let read = read_full_at(file, &mut target[from..], self.position)?;
            target.truncate(from + read);
            self.position += read as u64;
            return Ok(taken + read);
        }
        while taken < count {
            let step = self.peek(1, STREAM_READ_BYTES)?.len().min(count - taken);
            if step == 0 {
                break;
            }
            target.extend_from_slice(&self.buffer[self.consumed..self.consumed + step]);
            self.consume(step);
            taken += step;
        }
        Ok(taken)
    }

    fn buffered(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    fn read_more(&mut self, wanted: usize) -> io::Result<()> {
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
        let from = self.buffer.len();
        match &self.backing {
            Backing::Memory => self.at_end = true,
            Backing::File { file } => {
                let missing = wanted - from;
                self.buffer.resize(wanted, 0);
                let read = read_full_at(file, &mut self.buffer[from..], self.position + from as u64)?;
                self.buffer.truncate(from + read);
                self.at_end = read < missing;
            }
            Backing::Stream { file, wake } => {
                self.buffer.resize(from + STREAM_READ_BYTES, 0);
                let read = read_stream(file, wake, &mut self.buffer[from..])?;
                self.buffer.truncate(from + read);
                self.at_end = read == 0;
            }
        }
        Ok(())
    }
}

/// Whether the last of `count` bytes from `position` on is there.
/// LIE: files of the kernel, and of some file systems in user space, tell other sizes than they have.
fn is_there(file: &File, position: u64, count: u64) -> io::Result<bool> {
    // LIMIT: offsets have 63 bits.
    let last = position.checked_add(count - 1).filter(|&last| i64::try_from(last).is_ok());
    last.map_or(Ok(false), |last| Ok(read_full_at(file, &mut [0; 1], last)? == 1))
}

/// One read from a pipe; nothing when the bell rang, as if the input had ended.
pub(crate) fn read_stream(file: &File, wake: &Wake, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        if wake.readable(file)? == Waited::Rung {
            return Ok(0);
        }
        match rustix::io::read(file, &mut *buffer) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn both(bytes: &[u8]) -> Vec<CompressedReader> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("write");
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        rustix::io::write(&writer, bytes).expect("it fits into the pipe");
        let wake = Arc::new(Wake::new().expect("an eventfd"));
        let stream = CompressedReader::stream(Arc::new(File::from(reader)), wake);
        vec![CompressedReader::file(Arc::new(file), 0), stream, CompressedReader::memory(bytes.to_vec())]
    }

    #[test]
    fn files_pipes_and_memory_show_the_same_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
        for mut reader in both(&bytes) {
            assert_eq!(&reader.peek(10, 512).expect("read")[..10], &bytes[..10]);
            let mut eight = [0; 8];
            assert_eq!(reader.peek_at(4000, &mut eight).expect("read"), 8);
            assert_eq!(eight, bytes[4000..4008]);
            assert_eq!(reader.peek_at(4996, &mut eight).expect("read"), 4);
            assert_eq!(eight[..4], bytes[4996..]);
            reader.consume(10);
            assert_eq!(reader.skip(1990).expect("read"), 1990);
            let mut taken = Vec::new();
            assert_eq!(reader.take_into(2500, &mut taken).expect("read"), 2500);
            assert_eq!(taken, &bytes[2000..4500]);
            assert_eq!(reader.position(), 4500);
            assert_eq!(reader.skip(9999).expect("read"), 500);
            assert!(reader.is_at_end().expect("read"));
        }
    }

    /// Files of /proc tell no size.
    #[test]
    fn what_is_there_is_skipped_whatever_the_size_says() {
        let file = Arc::new(File::open("/proc/self/status").expect("Linux has it"));
        assert_eq!(file.metadata().expect("it is open").len(), 0);
        let mut reader = CompressedReader::file(file, 0);
        assert_eq!(reader.peek(4, 4).expect("read")[..4], *b"Name");
        assert_eq!(reader.skip(100).expect("read"), 100);
        assert!(!reader.is_at_end().expect("read"));
        assert!(reader.skip(1 << 30).expect("read") < 1 << 30);
    }
}
