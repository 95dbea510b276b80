//! A library that is preloaded into an unmodified program: large mappings that the program makes are populated by several threads before it
//! gets them, locked, or given a memory policy. `boundary` holds the functions that stand before libc's; `kinds` decides which mappings are
//! of interest, `operation` divides one into chunks, `ledger` is the memory shared with `mh vmtasks run`. Theory and hazards:
//! `bindings/prefault/README.md`.

mod ahead;
pub mod boundary;
mod kinds;
mod ledger;
mod operation;
mod ranges;
