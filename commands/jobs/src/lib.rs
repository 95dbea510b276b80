//! Programs and the cores that they use: `mh xjobs`, `mh crew` and `mh mtwrite`; and their memory: `mh vmtasks` and `mh numa`.

mod crew;
mod job_slots;
mod mappings;
#[cfg(feature = "mtwrite")]
mod mtwrite;
mod numa;
#[cfg(feature = "mtwrite")]
mod prefault;
#[cfg(feature = "mtwrite")]
mod preload;
mod vmtasks;
mod xjobs;

pub use self::crew::ENTRY as CREW;
#[cfg(feature = "mtwrite")]
pub use mtwrite::ENTRY as MTWRITE;
pub use numa::ENTRY as NUMA;
pub use vmtasks::ENTRY as VMTASKS;
pub use xjobs::ENTRY as XJOBS;
