//! The cheapest system call, made the way programs make theirs: through the C library. For measuring what a call costs.

/// `getppid(2)`. Its answer means nothing here.
///
/// A call written into the loop by the compiler (`rustix`) is faster by a quarter, and what is added to it by a tracer looks
/// a quarter smaller than programs feel it: the return from the C library is one that the CPU predicts wrongly after a call.
#[inline(never)]
pub fn null_call() {
    // SAFETY: the call takes nothing and cannot fail.
    std::hint::black_box(unsafe { libc::getppid() });
}

/// Its number, by which tracers know it.
pub const NUMBER: u32 = libc::SYS_getppid as u32;
