//! Holds forecasts against real runs: a run on one core says what two would take, then two are taken.

use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A command line, with what stands before and behind it in the pipe.
pub struct Check {
    pub name: String,
    pub before: String,
    pub command: String,
    pub after: String,
}

/// What came of a check. Seconds are medians.
pub struct Checked {
    pub name: String,
    pub one_core_s: f64,
    pub expected_s: f64,
    pub measured_s: f64,
}

impl Checked {
    /// How far the forecast was off, as a share of what was measured.
    pub fn error(&self) -> f64 {
        self.expected_s / self.measured_s - 1.0
    }
}

/// LIMIT: a forecast further off than this is missed.
pub const ERROR_MAX: f64 = 0.15;

/// Interleaves runs on one core and on two.
pub fn check(check: &Check, rounds: usize) -> Result<Checked, String> {
    let (mut one, mut expected, mut measured) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (one_core, report) = run(check, "-j1 --report=json")?;
        let (two_cores, _) = run(check, "-j2 --report=json")?;
        // The first round warms up.
        if round > 0 {
            one.push(one_core);
            expected.push(expected_seconds(&report, 2).ok_or_else(|| format!("no forecast in {report}"))?);
            measured.push(two_cores);
        }
    }
    Ok(Checked {
        name: check.name.clone(),
        one_core_s: median(&mut one),
        expected_s: median(&mut expected),
        measured_s: median(&mut measured),
    })
}

/// Seconds of the run as it measured itself, and its report.
fn run(check: &Check, options: &str) -> Result<(f64, String), String> {
    let script = format!("{} {} {options} {}", check.before, check.command, check.after);
    let begin = Instant::now();
    let output = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not run {script}: {error}"))?;
    let wall_s = begin.elapsed().as_secs_f64();
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("{script} ended with {}: {report}", output.status));
    }
    let own = parsed(&report).and_then(|report| report["measures"]["wall_ns"].as_f64());
    Ok((own.map_or(wall_s, |nanoseconds| nanoseconds / 1e9), report))
}

fn parsed(report: &str) -> Option<Value> {
    report.lines().find_map(|line| serde_json::from_str(line).ok())
}

/// What a report expects of a number of cores.
fn expected_seconds(report: &str, cores: u64) -> Option<f64> {
    let report = parsed(report)?;
    let points = report["forecast"]["points"].as_array()?;
    points.iter().find(|point| point["cores"].as_u64() == Some(cores))?["seconds"].as_f64()
}

/// The middle value.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forecast_is_found_in_a_report() {
        let report = r#"{"forecast":{"points":[{"cores":1,"seconds":4.0},{"cores":2,"seconds":2.5}]}}"#;
        assert_eq!(expected_seconds(report, 2), Some(2.5));
        assert_eq!(expected_seconds(report, 8), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }
}
