//! `/proc/PID/task/TID/schedstat` (Documentation/scheduler/sched-stats.rst): three numbers of one thread.
//! LIE: `/proc/PID/schedstat` looks like the process's and is its first thread's alone.

use super::words::{number, words};
use serde::{Deserialize, Serialize};

/// What the scheduler keeps of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRunDelay {
    /// Time on a CPU.
    pub run_ns: u64,
    /// Time it could run and had no CPU, a control group's quota included.
    // LIE: added when the thread at last gets a CPU; one that still waits has waited in secret.
    pub wait_ns: u64,
    /// Times it was given a CPU.
    pub turns: u64,
}

/// The three numbers; none for what is no such file.
pub fn parse(text: &[u8]) -> Option<ThreadRunDelay> {
    let mut columns = words(text);
    let mut next = || columns.next().and_then(number);
    Some(ThreadRunDelay { run_ns: next()?, wait_ns: next()?, turns: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_or_nothing() {
        assert_eq!(parse(b"1 22 333\n"), Some(ThreadRunDelay { run_ns: 1, wait_ns: 22, turns: 333 }));
        for bad in [&b""[..], b"1 2", b"1 2 x", b"-1 2 3"] {
            assert_eq!(parse(bad), None);
        }
    }
}
