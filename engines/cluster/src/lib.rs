//! One list of jobs on many machines: a spool directory that they share, workers that claim chunks of it, and the engines (Slurm, ssh,
//! this machine) that start workers. Theory: `README.md` beside this crate's manifest. Mute: prints nothing, reads no environment.

pub mod alive;
pub mod claims;
pub mod cut;
pub mod forecast;
pub mod gather;
mod job_line;
pub mod launcher;
mod link;
pub mod part;
pub mod spool;
pub mod text;
pub mod worker;
