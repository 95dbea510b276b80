//! Programs and the cores that they use: `mh xjobs`, `mh crew` and `mh mtwrite`.

mod crew;
mod job_slots;
mod mtwrite;
mod xjobs;

pub use self::crew::ENTRY as CREW;
pub use mtwrite::ENTRY as MTWRITE;
pub use xjobs::ENTRY as XJOBS;
