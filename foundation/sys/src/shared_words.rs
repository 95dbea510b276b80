//! A file mapped into memory as atomic words that several processes share (`mmap(2)`, MAP_SHARED).
//! Knows nothing of what the words mean.
//!
//! LIE: a file that somebody makes shorter after it was mapped ends the process that touches its lost pages (SIGBUS). Map
//! only files of one's own user, and never shorten them.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a word.
const WORD_BYTES: usize = size_of::<u64>();

/// A mapping. Unmapped when dropped; the file may be closed before.
#[derive(Debug)]
pub struct SharedWords {
    base: NonNull<u64>,
    words: usize,
}

// SAFETY: all access is through atomics, and the mapping lives as long as the value, whichever thread owns it.
unsafe impl Send for SharedWords {}
// SAFETY: as above: shared references give atomics only.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `words` words of `file`, which must be that long and be open for reading and writing.
    pub fn map(file: &File, words: usize) -> io::Result<Self> {
        let bytes = words.checked_mul(WORD_BYTES).filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Self::map_bytes(file.as_fd(), words, bytes)
    }

    /// Maps the first `words` words of memory that the kernel keeps behind `descriptor` (`bpf(2)` maps), which has no file's
    /// length to compare with: the kernel itself refuses to map more than there is, and never shortens it.
    pub(crate) fn map_kernel_memory(descriptor: &impl AsFd, words: usize) -> io::Result<Self> {
        let bytes = words.checked_mul(WORD_BYTES).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Self::map_bytes(descriptor.as_fd(), words, bytes)
    }

    fn map_bytes(descriptor: BorrowedFd<'_>, words: usize, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of ours.
        let base = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, descriptor, 0)
        }?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { base, words })
    }

    /// All words. Nobody may use [`SharedWords::half`] or [`SharedWords::second_half`] on a word that is used whole.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `words` aligned words that live as long as `self`; AtomicU64 has u64's layout and any
        // value is valid; everybody accesses them atomically.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast::<AtomicU64>(), self.words) }
    }

    /// The first half, in address order, of word `index`: what a futex needs.
    ///
    /// # Panics
    /// When there is no such word.
    pub fn half(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.words, "word {index} of {}", self.words);
        // SAFETY: the word lies within the mapping, lives as long as `self` and is aligned for a u32; by contract nobody
        // uses it whole.
        unsafe { &*self.base.as_ptr().add(index).cast::<AtomicU32>() }
    }

    /// The second half, in address order, of word `index`.
    ///
    /// # Panics
    /// When there is no such word.
    pub fn second_half(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.words, "word {index} of {}", self.words);
        // SAFETY: as in `half`; four bytes on it is still within the word, and aligned for a u32.
        unsafe { &*self.base.as_ptr().add(index).cast::<AtomicU32>().add(1) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of this length, and no reference outlives `self`.
        let _cannot_fail_for_a_whole_mapping = unsafe { munmap(self.base.as_ptr().cast(), self.words * WORD_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_a_file_are_one_memory() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(64).expect("room");
        let (one, other) = (SharedWords::map(&file, 8).expect("map"), SharedWords::map(&file, 8).expect("map"));
        one.words()[3].store(0x1234_5678_9abc_def0, Ordering::SeqCst);
        one.half(7).store(9, Ordering::SeqCst);
        assert_eq!(other.words()[3].load(Ordering::SeqCst), 0x1234_5678_9abc_def0);
        one.second_half(7).store(11, Ordering::SeqCst);
        assert_eq!((other.half(7).load(Ordering::SeqCst), other.second_half(7).load(Ordering::SeqCst)), (9, 11));
    }

    #[test]
    fn a_file_that_is_too_short_is_refused() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(63).expect("room");
        assert_eq!(SharedWords::map(&file, 8).expect_err("too short").kind(), io::ErrorKind::UnexpectedEof);
        assert!(SharedWords::map(&file, 0).is_err());
    }
}
