//! Opening files and reading them so that the storage has work: what is not in memory yet is asked for as a whole before it is waited for.
//! No mapping: a file that shrinks while it is mapped kills the program, and its pages count as the program's.

use crate::error::DigestError;
use crate::run::{DigestItem, DigestSource};
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use sys::at_offset::read_full_at;
use sys::standard_streams::input_was_closed;

/// Opens an item. A FIFO does not make the caller wait: reading does.
pub(crate) fn open(item: &DigestItem) -> Result<File, DigestError> {
    match item.source {
        DigestSource::Stdin if input_was_closed() => Err(DigestError::Open(Errno::BADF.into())),
        DigestSource::Stdin => io::stdin().as_fd().try_clone_to_owned().map(File::from).map_err(DigestError::Open),
        DigestSource::Path => {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let opened = files::Directory::here().open(item.name.as_slice(), flags, 0);
            opened.map(File::from).map_err(DigestError::Open)
        }
    }
}

/// How much of a file is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InMemory {
    /// So many bytes, which have been read.
    Read(usize),
    /// Nothing: reading would have to wait.
    NotYet,
    /// The file system does not say (tmpfs, FUSE).
    Unknown,
}

/// Reads what is in memory already.
pub(crate) fn read_what_is_there(file: &File, room: &mut [u8], offset: u64) -> InMemory {
    match rustix::io::preadv2(file, &mut [IoSliceMut::new(room)], offset, ReadWriteFlags::NOWAIT) {
        Ok(count) => InMemory::Read(count),
        Err(Errno::AGAIN) => InMemory::NotYet,
        Err(_) => InMemory::Unknown,
    }
}

/// Asks for bytes that will be read soon.
pub(crate) fn ask_for(file: &File, offset: u64, bytes: u64) {
    let _without_the_hint = fadvise(file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
}

/// Reads until `room` is full or the file ends. If that has to be waited for, `ahead` bytes are asked for at once.
/// LIMIT: where the file system does not say, reading ahead is left to the kernel.
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64, ahead: u64) -> Result<usize, DigestError> {
    let there = match read_what_is_there(file, room, offset) {
        InMemory::Read(count) => count,
        InMemory::NotYet if ahead > 0 => {
            ask_for(file, offset, ahead);
            0
        }
        InMemory::NotYet | InMemory::Unknown => 0,
    };
    if there == room.len() {
        return Ok(there);
    }
    let offset = offset + there as u64;
    read_full_at(file, &mut room[there..], offset)
        .map(|more| there + more)
        .map_err(|cause| DigestError::Read { offset, cause })
}

/// Reads a stream until `room` is full or it ends. `position` is for the error.
pub(crate) fn read_stream(file: &File, room: &mut [u8], position: u64) -> Result<usize, DigestError> {
    let mut filled = 0;
    if position == 0 {
        // LIE: a FIFO that nobody has written to yet is at its end for a reader that does not wait.
        wait_for_input(file).map_err(|cause| DigestError::Read { offset: 0, cause })?;
    }
    while filled < room.len() {
        match rustix::io::read(file, &mut room[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_input(file).map_err(|cause| DigestError::Read { offset: position, cause })?,
            Err(cause) => return Err(DigestError::Read { offset: position + filled as u64, cause: cause.into() }),
        }
    }
    Ok(filled)
}

fn wait_for_input(file: &File) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    match poll(&mut [PollFd::new(file, PollFlags::IN)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
