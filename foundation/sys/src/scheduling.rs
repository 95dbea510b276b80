//! The process's own scheduling priority (`setpriority(2)`).
//! Only ever lowers it: raising needs rights that an everyday utility does not have.

use std::io;

/// Makes this process nicer by `steps` (1 to 19 lowest). Threads started later inherit it.
pub fn be_nicer(steps: u8) -> io::Result<()> {
    let now = rustix::process::getpriority_process(None)?;
    let nicer = (now + i32::from(steps)).min(19);
    Ok(rustix::process::setpriority_process(None, nicer)?)
}
