//! What the host has left of tasks, files and memory, outside of control groups. Every file may be missing.

use crate::files::Files;
use crate::source::words::{number, number_of, value_of, words};

/// Threads of the whole machine; none where loadavg is no such file.
pub fn threads_of_machine(files: &mut Files) -> Option<u64> {
    let text = files.read("loadavg").ok()?;
    let column = words(text).nth(3)?;
    let slash = column.iter().position(|&byte| byte == b'/')?;
    number(&column[slash + 1..])
}

/// A number that is a file's first word.
pub fn number_in(files: &mut Files, path: &str) -> Option<u64> {
    words(files.read(path).ok()?).next().and_then(number)
}

/// Open files that may be added (`fs.file-max` less those in use).
pub fn files_left(files: &mut Files) -> Option<u64> {
    let text = files.read("sys/fs/file-nr").ok()?;
    let mut columns = words(text).map(number);
    let (now, _, limit) = (columns.next()??, columns.next(), columns.next()??);
    Some(limit.saturating_sub(now))
}

/// The soft limit of processes of a user, as one process has it; none where it is unlimited.
pub fn processes_max(files: &mut Files, pid: u32) -> Option<u64> {
    let text = files.read(&format!("{pid}/limits")).ok()?;
    words(value_of(text, b"Max processes")?).next().and_then(number)
}

/// `MemTotal` and `MemAvailable` and `KernelStack`, in bytes.
pub fn memory(files: &mut Files) -> Option<(u64, u64, u64)> {
    let text = files.read("meminfo").ok()?;
    let bytes = |key: &[u8]| number_of(text, key).map(|kibibytes| kibibytes.saturating_mul(1024));
    let (total, free) = (bytes(b"MemTotal:")?, bytes(b"MemFree:"));
    // Before Linux 3.14 nobody estimated what could be had; free memory is the safe answer.
    let available = bytes(b"MemAvailable:").or(free)?;
    Some((total, available, bytes(b"KernelStack:").unwrap_or(0)))
}

/// In KiB, the sizes of huge pages that Linux has on any machine: one pool each.
const HUGE_PAGE_SIZES: [u64; 9] = [64, 1024, 2048, 16_384, 32_768, 524_288, 1_048_576, 2_097_152, 16_777_216];

/// What the pools of huge pages in this directory (`/sys/kernel/mm/hugepages`) still have: free pages that are promised to nobody, and those that
/// may be added. None where there is no pool.
pub fn huge_pages_left(pools: &mut Files) -> Option<u64> {
    let lefts = HUGE_PAGE_SIZES.iter().filter_map(|size| {
        let mut count = |file: &str| number_in(pools, &format!("hugepages-{size}kB/{file}"));
        let unpromised = count("free_hugepages")?.saturating_sub(count("resv_hugepages").unwrap_or(0));
        // LIMIT: a page that is added is the machine's memory as well, which is not charged for it.
        let may_be_added = count("nr_overcommit_hugepages").unwrap_or(0);
        let addable = may_be_added.saturating_sub(count("surplus_hugepages").unwrap_or(0));
        Some(unpromised.saturating_add(addable).saturating_mul(size.saturating_mul(1024)))
    });
    lefts.reduce(u64::saturating_add)
}

/// Share of the last ten seconds in which some task waited for memory, in percent.
pub fn memory_pressure(files: &mut Files) -> Option<f64> {
    let text = files.read("pressure/memory").ok()?;
    let average = words(value_of(text, b"some ")?).find_map(|word| word.strip_prefix(b"avg10="))?;
    let average: f64 = std::str::from_utf8(average).ok()?.parse().ok()?;
    average.is_finite().then_some(average)
}
