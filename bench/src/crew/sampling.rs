//! Looks at processes from outside while they run: how many of their threads want a CPU, and how much memory they have.
//! A look takes its time: threads are read one after another, so a sum is of about one moment.

use std::fs;
use std::time::{Duration, Instant};

/// Between two looks. Shorter disturbs what is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// What was seen of a group of processes.
#[derive(Default)]
pub struct Seen {
    /// Threads that run or wait for a CPU, at each look.
    pub runnable: Vec<u32>,
    /// The most resident memory of all of them together.
    pub memory_kib: u64,
}

/// Looks again and again until `is_over`.
pub fn watch(processes: &[u32], is_over: impl Fn() -> bool) -> Seen {
    let mut seen = Seen::default();
    while !is_over() {
        let runnable = processes.iter().map(|process| runnable_threads(*process)).sum();
        // Nobody there yet, or all are gone: no look.
        if processes.iter().any(|process| resident_kib(*process) > 0) {
            seen.runnable.push(runnable);
        }
        seen.memory_kib = seen.memory_kib.max(processes.iter().map(|process| resident_kib(*process)).sum());
        std::thread::sleep(PAUSE);
    }
    seen
}

/// Threads of a process in state R.
fn runnable_threads(process: u32) -> u32 {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
    let stat = |entry: std::io::Result<fs::DirEntry>| fs::read_to_string(entry.ok()?.path().join("stat")).ok();
    threads.filter_map(stat).filter(|stat| fields(stat).next() == Some("R")).count() as u32
}

fn resident_kib(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64 / 1024
}

/// CPU seconds of a process so far; none when it is gone.
pub fn cpu_s(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // utime and stime, the 14th and 15th field of all; state is the third.
    let ticks: u64 = fields(&stat).skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Fields of a `stat` file from the state on: the name before it may hold anything.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace()
}

/// The one child of each parent: time(1) has started it. None when one of them has none in time.
pub fn only_children(parents: &[u32]) -> Option<Vec<u32>> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let pairs: Vec<(u32, u32)> = fs::read_dir("/proc").ok()?.filter_map(|entry| parent_of(&entry.ok()?)).collect();
        let child = |parent: &u32| pairs.iter().find(|(_, its)| its == parent).map(|(process, _)| *process);
        if let Some(children) = parents.iter().map(child).collect() {
            return Some(children);
        }
    }
    None
}

/// A process and its parent.
fn parent_of(entry: &fs::DirEntry) -> Option<(u32, u32)> {
    let process = entry.file_name().to_str()?.parse().ok()?;
    let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
    Some((process, fields(&stat).nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn fields_begin_behind_the_name() {
        assert_eq!(fields("12 (a b) c) R 1 2 3").collect::<Vec<_>>(), ["R", "1", "2", "3"]);
        assert_eq!(fields("nothing").count(), 0);
    }

    #[test]
    fn this_process_is_seen_and_one_that_is_gone_is_not() {
        let own = std::process::id();
        assert!(runnable_threads(own) >= 1, "the one that asks runs");
        assert!(resident_kib(own) > 0 && cpu_s(own).is_some());
        assert_eq!((runnable_threads(u32::MAX), resident_kib(u32::MAX), cpu_s(u32::MAX)), (0, 0, None));
        let looks = std::cell::Cell::new(0);
        let seen = watch(&[own], || looks.replace(looks.get() + 1) == 2);
        assert_eq!((seen.runnable.len(), seen.memory_kib > 0), (2, true));
    }

    #[test]
    fn a_child_is_found_by_its_parent() {
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "sleep 60 & echo $!; wait"]).stdout(Stdio::piped()).spawn().expect("a shell");
        let mut line = String::new();
        let mut said = std::io::BufReader::new(shell.stdout.take().expect("it is piped"));
        std::io::BufRead::read_line(&mut said, &mut line).expect("it speaks");
        let child: u32 = line.trim().parse().expect("a number");
        assert_eq!(only_children(&[shell.id()]), Some(vec![child]));
        let _ended = Command::new("kill").arg(line.trim()).status();
        assert!(shell.wait().is_ok());
    }
}
