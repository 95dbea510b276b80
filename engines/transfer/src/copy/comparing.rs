//! Whether two files hold the same. What is a hole in both is not read.

use super::Same;
use super::data::{STEP_BYTES, retried};
use files::{Status, rewind};
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread};
use std::io;
use std::os::fd::BorrowedFd;

/// Whether two files hold the same; `pause` is called between steps.
pub fn is_same(
    one: BorrowedFd<'_>,
    other: BorrowedFd<'_>,
    how: Same,
    buffer: &mut [u8],
    mut pause: impl FnMut(),
) -> io::Result<bool> {
    match how {
        Same::Usual => are_equal(one, other, buffer, pause),
        Same::Digest => Ok(digest(one, buffer, &mut pause)? == digest(other, buffer, &mut pause)?),
    }
}

/// A file that is read from its beginning to its end.
struct Reading<'a> {
    file: BorrowedFd<'a>,
    bytes: u64,
    has_holes: bool,
}

impl<'a> Reading<'a> {
    fn new(file: BorrowedFd<'a>) -> io::Result<Self> {
        let status = Status::of(file)?;
        Ok(Self { file, bytes: status.bytes(), has_holes: status.allocated_bytes() < status.bytes() })
    }

    /// Where the next data begin, or the file ends; `at` itself where that is not known.
    fn data_from(&self, at: u64) -> u64 {
        // LIE: where a file has no holes this is no cheap question everywhere.
        if !self.has_holes || at >= self.bytes {
            return at;
        }
        match seek(self.file, SeekFrom::Data(at)) {
            Ok(data) => data.clamp(at, self.bytes),
            Err(Errno::NXIO) => self.bytes,
            Err(_) => at,
        }
    }

    /// Where it is to be read on by others, from its beginning.
    fn rewind(&self) -> io::Result<()> {
        if self.has_holes { rewind(self.file) } else { Ok(()) }
    }

    /// Reads until the buffer is full or the file ends.
    fn fill(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match retried(|| pread(self.file, &mut buffer[filled..], at + filled as u64))? {
                0 => break,
                found => filled += found,
            }
        }
        Ok(filled)
    }
}

/// What a file holds, as 256 bits: of its length, and of its blocks that are not all zeros, each with its place. So holes need not be read, and zeros
/// that were written count as holes.
fn digest(file: BorrowedFd<'_>, buffer: &mut [u8], mut pause: impl FnMut()) -> io::Result<blake3::Hash> {
    let file = Reading::new(file)?;
    let block = buffer.len() as u64;
    let (mut hasher, mut at, mut step) = (blake3::Hasher::new(), 0, 0);
    loop {
        // Blocks begin at the same places in every file.
        at = file.data_from(at) / block * block;
        let found = file.fill(buffer, at)?;
        if buffer[..found].iter().any(|&byte| byte != 0) {
            hasher.update(&at.to_le_bytes()).update(&buffer[..found]);
        }
        at += found as u64;
        if found < buffer.len() {
            file.rewind()?;
            return Ok(hasher.update(&at.to_le_bytes()).finalize());
        }
        step += found;
        if step >= STEP_BYTES {
            step = 0;
            pause();
        }
    }
}

/// Whether two files hold the same, byte by byte.
fn are_equal(
    one: BorrowedFd<'_>,
    other: BorrowedFd<'_>,
    buffer: &mut [u8],
    mut pause: impl FnMut(),
) -> io::Result<bool> {
    let (one, other) = (Reading::new(one)?, Reading::new(other)?);
    let (mine, theirs) = buffer.split_at_mut(buffer.len() / 2);
    let (mut at, mut step) = (0, 0);
    loop {
        at = one.data_from(at).min(other.data_from(at));
        let (found, twin) = (one.fill(mine, at)?, other.fill(theirs, at)?);
        let is_equal = mine[..found] == theirs[..twin];
        if !is_equal || found == 0 {
            one.rewind()?;
            other.rewind()?;
            return Ok(is_equal);
        }
        at += found as u64;
        step += found;
        if step >= STEP_BYTES {
            step = 0;
            pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    /// A file of `bytes` bytes, of which those at the given places are written.
    fn file(bytes: u64, written: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(bytes).expect("as long");
        written.iter().for_each(|(at, data)| file.write_all_at(data, *at).expect("written"));
        file
    }

    #[test]
    fn holes_are_zeros() {
        let zeros = vec![0; 300_000];
        let files = [
            (file(600_000, &[(300_000, b"x")]), 0),
            (file(600_000, &[(300_000, b"x"), (100_000, &zeros[..200_000])]), 0),
            (file(600_000, &[(300_000, b"y")]), 1),
            (file(600_000, &[(300_001, b"x")]), 2),
            (file(600_001, &[(300_000, b"x")]), 3),
            (file(600_000, &[]), 4),
            (file(600_000, &[(0, &zeros), (300_000, &zeros)]), 4),
            (file(0, &[]), 5),
            (file(65_536, &[]), 6),
            (file(131_072, &[]), 7),
        ];
        // Blocks of a page and a bit, of one that ends where a file ends, and as long as a worker's.
        for block in [5000, 65_536, 128 << 10] {
            for how in [Same::Usual, Same::Digest] {
                for (one, content) in &files {
                    for (other, twin) in &files {
                        let same = is_same(one.as_fd(), other.as_fd(), how, &mut vec![1; block], || ());
                        assert_eq!(same.expect("read"), content == twin, "{content} and {twin} in blocks of {block}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_hole_in_both_is_not_read() {
        let files = [file(1 << 42, &[(1 << 41, b"x")]), file(1 << 42, &[(1 << 41, b"x")])];
        for how in [Same::Usual, Same::Digest] {
            let mut pauses = 0;
            let same = is_same(files[0].as_fd(), files[1].as_fd(), how, &mut vec![0; 128 << 10], || pauses += 1);
            assert!(same.expect("read"));
            assert_eq!(pauses, 0, "it is over in one step");
        }
    }
}
