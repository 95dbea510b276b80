//! How many threads can run at this moment, on the whole machine: what a load bound compares with.
//! Not the load average, which is minutes old and makes programs that watch it swing together.

use crate::host::{FieldFault, Host, HostError};
use std::path::Path;

/// Threads that run or could, the caller's own included (`procs_running` in proc(5)).
pub fn runnable_threads(host: &Host) -> Result<u64, HostError> {
    let path = Path::new("/proc/stat");
    let text = host.read(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix("procs_running "));
    let value = value.ok_or_else(|| HostError::absent(path, "procs_running"))?;
    let number = value.trim().parse().ok();
    number.ok_or_else(|| HostError::Understand {
        path: path.to_owned(),
        field: "procs_running",
        cause: FieldFault::NotANumber(value.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_the_one_that_asks_can_run() {
        assert!(runnable_threads(&Host::real()).expect("Linux tells") >= 1);
    }
}
