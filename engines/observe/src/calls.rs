//! Where the time of system calls goes: per call how many, how long, on a CPU or waiting, with which errors; and what the
//! threads did between calls, so that the table sums to the wall. Theory: `CALLS.md` beside this crate's manifest.

mod layout;
pub mod measure;
pub mod names;
pub mod paths;
mod programs;
mod reading;
pub mod sampled;
pub mod snapshot;
pub mod split;
pub mod traced;
pub mod without_rights;

pub use programs::births::{CallGrouping, Selection};
