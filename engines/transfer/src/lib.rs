//! File trees on every core: removing and copying them, below descriptors of directories, so that nobody who swaps a parent for a
//! link can lead the work elsewhere.
//!
//! Mute: what is to be said goes to a listener. Theory: `engines/transfer/README.md`.

pub mod copy;
pub mod directory;
pub mod finding;
pub mod operand;
pub mod overlap;
pub mod remove;
pub mod tally;
