//! How much of the time tasks wait for a resource (`/proc/pressure`, PSI, Linux 4.20; Documentation/accounting/psi.rst).
//! Of the whole machine: whose tasks they were is not told.

use crate::host::{Host, HostError, parse_number};
use std::path::PathBuf;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Reclaim, swapping, pages that had been thrown out.
    Memory,
    /// Disks.
    Io,
}

/// The line `some`: times in which at least one task waited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Share of the last ten seconds, 0 to 1, as the kernel averages.
    pub recent_share: f64,
    /// Microseconds since boot.
    pub total_us: u64,
}

/// Reads it; none where the kernel does not count.
pub fn pressure(host: &Host, resource: Resource) -> Result<Option<Pressure>, HostError> {
    let name = match resource {
        Resource::Memory => "memory",
        Resource::Io => "io",
    };
    let path = PathBuf::from(format!("/proc/pressure/{name}"));
    let Some(text) = host.read_if_there(&path)? else { return Ok(None) };
    let line = text.lines().find_map(|line| line.strip_prefix("some "));
    let line = line.ok_or_else(|| HostError::absent(&path, "the line some"))?;
    let value = |name: &'static str| {
        let found = line.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.ok_or_else(|| HostError::absent(&path, name))
    };
    // Hundredths of a per cent, always with two digits behind the point.
    let hundredths = parse_number(&path, "avg10", &value("avg10")?.replace('.', ""))?;
    let total_us = parse_number(&path, "total", value("total")?)?;
    Ok(Some(Pressure { recent_share: hundredths as f64 / 10_000.0, total_us }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn the_line_some_is_read() {
        let fake = FakeHost::new();
        assert_eq!(pressure(&fake.host(), Resource::Memory).expect("no such file"), None);
        fake.file(
            "/proc/pressure/memory",
            "some avg10=12.34 avg60=1.00 avg300=0.00 total=765\nfull avg10=9.99 total=1\n",
        );
        let read = pressure(&fake.host(), Resource::Memory).expect("a good file");
        assert_eq!(read, Some(Pressure { recent_share: 0.1234, total_us: 765 }));
        fake.file("/proc/pressure/io", "some avg10=x avg60=1.00 total=7\n");
        assert!(pressure(&fake.host(), Resource::Io).is_err());
    }
}
