//! Where large buffers begin, and what the C library's allocator does with them.

use std::alloc::{GlobalAlloc, Layout, System};

/// LIMIT: buffers from this size on are mapped by themselves, as at the beginning of every program.
#[cfg(target_env = "gnu")]
const MAPPED_FROM_BYTES: libc::c_int = 128 << 10;

/// What a block from [`LINED_UP_FROM_BYTES`] on begins at a multiple of: a cache line.
const LINE_BYTES: usize = 64;

/// Shorter copies are not made by the instruction that `LinedUp` is about, and would feel the bytes in front of them.
const LINED_UP_FROM_BYTES: usize = 4 << 10;

/// Has large buffers mapped by themselves and given back as soon as they are freed, for as long as the process lives.
///
/// LIE: that is what `malloc(3)` says; but the first large buffer that is freed makes it put all others of up to that size, 32 MiB at most,
/// among the small ones of whichever thread asks, where they leave gaps: 10 of 128 MiB in an extraction with 64 threads.
pub fn keep_large_buffers_apart() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number of the allocator, under the allocator's own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
    }
}

/// The system's allocator, with blocks of a page and more at the beginning of a cache line.
///
/// LIE: `rep movsb`, with which the kernel fills a buffer and the C library copies, is said to be quick at any place (the flags `erms` and `fsrm`). On
/// AMD's Zen 3 and 4 it takes four times as long, or twenty, where the target lies up to some 32 bytes further on in its page than the source in
/// its own (glibc's bug 30994; `docs/journal/0016-copies.md`). The page cache's pages begin at 0; what `malloc` maps begins at 16.
pub struct LinedUp;

/// The layout of a block with room in front of it; none for blocks that are not lined up.
fn with_room(layout: Layout) -> Option<Layout> {
    let is_lined_up = layout.size() >= LINED_UP_FROM_BYTES && layout.align() <= LINE_BYTES;
    is_lined_up.then(|| Layout::from_size_align(layout.size().checked_add(LINE_BYTES)?, layout.align()).ok()).flatten()
}

/// How far inside a block the first line is that has a byte in front of it.
fn room_in(start: *mut u8) -> usize {
    LINE_BYTES - start.addr() % LINE_BYTES
}

/// The first line inside a block of the system, behind a byte that says how far in it is. Null stays null.
///
/// # Safety
/// `start` is null or the beginning of at least `LINE_BYTES` bytes.
unsafe fn line_in(start: *mut u8) -> *mut u8 {
    if start.is_null() {
        return start;
    }
    let room = room_in(start);
    // SAFETY: `room` is 1 to `LINE_BYTES`, so the byte before the line is inside the block and the line at its end at most.
    unsafe {
        let line = start.add(room);
        line.sub(1).write(room as u8);
        line
    }
}

/// How far inside its block of the system a line is.
///
/// # Safety
/// `line` came from [`line_in`].
unsafe fn room_before(line: *mut u8) -> usize {
    // SAFETY: `line_in` wrote that byte, and it belongs to nobody else.
    unsafe { line.sub(1).read() }.into()
}

// SAFETY: blocks are the system's, as they are or with `LINE_BYTES` more than were asked for, of which those behind the line are given out. Which of both holds depends
// on the layout alone, and callers name the same one for the same block. A line is aligned for every layout that `with_room` takes.
unsafe impl GlobalAlloc for LinedUp {
    // SAFETY: the trait's contract, which callers keep: a layout that is not of size zero.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: a larger layout is not of size zero either; the block is as long as `line_in` asks.
        unsafe {
            match with_room(layout) {
                Some(wider) => line_in(System.alloc(wider)),
                None => System.alloc(layout),
            }
        }
    }

    // SAFETY: the trait's contract, as for `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`. The one byte that is written is in front of the line.
        unsafe {
            match with_room(layout) {
                Some(wider) => line_in(System.alloc_zeroed(wider)),
                None => System.alloc_zeroed(layout),
            }
        }
    }

    // SAFETY: the trait's contract: a block from here, and its layout.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from here with this layout, so the system's began that far before it.
        unsafe {
            match with_room(layout) {
                Some(wider) => System.dealloc(block.sub(room_before(block)), wider),
                None => System.dealloc(block, layout),
            }
        }
    }

    // SAFETY: the trait's contract: a block from here, its layout, and a size that a layout of its alignment can have.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise about the new size.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        let kept = layout.size().min(new_size);
        match (with_room(layout), with_room(new_layout)) {
            // SAFETY: the caller's block, layout and size, as they are.
            (None, None) => unsafe { System.realloc(block, layout, new_size) },
            // SAFETY: the system's block began `room` before ours and holds both sizes behind it; what it moved to may be lined up elsewhere.
            (Some(wider), Some(new_wider)) => unsafe {
                let room = room_before(block);
                let start = System.realloc(block.sub(room), wider, new_wider.size());
                if !start.is_null() && room_in(start) != room {
                    start.add(room).copy_to(start.add(room_in(start)), kept);
                }
                line_in(start)
            },
            // SAFETY: two blocks of their own, both as long as what is kept; the old one is freed once it was copied.
            _ => unsafe {
                let moved = self.alloc(new_layout);
                if !moved.is_null() {
                    block.copy_to_nonoverlapping(moved, kept);
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: LinedUp = LinedUp;

    fn is_lined_up(bytes: &[u8]) -> bool {
        bytes.as_ptr().addr().is_multiple_of(LINE_BYTES)
    }

    #[test]
    fn large_blocks_begin_at_a_line_and_zeros_are_zeros() {
        for size in [LINED_UP_FROM_BYTES, LINED_UP_FROM_BYTES + 1, 128 << 10, 1 << 20, (1 << 20) + 7] {
            let mut filled = Vec::with_capacity(size);
            filled.resize(size, 7_u8);
            let zeros = vec![0_u8; size];
            assert!(is_lined_up(&filled) && is_lined_up(&zeros), "{size} bytes");
            assert!(zeros.iter().all(|&byte| byte == 0), "{size} bytes");
        }
    }

    #[test]
    fn what_grows_and_shrinks_keeps_its_content() {
        let mut bytes: Vec<u8> = Vec::new();
        let sizes = [1, 100, 4095, 4096, 4097, 5000, 70_000, 300_000, 3 << 20, 200_000, 150_000, 4096, 4095, 20, 9000];
        for size in sizes {
            let kept = bytes.len().min(size);
            bytes.truncate(size);
            bytes.shrink_to_fit();
            bytes.reserve_exact(size - bytes.len());
            bytes.extend((bytes.len()..size).map(|at| (at % 251) as u8));
            assert!(
                bytes.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8),
                "{kept} of {size} bytes kept"
            );
            assert!(size < LINED_UP_FROM_BYTES || is_lined_up(&bytes), "{size} bytes");
        }
    }

    #[test]
    fn blocks_with_a_wider_alignment_are_the_systems() {
        #[derive(Clone)]
        #[repr(align(256))]
        struct Wide([u8; 256]);
        let mut wide = vec![Wide([9; 256]); 16];
        wide.reserve_exact(4000);
        assert!(wide.as_ptr().addr().is_multiple_of(256));
        assert!(wide.iter().all(|each| each.0 == [9; 256]));
    }

    #[test]
    fn a_size_that_cannot_be_had_is_refused() {
        let mut bytes = vec![1_u8; LINED_UP_FROM_BYTES];
        assert!(bytes.try_reserve_exact(isize::MAX as usize - LINED_UP_FROM_BYTES).is_err());
        assert_eq!(bytes, vec![1; LINED_UP_FROM_BYTES]);
    }
}
