//! Memory that programs in the kernel and this process share: one map of one value, mapped as atomic words. Reading it
//! costs no system call, and a program reaches it without a look-up.
//! Knows nothing of what the words mean.

use super::call::{self, MapCreate};
use crate::shared_words::SharedWords;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;

/// Words, all zero at first, that live as long as this value or a program that uses them.
#[derive(Debug)]
pub struct KernelWords {
    map: OwnedFd,
    words: SharedWords,
}

impl KernelWords {
    /// LIMIT: the verifier lets a program add no more than this to an address (`BPF_MAX_VAR_OFF`), less one page.
    pub const BYTES_MAX: usize = (1 << 29) - 4096;

    /// `words` words of eight bytes. The kernel takes the memory at once, all of it.
    pub fn new(name: &str, words: usize) -> io::Result<Self> {
        let bytes = words.checked_mul(size_of::<u64>()).filter(|bytes| (1..=Self::BYTES_MAX).contains(bytes));
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut attributes = MapCreate {
            map_type: call::MAP_TYPE_ARRAY,
            key_bytes: 4,
            value_bytes: u32::try_from(bytes).ok().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?,
            entries: 1,
            flags: call::MAP_FLAG_MMAPABLE,
            name: call::object_name(name),
            ..MapCreate::default()
        };
        // SAFETY: the structure holds no pointer, and the command makes a descriptor.
        let map = unsafe { call::perform_open(call::MAP_CREATE, &mut attributes) }?;
        let words = SharedWords::map_kernel_memory(&map, words)?;
        Ok(Self { map, words })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        self.words.words()
    }

    /// For [`super::assemble::Assembler::address`].
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// A table in the kernel from keys to 64-bit values, filled and read by programs alone. All its room is taken at once.
#[derive(Debug)]
pub struct KernelTable {
    map: OwnedFd,
}

impl KernelTable {
    /// A table for `entries` keys of `key_bytes` bytes.
    pub fn new(name: &str, key_bytes: u32, entries: u32) -> io::Result<Self> {
        let mut attributes = MapCreate {
            map_type: call::MAP_TYPE_HASH,
            key_bytes,
            value_bytes: size_of::<u64>() as u32,
            entries,
            name: call::object_name(name),
            ..MapCreate::default()
        };
        // SAFETY: the structure holds no pointer, and the command makes a descriptor.
        let map = unsafe { call::perform_open(call::MAP_CREATE, &mut attributes) }?;
        Ok(Self { map })
    }

    /// For [`super::assemble::Assembler::map`].
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
