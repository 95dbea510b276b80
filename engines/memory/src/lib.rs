//! Large memory: what a process has, where its pages are, and whether they are all there. `README.md` beside this crate's
//! manifest is the theory. Mute: shows nothing, reads no environment.

pub mod areas;
pub mod chunks;
pub mod error;
pub mod knee;
pub mod limits;
pub mod look;
pub mod measure;
pub mod numa_maps;
pub mod placement;
pub mod pool;
pub mod range;
pub mod residency;
