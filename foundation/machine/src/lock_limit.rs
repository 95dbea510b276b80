//! How much memory a process may still lock (`mlock(2)`, RLIMIT_MEMLOCK).

use crate::host::{Host, HostError, parse_number};
use crate::memory::field;
use std::path::Path;

/// The capability to lock without a limit (capabilities(7), CAP_IPC_LOCK): the 14th bit.
const LOCK_CAPABILITY: u64 = 1 << 14;

/// Bytes that this process may still lock; none where nothing bounds it.
pub fn lockable_bytes(host: &Host) -> Result<Option<u64>, HostError> {
    lockable_bytes_in(host, Path::new("/proc/self"))
}

/// The same for another process.
pub fn lockable_bytes_of(host: &Host, process: u32) -> Result<Option<u64>, HostError> {
    lockable_bytes_in(host, Path::new(&format!("/proc/{process}")))
}

fn lockable_bytes_in(host: &Host, directory: &Path) -> Result<Option<u64>, HostError> {
    let path = &directory.join("status");
    let status = host.read(path)?;
    let capabilities = field(&status, "CapEff").and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
    if capabilities & LOCK_CAPABILITY != 0 {
        return Ok(None);
    }
    let locked = field(&status, "VmLck").map_or("0", |text| text.trim_end_matches("kB").trim_end());
    let locked = parse_number(path, "VmLck", locked)?.saturating_mul(1024);
    let path = &directory.join("limits");
    let limits = host.read(path)?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = line.and_then(|line| line.split_ascii_whitespace().next());
    match soft.ok_or_else(|| HostError::absent(path, "Max locked memory"))? {
        "unlimited" => Ok(None),
        limit => Ok(Some(parse_number(path, "Max locked memory", limit)?.saturating_sub(locked))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn lockable(capabilities: &str, limit: &str) -> Result<Option<u64>, HostError> {
        let fake = FakeHost::new();
        fake.file("/proc/self/status", &format!("Name:\tmh\nVmLck:\t  4 kB\nCapEff:\t{capabilities}\n"));
        fake.file(
            "/proc/self/limits",
            &format!("Limit  Soft  Hard\nMax locked memory         {limit}  8388608  bytes\n"),
        );
        lockable_bytes(&fake.host())
    }

    #[test]
    fn the_limit_is_less_by_what_is_locked() {
        assert_eq!(lockable("0000000000000000", "8388608").expect("good files"), Some((8 << 20) - 4096));
        assert_eq!(lockable("0000000000000000", "1").expect("good files"), Some(0));
        assert_eq!(lockable("0000000000000000", "unlimited").expect("good files"), None);
        assert!(lockable("0000000000000000", "much").is_err());
    }

    #[test]
    fn whoever_has_the_capability_has_no_limit() {
        assert_eq!(lockable("000001ffffffffff", "1").expect("good files"), None);
    }

    #[test]
    fn the_real_host_is_understood() {
        lockable_bytes(&Host::real()).expect("Linux has both files");
    }
}
