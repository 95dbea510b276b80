//! What the C library's allocator does with large buffers. Changes nothing else of it; where there is none of that kind, nothing happens.

/// LIMIT: buffers from this size on are mapped by themselves, as at the beginning of every program.
#[cfg(target_env = "gnu")]
const MAPPED_FROM_BYTES: libc::c_int = 128 << 10;

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
