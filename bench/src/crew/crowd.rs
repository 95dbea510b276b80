//! Many wide runs at once, with the budget and without: who finishes when, how many threads want a CPU meanwhile, how much
//! memory they take together. Judges nothing.

use super::sampling::{self, Seen};
use super::{Bench, Sharing};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs at once, and threads that each would like.
pub const RUNS: usize = 8;
pub const WIDTH: usize = 64;

/// What one round of it took.
pub struct Crowd {
    /// When a run ended, on average.
    pub mean_s: f64,
    /// When the last one did.
    pub total_s: f64,
    pub cpu_s: f64,
    /// Voluntary and involuntary, of all runs.
    pub switches: u64,
    pub seen: Seen,
    /// Hands out at each look at the table, first hands above capacity among them.
    pub hands: Vec<u64>,
}

/// Between two looks at the table: each is a process of its own.
const PAUSE: Duration = Duration::from_millis(50);

/// All of them, from the first one's start to the last one's end.
pub fn round(bench: &Bench, sharing: Sharing) -> Result<Crowd, String> {
    let figures: Vec<PathBuf> = (0..RUNS).map(|run| bench.file(&format!("crowd-{run}.figures"))).collect();
    let begin = Instant::now();
    let children = (0..RUNS).map(|run| start(bench, sharing, run, &figures[run])).collect::<Result<Vec<_>, _>>()?;
    let timers: Vec<u32> = children.iter().map(Child::id).collect();
    let left = &AtomicUsize::new(RUNS);
    let (ends, seen, hands) = std::thread::scope(|scope| {
        let waiting: Vec<_> = children
            .into_iter()
            .map(|mut child| {
                scope.spawn(move || {
                    let status = child.wait();
                    left.fetch_sub(1, Ordering::SeqCst);
                    (status, begin.elapsed().as_secs_f64())
                })
            })
            .collect();
        let is_over = || left.load(Ordering::SeqCst) == 0;
        let looking = (sharing == Sharing::Budget).then(|| scope.spawn(move || hands_out(bench, is_over)));
        let watching = scope.spawn(move || {
            // Looks are to be short, also where every core is busy. Only root may, and only this thread is changed.
            let _only_root = rustix::process::nice(-20);
            sampling::watch(&sampling::only_children(&timers).unwrap_or_default(), is_over)
        });
        let seen = watching.join().expect("it only looks");
        let hands = looking.map(|thread| thread.join().expect("it only looks")).unwrap_or_default();
        let ends: Vec<_> = waiting.into_iter().map(|thread| thread.join().expect("it only waits")).collect();
        (ends, seen, hands)
    });
    for (status, _) in &ends {
        match status {
            Ok(status) if status.success() => {}
            other => return Err(format!("one of {RUNS} runs ended with {other:?}")),
        }
    }
    let ends: Vec<f64> = ends.into_iter().map(|(_, end_s)| end_s).collect();
    let mut all = [0.0; 4];
    for path in &figures {
        let text = std::fs::read_to_string(path).map_err(|error| format!("could not read time's figures: {error}"))?;
        let read: Vec<f64> = text.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
        let read: [f64; 4] = read.try_into().map_err(|read| format!("time(1) said {read:?}"))?;
        (0..4).for_each(|index| all[index] += read[index]);
    }
    Ok(Crowd {
        mean_s: ends.iter().sum::<f64>() / RUNS as f64,
        total_s: ends.iter().copied().fold(0.0, f64::max),
        cpu_s: all[0] + all[1],
        switches: (all[2] + all[3]) as u64,
        seen,
        hands,
    })
}

/// What `mh crew --json` says of all runs together, again and again.
fn hands_out(bench: &Bench, is_over: impl Fn() -> bool) -> Vec<u64> {
    let mut looks = Vec::new();
    while !is_over() {
        let mut crew = Command::new(bench.program);
        let output = crew.args(["crew", "--json"]).env("MH_CREW_DIR", bench.directory_of(Sharing::Budget)).output();
        let census = output.ok().and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
        looks.extend(census.and_then(|census| {
            Some(census["runs"].as_array()?.iter().filter_map(|run| run["holds"].as_u64()).sum::<u64>())
        }));
        std::thread::sleep(PAUSE);
    }
    looks
}

pub fn output(bench: &Bench, run: usize) -> PathBuf {
    bench.file(&format!("crowd-{run}.zst"))
}

fn start(bench: &Bench, sharing: Sharing, run: usize, figures: &PathBuf) -> Result<Child, String> {
    let mut command = Command::new("/usr/bin/time");
    command.args(["-q", "-f", "%U %S %c %w", "-o"]).arg(figures).arg(bench.program);
    command.args(["tamp", "-q", "-k", "-f", "-3", &format!("-j{WIDTH}")]).arg(&bench.crowd_input);
    command.arg("-o").arg(output(bench, run)).env("MH_CREW_DIR", bench.directory_of(sharing));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    child.map_err(|error| format!("could not run time(1): {error}"))
}
