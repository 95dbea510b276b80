//! Experiments on this machine: `mh locks`, `mh timers`.

mod locks;
mod timers;

pub use locks::ENTRY as LOCKS;
pub use timers::ENTRY as TIMERS;
