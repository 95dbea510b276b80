//! Programs and the cores that they use: `mh xjobs`, `mh crew` and `mh mtwrite`.

mod crew;
mod job_slots;
#[cfg(feature = "mtwrite")]
mod mtwrite;
mod xjobs;

pub use self::crew::ENTRY as CREW;
#[cfg(feature = "mtwrite")]
pub use mtwrite::ENTRY as MTWRITE;
pub use xjobs::ENTRY as XJOBS;
