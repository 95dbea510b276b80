//! What processes and CPUs did: kernel facilities are read into a sample, two samples make a model, the model makes rows.
//! Live, recorded and replayed numbers go the same way. Theory, and what each number of the kernel is worth: `README.md`
//! beside this crate's manifest. Mute: shows nothing, reads no environment.

pub mod calls;
pub mod ceiling;
pub mod clocks;
pub mod crowding;
pub mod departed;
#[cfg(test)]
mod fake;
mod files;
pub mod fit;
pub mod groups;
pub mod host;
mod listing;
pub mod looker;
pub mod model;
pub mod process_tree;
pub mod recording;
pub mod row;
pub mod sample;
pub mod sampler;
pub mod source;
pub mod split;
pub mod starving;
pub mod tier;
