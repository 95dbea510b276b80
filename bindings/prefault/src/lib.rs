//! A library that is preloaded into an unmodified program: large mappings that the program makes are populated by several threads before it
//! gets them, locked, or given a memory policy. `boundary` holds the functions that stand before libc's; `kinds` decides which mappings are
//! of interest, `operation` divides one into chunks, `ledger` is the memory shared with `mh vmtasks run`. Theory and hazards:
//! `bindings/prefault/README.md`.

// As it is shipped, it needs no library but the program's own libc, whichever that is: commands/jobs/build.rs.
#![cfg_attr(all(panic = "abort", not(test)), no_std)]

mod ahead;
pub mod boundary;
mod kinds;
mod ledger;
mod operation;
mod ranges;
mod status;

#[cfg(all(panic = "abort", not(test)))]
#[panic_handler]
fn panic(_what: &core::panic::PanicInfo<'_>) -> ! {
    boundary::calls::abort()
}
