//! Reading what a program of ours writes about each of the kernel's objects (`iter/task`): one pass, no `/proc`.

use super::call::{self, IteratorCreate};
use super::load::Attached;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};

/// Lets the iterator visit every object once and appends what the program wrote about them to `bytes`.
///
/// LIMIT: `bytes_max` in all, then an error: the number of tasks is bounded, and so is what is written about each.
pub fn visit_all(iterator: &Attached, bytes_max: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut attributes = IteratorCreate { link: iterator.as_fd().as_raw_fd() as u32, flags: 0 };
    // SAFETY: the structure holds no pointer, and the command makes a descriptor.
    let pass = unsafe { call::perform_open(call::ITERATOR_CREATE, &mut attributes) }?;
    let read = File::from(pass).take(bytes_max + 1).read_to_end(bytes)?;
    if read as u64 > bytes_max { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(()) }
}
