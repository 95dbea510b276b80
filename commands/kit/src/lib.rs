//! What every command of `mh` has: its entry in the table, what it receives, how it shares cores, reports and ends.
//! Runs no command.

pub mod command_line;
pub mod context;
pub mod descriptors;
pub mod entry;
pub mod failure;
pub mod getopt;
pub mod instrument;
pub mod nodes;
pub mod outset;
pub mod progress;
pub mod report;
pub mod screen;
pub mod settings;
pub mod shared_args;
pub mod sharing;
pub mod width;
