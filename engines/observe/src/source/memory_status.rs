//! The memory of a process in `/proc/PID/status` (proc_pid_status(5)): cheap to read, any user, but what processes share
//! since a fork counts in each.

use super::words::{lines, number, words};

/// In bytes, but the threads. A kernel thread has none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStatus {
    /// All that is mapped and in memory, however many map it: what `ps` shows.
    pub resident_bytes: u64,
    /// Anonymous pages in memory.
    pub anonymous_bytes: u64,
    /// Pages of shared memory, private or not, in memory.
    pub shared_bytes: u64,
    /// Pages of the pool of huge pages, which the other sums leave out; private or not.
    pub huge_bytes: u64,
    /// Swapped out.
    pub swap_bytes: u64,
    /// Page tables.
    pub tables_bytes: u64,
    /// The first thread's stack, as far as it has grown.
    pub stack_bytes: u64,
    /// Threads.
    pub threads: u64,
}

/// Reads the file's text; none for what has no memory of its own: kernel threads, and processes that have ended.
pub fn parse(text: &[u8]) -> Option<MemoryStatus> {
    let mut status = MemoryStatus { threads: 1, ..MemoryStatus::default() };
    let mut has_memory = false;
    for line in lines(text) {
        let mut columns = words(line);
        let (Some(key), Some(value)) = (columns.next(), columns.next().and_then(number)) else { continue };
        // LIE: the kernel writes kB and means KiB.
        let bytes = value.saturating_mul(1024);
        match key {
            b"VmRSS:" => {
                status.resident_bytes = bytes;
                has_memory = true;
            }
            b"RssAnon:" => status.anonymous_bytes = bytes,
            b"RssShmem:" => status.shared_bytes = bytes,
            b"HugetlbPages:" => status.huge_bytes = bytes,
            b"VmSwap:" => status.swap_bytes = bytes,
            b"VmPTE:" => status.tables_bytes = bytes,
            b"VmStk:" => status.stack_bytes = bytes,
            b"Threads:" => status.threads = value,
            _ => {}
        }
    }
    has_memory.then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_memory_and_kernel_threads_have_none() {
        let text = b"Name:\tx\nVmStk:\t 132 kB\nVmPTE:\t 48 kB\nVmSwap:\t 4 kB\nVmRSS:\t 100 kB\nRssAnon:\t 40 kB\nRssShmem:\t 7 kB\nHugetlbPages:\t 2048 kB\nThreads:\t3\n";
        let status = parse(text).expect("a program");
        assert_eq!((status.resident_bytes, status.anonymous_bytes, status.swap_bytes), (100 << 10, 40 << 10, 4 << 10));
        assert_eq!((status.tables_bytes, status.stack_bytes, status.threads), (48 << 10, 132 << 10, 3));
        assert_eq!((status.shared_bytes, status.huge_bytes), (7 << 10, 2 << 20));
        assert_eq!(parse(b"Name:\tkthreadd\nThreads:\t1\n"), None);
        assert_eq!(parse(b""), None);
    }
}
