//! Experiments on this machine. Where an instrument watches, an experiment does something and measures it: `README.md`
//! beside this crate's manifest says what, and against what. Mute: shows nothing, reads no environment.

pub mod locks;
mod pinned;
pub mod spread;
pub mod timers;
