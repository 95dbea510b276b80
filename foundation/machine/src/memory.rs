//! Memory of the host (`/proc/meminfo`) and of this process (`/proc/self/status`), in bytes.
//! Control groups, which may allow less, are read in `cgroup`.

use crate::host::{Host, HostError, parse_number};
use std::path::Path;

/// The host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemory {
    /// Memory the kernel manages.
    pub total_bytes: u64,
    /// What a new program may use without swapping, as the kernel estimates (proc_meminfo(5), Linux 3.14).
    pub available_bytes: u64,
}

/// This process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMemory {
    /// In memory now (VmRSS).
    pub resident_bytes: u64,
    /// In memory at most since the program started (VmHWM).
    pub resident_bytes_max: u64,
}

/// Reads `/proc/meminfo`.
pub fn host_memory(host: &Host) -> Result<HostMemory, HostError> {
    let path = Path::new("/proc/meminfo");
    let text = host.read(path)?;
    Ok(HostMemory {
        total_bytes: field_bytes(path, &text, "MemTotal")?,
        available_bytes: field_bytes(path, &text, "MemAvailable")?,
    })
}

/// Reads `/proc/self/status`.
pub fn process_memory(host: &Host) -> Result<ProcessMemory, HostError> {
    let path = Path::new("/proc/self/status");
    let text = host.read(path)?;
    Ok(ProcessMemory {
        resident_bytes: field_bytes(path, &text, "VmRSS")?,
        resident_bytes_max: field_bytes(path, &text, "VmHWM")?,
    })
}

/// The value of the line `Name:   123 kB`.
fn field_bytes(path: &Path, text: &str, name: &'static str) -> Result<u64, HostError> {
    let value = field(text, name).ok_or_else(|| HostError::absent(path, name))?;
    // LIE: the kernel writes kB and means KiB.
    let kibibytes = parse_number(path, name, value.trim_end_matches("kB").trim_end())?;
    kibibytes.checked_mul(1024).ok_or_else(|| HostError::not_a_number(path, name, value))
}

/// What stands after `Name:` in a file of such lines.
pub(crate) fn field<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn meminfo_is_read_in_bytes() {
        let fake = FakeHost::new();
        fake.file("/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    500 kB\n");
        let memory = host_memory(&fake.host()).expect("a good file");
        assert_eq!(memory, HostMemory { total_bytes: 1_024_000, available_bytes: 512_000 });
    }

    #[test]
    fn a_kernel_without_mem_available_is_an_error_that_names_it() {
        let fake = FakeHost::new();
        fake.file("/proc/meminfo", "MemTotal: 1000 kB\n");
        let error = host_memory(&fake.host()).expect_err("no MemAvailable");
        assert_eq!(error.to_string(), "find MemAvailable in '/proc/meminfo'");
    }

    #[test]
    fn malformed_sizes_are_refused_rather_than_guessed() {
        for bad in ["MemTotal: x kB", "MemTotal:", "MemTotal: 18446744073709551615 kB"] {
            let fake = FakeHost::new();
            fake.file("/proc/meminfo", bad);
            assert!(host_memory(&fake.host()).is_err(), "{bad}");
        }
    }

    #[test]
    fn peak_and_present_size_of_the_process_are_told_apart() {
        let fake = FakeHost::new();
        fake.file("/proc/self/status", "Name:\tmh\nVmHWM:\t    8 kB\nVmRSS:\t    4 kB\n");
        let memory = process_memory(&fake.host()).expect("a good file");
        assert_eq!(memory, ProcessMemory { resident_bytes: 4096, resident_bytes_max: 8192 });
    }

    #[test]
    fn the_real_host_is_understood() {
        let memory = host_memory(&Host::real()).expect("Linux has meminfo");
        assert!(memory.available_bytes <= memory.total_bytes);
        assert!(process_memory(&Host::real()).expect("and status").resident_bytes > 0);
    }
}
