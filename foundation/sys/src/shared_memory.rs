//! Memory that several processes can map: files without a name (`memfd_create(2)`) and segments of System V (`shmget(2)`).

use crate::mapped_memory::MappedMemory;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr;

/// A file in memory of `bytes`, none of which is there yet.
pub fn memory_file(name: &str, bytes: u64) -> io::Result<OwnedFd> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
    ftruncate(&file, bytes)?;
    Ok(file)
}

/// A segment of System V. It goes when nobody has it attached any more.
#[derive(Debug)]
pub struct SystemVSegment {
    number: i32,
}

impl SystemVSegment {
    /// Makes one that this user alone may attach.
    pub fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: takes numbers alone.
        let number = unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, libc::IPC_CREAT | 0o600) };
        if number < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { number }) }
    }

    /// The kernel's number for it (`ipcs -m`).
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Attaches it in place of all of `memory`.
    pub fn attach(&self, memory: &MappedMemory) -> io::Result<()> {
        let (address, _) = memory.place(&memory.all());
        // SAFETY: the mapping is ours and nobody refers to its content; the kernel takes no more of it than the segment has.
        let attached = unsafe { libc::shmat(self.number, address, libc::SHM_REMAP) };
        if attached == ptr::without_provenance_mut(usize::MAX) { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// From now on it goes with its last attachment, even if this process is killed.
    pub fn remove(&self) -> io::Result<()> {
        // SAFETY: without a place for an answer, which this order has none for.
        match unsafe { libc::shmctl(self.number, libc::IPC_RMID, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapped_memory::{Backing, page_bytes};
    use std::os::fd::AsFd;

    #[test]
    fn files_in_memory_lie_side_by_side() {
        let (half, page) = (1 << 20, page_bytes());
        let memory = MappedMemory::reserve(2 * half, 1).expect("there is room");
        let files = [0, 1].map(|_| memory_file("test", half as u64).expect("a file in memory"));
        for (at, file) in files.iter().enumerate() {
            memory.back(at * half..(at + 1) * half, Backing::File(file.as_fd(), 0)).expect("it can be mapped");
        }
        memory.populate(&(half - page..half + page)).expect("this kernel can populate");
        assert_eq!(files.map(|file| rustix::fs::fstat(&file).expect("it is open").st_blocks), [page as i64 / 512; 2]);
    }

    #[test]
    fn a_segment_is_attached_and_gone_with_the_mapping() {
        let memory = MappedMemory::reserve(1 << 20, 1).expect("there is room");
        let segment = SystemVSegment::new(1 << 20).expect("a segment");
        let attached = segment.attach(&memory);
        segment.remove().expect("it is ours");
        attached.expect("it fits");
        memory.populate(&memory.all()).expect("this kernel can populate");
        drop(memory);
        assert!(segment.remove().is_err(), "nobody has it attached");
    }
}
