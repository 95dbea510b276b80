//! A high run beside low ones whose chunks take from milliseconds to minutes: how long until it holds all hands, and what it loses.
//! Judges nothing.

use super::pairs::Background;
use super::{Bench, Sharing};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What runs beside, as the table shows it: a format and a level.
pub const LOW_RUNS: [[&str; 2]; 5] = [["gz", "-6"], ["xz", "-6"], ["zst", "-19"], ["bz2", "-9"], ["lz4", "-9"]];

/// Between two looks at the table: each is a process of its own.
const PAUSE: Duration = Duration::from_millis(2);

/// A high run's figures.
pub struct Beside {
    pub wall_s: f64,
    /// From its start to the first look that finds it with a hand for every core; the whole run where none does.
    pub all_hands_s: f64,
}

/// A high `tamp -9 --format gz`, alone or beside a low run.
pub fn high_beside(bench: &Bench, low: Option<[&str; 2]>) -> Result<Beside, String> {
    let words = |[format, level]: [&str; 2]| ["--format".to_owned(), format.to_owned(), level.to_owned()];
    let low = low.map(|low| Background::start(bench, Sharing::Budget, "low", &words(low))).transpose()?;
    let mut command = Command::new(bench.program);
    command.args(["tamp", "-q", "-c", "--priority", "high"]).args(words(["gz", "-9"])).arg(&bench.pair_input);
    command.env("MH_CREW_DIR", bench.directory_of(Sharing::Budget)).stdin(Stdio::null()).stdout(Stdio::null());
    let begin = Instant::now();
    let mut high = command.spawn().map_err(|error| format!("could not run {}: {error}", bench.program.display()))?;
    let has_all = until_it_has_all(bench, &mut high, begin);
    let status = high.wait().map_err(|error| format!("could not wait for the high run: {error}"))?;
    let wall_s = begin.elapsed().as_secs_f64();
    low.map(Background::end).transpose()?;
    if !status.success() {
        return Err(format!("the high run ended with {status}"));
    }
    Ok(Beside { wall_s, all_hands_s: has_all.map_or(wall_s, |waited| waited.as_secs_f64()) })
}

/// Looks at the table until the run has as many hands as there are cores, or has ended.
fn until_it_has_all(bench: &Bench, high: &mut Child, begin: Instant) -> Option<Duration> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    while high.try_wait().ok()?.is_none() {
        let mut crew = Command::new(bench.program);
        let output =
            crew.args(["crew", "--json"]).env("MH_CREW_DIR", bench.directory_of(Sharing::Budget)).output().ok()?;
        if held_by(high.id(), &output.stdout).is_some_and(|held| held >= cores) {
            return Some(begin.elapsed());
        }
        std::thread::sleep(PAUSE);
    }
    None
}

/// Hands of a process, those above capacity among them, as `mh crew --json` has it.
fn held_by(process: u32, census: &[u8]) -> Option<u64> {
    let census: Value = serde_json::from_slice(census).ok()?;
    let mut runs = census["runs"].as_array()?.iter();
    runs.find(|run| run["pid"].as_u64() == Some(u64::from(process)))?["holds"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runs_hands_are_found_by_its_process() {
        let census = br#"{"cpus":2,"runs":[{"pid":7,"holds":1},{"pid":8,"holds":2}]}"#;
        assert_eq!((held_by(7, census), held_by(8, census), held_by(9, census)), (Some(1), Some(2), None));
        assert_eq!(held_by(7, b"no table"), None);
    }
}
