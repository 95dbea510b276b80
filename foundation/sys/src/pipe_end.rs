//! What kind of thing a descriptor is, making a pipe hold more, and writing to one.
//! Does not open or read anything.

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// What a descriptor leads to, as far as reading and writing care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file: has offsets, can be read and written anywhere by many threads.
    RegularFile,
    /// A directory.
    Directory,
    /// A pipe, socket, terminal or device: bytes come and go in one order only.
    Stream,
}

/// Tells what `descriptor` leads to, by `fstat(2)`.
pub fn kind_of(descriptor: impl AsFd) -> io::Result<Kind> {
    let status = fstat(descriptor)?;
    Ok(match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => Kind::RegularFile,
        FileType::Directory => Kind::Directory,
        _ => Kind::Stream,
    })
}

/// Asks for a pipe that holds `bytes`. What the kernel refuses (not a pipe, over the user's limit) stays as it was.
pub fn widen(descriptor: impl AsFd, bytes: usize) {
    // LIMIT: /proc/sys/fs/pipe-max-size, 1 MiB unless root raised it; a smaller pipe only costs more system calls.
    let holds_less = rustix::pipe::fcntl_getpipe_size(&descriptor).is_ok_and(|now| now < bytes);
    if holds_less {
        let _kept_as_it_was = rustix::pipe::fcntl_setpipe_size(&descriptor, bytes);
    }
}

/// Writes all of `bytes` in order. A descriptor that was made non-blocking, by whoever else has it, is waited for.
pub fn write_all(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match rustix::event::poll(&mut [PollFd::new(file, PollFlags::OUT)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether writes to `descriptor` go to the end of the file whatever offset is given (`O_APPEND`).
///
/// LIE: `pwrite(2)` on such a descriptor ignores its offset on Linux, so parallel writing is out of the question.
pub fn appends(descriptor: impl AsFd) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(descriptor)?.contains(rustix::fs::OFlags::APPEND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_directories_and_pipes_are_told_apart() {
        let file = tempfile::tempfile().expect("a file");
        let directory = std::fs::File::open("/").expect("a directory");
        let (reader, _writer) = rustix::pipe::pipe().expect("a pipe");
        assert_eq!(kind_of(&file).expect("fstat"), Kind::RegularFile);
        assert_eq!(kind_of(&directory).expect("fstat"), Kind::Directory);
        assert_eq!(kind_of(&reader).expect("fstat"), Kind::Stream);
        assert!(!appends(&file).expect("fcntl"));
        widen(&reader, 1 << 20);
        widen(&file, 1 << 20);
    }
}
