//! Experiments on this machine: `mh timers`.

mod timers;

pub use timers::ENTRY as TIMERS;
