//! Where the time of system calls goes: per call how many, how long, on a CPU or waiting, with which errors; and what the
//! threads did between calls, so that the table sums to the wall. Theory: `CALLS.md` beside this crate's manifest.

pub mod exact;
mod layout;
pub mod names;
mod programs;
mod reading;
pub mod snapshot;

pub use programs::births::{Grouping, Selection};
