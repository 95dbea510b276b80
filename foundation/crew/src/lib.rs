//! Which run and which thread works on what, on how many cores, and what limited the run.
//!
//! Knows cores, threads and time; knows no file format and no flag. Engines bring their stages ([`pipeline::Stages`]);
//! this crate brings order, bounds, staffing and honest books. Theory: `foundation/crew/README.md`.

pub mod budget;
pub mod clocks;
pub mod forecast;
pub mod jobserver;
pub mod measures;
pub mod pipeline;
pub mod plan;
pub mod scatter;
pub mod steward;
mod sync;
pub mod tally;
pub mod verdict;

/// The examples of the page for other programs, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/crew-for-programs.md")]
struct ForPrograms;
