//! Whole reads and writes at a file offset: `pread(2)` and `pwrite(2)` with short transfers and EINTR made good.
//! Does not move the file's own cursor, so any number of threads may use one descriptor.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Reads into `buffer` from `offset` until it is full or the file ends. Returns the bytes read.
pub fn read_full_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Asks for errors of earlier writes that the kernel tells only when a descriptor is closed: NFS, FUSE and quotas do.
pub fn report_late_errors(file: impl AsFd) -> io::Result<()> {
    crate::tree_calls::close(file.as_fd().try_clone_to_owned()?)
}

/// Writes all of `bytes` at `offset`.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_past_the_end_is_short_and_a_write_lands_at_its_offset() {
        let file = tempfile::tempfile().expect("a temporary file");
        write_all_at(&file, b"0123456789", 5).expect("write");
        let mut buffer = [1_u8; 32];
        assert_eq!(read_full_at(&file, &mut buffer, 0).expect("read"), 15);
        assert_eq!(&buffer[..15], b"\0\0\0\0\x000123456789");
        assert_eq!(read_full_at(&file, &mut buffer, 99).expect("read"), 0);
    }
}
