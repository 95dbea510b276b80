//! How much of the time tasks wait for a resource (`/proc/pressure`, PSI, Linux 4.20; Documentation/accounting/psi.rst).
//! Of the whole machine: the kernel does not report which tasks they were.

use crate::host::{Host, HostError, parse_number};
use std::path::{Path, PathBuf};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A CPU to run on.
    Cpu,
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
        Resource::Cpu => "cpu",
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

/// Nanoseconds that the threads of this process which live now have waited for a CPU, each since it began
/// (`/proc/PID/schedstat`, Documentation/scheduler/sched-stats.rst); 0 where the kernel does not tell.
pub fn own_run_delay_ns(host: &Host) -> u64 {
    let Ok(threads) = std::fs::read_dir(host.locate(Path::new("/proc/self/task"))) else { return 0 };
    let delay = |name: std::ffi::OsString| run_delay_ns(host, &Path::new("/proc/self/task").join(name));
    threads.filter_map(|entry| delay(entry.ok()?.file_name())).fold(0, u64::saturating_add)
}

/// The same of the calling thread alone; none where the kernel does not tell.
pub fn thread_run_delay_ns(host: &Host) -> Option<u64> {
    run_delay_ns(host, Path::new("/proc/thread-self"))
}

fn run_delay_ns(host: &Host, thread: &Path) -> Option<u64> {
    let text = host.read_if_there(&thread.join("schedstat")).ok().flatten()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
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

    #[test]
    fn delays_of_all_threads_are_added_up() {
        let fake = FakeHost::new();
        assert_eq!(own_run_delay_ns(&fake.host()), 0);
        fake.file("/proc/self/task/7/schedstat", "100 20 3\n");
        fake.file("/proc/self/task/8/schedstat", "100 22 3\n");
        fake.file("/proc/self/task/9/schedstat", "0\n");
        assert_eq!(own_run_delay_ns(&fake.host()), 42);
        assert_eq!(thread_run_delay_ns(&fake.host()), None);
        fake.file("/proc/thread-self/schedstat", "100 20 3\n");
        assert_eq!(thread_run_delay_ns(&fake.host()), Some(20));
    }
}
