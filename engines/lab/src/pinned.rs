//! Threads that stay on one CPU.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;

/// Keeps the calling thread on `cpu`.
pub(crate) fn stay_on(cpu: usize) -> io::Result<()> {
    // LIMIT: rustix's set holds 1,024 CPUs.
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}
