//! Which CPUs there are, and on how many of them this thread may run. Quotas are read in
//! `cgroup`; nothing here changes a mask.

use crate::host::{Host, HostError, parse_number};
use crate::memory::field;
use std::path::Path;

/// Counts the CPUs that the calling thread, and threads it starts, may run on.
///
/// Asks `sched_getaffinity(2)`; a fake host answers from its `/proc/self/status`.
pub fn allowed_cpus(host: &Host) -> Result<usize, HostError> {
    if !host.is_real() {
        return allowed_cpus_in_status(host);
    }
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => Ok((set.count() as usize).max(1)),
        // LIMIT: rustix asks for 1024 CPUs; a kernel built for more refuses with EINVAL, but lists them in status.
        Err(rustix::io::Errno::INVAL) => allowed_cpus_in_status(host),
        Err(error) => Err(HostError::Ask { question: "the allowed CPUs", cause: error.into() }),
    }
}

/// The numbers of those CPUs, ascending: what a run may take hands on.
pub fn allowed_cpu_numbers(host: &Host) -> Result<Vec<usize>, HostError> {
    if host.is_real()
        && let Ok(set) = rustix::thread::sched_getaffinity(None)
    {
        return Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect());
    }
    let path = Path::new("/proc/self/status");
    let text = host.read(path)?;
    let list = field(&text, "Cpus_allowed_list").ok_or_else(|| HostError::absent(path, "Cpus_allowed_list"))?;
    numbers_in(path, "Cpus_allowed_list", list)
}

/// What a list names, such as `0-3,8,10-11`.
pub(crate) fn numbers_in(path: &Path, field: &'static str, list: &str) -> Result<Vec<usize>, HostError> {
    let mut numbers = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = bounds(path, field, part)?;
        // LIMIT: no kernel is built for more CPUs; a list that claims more is cut off, not believed.
        numbers.extend((first..=last.min(CPU_NUMBER_MAX)).filter_map(|cpu| usize::try_from(cpu).ok()));
    }
    Ok(numbers)
}

/// Beyond what any kernel can be built for (NR_CPUS is 8192 at most).
const CPU_NUMBER_MAX: u64 = 8191;

/// The same from the file, which speaks for the process's first thread only.
fn allowed_cpus_in_status(host: &Host) -> Result<usize, HostError> {
    let path = Path::new("/proc/self/status");
    let text = host.read(path)?;
    let list = field(&text, "Cpus_allowed_list").ok_or_else(|| HostError::absent(path, "Cpus_allowed_list"))?;
    count_list(path, "Cpus_allowed_list", list)
}

/// Counts the CPUs that are switched on, whoever may use them.
pub fn online_cpus(host: &Host) -> Result<usize, HostError> {
    let path = Path::new("/sys/devices/system/cpu/online");
    count_list(path, "the list of CPUs", host.read(path)?.trim())
}

/// How many numbers CPUs can have: one more than the highest that could ever be switched on.
pub fn possible_cpus(host: &Host) -> Result<u32, HostError> {
    let path = Path::new("/sys/devices/system/cpu/possible");
    let text = host.read(path)?;
    let last = text.trim().rsplit(',').next().unwrap_or_default();
    let (_, last) = bounds(path, "the list of CPUs", last)?;
    // LIMIT: as above.
    Ok(u32::try_from(last.min(CPU_NUMBER_MAX)).expect("bounded above") + 1)
}

/// Counts what a list names, such as `0-3,8,10-11` (cpuset(7), "List format").
fn count_list(path: &Path, field: &'static str, list: &str) -> Result<usize, HostError> {
    let mut count: u64 = 0;
    for part in list.split(',') {
        let (first, last) = bounds(path, field, part)?;
        let named = last.checked_sub(first).and_then(|more| more.checked_add(1));
        let named = named.ok_or_else(|| HostError::not_a_number(path, field, part))?;
        count = count.saturating_add(named);
    }
    usize::try_from(count).ok().ok_or_else(|| HostError::not_a_number(path, field, list))
}

/// `8` or `10-11`.
fn bounds(path: &Path, field: &'static str, part: &str) -> Result<(u64, u64), HostError> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    Ok((parse_number(path, field, first)?, parse_number(path, field, last)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn lists_of_cpus_are_counted() {
        let fake = FakeHost::new();
        fake.file("/sys/devices/system/cpu/online", "0-3,8,10-11\n");
        fake.file("/proc/self/status", "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n");
        assert_eq!(online_cpus(&fake.host()).expect("a good list"), 7);
        assert_eq!(allowed_cpus(&fake.host()).expect("a good list"), 2);
        assert_eq!(allowed_cpu_numbers(&fake.host()).expect("a good list"), [0, 1]);
        fake.file("/proc/self/status", "Cpus_allowed_list:\t2,4-18446744073709551615\n");
        assert_eq!(allowed_cpu_numbers(&fake.host()).expect("cut off").len(), 1 + 8192 - 4);
    }

    #[test]
    fn the_highest_possible_number_counts() {
        let fake = FakeHost::new();
        fake.file("/sys/devices/system/cpu/possible", "0-3,8-63\n");
        assert_eq!(possible_cpus(&fake.host()).expect("a good list"), 64);
        fake.file("/sys/devices/system/cpu/possible", "0\n");
        assert_eq!(possible_cpus(&fake.host()).expect("a good list"), 1);
        fake.file("/sys/devices/system/cpu/possible", "0-\n");
        assert!(possible_cpus(&fake.host()).is_err());
    }

    #[test]
    fn malformed_lists_are_refused() {
        for bad in ["", "a", "3-1", "1-", "0-18446744073709551615", "1,,2"] {
            let fake = FakeHost::new();
            fake.file("/sys/devices/system/cpu/online", bad);
            assert!(online_cpus(&fake.host()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_kernel_and_its_status_file_agree_on_the_real_host() {
        let host = Host::real();
        assert_eq!(allowed_cpus(&host).expect("asked"), allowed_cpus_in_status(&host).expect("read"));
        assert_eq!(allowed_cpus(&host).expect("asked"), allowed_cpu_numbers(&host).expect("asked").len());
    }
}
