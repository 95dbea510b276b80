//! Whether another process lives, since when, and whether it is stopped (`/proc/PID/stat`, proc_pid_stat(5)).
//! Sends nothing to it and needs no rights over it.

use crate::host::{Host, HostError, parse_number};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What tells one process from a later one with the same number, and whether it can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// When it began, in clock ticks after boot.
    pub start_ticks: u64,
    /// Stopped by a signal or by a debugger: it does not run until somebody lets it.
    pub is_stopped: bool,
}

/// The facts of process `pid`; none when there is no such process in this pid namespace.
pub fn process_facts(host: &Host, pid: u32) -> Result<Option<ProcessFacts>, HostError> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let Some(text) = host.read_if_there(&path)? else { return Ok(None) };
    // The name may hold blanks and brackets; nothing behind it does.
    let (_, behind_name) = text.rsplit_once(')').ok_or_else(|| HostError::absent(&path, "the end of the name"))?;
    let mut columns = behind_name.split_ascii_whitespace();
    let state = columns.next().ok_or_else(|| HostError::absent(&path, "the state"))?;
    // Column 22 of the file; the state is column 3.
    let start = columns.nth(18).ok_or_else(|| HostError::absent(&path, "the start time"))?;
    let start_ticks = parse_number(&path, "the start time", start)?;
    Ok(Some(ProcessFacts { start_ticks, is_stopped: matches!(state, "T" | "t") }))
}

/// The value of a variable that process `pid` began its program with (`/proc/PID/environ`); none where it has none or may not be
/// asked.
pub fn process_variable(host: &Host, pid: u32, name: &str) -> Option<String> {
    let variables = host.read(&PathBuf::from(format!("/proc/{pid}/environ"))).ok()?;
    let mut words = variables.split('\0').filter_map(|word| word.split_once('='));
    words.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// CPU time that a process and the children it has waited for used, in clock ticks; none when there is no such process.
pub fn process_cpu_ticks(host: &Host, pid: u32) -> Result<Option<u64>, HostError> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let Some(text) = host.read_if_there(&path)? else { return Ok(None) };
    let (_, behind_name) = text.rsplit_once(')').ok_or_else(|| HostError::absent(&path, "the end of the name"))?;
    // Columns 14 to 17 of the file: own and children's, in programs and in the kernel.
    let columns = behind_name.split_ascii_whitespace().skip(11).take(4);
    columns.map(|column| parse_number(&path, "CPU time", column)).sum::<Result<u64, _>>().map(Some)
}

/// Bytes that a process and the children it has waited for moved (`/proc/PID/io`, proc_pid_io(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Asked for with `read` and its relatives, from files, pipes and devices alike, whether or not a device was needed.
    pub read_bytes: u64,
    /// Given to `write` and its relatives.
    pub written_bytes: u64,
}

/// What process `pid` moved, also one that has ended and is not reaped; an error without the right to look.
pub fn process_io(host: &Host, pid: u32) -> Result<ProcessIo, HostError> {
    let path = PathBuf::from(format!("/proc/{pid}/io"));
    let text = host.read(&path)?;
    let number = |name: &'static str| {
        let value = crate::memory::field(&text, name).ok_or_else(|| HostError::absent(&path, name))?;
        parse_number(&path, name, value)
    };
    Ok(ProcessIo { read_bytes: number("rchar")?, written_bytes: number("wchar")? })
}

/// The name of process `pid`, at most 15 bytes of it; none when there is no such process.
pub fn process_name(host: &Host, pid: u32) -> Result<Option<String>, HostError> {
    let name = host.read_if_there(Path::new(&format!("/proc/{pid}/comm")))?;
    Ok(name.map(|name| name.trim_end().to_owned()))
}

/// The number of this process's pid namespace (pid_namespaces(7)): pids of another one mean nothing here.
pub fn own_pid_namespace(host: &Host) -> Result<u64, HostError> {
    let path = Path::new("/proc/self/ns/pid");
    match std::fs::metadata(host.locate(path)) {
        Ok(status) => Ok(status.ino()),
        Err(cause) => Err(HostError::Read { path: path.to_owned(), cause }),
    }
}

/// Whether the numbers of processes seen here are the kernel's own: in the first of all pid namespaces.
pub fn sees_the_kernels_numbers(host: &Host) -> Result<bool, HostError> {
    /// It always has this number (`PROC_PID_INIT_INO`).
    const FIRST: u64 = 0xefff_fffc;
    Ok(own_pid_namespace(host)? == FIRST)
}

/// LIMIT: no 64-bit kernel gives higher numbers to threads (`PID_MAX_LIMIT`).
const THREAD_NUMBERS_MAX: u64 = 4 << 20;

/// Numbers of threads are below this.
pub fn thread_numbers(host: &Host) -> Result<u32, HostError> {
    let path = Path::new("/proc/sys/kernel/pid_max");
    let numbers = parse_number(path, "the highest number", host.read(path)?.trim())?;
    Ok(u32::try_from(numbers.clamp(1, THREAD_NUMBERS_MAX)).expect("bounded above"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn names_with_brackets_and_stopped_states_are_read() {
        let fake = FakeHost::new();
        fake.file("/proc/7/stat", "7 (a) b (c) T 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9\n");
        let facts = process_facts(&fake.host(), 7).expect("a good file");
        assert_eq!(facts, Some(ProcessFacts { start_ticks: 4711, is_stopped: true }));
        assert_eq!(process_cpu_ticks(&fake.host(), 7).expect("a good file"), Some(5 + 6 + 7 + 8));
        assert_eq!(process_cpu_ticks(&fake.host(), 8).expect("no such process"), None);
        assert_eq!(process_facts(&fake.host(), 8).expect("no such process"), None);
        fake.file("/proc/9/stat", "9 (a) R 1\n");
        assert_eq!(
            process_facts(&fake.host(), 9).expect_err("too short").to_string(),
            "find the start time in '/proc/9/stat'"
        );
    }

    #[test]
    fn bytes_moved_are_those_of_calls() {
        let fake = FakeHost::new();
        fake.file("/proc/7/io", "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\n");
        let moved = process_io(&fake.host(), 7).expect("a good file");
        assert_eq!(moved, ProcessIo { read_bytes: 10, written_bytes: 20 });
        assert!(process_io(&fake.host(), 8).is_err());
        assert!(process_io(&Host::real(), std::process::id()).expect("our own").read_bytes > 0);
        assert!(process_name(&Host::real(), std::process::id()).expect("our own").is_some());
    }

    #[test]
    fn this_process_lives_and_is_not_stopped() {
        let facts = process_facts(&Host::real(), std::process::id()).expect("readable").expect("it lives");
        assert!(!facts.is_stopped && facts.start_ticks > 0);
        assert!(own_pid_namespace(&Host::real()).expect("readable") > 0);
    }
}
