//! A large range of mapped memory and what the kernel does with it: populate, advise, lock, discard, count (`mmap(2)`, `madvise(2)`, `mlock2(2)`,
//! `mincore(2)`). Nobody gets a Rust reference to it, only its address: what others do there is theirs to answer for.
//!
//! Every call takes a range within the mapping, so that many threads may each work on their own part.

use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags, madvise, mlock_with, mmap, mmap_anonymous, munlock, munmap};
use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr;

/// Where a mapping begins, at least: tables of pages that two threads work on side by side are never the same one.
pub const TABLE_BYTES: usize = 2 << 20;

/// The smallest page of this system.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// What a mapping is made of.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'file> {
    /// Memory of this process alone.
    Anonymous,
    /// Memory that its children share.
    SharedAnonymous,
    /// A file's bytes, from an offset on.
    File(BorrowedFd<'file>, u64),
    /// Huge pages of the pool that an administrator reserved, of this size.
    HugePages(usize),
}

/// A mapping of this process's own. Unmapped when dropped.
#[derive(Debug)]
pub struct MappedMemory {
    start: usize,
    bytes: usize,
}

impl MappedMemory {
    /// Reserves room without rights, which begins at a multiple of `align_bytes` and of [`TABLE_BYTES`].
    pub fn reserve(bytes: usize, align_bytes: usize) -> io::Result<Self> {
        let align = align_bytes.max(TABLE_BYTES);
        let whole = bytes.max(1).checked_next_multiple_of(page_bytes()).and_then(|bytes| bytes.checked_add(align));
        let (Some(whole), true) = (whole, align.is_power_of_two()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let bytes = whole - align;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of ours.
        let found = unsafe {
            mmap_anonymous(ptr::null_mut(), whole, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE)
        }?;
        let found = found.addr();
        let start = found.next_multiple_of(align);
        // SAFETY: both ends were mapped a moment ago, and nobody knows of them.
        unsafe {
            unmap(found, start - found);
            unmap(start + bytes, found + whole - start - bytes);
        }
        Ok(Self { start, bytes })
    }

    /// Puts `backing` in place of the part of the mapping that begins at `offset`.
    pub fn back(&self, part: Range<usize>, backing: Backing<'_>) -> io::Result<()> {
        let (address, bytes) = self.place(&part);
        let (rights, fixed) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::FIXED);
        // SAFETY: the part is within this mapping, whose content nobody refers to.
        let mapped = unsafe {
            match backing {
                Backing::Anonymous => mmap_anonymous(address, bytes, rights, fixed | MapFlags::PRIVATE),
                Backing::SharedAnonymous => mmap_anonymous(address, bytes, rights, fixed | MapFlags::SHARED),
                Backing::File(file, at) => mmap(address, bytes, rights, fixed | MapFlags::SHARED, file, at),
                Backing::HugePages(size) => {
                    // The size's logarithm stands in the flags' upper bits (mmap(2), MAP_HUGETLB).
                    let size = MapFlags::from_bits_retain(size.trailing_zeros() << libc::MAP_HUGE_SHIFT);
                    mmap_anonymous(address, bytes, rights, fixed | MapFlags::PRIVATE | MapFlags::HUGETLB | size)
                }
            }
        };
        Ok(mapped.map(drop)?)
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.start
    }

    /// How large it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of it.
    pub fn all(&self) -> Range<usize> {
        0..self.bytes
    }

    /// Has the kernel make all pages of a part, for writing, and says why it could not (MADV_POPULATE_WRITE, Linux 5.14).
    pub fn populate(&self, part: &Range<usize>) -> io::Result<()> {
        let (address, bytes) = self.place(part);
        populate(address.addr(), bytes)
    }

    /// Writes a zero into each page of a part that nobody has written to: for kernels that cannot populate.
    ///
    /// LIE: where the pages cannot be had, the write ends the process (SIGBUS). Limits are looked at before.
    pub fn touch(&self, part: &Range<usize>, page_bytes: usize) {
        let (address, bytes) = self.place(part);
        for offset in (0..bytes).step_by(page_bytes.max(1)) {
            // SAFETY: within the mapping, whose content nobody refers to; the compiler may not leave it out.
            unsafe { address.cast::<u8>().add(offset).write_volatile(0) };
        }
    }

    /// Asks for huge pages, or for small ones alone. A kernel without huge pages refuses, which changes nothing.
    pub fn prefer_huge_pages(&self, part: &Range<usize>, are_wanted: bool) -> io::Result<()> {
        let advice = if are_wanted { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        self.advise(part, advice)
    }

    /// Keeps in memory all pages of a part that are there or will be, and makes none (MLOCK_ONFAULT).
    pub fn lock_on_fault(&self, part: &Range<usize>) -> io::Result<()> {
        let (address, bytes) = self.place(part);
        // SAFETY: within the mapping; locking changes no content.
        Ok(unsafe { mlock_with(address, bytes, MlockFlags::ONFAULT) }?)
    }

    /// Lets the kernel take the pages of a part again.
    pub fn unlock(&self, part: &Range<usize>) -> io::Result<()> {
        let (address, bytes) = self.place(part);
        // SAFETY: as above.
        Ok(unsafe { munlock(address, bytes) }?)
    }

    /// Gives back the pages of a part: content of memory of this process alone is lost, of shared memory it is only no longer mapped.
    /// Locked pages, too, from Linux 5.18 on.
    pub fn discard(&self, part: &Range<usize>) -> io::Result<()> {
        match self.advise(part, Advice::LinuxDontNeed) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            outcome => return outcome,
        }
        let (address, bytes) = self.place(part);
        // SAFETY: within the mapping, whose content nobody refers to.
        match unsafe { libc::madvise(address, bytes, libc::MADV_DONTNEED_LOCKED) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Counts resident pages of a part. `page_flags` is room for as many pages as are asked for at once.
    pub fn resident_pages(&self, part: &Range<usize>, page_flags: &mut [u8]) -> io::Result<usize> {
        let (address, bytes) = self.place(part);
        resident_pages(address.addr(), bytes, page_flags)
    }

    fn advise(&self, part: &Range<usize>, advice: Advice) -> io::Result<()> {
        let (address, bytes) = self.place(part);
        // SAFETY: within the mapping, whose content nobody refers to.
        Ok(unsafe { madvise(address, bytes, advice) }?)
    }

    /// Address and length of a part.
    ///
    /// # Panics
    /// When it is not within the mapping.
    pub(crate) fn place(&self, part: &Range<usize>) -> (*mut c_void, usize) {
        assert!(part.start <= part.end && part.end <= self.bytes, "a part lies within its mapping");
        (ptr::with_exposed_provenance_mut(self.start + part.start), part.end - part.start)
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nobody has a reference to its content.
        unsafe { unmap(self.start, self.bytes) };
    }
}

/// Has the kernel make all pages between two addresses, for writing; content that is there stays.
pub fn populate(address: usize, bytes: usize) -> io::Result<()> {
    let start = ptr::with_exposed_provenance_mut(address);
    loop {
        // SAFETY: populating changes no content, and addresses where nothing is mapped are refused.
        match unsafe { madvise(start, bytes, Advice::LinuxPopulateWrite) } {
            // A signal came; the pages that were made stay.
            Err(rustix::io::Errno::INTR) => {}
            outcome => return Ok(outcome?),
        }
    }
}

/// Counts resident pages between two addresses.
///
/// LIE: of a file that this user may not write to, the kernel calls every page resident.
pub fn resident_pages(address: usize, bytes: usize, page_flags: &mut [u8]) -> io::Result<usize> {
    let page = page_bytes();
    let (mut count, mut at, end) = (0, address, address + bytes);
    while at < end {
        let pages = (end - at).div_ceil(page).min(page_flags.len());
        if pages == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: there is room for a byte a page; what is not mapped is refused.
        let outcome = unsafe {
            libc::mincore(ptr::with_exposed_provenance_mut(at), (pages * page).min(end - at), page_flags.as_mut_ptr())
        };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        count += page_flags[..pages].iter().filter(|&&flag| flag & 1 != 0).count();
        at += pages * page;
    }
    Ok(count)
}

/// # Safety
/// Nobody uses what is mapped there.
unsafe fn unmap(address: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: as the caller promises.
        let unmapped = unsafe { munmap(ptr::with_exposed_provenance_mut(address), bytes) };
        debug_assert!(unmapped.is_ok(), "a range of our own can be unmapped: {unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident(memory: &MappedMemory, part: Range<usize>) -> usize {
        memory.resident_pages(&part, &mut [0; 7]).expect("mapped memory can be asked about")
    }

    fn anonymous(bytes: usize) -> MappedMemory {
        let memory = MappedMemory::reserve(bytes, 1).expect("there is room");
        memory.back(memory.all(), Backing::Anonymous).expect("and memory");
        memory.prefer_huge_pages(&memory.all(), false).expect("every kernel has small pages");
        memory
    }

    #[test]
    fn a_part_is_populated_discarded_and_counted_alone() {
        let (page, memory) = (page_bytes(), anonymous(3 << 20));
        assert_eq!(memory.address() % TABLE_BYTES, 0);
        assert_eq!((memory.bytes(), resident(&memory, memory.all())), (3 << 20, 0));
        let part = page * 3..page * 20;
        memory.populate(&part).expect("this kernel can populate");
        assert_eq!((resident(&memory, part.clone()), resident(&memory, memory.all())), (17, 17));
        memory.discard(&(page * 3..page * 4)).expect("it can be given back");
        memory.touch(&(0..page * 2), page);
        assert_eq!(resident(&memory, memory.all()), 18);
    }

    #[test]
    fn locked_pages_can_be_discarded_and_locking_makes_none() {
        let (page, memory) = (page_bytes(), anonymous(1 << 20));
        let part = 0..page * 4;
        if memory.lock_on_fault(&part).is_err() {
            return testkit::program::left_out("this user may not lock memory");
        }
        assert_eq!(resident(&memory, memory.all()), 0);
        memory.populate(&part).expect("this kernel can populate");
        memory.discard(&part).expect("locked pages can be given back");
        assert_eq!(resident(&memory, memory.all()), 0);
        memory.unlock(&part).expect("what was locked can be unlocked");
    }

    #[test]
    fn room_without_rights_is_refused_and_so_is_what_cannot_be() {
        let memory = MappedMemory::reserve(1 << 20, 1 << 30).expect("there is room");
        assert_eq!(memory.address() % (1 << 30), 0);
        assert!(memory.populate(&memory.all()).is_err());
        assert!(MappedMemory::reserve(usize::MAX, 1).is_err() && MappedMemory::reserve(4096, 3 << 20).is_err());
        assert!(resident_pages(memory.address(), 4096, &mut []).is_err());
    }

    #[test]
    #[should_panic(expected = "within its mapping")]
    fn a_part_beyond_the_end_is_a_bug() {
        let memory = anonymous(1 << 20);
        let _refused = memory.populate(&(0..(1 << 20) + 1));
    }
}
