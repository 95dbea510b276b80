//! What is not a race: memory that must not grow, a skewed list against what list scheduling allows, and how often a run that
//! only waits wakes up. Ours alone, looked at from beside through /proc.

use super::Sizes;
use super::programs::{Own, Programs, WIDTH};
use super::sheet::Figure;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MEMORY: &str = "memory over the whole list";
const QUEUED: &str = "memory of a queued job";
const SKEWED: &str = "skewed list";
const WAKE_UPS: &str = "wake-ups while jobs run";

/// What can be watched.
pub const NAMES: [&str; 4] = [MEMORY, QUEUED, SKEWED, WAKE_UPS];

/// LIMIT: issue 4, section 2: what a run may take, and each job that it has read ahead.
const MEMORY_MB_MAX: f64 = 6.0;
const QUEUED_BYTES_MAX: f64 = 100.0;
const SKEW_RATIO_MAX: f64 = 1.05;

/// "Flat": what an allocator may round up to in the meantime.
const GROWTH_MB_MAX: f64 = 0.3;

/// Jobs that are read ahead by default.
const QUEUE_DEFAULT: usize = 1000;

/// Watches one of them.
pub fn watch(name: &str, programs: &Programs, sizes: Sizes) -> Result<Vec<Figure>, String> {
    match name {
        MEMORY => memory(programs, sizes.many_lines),
        QUEUED => queued(programs, sizes.queued),
        SKEWED => skewed(programs, sizes.skew_s),
        WAKE_UPS => wake_ups(programs),
        other => Err(format!("there is nothing called {other}")),
    }
}

fn megabytes(kibibytes: u64) -> f64 {
    kibibytes as f64 * 1024.0 / 1e6
}

fn memory(programs: &Programs, lines: usize) -> Result<Vec<Figure>, String> {
    let mut peaks = Vec::new();
    for count in [lines / 100, lines] {
        let account = programs.file("account");
        let begin = Instant::now();
        let mut child = Command::new(&programs.ours)
            .args(["xjobs", "-N", "-j", &WIDTH.to_string(), &programs.static_job])
            .env("BENCH_LAST", count.to_string())
            .env("BENCH_ROOT", std::process::id().to_string())
            .env("BENCH_ACCOUNT", &account)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| format!("could not run ours: {error}"))?;
        feed(&mut child, (1..=count).map(|number| format!("{number}\n")))?;
        ended_well(child)?;
        let text = std::fs::read_to_string(&account).map_err(|error| format!("no account: {error}"))?;
        let own = Own::parse(&text).ok_or_else(|| format!("the account says {text:?}"))?;
        println!("  {count} lines in {:.1} s, {} KiB", begin.elapsed().as_secs_f64(), own.peak_kib);
        peaks.push(megabytes(own.peak_kib));
    }
    let most = MEMORY_MB_MAX + QUEUE_DEFAULT as f64 * QUEUED_BYTES_MAX / 1e6;
    Ok(vec![
        Figure::at_most(&format!("peak over {lines} lines"), peaks[1], "MB", most),
        Figure::at_most(&format!("more than over {} lines", lines / 100), peaks[1] - peaks[0], "MB", GROWTH_MB_MAX),
    ])
}

fn queued(programs: &Programs, count: usize) -> Result<Vec<Figure>, String> {
    let mut resident = Vec::new();
    for ahead in [QUEUE_DEFAULT, count] {
        let mut child = waiting_run(programs, &["-q", &ahead.to_string()], ahead)?;
        let worker = worker_of(child.id())?;
        let sizes = settled(|| status_field(worker, "VmRSS:"));
        end(&mut child)?;
        resident.push(sizes? as f64 * 1024.0);
    }
    let each = (resident[1] - resident[0]) / (count - QUEUE_DEFAULT) as f64;
    Ok(vec![
        Figure::at_most(&format!("each of {count}"), each, "bytes", QUEUED_BYTES_MAX),
        Figure::informs(&format!("all, {count} queued"), resident[1] / 1e6, "MB"),
    ])
}

/// A run whose jobs sleep, and whose list holds as many more as it reads ahead.
fn waiting_run(programs: &Programs, options: &[&str], lines: usize) -> Result<Child, String> {
    let mut child = Command::new(&programs.ours)
        .args(["xjobs", "-v0", "-N", "-j", &WIDTH.to_string()])
        .args(options)
        .arg("sleep")
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not run ours: {error}"))?;
    feed(&mut child, (0..lines + WIDTH).map(|number| format!("{}\n", 1_000_000 + number)))?;
    Ok(child)
}

fn feed(child: &mut Child, mut lines: impl Iterator<Item = String>) -> Result<(), String> {
    let pipe = child.stdin.take().expect("it is piped");
    let mut pipe = std::io::BufWriter::with_capacity(64 << 10, pipe);
    let written = lines.try_for_each(|line| pipe.write_all(line.as_bytes()));
    written.and_then(|()| pipe.flush()).map_err(|error| format!("could not feed it: {error}"))
}

fn skewed(programs: &Programs, short_s: f64) -> Result<Vec<Figure>, String> {
    let times: Vec<f64> = [1.0, 1.0, 1.0, 4.0].repeat(3).into_iter().map(|factor: f64| factor * short_s).collect();
    let list = programs.file("skewed");
    let text: String = times.iter().map(|time| format!("{time}\n")).collect();
    std::fs::write(&list, text).map_err(|error| format!("could not write {}: {error}", list.display()))?;
    let begin = Instant::now();
    let child = Command::new(&programs.ours)
        .args(["xjobs", "-j", &WIDTH.to_string(), "sleep"])
        .stdin(File::open(&list).map_err(|error| format!("could not read {}: {error}", list.display()))?)
        .spawn()
        .map_err(|error| format!("could not run ours: {error}"))?;
    ended_well(child)?;
    let (took_s, bound_s) = (begin.elapsed().as_secs_f64(), list_scheduled(&times, WIDTH));
    let what = format!("{} jobs, {took_s:.2} s of {bound_s:.2}", times.len());
    Ok(vec![Figure::at_most(&what, took_s / bound_s, "of list scheduling's time", SKEW_RATIO_MAX)])
}

/// When the last job ends if each starts as soon as a hand is free, in the list's order.
fn list_scheduled(times: &[f64], width: usize) -> f64 {
    let mut free_at = vec![0.0_f64; width];
    for time in times {
        let first = free_at.iter_mut().min_by(|one, other| one.total_cmp(other)).expect("there is a hand");
        *first += time;
    }
    free_at.into_iter().fold(0.0, f64::max)
}

fn wake_ups(programs: &Programs) -> Result<Vec<Figure>, String> {
    let mut child = waiting_run(programs, &[], QUEUE_DEFAULT / 2)?;
    let worker = worker_of(child.id())?;
    std::thread::sleep(Duration::from_secs(1));
    let both = || switches(child.id()).and_then(|guard| Ok(guard + switches(worker)?));
    let seconds = 5;
    let before = both();
    std::thread::sleep(Duration::from_secs(seconds));
    let after = both();
    end(&mut child)?;
    let a_second = (after? - before?) as f64 / seconds as f64;
    Ok(vec![Figure::at_most("guard and runner, all threads", a_second, "a second", 0.0)])
}

/// The guard's child does the work.
fn worker_of(guard: u32) -> Result<u32, String> {
    let path = format!("/proc/{guard}/task/{guard}/children");
    for _ in 0..100 {
        let children = std::fs::read_to_string(&path).map_err(|error| format!("could not read {path}: {error}"))?;
        if let Some(worker) = children.split_whitespace().next().and_then(|word| word.parse().ok()) {
            return Ok(worker);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("the guard has no child".to_owned())
}

/// Times that any thread of a process went to sleep or was pushed off its CPU.
fn switches(process: u32) -> Result<u64, String> {
    let directory = PathBuf::from(format!("/proc/{process}/task"));
    let failed = |error: std::io::Error| format!("could not read {}: {error}", directory.display());
    let mut all = 0;
    for thread in std::fs::read_dir(&directory).map_err(failed)? {
        let path = thread.map_err(failed)?.path().join("status");
        all += field(&path, "voluntary_ctxt_switches:")? + field(&path, "nonvoluntary_ctxt_switches:")?;
    }
    Ok(all)
}

fn status_field(process: u32, name: &str) -> Result<u64, String> {
    field(Path::new(&format!("/proc/{process}/status")), name)
}

fn field(path: &Path, name: &str) -> Result<u64, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("could not read {}: {error}", path.display()))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    value.ok_or_else(|| format!("there is no {name} in {}", path.display()))
}

/// The value when it has been the same five times in a row.
fn settled(mut look: impl FnMut() -> Result<u64, String>) -> Result<u64, String> {
    let (mut last, mut equal) = (look()?, 0);
    for _ in 0..300 {
        std::thread::sleep(Duration::from_millis(100));
        let now = look()?;
        equal = if now == last { equal + 1 } else { 0 };
        last = now;
        if equal == 5 {
            return Ok(last);
        }
    }
    Err("it does not settle".to_owned())
}

fn ended_well(mut child: Child) -> Result<(), String> {
    let status = child.wait().map_err(|error| format!("could not wait for ours: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("ours ended with {status}")) }
}

/// Ends a run whose jobs would go on for days; the guard passes the signal on and waits.
fn end(child: &mut Child) -> Result<(), String> {
    let guard = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process number");
    let failed = |error: std::io::Error| format!("could not end ours: {error}");
    rustix::process::kill_process(guard, rustix::process::Signal::TERM).map_err(|error| failed(error.into()))?;
    child.wait().map(|_by_the_signal| ()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_scheduled_as_hands_become_free() {
        assert_eq!(list_scheduled(&[1.0, 1.0, 1.0, 4.0], 2), 5.0);
        assert_eq!(list_scheduled(&[4.0, 1.0, 1.0, 1.0], 2), 4.0);
        assert_eq!(list_scheduled(&[1.0, 1.0, 1.0, 4.0], 1), 7.0);
    }

    #[test]
    fn own_switches_and_size_can_be_read() {
        let own = std::process::id();
        assert!(switches(own).is_ok() && status_field(own, "VmRSS:").expect("Linux tells") > 0);
        assert!(status_field(own, "Nonsense:").is_err());
    }

    #[test]
    fn what_changes_all_the_time_does_not_settle_at_once() {
        let mut values = [1, 2, 3, 3, 3, 3, 3, 3].into_iter();
        assert_eq!(settled(|| Ok(values.next().expect("enough"))), Ok(3));
    }
}
