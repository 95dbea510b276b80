//! Many programs at once: what a list of jobs says, starting them without a shell, keeping their output apart, ending them,
//! a journal to go on from, and what bound the run. Theory: `README.md` beside this crate's manifest.
//! Mute: reports events to an [`run::Observer`] and writes only what jobs print.

pub mod admission;
pub mod blocks;
mod book;
pub mod classes;
pub mod columns;
mod ends;
pub mod fill;
pub mod halt;
mod intake;
pub mod joblog;
pub mod journal;
pub mod key;
pub mod line;
pub mod list;
pub mod made;
pub mod measures;
pub mod output;
mod poll;
mod queue;
pub mod record;
pub mod results;
pub mod run;
pub mod schedule;
pub mod server;
pub mod shell_words;
pub mod source;
pub mod spec;
mod staff;
pub mod start;
pub mod template;
pub mod tree;

/// `NAME=value` words for jobs.
pub use sys::spawn::Words as Variables;
