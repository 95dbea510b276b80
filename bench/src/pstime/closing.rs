//! Whether the table closes while many short processes come and go: what stands in its rows, and under "(unaccounted)", against what
//! the topmost control group's account moved by in the same time, read from outside four times a millisecond.

use super::load::{Reading, readings_of};
use super::{Record, Row, median};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// LIMIT: of the machine's time, so many percent may be left over: the issue's.
const PERCENT_MAX: f64 = 0.1;
const ACCOUNTS: [&str; 2] = ["/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"];

/// So far around a sample the account's readings are taken.
const AROUND_NS: u64 = 4_000_000;

/// What `mh pstime --json` says of the machine.
#[derive(Deserialize)]
struct Told {
    elapsed_ns: u64,
    machine: Machine,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Machine {
    total_ns: u64,
    unaccounted_ns: i64,
    online_cpus: u32,
}

/// Measures and says.
pub fn run(program: &Path, trials: usize, record: &mut Record) -> Result<(), String> {
    let Some(account) = ACCOUNTS.into_iter().find(|path| Path::new(path).exists()) else {
        record.say("## closing under a storm of short processes\n\nnot measured: no control group of version 1 keeps an account\n\n");
        return Ok(());
    };
    let (mut left_over, mut ended) = (Vec::new(), Vec::new());
    for trial in 0..trials {
        let (told, moved_ns) = watch(program, account, trial)?;
        let rows_ns: i64 = told.rows.iter().map(|row| row.cpu_ns.cast_signed()).sum();
        let all_ns = (told.elapsed_ns * u64::from(told.machine.online_cpus)) as f64;
        let percent = ((rows_ns + told.machine.unaccounted_ns) as f64 - moved_ns).abs() / all_ns * 100.0;
        let share = told.machine.unaccounted_ns as f64 / told.machine.total_ns as f64 * 100.0;
        record.raw("closing", "storm", trial, &[percent, share, told.rows.len() as f64]);
        left_over.push(percent);
        ended.push(share);
    }
    let worst = left_over.iter().copied().fold(0.0, f64::max);
    let verdict = record.verdict(worst <= PERCENT_MAX);
    record.say(&format!(
        "## closing under a storm of short processes\n\n{trials} trials of 1 s; rows and (unaccounted) beside {account}: apart by \
         {:.3} % of the machine (median), {worst:.3} % (worst), target {PERCENT_MAX} %: {verdict}; (unaccounted) was {:.1} % of what was used\n\n",
        median(&left_over),
        median(&ended)
    ));
    Ok(())
}

/// What was told of a second, and by how much the account moved in it.
fn watch(program: &Path, account: &str, trial: usize) -> Result<(Told, f64), String> {
    let recording = std::env::temp_dir().join(format!("mh-bench-{}-closing-{trial}", std::process::id()));
    let is_over = AtomicBool::new(false);
    let (output, log) = std::thread::scope(|scope| {
        let storms: Vec<_> = (0..2).map(|_| scope.spawn(|| storm(&is_over))).collect();
        let reader = scope.spawn(|| read_often(account, &is_over));
        std::thread::sleep(Duration::from_millis(100));
        let output = Command::new(program).args(["pstime", "--json", "--record"]).arg(&recording).arg("1").output();
        std::thread::sleep(Duration::from_millis(20));
        is_over.store(true, Ordering::Relaxed);
        let stormed = storms.into_iter().try_for_each(|storm| storm.join().expect("it does not panic"));
        let log = reader.join().expect("it does not panic");
        stormed.and(output).map(|output| (output, log))
    })
    .map_err(|error| format!("could not watch a storm: {error}"))?;
    let told: Told = serde_json::from_slice(&output.stdout).map_err(|error| format!("mh said no JSON: {error}"))?;
    let moments = readings_of(&recording, Reading::Sample)?;
    std::fs::remove_file(&recording).map_err(|error| format!("could not remove the recording: {error}"))?;
    let log = log.map_err(|error| format!("could not read {account}: {error}"))?;
    let at = |moment| between(&log, moment).ok_or("a sample outside of the account's notes");
    Ok((told, at(moments.1)? - at(moments.0)?))
}

/// Short processes, one after the other.
fn storm(is_over: &AtomicBool) -> std::io::Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        Command::new("true").stdin(Stdio::null()).status()?;
    }
    Ok(())
}

/// The account, and when it was read.
fn read_often(account: &str, is_over: &AtomicBool) -> std::io::Result<Vec<(u64, u64)>> {
    let mut log = Vec::with_capacity(10_000);
    while !is_over.load(Ordering::Relaxed) {
        let text = std::fs::read_to_string(account)?;
        let now = clock_gettime(ClockId::Monotonic);
        let used_ns = text.trim().parse().map_err(std::io::Error::other)?;
        log.push((now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs(), used_ns));
        std::thread::sleep(Duration::from_micros(250));
    }
    Ok(log)
}

/// What the account stood at: both CPUs are busy, so it is a straight line but for what is added up late, up to the end of a process.
/// The line through the readings around `moment` evens that out.
fn between(log: &[(u64, u64)], moment: u64) -> Option<f64> {
    let near: Vec<(f64, f64)> = log
        .iter()
        .filter(|(read, _)| read.abs_diff(moment) < AROUND_NS)
        .map(|(read, used)| (*read as f64 - moment as f64, *used as f64))
        .collect();
    let count = near.len() as f64;
    let (mean_x, mean_y) =
        (near.iter().map(|(x, _)| x).sum::<f64>() / count, near.iter().map(|(_, y)| y).sum::<f64>() / count);
    let slope = near.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>()
        / near.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    Some(mean_y - slope * mean_x).filter(|used| used.is_finite())
}
