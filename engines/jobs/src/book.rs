//! A file of lines about jobs, journal or log: one run at a time adds to it, each line with one write.
//! What is no file (/dev/null, a pipe) is written to and otherwise left alone: it is neither locked nor forced to a disk.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// LIMIT: looks at a lock that is held, and the time between two. A killed run's job on its way from fork to exec holds it for a moment more.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Bytes of a first line that tell what it is.
const FIRST_LINE_SHOWN: usize = 4096;

/// One that is being written.
#[derive(Debug)]
pub(crate) struct Book {
    file: File,
    is_file: bool,
}

impl Book {
    /// Opens `path` to add to it, for this run alone; `WouldBlock` says that another has it, `InvalidData` that it is another's file, by its
    /// first line (of which so much is shown as tells). A file that has no more than some of the `beginning` was torn, and begins anew. A last line that a crash cut off is ended.
    pub fn open(path: &Path, beginning: &[u8], is_first_line: impl Fn(&[u8]) -> bool) -> io::Result<Self> {
        let file = File::options().create(true).append(true).read(true).open(path)?;
        let mut book = Self { is_file: file.metadata()?.is_file(), file };
        if book.is_file {
            book.lock()?;
            let length = book.length()?;
            let mut first = vec![0; FIRST_LINE_SHOWN.min(length.try_into().unwrap_or(usize::MAX))];
            book.file.read_exact_at(&mut first, 0)?;
            if beginning.starts_with(&first) {
                book.clear()?;
                return Ok(book);
            }
            if !first.split(|&byte| byte == b'\n').next().is_some_and(is_first_line) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it holds something else, which is kept as it is",
                ));
            }
            let mut last = [b'\n'];
            if length > 0 {
                book.file.read_exact_at(&mut last, length - 1)?;
            }
            if last != [b'\n'] {
                book.put(b"\n")?;
            }
        }
        Ok(book)
    }

    fn lock(&self) -> io::Result<()> {
        for _ in 1..LOOKS {
            match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(BETWEEN_LOOKS),
                other => return Ok(other?),
            }
        }
        Ok(flock(&self.file, FlockOperation::NonBlockingLockExclusive)?)
    }

    /// Bytes that it has.
    pub fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Forgets all of it.
    pub fn clear(&mut self) -> io::Result<()> {
        if self.is_file { self.file.set_len(0) } else { Ok(()) }
    }

    /// Adds a line.
    pub fn put(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)
    }

    /// Waits until all is on the disk.
    pub fn finish(&self) -> io::Result<()> {
        if self.is_file { self.file.sync_data() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_it_and_what_is_no_file_is_everybodys() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("book");
        let first = Book::open(&path, b"", |_| true).expect("it is new");
        assert_eq!(Book::open(&path, b"", |_| true).expect_err("the first has it").kind(), io::ErrorKind::WouldBlock);
        drop(first);
        drop(Book::open(&path, b"", |_| true).expect("it is free"));
        let null = || Book::open(Path::new("/dev/null"), b"", |_| true).expect("Linux has it");
        let (mut one, other) = (null(), null());
        one.clear().and_then(|()| one.put(b"x\n")).expect("written");
        assert!(one.finish().is_ok() && other.finish().is_ok());
    }

    #[test]
    fn a_line_that_was_cut_off_is_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("book");
        std::fs::write(&path, "one\ntw").expect("written");
        Book::open(&path, b"", |_| true).and_then(|mut book| book.put(b"three\n")).expect("it can be added to");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"one\ntw\nthree\n");
        let other = Book::open(&path, b"on", |line| line != b"one");
        assert_eq!(other.expect_err("it is no such book").kind(), io::ErrorKind::InvalidData);
    }
}
